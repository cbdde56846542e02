"""The barrier kernels against their definitions in NumPy."""

from types import SimpleNamespace

import numpy as np
import pytest

from steinkit.discrepancy.graph.solvers import barrier_kernels as barrier


@pytest.fixture(params=range(5))
def rows(request):
    """Return an interior point, a step and targets for forty rows."""
    rng = np.random.default_rng(request.param)
    n = 40
    v = rng.uniform(-0.99, 0.99, n)
    return SimpleNamespace(
        interior=barrier.Interior(1.0 - v, 1.0 + v, rng.exponential(size=n), rng.exponential(size=n)),
        v=v,
        change=rng.standard_normal(n),
        omega=rng.exponential(size=n),
        targets=barrier.Targets(rng.exponential(size=n), rng.exponential(size=n)),
        empty=lambda count: [np.empty(n) for _ in range(count)],
    )


def sides(rows):
    """Return slacks, multipliers and changes of slacks of both sides, each of shape (2n,)."""
    s_up, s_low, z_up, z_low = rows.interior
    return np.append(s_up, s_low), np.append(z_up, z_low), np.append(-rows.change, rows.change)


def dual_change(rows, targets):
    """Return dz from s z + s dz + z ds = c."""
    s, z, ds = sides(rows)
    return (targets - z * ds) / s - z


def longest(values, changes):
    """Return the largest step in [0, 1] that leaves no value negative."""
    with np.errstate(divide="ignore"):
        return min(1.0, np.where(changes < 0.0, -values / changes, np.inf).min())


def force_of(rows, targets):
    s = sides(rows)[0]
    up, low = np.split(targets / s, 2)
    return low - up


def test_newton_weights(rows):
    s, z, _ = sides(rows)
    (weights,) = rows.empty(1)
    gap = barrier.newton_weights(rows.interior, weights)
    np.testing.assert_allclose(weights, sum(np.split(z / s, 2)), rtol=1e-14)
    assert gap == pytest.approx(s @ z, rel=1e-13)


def test_affine_gap(rows):
    s, z, _ = sides(rows)
    weights = sum(np.split(z / s, 2))
    for scale in (1.0, 1e-3):  # short steps are not shortened
        rows.change *= scale
        _, _, ds = sides(rows)
        dz = dual_change(rows, 0.0)
        expected = (s + longest(s, ds) * ds) @ (z + longest(z, dz) * dz)
        found = barrier.affine_gap(rows.interior, weights, s @ z, rows.change)
        assert found == pytest.approx(expected, rel=1e-10, abs=1e-12)


def test_mehrotra_targets(rows):
    _, _, ds = sides(rows)
    c_up, c_low, force = rows.empty(3)
    barrier.mehrotra_targets(rows.interior, rows.omega, rows.change, 0.01, 0.3, barrier.Targets(c_up, c_low), force)
    omega = np.tile(rows.omega, 2)
    second_order = np.clip(-ds * dual_change(rows, 0.0), -0.3 * omega, 0.3 * omega)
    expected = 0.01 * omega + second_order
    np.testing.assert_allclose(np.append(c_up, c_low), expected, rtol=1e-12)
    np.testing.assert_allclose(force, force_of(rows, expected), rtol=1e-11, atol=1e-12)


def test_step_lengths(rows):
    s, z, ds = sides(rows)
    dz = dual_change(rows, np.concatenate(rows.targets))
    primal, dual = barrier.step_lengths(rows.interior, rows.change, rows.targets)
    assert primal == pytest.approx(longest(s, ds), rel=1e-12)
    assert dual == pytest.approx(longest(z, dz), rel=1e-12)


def test_step_lengths_are_one_if_no_row_limits_them():
    ones, small = np.ones(3), np.full(3, 1e-3)
    interior, targets = barrier.Interior(ones, ones, ones, ones), barrier.Targets(ones, ones)
    assert barrier.step_lengths(interior, small, targets) == (1.0, 1.0)


def test_gondzio_targets(rows):
    s, z, ds = sides(rows)
    new_up, new_low, force = rows.empty(3)
    moved = barrier.Targets(new_up, new_low)
    barrier.gondzio_targets(rows.interior, rows.omega, rows.change, rows.targets, (0.7, 0.8), (0.02, 2.0), moved, force)
    targets, omega = np.concatenate(rows.targets), np.tile(rows.omega, 2)
    product = (s + 0.7 * ds) * (z + 0.8 * dual_change(rows, targets))
    expected = targets + np.maximum(np.clip(product, 0.02 * omega, 2.0 * omega) - product, -2.0 * omega)
    np.testing.assert_allclose(np.append(new_up, new_low), expected, rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(force, force_of(rows, expected), rtol=1e-9, atol=1e-11)


def test_advance(rows):
    s, z, ds = sides(rows)
    dz = dual_change(rows, np.concatenate(rows.targets))
    rows.change *= 1e-3
    dz = dual_change(rows, np.concatenate(rows.targets))
    ds = sides(rows)[2]
    v = rows.v.copy()
    interior = barrier.Interior(*(a.copy() for a in rows.interior))
    barrier.advance(v, interior, rows.change, rows.targets, (0.9, 0.05))
    np.testing.assert_allclose(v, rows.v + 0.9 * rows.change, rtol=1e-14)
    np.testing.assert_allclose(np.append(*interior[:2]), s + 0.9 * ds, rtol=1e-13)
    np.testing.assert_allclose(np.append(*interior[2:]), z + 0.05 * dz, rtol=1e-11)


def test_slacks_below_the_rounding_error_of_the_row_remain():
    """A row at 1 - 1e-20 is rounded to 1, but its slack is not 0."""
    one = np.ones(1)
    s_up = np.array([1e-20])
    interior = barrier.Interior(s_up, 2.0 * one, one.copy(), one.copy())
    barrier.advance(one.copy(), interior, np.array([1e-21]), barrier.Targets(0 * one, 0 * one), (1.0, 0.0))
    assert s_up[0] == pytest.approx(9e-21)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_changes_that_are_not_finite_give_no_gap_and_no_lengths(rows, bad):
    weights = sum(np.split(sides(rows)[1] / sides(rows)[0], 2))
    rows.change[7] = bad
    assert not np.isfinite(barrier.affine_gap(rows.interior, weights, 1.0, rows.change))
    assert np.isnan(barrier.step_lengths(rows.interior, rows.change, rows.targets)).all()
