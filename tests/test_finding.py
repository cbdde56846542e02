"""Clauses, evidence and JSON of findings."""

import math

import pytest

from steinkit.finding import Finding, Kind


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
    assert Finding(Kind.SHAPE, ("a", "b"), "wrong", 5.0, math.nan, "sliced").to_dict() == {
        "kind": "shape",
        "parameters": ["a", "b"],
        "direction": "wrong",
        "z": 5.0,
        "size": None,
        "source": "sliced",
        "explained_by": [],
    }
