"""SQLite database of the finished cells of an experiment."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

from steinkit.errors import InputError, OutputError, UsageError


class CellFile:
    """Cells by name, in a file that is locked against other processes.

    Parameters
    ----------
    path : Path
        Path of the file, which is created if it does not exist.

    Raises
    ------
    UsageError
        If another process uses the file.
    InputError
        If the file is damaged.
    OutputError
        If the file cannot be written.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            self._database = sqlite3.connect(path, timeout=0.0, isolation_level=None)
            self._database.execute("PRAGMA locking_mode = EXCLUSIVE")
            self._database.execute("PRAGMA synchronous = FULL")
            self._database.execute("BEGIN EXCLUSIVE")
            self._database.execute("CREATE TABLE IF NOT EXISTS cells (cell TEXT PRIMARY KEY, record TEXT NOT NULL)")
            self._database.execute("COMMIT")
            rows = self._database.execute("SELECT cell, record FROM cells")
            self.records: dict[str, dict[str, Any]] = {cell: json.loads(record) for cell, record in rows}
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
                raise UsageError(f"another process uses {path}; wait for it, or name another folder") from None
            raise OutputError(f"{path} cannot be written: {error}; name another folder") from None
        except (sqlite3.DatabaseError, ValueError) as error:
            raise InputError(f"{path} is damaged ({error}); name another folder") from None

    def __enter__(self) -> CellFile:
        return self

    def __exit__(self, *raised: object) -> None:
        self._database.close()

    def append(self, name: str, record: dict[str, Any]) -> None:
        """Store a cell and write it to disk."""
        try:
            text = json.dumps(record, allow_nan=False)
            self._database.execute("INSERT OR REPLACE INTO cells VALUES (?, ?)", (name, text))
        except sqlite3.OperationalError as error:
            raise OutputError(f"{self._path} cannot be written: {error}; make room. Finished cells are kept") from None
        self.records[name] = record
