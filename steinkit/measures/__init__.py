"""The measures of a sample by their names, under one signature: what `score`, `compare`, `curve` and `sweep` take.

    graph         graph Stein discrepancy          any dimension    certified bracket
    sliced        sliced graph Stein discrepancy   any dimension    certified bracket
    moments       moment Stein discrepancy         any dimension    an estimate, with a p-value
    classical     classical Stein discrepancy      one dimension    certified bracket
    wasserstein   Wasserstein-1 distance           one dimension    bracket, needs the target's cdf
    ksd           kernel Stein discrepancy         any dimension    closed form, bracket of rounding
    ess           effective sample size            any dimension    blind to bias; needs no target

All but the last are distances of the sample from its target: smaller is better. Effective sample size counts the
independent draws that would estimate as well *the distribution the chains converge to*, whatever that is.

A measure is an object that holds all that is known of it: what it can be told, its command-line options included, what
it claims, and the function that takes it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from steinkit.errors import UsageError, require_known
from steinkit.measurement import Measurement
from steinkit.measures.options import Measure, Option, shared, units_of_one
from steinkit.sample import Sample
from steinkit.target import Target
from steinkit.text import listed

_BOOTSTRAP = 1000  # replicates, where the command line asks for a p-value
_BRACKET = ("bounds", "units", "tolerance", "max_seconds")


def _solver_choices() -> str:
    from steinkit.discrepancy.graph.solvers import solver_choices

    return solver_choices()


GRAPH = Measure(
    "graph",
    "graph Stein discrepancy",
    "discrepancy.graph.discrepancy.graph_stein_discrepancy",
    shared(*_BRACKET, "stein_factors")
    | {
        "dilation": Option(default=2.0, metavar="T", help="Stretch of the spanner, above 1"),
        "graph": Option(default="spanner", choices=lambda: ("spanner", "complete"), help="Pairs of draws"),
        "solver": Option(default="auto", read=str, of_solver=True, metavar="NAME", help=_solver_choices),
    }
    | shared("operator", "n_jobs", "progress"),
    reuses_scores=True,
    has_picture=True,
)

SLICED = Measure(
    "sliced",
    "sliced graph Stein discrepancy",
    "discrepancy.sliced.sliced_stein_discrepancy",
    shared(*_BRACKET, "stein_factors"),
    reuses_scores=True,
    has_picture=True,
)

MOMENTS = Measure(
    "moments",
    "moment Stein discrepancy",
    "discrepancy.moments.moment_stein_discrepancy",
    shared("bounds", "units", "max_seconds"),
    fixed={"by_chain": True},
    claim="estimated",
    reuses_scores=True,
    has_picture=True,
)


BIAS = Measure(
    "bias",
    "bias of means and standard deviations",
    "diagnosis.bias.estimate.estimate_bias",
    shared("bounds", "max_seconds"),
    fixed={"method": "regression"},
    claim="estimated",
    reuses_scores=True,
)

CLASSICAL = Measure(
    "classical",
    "classical Stein discrepancy",
    "discrepancy.classical.classical_stein_discrepancy",
    shared(*_BRACKET, "stein_factors"),
    max_dim=1,
)

WASSERSTEIN = Measure(
    "wasserstein",
    "Wasserstein distance",
    "discrepancy.wasserstein.wasserstein_distance",
    shared("units", "tolerance", "max_seconds"),
    claim="found",
    needs="target",
    max_dim=1,
    refuses={
        "bounds": "measure wasserstein reads the target from its cdf, which bounds do not cut off; leave out one of "
        "the two"
    },
)


def _kernel_names() -> tuple[str, ...]:
    from steinkit.discrepancy.kernel.base_kernels import kernel_names

    return kernel_names()


def _kernel(sample: Sample, target: Target | None, settings: Mapping[str, Any]) -> Measurement:
    """The discrepancy, and the p-value of its test where bootstrap samples are asked for."""
    from steinkit.discrepancy.kernel.base_kernels import scaled_kernel
    from steinkit.discrepancy.kernel.goodness_of_fit import kernel_stein_test
    from steinkit.discrepancy.kernel.ksd import BootstrapTest, kernel_stein_discrepancy

    given = dict(settings)
    given["kernel"] = scaled_kernel(given["kernel"], given.pop("kernel_scale"))
    form = {name: given.pop(name) for name in ("statistic", "squared")}
    bootstrap, seed = given.pop("bootstrap"), given.pop("seed")
    result = kernel_stein_discrepancy(sample, target, **form, **given)
    if bootstrap:
        test = kernel_stein_test(sample, target, n_bootstrap=bootstrap, rng=seed, **given)
        result = replace(result, test=BootstrapTest(test.p_value, test.flip_probability, bootstrap))
    return result


KSD = Measure(
    "ksd",
    "kernel Stein discrepancy",
    _kernel,
    shared("bounds", "units", "operator")
    | {
        "kernel": Option(
            default="imq",
            choices=_kernel_names,
            help="Base kernel",
            may_be_object=True,
            recorded=lambda value: value if isinstance(value, str) else repr(value),
        ),
        "kernel_scale": Option(metavar="SCALE", default_text="the kernel's own", help="Kernel scale, in these units"),
        "statistic": Option(
            default="v",
            choices=lambda: ("v", "u"),
            implies={"u": {"squared": True}},
            help="Statistic",
        ),
        "squared": Option(default=False, read=bool),
        "bootstrap": Option(
            default=0,
            read=int,
            flag="p-value",
            switched_on=_BOOTSTRAP,
            of_one_sample=True,
            help=f"Also test the draws, with {_BOOTSTRAP} bootstrap samples",
        ),
        "seed": Option(default=0, read=int, of_one_sample=True),
    }
    | shared("max_seconds", "n_jobs"),
    reuses_scores=True,
)


def _ess(sample: Sample, target: Target | None, settings: Mapping[str, Any]) -> Measurement:
    from steinkit.chains import chain_diagnostics

    return chain_diagnostics(sample)


ESS = Measure(
    "ess",
    "effective sample size",
    _ess,
    smaller_is_better=False,
    claim="estimated",
    needs="draws",
)


_SATURATES_FROM = 3  # dimensions
_MEASURES = {measure.name: measure for measure in (GRAPH, SLICED, MOMENTS, BIAS, CLASSICAL, WASSERSTEIN, KSD, ESS)}


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
    require_known([name], _MEASURES, "no measure named", "the measures")
    return _MEASURES[name]


def default_measure(dim: int, *, operator: object = None) -> str:
    """The measure to take of samples where nobody names one.

    Up to two dimensions the graph Stein discrepancy, which sees most. Above it saturates at sizes that people have, and
    then prefers samples that are too narrow; the sliced one does not. It knows the Langevin operator only, though: with
    another operator it is the graph's again.
    """
    return GRAPH.name if dim < _SATURATES_FROM or operator is not None else SLICED.name


def all_options() -> dict[str, Option]:
    """The settings of all measures by their names; those that measures share stand at the first."""
    return {name: option for measure in _MEASURES.values() for name, option in measure.options.items()}


def require_taken(settings: Mapping[str, Any], measures: Sequence[str]) -> None:
    """Refuse settings that nobody reads.

    Parameters
    ----------
    settings : mapping
        Settings by their names.
    measures : sequence of str
        The measures that are to be taken.

    Raises
    ------
    UsageError
        If no measure has such a setting, or none of those to be taken; the message names those that have.
    """
    require_settings(settings)
    chosen = [find_measure(name) for name in measures]
    for name in settings:
        if not any(name in measure.options or name in measure.refused for measure in chosen):
            takers = takers_of(name)
            raise UsageError(
                f"{name} is a setting of {listed(takers, most=len(takers))}, and the measures are "
                f"{', '.join(measures)}; leave it out, or measure {' or '.join(takers)} as well"
            )


def require_settings(settings: Mapping[str, Any]) -> None:
    """Refuse settings that no measure has.

    Raises
    ------
    UsageError
        If there is one; the message names those there are.
    """
    require_known(settings, all_options(), "no measure has a setting", "the settings")


def recorded_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    """All settings that values depend on, as JSON keeps them; of an operator a record holds the fingerprint instead."""
    return {
        name: option.recorded(settings.get(name, option.default))
        for name, option in all_options().items()
        if option.changes_value
    }


def takers_of(setting: str) -> tuple[str, ...]:
    """Names of the measures that have a setting."""
    return tuple(name for name, measure in _MEASURES.items() if setting in measure.options)


def take_measure(
    name: str,
    sample: Sample,
    target: Target | None = None,
    settings: Mapping[str, Any] | None = None,
    **changes: Any,
) -> Measurement:
    """Take one measure of a sample.

    Parameters
    ----------
    name : str
        One of `measure_names`.
    sample : Sample
    target : Target, optional
        Not needed for ess, nor where the sample stores scores, but by wasserstein.
    settings : mapping, optional
        Settings by their names, which may be of several measures: the measure reads its own.
    **changes
        Settings that differ.

    Raises
    ------
    UsageError, InputError, SolverError
        As the measure's own function does.
    """
    measure = find_measure(name)
    if measure.needs == "target" and target is None:
        raise UsageError(f"measure {name} needs a target; stored scores are not enough for it")
    given = {**(settings or {}), **changes}
    require_settings(given)
    notes: tuple[str, ...] = ()
    if "units" in measure.options:
        given["units"], notes = units_of_one(sample, target, given)
    found = measure.take(sample, target, measure.settings_from(given))
    return replace(found, warnings=(*found.warnings, *notes)) if notes else found  # type: ignore[type-var]
