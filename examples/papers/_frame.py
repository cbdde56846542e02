"""Shared infrastructure of the scripts, with options, cached cells, claims, figures and documents.

An experiment consists of cells, which are calls of a function of the script with a few numbers and words, such as one
seed and one setting. Each cell is stored in FOLDER/NAME.cells.sqlite when it is finished. The same command therefore
continues an interrupted run, and returns immediately if all cells exist. The values of cells must consist of JSON types
and arrays, and NaN is stored as None. A cell is computed again if the code that its function depends on (`_cell_code`),
its arguments, or steinkit's version has changed. Each folder holds an experiment of one size, and running it at
another size raises an error.

The ledger (`_ledger`) contains the claims of the papers, with the criteria for their evaluation.
"""

from __future__ import annotations

import argparse
import functools
import json
import os
import platform
import subprocess
import sys
import textwrap
import time
import traceback
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

import joblib
import matplotlib as mpl
import numpy as np
from _cell_code import cell_code
from _cells import CellFile
from _ledger import Found, ledger, verdict
from matplotlib.figure import Figure
from threadpoolctl import threadpool_limits

import steinkit as sk
from steinkit.errors import InputError, SteinkitError, UsageError, leave_to_results
from steinkit.files.streams import write_bytes
from steinkit.runtime.progress import progress_bar
from steinkit.sweeps.identity import digest, recordable
from steinkit.text import Table

FOLDER = Path("steinkit-papers")
# The colors of Okabe and Ito are distinguishable for color-blind readers and dark enough for lines.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#000000", "#E69F00", "#56B4E9")
STYLE = {
    "font.size": 12.0,
    "axes.titlesize": 12.0,
    "legend.fontsize": 10.5,
    "axes.prop_cycle": mpl.cycler(color=COLOURS),
}
_WIDTH, _DPI = 6.4, 125  # a figure of 800 pixels is legible at half that width
_INTERRUPTED = 130
_EXPERIMENT = "experiment"  # key of the description of the file among the names of cells
_WRAP = 110


class Experiment:
    """Run of a script, with its options, cells and results.

    Parameters
    ----------
    script : str
        Path of the script, ``__file__``.
    explained : str
        Docstring of the script.
    shows : str
        Papers and figures that the script reproduces.
    data : str, optional
        Description of the data file. If it is given, the script has the option ``--data``.

    Attributes
    ----------
    full : bool
        True for a run at the paper's size.
    folder : Path
        Folder for the results.
    data : Path or None
        Path of the data file, or None if no file is given.
    """

    def __init__(self, script: str, explained: str, *, shows: str, data: str | None = None) -> None:
        self._script = Path(script).resolve()
        self.name, self.shows = self._script.stem, shows
        self.title = explained.strip().splitlines()[0]
        options = self._options(explained, data)
        self.full: bool = options.full
        self.folder: Path = options.output
        self.jobs: int | None = options.jobs
        self.data: Path | None = getattr(options, "data", None)
        self.ledger = ledger()
        self.results: list[dict[str, Any]] = []
        self.remarks: list[str] = []
        self._numbers: dict[str, Any] = {}
        self._settings: dict[str, Any] = {}
        self._seconds = 0.0
        self._reused = self._run = 0
        self._commits = set[str]()
        self.folder.mkdir(parents=True, exist_ok=True)
        self._require_same()

    @property
    def command(self) -> str:
        """Command line of the run."""
        data = "" if self.data is None else " --data FILE"
        return f"python examples/papers/{self.name}.py{data}{self.full * ' --full'}"

    def settings(self, **settings: Any) -> None:
        """Record settings, such as sizes, seeds and step sizes, in the document."""
        self._settings |= {name: _plain(value) for name, value in settings.items()}

    def numbers(self, **numbers: Any) -> None:
        """Record the numbers of the figure in the document."""
        self._numbers |= {name: _plain(value) for name, value in numbers.items()}

    def remark(self, text: str) -> None:
        """Record a remark, which is printed and stored in the document."""
        self.remarks.append(text)

    def cells(self, function: Callable[..., Any], cells: Sequence[Mapping[str, Any]]) -> list[Any]:
        """Return the values of a function of the script for the cells in order.

        Stored values are not computed again.

        Parameters
        ----------
        function : callable
            Top-level function of the script. It receives the entries of a cell as keyword arguments and returns JSON
            types or arrays. It must not depend on anything else, including files.
        cells : sequence of mapping
            Arguments of the function for each cell, which are numbers, words, and lists of numbers or words.

        Returns
        -------
        list
            Value of the function for each cell.
        """
        code = cell_code(function)
        in_order = [_described(function, code, cell) for cell in cells]
        names = [digest(each) for each in in_order]
        described = dict(zip(names, in_order, strict=True))
        with CellFile(self._cells) as store:
            lacking = [name for name in described if name not in store.records]
            done = len(described) - len(lacking)
            self._compute(function, {name: described[name] for name in lacking}, store, done)
            records = {name: store.records[name] for name in described}
        self._seconds += sum(record["seconds"] for record in records.values())
        self._commits |= {record["found"]["commit"] for record in records.values()}
        self._reused += done
        self._run += len(lacking)
        return [records[name]["found"]["value"] for name in names]

    def _compute(self, function: Callable[..., Any], described: Mapping[str, Any], store: CellFile, done: int) -> None:
        """Compute cells in this process or in others, and store each cell when it is finished."""
        jobs = None if self.jobs == 1 or len(described) <= 1 else self.jobs
        called = function if jobs is None else _Called(str(self._script), function.__name__)
        tasks = (joblib.delayed(_compute)(name, called, each["arguments"]) for name, each in described.items())
        total, shown = done + len(described), sys.stderr.isatty()
        with progress_bar(function.__name__, total, initial=done, unit=" cells", shown=shown) as bar:
            for name, value, seconds in joblib.Parallel(jobs, return_as="generator_unordered", batch_size=1)(tasks):
                found = {"value": value, "commit": commit()}
                store.append(name, {**described[name], "found": found, "seconds": seconds})
                bar.update()

    def result(
        self, claim: str, here: Found | float | None = None, *, protocol: str = "", text: str = "", **numbers: Any
    ) -> None:
        """Compare a result with a claim in the ledger.

        Parameters
        ----------
        claim : str
            Name of the row in the ledger.
        here : Found or float, optional
            Result that is compared with a printed number.
        protocol : str
            One of the protocols of the row.
        text : str
            Result in words. The default is `here`.
        **numbers
            Numbers that the criterion of the row contains.
        """
        row = self.ledger.get(claim)
        if row is None or row.script != self.name or protocol not in row.protocols + row.shown:
            raise UsageError(
                f"{self.name} evaluates {claim!r} ({protocol or 'one protocol'}); add it to the ledger first"
            )
        found = here if isinstance(here, Found) or here is None else Found.exactly(here)
        if found is not None:
            numbers |= {"value": found.value, "low": found.low, "high": found.high}
        self.results.append(
            {
                "claim": claim,
                "protocol": protocol,
                "said": text or str(found),
                "found": _plain(numbers),
                "criterion": row.criterion,
            }
        )

    def finish(self, figure: Figure | None = None) -> None:
        """Print the table, and write the document and the figure."""
        picture = self.folder / f"{self.name}.png"
        if figure is not None:
            figure.savefig(picture, dpi=_DPI)
        document = {
            "name": self.name,
            "title": self.title,
            "shows": self.shows,
            "command": self.command,
            "size": "full" if self.full else "small",
            "settings": self._settings,
            "results": self.results,
            "remarks": self.remarks,
            "numbers": self._numbers,
            "seconds": round(self._seconds, 1),
            "figure": None if figure is None else picture.name,
            "version": sk.__version__,
            "commits": sorted(self._commits),
            "python": platform.python_version(),
            "numpy": np.__version__,
        }
        path = self.folder / f"{self.name}.json"
        write_bytes(path, json.dumps(document, indent=1, allow_nan=False).encode() + b"\n", binary=True)
        self._print(path, None if figure is None else picture)

    def _print(self, path: Path, picture: Path | None) -> None:
        print(f"{self.shows}, at {'full' if self.full else 'small'} size")
        lines = [(each, self.ledger[each["claim"]]) for each in self.results]
        rows = tuple(
            (
                f"{row.label}{each['protocol'] and ', '}{each['protocol']}",
                row.printed,
                each["said"],
                self._verdict(each),
            )
            for each, row in lines
        )
        print("\n".join(Table("", ("", "paper", "here", "verdict"), rows).lines(left=("",))))
        for remark in self.remarks:
            print(textwrap.fill(remark, _WRAP, subsequent_indent="  "))
        print(f"{self._seconds:.0f} CPU seconds in {self._run + self._reused} cells, {self._reused} of them reused")
        print(f"Numbers: {path}" + (f"\nFigure: {picture}" if picture else ""))

    def _verdict(self, result: Mapping[str, Any]) -> str:
        """Return the verdict of one protocol, or "not judged" if the run is too small or has other data."""
        row = replace(self.ledger[result["claim"]], protocols=(result["protocol"],))
        decides = row.decides(self.full, self.data is not None)
        return verdict(row, [result]).removesuffix(f" under {result['protocol']}") if decides else "not judged"

    def _options(self, explained: str, data: str | None) -> argparse.Namespace:
        parser = argparse.ArgumentParser(description=self.title)
        parser.add_argument("--full", action="store_true", help="at the paper's size")
        parser.add_argument("--jobs", type=int, default=1, help="processes; -1 for one per processor")
        parser.add_argument("-o", "--output", type=Path, default=FOLDER, metavar="DIR", help="folder for the results")
        if data is not None:
            parser.add_argument("--data", type=Path, help=data)
        return parser.parse_args()

    def _require_same(self) -> None:
        """Raise an error if the folder contains this experiment at another size or with other data."""
        wanted = {
            "experiment": self.name,
            "size": "full" if self.full else "small",
            "data": None if self.data is None else digest_of_file(self.data),
        }
        self._cells = self.folder / f"{self.name}.cells.sqlite"
        with CellFile(self._cells) as store:
            there = store.records.get(_EXPERIMENT, wanted)
            store.append(_EXPERIMENT, there)
        if there != wanted:
            differing = ", ".join(
                f"{name} {there.get(name)} (now {wanted[name]})" for name in wanted if there.get(name) != wanted[name]
            )
            raise UsageError(f"{self.folder} holds {self.name} with {differing}; name another folder with -o")


def figure(rows: int = 1, columns: int = 1, *, height: float = 4.2, **shared: Any) -> tuple[Figure, Any]:
    """Create a figure of the common width, which is legible at 400 pixels, with axes (rows, columns)."""
    made = Figure(figsize=(_WIDTH, height), layout="constrained")
    return made, made.subplots(rows, columns, squeeze=False, **shared)


def main_of(main: Callable[[], None]) -> None:
    """Run a script with the error handling of the command line.

    No traceback is printed for user errors.
    """
    try:
        with mpl.rc_context(STYLE):
            main()
    except SteinkitError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        print("interrupted; finished cells are kept: the same command continues the run", file=sys.stderr)
        sys.exit(_INTERRUPTED)


@functools.cache
def commit() -> str:
    """Return the current commit, with a plus if files have changed.

    Outside a repository, the result is "unknown".
    """
    here = Path(__file__).resolve().parent
    try:
        name = subprocess.run(
            ["git", "describe", "--always", "--abbrev=10", "--exclude=*", "--dirty=+"],
            cwd=here,
            capture_output=True,
            text=True,
            check=True,
        )
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return name.stdout.strip()


def digest_of_file(path: Path) -> str:
    """Return the hash of a file."""
    try:
        return digest(path.read_bytes().hex())
    except OSError as error:
        raise InputError(f"the data cannot be read: {error}") from None


@dataclass(frozen=True)
class _Called:
    """Function of a script, for use in other processes.

    These processes load the script because its caches cannot be pickled.
    """

    script: str
    function: str

    def __call__(self, **arguments: Any) -> Any:
        return getattr(_loaded(self.script), self.function)(**arguments)


@functools.cache
def _loaded(script: str) -> ModuleType:
    """Import a script as a module, without running its main function."""
    spec = spec_from_file_location(Path(script).stem, script)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _described(function: Callable[..., Any], code: str, cell: Mapping[str, Any]) -> dict[str, Any]:
    """Return the identity of a cell: the function, the hash of its code, the arguments, and steinkit's version."""
    arguments = {name: recordable(value, f"{name} of a cell") for name, value in cell.items()}
    return {"function": function.__name__, "code": code, "arguments": arguments, "version": sk.__version__}


def _compute(name: str, function: Callable[..., Any], cell: Mapping[str, Any]) -> tuple[str, Any, float]:
    """Compute a cell in one thread.

    The results are its name, its JSON value and its CPU seconds.
    """
    began = time.process_time()
    try:
        with threadpool_limits(1), warnings.catch_warnings():
            leave_to_results()  # the rows and remarks contain these messages
            value = _plain(function(**cell))
    except SteinkitError:
        raise
    except Exception as error:  # another process can send only its message
        raise SteinkitError(f"{function.__name__}({cell}) failed:\n{traceback.format_exc()}") from error
    return name, value, time.process_time() - began


def _plain(value: Any) -> Any:
    """Convert a value to JSON types."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, Mapping):
        return {str(name): _plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if isinstance(value, float) and not np.isfinite(value):
        return None
    if isinstance(value, os.PathLike):
        return Path(value).name
    return value
