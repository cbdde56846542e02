"""Parts of the command line that commands share: how a target, its options and its bounds are written."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import click
import numpy as np

from steinkit.errors import InputError, UsageError
from steinkit.measures.options import UNITS
from steinkit.sample import Floats, Sample
from steinkit.target import Target
from steinkit.targets import load_target, make_target

_CHECKED_DRAWS = 10


def key_values(pairs: Sequence[str]) -> dict[str, str]:
    """Read the ``key=value`` pairs of ``-p``."""
    values: dict[str, str] = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not (key.strip() and equals):
            raise UsageError(f"-p takes key=value; received {pair!r}")
        if key.strip() in values:
            raise UsageError(f"-p {key.strip()} is given twice")
        values[key.strip()] = value.strip()
    return values


def is_user_code(name: str) -> bool:
    """Whether a target is meant as ``path.py:attribute``; no built-in target has such a name."""
    return ":" in name or name.endswith(".py")


def target_for(name: str, pairs: Sequence[str], sample: Sample, check: bool) -> tuple[Target, tuple[str, ...]]:
    """The target a user names, for a sample, and what its user should know of it.

    A target from the user's own code that has a log density has its score checked against it at a few draws.
    """
    options = key_values(pairs)
    if not is_user_code(name):
        return make_target(name, options, sample.dim), ()
    if options:
        raise UsageError("-p options are for built-in targets; set them inside your Python file instead")
    target = load_target(name)
    return target, _check(target, sample) if check and target.can_be_checked else ()


def _check(target: Target, sample: Sample) -> tuple[str, ...]:
    """Compare the score with the log density at draws that carry weight."""
    carried = np.flatnonzero(sample.probabilities > 0.0)
    rows = np.unique(np.linspace(0, len(carried) - 1, _CHECKED_DRAWS).round().astype(int))
    points = sample.points[carried[rows]]
    try:
        target.score(points)
    except InputError:
        return ()  # scoring fails likewise, and names the draw by its place in the sample, not among these few
    if target.check(points).compared:
        return ()
    return ("finite differences were too inaccurate to check the target's score against its log density",)


def bounds_for(texts: Sequence[str], sample: Sample) -> Floats | None:
    """Read ``--bounds``: LOWER,UPPER once for all coordinates or once for each in order, or NAME=LOWER,UPPER."""
    if not texts:
        return None
    named = [text for text in texts if "=" in text]
    if named and len(named) < len(texts):
        raise UsageError("--bounds: write either NAME=LOWER,UPPER for all that are bounded, or LOWER,UPPER throughout")
    if named:
        bounds = np.tile([-np.inf, np.inf], (sample.dim, 1))
        for text in named:
            name, _, pair = text.rpartition("=")
            if name not in sample.names:
                raise UsageError(f"--bounds: no coordinate named {name!r}; the sample has {', '.join(sample.names)}")
            if np.isfinite(bounds[sample.names.index(name)]).any():
                raise UsageError(f"--bounds {name} is given twice")
            bounds[sample.names.index(name)] = _pair(pair)
        return bounds
    pairs = np.array([_pair(text) for text in texts])
    if len(pairs) not in (1, sample.dim):
        raise UsageError(f"--bounds: {len(pairs)} pairs for {sample.dim} coordinates; give one, or one for each")
    return np.broadcast_to(pairs, (sample.dim, 2)).copy()


def units_for(text: str | None) -> Any:
    """Read ``--units``: a word, or a JSON file with a scale or with units that ``--json`` printed."""
    from steinkit.measures.units import read_units

    return text if text is None or text in UNITS.words else read_units(text)


def _pair(text: str) -> tuple[float, float]:
    try:
        lower, upper = map(float, text.split(","))
    except ValueError:
        raise UsageError(f"--bounds takes LOWER,UPPER such as 0,1 or 0,inf; received {text!r}") from None
    if not lower < upper:
        raise UsageError(f"--bounds: the lower bound must lie below the upper one; received {text!r}")
    return lower, upper


def name_list(context: click.Context, parameter: click.Parameter, text: str | None) -> list[str] | None:
    """Read ``--columns``: names between commas."""
    return None if text is None else [name.strip() for name in text.split(",") if name.strip()]


def as_threshold(context: click.Context, parameter: click.Parameter, value: float | None) -> float | None:
    """Read a threshold; nothing exceeds NaN, so that it would let everything pass."""
    if value is not None and math.isnan(value):
        raise click.BadParameter("a number is wanted; received nan")
    return value
