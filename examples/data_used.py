"""How many data does it take to accept or reject a move? Barker's minibatch test against the austerity test.

    python examples/data_used.py [--output FOLDER] [--small]

The posterior of a mixture of Gaussians is sampled by random walks whose moves are judged on minibatches, for 10^4, 10^5
and 10^6 data (with `--small`, 10^3 and 10^4), at temperatures that keep the posterior as wide as that of a hundred
data. The austerity test reads on until it is sure of the Metropolis rule's decision: where that is close it reads all
the data. Barker's test takes the noise of the minibatch for a part of the randomness that the decision needs anyway,
and reads until it is small enough.

You will see the mean number of data that a decision reads for each test and number of data: less than two hundred for
Barker's test however many there are; for the austerity test more the more there are, 700 to 14,000 (with `--small`, 250
to 1,200). And, for the fewest data, the graph Stein discrepancy of the draws beside that of exact Metropolis: whether
the data saved have cost anything. In full none shows: exact Metropolis, at .51, lies among the others, at .42 to
.59. In the short chains of `--small` the austerity test's draws are as good as exact Metropolis's, and Barker's, whose
rule accepts fewer moves, are 1.4 and 1.5 times as far off. The picture shows the distribution of the data read, and its
mean against the number of data.

References
----------
D. Seita, X. Pan, H. Chen and J. Canny (2017), "An efficient minibatch acceptance test for Metropolis-Hastings".
A. Korattikara, Y. Chen and M. Welling (2014), "Austerity in MCMC land: cutting the Metropolis-Hastings budget".
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import steinkit as sk
from steinkit.plots import look
from steinkit.samplers import AusterityTest, Draws, MetropolisTest, MinibatchBarkerTest, RandomWalk, metropolis_hastings

TESTS = {
    "Barker, sigma 1": MinibatchBarkerTest(50),
    "Barker, sigma 1.3": MinibatchBarkerTest(50, sigma=1.3),
    "austerity, epsilon .05": AusterityTest(0.05, 100),
    "austerity, epsilon .005": AusterityTest(0.005, 100),
}
AS_WIDE_AS = 100  # data at temperature 1
SCALE = 0.15
SCORED = 1000  # draws


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=Path("steinkit-examples"), help="folder for the picture")
    parser.add_argument("--small", action="store_true", help="1000 and 10,000 data, short chains")
    settings = parser.parse_args()
    sizes, chains, draws, long = (
        ([1_000, 10_000], 10, 50, 200) if settings.small else ([10**4, 10**5, 10**6], 20, 200, 3000)
    )

    read = {
        name: [run(test, size, chains, draws).batch_sizes.ravel() for size in sizes] for name, test in TESTS.items()
    }
    print(f"Mean number of data read for a decision ({chains * draws:,} decisions each)")
    print(f"{'test':26}" + "".join(f"{f'N = {size:,}':>15}" for size in sizes))
    for name, batches in read.items():
        print(f"{name:26}" + "".join(f"{batch.mean():15,.0f}" for batch in batches))

    target = posterior(sizes[0])
    print(f"\nGraph Stein discrepancy of {SCORED} draws at N = {sizes[0]:,}, and data read for them")
    for name, test in {"exact Metropolis": MetropolisTest(), **TESTS}.items():
        found = run(test, sizes[0], chains, long, burn_in=long // 5)
        points = found.points[:, :: chains * long // SCORED].reshape(-1, 2)
        result = sk.graph_stein_discrepancy(points, target)
        print(f"{name:26}{result.value:15.3g}{found.cost[:, -1].sum():20,.0f}", flush=True)

    settings.output.mkdir(parents=True, exist_ok=True)
    path = settings.output / "data_used.png"
    picture(sizes, read).savefig(path, dpi=130)
    print(f"\nPicture: {path}")


def posterior(size: int) -> sk.Posterior:
    """Posterior of simulated data, at the temperature that makes it as wide as that of a hundred."""
    return sk.targets.MixturePosterior.simulate(size, rng=1).tempered(size / AS_WIDE_AS)


def run(test: object, size: int, chains: int, draws: int, burn_in: int = 0) -> Draws:
    """Random-walk chains from dispersed starts, their moves judged by the test."""
    start = np.random.default_rng(3).standard_normal((chains, 2))
    return metropolis_hastings(
        posterior(size), proposal=RandomWalk(SCALE), test=test, chains=chains, draws=draws, burn_in=burn_in, start=start
    )


def picture(sizes: list[int], read: dict[str, list[np.ndarray]]) -> Figure:
    """Share of decisions that read so many data or more, at the largest size; and the mean against the size."""
    figure = Figure(figsize=(7.2, 4.4), layout="constrained")
    tail, growth = figure.subplots(1, 2)
    for number, (name, batches) in enumerate(read.items()):
        colour, marker, dashes = look(number)
        ordered = np.sort(batches[-1])
        as_many = 1.0 - np.arange(len(ordered)) / len(ordered)
        tail.step(ordered, as_many, where="post", color=colour, linestyle=dashes)
        means = [batch.mean() for batch in batches]
        growth.plot(sizes, means, color=colour, marker=marker, linestyle=dashes, label=name)
    tail.set(xscale="log", yscale="log", xlabel="data read", ylabel="share of decisions reading as many or more")
    tail.set_title(f"one decision, N = {sizes[-1]:,}", fontsize=10)
    growth.plot(sizes, sizes, ":", color="0.3", label="all data")
    growth.set(xscale="log", yscale="log", xlabel="number of data N", ylabel="data read")
    growth.set_title("mean over decisions", fontsize=10)
    figure.legend(*growth.get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False)
    figure.suptitle("Random walks on the posterior of a mixture of Gaussians", fontsize=11)
    return figure


if __name__ == "__main__":
    main()
