"""Select the step size of SGLD by effective sample size and by the Stein discrepancy.

    python examples/papers/stein_sgld_step_size.py [--full] [--jobs N] [-o DIR]

Stochastic gradient Langevin dynamics (SGLD) with minibatches of 5 data points generates 1000 draws from the posterior
of a mixture with two modes, from a random start, for each of eight step sizes. The criteria for the selection are the
medians over seeds of the effective sample size and of the graph Stein discrepancy.

The script reports both selections and their frequencies with other seeds. The frequencies are estimated by a bootstrap
over the seeds, which are the same for all step sizes. The authors' code computes effective sample sizes from an
autoregressive spectrum and averages them over the coordinates. The current standard is the smallest rank-normalized
effective sample size over the coordinates. Both are included. The authors' code also averages the discrepancy over the
coordinates instead of summing it. The mean is half as large and gives the same selection.

The script then evaluates the paper's statements about its plots. They concern the fraction of draws outside the region
that contains 99% of the posterior, the spread of the draws, and their Wasserstein distance to the posterior over both
modes.

The plots show draws for the three step sizes of the paper and draws of an exact random walk. Regions with too many
draws are red, and regions with too few draws are blue.

References
----------
J. Gorham and L. Mackey (2015), "Measuring sample quality with Stein's method", section 5.3 and figure 3.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from _bands import Bands, bands
from _curves import evenly_spaced
from _frame import COLOURS, Experiment, Found, figure, main_of
from _pictures import plot_bands
from matplotlib.figure import Figure
from scipy.stats import wasserstein_distance

import steinkit as sk
from steinkit import plots
from steinkit.samplers import rwmh, sgld

STEP_SIZES = (1e-5, 5e-5, 1e-4, 5e-4, 1e-3, 5e-3, 1e-2, 5e-2)
BATCH, DRAWS = 5, 1000
TOO_SMALL, CHOSEN, TOO_LARGE = 5e-5, 5e-3, 5e-2  # step sizes of the figure
SHOWN_SEED = 7  # the authors' representative sample
REPEATS, PAPER_SEEDS = 2000, 50
OTHER_DATA, OTHER_SEEDS = 20, 20
CRITERIA = ("graph", "smallest_ess", "authors_ess", "outside", "spread", "wasserstein")
HELD = 0.99  # posterior probability of the region
DIRECTIONS, EXACT = 12, 20_000


def criteria(step_size: float, seeds: list[int]) -> dict[str, list[float]]:
    """Return the criteria and the comparisons of the draws with the posterior for the chain of each seed."""
    found: dict[str, list[float]] = {name: [] for name in CRITERIA}
    target, right = sk.targets.MixturePosterior(), posterior()
    angles = np.pi * np.arange(DIRECTIONS) / DIRECTIONS
    directions = np.stack([np.cos(angles), np.sin(angles)])
    for seed in seeds:
        points = chain(step_size, seed)
        effective = sk.chain_diagnostics(points).bulk_ess
        found["graph"].append(sk.graph_stein_discrepancy(points, target, units="raw").value)
        found["smallest_ess"].append(float(effective.min()))
        found["authors_ess"].append(float(np.mean([autoregressive_ess(coordinate) for coordinate in points.T])))
        found["outside"].append(float(np.mean(target.log_density(points) < right["level"])))
        found["spread"].append(float(np.sqrt(points.var(axis=0).sum() / right["points"].var(axis=0).sum())))
        pairs = zip((points @ directions).T, (right["points"] @ directions).T, strict=True)
        found["wasserstein"].append(float(np.mean([wasserstein_distance(one, other) for one, other in pairs])))
    return found


def chain(step_size: float, seed: int) -> np.ndarray:
    """Return the draws of SGLD, shape (DRAWS, 2).

    The chain starts at a standard normal point and uses a new permutation of the data in each sweep.
    """
    start = np.random.default_rng(seed).standard_normal(2)
    target = sk.targets.MixturePosterior()
    return sgld(target, step_size=step_size, batch_size=BATCH, draws=DRAWS, seed=[seed], start=start).points[0]


def chosen_for_other_data(data: int, seeds: list[int]) -> float:
    """Return the step size that the authors' effective sample size selects for newly simulated data."""
    target = sk.targets.MixturePosterior.simulate(100, rng=data)
    starts = np.random.default_rng(data).standard_normal((len(seeds), 2))
    medians = []
    for step_size in STEP_SIZES:
        run = sgld(target, step_size=step_size, batch_size=BATCH, draws=DRAWS, seed=seeds, start=starts)
        medians.append(np.median([np.mean([autoregressive_ess(c) for c in points.T]) for points in run.points]))
    return STEP_SIZES[int(np.argmax(medians))]


def autoregressive_ess(x: np.ndarray) -> float:
    """Compute the effective sample size n var / f(0) as in coda, where f is a Yule-Walker spectrum.

    The order of the spectrum is the one with the smallest AIC.
    """
    n, centred = len(x), x - x.mean()
    largest = min(n - 1, int(10.0 * np.log10(n)))
    covariance = np.array([centred[: n - k] @ centred[k:] for k in range(largest + 1)]) / n
    best, effective, coefficients, noise = np.inf, float(n), np.empty(0), covariance[0]
    for order in range(largest + 1):
        if order:  # Levinson-Durbin recursion
            partial = (covariance[order] - coefficients @ covariance[order - 1 : 0 : -1]) / noise
            coefficients = np.append(coefficients - partial * coefficients[::-1], partial)
            noise *= 1.0 - partial**2
        criterion = n * np.log(noise) + 2.0 * order
        if criterion < best:
            spectrum = noise * n / (n - order - 1.0) / (1.0 - coefficients.sum()) ** 2
            best, effective = criterion, float(n * x.var(ddof=1) / spectrum)
    return effective


@functools.cache
def posterior() -> dict[str, np.ndarray]:
    """Draw from the posterior on a grid, and return the log density at the boundary of its 99% region."""
    x, y = np.arange(-4.0, 5.0, 0.02), np.arange(-6.0, 6.0, 0.02)
    grid = np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)
    log_density = sk.targets.MixturePosterior().log_density(grid)
    weights = np.exp(log_density - log_density.max())
    weights /= weights.sum()
    falling = np.argsort(-log_density)
    edge = falling[np.searchsorted(np.cumsum(weights[falling]), HELD)]
    drawn = np.random.default_rng(0).choice(len(grid), size=EXACT, p=weights)
    return {"points": grid[drawn], "level": log_density[edge]}


def main() -> None:
    experiment = Experiment(__file__, __doc__, shows="Gorham and Mackey (2015), figure 3")
    seeds = list(range(1, 201)) if experiment.full else [1, 2]
    experiment.settings(step_sizes=STEP_SIZES, batch_size=BATCH, draws=DRAWS, seeds=seeds, shown_seed=SHOWN_SEED)
    found = experiment.cells(criteria, [{"step_size": step, "seeds": seeds} for step in STEP_SIZES])
    values = {name: bands(np.transpose([cell[name] for cell in found]), STEP_SIZES) for name in found[0]}
    experiment.numbers(**{name: band.median for name, band in values.items()})

    choice(experiment, "step by Stein", values["graph"], np.argmin)
    for protocol, name in {"the usual ESS": "smallest_ess", "the authors' ESS": "authors_ess"}.items():
        choice(experiment, "step by ESS", values[name], np.argmax, protocol)
    others = [{"data": data, "seeds": seeds[:OTHER_SEEDS]} for data in range(OTHER_DATA)]
    for_others = experiment.cells(chosen_for_other_data, others)
    most = max(STEP_SIZES, key=for_others.count)
    text = f"{most:g} for {for_others.count(most)} of {OTHER_DATA} sets"
    experiment.result("step by ESS", most, protocol="data simulated anew", text=text)
    pictures_in_numbers(experiment, values)
    experiment.finish(plot(values))


def choice(experiment: Experiment, claim: str, band: Bands, best: Callable[..., Any], protocol: str = "") -> None:
    """Report the step size that the medians select, and its frequency in bootstrap samples of the seeds."""
    rows = np.random.default_rng(0).integers(len(band.replicates), size=(REPEATS, PAPER_SEEDS))
    repeats = best(np.median(band.replicates[rows], axis=1), axis=1)  # the rows have the same seeds for all step sizes
    shares = {step: float(np.mean(repeats == k)) for k, step in enumerate(STEP_SIZES) if (repeats == k).any()}
    text = ", ".join(f"{step:g} ({shares[step]:.0%})" for step in sorted(shares, key=lambda step: -shares[step])[:2])
    chosen = STEP_SIZES[int(best(band.median))]
    experiment.result(claim, chosen, protocol=protocol, text=text)


def pictures_in_numbers(experiment: Experiment, values: dict[str, Bands]) -> None:
    """Evaluate the paper's statements about its three plots."""

    def of(name: str, step: float) -> Found:
        return Found.range(values[name].replicates[:, STEP_SIZES.index(step)])

    outside, spread = of("outside", TOO_LARGE), of("spread", TOO_SMALL)
    experiment.result("draws of the largest step", outside, text=f"{outside} outside the 99% region")
    experiment.result("draws of the smallest step", spread, text=f"spread {spread}")
    names = {"smallest": TOO_SMALL, "middle": CHOSEN, "largest": TOO_LARGE}
    distances = {name: of("wasserstein", step).value for name, step in names.items()}
    text = "Wasserstein " + ", ".join(f"{distances[name]:.2f} ({step:g})" for name, step in names.items())
    experiment.result("draws of the middle step", **distances, text=text)


def plot(values: dict[str, Bands]) -> Figure:
    """Plot both criteria against the step size, and the draws for three step sizes and for an exact chain."""
    fig, (top, *below) = figure(3, 2, height=9.0)
    plot_bands(values["graph"], top[0], color=COLOURS[0])
    plot_bands(values["smallest_ess"], top[1], label="rank-normalized", color=COLOURS[1])
    plot_bands(values["authors_ess"], top[1], label="authors'", color=COLOURS[2], linestyle="--")
    best = int(np.argmin(values["graph"].median))
    top[0].plot(STEP_SIZES[best], values["graph"].median[best], "k*", markersize=12)
    largest = int(np.argmax(values["smallest_ess"].median))
    top[1].plot(STEP_SIZES[largest], values["smallest_ess"].median[largest], "k*", markersize=12)
    top[0].set(title="Stein discrepancy", xlabel="step size")
    top[1].set(title="effective sample size", xlabel="step size")
    for ax in top:
        ax.set_xticks([1e-5, 1e-4, 1e-3, 1e-2], ["1e-5", "1e-4", "1e-3", "1e-2"])
        ax.set_xticks([], minor=True)
    top[1].legend()

    target = sk.targets.MixturePosterior()
    exact = rwmh(target, proposal_scale=1.0, draws=50 * DRAWS, start=[0.0, 1.0]).to_sample()
    shown = {f"step size {step:g}": chain(step, SHOWN_SEED) for step in (TOO_SMALL, CHOSEN, TOO_LARGE)}
    shown["exact random walk"] = evenly_spaced(exact, DRAWS).points
    right = sk.reference_discrepancy(target, n=DRAWS, repeats=5, tolerance=1e-2)
    for ax, (name, points) in zip(np.concatenate(below), shown.items(), strict=True):
        scored = sk.graph_stein_discrepancy(points, target, units="raw", tolerance=1e-2)
        plots.draws_with_density(scored, target, ax, reference=right, legend=False)
        ax.set(xlim=(-3.5, 4.5), ylim=(-5.0, 5.0))
        ax.set_title(f"{name}: {scored.value:.2g}", fontsize=12)
    return fig


if __name__ == "__main__":
    main_of(main)
