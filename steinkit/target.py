"""Targets: the distribution a sample claims to represent, known through its score.

A Stein discrepancy needs the score, grad log p, and the support's bounds; nothing else. A log density lets
the score be checked, a sampler gives reference samples, a cdf gives Wasserstein distances in one dimension.

Gradients of a log density are had by SciPy's adaptive central differences (`scipy.differentiate.derivative`), each
entry with an estimate of its own error. Added here: steps in the unit of each coordinate that never cross a bound of
the support, several starts, and the rounding error of the log density.
"""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypedDict

import numpy as np
from numpy.typing import ArrayLike, NDArray

from steinkit.arguments import (
    generator_from,
    real_numbers,
    require_functions,
    require_lists,
    require_type,
    whole,
)
from steinkit.errors import InputError, SteinkitError, UsageError, warn_user
from steinkit.runtime.deadlines import require_time
from steinkit.sample import Floats, Integers, default_names, require_printable

_PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep

Vectorised = Callable[[Floats], ArrayLike]
Functions = Mapping[str, Vectorised]
Shifted = Callable[[Floats, NDArray[np.intp], NDArray[np.intp]], Floats]  # of offsets, rows and columns


def as_functions(functions: Functions) -> Functions:
    """Functions by name; UsageError if they are anything else."""
    if not isinstance(functions, Mapping) or not all(callable(each) for each in functions.values()):
        raise UsageError("functions must be a mapping of names to functions of the draws: {'tau': lambda x: ...}")
    require_printable(tuple(map(str, functions)))
    return functions


def call_checked(function: Vectorised, points: Floats, shape: tuple[int, ...], what: str) -> Floats:
    """Call a function at points and hold it to its shape.

    Parameters
    ----------
    function : callable
    points : ndarray
        Copied first, so that the function may write to them.
    shape : tuple of int
        What the function must return.
    what : str
        What messages call the function.

    Returns
    -------
    ndarray, of that shape

    Raises
    ------
    InputError
        If the function raises, or returns another shape.
    """
    values = numbers_from(lambda: function(points.copy()), what, f"the values of {what}")
    if values.shape != shape:
        raise InputError(
            f"{what} must return shape {shape} for points of shape {points.shape}; it returned {values.shape}"
        )
    return values


class RaisedError(InputError):
    """A user's function raised an exception."""


def numbers_from(call: Callable[[], ArrayLike], what: str, returned: str) -> Floats:
    """Call a user's function and return its numbers as an array; RaisedError if it raises."""
    try:
        return real_numbers(call(), returned)
    except SteinkitError:
        raise
    except Exception as error:
        raise RaisedError(f"{what} raised {described(error)}") from error


_HOPELESS = 40  # calls that raise before any returns, after which no row is tried any more


def call_where_defined(function: Vectorised, points: Floats, row: tuple[int, ...], what: str) -> Floats:
    """Call a function at points that a Markov kernel proposes, where it may raise.

    Halves of the points are tried in turn where the function raises, so that only the rows at fault are lost.

    Parameters
    ----------
    function : callable
    points : ndarray, shape (n, d)
    row : tuple of int
        Shape of the value at one point.
    what : str
        Name of the function in messages.

    Returns
    -------
    ndarray, shape (n, *row)
        NaN where the function raises.

    Raises
    ------
    InputError
        If the function returns another shape or numbers that are not real.
    TimeLimitError
        If the deadline passes.
    """
    values = np.full((len(points), *row), np.nan)
    parts, raised, returned = [slice(0, len(points))], 0, False
    while len(points) and parts and (returned or raised < _HOPELESS):
        rows = parts.pop()
        count = rows.stop - rows.start
        require_time(f"{what} was taken at proposals")
        try:
            with np.errstate(all="ignore"):
                values[rows] = call_checked(function, points[rows], (count, *row), what)
            returned = True
        except RaisedError as error:
            if isinstance(error.__cause__, TimeoutError):
                raise  # a watchdog of the user's
            raised += 1
            middle = rows.start + -(-count // 2)
            parts += [slice(rows.start, middle), slice(middle, rows.stop)] if count > 1 else []
    return values


def described(error: Exception) -> str:
    """What a user's function raised, and where in it."""
    others = [each for each in traceback.extract_tb(error.__traceback__) if not each.filename.startswith(_PACKAGE)]
    frames = [each for each in others if "site-packages" not in each.filename] or others
    place = f" at {frames[0].filename}, line {frames[0].lineno}" if frames else ""
    return f"{type(error).__name__}{place}: {error}"


# First steps, in units of a coordinate's length scale: a stencil that leaves the support or spans several
# modes ends SciPy's adaptation at once, so entries that did not converge start again from a smaller step.
_STARTS = tuple(2.0**-k for k in (0, 8, 16, 24, 32))
_CONVERGED = 1e-6
# Noise of the order-8 stencil, in units of (rounding error of the log density) / (largest step): at most 16.
_STENCIL_NOISE = 16.0
_BLOCK_FLOATS = 1 << 22
_SCORE_RTOL = 1e-3  # largest difference of a score from finite differences
_SCORE_ERROR = 1e-2  # of finite differences, from which on they are not compared
_NEAR = 1e-3  # of the spread of the draws: steps over which a log density is as good as a cubic, but for rounding
_CHECKED_DRAWS, _CHECKED_ENTRIES = 10, 1000
_LISTED = 12  # coordinates in a message
_NOT_COMPARED = "finite differences were too inaccurate to check the target's score against its log density"
_ROUGH = 1e-2  # relative error of a score from which on it is said each time


def numerical_gradient(
    log_density: Callable[[Floats], Floats], points: Floats, bounds: Floats | None
) -> tuple[Floats, Floats]:
    """Gradient of a log density by adaptive central differences.

    Parameters
    ----------
    log_density : callable, (m, d) -> (m,)
        May return -inf or NaN, or raise, off its support; such steps are given up.
    points : ndarray, shape (n, d)
    bounds : ndarray, shape (d, 2), or None
        Never stepped over, nor onto.

    Returns
    -------
    gradient : ndarray, shape (n, d)
        NaN where nothing could be computed.
    uncertainty : ndarray, shape (n, d)
        Estimated absolute error: the change at the last halving of the step, and the rounding error of the
        log density over the step. An estimate, not a bound. Infinite where nothing could be computed, as on a
        bound.
    """

    def shifted(offsets: Floats, rows: NDArray[np.intp], columns: NDArray[np.intp]) -> Floats:
        return _shifted_log_density(log_density, points, offsets, rows, columns)

    return _slopes(shifted, _largest_steps(points, bounds), _rounding_error(log_density(points)))


def _slopes(shifted: Shifted, steps: Floats, rounding: Floats) -> tuple[Floats, Floats]:
    """Derivatives at n points along k directions each, and their uncertainty: `numerical_gradient`."""
    slopes = np.full(steps.shape, np.nan)
    uncertainty = np.full(steps.shape, np.inf)
    unsettled = steps > 0.0
    for start in _STARTS:
        at = np.nonzero(unsettled)
        if not at[0].size:
            break
        slope, error, converged = _differentiate(shifted, at, start * steps[at], rounding[at[0]])
        better = error < uncertainty[at]
        slopes[at] = np.where(better, slope, slopes[at])
        uncertainty[at] = np.where(better, error, uncertainty[at])
        unsettled[at] = ~converged
    return slopes, uncertainty


class DifferenceScore:
    """A score made from a log density by central differences, where nobody gave one.

    Said once, as a warning: how many evaluations it takes, and how accurate it is. Said whenever it is so: that some
    entries are not accurate to a hundredth.

    Parameters
    ----------
    log_density : callable, (m, d) -> (m,)
    bounds : ndarray, shape (d, 2), or None
    label : str
        What the warning calls the target.

    Attributes
    ----------
    remark : str
        What was last said; empty before the first call.
    """

    def __init__(self, log_density: Callable[[Floats], Floats], bounds: Floats | None, label: str) -> None:
        self._log_density, self._bounds, self._label = log_density, bounds, label
        self.remark: str = ""

    def __call__(self, points: Floats) -> Floats:
        """The score at points, (n, d) -> (n, d); NaN where nothing could be computed."""
        evaluations = 0

        def counted(places: Floats) -> Floats:
            nonlocal evaluations
            evaluations += len(places)
            return self._log_density(places)

        gradient, uncertainty = numerical_gradient(counted, points, self._bounds)
        if np.isnan(gradient).any():
            return gradient  # which is told of by its draw
        size = np.maximum(np.abs(gradient), np.median(np.abs(gradient), axis=0)) if len(points) else gradient
        with np.errstate(divide="ignore", invalid="ignore"):
            error = np.where(size > 0.0, uncertainty / size, 0.0)
        self._say(evaluations, error)
        return gradient

    def without_warning(self, points: Floats) -> Floats:
        """Return the same at points that are no draws, whose accuracy is not reported."""
        return numerical_gradient(self._log_density, points, self._bounds)[0]

    def _say(self, evaluations: int, error: Floats) -> None:
        if not error.size:
            return
        first, rough = not self.remark, int((error > _ROUGH).sum())
        poor = f", {rough} of {error.size} entries worse than a hundredth" if rough else ""
        self.remark = (
            f"{self._label} has no score; finite differences of its log density take its place: {evaluations:,} "
            f"evaluations for {len(error):,} draws ({evaluations / error.size:.3g} a draw and coordinate), accurate to "
            f"{np.median(error):.0e} of the score's size (worst {error.max():.0e}{poor}); pass score=, or use "
            "Target.from_jax or from_torch, for an exact one"
        )
        if first or rough:
            warn_user(self.remark)


def length_scales(points: Floats) -> Floats:
    """Spread of the points in each coordinate, (n, d) -> (d,); their size, or 1, where they do not spread."""
    centre = np.median(points, axis=0)
    candidates = (
        np.median(np.abs(points - centre), axis=0),
        np.abs(points - centre).max(axis=0),
        np.abs(points).max(axis=0),
    )
    scales = np.ones(points.shape[1])
    for candidate in reversed(candidates):
        scales = np.where(candidate > 0.0, candidate, scales)
    return scales


def _largest_steps(points: Floats, bounds: Floats | None) -> Floats:
    """First step of every entry, (n, d): a power of two, so that adding it hardly rounds; 0 on a bound."""
    # a point far out, as in a heavy tail, has a larger scale than the bulk
    steps = np.maximum(length_scales(points), np.abs(points - np.median(points, axis=0)))
    if bounds is not None:
        room = np.minimum(points - bounds[:, 0], bounds[:, 1] - points)
        steps = np.minimum(steps, 0.5 * np.maximum(room, 0.0))
    with np.errstate(divide="ignore"):
        return np.asarray(np.exp2(np.floor(np.log2(steps))), dtype=np.float64)


def _rounding_error(heights: Floats) -> Floats:
    """Floating-point error of log densities, (n,): of single precision if that is what they have."""
    with np.errstate(over="ignore"):
        single = heights.astype(np.float32).astype(np.float64)
    precision = np.float32 if np.array_equal(single, heights, equal_nan=True) else np.float64
    return np.abs(heights) * float(np.finfo(precision).eps)


def _differentiate(
    shifted: Shifted, at: tuple[NDArray[np.intp], ...], steps: Floats, rounding: Floats
) -> tuple[Floats, Floats, NDArray[np.bool_]]:
    """Slope at each of the entries ``at``, its error, and whether SciPy's adaptation converged."""
    from scipy.differentiate import derivative

    def flat(offsets: Floats, rows: NDArray[np.intp], columns: NDArray[np.intp]) -> Floats:
        offsets, rows, columns = np.broadcast_arrays(offsets, rows, columns)
        return shifted(offsets.ravel(), rows.ravel(), columns.ravel()).reshape(offsets.shape)

    with np.errstate(all="ignore"):
        found = derivative(flat, np.zeros(len(steps)), args=at, initial_step=steps, tolerances={"rtol": _CONVERGED})
        last_step = steps * 2.0 ** (1.0 - found.nit)
        error = np.maximum(found.error, _STENCIL_NOISE * rounding / last_step)
    usable = np.isfinite(found.df) & np.isfinite(error)
    return found.df, np.where(usable, error, np.inf), found.success & usable


def _shifted_log_density(
    log_density: Callable[[Floats], Floats],
    points: Floats,
    offsets: Floats,
    rows: NDArray[np.intp],
    columns: NDArray[np.intp],
) -> Floats:
    """Log density at points[rows], ``offsets`` added in ``columns``; NaN where rounding loses the offset."""
    values = np.empty(len(offsets))
    block = max(1, _BLOCK_FLOATS // points.shape[1])
    for begin in range(0, len(offsets), block):
        part = slice(begin, begin + block)
        moved = points[rows[part]]
        entry = (np.arange(len(moved)), columns[part])
        origin = moved[entry]
        moved[entry] = origin + offsets[part]
        lost = np.abs((moved[entry] - origin) - offsets[part]) > 1e-7 * np.abs(offsets[part])
        values[part] = np.where(lost, np.nan, call_where_defined(log_density, moved, (), "log_density"))
    return values


Seed = int | np.random.Generator | None


class TargetOptions(TypedDict, total=False):
    """What a posterior says of itself as any target does; see `Target`."""

    bounds: ArrayLike | None
    names: Sequence[str] | None
    cdf: Vectorised | None
    tail_integrals: Vectorised | None
    sampler: Callable[[int, np.random.Generator], ArrayLike] | None
    dim: int | None
    functions: Mapping[str, Vectorised] | None
    label: str


def require_target(target: object, *, optional: bool = False) -> None:
    """Require a target, or None where it is optional.

    Raises
    ------
    UsageError
        If it is something else.
    """
    if not isinstance(target, Target) and not (optional and target is None):
        raise UsageError(
            f"expected target to be a steinkit Target, got {type(target).__name__}: wrap a score function as "
            "sk.Target(score=...)"
        )


class Target:
    """A distribution on R^d, or on a box in it.

    Parameters
    ----------
    score : callable, (n, d) -> (n, d), optional
        Gradient of the log density at each of n points. Without it central differences of `log_density` take its place:
        some eleven evaluations of it a coordinate and draw, accurate to eight digits or more where it is smooth. A
        warning says once what they cost and how accurate they are.
    log_density : callable, (n, d) -> (n,), optional
        Log density up to a constant; used by `check`, and where there is no score.
    bounds : array_like, shape (d, 2), optional
        Row j is (lower, upper) of coordinate j; infinities where there is no bound.
    names : sequence of str, optional
        Names of the coordinates.
    cdf : callable, (n,) -> (n,), optional
        Cumulative distribution function F, in one dimension.
    tail_integrals : callable, (n,) -> (n, 2), optional
        The integrals of F up to x and of 1 - F from x on, in one dimension: E max(x - X, 0) and E max(X - x, 0). With
        them Wasserstein distances are exact; with a cdf alone they are bracketed, more slowly. Needs `cdf`.
    sampler : callable, (n, Generator) -> (n, d), optional
        Draws n independent points.
    dim : int, optional
        Number of coordinates; taken from `names` or `bounds` where they are given. None accepts any.
    functions : mapping of str to callable, (n, d) -> (n,), optional
        Further quantities that its user reads, by name: ``{"tau": lambda x: np.exp(x[:, 0])}``. Biases of their means
        and standard deviations are estimated beside those of the coordinates. An attribute, too, to be set later.
    label : str, optional
        How reports call the target.

    Attributes
    ----------
    has_log_density, has_cdf, has_tail_integrals, can_sample : bool
        Whether `log_density`, `cdf`, `tail_integrals` and `sample` can be called.
    score_is_checked : bool
        Whether the score was compared with the log density. Discrepancies, verdicts and estimates compare them at ten
        draws when they first use the target; set True to omit this, as for a score that is random.

    Raises
    ------
    UsageError
        If bounds, names and dim contradict each other, or a lower bound does not lie below its upper bound.

    Examples
    --------
    >>> import steinkit as sk
    >>> target = sk.Target(score=lambda x: -x, log_density=lambda x: -0.5 * (x**2).sum(axis=1), dim=2)
    >>> target.score([[1.0, 2.0]])
    array([[-1., -2.]])
    """

    score_is_checked: bool = False
    _doubts: tuple[str, ...] = ()

    def __init__(
        self,
        score: Vectorised | None = None,
        *,
        log_density: Vectorised | None = None,
        bounds: ArrayLike | None = None,
        names: Sequence[str] | None = None,
        cdf: Vectorised | None = None,
        tail_integrals: Vectorised | None = None,
        sampler: Callable[[int, np.random.Generator], ArrayLike] | None = None,
        dim: int | None = None,
        functions: Mapping[str, Vectorised] | None = None,
        label: str = "user-defined target",
    ) -> None:
        if score is None and log_density is None:
            raise UsageError("a target needs score=, a function of an (n, d) array, or log_density=; received neither")
        self._log_density = log_density
        self._cdf = cdf
        self._tail_integrals = tail_integrals
        self._sampler = sampler
        self.has_log_density: bool = log_density is not None
        self.has_cdf: bool = cdf is not None
        self.has_tail_integrals: bool = tail_integrals is not None
        self.can_sample: bool = sampler is not None
        self.label = label
        require_lists(names=names)
        require_type(str, "text", label=label)
        given = {"score": score, "log_density": log_density, "sampler": sampler}
        require_functions(optional=True, cdf=cdf, tail_integrals=tail_integrals, **given)
        self.functions: Functions = as_functions({} if functions is None else functions)
        self.names: tuple[str, ...] | None = None if names is None else tuple(map(str, names))
        require_printable(self.names or ())
        if dim is None and self.names is not None:
            dim = len(self.names)
        self.bounds: Floats | None = None if bounds is None else as_bounds(bounds, dim)
        if dim is None and self.bounds is not None:
            dim = len(self.bounds)
        if self.names is not None and len(self.names) != dim:
            raise UsageError(f"{len(self.names)} names for {dim} coordinates")
        if cdf is not None and dim != 1:
            raise UsageError(f"a cdf is for targets of one dimension; this one has {dim}: pass dim=1 or drop the cdf")
        if tail_integrals is not None and cdf is None:
            raise UsageError("tail_integrals are used beside a cdf; pass cdf= too")
        self.dim: int | None = None if dim is None else whole(dim, "dim", 1)
        self._score: Vectorised = DifferenceScore(self.log_density, self.bounds, label) if score is None else score

    def __repr__(self) -> str:
        size = "any dimension" if self.dim is None else f"d = {self.dim}"
        return f"<{type(self).__name__} {self.label!r}, {size}>"

    @property
    def can_be_checked(self) -> bool:
        """Whether `check` can be called: there is a log density, and a score that is not made from it."""
        return self.has_log_density and not isinstance(self._score, DifferenceScore)

    @property
    def remarks(self) -> tuple[str, ...]:
        """Remarks on the scores so far: on finite differences, or that they could not be compared with the density."""
        own = isinstance(self._score, DifferenceScore) and self._score.remark
        return (own, *self._doubts) if own else self._doubts

    @property
    def cdf_accuracy(self) -> float:
        """What brackets of Wasserstein distances allow for errors of F, and of its integrals relative to E|X - x|.

        Assumed of functions given, measured of built-in families.
        """
        return 1e-13

    def score(
        self, points: ArrayLike, *, draws: Integers | None = None, names: tuple[str, ...] | None = None
    ) -> Floats:
        """Gradient of the log density.

        Parameters
        ----------
        points : array_like, shape (n, d)
            Where to evaluate it; within the bounds.
        draws : ndarray of int, shape (n,), optional
            Which draw of a sample, from 0, each point is: what error messages call it.
        names : tuple of str, optional
            What error messages call the coordinates; the target's own names if not given.

        Returns
        -------
        ndarray, shape (n, d)
            In one over the unit of the points.

        Raises
        ------
        InputError
            If the points have another dimension than the target, or lie outside its support, or the score
            function returns another shape or a value that is not finite.
        """
        points = self._points(points)
        if self.bounds is not None:
            require_inside(points, self.bounds, names or self.names, draws)
        values = call_checked(self._score, points, points.shape, "score")
        bad = np.argwhere(~np.isfinite(values))
        if bad.size:
            row, column = bad[0]
            on_bound = self.bounds is not None and points[row, column] in self.bounds[column]
            raise InputError(
                f"the score at draw {_number(row, draws)} is {values[row, column]} in coordinate "
                f"{self._name(column, names)!r}; the point is {show_point(points[row])}: "
                + ("it lies on the bound of the support; drop that draw" if on_bound else "is it inside the support?")
            )
        return values

    def log_density(self, points: ArrayLike) -> Floats:
        """Log density up to a constant.

        Parameters
        ----------
        points : array_like, shape (n, d)
            Where to evaluate it.

        Returns
        -------
        ndarray, shape (n,)
            Natural logarithms.

        Raises
        ------
        UsageError
            If the target has none.
        InputError
            If the points have another dimension than the target, or the function returns another shape.
        """
        if self._log_density is None:
            raise UsageError(f"{self.label} has no log density; pass log_density= to Target")
        points = self._points(points)
        return call_checked(self._log_density, points, (len(points),), "log_density")

    def log_density_of_draws(self, points: ArrayLike, *, draws: Integers | None = None) -> Floats:
        """Evaluate the log density at draws, where it must be finite.

        Parameters
        ----------
        points : array_like, shape (n, d)
            The draws.
        draws : ndarray of int, shape (n,), optional
            Index of each point in the sample, from 0, for error messages.

        Returns
        -------
        ndarray, shape (n,)
            Natural logarithms, up to a constant.

        Raises
        ------
        UsageError
            If the target has no log density.
        InputError
            If the log density raises, or is infinite or NaN at a draw; the message names the draw.
        """
        points = self._points(points)
        values = self.log_density(points)
        bad = np.flatnonzero(~np.isfinite(values))
        if bad.size:
            others = f" ({len(bad)} such draws in all)" if len(bad) > 1 else ""
            raise InputError(
                f"the log density at draw {_number(int(bad[0]), draws)} is {values[bad[0]]}{others}; expected a finite "
                f"number; the point is {show_point(points[bad[0]])}: drop that draw, or correct the log density"
            )
        return values

    def proposal_log_density(self, points: ArrayLike) -> Floats:
        """Evaluate the log density at points that a Markov kernel proposes.

        The function is not called outside the bounds. An exception, NaN or an infinity there is a rejected proposal.

        Parameters
        ----------
        points : array_like, shape (n, d)
            Anywhere.

        Returns
        -------
        ndarray, shape (n,)
            Finite, or -inf where the proposal must be rejected.

        Raises
        ------
        UsageError
            If the target has no log density.
        InputError
            If the points have another dimension than the target, or the function returns another shape.
        TimeLimitError
            If the deadline passes.

        Examples
        --------
        >>> import numpy as np, steinkit as sk
        >>> target = sk.Target(log_density=lambda x: -0.5 * np.log(x[:, 0]) - x[:, 0], bounds=[[0.0, np.inf]])
        >>> target.proposal_log_density([[1.0], [-1.0]])
        array([ -1., -inf])
        """
        values = self._at_proposals(self._log_density or self.log_density, self._points(points), (), "log_density")
        return np.where(np.isfinite(values), values, -np.inf)

    def proposal_score(self, points: ArrayLike) -> Floats:
        """Evaluate the score at points that a Markov kernel proposes.

        The function is not called outside the bounds. An exception, NaN or an infinity there is a rejected proposal.

        Parameters
        ----------
        points : array_like, shape (n, d)
            Anywhere.

        Returns
        -------
        ndarray, shape (n, d)
            Rows are finite, or all NaN where the proposal must be rejected.

        Raises
        ------
        InputError
            If the points have another dimension than the target, or the function returns another shape.
        TimeLimitError
            If the deadline passes.
        """
        points, score = self._points(points), self._score
        if isinstance(score, DifferenceScore):
            score = score.without_warning
        values = self._at_proposals(score, points, points.shape[1:], "score")
        defined = _finite_rows(values)
        return values if defined.all() else np.where(defined[:, None], values, np.nan)

    def _at_proposals(self, function: Vectorised, points: Floats, row: tuple[int, ...], what: str) -> Floats:
        """Call a function at the points inside the support; NaN elsewhere and where it raises."""
        inside = is_inside(points, self.bounds)
        if inside.all():
            return call_where_defined(function, points, row, what)
        values = np.full((len(points), *row), np.nan)
        values[inside] = call_where_defined(function, points[inside], row, what)
        return values

    def cdf(self, values: ArrayLike) -> Floats:
        """Cumulative distribution function, in one dimension.

        Parameters
        ----------
        values : array_like, shape (n,)
            Where to evaluate it.

        Returns
        -------
        ndarray, shape (n,)
            Probabilities of X <= x.

        Raises
        ------
        UsageError
            If the target has none.
        """
        if self._cdf is None:
            raise UsageError(f"{self.label} has no cdf; pass cdf= to Target")
        flat = real_numbers(values, "values").reshape(-1)
        return call_checked(self._cdf, flat, flat.shape, "cdf")

    def tail_integrals(self, values: ArrayLike) -> Floats:
        """E max(x - X, 0) and E max(X - x, 0), in one dimension.

        Parameters
        ----------
        values : array_like, shape (n,)
            The numbers x.

        Returns
        -------
        ndarray, shape (n, 2)
            Infinite where the target has no mean.

        Raises
        ------
        UsageError
            If the target has none.
        """
        if self._tail_integrals is None:
            raise UsageError(f"{self.label} has no tail integrals; pass tail_integrals= to Target")
        flat = real_numbers(values, "values").reshape(-1)
        return call_checked(self._tail_integrals, flat, (len(flat), 2), "tail_integrals")

    def sample(self, n: int, rng: Seed = None) -> Floats:
        """Draw ``n`` independent points.

        Parameters
        ----------
        n : int
            How many.
        rng : int, numpy.random.Generator or None
            Seed or generator.

        Returns
        -------
        ndarray, shape (n, d)
            One row a point.

        Raises
        ------
        UsageError
            If the target cannot be drawn from.
        InputError
            If the sampler fails, or returns another shape.
        """
        if self._sampler is None:
            raise UsageError(f"{self.label} cannot be drawn from; pass sampler= to Target")
        draw = self._sampler
        points = numbers_from(lambda: draw(n, generator_from(rng)), "sampler", "the points of sampler")
        if points.ndim != 2 or len(points) != n or (self.dim is not None and points.shape[1] != self.dim):
            raise InputError(f"sampler must return shape ({n}, {self.dim or 'd'}); it returned {points.shape}")
        return points

    def check(self, points: ArrayLike, *, rtol: float = _SCORE_RTOL, names: Sequence[str] | None = None) -> ScoreCheck:
        """Compare the score with numerical derivatives of the log density.

        Adaptive central differences (`scipy.differentiate.derivative`) come with an estimate of their own
        error; entries where that estimate is too large to judge are counted, not compared.

        Parameters
        ----------
        points : array_like, shape (n, d)
            Where to compare; a few points spread over the sample do.
        rtol : float
            Largest difference accepted, relative to the largest of the two values and the median absolute
            score of that coordinate (1 / (spread of the points) where all of these are 0).
        names : tuple of str, optional
            Names of the coordinates in error messages; the target's own if not given.

        Returns
        -------
        ScoreCheck
            Read `ScoreCheck.compared` too: where it is 0, finite differences could judge nothing.

        Raises
        ------
        InputError
            If the score is not the gradient of the log density; the message names the coordinates that disagree,
            and the point and both values where the difference is largest.
        UsageError
            If there is no log density, or no score but that made from it.
        """
        if self.has_log_density and not self.can_be_checked:
            raise UsageError(f"the score of {self.label} is made from its log density; there is nothing to check")
        points = self._points(points)
        if not len(points):
            raise InputError("check needs at least one point; received none")
        score = self.score(points)
        gradient, uncertainty = numerical_gradient(self.log_density, points, self.bounds)
        beyond_noise = np.maximum(np.nan_to_num(np.abs(gradient)) - 10.0 * uncertainty, 0.0)
        scale = np.maximum(np.maximum(np.abs(score), beyond_noise), np.median(np.abs(score), axis=0))
        scale = np.where(scale > 0.0, scale, 1.0 / length_scales(points))
        judged = uncertainty <= 0.1 * rtol * scale
        difference = np.where(judged, np.abs(score - gradient) / scale, 0.0)
        row, column = np.unravel_index(int(difference.argmax()), difference.shape)
        if difference[row, column] > rtol:
            wrong = np.flatnonzero((difference > rtol).any(axis=0))
            listed = ", ".join(repr(self._name(int(each), names)) for each in wrong[:_LISTED])
            listed += f" and {len(wrong) - _LISTED} more" if len(wrong) > _LISTED else ""
            raise InputError(
                f"the score is not the gradient of the log density in {listed} ({len(wrong)} of {points.shape[1]} "
                f"coordinates): at {show_point(points[row])}, coordinate {self._name(int(column), names)!r}, the "
                f"score says {score[row, column]:.6g} and finite differences say {gradient[row, column]:.6g}; check "
                "the score's signs and scales"
            )
        return ScoreCheck(
            largest_difference=float(difference[row, column]),
            compared=int(judged.sum()),
            undecided=int((~judged).sum()),
        )

    def check_once(self, points: Floats, scores: Floats, names: Sequence[str] | None = None) -> None:
        """Compare scores with the log density at about ten draws, in the first call for this target.

        Slopes along two random directions at each draw are compared, which takes some 220 log densities in any
        dimension; where one differs, `check` looks at every coordinate.

        Parameters
        ----------
        points, scores : ndarray, shape (n, d)
            Draws, and their scores by this target.
        names : tuple of str, optional
            Names of the coordinates in error messages; the target's own if not given.

        Raises
        ------
        InputError
            As `check` does.
        """
        if self.score_is_checked or not self.can_be_checked:
            return
        some = np.unique(np.linspace(0, len(points) - 1, _CHECKED_DRAWS).round().astype(int))
        rows = np.repeat(some, 2)
        noise = np.random.default_rng(0).uniform(-1.5, 1.5, (len(rows), points.shape[1]))
        ways = (noise + 0.5 * np.sign(noise)) * length_scales(points[some])

        def shifted(offsets: Floats, at: NDArray[np.intp], _: ArrayLike = 0) -> Floats:
            return self.proposal_log_density(points[rows[at]] + offsets[:, None] * ways[at])

        with np.errstate(invalid="ignore"):
            near = [shifted(np.full(len(rows), k * _NEAR), np.arange(len(rows))) for k in range(5)]
            rounding = np.abs(np.diff(near, n=4, axis=0)[0]) / np.sqrt(70.0)  # which is that of independent errors
        rounding = np.maximum(rounding, np.median(np.nan_to_num(rounding)))
        rounding = np.fmax(rounding, _rounding_error(self.log_density(points[some]).repeat(2)))
        slopes, uncertainty = (each[:, 0] for each in _slopes(shifted, np.ones((len(rows), 1)), rounding))
        parts = scores[rows] * ways
        size = np.sqrt((parts**2).sum(axis=1))
        size = np.maximum(np.maximum(size, np.median(size)), np.nan_to_num(np.abs(slopes)) - 10.0 * uncertainty)
        judged = uncertainty <= _SCORE_ERROR * size
        off = np.where(judged, np.abs(parts.sum(axis=1) - slopes), 0.0)
        wrong = off > np.maximum(_SCORE_RTOL * size, 10.0 * uncertainty)
        if wrong.any():
            share = off / size
            worst = list(dict.fromkeys(rows[np.argsort(-share)].tolist()))[: max(2, _CHECKED_ENTRIES // len(ways[0]))]
            self.check(points[worst], rtol=max(_SCORE_RTOL, 0.1 * float(share[wrong].max())), names=names)
        self.score_is_checked, self._doubts = True, () if judged.any() else (_NOT_COMPARED,)

    @classmethod
    def from_jax(
        cls,
        log_density: Callable[[Any], Any],
        dim: int | None = None,
        *,
        like: Any = None,
        bounds: ArrayLike | None = None,
        names: Sequence[str] | None = None,
        label: str = "JAX log density",
    ) -> Target:
        """Make a target from a log density written in JAX; the score comes from automatic differentiation.

        Parameters
        ----------
        log_density : callable, (d,) -> scalar, or pytree -> scalar
            Log density of one point, in `jax.numpy`. It is differentiated, vectorised, compiled, and run in
            double precision, whatever `jax_enable_x64` says.
        dim : int, optional
            Number of coordinates; any if not given.
        like : pytree of arrays or of `jax.ShapeDtypeStruct`, optional
            A point as `log_density` takes it: dicts, sequences, NamedTuples of arrays. Coordinates are the entries of
            its arrays in JAX's order, **a dict's by sorted keys**, and bear their names: ``mu``, ``theta[0]``.
        bounds : array_like, shape (d, 2), optional
            Row j is (lower, upper) of coordinate j; infinities where there is no bound.
        names : sequence of str, optional
            Names of the coordinates; those of ``like`` if not given.
        label : str
            How reports call the target.

        Returns
        -------
        Target
            With log density and score; in coordinates, where ``like`` is no vector.

        Raises
        ------
        MissingDependencyError
            If JAX is not installed (``pip install 'steinkit[jax]'``).
        UsageError
            If ``dim`` or ``names`` contradict ``like``.

        Examples
        --------
        >>> import numpy as np
        >>> import steinkit as sk
        >>> def log_density(x):
        ...     return -0.5 * x["mu"] ** 2 - 0.5 * ((x["theta"] - x["mu"]) ** 2).sum()
        >>> target = sk.Target.from_jax(log_density, like={"mu": 0.0, "theta": np.zeros(2)})
        >>> target.names
        ('mu', 'theta[0]', 'theta[1]')
        """
        from steinkit.jax_functions import in_coordinates, jax_module, vectorised

        gradient = jax_module().grad
        dim, names, (log_density,) = in_coordinates(like, dim, names, log_density)
        return cls(
            score=vectorised(gradient(log_density)),
            log_density=vectorised(log_density),
            bounds=bounds,
            names=names,
            dim=dim,
            label=label,
        )

    def _points(self, points: ArrayLike) -> Floats:
        array = real_numbers(points, "points")
        if array.ndim == 1 and self.dim == 1:
            array = array[:, None]
        if array.ndim != 2:
            raise InputError(f"points must have shape (n, d); received {array.shape}")
        if self.dim is not None and array.shape[1] != self.dim:
            raise InputError(
                f"the target {self.label!r} has {self.dim} coordinates, the draws have {array.shape[1]}; "
                "choose the target's dimension or the file's columns to match"
            )
        return array

    def _name(self, column: int, names: Sequence[str] | None = None) -> str:
        return (names or self.names or default_names(column + 1))[column]


@dataclass(frozen=True)
class ScoreCheck:
    """Outcome of comparing a score with finite differences of its log density.

    Attributes
    ----------
    largest_difference : float
        Largest relative difference among the entries that could be compared.
    compared, undecided : int
        Entries compared, and entries where finite differences were too inaccurate to judge.
    """

    largest_difference: float
    compared: int
    undecided: int


def as_bounds(bounds: ArrayLike, dim: int | None) -> Floats:
    """Bounds as a (d, 2) array, rows (lower, upper). One pair serves all coordinates of a known dimension."""
    array = real_numbers(bounds, "bounds", "numbers, one (lower, upper) pair a coordinate").copy()
    if array.shape == (2,) and dim is not None:
        array = np.tile(array, (dim, 1))
    if array.ndim != 2 or array.shape[1] != 2 or (dim is not None and len(array) != dim):
        raise UsageError(f"bounds must have shape ({dim or 'd'}, 2), rows (lower, upper); received {array.shape}")
    if not (array[:, 0] < array[:, 1]).all():  # also refuses NaN
        row = int(np.flatnonzero(~(array[:, 0] < array[:, 1]))[0])
        raise UsageError(f"bounds of coordinate {row + 1} are {array[row].tolist()}; lower must be below upper")
    return array


def require_inside(
    points: Floats, bounds: Floats, names: tuple[str, ...] | None, draws: Integers | None = None
) -> None:
    """Raise InputError, naming draw and coordinate, if a point lies outside the bounds."""
    outside = np.argwhere((points < bounds[:, 0]) | (points > bounds[:, 1]))
    if outside.size:
        row, column = outside[0]
        name = names[column] if names else default_names(column + 1)[column]
        raise InputError(
            f"draw {_number(row, draws)} lies outside the support: {name} = {points[row, column]:.17g}, bounds "
            f"[{bounds[column, 0]:g}, {bounds[column, 1]:g}]"
            + (f" ({len(np.unique(outside[:, 0]))} such draws in all)" if len(outside) > 1 else "")
            + "; correct the bounds or the sampler"
        )


def is_inside(points: Floats, bounds: Floats | None) -> NDArray[np.bool_]:
    """Return which points are finite and strictly between the bounds of the support."""
    found = _finite_rows(points)
    if bounds is not None:
        found &= ((points > bounds[:, 0]) & (points < bounds[:, 1])).all(axis=1)
    return found


def _finite_rows(values: Floats) -> NDArray[np.bool_]:
    finite = np.isfinite(values)
    return np.ones(len(values), dtype=np.bool_) if finite.all() else np.asarray(finite.all(axis=1))


def show_point(point: Floats) -> str:
    """A point as messages write it."""
    return "(" + ", ".join(f"{value:.6g}" for value in point) + ")"


def _number(row: int, draws: Integers | None) -> int:
    """Number of the draw, from 1, that a row of points is."""
    return int(row if draws is None else draws[row]) + 1
