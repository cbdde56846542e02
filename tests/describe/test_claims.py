"""Claims are made as strongly as the measure allows, and places by brackets, not by middles."""

import pytest

from steinkit.describe.statements import bracket_column, claimed, place


@pytest.mark.parametrize(
    ("claim", "said", "heading"),
    [
        ("proved", "proved to lie between 0.100000 and 0.200001", "proved between"),
        ("found", "found to lie between 0.100000 and 0.200001", "found between"),
        ("estimated", "an estimate", ""),
    ],
)
def test_claims(claim, said, heading):
    assert claimed(claim, 0.1, 0.2) == said
    assert bracket_column(claim) == heading


@pytest.mark.parametrize(
    ("bracket", "found"),
    [
        ((3.1, 3.2), "above"),
        ((2.9, 3.2), "within"),
        ((3.0, 3.2), "within"),
        ((0.5, 0.9), "below"),
        ((0.5, 1.0), "within"),
        ((1.5, 2.0), "within"),
    ],
)
def test_places_hold_for_certain(bracket, found):
    assert place(*bracket, 1.0, 3.0) == found
