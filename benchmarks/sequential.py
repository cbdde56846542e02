"""Likelihood terms and CPU time of chains with sequential tests, relative to exact chains.

There are four chains: random walks on a logistic regression, reversible jumps between its models, a walk on the
orthogonal group (independent components), and Gibbs updates of a dense Markov random field. For all tests, a chain has
the same number of steps, initial states and seeds. For the exact test and for austerity tests with several values of
epsilon, the table lists the terms read per step, the fraction of all terms, and the CPU time per step. Terms and time
are also given relative to the exact test, so values below 1 are savings. Because each stage has an overhead, the time
can exceed that of the exact test even if fewer terms are read.

    python benchmarks/sequential.py [--quick] [--data N] [--runs N] [--record]

The program `benchmarks/irls.py` makes the same comparison for optimization.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from costs import cpu_seconds
from records import add_option, keep
from scipy.special import expit

import steinkit as sk
from steinkit.samplers import AusterityTest, BarkerTest, Draws, MetropolisTest, RandomWalk, metropolis_hastings

sys.path.append(str(Path(__file__).resolve().parents[1] / "examples" / "papers"))
from applications.gibbs import MarkovField, approximate_gibbs
from applications.ica import IndependentComponents, orthogonal_mh
from applications.variable_selection import SparseLogisticRegression, select_variables

EPSILONS = (0.01, 0.05, 0.1, 0.2)
CHAINS = 10

Chain = Callable[[float], Draws]  # epsilon (0 for the exact test) -> draws


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="few data and steps, one run")
    parser.add_argument("--data", type=int, nargs="+", default=[20_000, 2000], metavar="N", help="how many data")
    parser.add_argument("--runs", type=int, default=3, metavar="N", help="runs per chain; the fastest counts")
    add_option(parser)
    settings = parser.parse_args()
    sizes, runs, steps, dim = ([2000], 1, 30, 30) if settings.quick else (settings.data, settings.runs, 300, 100)

    rows: list[dict[str, Any]] = []
    for size in sizes:
        print(f"{size:,} data")
        header = ("test", "terms a step", "of all", "ms a step", "terms ratio", "time ratio")
        print(f"{'chain':24}" + "".join(map(str.rjust, header, (14, 14, 8, 11, 13, 12))))
        chains = [regression(size, steps), selection(size, steps), components(size, steps)]
        for name, chain, terms in (*chains, *([field(dim, steps)] if size == sizes[0] else [])):
            rows += compared(name, chain, terms, size, runs)
    keep(settings.record, "sequential", rows)


def compared(name: str, chain: Chain, terms: int, size: int, runs: int) -> list[dict[str, Any]]:
    """Print and return the terms and times of the tests of a chain.

    The times are the best of alternating runs.
    """
    best = dict.fromkeys((0.0, *EPSILONS), float("inf"))
    read: dict[float, float] = {}
    for epsilon in best:
        chain(epsilon)  # compiles or loads kernels
    for _ in range(runs):
        for epsilon in best:
            seconds, draws = cpu_seconds(partial(chain, epsilon))
            count = draws.present.sum()
            read[epsilon] = float(draws.cost.max(axis=1).sum() / count)
            best[epsilon] = min(best[epsilon], seconds / count)
    rows = []
    for epsilon, seconds in best.items():
        row = {
            "chain": name,
            "data": size,
            "epsilon": epsilon,
            "share": read[epsilon] / terms,
            "ms": 1e3 * seconds,
            "terms_ratio": read[epsilon] / read[0.0],
            "time_ratio": seconds / best[0.0],
        }
        test = f"epsilon {epsilon:g}" if epsilon else "exact"
        ratios = f"{row['terms_ratio']:13.2f}{row['time_ratio']:12.2f}"
        print(f"{name:24}{test:>14}{read[epsilon]:14,.0f}{row['share']:8.0%}{row['ms']:11.3f}{ratios}", flush=True)
        rows.append(row)
    return rows


def test_of(epsilon: float, batch: int) -> AusterityTest | MetropolisTest:
    """Return the austerity test, or the exact test at 0."""
    return AusterityTest(epsilon, batch) if epsilon else MetropolisTest()


def logistic_data(size: int, dim: int) -> tuple[np.ndarray, np.ndarray]:
    """Simulate responses and normal features.

    The first four features have an effect.
    """
    rng = np.random.default_rng(0)
    features = rng.standard_normal((size, dim))
    return features, rng.random(size) < expit(features[:, :4] @ [1.0, -0.7, 0.5, 0.3])


def regression(size: int, steps: int) -> tuple[str, Chain, int]:
    """Measure a random walk on the coefficients of a logistic regression."""
    features, responses = logistic_data(size, 10)
    posterior = sk.targets.LogisticRegression(features, responses)
    walk = RandomWalk(1.0 / np.sqrt(size))

    def chain(epsilon: float) -> Draws:
        test = test_of(epsilon, size // 20)
        return metropolis_hastings(posterior, proposal=walk, test=test, chains=CHAINS, draws=steps, seed=1)

    return "logistic regression", chain, size


def selection(size: int, steps: int) -> tuple[str, Chain, int]:
    """Measure reversible jumps between the models of a logistic regression."""
    posterior = SparseLogisticRegression(*logistic_data(size, 20), size_rate=0.3)
    scales = {"update_scale": 4.0 / np.sqrt(size), "birth_scale": 10.0 / np.sqrt(size)}

    def chain(epsilon: float) -> Draws:
        test = test_of(epsilon, size // 20)
        return select_variables(posterior, test=test, chains=CHAINS, draws=steps, seed=1, **scales).draws

    return "variable selection", chain, size


def components(size: int, steps: int) -> tuple[str, Chain, int]:
    """Measure a random walk on the orthogonal group."""
    rng = np.random.default_rng(1)
    mixtures = rng.laplace(size=(size, 4)) @ rng.standard_normal((4, 4))
    posterior = IndependentComponents.from_mixtures(mixtures)

    def chain(epsilon: float) -> Draws:
        test = test_of(epsilon, size // 20)
        return orthogonal_mh(
            posterior, proposal_scale=1.5 / np.sqrt(size), test=test, chains=CHAINS, draws=steps, seed=1
        )

    return "independent components", chain, size


def field(dim: int, sweeps: int) -> tuple[str, Chain, int]:
    """Measure Gibbs sampling of a Markov random field.

    A step is a sweep.
    """
    markov = MarkovField.simulate(dim, scale=2.0 / dim, rng=1)

    def chain(epsilon: float) -> Draws:
        test = AusterityTest(epsilon, markov.size // 10) if epsilon else BarkerTest()
        return approximate_gibbs(markov, test=test, chains=CHAINS, draws=sweeps, seed=1)

    return "Gibbs, a sweep", chain, markov.dim * markov.size


if __name__ == "__main__":
    main()
