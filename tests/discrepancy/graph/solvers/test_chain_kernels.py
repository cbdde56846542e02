"""The kernels of solver `chain` against dense linear algebra."""

import numpy as np
import pytest
from scipy import sparse
from support.lines import line

from steinkit.discrepancy.graph.programs.chain_form import ChainProgram
from steinkit.discrepancy.graph.programs.chain_form_kernels import BOUNDED, EDGE, FREE, ROWS
from steinkit.discrepancy.graph.solvers.chain import AggregatedSystem, ChainSystem
from steinkit.discrepancy.graph.solvers.chain_kernels import (
    GAINS,
    Blocks,
    blocks_bound,
    riccati_factorise,
    riccati_solve,
    unfold,
)
from steinkit.runtime.progress import progress_bar


def rows_matrix(data, lag):
    """Return the dense matrix of the rows of a chain, shape (5n, 2n), by recursion for each variable."""
    n = len(data.kind)
    columns = []
    for node, which in np.ndindex(n, 2):
        y = np.zeros((n, 2))
        y[node, which] = 1.0
        rows, value, slope = np.zeros((n, ROWS)), 0.0, 0.0
        for i in range(n):
            h, d, (first, second) = data.step[i], lag[i], y[i]
            half = data.c3 * (h + 2.0 * d) / 2
            if data.kind[i] == FREE:
                value, slope = first, second
            else:
                value += d * slope
                chord = first if data.kind[i] == BOUNDED else slope + half * first
                value = h * chord + (0.0 if data.kind[i] == BOUNDED else value)
                slope = chord - half * second
                value += d * slope
                rows[i, 3] = second
                if data.kind[i] != BOUNDED:
                    rows[i, 2] = first
                if data.kind[i] != EDGE:
                    rows[i, 4] = chord / data.c2
            rows[i, :2] = value / data.box[i], slope / data.c2
        if data.far >= 0.0:
            rows[0, 2] = (value + data.far * slope) / data.far_radius
        columns.append(rows.ravel())
    return np.array(columns).T


@pytest.mark.parametrize("seed", range(12))
def test_riccati_recursion_solves_the_newton_system(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 12))
    points = np.sort(rng.uniform(0.0, rng.choice([1.0, 30.0]), n))
    bounds = [None, (-0.1, np.inf), (-0.1, points[-1] + 0.3)][seed % 3]
    data = ChainProgram(line(points, rng.standard_normal(n), bounds, (2.0, 1.0, 0.5))).chain
    lag = np.where((data.kind >= EDGE) & (rng.random(n) < 0.5), rng.random(n), 0.0)
    start = rng.standard_normal((n, ROWS))
    start[data.kind < EDGE, 2] = 0.0  # there are no such rows
    start[data.kind == FREE, 3:] = start[data.kind == EDGE, 4] = 0.0
    start[0, 2] = 0.0 if data.far < 0.0 else start[0, 2]
    start = start.ravel()
    blocks = Blocks(data.kind, data.step, lag, data.box, start, data.c2, data.c3, data.far, data.far_radius)
    weights, force = 10.0 ** rng.uniform(-2, 2, ROWS * n), rng.standard_normal(ROWS * n)
    gains, feed, change = np.zeros(GAINS * n), np.empty(2 * n), np.empty(ROWS * n)
    riccati_factorise(blocks, weights, gains)
    riccati_solve(blocks, gains, force, feed, change)
    B = rows_matrix(data, lag)
    expected = B @ np.linalg.solve(B.T @ sparse.diags_array(weights) @ B, B.T @ (start + force))
    np.testing.assert_allclose(change, expected, rtol=1e-8, atol=1e-9 * np.abs(expected).max())


def test_first_multipliers_balance_the_objective():
    """At a start from a bound gamma = t chord, so the row of the chord has its weight."""
    points = np.sort(np.random.default_rng(3).uniform(0.1, 0.9, 7))
    data = ChainProgram(line(points, points, (0.0, 1.0))).chain
    system = ChainSystem(data, progress_bar("", shown=False))
    B = rows_matrix(data, np.zeros(7))
    b = B.T @ np.column_stack([data.value * data.box, data.slope * data.c2, np.zeros((7, 3))]).ravel()
    np.testing.assert_allclose(B.T @ system.start * system.scale, b, atol=1e-15)


def some_blocks(seed, n=14):
    """Return a chain of several segments, with or without bounds, and the ends of blocks of edges."""
    rng = np.random.default_rng(seed)
    points = np.sort(rng.uniform(0.0, rng.choice([1.0, 3.0, 100.0]), n))
    bounds = [None, (-0.1, np.inf), (-0.1, points[-1] + 0.3)][seed % 3]
    chain = ChainProgram(line(points, rng.standard_normal(n), bounds, (2.0, 1.0, 0.5))).chain
    is_end = rng.random(n) < 0.4
    is_end |= chain.kind < EDGE
    is_end[:-1] |= chain.kind[1:] < EDGE
    is_end[-1] = True
    return rng, chain, np.flatnonzero(is_end)


def functions(chain, controls):
    """Return gamma and Gamma at all nodes for controls of shape (n, 2), by recursion."""
    gammas, slopes = np.empty((2, len(controls)))
    gamma = slope = 0.0
    for i, (first, second) in enumerate(controls):
        h = chain.step[i]
        if chain.kind[i] == FREE:
            gamma, slope = chain.box[i] * first, chain.c2 * second
        else:
            chord = chain.c2 * first if chain.kind[i] == BOUNDED else slope + 0.5 * chain.c3 * h * first
            gamma = h * chord + (0.0 if chain.kind[i] == BOUNDED else gamma)
            slope = chord - 0.5 * chain.c3 * h * second
        gammas[i], slopes[i] = gamma, slope
    return gammas, slopes


@pytest.mark.parametrize("seed", range(12))
def test_blocks_are_equivalent_to_edges_with_shared_controls(seed):
    """Functions at the ends of the blocks, objectives and largest rows agree."""
    rng, chain, ends = some_blocks(seed)
    system = AggregatedSystem(chain, ends, progress_bar("", shown=False))
    x = rng.uniform(-1.0, 1.0, 2 * len(ends))
    rows = rows_matrix(system.short._replace(box=system.blocks.box), system.blocks.lag) @ (
        x * np.where(np.repeat(system.short.kind == FREE, 2), np.tile([chain.c1, chain.c2], len(ends)), 1.0)
        * np.where(np.repeat(system.short.kind == BOUNDED, 2), np.tile([chain.c2, 1.0], len(ends)), 1.0)
    )  # fmt: skip
    y, worst = np.empty(2 * len(chain.kind)), np.empty(len(ends))
    unfold(chain, ends, rows, y, worst)
    controls = y.reshape(-1, 2)
    gammas, slopes = functions(chain, controls)
    shared = np.repeat(np.arange(len(ends)), np.diff(ends, prepend=-1))
    np.testing.assert_array_equal(controls, controls[ends][shared])
    np.testing.assert_allclose(controls[ends], x.reshape(-1, 2), atol=1e-12)
    np.testing.assert_allclose(rows.reshape(-1, ROWS)[:, 0] * system.blocks.box, gammas[ends], atol=1e-12)
    np.testing.assert_allclose(rows.reshape(-1, ROWS)[:, 1] * chain.c2, slopes[ends], atol=1e-12)
    assert rows @ system.start * system.scale == pytest.approx(chain.value @ gammas + chain.slope @ slopes, abs=1e-12)
    largest = np.maximum(np.abs(gammas) / chain.c1, np.abs(slopes) / chain.c2)
    chords = slopes + 0.5 * chain.c3 * chain.step * controls[:, 1]
    chords[chain.kind <= EDGE] = 0.0
    largest = np.maximum(largest, np.maximum(np.abs(controls).max(axis=1), np.abs(chords) / chain.c2))
    np.testing.assert_allclose(worst, [largest[shared == block].max() for block in range(len(ends))], rtol=1e-12)


@pytest.mark.parametrize("seed", range(12))
def test_bound_of_the_blocks_follows_from_weak_duality(seed):
    """It is the sum of |p| and of the residuals times the sizes of the variables."""
    rng, chain, ends = some_blocks(seed)
    system = AggregatedSystem(chain, ends, progress_bar("", shown=False))
    B = rows_matrix(system.short._replace(box=system.blocks.box), system.blocks.lag)
    p = rng.standard_normal((len(ends), ROWS))
    kind = system.short.kind
    p[:, 2:4] = 0.0  # the residuals of the controls take their place
    p[kind <= EDGE, 4] = 0.0
    p[kind == BOUNDED, 4] = rng.standard_normal()
    if chain.far >= 0.0:
        p[0, 2] = rng.standard_normal()
    size = np.ones((len(ends), 2))
    size[kind == FREE] = chain.c1, chain.c2
    size[kind == BOUNDED, 0] = chain.c2
    size[kind == FREE, 0] = system.blocks.box[kind == FREE]
    expected = np.abs(p).sum() + size.ravel() @ np.abs(B.T @ (system.start - p.ravel()))
    assert blocks_bound(system.blocks, p.ravel()) == pytest.approx(expected, rel=1e-12)
