"""Valid files of every format that steinkit reads, and seeded mutations of them."""

from __future__ import annotations

import gzip
import importlib.util
import io
import json
import re
import sqlite3
import tempfile
import tomllib
import warnings
import zipfile
from collections.abc import Callable
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import tomli_w

import steinkit as sk
from fuzzing.mutations import damage_bytes, damage_json, damage_table, damage_value, damage_words
from steinkit.comparison import compare
from steinkit.curves import curve

NAMES = ("csv", "gz", "stan", "npy", "npz", "netcdf", "zarr", "toml", "units", "report")
ENDINGS = {
    **{"csv": ".csv", "gz": ".csv.gz", "stan": ".csv", "npy": ".npy", "npz": ".npz", "netcdf": ".nc"},
    **{"zarr": ".zarr.zip", "toml": ".toml", "units": ".json", "report": ".json"},
}
_HEADERS = ("mu,tau", '"theta[0,1]",b', "chain,draw,x,weight,score:x,cost", "x")
_STAN = (
    "# stan_version_major = 2\n# stan_version_minor = 35\n# method = sample (Default)\n#     num_samples = 6\n"
    "#     num_warmup = 3\n#     save_warmup = 1\n#     thin = 1 (Default)\n# algorithm = hmc (Default)\n"
)
_TOML = """target = "normal"
[target_options]
mean = [0.0, 1.0]
[sampler]
name = "rwmh"
draws = 40
start = "normal"
[grid]
proposal_scale = [0.1, 1.0]
[run]
seeds = 3
measures = ["sliced", "ess"]
tolerance = 1e-2
units = "raw"
stein_factors = [1.0, 1.0, 1.0]
"""


def available() -> list[str]:
    """Return the formats with installed packages."""
    return [name for name in NAMES if name != "zarr" or importlib.util.find_spec("zarr") is not None]


def sound(reader: str, seed: int = 0) -> bytes:
    """Return a valid file."""
    return _SOUND[reader](np.random.default_rng(seed))


def mutated(reader: str, seed: int) -> bytes:
    """Return a damaged file, determined by the seed."""
    rng = np.random.default_rng(seed)
    whole = sound(reader, int(rng.integers(4)))
    return _MUTATIONS[reader](whole, rng)


def _table(rng: np.random.Generator) -> bytes:
    header = _HEADERS[int(rng.integers(len(_HEADERS)))]
    columns = header.count(",") + 1 - (header.startswith('"'))
    values = np.abs(np.round(rng.normal(size=(8, columns)) * 10.0 ** rng.integers(-8, 9), 6))
    labelled = header.startswith("chain")
    rows = [
        ",".join([str(k // 4), str(k % 4), *map(repr, row[2:])] if labelled else map(repr, row))
        for k, row in enumerate(values.tolist())
    ]
    return "\n".join([*(["# made by hand"] if rng.random() < 0.3 else []), header, *rows, ""]).encode()


def _stan(rng: np.random.Generator) -> bytes:
    rows = ["-7.5,0.9," + ",".join(map(repr, row)) for row in rng.normal(size=(9, 3)).tolist()]
    rows.insert(3, "# Adaptation terminated\n# Step size = 0.8")
    return (
        _STAN + "\n".join(["lp__,accept_stat__,mu,theta.1,theta.2", *rows, "# Elapsed Time: 1 seconds", ""])
    ).encode()


def _npy(rng: np.random.Generator) -> bytes:
    stream = io.BytesIO()
    kind = ["<f8", "<f4", "<i8", ">f8"][int(rng.integers(4))]
    shape = [(12,), (6, 2), (2, 3, 2)][int(rng.integers(3))]
    np.save(stream, (rng.normal(size=shape) * 100).astype(kind))
    return stream.getvalue()


def _npz_arrays(rng: np.random.Generator) -> dict[str, Any]:
    points = rng.normal(size=(2, 4, 2))
    return {"points": points, "scores": -points, "weights": rng.random((2, 4)), "names": np.array(["mu", "tau"])}


def _npz(rng: np.random.Generator) -> bytes:
    stream = io.BytesIO()
    (np.savez if rng.random() < 0.5 else np.savez_compressed)(stream, **_npz_arrays(rng))
    return stream.getvalue()


def _variables(rng: np.random.Generator) -> dict[str, Any]:
    both = ("chain", "draw")
    return {"mu": (both, rng.normal(size=(2, 6))), "theta": ((*both, "k"), rng.normal(size=(2, 6, 3)))}


def _netcdf(rng: np.random.Generator) -> bytes:
    import xarray

    variables = {
        "mu": (("chain", "draw"), rng.normal(size=(2, 6))),
        "theta": (("chain", "draw", "k"), rng.normal(size=(2, 6, 3))),
    }
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "made.nc")
        dataset = xarray.Dataset(variables, coords={"k": ["a", "b", "c"]})
        packed = {"theta": {"zlib": True}} if rng.random() < 0.5 else {}
        dataset.to_netcdf(path, group="posterior", engine="h5netcdf", encoding=packed)
        return path.read_bytes()


def _zarr(rng: np.random.Generator) -> bytes:
    import xarray

    variables = {
        "mu": (("chain", "draw"), rng.normal(size=(2, 6))),
        "theta": (("chain", "draw", "k"), rng.normal(size=(2, 6, 3))),
    }
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "made.zarr")
        version = int(rng.integers(2, 4))
        xarray.Dataset(variables).to_zarr(path, group="posterior", zarr_format=version, consolidated=False)
        return _folder(path)


def _folder(path: Path) -> bytes:
    """Return an archive of a folder."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for file in sorted(each for each in path.rglob("*") if each.is_file()):
            archive.writestr(str(file.relative_to(path)), file.read_bytes())
    return stream.getvalue()


def _units(rng: np.random.Generator) -> bytes:
    return json.dumps({"units": {"kind": "own", "scale": {"mu": 1.5, "tau": 0.2}}}).encode()


@cache
def _results() -> tuple[bytes, ...]:
    """Return saved results (length of the JSON file, JSON file, file of arrays), and the file of a sweep."""
    rng = np.random.default_rng(0)
    target = sk.targets.Normal([0.0, 0.0])
    samples = {name: rng.normal(size=(60, 2)) for name in ("a.csv", "b.csv")}
    results = (
        sk.verdict(samples["a.csv"], target),
        compare(samples, target, measures=["sliced", "ess"], reference=2),
        curve(rng.normal(size=(60, 2)), target, n=[10, 20, 40, 60], measure="ksd"),
    )
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "result.json")
        kept = []
        for each in results:
            each.save(file)
            document = file.read_bytes()
            kept.append(len(document).to_bytes(4) + document + Path(f"{file}.npz").read_bytes())
        sk.sweep(
            target,
            "rwmh",
            grid={"proposal_scale": [0.1, 1.0]},
            options={"draws": 30, "start": "normal"},
            seeds=2,
            measures=["sliced", "ess"],
            file=Path(folder, "sweep.sqlite"),
        )
        swept = Path(folder, "sweep.sqlite").read_bytes()
    return (*kept, swept)


def _report(rng: np.random.Generator) -> bytes:
    return _results()[int(rng.integers(4))]


_SOUND: dict[str, Callable[[np.random.Generator], bytes]] = {
    "csv": _table,
    "gz": lambda rng: gzip.compress(_table(rng), mtime=0),
    "stan": _stan,
    "npy": _npy,
    "npz": _npz,
    "netcdf": _netcdf,
    "zarr": _zarr,
    "toml": lambda rng: _TOML.encode(),
    "units": _units,
    "report": _report,
}


def _bytes_or(structured: Callable[[bytes, np.random.Generator], bytes], share: float) -> Callable[..., bytes]:
    """Apply format-specific mutations, random changes of bytes, or sometimes both."""

    def mutate(data: bytes, rng: np.random.Generator) -> bytes:
        chance = rng.random()
        if chance < share + 0.1:
            data = structured(data, rng)
        return damage_bytes(data, rng) if chance > share else data

    return mutate


def _as_table(data: bytes, rng: np.random.Generator) -> bytes:
    return damage_table(data.decode(), rng).encode("utf-8", errors="surrogatepass")


def _as_words(data: bytes, rng: np.random.Generator) -> bytes:
    return damage_words(data.decode(), rng).encode("utf-8", errors="surrogatepass")


def _as_toml(data: bytes, rng: np.random.Generator) -> bytes:
    """Replace values with other TOML values, or words with other words."""
    try:
        return tomli_w.dumps(damage_value(tomllib.loads(data.decode()), rng)).encode("utf-8", errors="surrogatepass")
    except (TypeError, ValueError, AttributeError):  # values that TOML cannot represent
        return _as_words(data, rng)


def _as_stan(data: bytes, rng: np.random.Generator) -> bytes:
    head, mark, body = data.partition(b"lp__")
    if rng.random() < 0.5:
        return _as_words(head, rng) + mark + body
    return head + _as_table(mark + body, rng)


def _as_packed_table(data: bytes, rng: np.random.Generator) -> bytes:
    return gzip.compress(_as_table(gzip.decompress(data), rng), mtime=0)


def _as_npy(data: bytes, rng: np.random.Generator) -> bytes:
    """Replace the header in front of the same numbers, with a correct or an incorrect length."""
    length = int.from_bytes(data[8:10], "little")
    header, body = data[10 : 10 + length].decode("latin1"), data[10 + length :]
    if rng.random() < 0.2:  # consistent with the number of bytes, but not a valid shape or numeric type
        shape = re.search(r"'shape': \(([^)]*)\)", header)
        awkward = ("True", "False", "0", "-1", "1," * 70, "99999999999999999999")
        old, replaced = (r"'shape': \([^)]*\)", f"'shape': ({shape[1] if shape else ''}, {rng.choice(awkward)})")
        if rng.random() < 0.3:
            old, replaced = r"'descr': '([^']*)'", r"'descr': ('\1', (1,))"
        new = re.sub(old, replaced, header.rstrip()).encode()
    else:
        new = damage_words(header.rstrip(), rng).encode("utf-8", errors="surrogatepass")
    if rng.random() < 0.8:
        new = new.ljust(length - 1) + b"\n"
        length = len(new)
    if rng.random() < 0.2:
        body = damage_bytes(body, rng)
    return data[:8] + (length % 2**16).to_bytes(2, "little") + new + body


def _as_npz(data: bytes, rng: np.random.Generator) -> bytes:
    """Return a valid archive with invalid members."""
    stream = io.BytesIO()
    with (
        warnings.catch_warnings(),
        zipfile.ZipFile(io.BytesIO(data)) as old,
        zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as new,
    ):
        warnings.simplefilter("ignore")  # two members with the same name are intended
        for name in old.namelist():
            content = old.read(name)
            if rng.random() < 0.4:
                content = _as_npy(content, rng) if rng.random() < 0.6 else damage_bytes(content, rng)
            match int(rng.integers(12)):
                case 0:
                    continue
                case 1:
                    name = name.removesuffix(".npy")
                case 2:
                    name = str(rng.choice(["points.npy", "weight.npy", "chain.npy", "../points.npy", "points"]))
                case _:
                    pass
            new.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_STORED if rng.random() < 0.5 else None)
    return stream.getvalue()


def _as_hdf5(data: bytes, rng: np.random.Generator) -> bytes:
    """Add attributes, types, shapes and links that are valid in HDF5 but not in a posterior."""
    import h5py

    stream = io.BytesIO(data)
    with h5py.File(stream, "r+") as file:
        group = file["posterior"]
        name = str(rng.choice(["mu", "theta"]))
        match int(rng.integers(9)):
            case 0:
                group[name].attrs[str(rng.choice(["scale_factor", "add_offset", "_FillValue", "dtype"]))] = rng.choice(
                    [np.nan, 0.0, 1e308, -1.0]
                )
            case 1:
                group[name].attrs[str(rng.choice(["coordinates", "units", "steinkit_labels", "_Netcdf4Dimid"]))] = (
                    "draw mu"
                )
            case 2:
                for attribute in list(group[name].attrs):
                    if rng.random() < 0.5:
                        del group[name].attrs[attribute]
            case 3:
                group.create_dataset("more", data=np.array([b"a", b"b"] if rng.random() < 0.5 else [1j, 2j]))
            case 4:
                group.create_dataset("wide", (2**40,), "f8", chunks=(1000,))
            case 5:
                group["out"] = h5py.ExternalLink("/etc/passwd", "/")
            case 6:
                del group[str(rng.choice(["chain", "draw", "k"])) if rng.random() < 0.5 else name]
            case 7:
                group.attrs["steinkit_labels"] = rng.integers(9, size=3)
            case _:
                group["round"] = h5py.SoftLink("/posterior/round")
    return stream.getvalue()


def _as_zarr(data: bytes, rng: np.random.Generator) -> bytes:
    """Damage one file of a folder: metadata as JSON, chunks as bytes; or remove or replace one file."""
    return _one_member(
        data, rng, lambda name: name.rpartition("/")[2] in ("zarr.json", ".zarray", ".zgroup", ".zattrs")
    )


def _one_member(data: bytes, rng: np.random.Generator, is_json: Callable[[str], bool]) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(stream, "w") as new:
        names = old.namelist()
        chosen, other = rng.choice(names, 2)
        chance = rng.random()
        for name in names:
            content = old.read(name)
            if name == chosen and chance < 0.1:
                continue
            if name == chosen and chance < 0.2:
                content = old.read(str(other))
            elif name == chosen:
                content = _as_json(content, rng) if is_json(name) else damage_bytes(content, rng)
            new.writestr(name, content)
    return stream.getvalue()


def _as_json(data: bytes, rng: np.random.Generator) -> bytes:
    return damage_json(data.decode(), rng).encode("utf-8", errors="surrogatepass")


def _as_report(data: bytes, rng: np.random.Generator) -> bytes:
    if data.startswith(b"SQLite"):
        return damage_bytes(data, rng) if rng.random() < 0.3 else _as_sweep(data, rng)
    end = 4 + int.from_bytes(data[:4])
    document, arrays = data[4:end], data[end:]
    if rng.random() < 0.7:
        return data[:end] + (_as_npz(arrays, rng) if rng.random() < 0.7 else damage_bytes(arrays, rng))
    document = _as_json(document, rng) if rng.random() < 0.7 else damage_bytes(document, rng)
    return len(document).to_bytes(4) + document + arrays


def _as_sweep(data: bytes, rng: np.random.Generator) -> bytes:
    """Change one value in a sweep's database, consistently with its structure."""
    columns = {"runs": "configuration", "cells": "settings", "result": "document", "draws": "npz"}
    table, column = list(columns.items())[int(rng.integers(len(columns)))]
    with closing(sqlite3.connect(":memory:")) as database:
        database.deserialize(data)
        rows = database.execute(f"SELECT rowid, {column} FROM {table}").fetchall()
        row, value = rows[int(rng.integers(len(rows)))]
        new: Any = damage_bytes(value, rng) if table == "draws" else damage_json(value, rng)
        database.execute(f"UPDATE {table} SET {column} = ? WHERE rowid = ?", (new, row))
        database.commit()
        return database.serialize()


_MUTATIONS: dict[str, Callable[[bytes, np.random.Generator], bytes]] = {
    "csv": _bytes_or(_as_table, 0.75),
    "gz": _bytes_or(_as_packed_table, 0.5),
    "stan": _bytes_or(_as_stan, 0.75),
    "npy": _bytes_or(_as_npy, 0.6),
    "npz": _bytes_or(_as_npz, 0.6),
    "netcdf": _bytes_or(_as_hdf5, 0.35),
    "zarr": _as_zarr,
    "toml": _bytes_or(_as_toml, 0.85),
    "units": _bytes_or(_as_json, 0.8),
    "report": _as_report,
}
