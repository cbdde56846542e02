"""The picture of a tuned setting: the places of all settings on each rung, and which went on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steinkit.describe.labels import setting_key, setting_label
from steinkit.errors import printable
from steinkit.sweeps.tuning import TuningResult

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_CHOSEN, _OTHER = "#D55E00", "0.7"


def tuning(result: TuningResult, ax: Axes) -> None:
    """Draw a line a setting, from rung to rung, the best on top; the chosen one stands out and is named."""
    places: dict[str, list[tuple[int, int]]] = {}
    for rung in result.rungs:
        for place, name in enumerate(sorted(rung.losses, key=rung.losses.__getitem__), start=1):
            places.setdefault(name, []).append((rung.length, place))
    best = setting_key(result.setting)
    for name, path in places.items():
        lengths, at = zip(*path, strict=True)
        is_best = name == best
        ax.plot(lengths, at, "o-", color=_CHOSEN if is_best else _OTHER, lw=2 if is_best else 1, zorder=2 + is_best)
    ax.set_xscale("log")
    ax.set_yticks(range(1, len(places) + 1, max(1, len(places) // 9)))
    ax.invert_yaxis()
    ax.set_xlabel(f"length of the chains, in {'evaluations' if result.resource == 'budget' else 'draws'}")
    ax.set_ylabel("rank of the setting")
    ax.set_title(f"Chosen: {printable(setting_label(result.setting))}", color=_CHOSEN)
