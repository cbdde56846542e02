"""The verdict of a sweep in words: which setting, how sure, what ties, what went wrong, and what is not proved."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from steinkit.describe.numbers import bracket, count, listed, number, sentence
from steinkit.measures import Measure, find_measure
from steinkit.report.wording import paragraphs, seeds_words, setting_words
from steinkit.sweeps.choice import Choice, SettingSummary

_FAILURES_NAMED = 4


def leading(criteria: Mapping[str, Choice]) -> Choice | None:
    """The choice that the verdict goes by: of the first discrepancy, else of the first measure."""
    discrepancies = [choice for name, choice in criteria.items() if find_measure(name).smaller_is_better]
    return next(iter([*discrepancies, *criteria.values()]), None)


def headline(criteria: Mapping[str, Choice], document: Mapping[str, Any]) -> str:
    """The verdict in one sentence."""
    choice = leading(criteria)
    if choice is None:
        return f"No setting could be chosen: {document['failed']} of {count(document['cells'], 'cell')} failed"
    best, by = setting_words(choice.best), find_measure(choice.measure).title
    if len(choice.rows) == 1:
        return sentence(f"{best}, the only setting, has median {by} {number(choice.median)}")
    if not choice.ties:
        return sentence(f"{best} is the best of {len(choice.rows)} settings by {by}, and none ties with it")
    ties = listed([setting_words(tie) for tie in choice.ties], most=2, of="more settings")
    return sentence(f"{best} is the best of {len(choice.rows)} settings by {by}, but {ties} cannot be told from it")


def answers(criteria: Mapping[str, Choice], document: Mapping[str, Any], draws: int | None) -> list[tuple[str, str]]:
    """Questions that a reader has, and their answers.

    Parameters
    ----------
    criteria : mapping of str to Choice
    document : mapping
        As ``steinkit sweep --json`` prints it.
    draws : int, optional
        Draws of each chain, where they are known.
    """
    choice = leading(criteria)
    found = []
    if choice is not None:
        found += [
            ("Which setting?", _which(choice)),
            ("How sure is that?", _how_sure(choice)),
            ("What cannot be told from it?", _ties(choice)),
        ]
        blind = criteria.get("ess")
        if blind is not None and blind is not choice:
            found.append(("What would effective sample size have picked?", _blind(choice, blind)))
        others = [each for name, each in criteria.items() if each is not choice and name != "ess"]
        found += [(f"And by {find_measure(each.measure).title}?", _other(choice, each)) for each in others]
    found.append(("Did anything fail?", _failures(document)))
    if document.get("racing"):
        found.append(("Was every cell run?", _racing(document["racing"])))
    if choice is not None:
        found.append(("What does this not prove?", _limits(choice, draws)))
    return found


def row_of(choice: Choice, settings: Mapping[str, Any]) -> SettingSummary:
    """The row of a setting."""
    return next(row for row in choice.rows if row.settings == settings)


def times(value: float, best: float) -> str:
    """How many times as large a value is as the best; nothing where that is not defined."""
    return f"{value / best:.3g} times" if best > 0.0 and math.isfinite(value) else ""


def _which(choice: Choice) -> str:
    measure, best = find_measure(choice.measure), row_of(choice, choice.best)
    extreme = "smallest" if measure.smaller_is_better else "largest"
    failed = f" ({best.failed} of them failed and count as worst)" if best.failed else ""
    first = (
        f"{sentence(setting_words(choice.best))}: its median {measure.title} over "
        f"{count(best.scored + best.failed, 'seed')}{failed} is {number(choice.median)}, the {extreme} of "
        f"{count(len(choice.rows), 'setting')}."
    )
    return paragraphs([first, _next_best(choice, measure), _at_the_end(choice)])


def _next_best(choice: Choice, measure: Measure) -> str:
    rest = [row for row in choice.rows if row.settings != choice.best and math.isfinite(row.median)]
    if not rest:
        return ""
    sign = 1.0 if measure.smaller_is_better else -1.0
    second = min(rest, key=lambda row: sign * row.median)
    ratio = times(second.median, choice.median)
    return f"Next comes {setting_words(second.settings)} with {number(second.median)}{ratio and f', {ratio} as large'}."


def _at_the_end(choice: Choice) -> str:
    """A caution where the best value of a number lies at the end of those tried."""
    for name, value in choice.best.items():
        tried = {row.settings.get(name) for row in choice.rows if not isinstance(row.settings.get(name), list)}
        if len(tried) < 3 or not all(isinstance(each, int | float) and not isinstance(each, bool) for each in tried):
            continue
        numbers = sorted(each for each in tried if isinstance(each, int | float))
        if value in (numbers[0], numbers[-1]):
            end, way = ("smallest", "smaller") if value == numbers[0] else ("largest", "larger")
            return f"It is the {end} {name.replace('_', ' ')} that was tried: try {way} ones as well."
    return ""


def _how_sure(choice: Choice) -> str:
    best, measure = row_of(choice, choice.best), find_measure(choice.measure)
    if best.interval is None:
        spread = "There is one seed only, so that nothing is known of how chance moves the number."
    else:
        low, high = best.interval
        ends = f"{number(low)} to {number(high) if math.isfinite(high) else 'infinity'}"
        spread = (
            f"The {choice.level:.0%} interval of that median, over the luck of the seeds and what the solver leaves "
            f"open, is {ends}."
        )
    solver = ""
    if measure.has_bracket and math.isfinite(best.upper):
        solver = f"The solver, for these very draws, certifies it within {bracket(best.lower, best.upper)}."
    hold = ""
    if len(choice.rows) > 1:
        hold = (
            f"The best setting and its ties together hold the setting whose true median is {_least(measure)} with "
            f"{choice.level:.0%} confidence, the number of settings allowed for."
        )
    return paragraphs([spread, solver, hold])


def _least(measure: Measure) -> str:
    return "smallest" if measure.smaller_is_better else "largest"


def _ties(choice: Choice) -> str:
    others = len(choice.rows) - 1
    if not others:
        return "There is no other setting."
    if not choice.ties:
        return f"Nothing: {'the other setting is' if others == 1 else f'all {others} other settings are'} told apart."
    rows = [row_of(choice, tie) for tie in choice.ties]
    named = listed([f"{setting_words(row.settings)} (median {number(row.median)})" for row in rows], most=4)
    return f"{sentence(named)}: on these seeds {'it' if len(rows) == 1 else 'each'} could as well be the best."


def _blind(choice: Choice, blind: Choice) -> str:
    measure, pick = find_measure(choice.measure), row_of(choice, blind.best)
    first = f"{sentence(setting_words(blind.best))}, with a median effective sample size of {number(blind.median)}."
    if blind.ties:
        ties = listed([setting_words(tie) for tie in blind.ties])
        first += f" By that measure {ties} cannot be told from it."
    if blind.best == choice.best:
        return f"{first} That is the same setting."
    if not math.isfinite(pick.median):
        return f"{first} Half or more of its cells have no {measure.title} at all."
    ratio = times(pick.median, choice.median)
    own = row_of(blind, choice.best)
    off = (
        f"The best setting by {measure.title} has {number(own.median)} there. Held against the target, "
        f"{setting_words(blind.best)} has median {measure.title} {number(pick.median)}"
        f"{ratio and f', {ratio} that of the best'}"
    )
    if blind.best in choice.ties:
        return f"{first} {off}; the two cannot be told apart."
    return (
        f"{first} {off}. Effective sample size counts how freely a chain moves and is blind to where it goes: a chain "
        "that roams too far scores well by it."
    )


def _other(choice: Choice, other: Choice) -> str:
    pick = f"{sentence(setting_words(other.best))}, with median {number(other.median)}"
    if other.best == choice.best:
        return f"{pick}: the same setting."
    if other.best in choice.ties:
        return f"{pick}: a setting that cannot be told from the best."
    return f"{pick}: another setting. The two measures see different faults; look at the draws before choosing."


def _failures(document: Mapping[str, Any]) -> str:
    failed, cells = document["failed"], document["cells"]
    if not failed:
        return f"No: all {count(cells, 'cell')} (a setting with a seed each) were scored."
    entries: Sequence[Mapping[str, Any]] = document["failures"]
    shown = "\n".join(
        f"{sentence(setting_words(entry['settings']))}, seed {seeds_words(entry['seeds'])}: {entry['reason']}"
        for entry in entries[:_FAILURES_NAMED]
    )
    more = "\nThe rest stands in the table of failures." if len(entries) > _FAILURES_NAMED else ""
    return (
        f"{failed} of {count(cells, 'cell')} failed. A failed cell counts as the worst there can be, so that no "
        f"setting wins by its survivors.\n{shown}{more}"
    )


def _racing(racing: Mapping[str, Any]) -> str:
    dropped = [f"{name} ({reason})" for name, reason in racing["dropped"].items()]
    gone = f" Dropped early, by evidence on few seeds: {'; '.join(dropped)}." if dropped else " No setting was dropped."
    return (
        f"No, the settings raced: {racing['cells_run']} cells were run beside the {racing['cells_full']} of the full "
        f"sweep, and about {racing['saved']:.0%} of its work was saved.{gone}"
    )


def _limits(choice: Choice, draws: int | None) -> str:
    length = "chains of this length" if draws is None else f"chains of {draws} draws"
    limits = ["That the sample is good: it is the best of those tried, and how good that is takes a reference to say."]
    if choice.measure == "ess":
        limits.append("That the chains converge to the target: effective sample size does not know it.")
    elif choice.measure != "wasserstein":
        limits.append(
            "That all of the target was visited: a mode that no draw has come near changes nothing that a Stein "
            "discrepancy sees."
        )
    limits.append(
        f"Anything about other lengths: this is for {length}, and longer ones favour settings with less bias."
    )
    return "\n".join(limits)
