"""Results in files: what `Result.to_dict` lists as JSON, and beside it, as NPZ, the rest of the result.

The JSON file is what ``--json`` prints. The NPZ file has its name with ``.npz`` added. It holds the result's arrays, a
description of the result in JSON under "result", where arrays stand by their names, and the JSON file's digest. Nothing
is pickled: a result that is read is made of arrays, numbers, texts and steinkit's own records. Functions of a user's,
as in an operator, are kept as their texts.
"""

from __future__ import annotations

import dataclasses
import hashlib
import importlib
import io
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steinkit.errors import Caution, InputError, SteinkitError
from steinkit.files.numpy_format import Archive
from steinkit.files.streams import as_json, read_bytes, write_bytes
from steinkit.result import Result

_ENDING = ".npz"
_ROOMS = (
    *("chains", "comparison_result", "curves", "diagnosis", "discrepancy", "measurement", "measures", "result"),
    *("sample", "samplers", "sweeps"),
)
_DESCRIBED = "result"


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
    data = f"{as_json(result.to_dict()) if text is None else text}\n".encode()
    arrays: dict[str, NDArray[Any]] = {}
    state = json.dumps({"result": _packed(result, arrays), "sha256": hashlib.sha256(data).hexdigest()})
    stream = io.BytesIO()
    arrays[_DESCRIBED] = np.frombuffer(state.encode(), dtype=np.uint8)
    np.savez(stream, allow_pickle=False, **arrays)
    write_bytes(path, data, binary=True)
    write_bytes(_beside(path), stream.getvalue(), binary=True)


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
    data = read_bytes(path, binary=True)
    if not _beside(path).is_file():
        raise InputError(
            f"{path} has no {_beside(path).name} beside it, which holds the result's arrays; keep "
            "both with -o of a command, or with save()"
        )
    return restored(data, path)


def restored(data: bytes, path: str | os.PathLike[str]) -> Result:
    """The result whose JSON file holds these bytes; parameters and errors of `read_result`."""
    name = _beside(path)
    try:
        archive = Archive(read_bytes(name, binary=True), str(name))
        state = json.loads(archive[_DESCRIBED].tobytes())
        found = _unpacked(state["result"], archive)
    except SteinkitError:
        raise
    except Exception as error:  # a damaged description is anything but one
        raise InputError(
            f"{name} is not a result that this version of steinkit can read ({str(error) or repr(error)})"
        ) from None
    if state.get("sha256") != hashlib.sha256(data).hexdigest():
        raise InputError(f"{name} belongs to another result than {path}; keep both files of a result together")
    if not isinstance(found, Result):
        raise InputError(f"{name} holds a {type(found).__name__}, not a result")
    return found


def has_arrays(path: str | os.PathLike[str]) -> bool:
    """Whether the rest of the result stands beside a JSON file."""
    return _beside(path).is_file()


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
    room = type(value).__module__.split(".")
    if dataclasses.is_dataclass(value) and room[0] == "steinkit" and room[1] in _ROOMS:
        kept = {each.name: _packed(getattr(value, each.name), arrays) for each in dataclasses.fields(value)}
        return {"record": [type(value).__module__, type(value).__name__, kept]}
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
    module, name, kept = held
    room = module.split(".")
    if room[0] != "steinkit" or room[1] not in _ROOMS:
        raise InputError(f"{module} holds no results")
    try:
        made = object.__new__(getattr(importlib.import_module(module), name))
    except (ImportError, AttributeError):
        raise ValueError(f"no {name} in {module}: kept by another version; make the result again") from None
    missing = {each.name for each in dataclasses.fields(made)} - kept.keys()
    if missing:
        raise ValueError(f"{name} without {min(missing)}: kept by another version; make the result again")
    for field in dataclasses.fields(made):
        object.__setattr__(made, field.name, _unpacked(kept[field.name], arrays))
    return made
