"""The file of a sweep: an SQLite database to which every finished cell is committed at once.

    documents        name, document            "configuration" as run; "result" or "tuning" at the end
    settings         setting, options          points of the grid
    cells            cell, setting, seed, status, record
    measurements     cell, measure, value, document
    draws            cell, npz                 of the first seed of every setting

Options, records and documents are JSON. A cell, its measurements and its draws are one transaction, which is on the
disk before the next begins (``synchronous = FULL``): a process that is killed, or a machine that loses power, loses
the cells that it was computing and nothing else. The journal is a rollback journal, truncated at every commit.
Committed cells are in the file itself then, and not in a second one as a write-ahead log has them; and the file may
lie on a network drive, where a log's shared memory does not work. A sweep commits a few times a second at most, so
that a log would save no time. SQLite's exclusive lock keeps a second process out; it ends with its process.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from steinkit.arguments import require_type
from steinkit.errors import InputError, OutputError, UsageError
from steinkit.files import read_sample, write_sample
from steinkit.sample import Sample

Record = dict[str, Any]

CONFIGURATION, RESULT, TUNING = "configuration", "result", "tuning"
_APPLICATION, _VERSION = 0x5374656E, 1  # "Sten", in the file's header; the version of the tables
_TABLES = """
CREATE TABLE documents (name TEXT PRIMARY KEY, document TEXT NOT NULL);
CREATE TABLE settings (setting INTEGER PRIMARY KEY, options TEXT NOT NULL UNIQUE);
CREATE TABLE cells (cell TEXT PRIMARY KEY, setting INTEGER REFERENCES settings, seed INTEGER, status TEXT, record TEXT);
CREATE TABLE measurements (cell TEXT REFERENCES cells, measure TEXT, value REAL, document TEXT NOT NULL);
CREATE INDEX measurements_of_cells ON measurements (cell);
CREATE TABLE draws (cell TEXT PRIMARY KEY REFERENCES cells, npz BLOB NOT NULL)
"""


def sweep_file(path: str | os.PathLike[str]) -> Path:
    """Return the file that a name means: ``.sqlite`` is added to a name without such an ending.

    Raises
    ------
    UsageError
        If it is a folder.
    """
    require_type((str, os.PathLike), "a path", file=path)
    file = Path(path)
    if file.is_dir():
        raise UsageError(
            f"expected the file of a sweep, got the folder {file}, as earlier versions made it: name a file, such as "
            f"{file / 'sweep.sqlite'}, and run the sweep again"
        )
    return file if file.suffix in (".sqlite", ".sqlite3", ".db") else file.with_name(f"{file.name}.sqlite")


class Store:
    """Records of finished cells, in a file that no other process uses meanwhile, or in memory alone.

    Parameters
    ----------
    file : Path or None
        Made if it does not exist; None keeps nothing beyond the run.
    writing : bool
        Whether cells are to be added. A file that is only read must be there.

    Attributes
    ----------
    records : dict
        By the fingerprints of their cells.
    with_draws : set of str
        Cells whose draws are kept.

    Raises
    ------
    UsageError
        If another process uses the file.
    InputError
        If the file is damaged, or not the file of a sweep.
    OutputError
        If the file cannot be written.
    """

    def __init__(self, file: Path | None, *, writing: bool = True) -> None:
        self.file, self._writing = file, writing
        self.records: dict[str, Record] = {}
        self.with_draws: set[str] = set()
        with self._explained(), contextlib.ExitStack() as undo:
            if file is not None and writing:
                file.parent.mkdir(parents=True, exist_ok=True)
            place = ":memory:" if file is None else f"{file.absolute().as_uri()}?mode={'rwc' if writing else 'rw'}"
            self._database = sqlite3.connect(place, uri=True, timeout=0.0, isolation_level=None)
            undo.callback(self._database.close)
            self._open()
            undo.pop_all()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *raised: object) -> None:
        with contextlib.suppress(sqlite3.Error):
            if self._writing:
                self._database.execute("PRAGMA journal_mode = DELETE")  # which removes the empty journal
        self._database.close()

    def append(self, record: Record, draws: Sample | None = None) -> None:
        """Keep a record, and draws with it, for good: they are on the disk when this returns."""
        cell, rest = record["cell"], {name: value for name, value in record.items() if name != "results"}
        options = _json(record.get("settings"))
        measured = [(cell, each["measure"], each.get("value"), _json(each)) for each in record.get("results", ())]
        with self._transaction() as execute:
            execute("INSERT OR IGNORE INTO settings (options) VALUES (?)", (options,))
            execute("DELETE FROM measurements WHERE cell = ?", (cell,))
            execute(
                "INSERT OR REPLACE INTO cells SELECT ?, setting, ?, ?, ? FROM settings WHERE options = ?",
                (cell, str(record.get("seed")), record.get("status"), _json(rest), options),
            )
            for row in measured:
                execute("INSERT INTO measurements VALUES (?, ?, ?, ?)", row)
            if draws is not None and self.file is not None:
                packed = io.BytesIO()
                write_sample(draws, packed, format="npz")
                execute("INSERT OR REPLACE INTO draws VALUES (?, ?)", (cell, packed.getvalue()))
                self.with_draws.add(cell)
        self.records[cell] = record

    def draws(self, cell: str) -> Sample:
        """Return the draws that are kept of a cell.

        Raises
        ------
        InputError
            If the file keeps no draws of the cell, or they are damaged.
        """
        with self._explained():
            row = self._database.execute("SELECT npz FROM draws WHERE cell = ?", (cell,)).fetchone()
        if row is None:
            raise InputError(f"{self.file} keeps no draws of cell {cell}")
        try:
            return read_sample(io.BytesIO(row[0]), format="npz")
        except Exception as error:  # a damaged file makes readers raise whatever they like
            raise InputError(f"the draws of cell {cell} in {self.file} cannot be read: {error}") from None

    def document(self, name: str) -> dict[str, Any] | None:
        """Return a document; None if the file lacks it."""
        with self._explained():
            row = self._database.execute("SELECT document FROM documents WHERE name = ?", (name,)).fetchone()
            return None if row is None else _parsed(row[0])

    def write_documents(self, **documents: dict[str, Any] | None) -> None:
        """Replace documents, in one step; None removes one."""
        with self._transaction() as execute:
            for name, document in documents.items():
                execute("DELETE FROM documents WHERE name = ?", (name,))
                if document is not None:
                    execute("INSERT INTO documents VALUES (?, ?)", (name, _json(document)))

    def _open(self) -> None:
        execute = self._database.execute
        execute("PRAGMA trusted_schema = OFF")  # the file may come from somebody else
        if self._writing:
            execute("PRAGMA locking_mode = EXCLUSIVE")
            execute("PRAGMA synchronous = FULL")
            execute("PRAGMA journal_mode = TRUNCATE")
            execute("BEGIN EXCLUSIVE")  # the lock outlasts the transaction
            if not execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
                for statement in _TABLES.split(";"):
                    execute(statement)
                execute(f"PRAGMA application_id = {_APPLICATION}")
                execute(f"PRAGMA user_version = {_VERSION}")
            execute("COMMIT")
        application, version, found = (
            execute(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version", "quick_check")
        )
        if (application, version) != (_APPLICATION, _VERSION):
            raise InputError(f"{self.file} holds no sweep of this version of steinkit; name another file")
        if found != "ok":
            raise sqlite3.DatabaseError(found)
        for cell, record in execute("SELECT cell, record FROM cells"):
            self.records[cell] = {**_parsed(record), "results": []}
        for cell, document in execute("SELECT cell, document FROM measurements ORDER BY rowid"):
            self.records[cell]["results"].append(_parsed(document))
        self.with_draws |= {cell for (cell,) in execute("SELECT cell FROM draws")}

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[Any]:
        """All or nothing."""
        with self._explained(), self._database:
            self._database.execute("BEGIN")
            yield self._database.execute

    @contextlib.contextmanager
    def _explained(self) -> Iterator[None]:
        """Say what SQLite's errors mean to a user."""
        try:
            yield
        except (sqlite3.Error, OSError, KeyError) as error:
            code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT) & 0xFF
            if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
                raise UsageError(f"another process uses {self.file}; wait for it, or name another file") from None
            if isinstance(error, OSError) or (code in _UNWRITABLE and self._writing):
                raise OutputError(
                    f"{self.file} cannot be written: {error}; make room, or name another file. Finished cells are kept"
                ) from None
            if code == sqlite3.SQLITE_CANTOPEN:
                raise InputError(f"{self.file} does not exist, or cannot be read; run 'steinkit sweep' first") from None
            raise InputError(f"{self.file} is damaged, or not the file of a sweep ({error}); name another") from None


_UNWRITABLE = (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN)


def _json(value: Any) -> str:
    return json.dumps(value, allow_nan=False)


def _parsed(text: str) -> dict[str, Any]:
    """Return what JSON of the file holds, an object."""
    try:
        found = json.loads(text)
    except (TypeError, ValueError, RecursionError) as error:
        raise sqlite3.DatabaseError(str(error)) from None
    if not isinstance(found, dict):
        raise sqlite3.DatabaseError(f"expected an object of JSON, got {text:.40}")
    return found
