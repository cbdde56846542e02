"""Words about moments: what is off, which way, and when nothing is."""

import numpy as np
import pytest

from steinkit.discrepancy.moments import ChainMoments, Feature, MomentSteinDiscrepancy


def found(*features, **more):
    """Moments of coordinates a and b with these standard errors, beside tails that are far off."""
    of = [("tails", (), 40.0), *features]
    z = np.array([each[2] for each in of])
    given = {"p_value": 1e-5, "group_p_values": {}, "n_effective": 99.6, "axes": np.empty((2, 2, 2)), "units": None}
    kinds = tuple(Feature(kind, coordinates) for kind, coordinates, _ in of)
    return MomentSteinDiscrepancy(kinds, 0.1 * z, z, np.ones(len(z)), **(given | more), names=("a", "b"))


def said(result):
    return " ".join(each.text for each in result.statements())


def test_the_worst_come_first_and_say_which_way():
    text = said(found(("location", (0,), 4.0), ("spread", (1,), -9.0), ("dependence", (0, 1), 5.0)))
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
def test_a_negative_mean_is_too_much(kind, coordinates, z, is_above):
    (moment,) = found((kind, coordinates, z)).largest_moments
    assert moment.is_above == is_above
    assert (moment.direction in ("too high", "too wide", "above the target's")) == is_above


def test_moments_without_any_spread_are_told_in_plain_numbers():
    result = found(("location", (0,), 1e12), p_value=0.0)
    assert "a too low (more than 10000)" in said(result)
    assert "probability p < 1e-300." in said(result)
    assert [row[2] for row in result.tables()[0].rows] == ["+1e+12"]


def test_what_is_within_three_standard_errors_is_not_named():
    assert "3 standard errors or more from 0." in said(found(("location", (0,), -2.9)))


def test_chains_are_told_by_their_labels_and_tails_are_no_moment_of_a_coordinate():
    result = found(("location", (0,), 0.0), chains=(ChainMoments(4, 0.02, 0.1),))
    assert "chain 4 0.02" in said(result)
    assert all("tails" not in row[0] for row in result.tables()[0].rows)
