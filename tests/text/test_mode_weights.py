"""Mode weights in words."""

import pytest

from steinkit.diagnosis.bias.text import centre_clause, shares_clause, shares_sentence, shares_statements


def document(had, right, margin=0.007, p=2e-9):
    modes = [
        {"share": w, "margin": margin, "draws_share": k, "centre": {"mu": float(i), "tau": -0.5}}
        for i, (k, w) in enumerate(zip(had, right, strict=True))
    ]
    return {"modes": modes, "p": p, "draws": 1000, "effective_draws": 800.0, "evaluations": 3016}


@pytest.mark.parametrize(
    ("had", "right", "margin", "said"),
    [
        ([0.72, 0.28], [0.5, 0.5], 0.007, "modes 72.0:28.0, right 50.0:50.0 ± 0.7 points"),
        ([0.6, 0.3, 0.1], [0.334, 0.333, 0.333], 0.02, "modes 60:30:10, right 33:33:33 ± 2 points"),
        ([0.99, 0.01], [0.995, 0.005], 0.0012, "modes 99.00:1.00, right 99.50:0.50 ± 0.12 points"),
        ([0.5, 0.5], [0.9999, 0.0001], 1e-6, "modes 50.00:50.00, right 99.99:0.01 ± 0.01 points"),
    ],
)
def test_shares_are_percentages_with_their_margin(had, right, margin, said):
    assert shares_clause(document(had, right, margin)) == said


def test_the_probability_follows_or_why_there_is_none():
    shares = [0.72, 0.28], [0.5, 0.5]
    assert shares_sentence(document(*shares)) == "Modes 72.0:28.0, right 50.0:50.0 ± 0.7 points (p = 2e-09)."
    assert shares_sentence(document(*shares, p=None)) == (
        "Modes 72.0:28.0, right 50.0:50.0 ± 0.7 points. The draws cross too seldom to test this; `steinkit repair` "
        "weighs the modes by the right shares."
    )


def test_places_and_cost_are_said():
    said = [each.text for each in shares_statements(document([0.7, 0.3], [0.5, 0.5]))]
    assert said[1] == "Mode 1 about mu = 0, tau = -0.5; mode 2 about mu = 1, tau = -0.5."
    assert said[-1] == "Shares by bridge sampling, with the log density at 3016 points."


def test_long_places_are_cut():
    assert centre_clause({"a": 1.0, "b": 2.0, "c": 3.0, "d": 4.0}) == "a = 1, b = 2, c = 3, ..."
