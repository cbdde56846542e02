"""Compare the convergence rates of independent, Sobol and herding sequences.

    python examples/papers/stein_rates.py [--full] [--jobs N] [-o DIR]

The script computes the complete graph Stein discrepancy of the first n points of three sequences on [0, 1] for the
uniform target, for n = 1 to 200. The convergence rate is the slope of a line in the log-log plot. Independent draws
converge like n^-1/2, and the Sobol' sequence converges like log(n)/n. For kernel herding, only n^-1/2 is proved, but
the paper found a faster rate.

For the independent draws, the line is fitted to the medians, as in the paper. It is also fitted to the points of all
sequences, as in the authors' code, which gives the mean of the slopes. For the Sobol' sequence, which starts with 0,
the line is fitted to n = 1, 2, 4, ..., 128, as in the code. The table also contains the slope of the flatter line for
all n. The script reports these rates, the rates of the paper, and the rates for the classical Stein discrepancy, which
does not require a graph.

References
----------
J. Gorham and L. Mackey (2015), "Measuring sample quality with Stein's method", section 5.5 and figure 5.
"""

from __future__ import annotations

import numpy as np
from _bands import Bands, bands
from _frame import COLOURS, Experiment, Found, figure, main_of
from _pictures import plot_bands
from matplotlib.figure import Figure
from scipy.stats import linregress, t

import steinkit as sk
from steinkit.samplers import herding, iid, sobol

SIZE = 200
PAPER_SEEDS = 50
POWERS = [2**k for k in range(8)]
SEQUENCES = {"iid": "i.i.d.", "sobol": "Sobol", "herding": "herding"}
MEASURES = {"graph": "complete graph", "classical": "classical"}


def discrepancies(sequence: str, seed: int, measure: str, sizes: list[int]) -> np.ndarray:
    """Compute the measure of the first n points of a sequence for each size n, shape (k,)."""
    target = sk.targets.Uniform([0.0], [1.0])
    if sequence == "iid":
        points = iid(target, draws=SIZE, seed=[seed]).points[0]
    elif sequence == "sobol":
        points = np.vstack([[[0.0]], sobol(target, draws=SIZE - 1).points[0]])
    else:
        points = herding(target, draws=SIZE).points[0]
    return sk.curve(sk.Sample(points), target, n=sizes, measure=measure, units="raw").values


def main() -> None:
    experiment = Experiment(__file__, __doc__, shows="Gorham and Mackey (2015), figure 5")
    every = list(range(1, SIZE + 1))
    seeds, few = (PAPER_SEEDS, every) if experiment.full else (2, sorted({*POWERS, SIZE}))
    sizes = {"graph": every, "classical": few}
    experiment.settings(target="Unif(0, 1)", stein_factors=[1, 1, 1], sizes=sizes, seeds=seeds)
    cells = [
        {"sequence": sequence, "seed": seed, "measure": measure, "sizes": sizes[measure]}
        for measure in MEASURES
        for sequence in SEQUENCES
        for seed in range(seeds if sequence == "iid" else 1)
    ]
    values = experiment.cells(discrepancies, cells)
    found = {
        (measure, sequence): bands(
            [v for v, c in zip(values, cells, strict=True) if (c["measure"], c["sequence"]) == (measure, sequence)],
            sizes[measure],
        )
        for measure in MEASURES
        for sequence in SEQUENCES
    }
    for (measure, sequence), band in found.items():
        experiment.numbers(**{f"{measure}_{sequence}": band.median})
        if measure == "classical":
            continue
        if sequence == "iid":
            experiment.result("rate, iid", straight(band), protocol="slope of medians")
            experiment.result("rate, iid", Found.mean(band.single_rates()), protocol="their code")
        elif sequence == "herding":
            experiment.result("rate, herding", straight(band))
        else:
            powers = np.isin(band.against, POWERS)
            at_powers = bands(band.replicates[:, powers], band.against[powers])
            experiment.result("rate, sobol", straight(at_powers), protocol="powers of two")
            experiment.result("rate, sobol", straight(band), protocol="all n")
    experiment.finish(plot(found))


def straight(band: Bands) -> Found:
    """Return the rate of the medians, with a bootstrap interval.

    For a single sequence, the interval is computed from the fit of the line.
    """
    if len(band.replicates) > 1:
        rate = band.rate()
        return Found(rate.rate, *rate.rate_interval)
    line = linregress(np.log(band.against), np.log(band.median))
    reach = t.ppf(0.975, len(band.against) - 2) * line.stderr
    return Found(line.slope, line.slope - reach, line.slope + reach)


def plot(found: dict[tuple[str, str], Bands]) -> Figure:
    """Plot a line per sequence, with the band of the independent draws.

    Circles show the classical Stein discrepancy.
    """
    fig, ((ax,),) = figure(height=4.6)
    for color, sequence in zip(COLOURS, SEQUENCES, strict=False):
        graph, classical = found["graph", sequence], found["classical", sequence]
        plot_bands(graph, ax, label=SEQUENCES[sequence], color=color)
        some = np.isin(classical.against, [*POWERS, SIZE])
        ax.plot(classical.against[some], classical.median[some], "o", color=color, markersize=5, fillstyle="none")
    ax.plot([], [], "o", color="0.3", markersize=5, fillstyle="none", label="classical discrepancy")
    ax.set(xlabel="number of points n", ylabel="Stein discrepancy", title="Unif(0, 1); band: 80% of i.i.d. sequences")
    ax.legend()
    return fig


if __name__ == "__main__":
    main_of(main)
