"""Words about slices: the bracket, the comparison, and where along a coordinate there are too many draws."""

import pytest

from steinkit.discrepancy.text import describe_sliced
from steinkit.measures import find_measure

SAMPLE = {"draws": 100, "distinct": 100, "dim": 3, "names": ["a", "b", "c"]}
ENTRY = {
    "measure": "sliced",
    "value": 1.5,
    "lower": 1.4995,
    "upper": 1.5005,
    "coordinates": [
        {"name": "a", "value": 0.2, "lower": 0.1999, "upper": 0.2001},
        {"name": "b", "value": 1.0, "lower": 0.9997, "upper": 1.0003},
        {"name": "c", "value": 0.3, "lower": 0.2999, "upper": 0.3001},
    ],
    "seconds": {"solve": 0.1},
}
REFERENCE = {"draws": 100, "median": 0.5, "samples": [{"value": v, "lower": v, "upper": v} for v in (0.4, 0.5, 0.6)]}


def said(entry, reference=None):
    found = describe_sliced(find_measure("sliced"), entry | {"reference": reference, "sample": SAMPLE})
    return " ".join(each.text for each in found.statements)


def test_the_bracket_is_proved_and_the_heaviest_coordinate_named():
    text = said(ENTRY)
    assert "is 1.5, proved to lie between 1.49950 and 1.50050" in text
    assert "Coordinate by coordinate (in a right sample some carry more than others): b 1, c 0.3, a 0.2." in text
    assert "there tend to be" not in text  # what h shows is not in the document


@pytest.mark.parametrize(
    ("regions", "words"),
    [
        ({"low": 2.0, "middle": -1.0, "high": 4.0}, "at the low end and at the high end and too few in the middle"),
        ({"low": -2.0, "middle": 1.0, "high": 4.0}, "in the middle and at the high end and too few at the low end"),
    ],
)
def test_where_h_is_large_there_are_too_many(regions, words):
    still = {"low": 0.2, "middle": 0.2, "high": 0.2}
    text = said({**ENTRY, "details": {"regions": [still, regions, still]}})
    assert f"In b, there tend to be too many draws {words}." in text
    assert "In a" not in text


def test_below_or_within_the_references_it_may_be_noise():
    low = {**ENTRY, "value": 0.3, "lower": 0.2999, "upper": 0.3001}
    assert "may be sampling noise" not in said(ENTRY, REFERENCE)
    assert "at 3.00 times their median" in said(ENTRY, REFERENCE)
    assert "may be sampling noise" in said(low, REFERENCE)
    assert "below is no proof of quality" in said(low, REFERENCE)


def test_coordinates_stand_beside_those_of_right_samples():
    """The heaviest one has as much in a right sample; another has three times what it should."""
    beside = {**REFERENCE, "coordinates": [0.2, 1.0, 0.1]}
    text = said(ENTRY, beside)
    assert (
        "Coordinate by coordinate (times the median of right samples): c 0.3 (3.00 times), a 0.2 (1.00 times)" in text
    )
    table = describe_sliced(find_measure("sliced"), ENTRY | {"reference": beside, "sample": SAMPLE}).table
    assert table.columns == ("coordinate", "discrepancy", "times expected", "certified between")
    assert [row[2] for row in table.rows] == ["3.00", "3.00", "1.00", "1.00"]
    assert [row[0] for row in table.rows] == ["total", "c", "a", "b"]


def test_without_references_it_may_be_noise():
    assert "What right samples score is not known, so what follows may be sampling noise." in said(ENTRY)
