"""Runs a page's blocks in a folder and a process of their own, and keeps what they gave until page or code change."""

from __future__ import annotations

import functools
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
LONGEST = 1200.0  # seconds a page

Block = dict[str, Any]


class PageFailedError(Exception):
    """The process of a page ended before its last block."""


def results_of(page: str, blocks: list[Block], kept: Path) -> list[Block]:
    """What each block of a page gave: as kept in a folder, where page and code are the same, or run now."""
    key = hashlib.sha256((code_identity() + json.dumps(blocks)).encode()).hexdigest()
    path = kept / f"{page.replace('/', '.')}.json"
    if path.exists():
        document = json.loads(path.read_text())
        if document["key"] == key:
            return list(document["results"])
    results = run(blocks)
    kept.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"key": key, "results": results}))
    return results


def run(blocks: list[Block]) -> list[Block]:
    """Run blocks in a new folder that holds the examples and their data, as a clone of the repository does."""
    with tempfile.TemporaryDirectory(prefix="steinkit-page-") as name:
        folder = Path(name) / "steinkit"
        shutil.copytree(
            ROOT / "examples", folder / "examples", ignore=shutil.ignore_patterns("papers", "pictures", "__pycache__")
        )
        given, found = Path(name) / "blocks.json", Path(name) / "results.json"
        given.write_text(json.dumps(blocks))
        command = [sys.executable, str(HERE / "page_worker.py"), str(given), str(found)]
        try:
            subprocess.run(command, cwd=folder, env=environment(), check=True, timeout=LONGEST)
        except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
            raise PageFailedError(str(error)) from error
        return list(json.loads(found.read_text()))


def environment() -> dict[str, str]:
    """Environment of a page: steinkit's command and package first, for a terminal as wide as a page."""
    paths = {
        "PATH": [str(Path(sys.executable).parent), os.environ.get("PATH", "")],
        "PYTHONPATH": [str(ROOT), os.environ.get("PYTHONPATH", "")],
    }
    joined = {name: os.pathsep.join(filter(None, parts)) for name, parts in paths.items()}
    return {**os.environ, **joined, "MPLBACKEND": "Agg", "COLUMNS": "80", "LC_ALL": "C.UTF-8"}


@functools.cache
def code_identity() -> str:
    """A digest of all that a block's output may depend on but the page."""
    digest = hashlib.sha256(f"{sys.version} {version('numpy')} {version('scipy')} {version('matplotlib')}".encode())
    for script in ("page_runs.py", "page_worker.py"):
        digest.update((HERE / script).read_bytes())
    folders = [ROOT / "steinkit", ROOT / "samplers", ROOT / "examples"]
    suffixes = {".py", ".pyi", ".csv", ".css", ".html"}
    for path in sorted(path for folder in folders for path in folder.rglob("*") if path.suffix in suffixes):
        digest.update(f"{path.relative_to(ROOT)} {path.stat().st_size} ".encode() + path.read_bytes())
    return digest.hexdigest()
