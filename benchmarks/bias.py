"""Coverage of the margins of error from `steinkit.estimate_bias`, and accuracy of repaired results.

    python benchmarks/bias.py                       # half an hour
    python benchmarks/bias.py --quick
    python benchmarks/bias.py --posteriors FOLDER   # also samples from real posteriors, as in `bias_problems.py`
    python benchmarks/bias.py --only modes choice --seed 1

A mean or a standard deviation is *covered* if the reference value is within its margin of error, plus two standard
errors of the reference value. A cell is a sample. The column *least* is the smallest coverage in a cell with at least
ten quantities. Errors are in standard deviations, as medians over the reliable quantities. The column *worse* counts
the quantities whose error the repair increases by more than .05. The column *as one* refers to the quantities of
samples with reliable estimates for all quantities.

The program has the following parts:

- posteriors: 13 posteriors from posteriordb with six samples each, using only the scores, and quantiles of the draws
  weighted by `repair`;
- logistic: skewed logistic regressions, d = 10 to 300, with the method "auto" and the density;
- fresh: three models that were used during development (a Poisson regression, groups of binomial counts, and negative
  binomial counts) and three that were not (a robust regression, Weibull survival times, and heteroscedastic noise);
- sgld: stochastic gradient Langevin dynamics on the nodal posterior;
- modes: the same sampler on a mixture posterior with two modes, and distant normal modes with incorrect weights;
- choice: the true error of the SGLD setting that each measure chooses, relative to the smallest error of all settings.
  The column "ranked" counts the seeds, out of ten, for which a sweep ranks the settings by bias. This requires that all
  estimates for the best setting be reliable, and that no draws split into separate modes.
"""

from __future__ import annotations

import argparse
import math
import time
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import numpy as np
from bias_problems import (
    Problem,
    Truth,
    approximations,
    binomial_groups,
    growing_noise,
    hamiltonian_chains,
    negative_binomial,
    normal_approximation,
    poisson_regression,
    posteriors,
    robust_regression,
    skewed_logistic,
    survival,
)

import steinkit as sk
from steinkit.errors import SteinkitError
from steinkit.samplers import sgld

PARTS = ("posteriors", "logistic", "fresh", "sgld", "modes", "choice")
NOISES = 2.0  # number of standard errors of a reference value that are added to a margin of error
WORSE = 0.05
FEWEST = 10  # minimum number of reliable quantities in a cell that is included in the column *least*
PROBABILITIES = (0.05, 0.5, 0.95)


@dataclass(frozen=True, eq=False)
class Cell:
    """Estimates and reference values for a sample.

    The entries are those of the reliable means, followed by those of the standard deviations.
    """

    problem: str
    kind: str
    method: str
    reason: str
    quantities: int
    covered: np.ndarray
    raw: np.ndarray
    repaired: np.ndarray
    names: tuple[str, ...]
    margins: np.ndarray

    @classmethod
    def of(cls, problem: Problem, method: str = "auto") -> Cell:
        """Estimate the biases of a sample, and compare them with the reference values."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = sk.estimate_bias(problem.points, problem.target, scores=problem.scores, method=method)
        truth, dim = problem.truth, len(problem.truth.mean)  # functions defined by the target are omitted
        margins = np.concatenate([found.mean_margin[:dim], found.sd_margin[:dim]])
        noise = NOISES * np.concatenate([truth.mean_noise / truth.sd, truth.log_sd_noise])
        off = [
            np.concatenate([(mean[:dim] - truth.mean) / truth.sd, np.log(sd[:dim] / truth.sd)])
            for mean, sd in ((found.draws_mean, found.draws_sd), (found.mean, found.sd))
        ]
        both = np.tile(found.reliable[:dim], 2)
        names = [f"{what} of {name}" for what in ("mean", "sd") for name in found.names[:dim]]
        return cls(
            problem=problem.name,
            kind=problem.kind,
            method=found.method,
            reason=next((each for each in found.reason if each), ""),
            quantities=len(both),
            covered=(np.abs(off[1]) <= np.hypot(margins, noise))[both],
            raw=np.abs(off[0])[both],
            repaired=np.abs(off[1])[both],
            names=tuple(np.array(names)[both]),
            margins=margins[both],
        )

    @property
    def share(self) -> float:
        """Return the fraction of reliable quantities that are covered."""
        return float(self.covered.mean()) if len(self.covered) else math.nan


def print_cells(title: str, cells: Iterable[Cell]) -> list[Cell]:
    """Print a row per kind of sample, the total, and the cells with the smallest coverage."""
    by_kind: dict[str, list[Cell]] = {}
    for cell in cells:
        by_kind.setdefault(cell.kind, []).append(cell)
    every = [cell for row in by_kind.values() for cell in row]
    width = max(map(len, [*by_kind, "together"]))
    heads = ("cells", "as one", "reliable", "covered", "least", "margin", "raw", "repaired", "worse", "by run")
    print(f"\n{title}\n\n{'':{width}}{''.join(f'{head:>10}' for head in heads)}")
    for kind, row in [*by_kind.items(), ("together", every)]:
        print(f"{kind:{width}}{_figures(row)}", flush=True)
    poor = [cell for cell in every if cell.share < 0.85 or (cell.repaired > cell.raw + WORSE).any()]
    for cell in sorted(poor, key=lambda cell: cell.share):
        excess = cell.repaired / np.maximum(cell.margins, 1e-3)
        k = int(excess.argmax())
        text = f"{cell.names[k]}: error {cell.repaired[k]:.3f}, margin {cell.margins[k]:.3f}, raw {cell.raw[k]:.3f}"
        print(f"  {cell.problem}, {cell.kind}, by {cell.method}: {cell.share:.2f} of {len(cell.covered)}; {text}")
    for cell in every:
        if cell.reason and cell.kind in {"right", "good"}:
            print(f"  {cell.problem}, {cell.kind}, not reliable: {cell.reason}")
    return every


def _figures(cells: list[Cell]) -> str:
    counts = (len(cells), sum(len(cell.covered) == cell.quantities for cell in cells))
    joined = {name: np.concatenate([getattr(cell, name) for cell in cells]) for name in ("covered", "raw", "repaired")}
    reliable = len(joined["covered"]) / max(1, sum(cell.quantities for cell in cells))
    least = min((cell.share for cell in cells if len(cell.covered) >= FEWEST), default=math.nan)
    margins = np.concatenate([cell.margins for cell in cells])
    middle = [float(np.median(values)) if len(values) else math.nan for values in (margins, joined["raw"])]
    after = float(np.median(joined["repaired"])) if len(margins) else math.nan
    worse = int((joined["repaired"] > joined["raw"] + WORSE).sum())
    runs = sum(cell.method == "run" for cell in cells)
    covered = float(joined["covered"].mean()) if len(margins) else math.nan
    shares = f"{reliable:10.2f}{covered:10.3f}{least:10.2f}"
    return f"{counts[0]:10}{counts[1]:10}{shares}{middle[0]:10.3f}{middle[1]:10.3f}{after:10.4f}{worse:10}{runs:10}"


def real_posteriors(folder: Path, quick: bool) -> None:
    """Print the coverage from scores only, and quantiles of weighted draws."""
    problems = list(posteriors(folder))[:: 13 if quick else 1]
    print_cells("Posteriors of posteriordb, from scores", (Cell.of(problem, "regression") for problem in problems))
    errors: dict[str, list[tuple[float, float]]] = {}
    for problem in problems:
        reference = np.load(folder / problem.name / "reference.npz")["points"]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                sample = sk.repair(problem.points, scores=problem.scores, method="weights").sample
            except SteinkitError:
                continue
        truth = np.quantile(reference, PROBABILITIES, axis=0)
        raw = np.quantile(problem.points, PROBABILITIES, axis=0)
        weighted = weighted_quantiles(problem.points, sample.probabilities, PROBABILITIES)
        for k in range(problem.points.shape[1]):
            pair = [float(np.abs(found - truth)[:, k].mean() / problem.truth.sd[k]) for found in (raw, weighted)]
            errors.setdefault(problem.kind, []).append((pair[0], pair[1]))
    print("\nQuantiles .05, .5, .95: error in sd, relative to 2000 reference draws, which have an error of about .03\n")
    print(f"{'':34}{'coordinates':>12}{'raw':>10}{'weighted':>10}")
    for kind, found in errors.items():
        raw_error, weighted_error = (median(each) for each in zip(*found, strict=True))
        print(f"{kind:34}{len(found):12}{raw_error:10.3f}{weighted_error:10.3f}")


def weighted_quantiles(points: np.ndarray, shares: np.ndarray, levels: Sequence[float]) -> np.ndarray:
    """Compute the quantiles of each coordinate and return an array of shape (levels, d)."""
    found = np.empty((len(levels), points.shape[1]))
    for j, column in enumerate(points.T):
        order = np.argsort(column, kind="stable")
        found[:, j] = np.interp(levels, np.cumsum(shares[order]) - 0.5 * shares[order], column[order])
    return found


def logistic_regressions(quick: bool, seed: int) -> Iterator[Cell]:
    sizes = ((10, 80, 0.5), (30, 200, 0.5), (100, 500, 0.8), (300, 900, 0.5))
    for dim, data, correlation in sizes[:1] if quick else sizes:
        target = skewed_logistic(dim, data, correlation, seed)
        chains, draws = (20, 100) if quick else (60, 500 if dim <= 100 else 400)
        for problem in approximations(target, f"d = {dim}", np.random.default_rng([1, seed, dim]), chains, draws):
            yield Cell.of(problem)


def fresh_models(quick: bool, seed: int) -> Iterator[Cell]:
    made = (poisson_regression, binomial_groups, negative_binomial, robust_regression, survival, growing_noise)
    targets = [make() for make in (made[:2] if quick else made)]
    chains, draws = (20, 60) if quick else (60, 1000)
    for k, target in enumerate(targets):
        for problem in approximations(target, target.label, np.random.default_rng([2, seed, k]), chains, draws):
            yield Cell.of(problem)


def sgld_on_nodal(quick: bool, seed: int) -> Iterator[Cell]:
    target = sk.targets.LogisticRegression.nodal()
    chains, draws = (20, 100) if quick else (100, 1000)
    truth = Truth.of(hamiltonian_chains(target, chains, draws, np.random.default_rng([3, seed])))
    for step_size in (0.1,) if quick else (0.02, 0.05, 0.1, 0.2):
        for k in range(1 if quick else 12):
            made = sgld(
                target, step_size=step_size, batch_size=5, draws=1000, thin=20, burn_in=500, seed=1000 * seed + k
            )
            yield Cell.of(Problem("nodal", f"SGLD, step {step_size:g}", made.points[0], truth, target=target))


def chains_between_modes(quick: bool, seed: int) -> Iterator[Cell]:
    """Print the results for the mixture posterior, and for two or three normal modes (slow chain, shuffled)."""
    target = sk.targets.MixturePosterior()
    truth = grid_truth(target)
    seeds = range(1 if quick else 20)
    for thin in (1,) if quick else (1, 50):
        for step_size in (5e-2, 5e-4) if quick else (5e-2, 1e-2, 5e-3, 1e-3, 5e-4):
            for k in seeds:
                start = np.random.default_rng([4, seed, k]).standard_normal(2)
                made = sgld(
                    target, step_size=step_size, batch_size=5, draws=1000, thin=thin, start=start, seed=1000 * seed + k
                )
                kind = f"mixture posterior, SGLD thinned by {thin}"
                yield Cell.of(Problem(f"step {step_size:g}", kind, made.points[0], truth, target=target), "auto")
    for dim in (2,) if quick else (2, 10):
        for modes in (2, 3):
            for k in seeds:
                yield from _far_modes(dim, modes, np.random.default_rng([5, seed, dim, modes, k]))


def _far_modes(dim: int, modes: int, rng: np.random.Generator) -> Iterator[Cell]:
    means = np.zeros((modes, dim))
    means[:, 0], means[:, -1] = 8.0 * np.arange(modes), 5.0 * (np.arange(modes) % 2)
    target = sk.targets.GaussianMixture(means, sd=1.0)
    mean = means.mean(axis=0)
    sd = np.sqrt(1.0 + means.var(axis=0))
    truth = Truth(mean, sd, np.zeros(dim), np.zeros(dim))
    labels = rng.choice(modes, size=1000, p=rng.dirichlet(np.ones(modes)))
    stays = np.maximum.accumulate(np.where(rng.random(1000) < 0.005, np.arange(1000), 0))
    for kind, where in ((f"{modes} normal modes, shuffled", labels), (f"{modes} normal modes, stuck", labels[stays])):
        if len(set(where.tolist())) > 1:  # an unvisited mode cannot be detected
            points = means[where] + rng.standard_normal((1000, dim))
            yield Cell.of(Problem(f"d = {dim}", kind, points, truth, target=target))


def grid_truth(target: sk.Target, width: float = 4.0, size: int = 801) -> Truth:
    """Compute the means and standard deviations of a distribution in the plane."""
    ticks = np.linspace(-width, width, size)
    grid = np.stack(np.meshgrid(ticks, ticks), axis=-1).reshape(-1, 2)
    density = target.log_density(grid)
    shares = np.exp(density - density.max())
    shares /= shares.sum()
    mean = shares @ grid
    return Truth(mean, np.sqrt(shares @ (grid - mean) ** 2), np.zeros(2), np.zeros(2))


def print_modes(cells: list[Cell]) -> None:
    """Return the fraction of rejected cells, and the fraction of cells in which all reliable quantities are covered."""
    print(f"\nRejected, or covered\n\n{'':44}{'cells':>8}{'rejected':>9}{'covered':>9}{'wrong':>8}")
    rows: dict[str, list[Cell]] = {}
    for cell in cells:
        rows.setdefault(cell.kind, []).append(cell)
    for kind, row in rows.items():
        refused = [cell for cell in row if not len(cell.covered)]
        right = [cell for cell in row if len(cell.covered) and cell.covered.all()]
        wrong = len(row) - len(refused) - len(right)
        print(f"{kind:44}{len(row):8}{len(refused):9}{len(right):9}{wrong:8}")


def choices(quick: bool, seed: int) -> None:
    """Print the true error of the setting chosen by each measure, relative to the smallest true error."""
    problems = {  # target, batch size
        "logistic, d = 2": (skewed_logistic(2, 100, seed=seed), 10),
        "nodal, d = 6": (sk.targets.LogisticRegression.nodal(), 5),
        "logistic, d = 10": (skewed_logistic(10, 300, seed=seed), 30),
        "logistic, d = 20, all data": (skewed_logistic(20, 300, seed=seed), 300),
        "logistic, d = 50": (skewed_logistic(50, 1000, seed=seed), 100),
    }
    measures = ("bias", "sliced", "graph", "moments", "ess")
    print(f"\nTrue error of the chosen setting relative to the least, medians; graph up to d = 6\n\n{'':28}", end="")
    print("".join(f"{name:>12}" for name in measures) + f"{'ranked':>12}{'least error':>13}")
    for number, (name, (target, batch)) in enumerate(problems.items()):
        if quick and number:
            break
        ratios: dict[str, list[float]] = {measure: [] for measure in measures}
        chains, draws = (20, 100) if quick else (60, 500)
        truth = Truth.of(hamiltonian_chains(target, chains, draws, np.random.default_rng([6, seed, number])))
        mode, covariance = normal_approximation(target)
        scale = float(np.linalg.eigvalsh(covariance)[0])
        root = np.linalg.cholesky(covariance)
        least, ranked = [], 0
        for k in range(1 if quick else 10):
            start = mode + root @ np.random.default_rng([7, seed, k]).standard_normal(len(mode))
            errors: list[float] = []
            estimates: list[sk.BiasEstimate] = []
            values: dict[str, list[float]] = {measure: [] for measure in measures}
            for factor in (0.02, 0.06, 0.2, 0.6, 1.2):
                made = sgld(
                    target,
                    step_size=factor * scale,
                    batch_size=batch,
                    draws=500,
                    thin=10 if number < 2 else 50,
                    start=start,
                    seed=1000 * seed + k,
                )
                points = made.points[0]
                errors.append(true_error(points, truth))
                taken, estimate = measured(points, target, number < 2)
                estimates.append(estimate)
                for measure, value in taken.items():
                    values[measure].append(value)
            least.append(min(errors))
            best = estimates[int(np.argmin(values["bias"]))]
            ranked += bool(best.reliable.all()) and not any(each.is_multimodal for each in estimates)
            for measure, found in values.items():
                if not np.isnan(found).all():
                    ratios[measure].append(errors[int(np.nanargmin(found))] / min(errors))
        cells = "".join(f"{median(row) if row else math.nan:12.2f}" for row in ratios.values())
        print(f"{name:28}{cells}{ranked:12}{median(least):13.3f}", flush=True)


def true_error(points: np.ndarray, truth: Truth) -> float:
    """Compute the root mean square error of means and log standard deviations."""
    off = (points.mean(axis=0) - truth.mean) / truth.sd, np.log(points.std(axis=0) / truth.sd)
    return float(np.sqrt(np.mean(np.square(off[0]) + np.square(off[1]))))


def measured(points: np.ndarray, target: sk.Target, graph: bool) -> tuple[dict[str, float], sk.BiasEstimate]:
    """Return the value of each measure and the biases.

    The value is NaN if a measure is not computed.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scores = target.score(points)
        biases = sk.estimate_bias(points, scores=scores)
        found = {
            "bias": biases.value,
            "sliced": sk.sliced_stein_discrepancy(points, scores=scores, tolerance=0.03).value,
            "graph": math.nan,
            "moments": sk.moment_stein_discrepancy(points, scores=scores).value,
            "ess": -float(np.min(sk.chain_diagnostics(points).bulk_ess)),
        }
        if graph:
            found["graph"] = sk.graph_stein_discrepancy(points, scores=scores, units="own", tolerance=0.05).value
    return found, biases


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="one or two samples per kind")
    parser.add_argument("--posteriors", type=Path, metavar="FOLDER", help="samples of real posteriors")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=PARTS, metavar="PART", help=", ".join(PARTS))
    parser.add_argument("--seed", type=int, default=0, help="of models, samples and chains")
    arguments = parser.parse_args()
    quick, seed, began = arguments.quick, arguments.seed, time.perf_counter()
    if "posteriors" in arguments.only and arguments.posteriors:
        real_posteriors(arguments.posteriors, quick)
    if "logistic" in arguments.only:
        print_cells("Skewed logistic regressions", logistic_regressions(quick, seed))
    if "fresh" in arguments.only:
        print_cells("Other models", fresh_models(quick, seed))
    if "sgld" in arguments.only:
        print_cells("SGLD on the nodal posterior", sgld_on_nodal(quick, seed))
    if "modes" in arguments.only:
        print_modes(print_cells("Modes", chains_between_modes(quick, seed)))
    if "choice" in arguments.only:
        choices(quick, seed)
    print(f"\n({time.perf_counter() - began:.0f} s)")


if __name__ == "__main__":
    main()
