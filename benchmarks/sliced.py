"""Check that the sliced graph Stein discrepancy ranks samples correctly in three and more dimensions.

    python benchmarks/sliced.py          # four minutes
    python benchmarks/sliced.py --quick

In these dimensions, the graph Stein discrepancy does not rank samples correctly. The program answers four questions,
the first three by comparison with reference values that the discrepancy does not use:

- Samples from N(0, I) in 3 to 20 dimensions have one defect each. How large are their discrepancies relative to those
  of exact samples, and for how many seeds are the two brackets disjoint?
- Figure 4 of Gorham and Mackey shows random walks over the coefficients of a logistic regression with exact or
  approximate tests. Approximate tests are better for few evaluations, and exact tests are better for many. Where do the
  error curves intersect, according to the discrepancy and according to the error of the posterior mean?
- Stochastic gradient Langevin dynamics is run on a logistic regression with ten coefficients. Does a sweep choose the
  step size with the smallest errors of means and standard deviations relative to a long run?
- The test of slices solves its programs to a tolerance of 10%. Would a tolerance of .1% detect more defects?

References
----------
J. Gorham and L. Mackey (2015), "Measuring sample quality with Stein's method", NeurIPS, section 5.4 and figure 4.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Mapping
from statistics import median
from typing import Any

import numpy as np

import steinkit as sk
from steinkit.discrepancy import sliced_goodness_of_fit
from steinkit.samplers import approximate_mh, mala

DEFECTS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "sd x .9": lambda x: 0.9 * x,
    "sd x .8": lambda x: 0.8 * x,
    "sd x 1.1": lambda x: 1.1 * x,
    "shift .25 of x1": lambda x: x + 0.25 * np.eye(x.shape[1])[0],
}
TOLERANCES = (1e-3, 1e-2, 0.1)
FAULTS: dict[str, Callable[[np.ndarray, np.random.Generator], np.ndarray]] = {
    "sd x 1.05": lambda x, rng: 1.05 * x,
    "shift .1 of x1": lambda x, rng: x + 0.1 * np.eye(x.shape[1])[0],
    "Student t": lambda x, rng: rng.standard_t(5, x.shape) * np.sqrt(0.6),
    "Laplace": lambda x, rng: rng.laplace(scale=np.sqrt(0.5), size=x.shape),
    "skew": lambda x, rng: x + 0.1 * (x**2 - 1.0),
    "a tenth too wide": lambda x, rng: np.where(rng.random((len(x), 1)) < 0.9, x, 1.5 * x),
    "none": lambda x, rng: x,
}
BUDGETS = (5_000, 20_000, 50_000, 100_000, 200_000, 400_000)
EPSILONS = (0.0, 0.1, 0.2)
STEP_SIZES = (1e-4, 2e-4, 5e-4, 1e-3, 2e-3, 5e-3)


def narrow_samples(dims: tuple[int, ...], seeds: int) -> None:
    """Print the values of samples with a defect relative to exact ones, in raw units.

    The standard deviations of the target are 1.
    """
    print(f"\nN(0, I), 1000 draws, {seeds} seeds: median over that of exact draws (brackets above another seed's)\n")
    print(f"{'d':>3}{'exact':>8}" + "".join(f"{name:>22}" for name in DEFECTS))
    for dim in dims:
        exact: list[sk.SlicedSteinDiscrepancy] = []
        defective: dict[str, list[sk.SlicedSteinDiscrepancy]] = {name: [] for name in DEFECTS}
        for seed in range(seeds):
            x = np.random.default_rng(seed).standard_normal((1000, dim))
            exact.append(sk.sliced_stein_discrepancy(x, scores=-x, units="raw"))
            for name, spoil in DEFECTS.items():
                y = spoil(x)
                defective[name].append(sk.sliced_stein_discrepancy(y, scores=-y, units="raw"))
        line = f"{dim:>3}{median(one.value for one in exact):>8.3f}"
        for found in defective.values():
            ratio = median(one.value for one in found) / median(one.value for one in exact)
            apart = sum(other.lower > one.upper for one, other in zip(exact[1:] + exact[:1], found, strict=True))
            line += f"{ratio:>12.2f} ({apart:>2} of {seeds:>2})"
        print(line)


def long_run(target: sk.Posterior, step_size: float, draws: int) -> tuple[np.ndarray, np.ndarray]:
    """Compute the mean and standard deviation of a posterior from corrected Langevin chains."""
    found = mala(target, step_size=step_size, draws=draws, burn_in=draws // 20, chains=4, seed=[101, 102, 103, 104])
    points = found.points.reshape(-1, found.points.shape[-1])
    return points.mean(axis=0), points.std(axis=0)


def crossing(seeds: int, budgets: tuple[int, ...], steps: int) -> None:
    """Print both criteria for every test and budget."""
    target = sk.targets.LogisticRegression.nodal()
    mean, sd = long_run(target, 0.5, steps)
    values: dict[float, list[float]] = {epsilon: [] for epsilon in EPSILONS}
    errors: dict[float, list[float]] = {epsilon: [] for epsilon in EPSILONS}
    for epsilon in EPSILONS:
        batch_size = 2 if epsilon else target.size  # the exact test reads all the data in one stage
        chains = approximate_mh(
            target, proposal_scale=0.1, epsilon=epsilon, batch_size=batch_size, budget=budgets[-1], seed=range(seeds)
        )
        for budget in budgets:
            found = []
            for seed in range(seeds):
                cost = chains.cost[seed]
                after = np.flatnonzero(chains.present[seed] & (cost > min(1000, budget / 5)) & (cost <= budget))
                draws = chains.points[seed, after[np.linspace(0, len(after) - 1, 1000).round().astype(int)]]
                value = sk.sliced_stein_discrepancy(draws, target, units=sd).value
                found.append((value, float((np.abs(draws.mean(axis=0) - mean) / sd).max())))
            values[epsilon].append(median(value for value, _ in found))
            errors[epsilon].append(median(error for _, error in found))
    print(f"\nnodal, d = 6, medians of {seeds} seeds: sliced discrepancy, and (largest error of a mean, in sds)\n")
    print(
        f"{'evaluations':>12}" + "".join(f"{f'epsilon {epsilon:g}':>18}" for epsilon in EPSILONS) + f"{'best by':>14}"
    )
    for k, budget in enumerate(budgets):
        cells = "".join(f"{values[epsilon][k]:>10.2f} ({errors[epsilon][k]:.2f})" for epsilon in EPSILONS)
        best = [EPSILONS[int(np.argmin([of[epsilon][k] for epsilon in EPSILONS]))] for of in (values, errors)]
        print(f"{budget:>12,}  {cells}   {best[0]:g} (means {best[1]:g})")


def step_size(seeds: int, draws: int, steps: int) -> None:
    """Print the medians of the sweep, and the errors of means and standard deviations."""
    rng = np.random.default_rng(0)
    features = np.column_stack([np.ones(1000), rng.standard_normal((1000, 9)) @ np.diag(np.linspace(0.5, 2.0, 9))])
    truth = rng.standard_normal(10) / 2.0
    responses = (rng.random(1000) < 1.0 / (1.0 + np.exp(-features @ truth))).astype(float)
    target = sk.targets.LogisticRegression(features, responses, prior_variance=4.0)
    mean, sd = long_run(target, 2e-3, steps)
    result = sk.sweep(
        target,
        "sgld",
        grid={"step_size": STEP_SIZES},
        options={"batch_size": 100, "draws": draws, "burn_in": draws // 5, "start": mean.tolist()},
        seeds=seeds,
        measures=["sliced"],
    )
    chosen = sk.choose(result.records, "sliced", result.settings)
    print(f"\nSGLD, logistic regression, d = 10, {draws} draws, {seeds} seeds: medians\n")
    print(f"{'step size':>10}{'sliced':>10}{'error of means':>16}{'error of sds':>14}")
    errors = []
    for row in chosen.rows:
        of = [held_out(target, row.settings, draws, seed, mean, sd) for seed in range(seeds)]
        errors.append(np.median(of, axis=0))
        print(f"{row.settings['step_size']:>10g}{row.median:>10.3f}{errors[-1][0]:>16.3f}{errors[-1][1]:>14.3f}")
    best = chosen.rows[int(np.argmin(np.sum(errors, axis=1)))].settings
    print(f"chosen: {chosen.best['step_size']:g}; smallest errors: {best['step_size']:g}")


def held_out(
    target: sk.Posterior, settings: Mapping[str, Any], draws: int, seed: int, mean: np.ndarray, sd: np.ndarray
) -> tuple[float, float]:
    """Compute root mean square errors of the means and standard deviations of a chain.

    The former are in standard deviations, and the latter are relative.
    """
    points = sk.samplers.sgld(
        target, batch_size=100, draws=draws, burn_in=draws // 5, start=mean, seed=[seed], **settings
    ).points[0]
    return (
        float(np.sqrt(np.mean(((points.mean(axis=0) - mean) / sd) ** 2))),
        float(np.sqrt(np.mean((points.std(axis=0) / sd - 1.0) ** 2))),
    )


def tolerances(sizes: tuple[int, ...], seeds: int) -> None:
    """Print the largest z-score of the test of slices for each tolerance.

    It is averaged over samples.
    """
    asked = sliced_goodness_of_fit.TOLERANCE
    shapes = [(n, dim, seed) for n in sizes for dim in (2, 10) for seed in range(seeds)]
    print(f"\nN(0, I), {sizes} draws, d = 2 and 10, {len(shapes)} samples of each fault: mean of the largest z\n")
    print(f"{'tolerance':>10}" + "".join(f"{name:>18}" for name in FAULTS))
    for tolerance in TOLERANCES:
        sliced_goodness_of_fit.TOLERANCE = tolerance
        line = f"{tolerance:>10g}"
        for fault in FAULTS.values():
            largest = []
            for shape in shapes:
                rng = np.random.default_rng(shape)
                x = fault(rng.standard_normal(shape[:2]), rng)
                largest.append(float(sk.sliced_stein_test(x, scores=-x).z.max()))
            line += f"{np.mean(largest):>18.3f}"
        print(line)
    sliced_goodness_of_fit.TOLERANCE = asked


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="few seeds, dimensions and budgets")
    quick = parser.parse_args().quick
    parts: list[Callable[[], None]] = [
        lambda: narrow_samples((3,) if quick else (3, 5, 10, 20), 2 if quick else 10),
        lambda: crossing(2 if quick else 10, BUDGETS[: 1 if quick else None], 500 if quick else 100_000),
        lambda: step_size(2 if quick else 10, 200 if quick else 2_000, 500 if quick else 50_000),
        lambda: tolerances((300,) if quick else (300, 1000, 4000, 10_000), 2 if quick else 6),
    ]
    for part in parts:
        began = time.perf_counter()
        part()
        print(f"({time.perf_counter() - began:.0f} s)")


if __name__ == "__main__":
    main()
