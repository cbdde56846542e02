"""Small data sets for examples and built-in targets; sources and licences stand in README.md beside them."""

from __future__ import annotations

from contextlib import AbstractContextManager
from importlib import resources
from pathlib import Path


def bundled(name: str) -> AbstractContextManager[Path]:
    """A block in which a file of this folder has a path, wherever the package is kept."""
    return resources.as_file(resources.files(__name__) / name)
