"""The measures of a sample by their names, under one signature: what `score`, `compare`, `curve` and `sweep` take.

    graph         graph Stein discrepancy          any dimension    certified bracket
    classical     classical Stein discrepancy      one dimension    certified bracket
    wasserstein   Wasserstein-1 distance           one dimension    bracket, needs the target's cdf
    ksd           kernel Stein discrepancy         any dimension    closed form, bracket of rounding
    ess           effective sample size            any dimension    blind to bias; needs no target

All but the last are distances of the sample from its target: smaller is better. Effective sample size counts the
independent draws that would estimate as well *the distribution the chains converge to*, whatever that is.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

from steinkit.describe.claims import Claim
from steinkit.errors import UsageError, did_you_mean
from steinkit.sample import Floats, Sample
from steinkit.target import Target


@dataclass(frozen=True)
class MeasureSettings:
    """How the measures are taken; each reads what concerns it.

    Attributes
    ----------
    bounds : ndarray, shape (d, 2), optional
        Bounds of the support, where the target has none of its own.
    operator : RiemannianLangevin, optional
        Diffusion operator of the graph and kernel Stein discrepancies.
    tolerance : float, optional
        Widest relative bracket accepted, of graph, classical and wasserstein.
    max_seconds : float, optional
        Time for one graph or classical discrepancy.
    stein_factors : tuple of three floats
        Of graph and classical.
    dilation, graph, engine
        Of graph: see `graph_stein_discrepancy`.
    kernel, statistic, squared
        Of ksd: see `kernel_stein_discrepancy`.
    bootstrap, seed : int
        Of ksd: wild bootstrap samples of its p-value, none by default, and their seed.
    n_jobs : int
        Threads of graph and ksd. No value depends on it.
    progress : bool
        Show progress on standard error.
    """

    bounds: Floats | None = None
    operator: Any = None
    tolerance: float | None = None
    max_seconds: float | None = None
    stein_factors: tuple[float, float, float] = (1.0, 1.0, 1.0)
    dilation: float = 2.0
    graph: Literal["spanner", "complete"] = "spanner"
    engine: str = "auto"
    kernel: Any = "imq"
    statistic: Literal["v", "u"] = "v"
    squared: bool = False
    bootstrap: int = 0
    seed: int = 0
    n_jobs: int = 1
    progress: bool = False


@dataclass(frozen=True, eq=False)
class Measurement:
    """A measure of a sample.

    Attributes
    ----------
    measure : str
        One of `measure_names`.
    value : float
    lower, upper : float
        The bracket that proves the value; both are the value itself for ess, which is an estimate and proves nothing.
    result : object
        What the measure's own function returned.
    document : dict
        Its entry in JSON; the keys are part of the contract of ``steinkit score --json``.
    warnings : tuple of str
    """

    measure: str
    value: float
    lower: float
    upper: float
    result: Any
    document: dict[str, Any]
    warnings: tuple[str, ...]


@dataclass(frozen=True)
class Measure:
    """What is known of a measure before it is taken.

    Attributes
    ----------
    name, title : str
    take : callable
    smaller_is_better : bool
    needs_target : bool
        Whether the score alone, stored in the sample, is not enough.
    claim : {"proved", "found", "estimated"}
        What its values claim: a bracket that is proved, one of which a part is extrapolated, none.
    """

    name: str
    title: str
    take: Callable[[Sample, Target | None, MeasureSettings], Measurement]
    smaller_is_better: bool = True
    needs_target: bool = False
    claim: Claim = "proved"

    @property
    def has_bracket(self) -> bool:
        """Whether its values come with a bracket."""
        return self.claim != "estimated"


def measure_names() -> tuple[str, ...]:
    """Names of the measures."""
    return tuple(_MEASURES)


def find_measure(name: str) -> Measure:
    """The measure of this name.

    Raises
    ------
    UsageError
        If there is none.
    """
    if name not in _MEASURES:
        known = ", ".join(_MEASURES)
        raise UsageError(f"no measure named {name!r}{did_you_mean(name, _MEASURES)}; the measures are {known}")
    return _MEASURES[name]


def take_measure(
    name: str, sample: Sample, target: Target | None = None, settings: MeasureSettings | None = None, **changes: Any
) -> Measurement:
    """Take one measure of a sample.

    Parameters
    ----------
    name : str
        One of `measure_names`.
    sample : Sample
    target : Target, optional
        Not needed for ess, nor where the sample stores scores, but by wasserstein.
    settings : MeasureSettings, optional
    **changes
        Attributes of `MeasureSettings` that differ from `settings`.

    Raises
    ------
    UsageError, InputError, SolverError
        As the measure's own function does.
    """
    measure = find_measure(name)
    if measure.needs_target and target is None:
        raise UsageError(f"measure {name} needs a target; stored scores are not enough for it")
    return measure.take(sample, target, replace(settings or MeasureSettings(), **changes))


def _graph(sample: Sample, target: Target | None, settings: MeasureSettings) -> Measurement:
    from steinkit.discrepancy.graph.discrepancy import graph_stein_discrepancy

    result = graph_stein_discrepancy(
        sample,
        target,
        bounds=settings.bounds,
        dilation=settings.dilation,
        graph=settings.graph,
        stein_factors=settings.stein_factors,
        operator=settings.operator,
        engine=settings.engine,
        tolerance=settings.tolerance,
        max_seconds=settings.max_seconds,
        n_jobs=settings.n_jobs,
        progress=settings.progress,
    )
    brackets = zip(
        result.sample.names,
        result.coordinate_values.tolist(),
        result.coordinate_lower.tolist(),
        result.coordinate_upper.tolist(),
        strict=True,
    )
    coordinates = [{"name": name, "value": value, "lower": low, "upper": up} for name, value, low, up in brackets]
    return _bracketed(
        "graph",
        result,
        coordinates=coordinates,
        edges=len(result.graph.edges),
        dilation=result.dilation,
        engine=result.engine,
    )


def _classical(sample: Sample, target: Target | None, settings: MeasureSettings) -> Measurement:
    from steinkit.discrepancy.classical.discrepancy import classical_stein_discrepancy

    _refuse_operator("classical", settings)
    result = classical_stein_discrepancy(
        sample,
        target,
        bounds=settings.bounds,
        stein_factors=settings.stein_factors,
        tolerance=settings.tolerance,
        max_seconds=settings.max_seconds,
    )
    return _bracketed("classical", result)


def _wasserstein(sample: Sample, target: Target | None, settings: MeasureSettings) -> Measurement:
    from steinkit.discrepancy.wasserstein.distance import wasserstein_distance

    assert target is not None  # take_measure saw to it
    _refuse_operator("wasserstein", settings)
    if settings.bounds is not None:
        raise UsageError(
            "measure wasserstein takes the target as its cdf gives it, not cut off by bounds; leave out one of the two"
        )
    return _bracketed("wasserstein", wasserstein_distance(sample, target, **_tolerance_of(settings)))


def _kernel(sample: Sample, target: Target | None, settings: MeasureSettings) -> Measurement:
    from steinkit.discrepancy.kernel.ksd import kernel_stein_discrepancy

    result = kernel_stein_discrepancy(
        sample,
        target,
        bounds=settings.bounds,
        operator=settings.operator,
        kernel=settings.kernel,
        statistic=settings.statistic,
        squared=settings.squared,
        n_jobs=settings.n_jobs,
    )
    base = result.kernel
    kernel = {"name": type(base).__name__, "scale": base.scale, "exponent": getattr(base, "exponent", None)}
    test = _kernel_test(sample, target, settings) if settings.bootstrap else {}
    return _bracketed("ksd", result, statistic=result.statistic, squared=result.squared, kernel=kernel, **test)


def _kernel_test(sample: Sample, target: Target | None, settings: MeasureSettings) -> dict[str, Any]:
    """What a document says of the test that goes with ksd."""
    from steinkit.discrepancy.kernel.goodness_of_fit import kernel_stein_test

    test = kernel_stein_test(
        sample,
        target,
        bounds=settings.bounds,
        operator=settings.operator,
        kernel=settings.kernel,
        n_bootstrap=settings.bootstrap,
        rng=settings.seed,
        n_jobs=settings.n_jobs,
    )
    return {
        "p_value": test.p_value,
        "flip_probability": test.flip_probability,
        "bootstrap": settings.bootstrap,
    }


def _effective_sample_size(sample: Sample, target: Target | None, settings: MeasureSettings) -> Measurement:
    from steinkit.chains import chain_diagnostics

    found = chain_diagnostics(sample)
    value = found.min_ess
    columns = ("mean", "sd", "mcse_mean", "bulk_ess", "tail_ess", "r_hat")
    coordinates = [
        {"name": name, **{key: _number(getattr(found, key)[j]) for key in columns}}
        for j, name in enumerate(found.names)
    ]
    document = {
        "measure": "ess",
        "value": _number(value),
        "coordinates": coordinates,
        "chains": found.n_chains,
        "moved": _number(found.moved),
        "cost_per_draw": _number(found.cost_per_draw),
    }
    return Measurement("ess", value, value, value, found, document, found.warnings)


_MEASURES = {
    measure.name: measure
    for measure in (
        Measure("graph", "graph Stein discrepancy", _graph),
        Measure("classical", "classical Stein discrepancy", _classical),
        Measure("wasserstein", "Wasserstein distance", _wasserstein, needs_target=True, claim="found"),
        Measure("ksd", "kernel Stein discrepancy", _kernel),
        Measure("ess", "effective sample size", _effective_sample_size, smaller_is_better=False, claim="estimated"),
    )
}


def _bracketed(name: str, result: Any, **more: Any) -> Measurement:
    """The measurement of a discrepancy; its document is the bracket, what else there is, and the time it took."""
    document = {
        "measure": name,
        "value": result.value,
        "lower": result.lower,
        "upper": result.upper,
        **more,
        "seconds": result.seconds,
    }
    return Measurement(name, result.value, result.lower, result.upper, result, document, result.warnings)


def _refuse_operator(name: str, settings: MeasureSettings) -> None:
    if settings.operator is not None:
        raise UsageError(f"measure {name} knows the Langevin operator only; operator= is for graph and ksd")


def _tolerance_of(settings: MeasureSettings) -> dict[str, float]:
    return {} if settings.tolerance is None else {"tolerance": settings.tolerance}


def _number(value: float | None) -> float | None:
    """A number for JSON, which has no NaN: null where it is not defined."""
    return None if value is None or not math.isfinite(value) else float(value)
