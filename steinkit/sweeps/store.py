"""Storage of sweeps in SQLite databases, with one transaction per cell.

    runs             run, configuration        description shared by all cells of a sweep, in JSON
    cells            cell, run, settings, seed, reason, draws, cost_per_draw, sampling, scoring, warnings
    measurements     cell, measure, value, lower, upper, margin, unranked, unknown
    draws            cell, npz                 draws for the first seed of each setting
    result           document, npz             result of the last run, as written by `Result.save`

A cell, its measurements and its draws are written in one transaction, and each transaction is on disk before the next
one begins (``synchronous = FULL``). If the process is killed or the power fails, only unfinished cells are lost. The
transactions are appended to a write-ahead log, whose file name ends in ``-wal``, because this is three to four times as
fast as a rollback journal. They are moved to the database when the sweep ends, or when its file is next opened. An
exclusive SQLite lock prevents access by other processes, and is released when the process ends. Because of this lock,
the log requires no shared memory, which network drives do not provide.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import sqlite3
from collections.abc import Iterator
from dataclasses import astuple, replace
from pathlib import Path
from typing import Any

from steinkit.arguments import require_type
from steinkit.errors import InputError, OutputError, SteinkitError, UsageError
from steinkit.files import read_sample, write_sample
from steinkit.files.streams import read_bytes
from steinkit.result import Result
from steinkit.sample import Sample
from steinkit.saved_results import packed_result, unpacked_result
from steinkit.sweeps.cells import Cell, Measured, Setting
from steinkit.sweeps.plan import Configuration

_APPLICATION, _VERSION = 0x5374656E, 2  # "Sten" in the header of the file; version of the tables
_TABLES = f"""
BEGIN;
PRAGMA application_id = {_APPLICATION};
PRAGMA user_version = {_VERSION};
CREATE TABLE runs (run TEXT PRIMARY KEY, configuration TEXT NOT NULL);
CREATE TABLE cells (cell TEXT PRIMARY KEY, run TEXT REFERENCES runs, settings TEXT, seed INTEGER, reason TEXT,
    draws INTEGER, cost_per_draw REAL, sampling REAL, scoring REAL, warnings TEXT);
CREATE TABLE measurements (cell TEXT REFERENCES cells, measure TEXT, value REAL, lower REAL, upper REAL, margin REAL,
    unranked TEXT, unknown TEXT);
CREATE INDEX measurements_of_cells ON measurements (cell);
CREATE TABLE draws (cell TEXT PRIMARY KEY REFERENCES cells, npz BLOB NOT NULL);
CREATE TABLE result (document TEXT NOT NULL, npz BLOB NOT NULL);
COMMIT
"""
_EXCLUSIVE = """
PRAGMA synchronous = FULL;
BEGIN EXCLUSIVE; -- the lock is kept after the transaction
COMMIT
"""
_PILOT_UNITS = """
SELECT json_extract(configuration, '$.measure_settings.units') FROM runs
WHERE json_extract(configuration, '$.target_fingerprint') = ?
AND json_extract(configuration, '$.measure_settings.units.kind') = 'pilot' ORDER BY rowid
"""
_UNWRITABLE = (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN)


def sweep_file(path: str | os.PathLike[str]) -> Path:
    """Return the path of a sweep file.

    The suffix ``.sqlite`` is appended unless the name already ends in an SQLite suffix.

    Raises
    ------
    UsageError
        If the path is a folder.
    """
    require_type((str, os.PathLike), "a path", file=path)
    file = Path(path)
    if file.is_dir():
        raise UsageError(f"expected an SQLite file such as {file / 'sweep.sqlite'}, got the folder {file}")
    return file if file.suffix in (".sqlite", ".sqlite3", ".db") else file.with_name(f"{file.name}.sqlite")


def read_run(path: str | os.PathLike[str]) -> Result | None:
    """Return the result stored in the file of a sweep or tuning run.

    Return None if the file is not an SQLite database.
    """
    file = Path(path) if Path(path).is_file() else sweep_file(path)
    if not file.is_file() or not read_bytes(file, binary=True).startswith(b"SQLite format 3\0"):
        return None
    with Store(file, writing=False) as store:
        return store.result()


class Store:
    """Store of finished cells, in memory or in a file that is locked while open.

    Parameters
    ----------
    file : Path or None
        The file, which is created if it does not exist. If None, the cells are stored in memory.
    writing : bool
        If True, cells can be added. If False, the file must exist.

    Attributes
    ----------
    cells : dict of str to Cell
        The cells, keyed by fingerprint.

    Raises
    ------
    UsageError
        If another process uses the file.
    InputError
        If the file is damaged or is not a sweep file.
    OutputError
        If the file cannot be written.
    """

    def __init__(self, file: Path | None, *, writing: bool = True) -> None:
        self.file, self._writing = file, writing
        self.cells: dict[str, Cell] = {}
        with self._explained(), contextlib.ExitStack() as undo:
            if file is not None and writing:
                file.parent.mkdir(parents=True, exist_ok=True)
            uri = ":memory:" if file is None else f"{file.absolute().as_uri()}?mode={'rwc' if writing else 'rw'}"
            self._database = sqlite3.connect(uri, uri=True, timeout=0.0, isolation_level=None)
            undo.callback(self._database.close)
            self._open()
            undo.pop_all()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *raised: object) -> None:
        with contextlib.suppress(sqlite3.Error):
            if self._writing:
                self._database.execute("PRAGMA journal_mode = DELETE")  # this removes the log
        self._database.close()

    def begin(self, run: str, configuration: Configuration) -> None:
        """Store the configuration of a run, and delete the previous result."""
        with self._transaction() as execute:
            execute("INSERT OR IGNORE INTO runs VALUES (?, ?)", (run, json.dumps(vars(configuration), allow_nan=False)))
            execute("DELETE FROM result")

    def append(self, name: str, run: str, cell: Cell, draws: Sample | None = None) -> None:
        """Write a cell, with its draws if given, in one transaction."""
        row = cell.seed, cell.reason, cell.draws, cell.cost_per_draw, cell.sampling, cell.scoring
        known = (name, run, json.dumps(cell.settings), *row, json.dumps(cell.warnings))
        with self._transaction() as execute:
            execute("DELETE FROM measurements WHERE cell = ?", (name,))
            execute("INSERT OR REPLACE INTO cells VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", known)
            for each in cell.measures.values():
                execute("INSERT INTO measurements VALUES (?, ?, ?, ?, ?, ?, ?, ?)", (name, *astuple(each)))
            if draws is not None:
                packed = io.BytesIO()
                write_sample(draws, packed, format="npz")
                execute("INSERT OR REPLACE INTO draws VALUES (?, ?)", (name, packed.getvalue()))
        self.cells[name] = cell

    def draws(self, name: str) -> Sample | None:
        """Return the draws of a cell, or None if the draws are not stored."""
        with self._explained():
            row = self._database.execute("SELECT npz FROM draws WHERE cell = ?", (name,)).fetchone()
            return None if row is None else read_sample(io.BytesIO(row[0]), format="npz")

    def pilot_units(self, run: Configuration) -> Setting | None:
        """Return the pilot units of an earlier run with the same target.

        Return None if there is no such run.
        """
        with self._explained():
            row = self._database.execute(_PILOT_UNITS, (run.target_fingerprint,)).fetchone()
            return None if row is None else dict(json.loads(row[0]))

    def result(self) -> Result:
        """Return the result of the last run.

        Raises
        ------
        InputError
            If the file does not contain a result, or the result is damaged.
        """
        with self._explained():
            row = self._database.execute("SELECT CAST(document AS BLOB), npz FROM result").fetchone()
        if row is None:
            raise InputError(f"{self.file} does not contain the result of a finished sweep; finish the sweep first")
        return unpacked_result(row[0], row[1], str(self.file))

    def keep(self, result: Result) -> None:
        """Store the result of a run."""
        with self._transaction() as execute:
            execute("INSERT INTO result VALUES (CAST(? AS TEXT), ?)", packed_result(result))

    def _open(self) -> None:
        execute = self._database.execute
        execute("PRAGMA trusted_schema = OFF")  # the file may come from an untrusted source
        if self._writing or self._has_log:
            execute("PRAGMA locking_mode = EXCLUSIVE")  # before the first access to the log
        if self._writing:
            self._database.executescript(_EXCLUSIVE)
            if not execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
                self._database.executescript(_TABLES)
        application, version, check = (
            execute(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version", "quick_check")
        )
        if (application, version) != (_APPLICATION, _VERSION):
            raise InputError(f"{self.file} is not a sweep file of this steinkit version; choose another file")
        if check != "ok":
            raise sqlite3.DatabaseError(check)
        if any(sql and sql not in _TABLES for (sql,) in execute("SELECT sql FROM sqlite_master")):
            raise sqlite3.DatabaseError("unknown tables, views or triggers")  # a view could have infinitely many rows
        if self._writing:
            execute("PRAGMA journal_mode = WAL")
        for name, _, settings, *row, notes in execute("SELECT * FROM cells"):
            self.cells[name] = replace(Cell(dict(json.loads(settings)), *row), warnings=tuple(json.loads(notes)))
        for name, *row in execute("SELECT * FROM measurements ORDER BY rowid"):
            self.cells[name].measures[row[0]] = Measured(*row)

    @property
    def _has_log(self) -> bool:
        return self.file is not None and self.file.with_name(f"{self.file.name}-wal").exists()

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[Any]:
        with self._explained(), self._database:
            self._database.execute("BEGIN")
            yield self._database.execute

    @contextlib.contextmanager
    def _explained(self) -> Iterator[None]:
        """Convert SQLite errors, and errors due to damaged contents, to steinkit errors."""
        try:
            yield
        except SteinkitError:
            raise
        except (sqlite3.Error, OSError, KeyError, TypeError, ValueError, RecursionError) as error:
            code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT) & 0xFF
            if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
                raise UsageError(
                    f"another process is using {self.file}; wait until that process ends, or choose another file"
                ) from None
            if isinstance(error, OSError) or (code in _UNWRITABLE and self._writing):
                hint = "free disk space, or choose another file. Finished cells are kept"
                raise OutputError(f"{self.file} cannot be written: {error}; {hint}") from None
            if self._has_log and code in _UNWRITABLE:
                hint = "run the sweep again, or open the file with permission to write"
                raise InputError(f"{self.file} is the file of a sweep that was interrupted; {hint}") from None
            if code == sqlite3.SQLITE_CANTOPEN:
                raise InputError(f"{self.file} does not exist or cannot be read; run 'steinkit sweep' first") from None
            raise InputError(f"{self.file} is damaged or not a sweep file ({error}); choose another file") from None
