"""Text of a curve with known values."""

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
CHANGES = {
    "proved": {},
    "found": {"measure": "wasserstein"},
    "without a rate": {"rate": np.nan, "rate_interval": (np.nan, np.nan)},
    "without an interval": {"rate_interval": (np.nan, np.nan)},
}


@pytest.mark.parametrize("name", CHANGES)
def test_curves(name, snapshot):
    found = replace(_CURVE, **CHANGES[name])
    assert f"{found.headline()}\n\n{found.summary()}" == snapshot
