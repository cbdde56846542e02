"""Agreement of the solvers with reference values and with each other, and wrong solutions."""

import numpy as np
import pytest
from support.instances import REFERENCE, instance

import steinkit as sk
from steinkit.discrepancy.graph.programs.matrix_form import certify
from steinkit.discrepancy.graph.programs.stein_program import SteinFactors, SteinProgram
from steinkit.discrepancy.graph.solvers import Settings, interior_point, solver_named
from steinkit.discrepancy.graph.spanner.geometry import complete_graph, sorted_graph


@pytest.mark.parametrize(
    ("name", "solver"),
    [
        (name, solver)
        for name in REFERENCE
        for solver in ("block", "highs", "cvxpy")
        if solver == "block" or name == "normal 300x2"  # HiGHS, which CVXPY calls, is slow on the other instances
    ],
)
def test_reference_values(name, solver):
    edges, values = REFERENCE[name]
    points, scores = instance(name)
    result = sk.graph_stein_discrepancy(points, scores=scores, solver=solver, tolerance=1e-6, n_jobs=2)
    assert len(result.graph.edges) == edges
    np.testing.assert_allclose(result.coordinate_values, values, rtol=1e-6)
    # the reference is rounded to ten decimals
    assert (result.coordinate_lower <= np.array(values) + 1e-10).all()
    assert (result.coordinate_upper >= np.array(values) - 1e-10).all()
    assert result.gap <= 1e-6


@pytest.mark.parametrize("name", ["normal 300x2", "narrow normal 200x7"])
def test_first_order_brackets_contain_reference_values(name):
    points, scores = instance(name)
    values = np.array(REFERENCE[name][1])
    result = sk.graph_stein_discrepancy(points, scores=scores, solver="first_order", tolerance=1e-2)
    assert result.gap <= 1e-2
    assert (result.coordinate_lower <= values + 1e-10).all()
    assert (result.coordinate_upper >= values - 1e-10).all()


def test_reference_value_in_one_dimension():
    points = np.random.default_rng(1).standard_normal((1000, 1))
    result = sk.graph_stein_discrepancy(points, scores=-points, solver="chain")
    assert result.value == pytest.approx(0.0754980932, rel=1e-6)
    assert result.gap <= 1e-6


def random_program(seed):
    """Return a random program with any number of points and bounds, any weights and Stein factors."""
    rng = np.random.default_rng(seed)
    n, dim = int(rng.integers(2, 40)), int(rng.choice([1, 1, 2, 3, 4, 6]))
    points = rng.uniform(-1.0, 2.0, (n, dim)) * rng.choice([0.2, 1.0, 3.0])
    if rng.random() < 0.3:  # pairs that nearly coincide
        points[n // 2 :] = points[: n - n // 2] + 10.0 ** rng.integers(-6, -1) * rng.standard_normal((n - n // 2, dim))
    bounds = None
    if rng.random() < 0.6:  # some at a point or near it
        below, above = rng.choice([0.0, 1e-2, 0.5, np.inf], (2, dim))
        bounds = np.column_stack([points.min(axis=0) - below, points.max(axis=0) + above])
    factors = SteinFactors.of(tuple(rng.choice([0.5, 1.0, 2.0, 4.0], 3)))
    scores = rng.standard_normal((n, dim)) * rng.choice([0.1, 1.0, 10.0])
    weights = rng.dirichlet(np.ones(n)) if rng.random() < 0.5 else np.full(n, 1.0 / n)
    graph = sorted_graph(points) if dim == 1 else sk.greedy_spanner(points)
    if dim > 1 and rng.random() < 0.2:
        graph = complete_graph(points)
    return SteinProgram(points, scores, weights, graph, factors, bounds)


@pytest.mark.parametrize("seeds", [range(first, first + 10) for first in range(0, 40, 10)], ids=str)
def test_brackets_of_all_solvers_intersect(seeds):
    for seed in seeds:
        program = random_program(seed)
        solvers = ["highs", "first_order", "chain" if program.dim == 1 else "block"]
        if seed % 10 == 0:
            solvers += ["cvxpy", "cvxpy:CLARABEL"]  # Clarabel shares no code with HiGHS
        proofs = {}
        for name in solvers:
            tolerance = 1e-2 if name == "first_order" else 1e-6
            answers = solver_named(name)(program, Settings(tolerance))
            proofs[name] = [certify(answer.program, answer.y, answer.p) for answer in answers]
        made_for_it = proofs["chain" if program.dim == 1 else "block"]
        for j in range(program.dim):
            assert max(proof[j].lower for proof in proofs.values()) <= min(proof[j].upper for proof in proofs.values())
            assert made_for_it[j].gap <= 1e-6, (seed, j)


LIES = {
    "noise": lambda values, other: np.random.default_rng(4).standard_normal(values.shape),
    "scaled": lambda values, other: 3.0 * values,
    "turned": lambda values, other: -values,
    "stale": lambda values, other: other,
}


@pytest.mark.parametrize("lie", LIES)
@pytest.mark.parametrize("solver", ["chain", "block"])
def test_wrong_interior_point_solutions_raise(monkeypatch, solver, lie):
    points = np.random.default_rng(2).standard_normal((60, 1 if solver == "chain" else 2))
    scores = {"asked": -points, "stale": np.sin(7.0 * points)}
    honest = {name: sk.graph_stein_discrepancy(points, scores=s, solver=solver) for name, s in scores.items()}
    solve, seen = interior_point.solve, []

    def spy(*arguments):
        seen.append(solve(*arguments))
        return seen[-1]

    monkeypatch.setattr(interior_point, "solve", spy)
    sk.graph_stein_discrepancy(points, scores=scores["stale"], solver=solver)
    stale = seen.pop()

    def liar(*arguments):
        truth = solve(*arguments)
        return interior_point.Solution(
            LIES[lie](truth.rows, stale.rows), LIES[lie](truth.multipliers, stale.multipliers), 0.0, 0.0, 1
        )

    monkeypatch.setattr(interior_point, "solve", liar)
    with pytest.raises(sk.SolverError) as caught:
        sk.graph_stein_discrepancy(points, scores=scores["asked"], solver=solver)
    assert caught.value.lower <= honest["asked"].upper
    assert caught.value.upper >= honest["asked"].lower
    assert caught.value.upper - caught.value.lower > 0.1 * caught.value.upper


@pytest.mark.parametrize("solver", ["block", "first_order", "highs"])
@pytest.mark.parametrize("n_jobs", [2, 3])
def test_results_do_not_depend_on_n_jobs(solver, n_jobs):
    points = np.random.default_rng(1).standard_normal((60, 3))
    shared = {"scores": -points, "solver": solver, "tolerance": 1e-2 if solver == "first_order" else 1e-6}
    alone = sk.graph_stein_discrepancy(points, **shared)
    together = sk.graph_stein_discrepancy(points, **shared, n_jobs=n_jobs)
    for name in ("coordinate_lower", "coordinate_upper", "g", "grad_g"):
        np.testing.assert_array_equal(getattr(alone, name), getattr(together, name))


def test_predicted_gap_of_any_size():
    """Near the limit of double precision the predicted gap may be of any size."""
    points = np.array([[-1.0, -1.0, 0.0], [-1.0, -0.5, 1.0], [0.0, -1.0, -0.5], [0.0, 0.5, -1.0], [0.5, 0.5, 0.0]])
    scores = np.array(
        [
            [465339.93653841486, 947592.6300341147, 530660.4911576537],
            [-1201758.7431871444, 1071997.327433543, 637512.9613479812],
            [1049540.2107319385, -160999.59706429378, 222361.00807002312],
            [1199916.5582959775, -1043648.0988729364, 485287.2046192036],
            [588554.908941801, 1474990.543165448, -1338282.576156419],
        ]
    )
    weights = [0.9724418821104972, 0.6664101353289708, 0.5368378467616997, 0.5117813383389515, 0.4614864950831816]
    settings = {"scores": scores, "weights": weights, "stein_factors": (0.1, 1.0, 1.0), "units": "raw"}
    assert sk.sliced_stein_discrepancy(points, tolerance=1e-14, **settings).gap < 1e-10
