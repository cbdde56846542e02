"""What is said of a curve, for curves of which the right thing to say is known."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from steinkit.curves import Curve
from steinkit.result import answers

_CURVE = Curve(
    interval=None,
    rate=-0.5,
    rate_interval=(-0.6, -0.4),
    interval_kind="regression",
    tail=np.array([True, True, False]),
    measure="graph",
    n=np.array([10.0, 100.0, 1000.0]),
    cost=None,
    budget=None,
    values=np.array([1.0, 0.3, np.nan]),
    lower=np.array([0.99, 0.29, 0.05]),
    upper=np.array([1.01, 0.31, np.inf]),
    replicates=np.array([[1.0, 0.3, np.nan]]),
    level=0.95,
    units=None,
    warnings=(),
)


@pytest.mark.parametrize(("measure", "claim"), [("graph", "proved"), ("wasserstein", "found")])
def test_brackets_are_called_what_the_measure_claims(measure, claim):
    (found,) = replace(_CURVE, measure=measure).tables()
    assert found.columns == ("draws", "value", f"{claim} between")
    assert found.rows[-1] == ("1000", "undefined", "0.0500000 and Infinity")


def test_terminal_and_page_say_the_same():
    terminal = " ".join(_CURVE.summary().split())
    rate, limits, _ = _CURVE.statements()
    assert rate.text in terminal
    assert limits.text in terminal
    assert "to the power -0.50 (-0.60 to -0.40)" in _CURVE.headline()


def test_no_rate():
    bare = replace(_CURVE, rate=math.nan, rate_interval=(math.nan, math.nan))
    assert "No rate could be fitted." in bare.summary()
    assert bare.headline() == "Graph Stein discrepancy: no rate could be fitted"


def test_effective_size_proves_nothing_of_the_target():
    found = dict(answers(replace(_CURVE, measure="ess", rate=1.0).statements()))
    assert found["What does this not prove?"].endswith("speaks for mixing, not for the right target.")
