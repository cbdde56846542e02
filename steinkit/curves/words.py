"""A curve in words and columns: the measure at each size, the rate, and what the rate does not prove."""

from __future__ import annotations

import math
import textwrap
from typing import TYPE_CHECKING

from steinkit.describe.numbers import rounded_outwards
from steinkit.measures import find_measure

if TYPE_CHECKING:
    from steinkit.curves.result import Curve

_WIDTH = 100


def describe(curve: Curve) -> str:
    """A table and a paragraph for a reader at a terminal."""
    paragraph = f"{_the_rate(curve)} {_what_it_means(curve)}"
    return "\n".join([*_table(curve), "", textwrap.fill(paragraph, _WIDTH, break_long_words=False)])


def _table(curve: Curve) -> list[str]:
    known = find_measure(curve.measure)
    header = ["draws", *(["cost"] if curve.cost is not None else []), "value"]
    header += ["proved between"] if known.has_bracket else []
    header += [f"{curve.level:.0%} interval of the median"] if curve.interval is not None else []
    rows = [header]
    for k in range(len(curve.n)):
        row = [f"{curve.n[k]:g}", *([f"{curve.cost[k]:g}"] if curve.cost is not None else []), _shown(curve.values[k])]
        if known.has_bracket:
            row.append(" and ".join(rounded_outwards(curve.lower[k], curve.upper[k])))
        if curve.interval is not None:
            row.append(" to ".join(_shown(end) for end in curve.interval[k]))
        rows.append(row)
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    what = f" (median of {len(curve.replicates)} samples)" if curve.interval is not None else ""
    lines = ["  ".join(f"{cell:>{width}}" for cell, width in zip(row, widths, strict=True)) for row in rows]
    return [f"{known.title} of the first draws{what}", *lines]


def _the_rate(curve: Curve) -> str:
    against = "draws" if curve.budget is None else "cost"
    if not math.isfinite(curve.rate):
        return "No rate could be fitted."
    low, high = curve.rate_interval
    source = (
        f"a {curve.level:.0%} bootstrap interval over the samples"
        if curve.interval_kind == "bootstrap"
        else f"a {curve.level:.0%} regression interval, which says how straight the line is: the points share draws, "
        "and another run may differ by more"
    )
    return (
        f"Over the last {curve.tail.sum()} points the measure goes like the {against} to the power {curve.rate:.2f} "
        f"({low:.2f} to {high:.2f}: {source})."
    )


def _what_it_means(curve: Curve) -> str:
    if not find_measure(curve.measure).smaller_is_better:
        return "An effective size that grows like the draws (power 1) speaks for mixing, not for the right target."
    return (
        "Independent draws have a power near -0.5. A curve that levels out shows the bias that more draws do not "
        "mend; one that still falls does not show that there is none."
    )


def _shown(value: float) -> str:
    return f"{value:.4g}" if math.isfinite(value) else "undefined"
