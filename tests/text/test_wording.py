"""Exact wording of reports, kept as snapshots: update them with ``pytest tests/text --snapshot-update``."""

import re
from dataclasses import replace

import numpy as np
import pytest
from support.verdicts import LOCATION, PAIR, SCALE, estimate, quantity, verdict

import steinkit as sk
from steinkit.diagnosis.verdict_result import TestResult
from steinkit.diagnosis.verdict_text import verdict_blocks

MOVED = replace(LOCATION, source="invariance")
WRONG = 2.34e-9
OFF = quantity("tau", mean_bias=-0.9, mean_margin=0.1)
FOUR = tuple(TestResult(*each) for each in (("moments", 0.2, 0.4), ("bounded", 0.6, 0.35), ("sliced", 0.5, 0.25)))


def decided(name, p=1e-4, **changes):
    return verdict(tests=(*FOUR, TestResult(name, p, 0.2)), **changes)


VERDICTS = {
    "no bias": verdict,
    "no bias of an unknown ESS": lambda: verdict(ess=float("nan")),
    "no bias within margins": lambda: verdict(bias=estimate(quantity("mu"))),
    "hidden": lambda: verdict(hiding=("one draw makes up all of the variance of mu",)),
    "rejected": lambda: verdict(WRONG, [LOCATION]),
    "rejected with a hidden bias": lambda: verdict(WRONG, [LOCATION], hiding=("one draw makes up the variance",)),
    "tied": lambda: verdict(WRONG, [LOCATION, SCALE, PAIR]),
    "without findings": lambda: verdict(WRONG),
    "not mixed": lambda: verdict(WRONG, [LOCATION], mixed=False),
    "weighted": lambda: verdict(WRONG, [LOCATION], weighted=True),
    "first draws biased": lambda: verdict(WRONG, burn_in=0.3),
    "first draws biased, by invariance": lambda: verdict(WRONG, [MOVED], burn_in=0.3),
    "first draws biased, not rejected": lambda: verdict(burn_in=0.3),
    "too few": lambda: verdict(enough_draws=False, effective_draws=29.7, draws=900, matters=0.1, p_matters=0.4),
    "large": lambda: verdict(WRONG, [LOCATION], matters=0.25, p_matters=1e-5),
    "not large": lambda: verdict(WRONG, [LOCATION], matters=0.25, p_matters=0.2),
    "certainly large": lambda: verdict(
        WRONG, [LOCATION], matters=0.25, p_matters=1e-5, bias=estimate(quantity(mean_bias=0.3))
    ),
    "with sizes": lambda: verdict(WRONG, [LOCATION], bias=estimate(OFF, quantity("mu"))),
    "sizes not known": lambda: verdict(WRONG, [LOCATION], bias=estimate(quantity("mu", reason="too few draws"))),
    "by the kernel": lambda: decided("ksd"),
    "by the kernel in one of six analyses": lambda: decided("ksd", 0.13, analyses=6),
    "by dependence": lambda: decided("dependence"),
    "by the critic": lambda: decided("critic"),
    "modes tested": lambda: decided("modes", 0.5),
    "four tests": lambda: verdict(tests=FOUR),
    "p of zero": lambda: verdict(0.0),
}


@pytest.mark.parametrize("name", VERDICTS)
def test_a_verdict(name, snapshot):
    found = VERDICTS[name]()
    assert [found.headline(), "\n\n".join(verdict_blocks(found, None)), found.summary()] == snapshot


def sample(n, dim):
    """Return draws on a grid, with the same results on every machine."""
    return np.sin(np.arange(1.0, n * dim + 1.0)).reshape(n, dim) * 1.5


RESULTS = {
    "moments": lambda: sk.moment_stein_discrepancy(sample(40, 2), scores=-sample(40, 2)),
    "sliced": lambda: sk.sliced_stein_discrepancy(sample(40, 2), scores=-sample(40, 2)),
    "graph": lambda: sk.graph_stein_discrepancy(sample(20, 1), scores=-sample(20, 1)),
    "classical": lambda: sk.classical_stein_discrepancy(sample(20, 1), scores=-sample(20, 1)),
    "ess": lambda: sk.chain_diagnostics(sample(40, 2)),
}


@pytest.mark.parametrize("name", RESULTS)
def test_a_result_in_words(name, snapshot):
    lines = RESULTS[name]().summary().splitlines()
    text = "\n".join(line for line in lines if "econds" not in line)
    assert re.sub(r"\d+(\.\d+)?(e-?\d+)?", "#", text) == snapshot  # last digits depend on the processor
