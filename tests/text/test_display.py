"""Short representations of objects."""

from dataclasses import dataclass

import numpy as np

import steinkit as sk
from steinkit.result import Brief, named


def test_long_lists_of_names_are_cut_in_the_middle():
    assert named(["a", "b", "c", "d"]) == "a, b, c, d"
    assert named(list("abcdefgh")) == "a, b, c, ..., h"


def test_records_show_the_shapes_of_arrays():
    @dataclass(repr=False)
    class Record(Brief):
        label: str
        values: np.ndarray

    assert repr(Record("x", np.zeros((3, 2)))) == "<Record: label='x', values=array of shape (3, 2)>"


def test_samples():
    sample = sk.Sample(np.zeros((4, 25, 6)) + np.arange(6), scores=np.ones((100, 6)))
    assert repr(sample) == "<Sample of 100 draws in 4 chains, d = 6: x1, x2, x3, ..., x6; with scores>"
    assert repr(sample.distinct()) == "<DistinctSample of 1 points, d = 6: x1, x2, x3, ..., x6>"


def test_public_results_do_not_print_arrays():
    draws = np.random.default_rng(0).normal(size=(200, 2))
    target = sk.targets.Normal(0.0, dim=2)
    found = sk.graph_stein_discrepancy(draws, target)
    shown = [
        sk.Sample(draws),
        found,
        found.graph,
        sk.verdict(draws, target),
        sk.Units.of("own", sk.Sample(draws).distinct()),
    ]
    for each in shown:
        assert len(repr(each)) < 400, repr(each)
        assert "[[" not in repr(each)
