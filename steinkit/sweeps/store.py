"""The folder of a sweep: a record a cell, written at once and for good, so that a killed run loses only what it was at.

    sweep.json       the configuration as run
    records.jsonl    a line a finished cell, which says all of it
    samples/         draws of the first seed of every setting: CELL.npz
    result.json      what the sweep found
    damaged/         what was found damaged: lines of records, draws; made when it is needed
    lock             held while a sweep is at work in the folder

All but the last are sealed: JSON objects whose last entry is a checksum of the others. What is read counts as whole
only if writing it again gives the same bytes, checksum included; so a bit that flipped is seen wherever it is, be it in
the checksum. A record bears the digest of what its cell computes besides, and that of the draws that are kept beside
it. What is no longer what was written, such as a line that was being written when its process was killed, is named, set
aside and its cell run again.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from steinkit.errors import InputError, OutputError, UsageError
from steinkit.files import read_sample, write_sample
from steinkit.files.streams import DRAFTS, enclosed, open_enclosed, read_enclosed, write_bytes
from steinkit.sample import Sample
from steinkit.sweeps.identity import digest, sample_digest

RECORDS = "records.jsonl"
CONFIGURATION = "sweep.json"
RESULT = "result.json"
TUNING = "tuning.json"
INDENT = 2  # of documents
_SAMPLES = "samples"
_DAMAGED = "damaged"
_LINES_NAMED = 5
_LOCK = "lock"


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
        What was found damaged, and set aside.

    Raises
    ------
    UsageError
        If another process is at work in the folder.
    OutputError
        If the folder cannot be written.
    """

    def __init__(self, directory: Path | None) -> None:
        self.directory = directory
        self.records: dict[str, Record] = {}
        self.notes: list[str] = []
        self._held = contextlib.ExitStack()
        if directory is None:
            return
        try:
            with contextlib.ExitStack() as held:
                enclosed(directory, _SAMPLES).mkdir(parents=True, exist_ok=True)
                held.enter_context(FileLock(enclosed(directory, _LOCK), blocking=False))
                for folder in (directory, directory / _SAMPLES):  # what a killed run was writing
                    for draft in folder.glob(DRAFTS):
                        draft.unlink(missing_ok=True)
                self._recover(directory)
                self._held = held.pop_all()
        except Timeout:
            raise UsageError(f"another sweep is at work in {directory}; wait for it, or name another folder") from None
        except OSError as error:
            raise OutputError(f"{directory} cannot be used for a sweep: {error}; choose another folder") from error

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *raised: object) -> None:
        self._held.close()

    def append(self, record: Record) -> None:
        """Keep a record for good: it is on the disk when this returns."""
        self.records[record["cell"]] = record
        if self.directory is None:
            return
        try:
            with open_enclosed(self.directory, RECORDS, mode="ab") as stream:
                stream.write(sealed(record))
                stream.flush()
                os.fsync(stream.fileno())
        except OSError as error:
            raise OutputError(
                f"{self.directory / RECORDS} cannot be written: {error}; make room and run again: the records before "
                "are kept"
            ) from error

    def holds(self, cell: str, with_draws: bool) -> bool:
        """Whether there is a record of a cell, with the draws that it was made of if these are kept.

        Draws that are damaged are set aside, and the record is no longer one.
        """
        record = self.records.get(cell)
        if record is None or self.directory is None or not with_draws or record["draws_hash"] is None:
            return record is not None
        try:
            read_draws(self.directory, record)
        except InputError as error:
            path = draws_file(self.directory, cell)
            try:
                with contextlib.suppress(FileNotFoundError):
                    path.replace(self._damaged_folder(self.directory) / path.name)
            except OSError as why:
                raise OutputError(f"{path} cannot be set aside: {why}; move it yourself and run again") from why
            del self.records[cell]
            self.notes.append(f"{error}; what was there is kept in {self.directory / _DAMAGED}, the cell is run again")
            return False
        return True

    def write_draws(self, cell: str, sample: Sample) -> None:
        """Keep the draws of a cell, in one step."""
        if self.directory is not None:
            write_sample(sample, str(enclosed(self.directory, *_draws_parts(cell))))

    def write_document(self, name: str, document: dict[str, Any]) -> None:
        """Write a JSON document, in one step."""
        if self.directory is not None:
            write_bytes(str(enclosed(self.directory, name)), sealed(document, INDENT), binary=True)

    def remove_document(self, name: str) -> None:
        """Remove a JSON document, if it is there."""
        if self.directory is not None:
            try:
                (self.directory / name).unlink(missing_ok=True)
            except OSError as error:
                raise OutputError(f"{self.directory / name} cannot be removed: {error}") from error

    def _recover(self, directory: Path) -> None:
        """Read the records, and set damaged lines aside."""
        path = enclosed(directory, RECORDS)
        data = read_enclosed(directory, RECORDS) if path.exists() else b""
        self.records, damaged = parse_records(data)
        if damaged:
            folder = self._damaged_folder(directory)
            with open_enclosed(directory, _DAMAGED, RECORDS, mode="ab") as stream:
                stream.writelines(line + b"\n" for line in damaged.values())
            numbers = first_few(list(map(str, damaged)), _LINES_NAMED, ", ")
            self.notes.append(
                f"line{'s' * (len(damaged) > 1)} {numbers} of {path}: damaged, or cut off as when a run is killed; "
                f"set aside in {folder}, cells without a record are run again"
            )
            lines = enumerate(data.split(b"\n"), start=1)
            kept = b"".join(line + b"\n" for number, line in lines if line and number not in damaged)
            write_bytes(str(path), kept, binary=True)

    def _damaged_folder(self, directory: Path) -> Path:
        folder = enclosed(directory, _DAMAGED)
        folder.mkdir(exist_ok=True)
        return folder


def read_draws(directory: Path, record: Mapping[str, Any]) -> Sample:
    """The draws that are kept beside a record.

    Raises
    ------
    InputError
        If there are none, or they are not those of the record.
    """
    path = draws_file(directory, record["cell"])
    try:
        with open_enclosed(directory, *_draws_parts(record["cell"])) as file:
            sample = read_sample(file, format="npz")
    except Exception as error:  # a damaged file makes readers raise whatever they like
        raise InputError(f"the draws in {path} cannot be read: {error}") from None
    if sample_digest(sample) != record["draws_hash"]:
        raise InputError(f"the draws in {path} are damaged: they are not those that were scored")
    return sample


def draws_file(directory: Path, cell: str) -> Path:
    """Where the draws of a cell are kept, if they are."""
    return directory.joinpath(*_draws_parts(cell))


def _draws_parts(cell: str) -> tuple[str, str]:
    return _SAMPLES, f"{cell}.npz"


Record = dict[str, Any]

_CHECKSUM = "checksum"
_OUTCOME = {
    *("cell", "status", "reason", "attempts", "results", "draws", "draws_hash"),
    *("cost_per_draw", "acceptance", "seconds", "warnings"),
}


def sealed(document: Mapping[str, Any], indent: int | None = None) -> bytes:
    """A document as JSON, with a checksum of the rest at its end; `unsealed` gives it back.

    Parameters
    ----------
    document : mapping
        What JSON can hold, without an entry ``checksum``.
    indent : int, optional
        Spaces of a document over several lines; by default it is one line.
    """
    body = json.dumps(document, indent=indent, allow_nan=False)
    checksum = hashlib.sha256(body.encode()).hexdigest()
    return json.dumps({**document, _CHECKSUM: checksum}, indent=indent, allow_nan=False).encode() + b"\n"


def unsealed(data: bytes, indent: int | None = None) -> dict[str, Any]:
    """The document that `sealed` wrote.

    Raises
    ------
    ValueError
        If a byte of it is another.
    """
    try:
        found = json.loads(data)
    except RecursionError:  # thousands of brackets, which none of ours has
        raise ValueError("nested too deeply") from None
    if not isinstance(found, dict) or _CHECKSUM not in found:
        raise ValueError("there is no checksum")
    document = {name: value for name, value in found.items() if name != _CHECKSUM}
    if sealed(document, indent) != data:
        raise ValueError("the checksum does not match")
    return document


def first_few(told: Sequence[str], most: int, separator: str = "; ") -> str:
    """The first of several, and how many more there are."""
    return separator.join(told[:most]) + (f" and {len(told) - most} more" if len(told) > most else "")


def cell_of(record: Mapping[str, Any]) -> str:
    """Fingerprint of the cell that a record describes, which it should bear."""
    return digest({name: value for name, value in record.items() if name not in _OUTCOME})


def parse_records(data: bytes) -> tuple[dict[str, Record], dict[int, bytes]]:
    """Records by the fingerprints of their cells, later ones in the place of earlier ones; and lines that are none.

    Parameters
    ----------
    data : bytes
        Lines.

    Returns
    -------
    dict of str to dict
    dict of int to bytes
        Damaged lines, by their numbers from 1.
    """
    records: dict[str, Record] = {}
    damaged: dict[int, bytes] = {}
    *lines, last = data.split(b"\n")
    if last:  # a line without its end
        damaged[len(lines) + 1] = last
    for number, line in enumerate(lines, start=1):
        try:
            record = unsealed(line + b"\n")
            if record["cell"] != cell_of(record):
                raise ValueError("it describes another cell")
        except (ValueError, KeyError):
            damaged[number] = line
        else:
            records[record["cell"]] = record
    return records, damaged
