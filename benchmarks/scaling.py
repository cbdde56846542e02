"""Cost and memory of the certified graph Stein discrepancy for growing samples.

Each row of the table is for n draws from N(0, I) in d dimensions, with solver `auto` at the default tolerance as in
`steinkit score`. It is computed in a separate process to measure the peak memory. The table lists the CPU seconds for
the spanner and for the program of a coordinate, the solvers, the iterations, the bracket and the peak resident memory.
For each d, n is increased until the time extrapolated from the last two rows exceeds `--seconds`.

    python benchmarks/scaling.py [--quick] [--seconds S] [--plot FILE]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from costs import in_a_process_of_its_own, peak_megabytes
from instances import normal, stein_program

from steinkit.discrepancy.bracket import relative_width
from steinkit.discrepancy.graph.programs.matrix_form import certify
from steinkit.discrepancy.graph.solvers import Settings, solver_named

SIZES = (100, 300, 1000, 3000, 10_000, 30_000, 100_000, 300_000, 1_000_000)
DIMENSIONS = (1, 2, 3, 4, 5, 6, 7, 8, 10)
FINE = 3  # largest dimension for which the tolerance is 1e-6


@dataclass(frozen=True)
class Cell:
    """Cost of one discrepancy."""

    n: int
    dim: int
    edges: int
    spanner: float
    coordinate: float
    solver: str
    iterations: int
    gap: float
    megabytes: float

    @property
    def seconds(self) -> float:
        """CPU time of the complete discrepancy."""
        return self.spanner + self.dim * self.coordinate


def score(n: int, dim: int) -> Cell:
    """Score n draws once, with loaded kernels."""
    solver, settings = solver_named("auto"), Settings(1e-6 if dim <= FINE else 1e-3)
    solver(stein_program(*normal(30, dim)), settings)
    draws, target = normal(n, dim)
    started = time.process_time()
    program = stein_program(draws, target)
    built = time.process_time()
    answers = solver(program, settings)
    solved = time.process_time()
    proofs = [certify(answer.program, answer.y, answer.p) for answer in answers]
    return Cell(
        n,
        dim,
        len(program.graph),
        built - started,
        (solved - built) / dim,
        " + ".join(dict.fromkeys(name for answer in answers for name in answer.solvers)),
        max(answer.iterations for answer in answers),
        relative_width(sum(proof.lower for proof in proofs), sum(proof.upper for proof in proofs)),
        peak_megabytes(),
    )


def series(dim: int, sizes: Sequence[int], seconds: float) -> list[Cell]:
    """Score growing samples until the next one would take too long."""
    cells: list[Cell] = []
    for n in sizes:
        if len(cells) > 1:
            a, b = cells[-2:]
            slope = max(np.log(b.seconds / a.seconds) / np.log(b.n / a.n), 1.0)
            if b.seconds * (n / b.n) ** slope > seconds:
                break
        cells.append(in_a_process_of_its_own(score, n, dim))
        show(cells[-1])
    return cells


def show(cell: Cell) -> None:
    """Print a row of the table."""
    print(
        f"{cell.dim:3d}{cell.n:9d}{cell.edges:9d}{cell.spanner:10.3f}{cell.coordinate:13.4f}{cell.iterations:7d}"
        f"{cell.gap:9.0e}{cell.megabytes:7.0f}  {cell.solver}",
        flush=True,
    )


def plot(table: dict[int, list[Cell]], path: str) -> None:
    """Plot the cost of a complete discrepancy against n, with one line per dimension."""
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(6.4, 5.6), layout="constrained")
    shades = plt.get_cmap("viridis")(np.linspace(0.0, 0.9, len(table)))
    for shade, marker, (dim, cells) in zip(shades, "os^Dv<>PX", table.items(), strict=False):
        n, seconds = [cell.n for cell in cells], [cell.seconds for cell in cells]
        dashes = "-" if dim <= FINE else "--"
        axes.loglog(n, seconds, dashes, marker=marker, color=shade, markersize=5, linewidth=1.2, label=f"d = {dim}")
    axes.set(xlabel="draws n", ylabel="CPU seconds, all coordinates and spanner")
    axes.set_title("Certified graph Stein discrepancy of N(0, I)", fontsize=11)
    for dashes, tolerance in (("-", "1e-6"), ("--", "1e-3")):
        axes.plot([], [], dashes, color="0.3", linewidth=1.2, label=f"tolerance {tolerance}")
    figure.legend(loc="outside lower center", ncols=5, frameon=False)
    axes.grid(alpha=0.3)
    figure.savefig(path, dpi=120)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="two dimensions, two sizes")
    parser.add_argument("--seconds", type=float, default=60.0, help="longest cell to start (default: 60)")
    parser.add_argument("--plot", metavar="FILE", help="draw the costs, too")
    settings = parser.parse_args()
    print(
        f"{'d':>3}{'n':>9}{'edges':>9}{'spanner s':>10}{'coordinate s':>13}{'iter':>7}{'bracket':>9}{'MB':>7}  solver"
    )
    dimensions, sizes = ((1, 2), SIZES[:2]) if settings.quick else (DIMENSIONS, SIZES)
    table = {dim: series(dim, sizes, settings.seconds) for dim in dimensions}
    if settings.plot:
        plot(table, settings.plot)


if __name__ == "__main__":
    main()
