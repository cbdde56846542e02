"""Detection rates of `steinkit.verdict` for samples with defects, and accuracy of its findings.

    python benchmarks/faults.py                # the defects used to choose the tests
    python benchmarks/faults.py --fresh        # other defects, which were not used
    python benchmarks/faults.py --right        # independent draws of the same targets: false rejections
    python benchmarks/faults.py --only NAME    # defects with NAME in their name
    python benchmarks/faults.py --list

For every defect, the table lists the fraction of samples with p-values up to .05 and up to .01, for the verdict and for
each test. It also lists the fraction of samples with enough effective draws. For rejected samples, it lists the
fraction without findings, the fraction whose first finding names only affected coordinates, and the fraction whose
first finding is of a correct kind. An entry is "-" if a defect has no specific coordinate or kind.

The k-th sample of a defect is always the same, so the results of two versions can be compared sample by sample.
"""

from __future__ import annotations

import argparse
import csv
import time
import warnings
import zlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from fault import Entry, Fault, exact, names_of
from fresh_faults import FRESH
from known_faults import KNOWN

import steinkit as sk

LEVELS = (0.05, 0.01)
Row = dict[str, Any]


def parts(found: sk.Verdict) -> dict[str, float]:
    """P-values of the verdict and of each of its tests."""
    return {"verdict": found.p, **{each.name: float(each.p) for each in found.tests}}


def judged(fault: Fault) -> sk.Verdict:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return sk.verdict(fault.draws, fault.target)


def findings_of(found: sk.Verdict, fault: Fault) -> Row:
    """Return the first finding, and whether its parameters and kind are correct.

    The result is None if it is undefined.
    """
    if not found.is_biased:
        return {}
    first = found.findings[0] if found.findings else None
    named = set() if first is None else names_of(first.parameters, found.names)
    right = None if fault.culprits is None else bool(named) and named <= fault.culprits
    kind = None if fault.kinds is None else first is not None and first.kind in fault.kinds and right is not False
    text = {} if first is None else {"kind": first.kind, "parameters": " ".join(first.parameters)}
    return {"empty": first is None, "right": right, "kind_right": kind, **text}


def samples(name: str, entry: Entry, repeats: int, right: bool) -> Iterator[Row]:
    """Results of the verdict for each sample with a defect, or for exact draws from the same targets."""
    for k in range(repeats):
        rng = np.random.default_rng([zlib.crc32(name.encode()), k])
        fault = entry.make(rng)
        if right:
            draws = exact(fault.target, fault.draws[..., 0].size, rng)
            fault = replace(fault, draws=draws, culprits=None, kinds=None)
        began = time.perf_counter()
        found = judged(fault)
        seconds = time.perf_counter() - began
        p_values = {f"p {part}": p for part, p in parts(found).items()}
        row = {"fault": name, "repeat": k, **p_values, "enough": bool(found.enough_draws), "rejected": found.is_biased}
        yield {**row, "seconds": round(seconds, 3), **findings_of(found, fault)}


def share(values: list[Any]) -> str:
    """Return the fraction of values that are true, excluding None."""
    known = [bool(value) for value in values if value is not None]
    return f"{sum(known) / len(known):.2f}" if known else "-"


def line(rows: list[Row], tests: list[str]) -> list[str]:
    """Return the cells of a defect: p-values, then findings."""
    cells = []
    for test in tests:
        p_values = [row[test] for row in rows if test in row]
        cells.append(" / ".join(share([p <= level for p in p_values]) for level in LEVELS) if p_values else "-")
    rejected = [row for row in rows if row["rejected"]]
    findings = [share([row[key] for row in rejected]) for key in ("empty", "right", "kind_right")]
    return [*cells, share([row["enough"] for row in rows]), str(len(rejected)), *findings]


def printed(rows: list[Row], catalogue: dict[str, Entry]) -> None:
    """Print one row per defect, the mean, and descriptions of the defects."""
    tests = list(dict.fromkeys(key for row in rows for key in row if key.startswith("p ")))
    names = list(dict.fromkeys(row["fault"] for row in rows))
    header = [*(test.removeprefix("p ") for test in tests), "judged", "rejected", "empty", "right", "and kind"]
    lines = {name: line([row for row in rows if row["fault"] == name], tests) for name in names}
    lines["together"] = line(rows, tests)
    widths = [max(map(len, column)) for column in zip(header, *lines.values(), strict=True)]
    first = max(map(len, lines))
    for name, cells in [("", header), *lines.items()]:
        print(f"{name:<{first}}  {'  '.join(f'{cell:>{width}}' for cell, width in zip(cells, widths, strict=True))}")
    print()
    for name in names:
        print(f"{name:<{first}}  {catalogue[name].description}")


def write(path: Path, rows: list[Row]) -> None:
    """Write one row per sample."""
    fields = list(dict.fromkeys(key for row in rows for key in row))
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, fields)
        writer.writeheader()
        writer.writerows(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fresh", action="store_true", help="defects that were not used during development")
    parser.add_argument("--right", action="store_true", help="evaluate independent draws from the targets instead")
    parser.add_argument("--repeats", type=int, default=20, help="samples per defect")
    parser.add_argument("--quick", action="store_true", help="one sample per defect")
    parser.add_argument("--only", default="", metavar="NAME", help="defects with NAME in their name")
    parser.add_argument("--list", action="store_true", help="list the defects and exit")
    parser.add_argument("--csv", type=Path, metavar="FILE", help="write one row per sample")
    arguments = parser.parse_args()
    catalogue = {name: entry for name, entry in (FRESH if arguments.fresh else KNOWN).items() if arguments.only in name}
    if arguments.list or not catalogue:
        print("\n".join(f"{name:<28}{entry.description}" for name, entry in catalogue.items()) or "no such defect")
        return
    began, rows = time.perf_counter(), []
    repeats = 1 if arguments.quick else arguments.repeats
    for name, entry in catalogue.items():
        rows += samples(name, entry, repeats, arguments.right)
    which = "Exact draws for the targets of" if arguments.right else "New" if arguments.fresh else "Known"
    print(f"{which} defects ({repeats} of each): fraction with p <= .05 / p <= .01\n")
    printed(rows, catalogue)
    print(
        f"\n({time.perf_counter() - began:.0f} s, including {sum(row['seconds'] for row in rows):.0f} s for verdicts)"
    )
    if arguments.csv:
        write(arguments.csv, rows)


if __name__ == "__main__":
    main()
