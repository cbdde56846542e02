"""Choose the step size of stochastic gradient Langevin dynamics.

    python examples/sgld_step_size.py [--output FOLDER] [--small]

Stochastic gradient Langevin dynamics (SGLD) draws from the posterior of a mixture with two modes
(`sk.targets.MixturePosterior`). The sampler uses minibatches of 5 of the 100 data points, a fixed number of steps, and
a random start, and every 50th step is kept. With a step size of 5e-5, the chain remains near its start. With a step
size of 5e-2, it moves far and is strongly biased. The effective sample size selects this step size because its draws
have the lowest autocorrelation. The graph Stein discrepancy detects both problems and selects a step size between the
two extremes.

The function `sk.sweep` runs every step size with the same seeds and evaluates the chains using both criteria. It
reports the step size that each criterion selects and the step sizes that cannot be distinguished from it. The script
prints the median discrepancy and effective sample size of each step size with their intervals. The plot shows both
criteria. It also shows three chains over the posterior, and the fraction of their draws in the lower mode. The step
sizes of these chains are one that is too small, the selected one, and one that is too large.

The discrepancy is insensitive to incorrect mode weights, and even the best chains move between the modes only a few
times. The function `sk.mode_weights` estimates the mode weights from the log density and computes weights for the
draws.

Finished chains are stored in FOLDER and reused by the next run.

References
----------
J. Gorham and L. Mackey (2015), "Measuring sample quality with Stein's method", section 5.3.
"""

from __future__ import annotations

import argparse
import io
import sqlite3
import sys
import textwrap
from contextlib import closing
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

import steinkit as sk
from steinkit.plots import draws_with_density, selection

STEP_SIZES = (1e-5, 5e-5, 1e-4, 5e-4, 1e-3, 5e-3, 1e-2, 5e-2)
FEW_STEP_SIZES = (5e-5, 1e-3, 5e-2)
TOO_SMALL = 5e-5


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--output", type=Path, default=Path("steinkit-examples"), help="folder for the figure and chains"
    )
    parser.add_argument("--small", action="store_true", help="three step sizes and five seeds")
    settings = parser.parse_args()
    step_sizes, seeds = (FEW_STEP_SIZES, 5) if settings.small else (STEP_SIZES, 20)

    target = sk.targets.MixturePosterior()
    file = settings.output / "sgld_step_size.sqlite"
    result = sk.sweep(
        target,
        "sgld",
        grid={"step_size": step_sizes},
        options={"batch_size": 5, "draws": 1000, "thin": 50, "start": "normal"},
        seeds=seeds,
        measures=["graph", "ess"],
        file=file,
        progress=sys.stderr.isatty(),
    )
    print(result.summary())
    for table in result.tables():
        print(f"\n{table.caption}\n{table.text()}")
    for note in result.warnings:
        print(textwrap.fill(f"Note: {note}", 110))

    choice, blind = result.criteria["graph"], result.criteria["ess"]
    ties = ", ".join(f"{tie['step_size']:.0e}" for tie in choice.ties)
    print(
        f"\nChoose a step size of {choice.best['step_size']:.0e}: "
        f"{f'{ties} cannot be distinguished from it' if ties else 'every other one is clearly worse'}. "
        f"Effective sample size would have chosen {blind.best['step_size']:.0e}."
    )

    modes = sk.mode_weights(first_chain(result, file, choice.best["step_size"]), target)
    print(f"\nA chain with this step size: {modes.summary()}")

    path = settings.output / "sgld_step_size.png"
    plot(result, file, target, modes.weights).savefig(path, dpi=130)
    print(f"\nFigure: {path}")


def plot(
    result: sk.SweepResult, file: Path, target: sk.targets.MixturePosterior, weights: NDArray[np.float64]
) -> Figure:
    """Plot the criteria, and chains with three step sizes.

    The step sizes are one that is too small, the selected one, and one that is too large.

    The argument `weights` contains the weights of the draws of the selected chain, according to its mode weights.
    """
    best, largest = result.criteria["graph"].best["step_size"], max(s["step_size"] for s in result.settings)
    shown = {"too small": TOO_SMALL, "chosen": best, "too large": largest}
    chains = {name: first_chain(result, file, step) for name, step in shown.items()}
    common = {"units": result.units, "tolerance": 1e-2}
    scores = {name: sk.graph_stein_discrepancy(draws, target, **common) for name, draws in chains.items()}
    corrected = weights @ (chains["chosen"].points[:, 1] < 0.0)

    figure = Figure(figsize=(7.0, 8.9), layout="constrained")
    above, below = figure.subfigures(2, 1, height_ratios=[1.6, 1.1])
    selection(result, "step_size", above.add_subplot())
    panels = below.subplots(1, 3, sharex=True, sharey=True)
    reference = sk.reference_discrepancy(target, len(chains["chosen"].points), 5, **common)
    for ax, (name, score) in zip(panels, scores.items(), strict=True):
        draws_with_density(score, target, ax, reference=reference, legend=False)
        ax.set(xlim=(-3.5, 4.5), ylim=(-4.5, 4.5))
        below_0 = np.mean(chains[name].points[:, 1] < 0.0)
        ax.set_title(
            f"{name}: {shown[name]:g}\ndiscrepancy {score.value:.3g}\n{below_0:.0%} in the lower mode", fontsize=10
        )
        ax.label_outer()
    figure.suptitle("SGLD on the mixture posterior", fontsize=12)
    below.suptitle(
        f"The lower mode holds {share_of_lower_mode(target):.0%}; weighted, the chosen chain has {corrected:.0%}.",
        fontsize=10,
    )
    marks = {label: handle for ax in panels for handle, label in zip(*ax.get_legend_handles_labels(), strict=True)}
    below.legend(marks.values(), marks, loc="outside lower center", ncols=2, frameon=False)
    return figure


def share_of_lower_mode(target: sk.targets.MixturePosterior) -> float:
    """Integrate the posterior over theta2 < 0 by the rectangle rule."""
    theta1, theta2 = np.meshgrid(np.linspace(-5.0, 6.0, 441), np.linspace(-6.0, 6.0, 482))
    log_density = target.log_density(np.column_stack([theta1.ravel(), theta2.ravel()]))
    density = np.exp(log_density - log_density.max())
    return float(density[theta2.ravel() < 0.0].sum() / density.sum())


def first_chain(result: sk.SweepResult, file: Path, step_size: float) -> sk.Sample:
    """Read the draws of the first seed, which the sweep stores for every setting."""
    seed = result.seeds[0]
    query = "SELECT npz FROM draws JOIN cells USING (cell) WHERE json_extract(settings, '$.step_size') = ? AND seed = ?"
    with closing(sqlite3.connect(file)) as database:
        (npz,) = database.execute(query, (step_size, seed)).fetchone()
    return sk.read_sample(io.BytesIO(npz), format="npz")


if __name__ == "__main__":
    main()
