"""Records of full runs of the benchmarks, for the tables of the documentation.

A benchmark with the option ``--record`` writes its results to `benchmarks/records`, with the command, the date and the
commit. The program `tables.py` generates the tables and sentences of the documentation from these records.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

RECORDS = Path(__file__).parent / "records"


def add_option(parser: argparse.ArgumentParser) -> None:
    """Add the option ``--record`` to a benchmark."""
    parser.add_argument(
        "--record",
        nargs="?",
        type=Path,
        const=RECORDS,
        metavar="FOLDER",
        help="store the results for tables.py, by default in benchmarks/records",
    )


def keep(folder: Path | None, name: str, rows: list[dict[str, Any]], options: Sequence[str] = ()) -> None:
    """Write the results of a benchmark to ``NAME.json`` in a folder.

    Without a folder, nothing is written.

    Parameters
    ----------
    folder : pathlib.Path or None
        Value of ``--record``.
    name : str
        Name of the file.
    rows : list of dict
        Results, as numbers and text.
    options : sequence of str
        Options of the command for readers, without ``--record``.
    """
    if folder is None:
        return
    record = {
        "command": " ".join(["python", f"benchmarks/{Path(sys.argv[0]).name}", *options]),
        "day": datetime.now(UTC).date().isoformat(),
        "commit": commit(),
        "rows": rows,
    }
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.json").write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


def kept(name: str, folder: Path = RECORDS) -> dict[str, Any]:
    """Return the record with a given name."""
    return json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))


def commit() -> str:
    """Return the current commit, with a plus sign if files have changed.

    The result is "unknown" outside a repository.
    """
    git = ["git", "-C", str(Path(__file__).parent)]
    try:
        head = subprocess.run([*git, "rev-parse", "--short=10", "HEAD"], capture_output=True, text=True, check=True)
        changed = subprocess.run([*git, "status", "--porcelain"], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    code = [line for line in changed.stdout.splitlines() if not line[3:].startswith("benchmarks/records/")]
    return head.stdout.strip() + ("+" if code else "")
