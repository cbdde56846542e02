"""Measure the risk of independent component analysis with approximate acceptance tests.

    python examples/papers/austerity_ica.py [--data FILE] [--full] [--jobs N] [-o DIR]

The task is to separate four mixed sources. Two of them are normal. After whitening, the unmixing matrix is orthogonal,
and random walks on the orthogonal matrices draw from its posterior. The austerity test reads 500 data points at a time
until its decision is certain, up to an error of epsilon per stage. The exact test has epsilon = 0. The risk is the mean
squared error of the mean Amari distance to the true matrix, averaged over ten chains. Exact chains read the data
contiguously, which is three to six times faster, and have six times the budget.

The data do not determine the rotation of the two normal sources. The angle of this rotation is nearly unrestricted and
dominates the Amari distance. The random walk explores this angle slowly because its step size is suitable for the other
five planes. The long exact reference runs therefore use larger steps for this plane. They sample from the same
posterior.

Chains start either at draws of the long runs, so that only the tests differ, or at the identity. FILE is a WAV file
with two channels, music and noise, which are mixed with two normal sources. Without FILE, these two sources are
simulated.

The script reports the risk, its components, and the data usage of the tests. The risk is given as a function of the
data read and of the CPU time. With --full, the script also reports the data usage for 1.95 million data points, as in
the paper.

References
----------
A. Korattikara, Y. Chen and M. Welling (2014), "Austerity in MCMC land: cutting the Metropolis-Hastings budget",
section 6.2 and figure 3; (2016), "Sequential tests for large-scale learning", section 4.2.2 and figure 6.
"""

from __future__ import annotations

import functools
import time
from dataclasses import replace
from typing import Any

import numpy as np
from _frame import COLOURS, Experiment, Found, figure, main_of
from _mixed_sources import mixed_sources, true_unmixing
from _risks import claim_lowest, compared, draw
from _running_means import LongRunMean, Risk, RunningMeans, long_run_mean, risk, running_means
from applications.ica import IndependentComponents, StiefelWalk, amari_distance, orthogonal_mh
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter

from steinkit.samplers import AusterityTest, CustomProposal, MetropolisTest, metropolis_hastings

EPSILONS = (0.0, 0.01, 0.05, 0.1, 0.2)
CHAINS, BATCH, NORMAL = 10, 500, 2
STEP = 1.9  # step size in units of N^-1/2, for which about half of the moves are accepted
LONGER = 6  # ratio of the amounts of data that exact chains and other chains read in about the same time
NORMAL_STEP = 3.5  # step size in units of N^-1/4, like the spread of the angle between the normal sources
PAPER_SIZE = 1_950_000


@functools.cache
def problem(data: str, size: int) -> tuple[IndependentComponents, np.ndarray]:
    """Return the posterior, and the rows of the orthogonal matrix nearest to the true matrix, shape (16,)."""
    posterior = mixed_sources(size, NORMAL, data)
    left, _, right = np.linalg.svd(true_unmixing() @ np.linalg.inv(posterior.whitening))
    return posterior, (left @ right).ravel()


def distances(posterior: IndependentComponents, points: np.ndarray) -> np.ndarray:
    """Compute the Amari distance from each draw to the true matrix."""
    return amari_distance(posterior.unmixing_matrices(points), true_unmixing())


def long_runs(data: str, size: int, draws: int) -> dict[str, Any]:
    """Estimate the mean Amari distance by exact chains with larger steps in the plane of the normal sources."""
    posterior, true = problem(data, size)
    steps = np.full(6, STEP / np.sqrt(size))  # planes (1, 2), (1, 3), ..., (3, 4) of the sources
    steps[-1] = NORMAL_STEP * size**-0.25
    walk = StiefelWalk(1.0)
    proposal = CustomProposal(lambda states, noise: walk.propose(states, steps * noise, None)[0], width=6)
    found = metropolis_hastings(
        posterior,
        proposal=proposal,
        test=MetropolisTest(),
        chains=CHAINS,
        draws=draws,
        burn_in=draws // 4,
        seed=100,
        start=true,
    )
    truth = long_run_mean(found.to_sample(), lambda p: distances(posterior, p))
    return {
        "value": truth.value,
        "error": truth.standard_error,
        "accepted": found.acceptance,
        "ends": found.points[:, -1],
    }


def walks(data: str, size: int, epsilon: float, steps: int, start: Any, shares: list[float]) -> dict[str, Any]:
    """Return the running means of ten chains at fractions of a budget of exact steps, and their costs."""
    posterior, _ = problem(data, size)
    options: dict[str, Any] = {"proposal_scale": STEP / np.sqrt(size), "start": np.array(start), "chains": CHAINS}
    options["test"] = AusterityTest(epsilon, BATCH) if epsilon else MetropolisTest()
    orthogonal_mh(posterior, **options, draws=1)  # compiled before the time is measured
    began, budget = time.process_time(), steps * size
    found = orthogonal_mh(posterior, **options, seed=1, budget=budget)
    seconds = (time.process_time() - began) / CHAINS
    means = running_means(
        found.to_sample(), lambda p: distances(posterior, p), budget=[share * budget for share in shares]
    )
    return {
        "against": means.against,
        "means": means.means[:, :, 0],
        "seconds": seconds,
        "draws": means.draws,
        "read": found.mean_batch_size / size if epsilon else [1.0],
        "accepted": found.acceptance,
    }


def at_paper_size(data: str, epsilon: float, steps: int) -> dict[str, Any]:
    """Return the data usage and seconds per step of two short chains for the paper's number of data points."""
    posterior, true = problem(data, PAPER_SIZE)
    test = AusterityTest(epsilon, BATCH) if epsilon else MetropolisTest()
    scale, began = STEP / np.sqrt(PAPER_SIZE), time.process_time()
    found = orthogonal_mh(
        posterior, proposal_scale=scale, test=test, chains=2, budget=steps * PAPER_SIZE, start=true, seed=2
    )
    seconds = (time.process_time() - began) / found.present.sum()
    read = found.batch_sizes[found.present] / PAPER_SIZE if epsilon else np.ones(1)
    return {"read": read.mean(), "seconds": seconds, "draws": found.present.sum()}


def main() -> None:
    experiment = Experiment(
        __file__,
        __doc__,
        shows="Korattikara et al. (2014; 2016), independent component analysis",
        data="a WAV file of two channels, music and noise",
    )
    size, steps, draws = (100_000, 400, 1000) if experiment.full else (2000, 50, 100)
    data = "" if experiment.data is None else str(experiment.data)
    shares = [float(share) for share in np.geomspace(0.05, 1.0, 9)]
    experiment.settings(data=size, normal_sources=NORMAL, batch=BATCH, chains=CHAINS)
    experiment.settings(exact_steps=LONGER * steps, long_draws=CHAINS * draws)
    mixed = {"data": data, "size": size}
    truth = experiment.cells(long_runs, [mixed | {"draws": draws}])[0]
    identity = np.tile(np.eye(4).ravel(), (CHAINS, 1)).tolist()
    known = LongRunMean(np.array(truth["value"]), np.array(truth["error"]))
    found, risks = {}, {}
    for protocol, start in {"from the posterior": truth["ends"], "from the identity": identity}.items():
        cells = [
            mixed | {"epsilon": e, "start": start, "shares": shares, "steps": steps if e else LONGER * steps}
            for e in EPSILONS
        ]
        found[protocol] = experiment.cells(walks, cells)
        risks[protocol] = [risk(_running(each), known) for each in found[protocol]]
        claim_risks(experiment, protocol, found[protocol], risks[protocol])
    large = experiment.cells(
        at_paper_size, [{"data": data, "epsilon": e, "steps": 10} for e in EPSILONS * experiment.full]
    )
    claim_parts(experiment, risks["from the posterior"])
    if large:
        read = [100.0 * each["read"] for each in large]
        text = ", ".join(f"{share:.3g}" for share in read) + "%"
        experiment.result("ica, data read", read[EPSILONS.index(0.1)], text=text)
    experiment.numbers(epsilons=EPSILONS, truth=truth, walks=found, paper_size=large)
    experiment.finish(plot(found, risks, large, size))


def claim_risks(experiment: Experiment, protocol: str, found: list[dict], risks: list[Risk]) -> None:
    """Report the epsilon with the lowest risk for equal data and for equal time."""
    seconds = [each["seconds"] for each in found]
    claims = {by: f"ica, by {by}" for by in ("data", "time")}
    claim_lowest(experiment, EPSILONS, risks, seconds, claims, protocol=protocol)
    by_time = compared(risks, seconds)["time"]
    text = ", ".join(f"{value:.2g}" for value, _, _ in by_time)
    value, low, high = by_time.pop(EPSILONS.index(0.1))
    lows, highs = ([each[k] for each in by_time] for k in (1, 2))
    here = Found(value, low, high)
    experiment.result("ica, epsilon", here, protocol=protocol, other_low=lows, other_high=highs, text=text)


def claim_parts(experiment: Experiment, risks: list[Risk]) -> None:
    """Report whether the bias or the variance dominates each final risk by more than two standard errors."""
    bias, error, spread = np.transpose([_parts(each) for each in risks])
    more_variance, more_bias = spread - bias > error, bias - spread > error
    words = np.where(more_bias, "bias", np.where(more_variance, "variance", "either"))
    experiment.result(
        "ica, parts",
        protocol="from the posterior",
        variance_larger=more_variance[:-1],
        bias_larger=bool(more_bias[-1]),
        bias_elsewhere=more_bias[:-1],
        variance_at_last=bool(more_variance[-1]),
        text=", ".join(words),
    )


def _running(each: dict) -> RunningMeans:
    means = np.array(each["means"], dtype=float)
    return RunningMeans(np.array(each["against"]), means[:, :, None], np.array(each["draws"]))


def _parts(each: Risk) -> tuple[float, float, float]:
    """Return the final bias with two standard errors, and the standard deviation of the means of the chains."""
    variance = float(each.variance[-1])
    square = max(float(each.squared_bias[-1]) + variance / CHAINS, 0.0)  # unbiased estimate of the squared mean error
    return float(np.sqrt(square)), 2.0 * float(np.sqrt(variance / CHAINS + each.floor)), float(np.sqrt(variance))


def plot(by_start: dict, risks_by_start: dict, large: list[dict], size: int) -> Figure:
    """Plot the risk, its final components, and the data usage of the tests.

    The risk is plotted against the data read and against time.
    """
    fig, axes = figure(3, 2, height=9.4)
    for (by_data, by_time), (protocol, each) in zip(axes, risks_by_start.items(), strict=False):
        plain, seconds = [replace(one, floor=0.0) for one in each], [one["seconds"] for one in by_start[protocol]]
        draw(by_data, by_time, plain, seconds, [f"ε = {epsilon:g}" for epsilon in EPSILONS], ("#000000", *COLOURS[:4]))
        by_data.set_title(f"risk {protocol}")
    (by_data, _), (parts, read) = axes[0], axes[2]
    found, risks = by_start["from the posterior"], risks_by_start["from the posterior"]
    bias, error, spread = np.transpose([_parts(each) for each in risks])
    places = np.arange(len(EPSILONS))
    parts.errorbar(places - 0.08, bias, yerr=error, fmt="o", color=COLOURS[1], label="|bias|, ± 2 s.e.")
    parts.plot(places + 0.08, spread, "s", color=COLOURS[0], label="sd of a chain")
    parts.axhline(0.0, color="0.4", linewidth=1.0)
    parts.set(xlabel="ε", title="components of the risk", ylim=(None, 1.6 * max((bias + error).max(), spread.max())))
    read.plot(places, [100.0 * np.mean(each["read"]) for each in found], "o-", label=f"N = {size:,}")
    if large:
        read.plot(places, [100.0 * each["read"] for each in large], "s--", label=f"N = {PAPER_SIZE:,}")
    read.set(xlabel="ε", title="% of data per test", yscale="log")
    read.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    for ax in (parts, read):
        ax.set_xticks(places, [f"{epsilon:g}" for epsilon in EPSILONS])
    read.yaxis.set_major_formatter("{x:g}")
    read.yaxis.set_minor_formatter(NullFormatter())
    fig.legend(*by_data.get_legend_handles_labels(), loc="outside upper center", ncols=5, columnspacing=1.2)
    for ax in (parts, read):
        ax.legend()
    return fig


if __name__ == "__main__":
    main_of(main)
