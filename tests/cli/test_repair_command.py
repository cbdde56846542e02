"""``steinkit repair``: draws that are written with weights, drawn by them, or moved; and refusals."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import steinkit as sk

WIDE = 0.2 + 1.1 * np.random.default_rng(0).standard_normal((1000, 2))
NARROW = 0.3 + 0.5 * np.random.default_rng(1).standard_normal((1000, 2))
NORMAL = ("--target", "normal", "-p", "mean=0,0")


@pytest.fixture
def wide(write_csv):
    return write_csv("a,b", WIDE, name="wide.csv")


@pytest.fixture
def narrow(write_csv):
    return write_csv("a,b", NARROW, name="narrow.csv")


def test_weights_stand_in_a_column_and_mend_the_means(steinkit, wide, tmp_path):
    output = tmp_path / "repaired.csv"
    answer = steinkit("repair", wide, *NORMAL, "-o", str(output))
    assert (answer.code, answer.out) == (0, "")
    assert "1000 weighted draws" in answer.err
    repaired = sk.read_sample(output)
    np.testing.assert_array_equal(repaired.points, WIDE)
    mean = repaired.probabilities @ repaired.points
    np.testing.assert_allclose(mean, 0.0, atol=0.005)
    np.testing.assert_allclose(repaired.probabilities @ repaired.points**2, 1.0, atol=0.01)
    assert np.abs(WIDE.mean(axis=0)).min() > 0.1  # as the draws were


def test_resampled_draws_are_some_of_those_given_without_weights(steinkit, wide, tmp_path):
    output = tmp_path / "drawn.csv"
    assert steinkit("repair", wide, *NORMAL, "-o", str(output), "--resample").code == 0
    drawn = sk.read_sample(output)
    assert drawn.weights is None
    assert len(drawn) == 1000
    assert {*map(tuple, drawn.points)} <= {*map(tuple, WIDE)}
    np.testing.assert_allclose(drawn.points.mean(axis=0), 0.0, atol=0.06)  # drawn anew their sd is .01 to .02


def test_draws_that_weights_cannot_mend_are_moved(steinkit, narrow, tmp_path):
    output = tmp_path / "moved.csv"
    document = steinkit("repair", narrow, *NORMAL, "-o", str(output), "--json").document
    assert document["method"] == "run"
    assert document["before"]["value"] > 0.4
    moved = sk.read_sample(output)
    assert moved.weights is None
    np.testing.assert_allclose(moved.points.mean(axis=0), 0.0, atol=0.12)  # three standard errors of 1000 draws
    np.testing.assert_allclose(moved.points.std(axis=0), 1.0, atol=0.1)


def test_standard_output_takes_the_draws(steinkit, wide):
    answer = steinkit("repair", wide, *NORMAL, "-o", "-")
    assert answer.out.startswith("a,b,weight\n")
    assert answer.out.count("\n") == 1001


def test_the_same_seed_moves_them_alike(steinkit, narrow, tmp_path):
    for name in ("one.csv", "two.csv"):
        assert steinkit("repair", narrow, *NORMAL, "-o", str(tmp_path / name), "--seed", "3").code == 0
    assert (tmp_path / "one.csv").read_bytes() == (tmp_path / "two.csv").read_bytes()


def test_two_modes_get_their_shares(steinkit, tmp_path):
    modes = Path(__file__).parents[2] / "examples/data/metropolis.csv"
    answer = steinkit("repair", str(modes), "--target", "mixture-posterior", "-o", str(tmp_path / "yes.csv"), "--json")
    document = json.loads(answer.out)
    assert answer.code == 0
    assert document["method"] == document["after"]["method"] == "modes"
    assert "modes reweighted to their shares" in answer.err


def test_modes_that_are_wrong_within_are_refused_with_the_reason(steinkit, tmp_path):
    modes = Path(__file__).parents[2] / "examples/data/sgld_5e-2.csv"
    answer = steinkit("repair", str(modes), "--target", "mixture-posterior", "-o", str(tmp_path / "no.csv"))
    assert answer.code == 3
    assert "these draws cannot be repaired: the draws fall into groups along theta2" in answer.err
    assert "mend the sampler first" in answer.err
    assert not (tmp_path / "no.csv").exists()


def test_few_weights_and_no_density_are_refused_with_the_remedy(steinkit, write_csv, tmp_path):
    file = write_csv("a,b,score:a,score:b", np.hstack([NARROW, -NARROW]), name="scored.csv")
    answer = steinkit("repair", file, "-o", str(tmp_path / "no.csv"))
    assert answer.code == 3
    assert "give a target with a log density" in answer.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((*NORMAL, "-o", "out.txt"), ".csv or .npz, got out.txt"),
        ((*NORMAL, "-o", "wide.csv"), "would overwrite what it is made from"),
        (("-o", "out.csv"), "no --target was given"),
        ((*NORMAL,), "-o"),
    ],
)
def test_mistakes_are_named(steinkit, wide, monkeypatch, words, said):
    monkeypatch.chdir(Path(wide).parent)
    answer = steinkit("repair", "wide.csv", *words)
    assert answer.code in (2, 3)
    assert said in answer.err
