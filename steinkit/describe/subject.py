"""What is spoken of: samples by their files, and targets by their names and options."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from steinkit.describe.settings import value_label


def files_label(files: Sequence[str]) -> str:
    """What a sample is called after the files that hold it."""
    if len(files) > 1:
        return f"{files[0]} and {len(files) - 1} more as its chains"
    return "standard input" if files[0] == "-" else files[0]


def target_label(target: Mapping[str, Any]) -> str:
    """A target of a document by its name, with the options that it was made with."""
    options = ", ".join(f"{name}={value_label(value)}" for name, value in target["options"].items())
    return f"{target['name']} ({options})" if options else str(target["name"])
