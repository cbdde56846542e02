"""Results in two files: a JSON file with `Result.to_dict`, and an NPZ file with the arrays.

The NPZ file has the JSON file's name with ``.npz`` added. Under "result" it holds a description of the result in JSON,
with the version of its schema, the name of the type of every record, the names of the arrays, and the SHA-256 of the
JSON file. Nothing is pickled: a restored result consists of arrays, numbers, texts, and records that are public or
listed in `_RECORDS`. A user's functions, as in an operator, are kept as their texts.
"""

from __future__ import annotations

import hashlib
import importlib
import io
import json
import os
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steinkit.errors import Caution, InputError, SteinkitError
from steinkit.files.numpy_format import Archive
from steinkit.files.streams import as_json, read_bytes, write_bytes
from steinkit.finding import Kind
from steinkit.result import Result

_ENDING = ".npz"
_DESCRIBED = "result"
_SCHEMA = 1
"""Version of the files; raise it when a saved record gains, loses or renames a field or changes its meaning."""

_RECORDS = {
    "BootstrapTest": "discrepancy.kernel.ksd",
    "ChainMoments": "discrepancy.moments",
    "Cell": "sweeps.cells",
    "Choice": "sweeps.choice",
    "ComparedSample": "comparison_result",
    "Configuration": "sweeps.plan",
    "Drift": "diagnosis.bias.drift",
    "Feature": "discrepancy.moments",
    "LargeSlice": "discrepancy.sliced_goodness_of_fit",
    "Measured": "sweeps.cells",
    "MissedMode": "diagnosis.missed_modes",
    "Origin": "result",
    "Rate": "curves",
    "Rung": "sweeps.scheduler",
    "Scores": "measures.scores",
    "SettingSummary": "sweeps.choice",
    "Slice": "discrepancy.sliced",
    "TestResult": "diagnosis.verdict_result",
}
"""Modules of records that a file may hold beside the public ones, by the names of their types."""


def save_result(result: Result, path: str | os.PathLike[str], text: str | None = None) -> None:
    """Write a result's two files.

    Parameters
    ----------
    result : Result
    path : path
        Of the JSON file.
    text : str, optional
        What to write there, where it is more than `Result.to_dict`.

    Raises
    ------
    OutputError
        If a file cannot be written.
    """
    data, described = packed_result(result, text)
    write_bytes(path, data, binary=True)
    write_bytes(_beside(path), described, binary=True)


def packed_result(result: Result, text: str | None = None) -> tuple[bytes, bytes]:
    """Return what the two files hold; parameters of `save_result`."""
    data = f"{as_json(result.to_dict()) if text is None else text}\n".encode()
    arrays: dict[str, NDArray[Any]] = {}
    digest = hashlib.sha256(data).hexdigest()
    state = json.dumps({"schema": _SCHEMA, "sha256": digest, "result": _packed(result, arrays)})
    stream = io.BytesIO()
    arrays[_DESCRIBED] = np.frombuffer(state.encode(), dtype=np.uint8)
    np.savez(stream, allow_pickle=False, **arrays)
    return data, stream.getvalue()


def read_result(path: str | os.PathLike[str]) -> Result:
    """Read a result that was kept with `Result.save`, or with ``-o`` of a command.

    Parameters
    ----------
    path : path
        Of the JSON file; the arrays are read from the file beside it, of this name with ``.npz`` added.

    Returns
    -------
    Result
        As it was when it was kept.

    Raises
    ------
    InputError
        If a file is missing or damaged, or the two do not belong together.
    """
    data, beside = read_bytes(path, binary=True), _beside(path)
    if not beside.is_file():
        raise InputError(
            f"{path} has no {beside.name} beside it, which holds the result's arrays; write both with -o of the "
            "command or with Result.save"
        )
    return unpacked_result(data, read_bytes(beside, binary=True), str(beside))


def unpacked_result(data: bytes, described: bytes, name: str) -> Result:
    """Return the result whose files hold these bytes; the second of them is called by a name in errors."""
    try:
        archive = Archive(described, name)
        state = json.loads(archive[_DESCRIBED].tobytes())
        if state.get("schema") != _SCHEMA:
            raise ValueError(f"expected schema {_SCHEMA}, got {state.get('schema')}; make the result again")
        found = _unpacked(state["result"], archive)
    except SteinkitError:
        raise
    except Exception as error:  # a damaged description is anything but one
        raise InputError(
            f"{name} is not a result that this version of steinkit can read ({str(error) or repr(error)})"
        ) from None
    if state.get("sha256") != hashlib.sha256(data).hexdigest():
        raise InputError(f"{name} belongs to another result than its document; keep both files of a result together")
    if not isinstance(found, Result):
        raise InputError(f"{name} holds a {type(found).__name__}, not a result")
    return found


def _beside(path: str | os.PathLike[str]) -> Path:
    return Path(f"{os.fspath(path)}{_ENDING}")


def _packed(value: Any, arrays: dict[str, NDArray[Any]]) -> Any:
    """A value in JSON: arrays by their names, everything else but numbers, texts and lists as an object of one key."""
    if isinstance(value, np.ndarray) and value.dtype != object:
        known = (name for name, array in arrays.items() if array is value)
        name = next(known, f"array_{len(arrays)}")
        arrays[name] = value
        return {"array": name}
    if isinstance(value, Caution):
        return {"caution": str(value)}
    if isinstance(value, Kind):
        return {"kind": str(value)}
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, SteinkitError):
        return {"error": str(value)}
    if isinstance(value, list):
        return [_packed(each, arrays) for each in value]
    if isinstance(value, tuple):
        return {"tuple": [_packed(each, arrays) for each in value]}
    if isinstance(value, Mapping):
        return {"mapping": [[_packed(key, arrays), _packed(each, arrays)] for key, each in value.items()]}
    name, module = type(value).__name__, type(value).__module__
    if is_dataclass(value) and module.startswith("steinkit."):
        if _type_of(name) is not type(value):
            raise TypeError(f"{module}.{name} is no record of steinkit.saved_results; add it there")
        return {"record": [name, {each.name: _packed(getattr(value, each.name), arrays) for each in fields(value)}]}
    return repr(value)


def _unpacked(value: Any, arrays: Archive) -> Any:
    if isinstance(value, list):
        return [_unpacked(each, arrays) for each in value]
    if not isinstance(value, dict):
        return value
    ((kind, held),) = value.items()
    if kind == "array":
        return np.array(arrays[held])
    if kind == "caution":
        return Caution(held)
    if kind == "error":
        return SteinkitError(held)
    if kind == "tuple":
        return tuple(_unpacked(each, arrays) for each in held)
    if kind == "mapping":
        return {_unpacked(key, arrays): _unpacked(each, arrays) for key, each in held}
    if kind == "kind":
        return Kind(held)
    name, kept = held
    if (made_of := _type_of(name)) is None:
        raise ValueError(f"{name} is no record of a result")
    made = object.__new__(made_of)
    if missing := {field.name for field in fields(made)} - kept.keys():
        raise ValueError(f"{name} has no field {min(missing)}; make the result again")
    for field in fields(made):
        object.__setattr__(made, field.name, _unpacked(kept[field.name], arrays))
    return made


def _type_of(name: str) -> Any:
    """Return the dataclass of this name that files may hold; None if there is none."""
    module = f"steinkit.{_RECORDS[name]}" if name in _RECORDS else "steinkit"
    found = getattr(importlib.import_module(module), name, None)
    return found if isinstance(found, type) and is_dataclass(found) else None
