"""Sweeps with several budgets: each is the sweep with this budget, and the figure shows all of them."""

import numpy as np
import pytest
from matplotlib.figure import Figure

import steinkit as sk
from steinkit.errors import UsageError
from steinkit.plots import budgets as plot_budgets

TARGET = sk.targets.LogisticRegression.nodal()
GIVEN = {
    "grid": {"step_size": [0.001, 0.03, 0.3]},
    "options": {"batch_size": 5},
    "seeds": 5,
    "measures": ["ksd", "ess"],
    "units": "raw",
}
BUDGETS = (200, 500, 1000)


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    return tmp_path_factory.mktemp("budgets") / "out.sqlite"


@pytest.fixture(scope="module")
def found(file):
    return sk.sweep(TARGET, "sgld", budgets=[500, 1000, 200, 500], file=file, **GIVEN)


@pytest.mark.parametrize("budget", BUDGETS)
def test_the_choices_are_those_of_a_sweep_with_this_budget(found, budget):
    alone = sk.sweep(TARGET, "sgld", **GIVEN | {"options": {"batch_size": 5, "budget": budget}})
    assert found.by_budget[budget] == alone.criteria
    if budget == BUDGETS[-1]:
        assert found.criteria == alone.criteria
        assert (found.headline(), found.records[0].draws) == (alone.headline(), alone.records[0].draws)
    assert tuple(found.by_budget) == BUDGETS


def test_a_new_budget_reuses_the_cells_of_the_others(found, file):
    again = sk.sweep(TARGET, "sgld", budgets=[*BUDGETS, 2000], file=file, **GIVEN)
    assert (again.cells, again.reused) == (15, 0)
    assert again.by_budget[1000] == found.criteria
    assert sk.read_sweep(file).by_budget == again.by_budget
    largest = sk.sweep(TARGET, "sgld", budgets=[200, 1000], file=file, **GIVEN)
    assert (largest.cells, largest.reused) == (15, 15)
    assert largest.by_budget == {budget: found.by_budget[budget] for budget in (200, 1000)}


def test_each_budget_drops_its_own_settings(found):
    raced = sk.sweep(TARGET, "sgld", budgets=BUDGETS, racing=True, **GIVEN | {"seeds": 10})
    for budget in BUDGETS:
        alone = GIVEN | {"options": {"batch_size": 5, "budget": budget}, "seeds": 10}
        assert raced.by_budget[budget] == sk.sweep(TARGET, "sgld", racing=True, **alone).criteria


def test_the_curves_are_medians_by_budget_with_a_star_at_each_best_setting(found):
    ax = plot_budgets(found, Figure().add_subplot())
    choices = found.choices_at("ksd")
    for setting in found.settings:
        medians = [choice.of(setting).median for choice in choices.values()]
        assert any(np.array_equal(line.get_ydata(), medians) for line in ax.lines)
    stars = [line for line in ax.lines if line.get_marker() == "*" and len(line.get_xdata())]
    marked = sorted((line.get_xdata()[0], line.get_ydata()[0]) for line in stars)
    assert marked == [(budget, choice.median) for budget, choice in choices.items()]


def test_invalid_budgets():
    with pytest.raises(UsageError, match="budget must not be an option"):
        sk.sweep(TARGET, "sgld", budgets=[100], **GIVEN | {"options": {"batch_size": 5, "budget": 100}})
    with pytest.raises(UsageError, match="every budget"):
        sk.sweep(TARGET, "sgld", budgets=[100, 0], **GIVEN)
    alone = sk.sweep(TARGET, "sgld", **GIVEN | {"options": {"batch_size": 5, "budget": 100}, "seeds": 1})
    with pytest.raises(UsageError, match="a sweep with budgets"):
        plot_budgets(alone)
