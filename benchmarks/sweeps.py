"""Run time of a sweep relative to published figures, and savings of successive elimination.

The sweep is that of Gorham and Mackey, section 5.3: stochastic gradient Langevin dynamics on the posterior of a mixture
of two normals, eight step sizes, 50 seeds, 1000 draws each, no burn-in. The effective sample size and the graph
discrepancy choose a step size. The paper reports .4 s for a spanner and 1.4 s for the program of a coordinate, with two
coordinates per sample.

In the second part, successive elimination is simulated with 50 random seeds from a pool of computed scores. A run is
correct if it ends with the best setting of the full sweep for these seeds, or with a setting that is indistinguishable
from it. The time of a cell is the median time for its setting, which excludes the loading of kernels.

    python benchmarks/sweeps.py [--quick] [--jobs N] [--pool FOLDER]

A pool in a folder is reused by later runs.

References
----------
J. Gorham and L. Mackey (2015), "Measuring sample quality with Stein's method", NeurIPS, section 5.3 and figure 3.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import mean, median
from typing import Any

import numpy as np

from steinkit.sweeps.choice import choose
from steinkit.sweeps.result import SweepResult
from steinkit.sweeps.run import sweep
from steinkit.sweeps.scheduler import eliminate
from steinkit.text import setting_key

STEP_SIZES = (5e-2, 1e-2, 5e-3, 1e-3, 5e-4, 1e-4, 5e-5, 1e-5)
PAPER_SECONDS_A_CELL = 0.4 + 2 * 1.4
FINAL = 1e-2


def run(seeds: int, draws: int, **options: Any) -> SweepResult:
    return sweep(
        "mixture-posterior",
        "sgld",
        grid={"step_size": STEP_SIZES},
        options={"batch_size": 5, "draws": draws, "start": "normal"},
        seeds=seeds,
        **options,
    )


def full_sweep(seeds: int, draws: int, jobs: int) -> None:
    """Print the time of the sweep and the choice of each criterion."""
    run(jobs, min(draws, 50), n_jobs=jobs)  # imports and compilation
    started = time.perf_counter()
    result = run(seeds, draws, n_jobs=jobs, tolerance=FINAL)
    seconds = time.perf_counter() - started
    cells = len(STEP_SIZES) * seeds
    print(f"\nSweep of {len(STEP_SIZES)} step sizes, {seeds} seeds, {draws} draws, {jobs} jobs, tolerance {FINAL:g}")
    print(f"{'wall seconds':32}{seconds:9.1f}")
    print(f"{'the same by the paper, one core':32}{PAPER_SECONDS_A_CELL * cells:9.1f}   {cells} x (.4 + 2 x 1.4)")
    print(f"{'seconds a cell and job':32}{seconds * jobs / cells:9.3f}   {PAPER_SECONDS_A_CELL:.1f} by the paper")
    for name, choice in result.criteria.items():
        ties = ", ".join(f"{tie['step_size']:g}" for tie in choice.ties) or "none"
        print(f"best by {name:24}{choice.best['step_size']:9g}   ties: {ties}")


class Pool:
    """Compute scores of every setting with many seeds, and the cost of a cell of each setting."""

    def __init__(self, result: SweepResult) -> None:
        places = {setting["step_size"]: i for i, setting in enumerate(result.settings)}
        self.records = {(places[cell.settings["step_size"]], cell.seed): cell for cell in result.records}
        self.losses = {place: cell.loss("graph") for place, cell in self.records.items()}
        self.seconds = [
            median(cell.scoring for (k, _), cell in self.records.items() if k == i) for i in places.values()
        ]


def race(pool: Pool, seeds: list[int]) -> tuple[bool, int, float]:
    """Return whether a run is correct, the number of final settings, and the fraction of scoring time saved."""
    settings = [{"step_size": step} for step in STEP_SIZES]
    done: set[tuple[int, int]] = set()

    def losses_of(alive: Sequence[int], some: Sequence[int]) -> tuple[str, np.ndarray]:
        done.update((i, seed) for i in alive for seed in some)
        return "graph", np.array([[pool.losses[i, seed] for seed in some] for i in alive])

    dropped = eliminate(settings, seeds, losses_of)
    left = [i for i, each in enumerate(settings) if setting_key(each) not in dropped]
    done.update((i, seed) for i in left for seed in seeds)
    full = choose([pool.records[i, seed] for i in range(len(settings)) for seed in seeds], "graph", settings)
    ours = choose([pool.records[i, seed] for i in left for seed in seeds], "graph", [settings[i] for i in left])
    saved = 1.0 - sum(pool.seconds[i] for i, _ in done) / (len(seeds) * sum(pool.seconds))
    return ours.best in (full.best, *full.ties), len(left), saved


def racing_table(folder: str, size: int, seeds: int, draws: int, repetitions: int, jobs: int) -> None:
    """Print the fraction of correct runs, and their savings."""
    pool = Pool(run(size, draws, n_jobs=jobs, tolerance=FINAL, file=Path(folder, "pool.sqlite")))
    print(f"\nElimination with {seeds} seeds out of {size}, {repetitions} repetitions")
    print(f"Scores take {sum(pool.seconds) / len(STEP_SIZES):.3f} s a cell at tolerance {FINAL:g}")
    print(f"{'winner kept':>13}{'settings left':>15}{'time saved':>24}")
    draw = [np.random.default_rng(k).permutation(size)[:seeds].tolist() for k in range(repetitions)]
    found = [race(pool, chosen) for chosen in draw]
    saved = [share for _, _, share in found]
    print(
        f"{f'{sum(kept for kept, _, _ in found)} of {repetitions}':>13}"
        f"{mean(left for _, left, _ in found):15.1f}"
        f"{f'{mean(saved):.0%} ({min(saved):.0%} to {max(saved):.0%})':>24}"
    )
    print("Aims: the winner kept in 19 of 20 runs, half of the time saved")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="short chains, few seeds")
    parser.add_argument("--jobs", type=int, help="2, but 1 with --quick: workers take longer to start than to score")
    parser.add_argument("--pool", metavar="FOLDER", help="where to keep the scores that runs are drawn from")
    options = parser.parse_args()
    seeds, draws, size, repetitions = (6, 40, 12, 3) if options.quick else (50, 1000, 150, 40)
    jobs = options.jobs or (1 if options.quick else 2)
    full_sweep(seeds, draws, jobs)
    with tempfile.TemporaryDirectory() as folder:
        racing_table(options.pool or folder, size, seeds, draws, repetitions, jobs)


if __name__ == "__main__":
    main()
