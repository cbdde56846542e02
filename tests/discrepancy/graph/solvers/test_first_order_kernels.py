"""The kernels of solver `first_order` against NumPy in double precision."""

import math

import numpy as np
import pytest
from support.stein_programs import random_program

from steinkit.discrepancy.graph.programs.matrix_form import certify
from steinkit.discrepancy.graph.solvers import Settings, first_order
from steinkit.discrepancy.graph.solvers import first_order_kernels as kernels
from steinkit.discrepancy.graph.solvers.first_order import lay_out
from steinkit.discrepancy.graph.solvers.first_order_kernels import LANES

GO_ON = np.zeros(1, dtype=bool)


class Dense:
    """Dense arrays of the programs of a batch, built from the programs in the order of the layout."""

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
        self.tau = layout.columns.step.astype(float)  # checked by the norm of the scaled matrix

    def next(self, y, p, steps):
        """Return the point after one step of PDHG."""
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


def test_halpern_steps_agree_with_numpy(dense):
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
    sizes = np.abs(dense.matrix).T @ np.abs(p)  # of the terms that are summed in single precision
    np.testing.assert_allclose(state.pull, dense.matrix.T @ p, atol=1e-6 * sizes.max())


def test_pdhg_step_and_its_lengths_agree_with_numpy(dense):
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


def test_restart_changes_only_the_chosen_lanes(dense):
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
    """Return y after relaxed Kaczmarz sweeps, row by row."""
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
def test_repair_agrees_with_numpy(dense, sweeps):
    y = random_point(dense)[0].astype(float)
    relaxation = (dense.layout.exact_rows.step * (dense.matrix**2).sum(axis=1))[0]
    assert 0.0 < relaxation < 2.0
    expected = kaczmarz(dense, y.copy(), 1e-3, 1e-4, sweeps, relaxation)
    taken = kernels.repair(dense.layout.exact_rows, dense.layout.exact_columns, y, 1e-3, 1e-4, sweeps, GO_ON)
    np.testing.assert_allclose(y, expected, atol=1e-9)
    if sweeps == 1000:
        assert 3 < taken < 1000
        assert (dense.mine * np.abs(dense.matrix @ y) <= (1 + 2e-4) * dense.radius[:, None]).all()


def test_bounds_agree_with_the_certificate(dense):
    """`certify` uses only the program, in its own order and units."""
    layout = dense.layout
    y, p = random_point(dense)
    y, p = 1e-3 * y.astype(float), p * np.float32(0.01)
    found = np.zeros((3, LANES))
    kernels.bounds(layout.exact_rows, layout.exact_columns, y, p, np.ones_like(y), found)
    for lane, program in enumerate(layout.programs):
        sign = math.copysign(1.0, found[1, lane])  # a negative objective gives no lower bound
        proof = certify(program, sign * layout.variables(lane, y), layout.multipliers(lane, p))
        scale = layout.scale[lane]
        lower = scale * abs(found[1, lane]) / max(1.0, found[2, lane])
        assert proof.lower == pytest.approx(lower, rel=1e-12)
        trivial = program.box @ np.abs(program.objective)
        assert proof.upper == pytest.approx(min(trivial, scale * found[0, lane]), rel=1e-12)


def test_steps_are_short_enough_to_converge(dense):
    """The matrix scaled by sigma and tau has a norm of at most 1 (Pock and Chambolle, lemma 2)."""
    for lane in range(len(dense.layout.programs)):
        rows = dense.mine[:, lane] > 0.0
        scaled = np.sqrt(dense.sigma[rows]) * dense.matrix[rows] * np.sqrt(dense.tau[:, lane])
        assert 0.3 < np.linalg.norm(scaled, 2) <= 1.0 + 1e-6


def test_lanes_do_not_depend_on_their_neighbours():
    """The iterates of a coordinate are the same in a batch of five and of one."""
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
