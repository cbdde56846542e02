"""The file of a sweep: an SQLite database to which every finished cell is committed at once.

    runs             run, configuration        what is the same in all cells of a sweep, in JSON
    cells            cell, run, settings, seed, reason, draws, cost_per_draw, sampling, scoring, warnings
    measurements     cell, measure, value, lower, upper, margin, unranked, unknown
    draws            cell, npz                 of the first seed of every setting
    result           document, npz             of the last sweep or tuning, as `Result.save` writes its two files

A cell, its measurements and its draws are one transaction, which is on the disk before the next begins (``synchronous =
FULL``): a process that is killed, or a machine that loses power, loses the cells that it was computing and nothing
else. The journal is a rollback journal, truncated at every commit. Committed cells are in the file itself then, and not
in a second one as a write-ahead log has them; and the file may lie on a network drive, where a log's shared memory does
not work. A sweep commits a few times a second at most, so that a log would save no time. SQLite's exclusive lock keeps
a second process out; it ends with its process.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import sqlite3
from collections.abc import Iterator
from dataclasses import astuple
from pathlib import Path
from typing import Any

from steinkit.arguments import require_type
from steinkit.errors import InputError, OutputError, UsageError
from steinkit.files import read_sample, write_sample
from steinkit.files.streams import read_bytes
from steinkit.result import Result
from steinkit.sample import Sample
from steinkit.saved_results import packed_result, unpacked_result
from steinkit.sweeps.cells import Cell, Measured
from steinkit.sweeps.plan import Configuration

_APPLICATION, _VERSION = 0x5374656E, 2  # "Sten", in the file's header; the version of the tables
_TABLES = """
CREATE TABLE runs (run TEXT PRIMARY KEY, configuration TEXT NOT NULL);
CREATE TABLE cells (cell TEXT PRIMARY KEY, run TEXT REFERENCES runs, settings TEXT, seed INTEGER, reason TEXT,
    draws INTEGER, cost_per_draw REAL, sampling REAL, scoring REAL, warnings TEXT);
CREATE TABLE measurements (cell TEXT REFERENCES cells, measure TEXT, value REAL, lower REAL, upper REAL, margin REAL,
    unranked TEXT, unknown TEXT);
CREATE INDEX measurements_of_cells ON measurements (cell);
CREATE TABLE draws (cell TEXT PRIMARY KEY REFERENCES cells, npz BLOB NOT NULL);
CREATE TABLE result (document TEXT NOT NULL, npz BLOB NOT NULL)
"""


_COLUMNS = ("seed", "reason", "draws", "cost_per_draw", "sampling", "scoring")


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
            f"expected the file of a sweep, got the folder {file}; name a file, such as {file / 'sweep.sqlite'}"
        )
    return file if file.suffix in (".sqlite", ".sqlite3", ".db") else file.with_name(f"{file.name}.sqlite")


def read_run(path: str | os.PathLike[str]) -> Result | None:
    """Return the result in a sweep's or tuning's file; None if it is no database."""
    file = Path(path) if Path(path).is_file() else sweep_file(path)
    if not file.is_file() or not read_bytes(file, binary=True).startswith(b"SQLite format 3\0"):
        return None
    with Store(file, writing=False) as store:
        return store.result()


class Store:
    """Finished cells, in a file that no other process uses meanwhile, or in memory alone.

    Parameters
    ----------
    file : Path or None
        Made if it does not exist; None keeps nothing beyond the run.
    writing : bool
        Whether cells are to be added. A file that is only read must be there.

    Attributes
    ----------
    cells : dict of str to Cell
        By their fingerprints.
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
        self.cells: dict[str, Cell] = {}
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

    def begin(self, run: str, configuration: Configuration) -> None:
        """Note what is the same in all cells of a run; the result of an earlier one is no longer that of the file."""
        with self._transaction() as execute:
            execute("INSERT OR IGNORE INTO runs VALUES (?, ?)", (run, json.dumps(vars(configuration), allow_nan=False)))
            execute("DELETE FROM result")

    def append(self, name: str, run: str, cell: Cell, draws: Sample | None = None) -> None:
        """Keep a cell, and draws with it, for good: they are on the disk when this returns."""
        row = [getattr(cell, column) for column in _COLUMNS]
        with self._transaction() as execute:
            execute("DELETE FROM measurements WHERE cell = ?", (name,))
            kept = (name, run, json.dumps(cell.settings), *row, json.dumps(cell.warnings))
            execute("INSERT OR REPLACE INTO cells VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", kept)
            for each in cell.measures.values():
                execute("INSERT INTO measurements VALUES (?, ?, ?, ?, ?, ?, ?, ?)", (name, *astuple(each)))
            if draws is not None:
                packed = io.BytesIO()
                write_sample(draws, packed, format="npz")
                execute("INSERT OR REPLACE INTO draws VALUES (?, ?)", (name, packed.getvalue()))
        if draws is not None:
            self.with_draws.add(name)
        self.cells[name] = cell

    def draws(self, name: str) -> Sample:
        """Return the draws that are kept of a cell.

        Raises
        ------
        InputError
            If the file keeps no draws of the cell, or they are damaged.
        """
        with self._explained():
            row = self._database.execute("SELECT npz FROM draws WHERE cell = ?", (name,)).fetchone()
        if row is None:
            raise InputError(f"{self.file} keeps no draws of cell {name}")
        try:
            return read_sample(io.BytesIO(row[0]), format="npz")
        except Exception as error:  # a damaged file makes readers raise whatever they like
            raise InputError(f"the draws of cell {name} in {self.file} cannot be read: {error}") from None

    def pilot_units(self, fingerprint: str) -> dict[str, Any] | None:
        """Return the scale of a pilot that cells of the same target were scored in."""
        for (text,) in self._database.execute("SELECT configuration FROM runs ORDER BY rowid"):
            known = Configuration(**_parsed(text))
            units: dict[str, Any] | None = known.measure_settings["units"]
            if known.fingerprint == fingerprint and isinstance(units, dict) and units["kind"] == "pilot":
                return units
        return None

    def result(self) -> Result:
        """Return the result of the last run.

        Raises
        ------
        InputError
            If none was finished, or it is damaged.
        """
        with self._explained():
            row = self._database.execute("SELECT CAST(document AS BLOB), npz FROM result").fetchone()
        if row is None:
            raise InputError(
                f"{self.file} holds no finished sweep; run 'steinkit sweep CONFIG.toml -o {self.file}' to its end"
            )
        return unpacked_result(row[0], row[1], str(self.file))

    def keep(self, result: Result) -> None:
        """Keep the result of a run."""
        with self._transaction() as execute:
            execute("DELETE FROM result")
            execute("INSERT INTO result VALUES (CAST(? AS TEXT), ?)", packed_result(result))

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
        columns = ", ".join(_COLUMNS)
        for name, settings, warnings, *row in execute(f"SELECT cell, settings, warnings, {columns} FROM cells"):
            known = dict(zip(_COLUMNS, row, strict=True))
            self.cells[name] = Cell(_parsed(settings), **known, warnings=tuple(_parsed(warnings)))
        for name, *row in execute("SELECT * FROM measurements ORDER BY rowid"):
            self.cells[name].measures[row[0]] = Measured(*row)
        self.with_draws |= {name for (name,) in execute("SELECT cell FROM draws")}

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


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except (TypeError, ValueError, RecursionError) as error:
        raise sqlite3.DatabaseError(str(error)) from None
