"""Samples as NetCDF, the files that ArviZ and PyMC write as InferenceData.

The draws stand in the group ``posterior``, or in the root of a file without one. Every variable with the
dimensions ``chain`` and ``draw`` is read; further dimensions are flattened into names by position, counted
from zero whatever labels they carry: ``theta[0]``, ``Sigma[0,1]``. The names ``weight``, ``cost`` and
``score:NAME`` mean what they mean in CSV. Variables without these two dimensions are no draws and are left
alone.
"""

from __future__ import annotations

import importlib
import io
import re
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steinkit.containers.chain_labels import rectangle
from steinkit.containers.columns import columns_of, sample_from_table, sort_columns
from steinkit.containers.messages import listed
from steinkit.errors import InputError, MissingDependencyError, UsageError
from steinkit.sample import Floats, Integers, Sample

_GROUP = "posterior"
_LABELS = "steinkit_labels"  # attribute: which of chain and draw the sample itself had
# NetCDF forbids control characters, slashes and blanks at the end, HDF5 also "." alone and half characters.
_UNFIT = re.compile(r"[\x00-\x1f\x7f/\ud800-\udfff]|\s\Z|\A\.*\Z")
_HDF5 = b"\x89HDF\r\n\x1a\n"


def read_netcdf(data: bytes, source: str, columns: Sequence[str] | None = None) -> Sample:
    """Read a sample from the bytes of a NetCDF 4 file.

    Parameters
    ----------
    data : bytes
    source : str
        Name of the file, for messages.
    columns : sequence of str, optional
        Coordinates to keep; variables without any of them are not read.

    Raises
    ------
    InputError
        If the file is no NetCDF 4, holds no variable over chain and draw, or chains of unequal length.
    MissingDependencyError
        If xarray or h5netcdf is not installed (``pip install 'steinkit[netcdf]'``).
    """
    with _opened(data, source) as dataset:
        spans, header = _flatten(dataset, source)
        layout = sort_columns(header, source).select(columns, source)
        labels = {dim: np.asarray(dataset[dim].values) for dim in ("chain", "draw")}
        shape = len(labels["chain"]), len(labels["draw"])
        values = np.full((shape[0] * shape[1], len(header)), np.nan)
        for name, span in spans.items():
            if any(k in span for k in layout.used):
                values[:, span.start : span.stop] = _numbers(dataset[name], name, source).reshape(len(values), -1)
        kept = dataset.attrs.get(_LABELS, "chain draw").split()
    _require_equal_chains(values[:, layout.coordinates].reshape(*shape, -1), source)
    chain, draw = np.repeat(labels["chain"], shape[1]), np.tile(labels["draw"], shape[0])
    return sample_from_table(
        values,
        layout,
        source,
        where=lambda row: f"chain {chain[row]}, draw {draw[row]}",
        chain=chain if "chain" in kept else None,
        draw=draw if "draw" in kept else None,
    )


def write_netcdf(sample: Sample, target: str) -> bytes:
    """Write a sample as the group ``posterior`` of a NetCDF 4 file, one variable a column.

    Raises
    ------
    UsageError
        If the chains do not form a rectangle, or a name cannot be one of a variable.
    MissingDependencyError
        If xarray or h5netcdf is not installed.
    """
    xarray, _ = _packages()
    chains, draws = _axes(sample, target)
    columns = columns_of(sample)
    unfit = [name for name in columns if _UNFIT.search(name)]
    if unfit:
        raise UsageError(f"{target}: {unfit[0]!r} cannot name a NetCDF variable; rename it, or write .npz")
    dataset = xarray.Dataset(
        {
            name: (("chain", "draw"), column.reshape(len(chains), len(draws)))
            for name, column in columns.items()
            if name not in ("chain", "draw")
        },
        coords={"chain": chains, "draw": draws},
        attrs={_LABELS: " ".join(name for name in ("chain", "draw") if name in columns)},
    )
    with tempfile.TemporaryDirectory(prefix="steinkit-") as folder:
        path = Path(folder, "sample.nc")
        dataset.to_netcdf(path, group=_GROUP, engine="h5netcdf")
        return path.read_bytes()


def _axes(sample: Sample, target: str) -> tuple[Integers, Integers]:
    """Labels of the chains and of the draws in each; zeros and counts stand in for labels not there."""
    n = len(sample)
    chain = np.zeros(n, dtype=np.int64) if sample.chain is None else sample.chain
    draw = np.arange(n) % np.count_nonzero(chain == chain[0]) if sample.draw is None else sample.draw
    axes = rectangle(chain, draw)
    if axes is None:
        raise UsageError(
            f"{target}: NetCDF needs chains of equal length, one after the other, with the same draw labels; "
            "this sample's are not: write .npz or .csv"
        )
    return axes


@contextmanager
def _opened(data: bytes, source: str) -> Iterator[Any]:
    xarray, h5py = _packages()
    if not data.startswith(_HDF5):
        kind = (
            "a NetCDF 3 file; convert it to NetCDF 4 (nccopy -k nc4)"
            if data.startswith(b"CDF")
            else ("no NetCDF 4 (HDF5) file; say with format= (--format) what it is")
        )
        raise InputError(f"{source} is {kind}")
    with _damage_reported(source):
        with h5py.File(io.BytesIO(data), "r") as file:
            group = _GROUP if _GROUP in file else None
        # decode_times=False: a parameter with the attribute units="seconds" stays a number.
        dataset = xarray.open_dataset(
            io.BytesIO(data), group=group, engine="h5netcdf", decode_times=False, decode_timedelta=False
        )
    with dataset:
        yield dataset


@contextmanager
def _damage_reported(source: str) -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError, KeyError, RuntimeError) as error:
        raise InputError(f"{source} is damaged or no NetCDF file ({error}); write it again") from None


def _flatten(dataset: Any, source: str) -> tuple[dict[str, range], list[str]]:
    """Columns that each variable fills, and the names of all columns."""
    spans: dict[str, range] = {}
    header: list[str] = []
    for name, variable in dataset.data_vars.items():
        if {"chain", "draw"} <= set(variable.dims):
            shape = [variable.sizes[dim] for dim in variable.dims if dim not in ("chain", "draw")]
            names = [name + (f"[{','.join(map(str, index))}]" if index else "") for index in np.ndindex(*shape)]
            spans[name] = range(len(header), len(header) + len(names))
            header += names
    if not header:
        found = [f"{name}({', '.join(map(str, each.dims))})" for name, each in dataset.data_vars.items()]
        raise InputError(
            f"{source} holds no variable with the dimensions chain and draw; it holds "
            f"{listed(found) or 'nothing'}: rename the dimensions"
        )
    return spans, header


def _numbers(variable: Any, name: str, source: str) -> Floats:
    with _damage_reported(source):
        array: NDArray[Any] = variable.transpose("chain", "draw", ...).values
    if array.dtype.kind not in "fiub":
        raise InputError(
            f'{source}: variable "{name}" holds {array.dtype} where real numbers are wanted; '
            "leave it out with columns= (--columns)"
        )
    return array.astype(np.float64)


def _require_equal_chains(points: Floats, source: str) -> None:
    """Refuse shorter chains that were filled up with NaN to make a rectangle."""
    missing = np.isnan(points).all(axis=2)
    lengths = (~missing).sum(axis=1)
    draws = missing.shape[1]
    padded = missing == (np.arange(draws) >= lengths[:, None])
    if padded.all() and 0 < lengths.min() < lengths.max():
        short = int(lengths.argmin())
        raise InputError(
            f"{source}: chain number {short + 1} ends after {lengths[short]} of {draws} draws; cut all "
            f"chains to {lengths[short]} draws, or store chains of unequal length as .npz or .csv"
        )


def _packages() -> tuple[Any, Any]:
    try:
        importlib.import_module("h5netcdf")  # the engine that xarray is asked to use
        return importlib.import_module("xarray"), importlib.import_module("h5py")
    except ImportError as error:
        raise MissingDependencyError(
            f"NetCDF needs the packages xarray, h5netcdf and h5py ({error}); pip install 'steinkit[netcdf]'"
        ) from None
