"""Sampler options and the commands ``steinkit samplers`` and ``steinkit design``.

The options are named after the Python arguments, with dashes instead of underscores.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, TypeAlias

import click
from cloup import option, option_group

from steinkit import __version__
from steinkit import samplers as library
from steinkit.cli import options as shared
from steinkit.cli.options import Options
from steinkit.cli.request import NamedTarget
from steinkit.cli.terminal import apart_from_results, on_terminal, say
from steinkit.errors import UsageError, did_you_mean
from steinkit.files.streams import as_json
from steinkit.posterior import Posterior
from steinkit.samplers import SequentialDesign, registry
from steinkit.samplers.registry import Sampler, SamplerOption
from steinkit.text import filled, one_line


def _whole(text: str) -> int:
    """Parse a whole number, which can also be written as 1e6."""
    number = float(text)
    if not number.is_integer():
        raise ValueError
    return int(text) if text.lstrip("+-").isdecimal() else int(number)


def _numbers(text: str) -> float | list[float]:
    values = [float(part) for part in text.split(",")]
    return values if len(values) > 1 else values[0]


def _seeds(text: str) -> int | list[int]:
    if "," not in text:
        return int(text)
    return [int(part) for part in text.removesuffix(",").split(",")]


_WHOLE = shared.Parsed(_whole, "a whole number")
_NUMBERS = shared.Parsed(_numbers, "a number, or numbers separated by commas")
_SEED = shared.Parsed(_seeds, "a whole number, or whole numbers separated by commas")


def _own_option(metavar: str, text: str) -> dict[str, Any]:
    """Declare an option for a sampler or acceptance test."""
    names = metavar.split("|")
    if not metavar:
        return {"is_flag": True, "help": text}
    kind: Any = _WHOLE if metavar == "N" else click.Choice(names)
    if "X" in names:
        names.remove("X")
        expected = " or ".join(["a number", *(f'"{name}"' for name in names)])
        kind = shared.Parsed(lambda given: given if given in names else float(given), expected)
    return _option(kind, metavar, text)


def _option(kind: Any, metavar: str, text: str, **settings: Any) -> dict[str, Any]:
    return {"type": kind, "metavar": metavar, "help": text, **settings}


CHAIN_OPTIONS = {
    "chains": _option(_WHOLE, "K", "Number of chains."),
    "draws": _option(_WHOLE, "N", "Draws per chain."),
    "budget": _option(_WHOLE, "N", "Number of likelihood evaluations at individual data points, per chain."),
    "burn_in": _option(_WHOLE, "N", "Number of steps to discard at the start of each chain."),
    "thin": _option(_WHOLE, "N", "Keep every N-th step after burn-in."),
    "seed": _option(
        _SEED, "S", "Random seed; a list 'S,S...' (or 'S,') gives one seed per chain, as in the JSON output."
    ),
    "start": _option(_NUMBERS, "X,X...", "Initial state; repeat the option for each chain.", multiple=True),
}
SAMPLER_OPTIONS = {
    "step_size": _option(click.FLOAT, "X", "Variance of a Langevin step; the drift is X/2 times the gradient."),
    "proposal_scale": _option(
        _NUMBERS, "X[,X...]", "Standard deviation of random-walk steps: one value, or one per parameter."
    ),
    "batch_size": _option(_WHOLE, "N", "Number of data points in a minibatch."),
    "epsilon": _option(click.FLOAT, "X", "Error tolerance of the acceptance test."),
    "temperature": _option(click.FLOAT, "T", "Divisor of the log likelihood. For scoring, use -p temperature=T."),
    **{name: _own_option(*each) for name, each in registry.own_options().items()},
    **CHAIN_OPTIONS,
}
"""Click options for all samplers."""


def sampler_options(*names: str, show_default: bool = True) -> shared.Decorator:
    """Declare the sampler options with their defaults."""
    return shared.combined(
        *(
            option(as_flag(name), name, show_default=show_default and _default(name), **SAMPLER_OPTIONS[name])
            for name in names
        )
    )


def _default(name: str) -> str | bool:
    """Return the default to show in the help text, or False if samplers differ."""
    given = (each.options().get(name) for each in map(registry.find_sampler, registry.sampler_names()))
    found = {str(each.default) for each in given if each is not None}
    return found.pop() if len(found) == 1 and not found & {"None", "False"} else False


def as_flag(name: str) -> str:
    """Return the flag of an option, such as ``--step-size`` for ``step_size``."""
    return f"--{name.replace('_', '-')}"


def options_given(sampler: Sampler, settings: Options) -> dict[str, Any]:
    """Return the options that the user specified, by their Python names.

    Raises
    ------
    UsageError
        If the sampler does not support one of the options, or if a required option is missing.
    """
    # The value of a missing option is False for a flag, () for a repeatable option, and None otherwise. The value 0
    # is valid.
    values = {name: settings[name] for name in SAMPLER_OPTIONS}
    given = {name: value for name, value in values.items() if value not in (None, ()) and value is not False}
    taken = sampler.options()
    subject = f"sampler {sampler.name!r}"
    for name in given:
        if name not in taken:
            hint = did_you_mean(as_flag(name), map(as_flag, taken), cutoff=0.7)
            raise UsageError(f"{subject} has no option {as_flag(name)}{hint}; its options are {options_text(taken)}")
    missing = [as_flag(option.name) for option in taken.values() if option.required and option.name not in given]
    if sampler.needs_end and not {"draws", "budget"} & given.keys():
        missing.append("--draws or --budget")
    if missing:
        raise UsageError(f"{subject} requires {' and '.join(missing)}; its options are {options_text(taken)}")
    if "start" in given:
        given["start"] = _states(given["start"])
    return given


def _states(starts: tuple[float | list[float], ...]) -> list[Any]:
    """Return one state of shape (d,), or one state per chain, of shape (chains, d)."""
    rows = [start if isinstance(start, list) else [start] for start in starts]
    if len(lengths := {len(row) for row in rows}) > 1:
        raise UsageError(f"--start: expected states of equal length, got {', '.join(map(str, sorted(lengths)))}")
    return rows[0] if len(rows) == 1 else rows


def options_text(options: Mapping[str, SamplerOption]) -> str:
    """Return the required options, followed by the others in brackets with defaults."""
    required = [as_flag(option.name) for option in options.values() if option.required]
    return " ".join([*required, *(_optional(option) for option in options.values() if not option.required)])


def _optional(option: SamplerOption) -> str:
    if option.default is None or isinstance(option.default, bool):
        return f"[{as_flag(option.name)}]"
    default = option.default if isinstance(option.default, str) else json.dumps(option.default)
    return f"[{as_flag(option.name)}={default}]"


@shared.command()
@shared.json_option
def samplers(json_output: bool) -> None:
    """List the samplers and their options.

    \b
    steinkit samplers
    """
    lines, documents = [], []
    for sampler in map(registry.find_sampler, registry.sampler_names()):
        options = sampler.options()
        lines += [sampler.name, one_line(sampler.summary, "    "), filled(options_text(options), "    ")]
        listed = [{**asdict(option), "name": as_flag(option.name)} for option in options.values()]
        documents.append({"name": sampler.name, "summary": sampler.summary, "options": listed})
    closing = "Options in brackets are optional. Chains need --draws, --budget, or both. See 'steinkit sample --help'."
    document = {"samplers": documents, "version": __version__}
    say(as_json(document) if json_output else "\n".join([*lines, "", filled(closing)]))


_SMALLEST_BATCH = 100  # smallest batch size for which the mean is approximately normal
_TRIAL = ("temperature", "draws", "burn_in", "thin", "chains", "seed")
Found: TypeAlias = tuple[dict[str, Any], str]
"""JSON document and text for a design."""


@shared.command()
@option_group(
    "Test",
    option("--target-error", type=float, metavar="X", help="Find the cheapest test with an error of at most X."),
    option("--first-fraction", type=float, metavar="X", help="Fraction of the data read at each stage, in (0, 1]."),
    sampler_options("epsilon", "alpha", "batch_size", show_default=False),
    option("--mean", type=float, metavar="X", show_default="0, the worst case", help="Standardized mean of the data."),
    option("--size", type=int, metavar="N", help="Number of data points, used to compute the batch size."),
)
@option_group("Trial run", shared.target_options(), sampler_options("proposal_scale", *_TRIAL))
@option_group("Output", shared.json_option)
def design(json_output: bool, **settings: Any) -> None:
    """Design the sequential test of approximate-mh.

    \b
    steinkit design --first-fraction 0.05 --epsilon 0.01 --mean 1
    steinkit design --target-error 0.05 --size 10000
    steinkit design --target-error 0.01 --target gaussian-mean --proposal-scale 0.1

    The first example computes the error of a test for data whose standardized mean, (mean - mu_0) sqrt(N - 1) / sigma,
    is 1. The second example finds a test with an error of at most 0.05 for all means. The third example performs a
    trial run with exact random-walk Metropolis. The design is the cheapest test for which the acceptance probabilities
    in this run differ from the exact ones by at most 0.01 on average.
    """
    given = {name: value for name, value in settings.items() if value not in (None, (), {})}
    analyse = _analysis if "target_error" not in given else _average if "target" in given else _worst_case
    document, text = analyse(given)
    say(as_json({**document, "version": __version__}) if json_output else text)


def _require(given: Options, needed: tuple[str, ...], optional: tuple[str, ...]) -> None:
    """Raise UsageError if the combination of options is not valid."""
    if not set(needed) <= given.keys() <= {*needed, *optional}:
        required, allowed, got = (
            ", ".join("-p" if name == "target_options" else as_flag(name) for name in names)
            for names in (needed, optional, given)
        )
        raise UsageError(f"expected {required}, and optionally {allowed}; got {got or 'no option'}")


def _analysis(given: Options) -> Found:
    """Compute the error and cost of a test for a given mean."""
    _require(given, ("first_fraction", "epsilon"), ("mean", "alpha"))
    settings = {"mean": 0.0, "alpha": 0.5, **given}
    found = library.operating_characteristics(**settings)
    text = (
        f"{_described(settings)} At a standardized mean of {settings['mean']:g}, its error probability is "
        f"{found.error:.3g}. It reads a fraction {found.data_use:.3g} of the data on average, and all the data with "
        f"probability {found.undecided:.3g}."
    )
    numbers = {name: float(getattr(found, name)) for name in ("error", "data_use", "undecided")}
    return settings | numbers, filled(text)


def _worst_case(given: Options) -> Found:
    """Find a design that is valid for all means."""
    _require(given, ("target_error",), ("first_fraction", "alpha", "size"))
    found = library.worst_case_design(given["target_error"], **_only(given, "first_fraction", "alpha"))
    text = (
        f"For any mean, its error probability is at most {found.error:.3g}, and it reads at most a fraction "
        f"{found.data_use:.3g} of the data on average. For most steps of a chain, both values are much smaller. To "
        "use the steps of a trial run instead, add --target."
    )
    return _designed(found, given.get("size"), text)


def _average(given: Options) -> Found:
    """Find a design based on the steps of a trial run."""
    _require(given, ("target_error", "target", "proposal_scale"), ("target_options", "alpha", "batch_size", *_TRIAL))
    scale = given["proposal_scale"]
    run = {name: given[name] for name in _TRIAL if name in given}
    with apart_from_results():
        posterior = NamedTarget(given).target(len(scale) if isinstance(scale, list) else 1)
        if not isinstance(posterior, Posterior):
            raise UsageError(f"a trial run requires a posterior; got {posterior.label!r}, which has no data")
        trial = library.trial_run(posterior, proposal=library.RandomWalk(scale), progress=on_terminal(), **run)
    found = library.average_design(trial, given["target_error"], **_only(given, "batch_size", "alpha"))
    moves = len(trial.log_ratio)
    text = (
        f"On the {moves} steps of the trial run, it changes acceptance probabilities by {found.error:.3g} on average "
        f"and reads a fraction {found.data_use:.3g} of the {trial.size} data points. The trial run took "
        f"{trial.cost:.0f} evaluations."
    )
    document, text = _designed(found, trial.size, text)
    made = {"moves": moves, "skipped": trial.skipped, "cost": trial.cost}
    return {**document, "size": trial.size, "trial": made}, text


def _only(given: Options, *names: str) -> dict[str, list[Any]]:
    """Return the given options as search values, such as "alphas" instead of "alpha"."""
    return {f"{name}s": [given[name]] for name in names if name in given}


def _designed(found: SequentialDesign, size: int | None, text: str) -> Found:
    """Return the document and the text of a design."""
    options = {} if size is None else found.options(size)
    batch_size, warnings = options.get("batch_size"), []
    if batch_size is not None and batch_size < _SMALLEST_BATCH:
        warnings.append(
            f"the design assumes normal batch means, which may not hold for batches of {batch_size}; use at least "
            f"{_SMALLEST_BATCH} data points per batch"
        )
    words = " ".join(f"{as_flag(name)} {value:.6g}" for name, value in options.items())
    advice = [f"steinkit sample approximate-mh {words} ..."] if options else []
    document = asdict(found)
    text = "\n\n".join([filled(f"{_described(document)} {text}"), *advice, *map(one_line, warnings)])
    return document | {"batch_size": batch_size, "warnings": warnings}, text


def _described(test: Mapping[str, Any]) -> str:
    return (
        f"The test reads a fraction {test['first_fraction']:.3g} of the data at each stage, allows an error of "
        f"{test['epsilon']:.3g} per stage, and has alpha {test['alpha']:g}."
    )
