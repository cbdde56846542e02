"""When does an exact chain overtake an approximate one? Where they cross depends on the measure, and on the seed.

    python examples/papers/stein_bias_variance.py [--full] [--jobs N] [-o DIR]

The nodal posterior (logistic regression, 53 patients, d = 6) is sampled by random walks: exact (epsilon = 0), and with
the austerity test, which reads the patients two at a time until it is sure to an error of epsilon a look. A chain of
10^5 likelihood evaluations loses what the first 1000 paid for and is thinned to 1000 evenly spaced draws. Those within
a budget are scored for budgets that grow: the cheap test moves more, and is biased.

The paper has one chain of each. You will see the medians of twenty and where they cross, with a bootstrap interval, by
its measures: the graph Stein discrepancy, and the errors of predictions, means and second moments. By the sliced Stein
discrepancy besides: in six dimensions that of the graph is near its ceiling, where samples are hardly ranked.

The errors are against a long Metropolis-adjusted Langevin chain, which in the authors' code lacks the ratio of the
proposals: it draws from nearly the square of the density. The table has both references. The errors are those of the
authors' code; the paper's text divides each by a constant, which moves no crossing.

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
from steinkit.curves import first_draws
from steinkit.samplers import approximate_mh, mala

EPSILONS = (0.0, 0.1, 0.2)
BATCH, SCALE = 2, 0.1  # the proposals' variance is .01
BUDGET, BURN_IN, KEPT = 100_000, 1000, 1000
SIZES = [*range(10, 401, 10), *range(420, 601, 20), *range(650, 1001, 50)]
FEW = [10, 20, 50, 100, 200, 400, 1000]
STEP = 0.01  # of the authors' Langevin chain
STEIN = {"graph": "graph Stein discrepancy", "sliced": "sliced Stein discrepancy"}
ERRORS = {"probability": "prediction error", "mean": "mean error", "second": "second moment error"}
PARTS = {"probability": (0, 53), "mean": (53, 59), "second": (59, 95)}  # of what `moments` gives
SINGLE = 10  # chains of each whose pairs are looked at
CERTAIN = 0.95  # of the bootstrap's repeats


def moments(points: np.ndarray) -> np.ndarray:
    """Predictions for the patients, the coordinates and their products, shape (b, 53 + 6 + 36)."""
    features = sk.targets.LogisticRegression.nodal().data[0]  # 0 or 1, the intercept 1
    products = (points[:, :, None] * points[:, None, :]).reshape(len(points), -1)
    return np.concatenate([expit(points @ features.T), points, products], axis=1)


def kept_draws(epsilon: float, seed: int) -> sk.Sample:
    """The draws that are scored, with their cumulative cost."""
    target, start = sk.targets.LogisticRegression.nodal(), np.zeros(6)
    looks = {"epsilon": epsilon, "batch_size": BATCH}
    chain = approximate_mh(target, proposal_scale=SCALE, budget=BUDGET, start=start, seed=[seed], **looks).to_sample()
    assert chain.cost is not None
    return evenly_spaced(chain[np.flatnonzero(chain.cost >= BURN_IN)], KEPT)


def scores(epsilon: float, seed: int, sizes: list[int]) -> dict[str, np.ndarray]:
    """The Stein discrepancies within each budget, shape (k,), and the running means of `moments`, shape (k, 95)."""
    target, sample = sk.targets.LogisticRegression.nodal(), kept_draws(epsilon, seed)
    budgets = evaluations(sizes)
    found = {name: sk.curve(sample, target, budget=budgets, measure=name, units="raw").values for name in STEIN}
    return {**found, "moments": running_means(sample, moments, budget=budgets).means[0]}


def share_of_ceiling(epsilon: float, seed: int, n: int) -> float:
    """How near its ceiling the graph discrepancy of the first n draws is."""
    target, sample = sk.targets.LogisticRegression.nodal(), kept_draws(epsilon, seed)
    return sk.graph_stein_discrepancy(first_draws(sample, n), target, units="raw").saturation


def graph_of_right_draws(seed: int, n: int) -> float:
    """The graph discrepancy of evenly spaced draws of a long exact chain: what a right sample of n draws has."""
    target = sk.targets.LogisticRegression.nodal()
    run = mala(target, step_size=0.3, draws=100 * n, burn_in=500, start=np.zeros(6), seed=[seed])
    return sk.graph_stein_discrepancy(evenly_spaced(run.to_sample(), n), target, units="raw").value


def evaluations(sizes: list[int]) -> np.ndarray:
    """Likelihood evaluations that so many of the evenly spaced draws stand for."""
    return BURN_IN + (BUDGET - BURN_IN) / KEPT * np.array(sizes, dtype=np.float64)


def reference(chains: int, steps: int) -> dict[str, np.ndarray]:
    """Means of `moments` under the posterior, by exact Langevin chains, and their standard errors."""
    target = sk.targets.LogisticRegression.nodal()
    run = mala(target, step_size=0.3, chains=chains, draws=steps, burn_in=500, start=np.zeros(6), seed=1)
    found = long_run_mean(run.to_sample(), moments)
    return {"value": found.value, "error": found.standard_error}


def without_ratio(chains: int, steps: int) -> dict[str, np.ndarray]:
    """Means of `moments` by the authors' chain, whose test forgets the ratio of the proposals; half its steps burnt."""
    target, rng = sk.targets.LogisticRegression.nodal(), np.random.default_rng(1)
    states, sums = np.zeros((chains, 6)), np.zeros(95)
    log_density = target.log_density(states)
    for step in range(steps):
        noise = np.sqrt(STEP) * rng.standard_normal(states.shape)
        proposed = states + 0.5 * STEP * target.score(states) + noise
        proposed_log_density = target.log_density(proposed)
        accepted = np.log(rng.random(chains)) < proposed_log_density - log_density
        states = np.where(accepted[:, None], proposed, states)
        log_density = np.where(accepted, proposed_log_density, log_density)
        if step >= steps // 2:
            sums += moments(states).mean(axis=0)
    value = sums / (steps - steps // 2)
    squares = value[59:].reshape(6, 6).diagonal() - value[53:59] ** 2
    return {"value": value, "sd": np.sqrt(squares)}


def main() -> None:
    experiment = Experiment(__file__, __doc__, paper="Gorham and Mackey (2015)", shows="figure 4")
    seeds, sizes = (20, SIZES) if experiment.full else (4, FEW)
    long, wrong = ((100, 50_000), (500, 2000)) if experiment.full else ((20, 10_000), (100, 1000))
    experiment.settings(epsilons=EPSILONS, batch_size=BATCH, proposal_scale=SCALE, seeds=seeds, sizes=sizes)
    experiment.settings(reference=long, without_ratio=wrong)
    cells = [{"epsilon": epsilon, "seed": seed, "sizes": sizes} for epsilon in EPSILONS for seed in range(seeds)]
    found = experiment.cells(scores, cells)
    (right,) = experiment.cells(reference, [dict(zip(("chains", "steps"), long, strict=True))])
    (surrogate,) = experiment.cells(without_ratio, [dict(zip(("chains", "steps"), wrong, strict=True))])

    chosen = {
        epsilon: [f for f, c in zip(found, cells, strict=True) if c["epsilon"] == epsilon] for epsilon in EPSILONS
    }
    at = evaluations(sizes)
    curves = {name: {e: bands([each[name] for each in chosen[e]], at) for e in EPSILONS} for name in STEIN}
    papers = {}
    for name in ERRORS:
        curves[name] = {e: bands(errors(chosen[e], right, name), at) for e in EPSILONS}
        papers[name] = {e: bands(errors(chosen[e], surrogate, name), at) for e in EPSILONS}
    for name, found_here in curves.items():
        experiment.numbers(**{name: [band.median for band in found_here.values()]})
    experiment.numbers(evaluations=at, surrogate_sd=surrogate["sd"])
    for name, title in (STEIN | ERRORS).items():
        overtaken(experiment, title, curves[name], "the paper's reference is another, below" if name in ERRORS else "")
    for name, title in ERRORS.items():
        overtaken(experiment, f"{title}, the authors' reference", papers[name], "a chain without the proposals' ratio")
    closing_remarks(experiment, curves, right, surrogate)
    experiment.finish(picture(curves))


def errors(found: list[dict], truth: dict, name: str) -> np.ndarray:
    """Largest error of a part of the moments, shape (seeds, k)."""
    part = slice(*PARTS[name])
    return np.abs(np.array([each["moments"] for each in found])[:, :, part] - np.array(truth["value"])[part]).max(
        axis=2
    )


def overtaken(experiment: Experiment, title: str, curves: dict[float, Bands], remark: str) -> None:
    """Judge whether the exact chain overtakes that of epsilon = .1, which led before."""
    exact, cheap = curves[0.0], curves[0.1]
    found = crossing(exact, cheap)
    single = [
        crossing(bands(one[None], exact.against), bands(other[None], exact.against)).share
        for one in exact.replicates[:SINGLE]
        for other in cheap.replicates[:SINGLE]
    ]
    behind = float(np.mean(exact.median > cheap.median))
    here = f"at {found.at:,.0f} ({found.interval[0]:,.0f} to {found.interval[1]:,.0f})"
    ahead = "cheap leads throughout" if behind == 1.0 else "exact leads throughout" if behind == 0.0 else "not for good"
    experiment.claim(
        title,
        paper="overtaken below 1e5",
        here=here if np.isfinite(found.at) else f"no crossing: {ahead}",
        agrees=(bool(np.isfinite(found.at)) and found.share >= CERTAIN) if experiment.full else None,
        remark=f"in {found.share:.0%} of the bootstrap's repeats and {np.mean(single):.0%} of the pairs of single "
        f"chains (agrees from {CERTAIN:.0%} of the repeats on){remark and '; '}{remark}",
    )


def closing_remarks(experiment: Experiment, curves: dict, right: dict, surrogate: dict) -> None:
    """Say how near its ceiling the graph is, how all samplers end, and what the authors' reference is."""
    value, n = np.array(right["value"]), (100, KEPT)
    sd = np.sqrt(value[59:].reshape(6, 6).diagonal() - value[53:59] ** 2)
    last = {name: ", ".join(f"{band.median[-1]:.3g}" for band in curves[name].values()) for name in STEIN}
    shares = experiment.cells(share_of_ceiling, [{"epsilon": e, "seed": 0, "n": k} for k in n for e in EPSILONS[:2]])
    told = ", ".join(f"{share:.0%}" for share in shares)
    right_draws = float(np.median(experiment.cells(graph_of_right_draws, [{"seed": k, "n": n[0]} for k in range(8)])))
    first = curves["graph"][0.0]
    short = float(first.median[first.against == evaluations([n[0]])[0]][0])
    experiment.remark(
        f"The graph discrepancy as a share of its ceiling, epsilon 0 and .1, at n = {n[0]} and at n = {n[1]}: {told}. "
        f"{n[0]} nearly independent draws from the posterior have {right_draws:.3g}, the first {n[0]} of the exact "
        f"chains, which have not yet seen all of it, {short:.3g}: where these are alike, the graph does not see what a "
        "short chain lacks, and what the cheap one gains."
    )
    experiment.remark(f"At the end, epsilon 0, .1, .2: graph {last['graph']}; sliced {last['sliced']}.")
    experiment.remark(
        f"Posterior standard deviations {low_to_high(sd)}, of the authors' reference {low_to_high(surrogate['sd'])}."
    )


def low_to_high(values: np.ndarray) -> str:
    """The least and the largest."""
    return f"{np.min(values):.2f} to {np.max(values):.2f}"


def picture(curves: dict[str, dict[float, Bands]]) -> Figure:
    """A panel a measure, the exact chain and the two cheap ones; a star where the exact one overtakes epsilon = .1."""
    fig, axes = figure(3, 2, height=8.6)
    panels = list(axes.flat)
    for ax, (name, title) in zip(panels, (STEIN | ERRORS).items(), strict=False):
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
    panels[5].legend(handles, labels, loc="center", title="median, 80 % of the chains")
    return fig


if __name__ == "__main__":
    main_of(main)
