"""``steinkit sample``: draws of a target, made by a sampler, written to a file that ``steinkit score`` reads."""

from __future__ import annotations

import contextlib
import io
import sys
import time
from collections.abc import Mapping
from typing import Any

import click
import numpy as np

from steinkit.cli.completion_command import complete_sampler
from steinkit.cli.help_screens import command
from steinkit.cli.named_target import NamedTarget
from steinkit.cli.options import key_values
from steinkit.cli.outputs import on_terminal, say, say_next, target_words, tell
from steinkit.cli.sample_files import deliver_sample, draws_options, format_of, require_sample_place
from steinkit.cli.sample_options import options_given, sampler_options
from steinkit.cli.sample_report import run_document, run_text
from steinkit.cli.shared_options import json_option, pairs_option, target_option
from steinkit.errors import InputError, UsageError
from steinkit.files import write_sample
from steinkit.json_documents import as_json
from steinkit.posterior import Posterior
from steinkit.sample import Sample, default_names
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
    file, file_format = settings["output"], format_of(settings["output"], settings["output_format"])
    require_sample_place(file, settings["json_output"])
    with contextlib.redirect_stdout(sys.stderr):  # what a user's own code prints is no draw
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
