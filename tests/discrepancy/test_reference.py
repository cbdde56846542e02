import numpy as np
import pytest

import steinkit as sk

TARGET = sk.targets.Normal(0.0, dim=2)


def test_reference_scores_the_target_s_own_draws():
    reference = sk.reference_discrepancy(TARGET, 40, 3, rng=5)
    generator = np.random.default_rng(5).spawn(3)[1]
    by_hand = sk.graph_stein_discrepancy(TARGET.sample(40, generator), TARGET)
    assert (reference.lower[1], reference.upper[1]) == (by_hand.lower, by_hand.upper)
    assert reference.median == np.median(reference.values)
    assert reference.n == 40


def test_a_sample_is_the_same_however_many_are_asked_for():
    few, many = (sk.reference_discrepancy(TARGET, 30, repeats) for repeats in (1, 3))
    np.testing.assert_array_equal(few.values, many.values[:1])


def test_settings_are_passed_on():
    classical = sk.reference_discrepancy(TARGET, 30, 1)
    doubled = sk.reference_discrepancy(TARGET, 30, 1, stein_factors=(2, 2, 2))
    assert doubled.values[0] == pytest.approx(2 * classical.values[0], rel=1e-5)


def test_what_cannot_be_drawn_from_gives_no_reference():
    with pytest.raises(sk.UsageError, match="cannot be drawn from"):
        sk.reference_discrepancy(sk.Target(lambda x: -x, dim=2), 10, 1)
    with pytest.raises(sk.UsageError, match="at least 1; received 10 and 0"):
        sk.reference_discrepancy(TARGET, 10, 0)
