"""Compare optimal weights with equal, entropy and kernel-optimal weights.

    python benchmarks/optimal_weights.py --posteriors FOLDER --half held-out --record
    python benchmarks/optimal_weights.py --part exact --instances 500
    python benchmarks/optimal_weights.py --quick

The program has the following parts:

- posteriors: samples from the posteriors, with one subfolder per posterior; each subfolder contains `reference.npz`,
  `biased.npz` and `facts.json`. The posterior `normal_2-normal_mixture` is omitted because its modes are far apart and
  none of these methods estimates mode weights. Two samples are added to those in the folder: 1000 reference draws,
  which are exact, and 1000 of 2000 reference draws, selected with probabilities that increase along the first principal
  axis. The true marginals are estimated from 4000 to 6000 other draws;
- synthetic: exact draws, normal draws with the correct moments, and draws that are too wide. The targets are log gamma
  distributions with independent and with strongly dependent coordinates (correlation .9), and banana distributions.
  Their marginals are known;
- sgld: SGLD on the mixture posterior at three step sizes, with marginals from quadrature;
- exact: brackets of small random instances against optima in rational arithmetic;
- time: CPU seconds for several numbers of draws and coordinates.

The errors of means, of standard deviations and of the 5, 25, 50, 75 and 95% quantiles are root mean squares over the
coordinates, in standard deviations under the target. The mean Wasserstein distance of the marginals has the same unit.
The kernel-optimal weights minimize the kernel Stein discrepancy with the inverse multiquadric kernel (Liu and Lee
2017).

The samples are split into two halves. All choices are based on the development half, and the held-out half is evaluated
once. The posteriors are split in pairs of similar dimension (`DEVELOPMENT`). The other samples have the seeds 0, 1, ...
for development and 100, 101, ... for the held-out half.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from collections.abc import Iterator, Sequence
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
DEVELOPMENT = ("gp_regr", "garch11", "low_dim_gauss_mix", "logmesquite", "eight_schools_centered", "diamonds")
HALVES = {"development": 0, "held-out": 100}  # first seed of each half


class Case(NamedTuple):
    """A sample with its scores, and weighted points with the true marginals."""

    name: str
    sample: str
    points: np.ndarray
    scores: np.ndarray
    truth: np.ndarray
    masses: np.ndarray


def posteriors(folder: Path, draws: int, half: str) -> Iterator[Case]:
    """Yield the samples from the posteriors in a folder."""
    for place in sorted(folder.iterdir()):
        label = place.name.split("-")[-1]
        if not (place / "biased.npz").is_file() or place.name == OMITTED:
            continue
        if (label in DEVELOPMENT) != (half == "development"):
            continue
        reference, biased = np.load(place / "reference.npz"), np.load(place / "biased.npz")
        facts = json.loads((place / "facts.json").read_text())
        x, s = reference["points"], reference["scores"]
        centre, scale = x.mean(axis=0), x.std(axis=0)
        shift = 0.25 * np.array(facts["sd"]) * (np.array(facts["names"]) == facts["shift_coordinate"])
        exact = {
            "good": biased["good_points"],
            "meanfield": biased["meanfield_points"],
            "shift25": biased["shift25_points"] - shift,
            "wide12": centre + (biased["wide12_points"] - centre) / 1.2,
        }
        for key in sorted(name.removesuffix("_points") for name in biased.files if name.endswith("_points")):
            rows = np.random.default_rng(0).permutation(len(biased[f"{key}_points"]))[:draws]
            truth = np.vstack([x, *(exact[other] for other in exact if other != key)])
            yield case_of(label, key, biased[f"{key}_points"][rows], biased[f"{key}_scores"][rows], truth)
        yield case_of(label, "exact", x[:draws], s[:draws], np.vstack([x[draws:], *exact.values()]))
        z = (x - centre) / scale
        along = z @ np.linalg.eigh(np.cov(z.T))[1][:, -1]
        chances = 1.0 / (1.0 + np.exp(-1.5 * along / along.std()))
        rows = np.random.default_rng(0).choice(len(x), draws, replace=False, p=chances / chances.sum())
        yield case_of(label, "selected", x[rows], s[rows], np.vstack([*exact.values()]))


def case_of(name: str, sample: str, points: np.ndarray, scores: np.ndarray, truth: np.ndarray) -> Case:
    """Return a case with true marginals given by equally weighted points."""
    return Case(name, sample, points, scores, truth, np.full(len(truth), 1.0 / len(truth)))


def synthetic(draws: int, seeds: range) -> Iterator[Case]:
    """Yield samples of log gamma and banana targets."""
    levels = (np.arange(20_000) + 0.5) / 20_000
    law = loggamma(3.0)
    root = np.linalg.cholesky(0.1 * np.eye(3) + 0.9)
    for k in seeds:
        rng = np.random.default_rng([1, k])
        exact = law.rvs((draws, 3), random_state=rng)
        truth = np.tile(law.ppf(levels)[:, None], 3)
        mixed = law.rvs((200_000, 3), random_state=np.random.default_rng(0)) @ root.T
        near = {
            "exact": exact,
            "normal": rng.normal(law.mean(), law.std(), exact.shape),
            "wide": law.mean() + 1.2 * (exact - law.mean()),
        }
        for name, x in near.items():
            yield case_of("log gamma", name, x, 3.0 - np.exp(x), truth)
            yield case_of("dependent log gamma", name, x @ root.T, (3.0 - np.exp(x)) @ np.linalg.inv(root), mixed)
        z = rng.standard_normal((draws, 2))
        truth = np.random.default_rng(0).standard_normal((200_000, 2))
        truth[:, 0] = norm.ppf((np.arange(200_000) + 0.5) / 200_000)
        truth[:, 1] += 0.5 * (truth[:, 0] ** 2 - 1.0)
        for name, scale in (("exact", 1.0), ("wide", 1.2)):
            x = scale * z
            x[:, 1] += 0.5 * (x[:, 0] ** 2 - 1.0)
            left = x[:, 1] - 0.5 * (x[:, 0] ** 2 - 1.0)
            scores = np.column_stack([-x[:, 0] + left * x[:, 0], -left])
            yield case_of("banana", name, x, scores, truth)


def mixture_posterior(draws: int, seeds: range) -> Iterator[Case]:
    """Yield runs of SGLD on the mixture posterior."""
    target, ticks = sk.targets.MixturePosterior(), np.linspace(-4.0, 4.0, 401)
    grid = np.stack(np.meshgrid(ticks, ticks), axis=-1).reshape(-1, 2)
    mass = np.exp((density := target.log_density(grid)) - density.max())
    for step in STEPS:
        for k in seeds:
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


def noise(case: Case) -> float:
    """Return the root mean square error of the reference quantiles, or 0 if they are from more than 10,000 draws."""
    n = len(case.truth)
    if n > 10_000:
        return 0.0
    rng, sd = np.random.default_rng(0), case.truth.std(axis=0)
    copies = [np.quantile(case.truth[rng.integers(n, size=n)], LEVELS, axis=0) / sd for _ in range(50)]
    return float(np.sqrt(np.var(copies, axis=0).mean()))


def compared(case: Case, methods: Sequence[str]) -> dict[str, Any]:
    """Return the errors of all methods for a sample."""
    sample = sk.Sample(case.points, scores=case.scores)
    row: dict[str, Any] = {"target": case.name, "sample": case.sample, "draws": len(sample), "dim": sample.dim}
    bias = sk.estimate_bias(sample)
    row["accepted"] = bool(bias.reliable.all() and bias.has_useful_weights)
    began = time.process_time()
    found = sk.optimal_weights(sample)
    row |= {"seconds": time.process_time() - began, "gap": found.gap, "kish": found.effective_size}
    row |= {"noise": noise(case), "solver": found.solver}
    equal = np.full(len(sample), 1.0 / len(sample))
    weights = {"equal": equal, "entropy": bias.weights, "optimal": found.weights}
    if "kernel" in methods:
        weights["kernel"] = kernel_weights(case.points, case.scores)
    return row | {name: None if weights[name] is None else errors(case, weights[name]) for name in methods}


def summarize(rows: list[dict[str, Any]], title: str) -> None:
    """Print the errors relative to those of other methods."""
    print(f"\n{title}: {len(rows)} samples")
    for other in [name for name in METHODS if name != "optimal" and rows and name in rows[0]]:
        pairs = [((row["optimal"], row[other]), row) for row in rows if row[other] is not None]
        for error in ERRORS:
            new, old = (np.array([pair[k][error] for pair, _ in pairs]) for k in (0, 1))
            print(
                f"    {error:9} optimal / {other:8} median {np.median(new / old):.2f}; "
                f"worse by more than .02: {np.mean(new > old + 0.02):.0%}; "
                f"root mean square {np.sqrt(np.mean(new**2)):.3f} and {np.sqrt(np.mean(old**2)):.3f}"
            )
        new, old = (
            np.array([max(pair[k]["quantile"] ** 2 - row["noise"] ** 2, 1e-6) ** 0.5 for pair, row in pairs])
            for k in (0, 1)
        )
        print(f"    quantile without the noise of the reference: median {np.median(new / old):.2f}")


def compare(cases: Iterator[Case], title: str, methods: Sequence[str]) -> list[dict[str, Any]]:
    """Compare all methods on samples, and print every sample."""
    rows = []
    print(f"\n{title}\n\n{'quantile errors':44}{''.join(f'{name:>9}' for name in methods)}     Kish  seconds")
    for case in cases:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                rows.append(row := compared(case, methods))
            except sk.SteinkitError as error:
                print(f"{case.name:28}{case.sample:16}{error}", flush=True)
                continue
        values = "".join(f"{row[name]['quantile'] if row[name] else np.nan:9.3f}" for name in methods)
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
    parser.add_argument("--posteriors", type=Path, metavar="FOLDER", help="folder with samples from posteriors")
    parser.add_argument("--part", choices=PARTS, action="append", help="part to run, by default all parts")
    parser.add_argument("--half", choices=HALVES, default="development", help="half of the samples")
    parser.add_argument("--draws", type=int, default=DRAWS)
    parser.add_argument("--repeats", type=int, default=3, help="samples per synthetic case")
    parser.add_argument("--instances", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--skip-kernel", action="store_true", help="no kernel-optimal weights, which are slow")
    parser.add_argument("--quick", action="store_true", help="small versions")
    records.add_option(parser)
    options = parser.parse_args()
    if options.quick:
        options.draws, options.repeats, options.instances = 200, 1, 10
    parts = options.part or PARTS
    methods = [name for name in METHODS if name != "kernel" or not options.skip_kernel]
    first = HALVES[options.half]
    seeds = range(first, first + options.repeats)
    for part in parts:
        if part == "posteriors" and options.posteriors is not None:
            rows = compare(posteriors(options.posteriors, options.draws, options.half), "Posteriors", methods)
        elif part == "synthetic":
            rows = compare(synthetic(options.draws, seeds), "Synthetic targets", methods)
        elif part == "sgld":
            rows = compare(mixture_posterior(options.draws, seeds), "SGLD on the mixture posterior", methods)
        elif part == "exact":
            rows = check_brackets(options.instances, options.seed)
        elif part == "time":
            rows = measure_times(options.quick)
        else:
            continue
        name, words = f"optimal_weights_{part}", ["--part", part]
        if part in ("posteriors", "synthetic", "sgld"):
            name += f"_{options.half}"
            words += [
                "--half",
                options.half,
                *(["--skip-kernel"] if options.skip_kernel else []),
                *(["--posteriors", "FOLDER"] if part == "posteriors" else []),
            ]
        records.keep(options.record, name, rows, words)


if __name__ == "__main__":
    main()
