"""Words about moments: what is off, which way, and when nothing is."""

from steinkit.discrepancy.text import describe_moments
from steinkit.measures import find_measure


def feature(kind, coordinates, z):
    return {"kind": kind, "coordinates": coordinates, "mean": 0.1 * z, "z": z, "autocorrelation_time": 1.0}


def described(*features, **more):
    entry = {
        "measure": "moments",
        "value": 0.4,
        "p_value": 1e-5,
        "n_effective": 99.6,
        "features": [feature("tails", [], 40.0), *features],
        "seconds": {},
        **more,
    }
    return describe_moments(find_measure("moments"), entry)


def said(*features, **more):
    return " ".join(each.text for each in described(*features, **more).statements)


def test_the_worst_come_first_and_say_which_way():
    text = said(
        feature("location", ["a"], 4.0),
        feature("spread", ["b"], -9.0),
        feature("dependence", ["a", "b"], 5.0),
        feature("location", ["b"], 2.0),
    )
    assert "b too wide (9.0); the correlation of a and b below the target's (5.0); a too low (4.0)." in text
    assert "100 effective draws" in text


def test_moments_without_any_spread_are_told_in_plain_numbers():
    found = described(feature("location", ["a"], 1e12), p_value=0.0)
    text = " ".join(each.text for each in found.statements)
    assert "a too low (more than 10000)" in text
    assert "probability p < 1e-300." in text
    assert [row[2] for row in found.table.rows] == ["+1e+12"]


def test_what_is_within_three_standard_errors_is_not_named():
    assert "No location, spread or dependence is 3 standard errors or more from 0." in said(
        feature("location", ["a"], -2.9)
    )


def test_chains_are_told_by_their_labels_and_tails_are_no_moment_of_a_coordinate():
    text = said(feature("location", ["a"], 0.0), chains=[{"chain": 4, "p_value": 0.02, "value": 0.1}])
    assert "chain 4 0.02" in text
    assert all("tails" not in row[0] for row in described(feature("location", ["a"], 0.0)).table.rows)
