"""Time and memory of the moment and sliced measures for large samples, compared with goals.

The cost of both measures is linear in the number of draws. Each row is from a separate process, which draws
independently from N(0, I), computes the scores, and then computes one measure. The memory is the peak in excess of the
draws and scores.

    python benchmarks/large_samples.py [--quick]
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from costs import in_a_process_of_its_own, peak_megabytes

import steinkit as sk

MEASURES = {"moments": sk.moment_stein_discrepancy, "sliced": sk.sliced_stein_discrepancy}
AIMS = [
    ("moments", 1_000_000, 26, 20.0, 1000.0),
    ("sliced", 10_000, 10, 0.6, None),
    ("sliced", 100_000, 10, 10.0, None),
]
QUICK = [("moments", 20_000, 26, None, None), ("sliced", 2000, 10, None, None), ("sliced", 4000, 3, None, None)]


def cost(measure: str, n: int, dim: int) -> tuple[float, float, float]:
    """Return seconds, CPU seconds and MB in excess of the draws, in a process with compiled kernels."""
    take = MEASURES[measure]
    draws = np.random.default_rng(0).standard_normal((n, dim))
    scores = -draws
    take(draws[:500], scores=scores[:500])
    held = peak_megabytes()
    began, worked = time.perf_counter(), time.process_time()
    take(draws, scores=scores)
    return time.perf_counter() - began, time.process_time() - worked, peak_megabytes() - held


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--quick", action="store_true", help="small samples")
    asked = options.parse_args()
    print(f"{'measure':8} {'draws':>8} {'dim':>4} {'seconds':>8} {'goal':>6} {'CPU s':>10} {'MB':>6} {'goal':>6}")
    for measure, n, dim, seconds, memory in QUICK if asked.quick else AIMS:
        taken, worked, held = in_a_process_of_its_own(cost, measure, n, dim)
        aims = [f"{aim:g}" if aim else "" for aim in (seconds, memory)]
        print(f"{measure:8} {n:8d} {dim:4d} {taken:8.2f} {aims[0]:>6} {worked:10.2f} {held:6.0f} {aims[1]:>6}")


if __name__ == "__main__":
    main()
