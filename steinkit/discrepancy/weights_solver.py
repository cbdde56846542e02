"""Interior point method for the weights that minimize a Stein discrepancy.

See `weights_program` for the linear program

    maximize   t - w sum_i e_i   subject to   h_i + e_i >= t,   e_i >= 0,   h = C'x,   -1 <= B x <= 1,

where the blocks B contain the rows of the Stein programs and w is the largest weight. The multipliers of the first rows
of the program are the weights. `interior_point` requires symmetric rows. Let |h_i| <= R. At the optimum, 0 <= e_i <= 2
R and h_i + e_i - t <= 2 R. The substitutions e_i = R (1 + eps_i) and t = tau give, up to constants,

    maximize tau - w R sum_i eps_i   subject to   |h_i + R eps_i - tau| <= R,   |eps_i| <= 1,   |B x| <= 1.

Eliminating eps_i from a Newton step gives, for the change lambda in the weights,

    H dx + C lambda = g,      D^-1 lambda = C'dx + kappa - dtau,      sum lambda = -1,

with H = B'WB and a diagonal matrix D. In one dimension and for slices, H consists of chains, and the matrix C'H^-1 C +
D^-1 of order n is dense. In two dimensions, H + C D C' has the sparsity of the graph.
"""

from __future__ import annotations

from contextlib import suppress

import numpy as np
from scipy import sparse
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from steinkit.discrepancy.graph.programs.chain_form import ChainProgram
from steinkit.discrepancy.graph.programs.chain_form_kernels import ROWS, costate_bound
from steinkit.discrepancy.graph.programs.matrix_form import CoordinateProgram
from steinkit.discrepancy.graph.solvers.base import Settings
from steinkit.discrepancy.graph.solvers.block.newton_system import BlockSystem, find_pattern
from steinkit.discrepancy.graph.solvers.chain import ChainSystem, variables_of
from steinkit.discrepancy.graph.solvers.chain_kernels import GAINS, riccati_factorise, riccati_solve
from steinkit.discrepancy.weights_kernels import add_responses
from steinkit.sample import Floats


def least_mean(h: Floats, most: Floats) -> float:
    """Return the smallest mean of h over all weights that do not exceed `most`."""
    order = np.argsort(h)
    total = np.minimum(np.cumsum(most[order]), 1.0)
    return float(np.diff(total, prepend=0.0) @ h[order])


class ChainRows:
    """Rows B and matrix C for the chains and the moments.

    The moments have the rows |x_k| <= 1 and the coefficients `moments` of shape (m, n).

    Attributes
    ----------
    size : int
        Number of rows.
    ceiling : float
        Upper bound on |h|.
    """

    def __init__(self, chains: list[ChainProgram], moments: Floats) -> None:
        self.chains, self.moments, self.n = chains, moments, moments.shape[1]
        self.size = ROWS * self.n * len(chains) + len(moments)
        self.blocks, self.loads = [], []
        bound = np.abs(moments).sum(axis=0)
        for form in chains:
            system = ChainSystem(form.chain, None)
            self.blocks.append(system.blocks._replace(start=np.zeros(ROWS * self.n)))
            self.loads.append(system.scale * system.start.reshape(-1, ROWS))
            bound[form.order] += np.abs(self.loads[-1]).sum(axis=1)
        self.ceiling = float(bound.max())
        self._gains = [np.zeros(GAINS * self.n) for _ in chains]
        self._feed = np.empty(2 * self.n)

    def _parts(self, rows: Floats) -> list[Floats]:
        return np.split(rows, ROWS * self.n * np.arange(1, len(self.chains) + 1))

    def balance(self, weights: Floats) -> Floats:
        """Return multipliers z that satisfy B'z = C weights."""
        parts = [(load * weights[form.order, None]).ravel() for load, form in zip(self.loads, self.chains, strict=True)]
        return np.concatenate([*parts, self.moments @ weights])

    def factorise(self, weights: Floats, inverse: Floats) -> None:
        """Factorize the Newton matrix with row weights W and the diagonal D^-1."""
        *parts, self._of_moments = self._parts(weights)
        matrix = (self.moments.T / self._of_moments) @ self.moments
        for form, blocks, gains, part in zip(self.chains, self.blocks, self._gains, parts, strict=True):
            riccati_factorise(blocks, part, gains)
            add_responses(blocks, gains, form.chain.value, form.order, matrix)
        matrix[np.diag_indices(self.n)] += inverse
        self._factor: tuple[Floats, bool] | None = None
        with suppress(LinAlgError):  # the interior point method stops if a step is not finite
            self._factor = cho_factor(matrix, lower=True, overwrite_a=True, check_finite=False)

    def solve(self, force: Floats, kappa: Floats, change: Floats) -> Floats:
        """Solve H dx + C lambda = B'force and D^-1 lambda = C'dx + kappa.

        Set `change` to B dx and return lambda.
        """
        if self._factor is None:
            change[:] = np.nan
            return np.full(self.n, np.nan)
        self._respond(force, change)
        found = cho_solve(self._factor, self.heights(change) + kappa, check_finite=False)
        self._respond(force - self.balance(found), change)
        return np.asarray(found)

    def _respond(self, force: Floats, change: Floats) -> None:
        """Set `change` to B dx, where H dx = B'force."""
        *forces, of_moments = self._parts(force)
        *changes, moments = self._parts(change)
        for blocks, gains, given, found in zip(self.blocks, self._gains, forces, changes, strict=True):
            riccati_solve(blocks, gains, given, self._feed, found)
        moments[:] = of_moments / self._of_moments

    def heights(self, rows: Floats) -> Floats:
        """Return h = C'x for rows B x."""
        *parts, moments = self._parts(rows)
        h = moments @ self.moments
        for load, form, part in zip(self.loads, self.chains, parts, strict=True):
            h[form.order] += (load * part.reshape(-1, ROWS)).sum(axis=1)
        return np.asarray(h)

    def upper(self, weights: Floats, multipliers: Floats) -> float:
        """Return an upper bound on the discrepancy, up to rounding errors."""
        *parts, _ = self._parts(multipliers)
        total = float(np.abs(self.moments @ weights).sum())
        for form, part in zip(self.chains, parts, strict=True):
            own, chain = weights[form.order], form.chain
            zero = np.zeros(self.n)
            weighted = chain._replace(value=own * chain.value, slope=own, value_low=zero, slope_low=zero)
            total += costate_bound(weighted, part, np.empty(0))
        return total

    def variables(self, rows: Floats) -> list[Floats]:
        """Return the variables y of each program, and the variables of the moments."""
        *parts, moments = self._parts(rows)
        return [*map(variables_of, (form.chain for form in self.chains), parts), moments]


class MatrixRows:
    """Rows of the programs in matrix form, with C' stored as a sparse matrix.

    The attributes and methods are those of `ChainRows`, without moments.
    """

    def __init__(self, programs: list[CoordinateProgram], heights: list[sparse.csr_array], settings: Settings) -> None:
        box = np.concatenate([each.box for each in programs])
        radius = np.concatenate([each.radius for each in programs])
        self.matrix = sparse.csr_array(sparse.block_diag([each.matrix for each in programs]))
        to_heights = sparse.csr_array(sparse.hstack(heights))
        self.n, m = to_heights.shape[0], len(radius)
        joint = CoordinateProgram(
            sparse.csr_array(sparse.vstack([self.matrix, to_heights])),
            np.concatenate([radius, np.ones(self.n)]),
            box,
            np.zeros(len(box)),
            self.n,
        )
        pattern = find_pattern(joint.matrix, self.n)
        self.system = BlockSystem(joint, pattern, settings)
        self.box, self._ends = box, np.cumsum([len(each.box) for each in programs])[:-1]
        position = np.argsort(np.concatenate([pattern.rows, m + self.n + np.argsort(pattern.place)]))
        self._points = position[m : m + self.n]
        self._kept = np.concatenate([position[:m], position[m + self.n :]])
        self.size, self._m = len(self._kept), m
        self.to_heights = sparse.csr_array(to_heights @ sparse.diags_array(box))
        scale = np.divide(1.0, radius, out=np.zeros(m), where=radius > 0.0)
        self.scaled = sparse.csr_array(sparse.diags_array(scale) @ self.matrix @ sparse.diags_array(box))
        self.ceiling = float(abs(self.to_heights).sum(axis=1).max())
        self._force, self._change = np.empty(self.size + self.n), np.empty(self.size + self.n)

    def balance(self, weights: Floats) -> Floats:
        """Return multipliers z that satisfy B'z = C weights."""
        return np.concatenate([np.zeros(self._m), self.to_heights.T @ weights])

    def factorise(self, weights: Floats, inverse: Floats) -> None:
        """Factorize the Newton matrix."""
        self._inverse = inverse
        self._force[self._kept], self._force[self._points] = weights, 1.0 / inverse
        self.system.factorise(self._force)

    def solve(self, force: Floats, kappa: Floats, change: Floats) -> Floats:
        """Solve for the changes in x and in the weights."""
        self._force[self._kept], self._force[self._points] = force, -kappa / self._inverse
        self.system.step(self._force, self._change)
        change[:] = self._change[self._kept]
        return (self._change[self._points] + kappa) / self._inverse

    def heights(self, rows: Floats) -> Floats:
        """Return h = C'x."""
        return np.asarray(self.to_heights @ rows[self._m :])

    def upper(self, weights: Floats, multipliers: Floats) -> float:
        """Return an upper bound on the discrepancy."""
        p = multipliers[: self._m]
        return float(np.abs(p).sum() + np.abs(self.to_heights.T @ weights - self.scaled.T @ p).sum())

    def variables(self, rows: Floats) -> list[Floats]:
        """Return the variables of each program and of the moments."""
        return [*np.split(rows[self._m :] * self.box, self._ends), np.empty(0)]


class WeightsSystem:
    """Newton systems for the program, implementing `interior_point.NewtonSystem`.

    Parameters
    ----------
    rows : ChainRows or MatrixRows
    shares : ndarray, shape (n,)
        Initial weights, which sum to one.
    most : ndarray, shape (n,)
        Largest weights, which are at least `shares`.
    """

    def __init__(self, rows: ChainRows | MatrixRows, shares: Floats, most: Floats) -> None:
        self.rows, self.shares, self.most = rows, shares, most
        is_limited = bool(most.min() < 1.0)
        self.reach = rows.ceiling if is_limited else 0.0  # without limits, e = 0
        limits = self.reach * (shares - most) if is_limited else np.empty(0)
        start = np.concatenate([rows.balance(shares), -rows.ceiling * shares, limits])
        self.scale = float(np.abs(start).max())
        self.start, self.omega = start / self.scale, np.ones(len(start))
        self._unit_change = np.empty(rows.size)

    def _parts(self, values: Floats) -> list[Floats]:
        return np.split(values, [self.rows.size, self.rows.size + len(self.shares)])

    def factorise(self, weights: Floats) -> None:
        """Factorize the Newton matrix for the given row weights."""
        of_rows, self._of_points, self._of_limits = self._parts(weights)
        inverse = self.rows.ceiling**2 / self._of_points
        if len(self._of_limits):
            inverse = inverse + self.reach**2 / self._of_limits
        self.rows.factorise(of_rows, inverse)
        self._unit = self.rows.solve(np.zeros(self.rows.size), np.ones(len(self.shares)), self._unit_change)

    def step(self, force: Floats, change: Floats) -> None:
        """Set `change` to the Newton step."""
        of_rows, of_points, of_limits = self._parts(force)
        rows, points, limits = self._parts(change)
        kappa = -self.rows.ceiling * of_points / self._of_points
        if len(limits):
            of_limits = of_limits - self.most * self.reach / self.scale
            kappa += self.reach * of_limits / self._of_limits
        found = self.rows.solve(of_rows, kappa, rows)
        level = (found.sum() + 1.0 / self.scale) / self._unit.sum()
        found = found - level * self._unit
        rows -= level * self._unit_change
        points[:] = (self.rows.ceiling * found + of_points) / self._of_points
        if len(limits):
            limits[:] = (of_limits - self.reach * found) / self._of_limits

    def bounds(self, rows: Floats, multipliers: Floats) -> tuple[float, float]:
        """Return bounds on the smallest discrepancy, up to rounding errors."""
        x = self._parts(rows)[0]
        lower = least_mean(self.rows.heights(x) / max(1.0, float(np.abs(x).max())), self.most)
        z = self.scale * self._parts(multipliers)[0]
        return max(lower, 0.0), self.rows.upper(self.weights(multipliers), z)

    def weights(self, multipliers: Floats) -> Floats:
        """Return the multipliers as weights, normalized to sum to one."""
        z = self._parts(multipliers)[1]
        q = np.clip(-self.scale / self.rows.ceiling * z, 0.0, self.most)
        return np.asarray(q / q.sum()) if q.any() else self.shares
