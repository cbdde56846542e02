"""Facts that the parts of a page share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from steinkit.describe.labels import units_label


def units_fact(document: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """The units that a document's measures are meant in, if it names any."""
    label = units_label(document.get("units"))
    return (("units", label),) if label else ()
