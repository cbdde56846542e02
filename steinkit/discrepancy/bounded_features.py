"""Bounded features that detect errors in marginal shapes and in dependence.

These features also detect third-degree dependence and small errors that are spread over all pairs.

Let c = z - m', where m' is the median of *the other half* of the draws, and let g = exp(-c^2) be the bump function. The
Langevin operator T f = <f, s> + div f (`steinkit.discrepancy.moments`) maps the following fields f to functions of mean
zero:

    shape     g_j (t_j - 2 c_j)                    f = g_j e_j                  position of the mode of x_j
              g_j (c_j t_j + 1 - 2 c_j^2)          f = c_j g_j e_j              height of the mode of x_j
    location  (g_i - mean g_i) t_j                 f = (g_i - mean) e_j         location of x_j given |x_i|, i != j
    spread    (g_i - mean g_i) (1 + c_j t_j)       f = (g_i - mean) c_j e_j     spread of x_j given |x_i|.

The bump function is bounded, which limits the effect of heavy tails. The bump function is even because the moments
already test correlations. Bumps of half this width detect errors in shape and dependence better than bumps of twice the
width. If there are boundary factors, b replaces t, and a_j replaces 1 where f is differentiated with respect to x_j.

There are 2 d features of the first two kinds and 2 d (d - 1) features of the other kinds. The means and variances of
these features are computed as matrix products. Computing autocorrelation times takes longer. These times are computed
only for features that may have the largest |z|. The other features would have a smaller |z| even with the median
autocorrelation time of their kind. All pairs are tested in every dimension. If pairs were selected on one half of the
draws, every z would be smaller by a factor of sqrt(2). Such a selection would reduce the power more than the Bonferroni
correction for all pairs does.

**All pairs together.** Many small errors may be detectable only together. By Stein's identity, E (x_i - m_i) s_j = 0
for draws from the target if i != j and x_j has no bounds. An error in one pair is detectable in the mean M_ij of this
product. An error may also be spread over all pairs, such as the missing correlations of a mean-field fit in d
dimensions. Such an error may be only about one standard error in each of the d (d - 1) means but is detectable in the
sum of their squares. The statistic uses the means M_b over batches b of the draws. The products of a batch with itself
contain noise and are omitted:

    T = sum over separate b, c of G_bc,        G_bc = <M_b, M_c>,

where b and c are separate if they are distinct and are not neighbors in the same chain. This condition excludes
autocorrelation between batches. Under the target, the signs of the M_b are exchangeable, so T has variance 2 sum G_bc^2
and third cumulant 8 tr G^3. The p-value is computed from a gamma distribution (Pearson's type III) with these moments.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from steinkit.autocorrelation import tail_probability
from steinkit.discrepancy.moments import standardised
from steinkit.draws import ChainDraws
from steinkit.runtime.deadlines import blocks, one_thread_in_libraries
from steinkit.sample import Floats, Integers
from steinkit.units import Units

BoundedKind = Literal["asymmetry", "peak", "location given", "spread given"]

_OWN: tuple[BoundedKind, ...] = ("asymmetry", "peak")
_PAIRS: tuple[BoundedKind, ...] = ("location given", "spread given")
_SHARES = {"shapes": 0.28, "even pairs": 0.72}  # shares of the level, chosen to increase the power
_FOR_MEDIAN = 64  # number of features used to compute the median time of a kind
_AT_ONCE = 32  # number of features per batch when autocorrelation times are computed
_KEPT = 2.5  # minimum |z| of a reported feature
_MOST_BLOCKS = 4  # number of extra blocks of features after those that may have the largest |z|
_MOST_KEPT = 16
_HALF = 0.5 * (1.0 - 1e-12)  # half of the weight, up to rounding errors
_TOGETHER = 1 << 13  # number of draws that are combined at once
_DOING = "computing bounded moments"
_VALUES = 1 << 22  # maximum number of values per batch when autocorrelation times are computed


@dataclass(frozen=True)
class BoundedFeature:
    """Bounded feature with a large z-score.

    Attributes
    ----------
    kind : {"asymmetry", "peak", "location given", "spread given"}
    coordinates : tuple of int
        The coordinate j, or i and j for a feature of x_j given |x_i|.
    mean, z : float
    p : float
        p-value, corrected for the number of bounded features.

    Examples
    --------
    >>> import numpy as np, steinkit as sk
    >>> draws = np.random.default_rng(0).standard_normal((1000, 2))
    >>> draws[:, 1] = (draws[:, 1] + 0.5 * draws[:, 0] ** 2 - 0.5) / 1.2
    >>> found = sk.verdict(draws, sk.targets.Normal([0.0, 0.0])).bounded.largest[0]
    >>> found.kind, found.coordinates
    ('location given', (0, 1))
    """

    kind: BoundedKind
    coordinates: tuple[int, ...]
    mean: float
    z: float
    p: float


@dataclass(frozen=True)
class BoundedMoments:
    """Result of the test with bounded features.

    Attributes
    ----------
    p : float
        Bonferroni-adjusted p-value. The two groups of features have unequal shares of the significance level.
    largest : tuple of BoundedFeature
        At most sixteen features with large z-scores, in ascending order of their p-values.

    Examples
    --------
    >>> import numpy as np, steinkit as sk
    >>> draws = np.random.default_rng(0).standard_normal((1000, 2))
    >>> bool(sk.verdict(draws, sk.targets.Normal([0.0, 0.0])).bounded.p > 0.05)
    True
    """

    p: float
    largest: tuple[BoundedFeature, ...]


def bounded_moments(draws: ChainDraws, units: Units, bounds: Floats | None) -> BoundedMoments:
    """Test draws with bounded features.

    Parameters
    ----------
    draws : ChainDraws
        Draws in raw units.
    units : Units
        Standard deviations of the draws.
    bounds : ndarray, shape (d, 2), optional
        Bounds of the support, in raw units.

    Raises
    ------
    TimeLimitError
        If the caller's time limit is exceeded.
    """
    with one_thread_in_libraries():
        points, drift, spread = standardised(draws, units, bounds)
        _centre(points, draws)
        fields = _Fields(points, drift, spread, draws.shares)
        groups = {"shapes": _OWN, **({"even pairs": _PAIRS} if len(points) > 1 else {})}
        features = [
            each
            for group, kinds in groups.items()
            for each in _largest(kinds, fields, draws, _SHARES[group] if len(groups) > 1 else 1.0)
        ]
    kept = sorted((each for each in features if abs(each.z) >= _KEPT), key=lambda each: (each.p, -abs(each.z)))
    return BoundedMoments(min(each.p for each in features), tuple(kept[:_MOST_KEPT]))


def _centre(points: Floats, draws: ChainDraws) -> None:
    """Subtract the medians of the other half from each half of the draws."""
    medians = [_medians(points[:, half], draws.shares[half]) for half in draws.halves]
    for half, centre in zip(draws.halves, medians[::-1], strict=True):
        points[:, half] -= centre[:, None]


def _medians(points: Floats, shares: Floats) -> Floats:
    order = np.argsort(points, axis=1, kind="stable")
    reached = np.cumsum(shares[order], axis=1)
    middle = np.argmax(reached >= _HALF * reached[:, -1:], axis=1)
    rows = np.arange(len(points))
    return np.asarray(points[rows, order[rows, middle]])


@dataclass(frozen=True, eq=False)
class _Fields:
    """Weights, and the centered points, drift and diffusion of each coordinate."""

    centred: Floats
    drift: Floats
    spread: Floats | None
    shares: Floats

    def of(self, kind: BoundedKind, i: Integers, j: Integers) -> Floats:
        """Compute the features of k pairs of coordinates as an array of shape (k, n).

        For shape features, i = j.
        """
        if kind in _OWN:
            return self._own(kind, j, slice(None))
        even = _bump(self.centred[i])
        even -= (even @ self.shares)[:, None]
        return np.asarray(even * self._odd(kind, j, slice(None)))

    def _own(self, kind: BoundedKind, j: Integers | slice, draws: slice) -> Floats:
        c, b = self.centred[j, draws], self.drift[j, draws]
        a = 1.0 if self.spread is None else self.spread[j, draws]
        if kind == "asymmetry":
            return np.asarray(_bump(c) * (b - 2.0 * a * c))
        return np.asarray(_bump(c) * (c * b + a * (1.0 - 2.0 * c * c)))

    def _odd(self, kind: BoundedKind, j: Integers | slice, draws: slice) -> Floats:
        b = self.drift[j, draws]
        if kind == "location given":
            return b
        return np.asarray(self.centred[j, draws] * b + (1.0 if self.spread is None else self.spread[j, draws]))

    def means(self, kind: BoundedKind) -> tuple[Floats, Floats, Integers, Integers]:
        """Return the means and variances of the features of one kind.

        The variances are computed as if the draws were independent. The function also returns the coordinates of the
        features.
        """
        dim, n = self.centred.shape
        total, cross, square = (np.zeros(dim if kind in _OWN else (dim, dim)) for _ in range(3))
        mean_bump = np.zeros(dim)
        for some in blocks(n, _TOGETHER):
            mean_bump += _bump(self.centred[:, some]) @ self.shares[some]
        for some in blocks(n, _TOGETHER, _DOING):
            share = self.shares[some]
            if kind in _OWN:
                values = self._own(kind, slice(None), some)
                total += values @ share
                cross += values @ share**2
                square += values**2 @ share**2
            else:
                even, odd = _bump(self.centred[:, some]) - mean_bump[:, None], self._odd(kind, slice(None), some)
                total += (even * share) @ odd.T
                cross += (even * share**2) @ odd.T
                square += (even * share) ** 2 @ (odd**2).T
        i, j = (np.arange(dim),) * 2 if kind in _OWN else np.nonzero(~np.eye(dim, dtype=bool))
        rows = j if kind in _OWN else (i, j)
        variance = square - 2.0 * total * cross + total**2 * (self.shares @ self.shares)
        return total[rows], variance[rows], i, j


def _bump(centred: Floats) -> Floats:
    return np.asarray(np.exp(-centred * centred))


def _largest(kinds: tuple[BoundedKind, ...], fields: _Fields, draws: ChainDraws, share: float) -> list[BoundedFeature]:
    """Return the features of a group that may have the largest |z|."""
    found: list[tuple[BoundedKind, tuple[int, ...], float, float]] = []
    slowest = 1.0
    tried = 0
    for kind in kinds:
        mean, variance, i, j = fields.means(kind)
        tried += len(mean)
        some = np.unique(np.linspace(0, len(mean) - 1, _FOR_MEDIAN).round().astype(np.int64))
        median = float(np.median(_times(fields, kind, i[some], j[some], draws)))
        slowest = max(slowest, median)
        at_most = np.abs(mean) / np.sqrt(np.where(variance > 0.0, variance, np.inf) * median)
        order, largest = np.argsort(-at_most, kind="stable"), 0.0
        for begin in range(0, len(order), _AT_ONCE):
            rows = order[begin : begin + _AT_ONCE]
            if begin:
                rows = rows[at_most[rows] >= (_KEPT if begin < _MOST_BLOCKS * _AT_ONCE else largest)]
            if not len(rows):
                break
            times = np.maximum(_times(fields, kind, i[rows], j[rows], draws), median)
            z = at_most[rows] * np.sqrt(median / times)
            largest = max(largest, float(z.max()))
            found += [
                (kind, (int(j[k]),) if kind in _OWN else (int(i[k]), int(j[k])), float(mean[k]), x)
                for k, x in zip(rows, (np.sign(mean[rows]) * z).tolist(), strict=True)
            ]
    n_effective = draws.size / slowest
    return [
        BoundedFeature(*each, min(1.0, 2.0 * tried * tail_probability(abs(each[-1]), n_effective) / share))
        for each in found
    ]


def _times(fields: _Fields, kind: BoundedKind, i: Integers, j: Integers, draws: ChainDraws) -> Floats:
    """Compute the autocorrelation times of features in blocks."""
    width, found = max(1, _VALUES // len(draws.shares)), []
    for some in blocks(len(j), width, _DOING):
        values = fields.of(kind, i[some], j[some])
        values -= (values @ draws.shares)[:, None]
        found.append(draws.autocorrelation_times(values))
    return np.concatenate(found)


_BATCHES = 16  # total number of batches; if there are more than 16 chains, every sixteenth chain is in the same batch
_FEWEST = 4  # number of draws per batch
_BLOCK_FLOATS = 1 << 22


def joint_dependence(draws: ChainDraws, bounds: Floats | None = None) -> float | None:
    """Return the p-value of the joint test of all pairs.

    The result is None if there is only one coordinate, if the draws are weighted, if all coordinates have bounds, or if
    there are too few draws.

    Parameters
    ----------
    draws : ChainDraws
        Draws in standard units.
    bounds : ndarray, shape (d, 2), optional
    """
    free = np.ones(draws.points.shape[1], dtype=bool) if bounds is None else ~np.isfinite(bounds).any(axis=1)
    dim, batches = draws.points.shape[1], list(_batches(draws.chains))
    if dim == 1 or not free.any() or draws.is_weighted or len(batches) < _BATCHES // 2:
        return None
    centred, scores = draws.points - draws.points.mean(axis=0), np.where(free, draws.scores, 0.0)
    scores /= np.abs(scores).max() or 1.0  # this scaling avoids overflow of the squares
    products = np.zeros((len(batches), len(batches)))
    with one_thread_in_libraries():
        width = max(1, _BLOCK_FLOATS // (len(batches) * dim))
        for some in blocks(dim, width, "testing the dependence of all pairs"):
            means = np.stack([centred[rows].T @ scores[rows, some] for _, _, rows in batches])
            means /= np.array([len(rows) for _, _, rows in batches])[:, None, None]
            columns = np.arange(dim)[some]
            means[:, columns, columns - some.start] = 0.0
            flat = means.reshape(len(batches), -1)
            products += flat @ flat.T
    chain, place = (np.array([each[k] for each in batches]) for k in (0, 1))
    apart = (chain[:, None] != chain) | (np.abs(place[:, None] - place) > 1)
    return _tail(np.where(apart, products, 0.0))


def _batches(chains: tuple[slice, ...]) -> Iterator[tuple[int, int, Integers]]:
    """Yield the chain, the position within the chain and the rows of every batch."""
    groups = [np.concatenate([np.r_[each] for each in chains[k::_BATCHES]]) for k in range(min(len(chains), _BATCHES))]
    for k, rows in enumerate(groups):
        for place, part in enumerate(np.array_split(rows, max(1, round(_BATCHES / len(chains))))):
            if len(part) >= _FEWEST:
                yield k, place, part


def _tail(products: Floats) -> float:
    """Return the probability of a sum of at least this size under random signs.

    The matrix of products has a zero diagonal.
    """
    from scipy.special import gammaincc, ndtr

    spread = math.sqrt(2.0 * float((products**2).sum()))
    if spread == 0.0:
        return 1.0
    z = float(products.sum()) / spread
    skewness = 8.0 * float(((products @ products) * products).sum()) / spread**3
    if skewness < 1e-3:
        return float(ndtr(-z))
    shape = 4.0 / skewness**2
    return float(gammaincc(shape, max(shape + z * math.sqrt(shape), 0.0)))
