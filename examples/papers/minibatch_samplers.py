"""Compare minibatch samplers at equal cost.

    python examples/papers/minibatch_samplers.py [--full] [--data FILE] [--jobs N] [-o DIR]

The script compares seven samplers: exact random-walk Metropolis; random walks with the austerity test, with Barker's
minibatch test and with the concentration test; stochastic gradient Langevin dynamics (SGLD); SGLD with control variates
at the mode; and SGLD that is corrected by an austerity test. They sample four posteriors: that of a mixture (10^4 data
points at temperature 100), those of two logistic regressions for MNIST 7 v 9 on 12 and on 50 principal components
(12,214 data points), and that of a logistic regression for the 53 patients of `nodal`. Cost is measured in seconds and
in likelihood evaluations, which include the evaluations for gradients and for the search for the mode.

The plot shows the worth of the draws for each budget. The worth is the number of independent draws with the same kernel
Stein discrepancy, or with the same error of the means and squares of the coordinates, whichever number is smaller. Bias
and slow mixing both reduce the worth. Neither criterion alone is sufficient. For example, 500 exact draws in fifty
dimensions with one coordinate that is 2.8 times too wide are worth about 420 draws by the kernel and 4 by the moments.
The moments, however, do not detect errors in the shape. Crosses mark draws that the verdict rejects. The verdict does
not use other draws for comparison. A table lists the bias that `estimate_bias` computes from the scores, in posterior
standard deviations, and the true errors of the means and standard deviations. Neither the samplers nor `estimate_bias`
use the true errors.

The concentration test requires a bound. The cost of computing this bound is included in the seconds but not in the
evaluations.

Settings are selected in the same way for all samplers. Each sampler has six trials per posterior (two in the small run,
which omits the posterior with 50 components). The trials have different step sizes, different values of the sampler's
other option, the full budget, and separate seeds. For every budget, the setting with the largest worth is run again
with other seeds, and these results are shown. No sampler uses the scales of individual coordinates, all chains start at
approximate draws from the posterior, and the first tenth of a budget is discarded.

FILE contains MNIST's training images, or is an .npz file with the arrays X_train, (N, 784) bytes, and y_train, (N,), of
the sevens and nines. Without FILE, the script uses simulated data that have the same shape as the projected data.

References
----------
A. Korattikara, Y. Chen and M. Welling (2014), "Austerity in MCMC land: cutting the Metropolis-Hastings budget".
R. Bardenet, A. Doucet and C. Holmes (2014), "Towards scaling up Markov chain Monte Carlo".
D. Seita, X. Pan, H. Chen and J. Canny (2017), "An efficient minibatch acceptance test for Metropolis-Hastings".
M. Welling and Y. W. Teh (2011), "Bayesian learning via stochastic gradient Langevin dynamics".
J. Baker, P. Fearnhead, E. B. Fox and C. Nemeth (2019), "Control variates for stochastic gradient MCMC".
J. Gorham and L. Mackey (2015), "Measuring sample quality with Stein's method".
"""

from __future__ import annotations

import time
from itertools import product

import numpy as np
from _curves import evenly_spaced
from _four_posteriors import HOT, POSTERIORS, posterior, reference, target, truth
from _frame import COLOURS, Experiment, figure, main_of
from matplotlib.figure import Figure
from matplotlib.ticker import LogFormatterMathtext, NullFormatter

import steinkit as sk
from steinkit import samplers
from steinkit.errors import InputError
from steinkit.plots.axes import logarithmic

# Step sizes. Random-walk steps are in units of 2.38 sd / sqrt(d). Langevin steps are in units of sd^2 min(1, n T / N),
# for minibatches of n of the N data points at temperature T.
TRIALS = {
    "exact": [{"move": move} for move in (0.5, 1.0, 0.25, 0.75, 1.5, 2.0)],
    "austerity": [{"move": move, "epsilon": e} for e, move in product((0.05, 0.2), (0.5, 1.0, 0.25))],
    "barker": [{"move": move, "sigma": s} for s, move in product((1.0, 1.3), (0.3, 0.1, 1.0))],
    "concentration": [{"move": move, "epsilon": e} for e, move in product((0.1, 0.01), (0.5, 1.0, 0.25))],
    "sgld": [{"move": move} for move in (0.1, 0.3, 0.03, 1.0, 3.0, 0.01)],
    "controlled": [{"move": move} for move in (0.3, 1.0, 0.1, 3.0, 10.0, 0.03)],
    "corrected": [{"move": move, "epsilon": e} for e, move in product((0.05, 0.2), (0.3, 1.0, 0.1))],
}
NAMES = {
    "exact": "exact MH",
    "austerity": "austerity",
    "barker": "Barker",
    "concentration": "concentration",
    "sgld": "SGLD",
    "controlled": "SGLD, control variates",
    "corrected": "corrected SGLD",
}
LEVEL = 0.01
BURN_IN = 0.1


def run(
    name: str, data: str | None, sampler: str, setting: int, budgets: list, kept: int, seeds: list
) -> tuple[sk.samplers.Draws, float]:
    """Run vectorized chains of one setting up to the largest budget.

    The results are the draws and the CPU seconds of the chains.
    """
    found, batch, known = posterior(name, data), POSTERIORS[name][1], truth(name, data)
    options = dict(TRIALS[sampler][setting])
    move, heat = options.pop("move"), HOT if name == "mixture" else 1.0
    walk = move * 2.38 * float(known["scale"]) / found.dim**0.5
    step = move * float(known["scale"]) ** 2 * min(1.0, batch * heat / found.size)
    least = {"exact": found.size, "controlled": 2 * batch, "corrected": 2 * batch}.get(
        sampler, batch
    )  # number of evaluations per step
    common = {
        "temperature": heat,
        "seed": seeds,
        "start": known["draws"][[seed % 1000 for seed in seeds]],
        "thin": max(1, budgets[0] // (least * 2 * kept)),
    }
    function, moves = {
        "exact": (samplers.rwmh, {"proposal_scale": walk}),
        "austerity": (samplers.approximate_mh, {"proposal_scale": walk, "batch_size": batch}),
        "barker": (samplers.barker_mh, {"proposal_scale": walk, "batch_size": batch}),
        "concentration": (samplers.subsampling_mh, {"proposal_scale": walk, "batch_size": batch}),
        "sgld": (samplers.sgld, {"step_size": step, "batch_size": batch}),
        "controlled": (samplers.sgld, {"step_size": step, "batch_size": batch, "control_variates": True}),
        "corrected": (samplers.corrected_sgld, {"step_size": step, "batch_size": batch}),
    }[sampler]
    function(found, **moves, **options, **common | {"thin": 1}, draws=1)  # compiled before the time is measured
    begun = time.process_time()
    draws = function(found, **moves, **options, **common, budget=budgets[-1])
    return draws, time.process_time() - begun


def worth_by_kernel(points: np.ndarray, name: str, data: str | None) -> float:
    """Return the number of independent draws with the same kernel Stein discrepancy, in posterior units."""
    found, known = target(name, data), truth(name, data)
    discrepancy = sk.kernel_stein_discrepancy(points, found, units=known["sd"]).value
    return float(known["kernel"] / discrepancy**2)


def worth_by_moments(errors: list[float]) -> float:
    """Return the number of independent draws with the same mean squared error of moments over chains."""
    return float(1.0 / np.mean(errors))


def moments_error(points: np.ndarray, name: str, data: str | None) -> float:
    """Return the mean squared error of the means and squares, averaged over the coordinates.

    Its expected value is 1 / n for n independent draws.
    """
    known = truth(name, data)
    z = (points - known["mean"]) / known["sd"]
    means, squares = z.mean(axis=0) ** 2, ((z**2).mean(axis=0) - 1.0) ** 2 / (known["kurtosis"] - 1.0)
    return float(0.5 * (means + squares).mean())


def judged(points: np.ndarray, name: str, data: str | None) -> dict:
    """Return the verdict, estimated and true bias, equivalent draws, and errors of moments of one chain."""
    known = truth(name, data)
    off, stretched = (points.mean(axis=0) - known["mean"]) / known["sd"], points.std(axis=0) / known["sd"]
    p, enough, bias, margin, reliable = 1.0, False, np.nan, np.nan, 0.0
    try:
        scores = target(name, data).score(points)  # a log density of 12,214 data points is too slow for many verdicts
        verdict = sk.verdict(points, scores=scores, level=LEVEL)
        p, enough = verdict.p, verdict.enough_draws
        estimate = sk.estimate_bias(points, target(name, data), method="regression")
        bias, margin, reliable = estimate.value, estimate.margin, estimate.reliable.mean()
    except InputError:  # a chain that rarely or never moved
        pass
    return {
        "kernel": worth_by_kernel(points, name, data),
        "moments": moments_error(points, name, data),
        "p": p,
        "enough": enough,
        "mean": np.abs(off).max(),
        "sd": np.abs(stretched - 1.0).max(),
        "bias": bias,
        "margin": margin,
        "reliable": reliable,
        "error": np.sqrt(np.mean(off**2 + np.log(stretched) ** 2)) if stretched.all() else np.nan,
    }


def parts(draws: sk.samplers.Draws, budgets: list, kept: int) -> list[list[np.ndarray]]:
    """Return evenly spaced draws of each chain within each budget, without its first tenth."""
    found = []
    for budget in budgets:
        chains = []
        for points, cost, there in zip(draws.points, draws.cost, draws.present, strict=True):
            late = there & (cost > BURN_IN * budget)
            if cost[there].min() > budget:  # the search for the mode has exceeded the budget
                continue
            sample = sk.Sample(points=points[late], cost=cost[late])[np.flatnonzero(cost[late] <= budget)]
            chains.append(evenly_spaced(sample, min(kept, len(sample))).points)
        found.append(chains)
    return found


def trial(name: str, data: str | None, sampler: str, setting: int, budgets: list, kept: int, seeds: list) -> list:
    """Return the smaller number of equivalent draws at each budget.

    It is 0 if a chain diverged or has no draws.
    """
    try:
        draws, _ = run(name, data, sampler, setting, budgets, kept, seeds)
        return [
            min(
                float(np.median([worth_by_kernel(points, name, data) for points in chains])),
                worth_by_moments([moments_error(points, name, data) for points in chains]),
            )
            if chains
            else 0.0
            for chains in parts(draws, budgets, kept)
        ]
    except InputError:
        return [0.0] * len(budgets)


def final(name: str, data: str | None, sampler: str, setting: int, budgets: list, kept: int, seeds: list) -> dict:
    """Return the results of one setting.

    The results are the equivalent draws at each budget, the seconds per evaluation, and the data per decision.
    """
    draws, seconds = run(name, data, sampler, setting, budgets, kept, seeds)
    read = draws.mean_batch_size
    return {
        "judged": [[judged(p, name, data) for p in chains] for chains in parts(draws, budgets, kept)],
        "seconds": seconds / float(np.where(draws.present, draws.cost, 0.0).max(axis=1).sum()),
        "read": None if read is None else float(np.mean(read)),
    }


def main() -> None:
    experiment = Experiment(
        __file__,
        __doc__,
        shows="Beyond the papers: samplers at equal cost",
        data="MNIST's training images, train-images-idx3-ubyte or .gz, with the other files next to it, or an .npz",
    )
    data = None if experiment.data is None else str(experiment.data)
    trials, decades, kept, chains = (6, 2, 500, 4) if experiment.full else (2, 1, 100, 2)
    names = [name for name in POSTERIORS if experiment.full or name in ("mixture", "nodal")]
    lowest = {name: POSTERIORS[name][2] // (1 if experiment.full else 4) for name in names}
    points = np.linspace(0, decades, 2 * decades + 1 if experiment.full else 2)
    budgets = {name: [int(smallest * 10**k) for k in points] for name, smallest in lowest.items()}
    experiment.settings(budgets=budgets, trials=trials, kept=kept, chains=chains, made_up=data is None, level=LEVEL)

    def cell(name: str, sampler: str, setting: int, seeds: range) -> dict:
        common = {"budgets": budgets[name], "kept": kept, "seeds": list(seeds)}
        return {"name": name, "data": data, "sampler": sampler, "setting": setting, **common}

    tried = [
        cell(name, sampler, setting, range(100, 102))
        for name, sampler in product(names, NAMES)
        for setting in range(trials)
    ]
    worths = experiment.cells(trial, tried)
    best: dict[tuple[str, str], list[int]] = {}
    for name, sampler in product(names, NAMES):
        mine = [k for k, each in enumerate(tried) if (each["name"], each["sampler"]) == (name, sampler)]
        values = np.array([worths[k] for k in mine], dtype=np.float64)
        values += 1e-9 * values.sum(axis=1, keepdims=True)  # budgets without draws use the best setting of the others
        best[name, sampler] = [tried[mine[k]]["setting"] for k in values.argmax(axis=0)]
    sizes = experiment.cells(reference, [{"name": name, "data": data} for name in names])
    wanted = [cell(*key, setting, range(chains)) for key, chosen in best.items() for setting in distinct(chosen)]
    runs = list(zip(wanted, experiment.cells(final, wanted), strict=True))
    results = {key: lines(key, chosen, runs, budgets[key[0]]) for key, chosen in best.items()}

    remarks(experiment, dict(zip(names, sizes, strict=True)), kept)
    experiment.numbers(results={f"{name}, {sampler}": found for (name, sampler), found in results.items()})
    experiment.numbers(names=NAMES | {name: POSTERIORS[name][0] for name in names})
    experiment.finish(plot(results, budgets, data is None))


def distinct(settings: list[int]) -> list[int]:
    """Return the distinct settings."""
    return [setting for k, setting in enumerate(settings) if setting not in settings[:k]]


def lines(key: tuple[str, str], chosen: list[int], runs: list, budgets: list[int]) -> dict[str, list]:
    """Return the results of the selected settings at each budget, or None."""
    found: dict[str, list] = {}
    for k, (setting, budget) in enumerate(zip(chosen, budgets, strict=True)):
        result = next(r for c, r in runs if (c["name"], c["sampler"]) == key and c["setting"] == setting)
        chains = result["judged"][k]

        def over(column: str, mean: bool = False, chains: list = chains) -> float:
            values = np.array([each[column] for each in chains], dtype=float)  # None becomes NaN
            if np.isnan(values).all():
                return np.nan
            return float(np.nanmean(values) if mean else np.nanmedian(values))

        judged, rejected = over("enough", True), [each["enough"] and each["p"] <= LEVEL for each in chains]
        worths = [min(each["kernel"], worth_by_moments([each["moments"]])) for each in chains] or [np.nan]
        moments = 1.0 / over("moments", True)
        values = {
            "setting": TRIALS[key[1]][setting],
            "worth": min(over("kernel"), moments),
            "moments": moments,
            "low": min(worths),
            "high": max(worths),
            "biased": True if sum(rejected) >= 0.5 * len(chains) > 0 else (False if judged >= 0.5 else None),
            "seconds": budget * result["seconds"],
            "read": result["read"],
        } | {each: over(each) for each in ("kernel", "mean", "sd", "bias", "margin", "error", "reliable")}
        for each, value in values.items():
            found.setdefault(each, []).append(value)
    return found


def remarks(experiment: Experiment, sizes: dict[str, float], kept: int) -> None:
    """Report the definition of equivalent draws, and the accuracy of the reference moments."""
    experiment.remark(
        "The worth of draws is the number of independent draws with the same error. It is the smaller of two numbers. "
        "The first is computed from the kernel Stein discrepancy in posterior standard deviations, as the median over "
        "the chains. The second is the inverse of the mean squared error of the means and squares of the coordinates, "
        "over coordinates and chains; with two coordinates and four chains it is about 15% too high. The worth is at "
        "most about the number of kept draws. Settings were selected by it, with other seeds. Bands are the range of "
        "the chains, each with the smaller of its two numbers. Seconds were measured on a processor with other load."
    )
    known = {POSTERIORS[name][0]: size for name, size in sizes.items() if name != "mixture"}
    experiment.remark(
        "Reference means and standard deviations are computed on a grid for the mixture, and from weighted Student's t "
        "draws for the other posteriors. The effective sizes of these draws are "
        + ", ".join(f"{size:,.0f} ({title})" for title, size in known.items())
        + f". Their means have standard errors of at most {1.0 / np.sqrt(min(known.values())):.2g} sd, and {kept} "
        + f"exact draws have a worth of at least {1.0 / (1.0 / kept + 1.0 / min(known.values())):.0f} by moments."
    )


def plot(results: dict, budgets: dict[str, list[int]], made_up: bool) -> Figure:
    """Plot the equivalent draws against evaluations and seconds, with one row per posterior."""
    fig, axes = figure(len(budgets), 2, height=2.5 * len(budgets) + 1.0, sharey="row")
    for row, (name, costs) in zip(axes, budgets.items(), strict=True):
        for color, sampler in zip(COLOURS, NAMES, strict=False):
            found = results[name, sampler]
            for ax, x in zip(row, (costs, found["seconds"]), strict=True):
                ax.plot(x, found["worth"], color=color, lw=2.0, label=NAMES[sampler])
                ax.fill_between(x, found["low"], found["high"], color=color, alpha=0.1, lw=0)
                for at, worth_there, biased in zip(x, found["worth"], found["biased"], strict=True):
                    shape = {"marker": "X", "ms": 9} if biased else {"marker": "o", "ms": 6}
                    fill = "white" if biased is None else color
                    ax.plot(at, worth_there, color=color, markerfacecolor=fill, ls="", **shape)
        title = POSTERIORS[name][0].replace("7 v 9", "simulated data" if made_up else "7 v 9")
        row[0].set(ylabel="draws' worth", title=title)
        row[1].set(title=title)
        for ax in row:
            logarithmic(ax, "xy")
            ax.xaxis.set_major_formatter(LogFormatterMathtext())
            ax.xaxis.set_minor_formatter(NullFormatter())
    axes[-1, 0].set_xlabel("likelihood evaluations")
    axes[-1, 1].set_xlabel("CPU seconds")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    fig.legend(handles, labels, loc="outside upper center", ncols=3)
    for shape, fill, label in (
        ("X", "0.3", "not from the posterior"),
        ("o", "0.3", "no bias found"),
        ("o", "white", "too few draws to judge"),
    ):
        axes[0, 0].plot([], [], ls="", marker=shape, color="0.3", markerfacecolor=fill, label=label)
    marks = axes[0, 0].get_legend_handles_labels()
    fig.legend(marks[0][-3:], marks[1][-3:], loc="outside lower center", ncols=3, columnspacing=0.8, handletextpad=0.1)
    return fig


if __name__ == "__main__":
    main_of(main)
