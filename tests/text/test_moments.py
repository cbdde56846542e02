"""Text of moment results."""

import numpy as np
import pytest

from steinkit.discrepancy.moments import Feature, MomentSteinDiscrepancy
from steinkit.result import running_text


def found(*features, **more):
    """Return moments of coordinates a and b with these z-scores, and biased tails."""
    of = [("tails", (), 40.0), *features]
    z = np.array([each[2] for each in of])
    given = {"p": 1e-5, "group_p_values": {}, "n_effective": 99.6, "axes": np.empty((2, 2, 2)), "units": None}
    kinds = tuple(Feature(kind, coordinates) for kind, coordinates, _ in of)
    return MomentSteinDiscrepancy(kinds, 0.1 * z, z, np.ones(len(z)), **(given | more), names=("a", "b"))


RESULTS = {
    "largest first": found(("location", (0,), 4.0), ("spread", (1,), -9.0), ("dependence", (0, 1), 5.0)),
    "huge": found(("location", (0,), 1e12), p=0.0),
    "small": found(("location", (0,), -2.9)),
}


@pytest.mark.parametrize("name", RESULTS)
def test_results(name, snapshot):
    (table,) = RESULTS[name].tables()
    assert [running_text(RESULTS[name].statements()), *table.lines()] == snapshot
