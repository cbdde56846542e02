"""Exact wording of reports, kept as snapshots: update them by ``pytest tests/text --snapshot-update``."""

import re
from dataclasses import replace

import numpy as np
import pytest
from support.verdicts import LOCATION, PAIR, SCALE, estimate, quantity, verdict

import steinkit as sk
from steinkit.diagnosis.verdict_text import verdict_blocks

WRONG = 2.34e-9
OFF = quantity("tau", mean_bias=-0.9, mean_margin=0.1)
VERDICTS = {
    "no bias": verdict(),
    "hidden": verdict(hiding=("one draw makes up all of the variance of mu",)),
    "rejected": verdict(WRONG, [LOCATION]),
    "tied": verdict(WRONG, [LOCATION, SCALE, PAIR]),
    "without findings": verdict(WRONG),
    "not mixed": verdict(WRONG, [LOCATION], mixed=False),
    "weighted": verdict(WRONG, [LOCATION], weighted=True),
    "first draws biased": verdict(WRONG, burn_in=0.3),
    "first draws biased, not rejected": verdict(burn_in=0.3),
    "too few": verdict(enough_draws=False, effective_draws=29.7, draws=900),
    "large": verdict(WRONG, [LOCATION], matters=0.25, p_matters=1e-5),
    "with sizes": replace(verdict(WRONG, [LOCATION]), bias=estimate(OFF, quantity("mu"))),
    "sizes not known": replace(verdict(WRONG, [LOCATION]), bias=estimate(quantity("mu", reason="too few draws"))),
}


@pytest.mark.parametrize("name", VERDICTS)
def test_a_verdict_on_a_screen(name, snapshot):
    assert "\n\n".join(verdict_blocks(VERDICTS[name], None)) == snapshot


@pytest.mark.parametrize("name", VERDICTS)
def test_a_verdict_in_full(name, snapshot):
    assert VERDICTS[name].summary() == snapshot


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
