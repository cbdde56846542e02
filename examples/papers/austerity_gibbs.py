"""Compare Gibbs samplers that read only some of the terms of each update.

    python examples/papers/austerity_gibbs.py [--full] [--jobs N] [-o DIR]

A Markov random field has 100 binary variables and a potential for each triple of variables, log psi ~ N(0, 0.02). The
second parameter is interpreted as the standard deviation because a variance of 0.02 would give conditional
probabilities near 0 or 1. An exact update of a variable adds 4,851 terms. The austerity test reads 500 terms at a time
until it is certain, up to an error of epsilon per stage, whether the sum is above or below the threshold. The small run
has 40 variables, 741 terms, batches of 75 terms, and stronger potentials, so that the updates have the same
uncertainty.

The script reports the frequency with which a variable becomes 1, for each exact conditional probability p, and compares
it with the theory of the test. It also reports the error of the joint probabilities of five variables as a function of
the number of terms read and of the CPU time. The error is relative to long exact chains and is averaged over 1,600 sets
of five variables.

The paper does not state the number of sweeps in its 1,000 seconds. With --full, a chain reads as many terms as 5,000
exact sweeps do. The threshold printed in the paper, log u / log(1 - u), is replaced by log(u / (1 - u)), which follows
from the update.

References
----------
A. Korattikara, Y. Chen and M. Welling (2014), "Austerity in MCMC land: cutting the Metropolis-Hastings budget",
appendix F, figures 14 and 15.
"""

from __future__ import annotations

import functools
import math
import time
from dataclasses import replace
from typing import Any

import numpy as np
from _bands import Bands, bands
from _curves import crossing
from _frame import COLOURS, Experiment, Found, figure, main_of
from _gibbs_updates import update_bias, update_frequencies
from _running_means import LongRunMean, risk
from _running_tables import running_tables, table_errors
from applications.gibbs import MarkovField, approximate_gibbs
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter
from scipy.special import logit

from steinkit.samplers import AusterityTest, BarkerTest

EPSILONS = (0.0, 0.01, 0.05, 0.1, 0.15, 0.2, 0.25)
SETS, OF_VARIABLES = 1600, 5
VALUES = 2**OF_VARIABLES
EDGES = np.linspace(0.0, 1.0, 21)


@functools.cache
def field_of(dim: int, scale: float) -> MarkovField:
    """Return the field, which is cached for the cells of a process."""
    return MarkovField.simulate(dim, scale=scale, rng=1)


def sets_of(dim: int) -> np.ndarray:
    """Return the sets of variables whose joint probabilities are compared, (sets, 5)."""
    rng = np.random.default_rng(2)
    return np.array([rng.choice(dim, OF_VARIABLES, replace=False) for _ in range(SETS)])


def long_runs(dim: int, scale: float, draws: int, seeds: list[int]) -> dict[str, Any]:
    """Estimate the joint probabilities by exact chains, with their mean squared standard error."""
    run = approximate_gibbs(field_of(dim, scale), test=BarkerTest(), seed=seeds, draws=draws, burn_in=draws // 10)
    means = running_tables(run.to_sample(), sets_of(dim), n=[draws]).means[:, -1]
    return {"tables": means.mean(axis=0).round(7), "floor": float(means.var(axis=0, ddof=1).mean() / len(seeds))}


def chains(
    dim: int,
    scale: float,
    batch: int,
    epsilon: float,
    seeds: list[int],
    sweeps: list[int],
    counted: int,
    truth: list[float],
    floor: float,
) -> dict[str, Any]:
    """Return the errors, costs and update frequencies of chains.

    The errors are those at the costs of several numbers of exact sweeps.
    """
    field, test = field_of(dim, scale), AusterityTest(epsilon, batch) if epsilon else BarkerTest()
    approximate_gibbs(field, test=test, draws=1)  # compiled before the time is measured
    exact_sweep = field.dim * field.size
    began = time.process_time()
    found = approximate_gibbs(field, test=test, budget=sweeps[-1] * exact_sweep, seed=seeds)
    seconds = (time.process_time() - began) / len(seeds)
    lengths = found.present.sum(axis=1)
    tables = running_tables(found.to_sample(), sets_of(dim), budget=[s * exact_sweep for s in sweeps])
    known = LongRunMean(np.array(truth), np.full(len(truth), math.sqrt(floor)))
    judged = risk(tables, known)
    updates = update_frequencies(field, replace(found, lengths=np.minimum(lengths, counted)), edges=EDGES)
    return {
        "errors": table_errors(tables, known.value, values=VALUES),
        "bias_share": (judged.squared_bias[-1] - judged.floor) / judged.value[-1],
        "seconds": seconds,
        "draws": lengths.mean(),
        "p": updates.probability,
        "excess": updates.share - updates.probability,
        "error": updates.standard_error,
        "updates": updates.updates,
    }


def foreseen(p: Any, dim: int, scale: float, batch: int, epsilon: float) -> np.ndarray:
    """Return the theoretical bias of updates with these probabilities."""
    field = field_of(dim, scale)
    deviation = float(field.terms.differences.std())
    options = {"deviation": deviation, "size": field.size, "batch_size": batch, "epsilon": epsilon}
    return update_bias(logit(np.array(p)), **options).bias


def main() -> None:
    experiment = Experiment(__file__, __doc__, shows="Korattikara et al. (2014), Gibbs sampling")
    if experiment.full:
        field, batch, number, sweeps, counted, long, groups = {"dim": 100, "scale": 0.02}, 500, 4, 5000, 2000, 1600, 8
    else:
        field, batch, number, sweeps, counted, long, groups = {"dim": 40, "scale": 0.05}, 75, 4, 100, 100, 200, 2
    places = np.unique(np.geomspace(10, sweeps, 10).round().astype(int)).tolist()
    experiment.settings(**field, batch=batch, chains=number, exact_sweeps=places, counted_sweeps=counted)
    experiment.settings(long_chains=8 * groups, long_draws=long, epsilons=EPSILONS, sets=SETS, variables=OF_VARIABLES)
    runs = experiment.cells(
        long_runs, [field | {"draws": long, "seeds": list(range(100 + 8 * g, 108 + 8 * g))} for g in range(groups)]
    )
    truth = np.mean([run["tables"] for run in runs], axis=0).round(7).tolist()
    floor = float(np.mean([run["floor"] for run in runs])) / groups
    shared = field | {"batch": batch, "sweeps": places, "counted": counted}
    shared |= {"truth": truth, "floor": floor}
    seeds = [list(range(1000 + number * k, 1000 + number * (k + 1))) for k in range(len(EPSILONS))]  # no shared seeds
    found = experiment.cells(
        chains, [shared | {"epsilon": epsilon, "seeds": own} for epsilon, own in zip(EPSILONS, seeds, strict=True)]
    )
    theory = [foreseen(each["p"], **field, batch=batch, epsilon=e) for e, each in zip(EPSILONS, found, strict=True)]
    errors = [bands(each["errors"], places) for each in found]
    judge_updates(experiment, found)
    judge_errors(experiment, found, errors)
    experiment.numbers(chains=found, foreseen=theory, floor=floor)
    smooth = np.linspace(0.01, 0.99, 99)
    lines = [foreseen(smooth, **field, batch=batch, epsilon=epsilon) for epsilon in EPSILONS]
    experiment.finish(plot(found, errors, smooth, lines))


def judge_updates(experiment: Experiment, found: list[dict]) -> None:
    """Evaluate figure 14, which shows the updates against their exact probability."""
    halves = np.array([_halves(each) for each in found[1:]])  # (epsilons, small and large p, excess and its error)
    towards, error = np.column_stack([halves[:, 0, 0], -halves[:, 1, 0]]), 2.0 * halves[:, :, 1]
    experiment.result(
        "gibbs, direction",
        towards=(towards - error).ravel(),
        against=(-towards - error).ravel(),
        text=" to ".join(f"{halves[k][0][0]:+.3f} {halves[k][1][0]:+.3f}" for k in (0, -1)),
    )
    first, e = np.abs(np.array(found[1]["excess"], dtype=float)), np.array(found[1]["error"], dtype=float)
    worst = int(np.nanargmax(first))
    value, reach = float(first[worst]), 2.0 * float(e[worst])
    experiment.result("gibbs, largest", Found(value, value - reach, value + reach))


def judge_errors(experiment: Experiment, found: list[dict], errors: list[Bands]) -> None:
    """Evaluate figure 15, which shows the errors of joint probabilities against the costs."""
    seconds = [each["seconds"] for each in found]
    common = max(seconds) * errors[0].against[0] / errors[0].against[-1]
    at_first = {
        "by terms": [each.replicates[:, 0] for each in errors],
        "by time": [_at(each, common / took) for each, took in zip(errors, seconds, strict=True)],
    }
    for by, values in at_first.items():
        exact, *others = (Found.few(each) for each in values)
        experiment.result(
            f"gibbs, at first, {by}",
            exact_low=exact.low,
            exact_high=exact.high,
            other_low=[each.low for each in others],
            other_high=[each.high for each in others],
            text=f"exact {exact.value:.2g}; epsilon 0.01 to 0.25: {_listed(each.value for each in others)}",
        )
    shares = [each["bias_share"] for each in found]
    text = "bias " + ", ".join(f"{share:.0%}" for share in shares)
    experiment.result("gibbs, floor", least=min(shares[2:]), text=text)
    overtakes = [crossing(errors[0], each) for each in errors[1:]]
    text = "after sweeps: " + ", ".join(_when(each) for each in overtakes)
    experiment.result("gibbs, overtakes", least=min(each.leads for each in overtakes), text=text)


def _halves(each: dict) -> list[tuple[float, float]]:
    """Return the mean of frequency - p and its standard error for p below one half and for p above one half."""
    updates, below = np.array(each["updates"], dtype=float), EDGES[1:] < 0.5 + 1e-9
    excess, error = (np.array(each[name], dtype=float) for name in ("excess", "error"))
    found = []
    for half in (below, ~below):
        n = updates[half]
        found.append((np.nansum(n * excess[half]) / n.sum(), math.sqrt(np.nansum((n * error[half]) ** 2)) / n.sum()))
    return found


def _at(found: Bands, share: float) -> np.ndarray:
    """Interpolate the logarithm of the error of each chain at a fraction of the budget."""
    grid, place = np.log(found.against), np.log(share * found.against[-1])
    return np.array([np.exp(np.interp(place, grid, np.log(row))) for row in found.replicates])


def _when(found: Any) -> str:
    if math.isfinite(found.at):
        return f"{found.at:.0f}"
    return "from the start" if found.leads > 0.5 else "not yet"


def _listed(values: Any) -> str:
    return ", ".join(f"{value:.2g}" for value in values)


def plot(found: list[dict], errors: list[Bands], p: np.ndarray, lines: list[np.ndarray]) -> Figure:
    """Plot figure 14, with and without the diagonal, and figure 15, against terms and against time."""
    fig, ((share, excess), (by_terms, by_time)) = figure(2, 2, height=6.8)
    colours = ("#000000", COLOURS[5], *COLOURS[:4], COLOURS[6])
    for color, epsilon, each, judged, line in zip(colours, EPSILONS, found, errors, lines, strict=True):
        label = f"ε = {epsilon:g}" if epsilon else "exact"
        at, above = (np.array(each[name], dtype=float) for name in ("p", "excess"))
        share.plot(at, at + above, ":" if not epsilon else "-", color=color)
        excess.plot(p, line, color=color, linewidth=1.0)
        excess.plot(at, above, "o", color=color, markersize=3.5, label=label)
        by_terms.plot(judged.against, judged.median, "o-", color=color, markersize=3.5)
        by_time.plot(each["seconds"] * judged.against / judged.against[-1], judged.median, "o-", color=color, ms=3.5)
    share.set(xlabel="exact probability p", title="frequency of ones")
    excess.set(xlabel="exact probability p", title="frequency - p (lines: theory)")
    by_terms.set(xlabel="terms read, in exact sweeps", ylabel="L1 error, sets of five")
    by_time.set(xlabel="CPU seconds per chain")
    for ax in (by_terms, by_time):
        ax.set(xscale="log", yscale="log")
        ax.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 3.0, 5.0)))
        ax.yaxis.set_major_formatter("{x:g}")
        ax.yaxis.set_minor_formatter(NullFormatter())
    fig.legend(*excess.get_legend_handles_labels(), loc="outside lower center", ncols=4)
    return fig


if __name__ == "__main__":
    main_of(main)
