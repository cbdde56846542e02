"""Sentences and tables about the choice of a setting."""

from __future__ import annotations

import math

from steinkit.measures import find_measure
from steinkit.result import Statement, bracket_column
from steinkit.sweeps.choice import TIED, Choice, SettingSummary
from steinkit.text import Table, bracket, compact, count, listed, sentence, setting_label, within


def choice_statements(choice: Choice) -> list[Statement]:
    """Describe the best setting, the confidence in it, and its ties."""
    return [
        Statement("choice", "Which setting is best?", _best(choice)),
        Statement("number", "How certain is the choice?", _confidence(choice)),
        Statement("comparison", "Which settings cannot be distinguished from it?", _ties(choice)),
    ]


def choice_table(choice: Choice) -> Table:
    """Return a table of the settings.

    It lists medians over the seeds, intervals and brackets.
    """
    measure, best = find_measure(choice.measure), choice.row
    proof, level = bracket_column(measure.claim), f"{choice.level:.0%} interval"
    rows = []
    for row in choice.rows:
        cells = [setting_label(row.settings), row.standing, _proved(row) if proof else shown(row.median)]
        cells.append("" if row.interval is None else " to ".join(map(shown, row.interval)))
        cells += [bracket(row.lower, row.upper)] if proof else []
        cost = "" if row.cost_per_draw is None else compact(row.cost_per_draw)
        rows.append((*cells, str(row.scored), str(row.failed), cost))
    interval = "" if best.interval is None else f" ({level} {' to '.join(map(shown, best.interval))})"
    chosen = f"{setting_label(best.settings)}, median {shown(best.median)}{interval}"
    columns = ("setting", "verdict", "median", level, *([proof] if proof else []), "scored", "failed", "cost per draw")
    caption = f"By {measure.title} ({_extreme(choice)} median): {chosen}"
    return Table(caption, columns, tuple(rows), choice.rows.index(best))


def choice_headline(choice: Choice) -> str:
    """State the choice in one sentence."""
    best, by, settings = setting_label(choice.best), find_measure(choice.measure).title, len(choice.rows)
    if settings == 1:
        return sentence(f"{best}, the only setting, has median {by} {compact(choice.median)}")
    if not choice.ties:
        return sentence(f"{best} is the best of {settings} settings by {by}, without ties")
    ties = listed([setting_label(tie) for tie in choice.ties], most=2, of="more settings")
    return sentence(f"{best} is the best of {settings} settings by {by}, but cannot be distinguished from {ties}")


def blind_sentence(choice: Choice, blind: Choice) -> str:
    """State the choice of a measure that does not detect bias."""
    subject = f"{sentence(find_measure(blind.measure).title)}, which does not detect bias,"
    if blind.best == choice.best:
        return f"{subject} chooses the same setting: {setting_label(blind.best)}."
    standing = "as good" if choice.of(blind.best).standing == TIED else "worse"
    return f"{subject} would choose {setting_label(blind.best)}, which is {standing} by measure {choice.measure}."


def bias_sentence(choice: Choice, bias: Choice) -> str:
    """State the bias of the best setting; empty if it is not known."""
    size = bias.of(choice.best).median
    if not math.isfinite(size):
        return ""
    best = setting_label(choice.best)
    return f"The bias of means and sds with {best} is {size:.2g} sd (root mean square, median over the seeds)."


def shown(value: float) -> str:
    """Return a number for a table; an infinite one stands for failed cells."""
    return "worst" if math.isinf(value) else compact(value)


def _proved(row: SettingSummary) -> str:
    """Return the median of a setting with the number of digits that its bracket has."""
    return within(row.median, row.lower, row.upper) if math.isfinite(row.upper) else shown(row.median)


def _extreme(choice: Choice) -> str:
    return "smallest" if find_measure(choice.measure).smaller_is_better else "largest"


def _best(choice: Choice) -> str:
    best = choice.row
    failed = f" ({best.failed} of them failed and count as worst)" if best.failed else ""
    text = (
        f"{sentence(setting_label(best.settings))} has a median {find_measure(choice.measure).title} of "
        f"{_proved(best)} over {count(best.cells, 'seed')}{failed}, the {_extreme(choice)} of "
        f"{count(len(choice.rows), 'setting')}."
    )
    if choice.at_end is not None:
        name, end = choice.at_end
        further = {"smallest": "smaller", "largest": "larger"}[end]
        text += f" It is the {end} {name.replace('_', ' ')} in the grid: try {further} values."
    return text


def _confidence(choice: Choice) -> str:
    interval = choice.interval
    text = "There is only one seed, so the variation between seeds is unknown."
    if interval is not None:
        low, high = map(compact, interval)
        text = (
            f"The {choice.level:.0%} interval of the median is {low} to {high}. It includes the variation between "
            "seeds and the brackets of the solver."
        )
    if len(choice.rows) > 1:
        text += (
            f" With {choice.level:.0%} confidence, adjusted for the number of settings, the best setting and its ties "
            f"contain the setting with the {_extreme(choice)} true median."
        )
    return text


def _ties(choice: Choice) -> str:
    others, ties = len(choice.rows) - 1, [row for row in choice.rows if row.standing == TIED]
    if not others:
        return "There is no other setting."
    if not ties:
        return "No other setting is tied with the best."
    named = listed([f"{setting_label(tie.settings)} (median {compact(tie.median)})" for tie in ties], most=4)
    return f"{sentence(named)} cannot be distinguished from the best setting with these seeds."
