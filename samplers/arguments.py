"""Checks of the numbers that samplers, tests and proposals take as arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from steinkit.errors import UsageError


def whole(value: Any, name: str, least: int) -> int:
    """``value`` as a whole number of at least ``least``."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise UsageError(f"{name} must be a whole number of at least {least}; received {value!r}")
    return int(value)


def positive(value: Any, name: str) -> float:
    """``value`` as a positive finite number."""
    return number(value, name, lambda x: 0.0 < x < np.inf, "positive and finite")


def share(value: Any, name: str) -> float:
    """``value`` as a number in [0, 1]."""
    return number(value, name, lambda x: 0.0 <= x <= 1.0, "in [0, 1]")


def number(value: Any, name: str, allowed: Callable[[float], bool], wanted: str) -> float:
    """``value`` as a number that is allowed."""
    if (
        isinstance(value, bool)
        or not isinstance(value, int | float | np.integer | np.floating)
        or not allowed(float(value))
    ):
        raise UsageError(f"{name} must be a number, {wanted}; received {value!r}")
    return float(value)


def batch_within(batch_size: int | None, default: int, size: int) -> int:
    """Batch size to use: as given, at most N, or the default, or N where that is less."""
    if batch_size is None:
        return min(default, size)
    if whole(batch_size, "batch_size", 1) > size:
        raise UsageError(f"batch_size must be at most the number of data, {size}; received {batch_size}")
    return int(batch_size)
