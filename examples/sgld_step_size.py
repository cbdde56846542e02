"""Which step size should SGLD take? Too small it stays where it began, too large it is biased.

    python examples/sgld_step_size.py [--output FOLDER] [--small]

Stochastic gradient Langevin dynamics draws from the posterior of a mixture (`sk.targets.MixturePosterior`, two modes)
with minibatches of 5 of its 100 data and a fixed number of steps, from a random start. A step of 5e-5 is too small to
leave the neighbourhood of the start. A step of 5e-2 travels far and is badly biased: of all steps its draws look the
most independent, and a criterion that asks for that would choose it. The graph Stein discrepancy sees both faults.

You will see the autocorrelation and the median discrepancy of several chains at each step size, and the step that the
discrepancy chooses: between the two. The picture shows chains at a step too small, right and too large over the
posterior, and the discrepancy against the step. Note what the discrepancy does not see: in a thousand steps even the
best chains may not find the second mode.

References
----------
J. Gorham and L. Mackey (2015), "Measuring sample quality with Stein's method", section 5.3.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import steinkit as sk
from steinkit.samplers import Draws, sgld

STEP_SIZES = (1e-5, 5e-5, 1e-4, 5e-4, 1e-3, 5e-3, 1e-2, 5e-2)
FEW_STEP_SIZES = (5e-5, 5e-3, 5e-2)
BATCH_SIZE = 5
LAG = 30


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=Path("steinkit-examples"), help="folder for the picture")
    parser.add_argument("--small", action="store_true", help="three step sizes, 300 steps and two chains")
    settings = parser.parse_args()
    step_sizes, steps, chains = (FEW_STEP_SIZES, 300, 2) if settings.small else (STEP_SIZES, 1000, 9)

    target = sk.targets.MixturePosterior()
    start = np.random.default_rng(0).standard_normal((chains, 2))
    runs = {
        step: sgld(target, step_size=step, batch_size=BATCH_SIZE, draws=steps, chains=chains, start=start, seed=1)
        for step in step_sizes
    }
    scores = {step: discrepancies(draws, target) for step, draws in runs.items()}
    best = min(step_sizes, key=lambda step: float(np.median(scores[step])))

    print(f"{chains} chains of {steps} steps of SGLD")
    print(f"{'step size':>9}{'sd of a chain':>16}{'autocorrelation':>18}{'median discrepancy':>21}{'range':>18}")
    for step, draws in runs.items():
        sd = ", ".join(f"{value:.2f}" for value in np.median(draws.points.std(axis=1), axis=0))
        found = scores[step]
        note = "  <- best" if step == best else ""
        spread = f"{found.min():.3g} to {found.max():.3g}"
        print(f"{step:9.0e}{sd:>16}{autocorrelation(draws):18.2f}{np.median(found):21.3g}{spread:>18}{note}")
    exact = target.sample(10_000, 0).std(axis=0)
    print(f"sd of the posterior: {exact[0]:.2f}, {exact[1]:.2f}. Autocorrelation: at a distance of {LAG} steps")
    print(f"Choose a step size of {best:.0e}.")

    settings.output.mkdir(parents=True, exist_ok=True)
    path = settings.output / "sgld_step_size.png"
    picture(runs, scores, best, target).savefig(path, dpi=130)
    print(f"\nPicture: {path}")


def discrepancies(draws: Draws, target: sk.Target) -> np.ndarray:
    """Graph Stein discrepancy of each chain, shape (chains,)."""
    return np.array([sk.graph_stein_discrepancy(chain, target).value for chain in draws.points])


def autocorrelation(draws: Draws) -> float:
    """Autocorrelation of theta2 at a distance of LAG steps, median over the chains."""
    theta2 = draws.points[:, :, 1] - draws.points[:, :, 1].mean(axis=1, keepdims=True)
    products = (theta2[:, LAG:] * theta2[:, :-LAG]).mean(axis=1)
    return float(np.median(products / theta2.var(axis=1)))


def picture(
    runs: dict[float, Draws], scores: dict[float, np.ndarray], best: float, target: sk.MixturePosterior
) -> Figure:
    """One chain at the smallest of three steps, the best and the largest, and all discrepancies against the step."""
    figure = Figure(figsize=(15.0, 4.2), layout="constrained")
    *panels, curve = figure.subplots(1, 4)
    small = next(step for step in runs if step >= FEW_STEP_SIZES[0])
    names = ("too small", "best", "too large")
    for ax, step, name in zip(panels, (small, best, max(runs)), names, strict=True):
        contours(ax, target)
        chain = int(np.argsort(scores[step])[len(scores[step]) // 2])  # the median one
        points = runs[step].points[chain]
        ax.plot(points[:, 0], points[:, 1], color="tab:orange", linewidth=0.4, alpha=0.25)
        ax.scatter(points[:, 0], points[:, 1], s=6, color="tab:blue", alpha=0.6, linewidths=0.0)
        ax.set_title(f"step {step:.0e}, {name}: discrepancy {scores[step][chain]:.3g}", fontsize=10)
        ax.set(xlim=(-3.5, 4.5), ylim=(-5.5, 5.5), xlabel="theta1", ylabel="theta2")
    for step, found in scores.items():
        curve.plot(np.full(len(found), step), found, ".", color="0.6")
    curve.plot(list(scores), [np.median(found) for found in scores.values()], "o-", color="tab:blue", label="median")
    curve.plot([], [], ".", color="0.6", label="each chain")
    curve.set(xscale="log", yscale="log", xlabel="step size", ylabel="graph Stein discrepancy")
    curve.legend()
    return figure


def contours(ax: Axes, target: sk.Target) -> None:
    """Lines of equal posterior density, at 1/2, 1/10 and 1/100 of its peak."""
    x, y = np.linspace(-3.5, 4.5, 120), np.linspace(-5.5, 5.5, 120)
    log_density = target.log_density(np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)).reshape(120, 120)
    ax.contour(x, y, np.exp(log_density - log_density.max()), levels=[0.01, 0.1, 0.5], colors="0.2", linewidths=0.9)


if __name__ == "__main__":
    main()
