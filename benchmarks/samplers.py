"""Speed of the samplers relative to NumPy loops, and data read by their tests.

The samplers are compared with NumPy loops for one chain (`plain_loops`) that have the same algorithm and likelihood,
and use a new random minibatch at each stage. Times are CPU times per step and chain, as medians of alternating runs.
Further tables cover the mixture of Gaussians of Seita et al. (a million data points, temperature 10^4, proposals with
standard deviation .15), Langevin dynamics that require an acceptance test, and the error of the correction distribution
relative to that of Seita et al.

    python benchmarks/samplers.py [--quick]

References
----------
[2016] D. Seita and others, manuscript under review (AISTATS 2017), section 6.1: 5000 steps, m = 100.
[2017] D. Seita, X. Pan, H. Chen and J. Canny, "An efficient minibatch acceptance test for Metropolis-Hastings", UAI,
section 6.1: 3000 steps, m = 50 for Barker's test; equation 15 and table 1: the correction.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from statistics import median
from typing import Any

import numpy as np
from costs import cpu_seconds
from plain_loops import (
    NODAL_SCALE,
    SCALE,
    SGLD_BATCH,
    SGLD_STEP,
    START,
    TEMPERATURE,
    naive_austerity,
    naive_barker,
    naive_random_walk,
    naive_sgld,
)
from scipy.linalg import solve
from scipy.special import expit, ndtr
from scipy.stats import kstest

from steinkit import samplers
from steinkit.targets import LassoRegression, LogisticRegression, MixturePosterior


@dataclass(frozen=True)
class Contest:
    """Sampler, its peer, and the goals for the ratio of times with one chain and with many."""

    name: str
    posterior: Any
    naive: Callable[[Any, int], float]
    ours: Callable[..., samplers.Draws]
    chains: int
    steps: int
    aims: tuple[float, float]


def contests(size: int, steps: int) -> list[Contest]:
    mixture, nodal = MixturePosterior.simulate(size, rng=1), LogisticRegression.nodal()
    hot = TEMPERATURE * size / 1e6

    def barker(target: Any, **run: Any) -> samplers.Draws:
        return samplers.barker_mh(target, proposal_scale=SCALE, batch_size=100, temperature=hot, start=START, **run)

    def austerity(target: Any, **run: Any) -> samplers.Draws:
        return samplers.approximate_mh(
            target, proposal_scale=SCALE, batch_size=100, epsilon=0.05, temperature=hot, start=START, **run
        )

    def nodal_austerity(target: Any, **run: Any) -> samplers.Draws:
        return samplers.approximate_mh(target, proposal_scale=NODAL_SCALE, batch_size=2, epsilon=0.1, **run)

    def sgld(target: Any, **run: Any) -> samplers.Draws:
        return samplers.sgld(target, step_size=SGLD_STEP, batch_size=SGLD_BATCH, **run)

    def walk(target: Any, **run: Any) -> samplers.Draws:
        return samplers.rwmh(target, proposal_scale=SCALE, **run)

    few = MixturePosterior()
    return [
        Contest("SGLD, 100 data, batch 5", few, naive_sgld, sgld, 100, 4 * steps, (20.0, 30.0)),
        Contest("random walk, all of 100 data", few, naive_random_walk, walk, 100, 2 * steps, (3.0, 6.0)),
        Contest(
            "Barker test, mixture, m = 100",
            mixture,
            lambda target, n: naive_barker(target, n, 100, hot),
            barker,
            100,
            2 * steps,
            (10.0, 15.0),
        ),
        Contest(
            "austerity .05, mixture, m = 100",
            mixture,
            lambda target, n: naive_austerity(target, n, 100, 0.05, hot, START, SCALE),
            austerity,
            100,
            steps,
            (8.0, 10.0),
        ),
        Contest(
            "austerity .1, nodal, m = 2",
            nodal,
            lambda target, n: naive_austerity(target, n, 2, 0.1, 1.0, np.zeros(6), NODAL_SCALE),
            nodal_austerity,
            100,
            steps,
            (8.0, 10.0),
        ),
    ]


def cpu_microseconds(run: Callable[[], Any], steps: int) -> tuple[float, Any]:
    seconds, result = cpu_seconds(run)
    return 1e6 * seconds / steps, result


def compare_throughput(size: int, steps: int, runs: int) -> None:
    """Print CPU microseconds per step and chain, and the ratios to the plain loop."""
    print("\nCPU microseconds a step and chain; in brackets, how many times faster than the loop (* short of the aim)")
    print(f"{'':32}{'loop':>9}{'1 chain':>17}{'many chains':>23}   mean batch: loop, ours")
    for contest in contests(size, steps):
        cases = ((1, 4 * contest.steps), (contest.chains, max(10, contest.steps // 4)))
        contest.ours(contest.posterior, draws=2)  # imports, compilation, the correction distribution
        rows = []
        for _ in range(runs):
            loop, loop_batch = cpu_microseconds(partial(contest.naive, contest.posterior, contest.steps), contest.steps)
            row = [loop]
            for chains, n in cases:
                run = partial(contest.ours, contest.posterior, chains=chains, draws=n)
                used, draws = cpu_microseconds(run, chains * n)
                row.append(used)
            rows.append(row)
        batch = draws.settings["batch_size"] if draws.batch_sizes is None else draws.batch_sizes.mean()
        times = [median(column) for column in zip(*rows, strict=True)]
        ratios = [median(row[0] / row[i] for row in rows) for i in (1, 2)]
        cells = [
            f"{used:.1f} ({ratio:.1f}{'*' if ratio < aim else ''})"
            for used, ratio, aim in zip(times[1:], ratios, contest.aims, strict=True)
        ]
        print(
            f"{contest.name:32}{times[0]:9.1f}{cells[0]:>17}{cells[1]:>18} x{contest.chains:<3}"
            f"   {loop_batch:.0f}, {batch:.0f}",
            flush=True,
        )
    print("Aims, times faster, one chain and many: SGLD 20 and 30, walk 3 and 6, Barker 10 and 15, austerity 8 and 10")


class GridConcentrationTest(samplers.ConcentrationTest):
    """Concentration test with C from a fine grid over the range of the data, instead of a scan."""

    def bounds(self, moves: Any) -> np.ndarray:
        """Compute the largest |l| of each move on the grid."""
        (y,), terms = moves.model.data, moves.model.posterior.log_likelihood_many
        rows = np.broadcast_to(np.linspace(y.min(), y.max(), 1001), (len(moves.states), 1001))
        return np.abs(terms(moves.proposals, rows) - terms(moves.states, rows)).max(axis=1)


def mixture_table(size: int, steps: int, runs: int) -> None:
    """Print the mean batches of the acceptance tests on the mixture of Gaussians."""
    posterior = MixturePosterior.simulate(size, rng=1)
    barker, austerity = samplers.MinibatchBarkerTest, samplers.AusterityTest
    rows = [
        ("Barker, m = 50", barker(50), "172 [2017]"),
        ("Barker, m = 100", barker(100), "210 [2016]"),
        ("Barker, m = 50, sigma 1.3", barker(50, sigma=1.3), ""),
        ("Barker, m = 100, sigma 1.3", barker(100, sigma=1.3), ""),
        ("austerity .005, m = 100", austerity(0.005, 100), "15562 [2016], 12562 [2017]"),
        ("austerity .05, m = 100", austerity(0.05, 100), ""),
        ("concentration .01, factor 1.5", GridConcentrationTest(0.01, 100, factor=1.5), "16857 [2016], 67508 [2017]"),
    ]
    print(f"\nMixture of Gaussians, N = {size:,}, T = {TEMPERATURE * size / 1e6:g}, sd {SCALE}: {runs} runs of {steps}")
    print(f"{'test':34}{'mean batch':>18}{'q99':>9}{'share':>9}{'accepted':>10}   papers")
    for name, test, papers in rows:
        draws = samplers.metropolis_hastings(
            posterior,
            proposal=samplers.RandomWalk(SCALE),
            test=test,
            temperature=TEMPERATURE * size / 1e6,
            chains=runs,
            draws=steps,
            start=START,
        )
        means = draws.mean_batch_size
        mean, spread = f"{means.mean():.1f}", f"{means.std(ddof=1):.1f}"
        print(
            f"{name:34}{mean + ' +- ' + spread:>18}{np.quantile(draws.batch_sizes, 0.99):9.0f}"
            f"{means.mean() / size:9.3%}{draws.acceptance.mean():10.3f}   {papers}",
            flush=True,
        )
    print("+- is the standard deviation between runs. Barker's test, m = 50: the aim is 167 +- 8.")


def pitfall_table(chains: int, draws: int) -> None:
    """Print the effect of a test on biased Langevin dynamics (Korattikara et al. 2014, section 6.4)."""
    posterior = LassoRegression.toy()
    options: dict[str, Any] = {"step_size": 5e-6, "batch_size": 500, "chains": chains, "draws": draws, "seed": 2}
    options["start"] = posterior.sample(chains, rng=1)
    print(f"\nLangevin dynamics on the lasso's toy problem, {chains} chains of {draws} draws")
    print(f"{'':24}{'mean':>9} {'sd':>9} {'KS':>6} {'data a test':>12} {'acceptance':>11}")
    print(f"{'exact posterior':24}{0.01004:9.5f} {0.00699:9.5f}")
    runs = {
        "uncorrected": lambda: samplers.sgld(posterior, **options),
        "exact test": lambda: samplers.corrected_sgld(posterior, test=samplers.MetropolisTest(), **options),
        "austerity, epsilon .1": lambda: samplers.corrected_sgld(posterior, epsilon=0.1, **options),
        "austerity, epsilon .5": lambda: samplers.corrected_sgld(posterior, epsilon=0.5, **options),
    }
    for name, run in runs.items():
        found = run()
        values = found.points.ravel()
        share = 0.0 if found.batch_sizes is None else found.batch_sizes.mean() / posterior.size
        accepted = 1.0 if found.acceptance is None else found.acceptance.mean()
        distance = kstest(values, posterior.cdf).statistic
        print(f"{name:24}{values.mean():9.5f} {values.std():9.5f} {distance:6.3f} {share:12.3f} {accepted:11.3f}")


def ridge_correction(sigma: float, ridge: float, largest_atom: float = 30.0, steps: int = 500) -> samplers.Correction:
    """Compute the correction of Seita et al. by ridge regression.

    Negative weights are removed, and the result is normalized.

    With X_i = i V / n, |i| <= 2 n, and Y_j = j V / n, |j| <= n, the regression solves

        minimize over u  |M u - v|^2 + lambda |u|^2,   M_ij = Phi((X_i - Y_j) / sigma),  v_i = 1 / (1 + exp(-X_i)).

    Their lambda is for a grid of n = 4000 steps. On other grids, lambda (n / 4000)^2 gives the same distribution.
    """
    atoms, x = (
        np.linspace(-end, end, 2 * round(end / largest_atom * steps) + 1) for end in (largest_atom, 2 * largest_atom)
    )
    matrix = ndtr((x[:, None] - atoms) / sigma)
    normal_matrix = matrix.T @ matrix + ridge * (steps / 4000) ** 2 * np.eye(len(atoms))
    weights = np.maximum(solve(normal_matrix, matrix.T @ expit(x), assume_a="pos"), 0.0)
    found = samplers.Correction(atoms, weights / weights.sum(), sigma, np.nan)
    far = np.linspace(0.0, largest_atom + 6.0, 2001)
    return replace(found, error=float(np.abs(found.cdf(far) - expit(far)).max()))


def correction_table() -> None:
    """Print the errors of corrected normal noise relative to logistic noise."""
    print(f"\nCorrection distribution\n{'sigma':>6}{'minimax':>10}{'ridge':>10}   papers")
    for sigma, ridge, paper in ((0.9, 1.0, "1.0e-4"), (0.8, 0.03, "5.0e-6")):
        errors = samplers.correction_distribution(sigma).error, ridge_correction(sigma, ridge).error
        print(f"{sigma:6}{errors[0]:10.1e}{errors[1]:10.1e}   {paper} [2017]")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="small sizes, one run each")
    quick = parser.parse_args().quick
    size, steps, repeats, draws, runs = (20_000, 50, 1, 50, 2) if quick else (1_000_000, 1000, 3, 3000, 10)
    compare_throughput(size, steps, repeats)
    mixture_table(size, draws, runs)
    pitfall_table(*((10, 20) if quick else (100, 400)))
    correction_table()


if __name__ == "__main__":
    main()
