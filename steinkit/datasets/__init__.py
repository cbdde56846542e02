"""Small data sets for examples and built-in targets.

README.md lists their sources and licenses.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from importlib import resources
from pathlib import Path


def bundled(name: str) -> AbstractContextManager[Path]:
    """Return a context manager for the path of a bundled file.

    The path is valid for any type of installation.
    """
    return resources.as_file(resources.files(__name__) / name)
