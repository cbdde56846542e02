"""Measure the data usage of acceptance tests for a million data points.

    python examples/papers/barker_mixture.py [--full] [--jobs N] [-o DIR]

Random walks sample the posterior of Welling and Teh's Gaussian mixture for a million data points, at a temperature at
which it is as wide as the posterior for a hundred data points. The acceptance tests are exact Metropolis, the austerity
test, the concentration test, and Barker's test on a minibatch. The paper plots the draws and the data read per
decision, and tabulates their means over ten runs and the fit of the draws to the bins of the posterior.

Barker's test reads at most as many data points as in the paper. The authors' code omits the prior. Its version of
Barker's test also decides if the mean is five standard errors from zero, and uses sigma = 0.9. Its concentration test
increases the sample size by a factor of 2 instead of 1.5, uses a bound other than the one that is proved for samples
without replacement, and never reads all the data. The script includes this variant, and variants of Barker's test with
only one of the changes each. The small run has 20,000 data points and shorter chains.

References
----------
D. Seita, X. Pan, H. Chen and J. Canny (2017), "An efficient minibatch acceptance test for Metropolis-Hastings", UAI,
section 6.1, figures 1 and 2, table 1, and table 4 (appendix C.2.2), and its first version (2016), section 6.1 and table
2.
"""

from __future__ import annotations

import functools

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
PUBLISHED = ("austerity theirs", "concentration theirs", "barker theirs", "barker 100")  # tests that omit the prior
FLAT = 1e6  # prior variance of an almost flat prior
SHOWN = ("exact", "austerity", "concentration", "barker")
TRIALS = 10  # number of trials in the paper
# Bins of the authors' script. Their centers start at (-1.5, -2.5) and are 0.1 apart. Points outside the grid are
# counted in the outermost bins.
BIN, LOW, BINS = 0.1, (-1.5, -2.5), (42, 57)
HIGH = (2.5, 3.0)
FINE = 4000  # number of cells in which the data are counted, for sums of a smooth function


@functools.cache
def posterior(size: int, flat: bool = False) -> sk.Posterior:
    """Return the posterior of simulated data, with the paper's prior or a nearly flat one."""
    if flat:
        return sk.targets.MixturePosterior.simulate(size, prior_variances=(FLAT, FLAT), rng=1)
    return sk.targets.MixturePosterior.simulate(size, rng=1)


def acceptance_test(name: str) -> object:
    """Return the acceptance test with this name, with the paper's settings."""
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
    """Return the posterior probability of each bin, (42, 57), computed from three by three points per bin."""
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
    """Compute the value of equation 23 and the chi-squared statistic of a chain, as in the authors' script."""
    clipped = np.clip(points, LOW, HIGH)
    where = np.rint((clipped - LOW) / BIN).astype(int)
    seen = np.zeros(BINS)
    np.add.at(seen, (where[:, 0], where[:, 1]), 1.0)
    expected = len(points) * masses
    chi_squared = float(((seen - expected) ** 2 / expected).sum())
    observed, rounded = seen + 1.0, np.rint(expected) + 1.0
    return float((observed * np.log(rounded) - rounded - gammaln(observed + 1.0)).sum()), chi_squared


def trials(test: str, size: int, draws: int, chains: int) -> dict[str, object]:
    """Return the data read, the points and the fit to the bins of the posterior for independent chains."""
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


def main() -> None:
    experiment = Experiment(__file__, __doc__, shows="Seita et al. (2016; 2017), the mixture of Gaussians")
    full = experiment.full
    size, draws, chains = (1_000_000, 3000, TRIALS) if full else (20_000, 300, 2)
    lengths = {"concentration 2": draws // 3, "concentration theirs": draws // 5}
    draws_of = {test: lengths.get(test, draws) for test in NAMES}
    experiment.settings(data=size, temperature=size / AS_WIDE_AS, proposal_sd=SCALE, draws=draws_of, trials=chains)
    cells = [{"test": test, "size": size, "draws": draws_of[test], "chains": chains} for test in NAMES]
    found = dict(zip(NAMES, experiment.cells(trials, cells), strict=True))
    results(experiment, found, size)
    experiment.numbers(
        **{
            test.replace(" ", "_"): {key: value for key, value in each.items() if key != "points"}
            for test, each in found.items()
        },
    )
    experiment.finish(plot(found, size))


PROTOCOLS = {
    "barker": ("Barker", "algorithm 1"),
    "barker theirs": ("Barker", "their code"),
    "austerity": ("austerity", "as printed"),
    "austerity theirs": ("austerity", "their code"),
    "concentration": ("concentration", "gamma 1.5"),
    "concentration 2": ("concentration", "gamma 2"),
    "concentration theirs": ("concentration", "their code"),
}
FIRST_VERSION = {
    "barker 100": ("Barker", "their code"),
    "austerity": ("austerity", "as printed"),
    "austerity theirs": ("austerity", "their code"),
    "concentration": ("concentration", ""),
}


def results(experiment: Experiment, found: dict[str, dict], size: int) -> None:
    """Report the number of data points per decision, and the fit of the points to the bins of the posterior."""
    for test, (name, protocol) in PROTOCOLS.items():
        experiment.result(f"mixture, {name}", Found.mean(found[test]["mean"]), protocol=protocol)
        if test != "concentration 2":
            chi = Found.mean(found[test]["chi_squared"])
            experiment.result(f"mixture, chi-squared: {name}", chi, protocol=protocol)
    fits = {}
    for test, name in {"barker": "Barker", "austerity": "austerity", "concentration": "concentration"}.items():
        each, fits[test] = found[test], Found.mean(found[test]["poisson"])
        experiment.result(f"mixture, one run: {name}", Found.few(each["mean"], one=True))
        experiment.result(f"mixture, equation 23: {name}", fits[test])
        experiment.result(f"first version, equation 23, {name}", Found.few(each["poisson"], one=True))
        experiment.result(f"first version, chi-squared, {name}", Found.few(each["chi_squared"], one=True))
    chi = {test: Found.mean(found[test]["chi_squared"]) for test in fits}
    bounds = {f"{test}_{end}": getattr(each, end) for test, each in chi.items() for end in ("low", "high")}
    text = ", ".join(f"{NAMES[test].split(',')[0]} {each}" for test, each in chi.items())
    experiment.result("first version, chi-squared, order", **bounds, text=text)
    others = [fits[test].value for test in ("austerity", "concentration")]
    barker = fits["barker"]
    experiment.result("mixture, Barker between", barker, least=min(others), largest=max(others))
    means = {test: Found.mean(found[test]["mean"]) for test in ("barker", "austerity", "concentration")}
    least = means["austerity"].low / means["barker"].high
    experiment.result("mixture, order of magnitude", low=least, text=f"at least {least:.0f} times fewer")
    largest = {test: found[test]["quantiles"][-1] for test in means}
    experiment.result(
        "mixture, short tail",
        largest=largest["barker"],
        austerity=largest["austerity"],
        size=size,
        text=f"at most {largest['barker']:,} of {size:,}",
    )
    for test, (name, protocol) in FIRST_VERSION.items():
        experiment.result(
            f"first version, mixture, {name}", Found.few(found[test]["mean"], one=True), protocol=protocol
        )
    protocol, share = "their code", float(np.mean(np.array(found["barker 100"]["quantiles"]) < 1000))
    experiment.result("first version, most batches", share=share, protocol=protocol, text=f"{share:.0%}")


def plot(found: dict[str, dict], size: int) -> Figure:
    """Plot the points of one chain per test over the posterior, and the tail of the data usage per decision."""
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
    tail.set(xscale="log", yscale="log", xlabel="data read", title="fraction reading more")
    means = [np.mean(found[test]["mean"]) for test in SHOWN]
    bars.bar(range(len(SHOWN)), means, color=COLOURS[: len(SHOWN)])
    bars.set(yscale="log", xticks=[], title="mean data read")
    for k, mean in enumerate(means):
        bars.text(k, mean * 1.1, f"{mean:,.0f}" if mean < 1e5 else f"{mean:.0e}", ha="center", fontsize=8.5)
    bars.set_ylim(top=max(means) * 4)
    return fig


if __name__ == "__main__":
    main_of(main)
