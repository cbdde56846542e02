"""Speed of chains relative to plain NumPy loops, and cost of a data point in a minibatch test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from statistics import median
from typing import Any

import numpy as np
from costs import in_turn
from instances import digits_regression
from plain_loops import (
    NODAL_SCALE,
    SCALE,
    SGLD_BATCH,
    SGLD_STEP,
    START,
    TEMPERATURE,
    naive_austerity,
    naive_barker,
    naive_random_walk,
    naive_sgld,
)
from waits_table import Row, Scope

from steinkit import samplers
from steinkit.targets import LogisticRegression, MixturePosterior

WALK_SCALE = 0.01  # step size of Korattikara et al. (2014), section 6.1, like the batch size of 500 and epsilon = .05


@dataclass(frozen=True)
class Contest:
    """Sampler, its plain loop, and previous and desired ratios for one chain and for a hundred."""

    name: str
    loop: Callable[[int], Any]
    ours: Callable[..., samplers.Draws]
    steps: int
    one: tuple[str, float]
    hundred: tuple[str, float]


def contests(scope: Scope) -> list[Contest]:
    small, nodal = MixturePosterior(), LogisticRegression.nodal()
    large = MixturePosterior.simulate(scope.of(1_000_000), rng=1)
    hot = TEMPERATURE * large.size / 1e6
    mixture: dict[str, Any] = {"proposal_scale": SCALE, "batch_size": 100, "temperature": hot, "start": START}
    return [
        Contest(
            "SGLD, batch 5",
            partial(naive_sgld, small),
            partial(samplers.sgld, small, step_size=SGLD_STEP, batch_size=SGLD_BATCH),
            10_000,
            (".3-.8", 20.0),
            ("17-29", 30.0),
        ),
        Contest(
            "random walk, all of 100 data",
            partial(naive_random_walk, small),
            partial(samplers.rwmh, small, proposal_scale=SCALE),
            10_000,
            (".1", 3.0),
            ("4-6", 6.0),
        ),
        Contest(
            "Barker, batch 100",
            lambda steps: naive_barker(large, steps, 100, hot),
            partial(samplers.barker_mh, large, **mixture),
            2000,
            (".3", 10.0),
            ("9", 15.0),
        ),
        Contest(
            "austerity .05, mixture, batch 100",
            lambda steps: naive_austerity(large, steps, 100, 0.05, hot, START, SCALE),
            partial(samplers.approximate_mh, large, epsilon=0.05, **mixture),
            400,
            (".1-.4", 8.0),
            (".4-4", 10.0),
        ),
        Contest(
            "austerity .1, nodal, batch 2",
            lambda steps: naive_austerity(nodal, steps, 2, 0.1, 1.0, np.zeros(6), NODAL_SCALE),
            partial(samplers.approximate_mh, nodal, proposal_scale=NODAL_SCALE, batch_size=2, epsilon=0.1),
            2000,
            (".1-.4", 8.0),
            (".4-4", 10.0),
        ),
    ]


def chains(scope: Scope) -> Iterator[Row]:
    """Measure one chain, and a hundred, relative to a loop."""
    for contest in contests(scope):
        steps = scope.of(contest.steps)
        each = max(steps // 10, 2)  # draws of each of a hundred chains
        runs = {
            "loop": partial(contest.loop, steps),
            "one": partial(contest.ours, chains=1, draws=steps),
            "hundred": partial(contest.ours, chains=100, draws=each),
        }
        for count in (1, 100):
            contest.ours(chains=count, draws=2)
        found = in_turn(runs, scope.repeats)
        loop = [1e6 * seconds / steps for seconds in found["loop"]]
        for label, count, total, (start, wanted) in (
            ("one", "one chain", steps, contest.one),
            ("hundred", "100 chains", 100 * each, contest.hundred),
        ):
            step = [1e6 * seconds / total for seconds in found[label]]
            ratio = median(theirs / mine for theirs, mine in zip(loop, step, strict=True))
            remark = f"{median(step):.3g} us per step, the loop {median(loop):.3g}"
            yield Row(f"{count}: {contest.name}", "times faster", start, scope.wanted(wanted), ratio, remark)


def data(scope: Scope) -> Iterator[Row]:
    """Measure the CPU time per data point of a test, relative to that of the exact likelihood."""
    posterior, start, what = digits_regression(scope.mnist, max(scope.of(12_214), 1000))
    walk: dict[str, Any] = {"proposal_scale": WALK_SCALE, "start": start}
    exact = partial(samplers.rwmh, posterior, **walk)
    tests = {
        "austerity .05, batch 500": partial(samplers.approximate_mh, posterior, batch_size=500, epsilon=0.05, **walk),
        "Barker, batch 100": partial(samplers.barker_mh, posterior, batch_size=100, **walk),
    }
    for count, draws in ((1, scope.of(400)), (20, scope.of(40))):
        for name, test in tests.items():
            runs = {
                "exact": partial(exact, chains=count, draws=draws),
                "test": partial(test, chains=count, draws=draws),
            }
            read = {"exact": posterior.size * count * draws, "test": _data_read(runs["test"]())}
            runs["exact"]()
            seconds = in_turn(runs, scope.repeats)
            ns = {key: [1e9 * each / read[key] for each in found] for key, found in seconds.items()}
            yield Row(
                f"a datum read: {name}, {count} chain{'s' * (count > 1)}",
                "times the exact likelihood's",
                "4.5-10",
                scope.wanted(1.5),
                median(mine / theirs for mine, theirs in zip(ns["test"], ns["exact"], strict=True)),
                f"{median(ns['test']):.3g} ns, exact {median(ns['exact']):.3g}; "
                f"reads {read['test'] / read['exact']:.0%}; {what}",
            )


def _data_read(draws: samplers.Draws) -> int:
    assert draws.batch_sizes is not None
    return int(draws.batch_sizes.sum())
