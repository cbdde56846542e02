"""What tests need of chains: cross-fitting, autocorrelation times, and whether the first draws are off.

**Cross-fitting.** What is learnt on one half of the draws is used on the other, so that no test finds its own noise.
The halves are contiguous within every chain: their draws are independent but for those near the cut.

**Autocorrelation times** are found for many functions of the same chains at a time. A mean over n draws with
autocorrelations rho_t varies as one over n / tau independent draws, tau = 1 + 2 sum_t rho_t. The sum is cut off by
Geyer's initial monotone sequence: the sums of neighbours P_k = rho_2k + rho_2k+1 are positive and fall for a reversible
chain, so they are taken up to the first that is not positive, each no larger than the one before:

    tau = 2 sum_k P_k - 1,      never below 1.

Lags stay within chains, and deviations are from the mean of all chains, so that chains which disagree have large times.

The mean of f over draws with shares p_i varies as the sum of p_i (f_i - mean), so that the times of weighted draws are
those of the products n p_i (f_i - mean), beside their variance for independent draws. This holds for multiplicities of
a chain and for importance weights of one. Two kinds of rows have no order in time, and are put in a random one:

- Rows sorted by weight, as nested sampling makes them: weights rise or fall in long runs. Where they rise and then
  fall, row k is taken for the point that leaves when the volume has shrunk k times by about the factor exp(-1 / N). The
  logarithm of each factor errs by 1 / N and moves all later weights, which adds N^-2 sum_k (sum_(i >= k) p_i dev_i)^2
  to the variance of a mean. As the likelihood rises from row to row, weights fall by 1 / N a row at the most.
- Points that come again after others, as resampling makes them. Each becomes one draw with the weight of all its
  repeats, so that Kish's size counts what resampling lost. A rejection repeats the draw before it, and stays.

Rounded values come again by chance. How many do is known from the unit of rounding, and is allowed for.

Slow mixing may hide in the noise. A chain that seldom crosses between two regions, and is quick within each, has
functions that differ little between the regions: with a share f of the variance between them, the autocorrelation is
about f at all lags up to the time tau of the crossings, and the function's own time is 1 + f tau. Where f is below the
noise of an autocorrelation, n^-1/2 for n draws, Geyer's sequence ends at once with a time of 1. At f = .03, tau = 200
and n = 1000 the standard error of the mean is then 2.6 times too small, and right chains are accused.

The means of L neighbours in a chain show it: noise loses all but 1/L of its variance, and what changes slowly keeps it.
So the time is taken again from batch means of 2, 4, 8, ... draws, down to sixteen of them, wherever neighbouring means
are clearly alike (von Neumann's test):

    tau = L var(batch means) / var(function) * tau(batch means).

Means are taken about those of their chains: chains that disagree, of which one may be wrong, are no slow change. The
time of a change itself, as long as its regions last, is L tau(batch means), without the ratio of variances: batch means
shed the noise beside it. It is long rather than short, by up to L. It is sought in functions that tell regions apart,
whichever they are: coordinates z_j, sizes and dependences sgn(z_i z_j) |z_i z_j|^(1/2) (above a hundred coordinates
those of the most correlated pairs), and the logarithms of the norms of draw and score, all with tails
so light that a few draws do not drown the rest.

**Burn-in.** Are the first draws of the chains off where the later ones are not? The first tenth of every chain is set
beside the rest: location and spread features of each coordinate, which have mean zero under the target, with the centre
and the autocorrelation times of the rest, no less than the median of the locations' or of the spreads', and the larger
of both variances: where features have heavy tails, as in the neck of a funnel, one early draw may be further out than
all later ones. A start that is far off hides from tests of all draws, since its long return is autocorrelation, too.

References
----------
C. J. Geyer (1992), "Practical Markov chain Monte Carlo", Statistical Science 7, section 3.3.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from steinkit.chains import split_chains
from steinkit.discrepancy.preparation import Prepared, Units
from steinkit.errors import Caution, InputError
from steinkit.runtime.deadlines import blocks, one_thread_in_libraries
from steinkit.sample import Floats, Integers
from steinkit.text import listed

_DIRECT_PAIRS = 32  # of lags, up to which products are summed one lag after the other
_FEWEST_BATCHES = 16
_CLEAR = 2.5  # standard errors from which batch means are alike: less takes noise for slowness
_CHANCE = 3e-4  # of finding a change where there is none, at each length of batches
_NEAR = 0.03  # norm over sqrt(d) below which draws are equally near the centre: their logarithms have no end
_ROUNDING = 1e-12  # of a function's size, below which its changes are rounding
_FUNCTIONS = 64  # looked at together, at most
_VALUES = 1 << 22  # numbers of these
_MOST_PAIRS = 5050  # of coordinates, all of a hundred: time would grow with their square

Chains = Sequence[slice]


def integrated_autocorrelation_times(deviations: Floats, chains: Sequence[slice]) -> Floats:
    """Integrated autocorrelation times of k functions of n draws.

    Parameters
    ----------
    deviations : ndarray, shape (k, n)
        Their values less their means.
    chains : sequence of slice
        The draws of each chain, in order.

    Returns
    -------
    ndarray, shape (k,)
        At least 1; 1 for a function that never changes.
    """
    squares = np.einsum("kn,kn->k", deviations, deviations)
    times = np.ones(len(deviations))
    rows = np.flatnonzero(squares > 0.0)
    values, scale = deviations[rows], squares[rows]
    sums, last = np.zeros(len(rows)), np.full(len(rows), np.inf)
    longest = max((chain.stop - chain.start for chain in chains), default=0)
    for k in range(min(_DIRECT_PAIRS, longest // 2)):
        pair = (lagged_products(values, chains, 2 * k) + lagged_products(values, chains, 2 * k + 1)) / scale
        last = np.minimum(last, pair)
        going = last > 0.0
        if np.count_nonzero(going) < len(going):
            times[rows[~going]] = 2.0 * sums[~going] - 1.0
            rows, values, scale = rows[going], values[going], scale[going]
            sums, last = sums[going], last[going]
        if not len(rows):
            break
        sums += last
    if len(rows):
        times[rows] = 2.0 * _sums_by_transform(values, scale, chains, longest) - 1.0
    return np.maximum(times, 1.0)


def lagged_products(values: Floats, chains: Sequence[slice], lag: int) -> Floats:
    """Sums of products of values that lie a lag apart in their chains, shape (k,)."""
    sums = np.zeros(len(values))
    for chain in chains:
        if chain.stop - chain.start > lag:
            early, late = values[:, chain.start : chain.stop - lag], values[:, chain.start + lag : chain.stop]
            sums += np.einsum("kn,kn->k", early, late)
    return sums


def _sums_by_transform(values: Floats, scale: Floats, chains: Sequence[slice], longest: int) -> Floats:
    """Geyer's sums from the autocorrelations at all lags, by fast Fourier transforms."""
    from scipy import fft

    size = fft.next_fast_len(2 * longest, real=True)
    sums = np.empty(len(values))
    for k, row in enumerate(values):  # one by one: a chain of a million draws takes 50 MB
        power = np.zeros(size // 2 + 1)
        for chain in chains:
            power += np.abs(fft.rfft(row[chain], size)) ** 2
        sums[k] = initial_monotone_sum(fft.irfft(power, size)[:longest] / scale[k])
    return sums


def initial_monotone_sum(correlation: Floats) -> float:
    """The sum of the initial monotone sequence of pairs of correlations at the lags 0, 1, ..., shape (lags,)."""
    whole = len(correlation) // 2 * 2
    pairs = np.minimum.accumulate(correlation[0:whole:2] + correlation[1:whole:2])
    ends: Integers = np.flatnonzero(pairs <= 0.0)
    return float(pairs[: ends[0] if len(ends) else None].sum())


def long_run_times(deviations: Floats, chains: Chains) -> Floats:
    """Integrated autocorrelation times of functions, small slow changes beside much noise included.

    Parameters
    ----------
    deviations : ndarray, shape (k, n)
        Values of k functions at n draws, less their means.
    chains : sequence of slice
        The draws of each chain, in order.

    Returns
    -------
    ndarray, shape (k,)
        No shorter than those of `integrated_autocorrelation_times`.
    """
    times = integrated_autocorrelation_times(deviations, chains)
    variance = _mean_squares(deviations)
    for length, means, places in _batch_means(_about_chains(deviations, chains), chains):
        rows = np.flatnonzero(_likeness(means, places) > _CLEAR) if length > 1 else ()
        if len(rows):
            clear = means[rows]
            ratio = length * _mean_squares(clear) / variance[rows]
            times[rows] = np.maximum(times[rows], ratio * integrated_autocorrelation_times(clear, places))
    return times


def slowest_change(points: Floats, scores: Floats, chains: Chains) -> float:
    """The longest time for which something about the draws stays as it is, in draws.

    Parameters
    ----------
    points, scores : ndarray, shape (n, d)
        In standard units.
    chains : sequence of slice
        The draws of each chain, in order.

    Returns
    -------
    float
        The time of the slowest change seen; 1 where none is.
    """
    from scipy.special import ndtri

    dim = points.shape[1]
    clear = -float(ndtri(_CHANCE / (dim + 2 + dim * (dim + 1) // 2)))
    times: defaultdict[int, list[float]] = defaultdict(list)
    for values in _telling_functions(points, scores):
        size = np.abs(values).max(axis=1)
        values = _about_chains(values, chains)
        values[np.abs(values).max(axis=1) <= _ROUNDING * size] = 0.0
        for length, means, places in _batch_means(values, chains):
            rows = np.flatnonzero(_likeness(means, places) > clear)
            if len(rows):
                times[length] += integrated_autocorrelation_times(means[rows], places).tolist()
    return max((length * float(np.median(found)) for length, found in times.items()), default=1.0)


def _about_chains(values: Floats, chains: Chains) -> Floats:
    """Values less the mean of their chain."""
    return np.concatenate([values[:, chain] - values[:, chain].mean(axis=1, keepdims=True) for chain in chains], axis=1)


def _batch_means(values: Floats, chains: Chains) -> Iterator[tuple[int, Floats, Chains]]:
    """Means of 1, 2, 4, ... neighbours within chains, their number and the places of the chains among them."""
    length = 1
    while values.shape[1] >= _FEWEST_BATCHES:
        yield length, values, chains
        cut = [values[:, chain.start : chain.stop - (chain.stop - chain.start) % 2] for chain in chains]
        halved = [0.5 * (each[:, ::2] + each[:, 1::2]) for each in cut]
        ends = np.cumsum([each.shape[1] for each in halved]).tolist()
        chains = [slice(end - each.shape[1], end) for end, each in zip(ends, halved, strict=True) if each.size]
        values = halved[0] if len(halved) == 1 else np.concatenate(halved, axis=1)
        length *= 2


def _likeness(means: Floats, chains: Chains) -> Floats:
    """The first autocorrelation over its standard error for independent values, shape (k,)."""
    squares, neighbours = np.einsum("kn,kn->k", means, means), means.shape[1] - len(chains)
    if not neighbours:
        return np.zeros(len(means))
    with np.errstate(over="ignore", invalid="ignore"):  # what is not finite is refused with the statistics
        correlation = lagged_products(means, chains, 1) / np.where(squares > 0.0, squares, 1.0)
    return np.asarray(correlation * means.shape[1] / math.sqrt(neighbours))


def _mean_squares(values: Floats) -> Floats:
    return np.asarray(np.einsum("kn,kn->k", values, values) / values.shape[1])


def _telling_functions(points: Floats, scores: Floats) -> Iterator[Floats]:
    """Values at the draws of functions that tell regions apart, some at a time, shape (k, n)."""
    z = points.T - points.mean(axis=0)[:, None]
    roots = np.sign(z) * np.sqrt(np.abs(z))
    first, second = _pairs(z)
    width = max(1, min(_FUNCTIONS, _VALUES // z.shape[1]))
    others = np.concatenate([z, [_log_norm(z), _log_norm(scores.T)]])
    for rows in blocks(len(first), width, "slow changes were sought"):
        yield np.concatenate([others, roots[first[rows]] * roots[second[rows]]])
        others = others[:0]


def _pairs(z: Floats) -> tuple[Integers, Integers]:
    """Squares, and pairs of coordinates; of many only those with the largest correlations, in the same order."""
    first, second = np.triu_indices(len(z))
    if len(first) > _MOST_PAIRS:
        correlation = np.abs(np.corrcoef(z))[first, second]
        kept = np.sort(np.argpartition(-correlation, _MOST_PAIRS)[:_MOST_PAIRS])  # squares among them
        first, second = first[kept], second[kept]
    return first, second


def _log_norm(values: Floats) -> Floats:
    """Logarithm of the root mean square over the coordinates; scores may be too large for their squares."""
    return np.asarray(np.log(np.hypot.reduce(values, axis=0) / math.sqrt(len(values)) + _NEAR))


_FEWEST = 4  # draws of a chain that is split: two in each half
_SORTED = 0.25  # changes of direction over changes, below which they are; a half in slow chains, else more
_CLEARLY = 1.0  # rise, and fall, of the logarithm of weights of nested sampling
_REPEATED = 0.03  # of the draws, up to which points that come again after others are no matter
_BY_CHANCE = 4.0  # times the expected number of equal draws that rounding makes, up to which it explains them
_COLLISION = 0.2821  # probability that two normal draws are rounded to the same value, times sd over unit
_FINEST = 1e-6  # of a standard deviation: a unit of rounding below this is that of floating-point numbers
_QUARTILES = 1.349  # standard deviations between a normal distribution's
_SOME = 1000  # draws, or up to twice as many, among which rounding is sought
_LATTICE = 1e-3  # of a unit, by which differences may miss whole multiples
_COARSE = 0.05  # of a standard deviation, from which rounding is said
EFFECTIVE_PER_FREEDOM = 5.0  # effective draws that count as one degree of freedom; 10 is cautious, 3 too bold
FEW_EFFECTIVE = 100.0  # effective draws below which right samples are accused too often


@dataclass(frozen=True, eq=False)
class Draws:
    """The draws of a sample that carry weight, chain after chain.

    Attributes
    ----------
    rows : ndarray of int, shape (n,)
        Their rows among the draws that carry weight, as the sample has them.
    points, scores : ndarray, shape (n, d)
    shares : ndarray, shape (n,)
        Their probabilities.
    chains : tuple of slice
        The place of each chain.
    halves : tuple of two ndarrays of int
        The first half of every chain, and the second; of chains too short to be split the first ones, and the last.
    is_weighted : bool
        Whether the probabilities differ.
    labels : tuple of int
        What the sample calls each chain; 0 where it names none.
    disorder : tuple of str
        Chains that could not be put in order, or draws without one.
    is_ordered : bool
        Whether the draws have an order in time; else they are taken to be independent.
    nested : tuple of ndarray of int and float, or None
        Of nested sampling the places of its rows in their own order, and 1 / N.
    names : tuple of str
        Of the coordinates.
    """

    rows: Integers
    points: Floats
    scores: Floats
    shares: Floats
    chains: tuple[slice, ...]
    halves: tuple[Integers, Integers]
    is_weighted: bool
    labels: tuple[int, ...] = (0,)
    disorder: tuple[str, ...] = ()
    is_ordered: bool = True
    nested: tuple[Integers, float] | None = None
    names: tuple[str, ...] = ()

    @classmethod
    def of(cls, weights: ArrayLike | None, prepared: Prepared) -> Draws:
        """Lay the draws out again that preparation has merged.

        Raises
        ------
        InputError
            If there are fewer than eight.
        """
        given = prepared.weighted(weights)
        in_chains, disorder = split_chains(given)
        in_order = [rows[prepared.points.inverse[rows] >= 0] for rows in in_chains]
        order = np.concatenate(in_order)
        ends = np.cumsum([len(rows) for rows in in_order]).tolist()
        chains = tuple(slice(end - len(rows), end) for rows, end in zip(in_order, ends, strict=True) if len(rows))
        labels = tuple(0 if given.chain is None else int(given.chain[rows[0]]) for rows in in_order if len(rows))
        if len(order) < 2 * _FEWEST:
            raise InputError(f"the test needs at least {2 * _FEWEST} draws; this sample has {len(order)}: add draws")
        shares, rows = given.probabilities[order], prepared.points.inverse[order]
        unordered, nested = "", None
        if _come_again(rows, prepared.points.points):
            first = np.sort(np.unique(rows, return_index=True)[1]).astype(np.int64)
            order, rows, shares = order[first], rows[first], np.asarray(np.bincount(rows, shares)[rows[first]], float)
            chains, labels = _remaining(chains, labels, first)
            unordered = f"{len(first)} distinct points come again after others, as resampling makes them"
        elif _are_sorted(shares):
            unordered = "the draws are sorted by weight"
        if unordered:
            disorder.append(f"{unordered}: they are taken to be independent, in no order of time")
            shuffle = np.random.default_rng(0).permutation
            mixed = np.concatenate([chain.start + shuffle(chain.stop - chain.start) for chain in chains])
            if len(chains) == 1 and (rate := _shrinkage(np.log(shares))):
                nested = np.argsort(mixed), rate
            order, rows, shares = order[mixed], rows[mixed], shares[mixed]
        points, scores = prepared.points.points, prepared.scores
        if len(rows) != len(points) or (np.diff(rows) != 1).any():  # else they lie there as they are wanted
            points, scores = points[rows], scores[rows]
        numbered = np.cumsum(prepared.points.inverse >= 0) - 1
        return cls(
            rows=numbered[order],
            points=points,
            scores=scores,
            shares=shares / shares.sum(),
            chains=chains,
            halves=_halves(chains),
            is_weighted=bool((shares != shares[0]).any()),
            labels=labels,
            disorder=tuple(disorder),
            is_ordered=not unordered,
            nested=nested,
            names=prepared.points.names,
        )

    def in_units(self, units: Units) -> Draws:
        """The same draws, measured in these."""
        return replace(self, points=units.points(self.points), scores=units.scores(self.scores))

    def by_chain(self) -> Iterator[tuple[int, Draws]]:
        """Of several chains each that can be judged by itself, with its label."""
        for label, place in zip(self.labels, self.chains, strict=True) if len(self.chains) > 1 else ():
            if place.stop - place.start >= 2 * _FEWEST:
                yield label, self.only(place)

    def only(self, rows: Integers | slice) -> Draws:
        """Those in these rows, which increase; chains with none of them are left out."""
        places = np.arange(len(self.points))[rows]
        chains, labels = _remaining(self.chains, self.labels, places)
        return replace(
            self,
            rows=self.rows[rows],
            points=self.points[rows],
            scores=self.scores[rows],
            shares=self.shares[rows] / self.shares[rows].sum(),
            chains=chains,
            halves=_halves(chains),
            labels=labels,
            disorder=(),
            nested=None,
        )

    def autocorrelation_times(self, deviations: Floats) -> Floats:
        """Of functions of draws, weighted if these are, less their means, (k, n) -> (k,); 1 without an order."""
        if self.nested is not None:
            rows, rate = self.nested
            weighted = (deviations * self.shares)[:, rows]
            later = np.cumsum(weighted[:, ::-1], axis=1)
            squares = np.einsum("kn,kn->k", weighted, weighted)
            volumes = rate**2 * np.einsum("kn,kn->k", later, later)
            return np.asarray(1.0 + volumes / np.where(squares > 0.0, squares, np.inf))
        if not self.is_ordered:
            return np.ones(len(deviations))
        if self.is_weighted:
            deviations = deviations * (len(self.shares) * self.shares)
        return long_run_times(deviations, self.chains)

    @cached_property
    def rounding(self) -> Floats:
        """The unit to which each coordinate is rounded, shape (d,); zero where it is not."""
        return rounding_units(self.points)

    def unrounded(self, bounds: Floats | None) -> Floats:
        """Return the points, each at a random place among those that rounding takes to it, within the bounds."""
        if not self.rounding.any():
            return self.points
        places = np.random.default_rng(0).random(self.points.shape) - 0.5
        lower, upper = (-np.inf, np.inf) if bounds is None else bounds.T
        return np.clip(self.points + places * self.rounding, lower, upper)

    @cached_property
    def is_coarse(self) -> NDArray[np.bool_]:
        """Whether each coordinate is rounded to a twentieth of its standard deviation or more, shape (d,)."""
        return np.asarray(self.rounding > _COARSE * _widths(self.points))

    @cached_property
    def of_slowest_change(self) -> float:
        """Draws over the time of the slowest coordinate, square or change of region; infinite without an order.

        Squares are those of the coordinates and of the principal axes: along an axis that Hamiltonian Monte Carlo turns
        by half a period at every step, draws alternate between two places that hardly change. Of draws in standard
        units; chains may be of any lengths.
        """
        if not self.is_ordered:
            return math.inf
        slowest = slowest_change(self.points, self.scores, self.chains)
        z = np.ascontiguousarray((self.points - self.shares @ self.points).T)
        with one_thread_in_libraries():
            functions = [z, z**2, (np.linalg.eigh(z @ z.T)[1].T @ z) ** 2]
        for values in [np.concatenate(functions)] if z.size <= _VALUES else functions:
            slowest = max(slowest, self.autocorrelation_times(values - (values @ self.shares)[:, None]).max())
        return len(self.points) / float(slowest)

    def effective(self, times: Floats) -> Floats:
        """Draws, of weighted ones Kish's effective size, over the autocorrelation times of functions."""
        return np.asarray((1.0 / float(self.shares @ self.shares) if self.is_weighted else len(self.shares)) / times)

    def n_effective(self, time: float) -> float:
        """Draws, of weighted ones Kish's effective size, over one autocorrelation time."""
        return float(self.effective(np.array([time]))[0])

    def warnings(self, n_effective: float) -> tuple[str, ...]:
        """What a reader of a test of these draws should know."""
        found = tuple[str, ...](map(Caution, self.disorder))
        if self.is_weighted and self.is_ordered:
            found += ("the weighted draws are taken for a chain in the order given, whose autocorrelation counts",)
        coarse = np.flatnonzero(self.is_coarse)
        if len(coarse):
            units = listed([f"{self.names[j]} to {self.rounding[j]:.3g}" for j in coarse])
            found += (Caution(f"the values are rounded ({units}), so that they carry two digits or less"),)
        if n_effective < FEW_EFFECTIVE:
            few = f"too few effective draws ({math.floor(n_effective)}) to judge by this test; 100 or more are wanted"
            found += (Caution(few),)
        return found


def _remaining(
    chains: Sequence[slice], labels: Sequence[int], places: Integers
) -> tuple[tuple[slice, ...], tuple[int, ...]]:
    """The chains among draws at these places, which increase, with their labels; those with none are left out."""
    ends = np.searchsorted(places, [(chain.start, chain.stop) for chain in chains])
    kept = [(slice(*map(int, each)), label) for each, label in zip(ends, labels, strict=True) if np.ptp(each)]
    return tuple(place for place, _ in kept), tuple(label for _, label in kept)


def rounding_units(points: Floats) -> Floats:
    """The unit of which values of each coordinate, (n, d), differ by whole multiples, in some draws; zero for none."""
    some = points[:: max(1, len(points) // _SOME)]
    gaps = np.diff(np.sort(some, axis=0), axis=0)
    least = np.where(gaps > 0.0, gaps, np.inf).min(axis=0, initial=np.inf)
    known = (least > _FINEST * _widths(some)) & (np.count_nonzero(gaps, axis=0) >= _FEWEST)
    steps = gaps / np.where(known, least, np.inf)
    return np.where(known & (np.abs(steps - np.rint(steps)) < _LATTICE).all(axis=0), least, 0.0)


def _widths(points: Floats) -> Floats:
    """Standard deviations of normal draws of the same quartiles, shape (d,)."""
    low, high = np.quantile(points, (0.25, 0.75), axis=0)
    return np.asarray((high - low) / _QUARTILES)


def _come_again(rows: Integers, points: Floats) -> bool:
    """Whether draws, by the rows of their points, repeat earlier ones that are not their neighbours, beyond chance."""
    again = 1 + np.count_nonzero(np.diff(rows)) - len(points)
    if again <= _REPEATED * len(rows) or len(points) < 2 * _FEWEST:
        return False
    widths, units = _widths(points), rounding_units(points)
    equal = np.prod(np.minimum(1.0, _COLLISION * units / np.where(widths > 0.0, widths, np.inf)))
    return bool(again > _BY_CHANCE * 0.5 * len(rows) ** 2 * equal)


def _are_sorted(shares: Floats) -> bool:
    """Whether neighbours' shares rise and fall in long runs, as no chain's do."""
    steps = np.sign(np.diff(shares))
    steps = steps[steps != 0.0]
    return len(steps) >= 2 * _FEWEST and bool(np.count_nonzero(np.diff(steps)) < _SORTED * len(steps))


def _shrinkage(logarithms: Floats) -> float:
    """How fast weights fall a row after they have risen, at most; zero where they do not do both."""
    peak, width = int(np.argmax(logarithms)), len(logarithms) // _FEWEST_BATCHES
    if not width or min(np.ptp(logarithms[: peak + 1]), np.ptp(logarithms[peak:])) < _CLEARLY:
        return 0.0
    return max(0.0, float((logarithms[:-width] - logarithms[width:]).max()) / width)


@overload
def tail_probability(z: float, n_effective: float) -> float: ...
@overload
def tail_probability(z: Floats, n_effective: Floats) -> Floats: ...
def tail_probability(z: float | Floats, n_effective: float | Floats) -> float | Floats:
    """Probability that a right sample's z-score exceeds this one: the tail of Student's t, set on slow chains."""
    from scipy.special import stdtr

    tails = stdtr(n_effective / EFFECTIVE_PER_FREEDOM, np.negative(z))
    return np.asarray(tails, dtype=np.float64) if isinstance(z, np.ndarray) else float(tails)


def _halves(chains: Sequence[slice]) -> tuple[Integers, Integers]:
    is_first = np.zeros(chains[-1].stop, dtype=bool)
    short = [chain for chain in chains if chain.stop - chain.start < _FEWEST]
    total, before = sum(chain.stop - chain.start for chain in short), 0
    for chain in chains:
        length = chain.stop - chain.start
        if length >= _FEWEST:
            is_first[chain.start : chain.start + length // 2] = True
        else:
            is_first[chain] = 2 * before + length <= total  # its middle lies in their first half
            before += length
    return np.flatnonzero(is_first), np.flatnonzero(~is_first)


_EARLY = 0.1
"""Part of every chain that is taken for its start."""


def early_rows(draws: Draws) -> tuple[Integers, Integers]:
    """Rows of the first tenth of every chain, and of the rest."""
    is_early = np.zeros(len(draws.points), dtype=bool)
    for chain in draws.chains:
        is_early[chain.start : chain.start + math.ceil(_EARLY * (chain.stop - chain.start))] = True
    return np.flatnonzero(is_early), np.flatnonzero(~is_early)


def burn_in_p_value(draws: Draws) -> float:
    """Probability that the first draws of right chains differ as much from what the target asks of them.

    Bonferroni over the 2 d features t_j and 1 + c_j t_j; 1 for chains too short to have a start. Draws are expected in
    standard units, or their squares may overflow.
    """
    early, late = early_rows(draws)
    if len(late) < 2:
        return 1.0
    centre, scale = draws.points[late].mean(axis=0), draws.points[late].std(axis=0)
    if not (scale > 0.0).all():
        return 1.0
    t, c = draws.scores * scale, (draws.points - centre) / scale
    features: Floats = np.concatenate([t.T, 1.0 + (c * t).T])
    rest = features[:, late] - features[:, late].mean(axis=1, keepdims=True)
    ends = [0, *np.searchsorted(late, [chain.stop for chain in draws.chains]).tolist()]
    times = integrated_autocorrelation_times(rest, [slice(*place) for place in pairwise(ends)])
    usual = np.repeat([np.median(times[: len(times) // 2]), np.median(times[len(times) // 2 :])], len(times) // 2)
    variance = np.maximum(rest.var(axis=1), features[:, early].var(axis=1))
    error = np.sqrt(variance * np.maximum(times, usual) / len(early))
    z = np.abs(features[:, early].mean(axis=1)) / np.where(error > 0.0, error, np.inf)
    return min(1.0, 2.0 * len(z) * tail_probability(float(z.max()), len(early) / float(usual.max())))
