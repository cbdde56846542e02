"""Compute verdicts and biases and choose a step size, using only 10 of the 1,000,000 data points per draw.

The program compares scores from ten data points per draw with scores from all the data.

The model is a logistic regression, d = 20, in memory-mapped files. The program has the following parts:

- *verdict*: 1000 draws that are exact, shifted, too wide, or from SGLD. Times are in CPU seconds, and the memory
  excludes the files;
- *alarms*: rejection rates at .05 and .01 for 100 exact samples of 1000 draws;
- *choice*: four step sizes of SGLD with control variates, ten seeds, and 200 draws each. The draws are thinned by 100
  because scores from all the data are slow to compute. Both kinds of scores choose the step size with the smallest
  estimated bias;
- *refused*: two posteriors for which an error is expected, one with two modes and one with 60 data points.

Exact draws are from the normal distribution at the mode, which is the posterior for this number of data points.

    python benchmarks/large_data.py [--quick] [--data N] [--only PART ...]
"""

from __future__ import annotations

import argparse
import tempfile
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.format import open_memmap

import steinkit as sk
from steinkit.sample import Floats
from steinkit.samplers import mala, sgld

D, BATCH, BLOCK = 20, 10, 50_000
STEPS = (0.1, 0.3, 0.6, 1.2)  # in units of the inverse of the largest curvature


class Problem(NamedTuple):
    """Posterior, its mode, a square root of its covariance, and the largest curvature."""

    posterior: sk.targets.LogisticRegression
    mode: Floats
    root: Floats
    largest: float

    def right(self, seed: int, draws: int = 1000) -> Floats:
        """Draw independently from the normal distribution at the mode."""
        return self.mode + np.random.default_rng([7, seed]).standard_normal((draws, D)) @ self.root.T


def made(folder: Path, size: int) -> Problem:
    """Create the data in files, and find the mode by Newton's method in passes over them."""
    features = open_memmap(folder / "features.npy", "w+", np.float64, (size, D))
    responses = open_memmap(folder / "responses.npy", "w+", np.float64, (size,))
    rng = np.random.default_rng(33)
    root, truth = np.linalg.cholesky(0.6 * np.eye(D) + 0.4).T, rng.standard_normal(D) / np.sqrt(D)
    for first in range(0, size, BLOCK):
        block = slice(first, first + BLOCK)
        features[block] = rng.standard_normal((len(features[block]), D)) @ root
        features[block, 0] = 1.0
        responses[block] = rng.random(len(features[block])) < 1.0 / (1.0 + np.exp(-features[block] @ truth))
    features.flush(), responses.flush()
    features, responses = (np.load(folder / f"{name}.npy", mmap_mode="r") for name in ("features", "responses"))
    posterior = sk.targets.LogisticRegression(features, responses, prior_variance=25.0)
    mode = np.zeros(D)
    for _ in range(8):
        hessian = np.eye(D) / 25.0
        for first in range(0, size, BLOCK):
            rows = features[first : first + BLOCK]
            chance = 1.0 / (1.0 + np.exp(-rows @ mode))
            hessian += (rows * (chance * (1.0 - chance))[:, None]).T @ rows
        mode = mode + np.linalg.solve(hessian, posterior.score(mode[None])[0])
    root = np.linalg.cholesky(np.linalg.inv(hessian))
    return Problem(posterior, mode, root, float(np.linalg.eigvalsh(hessian)[-1]))


def timed(function: Callable[[], Any]) -> tuple[Any, float]:
    began = time.process_time()
    return function(), time.process_time() - began


def memory() -> str:
    """Return the memory of the process in megabytes, without files.

    The result is None if the system does not report it.
    """
    status = Path("/proc/self/status")
    lines = status.read_text().splitlines() if status.exists() else []
    return next((f"{int(line.split()[1]) / 1024:.0f} MB" for line in lines if line.startswith("RssAnon")), "?")


def print_verdicts(problem: Problem, quick: bool) -> None:
    right, sds = problem.right(0), np.linalg.norm(problem.root, axis=1)
    run = {"step_size": 0.2 / problem.largest, "batch_size": 1000, "start": problem.mode}
    samples = {
        "right": right,
        "mean + .1 sd": right + 0.1 * sds,
        "sd x 1.2": problem.mode + 1.2 * (right - problem.mode),
        "SGLD, batch 1000": sgld(problem.posterior, **run, draws=1000, thin=40, burn_in=2000).points[0],
    }
    print(
        f"\n{'1000 draws':18}{'p':>9}{'all data':>10}{'bias':>16}{'all data':>16}{'noise':>9}{'s':>7}{'all':>7}  memory"
    )
    for name, draws in samples.items():
        few, seconds = timed(lambda draws=draws: sk.verdict(draws, problem.posterior, score_batch=BATCH))
        full, all_seconds = timed(lambda draws=draws: sk.verdict(draws, scores=problem.posterior.score(draws)))
        sizes = "".join(f"{f'{each.bias.value:.4f} ± {each.bias.margin:.4f}':>16}" for each in (few, full))
        times = f"{few.score_noise:9.1e}{seconds:7.1f}{all_seconds:7.1f}"
        print(f"{name:18}{few.p:9.1e}{full.p:10.1e}{sizes}{times}  {memory()}", flush=True)


def print_alarms(problem: Problem, quick: bool) -> None:
    samples = 5 if quick else 100
    found = [sk.verdict(problem.right(1000 + k), problem.posterior, score_batch=BATCH, rng=k).p for k in range(samples)]
    shares = ", ".join(f"{np.mean(np.array(found) <= level):.2f} at {level:g}" for level in (0.05, 0.01))
    print(f"\nfalse rejections of {samples} exact samples: {shares}", flush=True)


def print_choice(problem: Problem, quick: bool) -> None:
    steps, seeds = (STEPS[::2], 1) if quick else (STEPS, 10)
    run = {"batch_size": 100, "control_variates": True, "draws": 200, "thin": 100, "burn_in": 500}
    chains = [
        sgld(
            problem.posterior, step_size=step / problem.largest, start=problem.mode, seed=list(range(seeds)), **run
        ).points
        for step in steps
    ]
    print(
        f"\n{'seed':>4}  step chosen, and by all data; biases from ten data points and from all, at steps {steps}",
        flush=True,
    )
    same = 0
    for seed in range(seeds):
        biases: tuple[list[float], list[float]] = [], []
        for points in chains:
            few = sk.stochastic_scores(points[seed], problem.posterior, batch=BATCH, rng=seed)
            full = sk.Sample(points[seed], scores=problem.posterior.score(points[seed]))
            for kept, scored in zip(biases, (few, full), strict=True):
                kept.append(sk.estimate_bias(scored, method="regression").value)
        chosen = [steps[int(np.argmin(each))] for each in biases]
        same += chosen[0] == chosen[1]
        print(f"{seed:4}  {chosen[0]:g}, {chosen[1]:g}; {'; '.join(map(str, np.round(biases, 4)))}", flush=True)
    print(f"the same step in {same} of {seeds} seeds", flush=True)


def print_refused(problem: Problem, quick: bool) -> None:
    mixture, rng = sk.targets.MixturePosterior(), np.random.default_rng(0)
    few = sk.targets.LogisticRegression(rng.standard_normal((60, D)), rng.random(60) < 0.5, prior_variance=25.0)
    draws = mala(few, step_size=0.05, draws=500, thin=5 if quick else 20, burn_in=2000).points[0]
    for name, target, sample in (("two modes", mixture, mixture.sample(500, 0)), ("60 data", few, draws)):
        try:
            print(
                f"{name}: {100 * sk.verdict(sample, target, score_batch=BATCH).score_noise:.2g}% is noise", flush=True
            )
        except sk.InputError as error:
            print(f"{name}: refused: {error}", flush=True)


PARTS = {"verdict": print_verdicts, "alarms": print_alarms, "choice": print_choice, "refused": print_refused}


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="small data, few samples and steps")
    parser.add_argument("--data", type=int, default=1_000_000)
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS))
    given = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        problem = made(Path(folder), 20_000 if given.quick else given.data)
        print(f"{problem.posterior.size:,} data points, d = {D}, {BATCH} per draw; {memory()} in use")
        for name in given.only:
            PARTS[name](problem, given.quick)


if __name__ == "__main__":
    main()
