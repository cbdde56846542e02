"""Storage of results in a JSON document and an NPZ file that contains arrays.

The name of the NPZ file is the name of the JSON file with ``.npz`` appended. The entry "result" in the NPZ file is a
description of the result in JSON format. The description contains the version of the schema, the SHA-256 hash of the
JSON file, the type of every record and the names of the arrays. Nothing is pickled. A restored result consists of
arrays, numbers, strings and records. A record type is public, or it is named in the module of the record that contains
it. User functions, such as those in an operator, are stored as text.
"""

from __future__ import annotations

import hashlib
import importlib
import io
import json
import os
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steinkit.errors import Caution, InputError, SteinkitError
from steinkit.files.numpy_format import Archive
from steinkit.files.streams import as_json, read_bytes, write_bytes
from steinkit.finding import Kind
from steinkit.result import Result

_DESCRIPTION = "result"
_SCHEMA = 2
"""Version of the file format. Increase this number if the fields of a record or their meanings change."""

_ROOT = "steinkit.measures.scores"
"""Module of the only result that is not public, that of the command ``score``."""


def save_result(result: Result, path: str | os.PathLike[str], text: str | None = None) -> None:
    """Write a result to a JSON file and an NPZ file.

    Parameters
    ----------
    result : Result
    path : path
        The JSON file.
    text : str, optional
        Content of the JSON file. The default is the result of `Result.to_dict`.

    Raises
    ------
    OutputError
        If a file cannot be written.
    """
    data, archive = packed_result(result, text)
    write_bytes(path, data, binary=True)
    write_bytes(_archive_of(path), archive, binary=True)


def packed_result(result: Result, text: str | None = None) -> tuple[bytes, bytes]:
    """Return the contents of the JSON file and the NPZ file of a result."""
    data = f"{as_json(result.to_dict()) if text is None else text}\n".encode()
    arrays: dict[str, NDArray[Any]] = {}
    digest = hashlib.sha256(data).hexdigest()
    state = json.dumps({"schema": _SCHEMA, "sha256": digest, "result": _packed(result, arrays)})
    arrays[_DESCRIPTION] = np.frombuffer(state.encode(), dtype=np.uint8)
    stream = io.BytesIO()
    np.savez(stream, allow_pickle=False, **arrays)
    return data, stream.getvalue()


def read_result(path: str | os.PathLike[str]) -> Result:
    """Read a result written by `Result.save` or the command-line option ``-o``.

    Parameters
    ----------
    path : path
        The JSON file. The arrays are read from the file with ``.npz`` appended to this name.

    Returns
    -------
    Result
        The result, as an instance of its original class.

    Raises
    ------
    InputError
        If a file is missing or damaged, or if the two files belong to different results.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> import steinkit as sk
    >>> found = sk.chain_diagnostics(np.random.default_rng(0).standard_normal((100, 2)))
    >>> file = Path(tempfile.mkdtemp()) / "ess.json"
    >>> found.save(file)
    >>> sk.read_result(file).value == found.value
    True
    """
    data, arrays_path = read_bytes(path, binary=True), _archive_of(path)
    if not arrays_path.is_file():
        raise InputError(
            f"{path} is not a saved result: its arrays, {arrays_path.name}, are not in the same folder; Result.save "
            "and -o of a command write both files"
        )
    return unpacked_result(data, read_bytes(arrays_path, binary=True), str(arrays_path))


def unpacked_result(data: bytes, archive: bytes, name: str) -> Result:
    """Restore a result from the contents of its two files."""
    try:
        arrays = Archive(archive, name)
        state = json.loads(arrays[_DESCRIPTION].tobytes())
        if state.get("schema") != _SCHEMA:
            raise ValueError(f"expected schema {_SCHEMA}, got {state.get('schema')}; recompute the result")
        found = _unpacked(state["result"], arrays)
    except SteinkitError:
        raise
    except Exception as error:  # a damaged description can cause any exception
        raise InputError(f"{name} is not a result of this version of steinkit ({str(error) or repr(error)})") from None
    if state.get("sha256") != hashlib.sha256(data).hexdigest():
        raise InputError(f"{name} belongs to another JSON file; keep both files of a result together")
    if not isinstance(found, Result):
        raise InputError(f"{name}: expected a result, got {type(found).__name__}")
    return found


def _archive_of(path: str | os.PathLike[str]) -> Path:
    return Path(f"{os.fspath(path)}.npz")


def _packed(value: Any, arrays: dict[str, NDArray[Any]], module: str = _ROOT) -> Any:
    """Convert a value to JSON, storing other types as objects with a single key.

    Parameters
    ----------
    value : object
    arrays : dict of str to ndarray
        The arrays of the file, to which the arrays of the value are added.
    module : str
        Module of the record that contains the value.
    """
    pack = partial(_packed, arrays=arrays, module=module)
    if isinstance(value, np.ndarray) and value.dtype != object:
        known = (name for name, array in arrays.items() if array is value)
        name = next(known, f"array_{len(arrays)}")
        arrays[name] = value
        return {"array": name}
    for kind, held in _TEXTS.items():
        if isinstance(value, held):
            return {kind: str(value)}
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, list):
        return [pack(each) for each in value]
    if isinstance(value, tuple):
        return {"tuple": [pack(each) for each in value]}
    if isinstance(value, Mapping):
        return {"mapping": [[pack(key), pack(each)] for key, each in value.items()]}
    own = type(value)
    if is_dataclass(value) and own.__module__.startswith("steinkit."):
        if _type_of(own.__name__, module) is not own:
            raise TypeError(f"{own.__name__} must be public, or imported in {module}, which has a record of this type")
        kept = {each.name: _packed(getattr(value, each.name), arrays, own.__module__) for each in fields(value)}
        return {"record": [own.__name__, kept]}
    return repr(value)


_TEXTS: dict[str, type[Any]] = {"caution": Caution, "kind": Kind, "error": SteinkitError}
"""Types of values that are stored as text."""


def _unpacked(value: Any, arrays: Archive, module: str = _ROOT) -> Any:
    unpack = partial(_unpacked, arrays=arrays, module=module)
    if isinstance(value, list):
        return [unpack(each) for each in value]
    if not isinstance(value, dict):
        return value
    ((kind, held),) = value.items()
    if kind in _TEXTS:
        return _TEXTS[kind](held)
    match kind:
        case "array":
            return arrays[held]
        case "tuple":
            return tuple(unpack(each) for each in held)
        case "mapping":
            return {unpack(key): unpack(each) for key, each in held}
    name, kept = held
    if (record := _type_of(name, module)) is None:
        raise ValueError(f"{name} is not a record of a result")
    made = object.__new__(record)
    if missing := {field.name for field in fields(made)} - kept.keys():
        raise ValueError(f"{name} has no field {min(missing)}; recompute the result")
    for field in fields(made):
        object.__setattr__(made, field.name, _unpacked(kept[field.name], arrays, record.__module__))
    return made


def _type_of(name: str, module: str) -> Any:
    """Return the dataclass with the given name, or None if files may not contain it.

    The name is public, or it is defined or imported in the module.
    """
    for place in ("steinkit", module):
        found = getattr(importlib.import_module(place), name, None)
        if isinstance(found, type) and is_dataclass(found):
            return found
    return None
