"""The burn-in check of the verdict: chains with a biased start, biased chains, and exact chains."""

import numpy as np
import pytest
from support.autoregressions import autoregression
from support.bias_samples import funnel

import steinkit as sk
from steinkit.text import probability


def started(seed, shape, early, shift):
    """Return normal chains with their first draws shifted."""
    x = np.random.default_rng(seed).standard_normal(shape)
    x[:, :early] += shift
    return x


@pytest.mark.parametrize("analyses", [1, 6])
def test_sample_is_rejected_because_of_its_start(analyses):
    """The p-value of the later draws is not multiplied by the number of tests."""
    x = started(4, (40, 60, 2), 3, 2.0)
    found = sk.verdict(x, scores=-x, analyses=analyses)
    later = sk.verdict(x[:, 6:], scores=-x[:, 6:])
    assert found.is_biased
    assert not later.is_biased
    p_values = (later.p_of("moments") / 0.3, later.p_of("bounded") / 0.27, later.p_of("sliced") / 0.23)
    expected = min(1.0, *(0.8 * p for p in p_values), later.p_of("dependence") / 0.1, later.p_of("critic") / 0.2)
    assert found.burn_in == found.to_dict()["burn_in"] == pytest.approx(expected, rel=1e-9)
    assert found.findings[0].evidence not in found.headline()


@pytest.mark.parametrize(
    "x",
    [started(2, (4, 500, 2), 20, 4.0), started(1, (1, 1000, 2), 100, np.linspace(4.0, 0.0, 100)[:, None])],
    ids=["enough draws", "too few effective draws"],
)
def test_biased_start_of_a_sample_that_is_not_rejected(x):
    """The slow return of the chains to the target is autocorrelation, so the draws pass."""
    found = sk.verdict(x, scores=-x)
    assert not found.is_biased
    assert found.burn_in > found.level
    assert f"({probability(found.burn_in)} " in found.sentence


@pytest.mark.parametrize(("analyses", "is_reported"), [(1, True), (6, False)])
def test_looks_multiply_the_p_value_of_the_start(analyses, is_reported):
    """The p-value is .0058."""
    x = started(5, (4, 1000, 2), 100, 0.16)
    assert (sk.verdict(x, scores=-x, analyses=analyses).burn_in is not None) is is_reported


@pytest.mark.parametrize(("n", "is_reported"), [(100, False), (300, True)])
def test_later_draws_must_be_enough_for_a_verdict(n, is_reported):
    x = started(3, (1, n, 2), n // 10, 100.0)
    assert (sk.verdict(x, scores=-x).burn_in is not None) is is_reported


@pytest.mark.parametrize("early", [0, 40])
def test_biased_chains_have_no_burn_in(early):
    x = started(6, (4, 400, 2), early, 4.0) + 0.5
    assert sk.verdict(x, scores=-x).burn_in is None


@pytest.mark.parametrize("seed", range(3))
def test_slow_exact_chains_have_no_burn_in(seed):
    x = autoregression(np.random.default_rng(seed).standard_normal((1000, 2)), 0.97)
    assert sk.verdict(x, scores=-x).burn_in is None


@pytest.mark.parametrize("seed", range(3))
def test_extreme_first_draw_of_a_funnel_is_not_burn_in(seed):
    """Scores have heavy tails in the neck, and one draw may be more extreme than all later ones."""
    points, scores = funnel(np.random.default_rng(seed), 500, 1)
    furthest = int(np.abs(scores[:, 1]).argmax())
    order = np.r_[furthest, np.delete(np.arange(500), furthest)]
    assert sk.verdict(points[order], scores=scores[order]).burn_in is None


def test_chains_of_one_draw_have_no_burn_in():
    x = np.random.default_rng(7).standard_normal((200, 2))
    assert sk.verdict(sk.Sample(x, scores=-x, chain=np.arange(200))).burn_in is None


def test_chain_that_stays_at_one_point_has_no_burn_in():
    x = started(8, (1, 1000, 2), 100, 3.0)
    x[:, 100:, 1] = 0.3
    assert sk.verdict(x, scores=-x).burn_in is None


@pytest.mark.parametrize("options", [{"weights": np.linspace(1.0, 2.0, 2400)}, {"bounds": [-10.0, 10.0]}])
def test_weighted_draws_and_bounded_supports_have_no_check(options):
    x = started(4, (40, 60, 2), 3, 2.0)
    assert sk.verdict(x, scores=-x.reshape(-1, 2), **options).burn_in is None
