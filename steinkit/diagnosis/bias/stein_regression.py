"""Estimation of means under the target by regression on Stein features.

**Regression.** Stein features phi have mean zero under the target P. Estimate the coefficients beta from some of the
draws. The mean over the other draws of the residual

    r = f - beta . phi          estimates E_P f with error          |E_Q r - E_P r| <= sqrt(chi^2(P | Q)) sd_Q(r),

where Q is the distribution of the draws. If the features explain f well, r varies little, and the remaining bias is
small. The ridge penalty is chosen for each function by generalized cross-validation.

**Features.** Let z be the draws in standard units, with mean m and covariance matrix C. Let b be the drift and a the
diffusion of the Stein operator. On an unbounded support, b is the score and a = 1. With c = z - m and u = C b, the
operator maps the vector field p(c_j) C e_i to

    p(c_j) u_i + C_ij a_j p'(c_j),      which has mean zero under the target.

    own2       u_j,  c_j u_j + C_jj a_j                           for functions of coordinate j
    own4       and  c_j^2 u_j + 2 C_jj a_j c_j,  c_j^3 u_j + 3 C_jj a_j c_j^2
    diagonal   own2 of all coordinates together, 2 d
    pairs      u_j,  c_j u_i + c_i u_j + C_ij (a_i + a_j)  for i <= j,  d (d + 3) / 2

The operator maps the vector field p(x) C e_k to  p u_k + sum_i C_ik a_i dp/dx_i:

    affine     u_k,  c_i u_k + C_ik a_i,  d + d^2
    quadratic  and  c_i c_j u_k + C_ik a_i c_j + C_jk a_j c_i  for i <= j,  d^2 (d + 1) / 2 more
    chosen     affine, and the quadratic fields with the largest correlation with the residuals of affine regression

The fields of `pairs` are gradients. On a curved ridge x_2 = b x_1^2 + noise, the identity t_1 + 2 b x_1 t_2 = -x_1
requires the affine field x_1 e_2. A ring requires quadratic fields. If there are too few draws for all quadratic
fields, the draws in one fold are used to choose some of these fields for the other fold.

For a normal target with covariance C, the score is -C^-1 (x - mu). Then u_j = mu_j - z_j, and `pairs` contains all
polynomials of degree two, so the estimates of means and variances are exact.

**Chi-square.** Among all distributions P that give the features the observed means, chi^2(P | Q) is at least

    E_Q phi' Cov_Q(phi)^-1 E_Q phi,

because E_P phi = 0. If both factors E_Q phi were estimated from the same draws, the expectation of this bound for exact
draws would be (number of features) / (number of draws). The two factors are therefore the means over two halves of the
draws, and the center and covariance of each half are estimated from the other half. The expectation for exact draws is
then zero.

**Entropy weights** are the weights w that sum to one, satisfy sum_i w_i phi(x_i) = 0, and are nearest to the weights q
of the draws in relative entropy,

    w_i proportional to q_i exp(lambda . phi(x_i)),     lambda = argmin log sum_i q_i exp(lambda . phi(x_i)).

Newton's method solves this convex problem. A small ridge penalty ensures that a solution exists. The weights correct
all expectations simultaneously. Kish's effective sample size, 1 / sum_i w_i^2, measures the loss of precision. Weights
cannot replace missing draws.

**Estimates.** Let r_1 and r_2 be the residuals of a quantity f and of its square, in standard units. The mean under the
target is m = E r_1, and the variance is v = E r_2 - m^2. The influence of a draw on m / sd and on log sd is

    r_1 / sd,      (r_2 - 2 m r_1) / (2 v).

The error of an estimate is  sqrt(se^2 + s chi^2 V + (range / 2)^2), where se is the standard error of the mean
influence, corrected for autocorrelation, V is the variance of the influence, and the range is taken over the estimates
from different feature sets. The term s chi^2 V accounts for the bias that the features do not explain. The standard
error alone would be far too small for strongly biased draws. The margin of error is twice this error.

- The factor s is 1/4 for small chi^2, where the margin of error equals the bound above. As chi^2 increases, s increases
  to 1 because the lower bound on chi^2 becomes less accurate as the distance from the target grows.
- The contribution of a feature set to the range is proportional to the variance that it explains. With a set that
  explains no variance, the estimate is the mean of the draws for every target.
- The error of log sd includes the range of the means as well. Feature sets that disagree about the mean of a skewed
  quantity extrapolate its tail and may agree on an incorrect sd.

References
----------
R. Assaraf and M. Caffarel (1999), "Zero-variance principle for Monte Carlo algorithms", Physical Review Letters 83.
O. Ledoit and M. Wolf (2004), "A well-conditioned estimator for large-dimensional covariance matrices", Journal of
Multivariate Analysis 88.
Q. Liu and J. D. Lee (2017), "Black-box importance sampling", AISTATS.
A. Mira, R. Solgi and D. Imparato (2013), "Zero variance Markov chain Monte Carlo", Statistics and Computing 23.
L. F. South, T. Karvonen, C. Nemeth, M. Girolami and C. J. Oates (2022), "Semi-exact control functionals from Sard's
method", Biometrika 109.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

import numpy as np

from steinkit.discrepancy.moments import standardised
from steinkit.draws import ChainDraws
from steinkit.runtime.deadlines import blocks, require_time
from steinkit.sample import Floats, Integers
from steinkit.units import Units

FeatureSet = Literal["own2", "own4", "diagonal", "pairs", "affine", "quadratic", "chosen"]
DEGREE: dict[FeatureSet, int] = {"own2": 2, "own4": 4}

_VALUES = 1 << 21  # number of values in a block of features
MOST_WORK = 1.5e8  # largest (draws) x (features)^2 of a regression on the fields of all coordinates
_JOINT: dict[FeatureSet, tuple[int, float]] = {
    "diagonal": (3, np.inf),
    "pairs": (4, 5e10),
    "affine": (4, MOST_WORK),
    "quadratic": (8, MOST_WORK),
}
"""Sets of features of all coordinates: minimum number of draws per feature, and largest (draws) x (features)^2."""
_MOST_WITH_CHOSEN = 200  # maximum number of features, including chosen fields
_CHOOSE_ON = 250  # number of draws in a fold that are used to choose fields


@dataclass(frozen=True, eq=False)
class Operand:
    """Draws in standard units, with the coefficients of the Stein operator.

    Attributes
    ----------
    draws : ChainDraws
        Draws in standard units, with their chains and weights.
    units : Units
    drift : ndarray, shape (n, d)
    diffusion : ndarray, shape (n, d), or None
        Diffusion of the operator, or None on an unbounded support, where the diffusion is 1.
    """

    draws: ChainDraws
    units: Units
    drift: Floats
    diffusion: Floats | None

    @classmethod
    def of(cls, draws: ChainDraws, bounds: Floats | None, units: Units | None = None) -> Operand:
        """Convert raw draws to standard units (by default, their standard deviations)."""
        units = units or Units("own", *location_and_scale(draws.points, draws.shares), draws.names)
        _, drift, diffusion = standardised(draws, units, bounds)
        return cls(
            draws.in_units(units),
            units,
            np.ascontiguousarray(drift.T),
            None if diffusion is None else np.ascontiguousarray(diffusion.T),
        )

    def joint_sets(self) -> list[FeatureSet]:
        """Return the feature sets, except "chosen", that are feasible for these draws."""
        n, dim = self.draws.points.shape
        widths = {kind: width_of(kind, dim) for kind in _JOINT}
        return [k for k, (draws, work) in _JOINT.items() if draws * widths[k] < n and n * widths[k] ** 2 < work]

    def chosen_fields(self) -> int:
        """Return the number of quadratic fields to choose, or 0 to use all or none."""
        n, dim = self.draws.points.shape
        if "quadratic" in self.joint_sets():
            return 0
        affine, quadratic = width_of("affine", dim), width_of("quadratic", dim)
        return int(max(0, min(n // 5, _MOST_WITH_CHOSEN, quadratic) - affine))

    @property
    def sets(self) -> list[FeatureSet]:
        """All feature sets for regression, with the richest set last."""
        found: list[FeatureSet] = [*DEGREE, *self.joint_sets()]
        return [*found, "chosen"] if self.chosen_fields() else found

    def width(self, kind: FeatureSet) -> int:
        """Return the number of features in a set."""
        dim = self.draws.points.shape[1]
        return width_of("affine", dim) + self.chosen_fields() if kind == "chosen" else width_of(kind, dim)

    def blocks(self, rows: Integers, width: int) -> Iterator[Integers]:
        """Split rows of `width` features into blocks of at most 2^21 values."""
        return (rows[some] for some in blocks(len(rows), max(1, _VALUES // width), "estimating biases"))

    def covariances(self, rows: Integers, width: int, columns: Callable[[Integers], Floats]) -> tuple[Floats, Floats]:
        """Return weighted column means (..., k) and covariances (..., k, k)."""
        roots = np.sqrt(self.draws.shares / self.draws.shares[rows].sum())
        first, second = np.zeros(1), np.zeros((1, 1))
        for some in self.blocks(rows, width):
            values = columns(some) * roots[some][:, None]
            first = first + roots[some] @ values
            second = second + np.swapaxes(values, -1, -2) @ values  # NumPy computes one triangle of X'X
        return first, second - first[..., :, None] * first[..., None, :]


@dataclass(frozen=True, eq=False)
class Frame:
    """Estimated center and covariance matrix that define the features.

    Attributes
    ----------
    centre : ndarray, shape (d,)
    covariance : ndarray, shape (d, d)
    chosen : ndarray of int, shape (3, number of fields), or None
        Indices (i, j, k) of the chosen quadratic fields, or None for all fields.
    """

    centre: Floats
    covariance: Floats
    chosen: Integers | None = None

    @classmethod
    def of(cls, operand: Operand, rows: Integers | slice) -> Frame:
        """Estimate the center and the covariance with Ledoit-Wolf shrinkage."""
        draws = operand.draws.only(rows)
        shares, centre = draws.shares, draws.shares @ draws.points
        deviations = draws.points - centre
        covariance = (deviations * shares[:, None]).T @ deviations
        dim = len(centre)
        level = np.trace(covariance) / dim
        distance = ((covariance - level * np.eye(dim)) ** 2).sum()
        if distance > 0.0:
            squares = deviations**2
            noise = float((shares**2) @ squares.sum(axis=1) ** 2) - float(shares @ shares) * (covariance**2).sum()
            share = min(1.0, max(0.0, noise) / distance)
            covariance = share * level * np.eye(dim) + (1.0 - share) * covariance
        return cls(centre, covariance)

    def features(self, operand: Operand, rows: Integers, kind: FeatureSet) -> Floats:
        """Return the features of a set as an array of shape (len(rows), width).

        The features of the sets in `DEGREE` are ordered by coordinate.
        """
        c, u = operand.draws.points[rows] - self.centre, operand.drift[rows] @ self.covariance
        a = np.broadcast_to(np.ones(1) if operand.diffusion is None else operand.diffusion[rows], c.shape)
        if kind in DEGREE:
            found = np.empty((*c.shape, DEGREE[kind]))
            found[:, :, 0], power = u, np.ones_like(c)
            for degree in range(1, DEGREE[kind]):
                found[:, :, degree] = degree * np.diag(self.covariance) * a * power
                power = power * c
                found[:, :, degree] += power * u
            return found.reshape(len(c), -1)
        if kind == "diagonal":
            return np.hstack([u, c * u + np.diag(self.covariance) * a])
        if kind == "pairs":
            pairs = (
                c[:, [k]] * u[:, k:] + c[:, k:] * u[:, [k]] + self.covariance[k, k:] * (a[:, [k]] + a[:, k:])
                for k in range(c.shape[1])
            )
            return np.hstack([u, *pairs])
        affine = c[:, :, None] * u[:, None, :] + self.covariance * a[:, :, None]
        parts = [u, affine.reshape(len(c), -1)]
        if kind != "affine":
            i, j, k = quadratic_fields(c.shape[1]) if self.chosen is None else self.chosen
            parts.append(affine[:, i, k] * c[:, j] + self.covariance[j, k] * a[:, j] * c[:, i])
        return np.hstack(parts)


def width_of(kind: FeatureSet, dim: int) -> int:
    """Return the number of features in a set other than "chosen"."""
    if kind in DEGREE:
        return dim * DEGREE[kind]
    affine, quadratic = dim + dim**2, dim**2 * (dim + 1) // 2
    return {"diagonal": 2 * dim, "pairs": dim * (dim + 3) // 2, "affine": affine, "quadratic": affine + quadratic}[kind]


def quadratic_fields(dim: int) -> Integers:
    """Return the indices (i, j, k), i <= j, of all vector fields c_i c_j C e_k."""
    i, j = np.triu_indices(dim)
    return np.stack([np.repeat(i, dim), np.repeat(j, dim), np.tile(np.arange(dim), len(i))])


def location_and_scale(values: Floats, shares: Floats) -> tuple[Floats, Floats]:
    """Compute weighted means and standard deviations of columns without overflow."""
    centre = shares @ values
    deviations = values - centre
    largest = np.maximum(np.abs(deviations).max(axis=0), np.finfo(float).tiny)
    return centre, largest * np.sqrt(shares @ (deviations / largest) ** 2)


_BLOCKS = 10  # number of blocks per chain, with consecutive blocks in different folds
_PENALTIES = np.logspace(-8.0, 1.0, 10)  # relative to the largest eigenvalue of the feature correlation matrix
_LEAST_FREEDOM = 0.05  # smallest residual degrees of freedom in cross-validation, relative to the number of draws
_OWN_PENALTY = 1e-6  # penalty for the few features of one coordinate, to limit rounding errors


def _folds(draws: ChainDraws) -> Integers:
    """Return the fold (0 or 1) of each draw.

    A fold consists of blocks within chains and does not depend on the order of the chains.
    """
    fold = np.zeros(len(draws.points), dtype=np.int64)
    fold[draws.halves[1]] = 1
    for chain in draws.chains:
        length = chain.stop - chain.start
        if length >= _BLOCKS:
            fold[chain] = np.arange(length) * _BLOCKS // length % 2
    return fold


def cross_fitted(operand: Operand, quantities: Floats, kind: FeatureSet) -> Floats:
    """Return cross-fitted residuals of the quantities and their squares.

    The residuals of each fold are computed with coefficients fitted to the other fold.

    Parameters
    ----------
    operand : Operand
    quantities : ndarray, shape (n, m)
        Values of functions of the draws. For "own2" and "own4", the functions must be all the coordinates, in order.
    kind : {"own2", "own4", "diagonal", "pairs", "affine", "quadratic", "chosen"}
        Feature set.

    Returns
    -------
    ndarray, shape (n, 2 m)
        Residuals. The means of the residuals estimate the means of the quantities and of their squares under the
        target.
    """
    fold = _folds(operand.draws)
    values = np.hstack([quantities, quantities**2])
    left = values.copy()
    explained = _explained_by_own if kind in DEGREE else _explained_jointly
    for k in (0, 1):
        for rows, part in explained(operand, values, kind, np.flatnonzero(fold == k), np.flatnonzero(fold != k)):
            left[rows] -= part
    return left


def _explained_jointly(
    operand: Operand, values: Floats, kind: FeatureSet, learn: Integers, use: Integers
) -> Iterator[tuple[Integers, Floats]]:
    """Yield blocks of rows and the values fitted there by all features jointly."""
    frame, width = Frame.of(operand, learn), operand.width(kind)
    if kind == "chosen":
        frame = _with_chosen_fields(operand, frame, values, learn)
    _, covariance = operand.covariances(
        learn, width, lambda rows: np.hstack([frame.features(operand, rows, kind), values[rows]])
    )
    gram, cross, variances = covariance[:width, :width], covariance[:width, width:], np.diag(covariance)[width:]
    kish = operand.draws.shares[learn].sum() ** 2 / (operand.draws.shares[learn] ** 2).sum()
    coefficients = ridge(gram, cross, variances, kish)
    for rows in operand.blocks(use, width):
        yield rows, frame.features(operand, rows, kind) @ coefficients


def _with_chosen_fields(operand: Operand, frame: Frame, values: Floats, learn: Integers) -> Frame:
    """Choose the quadratic fields that are most correlated with the residuals.

    The residuals come from a regression on the affine fields.
    """
    fields = quadratic_fields(operand.draws.points.shape[1])
    rows = learn[:: -(-len(learn) // _CHOOSE_ON)]
    features = frame.features(operand, rows, "quadratic")
    shares = operand.draws.shares[rows] / operand.draws.shares[rows].sum()
    columns = np.hstack([features, values[rows]])
    columns -= shares @ columns
    columns *= np.sqrt(shares)[:, None]
    columns /= np.maximum(np.sqrt(np.einsum("nk,nk->k", columns, columns)), np.finfo(float).tiny)
    affine, quadratic, left = np.split(columns, [features.shape[1] - fields.shape[1], features.shape[1]], axis=1)
    gram = affine.T @ affine
    gram[np.diag_indices_from(gram)] += _RIDGE * len(gram) / len(rows)
    left = left - affine @ np.linalg.solve(gram, affine.T @ left)
    strength = np.abs(quadratic.T @ left).max(axis=1)
    best = np.argsort(-strength, kind="stable")[: operand.chosen_fields()]
    return replace(frame, chosen=fields[:, best])


def ridge(gram: Floats, cross: Floats, variances: Floats, n: float) -> Floats:
    """Return ridge coefficients, with a separate penalty for each function.

    The penalty minimizes the generalized cross-validation error.

    Parameters
    ----------
    gram : ndarray, shape (p, p)
        Covariances of the features.
    cross : ndarray, shape (p, m)
        Covariances of features and functions.
    variances : ndarray, shape (m,)
        Variances of the functions.
    n : float
        Number of draws, or Kish's effective sample size of weighted draws.

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
    """Yield blocks of rows with fitted values from each coordinate's own features.

    Each coordinate and its square are regressed on the features of this coordinate.
    """
    frame, dim, size = Frame.of(operand, learn), operand.draws.points.shape[1], DEGREE[kind]

    def features(rows: Integers) -> Floats:
        return frame.features(operand, rows, kind).reshape(len(rows), dim, size).transpose(1, 0, 2)

    def columns(rows: Integers) -> Floats:
        functions = values[rows].reshape(len(rows), 2, dim).transpose(2, 0, 1)
        return np.concatenate([features(rows), functions], axis=2)

    _, covariance = operand.covariances(learn, dim * (size + 2), columns)
    gram, cross = covariance[:, :size, :size], covariance[:, :size, size:]
    scale = np.sqrt(np.maximum(np.einsum("jkk->jk", gram), np.finfo(float).tiny))
    gram = gram / (scale[:, :, None] * scale[:, None, :]) + _OWN_PENALTY * np.eye(size)
    coefficients = np.linalg.solve(gram, cross / scale[:, :, None]) / scale[:, :, None]
    for rows in operand.blocks(use, dim * size):
        yield rows, (features(rows) @ coefficients).transpose(1, 2, 0).reshape(len(rows), 2 * dim)


_RIDGE = 0.5  # ridge penalty relative to a feature's variance, divided by (features) / (draws)
_LEAST = 1e-6
# minimum number for features of degree four; with fewer draws, the result for exact draws may exceed 0.05
_DRAWS_PER_FEATURE = 8


def chi_square(operand: Operand) -> float:
    """Return an estimated lower bound on chi^2(P | Q) from several feature sets.

    The largest bound among these sets is returned. Features of degree four detect draws that have the means and
    standard deviations of the target but a different shape.
    """
    n, dim = operand.draws.points.shape
    joint = operand.joint_sets()
    fields = [kind for kind in joint if kind in ("affine", "quadratic") and 8 * width_of(kind, dim) < n]
    sets: list[FeatureSet] = ["diagonal", *(fields or (kind for kind in joint if kind == "pairs"))]
    if _DRAWS_PER_FEATURE * width_of("own4", dim) < n:
        sets.append("own4")
    halves = operand.draws.halves
    frames = [Frame.of(operand, half) for half in halves[::-1]]
    return max(0.0, *(_product_of_means(operand, halves, frames, kind) for kind in sets))


def _product_of_means(operand: Operand, halves: Sequence[Integers], frames: Sequence[Frame], kind: FeatureSet) -> float:
    """Return the scalar product of the feature means from the two halves.

    The inverse covariance of each half is used as the metric, and the two results are averaged.
    """
    width = width_of(kind, operand.draws.points.shape[1])
    parts = [
        operand.covariances(half, width, partial(frame.features, operand, kind=kind))
        for half, frame in zip(halves, frames, strict=True)
    ]
    means = [mean for mean, _ in parts]
    found = []
    for half, (_, covariance) in zip(halves, parts, strict=True):
        scale = np.sqrt(np.maximum(np.diag(covariance), np.finfo(float).tiny))
        metric = covariance / np.outer(scale, scale) + (_RIDGE * width / len(half) + _LEAST) * np.eye(width)
        found.append(means[0] / scale @ np.linalg.solve(metric, means[1] / scale))
    return float(np.mean(found))


_WEIGHTS_RIDGE = 1e-3
_STEPS = 60
_CONVERGED = 1e-10
_SMALLEST_STEP = 1e-6
_FAINT = 1e-30  # weights below this fraction of the largest weight are set to zero
_DECREASE = 1e-4


def entropy_weights(features: Floats, shares: Floats) -> Floats:
    """Return the weights with zero feature means that are nearest to given weights.

    Parameters
    ----------
    features : ndarray, shape (n, p)
        Functions with mean zero under the target.
    shares : ndarray, shape (n,)
        Weights of the draws, which sum to one.

    Returns
    -------
    ndarray, shape (n,)
        Weights that sum to one.
    """
    mean, square = shares @ features, shares @ features**2
    least = np.finfo(float).eps * square + np.finfo(float).tiny  # a smaller variance is due to rounding errors
    scaled = features / np.sqrt(np.maximum(square - mean**2, least))
    start = np.log(shares)

    def objective(multipliers: Floats) -> float:
        logarithms = start + scaled @ multipliers
        most = float(logarithms.max())
        logarithm = most + float(np.log(np.exp(logarithms - most).sum()))
        return logarithm + 0.5 * _WEIGHTS_RIDGE * float(multipliers @ multipliers)

    multipliers = np.zeros(features.shape[1])
    value = objective(multipliers)
    for _ in range(_STEPS):
        require_time("computing weights")
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


_LEAST_VARIANCE = 1e-6  # smallest variance of a quantity under the target, relative to its variance in the draws
_SHARE_OF_SMALL, _SHARE_RISES = 0.25, 2.5  # s = 0.25 + 2.5 chi^2, capped at 1


@dataclass(frozen=True, eq=False)
class Estimates:
    """Estimates for m quantities under the target, in standard units.

    Attributes
    ----------
    mean, sd : ndarray, shape (m,)
        Estimated means and standard deviations, or NaN if there are too few draws for every feature set.
    mean_error, log_sd_error : ndarray, shape (m,)
        Error of the mean, in standard deviations under the target, and error of the logarithm of the standard
        deviation.
    explained : ndarray, shape (m,)
        Fraction of the variance of each quantity that the features explain.
    """

    mean: Floats
    sd: Floats
    mean_error: Floats
    log_sd_error: Floats
    explained: Floats


@np.errstate(all="ignore")  # estimates that are not finite have infinite errors
def regression_estimates(operand: Operand, functions: Floats) -> Estimates:
    """Estimate each quantity with the feature set that leaves the least variance.

    Parameters
    ----------
    operand : Operand
    functions : ndarray, shape (n, k)
        Standardized values of functions of the draws.

    Returns
    -------
    Estimates
        Estimates for the d coordinates, followed by the k functions.
    """
    n, dim = operand.draws.points.shape
    quantities = np.hstack([operand.draws.points, functions])
    m, sets = quantities.shape[1], operand.sets
    shares, shape = operand.draws.shares, (len(sets), m)
    means, sds, explained = np.full(shape, np.nan), np.full(shape, np.nan), np.zeros(shape)
    influence, variance, chosen = np.zeros((n, 2, m)), np.full((2, m), np.inf), np.zeros(m, dtype=np.int64)
    for row, kind in enumerate(sets):
        left = cross_fitted(operand, quantities[:, : dim if kind in DEGREE else m], kind)
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
        chosen[better] = row
    mean, sd = means[chosen, np.arange(m)], sds[chosen, np.arange(m)]
    errors = standard_errors(operand.draws, influence.reshape(n, 2 * m)).reshape(2, m)
    chi = chi_square(operand)
    unexplained = min(1.0, _SHARE_OF_SMALL + _SHARE_RISES * chi) * chi * variance
    unexplained[~np.isfinite(variance)] = np.inf
    ranges = np.stack([_range(explained * (means - mean) / sd), _range(explained * np.log(sds / sd))])
    ranges[1] = ranges.max(axis=0)
    claimed = np.sqrt(errors**2 + unexplained + (0.5 * ranges) ** 2)
    return Estimates(mean, sd, claimed[0], claimed[1], explained[chosen, np.arange(m)])


def standard_errors(draws: ChainDraws, influence: Floats) -> Floats:
    """Return the standard error of the mean of each centered function."""
    times = draws.autocorrelation_times(np.ascontiguousarray(influence.T))
    return np.sqrt((draws.shares**2) @ influence**2) * np.sqrt(times)


def _range(values: Floats) -> Floats:
    """Return the range of finite values per column, or infinity if none exist."""
    present = np.isfinite(values)
    upper = np.where(present, values, -np.inf).max(axis=0)
    return np.asarray(np.where(present.any(axis=0), upper - np.where(present, values, np.inf).min(axis=0), np.inf))
