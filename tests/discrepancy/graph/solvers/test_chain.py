"""Blocks of edges that share their controls: kernels against NumPy, answers against those edge by edge."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from support.lines import line, normal, rows_matrix, spaced

from steinkit.discrepancy.graph.programs.chain_form import ChainProgram
from steinkit.discrepancy.graph.programs.chain_form_kernels import BOUNDED, EDGE, FREE, ROWS
from steinkit.discrepancy.graph.programs.matrix_form import certify
from steinkit.discrepancy.graph.solvers import Settings, highs, interior_point
from steinkit.discrepancy.graph.solvers import chain as solver
from steinkit.discrepancy.graph.solvers.chain_kernels import blocks_bound, unfold
from steinkit.runtime.progress import progress_bar


class Bar:
    """A progress bar that calls a function at every step."""

    def __init__(self, at_step=lambda: None):
        self.at_step = at_step

    def update(self):
        self.at_step()

    def set_postfix_str(self, text, refresh):
        pass


def some_blocks(seed, n=14):
    """A chain of several segments, with bounds or not, and blocks of it."""
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
    """Gamma and its function at all nodes under controls of each edge, shape (n, 2): the recursion."""
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
def test_blocks_are_the_chain_with_shared_controls(seed):
    """Same functions at the blocks' ends, same objective, same largest rows."""
    rng, chain, ends = some_blocks(seed)
    system = solver.AggregatedSystem(chain, ends, progress_bar("", shown=False))
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
def test_bound_of_the_blocks_is_weak_duality(seed):
    """The boxes' multipliers, and what is left on each variable at the cost of its size."""
    rng, chain, ends = some_blocks(seed)
    system = solver.AggregatedSystem(chain, ends, progress_bar("", shown=False))
    B = rows_matrix(system.short._replace(box=system.blocks.box), system.blocks.lag)
    p = rng.standard_normal((len(ends), ROWS))
    kind = system.short.kind
    p[:, 2:4] = 0.0  # what is left of the controls goes there
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


def by_blocks(program, tolerance=1e-6, bar=None, settings=None):
    """The answer of the blocks, whatever the sample's size."""
    return solver._by_blocks(ChainProgram(program), settings or Settings(tolerance=tolerance), bar or Bar())


def edge_by_edge(program, tolerance=1e-6):
    return solver._edge_by_edge(ChainProgram(program), Settings(tolerance=tolerance), Bar())


@pytest.mark.parametrize("name", spaced(2, np.random.default_rng(0)))
def test_blocks_close_and_agree(name, monkeypatch):
    monkeypatch.setattr(solver, "_FIRST_BLOCKS", 50)
    monkeypatch.setattr(solver, "_MOST_BLOCKS", 1.0)
    program = spaced(3000, np.random.default_rng(4))[name]
    found, plain = by_blocks(program).proof, edge_by_edge(program, 1e-8).proof
    assert found.gap <= 1e-6
    assert found.lower <= plain.upper
    assert plain.lower <= found.upper


@hypothesis_settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_agreement_with_highs_on_the_matrix_form(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 40))
    points = rng.uniform(0.0, 1.0, n) * rng.choice([0.1, 1.0, 3.0, 10.0])
    bounds = [None, (-0.1, np.inf), (-0.1, points.max() + 0.2)][rng.integers(3)]
    factors = tuple(rng.choice([0.25, 0.5, 1.0, 2.0, 4.0], 3))
    program = line(points, rng.standard_normal(n), bounds, factors, rng.dirichlet(np.ones(n)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(solver, "_FIRST_BLOCKS", 2)
        patch.setattr(solver, "_MOST_BLOCKS", 1.0)
        found = by_blocks(program, 1e-8).proof
    (other,) = highs.solve(program, Settings(tolerance=1e-8))
    reference = certify(other.program, other.y, other.p)
    assert found.gap <= 1e-8
    assert found.lower <= reference.upper * (1 + 1e-12) + 1e-15
    assert reference.lower <= found.upper * (1 + 1e-12) + 1e-15


@pytest.mark.parametrize(("n", "tolerance"), [(2000, 1e-2), (4000, 1e-4)])
def test_blocks_serve_from_a_thousand_points_a_digit(n, tolerance, monkeypatch):
    tried, by_blocks = [], solver._by_blocks
    monkeypatch.setattr(solver, "_by_blocks", lambda form, *rest: tried.append(form.n_points) or by_blocks(form, *rest))
    for count in (n - 1, n):
        (answer,) = solver.solve(normal(count), Settings(tolerance=tolerance))
        assert answer.proof.gap <= tolerance
    assert tried == [n]


@pytest.mark.parametrize("tolerance", [1e-2, 1e-4, 1e-9, 1e-11])
def test_large_samples_take_few_blocks(tolerance, monkeypatch):
    """As many as it takes: the number of controls that differ from those before."""
    program = normal(20_000)
    systems = []

    class Spy(solver.AggregatedSystem):
        def __init__(self, chain, ends, progress):
            super().__init__(chain, ends, progress)
            systems.append(len(ends))

    monkeypatch.setattr(solver, "AggregatedSystem", Spy)
    (answer,) = solver.solve(program, Settings(tolerance=tolerance))
    assert answer.proof.gap <= tolerance
    assert systems == sorted(systems)
    assert max(systems) < 6000
    assert answer.notes == ()


def test_where_blocks_do_not_pay_it_goes_edge_by_edge(monkeypatch):
    program = normal(2000)
    expected = edge_by_edge(program)
    monkeypatch.setattr(solver, "_MANY", 100)
    monkeypatch.setattr(solver, "_MOST_BLOCKS", 0.01)
    (answer,) = solver.solve(program, Settings(tolerance=1e-6))
    np.testing.assert_array_equal(answer.y, expected.y)
    np.testing.assert_array_equal(answer.p, expected.p)


def test_what_blocks_leave_open_is_taken_up_edge_by_edge(monkeypatch):
    """A solver that gives up early."""
    solve, early = interior_point.solve, Settings(tolerance=0.5)
    monkeypatch.setattr(solver, "_MANY", 100)
    monkeypatch.setattr(
        solver.AggregatedSystem,
        "solve",
        lambda system, settings: solve(system, early, interior_point.Correctors(1)),
    )
    (answer,) = solver.solve(normal(2000), Settings(tolerance=1e-6))
    assert answer.proof.gap <= 1e-6


@pytest.mark.parametrize("steps", [0, 3, 9, 14, 20, 30])
def test_an_interrupt_keeps_the_best_that_was_found(steps, monkeypatch):
    """The bracket never gets wider by more steps."""
    gaps = []
    for stop_after in (steps, steps + 1):
        settings, left = Settings(tolerance=1e-9), iter(range(stop_after))

        def count(settings=settings, left=left):
            if next(left, None) is None:
                settings.interrupted.set()

        proof = by_blocks(normal(20_000), bar=Bar(count), settings=settings).proof
        assert 0.0 <= proof.lower <= proof.upper
        gaps.append(proof.gap)
    assert gaps[1] <= gaps[0] * (1.0 + 1e-9)


def test_repeated_runs_agree_bit_for_bit():
    program = normal(12_000)
    first, second = (solver.solve(program, Settings(tolerance=1e-6))[0] for _ in range(2))
    np.testing.assert_array_equal(first.y, second.y)
    np.testing.assert_array_equal(first.p, second.p)
