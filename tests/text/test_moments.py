"""Text of moment results: largest moments and their directions."""

import numpy as np
import pytest

from steinkit.discrepancy.moments import ChainMoments, Feature, MomentSteinDiscrepancy


def found(*features, **more):
    """Return moments of coordinates a and b with these z-scores, and biased tails."""
    of = [("tails", (), 40.0), *features]
    z = np.array([each[2] for each in of])
    given = {"p_value": 1e-5, "group_p_values": {}, "n_effective": 99.6, "axes": np.empty((2, 2, 2)), "units": None}
    kinds = tuple(Feature(kind, coordinates) for kind, coordinates, _ in of)
    return MomentSteinDiscrepancy(kinds, 0.1 * z, z, np.ones(len(z)), **(given | more), names=("a", "b"))


def summary_of(result):
    return " ".join(each.text for each in result.statements())


def test_largest_moments_come_first():
    text = summary_of(found(("location", (0,), 4.0), ("spread", (1,), -9.0), ("dependence", (0, 1), 5.0)))
    assert "b too wide (9.0); the correlation of a and b below the target's (5.0); a too low (4.0)." in text
    assert "100 effective draws" in text


@pytest.mark.parametrize(
    ("kind", "coordinates", "z", "is_above"),
    [
        ("location", (0,), -2.0, True),
        ("location", (0,), 2.0, False),
        ("spread", (1,), -2.0, True),
        ("dependence", (0, 1), -2.0, True),
        ("dependence", (0, 1), 2.0, False),
    ],
)
def test_negative_means_are_above_the_target(kind, coordinates, z, is_above):
    (moment,) = found((kind, coordinates, z)).largest_moments
    assert moment.is_above == is_above
    assert (moment.direction in ("too high", "too wide", "above the target's")) == is_above


def test_huge_z_scores():
    result = found(("location", (0,), 1e12), p_value=0.0)
    assert "a too low (more than 10000)" in summary_of(result)
    assert "p < 1e-300." in summary_of(result)
    assert [row[2] for row in result.tables()[0].rows] == ["+1e+12"]


def test_small_z_scores_are_not_listed():
    assert "within 3 standard errors of 0." in summary_of(found(("location", (0,), -2.9)))


def test_chains_are_listed_by_label_and_tails_are_not_listed():
    result = found(("location", (0,), 0.0), chains=(ChainMoments(4, 0.02, 0.1),))
    assert "chain 4 0.02" in summary_of(result)
    assert all("tails" not in row[0] for row in result.tables()[0].rows)
