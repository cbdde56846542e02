"""Chain files that store their column names in separate files.

- The files ``root_1.txt`` and ``root.1.txt`` from GetDist, CosmoMC, MontePython and Cobaya, and the files ``root.txt``
  from MultiNest and PolyChord, contain weights, -log L (-2 log L for nested sampling) and parameters [1]_. The
  parameter names are stored in ``root.paramnames``, which marks derived parameters with ``*``, or in
  ``rootparams.json`` (PyMultiNest). Cobaya headers name all the columns, and ``root.updated.yaml`` indicates which
  columns have a prior.
- The files ``root_dead-birth.txt`` from PolyChord and MultiNest contain parameters, log L, and log L at birth. The
  final live points are stored in ``root_phys_live-birth.txt``. The files ``root-post_equal_weights.dat`` from MultiNest
  contain parameters and log L.
- A CODA chain from BUGS or JAGS lists the iterations and values of each parameter in turn. The index file contains the
  name, the first line and the last line of each parameter [2]_.

References
----------
.. [1] A. Lewis (2019), "GetDist: a Python package for analysing Monte Carlo samples", arXiv:1910.13970.
.. [2] M. Plummer, N. Best, K. Cowles and K. Vines (2006), "CODA: convergence diagnosis and output analysis for MCMC",
   R News 6, 7-11.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from steinkit.errors import InputError
from steinkit.files.streams import parse_json, read_bytes
from steinkit.sample import default_names

_DEAD, _LIVE = "dead-birth", "phys_live-birth"
_PART = re.compile(r"([._]\d+|_?(dead|phys_live)(-birth)?|_?equal_weights|post_equal_weights)\Z")
_CODA_CHAIN = re.compile(r"(.*?)(?:chain)?\d+\.(?:txt|out)", re.IGNORECASE)
_CODA_INDEX = re.compile(r"(.*?)(?:index\.txt|\.ind)", re.IGNORECASE)


class Naming(NamedTuple):
    """Column names of a table without a header, read from another file.

    Attributes
    ----------
    header : list of str
    ignored : tuple of str
        Columns that are not parameters.
    kind : str
        Description of the table.
    """

    header: list[str]
    ignored: tuple[str, ...] = ()
    kind: str = ""


def chain_files(path: Path) -> list[str]:
    """Return the chain files that belong to a CODA index or a GetDist root.

    For other paths, the list is empty.
    """
    found = _CODA_INDEX.fullmatch(path.name)
    if found and path.is_file():
        pattern = re.compile(rf"{re.escape(found[1])}(chain)?\d+\.(txt|out)", re.IGNORECASE)
    elif not path.exists():
        pattern = re.compile(rf"{re.escape(path.name)}[._]\d+\.txt")
    else:
        return []
    return [str(each) for each in path.parent.glob("*") if pattern.fullmatch(each.name)]


def coda_index(path: Path) -> Path | None:
    """Return the index file of a CODA chain, or None."""
    chain = _CODA_CHAIN.fullmatch(path.name)
    if chain is None or not path.is_file():
        return None
    pairs = ((each, _CODA_INDEX.fullmatch(each.name)) for each in path.parent.iterdir())
    return next((each for each, index in pairs if index and index[1].lower() == chain[1].lower()), None)


def naming_of(path: Path | None, width: int) -> Naming | None:
    """Return the column names of a chain file without a header, or None.

    ``width`` is the number of columns.

    Raises
    ------
    InputError
        If there are more names than columns.
    """
    names, suffix = _names_beside(path) if path else ([], "")
    if path is None or not names:
        return None
    before, after = ["weight", "-log L"], list[str]()
    if path.stem.endswith(_DEAD):
        before, after = [], ["logL", "logL_birth"]
    elif path.stem.endswith("post_equal_weights"):
        before, after = [], ["logL"]
    count = width - len(before) - len(after)
    if len(names) > count:
        raise InputError(f"{path}: expected {count} parameter names in the {suffix} file, got {len(names)}")
    derived = [name.rstrip("*") for name in names if name.endswith("*")]
    names = [name.rstrip("*") for name in names] + list(default_names(count)[len(names) :])
    ignored = (*before[1:], *(after if len(after) == 1 else ()), *derived)
    return Naming([*before, *names, *after], ignored, f"a chain with names in {suffix}")


def _names_beside(path: Path) -> tuple[list[str], str]:
    """Return the parameter names and the suffix of the file that contains them."""
    for stem in dict.fromkeys((path.stem, _PART.sub("", path.stem))):
        named = path.with_name(f"{stem}.paramnames")
        if named.is_file():
            lines = read_bytes(named, binary=True).decode("utf-8", "replace").splitlines()
            return [line.split()[0] for line in lines if line.strip()], ".paramnames"
        named = path.with_name(f"{stem}params.json")
        if named.is_file():
            return list(map(str, parse_json(read_bytes(named, binary=True), str(named)))), "params.json"
    return [], ""


def derived_beside(path: Path | None, header: Sequence[str]) -> list[str]:
    """Return the columns that have no prior in Cobaya's ``root.updated.yaml``."""
    named = path and path.with_name(f"{_PART.sub('', path.stem)}.updated.yaml")
    if named is None or not named.is_file():
        return []
    text = read_bytes(named, binary=True).decode("utf-8", "replace")
    block = re.search(r"^params:\n((?:[ ].*\n)*)", text, re.MULTILINE)
    entries = re.findall(r"^  (\S+):(.*\n(?:    .*\n)*)", block[1] if block else "", re.MULTILINE)
    return [name for name, content in entries if name in header and "\n    prior:" not in content]


def with_live_points(data: bytes, path: Path | None) -> bytes:
    """Append the final live points of a run to a file of dead points.

    Raises
    ------
    InputError
        If the file of live points is missing. The weights would be biased without the live points.
    """
    if path is None or not path.stem.endswith(_DEAD):
        return data
    other = path.with_name(path.name.replace(_DEAD, _LIVE))
    if not other.is_file():
        raise InputError(
            f"{path} contains only dead points; copy the file of live points, {other.name}, to the same folder"
        )
    dead, live = (text.decode("utf-8", "replace").splitlines() for text in (data, read_bytes(other, binary=True)))
    widths = {len(line.split()) for line in (dead[0], *live[:1])}
    kept = max(widths) - (0 if len(widths) == 1 else 2)  # MultiNest appends the log volume and the node
    return "\n".join(" ".join(line.split()[:kept]) for line in (*dead, *live)).encode()
