"""What is said of a sweep and of tuning: which setting, how sure, what ties, what went wrong, what is not proved.

Documents are those that ``steinkit sweep --json`` and ``steinkit tune --json`` print; a choice is one entry of a
sweep's "criteria".
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from steinkit.describe.results import (
    UNVISITED,
    DescribedMeasure,
    Document,
    FindMeasure,
    Statement,
    bracket_column,
    claimed,
)
from steinkit.describe.verdict import modes_sentence, unjudged_sentence, untested_sentence, verdict_sentence
from steinkit.describe.writing import (
    Table,
    bracket,
    compact,
    count,
    filled,
    listed,
    one_line,
    sentence,
    setting_key,
    setting_label,
    units_sentence,
    within,
)

Choice = Document
Row = Document
Label = Callable[[Document], str]

LEVEL = 0.95  # at which sweeps choose
_SEEDS_SHOWN = 5
_FAILURES_SHOWN = 4


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
    lines = [one_line(run), *(f"\n{filled(each)}" for each in best)]
    for name, choice in document["criteria"].items():
        found = table(choice, find(name), setting_key)
        lines += ["", one_line(found.caption), *found.lines(("setting", "verdict"))]
    for name, reason in document.get("refused", {}).items():
        lines += ["", one_line(f"By {find(name).title} no setting is chosen: {reason}")]
    blind = _blind(document, find, setting_key)
    lines += ["", one_line(blind)] if blind else []
    sizes = _sizes(document, find, setting_key)
    lines += ["", one_line(sizes)] if sizes else []
    if document["racing"] is not None:
        race, *dropped = _race(document["racing"])
        lines += ["", one_line(race), *(one_line(each, "  ") for each in dropped)]
    if units := units_sentence(document.get("units")):
        lines += ["", one_line(units)]
    if document["failed"]:
        lines += ["", "Failed:", *(one_line(each, "  ") for each in _failures(document["failures"], setting_key))]
    return "\n".join(lines)


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
    name, criteria = leading(document, find), document["criteria"]
    found = [
        Statement("choice", "Which setting?", f"By {find(each).title} none is chosen: {reason}.", True)
        for each, reason in document.get("refused", {}).items()
    ]
    if name is not None:
        choice, measure = criteria[name], find(name)
        found += [
            Statement("choice", "Which setting?", _which(choice, measure)),
            Statement("number", "How sure is that?", _how_sure(choice, measure)),
            Statement("comparison", "What cannot be told from it?", _ties(choice, measure)),
        ]
        found.append(Statement("number", "How wrong are its numbers?", _sizes(document, find, setting_label)))
        question = "What would effective sample size have picked?"
        found.append(Statement("comparison", question, _blind(document, find, setting_label)))
        found.append(Statement("comparison", question, _blind_grounds(document, find), True))
        for other in criteria:
            if other != name and find(other).smaller_is_better:
                said = _other(choice, criteria[other], find(other))
                found.append(Statement("comparison", f"And by {find(other).title}?", said))
    cells, failed = count(document["cells"], "cell"), document["failed"]
    said = f"No: all {cells} (a setting with a seed each) were scored."
    if failed:
        said = (
            f"{failed} of {cells} failed. A failed cell counts as the worst there can be, so that no setting wins by "
        )
        said += "its survivors."
    found.append(Statement("limits", "Did anything fail?", said))
    reasons = _failures(document["failures"], setting_label) if failed else []
    found += [Statement("limits", "Did anything fail?", sentence(each)) for each in reasons[:_FAILURES_SHOWN]]
    if len(reasons) > _FAILURES_SHOWN:
        found.append(Statement("limits", "Did anything fail?", "The rest stands in the table of failures."))
    if document["racing"]:
        raced = _race(document["racing"])
        found += [Statement("method", "Was every cell run?", sentence(each)) for each in raced]
    if name is not None:
        found += [Statement("limits", "What does this not prove?", each) for each in _limits(find(name), draws)]
    return found


def table(choice: Choice, measure: DescribedMeasure, label: Label = setting_label) -> Table:
    """Every setting with its verdict, its median over the seeds and what is known of that."""
    proof = bracket_column(measure.claim)
    columns = ["setting", "verdict", "median", f"{LEVEL:.0%} interval", *([proof] if proof else [])]
    rows = []
    for row in choice["table"]:
        verdict = "not told apart" if row["settings"] in choice["ties"] else "worse"
        if row["settings"] == choice["best"]:
            verdict = "best"
        if not row["scored"] + row["failed"]:
            verdict = "not run"
        median, interval, ends = median_of(row, measure), interval_of(row, measure), bracket_of(row, measure)
        cells = [label(row["settings"]), verdict, _proved(row, measure) if proof else _shown(median)]
        cells.append("" if interval is None else " to ".join(map(_shown, interval)))
        cells += [bracket(*ends)] if proof else []
        cost = row["cost_per_draw"]
        rows.append((*cells, str(row["scored"]), str(row["failed"]), "" if cost is None else compact(cost)))
    marked = next(k for k, row in enumerate(choice["table"]) if row["settings"] == choice["best"])
    return Table(_pick(choice, measure, label), (*columns, "scored", "failed", "cost a draw"), tuple(rows), marked)


def row_of(choice: Choice, settings: Document) -> Row:
    """The row of a setting."""
    found: Row = next(row for row in choice["table"] if row["settings"] == settings)
    return found


def median_of(row: Row, measure: DescribedMeasure) -> float:
    """A setting's median: the worst there is where half of the cells failed, NaN where there are none."""
    return _number(row["median"], measure) if row["scored"] + row["failed"] else math.nan


def interval_of(row: Row, measure: DescribedMeasure) -> tuple[float, float] | None:
    """Bootstrap interval of that median over the seeds, where there are enough."""
    if row["interval"] is None:
        return None
    low, high = (_number(end, measure) for end in row["interval"])
    return low, high


def bracket_of(row: Row, measure: DescribedMeasure) -> tuple[float, float]:
    """What the solver leaves open of that median."""
    if not row["scored"] + row["failed"]:
        return math.nan, math.nan
    return _number(row["lower"], measure), _number(row["upper"], measure)


def _shown(value: float) -> str:
    """A number as tables have it, in which an infinite one stands for cells that failed."""
    return "worst" if math.isinf(value) else compact(value)


def _proved(row: Row, measure: DescribedMeasure) -> str:
    """A setting's median to the digits of its bracket, which stands beside it."""
    median, (lower, upper) = median_of(row, measure), bracket_of(row, measure)
    return within(median, lower, upper) if math.isfinite(upper) else _shown(median)


def _number(value: float | None, measure: DescribedMeasure) -> float:
    """A number of a document; JSON has none for what is worst."""
    if value is None:
        return math.inf if measure.smaller_is_better else -math.inf
    return value


def _extreme(measure: DescribedMeasure) -> str:
    return "smallest" if measure.smaller_is_better else "largest"


def _pick(choice: Choice, measure: DescribedMeasure, label: Label) -> str:
    """What a measure picks, and how well that is known."""
    best = row_of(choice, choice["best"])
    interval = interval_of(best, measure)
    known = "" if interval is None else f" ({LEVEL:.0%} interval {' to '.join(map(_shown, interval))})"
    median = _shown(median_of(best, measure))
    return f"By {measure.title} ({_extreme(measure)} median): {label(choice['best'])}, median {median}{known}"


def _seeing_and_blind(document: Document, find: FindMeasure) -> tuple[str, str] | None:
    """The first measure that sees bias and the first that does not, if there are both."""
    seeing = next((name for name in document["criteria"] if find(name).needs != "draws"), None)
    blind = next((name for name in document["criteria"] if find(name).needs == "draws"), None)
    return None if seeing is None or blind is None else (seeing, blind)


def _blind(document: Document, find: FindMeasure, label: Label) -> str:
    """What effective sample size, which does not see bias, would have chosen instead."""
    pair = _seeing_and_blind(document, find)
    if pair is None:
        return ""
    criteria, (seeing, blind) = document["criteria"], pair
    best, chosen = criteria[blind]["best"], criteria[seeing]
    subject = f"{sentence(find(blind).title)}, which does not see bias,"
    if best == chosen["best"]:
        return f"{subject} chooses the same: {label(best)}."
    verdict = "as good" if best in chosen["ties"] else "worse"
    return f"{subject} would have chosen {label(best)}; by measure {seeing} that is {verdict}."


def _sizes(document: Document, find: FindMeasure, label: Label) -> str:
    """How far off draws of the best setting are, and of the one that effective sample size would have chosen."""
    name, choice = leading(document, find), document["criteria"].get("bias")
    if name is None or choice is None:
        return ""
    best, blind = document["criteria"][name]["best"], document["criteria"].get("ess", choice)["best"]
    own, other = (row_of(choice, each)["median"] for each in (best, blind))
    if own is None or find(name).needs == "draws":
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
    return [f"{name}, {_seeds(seeds[name])}: {reason}" for name, reason in reasons.items()]


def _seeds(seeds: Sequence[int]) -> str:
    shown = ", ".join(map(str, seeds[:_SEEDS_SHOWN])) + (", ..." if len(seeds) > _SEEDS_SHOWN else "")
    return f"seed{'s' * (len(seeds) > 1)} {shown}"


def _which(choice: Choice, measure: DescribedMeasure) -> str:
    best = row_of(choice, choice["best"])
    failed = f" ({best['failed']} of them failed and count as worst)" if best["failed"] else ""
    first = (
        f"{sentence(setting_label(choice['best']))}: its median {measure.title} over "
        f"{count(best['scored'] + best['failed'], 'seed')}{failed} is {_proved(best, measure)}, the "
        f"{_extreme(measure)} of {count(len(choice['table']), 'setting')}."
    )
    return _joined(first, _next_best(choice, measure), _at_the_end(choice))


def _next_best(choice: Choice, measure: DescribedMeasure) -> str:
    others = [row for row in choice["table"] if row["settings"] != choice["best"] and row["median"] is not None]
    if not others:
        return ""
    sign = 1.0 if measure.smaller_is_better else -1.0
    second = min(others, key=lambda row: sign * row["median"])
    ratio = _times(second["median"], median_of(row_of(choice, choice["best"]), measure))
    named = f"{setting_label(second['settings'])} with {compact(second['median'])}"
    return f"Next comes {named}{ratio and f', {ratio} as large'}."


def _at_the_end(choice: Choice) -> str:
    """A caution where the best value of a number lies at the end of those tried."""
    for name, value in choice["best"].items():
        tried = [row["settings"].get(name) for row in choice["table"]]
        numbers = sorted({each for each in tried if isinstance(each, int | float) and not isinstance(each, bool)})
        others = [each for each in tried if each not in numbers and not isinstance(each, list)]
        if len(numbers) >= 3 and not others and value in (numbers[0], numbers[-1]):
            end, way = ("smallest", "smaller") if value == numbers[0] else ("largest", "larger")
            return f"It is the {end} {name.replace('_', ' ')} that was tried: try {way} ones as well."
    return ""


def _how_sure(choice: Choice, measure: DescribedMeasure) -> str:
    best = row_of(choice, choice["best"])
    spread = "There is one seed only, so that nothing is known of how chance moves the number."
    if (interval := interval_of(best, measure)) is not None:
        low, high = interval
        spread = (
            f"The {LEVEL:.0%} interval of that median, over the luck of the seeds and what the solver leaves open, is "
            f"{compact(low)} to {compact(high) if math.isfinite(high) else 'infinity'}."
        )
    solver = hold = ""
    if measure.claim != "estimated" and best["upper"] is not None:
        solver = f"For these very draws it is {claimed(measure.claim, *bracket_of(best, measure))}."
    if len(choice["table"]) > 1:
        hold = (
            f"The best setting and its ties together hold the setting whose true median is {_extreme(measure)} with "
            f"{LEVEL:.0%} confidence, the number of settings allowed for."
        )
    return _joined(spread, solver, hold)


def _ties(choice: Choice, measure: DescribedMeasure) -> str:
    others = len(choice["table"]) - 1
    if not others:
        return "There is no other setting."
    if not choice["ties"]:
        return f"Nothing: {'the other setting is' if others == 1 else f'all {others} other settings are'} told apart."
    medians = [compact(median_of(row_of(choice, tie), measure)) for tie in choice["ties"]]
    pairs = zip(choice["ties"], medians, strict=True)
    named = listed([f"{setting_label(tie)} (median {median})" for tie, median in pairs], most=4)
    return f"{sentence(named)}: on these seeds {'it' if len(medians) == 1 else 'each'} could as well be the best."


def _blind_grounds(document: Document, find: FindMeasure) -> str:
    """What the pick of effective sample size costs, in numbers."""
    pair = _seeing_and_blind(document, find)
    if pair is None:
        return ""
    (name, other), criteria = pair, document["criteria"]
    measure, choice, blind = find(name), criteria[name], criteria[other]
    pick = setting_label(blind["best"])
    own = f"Its median {find(other).title} is {compact(blind['median'])}."
    if blind["ties"]:
        own += f" By that measure {listed([setting_label(tie) for tie in blind['ties']])} cannot be told from it."
    if blind["best"] == choice["best"]:
        return own
    median = median_of(row_of(choice, blind["best"]), measure)
    if not math.isfinite(median):
        return f"{own} Half or more of its cells have no {measure.title} at all."
    ratio = _times(median, median_of(row_of(choice, choice["best"]), measure))
    theirs = compact(median_of(row_of(blind, choice["best"]), find(other)))
    off = (
        f"The best setting by {measure.title} has {theirs} there. Held against the target, {pick} has median "
        f"{measure.title} {compact(median)}{ratio and f', {ratio} that of the best'}"
    )
    if blind["best"] in choice["ties"]:
        return f"{own} {off}; the two cannot be told apart."
    return (
        f"{own} {off}. Effective sample size counts how freely a chain moves and is blind to where it goes: a chain "
        "that roams too far scores well by it."
    )


def _other(choice: Choice, other: Choice, measure: DescribedMeasure) -> str:
    median = median_of(row_of(other, other["best"]), measure)
    pick = f"{sentence(setting_label(other['best']))}, with median {compact(median)}"
    if other["best"] == choice["best"]:
        return f"{pick}: the same setting."
    if other["best"] in choice["ties"]:
        return f"{pick}: a setting that cannot be told from the best."
    return f"{pick}: another setting. The two measures see different faults; look at the draws before choosing."


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


def _times(value: float, best: float) -> str:
    """How many times as large a value is as the best; nothing where that is not defined."""
    return f"{value / best:.3g} times" if best > 0.0 and math.isfinite(value) else ""


def _joined(*sentences: str) -> str:
    return " ".join(filter(None, sentences))


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
        said = (verdict_sentence, modes_sentence, untested_sentence)
        judged = " ".join(filter(None, (say(document["verdict"]) for say in said)))
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
