"""Error and data use of a sequential test, against another implementation, tests on data, and closed forms."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import ndtr, ndtri
from support.sequential_walks import decided_on_data, direct_pass

import steinkit as sk
from steinkit.samplers import (
    AusterityTest,
    operating_characteristics,
    worst_case_design,
)


@pytest.mark.parametrize(
    ("epsilon", "error", "data_use"),
    [(0.01, (0.0838, 0.0141), (0.907, 0.723)), (0.05, (0.282, 0.0758), (0.652, 0.487))],
)
def test_reference_values(epsilon, error, data_use):
    found = operating_characteristics([0.0, 1.0], first_fraction=0.05, epsilon=epsilon)
    np.testing.assert_allclose(found.error, error, atol=5e-4)
    np.testing.assert_allclose(found.data_use, data_use, atol=1e-3)


@pytest.mark.parametrize("alpha", [0.5, 0.7, 1.0])
@pytest.mark.parametrize(("first", "epsilon"), [(0.05, 0.01), (0.05, 0.2), (0.03, 1e-4), (0.3, 0.05), (0.5, 0.01)])
def test_one_pass_for_all_means_equals_separate_passes(first, epsilon, alpha):
    means = np.array([-3.0, -0.4, 0.0, 0.7, 2.0, 9.0])
    found = operating_characteristics(means, first_fraction=first, epsilon=epsilon, alpha=alpha)
    wanted = np.array([direct_pass(mean, first, epsilon, alpha, nodes=256) for mean in means])
    tilted = np.stack([found.error, found.data_use, found.undecided], axis=1)
    np.testing.assert_allclose(tilted, wanted, rtol=0, atol=1e-12)


@pytest.mark.parametrize("mean", [0.0, 1.0])
@pytest.mark.parametrize(("epsilon", "alpha"), [(0.05, 0.5), (0.1, 1.0)])
def test_the_austerity_test_on_data_agrees_with_the_walk(epsilon, alpha, mean):
    rng = np.random.default_rng(11)
    test = AusterityTest(epsilon, 250, alpha)
    error, data_use = decided_on_data(test, rng.gamma(4.0, size=5000), mean, 2000, rng)
    found = operating_characteristics(mean, first_fraction=0.05, epsilon=epsilon, alpha=alpha)
    assert abs(error[0] - found.error) < 4.0 * error[1]
    assert abs(data_use[0] - found.data_use) < 4.0 * data_use[1]


@given(
    first=st.floats(0.04, 1.0),
    epsilon=st.floats(1e-5, 0.5),
    alpha=st.floats(0.5, 1.0),
    means=st.lists(st.floats(-30.0, 30.0), min_size=2, max_size=5),
)
def test_symmetry_monotonicity_and_bounds(first, epsilon, alpha, means):
    settings = {"first_fraction": first, "epsilon": epsilon, "alpha": alpha}
    at_zero = operating_characteristics(0.0, **settings)
    assert at_zero.error == pytest.approx(0.5 * (1.0 - at_zero.undecided), abs=1e-12)
    ordered = np.sort(np.abs(means))
    found, mirrored = (operating_characteristics(sign * ordered, **settings) for sign in (1.0, -1.0))
    np.testing.assert_array_equal(found.error, mirrored.error)
    assert (np.diff(found.error) <= 1e-12).all()
    assert (np.diff(found.data_use) <= 1e-11).all()
    assert (found.error <= at_zero.error + 1e-12).all()
    assert (first - 1e-11 <= found.data_use).all()
    assert (found.data_use <= 1.0 + 1e-11).all()


def test_tests_with_one_or_two_stages_have_closed_forms():
    mean = np.array([0.0, 0.5, 2.0, 40.0])
    for epsilon in (0.0, 0.1):
        found = operating_characteristics(mean, first_fraction=1.0 if epsilon else 0.1, epsilon=epsilon)
        np.testing.assert_array_equal([found.error, found.data_use], [np.zeros(4), np.ones(4)])
    for first, epsilon in ((0.5, 0.03), (0.8, 0.2)):
        drift, G = np.sqrt(first / (1 - first)), -ndtri(epsilon)
        found = operating_characteristics(mean, first_fraction=first, epsilon=epsilon)
        np.testing.assert_allclose(found.error, ndtr(-G - mean * drift), atol=1e-13)
        stops = ndtr(-G - mean * drift) + ndtr(mean * drift - G)
        np.testing.assert_allclose(found.data_use, 1 - (1 - first) * stops, atol=1e-13)
    at_once = operating_characteristics(mean, first_fraction=0.1, epsilon=0.7)
    np.testing.assert_allclose(at_once.error, ndtr(-mean / 3.0), atol=1e-13)
    np.testing.assert_allclose(at_once.data_use, 0.1, atol=1e-13)


def test_extreme_means_and_thresholds_are_finite():
    found = operating_characteristics([[0.0, 1e3], [1e6, -1e9]], first_fraction=0.01, epsilon=1e-6, alpha=1.0)
    assert found.error.shape == (2, 2)
    assert np.isfinite([found.error, found.data_use, found.undecided]).all()
    assert found.data_use[1, 1] == pytest.approx(0.01)
    assert operating_characteristics(-1e300, first_fraction=0.1, epsilon=0.1).error == 0.0


@pytest.mark.parametrize("first", [1e-5, 1e-12])
def test_too_many_stages_are_rejected(first):
    for ask in (
        lambda: operating_characteristics(0.0, first_fraction=first, epsilon=0.1),
        lambda: worst_case_design(0.1, first_fractions=[0.5, first]),
    ):
        with pytest.raises(sk.UsageError, match=r"first_fraction.*0\.0001"):
            ask()
    assert operating_characteristics(0.0, first_fraction=first, epsilon=0.0).data_use == 1.0
