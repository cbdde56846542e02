"""The first-order solver: its kernels against NumPy, and what it proves."""

import math
import threading
import time

import numpy as np
import pytest
from support.instances import REFERENCE, instance

import steinkit as sk
from steinkit.discrepancy.graph.programs.matrix_form import certify
from steinkit.discrepancy.graph.programs.stein_program import SteinFactors, SteinProgram
from steinkit.discrepancy.graph.solvers import Settings, first_order, highs
from steinkit.discrepancy.graph.solvers import first_order_kernels as kernels
from steinkit.discrepancy.graph.solvers.first_order import lay_out
from steinkit.discrepancy.graph.solvers.first_order_kernels import LANES
from steinkit.discrepancy.graph.spanner.geometry import Graph, complete_graph

GO_ON = np.zeros(1, dtype=bool)


def program_of(points, scores, weights=None, graph=None, **more):
    n = len(points)
    weights = np.full(n, 1.0 / n) if weights is None else weights
    return SteinProgram(points, scores, weights, graph or sk.greedy_spanner(points), **more)


def random_program(seed, dim, n=18):
    """Weights, Stein factors and, for odd seeds, bounds, one of them on a point."""
    rng = np.random.default_rng(seed)
    points = rng.uniform(-1.0, 1.5, (n, dim))
    bounds = None
    if seed % 2:
        bounds = np.column_stack([points.min(axis=0) - rng.random(dim), np.full(dim, np.inf)])
        bounds[-1] = points[0, -1], np.inf
        points[:, -1] = np.maximum(points[:, -1], points[0, -1])
    return program_of(
        points,
        rng.standard_normal((n, dim)) * rng.choice([0.1, 1.0, 10.0]),
        rng.dirichlet(np.ones(n)),
        complete_graph(points),
        factors=SteinFactors.of(tuple(rng.choice([0.5, 1.0, 2.0], 3))),
        bounds=bounds,
    )


def proofs(answers):
    return [certify(answer.program, answer.y, answer.p) for answer in answers]


# the kernels, against NumPy in double precision


class Dense:
    """A batch's programs as dense arrays, straight from the programs: of the layout, its order only."""

    def __init__(self, layout, shared):
        self.layout, order = layout, layout.column_order
        width = len(order)
        self.matrix = np.zeros((len(layout.rows.radius), width))
        self.radius = np.zeros(len(layout.rows.radius))
        self.mine = np.zeros((len(self.radius), LANES))
        self.matrix[:shared] = layout.programs[0].matrix[:shared].toarray()[layout.row_order][:, order]
        self.radius[:shared] = layout.programs[0].radius[layout.row_order]
        self.mine[:shared] = 1.0
        at = shared
        for lane, program in enumerate(layout.programs):
            extra = program.matrix[shared:].toarray()[:, order]
            rows = slice(at, at + len(extra))
            self.matrix[rows], self.radius[rows], self.mine[rows, lane] = extra, program.radius[shared:], 1.0
            at += len(extra)
        assert at == len(self.radius)
        self.box, self.objective = np.zeros((2, width, LANES))
        for lane, program in enumerate(layout.programs):
            self.box[:, lane] = program.box[order]
            self.objective[:, lane] = program.objective[order]
        units = 2.0 ** np.floor(np.log2(self.box.max(axis=1)))
        row_units = 2.0 ** np.floor(np.log2(self.radius))
        self.matrix *= units / row_units[:, None]
        self.radius /= row_units
        self.box, self.objective = self.box / units[:, None], self.objective * units[:, None]
        self.objective /= np.maximum(np.abs(self.objective).max(axis=0), 1e-300)
        self.sigma = (1.0 / (self.radius * np.abs(self.matrix).sum(axis=1)))[:, None]
        self.tau = layout.columns.step.astype(float)  # judged by the norm of the scaled matrix

    def next(self, y, p, steps):
        """One step of PDHG."""
        stepped = np.clip(y + steps[0] * self.tau * (self.objective - self.matrix.T @ p), -self.box, self.box)
        moved = p + steps[1] * self.sigma * (self.matrix @ (2 * stepped - y))
        threshold = steps[1] * self.sigma * self.radius[:, None]
        return stepped, self.mine * np.sign(moved) * np.maximum(np.abs(moved) - threshold, 0.0)


@pytest.fixture(scope="module", params=[(2, 2), (3, 3)], ids=["free", "bounded"])
def dense(request):
    seed, dim = request.param
    program = random_program(seed, dim)
    shared = len(program.edge_rows[1])
    return Dense(lay_out([program.coordinate(j) for j in range(program.dim)], shared), shared)


def random_point(dense, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.standard_normal(dense.box.shape) * dense.box
    p = rng.standard_normal(dense.mine.shape) * dense.mine * dense.sigma * dense.radius[:, None]
    return y.astype(np.float32), p.astype(np.float32)


def state_at(dense, y, p):
    y0, p0 = random_point(dense, 1)
    pull = (dense.matrix.T @ p).astype(np.float32)
    return kernels.State(y.copy(), y0, np.zeros_like(y), p.copy(), p0, pull)


STEPS = np.array([0.7 + 0.1 * np.arange(LANES), 1.3 - 0.1 * np.arange(LANES)], np.float32)


def test_halpern_steps_are_those_of_numpy(dense):
    y, p = random_point(dense)
    state = state_at(dense, y, p)
    k = np.arange(1, 8)[:, None] + np.arange(LANES)
    weights = (k / (k + 1)).astype(np.float32)
    for w in weights:
        y_next, p_next = dense.next(y, p, STEPS)
        y = w * (2 * y_next - y) + (1 - w) * state.anchor_y
        p = w * (2 * p_next - p) + (1 - w) * state.anchor_p
    kernels.halpern_steps(dense.layout.rows, dense.layout.columns, state, STEPS, weights, GO_ON)
    np.testing.assert_allclose(state.y, y, atol=2e-5 * np.abs(y).max())
    np.testing.assert_allclose(state.p, p, atol=2e-5 * np.abs(p).max())
    sizes = np.abs(dense.matrix).T @ np.abs(p)  # of the terms that single precision adds up
    np.testing.assert_allclose(state.pull, dense.matrix.T @ p, atol=1e-6 * sizes.max())


def test_pdhg_step_and_its_lengths_are_those_of_numpy(dense):
    y, p = random_point(dense)
    state = state_at(dense, y, p)
    y_next, p_next, lengths = np.zeros_like(y), np.zeros_like(p), np.zeros((4, LANES))
    kernels.pdhg_step(dense.layout.rows, dense.layout.columns, state, STEPS, y_next, p_next, lengths)
    right_y, right_p = dense.next(y, p, STEPS)
    np.testing.assert_allclose(y_next, right_y, atol=1e-5 * np.abs(right_y).max())
    np.testing.assert_allclose(p_next, right_p, atol=1e-5 * np.abs(right_p).max())
    np.testing.assert_array_equal(state.y, y)
    expected = [
        ((right_y - y) ** 2 / dense.tau).sum(axis=0),
        ((right_p - p) ** 2 / dense.sigma).sum(axis=0),
        ((right_y - state.anchor_y) ** 2 / dense.tau).sum(axis=0),
        ((right_p - state.anchor_p) ** 2 / dense.sigma).sum(axis=0),
    ]
    np.testing.assert_allclose(lengths, expected, rtol=1e-4)


def test_restart_touches_the_chosen_lanes_only(dense):
    state = state_at(dense, *random_point(dense))
    before = [array.copy() for array in state]
    y_next, p_next = random_point(dense, 2)
    chosen = np.arange(LANES) % 2 == 1
    kernels.restart(dense.layout.rows, state, chosen[None].astype(np.float32), y_next, p_next)
    for now, then, new in zip(state, before, (y_next, y_next, None, p_next, p_next, None), strict=True):
        if new is not None:
            np.testing.assert_array_equal(now[:, ~chosen], then[:, ~chosen])
            np.testing.assert_allclose(now[:, chosen], new[:, chosen], atol=1e-6 * np.abs(new).max())
    np.testing.assert_allclose(state.pull, dense.matrix.T @ state.p.astype(float), atol=1e-5 * np.abs(state.p).max())


def kaczmarz(dense, y, margin, tolerance, sweeps, relaxation):
    """One row after the other, in Python."""
    for _ in range(sweeps):
        done = True
        for row, radius, mine in zip(dense.matrix, dense.radius, dense.mine, strict=True):
            v = mine * (row @ y)
            limit = (1 - margin) * radius
            done &= (np.abs(v) <= (1 + tolerance) * radius).all()
            y -= relaxation * np.outer(row, v - np.clip(v, -limit, limit)) / (row @ row)
        np.clip(y, -dense.box, dense.box, out=y)
        if done:
            break
    return y


@pytest.mark.parametrize("sweeps", [1, 3, 1000])
def test_repair_is_that_of_numpy(dense, sweeps):
    y = random_point(dense)[0].astype(float)
    relaxation = (dense.layout.exact_rows.step * (dense.matrix**2).sum(axis=1))[0]
    assert 0.0 < relaxation < 2.0
    expected = kaczmarz(dense, y.copy(), 1e-3, 1e-4, sweeps, relaxation)
    taken = kernels.repair(dense.layout.exact_rows, dense.layout.exact_columns, y, 1e-3, 1e-4, sweeps, GO_ON)
    np.testing.assert_allclose(y, expected, atol=1e-9)
    if sweeps == 1000:
        assert 3 < taken < 1000
        assert (dense.mine * np.abs(dense.matrix @ y) <= (1 + 2e-4) * dense.radius[:, None]).all()


def test_bounds_are_those_of_the_certificate(dense):
    """Against `certify`, which sees the program only, in its own order and units."""
    layout = dense.layout
    y, p = random_point(dense)
    y, p = 1e-3 * y.astype(float), p * np.float32(0.01)
    found = np.zeros((3, LANES))
    kernels.bounds(layout.exact_rows, layout.exact_columns, y, p, np.ones_like(y), found)
    for lane, program in enumerate(layout.programs):
        sign = math.copysign(1.0, found[1, lane])  # a negative objective proves nothing
        proof = certify(program, sign * layout.variables(lane, y), layout.multipliers(lane, p))
        scale = layout.scale[lane]
        lower = scale * abs(found[1, lane]) / max(1.0, found[2, lane])
        assert proof.lower == pytest.approx(lower, rel=1e-12)
        trivial = program.box @ np.abs(program.objective)
        assert proof.upper == pytest.approx(min(trivial, scale * found[0, lane]), rel=1e-12)


def test_steps_are_short_enough_to_converge(dense):
    """The scaled matrix, with sigma and tau, has norm at most one: lemma 2 of Pock and Chambolle."""
    for lane in range(len(dense.layout.programs)):
        rows = dense.mine[:, lane] > 0.0
        scaled = np.sqrt(dense.sigma[rows]) * dense.matrix[rows] * np.sqrt(dense.tau[:, lane])
        assert 0.3 < np.linalg.norm(scaled, 2) <= 1.0 + 1e-6


# what the solver proves


@pytest.mark.parametrize("tolerance", [1e-2, 1e-3, 1e-4])
def test_reference_values(tolerance):
    points, scores = instance("narrow normal 200x7")
    edges, values = REFERENCE["narrow normal 200x7"]
    program = program_of(points, scores)
    assert len(program.graph.edges) == edges
    answers = first_order.solve(program, Settings(tolerance))
    for proof, value, answer in zip(proofs(answers), values, answers, strict=True):
        assert proof.lower <= value + 1e-10
        assert proof.upper >= value - 1e-10
        assert proof.gap <= tolerance
        assert answer.solvers == ("first_order",)
        assert answer.notes == ()
        assert answer.iterations >= 100


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("dim", [2, 5, 9])
def test_brackets_agree_with_highs(seed, dim):
    """Weights, Stein factors, bounds, a point on a bound; nine coordinates take two batches."""
    program = random_program(seed, dim)
    mine = proofs(first_order.solve(program, Settings(1e-3)))
    theirs = proofs(highs.solve(program, Settings(1e-6)))
    assert max(proof.gap for proof in theirs) < 1e-5
    for proof, right in zip(mine, theirs, strict=True):
        assert proof.lower <= right.upper
        assert proof.upper >= right.lower
        assert proof.gap <= 1e-3


def test_nine_coordinates_do_not_depend_on_the_number_of_jobs():
    program = random_program(1, 9)
    alone = first_order.solve(program, Settings(1e-3, n_jobs=1))
    together = first_order.solve(program, Settings(1e-3, n_jobs=2))
    assert len(alone) == len(together) == 9
    for one, other in zip(alone, together, strict=True):
        np.testing.assert_array_equal(one.y, other.y)
        np.testing.assert_array_equal(one.p, other.p)
        assert one.iterations == other.iterations


def test_a_coordinate_in_lanes_is_that_coordinate_alone():
    """A lane does not feel its neighbours: the optimum of a coordinate is the same in a batch of five and of one."""
    program = random_program(0, 5)
    shared = len(program.edge_rows[1])
    batch = first_order._Batch(lay_out([program.coordinate(j) for j in range(program.dim)], shared), Settings(1e-3))
    alone = first_order._Batch(lay_out([program.coordinate(3)], shared), Settings(1e-3))
    for run in (batch, alone):
        for _ in range(6):
            run.advance()
            run.restart()
    np.testing.assert_array_equal(batch.y[:, 3], alone.y[:, 0])
    np.testing.assert_array_equal(batch.p[:, 3], alone.p[:, 0])


def test_one_point_and_points_far_apart_have_no_rows():
    for points in (np.array([[0.3, -2.0, 1.0]]), np.array([[0.0, 0.0], [50.0, 50.0]])):
        scores = np.full(points.shape, -1.5)
        answers = first_order.solve(program_of(points, scores, graph=complete_graph(points)), Settings(1e-3))
        for proof in proofs(answers):
            assert proof.lower == pytest.approx(2.5, rel=1e-14)  # |score| c1 + c2
            assert proof.gap < 1e-12


def test_one_point_with_a_bound_has_rows_in_one_coordinate_only():
    points = np.array([[0.5, 0.3]])
    program = program_of(
        points,
        np.array([[2.0, -1.0]]),
        graph=Graph(1, np.empty((0, 2), int), np.empty(0)),
        bounds=np.array([[0.0, np.inf], [-np.inf, np.inf]]),
    )
    first, second = proofs(first_order.solve(program, Settings(1e-4)))
    # maximise 2 gamma + Gamma, |gamma| <= .5, |Gamma| <= 1, |gamma - .5 Gamma| <= .125
    assert first.lower <= 2.0 <= first.upper
    assert first.gap <= 1e-4
    assert second.lower <= 2.0 <= second.upper
    assert second.gap <= 1e-4


def test_a_coordinate_with_nothing_to_gain_is_zero():
    """Its score and the weight of its gradients are zero on the points with weight: b = 0."""
    points = np.random.default_rng(3).standard_normal((12, 4))
    program = program_of(points, -points)
    zero = np.zeros((2, 12 * 5))

    class Without(SteinProgram):
        def objective(self, j):
            return zero if j == 2 else super().objective(j)

    program = Without(points, -points, program.weights, program.graph)
    found = proofs(first_order.solve(program, Settings(1e-3)))
    assert (found[2].lower, found[2].upper) == (0.0, 0.0)
    assert all(0.0 < found[j].lower <= found[j].upper for j in (0, 1, 3))
    assert max(proof.gap for proof in found) <= 1e-3


@pytest.mark.parametrize("size", [1e-12, 1e12])
def test_the_size_of_the_objective_does_not_matter(size):
    points = 0.4 * np.random.default_rng(5).standard_normal((60, 4))
    program = program_of(points, -points, np.full(60, 1.0 / 60))
    scaled = SteinProgram(points, -points, program.weights * size, program.graph)
    unscaled = proofs(first_order.solve(program, Settings(1e-3)))
    for one, other in zip(unscaled, proofs(first_order.solve(scaled, Settings(1e-3))), strict=True):
        assert other.gap <= 1e-3
        assert one.lower <= other.upper / size * (1 + 1e-12)
        assert other.lower / size <= one.upper * (1 + 1e-12)


# what it does not claim


def test_near_points_stall_and_it_says_so():
    """Edges of 1e-5 among edges of one make the program ill conditioned; the bracket is wide, and honest."""
    points = np.random.default_rng(0).standard_normal((40, 4))
    points[1::2] = points[::2] + 1e-5 * np.random.default_rng(1).standard_normal((20, 4))
    program = program_of(points, -points)
    answers = first_order.solve(program, Settings(1e-6))
    assert all(answer.iterations <= 20_000 for answer in answers)
    assert any("stopped at a bracket of" in note for answer in answers for note in answer.notes)
    for proof, right in zip(proofs(answers), proofs(highs.solve(program, Settings(1e-6))), strict=True):
        assert proof.lower <= right.upper
        assert proof.upper >= right.lower


def test_time_limit_and_interrupt_end_in_an_honest_bracket():
    points = 0.3 * np.random.default_rng(0).standard_normal((300, 7))
    program = program_of(points, -points / 0.09)
    values = [(2.632, 2.636)]  # of the first coordinate, by HiGHS
    started = time.monotonic()
    answers = first_order.solve(program, Settings(1e-6, deadline=started))
    assert time.monotonic() - started < 20.0
    assert answers[0].iterations == 50
    assert any("stopped at a bracket" in note for note in answers[0].notes)
    proof = proofs(answers)[0]
    assert proof.gap > 1e-3
    assert proof.lower < values[0][1]
    assert proof.upper > values[0][0]

    settings = Settings(1e-7)
    threading.Timer(0.1, settings.interrupted.set).start()
    answers = first_order.solve(program, settings)
    assert answers[0].iterations < 20_000
    assert proofs(answers)[0].lower < values[0][1]


LIES = {
    "noise": lambda values: np.random.default_rng(4).standard_normal(values.shape),
    "scaled": lambda values: 3.0 * values,
    "turned": lambda values: -values,
    "the next coordinate's": lambda values: np.roll(values, 1, axis=1),
}


@pytest.mark.parametrize("lie", LIES)
def test_a_wrong_iteration_is_never_believed(monkeypatch, lie):
    """The kernel's answer is replaced; the loop itself notices, goes on to its end, and the note says so."""
    points = 0.3 * np.random.default_rng(6).standard_normal((50, 5))
    program = program_of(points, -points / 0.09)
    right = proofs(first_order.solve(program, Settings(1e-3)))
    pdhg_step = kernels.pdhg_step

    def lying(rows, columns, state, steps, y, p, lengths):
        pdhg_step(rows, columns, state, steps, y, p, lengths)
        y[:], p[:] = LIES[lie](y), LIES[lie](p)

    monkeypatch.setattr(kernels, "pdhg_step", lying)
    monkeypatch.setattr(kernels, "restart", lambda *_: None)
    answers = first_order.solve(program, Settings(1e-3))
    assert any("stopped at a bracket" in note for answer in answers for note in answer.notes)
    found = proofs(answers)
    assert max(proof.gap for proof in found) > 1e-2
    for proof, truth in zip(found, right, strict=True):
        assert proof.lower <= truth.upper
        assert proof.upper >= truth.lower


def test_progress_goes_to_standard_error(monkeypatch, capsys):
    clock = iter(np.arange(0.0, 1e4, 2.0))
    monkeypatch.setattr("tqdm.std.time", lambda: next(clock))
    program = random_program(0, 4)
    first_order.solve(program, Settings(1e-3))
    assert capsys.readouterr() == ("", "")
    first_order.solve(program, Settings(1e-3, progress=True))
    out, err = capsys.readouterr()
    assert out == ""
    assert "widest bracket" in err


def test_brackets_closed_to_the_last_digit_do_not_stop_it():
    """Rounding, not allowed for while it iterates, may leave the lower bound above the upper one in all eight lanes."""
    draws = np.repeat([[0.0], [1.0]], 8, axis=1)
    settings = {"scores": np.full((2, 8), 0.01), "stein_factors": (1.0, 0.1, 10.0), "solver": "first_order"}
    with pytest.warns(sk.SteinkitWarning, match="ceiling"):
        result = sk.graph_stein_discrepancy(draws, **settings)
    assert result.lower <= 0.88 <= result.upper  # 8 (c1 .01 + c2)
    assert result.gap < 1e-6
