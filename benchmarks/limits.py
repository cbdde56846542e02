"""Efficiency of the most expensive kernels relative to the hardware and to peers.

For each kernel, the table lists the operations or bytes per second, relative to those of BLAS or STREAM with one thread
(`machine`). The operations are counted from the definition of the kernel. The ratio shows how much faster better code
could be. The exponents of n, for the CPU time and for the number of operations, show the potential of better
algorithms. For the spanner and the chains, which have no such limit, the time is compared with a lower bound: the
search for the nearest neighbors of all points, and the generation of the random numbers. A second table compares the
kernels with other packages (peers) on the same data. All runs use one thread. Peers that are not installed
(`pip install clarabel qdldl stein-thinning goodpoints blackjax`) are reported and skipped.

    python benchmarks/limits.py [--quick] [--only NAME]
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import machine
import numpy as np
from costs import median_seconds
from instances import normal, stein_program
from newton_matrices import NewtonMatrix
from peers import PEERS, Comparison
from scipy.spatial import cKDTree
from threadpoolctl import threadpool_limits

import steinkit as sk
from steinkit import samplers
from steinkit.discrepancy.graph.solvers import Settings
from steinkit.discrepancy.graph.solvers import first_order_kernels as kernels
from steinkit.discrepancy.graph.solvers.first_order import Iteration
from steinkit.targets import LogisticRegression, MixturePosterior

SGLD_STEP, SGLD_BATCH = 5e-3, 5
SWEEPS = 50


@dataclass(frozen=True)
class Measured:
    """Measurement of a kernel at one size.

    Attributes
    ----------
    n : int
        Size of the problem.
    seconds : float
        CPU seconds.
    work : float
        Operations, bytes, or other units.
    limit : float
        Units per second that this machine can process.
    """

    n: int
    seconds: float
    work: float
    limit: float


@dataclass(frozen=True)
class Kernel:
    """Kernel with the unit of its work, the description of its limit, and its sizes.

    The attribute `quick` contains a few of the sizes, and `sizes` contains all of them.
    """

    name: str
    unit: str
    limit: str
    measure: Callable[[int], Measured]
    quick: tuple[int, ...]
    sizes: tuple[int, ...]


def cholesky(dim: int, n: int) -> Measured:
    """Measure the elimination of the Newton matrix in fronts.

    A column of c entries, with explicit zeros, takes c^2 operations.
    """
    newton = NewtonMatrix.of(n, dim)
    seconds = median_seconds(newton.factorise) - median_seconds(newton.form)
    return Measured(n, seconds, newton.system.pattern.symbolic.flops, machine.dpotrf(2000))


def sweep(n: int) -> Measured:
    """Measure an iteration of the first-order method on the program of a coordinate in five dimensions.

    Each array counts once. Per variable, five numbers are read (y, A'p, the anchor, tau, b) and three are written (2 y+
    - y, y, A'p). Then 2 y+ - y is read again, and A'p is read and written. Per row, p and its anchor, step and start
    are read, and p is written. An entry has a value and a column.
    """
    state = Iteration(stein_program(*normal(n, 5)).coordinate(0), Settings(1e-3))
    variables, rows, entries = len(state.y), len(state.p), len(state.rows.value)
    steps = (each.astype(np.float32) for each in (state.objective, state.tau, state.sigma))
    weights = np.full(SWEEPS, 0.9, np.float32)
    every, never = np.arange(rows, dtype=np.uint32), np.zeros(1, bool)
    run = partial(kernels.halpern_steps, state.rows, *steps, state.iterates, weights, every, never)
    moved = variables * 11 * 4 + rows * 5 * 4 + entries * 8
    held = variables * 6 * 4 + rows * 4 * 4 + entries * 8
    return Measured(n, median_seconds(run) / SWEEPS, moved, machine.triad(held))


def spanner(n: int) -> Measured:
    """Measure the greedy 2-spanner in the plane. Its definition examines all n (n - 1) / 2 pairs.

    Any algorithm must find at least some of the nearest points of every point. The limit is therefore SciPy's search
    for six neighbors of each point, counted as (n - 1) / 12 pairs per neighbor.
    """
    points = normal(n, 2)[0]
    pairs = 0.5 * n * (n - 1.0)
    nearest = median_seconds(lambda: cKDTree(points).query(points, 7, p=1))
    seconds = median_seconds(partial(sk.greedy_spanner, points), enough=0.3)
    return Measured(n, seconds, pairs, pairs / nearest)


def kernel_discrepancy(n: int) -> Measured:
    """Measure the kernel Stein discrepancy in ten dimensions, with kernel IMQ(1, -1/2).

    Per coordinate, a pair requires 8 operations: r = x - y, u += r r, slope += r (b - b'), inner += b b'. Per pair,
    another 19 operations are required, with a root and three divisions: 9 for the kernel, 6 to combine the terms, and 4
    for the two weighted sums. These operations are neither fused nor reordered, because the bracket accounts for their
    rounding errors. The rate is therefore at most half of that of BLAS.
    """
    dim = 10
    draws, target = normal(n, dim)
    scores = target.score(draws)
    seconds = median_seconds(partial(sk.kernel_stein_discrepancy, draws, scores=scores))
    return Measured(n, seconds, 0.5 * n * (n - 1.0) * (8 * dim + 19), machine.dgemm(1000))


def moments(n: int) -> Measured:
    """Measure the moment test in ten dimensions.

    Each of the 2 + 3 d + d (d - 1) / 2 features of a draw is written and read once, and draws and scores are read once.
    The implementation reads features again for means, variances and correlations.
    """
    dim = 10
    draws, target = normal(n, dim)
    scores = target.score(draws)
    features = 2 + 3 * dim + dim * (dim - 1) // 2
    seconds = median_seconds(partial(sk.moment_stein_discrepancy, draws, scores=scores))
    return Measured(n, seconds, 8.0 * n * (2 * features + 2 * dim), machine.triad(1 << 28))


def walk(n: int) -> Measured:
    """Measure a random-walk step on a logistic regression of n data points, d = 50, which reads all features once."""
    dim, steps = 50, max(20, 400_000 // n)
    rng = np.random.default_rng(0)
    features = rng.standard_normal((n, dim))
    posterior = LogisticRegression(features, (rng.random(n) < 0.5).astype(float))
    run = partial(samplers.rwmh, posterior, proposal_scale=0.1 / np.sqrt(n), draws=steps)
    return Measured(n, median_seconds(run) / steps, 8.0 * n * dim, machine.dgemv(n, dim))


def langevin(n: int) -> Measured:
    """Measure n steps of SGLD on a mixture posterior with batches of 5.

    The limit is the generation of random numbers: two normal numbers per step, and five entries of a new order
    of the data. An entry takes about as long as a normal number.
    """
    posterior = MixturePosterior()
    run = partial(samplers.sgld, posterior, step_size=SGLD_STEP, batch_size=SGLD_BATCH, draws=n)
    return Measured(n, median_seconds(run), 7.0 * n, machine.normals())


KERNELS = (
    Kernel("Cholesky, d = 2", "Gflop/s", "dpotrf 2000", partial(cholesky, 2), (100, 300), (1000, 3000, 10_000)),
    Kernel("Cholesky, d = 3", "Gflop/s", "dpotrf 2000", partial(cholesky, 3), (100, 200), (500, 1000, 2000)),
    Kernel("PDHG sweep, d = 5", "GB/s", "triad, as large", sweep, (100, 200), (300, 1000, 3000)),
    Kernel("spanner, d = 2", "Gpairs/s", "6 nearest of all", spanner, (100, 300), (1000, 3000, 10_000)),
    Kernel("ksd, d = 10", "Gflop/s", "dgemm 1000", kernel_discrepancy, (200, 400), (1000, 3000, 10_000)),
    Kernel("moments, d = 10", "GB/s", "triad, 256 MB", moments, (2000, 4000), (100_000, 300_000, 1_000_000)),
    Kernel("chain, exact walk", "GB/s", "dgemv, as large", walk, (500, 1000), (1000, 4000, 16_000)),
    Kernel("chain, SGLD", "G numbers/s", "NumPy's normals", langevin, (200, 400), (3000, 10_000, 30_000)),
)


def exponent(sizes: Sequence[int], values: Sequence[float]) -> float:
    """Fit the exponent of a power of n."""
    return float(np.polyfit(np.log(sizes), np.log(values), 1)[0])


def kernel_row(kernel: Kernel, sizes: Sequence[int]) -> None:
    """Print the results of a kernel at its largest size, and its growth."""
    found = []
    for n in sizes:
        found.append(kernel.measure(n))
        print(f"{kernel.name}: n = {n}, {found[-1].seconds:.3g} CPU s", file=sys.stderr, flush=True)
    last = found[-1]
    rate = last.work / last.seconds
    growth = exponent(sizes, [each.seconds for each in found])
    of_work = exponent(sizes, [each.work for each in found])
    print(
        f"{kernel.name:18}{last.n:9d}{last.seconds:11.3g}{1e-9 * rate:9.3g}{1e-9 * last.limit:9.3g} "
        f"{kernel.unit:12}{kernel.limit:18}{rate / last.limit:8.1%}{growth:9.2f}{of_work:8.2f}",
        flush=True,
    )


def count_row(n: int, dim: int) -> None:
    """Print the number of operations counted for the fronts relative to SuperLU."""
    newton = NewtonMatrix.of(n, dim)
    ours, theirs = newton.system.pattern.symbolic.flops, newton.flops()
    print(
        f"Operations of a factorization, {n}x{dim}: {1e-6 * ours:.4g} M in fronts, {1e-6 * theirs:.4g} M for the "
        f"columns of SuperLU's factor in the same order: {ours / theirs:.2f} times; residual {newton.residual():.0e}"
    )


def peer_row(comparison: Comparison) -> None:
    """Print the times of a peer and of steinkit."""
    theirs = "   not installed" if comparison.theirs is None else f"{comparison.theirs:11.3g}"
    ratio = "" if comparison.theirs is None else f"{comparison.theirs / comparison.ours:9.3g}"
    print(
        f"{comparison.work:40}{comparison.peer:26}{comparison.ours:11.3g}{theirs}{ratio}  {comparison.remark}",
        flush=True,
    )


def chosen(name: str, quick: bool) -> Iterator[tuple[Kernel, Sequence[int]]]:
    return ((kernel, kernel.quick if quick else kernel.sizes) for kernel in KERNELS if name in kernel.name)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="small sizes")
    parser.add_argument("--only", default="", metavar="NAME", help="kernels and peers whose name contains it")
    settings = parser.parse_args()
    began = time.process_time()
    with threadpool_limits(1):
        print(
            f"One thread of this machine: dgemm {1e-9 * machine.dgemm(1000):.3g} and dpotrf "
            f"{1e-9 * machine.dpotrf(2000):.3g} Gflop/s; triad {1e-9 * machine.triad(1 << 28):.3g} GB/s from memory, "
            f"{1e-9 * machine.triad(1 << 18):.3g} from a near cache\n"
        )
        print(
            f"{'kernel':18}{'n':>9}{'CPU s':>11}{'reached':>9}{'limit':>9} {'':12}{'limit is':18}{'share':>8}"
            f"{'CPU ~ n^':>9}{'work':>8}"
        )
        for kernel, sizes in chosen(settings.only, settings.quick):
            kernel_row(kernel, sizes)
        if settings.only in "Cholesky":
            print()
            for n, dim in ((100, 2),) if settings.quick else ((3000, 2), (1000, 3)):
                count_row(n, dim)
        print(f"\n{'task':40}{'peer':26}{'ours, CPU s':>11}{'theirs':>11}{'ratio':>9}")
        for name, compare in PEERS.items():
            if settings.only in name:
                for comparison in compare(settings.quick):
                    peer_row(comparison)
    print(f"\n{time.process_time() - began:.0f} CPU s in total")


if __name__ == "__main__":
    main()
