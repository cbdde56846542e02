"""``steinkit sample``: draws of a target, made by a sampler, written to a file that ``steinkit score`` reads."""

from __future__ import annotations

import io
import time
from collections.abc import Mapping, Sequence
from typing import Any

import click
import numpy as np

from steinkit import __version__
from steinkit.cli.completion_command import complete_sampler
from steinkit.cli.delivery import deliver_sample, draws_options, draws_place
from steinkit.cli.help_screens import command
from steinkit.cli.outputs import apart_from_results, on_terminal, say, say_next, target_words, tell
from steinkit.cli.request import NamedTarget, key_values
from steinkit.cli.sample_options import options_given, sampler_options
from steinkit.cli.shared_options import json_option, pairs_option, target_option
from steinkit.describe.writing import count
from steinkit.errors import InputError, UsageError, printable
from steinkit.files import write_sample
from steinkit.files.streams import as_json
from steinkit.posterior import Posterior
from steinkit.sample import Floats, Sample, default_names
from steinkit.samplers.draws import Draws
from steinkit.samplers.registry import Sampler, find_sampler
from steinkit.target import Target

_HELP = """Draw from a target with SAMPLER, and write the draws with their cost, chain and weight.

\b
steinkit sample iid --target normal -p mean=0,0 --draws 500 -o draws.csv
steinkit sample rwmh --target normal --proposal-scale 2 --draws 500 -o x.csv

Every sampler takes some of the options below; 'steinkit samplers' lists which, with their defaults.
\f
\b
steinkit sample sgld --target mixture-posterior --step-size 5e-3 --batch-size 5 --draws 1000 --chains 4 -o draws.npz
steinkit sample iid --target model.py:target --draws 1000 -o - | steinkit score - --target model.py:target
"""


@command(help=_HELP)
@click.argument("sampler", shell_complete=complete_sampler)
@target_option("What to draw from; minibatches need a posterior.", required=True)
@pairs_option("pairs")
@sampler_options()
@draws_options("--format")
@json_option("Print settings and seeds as JSON. And acceptance and cost, which the draws do not hold.")
def sample(sampler: str, target: str, **settings: Any) -> None:
    """Run a sampler, write its draws, and say on standard error how it went."""
    chosen = find_sampler(sampler)
    options = options_given(chosen, settings)
    file, file_format = draws_place(settings)
    with apart_from_results():
        found = _target(target, settings["pairs"], options)
        _require_ready(chosen, found, options, file_format)
        began = time.perf_counter()
        draws = chosen.run(found, options, progress=on_terminal())
        seconds = time.perf_counter() - began
    if not draws.present.any():
        raise InputError("the run ended without a draw; give it a larger --budget, or a smaller --burn-in or --thin")
    document = run_document(sampler, target, key_values(settings["pairs"]), options, draws, seconds, file)
    deliver_sample(draws.to_sample(), file, file_format)
    tell(run_text(document))
    if settings["json_output"]:
        say(as_json(document))
    elif file != "-":
        say_next(["score", file, *target_words(target, _pairs_of_draws(found, settings))], "judge the draws")


def _pairs_of_draws(target: Target, settings: Mapping[str, Any]) -> tuple[str, ...]:
    """The options of a built-in target that the draws are of: its own, and the temperature that they were made at."""
    pairs: tuple[str, ...] = settings["pairs"]
    if settings["temperature"] is None or not isinstance(target, Posterior):
        return pairs
    return (*pairs, f"temperature={settings['temperature']:g}")


def _target(name: str, pairs: tuple[str, ...], options: Mapping[str, Any]) -> Target:
    """The target; where nothing else fixes its dimension, the length of --start or --proposal-scale does."""
    start, scale = options.get("start"), options.get("proposal_scale")
    dim = np.shape(start)[-1] if start is not None else len(scale) if isinstance(scale, list) else 1
    return NamedTarget({"target": name, "options": pairs}).target(dim)


def _require_ready(sampler: Sampler, target: Target, options: Mapping[str, Any], file_format: str) -> None:
    """Refuse, before any draw is made, what would come to light only when the draws are written."""
    if target.dim is None and "start" in sampler.options() and "start" not in options:
        raise UsageError(
            f"the dimension of {target.label!r} is not known; give --start, or pass dim= to steinkit.Target"
        )
    names = target.names or default_names(target.dim or 1)
    points = np.zeros((1, 1, len(names)))
    write_sample(Sample(points=points, cost=np.zeros(1), names=names), io.BytesIO(), format=file_format)


def run_document(
    sampler: str,
    target: str,
    target_options: Mapping[str, str],
    options: Mapping[str, Any],
    draws: Draws,
    seconds: float,
    file: str,
) -> dict[str, Any]:
    """The document that ``--json`` prints. Lists hold a number a chain."""
    return {
        "sampler": sampler,
        "target": target,
        "target_options": dict(target_options),
        "settings": {name: value for name, value in draws.settings.items() if name != "sampler"}
        | {"start": options.get("start")},
        "seeds": list(draws.seeds),
        "draws": draws.present.sum(axis=1).tolist(),
        "names": list(draws.to_sample().names),
        "acceptance": _per_chain(draws.acceptance),
        "mean_batch_size": _per_chain(draws.mean_batch_size),
        "cost": _per_chain(_last(draws, draws.cost)),
        "diagnostics": {name: _per_chain(_summed_up(draws, name)) for name in draws.diagnostics},
        "seconds": seconds,
        "file": None if file == "-" else file,
        "version": __version__,
    }


def run_text(document: Mapping[str, Any]) -> str:
    """The chains and their length, what was accepted and what it cost, and where they went."""
    counts = document["draws"]
    length = f"{counts[0]}" if len(set(counts)) == 1 else f"{min(counts)} to {max(counts)}"
    facts = [
        _fact("acceptance", document["acceptance"]),
        _fact("mean batch", document["mean_batch_size"]),
        _fact("cost", document["cost"], " evaluations a chain") if any(document["cost"]) else "",
        *(_fact(name.replace("_", " "), values) for name, values in document["diagnostics"].items()),
        f"{document['seconds']:.2f} s",
    ]
    return (
        f"{document['sampler']} on {printable(document['target'])}: {count(len(counts), 'chain')} of {length} draws\n"
        f"{'; '.join(filter(None, facts))}\nwritten to {printable(document['file'] or 'standard output')}"
    )


def _per_chain(values: Floats | None) -> list[float | None] | None:
    """Numbers for JSON, which knows no NaN."""
    return None if values is None else [float(value) if np.isfinite(value) else None for value in values]


def _last(draws: Draws, values: Any) -> Floats:
    """Value at the last draw of each chain; NaN for a chain without draws."""
    counts = draws.present.sum(axis=1)
    return np.array([row[count - 1] if count else np.nan for row, count in zip(values, counts, strict=True)])


def _summed_up(draws: Draws, name: str) -> Floats:
    """A diagnostic of each chain: a cost, which is cumulative, at its last draw; others as the mean of those known."""
    values = draws.diagnostics[name]
    if name.endswith("_cost"):
        return _last(draws, values)
    known = draws.present & np.isfinite(values)
    sums, counts = np.where(known, values, 0.0).sum(axis=1), known.sum(axis=1)
    return np.asarray(np.divide(sums, counts, out=np.full(len(sums), np.nan), where=counts > 0))


def _fact(what: str, values: Sequence[float | None] | None, unit: str = "") -> str:
    """A mean over the chains, with the range where it is visible."""
    known = [value for value in values or () if value is not None]
    if not known:
        return ""
    mean, lowest, highest = map(_shown, (sum(known) / len(known), min(known), max(known)))
    return f"{what} {mean}" + (f" ({lowest} to {highest})" if lowest != highest else "") + unit


def _shown(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000.0 else f"{value:.3g}"
