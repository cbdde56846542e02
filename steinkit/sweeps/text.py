"""Sentences and tables about the choice of a setting."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping

from steinkit.measures import find_measure
from steinkit.result import UNVISITED, Statement, bracket_column
from steinkit.sweeps.choice import TIED, Choice
from steinkit.text import Table, bracket, compact, listed, sentence, setting_label, within

_LIMITS = (
    "The setting is the best in the grid for chains of this length, but its draws may still be biased. Longer chains "
    f"favor settings with less bias. {UNVISITED}"
)


def choice_statements(choice: Choice, blind: Choice | None) -> list[Statement]:
    """Describe the best setting, its ties and the confidence in the choice.

    The argument `blind` is the choice based on a measure that does not detect bias.
    """
    best = f"{choice_headline(choice)}."
    if choice.at_end is not None:
        name, end = choice.at_end
        further = {"smallest": "smaller", "largest": "larger"}[end]
        best += f" The best setting has the {end} {name.replace('_', ' ')} in the grid; try {further} values."
    certain = (
        f"With {choice.level:.0%} confidence, adjusted for the number of settings, the best setting and its ties "
        f"contain the setting with the {_extreme(choice)} true median."
    )
    found = [Statement("choice", "Which setting is best?", best)]
    if len(choice.rows) > 1:
        found.append(Statement("number", "How certain is the choice?", certain))
    if blind is not None and blind is not choice:
        title = find_measure(blind.measure).title
        standing = "as good" if choice.of(blind.best).standing == TIED else "worse"
        picks = f"would choose {setting_label(blind.best)}, which is {standing} by measure {choice.measure}"
        if blind.best == choice.best:
            picks = "chooses the same setting"
        other = f"{sentence(title)}, which does not detect bias, {picks}."
        found.append(Statement("comparison", f"Which setting would {title} choose?", other))
    return [*found, Statement("limits", "What are the limits of the choice?", _LIMITS)]


def choice_table(choice: Choice) -> Table:
    """Tabulate the medians over the seeds, with one row per setting.

    The table also contains intervals and brackets for the medians.
    """
    measure, level = find_measure(choice.measure), f"{choice.level:.0%} interval"
    proof, rows = bracket_column(measure.claim), []
    for row in choice.rows:
        is_proved = proof and math.isfinite(row.upper)
        median = within(row.median, row.lower, row.upper) if is_proved else shown(row.median)
        interval = "" if row.interval is None else " to ".join(map(shown, row.interval))
        proved = [bracket(row.lower, row.upper)] if proof else []
        cost = "" if row.cost_per_draw is None else compact(row.cost_per_draw)
        names = setting_label(row.settings), row.standing
        rows.append((*names, median, interval, *proved, str(row.scored), str(row.failed), cost))
    columns = ("setting", "verdict", "median", level, *([proof] if proof else []), "scored", "failed", "cost per draw")
    caption = f"By {measure.title}, {setting_label(choice.best)} has the {_extreme(choice)} median"
    return Table(caption, columns, tuple(rows), choice.rows.index(choice.row))


def budget_statement(choices: Mapping[int, Choice]) -> Statement:
    """State the best setting at each budget."""
    measure, parts = next(iter(choices.values())).measure, []
    for best, group in itertools.groupby(choices, key=lambda budget: setting_label(choices[budget].best)):
        first, *_, last = [f"{budget:,}" for budget in group for _ in range(2)]
        parts.append(f"{best} {f'at {first}' if first == last else f'from {first} to {last}'}")
    answer = f"By {find_measure(measure).title}: {'; '.join(parts)} likelihood evaluations."
    return Statement("choice", "Which setting is best at which budget?", answer)


def budget_table(choices: Mapping[int, Choice]) -> Table:
    """Tabulate the best setting and its ties, with one row per budget."""
    rows = []
    for budget, choice in choices.items():
        interval = "" if choice.interval is None else " to ".join(map(shown, choice.interval))
        ties = listed([setting_label(tie) for tie in choice.ties], most=2, of="more settings") if choice.ties else ""
        rows.append((f"{budget:,}", setting_label(choice.best), ties, shown(choice.median), interval))
    columns = ("budget", "best setting", "tied", "median", f"{choice.level:.0%} interval")
    return Table(f"Best setting at each budget by {find_measure(choice.measure).title}", columns, tuple(rows))


def choice_headline(choice: Choice) -> str:
    """State the choice in one sentence."""
    best, by, settings = setting_label(choice.best), find_measure(choice.measure).title, len(choice.rows)
    if settings == 1:
        return sentence(f"{best}, the only setting, has a median {by} of {compact(choice.median)}")
    tied = "without ties"
    if choice.ties:
        ties = listed([setting_label(tie) for tie in choice.ties], most=2, of="more settings")
        tied = f"but cannot be distinguished from {ties}"
    return sentence(f"{best} is the best of {settings} settings by {by}, {tied}")


def shown(value: float) -> str:
    """Format a number for a table, with "worst" for infinite medians."""
    return "worst" if math.isinf(value) else compact(value)


def _extreme(choice: Choice) -> str:
    return "smallest" if find_measure(choice.measure).smaller_is_better else "largest"
