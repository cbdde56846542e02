"""``steinkit repair``: weights, moved draws, and samples that cannot be corrected."""

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


def test_weights_correct_means_and_sds(steinkit, wide, tmp_path):
    output = tmp_path / "repaired.csv"
    answer = steinkit("repair", wide, *NORMAL, "-o", str(output))
    assert (answer.code, answer.out) == (0, "")
    assert "1000 weighted draws" in answer.err
    repaired = sk.read_sample(output)
    np.testing.assert_array_equal(repaired.points, WIDE)
    mean = repaired.probabilities @ repaired.points
    np.testing.assert_allclose(mean, 0.0, atol=0.005)
    np.testing.assert_allclose(repaired.probabilities @ repaired.points**2, 1.0, atol=0.01)
    assert np.abs(WIDE.mean(axis=0)).min() > 0.1  # like the given draws


def test_draws_are_moved_if_weights_do_not_suffice(steinkit, narrow, tmp_path):
    output = tmp_path / "moved.csv"
    document = steinkit("repair", narrow, *NORMAL, "-o", str(output), "--json").document
    assert document["method"] == "run"
    assert document["before"]["value"] > 0.4
    moved = sk.read_sample(output)
    assert moved.weights is None
    np.testing.assert_allclose(moved.points.mean(axis=0), 0.0, atol=0.12)  # three standard errors of 1000 draws
    np.testing.assert_allclose(moved.points.std(axis=0), 1.0, atol=0.1)


def test_modes_that_cannot_be_corrected(steinkit, tmp_path):
    modes = Path(__file__).parents[2] / "examples/data/sgld_5e-2.csv"
    answer = steinkit("repair", str(modes), "--target", "mixture-posterior", "-o", str(tmp_path / "no.csv"))
    assert answer.code == 3
    assert "theta2" in answer.err
    assert not (tmp_path / "no.csv").exists()


def test_small_effective_size_without_a_log_density(steinkit, write_csv, tmp_path):
    file = write_csv("a,b,score:a,score:b", np.hstack([NARROW, -NARROW]), name="scored.csv")
    answer = steinkit("repair", file, "-o", str(tmp_path / "no.csv"))
    assert answer.code == 3
    assert "log density" in answer.err


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ((*NORMAL, "-o", "out.txt"), ".csv or .npz, got out.txt"),
        ((*NORMAL, "-o", "wide.csv"), "wide.csv"),
        (("-o", "out.csv"), "--target"),
        ((*NORMAL,), "-o"),
    ],
)
def test_mistakes(steinkit, wide, monkeypatch, words, text):
    monkeypatch.chdir(Path(wide).parent)
    answer = steinkit("repair", "wide.csv", *words)
    assert answer.code in (2, 3)
    assert text in answer.err
