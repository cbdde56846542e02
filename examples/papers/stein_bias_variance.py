"""Find the budgets at which an exact chain becomes more accurate than approximate ones.

    python examples/papers/stein_bias_variance.py [--full] [--jobs N] [-o DIR]

Random walks sample the nodal posterior (logistic regression, 53 patients, d = 6) with the exact test (epsilon = 0) and
with austerity tests. An austerity test reads the data of two patients at a time until it is certain, up to an error of
epsilon per stage. The states of the first 1000 of 10^5 likelihood evaluations are discarded, and the chain is thinned
to 1000 evenly spaced draws. The discrepancy of the draws within a budget is computed for increasing budgets. Chains
with approximate tests make more moves but are biased.

The paper shows one chain per test. The script reports the medians of twenty chains and the budgets at which they cross,
with bootstrap intervals, for the paper's measures: the graph Stein discrepancy, and the errors of predictions, means
and second moments. It also uses the sliced Stein discrepancy because the graph discrepancy is near its upper limit in
six dimensions and does not rank samples reliably.

Errors are medians over 200 chains, relative to long exact Langevin chains. The reference chain of the authors' code is
not used because it omits the ratio of the proposal densities and draws from nearly the square of the density. The error
of a prediction has three forms. The first form is divided by the 1-norm of the patient's covariates, as in the paper.
The second form, which is used in the authors' script, is the same error for the logistic function of the mean. The
third form is undivided. The paper divides the other errors by a constant, which does not change the crossings.

References
----------
J. Gorham and L. Mackey (2015), "Measuring sample quality with Stein's method", section 5.4 and figure 4.
A. Korattikara, Y. Chen and M. Welling (2014), "Austerity in MCMC land: cutting the Metropolis-Hastings budget".
"""

from __future__ import annotations

import numpy as np
from _bands import Bands, bands
from _curves import crossing, evenly_spaced
from _frame import COLOURS, Experiment, figure, main_of
from _pictures import plot_bands
from _running_means import long_run_mean, running_means
from matplotlib.figure import Figure
from scipy.special import expit

import steinkit as sk
from steinkit.samplers import approximate_mh, mala

EPSILONS = (0.0, 0.1, 0.2)
BATCH, SCALE = 2, 0.1  # batch size, and scale of proposals with variance 0.01
BUDGET, BURN_IN, KEPT = 100_000, 1000, 1000
SIZES = [*range(10, 401, 10), *range(420, 601, 20), *range(650, 1001, 50)]
FEW = [10, 20, 50, 100, 200, 400, 1000]
STEIN = {"graph": "graph Stein discrepancy", "sliced": "sliced Stein discrepancy"}
PANELS = STEIN | {"paper's norm": "prediction error", "mean": "mean error", "second": "second moment error"}
STUDIED = ("paper's norm", "logistic of the mean", "undivided", "mean", "second")
STUDIES = 200  # number of chains for the errors
CLAIMS = {
    "paper's norm": ("exact overtakes, prediction error", "the paper's norm"),
    "logistic of the mean": ("exact overtakes, prediction error", "logistic of the mean"),
    "undivided": ("exact overtakes, prediction error", "undivided"),
    "mean": ("exact overtakes, mean error", ""),
    "second": ("exact overtakes, second moment error", ""),
}


def moments(points: np.ndarray) -> np.ndarray:
    """Return the predictions for the patients, the coordinates and their products, shape (b, 53 + 6 + 36)."""
    features = sk.targets.LogisticRegression.nodal().data[0]  # features are 0 or 1, and the intercept is 1
    products = (points[:, :, None] * points[:, None, :]).reshape(len(points), -1)
    return np.concatenate([expit(points @ features.T), points, products], axis=1)


def kept_draws(epsilon: float, seed: int) -> sk.Sample:
    """Return the thinned draws with their cumulative cost."""
    target, start = sk.targets.LogisticRegression.nodal(), np.zeros(6)
    looks = {"epsilon": epsilon, "batch_size": BATCH}
    chain = approximate_mh(target, proposal_scale=SCALE, budget=BUDGET, start=start, seed=[seed], **looks).to_sample()
    assert chain.cost is not None
    return evenly_spaced(chain[np.flatnonzero(chain.cost >= BURN_IN)], KEPT)


def scores(measure: str, epsilon: float, seed: int, sizes: list[int]) -> np.ndarray:
    """Compute a Stein discrepancy of the draws within each budget, shape (k,)."""
    target, sample = sk.targets.LogisticRegression.nodal(), kept_draws(epsilon, seed)
    assert sample.cost is not None
    paid = [int(np.searchsorted(sample.cost, budget, side="right")) for budget in evaluations(sizes)]
    found = sk.curve(sample, target, n=paid, measure=measure, units="raw")
    return found.values[np.searchsorted(found.n, paid)]


def single_studies(epsilon: float, seeds: list[int], sizes: list[int], truth: list[float]) -> dict[str, np.ndarray]:
    """Compute the errors of predictions, means and products for each chain within each budget, (seeds, k).

    In the paper's form, the error of a prediction is divided by the 1-norm of the patient's covariates. The authors'
    script uses the logistic function of the mean, whereas the paper uses the mean of the logistic function.
    """
    features = sk.targets.LogisticRegression.nodal().data[0]
    norms, known = np.abs(features).sum(axis=1), np.array(truth)
    found: dict[str, list[np.ndarray]] = {name: [] for name in STUDIED}
    for seed in seeds:
        means = running_means(kept_draws(epsilon, seed), moments, budget=evaluations(sizes)).means[0]
        off, of_mean = np.abs(means - known), expit(means[:, 53:59] @ features.T) - expit(known[53:59] @ features.T)
        for name, each in zip(
            STUDIED,
            (off[:, :53] / norms, np.abs(of_mean) / norms, off[:, :53], off[:, 53:59], off[:, 59:]),
            strict=True,
        ):
            found[name].append(each.max(axis=1))
    return {name: np.array(each) for name, each in found.items()}


def evaluations(sizes: list[int]) -> np.ndarray:
    """Return the number of likelihood evaluations for each number of evenly spaced draws."""
    return BURN_IN + (BUDGET - BURN_IN) / KEPT * np.array(sizes, dtype=np.float64)


def reference(chains: int, steps: int) -> dict[str, np.ndarray]:
    """Estimate the posterior means of `moments` by exact Langevin chains, with standard errors."""
    target = sk.targets.LogisticRegression.nodal()
    run = mala(target, step_size=0.3, chains=chains, draws=steps, burn_in=500, start=np.zeros(6), seed=1)
    found = long_run_mean(run.to_sample(), moments)
    return {"value": found.value, "error": found.standard_error}


def main() -> None:
    experiment = Experiment(__file__, __doc__, shows="Gorham and Mackey (2015), figure 4")
    seeds, sizes = (20, SIZES) if experiment.full else (2, FEW[:-1])
    long = (100, 50_000) if experiment.full else (20, 2000)
    experiment.settings(epsilons=EPSILONS, batch_size=BATCH, proposal_scale=SCALE, seeds=seeds, sizes=sizes)
    experiment.settings(reference=long, studies=STUDIES)
    (right,) = experiment.cells(reference, [dict(zip(("chains", "steps"), long, strict=True))])
    at, curves = evaluations(sizes), {}
    for name, own in {"graph": sizes, "sliced": FEW}.items():
        each = {"measure": name, "sizes": own}
        cells = [each | {"epsilon": epsilon, "seed": seed} for epsilon in EPSILONS for seed in range(seeds)]
        found = np.array(experiment.cells(scores, cells)).reshape(len(EPSILONS), seeds, len(own))
        curves[name] = {e: bands(values, evaluations(own)) for e, values in zip(EPSILONS, found, strict=True)}
    for name, protocol in {"graph": "spanner", "sliced": "slices"}.items():
        overtaken(experiment, "exact overtakes, graph discrepancy", curves[name], protocol)
    many = STUDIES if experiment.full else 2
    cells = [
        {"epsilon": epsilon, "seeds": [1000 * (k + 1) + seed for seed in range(many)], "sizes": sizes}
        | {"truth": right["value"]}
        for k, epsilon in enumerate(EPSILONS)
    ]
    studied = experiment.cells(single_studies, cells)
    for name, (claim, protocol) in CLAIMS.items():
        curves[name] = {epsilon: bands(each[name], at) for epsilon, each in zip(EPSILONS, studied, strict=True)}
        overtaken(experiment, claim, curves[name], protocol)
    experiment.numbers(evaluations=at, **{n: [band.median for band in each.values()] for n, each in curves.items()})
    experiment.finish(plot(curves))


def overtaken(experiment: Experiment, claim: str, curves: dict[float, Bands], protocol: str = "") -> None:
    """Report whether the median of the exact chain falls below that of the chain with epsilon = 0.1."""
    exact, cheap = curves[0.0], curves[0.1]
    found = crossing(exact, cheap)
    crosses = bool(np.isfinite(found.at))
    here = (
        f"at {found.at:,.0f} ({found.interval[0]:,.0f}-{found.interval[1]:,.0f})," if crosses else "the medians cross"
    )
    text = f"{here} in {found.share:.0%} of the repeats"
    experiment.result(claim, protocol=protocol, share=found.share, crosses=crosses, text=text)


def plot(curves: dict[str, dict[float, Bands]]) -> Figure:
    """Plot a panel per measure with all chains.

    A star marks the crossing of the exact chain and the chain with epsilon = 0.1.
    """
    fig, axes = figure(3, 2, height=8.6)
    panels = list(axes.flat)
    for ax, (name, title) in zip(panels, PANELS.items(), strict=False):
        for color, (epsilon, band) in zip(COLOURS, curves[name].items(), strict=False):
            plot_bands(band, ax, color=color, label=f"epsilon = {epsilon:g}")
        found = crossing(curves[name][0.0], curves[name][0.1])
        if np.isfinite(found.at):
            exact = curves[name][0.0]
            height = np.exp(np.interp(np.log(found.at), np.log(exact.against), np.log(exact.median)))
            ax.plot(found.at, height, "k*", markersize=12, zorder=5)
        ax.set(title=title)
        ax.set_xticks([3000, 10_000, 30_000, 100_000], ["3e3", "1e4", "3e4", "1e5"])
        ax.set_xticks([], minor=True)
    for ax in panels[3:5]:
        ax.set_xlabel("likelihood evaluations")
    panels[0].set_yticks([12, 15, 20, 25], ["12", "15", "20", "25"])
    panels[0].set_yticks([], minor=True)
    panels[5].axis("off")
    handles, labels = panels[0].get_legend_handles_labels()
    panels[5].legend(handles, labels, loc="center", title="median, 80% of the chains")
    return fig


if __name__ == "__main__":
    main_of(main)
