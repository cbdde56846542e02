"""The commands ``steinkit score`` and ``steinkit verdict``."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import click
from cloup import option, option_group

from steinkit import __version__
from steinkit.cli import options as shared
from steinkit.cli.options import Options
from steinkit.cli.request import Request, deliver, read_with_target, require_files
from steinkit.cli.terminal import apart_from_results, on_terminal, say_next, target_words, warn
from steinkit.diagnosis.verdict_result import Verdict
from steinkit.diagnosis.verdict_text import verdict_blocks, verdicts_table
from steinkit.errors import InputError, SolverError, UsageError
from steinkit.measures import find_measure, measure_names, recorded_settings
from steinkit.measures.scores import sample_document
from steinkit.measures.scoring import LEVEL, Judging, score_sample
from steinkit.runtime.deadlines import time_limit
from steinkit.runtime.progress import watched
from steinkit.sample import Sample
from steinkit.text import alternatives, count, files_label, filled, one_line


@shared.command()
@shared.sample_options
@option_group("Measures", shared.measure_option, shared.measure_options())
@option_group("Solver", shared.measure_options(of_solver=True))
@option_group("Verdict", shared.verdict_options, shared.fail_options)
@option_group("Reference samples", shared.reference_options)
@option_group(
    "Output",
    shared.output_options,
    shared.all_option,
    option(
        "--fail-above",
        type=shared.SIZE,
        metavar="X",
        help="Exit with 1 if the first value exceeds X, 4 if undecided.",
    ),
)
def score(files: tuple[str, ...], **options: Any) -> int:
    """Compute a verdict and discrepancies for draws in FILE ('-': standard input).

    \b
    steinkit score draws.csv --target normal -p mean=0,0 --plot where.png
    \f
    If there are several FILEs, each contains a chain of the sample.
    """
    request, title = Request(files, options), files_label(files)
    threshold, judging = options["fail_above"], request.judging
    if threshold is not None and request.measures and not request.measures[0].smaller_is_better:
        raise UsageError(f"--fail-above requires a discrepancy as the first --measure; got {request.measures[0].name}")
    if options["plot"] and request.measures and not any(measure.has_plot for measure in request.measures):
        names = [name for name in measure_names() if find_measure(name).has_plot]
        raise UsageError(f"--plot requires --measure {alternatives(names)}")
    with apart_from_results():
        task = request.task({title: request.read(*files)}, title)
        sample = task.samples[title]
        scores = score_sample(
            sample,
            task.target,
            task.measures,
            task.settings,
            exact=task.run or task.repeats,
            judging=judging,
            rng=options["seed"],
        )
    lower, upper = scores.measurements[0].lower, scores.measurements[0].upper
    notes = list(dict.fromkeys([*task.doubts, *scores.warnings]))
    found = scores.verdict
    code, doubts = _passed(found, options)
    notes += doubts
    if threshold is not None and lower > threshold:
        code = code or 1
    elif threshold is not None and threshold < upper:
        code = code or SolverError.exit_code
        notes.append(f"--fail-above {threshold:g} is undecided because the threshold lies inside the bracket")
    scores = replace(scores, warnings=tuple(notes), origin=request.origin(judged=found is not None))
    document = {
        **scores.to_dict(),
        "reading": {
            "format": options["file_format"],
            "columns": options["columns"] and list(options["columns"]),
            "group": options["group"],
            "names": list(sample.names),
            "sha256": sample.sha256,
        },
        "settings": recorded_settings({**task.settings, "operator": options["operator"]}),
    }
    deliver(options, document, partial(scores.summary, everything=options["everything"]), notes, scores)
    return code


def _passed(verdict: Verdict | None, options: Options) -> tuple[int, tuple[str, ...]]:
    """Return the exit code for the --fail-if options, and a warning."""
    biased, delta = options["fail_if_biased"] is not None, options["fail_if_bias"]
    if not biased and delta is None:
        return 0, ()
    flag = "--fail-if-biased" if biased else "--fail-if-bias"
    if verdict is None or not (verdict.is_tested or verdict.is_biased):
        code = InputError.exit_code if verdict is None else SolverError.exit_code
        return code, (f"{flag}: the draws could not be tested",)
    if not verdict.enough_draws:
        few = f"{flag} is undecided; {verdict.effective_draws:.0f} effective draws are too few, so add draws"
        return SolverError.exit_code, (few,)
    bias = verdict.bias
    rejected = biased and verdict.is_biased and verdict.is_large is not False
    if rejected or (delta is not None and bias is not None and bias.is_off_by(delta)):
        return 1, ()
    if delta is None or (bias is not None and bias.reliable.all()):
        return 0, ()
    return SolverError.exit_code, ("--fail-if-bias is undecided because the bias of some means could not be estimated",)


@shared.command()
@shared.bounded_sample_options
@option_group(
    "Verdict",
    shared.matters_option,
    shared.fail_options,
    option("--score-batch", type=click.IntRange(min=2), metavar="B", help="Estimate each score from B data points."),
    option("--log-q", metavar="COLUMN", help="Column with the log density of an approximation, for the Pareto k."),
    shared.seed_option,
    shared.max_seconds_option,
)
@option_group(
    "Output",
    option("--table", is_flag=True, help="Print quantiles, MCSE, ESS and R-hat with the biases."),
    shared.all_option,
    shared.json_option,
    shared.save_option,
)
def verdict(files: tuple[str, ...], **options: Any) -> int:
    """Test whether the draws in each FILE ('-': standard input) come from a target.

    \b
    steinkit verdict draws.csv --target normal -p mean=0,0
    \f
    The verdict states whether the draws come from the target and which aspects were not tested. For each parameter, the
    bias of the mean and standard deviation is estimated, with margins of error.
    """
    require_files(files, options)
    alpha = options["fail_if_biased"]
    judging = Judging(LEVEL if alpha is None else alpha, options["matters"], 1, options["score_batch"])
    judged = [_judge(file, judging, options) for file in files]
    document = {"verdicts": [each.to_dict(table=options["table"]) for each in judged], "version": __version__}
    notes = [f"{each.name}: {note}" if len(files) > 1 else note for each in judged for note in each.warnings]
    only = judged[0].verdict if len(judged) == 1 else None
    deliver(options, document, lambda: _report(judged, options["everything"], options["table"]), notes, result=only)
    _say_next({each.file: each.verdict for each in judged}, options)
    codes = set()
    for each in judged:
        code, doubts = _passed(each.verdict, options)
        if each.verdict is None:
            code = each.code_without_verdict
        elif not code and not (each.verdict.enough_draws and (each.verdict.is_tested or each.verdict.is_biased)):
            code = SolverError.exit_code
        codes.add(code)
        for doubt in doubts:
            warn(f"{each.name}: {doubt}")
    return next((code for code in (InputError.exit_code, 1, SolverError.exit_code) if code in codes), 0)


class _Judged(NamedTuple):
    """A file and its verdict, or the reason why there is no verdict."""

    file: str
    sample: Sample
    verdict: Verdict | None
    unjudged: str | None
    warnings: tuple[str, ...]
    code_without_verdict: int

    @property
    def name(self) -> str:
        return files_label((self.file,))

    def to_dict(self, *, table: bool) -> dict[str, Any]:
        rows = {} if self.verdict is None or not table else {"parameters": self.verdict.parameters.rows()}
        return {
            "file": self.file,
            "sample": sample_document(self.sample),
            "verdict": self.verdict and self.verdict.to_dict(),
            "unjudged": self.unjudged,
            **rows,
            "warnings": [*self.warnings],
        }


def _judge(file: str, judging: Judging, options: Options) -> _Judged:
    with apart_from_results(), time_limit(options["max_seconds"]), watched(on_terminal()):
        sample, target, bounds, notes = read_with_target(options, file)
        found = judging.judge(sample, target, {"bounds": bounds}, rng=options["seed"])
    return _Judged(file, sample, found.verdict, found.unjudged, (*notes, *found.notes), found.exit_code)


def _report(judged: list[_Judged], everything: bool, diagnostics: bool) -> str:
    """Return the verdicts as text with tables."""
    found = {each.name: each.verdict for each in judged}
    blocks = [verdicts_table(found, "largest bias").text(("sample", "verdict"))] if len(judged) > 1 else []
    for each in judged:
        ess = f", ESS {each.verdict.ess_text}" if each.verdict is not None and each.verdict.ess_text else ""
        head = f"{each.name}: {count(len(each.sample), 'draw')}, {count(each.sample.dim, 'parameter')}{ess}"
        listed = everything or len(judged) == 1
        text, *rows = verdict_blocks(
            each.verdict, each.unjudged, everything=everything, table=listed, diagnostics=diagnostics
        )
        blocks += [one_line(head), text, *rows]
    known = [verdict for verdict in found.values() if verdict is not None]
    if known and not everything:
        blocks.append(filled(max(known, key=lambda each: len(each.not_tested)).untested_sentence))
    return "\n\n".join(blocks)


def _say_next(found: dict[str, Verdict | None], options: Options) -> None:
    """Suggest repairing the first biased sample."""
    known = {file: verdict for file, verdict in found.items() if verdict is not None and verdict.is_biased}
    biased = [file for file, each in known.items() if each.bias is not None and not each.bias.hidden]
    if biased and "-" not in found:
        words = ["repair", biased[0], *target_words(options["target"], options["target_options"]), "-o", "repaired.csv"]
        say_next(words, "correct these draws", json_output=options["json_output"])
