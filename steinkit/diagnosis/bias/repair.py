"""Correction of biased draws by reweighting or by a short exact run."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from steinkit.arguments import generator_from
from steinkit.chains import TAILS, chain_diagnostics, tail_quantiles
from steinkit.containers.reading import DrawsLike, as_sample
from steinkit.diagnosis.bias.estimate import estimate_bias
from steinkit.diagnosis.bias.mode_weights import bias_of_mixture, estimates_in_modes, mode_weights
from steinkit.diagnosis.bias.optimal_weights import moments_table, optimal_weights
from steinkit.diagnosis.bias.result import BiasEstimate
from steinkit.errors import Caution, InputError, UsageError, cautious, require_known, reservations
from steinkit.result import Result, Statement
from steinkit.runtime.deadlines import within_time
from steinkit.sample import Floats, Sample
from steinkit.scored_sample import selected
from steinkit.target import Seed, Target
from steinkit.text import Table

_METHODS = ("auto", "weights", "optimal", "run")
_RUNS = 8  # maximum number of runs, each continuing the previous one
_NOISES = 4.0  # largest remaining bias, in standard errors of a mean of independent draws
_REMEDY = "; pass a target with a log density to allow an exact run, or run the sampler longer"
_STILL_MOVING = "the run was too short to correct all quantities; continue sampling from the repaired draws"


@dataclass(frozen=True, eq=False)
class Repaired(Result):
    """Corrected draws, with the biases before and after the correction.

    Attributes
    ----------
    sample : Sample
        The draws with weights, or their positions after a run.
    method : {"weights", "optimal", "run", "modes"}
        Method of the correction. The method "modes" corrects the weights of separate modes.
    effective_size : float
        Kish's effective sample size of the weights or, for a run, the effective sample size of the moved draws.
    bias : BiasEstimate
        Biases of the given draws.
    after : BiasEstimate
        Biases of the corrected draws.
    given : Sample
        The given draws, with the parameters of the target.
    warnings : tuple of str
        Limitations of the corrected draws.

    Examples
    --------
    >>> import numpy as np, steinkit as sk
    >>> draws = 1.2 * np.random.default_rng(0).standard_normal((1000, 2))
    >>> found = sk.repair(draws, sk.targets.Normal([0.0, 0.0]))
    >>> len(found.sample), found.bias.value > 0.1 > found.after.value
    (1000, True)
    """

    sample: Sample
    method: Literal["weights", "optimal", "run", "modes"]
    effective_size: float
    bias: BiasEstimate
    after: BiasEstimate
    given: Sample
    warnings: tuple[str, ...]

    @property
    def quantiles(self) -> Floats:
        """5% and 95% quantiles of the corrected draws, as an array of shape (2, d)."""
        return tail_quantiles(self._estimated)

    @property
    def _estimated(self) -> Sample:
        """Corrected draws, with the parameters of the target."""
        return self.sample if self.method == "run" else self.given.with_columns(weights=self.sample.weights)

    def headline(self) -> str:
        """State the correction method and the effective sample size.

        Returns
        -------
        str
            A sentence without the final period.
        """
        n = len(self.sample)
        if self.method == "run":
            return f"Repaired: {n} draws, each moved by a short exact run"
        how = {
            "weights": f"{n} weighted draws",
            "optimal": f"{n} draws with optimal weights",
            "modes": f"{n} draws with corrected mode weights",
        }
        return f"Repaired: {how[self.method]}, effective size {self.effective_size:.0f}"

    def statements(self) -> tuple[Statement, ...]:
        """State the correction method, and the biases before and after the correction.

        Returns
        -------
        tuple of Statement
        """
        return (
            Statement("number", "How were the draws repaired?", f"{self.headline()}."),
            Statement("comparison", "How biased were the estimates?", f"Before: {self.bias.sentence}"),
            Statement("comparison", "How biased are they now?", f"After: {self.after.sentence}"),
        )

    def tables(self) -> tuple[Table, ...]:
        """Return the means, sds, and 5% and 95% quantiles before and after correction.

        Returns
        -------
        tuple of Table
        """
        return (moments_table(self.given, self._estimated),)

    def to_dict(self) -> dict[str, Any]:
        """Return the correction as it appears in JSON.

        Returns
        -------
        dict
            The JSON document, which contains strings, finite numbers, lists and dicts.
        """
        return {
            "method": self.method,
            "draws": len(self.sample),
            "effective_size": self.effective_size,
            "quantiles": [
                {"name": name, "level": level, "before": old, "after": new}
                for level, *rows in zip(TAILS, tail_quantiles(self.given), self.quantiles, strict=True)
                for name, old, new in zip(self.given.names, *map(np.ndarray.tolist, rows), strict=True)
            ],
            "before": self.bias.to_dict(),
            "after": self.after.to_dict(),
        }

    def __repr__(self) -> str:
        return (
            f"<Repaired by {self.method}: {len(self.sample)} draws, effective size {self.effective_size:.0f}"
            f"{reservations(self.warnings)}>"
        )


@cautious
@within_time
def repair(
    draws: DrawsLike,
    target: Target | None = None,
    *,
    scores: ArrayLike | None = None,
    bounds: ArrayLike | None = None,
    method: str = "auto",
    max_seconds: float | None = None,
    rng: Seed = 0,
) -> Repaired:
    """Correct biased draws by reweighting or by a short exact run.

    Parameters
    ----------
    draws : Sample, array_like of shape (n,), (n, d) or (chains, draws, d), or any object that `as_sample` accepts
        Unweighted draws in the order in which they were generated.
    target : Target, optional
        Target distribution. Exactly one source of scores is required: `target`, `scores`, or scores stored in the
        sample. A run requires a target with a log density.
    scores : array_like, shape (n, d), optional
        Score of the target at each draw.
    bounds : array_like, shape (d, 2) or (2,), optional
        Bounds of the support. The default is the bounds of the target.
    method : {"auto", "weights", "optimal", "run"}
        "weights" computes entropy weights, under which Stein features have mean zero. "optimal" computes the weights
        with the smallest Stein discrepancy (`optimal_weights`), which also correct quantiles. "run" moves every draw
        with short exact MCMC runs. "auto" (default) uses entropy weights if their effective sample size is at least a
        fifth of the number of draws and all estimates are reliable, and a run otherwise. The method "auto" does not
        choose optimal weights. If the draws are multimodal and the target has a log density, "auto" and "optimal"
        correct the weights of the modes using `mode_weights`. Within each mode, "auto" does not change the draws, and
        "optimal" computes optimal weights.
    max_seconds : float, optional
        Time limit in seconds.
    rng : int, numpy.random.Generator or None
        Seed for the run.

    Returns
    -------
    Repaired
        The corrected sample, with its estimated biases before and after the correction.

    Raises
    ------
    UsageError, InputError
        See `estimate_bias`, and `optimal_weights` if `method` is "optimal". The error is also raised if the draws have
        weights, if the weights of regions cannot be estimated, or if the effective sample size of the weights is too
        small and a run is not possible.
    SolverError
        See `optimal_weights`.
    TimeLimitError
        If the time limit is exceeded.

    Notes
    -----
    Weights correct the expectations of low-order functions. Weights cannot replace missing draws, for example in a mode
    that no draw visited or in a truncated tail.

    Examples
    --------
    >>> import numpy as np, steinkit as sk
    >>> draws = 0.2 + 1.1 * np.random.default_rng(0).standard_normal((1000, 2))
    >>> corrected = sk.repair(draws, sk.targets.Normal([0.0, 0.0]))
    >>> corrected.method, bool(abs(corrected.sample.probabilities @ corrected.sample.points).max() < 0.01)
    ('weights', True)
    """
    require_known([method], _METHODS, "unknown method", "the methods")
    sample = as_sample(draws)
    if sample.weights is not None:
        raise UsageError("`repair` requires draws without weights; resample the draws first")
    bias = estimate_bias(sample, target, scores=scores, bounds=bounds, rng=rng)
    given = selected(sample, target)[0]
    can_run = target is not None and target.has_log_density
    if bias.hidden:
        if method in ("auto", "optimal") and target is not None and can_run:
            return _by_mode_weights(sample, target, bounds, bias, method, rng)
        raise InputError(f"these draws cannot be repaired: {bias.hidden}")
    enough = bias.has_useful_weights
    too_few = f"the effective size of the weights is too small, {bias.effective_size:.0f} for {len(sample)} draws"
    if method == "optimal":
        optimal = optimal_weights(sample, target, scores=scores, bounds=bounds)
        corrected = sample.with_columns(weights=optimal.weights)
        after = estimate_bias(corrected, target, scores=scores, bounds=bounds, rng=rng)
        warnings = tuple(dict.fromkeys((*bias.warnings, *optimal.warnings)))
        return Repaired(corrected, "optimal", optimal.effective_size, bias, after, given, warnings)
    if method == "weights" and not enough:
        raise InputError(f"{too_few}{_REMEDY}")
    is_regression = bias.method == "regression" and bool(bias.reliable.all())
    if enough and (method == "weights" or (method == "auto" and is_regression)):
        corrected = sample.with_columns(weights=bias.weights)
        after = estimate_bias(corrected, target, scores=scores, bounds=bounds, rng=rng)
        return Repaired(corrected, "weights", bias.effective_size, bias, after, given, bias.warnings)
    if not can_run:
        reason = "their bias could not be estimated" if enough else too_few
        raise InputError(f"these draws cannot be repaired: {reason}{_REMEDY}")
    moved, stream = bias.moved or sample, generator_from(rng)
    for _ in range(_RUNS):
        run = estimate_bias(moved, target, bounds=bounds, method="run", rng=stream)
        assert run.moved is not None
        moved = run.moved
        after = estimate_bias(moved, target, bounds=bounds, rng=stream)
        noise = math.sqrt(1.5 / len(moved) * (1.0 + 2.0 / math.sqrt(moved.dim)))  # `value` for exact normal draws
        if _is_within_noise(after) and after.value <= noise:
            break
    still = () if _is_within_noise(after) else (Caution(_STILL_MOVING),)
    effective_size = min(float(len(moved)), chain_diagnostics(moved).min_ess)
    return Repaired(moved, "run", effective_size, bias, after, given, (*bias.warnings, *still))


def _by_mode_weights(
    sample: Sample, target: Target, bounds: ArrayLike | None, bias: BiasEstimate, method: str, rng: Seed
) -> Repaired:
    """Correct the mode weights, or raise InputError if they cannot be estimated."""
    try:
        modes = mode_weights(sample, target, rng=rng)
    except InputError as error:
        raise InputError(f"these draws cannot be repaired: {bias.hidden}; {error}") from None
    unscored, corrected = replace(sample, scores=None), modes.reweighted
    parts = estimates_in_modes(unscored, target, bounds, modes)
    before, after = (bias_of_mixture(parts, modes, weighted) for weighted in (False, True))
    how, notes = "the draws within the modes are unchanged", modes.warnings
    if method == "optimal":
        weights = np.empty(len(sample))
        for k, share in enumerate(modes.shares):
            rows = modes.labels == k
            found = optimal_weights(unscored[rows], target, bounds=bounds)
            weights[rows], notes = share * found.weights, notes + found.warnings
        corrected = corrected.with_columns(weights=weights)
        parts = estimates_in_modes(unscored.with_columns(weights=weights), target, bounds, modes)
        after = replace(bias_of_mixture(parts, modes, True), weights=weights)
        how = "the draws within the modes have optimal weights"
    left = next(filter(None, after.reason), "")
    still = "" if _is_within_noise(after) else "and some biases remain; see the estimates after the repair"
    still = f"and their bias could not be estimated: {left}" if left else still
    cautions = (Caution(f"{how}, {still}"),) if still else ()
    warnings = tuple(dict.fromkeys((*notes, *after.warnings, *cautions)))
    return Repaired(corrected, "modes", after.effective_size, before, after, selected(sample, target)[0], warnings)


def _is_within_noise(found: BiasEstimate) -> bool:
    """Return True if margins and sampling noise explain all estimated biases."""
    noise = _NOISES / math.sqrt(found.draws)
    mean_is_within = np.abs(found.mean_bias) <= np.hypot(found.mean_margin, noise)
    sd_is_within = np.abs(found.sd_bias) <= np.hypot(found.sd_margin, noise)
    return bool((found.reliable & mean_is_within & sd_is_within).all())
