"""Iteratively reweighted least squares (IRLS) on batches that grow until their direction can be trusted.

IRLS moves from theta_t to theta_{t+1} = theta_t + d_N, the solution of a least squares problem whose rows depend on
theta_t (see `losses`). Far from the solution a rough step will do. So the step d_n of n of the N data, drawn without
replacement, is taken if the probability that it points more than 90 degrees away from d_N is small:

    repeat    A_n, g_n <- normal equations at theta_t of the n data;   d_n = A_n^-1 g_n
              if n = N or delta(d_n) < epsilon:  theta_{t+1} = theta_t + s d_n;  next t
              n <- min(N, max(n + first batch, growth n))

At n = N the step is that of IRLS on all the data. The share s is 1, or for a logistic regression less where the loss of
the n data would rise (see `losses`). Nor is a step taken that leads to where a hyperplane separates the classes of the
n data, as the first few data often can be: they know its direction at best, and the coefficients would run away. Such a
batch grows.

In the paper each iteration begins anew, with a small batch of other data. Then theta_t carries the noise of the last
batch, which is as long as that of the next. In six dimensions and more the step that mends the one and brings in the
other passes the test time and again, and leads nowhere. Here the next iteration continues with the data of the last.
Once theta_t fits them no step is left that would pass, and the batch grows.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from steinkit.arguments import batch_within, checked, number, positive, whole
from steinkit.describe.results import Brief
from steinkit.errors import InputError, UsageError, did_you_mean
from steinkit.sample import Floats, Integers
from steinkit.samplers.applications.losses import loss_named, regression_data, start_vector
from steinkit.samplers.applications.normal_equations import NormalEquations, wrong_direction_probability

_COVARIANCES = ("homoscedastic", "sandwich")
_CARRIED = ("data", "size", "nothing")
# Rows weighted at once: bounds the memory of a step on all the data.
_BLOCK = 65536


@dataclass(frozen=True, eq=False, repr=False)
class IRLSResult(Brief):
    """Where IRLS went, and what it read.

    Attributes
    ----------
    coefficients : ndarray, shape (D,)
        Where it ended.
    path : ndarray, shape (T, D)
        Coefficients after each of T iterations.
    batch_sizes : ndarray, shape (T,)
        Data n that the step of each iteration was computed from.
    wrong_direction : ndarray, shape (T,)
        delta, estimated, of each step; 0 where it was computed from all the data.
    data_passes : ndarray, shape (T,)
        Data read so far, in multiples of N. A datum counts once an iteration.
    seconds : ndarray, shape (T,)
        Time used so far.
    converged : bool
        Whether the last step, on all the data, was shorter than tolerance times the coefficients. The distance to the
        minimum can be longer: where each step is q times the one before, it is q / (1 - q) steps.
    warnings : tuple of str
        Reservations about the answer.
    """

    coefficients: Floats
    path: Floats
    batch_sizes: Integers
    wrong_direction: Floats
    data_passes: Floats
    seconds: Floats
    converged: bool
    warnings: tuple[str, ...]


@checked
def sequential_irls(
    X: ArrayLike,
    y: ArrayLike,
    *,
    loss: str = "lad",
    epsilon: float = 0.01,
    debias: bool = True,
    covariance: str = "homoscedastic",
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
    """Least absolute deviations or logistic regression, by IRLS on growing batches.

    Parameters
    ----------
    X : array_like, shape (N, D)
        Features; include a column of ones for an intercept.
    y : array_like, shape (N,)
        Responses; two values, 0 and 1 or -1 and +1, for logistic regression.
    loss : str
        "lad" or "logistic".
    epsilon : float
        Probability, in [0, 1/2], to be more than 90 degrees off that a step is allowed at *one* look. 0 reads all the
        data in each iteration.
    debias : bool
        Whether delta is debiased: see `wrong_direction_probability`. False is the paper's form.
    covariance : str
        Covariance of the steps: "homoscedastic" as in the paper, or "sandwich". For least absolute deviations the
        first is too large, several times so, as a datum that is fitted well weighs more and errs less: the test reads
        more data than it would have to.
    carry : str
        What an iteration begins with: "data", those that the one before ended with; "size", as many data drawn anew;
        "nothing", batch_size data drawn anew, as in the paper. The last two can fail to converge.
    batch_size : int, optional
        Data of the first look, more than D, and the least added at each; N / 1000, but at least 10 D, if not given.
    growth : float
        Factor by which a batch grows at the least, 1 or more.
    smallest_residual : float
        Floor c of the residuals of least absolute deviations, in mean absolute deviations of y about its median. A
        smaller floor takes more iterations, about in proportion to its logarithm.
    tolerance : float
        Stop after a step on all the data whose length is at most this times that of the coefficients.
    max_iterations : int
        Steps to take at most.
    max_passes : float, optional
        Begin no iteration once that many times N data have been read.
    start : array_like, shape (D,), optional
        First coefficients; zeros if not given.
    rng : int, numpy.random.Generator or None
        Which data are drawn.

    Returns
    -------
    IRLSResult
        The coefficients, whether they converged, and the way there.

    Raises
    ------
    UsageError
        If an option is out of range.
    InputError
        If values are not finite, shapes disagree, the columns of X are linearly dependent, or a hyperplane through the
        origin separates the classes of a logistic regression, whose coefficients then grow without bound; or if the
        steps, when no more may be taken, have led to a larger loss than that of the start.

    Notes
    -----
    IRLS for logistic regression is Newton's method. Steps that would let the loss of their data rise are halved until
    it falls, so that on all the data it converges from any start.

    Directions are judged by the scalar product of coefficients, which depends on the units of the columns of X:
    standardise them.

    Near the minimum, where steps are shorter than their noise, every batch grows to all the data: the last digits
    cost as much as on all the data from the start.

    References
    ----------
    A. Korattikara, Y. Chen and M. Welling (2016), "Sequential tests for large-scale learning", algorithm 1. Theirs is
    ``debias=False, carry="nothing", growth=1``.
    """
    run = _Run(X, y, loss, smallest_residual, tolerance, max_iterations, max_passes, start)
    number(epsilon, "epsilon", lambda e: 0.0 <= e <= 0.5, "in [0, 1/2]")
    number(growth, "growth", lambda g: 1.0 <= g < math.inf, "at least 1 and finite")
    _one_of(covariance, "covariance", _COVARIANCES)
    _one_of(carry, "carry", _CARRIED)
    N, D = run.X.shape
    first = batch_within(batch_size, max(N // 1000, 10 * D), N)
    if first <= D:
        raise UsageError(f"batch_size must be more than the number of coefficients, {D}; received {batch_size}")
    batches = _Batches(run.X, run.loss.responses, np.random.default_rng(rng), renew=carry != "data")
    begin = first

    def step(theta: Floats) -> _Step:
        nonlocal begin
        system = NormalEquations(N, D, keep_rows=covariance == "sandwich")
        batches.begin(begin)
        n = begin
        while True:
            run.read(system, theta, *batches.take(system.seen, n))
            if n == N:
                found = run.full_step(system, theta)
                break
            solution = system.solve()
            if solution is not None and not system.separated:
                delta = wrong_direction_probability(solution[0], system.covariance(*solution), debias=debias)
                if delta < epsilon:
                    advance = run.loss.advance(theta, solution[0], *batches.take(0, n))
                    if not advance.separated:
                        found = _Step(solution[0], n, delta, advance.share)
                        break
            n = min(N, max(n + first, math.ceil(growth * n)))
        begin = first if carry == "nothing" else n
        return found

    return run.iterate(step)


@checked
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
    """Least absolute deviations or logistic regression, by IRLS on all the data in each iteration.

    Parameters
    ----------
    X : array_like, shape (N, D)
        Features; include a column of ones for an intercept.
    y : array_like, shape (N,)
        Responses; two values, 0 and 1 or -1 and +1, for logistic regression.
    loss : str
        "lad" or "logistic".
    smallest_residual : float
        Floor of the residuals of least absolute deviations: see `sequential_irls`.
    tolerance : float
        Stop after a step whose length is at most this times that of the coefficients.
    max_iterations : int
        Steps to take at most.
    max_passes : float, optional
        Begin no iteration once that many times N data have been read.
    start : array_like, shape (D,), optional
        First coefficients; zeros if not given.

    Returns
    -------
    IRLSResult
        The coefficients, whether they converged, and the way there.

    Raises
    ------
    UsageError, InputError
        As for `sequential_irls`.
    """
    run = _Run(X, y, loss, smallest_residual, tolerance, max_iterations, max_passes, start)

    def step(theta: Floats) -> _Step:
        system = NormalEquations(*run.X.shape, keep_rows=False)
        run.read(system, theta, run.X, run.loss.responses)
        return run.full_step(system, theta)

    return run.iterate(step)


@dataclass(frozen=True)
class _Step:
    """A step, the number of data it was computed from, its delta, and the share of it that is taken."""

    step: Floats
    seen: int
    wrong_direction: float
    share: float

    @property
    def taken(self) -> Floats:
        return self.share * self.step


class _Run:
    """Data, loss, and when to stop."""

    def __init__(
        self,
        features: ArrayLike,
        responses: ArrayLike,
        loss: str,
        smallest_residual: float,
        tolerance: float,
        max_iterations: int,
        max_passes: float | None,
        start: ArrayLike | None,
    ) -> None:
        number(smallest_residual, "smallest_residual", lambda c: 0.0 < c < 1.0, "between 0 and 1")
        self.tolerance = positive(tolerance, "tolerance")
        self.max_iterations = whole(max_iterations, "max_iterations", 1)
        self.max_passes = math.inf if max_passes is None else positive(max_passes, "max_passes")
        self.X, y = regression_data(features, responses)
        self.loss = loss_named(loss, y, smallest_residual)
        self.start = start_vector(start, self.X.shape[1])

    def read(self, system: NormalEquations, theta: Floats, X: Floats, y: Floats) -> None:
        """Add data to the normal equations at theta, block by block."""
        for first in range(0, len(X), _BLOCK):
            block = slice(first, first + _BLOCK)
            system.add(self.loss.working_rows(theta, X[block], y[block]))

    def full_step(self, system: NormalEquations, theta: Floats) -> _Step:
        """Step of all the data."""
        if system.separated:
            raise InputError(
                "a hyperplane separates the two classes of y, but for data on it: the coefficients of a logistic "
                "regression grow without bound; drop features, or "
                "give the coefficients a prior (steinkit.targets.LogisticRegression)"
            )
        solution = system.solve()
        if solution is None:
            raise system.dependence()
        share = self.loss.advance(theta, solution[0], self.X, self.loss.responses).share
        return _Step(solution[0], system.seen, 0.0, share)

    def iterate(self, step: Callable[[Floats], _Step]) -> IRLSResult:
        """Take steps until one on all the data is short, or no more may be taken."""
        N, began = len(self.X), time.perf_counter()
        theta, read, converged = self.start, 0, False
        path: list[Floats] = []
        steps: list[_Step] = []
        seconds: list[float] = []
        while not converged and len(path) < self.max_iterations and read < self.max_passes * N:
            found = step(theta)
            theta = theta + found.taken
            read += found.seen
            converged = found.seen == N and _length(found.step) <= self.tolerance * _length(theta)
            path.append(theta)
            steps.append(found)
            seconds.append(time.perf_counter() - began)
        warnings = () if converged else (self._not_converged(steps[-1], theta),)
        return IRLSResult(
            coefficients=theta,
            path=np.array(path),
            batch_sizes=np.array([found.seen for found in steps]),
            wrong_direction=np.array([found.wrong_direction for found in steps]),
            data_passes=np.cumsum([found.seen for found in steps]) / N,
            seconds=np.array(seconds),
            converged=converged,
            warnings=warnings,
        )

    def _not_converged(self, last: _Step, theta: Floats) -> str:
        """Say so; or refuse to give an answer that is worse than the start."""
        at_start, at_end = (self.loss.mean(point, self.X, self.loss.responses) for point in (self.start, theta))
        if not at_end <= at_start:
            raise InputError(
                f"the steps of small batches led astray: the mean loss rose from {at_start:.3g} at the start to "
                f"{at_end:.3g} after {last.seen} of {len(self.X)} data in the last step; give a batch_size several "
                'times as large, with carry="data" and more max_iterations or max_passes, or use batch_irls, which '
                "never lets it rise"
            )
        return (
            f"not converged: the last step, on {last.seen} of {len(self.X)} data, was {_length(last.step):.1e} long, "
            f"the coefficients are {_length(theta):.1e}; allow more iterations or passes, or a larger tolerance"
        )


class _Batches:
    """Data in random order, handed out without replacement within an iteration.

    Parameters
    ----------
    X : ndarray, shape (N, D)
    y : ndarray, shape (N,)
    rng : numpy.random.Generator
    renew : bool
        Whether an iteration begins behind the data of the last one, round and round, or with the same.
    """

    def __init__(self, X: Floats, y: Floats, rng: np.random.Generator, *, renew: bool) -> None:
        self._rng = rng
        self._renew = renew
        self._order: Integers = rng.permutation(len(X))
        self._X, self._y = (X, y) if renew else (X[self._order], y[self._order])
        self._first = self._end = 0

    def begin(self, needed: int) -> None:
        """Begin an iteration; in a new order if too few data are left for its first look."""
        if self._renew and self._end + needed > len(self._order):
            self._order, self._end = self._rng.permutation(len(self._order)), 0
        self._first = self._end

    def take(self, seen: int, wanted: int) -> tuple[Floats, Floats]:
        """Data ``seen`` to ``wanted`` of this iteration."""
        if not self._renew:
            return self._X[seen:wanted], self._y[seen:wanted]
        self._end = self._first + wanted
        chosen = self._order[np.arange(self._first + seen, self._end) % len(self._order)]
        return self._X[chosen], self._y[chosen]


def _one_of(value: str, name: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        listed = ", ".join(f'"{choice}"' for choice in allowed)
        raise UsageError(f"{name} must be one of {listed}; received {value!r}{did_you_mean(str(value), allowed)}")


def _length(vector: Floats) -> float:
    return float(np.sqrt(vector @ vector))
