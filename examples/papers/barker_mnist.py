"""Train logistic regression by random walks with minibatch acceptance tests.

    python examples/papers/barker_mnist.py [--data FILE] [--full] [--jobs N] [-o DIR]

A logistic regression on 784 pixels distinguishes handwritten ones from sevens. The coefficients have a flat prior, and
the temperature is 100. Random walks with Barker's minibatch test, the austerity test and the concentration test sample
the coefficients, and their states are used for classification. The paper does not state the initial states of the
chains. Here, the chains start at zero, or at uniform random numbers in [0, 1] as in the authors' code. With uniform
starts, Barker's test reads more data in the first thousand steps, until the chains reach the mode. Tests with the
settings of the authors' code are included.

The first version of the paper used a temperature of 1000. Another run starts at temperature 100 and continues at
temperature 1 after 400 steps. The paper does not state the reduced step size. Here, it is 0.01 instead of 0.05.

Without FILE, the data are simulated as two overlapping clouds of the same shape, and no claim is evaluated. The
"covariance 0.05 I" of the paper is a standard deviation of 0.05 in the authors' code. The script reports the number of
data points per decision, and the accuracy on the test data as a function of the number of data points read.

References
----------
D. Seita, X. Pan, H. Chen and J. Canny (2017), "An efficient minibatch acceptance test for Metropolis-Hastings", UAI,
section 6.2, figures 3 and 5, tables 2 and 5.
"""

from __future__ import annotations

import functools
from itertools import pairwise, product
from typing import Any

import numpy as np
from _data_files import two_digits
from _frame import COLOURS, Experiment, Found, figure, main_of
from _oracle_austerity import OracleAusterityTest
from _published_code import PublishedBarkerTest, PublishedConcentrationTest
from matplotlib.figure import Figure

import steinkit as sk
from steinkit.samplers import (
    AusterityTest,
    ConcentrationTest,
    MinibatchBarkerTest,
    RandomWalk,
    barker_mh,
    metropolis_hastings,
)

TRIALS, CURVE = 10, 100  # number of trials in the paper, and number of points on an accuracy curve
NAMES = {"barker": "Barker", "austerity": "austerity", "concentration theirs": "concentration"}
THEIRS = "their code "
TABLE = {  # the test and the initial states for each claim and protocol
    ("mnist, Barker", "from zero"): ("barker", "zero"),
    ("mnist, Barker", "from uniform"): ("barker", "uniform"),
    ("mnist, Barker", f"{THEIRS}from zero"): ("barker theirs", "zero"),
    ("mnist, Barker", f"{THEIRS}from uniform"): ("barker theirs", "uniform"),
    ("mnist, austerity", "from zero"): ("austerity", "zero"),
    ("mnist, austerity", "from uniform"): ("austerity", "uniform"),
    ("mnist, austerity each step", "from zero"): ("austerity each step", "zero"),
    ("mnist, concentration", f"{THEIRS}from zero"): ("concentration theirs", "zero"),
    ("mnist, concentration", f"{THEIRS}from uniform"): ("concentration theirs", "uniform"),
}
HOT = {  # settings of the first version of the paper, with its temperature and step size
    ("first version, mnist, Barker", "from zero"): ("barker", "zero", TRIALS),
    ("first version, mnist, Barker", "from uniform"): ("barker", "uniform", TRIALS),
    ("first version, mnist, austerity", ""): ("austerity first version", "zero", 5),
}
HOT_TEMPERATURE, HOT_SCALE = 1000.0, 0.05**0.5
SLOWER = {  # tests that converge later than Barker's test, by name
    "austerity (nc)": "austerity each step",
    "austerity (c)": "austerity",
    "concentration": "concentration theirs",
}
SLOW = 3  # number of chains for a test that scans all the data at each step
TEMPERATURE, SCALE, COLD_SCALE, HOT_STEPS = 100.0, 0.05, 0.01, 400


@functools.cache
def digits(data: str | None) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return pixels in [0, 1] and labels of training and test data, which are simulated if there is no file."""
    if data is None:
        rng = np.random.default_rng(1)
        sevens = [rng.random(n) < 0.5 for n in (3000, 1000)]
        shift = 0.06 * rng.standard_normal(784)
        clouds = [np.clip(0.3 + 0.3 * rng.standard_normal((len(y), 784)) + y[:, None] * shift, 0, 1) for y in sevens]
        return clouds[0], sevens[0], clouds[1], sevens[1]
    return two_digits(data, 1, 7)


@functools.cache
def posterior(data: str | None) -> sk.Posterior:
    """Return the posterior of the coefficients with a flat prior."""
    x, y, _, _ = digits(data)
    return sk.targets.LogisticRegression(x, y, prior_variance=np.inf)


def accuracies(data: str | None, points: np.ndarray) -> np.ndarray:
    """Return the accuracy of states (..., 784) on the test data, (...)."""
    _, _, x, y = digits(data)
    return np.mean((points @ x.T > 0.0) == y, axis=-1)


def starts(start: str, chains: int) -> np.ndarray:
    """Return the initial states of chains, (chains, 784), which are zero or uniform random numbers in [0, 1]."""
    return np.zeros((chains, 784)) if start == "zero" else np.random.default_rng(2).random((chains, 784))


def trials(
    test: str,
    start: str,
    data: str | None,
    draws: int,
    chains: int,
    temperature: float = TEMPERATURE,
    scale: float = SCALE,
) -> dict[str, object]:
    """Return the data read and the accuracy of independent chains."""
    tests = {
        "barker": lambda: MinibatchBarkerTest(100),
        "barker theirs": lambda: PublishedBarkerTest(100),
        "austerity": lambda: AusterityTest(0.01, 450),
        "austerity each step": lambda: OracleAusterityTest(0.05, 50),
        "austerity first version": lambda: AusterityTest(0.005, 100),
        "concentration": lambda: ConcentrationTest(0.01, 100, factor=2.0),
        "concentration theirs": lambda: PublishedConcentrationTest(0.01, 100, factor=2.0),
    }
    found = metropolis_hastings(
        posterior(data),
        proposal=RandomWalk(scale),
        test=tests[test](),
        temperature=temperature,
        chains=chains,
        draws=draws,
        start=starts(start, chains),
    )
    read = np.sort(found.batch_sizes.ravel())
    shown = np.unique(np.geomspace(1, draws, CURVE).round().astype(int)) - 1
    return {
        "mean": found.mean_batch_size,
        "quantiles": read[np.linspace(0, len(read) - 1, 200).round().astype(int)],
        "cost": found.cost[:, shown].mean(axis=0),
        "accuracy": accuracies(data, found.points[:, shown]),
        "end": accuracies(data, found.points[:, -draws // 10 :]).mean(axis=1),
    }


def annealed(data: str | None, draws: int, chains: int) -> dict[str, object]:
    """Return the accuracy before and after the change of temperature."""
    hot = barker_mh(
        posterior(data),
        proposal_scale=SCALE,
        batch_size=100,
        temperature=TEMPERATURE,
        chains=chains,
        draws=HOT_STEPS,
        start=starts("zero", chains),
    )
    cold = barker_mh(
        posterior(data),
        proposal_scale=COLD_SCALE,
        batch_size=100,
        temperature=1.0,
        chains=chains,
        draws=draws,
        start=hot.points[:, -1],
        seed=1,
    )
    points = np.concatenate([hot.points, cold.points], axis=1)
    shown = np.linspace(0, points.shape[1] - 1, CURVE).round().astype(int)
    return {
        "step": shown + 1,
        "accuracy": accuracies(data, points[:, shown]),
        "hot": accuracies(data, hot.points[:, -1]),
        "cold": accuracies(data, cold.points[:, -1]),
        "read": cold.mean_batch_size,
    }


def main() -> None:
    wanted = "MNIST's training images, train-images-idx3-ubyte or .gz, with the other files next to it, or an .npz"
    experiment = Experiment(__file__, __doc__, shows="Seita et al. (2016; 2017), MNIST 1 v 7", data=wanted)
    full = experiment.full
    draws, cold, chains = (5000, 600, TRIALS) if full else (100, 100, 2)
    data = None if experiment.data is None else str(experiment.data)
    shared = {"data": data, "draws": draws}
    experiment.settings(temperature=TEMPERATURE, proposal_sd=SCALE, draws=draws, trials=chains, made_up=data is None)

    def cell(test: str, start: str, many: int, temperature: float, scale: float) -> dict[str, Any]:
        return shared | {"test": test, "start": start, "chains": many, "temperature": temperature, "scale": scale}

    def of(test: str) -> int:
        return min(chains, SLOW) if test in ("austerity each step", "concentration theirs") else chains

    cells = [cell(*each, of(each[0]), TEMPERATURE, SCALE) for each in TABLE.values()]
    found = dict(zip(TABLE.values(), experiment.cells(trials, cells), strict=True))
    hot = [cell(*each[:2], min(chains, each[2]), HOT_TEMPERATURE, HOT_SCALE) for each in HOT.values()]
    first = dict(zip(HOT, experiment.cells(trials, hot), strict=True))
    (cooled,) = experiment.cells(annealed, [{"data": data, "draws": cold, "chains": chains}])

    for (claim, protocol), each in TABLE.items():
        here = Found.few(found[each]["mean"])
        experiment.result(claim, here, protocol=protocol)
    for (claim, protocol), each in first.items():
        experiment.result(claim, Found.few(each["mean"]), protocol=protocol)
    more = float(np.mean(found["austerity each step", "zero"]["mean"]) / np.mean(found["barker", "zero"]["mean"]))
    experiment.result("mnist, next best", more)
    levels = {"accuracy 0.95": 0.95, "final accuracy": None}
    for (name, test), (protocol, level) in product(SLOWER.items(), levels.items()):
        other, barker = (data_until(found[each, "zero"], level) for each in (test, "barker"))
        experiment.result(f"converges, {name}", other / barker, protocol=protocol)
    hot, other = (
        first[f"first version, mnist, {test}", start] for test, start in (("Barker", "from zero"), ("austerity", ""))
    )
    here, others = Found.mean(hot["end"]), float(np.mean(other["end"]))
    less = hot["cost"][-1] / other["cost"][-1]
    text = f"{here}; {others:.3f}; {less:.0%} of the data"
    experiment.result("first version, mnist, performance", here, others=others, less=less, text=text)
    places, curves = np.array(cooled["step"]), np.array(cooled["accuracy"], dtype=float)
    at = [int(np.abs(places - step).argmin()) for step in (1, HOT_STEPS, 2 * HOT_STEPS)]
    before, after = (Found.mean(curves[:, end] - curves[:, begin]) for begin, end in pairwise(at))
    experiment.result("mnist, cooled", before=before.low, after=after.high, text=f"{after}; before {before}")
    experiment.numbers(
        **{" ".join(each).replace(" ", "_"): values for each, values in found.items()},
        annealed=cooled,
        first_version=list(first.values()),
    )
    experiment.finish(plot({test: found[test, "zero"] for test in NAMES}, cooled))


def data_until(found: dict[str, Any], level: float | None) -> float:
    """Return the number of data points that are read until the mean test accuracy reaches a level.

    If the level is None, it is the final value minus 0.005.
    """
    wanted = np.mean(found["end"]) - 0.005 if level is None else level
    reached = np.flatnonzero(np.mean(found["accuracy"], axis=0) >= wanted)
    return float(found["cost"][reached[0] if len(reached) else -1])


def plot(found: dict[str, dict], cooled: dict) -> Figure:
    """Plot the accuracy against the data read, the annealed run, and the tail of the data read per decision."""
    fig, ((curve, anneal), (tail, legend)) = figure(2, 2, height=5.6)
    for color, (test, name) in zip(COLOURS, NAMES.items(), strict=False):
        accuracy = np.array(found[test]["accuracy"])
        curve.plot(found[test]["cost"], accuracy.mean(axis=0), color=color)
        curve.fill_between(found[test]["cost"], accuracy.min(axis=0), accuracy.max(axis=0), color=color, alpha=0.2)
        read = found[test]["quantiles"]
        tail.step(read, 1.0 - np.arange(len(read)) / len(read), where="post", color=color)
        legend.plot([], [], color=color, label=name)
    curve.set(xscale="log", xlabel="data read", ylabel="test accuracy", title="T = 100; band: all runs")
    accuracy = np.array(cooled["accuracy"])
    anneal.plot(cooled["step"], accuracy.mean(axis=0), color=COLOURS[0])
    anneal.fill_between(cooled["step"], accuracy.min(axis=0), accuracy.max(axis=0), color=COLOURS[0], alpha=0.2)
    anneal.axvline(HOT_STEPS, color="0.4", linestyle="--")
    anneal.set(xlabel="step", title="T = 100, then 1")
    tail.set(xscale="log", yscale="log", xlabel="data read by a decision", ylabel="share reading more")
    legend.set_axis_off()
    legend.legend(loc="center")
    return fig


if __name__ == "__main__":
    main_of(main)
