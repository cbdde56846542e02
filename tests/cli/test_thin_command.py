"""``steinkit thin``: selected draws, units and mistakes."""

import numpy as np
import pytest

import steinkit as sk


@pytest.fixture
def burnt_in(write_csv):
    """Return a sample with burn-in, and its file."""
    draws = np.random.default_rng(0).standard_normal((200, 2))
    draws[:20] += 10.0
    return write_csv("a,b", draws, name="chain.csv"), draws


def test_selected_draws(steinkit, folder, burnt_in):
    name, draws = burnt_in
    outcome = steinkit("thin", name, "--target", "normal", "--draws", "30", "-o", "thinned.csv", "--json")
    assert outcome.code == 0
    thinned = sk.read_sample("thinned.csv")
    expected = sk.thin(sk.Sample(points=draws, names=("a", "b")), sk.targets.Normal(dim=2), m=30)
    assert np.array_equal(thinned.points, expected.points)
    assert np.abs(thinned.points).max() < 6.0  # no draws from the burn-in
    document = outcome.document
    assert document["draws"] == 30
    assert document["distinct"] == len(np.unique(thinned.points, axis=0))
    assert document["ksd"]["before"] == sk.kernel_stein_discrepancy(draws, sk.targets.Normal(dim=2), units="own").value
    units = draws.std(axis=0)  # standard deviations of the given draws
    after = sk.kernel_stein_discrepancy(thinned, sk.targets.Normal(dim=2), units=units).value
    assert document["ksd"]["after"] == pytest.approx(after, rel=1e-9)
    assert document["ksd"]["after"] < document["ksd"]["before"]
    assert "Selected 30 of 200 draws" in outcome.err


def test_weighted_draws_by_linear_programs(steinkit, folder, burnt_in):
    name, draws = burnt_in
    settings = ("--target", "normal", "--draws", "30", "--method", "lp", "-o", "thinned.csv", "--json")
    outcome = steinkit("thin", name, *settings)
    thinned = sk.read_sample("thinned.csv")
    expected = sk.thin(sk.Sample(draws, names=("a", "b")), sk.targets.Normal(dim=2), m=30, method="lp")
    assert np.array_equal(thinned.points, expected.points)
    np.testing.assert_allclose(thinned.probabilities, expected.probabilities)
    assert outcome.document["method"] == "lp"
    assert outcome.document["draws"] == len(thinned) <= 30


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        (("--draws", "0", "-o", "thinned.csv"), 2, "not in the range"),
        (("--draws", "5", "-o", "chain.csv"), 2, "chain.csv"),
        (("--draws", "5", "-o", "thinned.txt"), 2, ".csv or .npz, got thinned.txt"),
        (("--draws", "5", "-o", "nowhere/thinned.csv"), 3, "nowhere"),
    ],
)
def test_mistakes(steinkit, burnt_in, arguments, code, text):
    outcome = steinkit("thin", burnt_in[0], "--target", "normal", *arguments)
    assert (outcome.code, outcome.out) == (code, "")
    assert text in outcome.err


def test_units(steinkit, folder, burnt_in):
    name, draws = burnt_in
    target = sk.targets.Normal(dim=2)
    (folder / "units.json").write_text('{"scale": {"b": 0.5, "a": 4.0}}')
    for asked, units in (("raw", "raw"), ("units.json", [4.0, 0.5]), ("own", "own")):
        arguments = ("--draws", "9", "-o", "thinned.csv", "--json", "--units", asked)
        outcome = steinkit("thin", name, "--target", "normal", *arguments)
        assert outcome.document["units"]["kind"] == ("given" if asked.endswith("json") else asked)
        assert sorted(outcome.document["units"]["scale"]) == ["a", "b"]
        expected = sk.thin(draws, target, m=9, units=units)
        np.testing.assert_array_equal(sk.read_sample("thinned.csv").points, expected.points)
    assert steinkit("thin", name, "--target", "normal", *arguments[:-1], "onw").code == 3


def test_time_limit(steinkit, folder, burnt_in):
    name, _ = burnt_in
    asked = ("thin", name, "--target", "normal", "-o", "thinned.csv")
    outcome = steinkit(*asked, "--draws", "10000000", "--max-seconds", "0.2")
    assert outcome.code == 4
    assert "--max-seconds" in outcome.err
    assert not (folder / "thinned.csv").exists()
    assert steinkit(*asked, "--draws", "5", "--max-seconds", "600").code == 0
    refused = steinkit(*asked, "--draws", "5", "--max-seconds", "-1")
    assert refused.code == 2
    assert "must be positive" in refused.err
