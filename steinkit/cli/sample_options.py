"""The options of the samplers as ``steinkit sample`` writes them: the names of the Python arguments, with dashes."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import click

from steinkit.cli.help_screens import option
from steinkit.errors import UsageError, did_you_mean
from steinkit.samplers.registry import (
    Option,
    Sampler,
    acceptance_test_names,
    acceptance_test_options,
    acceptance_tests_with,
)


def _value(read: Callable[[str], Any], wanted: str) -> Callable[[str], Any]:
    """A type for click: what a function makes of the text given; the function raises ValueError where it cannot."""

    def convert(text: str) -> Any:
        try:
            return read(text)
        except (ValueError, OverflowError):
            raise click.BadParameter(f"{wanted} is wanted; received {text!r}") from None

    return convert


def _whole(text: str) -> int:
    """A whole number; 1e6 is one."""
    try:
        return int(text)
    except ValueError:
        number = float(text)
        if not number.is_integer():
            raise
        return int(number)


def _numbers(text: str) -> float | list[float]:
    values = [float(part) for part in text.split(",")]
    return values if len(values) > 1 else values[0]


def _seeds(text: str) -> int | list[int]:
    """The seed of the run; with a comma, the chains' own."""
    if "," not in text:
        return int(text)
    return [int(part) for part in text.removesuffix(",").split(",")]


def _option(kind: Any, metavar: str, text: str, **more: Any) -> dict[str, Any]:
    """What click is told of an option."""
    return {"type": kind, "metavar": metavar, "help": text, **more}


def _test_option(metavar: str, text: str) -> dict[str, Any]:
    """An option that an acceptance test brings: a flag, one of several names, a number, or a number or a name."""
    names = metavar.split("|")
    if not metavar:
        return {"is_flag": True, "help": text}
    if "X" not in names:
        return _option(click.Choice(names), metavar, text)
    names.remove("X")
    wanted = " or ".join(["a number", *(f'"{name}"' for name in names)])
    return _option(_value(lambda given: given if given in names else float(given), wanted), metavar, text)


_NUMBER, _WHOLE = _value(float, "a number"), _value(_whole, "a whole number")
_SCALES = _value(_numbers, "a number, or numbers between commas,")
_STATE = _value(_numbers, "numbers between commas")
_SEED = _value(_seeds, "a whole number, or the chains' seeds between commas,")
_TESTS = acceptance_test_names()

_SAMPLER, _CHAINS = "Of the sampler", "Chains"  # headings of help
_OF_CHAINS = ("chains", "draws", "budget", "burn_in", "thin", "seed", "start")
_EVERYDAY = ("step_size", "proposal_scale", "batch_size", "epsilon", "temperature", "test", *_OF_CHAINS)

SAMPLER_OPTIONS = {
    "step_size": _option(
        _NUMBER, "X", "Variance of the noise of a Langevin step. Its drift is X/2 times the gradient."
    ),
    "proposal_scale": _option(
        _SCALES, "X[,X...]", "Standard deviation of random-walk moves. Of all coordinates, or of each."
    ),
    "batch_size": _option(_WHOLE, "N", "Data in a minibatch."),
    "epsilon": _option(
        _NUMBER,
        "X",
        "Error allowed an acceptance test. At one look of the austerity test, in a whole concentration test.",
    ),
    "temperature": _option(_NUMBER, "T", "Divides the log likelihood. Score the draws with -p temperature=T."),
    "decay": _option(_NUMBER, "X", "Exponent with which SGLD's steps decrease; its draws are then weighted."),
    "decay_offset": _option(_NUMBER, "X", "Number of steps after which they begin to decrease in earnest."),
    "control_variates": {"is_flag": True, "help": "Give SGLD's gradients control variates at the mode."},
    **{name: _test_option(**shown) for name, shown in acceptance_test_options().items()},
    "test": _option(click.Choice(_TESTS), "NAME", f"Acceptance test of corrected-sgld. One of {', '.join(_TESTS)}."),
    "scramble": {"is_flag": True, "help": "Scramble Sobol's points at random."},
    "chains": _option(_WHOLE, "K", "Number of chains."),
    "draws": _option(_WHOLE, "N", "Draws to keep of each chain."),
    "budget": _option(_WHOLE, "N", "Evaluations of single data for each chain. Of the likelihood or its gradient."),
    "burn_in": _option(_WHOLE, "N", "First steps of each chain that are not kept."),
    "thin": _option(_WHOLE, "N", "Keep every N-th step after those."),
    "seed": _option(
        _SEED,
        "S",
        "Seed of the run. 'S,S...' are the seeds of the chains themselves, as --json reports them ('S,' for one).",
    ),
    "start": _option(_STATE, "X,X...", "First state; repeatable. Of all chains, or of each in order.", multiple=True),
}


def sampler_options(*names: str, group: str | None = None) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Give a click command these options of the samplers, or all; all are shown if a heading of help is given."""

    def give(command: Callable[..., Any]) -> Callable[..., Any]:
        for name in reversed(names or tuple(SAMPLER_OPTIONS)):
            heading = group or (_CHAINS if name in _OF_CHAINS else _SAMPLER)
            everyday = group is not None or name in _EVERYDAY
            command = option(heading, as_flag(name), name, everyday=everyday, **SAMPLER_OPTIONS[name])(command)
        return command

    return give


def as_flag(name: str) -> str:
    """``--step-size`` for ``step_size``."""
    return f"--{name.replace('_', '-')}"


def options_given(sampler: Sampler, settings: Mapping[str, Any]) -> dict[str, Any]:
    """The options that the user gave, by their Python names.

    Raises
    ------
    UsageError
        If the sampler does not take one of them, or one that it needs is missing.
    """
    given = {name: settings[name] for name in SAMPLER_OPTIONS if _was_given(settings[name])}
    taken = sampler.options(given.get("test"))
    whose = f"sampler {sampler.name!r}" + (
        f" with test {given['test']!r}" if "test" in given and "test" in taken else ""
    )
    for name in given:
        if name not in taken:
            hint = _where(name, sampler) or did_you_mean(as_flag(name), map(as_flag, taken), cutoff=0.7)
            raise UsageError(
                f"{whose} has no option {as_flag(name)}{hint}{sampler.note}; its options are {options_text(taken)}"
            )
    missing = [as_flag(option.name) for option in taken.values() if option.required and option.name not in given]
    if sampler.needs_end and not {"draws", "budget"} & given.keys():
        missing.append("--draws or --budget")
    if missing:
        raise UsageError(f"{whose} needs {' and '.join(missing)}; its options are {options_text(taken)}")
    if "start" in given:
        given["start"] = _states(given["start"])
    return given


def _where(name: str, sampler: Sampler) -> str:
    """With which acceptance tests the sampler would take an option; empty if with none."""
    tests = acceptance_tests_with(name) if "test" in sampler.options() else ()
    return f"; it goes with --test {' or '.join(tests)}" if tests else ""


def _was_given(value: Any) -> bool:
    return value is not None and value is not False and value != ()


def _states(starts: tuple[float | list[float], ...]) -> list[Any]:
    """States of the chains: one for all of them, (d,), or several, (chains, d)."""
    rows = [start if isinstance(start, list) else [start] for start in starts]
    lengths = {len(row) for row in rows}
    if len(lengths) > 1:
        raise UsageError(
            f"--start: states of different lengths, {', '.join(map(str, sorted(lengths)))}; give equal ones"
        )
    return rows[0] if len(rows) == 1 else rows


def options_text(options: Mapping[str, Option]) -> str:
    """Options between spaces: the required ones, then the others in brackets, with their defaults."""
    required = [as_flag(option.name) for option in options.values() if option.required]
    return " ".join([*required, *(_optional(option) for option in options.values() if not option.required)])


def _optional(option: Option) -> str:
    if option.default is None or isinstance(option.default, bool):
        return f"[{as_flag(option.name)}]"
    default = option.default if isinstance(option.default, str) else json.dumps(option.default)
    return f"[{as_flag(option.name)}={default}]"
