"""The options of the samplers, ``steinkit samplers`` and ``steinkit design``.

Options have the names of the Python arguments, with dashes.
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
from steinkit.cli.request import NamedTarget
from steinkit.cli.terminal import apart_from_results, on_terminal, say
from steinkit.errors import UsageError, did_you_mean
from steinkit.files.streams import as_json
from steinkit.posterior import Posterior
from steinkit.samplers import SequentialDesign, registry
from steinkit.samplers.registry import Option, Sampler
from steinkit.text import alternatives, filled, one_line


def _whole(text: str) -> int:
    """Read a whole number, also one such as 1e6."""
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
_NUMBERS = shared.Parsed(_numbers, "a number, or numbers between commas")
_SEED = shared.Parsed(_seeds, "a whole number, or whole numbers between commas")
_TESTS = registry.acceptance_test_names()


def _own_option(metavar: str, text: str) -> dict[str, Any]:
    """Declare an option of one sampler or test: a flag, a whole number, one of several names, a number, or either."""
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
    "draws": _option(_WHOLE, "N", "Draws to keep of each chain."),
    "budget": _option(_WHOLE, "N", "Evaluations of the likelihood at one data point, for each chain."),
    "burn_in": _option(_WHOLE, "N", "Steps of each chain to drop first."),
    "thin": _option(_WHOLE, "N", "Keep every N-th step after those."),
    "seed": _option(_SEED, "S", "Random seed; 'S,S...' (or 'S,') are those of the chains, as in the JSON."),
    "start": _option(_NUMBERS, "X,X...", "First state; repeatable, for each chain.", multiple=True),
}
SAMPLER_OPTIONS = {
    "step_size": _option(click.FLOAT, "X", "Variance of the noise of a Langevin step; its drift is X/2 gradients."),
    "proposal_scale": _option(_NUMBERS, "X[,X...]", "Sd of random-walk moves, of all coordinates or of each."),
    "batch_size": _option(_WHOLE, "N", "Data points of a minibatch."),
    "epsilon": _option(click.FLOAT, "X", "Error allowed an acceptance test."),
    "temperature": _option(click.FLOAT, "T", "Divides the log likelihood; score the draws with -p temperature=T."),
    **{name: _own_option(**each) for name, each in registry.own_options().items()},
    "test": _option(click.Choice(_TESTS), "NAME", f"Acceptance test of corrected-sgld: {alternatives(_TESTS)}."),
    **CHAIN_OPTIONS,
}
"""The options of all samplers, as click declares them."""


def sampler_options(*names: str, show_default: bool = True) -> shared.Decorator:
    """Declare these options of the samplers, with the defaults of a run."""
    return shared.combined(
        *(
            option(as_flag(name), name, show_default=show_default and _default(name), **SAMPLER_OPTIONS[name])
            for name in names
        )
    )


def _default(name: str) -> str | bool:
    """Return the default that all samplers share, for the help; False if there is none."""
    given = (each.options().get(name) for each in map(registry.find_sampler, registry.sampler_names()))
    found = {str(each.default) for each in given if each is not None}
    return found.pop() if len(found) == 1 and not found & {"None", "False"} else False


def as_flag(name: str) -> str:
    """``--step-size`` for ``step_size``."""
    return f"--{name.replace('_', '-')}"


def options_given(sampler: Sampler, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that the user gave, by their Python names.

    Raises
    ------
    UsageError
        If the sampler does not take one of them, or one that it needs is missing.
    """
    # not given are False for a flag, None for an option, and () for a repeatable one, but not the number 0
    values = {name: settings[name] for name in SAMPLER_OPTIONS}
    given = {name: value for name, value in values.items() if value not in (None, ()) and value is not False}
    taken = sampler.options(given.get("test"))
    whose = f"sampler {sampler.name!r}" + (f" with test {given['test']!r}" if {"test"} <= given.keys() & taken else "")
    for name in given:
        if name not in taken:
            tests = registry.acceptance_tests_with(name) if "test" in sampler.options() else ()
            hint = did_you_mean(as_flag(name), map(as_flag, taken), cutoff=0.7)
            if tests:
                hint = f"; it goes with --test {' or '.join(tests)}"
            hint += registry.note_on(sampler.name)
            raise UsageError(f"{whose} has no option {as_flag(name)}{hint}; its options are {options_text(taken)}")
    missing = [as_flag(option.name) for option in taken.values() if option.required and option.name not in given]
    if sampler.needs_end and not {"draws", "budget"} & given.keys():
        missing.append("--draws or --budget")
    if missing:
        raise UsageError(f"{whose} needs {' and '.join(missing)}; its options are {options_text(taken)}")
    if "start" in given:
        given["start"] = _states(given["start"])
    return given


def _states(starts: tuple[float | list[float], ...]) -> list[Any]:
    """Return the states of the chains: one for all of them, (d,), or several, (chains, d)."""
    rows = [start if isinstance(start, list) else [start] for start in starts]
    if len(lengths := {len(row) for row in rows}) > 1:
        raise UsageError(f"--start: expected states of one length, got {', '.join(map(str, sorted(lengths)))}")
    return rows[0] if len(rows) == 1 else rows


def options_text(options: Mapping[str, Option]) -> str:
    """List the required options, then the others in brackets with their defaults."""
    required = [as_flag(option.name) for option in options.values() if option.required]
    return " ".join([*required, *(_optional(option) for option in options.values() if not option.required)])


def _optional(option: Option) -> str:
    if option.default is None or isinstance(option.default, bool):
        return f"[{as_flag(option.name)}]"
    default = option.default if isinstance(option.default, str) else json.dumps(option.default)
    return f"[{as_flag(option.name)}={default}]"


@shared.command()
@shared.json_option
def samplers(json_output: bool) -> None:
    """List the samplers and the options that each takes."""
    lines, documents = [], []
    for sampler in map(registry.find_sampler, registry.sampler_names()):
        options = sampler.options()
        lines += [sampler.name, one_line(sampler.summary, "    "), filled(options_text(options), "    ")]
        listed = [{**asdict(option), "name": as_flag(option.name)} for option in options.values()]
        documents.append({"name": sampler.name, "summary": sampler.summary, "options": listed})
    closing = (
        "Options in brackets are optional; chains need --draws, --budget, or both. 'steinkit sample --help' explains "
        f"them. --test is one of {', '.join(_TESTS)}, whose options then take the place of --epsilon."
    )
    document = {"samplers": documents, "version": __version__}
    say(as_json(document) if json_output else "\n".join([*lines, "", filled(closing)]))


_SMALLEST_BATCH = 100  # data points whose mean counts as normal
_TRIAL = ("temperature", "draws", "burn_in", "thin", "chains", "seed")
Found: TypeAlias = tuple[dict[str, Any], str]
"""The JSON document and the text of a design."""


@shared.command()
@option_group(
    "Test",
    option("--target-error", type=float, metavar="X", help="Find the cheapest test whose error is at most X."),
    option("--first-fraction", type=float, metavar="X", help="Fraction of the data read at each stage, in (0, 1]."),
    sampler_options("epsilon", "alpha", "batch_size", show_default=False),
    option("--mean", type=float, metavar="X", show_default="0, the worst", help="Standardized mean of the data."),
    option("--size", type=int, metavar="N", help="Number of data points, for the design's batch size."),
)
@option_group("Trial run", shared.target_options(), sampler_options("proposal_scale", *_TRIAL))
@option_group("Output", shared.json_option)
def design(json_output: bool, **settings: Any) -> None:
    """Design the sequential test of approximate-mh: its error, the data it reads, and the settings to choose.

    \b
    steinkit design --first-fraction 0.05 --epsilon 0.01 --mean 1
    steinkit design --target-error 0.05 --size 10000
    steinkit design --target-error 0.01 --target gaussian-mean --proposal-scale 0.1

    The first reports the error of a test where the standardized mean of the data, (mean - mu_0) sqrt(N - 1) / sigma,
    is 1. The second finds the test that errs with probability 0.05 at most for any mean. The third makes a trial run
    of exact random-walk Metropolis and finds the test that biases its acceptance probabilities by 0.01 on average.
    """
    given = {name: value for name, value in settings.items() if value not in (None, (), {})}
    analyse = _analysis if "target_error" not in given else _average if "target" in given else _worst_case
    document, text = analyse(given)
    say(as_json({**document, "version": __version__}) if json_output else text)


def _require(given: Mapping[str, Any], needed: tuple[str, ...], optional: tuple[str, ...]) -> None:
    """Refuse options that do not go together."""
    if not set(needed) <= given.keys() <= {*needed, *optional}:
        required, allowed, got = (
            ", ".join("-p" if name == "target_options" else as_flag(name) for name in names)
            for names in (needed, optional, given)
        )
        raise UsageError(f"expected {required}, and optionally {allowed}; got {got or 'no option'}")


def _analysis(given: Mapping[str, Any]) -> Found:
    """Analyze a given test at a given mean."""
    _require(given, ("first_fraction", "epsilon"), ("mean", "alpha"))
    settings = {"mean": 0.0, "alpha": 0.5, **given}
    found = library.operating_characteristics(**settings)
    text = (
        f"{_described(settings)} At a standardized mean of {settings['mean']:g} it decides wrongly with probability "
        f"{found.error:.3g}. It reads {found.data_use:.3g} of the data on average, and all of them with probability "
        f"{found.undecided:.3g}."
    )
    numbers = {name: float(getattr(found, name)) for name in ("error", "data_use", "undecided")}
    return settings | numbers, filled(text)


def _worst_case(given: Mapping[str, Any]) -> Found:
    """Find the design that holds for any mean."""
    _require(given, ("target_error",), ("first_fraction", "alpha", "size"))
    found = library.worst_case_design(given["target_error"], **_only(given, "first_fraction", "alpha"))
    text = (
        f"For any mean it decides wrongly with probability {found.error:.3g} at most, and reads {found.data_use:.3g} "
        "of the data at most on average. Most steps err and read much less: --target designs for a trial run's moves."
    )
    return _designed(found, given.get("size"), text)


def _average(given: Mapping[str, Any]) -> Found:
    """Find the design for the moves of a trial run."""
    _require(given, ("target_error", "target", "proposal_scale"), ("target_options", "alpha", "batch_size", *_TRIAL))
    scale = given["proposal_scale"]
    run = {name: given[name] for name in _TRIAL if name in given}
    with apart_from_results():
        posterior = NamedTarget(given).target(len(scale) if isinstance(scale, list) else 1)
        if not isinstance(posterior, Posterior):
            raise UsageError(f"a trial run needs a posterior, with data; {posterior.label!r} has none")
        trial = library.trial_run(posterior, proposal=library.RandomWalk(scale), progress=on_terminal(), **run)
    found = library.average_design(trial, given["target_error"], **_only(given, "batch_size", "alpha"))
    moves = len(trial.log_ratio)
    text = (
        f"On the {moves} moves of the trial run it biases acceptance probabilities by {found.error:.3g} on average and "
        f"reads {found.data_use:.3g} of the {trial.size} data. The trial run cost {trial.cost:.0f} evaluations."
    )
    document, text = _designed(found, trial.size, text)
    made = {"moves": moves, "skipped": trial.skipped, "cost": trial.cost}
    return {**document, "size": trial.size, "trial": made}, text


def _only(given: Mapping[str, Any], *names: str) -> dict[str, list[Any]]:
    """Restrict a search to the choices that the user made: "alphas" for "alpha"."""
    return {f"{name}s": [given[name]] for name in names if name in given}


def _designed(found: SequentialDesign, size: int | None, text: str) -> Found:
    """Return the document of a design, and its text with the options for the sampler and warnings."""
    options = {} if size is None else found.options(size)
    batch_size, warnings = options.get("batch_size"), []
    if batch_size is not None and batch_size < _SMALLEST_BATCH:
        warnings.append(
            f"batches of {batch_size} are small: their means may not be normal, as the design assumes; take a larger "
            f"share, or batches of {_SMALLEST_BATCH}"
        )
    words = " ".join(f"{as_flag(name)} {value:.6g}" for name, value in options.items())
    advice = [f"steinkit sample approximate-mh {words} ..."] if options else []
    document = asdict(found)
    text = "\n\n".join([filled(f"{_described(document)} {text}"), *advice, *map(one_line, warnings)])
    return document | {"batch_size": batch_size, "warnings": warnings}, text


def _described(test: Mapping[str, Any]) -> str:
    return (
        f"The test reads {test['first_fraction']:.3g} of the data at each stage, allows an error of "
        f"{test['epsilon']:.3g} at one stage, and has alpha {test['alpha']:g}."
    )
