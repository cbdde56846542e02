"""How wrong are the numbers: biases of means and standard deviations in the parameters' own units, with margins.

**The exact run** is a short one of Hamiltonian Monte Carlo from every draw, which leaves the target as it is. Each draw
moves for itself by leapfrog steps with the draws' covariance as inverse mass, and a step length that is jittered by
draw and adapted, between moves, to acceptance rates from .5 to .9. Right draws stay right; wrong ones move to where the
density sends them. How far their means went is how far they were off, at least.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from steinkit.arguments import checked
from steinkit.containers.reading import DrawsLike
from steinkit.describe.bias import AT_LEAST, bias_statements, bias_table
from steinkit.describe.results import Result, cautioned, running_text
from steinkit.discrepancy.bias.quantities import Quantities, varying
from steinkit.discrepancy.bias.stein_regression import Estimates, Frame
from steinkit.discrepancy.preparation import Prepared, prepare
from steinkit.errors import InputError, UsageError, cautious, did_you_mean, reservations
from steinkit.runtime.deadlines import one_thread_in_libraries, require_time, within_time
from steinkit.sample import Floats, Integers, Sample
from steinkit.target import Functions, Seed, Target, as_functions

_LEAPFROGS = 4
_STEP = 1.2  # over d^(1/4), in standard deviations
_JITTER = (0.6, 1.0)
_ACCEPTED = (0.5, 0.9)
_SHORTER, _LONGER = 0.7, 1.1


class ExactRun:
    """Draws that move by Hamiltonian Monte Carlo.

    Parameters
    ----------
    points, scores : ndarray, shape (n, d)
        Where they start, in raw units.
    covariance : ndarray, shape (d, d)
        Of the draws, positive definite.
    target : Target
        With a log density.
    bounds : ndarray, shape (d, 2), or None
        Of the support: what would leave it stays where it is.
    rng : numpy.random.Generator

    Attributes
    ----------
    points, scores : ndarray, shape (n, d)
        Where the draws are now.
    accepted : float
        Share of the last moves that were.
    gradients : int
        Taken so far, a draw.
    """

    def __init__(
        self,
        points: Floats,
        scores: Floats,
        covariance: Floats,
        target: Target,
        bounds: Floats | None,
        rng: np.random.Generator,
    ) -> None:
        self.points, self.scores = points.copy(), scores.copy()
        self._root = np.linalg.cholesky(covariance)
        self._target, self._bounds, self._rng = target, bounds, rng
        self._density = target.log_density(points)
        if not np.isfinite(self._density).all():
            row = int(np.flatnonzero(~np.isfinite(self._density))[0])
            raise InputError(
                f"the log density of draw {row + 1} is {self._density[row]}: no run can start there; drop the draw"
            )
        self._step = _STEP / points.shape[1] ** 0.25
        self.accepted, self.gradients = 1.0, 0

    def move(self, times: int) -> ExactRun:
        """Move every draw so many times more."""
        for _ in range(times):
            require_time("the draws were moved")
            self._move_once()
        return self

    def _move_once(self) -> None:
        n = len(self.points)
        momentum = self._rng.standard_normal(self.points.shape)
        energy = 0.5 * (momentum**2).sum(axis=1)
        steps = self._step * self._rng.uniform(*_JITTER, (n, 1))
        points, scores, inside = self.points, self.scores, np.ones(n, dtype=bool)
        with np.errstate(over="ignore", invalid="ignore"):
            for _ in range(_LEAPFROGS):
                momentum = momentum + 0.5 * steps * (scores @ self._root)
                points = points + steps * (momentum @ self._root.T)
                inside &= is_inside(points, self._bounds)
                points = np.where(inside[:, None], points, self.points)
                scores = self._target.unchecked_score(points)
                momentum = momentum + 0.5 * steps * (scores @ self._root)
            density = self._target.log_density(points)
            gain = density - self._density + energy - 0.5 * (momentum**2).sum(axis=1)
        kept = inside & np.isfinite(gain) & np.isfinite(scores).all(axis=1) & (np.log(self._rng.random(n)) < gain)
        self.points = np.where(kept[:, None], points, self.points)
        self.scores = np.where(kept[:, None], scores, self.scores)
        self._density = np.where(kept, density, self._density)
        self.accepted, self.gradients = float(kept.mean()), self.gradients + _LEAPFROGS
        if self.accepted < _ACCEPTED[0]:
            self._step *= _SHORTER
        elif self.accepted > _ACCEPTED[1]:
            self._step *= _LONGER


def is_inside(points: Floats, bounds: Floats | None) -> NDArray[np.bool_]:
    """Which points are finite, and strictly between the bounds of the support."""
    found = np.isfinite(points).all(axis=1)
    if bounds is not None:
        found &= ((points > bounds[:, 0]) & (points < bounds[:, 1])).all(axis=1)
    return np.asarray(found)


Method = Literal["regression", "weights", "run", "modes"]

_METHODS = ("auto", "regression", "weights", "run")
_WIDEST = 0.3  # margin of a quantity, in standard deviations, above which no bias is stated
_MARGINS = 2.0  # claimed errors in a margin
_MOVES = (1, 1, 2, 4, 8)  # of a run from look to look: 4 to 64 gradients a draw
_TOO_FEW = "too few draws for functions of all coordinates together; take six times as many as coordinates"
_STUCK = 0.1  # share of moves accepted, below which the run goes nowhere


@dataclass(frozen=True, eq=False)
class BiasEstimate(Result):
    """Means and standard deviations under the target, and how far those of the draws are off.

    Attributes
    ----------
    names : tuple of str
        Of the m quantities: the d coordinates, then the functions.
    mean, sd : ndarray, shape (m,)
        Estimates of the mean and standard deviation under the target, in the quantity's own unit.
    draws_mean, draws_sd : ndarray, shape (m,)
        Those of the draws.
    mean_off : ndarray, shape (m,)
        Mean of the draws less `mean`, in units of `sd`.
    sd_off : ndarray, shape (m,)
        Logarithm of the draws' standard deviation over `sd`: -.3 where the draws are 26 % too narrow.
    mean_margin, sd_margin : ndarray, shape (m,)
        `mean_off` and `sd_off` are meant with these margins: the truth lies within in 95 of 100 cases, as far as
        functions of the first orders see.
    trusted : ndarray of bool, shape (m,)
        Whether the margins may be relied on; where not, `why_not` says why.
    why_not : tuple of str
        Empty where trusted.
    weights : ndarray, shape (n,), or None
        Weights of the draws, of sum one, under which Stein features have mean zero; None where there are too few draws.
    worth : float
        Kish's effective size of the weights; 0 where there are none.
    method : {"regression", "weights", "run", "modes"}
        By which the estimates were made; "modes" by regression within each mode, and by the modes' shares.
    moved : Sample or None
        Where the draws went in an exact run.
    gradients : int
        That the run took, a draw.
    hidden : str
        Why the shares of regions may be wrong, so that nothing is trusted; empty if nothing speaks for it.
    unranked : str
        Why samples must not be ordered by `value`, not even by its margin; empty where they may.
    falls_apart : bool
        Whether the draws fall into groups with a valley of the density between them.
    draws : int
        How many were given.
    warnings : tuple of str
        What a reader should know before the numbers.
    """

    names: tuple[str, ...]
    mean: Floats
    sd: Floats
    draws_mean: Floats
    draws_sd: Floats
    mean_off: Floats
    sd_off: Floats
    mean_margin: Floats
    sd_margin: Floats
    trusted: NDArray[np.bool_]
    why_not: tuple[str, ...]
    weights: Floats | None
    worth: float
    method: Method
    moved: Sample | None
    gradients: int
    hidden: str
    unranked: str
    falls_apart: bool
    draws: int
    warnings: tuple[str, ...]

    @property
    def value(self) -> float:
        """Root of the mean square of `mean_off` plus that of `sd_off`, over all quantities; trusted or not."""
        return float(np.sqrt(np.mean(self.mean_off**2 + self.sd_off**2)))

    @property
    def margin(self) -> float:
        """That of `value`, from the margins of the quantities."""
        return float(np.sqrt(np.mean(self.mean_margin**2 + self.sd_margin**2)))

    @property
    def lower(self) -> float:
        """`value` less its margin, or 0."""
        return max(0.0, self.value - self.margin)

    @property
    def upper(self) -> float:
        """`value` and its margin."""
        return self.value + self.margin

    def is_off_by(self, delta: float) -> bool:
        """Tell whether a mean is off by more than a number of standard deviations for certain, beyond its margin.

        Parameters
        ----------
        delta : float
            That number.

        Returns
        -------
        bool
            False as well where nothing is trusted.
        """
        return bool((self.trusted & (np.abs(self.mean_off) - self.mean_margin > delta)).any())

    def worst(self, most: int | None = None) -> NDArray[np.int64]:
        """Order the quantities: those clearly off first, largest bias first; the ones not trusted last.

        Parameters
        ----------
        most : int, optional
            How many to return; all by default.

        Returns
        -------
        ndarray of int
            Their places in `names`.
        """
        size = np.maximum(np.abs(self.mean_off), np.abs(self.sd_off))
        beyond = (np.abs(self.mean_off) > self.mean_margin) | (np.abs(self.sd_off) > self.sd_margin)
        order = np.lexsort((-np.nan_to_num(size), ~beyond, ~self.trusted))
        return np.asarray(order[:most], dtype=np.int64)

    def table(self, most: int | None = 10) -> str:
        """List the biases, largest first.

        Parameters
        ----------
        most : int or None
            How many quantities; all for None.

        Returns
        -------
        str
            A row a quantity.
        """
        return bias_table(self.to_dict(), most)

    def summary(self) -> str:
        """Say in words how far the means and standard deviations are off.

        Returns
        -------
        str
            Paragraphs, with a blank line between them.
        """
        return running_text([*bias_statements(self.to_dict()), *cautioned(self.warnings)])

    def to_dict(self) -> dict[str, Any]:
        """List the estimates as JSON documents hold them.

        Returns
        -------
        dict
            Of strings, finite numbers, lists and dicts.
        """
        columns = (
            "mean", "sd", "draws_mean", "draws_sd", "mean_off", "sd_off", "mean_margin", "sd_margin",
        )  # fmt: skip
        rows = [
            {
                "name": self.names[k],
                **{each: finite_or_none(getattr(self, each)[k]) for each in columns},
                "trusted": bool(self.trusted[k]),
                "why_not": self.why_not[k],
            }
            for k in self.worst()
        ]
        return {
            "measure": "bias",
            **{each: finite_or_none(getattr(self, each)) for each in ("value", "margin", "lower", "upper")},
            "method": self.method,
            "quantities": rows,
            "worth": self.worth,
            "draws": self.draws,
            "gradients": self.gradients,
            "hidden": self.hidden or None,
            "unranked": self.unranked or None,
            "falls_apart": self.falls_apart,
        }

    def __repr__(self) -> str:
        said = f"{self.trusted.sum()} of {len(self.names)} quantities trusted"
        return f"<BiasEstimate by {self.method}: {self.value:.2g} sd, {said}{reservations(self.warnings)}>"


@cautious
@checked
@within_time
def estimate_bias(
    draws: DrawsLike,
    target: Target | None = None,
    *,
    scores: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    bounds: ArrayLike | None = None,
    functions: Functions | None = None,
    method: str = "auto",
    max_seconds: float | None = None,
    rng: Seed = 0,
) -> BiasEstimate:
    """Estimate how far means and standard deviations of draws are off, without any reference draws.

    Stein features of the draws have known means under the target; what they say of each quantity is taken from it.

    Parameters
    ----------
    draws : Sample, array_like of shape (n,), (n, d) or (chains, draws, d), or what else `as_sample` takes
        In the order in which they were made.
    target : Target, optional
        Exactly one of `target`, `scores` and scores stored in the sample is needed. An exact run needs a target with a
        log density.
    scores : array_like, shape (n, d), optional
        Score of the target at each draw.
    weights : array_like, shape (n,), optional
        Weights of the draws, in any unit; autocorrelation is then not allowed for.
    bounds : array_like, shape (d, 2) or (2,), optional
        Bounds of the support; the target's own if not given.
    functions : mapping of str to callable, optional
        Further quantities: functions of the draws, (n, d) -> (n,), such as probabilities or predictions; beside those
        that the target brings.
    method : {"auto", "regression", "weights", "run"}
        "regression" on Stein features, for which scores suffice. "weights" of largest entropy. "run": a short exact run
        of Hamiltonian Monte Carlo from every draw, and the regression where the draws have gone. "auto" is the
        regression; the run where that is not trusted and the target has a log density.
    max_seconds : float, optional
        Time, from the call on, after which to give up.
    rng : int, numpy.random.Generator or None
        Seed of the run.

    Returns
    -------
    BiasEstimate
        In the quantities' own units and in standard deviations, with margins.

    Raises
    ------
    UsageError, InputError
        As `moment_stein_discrepancy` does; or if there are fewer draws than coordinates, a quantity never changes,
        a function fails or returns another shape, the scores have the opposite sign, or a run is asked for that cannot
        be made.
    TimeLimitError
        If `max_seconds` pass first.

    Notes
    -----
    Regions that no draw has visited are not seen. Where the draws fall into groups with a valley of the density between
    them, or what changes slowest has fewer than thirty effective draws, nothing is trusted: the score does not know the
    shares of regions.

    References
    ----------
    .. [1] A. Mira, R. Solgi and D. Imparato, "Zero variance Markov chain Monte Carlo for Bayesian estimators",
       Statistics and Computing 23, 2013.
    .. [2] Q. Liu and J. D. Lee, "Black-box importance sampling", AISTATS 2017.

    Examples
    --------
    >>> import numpy as np, steinkit as sk
    >>> draws = 1.0 + 0.8 * np.random.default_rng(0).standard_normal((1000, 2))
    >>> found = sk.estimate_bias(draws, sk.targets.Normal([0.0, 0.0]))
    >>> found.mean_off.round(1).tolist(), np.exp(found.sd_off).round(1).tolist()
    ([1.0, 1.0], [0.8, 0.8])
    """
    if method not in _METHODS:
        hint = did_you_mean(method, _METHODS)
        raise UsageError(f"method must be one of {', '.join(_METHODS)}; received {method!r}{hint}")
    if method == "run" and (target is None or not target.has_log_density):
        raise UsageError("a run needs a target with a log density; give one, or take another method")
    prepared = prepare(draws, target, scores=scores, weights=weights, bounds=bounds)
    brought, left_out = varying(target.functions if target is not None else {}, prepared.points.points)
    functions = {**brought, **as_functions(functions or {})}
    return bias_of(prepared, weights, target=target, functions=functions, left_out=left_out, method=method, rng=rng)


def bias_of(
    prepared: Prepared,
    weights: ArrayLike | None,
    *,
    target: Target | None = None,
    functions: Functions,
    left_out: tuple[str, ...] = (),
    method: str = "regression",
    rng: Seed = 0,
    slowest: float | None = None,
) -> BiasEstimate:
    """The same of a sample that is prepared, and of functions that vary; `slowest` is `Draws.of_slowest_change`."""
    can_run = target is not None and target.has_log_density
    with one_thread_in_libraries():
        quantities = Quantities.of(prepared, weights, functions)
        found, (hidden, falls_apart) = quantities.by_regression(), quantities.hidden_shares(slowest)
        tilted = quantities.entropy_weights()
        used: Method = "regression"
        if method == "weights":
            if tilted is None:
                raise InputError(
                    f"weights need more than {6 * quantities.dim} draws of {quantities.dim} coordinates; received "
                    f"{len(quantities.operand.points)}"
                )
            found, used = quantities.by_weights(tilted, found), "weights"
        dependence, moved = quantities.hidden_dependence(), None
        why_not = _why_not(found, hidden, dependence)
        unranked = hidden or dependence or next((why for why in why_not if why == _TOO_FEW), "")
        if method == "run" or (method == "auto" and can_run and any(why_not) and not hidden):
            assert target is not None
            found, why_not, moved = _by_run(quantities, target, np.random.default_rng(rng), hidden)
            used, unranked = "run", next((why for why in why_not if why), "")
    weights = None
    carried = np.flatnonzero(prepared.points.inverse >= 0)[quantities.draws.rows]
    if tilted is not None:
        weights = np.zeros(len(prepared.given))
        weights[carried] = tilted
    return BiasEstimate(
        names=quantities.names,
        mean=found.mean,
        sd=found.sd,
        draws_mean=quantities.centre,
        draws_sd=quantities.scale,
        mean_off=(quantities.centre - found.mean) / found.sd,
        sd_off=np.log(quantities.scale / found.sd),
        mean_margin=_MARGINS * found.mean_error,
        sd_margin=_MARGINS * found.log_sd_error,
        trusted=np.array([not each for each in why_not]),
        why_not=why_not,
        weights=weights,
        worth=0.0 if tilted is None else 1.0 / float(tilted @ tilted),
        method=used,
        moved=None if moved is None else _sample_of(prepared, carried, moved),
        gradients=0 if moved is None else moved.gradients,
        hidden=hidden,
        unranked=f"biases are not known: {unranked}" if unranked else "",
        falls_apart=falls_apart,
        draws=len(prepared.given),
        warnings=(*prepared.notes, *quantities.draws.disorder, *left_out),
    )


def _why_not(found: Estimates, hidden: str, dependence: str) -> tuple[str, ...]:
    """For each quantity why its margins may not be relied on; empty where they may."""
    errors = _MARGINS * np.maximum(found.mean_error, found.log_sd_error)
    errors = np.where(np.isnan(errors), np.inf, errors)
    if hidden or dependence:
        return (hidden or dependence,) * len(errors)
    finite = errors[np.isfinite(errors)]
    most = "the margins of most quantities are too wide" if len(finite) and np.median(finite) > _WIDEST else ""
    too_wide = (_TOO_FEW if each == np.inf else f"the margin is too wide (+- {each:.2g} sd)" for each in errors)
    return tuple(why if each > _WIDEST else most for each, why in zip(errors, too_wide, strict=True))


def _by_run(
    quantities: Quantities, target: Target, rng: np.random.Generator, hidden: str
) -> tuple[Estimates, tuple[str, ...], ExactRun]:
    """Move the draws until the regression where they have gone is trusted, or the run has been long enough."""
    draws = quantities.draws
    covariance = Frame.of(quantities.operand, np.arange(len(draws.points))).covariance
    scale = quantities.scale[: quantities.dim]
    moved = ExactRun(draws.points, draws.scores, covariance * np.outer(scale, scale), target, quantities.bounds, rng)
    for times in _MOVES:
        moved.move(times)
        there = quantities.moved(moved.points, moved.scores)
        found = there.by_regression()
        why_not = _why_not(found, hidden or there.hidden_shares()[0], there.hidden_dependence())
        if not any(why_not):
            break
    if moved.accepted < _STUCK:
        stuck = f"the run accepts {moved.accepted:.0%} of its moves: is the score the gradient of the log density?"
        why_not = tuple(stuck if each else "" for each in why_not)
    elif any(why_not) and not hidden:
        went = np.abs(there.means() - quantities.centre) / found.sd
        seen = _MARGINS * math.sqrt(2.0 / len(draws.points))  # of paired draws, at most
        why_not = tuple(
            f"{why}{AT_LEAST}{far:.2g} sd" if why and far > seen else why
            for why, far in zip(why_not, went, strict=True)
        )
    return found, why_not, moved


def _sample_of(prepared: Prepared, rows: Integers, moved: ExactRun) -> Sample:
    """The draws where a run has brought them, in their own order."""
    order = np.argsort(rows, kind="stable")
    given = prepared.given[rows[order]]
    points, scores = moved.points[order], moved.scores[order]
    return replace(given, points=points, scores=scores, cost=None, names=prepared.points.names)


def finite_or_none(value: float) -> float | None:
    """A number as JSON documents hold it."""
    return float(value) if math.isfinite(value) else None
