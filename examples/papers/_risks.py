"""Risks of several tests: as cells keep them, which of them is the lowest, and their picture by data and by time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from _pictures import plot_risk
from _running_means import Risk
from matplotlib.ticker import LogFormatterMathtext, LogLocator, NullFormatter

LEVEL = 0.95


def kept(found: Risk) -> dict[str, Any]:
    """A risk as a cell returns it."""
    names = ("against", "value", "interval", "squared_bias", "variance", "floor")
    return {name: getattr(found, name) for name in names}


def restored(document: Mapping[str, Any]) -> Risk:
    """The risk that a cell returned."""
    names = ("against", "value", "interval", "squared_bias", "variance")
    arrays = {name: np.array(document[name], dtype=float) for name in names}
    return Risk(**arrays, floor=document["floor"], level=LEVEL)


def at(found: Risk, place: float) -> tuple[float, float, float]:
    """A risk and its interval at a budget within its grid, by straight lines between logarithms."""
    columns = (found.value, found.interval[:, 0], found.interval[:, 1])
    logs = (np.interp(np.log(place), np.log(found.against), np.log(column)) for column in columns)
    value, low, high = (float(np.exp(each)) for each in logs)
    return value, low, high


def beaten(risks: Sequence[tuple[float, float, float]]) -> bool | None:
    """Whether the first of several risks, each with its interval, is beaten by another; see `lowest`."""
    first = lowest(risks, 0)
    return None if first is None else not first


def lowest(risks: Sequence[tuple[float, float, float]], chosen: int) -> bool | None:
    """Whether one of several risks, each with its interval, is the lowest.

    Yes if its interval lies below those of all others, no if the interval of another lies below its own; None where
    they overlap, so that it cannot be told.
    """
    (_, low, high), others = risks[chosen], [*risks[:chosen], *risks[chosen + 1 :]]
    if any(other_high < low for _, _, other_high in others):
        return False
    return True if all(high < other_low for _, other_low, _ in others) else None


def draw(
    by_data: Any, by_time: Any, risks: Sequence[Risk], seconds: Sequence[float], labels: Sequence[str], colours: Any
) -> None:
    """Draw risks against the data that a chain has read, and against the seconds that it has taken.

    Parameters
    ----------
    by_data, by_time : matplotlib Axes
    risks : sequence of Risk
    seconds : sequence of float
        That chains take for all of their budgets.
    labels, colours : sequence of str
    """
    for color, label, found, took in zip(colours, labels, risks, seconds, strict=True):
        plot_risk(found, by_data, label=label, color=color)
        plot_risk(found, by_time, color=color, unit=took / found.against[-1])
    by_data.set(xlabel="data read by a chain", ylabel="risk")
    by_time.set(xlabel="seconds of a chain", ylabel="")
    for ax in (by_data, by_time):
        ax.xaxis.set_major_locator(LogLocator())
        ax.xaxis.set_major_formatter(LogFormatterMathtext())
        ax.xaxis.set_minor_formatter(NullFormatter())
        ax.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 3.0, 5.0)))
        ax.yaxis.set_major_formatter("{x:g}")
        ax.yaxis.set_minor_formatter(NullFormatter())
