"""Registry of measures of sample quality.

All measures have the same signature. The functions `score`, `compare`, `curve` and `sweep` use these measures.

- graph: graph Stein discrepancy, with a certified bracket
- sliced: sliced graph Stein discrepancy, with a certified bracket
- moments: moment Stein discrepancy, an estimate with a p-value
- bias: biases of means and standard deviations, an estimate
- classical: classical Stein discrepancy in one dimension, with a certified bracket
- wasserstein: Wasserstein-1 distance in one dimension, with a bracket; requires the cdf of the target
- ksd: kernel Stein discrepancy in closed form, with a bracket for rounding errors
- ess: effective sample size, an estimate that requires no target

All measures except the last are distances between the sample and its target, for which smaller values are better. The
effective sample size is the number of independent draws that would give the same precision. This measure does not
depend on the target and therefore cannot detect bias.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from steinkit.errors import UsageError, require_known
from steinkit.measurement import Measurement
from steinkit.measures.options import Measure, Option, on_call, recorded, shared, units_of_one
from steinkit.runtime.compilation import GRAPH_SECONDS
from steinkit.sample import Sample
from steinkit.target import Target
from steinkit.text import listed

_BRACKET = ("bounds", "units", "tolerance", "max_seconds")


def _kernel(
    sample: Sample,
    target: Target | None,
    *,
    kernel: Any,
    kernel_scale: float | None = None,
    statistic: Any,
    **settings: Any,
) -> Measurement:
    from steinkit.discrepancy.kernel.base import scaled_kernel
    from steinkit.discrepancy.kernel.ksd import kernel_stein_discrepancy

    settings |= {"statistic": statistic, "squared": statistic == "u"}  # because a U-statistic can be negative
    return kernel_stein_discrepancy(sample, target, kernel=scaled_kernel(kernel, kernel_scale), **settings)


def _ess(sample: Sample, target: Target | None) -> Measurement:
    from steinkit.chains import chain_diagnostics

    return chain_diagnostics(sample)


_ALL = (
    Measure(
        "graph",
        "graph Stein discrepancy",
        on_call("discrepancy.graph.discrepancy.graph_stein_discrepancy"),
        shared(*_BRACKET, "stein_factors")
        | {
            "dilation": Option(default=2.0, metavar="T", help="Dilation of the spanner, above 1"),
            "graph": Option(default="spanner", choices=lambda: ("spanner", "complete"), help="Graph on the draws"),
            "solver": Option(
                default="auto",
                read=str,
                of_solver=True,
                metavar="NAME",
                help=on_call("discrepancy.graph.solvers.solver_choices"),
            ),
        }
        | shared("operator", "n_jobs", "progress"),
        has_plot=True,
        plain_seconds=GRAPH_SECONDS,
    ),
    Measure(
        "sliced",
        "sliced graph Stein discrepancy",
        on_call("discrepancy.sliced.sliced_stein_discrepancy"),
        shared(*_BRACKET, "stein_factors"),
        has_plot=True,
        plain_seconds=GRAPH_SECONDS,
    ),
    Measure(
        "moments",
        "moment Stein discrepancy",
        on_call("discrepancy.moments.moment_stein_discrepancy"),
        shared("bounds", "units", "max_seconds"),
        claim="estimated",
        has_plot=True,
    ),
    Measure(
        "bias",
        "bias of means and standard deviations",
        partial(on_call("diagnosis.bias.estimate.estimate_bias"), method="regression"),
        shared("bounds", "max_seconds"),
        claim="estimated",
    ),
    Measure(
        "classical",
        "classical Stein discrepancy",
        on_call("discrepancy.classical.classical_stein_discrepancy"),
        shared(*_BRACKET, "stein_factors"),
    ),
    Measure(
        "wasserstein",
        "Wasserstein distance",
        on_call("discrepancy.wasserstein.wasserstein_distance"),
        shared("units", "tolerance", "max_seconds"),
        claim="found",
        needs="target",
        refuses={
            "bounds": "measure wasserstein uses the target's cdf, which ignores bounds; omit either the measure "
            "or the bounds"
        },
    ),
    Measure(
        "ksd",
        "kernel Stein discrepancy",
        _kernel,
        shared("bounds", "units")
        | {
            "kernel": Option(
                default="imq",
                choices=on_call("discrepancy.kernel.base.kernel_names"),
                help="Base kernel",
                may_be_object=True,
            ),
            "kernel_scale": Option(
                metavar="SCALE", default_text="the kernel's own", help="Length scale of the kernel, in the chosen units"
            ),
            "statistic": Option(default="v", choices=lambda: ("v", "u"), help="Statistic (u estimates the square)"),
        }
        | shared("max_seconds", "n_jobs"),
    ),
    Measure("ess", "effective sample size", _ess, smaller_is_better=False, claim="estimated", needs="draws"),
)
_MEASURES = {measure.name: measure for measure in _ALL}


def measure_names() -> tuple[str, ...]:
    """Return the names of the measures."""
    return tuple(_MEASURES)


def find_measure(name: str) -> Measure:
    """Return the measure with the given name.

    Raises
    ------
    UsageError
        If the name is not known.
    """
    require_known([name], _MEASURES, "no measure named", "the measures")
    return _MEASURES[name]


def default_measure(dim: int, *, operator: object = None) -> str:
    """Return the name of the default measure for a given dimension.

    In one and two dimensions, the default is the graph Stein discrepancy, which is the most sensitive measure. In
    higher dimensions, the graph Stein discrepancy saturates at typical sample sizes and then favors samples that are
    too narrow. The default is therefore the sliced discrepancy, which does not saturate. With any operator other than
    the Langevin operator, the default is the graph Stein discrepancy in all dimensions.
    """
    return "graph" if dim <= 2 or operator is not None else "sliced"


def all_options() -> dict[str, Option]:
    """Return a dictionary of the options of all measures."""
    return {name: option for measure in _ALL for name, option in measure.options.items()}


def require_taken(settings: Mapping[str, object], measures: Sequence[str]) -> None:
    """Check that every setting belongs to at least one of the chosen measures.

    Parameters
    ----------
    settings : mapping
        Settings by name.
    measures : sequence of str
        Names of the chosen measures.

    Raises
    ------
    UsageError
        If a setting belongs to none of these measures.
    """
    _require_settings(settings)
    chosen = [find_measure(name) for name in measures]
    for name in settings:
        if not any(name in measure.options or name in measure.refused for measure in chosen):
            takers = takers_of(name)
            raise UsageError(
                f"{name} applies only to {listed(takers, most=len(takers))}; got measures {', '.join(measures)}; omit "
                f"{name}, or add {' or '.join(takers)}"
            )


def _require_settings(settings: Mapping[str, object]) -> None:
    require_known(settings, all_options(), "no measure has the setting", "the settings")


def recorded_settings(settings: Mapping[str, object]) -> dict[str, object]:
    """Return all settings that affect values, as stored in JSON.

    Operators are represented by their fingerprints.
    """
    return {
        name: recorded(option.checked(settings.get(name, option.default)))
        for name, option in all_options().items()
        if option.changes_value
    }


def takers_of(setting: str) -> tuple[str, ...]:
    """Return the names of the measures that accept a setting."""
    return tuple(measure.name for measure in _ALL if setting in measure.options)


def take_measure(
    name: str,
    sample: Sample,
    target: Target | None = None,
    settings: Mapping[str, object] | None = None,
    **changes: Any,
) -> Measurement:
    """Measure a sample.

    Parameters
    ----------
    name : str
        One of `measure_names`.
    sample : Sample
    target : Target, optional
        Target distribution. A target is not required for "ess" or if the sample stores scores, but "wasserstein" always
        requires one.
    settings : mapping, optional
        Settings by name, which may belong to several measures.
    **changes
        Settings that replace those of `settings`.

    Raises
    ------
    UsageError, InputError, SolverError
        See the function of the measure.

    Examples
    --------
    >>> import steinkit as sk
    >>> from steinkit.measures import take_measure
    >>> take_measure("ksd", sk.Sample([0.0, 1.0, -1.0]), sk.targets.Normal([0.0])).measure
    'ksd'
    """
    measure = find_measure(name)
    if measure.needs == "target" and target is None:
        raise UsageError(f"measure {name} requires a target, but only stored scores were given")
    given = {**(settings or {}), **changes}
    _require_settings(given)
    notes: tuple[str, ...] = ()
    if "units" in measure.options:
        given["units"], notes = units_of_one(sample, target, given)
    found = measure.take(sample, target, given)
    return replace(found, warnings=(*found.warnings, *notes)) if notes else found  # type: ignore[type-var]
