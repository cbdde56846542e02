"""Find an error in your own sampler without knowing the correct answer.

    python examples/your_own_sampler.py [--output FOLDER] [--small]

The script defines a Gibbs sampler for the mean m and the precision t of six normal observations with the prior 1 / t.
Each parameter is drawn in turn, conditional on the other:

    t | m ~ Gamma(6/2, rate = sum (y_i - m)^2 / 2),   m | t ~ N(mean of y, 1 / (6 t))

An option introduces an error: the sum of squares is taken about the mean of the data instead of m. The chain with the
error mixes better and has a larger effective sample size. Its moments are plausible. The bias of log t is a third of
its standard deviation, but this bias is visible only if the correct answer is known. steinkit detects the error using
only the score.

The script has three steps. It first computes the discrepancy of the chain with the error and prints its summary. It
then uses `sk.compare` to compare both chains with independent samples, which are available for this target. Finally, it
passes the sampler to `sk.sweep`, which confirms the result with many seeds. The plot shows the comparison and the
regions where the biased chain has too many draws.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import steinkit as sk
from steinkit.plots import comparison, draws_with_density

DATA = np.array([4.1, 5.6, 4.7, 6.9, 5.2, 3.8])
COUNT, CENTRE = len(DATA), float(DATA.mean())
SQUARES = float(((DATA - CENTRE) ** 2).sum())
NAMES = ("mean", "log precision")  # the logarithm is unbounded


def gibbs(target: sk.Target, *, seed: int, draws: int, squares_about: str) -> sk.Sample:
    """Run one chain.

    The function `sk.sweep` calls it with the target, a seed and its options.
    """
    rng = np.random.default_rng(seed)
    mean, states = CENTRE, np.empty((draws, 2))
    for state in states:
        about = {"current mean": mean, "data mean": CENTRE}[squares_about]  # the second option is the error
        rate = 0.5 * ((DATA - about) ** 2).sum()
        precision = rng.gamma(COUNT / 2, 1.0 / rate)
        mean = rng.normal(CENTRE, 1.0 / np.sqrt(COUNT * precision))
        state[:] = mean, np.log(precision)
    return sk.Sample(states, names=target.names)


def log_density(x: np.ndarray) -> np.ndarray:
    """Compute the log density of mean and log precision, up to a constant."""
    mean, log_precision = x.T
    return COUNT / 2 * log_precision - 0.5 * np.exp(log_precision) * (SQUARES + COUNT * (mean - CENTRE) ** 2)


def score(x: np.ndarray) -> np.ndarray:
    """Compute the gradient of the log density."""
    mean, precision = x[:, 0], np.exp(x[:, 1])
    squares = SQUARES + COUNT * (mean - CENTRE) ** 2
    return np.column_stack([-COUNT * precision * (mean - CENTRE), 0.5 * (COUNT - precision * squares)])


def independent(n: int, rng: np.random.Generator) -> np.ndarray:
    """Draw independently from the target.

    These draws are optional and used for comparison.
    """
    precision = rng.gamma((COUNT - 1) / 2, 2.0 / SQUARES, n)
    return np.column_stack([rng.normal(CENTRE, 1.0 / np.sqrt(COUNT * precision)), np.log(precision)])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=Path("steinkit-examples"), help="folder for the figure")
    parser.add_argument("--small", action="store_true", help="500 draws and five seeds")
    settings = parser.parse_args()
    draws, seeds = (500, 5) if settings.small else (1000, 20)

    target = sk.Target(score, log_density=log_density, sampler=independent, names=NAMES, label="mean and precision")
    correct = gibbs(target, seed=0, draws=draws, squares_about="current mean")
    wrong = gibbs(target, seed=0, draws=draws, squares_about="data mean")
    target.check(correct.points[:10])  # the score is the gradient of the log density

    result = sk.graph_stein_discrepancy(wrong, target)
    reference = sk.reference_discrepancy(target, draws, 5)
    print(f"1. The chain with the error\n\n{result.summary(reference)}\n")

    compared = sk.compare({"correct": correct, "with the error": wrong}, target, measures=["graph", "ess"], reference=5)
    print(f"2. Both chains, one seed\n\n{compared.summary()}\n")

    swept = sk.sweep(
        target, gibbs, grid={"squares_about": ["current mean", "data mean"]}, options={"draws": draws}, seeds=seeds
    )
    print(f"3. Both samplers, {seeds} seeds\n\n{swept.summary()}")
    for table in swept.tables():
        print(f"\n{table.caption}\n{table.text()}")

    settings.output.mkdir(parents=True, exist_ok=True)
    path = settings.output / "your_own_sampler.png"
    plot(compared, result, target, reference).savefig(path, dpi=130)
    print(f"\nFigure: {path}")


def plot(
    compared: sk.Comparison, wrong: sk.GraphSteinDiscrepancy, target: sk.Target, reference: sk.Reference
) -> Figure:
    """Plot both chains and independent samples, and regions with too many draws from the biased chain."""
    figure = Figure(figsize=(5.6, 7.2), layout="constrained")
    above, below = figure.subplots(2, 1, height_ratios=(2, 3))
    comparison(compared, above)
    draws_with_density(wrong, target, below, reference=reference)
    below.set_title("with the error", fontsize=10)
    figure.suptitle("Gibbs samplers of a normal mean and precision", fontsize=11)
    return figure


if __name__ == "__main__":
    main()
