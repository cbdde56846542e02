"""Reader for emcee and UltraNest HDF5 files.

emcee stores the array ``chain`` of shape (steps, walkers, d) in a group, by default ``mcmc``. UltraNest stores the
array ``points``. The columns of this array are log L at birth, log L, the quality of the point, the coordinates in the
unit cube, and the parameters. The parameter names are stored in ``info/results.json``.
"""

from __future__ import annotations

import io
import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from steinkit.containers.columns import ALL, Selection, choose, lay_out, sample_from_table, weight_column
from steinkit.errors import InputError, ReadingWarning, import_extra, quoted, warn_user
from steinkit.files.streams import damage_reported, read_bytes
from steinkit.sample import Sample, default_names

MARK = b"\x89HDF\r\n"


def is_of_sampler(data: bytes) -> bool:
    """Return True if an HDF5 file was written by emcee or UltraNest."""
    with suppress(Exception):  # h5py is optional, and the readers report damaged files
        import h5py

        with h5py.File(io.BytesIO(data)) as file:
            return bool(_chains(file)) or _is_ultranest(file)
    return False


def _is_ultranest(file: Any) -> bool:
    return "points" in file and "ncalls" in file.attrs


def _chains(file: Any) -> list[str]:
    """Return the groups that contain emcee chains."""
    return [name for name, each in file.items() if "nwalkers" in each.attrs and "chain" in each]


def read_hdf5(
    data: bytes, source: str, selection: Selection = ALL, group: str | None = None, path: Path | None = None
) -> Sample:
    """Read the draws in an emcee or UltraNest HDF5 file.

    Parameters
    ----------
    data : bytes
    source : str
        Name of the file, for messages.
    selection : Selection
    group : str, optional
        Group that contains the emcee chains. The default is the only such group.
    path : Path, optional
        Path of the file. UltraNest stores the parameter names in another file.

    Raises
    ------
    InputError
        If the file is damaged, or was not written by one of these programs.
    MissingDependencyError
        If h5py is not installed (``pip install -e '.[netcdf]'``).
    """
    h5py = import_extra("h5py", "HDF5 needs the package h5py, which", "netcdf")
    with damage_reported(f"{source} is not a valid HDF5 file"), h5py.File(io.BytesIO(data)) as file:
        if _is_ultranest(file):
            return _from_ultranest(file["points"][:], source, selection, path)
        groups = _chains(file)
        name = groups[0] if len(groups) == 1 and group is None else group
        if name not in groups:
            raise InputError(
                f"{source} contains emcee chains in the groups {quoted(groups) or 'none'}; select one with group= "
                "(--group)"
            )
        steps = int(file[name].attrs["iteration"])
        chain = file[name]["chain"][:steps].swapaxes(0, 1)
    weight_column((), source, selection)
    warn_user(f"the file was read as emcee chains: {len(chain)} walkers with {steps} steps each", ReadingWarning)
    names = default_names(chain.shape[2])
    chosen = choose(names, selection.columns, source)
    return Sample(chain[..., chosen], names=[names[k] for k in chosen])


def _from_ultranest(points: Any, source: str, selection: Selection, path: Path | None) -> Sample:
    results = path and path.parent.parent / "info" / "results.json"
    width = points.shape[1] - 3
    if results is not None and results.is_file():
        with damage_reported(f"{results} does not contain the parameter names"):
            names = tuple(map(str, json.loads(read_bytes(results, binary=True))["paramnames"]))
    elif width % 2 == 0:
        names = default_names(width // 2)
    else:
        raise InputError(
            f"{source} has derived parameters; read it from the output folder, together with ../info/results.json"
        )
    others = [f"unit cube {k}" for k in range(width - len(names))]
    header = ["logL_birth", "logL", "quality", *others, *names]
    layout = lay_out(header, source, selection, ignored=["quality", *others], kind="stored UltraNest points")
    return sample_from_table(np.asarray(points, np.float64), layout, source, lambda row: f"point {row + 1}")
