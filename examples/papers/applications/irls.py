"""Iteratively reweighted least squares (IRLS) on batches that grow until their direction is reliable.

IRLS moves from theta_t to theta_{t+1} = theta_t + d_N, the solution of a least squares problem whose rows depend on
theta_t (see below). Far from the solution, an approximate step is sufficient. Let d_n be the step that is computed from
n of the N data points, drawn without replacement. This step is used if the probability that it points more than 90
degrees away from d_N is small:

    repeat    A_n, g_n <- normal equations of the n data points at theta_t;   d_n = A_n^-1 g_n
              if n = N or delta(d_n) < epsilon:  theta_{t+1} = theta_t + s d_n;  next t
              n <- min(N, max(n + first batch, growth n))

At n = N, the step is that of IRLS on all the data. The fraction s is 1, except that it is smaller for a logistic
regression if a full step would increase the loss of the n data points (see below). The batch also grows if the step
leads to coefficients that separate the classes of the n data points, which is common for small batches. Such data do
not determine the size of the coefficients, which would diverge.

In the paper, each iteration starts with a small batch of new data. Then theta_t contains the noise of the last batch,
which is as large as the noise of the next batch. In six or more dimensions, the step that removes the old noise and
adds the new noise passes the test repeatedly, without progress. In this implementation, the next iteration continues
with the data of the last one. When theta_t fits these data, no further step passes, and the batch grows.

**Losses.** IRLS replaces the loss with a sum of squares. At the coefficients theta, it minimizes sum_i (b_i - a_i'u)^2
over u. The equivalent problem for the step d = u - theta has the same rows a_i and the working residuals rho_i = b_i -
a_i'theta. The two losses have these weights, rows and residuals:

    least absolute deviations    min sum_i |r_i|,  r_i = y_i - x_i'theta
        w_i = 1 / sqrt(max(|r_i|, c)),  a_i = w_i x_i,  b_i = w_i y_i,  so  rho_i = w_i r_i
    logistic regression          min -sum_i log P(y_i | x_i, theta),  p_i = 1 / (1 + exp(-x_i'theta))
        w_i = sqrt(p_i (1 - p_i)),  a_i = w_i x_i,  b_i = w_i x_i'theta + (y_i - p_i) / w_i,
                                                                           so  rho_i = (y_i - p_i) / w_i

Without the lower limit c, a data point that is fitted exactly would have infinite weight. With these weights, IRLS
minimizes Huber's function, which, up to constants, is quadratic in r_i for |r_i| < c and linear in |r_i| otherwise.

The steps for least absolute deviations never increase the loss because each minimizes a majorizing function. The steps
for logistic regression are Newton steps, which are much too long if the p_i are close to 0 or 1. Therefore, only a
fraction s of the step d is taken. Let f(s) be the loss, at theta + s d, of the data of this step. The fraction is the
first of 1, 1/2, 1/4, ... that satisfies

    f(s) <= f(0) - 1e-4 s |f'(0)|,    or  s max_i |x_i'd| <= 1.

The second condition implies the first: along d, the third derivative is at most max_i |x_i'd| times the second
derivative, so f decreases by at least 0.28 s |f'(0)| (Bach 2010, proposition 1).

**The 90-degree test** requires the covariance of the solution. For n of the N data points, drawn without replacement,
with rows a_i and working residuals rho_i,

    A_n = sum_i a_i a_i',  g_n = sum_i a_i rho_i,  d_n = A_n^-1 g_n,  zeta_i = rho_i - a_i'd_n,  e_n = sum_i zeta_i^2,

the step d_n is approximately normal, with mean d_N and covariance

    Sigma = A_n^-1 e_n / (n - D) (1 - (n - 1) / (N - 1)).

This is equation 7d with the divisor n - D in place of n. It assumes that the variance of zeta is equal for all rows.
For least absolute deviations, this covariance is several times too large because well-fitted data points have larger
weights and smaller errors. The test then reads more data than necessary.

The step points more than 90 degrees away from d_N with probability

    delta = P(<d_n, d_N> < 0) = Phi(-mu / sigma),    mu = |d_N|,    sigma^2 = d_N' Sigma d_N / |d_N|^2.

(Equation 4 of the paper integrates over >= 0; its equation 6 agrees with this formula.) Both mu and sigma are estimated
by replacing d_N with d_n. However, E |d_n|^2 = |d_N|^2 + tr Sigma, so noise can appear to be a long step. In many
dimensions, this happens almost always. The two estimates of mu are given by

    mu^2 = |d_n|^2                           (the paper's form),
    mu^2 = max(|d_n|^2 - tr Sigma, 0)        (the debiased form).

References
----------
F. Bach (2010), "Self-concordant analysis for logistic regression".
A. Korattikara, Y. Chen and M. Welling (2016), "Sequential tests for large-scale learning", sections 4.1.1 and 4.1.2.
A. Korattikara, Y. Chen and M. Welling (2016), "Sequential tests for large-scale learning", section 2.1, eqs. 3 and 7.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from steinkit.arguments import batch_within, number, positive, whole
from steinkit.errors import InputError, UsageError, did_you_mean
from steinkit.result import Brief
from steinkit.sample import Floats, Integers

# Smallest weight p (1 - p) of a data point of a logistic regression, which keeps its working residual finite.
_LEAST_VARIANCE = 1e-8
# Smallest sufficient decrease of the loss, relative to its linear prediction.
_SUFFICIENT_FALL = 1e-4
# Largest distance from the hyperplane between the classes that counts as zero, relative to the largest distance of a
# data point. The same factor, times the largest covariance, is the magnitude up to which a negative variance is
# regarded as a rounding error.
_ROUNDING = 1e-12
# Magnitude beyond which sums of squares overflow.
_LARGEST = 1e100


class WorkingRows(NamedTuple):
    """Rows of the least squares problem for a batch of data.

    Attributes
    ----------
    rows : ndarray, shape (n, D)
        Rows a_i.
    residuals : ndarray, shape (n,)
        Working residuals rho_i.
    separated : bool
        True if theta separates the classes of the batch; data points may lie on the hyperplane. It is False if the loss
        has no classes.
    """

    rows: Floats
    residuals: Floats
    separated: bool


class Advance(NamedTuple):
    """State after a step.

    Attributes
    ----------
    share : float
        Fraction of the step to take, in (0, 1].
    separated : bool
        True if the new coefficients separate the classes of the batch; data points may lie on the hyperplane. Such a
        batch does not determine the size of the coefficients.
    """

    share: float
    separated: bool


@dataclass(frozen=True)
class Loss:
    """Loss for given responses.

    Attributes
    ----------
    responses : ndarray, shape (N,)
        Responses y as given, or converted to 0 and 1 for logistic regression.
    working_rows : callable, (D,), (n, D), (n,) -> WorkingRows
        Function that computes the rows of a batch of features and responses at theta.
    mean : callable, (D,), (n, D), (n,) -> float
        Function that computes the mean loss of a batch at theta.
    advance : callable, (D,), (D,), (n, D), (n,) -> Advance
        Function that determines what fraction of the step proposed by a batch at theta is taken.
    """

    responses: Floats
    working_rows: Callable[[Floats, Floats, Floats], WorkingRows]
    mean: Callable[[Floats, Floats, Floats], float]
    advance: Callable[[Floats, Floats, Floats, Floats], Advance]


def loss_named(name: str, responses: Floats, smallest_residual: float) -> Loss:
    """Return the loss with this name.

    Parameters
    ----------
    name : str
        Name of the loss, "lad" for least absolute deviations or "logistic" for logistic regression.
    responses : ndarray, shape (N,)
        Responses of the data points.
    smallest_residual : float
        Lower limit c on the residuals in the least-absolute-deviations loss, in units of the mean absolute deviation of
        the responses from their median.

    Raises
    ------
    UsageError
        If there is no loss with this name.
    InputError
        If the responses are not valid for the loss.
    """
    _one_of(name, "loss", "lad", "logistic")
    if name == "lad":
        return _least_absolute_deviations(responses, smallest_residual)
    return Loss(_as_classes(responses), _logistic_rows, _mean_log_loss, _advance_logistic)


def _least_absolute_deviations(responses: Floats, smallest_residual: float) -> Loss:
    spread = float(np.abs(responses - np.median(responses)).mean())
    if spread == 0.0:
        raise InputError(
            f"y is {responses[0]:g} for all {len(responses)} data points, which determines no coefficients"
        )
    floor = smallest_residual * spread

    def working_rows(theta: Floats, X: Floats, y: Floats) -> WorkingRows:
        r = y - X @ theta
        w = 1.0 / np.sqrt(np.maximum(np.abs(r), floor))
        return WorkingRows(X * w[:, None], w * r, False)

    def mean(theta: Floats, X: Floats, y: Floats) -> float:
        return float(np.abs(y - X @ theta).mean())

    return Loss(responses, working_rows, mean, lambda theta, step, X, y: Advance(1.0, False))


def _as_classes(responses: Floats) -> Floats:
    values = np.unique(responses)
    if values.tolist() not in ([0.0, 1.0], [-1.0, 1.0]):
        shown = ", ".join(f"{value:g}" for value in values[:5]) + (", ..." if len(values) > 5 else "")
        raise InputError(f"y must have the two values 0 and 1, or -1 and +1, and both must occur; got {shown}")
    return (responses > 0.0).astype(np.float64)


def _logistic_rows(theta: Floats, X: Floats, y: Floats) -> WorkingRows:
    from scipy.special import expit

    eta = X @ theta
    p = expit(eta)
    w = np.sqrt(np.maximum(p * expit(-eta), _LEAST_VARIANCE))
    return WorkingRows(X * w[:, None], (y - p) / w, _separates(theta, _margins(eta, y)))


def _mean_log_loss(theta: Floats, X: Floats, y: Floats) -> float:
    return _mean_loss_of(_margins(X @ theta, y))


def _advance_logistic(theta: Floats, step: Floats, X: Floats, y: Floats) -> Advance:
    from scipy.special import expit

    margins, change = _margins(X @ theta, y), _margins(X @ step, y)
    share, largest = 1.0, float(np.abs(change).max())
    if largest > 1.0:
        before, slope = _mean_loss_of(margins), float((change * expit(-margins)).mean())
        while (
            share * largest > 1.0
            and _mean_loss_of(margins + share * change) > before - _SUFFICIENT_FALL * share * slope
        ):
            share *= 0.5
    return Advance(share, _separates(theta + share * step, margins + share * change))


def _margins(eta: Floats, y: Floats) -> Floats:
    """Compute the margins, which are positive for correctly classified data points."""
    return np.where(y > 0.0, eta, -eta)


def _separates(theta: Floats, margins: Floats) -> bool:
    """Return True if theta, which gives these margins, separates the classes."""
    return bool(theta.any() and (margins >= -_ROUNDING * np.abs(margins).max()).all())


def _mean_loss_of(margins: Floats) -> float:
    from scipy.special import log_expit

    return float(-log_expit(margins).mean())


def regression_data(features: ArrayLike, responses: ArrayLike) -> tuple[Floats, Floats]:
    """Convert X, shape (N, D), and y, shape (N,), to floating point numbers.

    Raises
    ------
    InputError
        If the values are not numbers, if the shapes disagree, if a value is not finite, or if the number of data
        points does not exceed the number of coefficients.
    """
    X, y = as_reals(features, "X"), as_reals(responses, "y")
    if X.ndim != 2 or X.shape[1] == 0:
        raise InputError(f"X must have shape (N, D), with one row per data point; got {X.shape}")
    if y.shape != (len(X),):
        raise InputError(f"y must have shape ({len(X)},), one response for each row of X; got {y.shape}")
    _require_finite(X, "X")
    _require_finite(y, "y")
    if len(X) <= X.shape[1]:
        raise InputError(
            f"{len(X)} data do not determine {X.shape[1]} coefficients; "
            "give more data than coefficients, or drop columns"
        )
    return X, y


def start_vector(start: ArrayLike | None, dim: int) -> Floats:
    """Return the given initial coefficients, shape (D,), or zeros if none are given.

    Raises
    ------
    InputError
        If the shape is not (D,), or if a value is not finite.
    """
    theta = np.zeros(dim) if start is None else as_reals(start, "start").copy()
    if theta.shape != (dim,):
        raise InputError(f"start must have shape ({dim},), one number for each column of X; got {theta.shape}")
    _require_finite(theta, "start")
    return theta


def as_reals(values: ArrayLike, name: str) -> Floats:
    """Convert ``values`` to an array of floating point numbers.

    Raises
    ------
    InputError
        If the values are not real numbers.
    """
    try:
        if np.iscomplexobj(values):
            raise ValueError("some are complex")
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"{name} must be an array of real numbers: {error}") from None


def _require_finite(values: Floats, name: str) -> None:
    allowed = np.abs(values) <= _LARGEST  # this is false for NaN
    if not allowed.all():
        first = tuple(np.argwhere(~allowed)[0])
        place = ", ".join(f"{axis} {number}" for axis, number in zip(("row", "column"), first, strict=False))
        raise InputError(
            f"{name} is {values[first]} in {place} (from 0); values must be finite and at most {_LARGEST:g} in "
            "magnitude: drop or correct that data point, or rescale"
        )


# Columns are treated as linearly dependent if an eigenvalue of the Gram matrix of the normalized columns is at most
# this number of rounding errors per column.
_ROUNDING_ERRORS = 64.0


class NormalEquations:
    """Normal equations of a batch, to which `add` adds data.

    Parameters
    ----------
    size : int
        Total number of data points N.
    dim : int
        Number of coefficients D.
    """

    def __init__(self, size: int, dim: int) -> None:
        self.size = size
        self.seen = 0
        self.separated = True
        self._gram: Floats = np.zeros((dim, dim))
        self._gradient: Floats = np.zeros(dim)
        self._squares = 0.0

    def add(self, block: WorkingRows) -> None:
        """Add the rows of a block of data."""
        self._gram += block.rows.T @ block.rows
        self._gradient += block.rows.T @ block.residuals
        self._squares += float(block.residuals @ block.residuals)
        self.seen += len(block.rows)
        self.separated &= block.separated

    def solve(self) -> tuple[Floats, Floats] | None:
        """Return the step d_n and the matrix A_n^-1.

        The result is None if the columns of this batch are linearly dependent.
        """
        scale, values, vectors = self._spectrum()
        if values[0] <= _ROUNDING_ERRORS * len(values) * np.finfo(np.float64).eps:
            return None
        roots = vectors / (np.sqrt(values) * scale[:, None])  # A^-1 = roots roots'
        return roots @ (roots.T @ self._gradient), roots @ roots.T

    def covariance(self, step: Floats, inverse: Floats) -> Floats:
        """Return the covariance Sigma of the step."""
        n, N, D = self.seen, self.size, len(step)
        correction = (1.0 - (n - 1.0) / (N - 1.0)) / (n - D)
        return np.asarray(inverse * (max(self._squares - float(step @ self._gradient), 0.0) * correction))

    def dependence(self) -> InputError:
        """Return an error that lists the linearly dependent columns.

        The error is raised if `solve` finds no solution.
        """
        part = np.abs(self._spectrum()[2][:, 0])
        columns = ", ".join(str(j) for j in np.flatnonzero(part > 1e-3 * part.max()))
        return InputError(
            f"the columns of X are linearly dependent, or so nearly that the coefficients have no correct digit: "
            f"columns {columns} (from 0) add to zero with some weights; drop one of them"
        )

    def _spectrum(self) -> tuple[Floats, Floats, Floats]:
        """Return the column norms and an eigendecomposition.

        The eigendecomposition is that of the Gram matrix of the normalized columns.
        """
        lengths = np.sqrt(np.diag(self._gram))
        scale = np.where(lengths > 0.0, lengths, 1.0)
        values, vectors = np.linalg.eigh(self._gram / np.outer(scale, scale))
        return scale, values, vectors


def wrong_direction_probability(step: ArrayLike, covariance: ArrayLike, *, debias: bool = True) -> float:
    """Estimate the probability that a step has the wrong direction.

    A step has the wrong direction if it is more than 90 degrees away from the step for all the data.

    Parameters
    ----------
    step : array_like, shape (D,)
        Step d_n that the batch proposes.
    covariance : array_like, shape (D, D)
        Covariance matrix Sigma of d_n about the step d_N for all the data.
    debias : bool
        If True, |d_n|^2 is replaced by max(|d_n|^2 - tr Sigma, 0).

    Returns
    -------
    float
        Estimated probability delta, in [0, 1/2]. It is 1/2 if the debiased length of the step is zero. If the true
        step is short, noise can make the estimate small by chance. Among steps in ten dimensions that consist only of
        isotropic noise, 86% satisfy delta < 0.01 with the paper's form, and 12% with the debiased form. In fifty
        dimensions, nearly all such steps satisfy it with the paper's form, and 28% with the debiased form.

    Raises
    ------
    InputError
        If the shapes disagree, if a value is not finite, or if the covariance gives the step a negative variance.

    References
    ----------
    A. Korattikara, Y. Chen and M. Welling (2016), "Sequential tests for large-scale learning", section 2.1, eq. 4-6.
    """
    from scipy.special import ndtr

    d, Sigma = as_reals(step, "step"), as_reals(covariance, "covariance")
    if d.ndim != 1 or Sigma.shape != (len(d), len(d)):
        raise InputError(f"step and covariance must have shapes (D,) and (D, D); got {d.shape} and {Sigma.shape}")
    if not (np.isfinite(d).all() and np.isfinite(Sigma).all()):
        raise InputError("step and covariance must be finite; got NaN or infinity")
    scale = float(np.abs(d).max(initial=0.0))
    if scale == 0.0:
        return 0.5
    length = scale * float(np.linalg.norm(d / scale))  # the division avoids an overflow of the squares
    direction = d / length
    sigma_squared = float(direction @ Sigma @ direction)
    if sigma_squared < -_ROUNDING * float(np.abs(Sigma).max()):
        raise InputError(f"covariance must be that of a step; along this one the variance is {sigma_squared:.3g}")
    left = 1.0 - float(np.trace(Sigma)) / length / length if debias else 1.0
    if left <= 0.0:
        return 0.5
    return float(ndtr(-length * math.sqrt(left / sigma_squared))) if sigma_squared > 0.0 else 0.0


# Number of rows that are weighted at a time, which limits the memory that a step on all the data requires.
_BLOCK = 65536


@dataclass(frozen=True, eq=False, repr=False)
class IRLSResult(Brief):
    """Result of IRLS, with its path and the number of data points read.

    Attributes
    ----------
    coefficients : ndarray, shape (D,)
        Final coefficients.
    path : ndarray, shape (T, D)
        Coefficients after each of T iterations.
    batch_sizes : ndarray, shape (T,)
        Number of data points n that are used for the step of each iteration.
    wrong_direction : ndarray, shape (T,)
        Estimated delta of each step. It is 0 for steps on all the data.
    data_passes : ndarray, shape (T,)
        Cumulative number of data points read, in multiples of N. A data point counts once per iteration.
    seconds : ndarray, shape (T,)
        Time elapsed since the start.
    converged : bool
        True if the last step used all the data and was at most `tolerance` times as long as the coefficient vector.
        The distance to the minimum can be larger: if each step is q times as long as the previous one, the distance is
        q / (1 - q) times the length of the last step.
    warnings : tuple of str
        Warnings about the result.
    """

    coefficients: Floats
    path: Floats
    batch_sizes: Integers
    wrong_direction: Floats
    data_passes: Floats
    seconds: Floats
    converged: bool
    warnings: tuple[str, ...]


def sequential_irls(
    X: ArrayLike,
    y: ArrayLike,
    *,
    loss: str = "lad",
    epsilon: float = 0.01,
    debias: bool = True,
    carry: str = "data",
    batch_size: int | None = None,
    growth: float = 1.25,
    smallest_residual: float = 1e-4,
    tolerance: float = 1e-6,
    max_iterations: int = 500,
    max_passes: float | None = None,
    start: ArrayLike | None = None,
    rng: int | np.random.Generator | None = 0,
) -> IRLSResult:
    """Fit least absolute deviations or logistic regression by IRLS on growing batches.

    Parameters
    ----------
    X : array_like, shape (N, D)
        Features. A model with an intercept requires a column of ones.
    y : array_like, shape (N,)
        Responses. For logistic regression, they must have two values, either 0 and 1 or -1 and +1.
    loss : str
        Loss, "lad" for least absolute deviations or "logistic" for logistic regression.
    epsilon : float
        Largest probability, in [0, 1/2], of an error of more than 90 degrees for a step at *one* stage. If 0, all the
        data are read in each iteration.
    debias : bool
        If True, the debiased form of delta is used (see `wrong_direction_probability`). If False, the paper's form is
        used.
    carry : str
        Initial batch of an iteration. If "data", the batch consists of the data points of the last batch. If "size",
        it consists of the same number of new data points. If "nothing", it consists of `batch_size` new data points,
        as in the paper. With "size" and "nothing", the iteration can fail to converge.
    batch_size : int, optional
        Size of the first batch, which must exceed D. It is also the smallest increase of a batch. The default is the
        larger of N / 1000 and 10 D.
    growth : float
        Smallest factor by which a batch grows, at least 1.
    smallest_residual : float
        Lower limit c on the residuals in the least-absolute-deviations loss, in units of the mean absolute deviation of
        y from its median. The number of iterations is approximately proportional to -log c.
    tolerance : float
        Largest length of a step, relative to the length of the coefficient vector, at which the iteration stops. The
        step must use all the data.
    max_iterations : int
        Maximum number of steps.
    max_passes : float, optional
        Number of passes over the data after which no further iteration starts.
    start : array_like, shape (D,), optional
        Initial coefficients. By default, they are zeros.
    rng : int, numpy.random.Generator or None
        Seed or generator for the random order of the data.

    Returns
    -------
    IRLSResult
        Coefficients, their convergence, and the path of the iteration.

    Raises
    ------
    UsageError
        If an option is out of range.
    InputError
        If a value is not finite, if the shapes disagree, if the columns of X are linearly dependent, if a hyperplane
        through the origin separates the classes of a logistic regression, so that the coefficients diverge, or if the
        final loss exceeds the initial loss.

    Notes
    -----
    IRLS for logistic regression is Newton's method. Steps that would increase the loss of their data are halved until
    the loss decreases. With all the data, the iteration therefore converges from any start.

    The test of the direction uses the scalar product of coefficient vectors, which depends on the units of the columns
    of X. The columns should therefore be standardized.

    Near the minimum, the steps are shorter than their noise, and every batch grows until it contains all the data. The
    last digits of the solution therefore cost as much as with IRLS on all the data.

    The published form of the algorithm is ``debias=False, carry="nothing", growth=1``.

    References
    ----------
    A. Korattikara, Y. Chen and M. Welling (2016), "Sequential tests for large-scale learning", algorithm 1.
    """
    number(smallest_residual, "smallest_residual", lambda c: 0.0 < c < 1.0, "between 0 and 1")
    positive(tolerance, "tolerance")
    whole(max_iterations, "max_iterations", 1)
    most = math.inf if max_passes is None else positive(max_passes, "max_passes")
    features, responses = regression_data(X, y)
    chosen = loss_named(loss, responses, smallest_residual)
    number(epsilon, "epsilon", lambda e: 0.0 <= e <= 0.5, "in [0, 1/2]")
    number(growth, "growth", lambda g: 1.0 <= g < math.inf, "at least 1 and finite")
    _one_of(carry, "carry", "data", "size", "nothing")
    N, D = features.shape
    first = batch_within(batch_size, max(N // 1000, 10 * D), N)
    if first <= D:
        raise UsageError(f"batch_size must be more than the number of coefficients, {D}; got {batch_size}")
    drawn = np.random.default_rng(rng)
    batches = Batches(features, chosen, drawn, first, growth, epsilon, debias, carry)
    origin = theta = start_vector(start, D)
    began, read, converged, taken = time.perf_counter(), 0, False, list[tuple[Floats, int, float, float]]()
    while not converged and len(taken) < max_iterations and read < most * N:
        step, n, delta, share = batches.step(theta)
        theta, read = theta + share * step, read + n
        converged = n == N and _length(step) <= tolerance * _length(theta)
        taken.append((theta, n, delta, time.perf_counter() - began))
    path, sizes, deltas, seconds = map(np.array, zip(*taken, strict=True))
    warnings = () if converged else (_not_converged(chosen, features, origin, theta, step, n),)
    return IRLSResult(theta, path, sizes, deltas, np.cumsum(sizes) / N, seconds, converged, warnings)


def batch_irls(
    X: ArrayLike,
    y: ArrayLike,
    *,
    loss: str = "lad",
    smallest_residual: float = 1e-4,
    tolerance: float = 1e-6,
    max_iterations: int = 500,
    max_passes: float | None = None,
    start: ArrayLike | None = None,
) -> IRLSResult:
    """Fit a regression by IRLS with all the data in each iteration.

    The loss is that of least absolute deviations or of logistic regression.

    Parameters
    ----------
    X : array_like, shape (N, D)
        Features. A model with an intercept requires a column of ones.
    y : array_like, shape (N,)
        Responses. For logistic regression, they must have two values, either 0 and 1 or -1 and +1.
    loss : str
        Loss, "lad" for least absolute deviations or "logistic" for logistic regression.
    smallest_residual : float
        Lower limit on the residuals in the least-absolute-deviations loss (see `sequential_irls`).
    tolerance : float
        Largest length of a step, relative to the length of the coefficient vector, at which the iteration stops.
    max_iterations : int
        Maximum number of steps.
    max_passes : float, optional
        Number of passes over the data after which no further iteration starts.
    start : array_like, shape (D,), optional
        Initial coefficients. By default, they are zeros.

    Returns
    -------
    IRLSResult
        Coefficients, their convergence, and the path of the iteration.

    Raises
    ------
    UsageError, InputError
        Under the same conditions as for `sequential_irls`.
    """
    size = max(1, as_reals(y, "y").size)
    stops: dict[str, Any] = {"tolerance": tolerance, "max_iterations": max_iterations, "max_passes": max_passes}
    return sequential_irls(X, y, loss=loss, batch_size=size, smallest_residual=smallest_residual, start=start, **stops)


def _not_converged(loss: Loss, X: Floats, start: Floats, theta: Floats, step: Floats, seen: int) -> str:
    """Return a warning that the iteration has not converged.

    If the final loss exceeds the initial loss, an error is raised instead.
    """
    at_start, at_end = (loss.mean(point, X, loss.responses) for point in (start, theta))
    if not at_end <= at_start:
        raise InputError(
            f"the steps of small batches led astray: the mean loss rose from {at_start:.3g} at the start to "
            f"{at_end:.3g} after {seen} of {len(X)} data in the last step; give a batch_size several "
            'times as large, with carry="data" and more max_iterations or max_passes, or use batch_irls, which '
            "never lets it rise"
        )
    return (
        f"not converged: the last step, on {seen} of {len(X)} data, was {_length(step):.1e} long, "
        f"the coefficients are {_length(theta):.1e}; allow more iterations or passes, or a larger tolerance"
    )


@dataclass
class Batches:
    """Batches of data that propose steps.

    Within an iteration, the data are in random order and are drawn without replacement.
    """

    X: Floats
    loss: Loss
    rng: np.random.Generator
    first: int  # number of data points in the first stage
    growth: float
    epsilon: float
    debias: bool
    carry: str

    def __post_init__(self) -> None:
        N, self.y, self.begin, self.behind = len(self.X), self.loss.responses, self.first, 0
        self.renew = self.carry != "data" and self.first < N
        if self.first < N:
            self.order: Integers = self.rng.permutation(N)
            if not self.renew:
                self.X, self.y = self.X[self.order], self.y[self.order]

    def step(self, theta: Floats) -> tuple[Floats, int, float, float]:
        """Return a step from theta.

        The results also include the number of data points that the step uses, its delta, and the fraction to take.
        """
        N, D = self.X.shape
        system, n = NormalEquations(N, D), self.begin
        if self.renew and self.behind + n > N:  # too few data points remain for the first stage
            self.order, self.behind = self.rng.permutation(N), 0
        while True:
            X, y = self._take(system.seen, n)
            for block in (slice(k, k + _BLOCK) for k in range(0, len(X), _BLOCK)):
                system.add(self.loss.working_rows(theta, X[block], y[block]))
            solution = system.solve()
            if n == N:
                break
            if solution is not None and not system.separated:
                delta = wrong_direction_probability(solution[0], system.covariance(*solution), debias=self.debias)
                if delta < self.epsilon:
                    share, separated = self.loss.advance(theta, solution[0], *self._take(0, n))
                    if not separated:
                        self._end(n)
                        return solution[0], n, delta, share
            n = min(N, max(n + self.first, math.ceil(self.growth * n)))
        if system.separated:
            raise InputError(
                "a hyperplane separates the two classes of y, but for data on it: the coefficients of a logistic "
                "regression grow without bound; drop features, or "
                "give the coefficients a prior (steinkit.targets.LogisticRegression)"
            )
        if solution is None:
            raise system.dependence()
        self._end(n)
        return solution[0], N, 0.0, self.loss.advance(theta, solution[0], self.X, self.y).share

    def _take(self, seen: int, wanted: int) -> tuple[Floats, Floats]:
        """Return the data points ``seen`` to ``wanted`` of this iteration.

        In cyclic order, the data points of an iteration follow those of the last iteration.
        """
        if not self.renew:
            return self.X[seen:wanted], self.y[seen:wanted]
        chosen = self.order[np.arange(self.behind + seen, self.behind + wanted) % len(self.order)]
        return self.X[chosen], self.y[chosen]

    def _end(self, seen: int) -> None:
        self.behind += seen
        self.begin = self.first if self.carry == "nothing" else seen


def _one_of(value: str, name: str, *allowed: str) -> None:
    if value not in allowed:
        listed = ", ".join(f'"{choice}"' for choice in allowed)
        raise UsageError(f"{name} must be one of {listed}; got {value!r}{did_you_mean(str(value), allowed)}")


def _length(vector: Floats) -> float:
    return float(np.sqrt(vector @ vector))
