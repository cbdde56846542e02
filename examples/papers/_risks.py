"""Storage, comparison and plots of the risks of several tests, by data and by time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from _frame import Experiment
from _pictures import plot_risk
from _running_means import Risk
from matplotlib.ticker import LogFormatterMathtext, LogLocator, NullFormatter

LEVEL = 0.95


def kept(found: Risk) -> dict[str, Any]:
    """Convert a risk to the value of a cell."""
    names = ("against", "value", "interval", "squared_bias", "variance", "floor")
    return {name: getattr(found, name) for name in names}


def restored(document: Mapping[str, Any]) -> Risk:
    """Convert the value of a cell to a risk."""
    names = ("against", "value", "interval", "squared_bias", "variance")
    arrays = {name: np.array(document[name], dtype=float) for name in names}
    return Risk(**arrays, floor=document["floor"], level=LEVEL)


def at(found: Risk, place: float) -> tuple[float, float, float]:
    """Interpolate a risk and its interval at a budget, linearly in logarithms."""
    columns = (found.value, found.interval[:, 0], found.interval[:, 1])
    logs = (np.interp(np.log(place), np.log(found.against), np.log(column)) for column in columns)
    value, low, high = (float(np.exp(each)) for each in logs)
    return value, low, high


def compared(risks: Sequence[Risk], seconds: Sequence[float]) -> dict[str, list[tuple[float, float, float]]]:
    """Return risks and their intervals for equal data and for equal time.

    The amount of data and the time are the smallest among all the runs.
    """
    least, common = min(each.against[-1] for each in risks), min(seconds)
    return {
        "data": [at(each, least) for each in risks],
        "time": [at(each, common / took * each.against[-1]) for each, took in zip(risks, seconds, strict=True)],
    }


def claim_lowest(
    experiment: Experiment,
    epsilons: Sequence[float],
    risks: Sequence[Risk],
    seconds: Sequence[float],
    claims: Mapping[str, str],
    *,
    protocol: str = "",
) -> None:
    """Compare the lowest of several risks with the claims, by "data" or by "time".

    The first risk is that of the exact test.
    """
    for by, claim in claims.items():
        (value, low, high), *others = found = compared(risks, seconds)[by]
        best = int(np.argmin([each for each, _, _ in found]))
        experiment.result(
            claim,
            protocol=protocol,
            exact_low=low,
            exact_high=high,
            other_low=[each for _, each, _ in others],
            other_high=[each for _, _, each in others],
            text=f"epsilon {epsilons[best]:g}: {found[best][0]:.2g}; exact {value:.2g}",
        )


def draw(
    by_data: Any, by_time: Any, risks: Sequence[Risk], seconds: Sequence[float], labels: Sequence[str], colours: Any
) -> None:
    """Plot risks against the number of data points read by a chain, and against the time in seconds.

    Parameters
    ----------
    by_data, by_time : matplotlib Axes
        Axes of the two plots.
    risks : sequence of Risk
        Risks of the tests.
    seconds : sequence of float
        Times in seconds that the chains take for their full budgets.
    labels, colours : sequence of str
        Names of the tests in the legend, and colors of their lines.
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
        low, high = ax.get_ylim()
        ax.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 3.0, 5.0) if high < 50.0 * low else (1.0,)))
        ax.yaxis.set_major_formatter("{x:g}")
        ax.yaxis.set_minor_formatter(NullFormatter())
