"""What the papers' experiments share beside their frame: data of doctor visits, and which of several risks is low."""

import importlib
import sys

import numpy as np
import pytest
from _running_means import Risk


@pytest.fixture
def shared(monkeypatch, request):
    monkeypatch.syspath_prepend(request.config.rootpath / "examples" / "papers")
    yield importlib.import_module
    for name in ("_doctor_visits", "_risks"):
        sys.modules.pop(name, None)


def test_doctor_visits_are_those_of_the_health_insurance_experiment(shared):
    features, responses, names = shared("_doctor_visits").doctor_visits()
    assert features.shape == (20_186, len(names))
    assert responses.sum() == 6308  # as many as in the source, which has four rows more
    assert (features[:, 0] == 1.0).all()
    assert np.allclose(features[:, 1:].mean(axis=0), 0.0, atol=1e-12)
    assert np.allclose(features[:, 1:].std(axis=0), 1.0)
    assert np.linalg.matrix_rank(features) == len(names)
    insured = np.corrcoef(features[:, names.index("log coins")], responses)[0, 1]
    assert insured > 0.05  # who pays more sees doctors less: what the experiment is known for


@pytest.mark.parametrize(
    ("risks", "said"),
    [
        ([(4.0, 3.0, 5.0), (2.0, 1.0, 2.9), (9.0, 8.0, 9.9)], True),
        ([(4.0, 3.0, 5.0), (2.0, 1.0, 3.1)], None),
        ([(4.0, 3.0, 5.0), (6.0, 5.1, 7.0), (9.0, 8.0, 9.9)], False),
        ([(4.0, 3.0, 5.0), (6.0, 5.1, 7.0), (5.0, 4.0, 9.9)], None),
    ],
)
def test_a_risk_is_beaten_where_another_lies_below_it_with_its_interval(shared, risks, said):
    assert shared("_risks").beaten(risks) is said


@pytest.mark.parametrize(
    ("chosen", "said"),
    [(0, False), (1, True), (2, False)],
)
def test_the_lowest_risk_lies_below_all_others_with_its_interval(shared, chosen, said):
    risks = [(4.0, 3.0, 5.0), (2.0, 1.0, 2.9), (9.0, 8.0, 9.9)]
    assert shared("_risks").lowest(risks, chosen) is said
    risks[1] = (2.0, 1.0, 3.1)  # which meets that of the first
    assert shared("_risks").lowest(risks, chosen) is (False if chosen == 2 else None)


def test_a_risk_between_its_budgets_lies_on_a_straight_line_of_logarithms(shared):
    against = np.array([1.0, 4.0, 16.0])
    value = 8.0 / against
    found = Risk(against, value, np.stack([value / 2.0, value * 2.0], axis=1), 0.5 * value, 0.5 * value, 1e-3, 0.95)
    again = shared("_risks").restored({k: np.asarray(v).tolist() for k, v in shared("_risks").kept(found).items()})
    assert shared("_risks").at(again, 2.0) == pytest.approx((4.0, 2.0, 8.0))
    assert (again.floor, again.level) == (found.floor, found.level)
