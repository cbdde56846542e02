"""Measure how often exact minibatch tests of Metropolis decisions read all the data.

    python examples/papers/barker_worst_case.py [--full] [--jobs N] [-o DIR]

Lemma 1 of the paper concerns the mean of normal data, with a flat prior and proposals that are as wide as the
posterior. It states that the austerity test and the concentration test read all N data points with a probability of at
least c, where c does not depend on N. The proof gives c = 0.0085. In this script, states are drawn from the posterior,
moves are drawn from the proposal, and each move is tested once.

The concentration test nearly always reads all the data. The austerity test reads about half of the data on average. The
lemma refers to the fraction of decisions that read *all* the data. For the austerity test, if the batch size m does not
grow with N, this fraction decreases like (m / N)^1/2 because the standard error of the mean at the penultimate stage is
smaller by this factor. The proof omits this factor. The lemma's conclusion that the data usage is large for every N
holds, but its statement does not. If m is proportional to N, the lemma holds.

Barker's minibatch test has the same limitation at temperature 1. Few of its decisions read all the data, but for moves
of this size, it must read the fraction z^2 / (1 + z^2) of the data, where z is a standard normal random number. This
fraction is one third on average. The batches of this test are small if the temperature is high or if the moves are
short.

References
----------
D. Seita, X. Pan, H. Chen and J. Canny (2017), "An efficient minibatch acceptance test for Metropolis-Hastings", UAI,
section 2.1, lemma 1 and its proof.
"""

from __future__ import annotations

import math

import numpy as np
from _frame import COLOURS, Experiment, Found, figure, main_of
from matplotlib.figure import Figure
from scipy.special import ndtr

import steinkit as sk
from steinkit.samplers import AusterityTest, ConcentrationTest, MinibatchBarkerTest, RandomWalk, metropolis_hastings

NAMES = {"austerity": "austerity", "concentration": "concentration", "barker": "Barker, minibatch"}
CONSTANT = 0.0085
MEAN = 0.5
PROPORTIONAL = "austerity, m = N / 100"


def data_read(test: str, size: int, moves: int, batch: int = 100) -> np.ndarray:
    """Return the fraction of the data that each decision reads, (moves,)."""
    target = sk.targets.GaussianMean.simulate(size, MEAN, prior_variance=np.inf, rng=1)
    tests = {
        "austerity": lambda: AusterityTest(0.005, batch),
        "concentration": lambda: ConcentrationTest(0.01, 100, factor=1.5),
        "barker": lambda: MinibatchBarkerTest(100),
    }
    found = metropolis_hastings(
        target,
        proposal=RandomWalk(1.0 / math.sqrt(size)),
        test=tests[test](),
        chains=moves,
        draws=1,
        start=target.sample(moves, rng=2),
    )
    return found.batch_sizes[:, 0] / size


def main() -> None:
    experiment = Experiment(__file__, __doc__, shows="Seita et al. (2017), lemma 1; Korattikara et al. (2016)")
    sizes, moves = ([1000, 10_000, 100_000, 1_000_000], 2000) if experiment.full else ([1000, 10_000], 1000)
    experiment.settings(sizes=sizes, moves=moves, austerity={"epsilon": 0.005, "batch": 100}, temperature=1)
    cells = [{"test": test, "size": size, "moves": moves} for test in NAMES for size in sizes]
    larger = [size for size in sizes if size >= 10_000]
    read = {
        (cell["test"], cell["size"]): np.array(shares)
        for cell, shares in zip(cells, experiment.cells(data_read, cells), strict=True)
    }
    cells = [{"test": "austerity", "size": size, "moves": moves, "batch": size // 100} for size in larger]
    for size, shares in zip(larger, experiment.cells(data_read, cells), strict=True):
        read[PROPORTIONAL, size] = np.array(shares)
    events = events_of_the_proof()
    experiment.result("lemma 1, constant", math.prod(events))
    for k, probability in enumerate(events):
        experiment.result(f"lemma 1, p{k}", probability, text=f"{probability:.5f}")
    protocols = {"austerity": "m = 100", PROPORTIONAL: "m = N / 100", "concentration": ""}
    for test, protocol in protocols.items():
        everything = {size: Found.mean(shares == 1.0) for (each, size), shares in read.items() if each == test}
        shares = [found.value for found in everything.values()]
        slope = slope_of(everything) if len(everything) > 1 else Found.exactly(0.0)
        experiment.result(
            f"lemma 1, {test.split(',')[0]}",
            protocol=protocol,
            shares=shares,
            slope_high=slope.high,
            text=f"{shares[0]:.3g} to {shares[-1]:.3g}: like N^{slope.value:.2f}",
        )
    used = {test: Found.mean(read[test, sizes[-1]]) for test in ("concentration", "austerity")}
    more = used["concentration"].low / used["austerity"].high
    text = f"{used['concentration'].value:.2f} of the data; austerity {used['austerity'].value:.2f}"
    experiment.result("concentration reads more", ratio_low=more, text=text)
    experiment.numbers(
        **{
            f"{test.replace(' ', '_')}_{size}": np.quantile(shares, np.linspace(0, 1, 201))
            for (test, size), shares in read.items()
        }
    )
    experiment.finish(plot(read, sizes))


def events_of_the_proof() -> tuple[float, float, float]:
    """Return the probabilities of the three events of the proof."""
    step = float(ndtr(1.0) - ndtr(0.5))
    return 2.0 * step, step, math.exp(-1.125) - math.exp(-2.0)


def slope_of(shares: dict[int, Found]) -> Found:
    """Return the exponent of a power law between the smallest and the largest N, with two standard errors."""
    (small, first), *_, (large, last) = shares.items()
    span = math.log(large / small)
    value = math.log(last.value / first.value) / span
    reach = math.hypot(*((each.high - each.low) / (2.0 * each.value) for each in (first, last))) / span
    return Found(value, value - reach, value + reach)


def plot(read: dict[tuple[str, int], np.ndarray], sizes: list[int]) -> Figure:
    """Plot the tail of the data usage at the largest N, and the frequency of reading all the data against N."""
    fig, ((tail, everything),) = figure(1, 2, height=4.0)
    for color, (test, name) in zip(COLOURS, NAMES.items(), strict=False):
        ordered = np.sort(read[test, sizes[-1]])
        tail.step(ordered, 1.0 - np.arange(len(ordered)) / len(ordered), where="post", color=color, label=name)
        everything.plot(sizes, [np.mean(read[test, size] == 1.0) for size in sizes], "o-", color=color)
    tail.set(xlabel="share of the data", title=f"reading so much or more, N = {sizes[-1]:,}", ylim=(0, 1))
    tail.title.set_fontsize(10)
    at = sorted(size for test, size in read if test == PROPORTIONAL)
    everything.plot(at, [np.mean(read[PROPORTIONAL, size] == 1.0) for size in at], "s--", color=COLOURS[0])
    line = everything.axhline(CONSTANT, color="0.4", linestyle="--", label="lemma 1: c")
    everything.set(xscale="log", yscale="log", xlabel="number of data N", title="reading all; dashed: m = N / 100")
    everything.set_ylim(bottom=1e-3)
    tests = tail.get_legend_handles_labels()[0]
    fig.legend(handles=[*tests, line], loc="outside lower center", ncols=4, columnspacing=1.0)
    return fig


if __name__ == "__main__":
    main_of(main)
