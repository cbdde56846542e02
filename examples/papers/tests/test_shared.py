"""Shared parts of the papers' experiments: doctor visits, and the lowest of several risks."""

import _risks
import numpy as np
import pytest
from _doctor_visits import doctor_visits
from _running_means import Risk


def test_doctor_visits_agree_with_the_health_insurance_experiment():
    features, responses, names = doctor_visits()
    assert features.shape == (20_186, len(names))
    assert responses.sum() == 6308  # the same number as in the source, which has four more rows
    assert (features[:, 0] == 1.0).all()
    assert np.allclose(features[:, 1:].mean(axis=0), 0.0, atol=1e-12)
    assert np.allclose(features[:, 1:].std(axis=0), 1.0)
    assert np.linalg.matrix_rank(features) == len(names)
    insured = np.corrcoef(features[:, names.index("log coins")], responses)[0, 1]
    assert insured > 0.05  # the main result of the experiment: higher coinsurance, fewer visits


def test_the_lowest_risk_is_claimed_by_data_and_by_time():
    def constant(value: float, reach: float, end: float) -> Risk:
        against, ones = np.array([1.0, end]), np.ones(2)
        interval = np.column_stack([(value - reach) * ones, (value + reach) * ones])
        return Risk(against, value * ones, interval, ones, ones, 0.0, 0.95)

    told = []
    claimed = type("Claimed", (), {"result": staticmethod(lambda claim, **numbers: told.append((claim, numbers)))})
    risks = [constant(4.0, 1.0, 8.0), constant(2.0, 0.5, 4.0), constant(9.0, 1.0, 4.0)]
    claims = {"data": "a", "time": "b"}
    _risks.claim_lowest(claimed, (0.0, 0.1, 0.2), risks, [1.0, 2.0, 2.0], claims, protocol="from zero")
    for claim, numbers in told:
        assert numbers["protocol"] == "from zero", claim
        assert (numbers["exact_low"], numbers["exact_high"]) == pytest.approx((3.0, 5.0))
        assert numbers["other_low"] == pytest.approx([1.5, 8.0])
        assert numbers["other_high"] == pytest.approx([2.5, 10.0])
        assert numbers["text"] == "epsilon 0.1: 2; exact 4"
    assert [claim for claim, _ in told] == ["a", "b"]


def test_a_risk_is_interpolated_linearly_in_logarithms():
    against = np.array([1.0, 4.0, 16.0])
    value = 8.0 / against
    found = Risk(against, value, np.stack([value / 2.0, value * 2.0], axis=1), 0.5 * value, 0.5 * value, 1e-3, 0.95)
    again = _risks.restored({k: np.asarray(v).tolist() for k, v in _risks.kept(found).items()})
    assert _risks.at(again, 2.0) == pytest.approx((4.0, 2.0, 8.0))
    assert (again.floor, again.level) == (found.floor, found.level)
