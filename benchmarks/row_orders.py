"""Check that results of minibatch samplers do not depend on the order of the rows of the data.

The data are N exponential waiting times x_i with log rate theta. The posterior is known: exp(theta) has a gamma
distribution. The rows of the data are arranged in eight orders. These include the most difficult orders for samplers
that read consecutive rows: sorted, by distance from the mean, and alternating between the two ends. Every sampler runs
chains for each order, with different seeds and with draws from the posterior as initial states. The chains are
independent, so an analysis of variance tests whether the means for the orders differ by more than expected from the
variation between chains:

    F = variance of the orders' means / (variance of the chains within orders / chains),

for the chains' means of theta and of theta^2 (about the exact mean, in exact standard deviations), and for the number
of data points that their tests read. The output is 7 F, which is approximately chi-square with 7 degrees of freedom,
and its p-value. A p-value below 1e-4 is a failure (exit code 1). With n p-values, this occurs by chance in n of 10,000
runs.

The last row of each size is a control with one shuffled copy of the data for all chains. This control must fail.

    python benchmarks/row_orders.py [--quick] [--seed SEED]
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from scipy.special import polygamma, psi
from scipy.stats import f as f_distribution

import steinkit as sk
from steinkit import samplers
from steinkit.samplers.chains import readers
from steinkit.samplers.chains.readers import DataWalk

SIZES = (12_000, 33_600, 100_000)  # on both sides of `readers.LARGEST_SHUFFLED`
LIMIT = 1e-4
CONTROL = "control: one shuffle"


class WaitingTimes:
    """Exponential data in some order, and the posterior of the log of their rate."""

    def __init__(self, x: np.ndarray) -> None:
        self.x, self.size = x, len(x)
        self.mean = float(psi(self.size) - np.log(x.sum()))
        self.sd = float(np.sqrt(polygamma(1, self.size)))
        self.posterior = sk.Posterior(
            (x,),
            lambda theta, x: theta - np.exp(theta) * x,
            lambda theta, x: np.array([len(x) - np.exp(theta[0]) * x.sum()]),
            lambda thetas: np.zeros(len(thetas)),
            lambda thetas: np.zeros(thetas.shape),
            log_likelihood_many=lambda thetas, x: thetas - np.exp(thetas) * x,
            grad_log_likelihood_many=lambda thetas, x: (
                x.shape[1] - np.exp(thetas) * np.add.reduce(x, axis=1, keepdims=True)
            ),
            dim=1,
            names=["log rate"],
        )


def row_orders(x: np.ndarray) -> dict[str, np.ndarray]:
    """Return eight orders of the rows, each a permutation."""
    size, ascending = len(x), np.argsort(x, kind="stable")
    ends = np.empty(size, dtype=np.int64)
    ends[::2], ends[1::2] = ascending[: size - size // 2], ascending[::-1][: size // 2]
    side = int(np.ceil(np.sqrt(size)))
    return {
        "as drawn": np.arange(size),
        "shuffled": np.random.default_rng(1).permutation(size),
        "shuffled again": np.random.default_rng(2).permutation(size),
        "ascending": ascending,
        "descending": ascending[::-1],
        "by distance from the mean": np.argsort(np.abs(x - x.mean()), kind="stable"),
        "smallest, largest, next smallest, next largest": ends,
        "ascending, every sqrt(N)-th": ascending[np.argsort(np.arange(size) % side, kind="stable")],
    }


Sampler = Callable[..., samplers.Draws]


def contests(size: int) -> dict[str, tuple[Sampler, float, Callable[[WaitingTimes], dict[str, Any]], float]]:
    """Return samplers, their temperatures, their options as functions of the data, and relative numbers of steps."""
    unit = size**-0.5  # standard deviation of the posterior

    def walk(scale: float, **options: Any) -> Callable[[WaitingTimes], dict[str, Any]]:
        return lambda data: {"proposal_scale": scale * unit} | options

    def langevin(step: float, batch: int, **options: Any) -> Callable[[WaitingTimes], dict[str, Any]]:
        return lambda data: {"step_size": step / size, "batch_size": batch} | options

    return {
        "approximate_mh, epsilon .1": (samplers.approximate_mh, 1.0, walk(2.0, epsilon=0.1), 1.0),
        "approximate_mh, alpha .8": (samplers.approximate_mh, 1.0, walk(2.0, epsilon=0.2, alpha=0.8), 1.0),
        "barker_mh": (samplers.barker_mh, 1.0, walk(0.5), 1.0),
        "subsampling_mh": (samplers.subsampling_mh, 100.0, walk(20.0, epsilon=0.5), 1.0),
        "sgld": (samplers.sgld, 1.0, langevin(0.2, size // 20), 2.0),
        "corrected_sgld": (samplers.corrected_sgld, 1.0, langevin(0.2, size // 20, epsilon=0.2), 1.0),
    }


class OneShuffle(DataWalk):
    """Control in which all chains read one shuffled copy of the data, from random positions."""

    def __init__(self, data: Any, seeds: Any, kind: Any) -> None:
        super().__init__(data, seeds, kind)
        self.size = len(data[0])
        order = np.random.default_rng(0).permutation(self.size)
        self.shuffled = tuple(array[order] for array in self.data)
        self.generators = [np.random.default_rng([seed, 1]) for seed in seeds]
        self.origins = np.array([generator.integers(self.size) for generator in self.generators])
        self.places = np.zeros(len(seeds), dtype=np.int64)

    def take(self, chains: Any, rows: int) -> tuple[np.ndarray, ...]:
        """Return the next data points of these chains."""
        places = (self.origins[chains] + self.places[chains])[:, None] + np.arange(rows)
        self.places[chains] += rows
        return tuple(array[places % self.size] for array in self.shuffled)

    def close(self, chains: Any) -> None:
        """End the tests of these chains."""
        for k in chains[self.places[chains] >= self.size].tolist():
            self.origins[k], self.places[k] = self.generators[k].integers(self.size), 0


@contextmanager
def one_shuffle() -> Iterator[None]:
    """Replace the orders of the samplers with the control."""
    own = readers.DataWalk
    readers.DataWalk = OneShuffle
    try:
        yield
    finally:
        readers.DataWalk = own


def chain_means(sampler: Sampler, data: WaitingTimes, heat: float, **options: Any) -> dict[str, np.ndarray]:
    """Return the means of each chain on the data in one order, shape (chains,)."""
    rng = np.random.default_rng([options["seed"], 1])
    start = data.mean + np.sqrt(heat) * data.sd * rng.standard_normal((options["chains"], 1))
    found = sampler(data.posterior, temperature=heat, start=start, **options)
    z = (found.points[:, :, 0] - data.mean) / (np.sqrt(heat) * data.sd)
    means = {"mean": z.mean(axis=1), "second moment": (z * z).mean(axis=1)}
    return means if found.batch_sizes is None else means | {"batch": found.batch_sizes.mean(axis=1) / data.size}


def differences(groups: np.ndarray) -> tuple[float, float]:
    """Compute the chi-square statistic (degrees of freedom times F) of the means of groups, (groups, chains), and p."""
    count, chains = groups.shape
    within = groups.var(axis=1, ddof=1).mean()
    if within == 0.0:  # all tests of all chains read the same number of data points
        return (0.0, 1.0) if np.ptp(groups) == 0.0 else (np.inf, 0.0)
    F = groups.mean(axis=1).var(ddof=1) * chains / within
    return (count - 1) * F, float(f_distribution.sf(F, count - 1, count * (chains - 1)))


def examine(name: str, x: np.ndarray, chains: int, steps: int, seed: int) -> dict[str, np.ndarray]:
    """Return the means of the chains of a sampler.

    For each quantity, the result is an array (orders, chains). All seeds differ.
    """
    entries = contests(len(x))
    sampler, heat, options, longer = entries[name]
    seed, runs = 1000 * seed + 10 * list(entries).index(name), []
    for number, order in enumerate(row_orders(x).values()):
        data = WaitingTimes(np.ascontiguousarray(x[order]))
        run = {"chains": chains, "draws": round(longer * steps), "seed": seed + number}
        runs.append(chain_means(sampler, data, heat, **options(data), **run))
    return {quantity: np.stack([run[quantity] for run in runs]) for quantity in runs[0]}


def report(name: str, found: dict[str, np.ndarray]) -> list[float]:
    """Print a row, and return its p-values."""
    cells, values = [], []
    for groups in found.values():
        chi_square, p = differences(groups)
        error = groups.mean(axis=1).std(ddof=1) / np.sqrt(len(groups))
        cells.append(f"{groups.mean():8.3f} +- {error:.3f}{chi_square:8.1f}{p:9.1e}")
        values.append(p)
    print(f"{name:28}" + "".join(f"{cell:>35}" for cell in cells), flush=True)
    return values


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="few and short chains")
    parser.add_argument("--seed", type=int, default=0, help="seed of the data and the chains")
    options = parser.parse_args()
    sizes, chains, steps = (SIZES[:1], 8, 6) if options.quick else (SIZES, 100, 60)
    values, caught, began = [], True, time.process_time()
    for size in sizes:
        x = np.random.default_rng([options.seed, size]).exponential(size=size)
        print(f"\nN = {size:,}, 8 orders of the rows, {chains} chains on each: mean over all, chi-square (7), p")
        print(f"{'':28}" + "".join(f"{words:>35}" for words in ("mean, in sd", "second moment", "share of data read")))
        for name in contests(size):
            values += report(name, examine(name, x, chains, steps, options.seed))
            print(f"{time.process_time() - began:.0f} s", file=sys.stderr)
        with one_shuffle():
            found = examine("approximate_mh, epsilon .1", x, max(chains, 16), max(steps, 25), options.seed)
            caught &= min(report(CONTROL, found)) < LIMIT
    failed = sum(p < LIMIT for p in values)
    print(
        f"\n{failed} of {len(values)} values of p are below {LIMIT:g}, the smallest is {min(values):.1e}; "
        f"by chance one is in {len(values)} of 10,000 runs. The control is {'caught' if caught else 'NOT caught'}."
    )
    if failed or not caught:
        sys.exit(1)


if __name__ == "__main__":
    main()
