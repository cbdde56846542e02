"""What full runs of the benchmarks found, kept for the tables of the documentation.

A benchmark that is started with ``--record`` writes its numbers to `benchmarks/records`, with the command, the day and
the commit; `tables.py` makes the documentation's tables and sentences of them. No number is copied by hand.
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
    """Give a benchmark the option ``--record``."""
    parser.add_argument(
        "--record",
        nargs="?",
        type=Path,
        const=RECORDS,
        metavar="FOLDER",
        help="keep the numbers, in benchmarks/records where no folder is named: tables.py makes tables of them",
    )


def keep(folder: Path | None, name: str, rows: list[dict[str, Any]], options: Sequence[str] = ()) -> None:
    """Write what a benchmark found to ``NAME.json`` of a folder; without a folder, do nothing.

    Parameters
    ----------
    folder : pathlib.Path or None
        The value of ``--record``.
    name : str
        Of the file.
    rows : list of dict
        What was found; numbers and text only.
    options : sequence of str
        Of the command, as readers are to give them; that of ``--record`` is no one else's.
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
    """The record of that name."""
    return json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))


def commit() -> str:
    """The commit that is checked out, with a plus where files have changed since; "unknown" outside a checkout."""
    git = ["git", "-C", str(Path(__file__).parent)]
    try:
        head = subprocess.run([*git, "rev-parse", "--short=10", "HEAD"], capture_output=True, text=True, check=True)
        changed = subprocess.run([*git, "status", "--porcelain"], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    code = [line for line in changed.stdout.splitlines() if not line[3:].startswith("benchmarks/records/")]
    return head.stdout.strip() + ("+" if code else "")
