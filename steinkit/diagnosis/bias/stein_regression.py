"""Means under the target by regression on Stein features, cross-fitted.

Features phi have mean zero under the target P. With coefficients beta learnt on some draws, the others' mean of

    r = f - beta . phi          is E_P f up to          |E_Q r - E_P r| <= sqrt(chi^2(P | Q)) sd_Q(r),

whatever the distribution Q of the draws is. Where the features explain f well, r is small, and so is what is left. The
penalty of the ridge regression is chosen by generalised cross-validation, for every function by itself.

**Features**, functions of a draw whose means under the target are known to be zero, go from lean to rich. For draws in
standard units z, with the drift b and the diffusion a of the Stein operator (without bounds the score and 1), a
covariance C of the draws, c = z - m and u = C b, the operator maps x -> p(c_j) C e_i to

    p(c_j) u_i + C_ij a_j p'(c_j),      of mean zero under every target.

    own2       u_j,  c_j u_j + C_jj a_j                           for functions of coordinate j
    own4       and  c_j^2 u_j + 2 C_jj a_j c_j,  c_j^3 u_j + 3 C_jj a_j c_j^2
    diagonal   own2 of all coordinates together, 2 d
    pairs      u_j,  c_j u_i + c_i u_j + C_ij (a_i + a_j)  for i <= j,  d (d + 3) / 2

and a vector field p(x) C e_k to  p u_k + sum_i C_ik a_i dp/dx_i:

    affine     u_k,  c_i u_k + C_ik a_i,  d + d^2
    quadratic  and  c_i c_j u_k + C_ik a_i c_j + C_jk a_j c_i  for i <= j,  d^2 (d + 1) / 2 more
    chosen     affine, and the quadratic fields that correlate most with the residuals of a regression on them

Pairs are gradient fields only. On a curved ridge x_2 = b x_1^2 + noise the identity t_1 + 2 b x_1 t_2 = -x_1 needs the
affine field x_1 e_2, and on a ring quadratic fields are needed. Where there are too few draws for all quadratic fields,
each fold chooses some for the other.

Of a normal target with covariance C the score is -C^-1 (x - mu): u_j is mu_j - z_j, and pairs are all polynomials of
degree two, so that means and variances are known without an error.

**Chi-square.** How far the draws' distribution Q is from the target P is seen through Stein features. Of all
distributions whose features have the means that are seen, chi^2(P | Q) is at least

    E_Q phi' Cov_Q(phi)^-1 E_Q phi,

since E_P phi = 0. With means of the same draws on both sides it would be the number of features over that of the draws
for right samples; with means of the halves of the draws, each with features made of the other half, its expectation is
zero for them. It bounds what a regression leaves: |E_Q r - E_P r| <= sqrt(chi^2(P | Q)) sd_Q(r).

**Entropy weights** have the largest entropy under which Stein features have mean zero. Of all weights w_i >= 0 of sum
one with sum_i w_i phi(x_i) = 0, those nearest to the draws' own, q_i, by relative entropy are

    w_i proportional to q_i exp(lambda . phi(x_i)),     lambda = argmin log sum_i q_i exp(lambda . phi(x_i)),

a convex problem, solved by Newton's method with a small ridge, which lets it have a solution where no such weights
exist. They mend every expectation at once; Kish's size 1 / sum_i w_i^2 says what they are worth: they cannot invent
draws where there are none.

**Estimates** are means and standard deviations under the target, each with the error that can be answered for. With r_1
and r_2 what regressions leave of a quantity f and of its square, in standard units, the mean is m = E r_1, the variance
v = E r_2 - m^2, and the influence of a draw on m / sd and on log sd

    r_1 / sd,      (r_2 - 2 m r_1) / (2 v).

The error claimed is  sqrt(se^2 + s chi^2 V + (spread / 2)^2):  the standard error of the influence, autocorrelation
included; its variance V times an estimate of chi^2(P | Q) for what the features do not explain; and the range of the
feature sets' estimates. A standard error alone would be far too small for badly biased draws. Margins are two of these.
The share s is 1/4 for small chi^2, so that the margin is the bound above, and rises to 1, because the lower estimate of
chi^2 falls short by more for draws that are further from the target. Each set enters the range with its difference from
the chosen set times the share of the quantity's variance that it explains: a set that explains nothing returns the mean
of the draws whatever the target is. The range of the means also enters the error of
the log sd: feature sets that disagree about the mean of a skewed quantity extrapolate its tail, where they may agree
about an sd that is wrong.

References
----------
Q. Liu and J. D. Lee (2017), "Black-box importance sampling", AISTATS.
L. F. South, T. Karvonen, C. Nemeth, M. Girolami and C. J. Oates (2022), "Semi-exact control functionals from Sard's
method", Biometrika 109.
R. Assaraf and M. Caffarel (1999), "Zero-variance principle for Monte Carlo algorithms", Physical Review Letters 83.
A. Mira, R. Solgi and D. Imparato (2013), "Zero variance Markov chain Monte Carlo", Statistics and Computing 23.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from steinkit.discrepancy.moments import standardised
from steinkit.draws import Draws
from steinkit.errors import InputError
from steinkit.runtime.deadlines import blocks, require_time
from steinkit.sample import Floats, Integers
from steinkit.units import Units

FeatureSet = Literal["own2", "own4", "diagonal", "pairs", "affine", "quadratic", "chosen"]
DEGREE: dict[FeatureSet, int] = {"own2": 2, "own4": 4}

_VALUES = 1 << 21  # numbers in a block of features
_WORK = 5e10  # draws times squared features, above which pairs cost more than they tell
_WORK_OF_FIELDS = 1.5e8  # draws times squared features, above which vector fields take too much of a verdict's time
_DRAWS_A_FIELD: dict[FeatureSet, int] = {"affine": 4, "quadratic": 8}
_MOST_WITH_CHOSEN = 200  # features
_CHOOSE_ON = 250  # draws of a fold


@dataclass(frozen=True, eq=False)
class Operand:
    """Draws in standard units with what the Stein operator needs of them.

    Attributes
    ----------
    draws : Draws
        In standard units: chains, halves and shares.
    points, drift : ndarray, shape (n, d)
    diffusion : ndarray, shape (n, d), or None
        Without bounds it is 1.
    """

    draws: Draws
    points: Floats
    drift: Floats
    diffusion: Floats | None

    @classmethod
    def of(cls, draws: Draws, units: Units, bounds: Floats | None) -> Operand:
        """Bring draws in raw units to standard ones."""
        points, drift, diffusion = standardised(draws, units, bounds)
        return cls(
            draws.in_units(units),
            np.ascontiguousarray(points.T),
            np.ascontiguousarray(drift.T),
            None if diffusion is None else np.ascontiguousarray(diffusion.T),
        )

    def joint_sets(self) -> list[FeatureSet]:
        """Those of the joint sets for which there are draws enough, and time."""
        n, dim = self.points.shape
        found: list[FeatureSet] = []
        if 2 * dim < n / 3:
            found.append("diagonal")
        pairs = width_of("pairs", dim)
        if pairs < n / 4 and n * pairs**2 < _WORK:
            found.append("pairs")
        for kind, draws in _DRAWS_A_FIELD.items():
            width = width_of(kind, dim)
            if draws * width < n and n * width**2 < _WORK_OF_FIELDS:
                found.append(kind)
        return found

    def chosen_fields(self) -> int:
        """Return the number of quadratic fields to choose where there are too few draws for all."""
        n, dim = self.points.shape
        if "quadratic" in self.joint_sets():
            return 0
        affine, quadratic = width_of("affine", dim), width_of("quadratic", dim)
        return int(max(0, min(n // 5, _MOST_WITH_CHOSEN, quadratic) - affine))

    @property
    def richest(self) -> FeatureSet:
        """Largest set of features that the draws allow."""
        return "chosen" if self.chosen_fields() else [*DEGREE, *self.joint_sets()][-1]

    def blocks(self, rows: Integers | slice, width: int) -> Iterator[Integers]:
        """Rows in blocks of which features of this width fit into memory."""
        chosen = np.arange(len(self.points))[rows]
        return (chosen[some] for some in blocks(len(chosen), max(1, _VALUES // width), "biases were estimated"))


@dataclass(frozen=True, eq=False)
class Frame:
    """Where features are centred, and the covariance that turns scores into distances: learnt on some draws.

    Attributes
    ----------
    centre : ndarray, shape (d,)
    covariance : ndarray, shape (d, d)
    chosen : tuple of three ndarrays of int, or None
        Indices (i, j, k) of the quadratic fields to take; None takes all.
    """

    centre: Floats
    covariance: Floats
    chosen: tuple[Integers, Integers, Integers] | None = None

    @classmethod
    def of(cls, operand: Operand, rows: Integers | slice) -> Frame:
        """Learn both, the covariance shrunk towards a multiple of the identity (Ledoit and Wolf 2004)."""
        shares = operand.draws.shares[rows]
        shares = shares / shares.sum()
        points = operand.points[rows]
        centre = shares @ points
        deviations = points - centre
        covariance = (deviations * shares[:, None]).T @ deviations
        dim = len(centre)
        level = np.trace(covariance) / dim
        distance = ((covariance - level * np.eye(dim)) ** 2).sum()
        if dim > 1 and distance > 0.0:
            squares = deviations**2
            noise = float((shares**2) @ squares.sum(axis=1) ** 2) - float(shares @ shares) * (covariance**2).sum()
            share = min(1.0, max(0.0, noise) / distance)
            covariance = share * level * np.eye(dim) + (1.0 - share) * covariance
        return cls(centre, covariance)

    def own(self, operand: Operand, rows: Integers, kind: FeatureSet) -> Floats:
        """Features of each coordinate for itself, shape (len(rows), d, 2 or 4)."""
        c, u, a = self._fields(operand, rows)
        variance = np.diag(self.covariance) * a
        found = np.empty((*c.shape, DEGREE[kind]))
        power = np.ones_like(c)
        found[:, :, 0] = u
        for k in range(1, DEGREE[kind]):
            found[:, :, k] = k * variance * power
            power = power * c
            found[:, :, k] += power * u
        return found

    def joint(self, operand: Operand, rows: Integers, kind: FeatureSet) -> Floats:
        """Features of all coordinates together, shape (len(rows), `width_of`)."""
        c, u, a = self._fields(operand, rows)
        if kind == "diagonal":
            return np.hstack([u, c * u + np.diag(self.covariance) * a])
        a = np.broadcast_to(a, c.shape)
        if kind == "pairs":
            i, j = np.triu_indices(c.shape[1])
            pairs = c[:, i] * u[:, j] + c[:, j] * u[:, i] + self.covariance[i, j] * (a[:, i] + a[:, j])
            return np.hstack([u, pairs])
        affine = c[:, :, None] * u[:, None, :] + self.covariance * a[:, :, None]
        parts = [u, affine.reshape(len(c), -1)]
        if kind != "affine":
            i, j, k = quadratic_fields(c.shape[1]) if self.chosen is None else self.chosen
            parts.append(affine[:, i, k] * c[:, j] + self.covariance[j, k] * a[:, j] * c[:, i])
        return np.hstack(parts)

    def of_all(self, operand: Operand, rows: Integers, kind: FeatureSet) -> Floats:
        """Features of any set, side by side."""
        if kind in DEGREE:
            return self.own(operand, rows, kind).reshape(len(rows), -1)
        return self.joint(operand, rows, kind)

    def _fields(self, operand: Operand, rows: Integers) -> tuple[Floats, Floats, Floats]:
        a = np.ones(1) if operand.diffusion is None else operand.diffusion[rows]
        return operand.points[rows] - self.centre, operand.drift[rows] @ self.covariance, a


def width_of(kind: FeatureSet, dim: int) -> int:
    """How many numbers the features of a draw are."""
    if kind in DEGREE:
        return dim * DEGREE[kind]
    if kind == "diagonal":
        return 2 * dim
    if kind == "pairs":
        return dim * (dim + 3) // 2
    return dim + dim * dim + (dim * dim * (dim + 1) // 2 if kind != "affine" else 0)


def quadratic_fields(dim: int) -> tuple[Integers, Integers, Integers]:
    """Return the indices (i, j, k), i <= j, of all vector fields c_i c_j C e_k, each of shape (d^2 (d + 1) / 2,)."""
    i, j = np.triu_indices(dim)
    return np.repeat(i, dim), np.repeat(j, dim), np.tile(np.arange(dim), len(i))


_BLOCKS = 10  # of neighbouring draws of a chain, by turns in one fold and the other
_PENALTIES = np.logspace(-8.0, 1.0, 10)  # of the largest eigenvalue of the features' correlation
_LEAST_FREEDOM = 0.05  # of the draws, which cross-validation leaves at least
_OWN_PENALTY = 1e-6  # of a coordinate's few features: no more than rounding asks for


@contextmanager
def _of_what_varies() -> Iterator[None]:
    """Refuse draws with which linear algebra fails: half of them do not vary but by rounding."""
    try:
        yield
    except np.linalg.LinAlgError:
        raise InputError("half of the draws hardly vary, so their bias cannot be told; run a longer chain") from None


def _folds(draws: Draws) -> Integers:
    """Return the fold of each draw, 0 or 1, in blocks within every chain so that the order of chains is irrelevant."""
    fold = np.zeros(len(draws.points), dtype=np.int64)
    fold[draws.halves[1]] = 1
    for chain in draws.chains:
        length = chain.stop - chain.start
        if length >= _BLOCKS:
            fold[chain] = np.arange(length) * _BLOCKS // length % 2
    return fold


@_of_what_varies()
def cross_fitted(operand: Operand, quantities: Floats, *kinds: FeatureSet) -> Floats:
    """Quantities and their squares, less what features of the other fold's fit explain of them.

    Parameters
    ----------
    operand : Operand
    quantities : ndarray, shape (n, m)
        Functions of the draws. For "own2" and "own4" the coordinates themselves, in their order.
    *kinds : {"own2", "own4", "diagonal", "pairs", "affine", "quadratic", "chosen"}
        Sets of features. Of several ones the last must be a set of vector fields, which contains the others.

    Returns
    -------
    ndarray, shape (kinds, n, 2 m)
        Whose means estimate those of the quantities under the target, and of their squares.
    """
    fold = _folds(operand.draws)
    values = np.hstack([quantities, quantities**2])
    left = np.repeat(values[None], len(kinds), axis=0)
    for learn in (0, 1):
        rows = np.flatnonzero(fold == learn), np.flatnonzero(fold != learn)
        if kinds[0] in DEGREE:
            parts = _explained_by_own(operand, values, kinds[0], *rows)
        else:
            parts = _explained_jointly(operand, values, kinds, *rows)
        for some, part in parts:
            left[:, some] -= part
    return left


def _within_fields(kind: FeatureSet, dim: int) -> tuple[Integers, Integers]:
    """Return pairs of features of vector fields whose sums are the features of a smaller set, up to factors."""
    if kind not in ("diagonal", "pairs"):
        return (np.arange(width_of(kind, dim)),) * 2
    i, j = (np.arange(dim),) * 2 if kind == "diagonal" else np.triu_indices(dim)
    return np.append(np.arange(dim), dim + i * dim + j), np.append(np.arange(dim), dim + j * dim + i)


def _explained_jointly(
    operand: Operand, values: Floats, kinds: Sequence[FeatureSet], learn: Integers, use: Integers
) -> Iterator[tuple[Integers, Floats]]:
    """What ridge regressions on all features of each set together explain, some rows at a time.

    Moments are taken of the last set only.
    """
    dim, kind = operand.points.shape[1], kinds[-1]
    frame, width = Frame.of(operand, learn), width_of(kind, dim)
    if kind == "chosen":
        frame = _with_chosen_fields(operand, frame, values, learn)
        width = width_of("affine", dim) + operand.chosen_fields()
    moments = np.zeros((width + 1, width + values.shape[1] + 1))  # of (1, features) with (features, functions, 1)
    squares = np.zeros(values.shape[1])
    for rows in operand.blocks(learn, width):
        shares = operand.draws.shares[rows]
        features, functions = frame.joint(operand, rows, kind), values[rows]
        left = np.hstack([features, np.ones((len(rows), 1))]) * shares[:, None]
        moments += left.T @ np.hstack([features, functions, np.ones((len(rows), 1))])
        squares += shares @ functions**2
    moments, squares = moments / moments[-1, -1], squares / moments[-1, -1]
    covariance = moments[:-1, :-1] - np.outer(moments[:-1, -1], moments[-1, :-1])
    variances = squares - moments[-1, width:-1] ** 2
    kish = operand.draws.shares[learn].sum() ** 2 / (operand.draws.shares[learn] ** 2).sum()
    gram, cross = covariance[:, :width], covariance[:, width:]
    coefficients = np.zeros((len(kinds), *cross.shape))
    for of, each in zip(coefficients[:-1], kinds, strict=False):
        first, second = _within_fields(each, dim)
        rows = gram[first] + gram[second]
        found = _ridge(rows[:, first] + rows[:, second], cross[first] + cross[second], variances, kish)
        of[first] += found
        of[second] += found
    coefficients[-1] = _ridge(gram, cross, variances, kish)
    for rows in operand.blocks(use, width):
        yield rows, frame.joint(operand, rows, kind) @ coefficients


def _with_chosen_fields(operand: Operand, frame: Frame, values: Floats, learn: Integers) -> Frame:
    """Choose the quadratic fields with the largest correlation with residuals of a regression on affine fields."""
    fields = quadratic_fields(operand.points.shape[1])
    rows = learn[:: -(-len(learn) // _CHOOSE_ON)]
    features = frame.joint(operand, rows, "quadratic")
    shares = operand.draws.shares[rows] / operand.draws.shares[rows].sum()
    columns = np.hstack([features, values[rows]])
    columns -= shares @ columns
    columns *= np.sqrt(shares)[:, None]
    columns /= np.maximum(np.sqrt(np.einsum("nk,nk->k", columns, columns)), np.finfo(float).tiny)
    affine, quadratic, left = np.split(columns, [features.shape[1] - len(fields[0]), features.shape[1]], axis=1)
    gram = affine.T @ affine
    gram[np.diag_indices_from(gram)] += _RIDGE * len(gram) / len(rows)
    left = left - affine @ np.linalg.solve(gram, affine.T @ left)
    strength = np.abs(quadratic.T @ left).max(axis=1)
    best = np.argsort(-strength, kind="stable")[: operand.chosen_fields()]
    i, j, k = fields
    return replace(frame, chosen=(i[best], j[best], k[best]))


def _ridge(gram: Floats, cross: Floats, variances: Floats, n: float) -> Floats:
    """Coefficients of a ridge regression whose penalty makes the cross-validated error of each function least.

    Parameters
    ----------
    gram : ndarray, shape (p, p)
        Covariances of the features.
    cross : ndarray, shape (p, m)
        Covariances of features and functions.
    variances : ndarray, shape (m,)
        Of the functions.
    n : float
        Draws behind them; Kish's number of weighted ones.

    Returns
    -------
    ndarray, shape (p, m)
    """
    scale = np.sqrt(np.maximum(np.diag(gram), np.finfo(float).tiny))
    eigenvalues, axes = np.linalg.eigh(gram / np.outer(scale, scale))
    eigenvalues = np.maximum(eigenvalues, 0.0)
    along = axes.T @ (cross / scale[:, None])
    least, chosen = np.full(len(variances), np.inf), np.zeros(along.shape)
    for penalty in _PENALTIES * (eigenvalues[-1] or 1.0):
        shrunk = eigenvalues + penalty
        residual = variances - ((eigenvalues + 2.0 * penalty) / shrunk**2) @ along**2
        freedom = 1.0 + (eigenvalues / shrunk).sum()
        error = residual / max(1.0 - freedom / n, _LEAST_FREEDOM) ** 2
        better = error < least
        least[better] = error[better]
        chosen[:, better] = (along / shrunk[:, None])[:, better]
    return np.asarray(axes @ chosen / scale[:, None])


def _explained_by_own(
    operand: Operand, values: Floats, kind: FeatureSet, learn: Integers, use: Integers
) -> Iterator[tuple[Integers, Floats]]:
    """What the few features of its own coordinate explain of each coordinate and of its square."""
    frame, dim = Frame.of(operand, learn), operand.points.shape[1]
    width = width_of(kind, dim)
    shares = operand.draws.shares / operand.draws.shares[learn].sum()
    size = width // dim
    second, first = np.zeros((dim, size, size)), np.zeros((dim, size))
    cross, level = np.zeros((dim, size, 2)), np.zeros((dim, 2))
    for rows in operand.blocks(learn, width):
        features = frame.own(operand, rows, kind).transpose(1, 0, 2)
        functions = values[rows].reshape(len(rows), 2, dim).transpose(2, 0, 1)
        weighted = (features * shares[rows][None, :, None]).transpose(0, 2, 1)
        second += weighted @ features
        cross += weighted @ functions
        first += weighted.sum(axis=2)
        level += shares[rows] @ functions
    gram = second - first[:, :, None] * first[:, None, :]
    cross -= first[:, :, None] * level[:, None, :]
    scale = np.sqrt(np.maximum(np.einsum("jkk->jk", gram), np.finfo(float).tiny))
    gram = gram / (scale[:, :, None] * scale[:, None, :]) + _OWN_PENALTY * np.eye(size)
    coefficients = np.linalg.solve(gram, cross / scale[:, :, None]) / scale[:, :, None]
    for rows in operand.blocks(use, width):
        parts = frame.own(operand, rows, kind).transpose(1, 0, 2) @ coefficients
        yield rows, parts.transpose(1, 2, 0).reshape(len(rows), 2 * dim)


_RIDGE = 0.5  # times features over draws, of a feature's variance: what keeps the inverse from the noise
_LEAST = 1e-6
_DRAWS_A_FEATURE = 8  # of degree four: with fewer, noise of what right draws have grows beyond .05


@_of_what_varies()
def chi_square(operand: Operand) -> float:
    """A lower estimate of chi^2(P | Q), the largest of those by several sets of features.

    Those of degree four see draws that have the target's means and standard deviations, and not its shape.
    """
    n, dim = operand.points.shape
    joint = operand.joint_sets()
    fields: list[FeatureSet] = [kind for kind in _DRAWS_A_FIELD if kind in joint and 8 * width_of(kind, dim) < n]
    sets: list[FeatureSet] = ["diagonal", *(fields or (kind for kind in joint if kind == "pairs"))]
    if _DRAWS_A_FEATURE * width_of("own4", dim) < n:
        sets.append("own4")
    first, second = operand.draws.halves
    made = ((first, Frame.of(operand, second)), (second, Frame.of(operand, first)))
    return max(0.0, *(_by_features(operand, made, kind) for kind in sets))


def _by_features(operand: Operand, made: Sequence[tuple[Integers, Frame]], kind: FeatureSet) -> float:
    means = [_mean(operand, frame, half, kind) for half, frame in made]
    between = (
        means[0] @ _through_covariance(operand, *each, kind, mean, means[1])
        for each, mean in zip(made, means, strict=True)
    )
    return float(np.mean(list(between)))


def _mean(operand: Operand, frame: Frame, half: Integers, kind: FeatureSet) -> Floats:
    total, mean = operand.draws.shares[half].sum(), np.zeros(width_of(kind, operand.points.shape[1]))
    for rows in operand.blocks(half, len(mean)):
        mean += operand.draws.shares[rows] @ frame.of_all(operand, rows, kind)
    return np.asarray(mean / total)


def _through_covariance(
    operand: Operand, half: Integers, frame: Frame, kind: FeatureSet, mean: Floats, vector: Floats
) -> Floats:
    """(Cov + ridge diag Cov)^-1 times a vector, for features of a half with a frame of the other."""
    width, shares = len(vector), operand.draws.shares[half] / operand.draws.shares[half].sum()
    if width > len(half):  # by the draws' own inner products, of which there are fewer
        deviations = (frame.of_all(operand, half, kind) - mean) * np.sqrt(shares)[:, None]
        scale = np.sqrt(np.maximum((deviations**2).sum(axis=0), np.finfo(float).tiny))
        deviations /= scale
        ridge = _RIDGE * width / len(half) + _LEAST
        inner = deviations @ deviations.T + ridge * np.eye(len(half))
        scaled = vector / scale
        return np.asarray((scaled - deviations.T @ np.linalg.solve(inner, deviations @ scaled)) / ridge / scale)
    covariance = -np.outer(mean, mean)
    for rows, part in zip(operand.blocks(half, width), operand.blocks(np.arange(len(half)), width), strict=True):
        features = frame.of_all(operand, rows, kind)
        covariance += (features * shares[part][:, None]).T @ features
    scale = np.sqrt(np.maximum(np.diag(covariance), np.finfo(float).tiny))
    correlation = covariance / np.outer(scale, scale) + (_RIDGE * width / len(half) + _LEAST) * np.eye(width)
    return np.asarray(np.linalg.solve(correlation, vector / scale) / scale)


_WEIGHTS_RIDGE = 1e-3
_STEPS = 60
_CONVERGED = 1e-10
_SMALLEST_STEP = 1e-6
_FAINT = 1e-30  # of the largest weight, below which a draw is left out
_DECREASE = 1e-4


def entropy_weights(features: Floats, shares: Floats) -> Floats:
    """Weights under which features have mean zero, as near to the shares as may be.

    Parameters
    ----------
    features : ndarray, shape (n, p)
        Of mean zero under the target.
    shares : ndarray, shape (n,)
        The draws' own probabilities.

    Returns
    -------
    ndarray, shape (n,)
        Of sum one.
    """
    from scipy.special import logsumexp

    mean, square = shares @ features, shares @ features**2
    least = np.finfo(float).eps * square + np.finfo(float).tiny  # rounding decides below
    scaled = features / np.sqrt(np.maximum(square - mean**2, least))
    start = np.log(shares)

    def objective(multipliers: Floats) -> float:
        logarithm = float(logsumexp(start + scaled @ multipliers))
        return logarithm + 0.5 * _WEIGHTS_RIDGE * float(multipliers @ multipliers)

    multipliers = np.zeros(features.shape[1])
    value = objective(multipliers)
    for _ in range(_STEPS):
        require_time("weights were found")
        weights = _tilted(start + scaled @ multipliers)
        mean = weights @ scaled
        gradient = mean + _WEIGHTS_RIDGE * multipliers
        curvature = (scaled * weights[:, None]).T @ scaled - np.outer(mean, mean)
        curvature[np.diag_indices_from(curvature)] += _WEIGHTS_RIDGE
        step = np.linalg.solve(curvature, gradient)
        length = 1.0
        while (found := objective(multipliers - length * step)) > value - _DECREASE * length * (gradient @ step):
            length *= 0.5
            if length < _SMALLEST_STEP:
                return weights
        multipliers = multipliers - length * step
        if value - found < _CONVERGED:
            break
        value = found
    return _tilted(start + scaled @ multipliers)


def _tilted(logarithms: Floats) -> Floats:
    weights = np.exp(logarithms - logarithms.max())
    weights[weights < _FAINT] = 0.0
    return np.asarray(weights / weights.sum())


_LEAST_VARIANCE = 1e-6  # of a quantity under the target, in units of its variance in the draws
_SHARE_OF_SMALL, _SHARE_RISES = 0.25, 2.5  # of chi^2 times the variance, as chi^2 grows
_TIMES = 64  # influences whose autocorrelation times are taken together


@dataclass(frozen=True, eq=False)
class Estimates:
    """What is said of m quantities under the target, in units of their standard deviations in the draws.

    Attributes
    ----------
    mean, sd : ndarray, shape (m,)
        NaN where there are too few draws for any set of features.
    mean_error, log_sd_error : ndarray, shape (m,)
        Claimed, in standard deviations under the target and as a logarithm.
    explained : ndarray, shape (m,)
        Share of the quantity's variance that the features explain.
    """

    mean: Floats
    sd: Floats
    mean_error: Floats
    log_sd_error: Floats
    explained: Floats

    def beside(self, other: Estimates) -> Estimates:
        """Claim half of what other estimates differ by as well, as for the range of feature sets."""
        return replace(
            self,
            mean_error=np.hypot(self.mean_error, 0.5 * (self.mean - other.mean) / self.sd),
            log_sd_error=np.hypot(self.log_sd_error, 0.5 * np.log(self.sd / other.sd)),
        )


@np.errstate(all="ignore")  # of what is not finite nothing is claimed
def regression_estimates(operand: Operand, functions: Floats) -> Estimates:
    """Of the coordinates, and of functions of the draws.

    Parameters
    ----------
    operand : Operand
        Draws in standard units.
    functions : ndarray, shape (n, k)
        Standardised values.
    """
    n, dim = operand.points.shape
    quantities = np.hstack([operand.points, functions])
    m = quantities.shape[1]
    joint = operand.joint_sets()
    if operand.chosen_fields():
        joint.append("chosen")
    sets: list[FeatureSet] = [*DEGREE, *joint]
    together = [[each] for each in DEGREE] + ([joint] if "affine" in joint else [[each] for each in joint])
    shares = operand.draws.shares
    means, sds = np.full((len(sets), m), np.nan), np.full((len(sets), m), np.nan)
    explained = np.zeros((len(sets), m))
    influence, variance = np.zeros((n, 2, m)), np.full((2, m), np.inf)
    row = -1
    for row, left in enumerate(
        each
        for kinds in together
        for each in cross_fitted(operand, quantities[:, : dim if kinds[0] in DEGREE else m], *kinds)
    ):
        taken = left.shape[1] // 2
        left = left.reshape(n, 2, taken)
        means[row, :taken], square = np.einsum("n,nkm->km", shares, left)
        spread = np.maximum(square - means[row, :taken] ** 2, _LEAST_VARIANCE)
        sds[row, :taken] = np.sqrt(spread)
        left[:, 1] = (left[:, 1] - 2.0 * means[row, :taken] * left[:, 0]) / (2.0 * spread)
        left[:, 0] /= sds[row, :taken]
        left -= np.einsum("n,nkm->km", shares, left)
        found = np.einsum("n,nkm,nkm->km", shares, left, left)
        explained[row, :taken] = np.clip(1.0 - found[0] * spread, 0.0, 1.0)
        better = np.flatnonzero(found.sum(axis=0) < variance[:, :taken].sum(axis=0))
        influence[:, :, better], variance[:, better] = left[:, :, better], found[:, better]
        if row == 0:
            chosen = np.zeros(m, dtype=np.int64)
        chosen[better] = row
    mean, sd = means[chosen, np.arange(m)], sds[chosen, np.arange(m)]
    errors = standard_errors(operand.draws, influence.reshape(n, 2 * m)).reshape(2, m)
    known = np.isfinite(variance)
    chi = chi_square(operand)
    share = min(1.0, _SHARE_OF_SMALL + _SHARE_RISES * chi)
    unexplained = np.where(known, share * chi * np.where(known, variance, 0.0), np.inf)
    ranges = np.stack([_range(explained * (means - mean) / sd), _range(explained * np.log(sds / sd))])
    ranges[1] = ranges.max(axis=0)
    claimed = np.sqrt(errors**2 + unexplained + (0.5 * ranges) ** 2)
    return Estimates(mean, sd, claimed[0], claimed[1], explained[chosen, np.arange(m)])


def standard_errors(draws: Draws, influence: Floats) -> Floats:
    """Of the means of functions that have mean zero over the draws, (n, k) -> (k,)."""
    squares = np.sqrt((draws.shares**2) @ influence**2)
    times = [
        draws.autocorrelation_times(np.ascontiguousarray(influence[:, some].T))
        for some in blocks(influence.shape[1], _TIMES)
    ]
    return np.asarray(squares * np.sqrt(np.concatenate(times)))


def _range(values: Floats) -> Floats:
    """Largest less smallest of each column, where there is any."""
    present = np.isfinite(values)
    upper = np.where(present, values, -np.inf).max(axis=0)
    return np.asarray(np.where(present.any(axis=0), upper - np.where(present, values, np.inf).min(axis=0), np.inf))
