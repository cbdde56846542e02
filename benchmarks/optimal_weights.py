"""Compare optimal weights with equal, entropy and kernel-optimal weights.

    python benchmarks/optimal_weights.py --posteriors FOLDER --record
    python benchmarks/optimal_weights.py --part exact --instances 500
    python benchmarks/optimal_weights.py --quick

The program has the following parts:

- posteriors: samples of the posteriors in a folder with one subfolder per posterior, which contains `reference.npz` and
  `biased.npz`. The modes of `normal_2-normal_mixture` are far apart, and no method here estimates their weights, so it
  is omitted. The true marginals are estimated from about 4000 other draws;
- synthetic: exact draws, normal draws with the correct moments and draws that are too wide, of log gamma and banana
  targets, with known marginals;
- sgld: SGLD on the mixture posterior at three step sizes, with marginals from quadrature;
- exact: brackets of small random instances against optima in rational arithmetic;
- time: CPU seconds by the numbers of draws and coordinates.

Errors are root mean squares over the coordinates, in standard deviations under the target: of means, of standard
deviations, of the 5, 25, 50, 75 and 95 % quantiles, and the mean Wasserstein distance of the marginals. The
kernel-optimal weights minimize the kernel Stein discrepancy with the inverse multiquadric kernel (Liu and Lee 2017).
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import records
from bias import weighted_quantiles
from scipy.optimize import nnls
from scipy.stats import loggamma, norm, wasserstein_distance

import steinkit as sk
from steinkit.samplers import sgld

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from support.exact_weights import least_discrepancy, random_program

LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)
METHODS = ("equal", "entropy", "kernel", "optimal")
ERRORS = ("mean", "sd", "quantile", "w1")
PARTS = ("posteriors", "synthetic", "sgld", "exact", "time")
DRAWS = 1000
OMITTED = "normal_2-normal_mixture"
STEPS = (1e-3, 5e-3, 1e-2)


class Case(NamedTuple):
    """A sample with its scores, and weighted points with the true marginals."""

    name: str
    sample: str
    points: np.ndarray
    scores: np.ndarray
    truth: np.ndarray
    masses: np.ndarray


def posteriors(folder: Path, draws: int, only: str) -> Iterator[Case]:
    """Yield the samples of the posteriors in a folder."""
    for place in sorted(folder.iterdir()):
        if not (place / "biased.npz").is_file() or place.name == OMITTED or only not in place.name:
            continue
        reference, biased = np.load(place / "reference.npz"), np.load(place / "biased.npz")
        for key in sorted(name.removesuffix("_points") for name in biased.files if name.endswith("_points")):
            exact = [biased[f"{other}_points"] for other in ("good", "meanfield") if other != key]
            truth = np.vstack([reference["points"], *exact])
            rows = np.random.default_rng(0).permutation(len(biased[f"{key}_points"]))[:draws]
            x, s = biased[f"{key}_points"][rows], biased[f"{key}_scores"][rows]
            yield Case(place.name.split("-")[1], key, x, s, truth, np.full(len(truth), 1.0 / len(truth)))


def synthetic(draws: int, repeats: int) -> Iterator[Case]:
    """Yield samples of log gamma and banana targets."""
    levels = (np.arange(20_000) + 0.5) / 20_000
    law = loggamma(3.0)
    for k in range(repeats):
        rng = np.random.default_rng([1, k])
        exact = law.rvs((draws, 3), random_state=rng)
        truth = np.tile(law.ppf(levels)[:, None], 3)
        near = {
            "exact": exact,
            "normal": rng.normal(law.mean(), law.std(), exact.shape),
            "wide": law.mean() + 1.2 * (exact - law.mean()),
        }
        for name, x in near.items():
            yield Case("log gamma", name, x, 3.0 - np.exp(x), truth, np.full(len(truth), 1.0 / len(truth)))
        z = rng.standard_normal((draws, 2))
        truth = np.random.default_rng(0).standard_normal((200_000, 2))
        truth[:, 0] = norm.ppf((np.arange(200_000) + 0.5) / 200_000)
        truth[:, 1] += 0.5 * (truth[:, 0] ** 2 - 1.0)
        for name, scale in (("exact", 1.0), ("wide", 1.2)):
            x = scale * z
            x[:, 1] += 0.5 * (x[:, 0] ** 2 - 1.0)
            left = x[:, 1] - 0.5 * (x[:, 0] ** 2 - 1.0)
            scores = np.column_stack([-x[:, 0] + left * x[:, 0], -left])
            yield Case("banana", name, x, scores, truth, np.full(len(truth), 1.0 / len(truth)))


def mixture_posterior(draws: int, repeats: int) -> Iterator[Case]:
    """Yield runs of SGLD on the mixture posterior."""
    target, ticks = sk.targets.MixturePosterior(), np.linspace(-4.0, 4.0, 401)
    grid = np.stack(np.meshgrid(ticks, ticks), axis=-1).reshape(-1, 2)
    mass = np.exp((density := target.log_density(grid)) - density.max())
    for step in STEPS:
        for k in range(repeats):
            start = np.random.default_rng([5, k]).standard_normal(2)
            x = sgld(target, step_size=step, batch_size=5, draws=draws, thin=50, start=start, seed=k).points[0]
            yield Case("mixture posterior", f"sgld {step:g}", x, target.score(x), grid, mass / mass.sum())


def kernel_weights(points: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """Return the weights that minimize the kernel Stein discrepancy."""
    sd = points.std(axis=0)
    z, t = points / sd, scores * sd
    gaps = z[:, None] - z[None]
    squares = 1.0 + (gaps**2).sum(axis=2)
    pulls = np.einsum("ijk,ijk->ij", gaps, t[:, None] - t[None])
    kernel = (t @ t.T) * squares**-0.5 + pulls * squares**-1.5
    kernel += z.shape[1] * squares**-1.5 - 3.0 * (squares - 1.0) * squares**-2.5
    size = np.trace(kernel) / len(z)
    root = np.linalg.cholesky(kernel + 1e-9 * size * np.eye(len(z)))
    found, _ = nnls(np.vstack([root.T, np.full(len(z), np.sqrt(size))]), np.append(np.zeros(len(z)), np.sqrt(size)))
    return found / found.sum()


def errors(case: Case, weights: np.ndarray) -> dict[str, float]:
    """Return the errors of weighted draws."""
    mean = case.masses @ case.truth
    sd = np.sqrt(case.masses @ (case.truth - mean) ** 2)
    own = weights @ case.points
    own_sd = np.sqrt(weights @ (case.points - own) ** 2)
    true, found = (weighted_quantiles(x, w, LEVELS) for x, w in ((case.truth, case.masses), (case.points, weights)))
    distances = [
        wasserstein_distance(x, y, weights, case.masses) / unit
        for x, y, unit in zip(case.points.T, case.truth.T, sd, strict=True)
    ]
    parts = ((own - mean) / sd, own_sd / sd - 1.0, (found - true) / sd)
    sizes = [float(np.sqrt(np.mean(part**2))) for part in parts]
    return dict(zip(ERRORS, [*sizes, float(np.mean(distances))], strict=True))


def compared(case: Case) -> dict[str, Any]:
    """Return the errors of all methods for a sample."""
    sample = sk.Sample(case.points, scores=case.scores)
    row: dict[str, Any] = {"target": case.name, "sample": case.sample, "draws": len(sample), "dim": sample.dim}
    bias = sk.estimate_bias(sample)
    row["accepted"] = bool(bias.reliable.all() and bias.has_useful_weights)
    began = time.process_time()
    found = sk.optimal_weights(sample)
    row |= {"seconds": time.process_time() - began, "gap": found.gap, "kish": found.effective_size}
    equal = np.full(len(sample), 1.0 / len(sample))
    weights = {"equal": equal, "entropy": bias.weights, "optimal": found.weights}
    weights["kernel"] = kernel_weights(case.points, case.scores)
    return row | {name: None if weights[name] is None else errors(case, weights[name]) for name in METHODS}


def summarize(rows: list[dict[str, Any]], title: str) -> None:
    """Print the errors relative to those of other methods."""
    print(f"\n{title}: {len(rows)} samples")
    for other in METHODS[:3]:
        pairs = [(row["optimal"], row[other]) for row in rows if row[other] is not None]
        for error in ERRORS:
            new, old = (np.array([pair[k][error] for pair in pairs]) for k in (0, 1))
            print(
                f"    {error:9} optimal / {other:8} median {np.median(new / old):.2f}; "
                f"worse by more than .02: {np.mean(new > old + 0.02):.0%}; "
                f"root mean square {np.sqrt(np.mean(new**2)):.3f} and {np.sqrt(np.mean(old**2)):.3f}"
            )


def compare(cases: Iterator[Case], title: str) -> list[dict[str, Any]]:
    """Compare all methods on samples, and print every sample."""
    rows = []
    print(f"\n{title}\n\n{'quantile errors':44}{''.join(f'{name:>9}' for name in METHODS)}     Kish  seconds")
    for case in cases:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                rows.append(row := compared(case))
            except sk.SteinkitError as error:
                print(f"{case.name:28}{case.sample:16}{error}", flush=True)
                continue
        values = "".join(f"{row[name]['quantile'] if row[name] else np.nan:9.3f}" for name in METHODS)
        mark = "" if row["accepted"] else "  not reliable"
        print(f"{case.name:28}{case.sample:16}{values}{row['kish']:9.0f}{row['seconds']:9.1f}{mark}", flush=True)
    summarize(rows, "all samples")
    summarize([row for row in rows if row["accepted"]], "samples with reliable estimates")
    exact = [row for row in rows if row["sample"] in ("exact", "good")]
    if exact:
        summarize(exact, "exact draws")
    return rows


def check_brackets(instances: int, seed: int) -> list[dict[str, Any]]:
    """Compare brackets with exact optima, and count brackets that do not contain them."""
    from steinkit.discrepancy.graph.solvers import Settings
    from steinkit.discrepancy.weights_program import WeightsProgram

    counts = {name: {"instances": 0, "wrong": 0, "wide": 0} for name in ("_by_interior_point", "_by_highs")}
    rng = np.random.default_rng(seed)
    while counts["_by_highs"]["instances"] < instances:
        dim = int(rng.integers(1, 3))
        program, shares, most = random_program(rng, dim, int(rng.integers(3, 6)), is_bounded=bool(rng.integers(2)))
        if len(shares) < 2:
            continue
        true = least_discrepancy([program], [], most)
        problem = WeightsProgram([program], np.empty((0, len(shares))), shares, most)
        for name, count in counts.items():
            count["instances"] += 1
            try:
                found = getattr(problem, name)(Settings(1e-3))
            except sk.CrossedBracketError:
                count["wrong"] += 1
                continue
            count["wrong"] += not found.lower <= true <= found.upper
            count["wide"] += found.gap > 1e-3 and found.upper > 1e-9
    for name, count in counts.items():
        print(f"{name:20}", count, flush=True)
    return [{"solver": name.removeprefix("_by_"), **count} for name, count in counts.items()]


def measure_times(quick: bool) -> list[dict[str, Any]]:
    """Measure CPU seconds on normal draws that are too wide."""
    rows = []
    sizes = ((300, 2), (300, 10)) if quick else ((1000, 1), (1000, 2), (1000, 10), (1000, 30), (3000, 2), (3000, 10))
    for n, dim in sizes:
        x = 0.1 + 1.2 * np.random.default_rng(0).standard_normal((n, dim))
        sk.optimal_weights(x[:200], scores=-x[:200])  # compiles
        began = time.process_time()
        found = sk.optimal_weights(x, scores=-x)
        rows.append({"draws": n, "dim": dim, "seconds": time.process_time() - began, "gap": found.gap})
        print(f"n = {n}, d = {dim}: {rows[-1]['seconds']:.2f} CPU seconds, bracket {found.gap:.0e}", flush=True)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--posteriors", type=Path, metavar="FOLDER", help="folder with samples of posteriors")
    parser.add_argument("--part", choices=PARTS, action="append", help="part to run, by default all parts")
    parser.add_argument("--only", default="", metavar="TEXT", help="posteriors with this text in their name")
    parser.add_argument("--draws", type=int, default=DRAWS)
    parser.add_argument("--repeats", type=int, default=5, help="samples per synthetic case")
    parser.add_argument("--instances", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--quick", action="store_true", help="small versions")
    records.add_option(parser)
    options = parser.parse_args()
    if options.quick:
        options.draws, options.repeats, options.instances = 200, 1, 10
    parts = options.part or PARTS
    for part in parts:
        if part == "posteriors" and options.posteriors is not None:
            rows = compare(posteriors(options.posteriors, options.draws, options.only), "Posteriors")
        elif part == "synthetic":
            rows = compare(synthetic(options.draws, options.repeats), "Synthetic targets")
        elif part == "sgld":
            rows = compare(mixture_posterior(options.draws, options.repeats), "SGLD on the mixture posterior")
        elif part == "exact":
            rows = check_brackets(options.instances, options.seed)
        elif part == "time":
            rows = measure_times(options.quick)
        else:
            continue
        records.keep(options.record, f"optimal_weights_{part}", rows, ["--part", part])


if __name__ == "__main__":
    main()
