"""Parallel work of the solvers: order, exceptions and warnings."""

import numpy as np
import pytest

from steinkit.discrepancy.graph.solvers.base import Settings, side_by_side


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_results_are_in_the_order_of_the_tasks(n_jobs):
    done = []
    found = side_by_side(lambda k: 10 * k, range(5), Settings(1e-6, n_jobs=n_jobs), lambda: done.append(1))
    assert found == [0, 10, 20, 30, 40]
    assert len(done) == 5


def test_exception_stops_other_tasks_and_propagates():
    settings = Settings(1e-6, n_jobs=2)

    def work(task):
        if task == 0:
            raise ZeroDivisionError("on purpose")
        return settings.interrupted.wait(30.0)

    with pytest.raises(ZeroDivisionError, match="on purpose"):
        side_by_side(work, [0, 1, 2, 3], settings)
    assert settings.interrupted.is_set()


def test_overflow_in_a_solver_does_not_warn():
    assert np.isinf(side_by_side(lambda x: np.float64(x) * 1e300, [1e300], Settings(1e-6))[0])
    with pytest.warns(RuntimeWarning, match="overflow"):
        assert np.isinf(np.float64(1e300) * 1e300)
