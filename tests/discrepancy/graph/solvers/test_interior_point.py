"""The interior point method on small dense programs, against SciPy."""

import numpy as np
import pytest
from scipy.optimize import linprog

from steinkit.discrepancy.graph.solvers import Settings, interior_point
from steinkit.discrepancy.graph.solvers.block import newton_system


class DenseSystem:
    """The program max b'x, |B x| <= 1 with dense matrices; the first k rows are boxes."""

    def __init__(self, rng, m=30, k=8):
        self.B = np.vstack([np.eye(k), rng.standard_normal((m, k))])
        self.b = rng.standard_normal(k)
        self.b /= np.abs(self.b).max()
        self.start = np.append(self.b, np.zeros(m))
        self.omega = rng.uniform(0.5, 1.5, m + k)
        self.omega /= self.omega.mean()

    def factorise(self, weights):
        self.H = self.B.T @ (weights[:, None] * self.B)

    def step(self, force, change):
        change[:] = self.B @ np.linalg.solve(self.H, self.b + self.B.T @ force)

    def bounds(self, rows, multipliers):
        k = len(self.b)
        lower = self.b @ rows[:k] / max(1.0, np.abs(rows).max())
        residual = self.b - self.B.T @ multipliers
        return lower, np.abs(multipliers).sum() + np.abs(residual).sum()

    def optimum(self):
        stacked = np.vstack([self.B, -self.B])
        return -linprog(-self.b, A_ub=stacked, b_ub=np.ones(len(stacked)), bounds=(None, None)).fun


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize(
    "correctors", [interior_point.Correctors(0), interior_point.Correctors(2), newton_system.CORRECTORS]
)
def test_interior_point_method_finds_the_optimum(seed, correctors):
    """The optimum is that of `scipy.optimize.linprog`."""
    system = DenseSystem(np.random.default_rng(seed))
    optimum = system.optimum()
    for tolerance in (1e-2, 1e-9):
        found = interior_point.solve(system, Settings(tolerance=tolerance), correctors)
        assert found.lower <= optimum * (1 + 1e-9)
        assert found.upper >= optimum * (1 - 1e-9)
        assert found.upper - found.lower <= tolerance * found.upper
        assert found.iterations < 20
        assert system.bounds(found.rows, found.multipliers) == (found.lower, found.upper)


def test_interior_point_method_stops_at_nan_steps():
    system = DenseSystem(np.random.default_rng(0))
    step, calls = system.step, []

    def broken(force, change):
        calls.append(1)
        step(force, change)
        if len(calls) > 9:
            change[:] = np.nan

    system.step = broken
    found = interior_point.solve(system, Settings(tolerance=1e-9), interior_point.Correctors(2))
    assert 0 < found.iterations < 6
    assert found.lower <= system.optimum() <= found.upper
    assert np.isfinite(found.rows).all()


def test_interior_point_method_stops_when_interrupted():
    settings = Settings(tolerance=1e-9)
    settings.interrupted.set()
    found = interior_point.solve(DenseSystem(np.random.default_rng(0)), settings, interior_point.Correctors(2))
    assert found.iterations == 0
    assert found.lower == 0.0
    assert np.isfinite(found.upper)
