"""What is said of a sweep and of tuning: which setting, how sure, what ties, what went wrong, what is not proved.

Documents are those that ``steinkit sweep --json`` and ``steinkit tune --json`` print; a choice is one entry of a
sweep's "criteria".
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from steinkit.diagnosis.verdict_text import unjudged_sentence
from steinkit.result import (
    UNVISITED,
    DescribedMeasure,
    Document,
    FindMeasure,
    Statement,
    bracket_column,
    claimed,
)
from steinkit.text import (
    Table,
    bracket,
    compact,
    count,
    filled,
    listed,
    one_line,
    seeds_label,
    sentence,
    setting_key,
    setting_label,
    units_sentence,
    within,
)

Choice = Document
Label = Callable[[Document], str]

LEVEL = 0.95  # at which sweeps choose
_FAILURES_SHOWN = 4


class Row(NamedTuple):
    """What a choice knows of a setting, its numbers NaN where no cell was run and infinite where they are the worst.

    Parameters
    ----------
    settings : mapping
    verdict : str
        "best", "not told apart", "worse" or "not run".
    median : float
        Over the seeds.
    interval : pair of float, optional
        Bootstrap interval of the median, where there are seeds enough.
    bracket : pair of float
        What the solver leaves open of the median.
    scored, failed : int
        Cells.
    cost : float, optional
        Of a draw.
    """

    settings: Document
    verdict: str
    median: float
    interval: tuple[float, float] | None
    bracket: tuple[float, float]
    scored: int
    failed: int
    cost: float | None


def rows_of(choice: Choice, measure: DescribedMeasure) -> list[Row]:
    """The settings of a choice, in their order."""
    worst = math.inf if measure.smaller_is_better else -math.inf
    rows = []
    for row in choice["table"]:
        cells = row["scored"] + row["failed"]
        verdict = "not told apart" if row["settings"] in choice["ties"] else "worse"
        if row["settings"] == choice["best"]:
            verdict = "best"
        unknown = worst if cells else math.nan
        low, high = (worst if end is None else end for end in row["interval"] or (None, None))
        median, lower, upper = (unknown if row[key] is None else row[key] for key in ("median", "lower", "upper"))
        rows.append(
            Row(
                settings=row["settings"],
                verdict=verdict if cells else "not run",
                median=median,
                interval=None if row["interval"] is None else (low, high),
                bracket=(lower, upper),
                scored=row["scored"],
                failed=row["failed"],
                cost=row["cost_per_draw"],
            )
        )
    return rows


def text(document: Document, find: FindMeasure, settings: int, seeds: int, best: Sequence[str] = ()) -> str:
    """The best setting's draws, the choice by each measure, the ties and the failures, for a reader at a terminal.

    Parameters
    ----------
    document : mapping
    find : callable
        The measure of a name.
    settings, seeds : int
        How many the sweep has of each.
    best : sequence of str
        Paragraphs on draws of the best setting.
    """
    run = (
        f"{settings} settings, {seeds} seeds: {document['cells']} cells, {document['reused']} of them from before, "
        f"{document['failed']} failed; {document['seconds']:.1f} s"
    )
    blocks = [one_line(run), *map(filled, best)]
    for name, choice in document["criteria"].items():
        found = table(choice, find(name), setting_key)
        blocks.append("\n".join([one_line(found.caption), *found.lines(("setting", "verdict"))]))
    refused = document.get("refused", {}).items()
    said = [f"By {find(name).title} no setting is chosen: {reason}" for name, reason in refused]
    said += [_blind(document, find, setting_key), _sizes(document, find, setting_key)]
    blocks += map(one_line, filter(None, said))
    if document["racing"] is not None:
        race, *dropped = _race(document["racing"])
        blocks.append("\n".join([one_line(race), *(one_line(each, "  ") for each in dropped)]))
    blocks += [one_line(units)] if (units := units_sentence(document.get("units"))) else []
    if document["failed"]:
        reasons = _failures(document["failures"], setting_key)
        blocks.append("\n".join(["Failed:", *(one_line(each, "  ") for each in reasons)]))
    return "\n\n".join(blocks)


def leading(document: Document, find: FindMeasure) -> str | None:
    """The measure that the verdict goes by: the first discrepancy, else the first."""
    names = list(document["criteria"])
    return next(iter([*(name for name in names if find(name).smaller_is_better), *names]), None)


def headline(document: Document, find: FindMeasure) -> str:
    """The verdict in one sentence."""
    name = leading(document, find)
    if (refused := document.get("refused")) and (name is None or find(name).needs == "draws"):
        titles = listed([find(each).title for each in refused])
        return f"No setting is chosen by {titles}, which may prefer wrong ones here"
    if name is None:
        return f"No setting could be chosen: {document['failed']} of {count(document['cells'], 'cell')} failed"
    choice, by = document["criteria"][name], find(name).title
    best, settings = setting_label(choice["best"]), len(choice["table"])
    if settings == 1:
        return sentence(f"{best}, the only setting, has median {by} {compact(choice['median'])}")
    if not choice["ties"]:
        return sentence(f"{best} is the best of {settings} settings by {by}, and none ties with it")
    ties = listed([setting_label(tie) for tie in choice["ties"]], most=2, of="more settings")
    return sentence(f"{best} is the best of {settings} settings by {by}, but {ties} cannot be told from it")


def statements(document: Document, find: FindMeasure, draws: int | None) -> list[Statement]:
    """All that there is to say.

    Parameters
    ----------
    document : mapping
    find : callable
        The measure of a name.
    draws : int, optional
        Draws of each chain, where they are known.
    """
    name = leading(document, find)
    found = [
        Statement("choice", "Which setting?", f"By {find(each).title} none is chosen: {reason}.", True)
        for each, reason in document.get("refused", {}).items()
    ]
    if name is not None:
        choice, measure = document["criteria"][name], find(name)
        rows = rows_of(choice, measure)
        found += [
            Statement("choice", "Which setting?", _which(choice, rows, measure)),
            Statement("number", "How sure is that?", _how_sure(rows, measure)),
            Statement("comparison", "What cannot be told from it?", _ties(rows)),
            Statement("number", "How wrong are its numbers?", _sizes(document, find, setting_label)),
            Statement(
                "comparison",
                "What would effective sample size have picked?",
                _blind(document, find, setting_label),
            ),
        ]
    cells, failed = count(document["cells"], "cell"), document["failed"]
    said = [f"No: all {cells} (a setting with a seed each) were scored."]
    if failed:
        reasons = [sentence(each) for each in _failures(document["failures"], setting_label)]
        worst = "A failed cell counts as the worst there can be, so that no setting wins by its survivors."
        said = [f"{failed} of {cells} failed. {worst}", *reasons[:_FAILURES_SHOWN]]
        said += ["The rest stands in the table of failures."] if len(reasons) > _FAILURES_SHOWN else []
    found += [Statement("limits", "Did anything fail?", each) for each in said]
    if document["racing"]:
        raced = _race(document["racing"])
        found += [Statement("method", "Was every cell run?", sentence(each)) for each in raced]
    if name is not None:
        found += [Statement("limits", "What does this not prove?", each) for each in _limits(find(name), draws)]
    return found


def table(choice: Choice, measure: DescribedMeasure, label: Label = setting_label) -> Table:
    """Every setting with its verdict, its median over the seeds and what is known of that."""
    proof, found = bracket_column(measure.claim), rows_of(choice, measure)
    columns = ["setting", "verdict", "median", f"{LEVEL:.0%} interval", *([proof] if proof else [])]
    rows = []
    for row in found:
        cells = [label(row.settings), row.verdict, _proved(row) if proof else _shown(row.median)]
        cells.append("" if row.interval is None else " to ".join(map(_shown, row.interval)))
        cells += [bracket(*row.bracket)] if proof else []
        rows.append((*cells, str(row.scored), str(row.failed), "" if row.cost is None else compact(row.cost)))
    best = _best(found)
    known = "" if best.interval is None else f" ({LEVEL:.0%} interval {' to '.join(map(_shown, best.interval))})"
    pick = f"{label(choice['best'])}, median {_shown(best.median)}{known}"
    caption = f"By {measure.title} ({_extreme(measure)} median): {pick}"
    return Table(caption, (*columns, "scored", "failed", "cost a draw"), tuple(rows), found.index(best))


def _best(rows: Sequence[Row]) -> Row:
    return next(row for row in rows if row.verdict == "best")


def _shown(value: float) -> str:
    """A number as tables have it, in which an infinite one stands for cells that failed."""
    return "worst" if math.isinf(value) else compact(value)


def _proved(row: Row) -> str:
    """A setting's median to the digits of its bracket, which stands beside it."""
    return within(row.median, *row.bracket) if math.isfinite(row.bracket[1]) else _shown(row.median)


def _extreme(measure: DescribedMeasure) -> str:
    return "smallest" if measure.smaller_is_better else "largest"


def _blind(document: Document, find: FindMeasure, label: Label) -> str:
    """What effective sample size, which does not see bias, would have chosen instead."""
    criteria = document["criteria"]
    seeing = next((name for name in criteria if find(name).needs != "draws"), None)
    blind = next((name for name in criteria if find(name).needs == "draws"), None)
    if seeing is None or blind is None:
        return ""
    best, chosen = criteria[blind]["best"], criteria[seeing]
    subject = f"{sentence(find(blind).title)}, which does not see bias,"
    if best == chosen["best"]:
        return f"{subject} chooses the same: {label(best)}."
    verdict = "as good" if best in chosen["ties"] else "worse"
    return f"{subject} would have chosen {label(best)}; by measure {seeing} that is {verdict}."


def _sizes(document: Document, find: FindMeasure, label: Label) -> str:
    """How far off draws of the best setting are, and of the one that effective sample size would have chosen."""
    name, choice = leading(document, find), document["criteria"].get("bias")
    if name is None or choice is None or find(name).needs == "draws":
        return ""
    best, blind = document["criteria"][name]["best"], document["criteria"].get("ess", choice)["best"]
    medians = [(row["settings"], row["median"]) for row in choice["table"]]
    own, other = (next(median for settings, median in medians if settings == each) for each in (best, blind))
    if own is None:
        return ""
    said = (
        f"Means and sds of draws with {label(best)} are off by {own:.2g} sd (root mean square, median over the seeds)"
    )
    if blind != best and other is not None:
        said += f"; with {label(blind)}, which effective sample size would have chosen, by {other:.2g} sd"
    return f"{said}."


def _race(racing: Document) -> list[str]:
    """What racing saved, and what it dropped and why."""
    saved = (
        f"Racing ran {racing['cells_run']} cells where the full sweep has {racing['cells_full']}, in "
        f"{racing['seconds_spent']:.1f} s of work instead of about {racing['seconds_full_estimate']:.1f} s "
        f"({racing['saved']:.0%} saved)."
    )
    return [saved, *(f"dropped {name}: {reason}" for name, reason in racing["dropped"].items())]


def _failures(failures: Sequence[Document], label: Label) -> list[str]:
    """A line a setting, with the first of its reasons."""
    seeds: dict[str, list[int]] = {}
    reasons: dict[str, str] = {}
    for entry in failures:
        name = label(entry["settings"])
        seeds.setdefault(name, []).extend(entry["seeds"])
        reasons.setdefault(name, entry["reason"])
    return [
        f"{name}, seed{'s' * (len(seeds[name]) > 1)} {seeds_label(seeds[name])}: {reason}"
        for name, reason in reasons.items()
    ]


def _which(choice: Choice, rows: Sequence[Row], measure: DescribedMeasure) -> str:
    best = _best(rows)
    failed = f" ({best.failed} of them failed and count as worst)" if best.failed else ""
    return (
        f"{sentence(setting_label(best.settings))}: its median {measure.title} over "
        f"{count(best.scored + best.failed, 'seed')}{failed} is {_proved(best)}, the "
        f"{_extreme(measure)} of {count(len(rows), 'setting')}.{_at_the_end(choice)}"
    )


def _at_the_end(choice: Choice) -> str:
    """A caution where the best value of a number lies at the end of those tried."""
    for name, value in choice["best"].items():
        tried = [row["settings"].get(name) for row in choice["table"]]
        numbers = sorted({each for each in tried if isinstance(each, int | float) and not isinstance(each, bool)})
        others = [each for each in tried if each not in numbers and not isinstance(each, list)]
        if len(numbers) >= 3 and not others and value in (numbers[0], numbers[-1]):
            end, way = ("smallest", "smaller") if value == numbers[0] else ("largest", "larger")
            return f" It is the {end} {name.replace('_', ' ')} that was tried: try {way} ones as well."
    return ""


def _how_sure(rows: Sequence[Row], measure: DescribedMeasure) -> str:
    best = _best(rows)
    said = ["There is one seed only, so that nothing is known of how chance moves the number."]
    if best.interval is not None:
        low, high = best.interval
        said = [
            f"The {LEVEL:.0%} interval of that median, over the luck of the seeds and what the solver leaves open, is "
            f"{compact(low)} to {compact(high) if math.isfinite(high) else 'infinity'}."
        ]
    if measure.claim != "estimated" and math.isfinite(best.bracket[1]):
        said.append(f"For these very draws it is {claimed(measure.claim, *best.bracket)}.")
    if len(rows) > 1:
        said.append(
            f"The best setting and its ties together hold the setting whose true median is {_extreme(measure)} with "
            f"{LEVEL:.0%} confidence, the number of settings allowed for."
        )
    return " ".join(said)


def _ties(rows: Sequence[Row]) -> str:
    others, ties = len(rows) - 1, [row for row in rows if row.verdict == "not told apart"]
    if not others:
        return "There is no other setting."
    if not ties:
        return f"Nothing: {'the other setting is' if others == 1 else f'all {others} other settings are'} told apart."
    named = listed([f"{setting_label(tie.settings)} (median {compact(tie.median)})" for tie in ties], most=4)
    return f"{sentence(named)}: on these seeds {'it' if len(ties) == 1 else 'each'} could as well be the best."


def _limits(measure: DescribedMeasure, draws: int | None) -> list[str]:
    length = "chains of this length" if draws is None else f"chains of {draws} draws"
    seen = {
        "draws": [f"That the chains converge to the target: {measure.title} does not know it."],
        "scores": [UNVISITED],
        "target": [],
    }[measure.needs]
    return [
        "That the sample is good: it is the best of those tried, and how good that is takes a reference to say.",
        *seen,
        f"Anything about other lengths: this is for {length}, and longer ones favour settings with less bias.",
    ]


_RESOURCES = {"budget": "evaluations of single data", "draws": "draws"}


def ranked(rung: Document) -> list[str]:
    """The settings of a rung, best first."""
    losses = rung["losses"]
    return sorted(losses, key=lambda name: math.inf if losses[name] is None else losses[name])


def tuning_headline(document: Document) -> str:
    """The setting in one sentence."""
    tried = count(len(document["rungs"][0]["losses"]), "setting")
    cost = f"{document['spent'] / document['full']:.1%} of the full grid's cost"
    return sentence(f"{setting_label(document['setting'])} is the best of {tried}, at {cost}")


def rungs_table(document: Document) -> Table:
    """What each setting lost on each rung, those that went furthest first."""
    rungs = document["rungs"]
    caption = f"Medians over the seeds, by a measure at chains of so many {_RESOURCES[document['resource']]}"
    names = dict.fromkeys(name for rung in reversed(rungs) for name in ranked(rung))
    heads = [f"{rung['measure']} at {rung['length']:,}" for rung in rungs]
    rows = [(name, *(_loss(rung["losses"], name) for rung in rungs)) for name in names]
    return Table(caption, ("setting", *heads), tuple(rows), 0)


def _loss(losses: Document, name: str) -> str:
    return "" if name not in losses else _shown(math.inf if losses[name] is None else losses[name])


def tuning_statements(document: Document, find: FindMeasure) -> list[Statement]:
    """The setting, its bias, the verdict on a fresh chain, what it cost, and what each rung went by."""
    rungs, seeds = document["rungs"], len(document["seeds"])
    known = "How far its draws are off is not known."
    if document["bias"] is not None:
        of = f", the median of {seeds} seeds" if seeds > 1 else ""
        known = f"Its bias is {document['bias']:.2g} ± {max(document['margin'], 0.001):.1g} sd{of}."
    tried = count(len(rungs[0]["losses"]), "setting")
    chosen = f"{sentence(setting_label(document['setting']))} is the best of {tried}. {known}"
    judged = unjudged_sentence(document["unjudged"]) if document["unjudged"] else ""
    if document["verdict"]:
        judged = f"{document['verdict']['sentence']} Not tested: {listed(document['verdict']['not_tested'])}."
    unit = _RESOURCES[document["resource"]]
    cost = (
        f"The choice took {document['spent']:,} {unit}, {document['spent'] / document['full']:.1%} of the "
        f"{document['full']:,} of the full grid. Its work took {document['seconds']:.0f} s, scores and any compilation "
        f"included; that of the full grid would take about {document['full_seconds']:.0f} s."
    )
    ladder = "; ".join(
        f"{count(len(rung['losses']), 'setting')} with chains of {rung['length']:,}, by {find(rung['measure']).title}"
        for rung in rungs
    )
    return [
        Statement("choice", "Which setting is best?", chosen),
        Statement("number", "May draws of a fresh chain be used?", judged and f"A fresh chain: {judged}"),
        Statement("comparison", "What did the choice cost?", cost),
        Statement("comparison", "How was it chosen?", f"In turn, chains counted in {unit}: {ladder}."),
    ]
