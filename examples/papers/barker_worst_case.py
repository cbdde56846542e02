"""Can a test that must be sure of Metropolis's decision be cheap? Not always: a share of its decisions reads all data.

    python examples/papers/barker_worst_case.py [--full] [--jobs N] [-o DIR]

Lemma 1: for the mean of normal data, with a flat prior and proposals as wide as the posterior, there is a probability c
that does not depend on the number of data N, with which the austerity and the concentration test read all of them; the
proof finds c = .0085. Here states are drawn from the posterior, moves from the proposal, and each is judged once.

You will see that the concentration test nearly always reads everything. The austerity test reads about half of the
data on average; but the share of its decisions that reads *all* of them, which the lemma is about, falls like
(m / N)^1/2 if the batches of m data do not grow with N: at its last look but one the mean is known but for a standard
error that is smaller by this factor. So the lemma's point stands, a large share of the data at every N, but not its
words; its proof leaves that factor out. Nor does Barker's minibatch test escape at temperature 1: few of its decisions
read everything, but for moves this wide it must read the share z^2 / (1 + z^2) of the data, z a standard normal number,
a third on average. Its batches are small where the temperature is high or the moves are short.

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
from scipy.special import erfc

import steinkit as sk
from steinkit.samplers import AusterityTest, ConcentrationTest, MinibatchBarkerTest, RandomWalk, metropolis_hastings

NAMES = {"austerity": "austerity", "concentration": "concentration", "barker": "Barker, minibatch"}
CONSTANT = 0.0085
MEAN = 0.5
FLAT = -0.1  # an exponent that cannot be told from a constant at these N: the concentration test's bound varies, too


def data_read(test: str, size: int, moves: int) -> np.ndarray:
    """Share of the data read by each of so many decisions, (moves,)."""
    target = sk.targets.GaussianMean.simulate(size, MEAN, prior_variance=np.inf, rng=1)
    tests = {
        "austerity": lambda: AusterityTest(0.005, 100),
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
    experiment = Experiment(__file__, __doc__, paper="Seita et al. (2017)", shows="lemma 1")
    sizes, moves = ([1000, 10_000, 100_000, 1_000_000], 2000) if experiment.full else ([1000, 10_000], 1000)
    experiment.settings(sizes=sizes, moves=moves, austerity={"epsilon": 0.005, "batch": 100}, temperature=1)
    cells = [{"test": test, "size": size, "moves": moves} for test in NAMES for size in sizes]
    read = {
        (cell["test"], cell["size"]): np.array(shares)
        for cell, shares in zip(cells, experiment.cells(data_read, cells), strict=True)
    }
    for test in ("austerity", "concentration"):
        everything = {size: Found.mean(read[test, size] == 1.0) for size in sizes}
        for size, found in everything.items():
            experiment.claim(
                f"{NAMES[test]}, N = {size:,}: share of decisions that read all",
                paper=f"at least {CONSTANT}",
                here=str(found),
                agrees=None if found.low < CONSTANT <= found.high else found.low >= CONSTANT,
            )
        slope = slope_of(everything)
        experiment.claim(
            f"{NAMES[test]}: that share, as N grows",
            paper="does not fall below a constant",
            here=f"goes like N^{slope}",
            agrees=slope.high > FLAT,
            remark=f"agrees if the exponent's interval reaches {FLAT}; "
            f"mean share of the data read at N = {sizes[-1]:,}: {Found.mean(read[test, sizes[-1]])}",
        )
    expected = 1.0 - math.sqrt(math.pi / 2.0) * math.exp(0.5) * erfc(math.sqrt(0.5))  # mean of z^2 / (1 + z^2)
    for size in sizes:
        mean = Found.mean(read["barker", size])
        experiment.claim(
            f"Barker, minibatch, N = {size:,}: mean share read",
            paper="not said",
            here=str(mean),
            agrees=None,
            remark=f"{expected:.3f} is what its rule s^2 < 1 asks for, before rounding up to whole batches and before "
            f"the variance is estimated; {np.mean(read['barker', size] == 1.0):.3f} of the decisions read all",
        )
    experiment.numbers(
        **{f"{test}_{size}": np.quantile(shares, np.linspace(0, 1, 201)) for (test, size), shares in read.items()}
    )
    experiment.finish(picture(read, sizes))


def slope_of(shares: dict[int, Found]) -> Found:
    """Exponent between the least and the largest N, with two standard errors of the two shares."""
    (small, first), *_, (large, last) = shares.items()
    span = math.log(large / small)
    value = math.log(last.value / first.value) / span
    reach = math.hypot(*((each.high - each.low) / (2.0 * each.value) for each in (first, last))) / span
    return Found(value, value - reach, value + reach)


def picture(read: dict[tuple[str, int], np.ndarray], sizes: list[int]) -> Figure:
    """Share of decisions that read such a share of the data or more, at the largest N; and that read all, against N."""
    fig, ((tail, everything),) = figure(1, 2, height=4.0)
    for color, (test, name) in zip(COLOURS, NAMES.items(), strict=False):
        ordered = np.sort(read[test, sizes[-1]])
        tail.step(ordered, 1.0 - np.arange(len(ordered)) / len(ordered), where="post", color=color, label=name)
        everything.plot(sizes, [np.mean(read[test, size] == 1.0) for size in sizes], "o-", color=color)
    tail.set(xlabel="share of the data", title=f"reading so much or more, N = {sizes[-1]:,}", ylim=(0, 1))
    tail.title.set_fontsize(10)
    line = everything.axhline(CONSTANT, color="0.4", linestyle="--", label="lemma 1: c")
    everything.set(xscale="log", yscale="log", xlabel="number of data N", title="reading all")
    everything.set_ylim(bottom=1e-3)
    tests = tail.get_legend_handles_labels()[0]
    fig.legend(handles=[*tests, line], loc="outside lower center", ncols=4, columnspacing=1.0)
    return fig


if __name__ == "__main__":
    main_of(main)
