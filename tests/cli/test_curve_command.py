"""``steinkit curve``: sizes, replicates, JSON, figures and exit codes."""

import json

import numpy as np
import pytest

import steinkit as sk
from steinkit.errors import SolverError

_KSD = ("--target", "normal", "--measure", "ksd")


@pytest.fixture
def run(write_csv):
    """Return a function that writes eighty draws from a standard normal distribution, for a given seed."""

    def write(seed):
        points = np.random.default_rng(seed).standard_normal((80, 1))
        return write_csv("x", points, f"run{seed}.csv")

    return write


def test_numbers_are_those_of_the_library(steinkit, run):
    outcome = steinkit("curve", run(1), "--target", "normal", "--n", "10,20,40,80", "--json")
    document = outcome.document
    points = np.random.default_rng(1).standard_normal((80, 1))
    assert outcome.code == 0
    assert document["files"] == ["run1.csv"]
    assert (document["measure"], document["n"]) == ("graph", [10, 20, 40, 80])
    alone = sk.graph_stein_discrepancy(
        points, sk.targets.Normal(dim=1), units=list(document["units"]["scale"].values())
    ).value
    assert document["values"][-1] == pytest.approx(alone, rel=1e-6)
    assert document["rate_interval"] == [None, None]


def test_replicates(steinkit, run, folder):
    files = [run(seed) for seed in range(3)]
    outcome = steinkit("curve", *files, *_KSD, "-o", "out.json", "--plot", "curve.png", "--seed", "4")
    document = json.loads((folder / "out.json").read_text())
    assert outcome.code == 0
    assert "median of 3 samples" in outcome.out
    assert len(document["replicates"]) == 3
    assert document["rate_interval"][0] <= document["rate"] <= document["rate_interval"][1]
    assert document["values"] == np.median(document["replicates"], axis=0).tolist()
    assert (folder / "curve.png").read_bytes().startswith(b"\x89PNG\r\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--n", "10,90"), "whole numbers from 1 to 80"),
        (("--n", "ten"), "got 'ten'"),
        (("--measure", "ess"), "one measure"),
        (("--plot", "curve.doc"), ".png"),
        (("-o", "run1.csv"), "overwrite"),
        (("run1.csv",), "run1.csv twice"),
    ],
)
def test_wrong_usage(steinkit, run, arguments, message):
    outcome = steinkit("curve", run(1), *_KSD, *arguments)
    assert (outcome.code, outcome.out) == (2, "")
    assert message in outcome.err


def test_no_certified_answer_at_any_size(steinkit, run, monkeypatch):
    def never(*args, **kwargs):
        raise SolverError("no certified result", 1.0, 2.0)

    monkeypatch.setattr("steinkit.curves.take_measure", never)
    outcome = steinkit("curve", run(1), "--target", "normal", "--n", "10,20", "--json")
    assert outcome.code == 4
    assert outcome.document["values"] == [None, None]
    assert outcome.document["upper"] == [2, 2]
