"""What sequential tests save: approximate chains against exact ones, in likelihood terms and in processor time.

Four chains with the same number of steps each, from the same starts and seeds: random walks on a logistic regression,
reversible jumps between its models, a walk on the orthogonal group (independent components), and Gibbs updates of a
dense Markov random field. For the exact test and for austerity tests of growing epsilon: terms read a step, the share
of all, processor time a step, and both as multiples of what the exact test takes. Below 1 the test pays; time can be
above 1 where terms are not, since a look costs more than the data it reads. Run it with

    python benchmarks/sequential.py [--quick]

`benchmarks/irls.py` does the same for optimisation.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np
from scipy.special import expit

import steinkit as sk
from steinkit.samplers import (
    AusterityTest,
    BarkerTest,
    Draws,
    IndependentComponents,
    MarkovField,
    MetropolisTest,
    RandomWalk,
    SparseLogisticRegression,
    approximate_gibbs,
    metropolis_hastings,
    orthogonal_mh,
    select_variables,
)

EPSILONS = (0.01, 0.05, 0.1, 0.2)
CHAINS = 10

Chain = Callable[[float], Draws]  # epsilon, 0 for the exact test -> draws


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a tenth of the data, and few steps")
    settings = parser.parse_args()
    size, steps, dim = (2000, 30, 30) if settings.quick else (20_000, 300, 100)

    header = ("test", "terms a step", "of all", "ms a step", "terms ratio", "time ratio")
    print(f"{'chain':24}" + "".join(map(str.rjust, header, (14, 14, 8, 11, 13, 12))))
    for name, chain, terms in (
        regression(size, steps),
        selection(size, steps),
        components(size, steps),
        field(dim, steps),
    ):
        exact = None
        for epsilon in (0.0, *EPSILONS):
            chain(epsilon)  # compiles, or loads what is compiled
            began = time.process_time()
            draws = chain(epsilon)
            seconds = time.process_time() - began
            count = draws.present.sum()
            read, spent = draws.cost.max(axis=1).sum() / count, seconds / count
            exact = exact or (read, spent)
            test = f"epsilon {epsilon:g}" if epsilon else "exact"
            ratios = f"{read / exact[0]:13.2f}{spent / exact[1]:12.2f}"
            print(f"{name:24}{test:>14}{read:14,.0f}{read / terms:8.0%}{1e3 * spent:11.3f}{ratios}", flush=True)


def test_of(epsilon: float, batch: int) -> AusterityTest | MetropolisTest:
    """The austerity test, or at 0 the exact one."""
    return AusterityTest(epsilon, batch) if epsilon else MetropolisTest()


def logistic_data(size: int, dim: int) -> tuple[np.ndarray, np.ndarray]:
    """Normal features, of which the first four count, and responses."""
    rng = np.random.default_rng(0)
    features = rng.standard_normal((size, dim))
    return features, rng.random(size) < expit(features[:, :4] @ [1.0, -0.7, 0.5, 0.3])


def regression(size: int, steps: int) -> tuple[str, Chain, int]:
    """Random walk on the coefficients of a logistic regression."""
    features, responses = logistic_data(size, 10)
    posterior = sk.targets.LogisticRegression(features, responses)
    walk = RandomWalk(1.0 / np.sqrt(size))

    def chain(epsilon: float) -> Draws:
        test = test_of(epsilon, size // 20)
        return metropolis_hastings(posterior, proposal=walk, test=test, chains=CHAINS, draws=steps, seed=1)

    return "logistic regression", chain, size


def selection(size: int, steps: int) -> tuple[str, Chain, int]:
    """Reversible jumps between the models of a logistic regression."""
    posterior = SparseLogisticRegression(*logistic_data(size, 20), size_rate=0.3)
    scales = {"update_scale": 4.0 / np.sqrt(size), "birth_scale": 10.0 / np.sqrt(size)}

    def chain(epsilon: float) -> Draws:
        test = test_of(epsilon, size // 20)
        return select_variables(posterior, test=test, chains=CHAINS, draws=steps, seed=1, **scales).draws

    return "variable selection", chain, size


def components(size: int, steps: int) -> tuple[str, Chain, int]:
    """Random walk on the orthogonal group."""
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
    """Gibbs sampling of a Markov random field; a step is a sweep."""
    markov = MarkovField.simulate(dim, scale=2.0 / dim, rng=1)

    def chain(epsilon: float) -> Draws:
        test = AusterityTest(epsilon, markov.size // 10) if epsilon else BarkerTest()
        return approximate_gibbs(markov, test=test, chains=CHAINS, draws=sweeps, seed=1)

    return "Gibbs, a sweep", chain, markov.dim * markov.size


if __name__ == "__main__":
    main()
