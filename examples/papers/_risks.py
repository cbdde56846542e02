"""Risks of several tests, as cells keep them, and which of them is the lowest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from steinkit.curves import Risk

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
    """Whether the first of several risks, each with its interval, is beaten by another.

    Yes if the interval of another lies below its own, no if its own lies below those of all others; None where they
    overlap, so that it cannot be told.
    """
    (_, low, high), *others = risks
    if any(other_high < low for _, _, other_high in others):
        return True
    return False if all(high < other_low for _, other_low, _ in others) else None
