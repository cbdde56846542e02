"""Text of bias estimates with given numbers."""

import math

import numpy as np
import pytest
from support.verdicts import estimate, quantity

import steinkit as sk
from steinkit.diagnosis.bias.repair import Repaired
from steinkit.result import running_text

FAR = quantity("far", reason="the margin of error is too wide")
FARTHER = FAR | {"name": "farther", "at_least": 3.0}
TAU = quantity("tau", mean_bias=-0.9, mean_margin=0.1)
MANY = [quantity(f"b{k}", mean_bias=1.0 - 0.1 * k) for k in range(6)]


def test_a_bias_has_its_sign_and_its_margin(snapshot):
    found = estimate(
        quantity(mean_bias=-0.9, mean_margin=0.1),
        quantity(mean_bias=0.054, mean_margin=0.0042),
        quantity(sd_bias=math.log(0.74), sd_margin=0.04),
        quantity(sd_bias=math.log(1.2), sd_margin=0.002),
        quantity(mean_bias=0.31, mean_margin=0.05, sd_bias=math.log(1.5), sd_margin=0.1),
        quantity(mean_bias=0.3, mean_margin=0.0),
    ).quantities
    assert all(each.is_biased for each in found)
    assert [str(each) for each in found] == snapshot


@pytest.mark.parametrize(
    "given",
    [
        {"mean_bias": 0.1, "mean_margin": 0.11},  # within the margin of error
        {"mean_bias": 0.049, "mean_margin": 0.0001},  # too small to be reported
        {"sd_bias": -0.2, "sd_margin": 0.21},
        dict.fromkeys(("mean_bias", "mean_margin", "sd_bias", "sd_margin"), math.nan) | {"reason": "few"},
        {"mean_bias": math.inf, "mean_margin": 0.1, "reason": "few"},
    ],
)
def test_a_bias_within_its_margin_is_not_reported(given):
    (only,) = estimate(quantity(**given)).quantities
    assert (only.is_biased, str(only)) == (False, "")


ESTIMATES = {
    "the worst first": ([quantity("mu", mean_bias=0.01), TAU], {}),
    "three of many": (MANY, {"features": "affine"}),
    "three": (MANY[:3], {"effective_size": 150}),
    "all accurate": ([quantity("a"), quantity("b", mean_bias=0.05, mean_margin=0.06)], {}),
    "partly unknown": ([quantity("near"), quantity("by"), FAR, FAR | {"name": "farther"}], {}),
    "unknown": ([FAR, FAR | {"name": "farther"}], {}),
    "a short run": ([FAR | {"at_least": 0.4}, quantity("near"), FARTHER], {"method": "run"}),
    "scales": ([quantity("far", reason="too few draws"), TAU | {"sd_bias": math.log(0.8)}], {}),
    "rounded to zero": ([quantity(mean_bias=-0.0004, mean_margin=0.001, sd_bias=-0.0004)], {}),
    "modes": ([TAU, quantity("mu")], {"method": "modes"}),
    "biased and unknown": ([TAU, FAR], {}),
    "small": ([quantity(mean_bias=-0.05)], {}),
}


@pytest.mark.parametrize("name", ESTIMATES)
def test_estimates(name, snapshot):
    quantities, more = ESTIMATES[name]
    found = estimate(*quantities, **more)
    table = found.table() if found.tables() else "no table"
    assert [running_text(found.statements()), table, found.rejected_sentence, found.matters_sentence(0.1)] == snapshot


def test_order_and_accuracy():
    found = estimate(quantity("mu", mean_bias=0.01), TAU)
    assert [each.name for each in found.quantities] == ["tau", "mu"]
    assert estimate(quantity("a"), FAR).accuracy_sentence == ""
    short = estimate(quantity("mu"), TAU, FAR).table(1)
    assert "and 2 more" in short
    assert "mu" not in short


@pytest.mark.parametrize(("bias", "matters"), [(0.3, True), (-0.05, False), (0.09, False)])
def test_whether_a_bias_matters(bias, matters):
    assert estimate(quantity(mean_bias=bias)).is_off_by(0.1) == matters
    assert estimate(quantity(mean_bias=bias, reason="too few draws")).matters_sentence(0.1) == ""


@pytest.mark.parametrize("method", ["weights", "optimal", "run"])
def test_a_repair_has_the_biases_before_and_after(method, snapshot):
    line = np.linspace(-1.0, 1.0, 1000)
    given = sk.Sample(0.5 + 2.0 * line, names=("tau",))
    sample = sk.Sample(0.5 + line, names=("tau",)) if method == "run" else given.with_columns(weights=1.5 - line**2)
    found = Repaired(sample, method, 849.6, estimate(TAU), estimate(quantity("tau")), given, ())
    assert found.summary() == snapshot
    assert ("a short exact run" in found.headline()) == (method == "run")
