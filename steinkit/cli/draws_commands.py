"""The commands ``steinkit sample``, ``thin`` and ``repair``."""

from __future__ import annotations

import io
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import click
import numpy as np
from click.shell_completion import CompletionItem
from cloup import option, option_group

from steinkit import __version__
from steinkit.cli import options as shared
from steinkit.cli.options import Options
from steinkit.cli.request import NamedTarget, read_with_target
from steinkit.cli.sampler_commands import CHAIN_OPTIONS, SAMPLER_OPTIONS, options_given, sampler_options
from steinkit.cli.terminal import (
    apart_from_results,
    on_terminal,
    require_places,
    say,
    say_next,
    target_words,
    tell,
    warn,
)
from steinkit.containers.columns import may_hold_weights
from steinkit.errors import InputError, OutputError, UsageError, printable
from steinkit.files import write_sample
from steinkit.files.streams import as_json
from steinkit.measures.options import units_of_one
from steinkit.measures.scores import sample_document
from steinkit.posterior import Posterior
from steinkit.runtime.deadlines import time_limit
from steinkit.sample import Floats, Sample, default_names
from steinkit.samplers.chains.draws import Draws
from steinkit.samplers.registry import Sampler, find_sampler, sampler_names
from steinkit.target import Target
from steinkit.text import count

_draws_option = option(
    "-o", "--output", required=True, type=click.Path(dir_okay=False), help="File for the draws: .csv, .npz or '-'."
)


def require_draws_place(options: Options, sources: Sequence[str] = ("-",)) -> None:
    """Check that the output file for draws is valid and is not an input file.

    Raises
    ------
    UsageError, OutputError
    """
    file = options["output"]
    if file == "-" and options["json_output"]:
        raise UsageError("--json and -o - both write to standard output; give a file name to -o")
    if file == "-":
        return
    if not file.lower().removesuffix(".gz").endswith((".csv", ".npz")):
        raise UsageError(f"-o: expected a file name ending in .csv or .npz, got {file}")
    for source in sources:
        require_places(source, file, None)


def deliver_sample(
    sample: Sample, options: Options, text: str, document: Mapping[str, object], notes: Iterable[str] = ()
) -> None:
    """Write draws, and print warnings and a report, or the ``--json`` document.

    A closed standard output is not treated as an error.
    """
    file = options["output"]
    try:
        write_sample(sample, file)
    except OutputError as error:
        if file == "-":
            sys.stdout = None  # otherwise, Python flushes the stream at exit
        if file != "-" or not isinstance(error.__context__, BrokenPipeError):
            raise
    for note in notes:
        warn(note)
    tell(f"{text}\nDraws written to {'standard output' if file == '-' else printable(file)}")
    if options["json_output"]:
        say(as_json({**document, "file": file, "version": __version__}))


def say_next_of_draws(sample: Sample, options: Options, target_options: Mapping[str, str]) -> None:
    """Suggest a verdict for the draws that were written to a file."""
    file = options["output"]
    if file == "-":
        return
    words = ["verdict", file, *target_words(options["target"], target_options)]
    if ".csv" in file.lower() and any(map(may_hold_weights, sample.names)):
        words += ["--weights", "none" if sample.weights is None else "weight"]
    say_next(words, "test the draws", json_output=options["json_output"])


def complete_sampler(context: click.Context, parameter: click.Parameter, word: str) -> list[CompletionItem]:
    """Complete the name of a sampler."""
    return [CompletionItem(name, help=find_sampler(name).summary) for name in sampler_names() if name.startswith(word)]


@shared.command()
@click.argument("sampler", shell_complete=complete_sampler)
@option_group("Target", shared.target_options(required=True))
@option_group("Sampler", sampler_options(*(name for name in SAMPLER_OPTIONS if name not in CHAIN_OPTIONS)))
@option_group("Chains", sampler_options(*CHAIN_OPTIONS))
@option_group("Output", _draws_option, shared.json_option)
def sample(sampler: str, **settings: Any) -> None:
    """Generate draws from a target with SAMPLER and write the draws to a file.

    \b
    steinkit sample rwmh --target normal --proposal-scale 2 --draws 500 -o x.csv

    Each sampler accepts some of these options. The command 'steinkit samplers' lists the options of each sampler with
    their defaults.
    """
    chosen = find_sampler(sampler)
    options = options_given(chosen, settings)
    require_draws_place(settings)
    with apart_from_results():
        start, scale = options.get("start"), options.get("proposal_scale")
        dim = np.shape(start)[-1] if start is not None else len(scale) if isinstance(scale, list) else 1
        found = NamedTarget(settings).target(dim)
        _require_ready(chosen, found, options, settings["output"])
        began = time.perf_counter()
        draws = chosen.run(found, options, progress=on_terminal())
        seconds = time.perf_counter() - began
    if not draws.present.any():
        raise InputError("the run ended before the first draw; increase --budget, or reduce --burn-in or --thin")
    document = {
        "sampler": sampler,
        "target": settings["target"],
        "target_options": settings["target_options"],
        **run_document(draws, start),
        "seconds": seconds,
    }
    drawn = draws.to_sample()
    deliver_sample(drawn, settings, run_text(document), document)
    is_tempered = settings["temperature"] is not None and isinstance(found, Posterior)
    tempered = {"temperature": f"{settings['temperature']:g}"} if is_tempered else {}
    say_next_of_draws(drawn, settings, settings["target_options"] | tempered)


def _require_ready(sampler: Sampler, target: Target, options: Options, file: str) -> None:
    """Check that draws from a target can be written.

    The check takes place before the run.
    """
    if target.dim is None and "start" in sampler.options() and "start" not in options:
        raise UsageError(f"the dimension of {target.label!r} is unknown; add --start, or pass dim= to steinkit.Target")
    names = target.names or default_names(target.dim or 1)
    points = np.zeros((1, 1, len(names)))
    form = "npz" if ".npz" in file.lower() else "csv"
    write_sample(Sample(points=points, cost=np.zeros(1), names=names), io.BytesIO(), format=form)


def run_document(draws: Draws, start: Any) -> dict[str, Any]:
    """Return the JSON document of a run, with lists that have one entry per chain."""
    return {
        "settings": {name: value for name, value in draws.settings.items() if name != "sampler"} | {"start": start},
        "seeds": list(draws.seeds),
        "draws": draws.present.sum(axis=1).tolist(),
        "names": list(draws.to_sample().names),
        "acceptance": _per_chain(draws.acceptance),
        "mean_batch_size": _per_chain(draws.mean_batch_size),
        "cost": _per_chain(_last(draws, draws.cost)),
        "diagnostics": {name: _per_chain(_summed_up(draws, name)) for name in draws.diagnostics},
    }


def run_text(document: Mapping[str, Any]) -> str:
    """Return the number of chains and the means of acceptance, cost and diagnostics."""
    counts = document["draws"]
    length = f"{counts[0]}" if len(set(counts)) == 1 else f"{min(counts)} to {max(counts)}"
    rows = {name: document[name] for name in ("acceptance", "mean_batch_size", "cost")} | document["diagnostics"]
    known = {name: [value for value in values or () if value is not None] for name, values in rows.items()}
    facts = [f"{name.replace('_', ' ')} {sum(row) / len(row):,.4g}" for name, row in known.items() if any(row)]
    chains = f"{count(len(counts), 'chain')} of {length} draws"
    return "; ".join([f"{document['sampler']} on {printable(document['target'])}: {chains}", *facts])


def _per_chain(values: Floats | None) -> list[float | None] | None:
    """Convert numbers to JSON values, replacing NaN with None."""
    return None if values is None else [float(value) if np.isfinite(value) else None for value in values]


def _last(draws: Draws, values: Any) -> Floats:
    """Return the last value of each chain, or NaN for an empty chain."""
    counts = draws.present.sum(axis=1)
    return np.where(counts > 0, np.asarray(values)[np.arange(len(counts)), counts - 1], np.nan)


def _summed_up(draws: Draws, name: str) -> Floats:
    """Return the last cost of each chain, or the mean of another diagnostic."""
    values = draws.diagnostics[name]
    if name.endswith("_cost"):
        return _last(draws, values)
    known = draws.present & np.isfinite(values)
    return np.asarray(np.ma.array(values, mask=~known, dtype=np.float64).mean(axis=1).filled(np.nan))


@shared.command()
@shared.bounded_sample_options
@option_group(
    "Thinning",
    option("--draws", type=click.IntRange(min=1), required=True, metavar="M", help="Number of draws to select."),
    option(
        "--method",
        type=click.Choice(("stein", "lp")),
        default="stein",
        help="Stein thinning, or a linear program that selects fewer draws and weights them.",
    ),
    shared.setting_options("units", "kernel", "kernel_scale"),
    option(
        "--moment-weight",
        type=shared.SIZE,
        default=0.3,
        metavar="R",
        help="Weight of means and sds; 0 gives the published algorithm.",
    ),
    shared.max_seconds_option,
)
@option_group("Output", _draws_option, shared.json_option)
def thin(files: tuple[str, ...], draws: int, **settings: Any) -> None:
    """Select draws from FILE ('-': standard input) that best represent a target.

    \b
    steinkit thin draws.csv --target normal -p mean=0,0 --draws 50 -o thinned.csv
    \f
    If there are several FILEs, each contains a chain of the sample. Stein thinning (Riabiz et al. 2022) repeatedly adds
    the draw that minimizes the kernel Stein discrepancy. This command also uses terms for the mean and sd of each
    parameter. Thinning removes burn-in and reduces bias but cannot correct the weights of separate modes.

    With --method lp, at most M draws are selected and receive unequal weights. The weights minimize a Stein discrepancy
    of the marginal distributions.
    """
    from steinkit.diagnosis.thinning import thin as thin_sample
    from steinkit.discrepancy.kernel import ksd
    from steinkit.discrepancy.kernel.base import scaled_kernel

    require_draws_place(settings, files)
    with apart_from_results(), time_limit(settings["max_seconds"]):
        sample, target, bounds, doubts = read_with_target(settings, *files)
        units, why = units_of_one(sample, target, {"units": settings["units"]})
        kernel = scaled_kernel(settings["kernel"], settings["kernel_scale"])
        before = ksd.kernel_stein_discrepancy(sample, target, bounds=bounds, units=units, kernel=kernel)
        same: dict[str, Any] = {"bounds": bounds, "units": before.units, "kernel": before.kernel}
        how = {"method": settings["method"], "moment_weight": settings["moment_weight"]}
        chosen = thin_sample(sample, target, m=draws, **how, **same)
        after = ksd.kernel_stein_discrepancy(chosen, target, **same)
    notes = (*doubts, *why, *before.warnings)
    document = {
        "sample": sample_document(sample),
        "draws": len(chosen),
        "distinct": len(after.sample),
        "method": settings["method"],
        "units": before.units.document,
        "moment_weight": settings["moment_weight"],
        "ksd": {"before": before.value, "after": after.value, "kernel": repr(before.kernel)},
        "warnings": list(notes),
    }
    text = (
        f"Selected {len(chosen)} of {len(sample)} draws ({len(after.sample)} distinct).\n"
        f"Kernel Stein discrepancy: {before.value:.4g} before, {after.value:.4g} after ({before.kernel!r})."
    )
    deliver_sample(chosen, settings, text, document, notes)


@shared.command()
@shared.bounded_sample_options
@option_group(
    "Repair",
    option(
        "--method",
        type=click.Choice(("auto", "weights", "optimal", "run")),
        default="auto",
        help="Reweight the draws, or move them with a short MCMC run.",
    ),
    shared.seed_option,
    shared.max_seconds_option,
)
@option_group("Output", _draws_option, shared.json_option)
def repair(files: tuple[str, ...], **options: Any) -> None:
    """Correct biased draws in FILE ('-': standard input).

    \b
    steinkit repair draws.csv --target normal -p mean=0,0 -o repaired.csv
    \f
    If there are several FILEs, each contains a chain of the sample. The draws receive the maximum-entropy weights for
    which all weighted means of Stein features are zero. If the effective sample size of the weights is below a fifth of
    the draws and the target has a log density, each draw is instead moved by a short Hamiltonian Monte Carlo run.
    Neither method adds draws in unvisited modes or truncated tails. If the target has a log density, the weights of
    separate modes are corrected.
    """
    from steinkit.diagnosis.bias.repair import repair as repair_sample

    require_draws_place(options, files)
    with apart_from_results(), time_limit(options["max_seconds"]):
        sample, target, bounds, notes = read_with_target(options, *files)
        found = repair_sample(sample, target, bounds=bounds, method=options["method"], rng=options["seed"])
    deliver_sample(found.sample, options, f"{found.summary()}\n", found.to_dict(), (*notes, *found.warnings))
    say_next_of_draws(found.sample, options, options["target_options"])
