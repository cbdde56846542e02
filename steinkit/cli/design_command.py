"""``steinkit design``: how often a sequential acceptance test errs, what it reads, and which to choose."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, NamedTuple, TypeAlias

from steinkit import __version__
from steinkit.cli.help_screens import command, option
from steinkit.cli.outputs import apart_from_results, on_terminal, say, say_next, target_words
from steinkit.cli.request import NamedTarget
from steinkit.cli.sample_options import as_flag, sampler_options
from steinkit.cli.shared_options import json_option, pairs_option, target_option
from steinkit.describe.writing import filled, one_line
from steinkit.errors import UsageError
from steinkit.files.streams import as_json
from steinkit.posterior import Posterior
from steinkit.samplers import (
    RandomWalk,
    SequentialDesign,
    average_design,
    operating_characteristics,
    trial_run,
    worst_case_design,
)

# Data whose mean counts as normal.
_SMALLEST_BATCH = 100

_HELP = """Design the austerity test of approximate-mh: its error, the data it reads, and the settings to choose.

\b
steinkit design --first-fraction 0.05 --epsilon 0.01 --mean 1
steinkit design --target-error 0.05 --size 10000
steinkit design --target-error .01 --target gaussian-mean --proposal-scale .1
\f
\b
steinkit design --target-error 0.01 --target gaussian-mean -p size=10000 --proposal-scale 0.02 --burn-in 100 --thin 5

The first says what a test does where the standardised mean of the data, (mean - mu_0) sqrt(N - 1) / sigma, is 1. The
second finds the test that errs with probability 0.05 at most, whatever the mean. The others make a trial run of exact
random-walk Metropolis, and find the test that biases its acceptance probabilities by 0.01 on average.
"""


Found: TypeAlias = tuple[Mapping[str, Any], str]
"""The JSON document, and the same in words."""


class _Mode(NamedTuple):
    """What the command is asked for: its name in messages, options it needs, options it may take."""

    name: str
    needed: tuple[str, ...]
    optional: tuple[str, ...]


_TEST, _RUN = "The test", "Trial run"  # headings of help
_TRIAL = ("temperature", "draws", "burn_in", "thin", "chains", "seed")
_ANALYSIS = _Mode("the error of a given test (no --target-error)", ("first_fraction", "epsilon"), ("mean", "alpha"))
_WORST_CASE = _Mode(
    "a worst-case design (--target-error without --target)", ("target_error",), ("first_fraction", "alpha", "size")
)
_AVERAGE = _Mode(
    "an average design (--target-error with --target)",
    ("target_error", "target", "proposal_scale"),
    ("pairs", "alpha", "batch_size", *_TRIAL),
)


@command(help=_HELP)
@option(_TEST, "--first-fraction", type=float, metavar="X", help="Share of the data read at a look, in (0, 1].")
@option(
    _TEST,
    "--mean",
    type=float,
    metavar="X",
    help="Standardised mean of the data. By default 0, the worst for the test.",
)
@option(_TEST, "--target-error", type=float, metavar="X", help="Find the cheapest test whose error is at most X.")
@option(_TEST, "--size", type=int, metavar="N", help="Number of data, for the design's batch size.")
@sampler_options("epsilon", "alpha", "batch_size", group=_TEST)
@target_option("The posterior for a trial run.", group=_RUN)
@pairs_option("pairs", group=_RUN)
@sampler_options("proposal_scale", *_TRIAL, group=_RUN)
@json_option("Print JSON instead of words.")
def design(json_output: bool, **settings: Any) -> None:
    """Analyse a test, or search for one."""
    given = {name: value for name, value in settings.items() if value is not None and value != ()}
    mode = _ANALYSIS if "target_error" not in given else _AVERAGE if "target" in given else _WORST_CASE
    _require_mode(mode, given)
    document, text = {_ANALYSIS: _analysis, _WORST_CASE: _worst_case, _AVERAGE: _average}[mode](given)
    say(as_json({**document, "version": __version__}) if json_output else text)
    words, purpose = _next_of(mode, given, document)
    say_next(words, purpose, json_output=json_output)


def _next_of(mode: _Mode, given: Mapping[str, Any], document: Mapping[str, Any]) -> tuple[list[str], str]:
    """The command that is useful after a design, and what for."""
    if mode is _ANALYSIS:
        return ["design", "--target-error", "0.05"], "the test that errs so often at most"
    if mode is _WORST_CASE:
        asked = ["--target-error", f"{given['target_error']:g}"]
        return ["design", *asked, "--target", "TARGET", "--proposal-scale", "X"], "a design for your sampler's moves"
    scale = given["proposal_scale"]
    chosen = {"proposal_scale": ",".join(map(str, scale)) if isinstance(scale, list) else str(scale)}
    chosen |= {name: f"{document[name]:.6g}" for name in ("epsilon", "batch_size", "alpha")}
    chosen |= {name: str(given[name]) for name in ("temperature",) if name in given} | {"draws": "1000"}
    words = [word for name, value in chosen.items() for word in (as_flag(name), value)]
    named = target_words(given["target"], given.get("pairs", ()))
    return ["sample", "approximate-mh", *named, *words, "-o", "draws.csv"], "draws made with it"


def _require_mode(mode: _Mode, given: Mapping[str, Any]) -> None:
    """Refuse options that do not go together."""
    shown = {"pairs": "-p"}
    missing = [as_flag(name) for name in mode.needed if name not in given]
    if missing:
        raise UsageError(f"{mode.name} needs {' and '.join(missing)}; see 'steinkit design --help'")
    for name in given:
        if name not in mode.needed + mode.optional:
            takes = ", ".join(shown.get(each, as_flag(each)) for each in mode.needed + mode.optional)
            raise UsageError(f"{mode.name} does not use {shown.get(name, as_flag(name))}; it takes {takes}")


def _analysis(given: Mapping[str, Any]) -> Found:
    """What a given test does at a given mean."""
    test = {"first_fraction": given["first_fraction"], "epsilon": given["epsilon"], "alpha": given.get("alpha", 0.5)}
    mean = given.get("mean", 0.0)
    found = operating_characteristics(mean, **test)
    numbers = {name: float(getattr(found, name)) for name in ("error", "data_use", "undecided")}
    text = (
        f"{_described(**test)} At a standardised mean of {mean:g} it decides wrongly with probability "
        f"{numbers['error']:.3g}. It reads {numbers['data_use']:.3g} of the data on average, and all of them with "
        f"probability {numbers['undecided']:.3g}."
    )
    return test | {"mean": mean} | numbers, filled(text)


def _worst_case(given: Mapping[str, Any]) -> Found:
    """The design that holds whatever the mean."""
    found = worst_case_design(given["target_error"], **_only(given, "first_fraction", "alpha"))
    said = (
        f"Whatever the mean, it decides wrongly with probability {found.error:.3g} at most, and reads "
        f"{found.data_use:.3g} of the data at most on average. Most steps err and read much less; a design for the "
        "moves of a trial run (--target) makes use of that."
    )
    return _designed(found, given.get("size"), said)


def _average(given: Mapping[str, Any]) -> Found:
    """The design for the moves of a trial run."""
    scale = given["proposal_scale"]
    dim = len(scale) if isinstance(scale, list) else 1
    with apart_from_results():
        posterior = NamedTarget({"target": given["target"], "options": given.get("pairs", ())}).target(dim)
        if not isinstance(posterior, Posterior):
            raise UsageError(f"a trial run needs a posterior, with data; {posterior.label!r} has none")
        trial = trial_run(
            posterior,
            proposal=RandomWalk(scale),
            progress=on_terminal(),
            **{name: given[name] for name in _TRIAL if name in given},
        )
    found = average_design(trial, given["target_error"], **_only(given, "batch_size", "alpha"))
    said = (
        f"On the {len(trial.log_ratio)} moves of the trial run it biases acceptance probabilities by {found.error:.3g} "
        f"on average, and reads {found.data_use:.3g} of the {trial.size} data. The trial run cost {trial.cost:.0f} "
        "evaluations."
    )
    document, text = _designed(found, trial.size, said)
    made = {"moves": len(trial.log_ratio), "skipped": trial.skipped, "cost": trial.cost}
    return {**document, "size": trial.size, "trial": made}, text


def _only(given: Mapping[str, Any], *names: str) -> dict[str, list[Any]]:
    """The only choices of a search, where the user has made them: "alphas" for "alpha"."""
    return {f"{name}s": [given[name]] for name in names if name in given}


def _designed(found: SequentialDesign, size: int | None, said: str) -> Found:
    """The document of a design; and in words what it does, how to run the sampler with it, and warnings."""
    options = {} if size is None else found.options(size)
    batch_size, warnings = options.get("batch_size"), []
    if batch_size is not None and batch_size < _SMALLEST_BATCH:
        warnings.append(
            f"batches of {batch_size} are small: their means may not be normal, on which the design relies; take a "
            f"larger share, or batches of {_SMALLEST_BATCH}"
        )
    test = _described(found.first_fraction, found.epsilon, found.alpha)
    words = " ".join(f"{as_flag(name)} {value:.6g}" for name, value in options.items())
    advice = [f"steinkit sample approximate-mh {words} ..."] if options else []
    text = "\n\n".join([filled(f"{test} {said}"), *advice, *map(one_line, warnings)])
    return asdict(found) | {"batch_size": batch_size, "warnings": warnings}, text


def _described(first_fraction: float, epsilon: float, alpha: float) -> str:
    return (
        f"The test reads {first_fraction:.3g} of the data at each look, allows an error of {epsilon:.3g} at one look, "
        f"and has alpha {alpha:g}."
    )
