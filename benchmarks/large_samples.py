"""Time and memory for large samples, compared with goals.

The cost of the moment and sliced measures is linear in the number of draws. Each row is from a separate process, which
draws independently from N(0, I), computes the scores, and then computes one measure. The memory is the peak in excess
of the draws and scores.

    python benchmarks/large_samples.py [--quick]
    python benchmarks/large_samples.py --grid       # verdicts and bias estimates, up to ten million numbers

The grid contains 1000 to a million draws in 2 to 1000 dimensions. Its last column is the exponent b of the growth n^b
of the CPU time since the preceding number of draws.
"""

from __future__ import annotations

import argparse
import math
import time

import numpy as np
from costs import in_a_process_of_its_own, peak_megabytes

import steinkit as sk

MEASURES = {"moments": sk.moment_stein_discrepancy, "sliced": sk.sliced_stein_discrepancy}
MEASURES |= {"verdict": sk.verdict, "bias": sk.estimate_bias}
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


def print_grid() -> None:
    """Print the costs of verdicts and bias estimates."""
    print(f"{'measure':8} {'draws':>8} {'dim':>4} {'seconds':>8} {'CPU s':>8} {'MB':>6} {'growth':>6}")
    for measure in ("verdict", "bias"):
        for dim in (2, 10, 50, 200, 1000):
            before = 0.0
            for n in (1000, 10_000, 100_000, 1_000_000):
                if dim < n / 2 and n * dim <= 10**7:
                    taken, worked, held = in_a_process_of_its_own(cost, measure, n, dim)
                    growth = f"{math.log10(worked / before):6.2f}" if before else ""
                    print(f"{measure:8} {n:8d} {dim:4d} {taken:8.2f} {worked:8.2f} {held:6.0f} {growth}", flush=True)
                    before = worked


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--quick", action="store_true", help="small samples")
    options.add_argument("--grid", action="store_true", help="verdicts and bias estimates for all sizes")
    asked = options.parse_args()
    if asked.grid:
        print_grid()
        return
    print(f"{'measure':8} {'draws':>8} {'dim':>4} {'seconds':>8} {'goal':>6} {'CPU s':>10} {'MB':>6} {'goal':>6}")
    for measure, n, dim, seconds, memory in QUICK if asked.quick else AIMS:
        taken, worked, held = in_a_process_of_its_own(cost, measure, n, dim)
        aims = [f"{aim:g}" if aim else "" for aim in (seconds, memory)]
        print(f"{measure:8} {n:8d} {dim:4d} {taken:8.2f} {aims[0]:>6} {worked:10.2f} {held:6.0f} {aims[1]:>6}")


if __name__ == "__main__":
    main()
