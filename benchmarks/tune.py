"""Loss of tuning with a budget relative to the full grid: 27 settings of SGLD on three posteriors, at 15% of the cost.

The loss of a setting is the root mean square error of all means, in standard deviations, and log standard deviations,
for the last four fifths of a full chain (median over the seeds). The full grid chooses the setting with the smallest
estimated bias of one chain per setting. Tuning also uses one seed.

    python benchmarks/tune.py [--quick] [--repeats N] [--problem NAME]
"""

from __future__ import annotations

import argparse
import itertools
import time
import warnings

import numpy as np

import steinkit as sk
from steinkit.errors import SteinkitWarning
from steinkit.sample import Floats
from steinkit.samplers import mala, sgld
from steinkit.sweeps.tuning import tune

COST = 0.15
SCORED = 1000


def logistic(size: int) -> tuple[sk.Posterior, list[int]]:
    """Return a posterior with six correlated coefficients of different scales."""
    rng = np.random.default_rng(0)
    features = rng.standard_normal((size, 6)) @ np.linalg.cholesky(0.6 * np.eye(6) + 0.4).T * np.logspace(-0.3, 0.3, 6)
    chances = 1.0 / (1.0 + np.exp(-features @ rng.standard_normal(6) / np.sqrt(6.0)))
    responses = rng.random(size) < chances
    return sk.targets.LogisticRegression(features, responses, 25.0), [size // 200, size // 20, size // 2]


def nodal(size: int) -> tuple[sk.Posterior, list[int]]:
    """Return a skewed posterior of 53 patients, whatever the size."""
    return sk.targets.LogisticRegression.nodal(), [3, 10, 30]


def mean(size: int) -> tuple[sk.Posterior, list[int]]:
    """Return the posterior of the mean of data in ten dimensions, with non-normal noise."""
    data = np.random.default_rng(2).standard_t(4, (size, 10))
    return sk.targets.GaussianMean(data, prior_variance=10.0), [size // 400, size // 40, size // 4]


PROBLEMS = {"logistic": logistic, "nodal": nodal, "mean": mean}


def truth(posterior: sk.Posterior, draws: int) -> tuple[Floats, Floats, float]:
    """Compute the mean and standard deviations of a long exact run, and the largest curvature."""
    dim = posterior.dim or 1
    state, step = np.zeros(dim), 1e-4
    for _ in range(50):  # Newton's method, with differences of the score for the Hessian
        points = np.vstack([state, state + step * np.eye(dim)])
        scores = posterior.score(points)
        hessian = (scores[1:] - scores[0]) / step
        state = state - np.linalg.solve(hessian, scores[0])
    largest = -float(np.linalg.eigvalsh(0.5 * (hessian + hessian.T))[0])
    run = mala(posterior, step_size=0.7 / largest, draws=draws, thin=10, burn_in=500, chains=4, start=state)
    points = run.points.reshape(-1, dim)
    return points.mean(axis=0), points.std(axis=0), largest


def error(points: Floats, means: Floats, sds: Floats) -> float:
    points = points[len(points) // 5 :]
    off = np.concatenate([(points.mean(axis=0) - means) / sds, np.log(points.std(axis=0) / sds)])
    return float(np.sqrt(np.mean(off**2)))


def one_problem(name: str, repeats: int, budget: int, quick: bool) -> float:
    posterior, batches = PROBLEMS[name](400 if quick else 2000)
    means, sds, largest = truth(posterior, 200 if quick else 4000)
    grid = {"step_size": (np.logspace(-3.5, -0.1, 4 if quick else 9) / largest).tolist(), "batch_size": batches}
    arms = [dict(zip(grid, values, strict=True)) for values in itertools.product(*grid.values())]
    start = (means + 3.0 * sds).tolist()
    losses, biases = np.full((2, len(arms), repeats), np.inf)
    began = time.process_time()
    for k, seed in itertools.product(range(len(arms)), range(repeats)):
        try:
            chain = sgld(posterior, **arms[k], budget=budget, start=start, seed=[seed]).points[0]
        except sk.InputError:
            continue  # the chain diverged
        losses[k, seed] = error(chain, means, sds)
        chain = chain[len(chain) // 5 :]
        biases[k, seed] = sk.estimate_bias(chain[:: max(1, len(chain) // SCORED)], posterior, method="regression").value
    grid_seconds = (time.process_time() - began) / repeats
    median = np.median(losses, axis=1)
    by_grid = median[np.nanargmin(biases, axis=0)]
    began, tuned, spent = time.process_time(), [], 0.0
    for seed in range(repeats):
        found = tune(posterior, "sgld", grid=grid, options={"budget": budget, "start": start}, seeds=[seed], cost=COST)
        tuned.append(median[arms.index(found.setting)])
        spent = found.spent / found.full
    tune_seconds = (time.process_time() - began) / repeats
    ratio = float(np.median(np.array(tuned) / by_grid))
    print(
        f"{name:10}{median.min():10.3f}{np.median(by_grid):10.3f}{np.median(tuned):10.3f}{ratio:10.2f}"
        f"{np.max(np.array(tuned) / by_grid):10.2f}{spent:10.1%}{grid_seconds:10.1f}{tune_seconds:10.1f}",
        flush=True,
    )
    return ratio


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="little data, small chains, one repeat")
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--problem", choices=PROBLEMS)
    given = parser.parse_args()
    print("Losses of the best setting, and of those chosen by the full grid and by tuning: medians over the seeds")
    columns = ("best", "grid", "tuned", "ratio", "worst", "cost", "grid s", "tune s")
    print(f"{'problem':10}{''.join(f'{each:>10}' for each in columns)}")
    warnings.simplefilter("ignore", SteinkitWarning)
    for name in [given.problem] if given.problem else PROBLEMS:
        one_problem(name, 1 if given.quick else given.repeats, 4_000 if given.quick else 300_000, given.quick)


if __name__ == "__main__":
    main()
