"""Clauses, evidence and JSON of findings."""

import math

import pytest

from steinkit.finding import Finding, Kind


@pytest.mark.parametrize(
    ("kind", "parameters", "direction", "clause"),
    [
        ("scale", ["a"], "too wide", "a is too wide"),
        ("scale", ["a", "b"], "too wide", "a and b together are too wide"),
        ("scale", list("abcdefg"), "too narrow", "a, b, c and 4 others together are too narrow"),
        ("dependence", ["a", "b"], "correlation too strong", "the correlation between a and b is too strong"),
        ("dependence", ["a", "b"], "correlation of wrong sign", "the correlation between a and b has the wrong sign"),
        ("tails", ["a"], "too heavy", "the tails of a are too heavy"),
        (
            "shape",
            ["a"],
            "too many draws below -1",
            "the distribution of a has an incorrect shape: too many draws below -1",
        ),
        ("shape", ["a", "b"], "wrong", "the joint distribution of a and b has an incorrect shape"),
        # along an axis with the largest loading on one coordinate
        ("shape", ["a"], "wrong", "the distribution of a has an incorrect shape"),
        (
            "conditional location",
            ["a", "b"],
            "too low where b is near its median",
            "a is too low where b is near its median, and too high far from it",
        ),
        (
            "conditional scale",
            ["a", "b"],
            "too narrow where b is near its median",
            "a is too narrow where b is near its median, and too wide far from it",
        ),
        ("tails", ["a", "b"], "too light", "the tails are too light"),
    ],
)
def test_clauses(kind, parameters, direction, clause):
    assert str(Finding(Kind(kind), tuple(parameters), direction, 5.0)) == clause


@pytest.mark.parametrize(
    ("source", "kind", "evidence"),
    [
        ("moments", "location", "mu is too high (z = 9.0)"),
        ("moments", "scale", "mu is too high (z = 9.0)"),
        ("invariance", "location", "mu is too high (z = 9.0 under an exact Markov kernel)"),
    ],
)
def test_evidence(source, kind, evidence):
    assert Finding(Kind(kind), ("mu",), "too high", -9.04, source=source).evidence == evidence


def test_in_json_an_unknown_size_is_null():
    found = Finding(Kind.SHAPE, ("a", "b"), "wrong", 5.0, math.nan, "sliced").to_dict()
    assert found == {
        "kind": "shape",
        "parameters": ["a", "b"],
        "direction": "wrong",
        "z": 5.0,
        "size": None,
        "source": "sliced",
        "explained_by": [],
    }
