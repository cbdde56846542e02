"""The chain form's proofs on programs whose optimum is known exactly."""

from fractions import Fraction

import numpy as np
import pytest

from steinkit.discrepancy.graph.programs.chain_form import ChainProgram
from steinkit.discrepancy.graph.programs.stein_program import SteinProgram
from steinkit.discrepancy.graph.spanner.geometry import sorted_graph


@pytest.mark.parametrize("n", [1, 64])
@pytest.mark.parametrize("size", [0.0, 2.0**-60, 1.0])
def test_points_by_themselves_are_worth_their_boxes(n, size):
    """The optimum is the sum of q (c1 |s| + c2), which is a double here or a little above one."""
    points, signs = 8.0 * np.arange(n)[:, None], (-1.0) ** np.arange(n)
    form = ChainProgram(SteinProgram(points, size * signs[:, None], np.full(n, 1.0 / n), sorted_graph(points)))
    assert form.upper_bound(np.zeros(5 * n)) >= Fraction(size) + 1
    assert 1.0 - 1e-13 < form.lower_bound(np.column_stack([signs, np.ones(n)]).ravel())[0] / (1.0 + size) <= 1.0
