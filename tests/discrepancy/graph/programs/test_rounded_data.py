"""Brackets for weights, lengths and products with scores that are not exact doubles.

Optima are known for two points; for several points functions are evaluated in rational arithmetic.
"""

from fractions import Fraction

import numpy as np
import pytest
from support.exact_chain import function_of
from support.exact_programs import exact_program, fractions, in_relative_variables, product

import steinkit as sk
from steinkit.discrepancy.graph.programs.chain_form import ChainProgram
from steinkit.discrepancy.graph.programs.matrix_form import certify
from steinkit.discrepancy.graph.programs.relative_form import RelativeProgram
from steinkit.discrepancy.graph.programs.stein_program import SteinFactors, SteinProgram
from steinkit.discrepancy.graph.solvers import Settings, solver_named
from steinkit.discrepancy.graph.spanner.geometry import complete_graph, sorted_graph

SOLVERS = ["auto", "chain", "block", "first_order", "highs"]


def bracket_of(*args, **settings):
    """Return the bracket of a result or of a SolverError."""
    try:
        found = sk.graph_stein_discrepancy(*args, **settings)
    except sk.SolverError as error:
        return Fraction(error.lower), Fraction(error.upper)
    return Fraction(found.lower), Fraction(found.upper)


@pytest.mark.filterwarnings("ignore::steinkit.errors.SteinkitWarning")
@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("e", [30, 44, 48])
def test_cancelling_products_of_weights_and_scores(e, solver):
    """b = ((49 + 2^-47) 2^e / 50, -49 2^e / 50) at a distance of h = 2^-e.

    With gamma = 1 and Gamma = 1 up to h, the value is (b_1 + b_2) + h b_2 + 1 = 2^(e - 47) / 50 + 1 / 50.
    """
    scores = np.array([np.nextafter(49.0, 50.0), -1.0]) * 2.0**e
    lower, upper = bracket_of([0.0, 2.0**-e], scores=scores, weights=[1.0, 49.0], solver=solver)
    value = (Fraction(2) ** (e - 47) + 1) / 50
    assert lower <= value + Fraction(4, 2**e)
    assert upper >= value - Fraction(4, 2**e)
    if solver == "auto":
        assert (upper - lower) / upper < Fraction(1, 10**6)


@pytest.mark.parametrize("repeated", [True, False])
@pytest.mark.parametrize("measure", [sk.graph_stein_discrepancy, sk.sliced_stein_discrepancy])
def test_repeated_draws_with_cancelling_scores(measure, repeated):
    """With q_1 s_1 = -q_2 s_2 = B at distance h, the value is 1 - B h, up to B h^2."""
    a, b, h = 333_333, 666_667, 1e-11
    points, scores, weights = np.array([0.0, h]), np.array([b * 1e5, -a * 1e5]), np.array([a, b])
    if repeated:
        given = {"draws": np.repeat(points, weights), "scores": np.repeat(scores, weights)}
    else:
        given = {"draws": points, "scores": scores, "weights": weights}
    found = measure(units="raw", tolerance=1e-3, **given)
    value = 1 - Fraction(a, a + b) * Fraction(b * 1e5) * Fraction(h)
    assert found.lower <= value + Fraction(1, 10**11)
    assert found.upper >= value - Fraction(1, 10**11)
    assert found.gap < 1e-3


def near_program(seed, dim):
    """Return a program with inexact differences of points and with cancelling weights."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 6))
    points = rng.standard_normal((n, dim)) * 10.0 ** rng.choice([-11.0, -9.0, -6.0, -2.0])
    weights = rng.integers(1, 100, n).astype(float)
    scores = rng.standard_normal((n, dim)) * 10.0 ** rng.integers(0, 11)
    scores[-1] = -(weights[:-1, None] * scores[:-1]).sum(axis=0) / weights[-1]
    bounds = None
    if rng.random() < 0.5:
        spread = np.ptp(points, axis=0)
        bounds = np.column_stack([points.min(axis=0) - spread * rng.random(), points.max(axis=0) + rng.random()])
    graph = sorted_graph(points[:, 0]) if dim == 1 else complete_graph(points)
    sample = sk.Sample(points, weights=weights).distinct()
    return SteinProgram(
        points, scores, sample.weights, graph, SteinFactors.of(tuple(rng.choice([0.5, 1.0, 3.0], 3))), bounds,
        weights_low=sample.weights_low,
    )  # fmt: skip


def function_in_rational_arithmetic(program, form, y):
    """Return exact gamma and Gamma of the variables of a form."""
    y = fractions(y)
    if isinstance(form, ChainProgram):
        return function_of(form, y)
    if isinstance(form, RelativeProgram):
        y = [value * unit for value, unit in zip(y, fractions(form.units), strict=True)]
        y = [product(row, y) for row in in_relative_variables(form, form.forest)]
    return y


@pytest.mark.parametrize("dim", [1, 2, 3])
@pytest.mark.parametrize("seed", range(6))
def test_exact_values_lie_between_the_bounds(seed, dim):
    program = near_program(seed, dim)
    exact = exact_program(program, 0, all_rows=True)
    proofs, values = [], []
    for name in ("chain", "block", "highs") if dim == 1 else ("block", "first_order", "highs"):
        candidate = solver_named(name)(program, Settings(1e-6), [0])[0]
        form, proof = candidate.program, certify(candidate.program, candidate.y, candidate.p)
        found = exact.feasible(function_in_rational_arithmetic(program, form, proof.feasible))
        values.append(exact.value(found))
        assert Fraction(proof.lower) <= values[-1]
        proofs.append(proof)
    assert max(values) <= Fraction(min(proof.upper for proof in proofs))
