"""The verdict on samples of real posteriors with scores from Stan."""

import pytest
from support.posteriordb import NAMES, posterior

import steinkit as sk

MOST_CORRELATED = {
    "kidiq-kidscore_momhs": ("beta[1]", "beta[2]"),
    "garch-garch11": ("log(alpha0)", "logit(beta1/(1-alpha1))"),
    "low_dim_gauss_mix-low_dim_gauss_mix": ("mu[1]", "log(mu[2]-mu[1])"),
}
"""Pairs with the largest correlation: -.88, -.70 and -.58."""


@pytest.mark.parametrize("name", NAMES)
def test_exact_draws_pass(name):
    for block in posterior(name).right_blocks:
        found = sk.verdict(block)
        assert found.enough_draws
        assert found.p > 0.05
        assert found.findings == ()
        assert 300.0 < found.ksd_equivalent_draws < 3000.0


@pytest.mark.parametrize("name", NAMES)
def test_shifted_coordinate_is_reported(name):
    found = sk.verdict(posterior(name).shift)
    assert found.is_biased
    worst = found.findings[0]
    assert (worst.kind, worst.parameters, worst.direction) == ("location", (posterior(name).shifted,), "too high")


@pytest.mark.parametrize("name", NAMES)
def test_missing_dependence_of_a_mean_field_fit_is_reported(name):
    found = sk.verdict(posterior(name).mean_field)
    assert found.is_biased
    assert "dependence" in {each.kind for each in found.findings}
    assert found.ksd_equivalent_draws < 0.3 * found.ess
    if name in MOST_CORRELATED:
        assert (found.findings[0].kind, found.findings[0].parameters) == ("dependence", MOST_CORRELATED[name])
        assert found.findings[0].direction == "correlation too weak"


@pytest.mark.parametrize("name", NAMES)
def test_unadjusted_langevin_is_too_wide(name):
    """It is too wide by a seventh along a principal axis, and by an eighth or less in every coordinate."""
    found = sk.verdict(posterior(name).langevin)
    assert found.is_biased
    assert not [each for each in found.findings if each.kind == "location"]
    assert "too wide" in {each.direction for each in found.findings}
    assert not [each for each in found.findings if each.direction == "too narrow"]
