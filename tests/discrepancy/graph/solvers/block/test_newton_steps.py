"""Newton systems of solver `block` against dense linear algebra."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from steinkit.discrepancy.graph.programs.matrix_form import CoordinateProgram
from steinkit.discrepancy.graph.solvers import Settings
from steinkit.discrepancy.graph.solvers.block.newton_system import BlockSystem, find_pattern


def random_system(n, dim, n_rows, seed):
    """Return the system of a random program with two to four entries per row, and its dense B and b."""
    rng = np.random.default_rng(seed)
    size = n * (dim + 1)
    dense = np.zeros((n_rows, size))
    for row in dense:
        touched = rng.choice(size, min(size, rng.integers(2, 5)), replace=False)
        row[touched] = rng.standard_normal(len(touched))
    radius, box, objective = rng.uniform(0.1, 2.0, n_rows), rng.uniform(0.1, 2.0, size), rng.standard_normal(size)
    box[0] = 0.0  # as for a draw on a bound
    program = CoordinateProgram(sparse.csr_array(dense), radius, box, objective, n)
    pattern = find_pattern(program.matrix, n)
    system = BlockSystem(program, pattern, Settings(1e-6))
    scaled = np.empty_like(dense)
    scaled[:, pattern.place] = (dense * box / radius[:, None])[pattern.rows]
    b = np.empty(size)
    b[pattern.place] = objective * box
    return system, np.vstack([scaled, np.eye(size)]), b / np.abs(b).max()


def assert_same_as_dense(n, dim, n_rows, seed):
    system, B, b = random_system(n, dim, n_rows, seed)
    rng = np.random.default_rng(seed)
    weights, force, change = rng.uniform(0.1, 3.0, len(B)), rng.standard_normal(len(B)), np.empty(len(B))
    system.factorise(weights)
    system.step(force, change)
    expected = B @ np.linalg.solve(B.T @ (weights[:, None] * B), b + B.T @ force)
    np.testing.assert_allclose(change, expected, rtol=1e-8, atol=1e-9)

    rows = B @ rng.standard_normal(B.shape[1])
    lower, upper = system.bounds(rows, force)
    x, m = rows[n_rows:], n_rows
    assert lower == pytest.approx(b @ x / max(1.0, np.abs(rows).max()))
    assert upper == pytest.approx(np.abs(force[:m]).sum() + np.abs(b - B[:m].T @ force[:m]).sum())
    np.testing.assert_allclose(B.T @ system.start, b, atol=1e-15)


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 15), st.integers(1, 3), st.integers(0, 30), st.integers(0, 2**32 - 1))
def test_steps_and_bounds_agree_with_dense_linear_algebra(n, dim, n_rows, seed):
    assert_same_as_dense(n, dim, n_rows, seed)


@pytest.mark.parametrize(("n", "dim", "n_rows"), [(120, 3, 700), (200, 2, 260)])
def test_large_fronts_agree_with_dense_linear_algebra(n, dim, n_rows):
    """The fronts are large enough for BLAS products."""
    assert_same_as_dense(n, dim, n_rows, 5)


def test_lost_pivots_leave_finite_steps():
    system, B, _ = random_system(9, 2, 25, 3)
    system.factorise(np.where(np.arange(len(B)) % 2, 0.0, 1e-300))
    change = np.empty(len(B))
    system.step(np.zeros(len(B)), change)
    assert np.isfinite(change).all()
