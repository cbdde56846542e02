"""How wrong are the numbers: biases of means and standard deviations in the parameters' own units, with margins.

A bias counts as reliable where its margin is small and, if draws moved by an exact Markov kernel are at hand, where the
regression and their drift agree (`steinkit.diagnosis.bias.drift`). Otherwise a short exact run decides, where there
is a log density (`steinkit.diagnosis.exact_run`): the same regression where the draws went, held to the same rule.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from steinkit.arguments import generator_from
from steinkit.chains import LOW_BFMI, smallest_bfmi, touched_by_divergences
from steinkit.containers.reading import DrawsLike
from steinkit.diagnosis.bias.drift import Drift
from steinkit.diagnosis.bias.quantities import Quantities, location_and_scale, varying
from steinkit.diagnosis.bias.stein_regression import Estimates, FeatureSet
from steinkit.diagnosis.bias.text import (
    AT_LEAST,
    bias_statements,
    bias_table,
    biases_table,
    measured_bias_statements,
)
from steinkit.diagnosis.exact_kernels import groups_of
from steinkit.diagnosis.exact_run import ExactRun
from steinkit.draws import Draws
from steinkit.errors import InputError, UsageError, cautious, require_known, reservations
from steinkit.measurement import MeasureResult, Reference
from steinkit.result import Statement, cautioned, running_text
from steinkit.runtime.deadlines import one_thread_in_libraries, within_time
from steinkit.sample import Floats, Integers, Sample
from steinkit.scored_sample import ScoredSample
from steinkit.target import Functions, Seed, Target, as_functions
from steinkit.text import Table

Method = Literal["regression", "weights", "run", "modes"]

_METHODS = ("auto", "regression", "weights", "run")
_WIDEST = 0.3  # margin of a bias, or largest bias of a quantity that is called exact, in standard deviations
_MOST_ROWS = 10  # of a table
_MARGINS = 2.0  # claimed errors in a margin
_WITNESS = 4  # moves whose drift a regression is compared with: 28 gradients per draw
_MOVES = (4, 4, 6)  # of a run, from one estimate to the next: 28 to 98 gradients per draw
_LEAST_EXPLAINED = 0.2  # of a quantity's variance, below which features cannot see its bias
_CLIMB = 3.5  # standard errors by which the mean log density of a settled run changes, at most
_UNSETTLED = "a short exact run still changes the log density"
_DISAGREE = "the regression and an exact Markov kernel disagree"
_UNEXPLAINED = "its variation is not explained by the features, which cannot see its bias"
_TOO_FEW = "too few draws for functions of all coordinates together; take six times as many as coordinates"


@dataclass(frozen=True, eq=False)
class BiasEstimate(MeasureResult):
    """Means and standard deviations under the target, and how far those of the draws are off.

    Attributes
    ----------
    names : tuple of str
        Of the m quantities: the d coordinates, then the functions.
    mean, sd : ndarray, shape (m,)
        Estimates of the mean and standard deviation under the target, in the quantity's own unit.
    draws_mean, draws_sd : ndarray, shape (m,)
        Those of the draws.
    mean_bias : ndarray, shape (m,)
        Mean of the draws less `mean`, in units of `sd`.
    sd_bias : ndarray, shape (m,)
        Logarithm of the draws' standard deviation over `sd`: -.3 where the draws are 26 % too narrow.
    mean_margin, sd_margin : ndarray, shape (m,)
        95 % margins of error of `mean_bias` and `sd_bias`, as far as the features see. That of `mean_bias` includes the
        error of the standard deviation that is its unit.
    reliable : ndarray of bool, shape (m,)
        Whether the margins may be relied on; where not, `reason` says why.
    reason : tuple of str
        Empty where reliable.
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
        Why the shares of regions may be wrong, so that nothing is reliable; empty if nothing speaks for it.
    unranked : str
        Why samples must not be ordered by `value`, not even by its margin; empty where they may.
    falls_apart : bool
        Whether the draws fall into groups with a valley of the density between them.
    draws : int
        How many were given.
    features : {"quadratic", "chosen", "affine", "pairs", "diagonal", "own4"}
        Richest set of Stein features that was used; see `steinkit.diagnosis.bias.stein_regression`.
    warnings : tuple of str
        What a reader should know before the numbers.
    """

    measure: ClassVar[str] = "bias"
    title: ClassVar[str] = "bias of means and standard deviations"

    names: tuple[str, ...]
    mean: Floats
    sd: Floats
    draws_mean: Floats
    draws_sd: Floats
    mean_bias: Floats
    sd_bias: Floats
    mean_margin: Floats
    sd_margin: Floats
    reliable: NDArray[np.bool_]
    reason: tuple[str, ...]
    weights: Floats | None
    worth: float
    method: Method
    moved: Sample | None
    gradients: int
    hidden: str
    unranked: str
    falls_apart: bool
    draws: int
    features: FeatureSet
    warnings: tuple[str, ...]

    @property
    def value(self) -> float:
        """Root of the mean square of `mean_bias` plus that of `sd_bias`, over all quantities; reliable or not."""
        return float(np.sqrt(np.mean(self.mean_bias**2 + self.sd_bias**2)))

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
            False as well where nothing is reliable.
        """
        return bool((self.reliable & (np.abs(self.mean_bias) - self.mean_margin > delta)).any())

    def worst(self, most: int | None = None) -> NDArray[np.int64]:
        """Order the quantities: those clearly off first, largest bias first; the ones not reliable last.

        Parameters
        ----------
        most : int, optional
            How many to return; all by default.

        Returns
        -------
        ndarray of int
            Their places in `names`.
        """
        size = np.maximum(np.abs(self.mean_bias), np.abs(self.sd_bias))
        beyond = (np.abs(self.mean_bias) > self.mean_margin) | (np.abs(self.sd_bias) > self.sd_margin)
        order = np.lexsort((-np.nan_to_num(size), ~beyond, ~self.reliable))
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

    @property
    def seconds(self) -> dict[str, float]:
        """Not recorded."""
        return {}

    def statements(self, reference: Reference | None = None, *, is_biased: bool = False) -> tuple[Statement, ...]:
        """Say the size of all biases together, and the largest."""
        return measured_bias_statements(self.title, self.to_dict())

    def tables(self, reference: Reference | None = None) -> tuple[Table, ...]:
        """List the worst biases, if any is known."""
        return (biases_table(self.to_dict(), _MOST_ROWS),) if self.reliable.any() else ()

    def summary(self, reference: Reference | None = None) -> str:
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
            "mean", "sd", "draws_mean", "draws_sd", "mean_bias", "sd_bias", "mean_margin", "sd_margin",
        )  # fmt: skip
        rows = [
            {
                "name": self.names[k],
                **{each: finite_or_none(getattr(self, each)[k]) for each in columns},
                "reliable": bool(self.reliable[k]),
                "reason": self.reason[k],
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
            "features": self.features,
            "gradients": self.gradients,
            "hidden": self.hidden or None,
            "unranked": self.unranked or None,
            "falls_apart": self.falls_apart,
        }

    def __repr__(self) -> str:
        said = f"{self.reliable.sum()} of {len(self.names)} quantities reliable"
        return f"<BiasEstimate by {self.method}: {self.value:.2g} sd, {said}{reservations(self.warnings)}>"


@cautious
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
        regression; where the target has a log density, it is compared with the drift of the draws under 28 gradients
        per draw of Hamiltonian Monte Carlo, and the run takes its place where it is not reliable.
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
    them, or what changes slowest has fewer than thirty effective draws, nothing is reliable: the score does not
    know the weights of regions.

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
    >>> found.mean_bias.round(1).tolist(), np.exp(found.sd_bias).round(1).tolist()
    ([1.0, 1.0], [0.8, 0.8])
    """
    require_known([method], _METHODS, "unknown method", "the methods")
    if method == "run" and (target is None or not target.has_log_density):
        raise UsageError("a run needs a target with a log density; give one, or take another method")
    prepared = ScoredSample.of(draws, target, scores=scores, weights=weights, bounds=bounds)
    brought, left_out = varying(target.functions if target is not None else {}, prepared.points.points)
    functions = {**brought, **as_functions({} if functions is None else functions)}
    return bias_of(prepared, functions=functions, left_out=left_out, method=method, rng=rng)


def bias_of(
    prepared: ScoredSample,
    *,
    functions: Functions,
    left_out: tuple[str, ...] = (),
    method: str = "regression",
    rng: Seed = 0,
    slowest: float | None = None,
    drift: Drift | None = None,
    unusable: str = "",
) -> BiasEstimate:
    """Estimate the biases of a prepared sample, and of functions that vary.

    Parameters
    ----------
    prepared : ScoredSample
    functions, left_out, method, rng
        As for `estimate_bias`.
    slowest : float, optional
        `Draws.of_slowest_change`, where it is known.
    drift : Drift, optional
        Drift of these draws under an exact Markov kernel, which reliable biases must agree with. Without it "auto"
        measures one, if the target has a log density.
    unusable : str
        Why no estimate is reliable; empty by default.
    """
    target = prepared.target
    can_run = target is not None and target.has_log_density
    with one_thread_in_libraries():
        quantities = Quantities.of(prepared, functions)
        found, (hidden, falls_apart) = quantities.by_regression(), quantities.hidden_shares(slowest)
        hidden = unusable or hidden
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
        run = None
        if method == "auto" and can_run and drift is None and not hidden:
            run = _start(quantities, target, rng)
            drift = _drift(quantities.draws, run.move(_WITNESS).points)
        reason = _reason(found, quantities, hidden or dependence, _contradicted(found, quantities.draws, drift))
        unranked = hidden or dependence or next((why for why in reason if why == _TOO_FEW), "")
        if method == "run" or (method == "auto" and can_run and any(reason) and not hidden):
            moved = run or _start(quantities, target, rng)
            found, reason = _by_run(quantities, moved, hidden)
            used, unranked = "run", next((why for why in reason if why), "")
    reason = tuple(map(str.__add__, reason, _missed(prepared, quantities, reason)))
    weights = None
    carried = np.flatnonzero(prepared.points.inverse >= 0)[quantities.draws.rows]
    if tilted is not None:
        weights = np.zeros(len(prepared.given))
        weights[carried] = tilted
    off = (quantities.centre - found.mean) / found.sd
    return BiasEstimate(
        names=quantities.names,
        mean=found.mean,
        sd=found.sd,
        draws_mean=quantities.centre,
        draws_sd=quantities.scale,
        mean_bias=off,
        sd_bias=np.log(quantities.scale / found.sd),
        mean_margin=_MARGINS * np.hypot(found.mean_error, off * found.log_sd_error),
        sd_margin=_MARGINS * found.log_sd_error,
        reliable=np.array([not each for each in reason]),
        reason=reason,
        weights=weights,
        worth=0.0 if tilted is None else 1.0 / float(tilted @ tilted),
        method=used,
        moved=None if moved is None else _sample_of(prepared, carried, moved),
        gradients=0 if moved is None else moved.gradients,
        hidden=hidden,
        unranked=f"biases are not known: {unranked}" if unranked else "",
        falls_apart=falls_apart,
        draws=len(prepared.given),
        features=quantities.operand.richest,
        warnings=(*prepared.notes, *quantities.draws.disorder, *left_out),
    )


def _reason(found: Estimates, quantities: Quantities, hidden: str, disagree: NDArray[np.bool_]) -> tuple[str, ...]:
    """Return for each quantity why its margins are not reliable; empty where they are."""
    if hidden:
        return (hidden,) * len(found.mean)
    offs = (quantities.centre - found.mean) / found.sd, np.log(quantities.scale / found.sd)
    margins = _MARGINS * found.mean_error, _MARGINS * found.log_sd_error
    reach = [
        np.where(np.abs(off) > margin, margin, np.abs(off) + margin) for off, margin in zip(offs, margins, strict=True)
    ]
    errors = np.nan_to_num(np.max(reach, axis=0), nan=np.inf, posinf=np.inf)
    finite = errors[np.isfinite(errors)]
    most = "the margins of most quantities are too wide" if len(finite) and np.median(finite) > _WIDEST else ""
    return tuple(
        (_TOO_FEW if error == np.inf else f"the margin is too wide (+- {error:.2g} sd)")
        if error > _WIDEST
        else most or (_DISAGREE if disagree[k] else _UNEXPLAINED if found.explained[k] < _LEAST_EXPLAINED else "")
        for k, error in enumerate(errors)
    )


def _missed(prepared: ScoredSample, quantities: Quantities, given_reasons: tuple[str, ...]) -> list[str]:
    """Return for each quantity that has no reason yet whether divergences or a low E-BFMI make it unreliable."""
    given, dim = prepared.given, quantities.dim
    touched, reason = np.zeros(dim, dtype=bool), ""
    if given.divergent is not None and given.divergent.any():
        touched = touched_by_divergences(given.points, given.divergent)
        for group in groups_of(given.points, prepared.bounds) if dim > 1 else ():
            touched[group.members] |= touched[group.scale]
        reason = f"{given.divergent.sum()} transitions diverged, so a region may be missing"
    if (bfmi := smallest_bfmi(given)) is not None and bfmi < LOW_BFMI:
        touched, reason = np.ones(dim, dtype=bool), f"the E-BFMI is {bfmi:.2f}, so tails may be missing"
    everything = np.append(touched, np.full(len(given_reasons) - dim, touched.any()))
    return [reason if hit and not other else "" for hit, other in zip(everything, given_reasons, strict=True)]


def _contradicted(found: Estimates, draws: Draws, drift: Drift | None, moving: bool = False) -> NDArray[np.bool_]:
    """Tell for each quantity whether the draws' drift contradicts its estimates; for functions, whether any does.

    With `moving` draws that drift are a contradiction, too, whatever their bias is said to be.
    """
    contradicted = np.zeros(len(found.mean), dtype=bool)
    if drift is not None:
        dim = draws.points.shape[1]
        centre, scale = location_and_scale(draws.points, draws.shares)
        mean, sd, *margins = (each[:dim] for each in (found.mean, found.sd, found.mean_error, found.log_sd_error))
        margin, sd_margin = (_MARGINS * each for each in margins)
        contradicted[:dim] = drift.contradicts((centre - mean) / sd, margin, np.log(scale / sd), sd_margin)
        if moving:
            contradicted[:dim] |= drift.contradicts(np.zeros(dim), margin, np.zeros(dim), sd_margin)
        contradicted[dim:] = contradicted[:dim].any()
    return contradicted


def _start(quantities: Quantities, target: Target | None, rng: Seed) -> ExactRun:
    """Return a run that has not moved yet."""
    assert target is not None
    draws = quantities.draws
    return ExactRun(draws.points, draws.shares, target, quantities.bounds, generator_from(rng))


def _drift(draws: Draws, moved: Floats) -> Drift:
    return Drift.of(draws.points, moved, moved**2, draws.shares, draws.chains)


def _by_run(quantities: Quantities, moved: ExactRun, hidden: str) -> tuple[Estimates, tuple[str, ...]]:
    """Move the draws until the regression where they have gone is reliable, or the run has been long enough."""
    for times in _MOVES:
        before = replace(quantities.draws, points=moved.points)
        moved.move(times)
        there = quantities.moved(moved.points, moved.scores())
        found = there.by_regression()
        unsettled = _UNSETTLED if abs(moved.climb) > _CLIMB else ""
        unknown = hidden or there.hidden_shares()[0] or there.hidden_dependence() or unsettled
        drift = _drift(before, moved.points)
        reason = _reason(found, quantities, unknown, _contradicted(found, before, drift, moving=True))
        if not any(reason):
            break
    if any(reason) and not hidden:
        went = np.abs(there.means() - quantities.centre) / found.sd
        seen = _MARGINS * math.sqrt(2.0 / len(there.draws.points))  # of paired draws, at most
        reason = tuple(
            f"{why}{AT_LEAST}{far:.2g} sd" if why and far > seen else why for why, far in zip(reason, went, strict=True)
        )
    return found, reason


def _sample_of(prepared: ScoredSample, rows: Integers, moved: ExactRun) -> Sample:
    """The draws where a run has brought them, in their own order."""
    order = np.argsort(rows, kind="stable")
    given = prepared.given[rows[order]]
    points, scores = moved.points[order], moved.scores()[order]
    names = prepared.points.names
    return replace(given, points=points, scores=scores, cost=None, divergent=None, energy=None, names=names)


def finite_or_none(value: float) -> float | None:
    """A number as JSON documents hold it."""
    return float(value) if math.isfinite(value) else None
