"""What is said of choices among settings: which one is best, how sure that is, what ties, and what is not proved."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from steinkit.diagnosis.missed_modes import MissedMode
from steinkit.measures import find_measure
from steinkit.result import Statement, bracket_column, claimed
from steinkit.sweeps.cells import Setting
from steinkit.sweeps.choice import TIED, Choice, SettingSummary
from steinkit.sweeps.scheduler import Rung
from steinkit.text import Table, bracket, compact, count, listed, seeds_label, sentence, setting_label, within

_FAILURES_SHOWN = 4
_SHOWN_NUMBERS = 4  # of a draw
RESOURCES = {"budget": "evaluations of single data", "draws": "draws"}


def choice_statements(choice: Choice) -> list[Statement]:
    """Say which setting, how sure that is, and what cannot be told from it."""
    return [
        Statement("choice", "Which setting?", _which(choice)),
        Statement("number", "How sure is that?", _how_sure(choice)),
        Statement("comparison", "What cannot be told from it?", _ties(choice)),
    ]


def choice_table(choice: Choice) -> Table:
    """List every setting with its standing, its median over the seeds and what is known of that."""
    measure, best = find_measure(choice.measure), choice.row
    proof = bracket_column(measure.claim)
    level = f"{choice.level:.0%} interval"
    rows = []
    for row in choice.rows:
        cells = [setting_label(row.settings), row.standing, _proved(row) if proof else _shown(row.median)]
        cells.append("" if row.interval is None else " to ".join(map(_shown, row.interval)))
        cells += [bracket(row.lower, row.upper)] if proof else []
        rows.append(
            (*cells, str(row.scored), str(row.failed), "" if row.cost_per_draw is None else compact(row.cost_per_draw))
        )
    known = "" if best.interval is None else f" ({level} {' to '.join(map(_shown, best.interval))})"
    pick = f"{setting_label(best.settings)}, median {_shown(best.median)}{known}"
    columns = ("setting", "verdict", "median", level, *([proof] if proof else []), "scored", "failed", "cost a draw")
    caption = f"By {measure.title} ({_extreme(choice)} median): {pick}"
    return Table(caption, columns, tuple(rows), choice.rows.index(best))


def choice_headline(choice: Choice) -> str:
    """Say the choice in one sentence."""
    best, by, settings = setting_label(choice.best), find_measure(choice.measure).title, len(choice.rows)
    if settings == 1:
        return sentence(f"{best}, the only setting, has median {by} {compact(choice.median)}")
    if not choice.ties:
        return sentence(f"{best} is the best of {settings} settings by {by}, and none ties with it")
    ties = listed([setting_label(tie) for tie in choice.ties], most=2, of="more settings")
    return sentence(f"{best} is the best of {settings} settings by {by}, but {ties} cannot be told from it")


def blind_sentence(choice: Choice, blind: Choice) -> str:
    """Say what a measure that does not see bias would have chosen instead."""
    subject = f"{sentence(find_measure(blind.measure).title)}, which does not see bias,"
    if blind.best == choice.best:
        return f"{subject} chooses the same: {setting_label(blind.best)}."
    standing = "as good" if choice.of(blind.best).standing == TIED else "worse"
    return f"{subject} would have chosen {setting_label(blind.best)}; by measure {choice.measure} that is {standing}."


def sizes_sentence(choice: Choice, bias: Choice, blind: Choice | None) -> str:
    """Say how far off draws of the best setting are, and of the one that the blind measure would have chosen."""
    own = bias.of(choice.best).median
    if not math.isfinite(own):
        return ""
    said = f"Means and sds of draws with {setting_label(choice.best)} are off by {own:.2g} sd"
    said += " (root mean square, median over the seeds)"
    if blind is not None and blind.best != choice.best and math.isfinite(other := bias.of(blind.best).median):
        title = find_measure(blind.measure).title
        said += f"; with {setting_label(blind.best)}, which {title} would have chosen, by {other:.2g} sd"
    return f"{said}."


def missed_sentence(mode: MissedMode, finder: Setting) -> str:
    """Say where other settings found a mode that the best one's chain missed."""
    place = [f"{name} {compact(value)}" for name, value in mode.place.items()]
    shown = ", ".join([*place[:_SHOWN_NUMBERS], *(["..."] if len(place) > _SHOWN_NUMBERS else [])])
    return (
        f"The chain of the best setting missed a mode that others found: {mode.draws} of "
        f"{count(mode.of, 'draw')} looked at of {setting_label(finder)} lie where the target is denser than at "
        "a tenth of its own draws, but beyond a valley of less than half their density, seen from its draws that are "
        f"about as dense; the densest at {shown}. A Stein discrepancy does not see what no draw has come near: run "
        "longer chains, or start them in all modes."
    )


def race_statements(dropped: Mapping[str, str], run: int, full: int) -> list[Statement]:
    """Say how many of all cells racing ran, and what it dropped and why."""
    lines = [f"Racing ran {run} cells where the full sweep has {full}."]
    lines += [f"Dropped {name}: {reason}." for name, reason in dropped.items()]
    return [Statement("limits", "Was every cell run?", each) for each in lines]


def failure_statements(lines: Sequence[tuple[str, Sequence[int], str]], failed: int, cells: int) -> list[Statement]:
    """Say how many cells failed, and the first reasons: setting, seeds, reason."""
    said = [f"All {count(cells, 'cell')} (a setting with a seed each) were scored."]
    if failed:
        worst = "A failed cell counts as the worst there can be, so that no setting wins by its survivors."
        said = [f"{failed} of {count(cells, 'cell')} failed. {worst}"]
        for name, seeds, reason in lines[:_FAILURES_SHOWN]:
            said.append(f"{sentence(name)}, seed{'s' * (len(seeds) > 1)} {seeds_label(seeds)}: {reason}.")
        said += ["The rest stands in the table of failures."] if len(lines) > _FAILURES_SHOWN else []
    return [Statement("limits", "Did anything fail?", each) for each in said]


def limits_sentence(choice: Choice, draws: int | None) -> str:
    """Say what the choice does not prove; of chains of so many draws, where all have the same number."""
    measure = find_measure(choice.measure)
    length = "chains of this length" if draws is None else f"chains of {draws} draws"
    seen = {
        "draws": f"that the chains converge to the target: {measure.title} does not know it",
        "scores": "that all of the target was visited: a mode that no draw has come near changes nothing that a Stein "
        "discrepancy sees",
        "target": "",
    }[measure.needs]
    return (
        "This does not prove that the sample is good: it is the best of those tried. "
        f"{f'Nor does it prove {seen}. ' if seen else ''}"
        f"It holds for {length}; longer ones favor settings with less bias."
    )


def rungs_table(rungs: Sequence[Rung], resource: str) -> Table:
    """List what each setting lost on each rung, those that went furthest first."""
    caption = f"Medians over the seeds, by a measure at chains of so many {RESOURCES[resource]}"
    names = dict.fromkeys(name for rung in reversed(rungs) for name in rung.ranked)
    heads = [f"{rung.measure} at {rung.length:,}" for rung in rungs]
    rows = [(name, *(_shown(rung.losses[name]) if name in rung.losses else "" for rung in rungs)) for name in names]
    return Table(caption, ("setting", *heads), tuple(rows), 0)


def ladder_sentence(rungs: Sequence[Rung], resource: str) -> str:
    """Say how many settings ran with which chains, and by what they were ordered."""
    ladder = "; ".join(
        f"{count(len(rung.losses), 'setting')} with chains of {rung.length:,}, by {find_measure(rung.measure).title}"
        for rung in rungs
    )
    return f"In turn, chains counted in {RESOURCES[resource]}: {ladder}."


def _shown(value: float) -> str:
    """A number as tables have it, in which an infinite one stands for cells that failed."""
    return "worst" if math.isinf(value) else compact(value)


def _proved(row: SettingSummary) -> str:
    """A setting's median to the digits of its bracket, which stands beside it."""
    return within(row.median, row.lower, row.upper) if math.isfinite(row.upper) else _shown(row.median)


def _extreme(choice: Choice) -> str:
    return "smallest" if find_measure(choice.measure).smaller_is_better else "largest"


def _which(choice: Choice) -> str:
    best = choice.row
    failed = f" ({best.failed} of them failed and count as worst)" if best.failed else ""
    said = (
        f"{sentence(setting_label(best.settings))}: its median {find_measure(choice.measure).title} over "
        f"{count(best.cells, 'seed')}{failed} is {_proved(best)}, the {_extreme(choice)} of "
        f"{count(len(choice.rows), 'setting')}."
    )
    if choice.at_end is not None:
        name, end = choice.at_end
        way = {"smallest": "smaller", "largest": "larger"}[end]
        said += f" It is the {end} {name.replace('_', ' ')} that was tried: try {way} ones as well."
    return said


def _how_sure(choice: Choice) -> str:
    best, measure = choice.row, find_measure(choice.measure)
    said = ["There is one seed only, so that nothing is known of how chance moves the number."]
    if best.interval is not None:
        low, high = best.interval
        said = [
            f"The {choice.level:.0%} interval of that median, over the luck of the seeds and what the solver leaves "
            f"open, is {compact(low)} to {compact(high) if math.isfinite(high) else 'infinity'}."
        ]
    if measure.has_bracket and math.isfinite(best.upper):
        said.append(f"For these very draws it is {claimed(measure.claim, best.lower, best.upper)}.")
    if len(choice.rows) > 1:
        said.append(
            f"The best setting and its ties together hold the setting whose true median is {_extreme(choice)} with "
            f"{choice.level:.0%} confidence, the number of settings allowed for."
        )
    return " ".join(said)


def _ties(choice: Choice) -> str:
    others, ties = len(choice.rows) - 1, [row for row in choice.rows if row.standing == TIED]
    if not others:
        return "There is no other setting."
    if not ties:
        return f"{'The other setting is' if others == 1 else f'The {others} other settings are'} told apart from it."
    named = listed([f"{setting_label(tie.settings)} (median {compact(tie.median)})" for tie in ties], most=4)
    return f"{sentence(named)}: on these seeds {'it' if len(ties) == 1 else 'each'} could as well be the best."
