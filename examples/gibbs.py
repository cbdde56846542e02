"""Compare Gibbs samplers that read only some of the terms of each update.

    python examples/gibbs.py [--output FOLDER] [--small]

A Markov random field has 100 binary variables (40 with `--small`) and a potential for each triple of variables. An
exact update of a variable adds 4,851 terms (741 with `--small`). The austerity test reads 500 terms (75 with `--small`)
at a time in random order. It stops as soon as it is certain, up to an error of epsilon per stage, whether the sum is
above or below the threshold.

The plot shows the frequency with which a variable becomes 1 against its exact conditional probability p. A larger
epsilon moves the frequencies toward one half. The plot also shows the error of the joint probabilities of five
variables, as a function of the number of terms and of the time. This error is relative to a long exact run and is
averaged over 1,600 sets of five variables. The approximate samplers make more sweeps with the same number of terms, and
they are more accurate until their bias dominates. The error of the exact sampler continues to decrease. For the same
running time, the advantage of the approximate samplers is smaller or absent because contiguous terms are read faster
than terms in random order.

References
----------
A. Korattikara, Y. Chen and M. Welling (2014), "Austerity in MCMC land: cutting the Metropolis-Hastings budget",
appendix F, figures 14 and 15.
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from matplotlib import colormaps
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter

from steinkit.samplers import AusterityTest, BarkerTest

sys.path.append(str(Path(__file__).resolve().parent / "papers"))  # shared modules
from _gibbs_updates import UpdateFrequencies, update_frequencies
from _running_tables import running_tables, table_errors
from applications.gibbs import MarkovField, approximate_gibbs

EPSILONS = (0.0, 0.01, 0.05, 0.1, 0.15, 0.2, 0.25)
SETS, OF_VARIABLES = 1600, 5


@dataclass
class Outcome:
    """Errors at each budget, times, and update frequencies for each conditional probability, for one epsilon."""

    label: str
    errors: np.ndarray
    seconds: np.ndarray
    updates: UpdateFrequencies


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=Path("steinkit-examples"), help="folder for the figure")
    parser.add_argument("--small", action="store_true", help="40 variables, a tenth of the budget")
    settings = parser.parse_args()
    if settings.small:  # stronger potentials compensate for their smaller number
        field, batch, sweeps, chains = MarkovField.simulate(40, scale=0.05, rng=1), 75, [10, 30, 100, 300], 4
    else:
        field, batch, sweeps, chains = MarkovField.simulate(100, rng=1), 500, [10, 30, 100, 300, 1000], 4
    sweep_cost = field.dim * field.size
    budgets = sweep_cost * np.array(sweeps)
    rng = np.random.default_rng(2)
    sets = np.array([rng.choice(field.dim, OF_VARIABLES, replace=False) for _ in range(SETS)])

    long_run = approximate_gibbs(
        field, test=BarkerTest(), chains=20, draws=sweeps[-1], burn_in=20, seed=3, progress=True
    )
    truth = running_tables(long_run.to_sample(), sets, n=[sweeps[-1]]).means.mean(axis=(0, 1))
    print(f"Terms of an update: {field.size}. Error of the probabilities of {OF_VARIABLES} variables, by terms read")
    print(f"{'':13}{'read':>6}{'us/update':>11}{'sweeps':>8}" + "".join(f"{f'{b:.1e}':>9}" for b in budgets))
    outcomes = []
    for epsilon in EPSILONS:
        test = AusterityTest(epsilon, batch) if epsilon else BarkerTest()
        approximate_gibbs(field, test=test, draws=1)  # compiled before the time is measured
        began = time.process_time()
        draws = approximate_gibbs(field, test=test, chains=chains, budget=int(budgets[-1]), seed=4)
        seconds = (time.process_time() - began) / chains
        found = running_tables(draws.to_sample(), sets, budget=budgets)
        errors = table_errors(found, truth, values=2**OF_VARIABLES).mean(axis=0)
        label = f"epsilon {epsilon:g}" if epsilon else "exact"
        lengths = draws.present.sum(axis=1)
        # The count of the updates requires all terms.
        counted = replace(draws, lengths=np.minimum(lengths, sweeps[-1] // 2))
        updates, length = update_frequencies(field, counted), lengths.mean()
        outcomes.append(Outcome(label, errors, seconds * budgets / budgets[-1], updates))
        share, micros = budgets[-1] / sweep_cost / length, seconds / length / field.dim * 1e6
        cells = "".join(f"{error:9.3f}" for error in errors)
        print(f"{label:13}{share:6.0%}{micros:11.1f}{length:8.0f}{cells}", flush=True)
    for k, budget in enumerate(budgets):
        best = min(outcomes, key=lambda outcome, k=k: outcome.errors[k])
        print(f"Lowest error at {budget:.1e} terms: {best.label}")

    settings.output.mkdir(parents=True, exist_ok=True)
    path = settings.output / "gibbs.png"
    plot(budgets, outcomes).savefig(path, dpi=130)
    print(f"\nFigure: {path}")


def plot(budgets: np.ndarray, outcomes: list[Outcome]) -> Figure:
    """Plot the excess against p, and the error against terms and time.

    Darker lines correspond to a larger epsilon, and the line of the exact sampler is black.
    """
    figure = Figure(figsize=(7.2, 6.8), layout="constrained")
    (conditional, key), (by_terms, by_time) = figure.subplots(2, 2)
    shades = colormaps["YlOrBr"](np.linspace(0.35, 1.0, len(outcomes) - 1))
    for outcome, color, marker in zip(outcomes, ["black", *shades], "os^Dv<>", strict=True):
        style = {"color": color, "marker": marker, "ms": 4.0, "lw": 1.2, "label": outcome.label}
        p = outcome.updates.probability
        conditional.plot(p, outcome.updates.share - p, **style)
        by_terms.plot(budgets, outcome.errors, **style)
        by_time.plot(outcome.seconds, outcome.errors, **style)
    conditional.axhline(0.0, color="grey", lw=0.5)
    conditional.set(xlabel="exact conditional probability p", ylabel="fraction of ones minus p")
    by_terms.set(
        xscale="log", yscale="log", xlabel="terms read by a chain", ylabel="L1 error, tables of five variables"
    )
    by_time.set(xscale="log", yscale="log", xlabel="processor seconds per chain")
    for ax in (by_terms, by_time):
        ax.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 3.0, 5.0)))
        ax.yaxis.set_major_formatter("{x:g}")
        ax.yaxis.set_minor_formatter(NullFormatter())
    key.axis("off")
    key.legend(*by_terms.get_legend_handles_labels(), loc="center", frameon=False)
    figure.suptitle("Gibbs samplers of a Markov random field", fontsize=11)
    return figure


if __name__ == "__main__":
    main()
