"""Draws repaired: weighted so that features have mean zero or modes their shares, or moved by a short exact run."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from steinkit.arguments import generator_from
from steinkit.chains import chain_diagnostics
from steinkit.containers.reading import DrawsLike, as_sample
from steinkit.diagnosis.bias.estimate import estimate_bias
from steinkit.diagnosis.bias.mode_weights import bias_of_mixture, estimates_in_modes, mode_weights
from steinkit.diagnosis.bias.result import BiasEstimate
from steinkit.errors import Caution, InputError, UsageError, cautious, require_known, reservations
from steinkit.result import Result, Statement
from steinkit.runtime.deadlines import within_time
from steinkit.sample import Sample
from steinkit.target import Seed, Target

_METHODS = ("auto", "weights", "run")
_RUNS = 8  # an estimate is known before the draws are where it says; each run goes on where the last one ended
_NOISES = 4.0  # standard errors of a mean of independent draws


@dataclass(frozen=True, eq=False)
class Repaired(Result):
    """Draws that stand for the target better than those given.

    Attributes
    ----------
    sample : Sample
        The draws with weights, or where a run has moved them.
    method : {"weights", "run", "modes"}
        How they were repaired; "modes" by weights that give separate modes their correct weights.
    worth : float
        Kish's effective size of the weights; effective sample size of the draws that a run moved.
    bias : BiasEstimate
        Of the draws as they were given.
    after : BiasEstimate
        Of the repaired draws.
    warnings : tuple of str
        What a reader should know before the draws are used.
    """

    sample: Sample
    method: Literal["weights", "run", "modes"]
    worth: float
    bias: BiasEstimate
    after: BiasEstimate
    warnings: tuple[str, ...]

    def headline(self) -> str:
        """State how the draws were repaired, and their effective size.

        Returns
        -------
        str
            Without its full stop.
        """
        n = len(self.sample)
        if self.method == "run":
            return f"Repaired: {n} draws, each moved by a short exact run"
        how = f"{n} weighted draws" if self.method == "weights" else f"{n} draws, modes reweighted to their shares"
        return f"Repaired: {how}, worth {self.worth:.0f}"

    def statements(self) -> tuple[Statement, ...]:
        """State how the draws were repaired, and the biases before and after.

        Returns
        -------
        tuple of Statement
        """
        return (
            Statement("number", "How were the draws repaired?", f"{self.headline()}."),
            Statement("comparison", "How wrong were the numbers?", f"Before: {self.bias.sentence}"),
            Statement("comparison", "How wrong are they now?", f"After: {self.after.sentence}"),
        )

    def to_dict(self) -> dict[str, Any]:
        """List the repair as JSON documents hold it.

        Returns
        -------
        dict
            Of strings, finite numbers, lists and dicts.
        """
        return {
            "method": self.method,
            "draws": len(self.sample),
            "worth": self.worth,
            "before": self.bias.to_dict(),
            "after": self.after.to_dict(),
        }

    def __repr__(self) -> str:
        return (
            f"<Repaired by {self.method}: {len(self.sample)} draws worth {self.worth:.0f}{reservations(self.warnings)}>"
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
    """Mend draws that are off: by weights where these are worth enough, else by a short exact run.

    Parameters
    ----------
    draws : Sample, array_like of shape (n,), (n, d) or (chains, draws, d), or what else `as_sample` takes
        In the order in which they were made; without weights.
    target : Target, optional
        Exactly one of `target`, `scores` and scores stored in the sample is needed. A run needs a target with a log
        density.
    scores : array_like, shape (n, d), optional
        Score of the target at each draw.
    bounds : array_like, shape (d, 2) or (2,), optional
        Bounds of the support; the target's own if not given.
    method : {"auto", "weights", "run"}
        "weights" of largest entropy under which Stein features have mean zero; "run", Hamiltonian Monte Carlo from
        every draw; "auto" takes weights where they are worth a fifth of the draws. Of draws that fall into modes it
        weighs the modes by `mode_weights`, if the target has a log density, and leaves the draws within each as they
        are.
    max_seconds : float, optional
        Time, from the call on, after which to give up.
    rng : int, numpy.random.Generator or None
        Seed of the run.

    Returns
    -------
    Repaired
        With the sample, and the biases before and after.

    Raises
    ------
    UsageError, InputError
        As `estimate_bias` does; or if the draws carry weights, the shares of regions may be wrong, or weights are worth
        too little and no run can be made.
    TimeLimitError
        If `max_seconds` pass first.

    Notes
    -----
    Weights mend what functions of the first orders see. They cannot put draws where there are none: a mode that no draw
    has visited, or a tail that was cut.

    Examples
    --------
    >>> import numpy as np, steinkit as sk
    >>> draws = 0.2 + 1.1 * np.random.default_rng(0).standard_normal((1000, 2))
    >>> mended = sk.repair(draws, sk.targets.Normal([0.0, 0.0]))
    >>> mended.method, bool(abs(mended.sample.probabilities @ mended.sample.points).max() < 0.01)
    ('weights', True)
    """
    require_known([method], _METHODS, "unknown method", "the methods")
    sample = as_sample(draws)
    if sample.weights is not None:
        raise UsageError("these draws carry weights already; repair draws without, or resample these first")
    given: dict[str, Any] = {"scores": scores, "bounds": bounds}
    bias = estimate_bias(sample, target, **given, rng=rng)
    if not bias.reliable.any() and bias.hidden:
        if method == "auto" and target is not None and target.has_log_density:
            return _by_shares(sample, target, bounds, bias, rng)
        raise InputError(f"these draws cannot be repaired: {bias.hidden}")
    enough = bias.has_useful_weights
    by_regression = bias.method == "regression" and bias.reliable.all()
    if method == "weights" or (method == "auto" and enough and by_regression):
        if not enough:
            raise InputError(f"weights are worth {bias.worth:.0f} of {len(sample)} draws, too few to rest on{_REMEDY}")
        assert bias.weights is not None
        mended = sample.with_columns(weights=bias.weights)
        after = estimate_bias(mended, target, **given, rng=rng)
        return Repaired(mended, "weights", bias.worth, bias, after, bias.warnings)
    if target is None or not target.has_log_density:
        why = f"weights are worth {bias.worth:.0f} of {len(sample)} draws, too few to rest on"
        if enough:
            why = "the bias of the draws is not known"
        raise InputError(f"these draws cannot be repaired: {why}{_REMEDY}")
    moved, stream = bias.moved or sample, generator_from(rng)
    for _ in range(_RUNS):
        run = estimate_bias(moved, target, bounds=bounds, method="run", rng=stream)
        assert run.moved is not None
        moved = run.moved
        after = estimate_bias(moved, target, bounds=bounds, rng=stream)
        if _is_within_noise(after) and after.value <= _noise_of_right_draws(len(moved), moved.dim):
            break
    still = () if _is_within_noise(after) else (Caution(_STILL_MOVING),)
    worth = min(float(len(moved)), chain_diagnostics(moved).min_ess)
    return Repaired(moved, "run", worth, bias, after, (*bias.warnings, *still))


def _by_shares(sample: Sample, target: Target, bounds: ArrayLike | None, bias: BiasEstimate, rng: Seed) -> Repaired:
    """Modes weighed by their shares; InputError where these cannot be found."""
    try:
        modes = mode_weights(sample, target, rng=rng)
    except InputError as error:
        raise InputError(f"these draws cannot be repaired: {bias.hidden}; and {error}") from None
    parts = estimates_in_modes(replace(sample, scores=None), target, bounds, modes)
    before, after = (bias_of_mixture(parts, modes, weighted) for weighted in (False, True))
    left = next(filter(None, after.reason), "")
    still = "" if _is_within_noise(after) else "and some biases remain: see the estimates after the repair"
    still = f"and how far off is not known: {left}" if left else still
    said = (Caution(f"within the modes the draws are as they were, {still}"),) if still else ()
    warnings = tuple(dict.fromkeys((*modes.warnings, *after.warnings, *said)))
    return Repaired(modes.reweighted, "modes", after.worth, before, after, warnings)


def _is_within_noise(found: BiasEstimate) -> bool:
    """Whether no quantity of draws is off by more than so many independent draws may be."""
    noise = _NOISES / math.sqrt(found.draws)
    within = [
        np.abs(off) <= np.hypot(margin, noise)
        for off, margin in ((found.mean_bias, found.mean_margin), (found.sd_bias, found.sd_margin))
    ]
    return bool(found.reliable.all() and np.all(within))


def _noise_of_right_draws(n: int, dim: int) -> float:
    """What `value` seldom exceeds: means have variance 1 / n, log standard deviations of normal draws 1 / (2 n)."""
    return math.sqrt(1.5 / n * (1.0 + 2.0 / math.sqrt(dim)))


_REMEDY = "; give a target with a log density, from which a run can be made, or run the sampler longer"
_STILL_MOVING = "the run was too short for all quantities: run the sampler longer, from where these draws are"
