"""Names, purposes and requirements of the solvers."""

import re

import numpy as np
import pytest

import steinkit as sk
from steinkit.discrepancy.graph.programs.matrix_form import certify
from steinkit.discrepancy.graph.programs.stein_program import SteinProgram
from steinkit.discrepancy.graph.solvers import Settings, solver_choices, solver_named
from steinkit.discrepancy.graph.solvers.registry import SOLVERS


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("higs", 'did you mean "highs"'),
        ("simplex", "choose auto, chain, block, first_order, highs, cvxpy"),
        ("highs:ipx", "unknown solver"),
        ("cvxpy:nonsense", "'nonsense'.*HIGHS"),
        ("", "unknown solver"),
    ],
)
def test_unknown_names_raise(name, message):
    with pytest.raises(sk.UsageError, match=message):
        solver_named(name)


def test_names_are_listed_in_order():
    assert solver_choices() == f"{', '.join(SOLVERS)} or cvxpy:NAME"
    assert list(SOLVERS)[:6] == ["auto", "chain", "block", "first_order", "highs", "cvxpy"]


@pytest.mark.parametrize("name", [name for name in SOLVERS if name != "auto"])
def test_every_solver_has_a_purpose(name):
    assert re.match(r"[A-Z].+: .+\.$", SOLVERS[name].purpose)


def test_chain_requires_one_dimension():
    others = [name for name in SOLVERS if name != "chain"]
    points = np.random.default_rng(0).standard_normal((10, 2))
    with pytest.raises(sk.UsageError) as caught:
        sk.graph_stein_discrepancy(points, scores=-points, solver="chain")
    assert str(caught.value) == (
        f"solver chain supports at most 1 dimension; got 2; choose {', '.join(others[:-1])} or {others[-1]}"
    )


@pytest.mark.parametrize("name", [name for name in SOLVERS if name != "chain"])
def test_coordinates_are_solved_in_the_given_order(name):
    points = np.random.default_rng(0).standard_normal((40, 3)) * [1.0, 0.5, 2.0]
    program = SteinProgram(points, -points, np.full(40, 1 / 40), sk.greedy_spanner(points))
    solve, settings = solver_named(name), Settings(1e-4)
    whole, asked = solve(program, settings), solve(program, settings, [2, 0])
    assert len(asked) == 2
    for one, other in zip(asked, (whole[2], whole[0]), strict=True):
        first, second = (certify(each.program, each.y, each.p) for each in (one, other))
        assert max(first.gap, second.gap) <= 1e-4
        assert first.lower <= second.upper
        assert second.lower <= first.upper
