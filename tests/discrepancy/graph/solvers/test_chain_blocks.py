"""Blocks of edges with shared controls against single edges."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from support.lines import line, normal, spaced

from steinkit.discrepancy.graph.programs.chain_form import ChainProgram
from steinkit.discrepancy.graph.programs.matrix_form import certify
from steinkit.discrepancy.graph.solvers import Settings, highs
from steinkit.discrepancy.graph.solvers import chain as solver


class Bar:
    """A progress bar that calls a function at every step."""

    def __init__(self, at_step=lambda: None):
        self.at_step = at_step

    def update(self):
        self.at_step()

    def set_postfix_str(self, text, refresh):
        pass


def by_blocks(program, tolerance=1e-6, bar=None, settings=None):
    """Solve by blocks for any sample size."""
    return solver._by_blocks(ChainProgram(program), settings or Settings(tolerance=tolerance), bar or Bar())


def edge_by_edge(program, tolerance=1e-6):
    return solver._edge_by_edge(ChainProgram(program), Settings(tolerance=tolerance), Bar())


@pytest.mark.parametrize("name", spaced(2, np.random.default_rng(0)))
def test_brackets_of_blocks_close_and_agree_with_single_edges(name, monkeypatch):
    monkeypatch.setattr(solver, "_FIRST_BLOCKS", 50)
    monkeypatch.setattr(solver, "_MOST_BLOCKS", 1.0)
    program = spaced(1000, np.random.default_rng(4))[name]
    found, plain = by_blocks(program).proof, edge_by_edge(program, 1e-8).proof
    assert found.gap <= 1e-6
    assert found.lower <= plain.upper
    assert plain.lower <= found.upper


@hypothesis_settings(max_examples=30, deadline=None)
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


@pytest.mark.parametrize("steps", [0, 3, 9, 14, 20, 30])
def test_interrupt_keeps_the_best_candidate(steps, monkeypatch):
    """More steps never widen the bracket."""
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
