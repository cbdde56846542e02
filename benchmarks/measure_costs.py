"""CPU seconds of each measure for draws from N(0, I), with loaded kernels.

A cell is the median of several runs, or a single run if it takes long. Cells are empty if a measure does not apply to
more than one dimension, or if a graph would take too long.

    python benchmarks/measure_costs.py [--quick] [--record]
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from costs import median_seconds
from records import add_option, keep

import steinkit as sk

SIZES = ((1000, 1), (1000, 2), (10_000, 2), (1000, 10), (10_000, 10))
FEW = ((100, 1), (100, 2))
LARGEST = {"graph": 2, "classical": 1, "wasserstein": 1}  # maximum dimension

Measure = Callable[[np.ndarray, sk.Target], Any]
MEASURES: dict[str, Measure] = {
    "moments": sk.moment_stein_discrepancy,
    "sliced": sk.sliced_stein_discrepancy,
    "ksd": sk.kernel_stein_discrepancy,
    "graph": sk.graph_stein_discrepancy,
    "classical": sk.classical_stein_discrepancy,
    "wasserstein": sk.wasserstein_distance,
    "verdict": sk.verdict,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a hundred draws, in one and two dimensions")
    add_option(parser)
    settings = parser.parse_args()
    sizes = FEW if settings.quick else SIZES
    print(f"{'':12}" + "".join(f"{f'{n:,}, d = {dim}':>17}" for n, dim in sizes))
    rows = []
    for name, measure in MEASURES.items():
        seconds = [cost(measure, n, dim) if dim <= LARGEST.get(name, dim) else None for n, dim in sizes]
        print(f"{name:12}" + "".join(f"{'' if each is None else f'{each:.2g} s':>17}" for each in seconds), flush=True)
        rows += [
            {"measure": name, "n": n, "dim": dim, "seconds": each}
            for (n, dim), each in zip(sizes, seconds, strict=True)
        ]
    keep(settings.record, "measure_costs", rows)


def cost(measure: Measure, n: int, dim: int) -> float:
    """Return the median CPU time of a measure."""
    draws = np.random.default_rng(0).standard_normal((n, dim))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return median_seconds(partial(measure, draws, sk.targets.Normal(np.zeros(dim))))


if __name__ == "__main__":
    main()
