"""Text of a curve with known values."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from steinkit.curves import Curve

_CURVE = Curve(
    interval=None,
    rate=-0.5,
    rate_interval=(-0.6, -0.4),
    tail=np.array([True, True, False]),
    measure="graph",
    n=np.array([10.0, 100.0, 1000.0]),
    values=np.array([1.0, 0.3, np.nan]),
    lower=np.array([0.99, 0.29, 0.05]),
    upper=np.array([1.01, 0.31, np.inf]),
    replicates=np.array([[1.0, 0.3, np.nan]]),
    units=None,
    warnings=(),
)


@pytest.mark.parametrize(("measure", "claim"), [("graph", "proved"), ("wasserstein", "found")])
def test_brackets_have_the_claim_of_the_measure(measure, claim):
    (found,) = replace(_CURVE, measure=measure).tables()
    assert found.columns == ("draws", "value", f"{claim} between")
    assert found.rows[-1] == ("1000", "undefined", "0.0500000 and Infinity")


def test_the_summary_has_all_statements():
    terminal = " ".join(_CURVE.summary().split())
    assert all(each.text in terminal for each in _CURVE.statements())
    assert "-0.50 (-0.60 to -0.40)" in _CURVE.headline()


def test_a_missing_rate_is_stated():
    bare = replace(_CURVE, rate=math.nan, rate_interval=(math.nan, math.nan))
    assert "nan" not in bare.statements()[0].text
    assert "nan" not in bare.headline()


def test_a_rate_without_an_interval_has_none_in_the_text():
    assert (
        _CURVE.headline().replace(" (-0.60 to -0.40)", "")
        == replace(_CURVE, rate_interval=(math.nan, math.nan)).headline()
    )
