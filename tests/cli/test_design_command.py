"""``steinkit design``: the numbers from the Python functions as JSON and text."""

import pytest

import steinkit as sk
from steinkit.samplers import RandomWalk, average_design, operating_characteristics, trial_run, worst_case_design

TRIAL = ("--target", "gaussian-mean", "-p", "size=1000", "--proposal-scale", "0.05", "--draws", "40", "--seed", "3")


@pytest.mark.parametrize(("extra", "alpha"), [((), 0.5), (("--alpha", "1"), 1.0)])
def test_analysis_of_a_given_test(steinkit, extra, alpha):
    arguments = ("design", "--first-fraction", "0.05", "--epsilon", "0.01", "--mean", "1", *extra)
    document = steinkit(*arguments, "--json").document
    wanted = operating_characteristics(1.0, first_fraction=0.05, epsilon=0.01, alpha=alpha)
    assert document["error"] == wanted.error
    assert document["data_use"] == wanted.data_use
    assert document["undecided"] == wanted.undecided
    assert (document["mean"], document["alpha"], document["version"]) == (1.0, alpha, sk.__version__)
    outcome = steinkit(*arguments)
    assert outcome.code == 0
    assert f" {wanted.error:.3g}." in " ".join(outcome.out.split())


def test_worst_case_design(steinkit):
    arguments = ("design", "--target-error", "0.05", "--first-fraction", "0.1", "--alpha", "0.5", "--size", "5000")
    document = steinkit(*arguments, "--json").document
    wanted = worst_case_design(0.05, first_fractions=[0.1], alphas=[0.5])
    assert document["criterion"] == "worst case"
    assert (document["epsilon"], document["error"]) == (wanted.epsilon, wanted.error)
    assert document["batch_size"] == 500
    text = steinkit(*arguments).out
    assert f"steinkit sample approximate-mh --epsilon {wanted.epsilon:.6g} --batch-size 500 --alpha 0.5" in text
    without = steinkit("design", "--target-error", "0.05", "--first-fraction", "0.1", "--alpha", "0.5", "--json")
    assert without.document["batch_size"] is None


def test_average_design_after_a_trial_run(steinkit):
    arguments = ("design", "--target-error", "0.02", *TRIAL, "--batch-size", "100", "--alpha", "0.5")
    document = steinkit(*arguments, "--json").document
    trial = trial_run(sk.targets.GaussianMean.simulate(1000), proposal=RandomWalk(0.05), draws=40, seed=3)
    wanted = average_design(trial, 0.02, batch_sizes=[100], alphas=[0.5])
    assert document["epsilon"] == wanted.epsilon
    assert document["data_use"] == wanted.data_use
    assert document["trial"] == {"moves": 40, "skipped": 0, "cost": 40_000.0}
    assert (document["size"], document["batch_size"]) == (1000, 100)


def test_small_batches_give_a_warning(steinkit):
    arguments = ("design", "--target-error", "0.05", "--first-fraction", "0.1", "--alpha", "0.5", "--size")
    assert steinkit(*arguments, "1000", "--json").document["warnings"] == []
    assert "batches of 20" in steinkit(*arguments, "200", "--json").document["warnings"][0]
    assert "batches of 20" in steinkit(*arguments, "200").out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--first-fraction", "1e-12", "--epsilon", "0.1"), "at most 10000 stages"),
        ((), "expected --first-fraction, --epsilon"),
        (("--epsilon", "0.1"), "expected --first-fraction"),
        (("--first-fraction", "2", "--epsilon", "0.1"), "first_fraction"),
        (("--first-fraction", "0.1", "--epsilon", "0.1", "--draws", "5"), "got --first-fraction, --epsilon, --draws"),
        (("--target-error", "0.1", "--mean", "1"), "got --target-error, --mean"),
        (("--target-error", "0.1", "-p", "size=5"), "got --target-error, -p"),
        (("--target-error", "0.7", "--size", "100"), "target_error"),
        (("--target-error", "0.1", "--target", "normal"), "expected --target-error, --target, --proposal-scale"),
        (("--target-error", "0.1", "--target", "normal", "--proposal-scale", "1"), "requires a posterior"),
    ],
)
def test_invalid_combinations(steinkit, arguments, message):
    outcome = steinkit("design", *arguments)
    assert outcome.code == 2
    assert message in outcome.err
