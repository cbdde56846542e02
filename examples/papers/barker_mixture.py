"""How many data does a decision read when there are a million? Less than two hundred, if noise is put to use.

    python examples/papers/barker_mixture.py [--full] [--jobs N] [-o DIR]

Random walks explore the posterior of the mixture of Gaussians of Welling and Teh from a million data, at a temperature
that leaves it as wide as that of a hundred. Each move is judged by one of four tests: exact Metropolis; the austerity
test; the concentration test; Barker's test on a minibatch. The paper draws the points and the data read by a decision,
and tabulates their means over ten runs, and how well the points fill the bins of the posterior.

You will see that Barker's test reads as few data as the paper says, or fewer. The authors' published code leaves the
prior out, stops where the mean is five standard errors from zero, and aims at sigma = .9; its concentration test grows
by a factor of 2 where the paper says 1.5, has another bound than the one that is proved for samples without
replacement, and never reads all the data. It is run like this, too, and Barker's test with one change at a time.
The small run has 100,000 data and shorter chains.

References
----------
D. Seita, X. Pan, H. Chen and J. Canny (2017), "An efficient minibatch acceptance test for Metropolis-Hastings", UAI,
section 6.1, figures 1 and 2, table 1, and table 4 (appendix C.2.2); its first version (2016), table 2.
"""

from __future__ import annotations

import functools
import math

import numpy as np
from _frame import COLOURS, Experiment, Found, figure, main_of
from _published_code import PublishedBarkerTest, PublishedConcentrationTest
from matplotlib.figure import Figure
from scipy.special import gammaln

import steinkit as sk
from steinkit.samplers import (
    AusterityTest,
    ConcentrationTest,
    MetropolisTest,
    MinibatchBarkerTest,
    RandomWalk,
    metropolis_hastings,
)

AS_WIDE_AS, SCALE, START = 100, 0.15, (0.5, 0.0)
NAMES = {
    "exact": "exact Metropolis",
    "austerity": "austerity",
    "concentration": "concentration, gamma = 1.5",
    "concentration 2": "concentration, gamma = 2",
    "barker": "Barker, sigma = 1",
    "austerity theirs": "austerity, as in their code",
    "concentration theirs": "concentration, as in their code",
    "barker theirs": "Barker, as in their code",
    "barker 100": "Barker, as in their code, m = 100",
}
PUBLISHED = ("austerity theirs", "concentration theirs", "barker theirs", "barker 100")  # these leave the prior out
FLAT = 1e6  # a prior variance that is as good as none
SHOWN = ("exact", "austerity", "concentration", "barker")
TRIALS = 10  # of the paper
FEW = "their Monte Carlo error, two standard errors of ten runs"
# the bins of the authors' script: centres from (-1.5, -2.5), a tenth apart, what lies outside put into the outermost
BIN, LOW, BINS = 0.1, (-1.5, -2.5), (42, 57)
HIGH = (2.5, 3.0)
FINE = 4000  # cells that the data are counted in, to sum a smooth function over them


@functools.cache
def posterior(size: int, flat: bool = False) -> sk.Posterior:
    """Of simulated data, under the paper's prior or as good as none."""
    if flat:
        return sk.targets.MixturePosterior.simulate(size, prior_variances=(FLAT, FLAT), rng=1)
    return sk.targets.MixturePosterior.simulate(size, rng=1)


def acceptance_test(name: str) -> object:
    """One of the tests, with the paper's settings."""
    return {
        "exact": lambda: MetropolisTest(),
        "austerity": lambda: AusterityTest(0.005, 100),
        "austerity theirs": lambda: AusterityTest(0.005, 100),
        "concentration": lambda: ConcentrationTest(0.01, 50, factor=1.5),
        "concentration 2": lambda: ConcentrationTest(0.01, 50, factor=2.0),
        "concentration theirs": lambda: PublishedConcentrationTest(0.01, 50, factor=2.0),
        "barker": lambda: MinibatchBarkerTest(50),
        "barker 100": lambda: PublishedBarkerTest(100),
        "barker theirs": lambda: PublishedBarkerTest(50),
    }[name]()


@functools.cache
def bin_masses(size: int) -> np.ndarray:
    """Posterior probability of each bin, (42, 57): the mean of three by three points of it."""
    target = posterior(size)
    counts, edges = np.histogram(target.data[0], FINE)
    y = 0.5 * (edges[1:] + edges[:-1])
    offsets = np.array([-1.0, 0.0, 1.0]) * BIN / 3.0
    first, second = ((low + BIN * np.arange(n)[:, None] + offsets).ravel() for low, n in zip(LOW, BINS, strict=True))
    grid = np.stack(np.meshgrid(first, second, indexing="ij"), axis=-1).reshape(-1, 2)
    logs = np.concatenate([target.log_likelihood_many(block, y) @ counts for block in np.array_split(grid, 100)]) / (
        size / AS_WIDE_AS
    ) - 0.5 * (grid**2 / target.prior_variances).sum(axis=1)
    masses = np.exp(logs - logs.max()).reshape(BINS[0], 3, BINS[1], 3).sum(axis=(1, 3))
    return np.asarray(masses / masses.sum())


def fit_of(points: np.ndarray, masses: np.ndarray) -> tuple[float, float]:
    """Equation 23 and the chi-squared statistic of a chain's points, as the authors' script has them."""
    clipped = np.clip(points, LOW, HIGH)
    where = np.rint((clipped - LOW) / BIN).astype(int)
    seen = np.zeros(BINS)
    np.add.at(seen, (where[:, 0], where[:, 1]), 1.0)
    expected = len(points) * masses
    chi_squared = float(((seen - expected) ** 2 / expected).sum())
    observed, rounded = seen + 1.0, np.rint(expected) + 1.0
    return float((observed * np.log(rounded) - rounded - gammaln(observed + 1.0)).sum()), chi_squared


def trials(test: str, size: int, draws: int, chains: int) -> dict[str, object]:
    """Independent chains with a test: data read, points, fit to the posterior's bins."""
    found = metropolis_hastings(
        posterior(size, test in PUBLISHED),
        proposal=RandomWalk(SCALE),
        test=acceptance_test(test),
        temperature=size / AS_WIDE_AS,
        chains=chains,
        draws=draws,
        start=list(START),
    )
    fits = np.array([fit_of(points, bin_masses(size)) for points in found.points])
    read = np.sort(found.batch_sizes.ravel())
    return {
        "mean": found.mean_batch_size,
        "quantiles": read[np.linspace(0, len(read) - 1, 1000).round().astype(int)],
        "acceptance": found.acceptance,
        "poisson": fits[:, 0],
        "chi_squared": fits[:, 1],
        "points": found.points[0].round(4),
    }


def changed(size: int, draws: int, chains: int, flat: bool, sigma: float, early: bool) -> list[float]:
    """Mean data read by Barker's test with some of the changes of the authors' code, of each chain."""
    test = (PublishedBarkerTest if early else MinibatchBarkerTest)(50, sigma=sigma)
    found = metropolis_hastings(
        posterior(size, flat),
        proposal=RandomWalk(SCALE),
        test=test,
        temperature=size / AS_WIDE_AS,
        chains=chains,
        draws=draws,
        start=list(START),
    )
    return [float(each) for each in np.atleast_1d(found.batch_sizes.mean(axis=1))]


CHANGES = {
    "none": (False, 1.0, False),
    "no prior": (True, 1.0, False),
    "sigma = .9": (False, 0.9, False),
    "stops early": (False, 1.0, True),
    "all": (True, 0.9, True),
}


def main() -> None:
    experiment = Experiment(__file__, __doc__, paper="Seita et al. (2017)", shows="figures 1, 2, tables 1, 4")
    full = experiment.full
    size, draws, chains = (1_000_000, 3000, TRIALS) if full else (100_000, 300, 6)
    lengths = {"concentration 2": draws // 3, "concentration theirs": draws // 5}
    draws_of = {test: lengths.get(test, draws) for test in NAMES}
    experiment.settings(data=size, temperature=size / AS_WIDE_AS, proposal_sd=SCALE, draws=draws_of, trials=chains)
    cells = [{"test": test, "size": size, "draws": draws_of[test], "chains": chains} for test in NAMES]
    found = dict(zip(NAMES, experiment.cells(trials, cells), strict=True))
    shared = {"size": size, "draws": draws, "chains": chains}
    cells = [shared | dict(zip(("flat", "sigma", "early"), each, strict=True)) for each in CHANGES.values()]
    one_by_one = dict(zip(CHANGES, experiment.cells(changed, cells), strict=True))

    read_rows(experiment, found, one_by_one, draws_of, size)
    bin_rows(experiment, found, draws_of)
    experiment.numbers(
        **{
            test.replace(" ", "_"): {key: value for key, value in each.items() if key != "points"}
            for test, each in found.items()
        },
        barker_with_changes=one_by_one,
    )
    experiment.finish(picture(found, size))


def read_rows(
    experiment: Experiment,
    found: dict[str, dict],
    one_by_one: dict[str, list[float]],
    draws_of: dict[str, int],
    size: int,
) -> None:
    """How many data decisions read."""
    full = experiment.full

    def row(test: str, paper: str, spread: float, remark: str = "", judged: bool = full) -> None:
        within = 2.0 * spread / math.sqrt(TRIALS)
        name = f"mean data read: {NAMES[test]}"
        here = Found.mean(found[test]["mean"])
        experiment.row(name, paper=paper, here=here, within=round(within, 1), because=FEW, judged=judged, remark=remark)

    row("barker", "182.3", 11.4, "algorithm 1; see the variant of their code", judged=True)
    row("barker theirs", "182.3", 11.4, "no prior, sigma = .9, stops five standard errors from zero", judged=True)
    one = Found.range(found["barker"]["mean"])
    experiment.row("mean data read, one run: Barker, sigma = 1", paper="172", here=one, remark="range of single runs")
    single = Found.range(found["barker 100"]["mean"])
    name = f"mean data read, one run: {NAMES['barker 100']}"
    experiment.row(name, paper="210", here=single, remark="of the first version; range of single runs")
    row("austerity", "13540.5", 1521.4)
    row("concentration", "65758.9", 3222.6, "the factor that the paper names")
    row(
        "concentration 2",
        "65758.9",
        3222.6,
        f"the factor of their code; bound of Bardenet and Maillard (2015); {draws_of['concentration 2']} steps",
    )
    row("austerity theirs", "13540.5", 1521.4, "no prior")
    few_steps = f"{draws_of['concentration theirs']} steps"
    row(
        "concentration theirs",
        "65758.9",
        3222.6,
        f"no prior, factor 2, a bound for draws with replacement; {few_steps}",
    )
    experiment.claim(
        "mean data read: Barker, with changes of their code one at a time",
        paper="not said",
        here=", ".join(f"{change}: {np.mean(each):.0f}" for change, each in one_by_one.items()),
        agrees=None,
    )
    tail = found["barker"]["quantiles"][-1]
    experiment.claim(
        "data read, Barker",
        paper="short-tailed",
        here=f"at most {tail:,} of {size:,}",
        agrees=tail < 0.02 * size and found["austerity"]["quantiles"][-1] > 10 * tail if full else None,
        remark="agrees if no decision reads 2 % of the data, and one of the austerity test ten times as many",
    )


def bin_rows(experiment: Experiment, found: dict[str, dict], draws_of: dict[str, int]) -> None:
    """How well the points fill the bins of the posterior."""
    full = experiment.full
    printed = {"barker": ("-1306.2", 20.7), "austerity": ("-1619.6", 25.3), "concentration": ("-1301.5", 44.4)}
    printed |= {f"{test} theirs": printed[test] for test in ("austerity", "barker")}
    for test, (paper, spread) in printed.items():
        experiment.row(
            f"equation 23: {NAMES[test]}",
            paper=paper,
            within=round(2.0 * spread / math.sqrt(TRIALS), 1),
            because=FEW,
            here=Found.mean(found[test]["poisson"]),
            judged=False,
            remark="the paper does not state its bins; these are those of the authors' script, where exact Metropolis "
            f"has {Found.mean(found['exact']['poisson'])}",
        )
    chi = {test: Found.mean(each["chi_squared"]) for test, each in found.items()}
    told = {
        "austerity theirs": "10501 ± 2077",
        "concentration theirs": "3711.7 ± 1182.4",
        "barker theirs": "5707 ± 2272",
    }
    for test, paper in told.items():
        values = np.array(found[test]["chi_squared"], dtype=float)
        experiment.claim(
            f"chi-squared of the bins: {NAMES[test]}",
            paper=paper,
            here=f"mean {values.mean():,.0f}, median {np.median(values):,.0f}",
            agrees=None,
            remark=f"chains without the prior beside the posterior with it: one has {values.min():,.0f}, another "
            f"{values.max():,.0f}, for a few points far out make most of the sum, and ten runs do not tell tests apart"
            + (f"; {draws_of[test]} steps" if draws_of[test] != draws_of["barker"] else ""),
        )
    experiment.claim(
        "chi-squared of the bins: austerity against Barker",
        paper="10501 ± 2077 against 5707 ± 2272",
        here=f"{chi['austerity']} against {chi['barker']}",
        agrees=chi["austerity"].low > chi["barker"].high if full else None,
        remark=f"with the prior; exact Metropolis: {chi['exact']}. Ten runs without it may come in either order: above",
    )


def picture(found: dict[str, dict], size: int) -> Figure:
    """Points of one chain of each test over the posterior; and the share of decisions that read so much or more."""
    fig, axes = figure(2, 3, height=5.6)
    masses = bin_masses(size)
    centres = [low + BIN * np.arange(n) for low, n in zip(LOW, BINS, strict=True)]
    for ax, color, test in zip(axes.flat, COLOURS, SHOWN, strict=False):
        levels = masses.max() * np.exp(-np.array([4.5, 2.0, 0.5]))
        ax.contour(*centres, masses.T, levels=levels, colors="0.5", linewidths=0.8)
        points = np.array(found[test]["points"])
        ax.plot(points[:, 0], points[:, 1], ".", color=color, markersize=2, alpha=0.3, rasterized=True)
        ax.set(title=NAMES[test].split(",")[0], xlim=(-1.5, 2.5), ylim=(-2.5, 3.0))
    tail, bars = axes[1, 1:]
    share = 1.0 - np.arange(1000) / 1000
    for color, test in zip(COLOURS, SHOWN, strict=False):
        if test != "exact":
            tail.step(found[test]["quantiles"], share, where="post", color=color, label=NAMES[test].split(",")[0])
    tail.set(xscale="log", yscale="log", xlabel="data read", title="share reading more")
    means = [np.mean(found[test]["mean"]) for test in SHOWN]
    bars.bar(range(len(SHOWN)), means, color=COLOURS[: len(SHOWN)])
    bars.set(yscale="log", xticks=[], title="mean data read")
    for k, mean in enumerate(means):
        bars.text(k, mean * 1.1, f"{mean:,.0f}" if mean < 1e5 else f"{mean:.0e}", ha="center", fontsize=8.5)
    bars.set_ylim(top=max(means) * 4)
    return fig


if __name__ == "__main__":
    main_of(main)
