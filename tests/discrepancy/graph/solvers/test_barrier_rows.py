"""The NumPy versions of the barrier kernels give the same bits as the compiled kernels."""

import numpy as np
import pytest

from steinkit.discrepancy.graph.solvers import barrier_kernels as kernels
from steinkit.discrepancy.graph.solvers import barrier_rows

N = 300


def state(seed):
    """Return rows as in the middle of the method, near its end (slacks of 1e-12), or with many ties."""
    rng = np.random.default_rng(seed)
    small = 10.0 ** rng.uniform(-12 * (seed % 3), 0.0, (4, N))
    change = rng.standard_normal(N) * 10.0 ** rng.uniform(-6.0, 1.0, N)
    if seed % 4 == 0:
        small, change = np.ldexp(0.5, np.frexp(small)[1]), np.round(change)
    interior = kernels.Interior(2.0 - small[0], small[0].copy(), small[2], small[3])
    targets = kernels.Targets(*rng.uniform(0.0, 1e-3, (2, N)))
    return interior, targets, rng.uniform(0.03, 2.0, N), change


def calls(module, seed):
    """Return the results of all steps, and the arrays that they set."""
    interior, targets, omega, change = state(seed)
    weights, force, rows = np.empty(N), np.empty(N), interior.s_low - 1.0
    moved = kernels.Targets(*np.empty((2, N)))
    gap = module.newton_weights(interior, weights)
    found = [gap, module.affine_gap(interior, weights, gap, change), *module.step_lengths(interior, change, targets)]
    module.gondzio_targets(interior, omega, change, targets, (0.4, 0.7), (1e-5, 1e-3), moved, force)
    made = [weights, force.copy(), *moved]
    module.mehrotra_targets(interior, omega, change, 1e-3, 1e-2, targets, force)
    module.advance(rows, interior, change, targets, (found[2], found[3]))
    return found, [*made, force, *targets, rows, *interior]


@pytest.mark.parametrize("seed", range(40))
def test_steps_are_bit_for_bit_identical(seed):
    (numbers, arrays), (expected, expected_arrays) = (calls(each, seed) for each in (barrier_rows, kernels))
    assert numbers == expected
    for one, other in zip(arrays, expected_arrays, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.filterwarnings("ignore:invalid value")
@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_changes_that_are_not_finite_give_nan_lengths(wrong):
    interior, targets, _, change = state(1)
    change[7] = wrong
    for module in (barrier_rows, kernels):
        assert np.isnan(module.step_lengths(interior, change, targets)).all()
