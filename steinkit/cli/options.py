"""Parts of the command line that commands share: how options and bounds are written."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from steinkit.errors import UsageError
from steinkit.measures.options import UNIT_WORDS
from steinkit.sample import Floats, Sample

if TYPE_CHECKING:
    from steinkit.discrepancy.verdict import Verdict


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

    return text if text is None or text in UNIT_WORDS else read_units(text)


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


def off_by(verdict: Verdict, delta: float | None) -> tuple[int, tuple[str, ...]]:
    """The exit code of --fail-if-off for a sample with enough draws, and what it cannot tell."""
    if delta is None or (verdict.bias is not None and verdict.bias.is_off_by(delta)):
        return int(delta is not None), ()
    known = verdict.bias is not None and verdict.bias.trusted.all()
    unsure = "--fail-if-off: how far some means are off is not known, so that they neither passed nor failed"
    return 0, () if known else (unsure,)


def as_threshold(context: click.Context, parameter: click.Parameter, value: float | None) -> float | None:
    """Read a threshold; nothing exceeds NaN, so that it would let everything pass."""
    if value is not None and math.isnan(value):
        raise click.BadParameter("a number is wanted; received nan")
    return value
