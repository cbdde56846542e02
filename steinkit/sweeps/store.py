"""The folder of a sweep: a record a cell, written at once and for good, so that a killed run loses only what it was at.

    sweep.json       the configuration as run
    records.jsonl    a line a finished cell, which says all of it
    samples/         draws of the first seed of every setting: CELL.npz
    result.json      what the sweep found
    lock             held while a sweep is at work in the folder
    owner            number of the process that holds it, or held it last

A line that was being written when its process was killed is recognised by its missing end, and dropped.
"""

from __future__ import annotations

import contextlib
import json
import os
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from filelock import FileLock, Timeout

from steinkit.errors import InputError, OutputError, UsageError
from steinkit.files import write_sample
from steinkit.files.streams import write_bytes
from steinkit.sample import Sample

RECORDS = "records.jsonl"
CONFIGURATION = "sweep.json"
RESULT = "result.json"
_SAMPLES = "samples"
_LOCK = "lock"
_OWNER = "owner"


class Store:
    """Records of finished cells, in a folder that no other process writes to meanwhile, or in memory alone.

    Parameters
    ----------
    directory : Path or None
        The folder, made if it does not exist; None keeps nothing beyond the run.

    Attributes
    ----------
    records : dict
        By the fingerprints of their cells.
    notes : list of str
        What was found damaged and dropped.

    Raises
    ------
    UsageError
        If another process is at work in the folder.
    InputError
        If a line that is not the last is no record.
    OutputError
        If the folder cannot be written.
    """

    def __init__(self, directory: Path | None) -> None:
        self.directory = directory
        self.records: dict[str, dict[str, Any]] = {}
        self.notes: list[str] = []
        self._lock: FileLock | None = None
        self._stream: IO[bytes] | None = None
        if directory is None:
            return
        try:
            (directory / _SAMPLES).mkdir(parents=True, exist_ok=True)
            self._lock = _locked(directory)
            self._stream = open(directory / RECORDS, "a+b")  # noqa: SIM115 (open as long as the store)
            self._recover(directory / RECORDS)
        except OSError as error:
            self.close()
            raise OutputError(f"{directory} cannot be used for a sweep: {error}; choose another folder") from error
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the folder."""
        if self._stream is not None:
            with contextlib.suppress(OSError):  # of a full disk, which `append` has reported
                self._stream.close()
        if self._lock is not None:
            self._lock.release()

    def append(self, record: dict[str, Any]) -> None:
        """Keep a record for good: it is on the disk when this returns."""
        self.records[record["cell"]] = record
        if self._stream is None:
            return
        try:
            self._stream.write(json.dumps(record, allow_nan=False).encode() + b"\n")
            self._stream.flush()
            os.fsync(self._stream.fileno())
        except OSError as error:
            raise OutputError(
                f"{self._stream.name} cannot be written: {error}; make room and run again: the records before are kept"
            ) from error

    def write_draws(self, cell: str, sample: Sample) -> None:
        """Keep the draws of a cell, in one step."""
        if self.directory is not None:
            write_sample(sample, str(self.directory / _SAMPLES / f"{cell}.npz"))

    def write_document(self, name: str, document: dict[str, Any]) -> None:
        """Write a JSON document, in one step."""
        if self.directory is not None:
            text = json.dumps(document, indent=2, allow_nan=False)
            write_bytes(str(self.directory / name), f"{text}\n".encode(), binary=True)

    def remove_document(self, name: str) -> None:
        """Remove a JSON document, if it is there."""
        if self.directory is not None:
            try:
                (self.directory / name).unlink(missing_ok=True)
            except OSError as error:
                raise OutputError(f"{self.directory / name} cannot be removed: {error}") from error

    def _recover(self, path: Path) -> None:
        """Read the records, and cut off a last line that was not written to its end."""
        assert self._stream is not None
        data = path.read_bytes()
        whole = data.rfind(b"\n") + 1
        if whole < len(data):
            self._stream.truncate(whole)
            self.notes.append(
                f"the last line of {path} was cut off, as when a run is killed while it writes; it was dropped and its "
                "cell is run again"
            )
        self.records = parse_records(data[:whole], path)


def parse_records(data: bytes, path: Path) -> dict[str, dict[str, Any]]:
    """The records of whole lines, by the fingerprints of their cells.

    Raises
    ------
    InputError
        If a line is no record.
    """
    records = {}
    for number, line in enumerate(data.splitlines(), start=1):
        try:
            record = json.loads(line)
            records[record["cell"]] = record
        except (ValueError, TypeError, KeyError):
            raise InputError(f"{path}, line {number} is no record of a sweep; delete that line and run again") from None
    return records


def draws_file(directory: Path, cell: str) -> Path:
    """Where the draws of a cell are kept, if they are."""
    return directory / _SAMPLES / f"{cell}.npz"


def _locked(directory: Path) -> FileLock:
    """The lock, held; the system lets go of it when its process ends, however it ends."""
    lock, owner = FileLock(directory / _LOCK, blocking=False), directory / _OWNER
    try:
        lock.acquire()
    except Timeout:
        process = owner.read_text(encoding="ascii").strip() if owner.exists() else "unknown"
        raise UsageError(
            f"another sweep (process {process}) is at work in {directory}; wait for it, or name another folder"
        ) from None
    owner.write_text(f"{os.getpid()}\n", encoding="ascii")
    return lock
