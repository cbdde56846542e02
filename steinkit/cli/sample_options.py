"""The options of the samplers as ``steinkit sample`` writes them: the words of the Python arguments, with dashes."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import click

from steinkit.errors import UsageError, did_you_mean
from steinkit.samplers.registry import Option, Sampler, acceptance_test_names, acceptance_tests_with


@dataclass(frozen=True)
class _Word:
    """An option: its Python name, what reads it, what a user is told to write, what it means."""

    name: str
    read: Callable[[str], Any] | None  # raises ValueError; None for a flag
    metavar: str
    help: str
    wanted: str = "a number"
    repeated: bool = False

    def callback(self, context: click.Context, parameter: click.Parameter, given: Any) -> Any:
        """Read the text given, or each of several."""
        if given is None or self.read is None:
            return given
        return tuple(map(self._value, given)) if self.repeated else self._value(given)

    def _value(self, text: str) -> Any:
        assert self.read is not None
        try:
            return self.read(text)
        except (ValueError, OverflowError):
            raise click.BadParameter(f"{self.wanted} is wanted; received {text!r}") from None


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


def _bound(text: str) -> float | str:
    return text if text == "oracle" else float(text)


def _one_of(*choices: str) -> Callable[[str], str]:
    def read(text: str) -> str:
        if text not in choices:
            raise ValueError
        return text

    return read


_WHOLE_NUMBER = "a whole number"
_GROWTHS = ("fixed", "jump")
_TESTS = acceptance_test_names()

SAMPLER_WORDS = (
    _Word("step_size", float, "X", "Variance of the noise of a Langevin step; its drift is X/2 times the gradient."),
    _Word(
        "proposal_scale",
        _numbers,
        "X[,X...]",
        "Standard deviation of random-walk moves, of all coordinates or of each.",
        "a number, or numbers between commas,",
    ),
    _Word("batch_size", _whole, "N", "Data in a minibatch.", _WHOLE_NUMBER),
    _Word("epsilon", float, "X", "Error allowed: at one look of the austerity test, in a whole concentration test."),
    _Word("temperature", float, "T", "Divides the log likelihood; score the draws with -p temperature=T."),
    _Word("decay", float, "X", "Exponent with which SGLD's steps decrease; its draws are then weighted."),
    _Word("decay_offset", float, "X", "Number of steps after which they begin to decrease in earnest."),
    _Word("alpha", float, "X", "Wang-Tsiatis exponent of the austerity test's thresholds, in [0.5, 1]."),
    _Word("sigma", float, "X", "Standard deviation of the noise with which a minibatch Barker test decides."),
    _Word("growth", _one_of(*_GROWTHS), "|".join(_GROWTHS), "How its batch grows.", " or ".join(_GROWTHS)),
    _Word("clt_bound", None, "", "Report a bound on the error of its normal approximation."),
    _Word("delta", float, "X", "Read on until that bound is at most this."),
    _Word(
        "bound",
        _bound,
        "X|oracle",
        "Bound of a datum's log likelihood ratio in the concentration test.",
        'a number or "oracle"',
    ),
    _Word("factor", float, "X", "Growth of the concentration test's batch from look to look."),
    _Word("power", float, "X", "How fast the error it allows falls from look to look."),
    _Word(
        "test",
        _one_of(*_TESTS),
        "NAME",
        f"Acceptance test of corrected-sgld: {', '.join(_TESTS)}.",
        f"one of {', '.join(_TESTS)}",
    ),
    _Word("scramble", None, "", "Scramble Sobol's points at random."),
    _Word("chains", _whole, "K", "Number of chains.", _WHOLE_NUMBER),
    _Word("draws", _whole, "N", "Draws to keep of each chain.", _WHOLE_NUMBER),
    _Word(
        "budget",
        _whole,
        "N",
        "Likelihood or gradient evaluations of single data that each chain may spend.",
        _WHOLE_NUMBER,
    ),
    _Word("burn_in", _whole, "N", "First steps of each chain that are not kept.", _WHOLE_NUMBER),
    _Word("thin", _whole, "N", "Keep every N-th step after those.", _WHOLE_NUMBER),
    _Word(
        "seed",
        _seeds,
        "S",
        "Seed of the run; 'S,S...' are the seeds of the chains themselves, as --json reports them ('S,' for one).",
        "a whole number, or the chains' seeds between commas,",
    ),
    _Word(
        "start",
        _numbers,
        "X,X...",
        "First state: of all chains, or repeated for each in order.",
        "numbers between commas",
        repeated=True,
    ),
)


def sampler_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a click command the options of all samplers."""
    for word in reversed(SAMPLER_WORDS):
        how: dict[str, Any] = {"is_flag": True}
        if word.read is not None:
            how = {"metavar": word.metavar, "multiple": word.repeated, "callback": word.callback}
        command = click.option(as_flag(word.name), word.name, help=word.help, **how)(command)
    return command


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
    given = {word.name: settings[word.name] for word in SAMPLER_WORDS if _was_given(settings[word.name])}
    taken = sampler.options(given.get("test"))
    whose = f"sampler {sampler.name!r}" + (
        f" with test {given['test']!r}" if "test" in given and "test" in taken else ""
    )
    for name in given:
        if name not in taken:
            hint = _where(name, sampler) or did_you_mean(as_flag(name), map(as_flag, taken), cutoff=0.7)
            raise UsageError(f"{whose} has no option {as_flag(name)}{hint}; its options are {options_text(taken)}")
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
