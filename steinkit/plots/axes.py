"""What the pictures share: Axes of their own where none are given, and results as documents."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def axes_or_new(ax: Axes | None, size: tuple[float, float] | None = None) -> Any:
    """The Axes given, or those of a new figure of pyplot, its size in inches."""
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt

    return plt.subplots(figsize=size, layout="constrained")[1]


def document_of(result: Any) -> Mapping[str, Any]:
    """The JSON document of a result, or what is one already."""
    found: Mapping[str, Any] = result if isinstance(result, Mapping) else result.document
    return found
