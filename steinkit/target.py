"""Target distributions.

A Stein discrepancy requires the score (grad log p) and the bounds of the support. If the target has a log density, the
score can be checked. If the target has a sampler, reference samples are available. If the target has a cdf, Wasserstein
distances can be computed in one dimension.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypedDict

import numpy as np
from numpy.typing import ArrayLike, NDArray

from steinkit.arguments import generator_from, real_numbers, require_functions, require_lists, require_type, whole
from steinkit.errors import InputError, UsageError, quoted
from steinkit.finite_differences import DifferenceScore, length_scales, numerical_gradient, rounding_error, slopes_of
from steinkit.sample import Floats, Integers, default_names, require_printable
from steinkit.user_functions import Vectorised, call_checked, call_where_defined, numbers_from

Functions = Mapping[str, Vectorised]
Seed = int | np.random.Generator | None

_SCORE_RTOL = 1e-3  # largest relative difference between a score and finite differences
_SCORE_ERROR = 1e-2  # finite differences with a larger relative error are ignored
_NEAR = 1e-3  # within this fraction of the spread, a log density is a cubic polynomial except for rounding errors
_CHECKED_DRAWS, _CHECKED_ENTRIES = 10, 1000
_NOT_COMPARED = "finite differences were too inaccurate to check the target's score against its log density"


def as_functions(functions: Functions) -> Functions:
    """Validate a mapping from names to functions."""
    if not isinstance(functions, Mapping) or not all(callable(each) for each in functions.values()):
        raise UsageError("functions must be a mapping of names to functions of draws, such as {'tau': lambda x: ...}")
    require_printable(tuple(map(str, functions)))
    return functions


class TargetOptions(TypedDict, total=False):
    """Options passed from a posterior to `Target`."""

    bounds: ArrayLike | None
    names: Sequence[str] | None
    cdf: Vectorised | None
    tail_integrals: Vectorised | None
    sampler: Callable[[int, np.random.Generator], ArrayLike] | None
    dim: int | None
    functions: Mapping[str, Vectorised] | None
    label: str


def require_target(target: object, *, optional: bool = False) -> None:
    """Raise UsageError unless the argument is a target (or None if optional).

    Raises
    ------
    UsageError
        If the argument has a different type.
    """
    if not isinstance(target, Target) and not (optional and target is None):
        raise UsageError(
            f"expected target to be a steinkit Target or Posterior, got {type(target).__name__}; wrap a function as "
            "sk.Target(score=...) or sk.Target(log_density=...)"
        )


class Target:
    """Distribution on R^d or on a box.

    Parameters
    ----------
    score : callable, (n, d) -> (n, d), optional
        Gradient of the log density at each of n points. By default, the gradient is computed by central differences of
        `log_density`. Central differences require about eleven evaluations per parameter and draw, and are accurate to
        eight or more digits for smooth densities. A warning reports the cost and the accuracy once.
    log_density : callable, (n, d) -> (n,), optional
        Log density up to a constant. The log density is required if `score` is not given, and is otherwise used to
        check the score. Differences of values above 1e13 in absolute value are inaccurate because of rounding.
    bounds : array_like, shape (d, 2), optional
        Row j contains the lower and upper bounds of parameter j, which are infinite if there is no bound.
    names : sequence of str, optional
        Names of the parameters.
    cdf : callable, (n,) -> (n,), optional
        Cumulative distribution function F, in one dimension.
    tail_integrals : callable, (n,) -> (n, 2), optional
        Integral of F up to x and integral of 1 - F from x, in one dimension. These integrals are E max(x - X, 0) and E
        max(X - x, 0), and yield exact Wasserstein distances. They require `cdf`.
    sampler : callable, (n, Generator) -> (n, d), optional
        Function that draws n independent points.
    dim : int, optional
        Number of parameters. The default is the number of `names` or `bounds`. None allows any number of parameters.
    functions : mapping of str to callable, (n, d) -> (n,), optional
        Further quantities of interest by name, such as ``{"tau": lambda x: np.exp(x[:, 0])}``. The biases of their
        means and standard deviations are estimated as for parameters. The attribute `functions` can also be set later.
    label : str, optional
        Name of the target in reports.

    Attributes
    ----------
    has_log_density, has_cdf, has_tail_integrals, can_sample : bool
        True if `log_density`, `cdf`, `tail_integrals` or `sample`, respectively, can be called.
    score_is_checked : bool
        True if the score was compared with the log density. Discrepancies, verdicts and estimates compare the two at
        ten draws on first use. Set this attribute to True to omit the comparison, for example if the score is random.

    Raises
    ------
    UsageError
        If `bounds`, `names` and `dim` are inconsistent, or a lower bound is not below its upper bound.

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
            raise UsageError("expected score= or log_density=, got neither")
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
            raise UsageError(f"expected {dim} names, got {len(self.names)}")
        if cdf is not None and dim != 1:
            raise UsageError(f"a cdf requires dim=1; got {dim}")
        if tail_integrals is not None and cdf is None:
            raise UsageError("tail_integrals= requires cdf=; got no cdf")
        self.dim: int | None = None if dim is None else whole(dim, "dim", 1)
        self._score: Vectorised = DifferenceScore(self.log_density, self.bounds, label) if score is None else score

    def __repr__(self) -> str:
        size = "any dimension" if self.dim is None else f"d = {self.dim}"
        return f"<{type(self).__name__} {self.label!r}, {size}>"

    @property
    def can_be_checked(self) -> bool:
        """True if the target has a log density and an independent score."""
        return self.has_log_density and not isinstance(self._score, DifferenceScore)

    @property
    def remarks(self) -> tuple[str, ...]:
        """Remarks about an approximate or unchecked score."""
        own = isinstance(self._score, DifferenceScore) and self._score.remark
        return (own, *self._doubts) if own else self._doubts

    @property
    def cdf_accuracy(self) -> float:
        """Error in F and relative error in its integrals, used in Wasserstein brackets.

        The error of the integrals is relative to E|X - x|. The errors were measured for built-in families and are
        assumed for user-supplied functions.
        """
        return 1e-13

    def score(
        self, points: ArrayLike, *, draws: Integers | None = None, names: tuple[str, ...] | None = None
    ) -> Floats:
        """Return the gradient of the log density.

        Parameters
        ----------
        points : array_like, shape (n, d)
            Points within the bounds.
        draws : ndarray of int, shape (n,), optional
            Index of each point in a sample, counted from 0, for error messages.
        names : tuple of str, optional
            Names of the parameters in error messages. The default is the names in the target.

        Returns
        -------
        ndarray, shape (n, d)
            The gradient, in inverse units of the points.

        Raises
        ------
        InputError
            If the points have the wrong dimension or lie outside the support, or if the function returns an array of
            the wrong shape or a value that is not finite.
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
                f"the score must be finite; got {values[row, column]} for parameter {self._name(column, names)!r} at "
                f"draw {_number(row, draws)}, the point {show_point(points[row])}: "
                + ("drop that draw, which lies on a bound" if on_bound else "check that it is inside the support")
            )
        return values

    def log_density(self, points: ArrayLike) -> Floats:
        """Return the log density up to a constant.

        Parameters
        ----------
        points : array_like, shape (n, d)
            Points at which the function is evaluated.

        Returns
        -------
        ndarray, shape (n,)
            Log densities, up to a constant.

        Raises
        ------
        UsageError
            If the target has no log density.
        InputError
            If the points have the wrong dimension, or the function returns an array of the wrong shape.
        """
        if self._log_density is None:
            raise UsageError(f"{self.label} has no log density; pass log_density= to Target")
        points = self._points(points)
        return call_checked(self._log_density, points, (len(points),), "log_density")

    def log_density_of_draws(self, points: ArrayLike, *, draws: Integers | None = None) -> Floats:
        """Return the log density at the draws, and require finite values.

        Parameters
        ----------
        points : array_like, shape (n, d)
            The draws.
        draws : ndarray of int, shape (n,), optional
            Index of each point in a sample, counted from 0, for error messages.

        Returns
        -------
        ndarray, shape (n,)
            Log densities, up to a constant.

        Raises
        ------
        UsageError
            If the target has no log density.
        InputError
            If the log density raises an exception, or is infinite or NaN at a draw.
        """
        points = self._points(points)
        values = self.log_density(points)
        bad = np.flatnonzero(~np.isfinite(values))
        if bad.size:
            others = f" ({len(bad)} such draws in all)" if len(bad) > 1 else ""
            raise InputError(
                f"the log density must be finite; got {values[bad[0]]} at draw {_number(int(bad[0]), draws)}{others}, "
                f"the point {show_point(points[bad[0]])}: drop that draw or correct the log density"
            )
        return values

    def proposal_log_density(self, points: ArrayLike) -> Floats:
        """Return the log density at points proposed by a Markov kernel.

        The function is not called outside the bounds. A proposal is rejected if the function raises an exception or
        returns NaN or an infinite value.

        Parameters
        ----------
        points : array_like, shape (n, d)
            Points at which the function is evaluated.

        Returns
        -------
        ndarray, shape (n,)
            Finite values, or -inf if the proposal must be rejected.

        Raises
        ------
        UsageError
            If the target has no log density.
        InputError
            If the points have the wrong dimension, or the function returns an array of the wrong shape.
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
        """Return the score at points proposed by a Markov kernel.

        The function is not called outside the bounds. A proposal is rejected if the function raises an exception or
        returns NaN or an infinite value.

        Parameters
        ----------
        points : array_like, shape (n, d)
            Points at which the function is evaluated.

        Returns
        -------
        ndarray, shape (n, d)
            Finite rows, or rows of NaN if the proposal must be rejected.

        Raises
        ------
        InputError
            If the points have the wrong dimension, or the function returns an array of the wrong shape.
        TimeLimitError
            If the deadline passes.
        """
        points, score = self._points(points), self._score
        if isinstance(score, DifferenceScore):
            score = score.without_warning
        values = self._at_proposals(score, points, points.shape[1:], "score")
        return np.where(full_rows(np.isfinite(values))[:, None], values, np.nan)

    def _at_proposals(self, function: Vectorised, points: Floats, row: tuple[int, ...], what: str) -> Floats:
        """Evaluate a function inside the support, and return NaN at other points."""
        inside = is_inside(points, self.bounds)
        if inside.all():
            return call_where_defined(function, points, row, what)
        values = np.full((len(points), *row), np.nan)
        values[inside] = call_where_defined(function, points[inside], row, what)
        return values

    def cdf(self, values: ArrayLike) -> Floats:
        """Return the cumulative distribution function in one dimension.

        Parameters
        ----------
        values : array_like, shape (n,)
            Values of the parameter.

        Returns
        -------
        ndarray, shape (n,)
            Probabilities P(X <= x).

        Raises
        ------
        UsageError
            If the target has no cdf.
        """
        if self._cdf is None:
            raise UsageError(f"{self.label} has no cdf; pass cdf= to Target")
        flat = real_numbers(values, "values").reshape(-1)
        return call_checked(self._cdf, flat, flat.shape, "cdf")

    def tail_integrals(self, values: ArrayLike) -> Floats:
        """Return E max(x - X, 0) and E max(X - x, 0) in one dimension.

        Parameters
        ----------
        values : array_like, shape (n,)
            Values x at which the expectations are computed.

        Returns
        -------
        ndarray, shape (n, 2)
            The two integrals, which are infinite if the target has no mean.

        Raises
        ------
        UsageError
            If the target has no tail integrals.
        """
        if self._tail_integrals is None:
            raise UsageError(f"{self.label} has no tail integrals; pass tail_integrals= to Target")
        flat = real_numbers(values, "values").reshape(-1)
        return call_checked(self._tail_integrals, flat, (len(flat), 2), "tail_integrals")

    def sample(self, n: int, rng: Seed = None) -> Floats:
        """Draw independent points.

        Parameters
        ----------
        n : int
            Number of points.
        rng : int, numpy.random.Generator or None
            Random seed or generator.

        Returns
        -------
        ndarray, shape (n, d)
            Independent draws.

        Raises
        ------
        UsageError
            If the target has no sampler.
        InputError
            If the sampler raises an exception or returns an array of the wrong shape.
        """
        if self._sampler is None:
            raise UsageError(f"{self.label} has no sampler; pass sampler= to Target")
        draw = self._sampler
        points = numbers_from(lambda: draw(n, generator_from(rng)), "sampler", "the points of sampler")
        if points.ndim != 2 or len(points) != n or (self.dim is not None and points.shape[1] != self.dim):
            raise InputError(f"sampler must return an array of shape ({n}, {self.dim or 'd'}); got {points.shape}")
        return points

    def check(self, points: ArrayLike, *, rtol: float = _SCORE_RTOL, names: Sequence[str] | None = None) -> ScoreCheck:
        """Compare the score with numerical derivatives of the log density.

        The derivatives and their errors are estimated by adaptive central differences. Entries with a large error are
        counted but not compared.

        Parameters
        ----------
        points : array_like, shape (n, d)
            A few points, spread over the sample.
        rtol : float, default 1e-3
            Largest accepted difference, relative to the maximum of the two absolute values and the median absolute
            score of the parameter. If both numbers are 0, the difference is relative to 1 / (spread of the points).
        names : tuple of str, optional
            Names of the parameters in error messages. The default is the names in the target.

        Returns
        -------
        ScoreCheck
            The comparison. If `ScoreCheck.compared` is 0, finite differences were too inaccurate for all entries.

        Raises
        ------
        InputError
            If the score is not the gradient of the log density. The message lists the parameters that differ, and the
            point and the values with the largest difference.
        UsageError
            If there is no log density, or the score is computed from the log density.
        """
        if self.has_log_density and not self.can_be_checked:
            raise UsageError(f"check requires a score that is not computed from the log density; got {self.label}")
        points = self._points(points)
        if not len(points):
            raise InputError("expected at least one point, got none")
        score = self.score(points)
        gradient, uncertainty = numerical_gradient(self.log_density, points, self.bounds)
        beyond_noise = np.maximum(np.nan_to_num(np.abs(gradient)) - 10.0 * uncertainty, 0.0)
        scale = np.maximum(np.maximum(np.abs(score), beyond_noise), np.median(np.abs(score), axis=0))
        scale = np.where(scale > 0.0, scale, 1.0 / length_scales(points))
        judged = uncertainty <= 0.1 * rtol * scale
        difference = np.where(judged, np.abs(score - gradient) / scale, 0.0)
        row, column = np.unravel_index(int(difference.argmax()), difference.shape)
        if difference[row, column] > rtol:
            different = [self._name(int(each), names) for each in np.flatnonzero((difference > rtol).any(axis=0))]
            raise InputError(
                f"the score is not the gradient of the log density in {quoted(different)} ({len(different)} of "
                f"{points.shape[1]} parameters): at {show_point(points[row])}, parameter "
                f"{self._name(int(column), names)!r}, the score is {score[row, column]:.6g} and finite differences are "
                f"{gradient[row, column]:.6g}; check the score's signs and scales"
            )
        return ScoreCheck(float(difference[row, column]), int(judged.sum()), int((~judged).sum()))

    def check_once(self, points: Floats, scores: Floats, names: Sequence[str] | None = None) -> None:
        """Compare scores with the log density at about ten draws on the first call.

        At each draw, the slopes along two random directions are compared. The comparison requires about 220 evaluations
        of the log density, regardless of the dimension. If a slope differs, `check` compares every parameter.

        Parameters
        ----------
        points, scores : ndarray, shape (n, d)
            Draws, and their scores under this target.
        names : tuple of str, optional
            Names of the parameters in error messages. The default is the names in the target.

        Raises
        ------
        InputError
            See `check`.
        """
        if self.score_is_checked or not self.can_be_checked:
            return
        some = np.unique(np.linspace(0, len(points) - 1, _CHECKED_DRAWS).round().astype(int))
        rows = np.repeat(some, 2)
        noise = np.random.default_rng(0).uniform(-1.5, 1.5, (len(rows), points.shape[1]))
        directions = (noise + 0.5 * np.sign(noise)) * length_scales(points[some])

        def shifted(offsets: Floats, at: NDArray[np.intp], _: ArrayLike = 0) -> Floats:
            return self.proposal_log_density(points[rows[at]] + offsets[:, None] * directions[at])

        with np.errstate(invalid="ignore"):
            near = [shifted(np.full(len(rows), k * _NEAR), np.arange(len(rows))) for k in range(5)]
            rounding = np.abs(np.diff(near, n=4, axis=0)[0]) / np.sqrt(70.0)  # root mean square of independent errors
        rounding = np.maximum(rounding, np.median(np.nan_to_num(rounding)))
        rounding = np.fmax(rounding, rounding_error(self.log_density(points[some]).repeat(2)))
        slopes, uncertainty = (each[:, 0] for each in slopes_of(shifted, np.ones((len(rows), 1)), rounding))
        parts = scores[rows] * directions
        size = np.sqrt((parts**2).sum(axis=1))
        size = np.maximum(np.maximum(size, np.median(size)), np.nan_to_num(np.abs(slopes)) - 10.0 * uncertainty)
        judged = uncertainty <= _SCORE_ERROR * size
        error = np.where(judged, np.abs(parts.sum(axis=1) - slopes), 0.0)
        differs = error > np.maximum(_SCORE_RTOL * size, 10.0 * uncertainty)
        if differs.any():
            share = error / size
            worst = list(dict.fromkeys(rows[np.argsort(-share)].tolist()))
            worst = worst[: max(2, _CHECKED_ENTRIES // len(directions[0]))]
            self.check(points[worst], rtol=max(_SCORE_RTOL, 0.1 * float(share[differs].max())), names=names)
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
        """Return a target with a log density written in JAX.

        The score is computed by automatic differentiation.

        Parameters
        ----------
        log_density : callable, (d,) -> scalar, or pytree -> scalar
            Log density of one point, written with `jax.numpy`. The function is differentiated, vectorized, compiled,
            and run in double precision, independently of `jax_enable_x64`.
        dim : int, optional
            Number of parameters. By default, any number is accepted.
        like : pytree of arrays or of `jax.ShapeDtypeStruct`, optional
            Example of an argument of `log_density`, such as a dict, sequence or NamedTuple of arrays. The parameters
            are the entries of its arrays in the order of JAX, **which sorts the keys of a dict**, with names such as
            ``mu`` and ``theta[0]``.
        bounds : array_like, shape (d, 2), optional
            Row j contains the lower and upper bounds of parameter j, which are infinite if there is no bound.
        names : sequence of str, optional
            Names of the parameters. By default, they are derived from ``like``.
        label : str
            Name of the target in reports.

        Returns
        -------
        Target
            The target, with log density and score as functions of a vector.

        Raises
        ------
        MissingDependencyError
            If JAX is not installed (``pip install -e '.[jax]'``).
        UsageError
            If ``dim`` or ``names`` are inconsistent with ``like``.

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
            raise InputError(f"points must have shape (n, d); got {array.shape}")
        if self.dim is not None and array.shape[1] != self.dim:
            raise InputError(
                f"expected draws of {self.dim} parameters for the target {self.label!r}, got {array.shape[1]}; change "
                "the dimension of the target, or select columns of the file"
            )
        return array

    def _name(self, column: int, names: Sequence[str] | None = None) -> str:
        return (names or self.names or default_names(column + 1))[column]


@dataclass(frozen=True)
class ScoreCheck:
    """Comparison of a score with finite differences of the log density.

    Attributes
    ----------
    largest_difference : float
        Largest relative difference among the compared entries.
    compared, undecided : int
        Number of compared entries, and number of entries for which finite differences were too inaccurate.

    Examples
    --------
    >>> import steinkit as sk
    >>> target = sk.Target(score=lambda x: -x, log_density=lambda x: -0.5 * (x**2).sum(axis=1), dim=2)
    >>> target.check([[1.0, 2.0], [0.5, -1.0]]).compared
    4
    """

    largest_difference: float
    compared: int
    undecided: int


def as_bounds(bounds: ArrayLike, dim: int | None) -> Floats:
    """Convert bounds to shape (d, 2), using a single pair for all parameters."""
    array = real_numbers(bounds, "bounds", "numbers, one (lower, upper) pair per parameter").copy()
    if array.shape == (2,) and dim is not None:
        array = np.tile(array, (dim, 1))
    if array.ndim != 2 or array.shape[1] != 2 or (dim is not None and len(array) != dim):
        raise UsageError(f"bounds must have shape ({dim or 'd'}, 2) with rows (lower, upper); got {array.shape}")
    bad = np.flatnonzero(~(array[:, 0] < array[:, 1]))  # includes NaN
    if bad.size:
        raise UsageError(
            f"expected a lower bound below the upper one, got {array[bad[0]].tolist()} in row {bad[0] + 1}"
        )
    return array


def require_inside(
    points: Floats, bounds: Floats, names: tuple[str, ...] | None, draws: Integers | None = None
) -> None:
    """Raise InputError unless all points lie within the bounds."""
    outside = np.argwhere((points < bounds[:, 0]) | (points > bounds[:, 1]))
    if outside.size:
        row, column = outside[0]
        name = names[column] if names else default_names(column + 1)[column]
        raise InputError(
            f"expected draws in [{bounds[column, 0]:g}, {bounds[column, 1]:g}], got {name} = "
            f"{points[row, column]:.17g} at draw {_number(row, draws)}"
            + (f" ({len(np.unique(outside[:, 0]))} such draws in all)" if len(outside) > 1 else "")
            + "; correct the bounds or the sampler"
        )


def is_inside(points: Floats, bounds: Floats | None) -> NDArray[np.bool_]:
    """Return a mask of the points that are finite and strictly within the bounds."""
    inside = np.isfinite(points)
    if bounds is not None:
        inside &= (points > bounds[:, 0]) & (points < bounds[:, 1])
    return full_rows(inside)


def full_rows(mask: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return which rows of a mask contain no False.

    This is several times faster than `numpy.all` if all rows are full, as they usually are.
    """
    return np.ones(len(mask), dtype=np.bool_) if mask.all() else np.asarray(mask.all(axis=1))


def show_point(point: Floats) -> str:
    """Format a point for a message."""
    return "(" + ", ".join(f"{value:.6g}" for value in point) + ")"


def _number(row: int, draws: Integers | None) -> int:
    """Return the number of the draw in the given row, counted from 1."""
    return int(row if draws is None else draws[row]) + 1
