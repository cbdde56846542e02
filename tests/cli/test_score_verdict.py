"""``steinkit score``: its verdict and exit codes."""

import json
import re

import numpy as np
import pytest

import steinkit as sk

_NORMAL = ("--target", "normal", "--reference", "0", "--measure", "ksd")
_ORDERED = """
import numpy as np, steinkit as sk
inside = lambda x: x[:, 0] < x[:, 1]
target = sk.Target(lambda x: -x, log_density=lambda x: np.where(inside(x), -0.5 * (x**2).sum(axis=1), -np.inf), dim=2)
"""


@pytest.fixture
def drawn(write_csv):
    """Write 400 changed draws of N(0, I) in two dimensions."""

    def write(change=lambda x: x, n=400, name="draws.csv"):
        return write_csv("a,b", change(np.random.default_rng(3).standard_normal((n, 2))), name)

    return write


def shifted(x):
    return x + np.array([0.5, 0.0])


class TestHead:
    def test_the_verdict_comes_first(self, steinkit, drawn):
        outcome = steinkit("score", drawn(shifted), *_NORMAL)
        heading, verdict, *_ = outcome.out.split("\n\n")
        assert heading == "draws.csv against target normal"
        assert "(p = " in verdict
        assert ": a is too high (z = " in " ".join(verdict.split())
        assert "Not tested: " in outcome.out
        assert outcome.err == ""

    def test_json_is_that_of_the_library(self, steinkit, drawn, folder):
        outcome = steinkit("score", drawn(shifted), *_NORMAL, "--seed", "7", "--matters", "0.2", "--json")
        alone = sk.verdict(sk.read_sample("draws.csv"), sk.targets.Normal(dim=2), matters=0.2, rng=7)
        assert outcome.document["verdict"] == json.loads(json.dumps(alone.to_dict()))
        assert alone.to_dict()["findings"][0]["parameters"] == ["a"]

    @pytest.mark.parametrize("command", ["score", "compare"])
    def test_looks_multiply_the_p_value(self, steinkit, drawn, command):
        file = drawn(lambda x: x + 0.12)
        line = (command, file, "--target", "normal", "--reference", "0", "--measure", "ksd", "--json")
        once, often = (steinkit(*line, *more).document for more in ((), ("--analyses", "6")))
        once, often = (
            each["verdict"] if command == "score" else each["samples"][0]["verdict"] for each in (once, often)
        )
        assert (once["analyses"], often["analyses"]) == (1, 6)
        assert often["p"] == min(1.0, 6 * once["p"]) > once["p"]

    def test_no_verdict(self, steinkit, drawn):
        outcome = steinkit("score", drawn(shifted), *_NORMAL, "--no-verdict", "--json")
        assert outcome.document["verdict"] is None
        assert outcome.document["warnings"] == []
        text = steinkit("score", drawn(shifted), *_NORMAL, "--no-verdict").out
        assert "not from the target" not in text


class TestMissingVerdict:
    @pytest.mark.parametrize(
        ("change", "n", "why"),
        [
            (lambda x: x, 5, "at least 8 draws"),
            (lambda x: x * np.array([1.0, 0.0]), 50, "b is constant in all draws"),
        ],
    )
    def test_a_missing_verdict_does_not_affect_other_results(self, steinkit, drawn, change, n, why):
        outcome = steinkit("score", drawn(change, n), "--target", "normal", "--measure", "graph", "--json")
        assert outcome.code == 0
        assert outcome.document["verdict"] is None
        assert outcome.document["results"][0]["value"] > 0.0
        (note,) = [note for note in outcome.document["warnings"] if "there is no verdict" in note]
        assert why in note
        assert why in outcome.document["unjudged"]
        fragment = steinkit("score", drawn(change, n), "--target", "normal", "--measure", "graph").out.split("\n\n")[1]
        assert " ".join(fragment.split()) == f"There is no verdict: {outcome.document['unjudged']}."

    def test_no_warning_without_a_target(self, steinkit, drawn):
        outcome = steinkit("score", drawn(), "--measure", "ess", "--json")
        assert (outcome.document["verdict"], outcome.document["warnings"]) == (None, [])

    def test_a_verdict_from_stored_scores(self, steinkit, write_csv):
        x = shifted(np.random.default_rng(3).standard_normal((400, 2)))
        file = write_csv("a,b,score:a,score:b", np.hstack([x, -x]))
        outcome = steinkit("score", file, "--measure", "ess", "--fail-if-biased", "0.01")
        assert outcome.code == 1
        assert outcome.out.startswith("draws.csv against the scores stored in the file\n\nThese draws do not come from")

    def test_a_requested_verdict_needs_a_target(self, steinkit, drawn):
        outcome = steinkit("score", drawn(), "--measure", "ess", "--fail-if-biased", "0.01")
        assert outcome.code == 2
        assert "--target" in outcome.err


class TestFailIfBiased:
    @pytest.mark.parametrize(
        ("change", "n", "options", "code"),
        [
            (shifted, 400, (), 1),
            (lambda x: x, 400, (), 0),
            (shifted, 400, ("--matters", "2"), 0),
            (shifted, 400, ("--matters", "0.05"), 1),
            (lambda x: x + 3.0, 60, (), 4),
        ],
    )
    def test_codes(self, steinkit, drawn, change, n, options, code):
        outcome = steinkit("score", drawn(change, n), *_NORMAL, "--fail-if-biased", "0.01", *options, "--json")
        assert outcome.code == code
        assert outcome.document["verdict"]["level"] == 0.01
        assert ("--fail-if-biased is undecided" in outcome.err) == (n == 60)

    @pytest.mark.parametrize("command", ["score", "verdict"])
    def test_untested_draws_do_not_pass(self, steinkit, drawn, write_code, monkeypatch, command):
        monkeypatch.setattr("steinkit.diagnosis.invariance._SECONDS", 0.0)  # every log density is too slow
        file = drawn(lambda x: np.sort(x, axis=1))
        outcome = steinkit(command, file, "--target", f"{write_code(_ORDERED)}:target", "--fail-if-biased", "0.01")
        assert outcome.code == 4
        assert "--fail-if-biased" in outcome.err

    @pytest.mark.parametrize(
        ("change", "delta", "code"), [(lambda x: x, "0.3", 0), (shifted, "0.1", 1), (shifted, "2", 0)]
    )
    def test_a_biased_mean_fails(self, steinkit, drawn, change, delta, code):
        assert steinkit("score", drawn(change), *_NORMAL, "--fail-if-bias", delta).code == code

    def test_an_unknown_bias_is_undecided(self, steinkit, write_csv):
        x = np.random.default_rng(3).standard_normal((600, 2))
        x[:250, 0] += 9.0
        scores = sk.targets.GaussianMixture([[0.0, 0.0], [9.0, 0.0]], sd=1.0).score(x)
        file = write_csv("a,b,score:a,score:b", np.random.default_rng(4).permutation(np.hstack([x, scores])))
        outcome = steinkit("score", file, "--measure", "ess", "--fail-if-bias", "0.1")
        assert outcome.code == 4
        assert "--fail-if-bias is undecided" in outcome.err

    def test_a_missing_verdict_does_not_pass(self, steinkit, drawn):
        outcome = steinkit("score", drawn(n=5), *_NORMAL, "--fail-if-biased", "0.01", "--json")
        assert outcome.code == 3
        assert outcome.document["results"]
        assert "--fail-if-biased" in outcome.err

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            (("--fail-if-biased", "0"), "--fail-if-biased"),
            (("--fail-if-biased", "nan"), "--fail-if-biased"),
            (("--fail-if-biased", "0.01", "--no-verdict"), "--no-verdict"),
            (("--fail-if-bias", "0.1", "--no-verdict"), "--no-verdict"),
            (("--fail-if-bias", "nan"), "--fail-if-bias"),
            (("--matters", "-1"), "--matters"),
            (("--matters", "nan"), "matters"),
            (("--matters", "0.1", "--no-verdict"), "--no-verdict"),
            (("--analyses", "0"), "--analyses"),
            (("--analyses", "1.5"), "--analyses"),
            (("--analyses", "2", "--no-verdict"), "--analyses"),
        ],
    )
    def test_wrong_usage(self, steinkit, drawn, options, message):
        outcome = steinkit("score", drawn(), *_NORMAL, *options)
        assert (outcome.code, outcome.out) == (2, "")
        assert message in outcome.err


def test_an_option_of_other_commands_names_them(steinkit, drawn):
    outcome = steinkit("verdict", drawn(), "--plot", "figure.png")
    assert (outcome.code, outcome.out) == (2, "")
    assert re.search("'--plot'.* steinkit score, compare and curve", outcome.err)
