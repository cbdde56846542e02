r"""Functions of a draw whose means under the target are known to be zero, from lean to rich.

For draws in standard units z, with the drift b and the diffusion a of the Stein operator (without bounds the score and
1), a covariance C of the draws, c = z - m and u = C b, the operator maps x -> p(c_j) C e_i to

    p(c_j) u_i + C_ij a_j p'(c_j),      of mean zero under every target.

    own2       u_j,  c_j u_j + C_jj a_j                           for functions of coordinate j
    own4       and  c_j^2 u_j + 2 C_jj a_j c_j,  c_j^3 u_j + 3 C_jj a_j c_j^2
    diagonal   own2 of all coordinates together, 2 d
    pairs      u_j,  c_j u_i + c_i u_j + C_ij (a_i + a_j)  for i <= j,  d (d + 3) / 2

Of a normal target with covariance C the score is -C^-1 (x - mu): u_j is mu_j - z_j, and pairs are all polynomials of
degree two, so that means and variances are known without an error.

References
----------
R. Assaraf and M. Caffarel (1999), "Zero-variance principle for Monte Carlo algorithms", Physical Review Letters 83.
A. Mira, R. Solgi and D. Imparato (2013), "Zero variance Markov chain Monte Carlo", Statistics and Computing 23.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from steinkit.discrepancy.cross_fitting import Draws
from steinkit.discrepancy.moments.discrepancy import standardised
from steinkit.discrepancy.units import Units
from steinkit.sample import Floats, Integers

Own = Literal["own2", "own4"]
Joint = Literal["diagonal", "pairs"]
FeatureSet = Literal["own2", "own4", "diagonal", "pairs"]
DEGREE: dict[Own, int] = {"own2": 2, "own4": 4}

_VALUES = 1 << 21  # numbers in a block of features
_WORK = 5e10  # draws times squared features, above which pairs cost more than they tell


@dataclass(frozen=True, eq=False)
class Operand:
    """Draws in standard units with what the Stein operator needs of them.

    Attributes
    ----------
    draws : Draws
        In standard units: chains, halves and shares.
    points, drift : ndarray, shape (n, d)
    diffusion : ndarray, shape (n, d), or None
        Without bounds it is 1.
    """

    draws: Draws
    points: Floats
    drift: Floats
    diffusion: Floats | None

    @classmethod
    def of(cls, draws: Draws, units: Units, bounds: Floats | None) -> Operand:
        """Bring draws in raw units to standard ones."""
        points, drift, diffusion = standardised(draws, units, bounds)
        return cls(
            draws.in_units(units),
            np.ascontiguousarray(points.T),
            np.ascontiguousarray(drift.T),
            None if diffusion is None else np.ascontiguousarray(diffusion.T),
        )

    def joint_sets(self) -> list[Joint]:
        """Those of the joint sets for which there are draws enough, and time."""
        n, dim = self.points.shape
        found: list[Joint] = []
        if 2 * dim < n / 3:
            found.append("diagonal")
        pairs = dim * (dim + 3) / 2
        if pairs < n / 4 and n * pairs**2 < _WORK:
            found.append("pairs")
        return found

    def blocks(self, rows: Integers | slice, width: int) -> Iterator[Integers]:
        """Rows in blocks of which features of this width fit into memory."""
        chosen = np.arange(len(self.points))[rows]
        step = max(1, _VALUES // width)
        return (chosen[begin : begin + step] for begin in range(0, len(chosen), step))


@dataclass(frozen=True, eq=False)
class Frame:
    """Where features are centred, and the covariance that turns scores into distances: learnt on some draws.

    Attributes
    ----------
    centre : ndarray, shape (d,)
    covariance : ndarray, shape (d, d)
    """

    centre: Floats
    covariance: Floats

    @classmethod
    def of(cls, operand: Operand, rows: Integers | slice) -> Frame:
        """Learn both, the covariance shrunk towards a multiple of the identity (Ledoit and Wolf 2004)."""
        shares = operand.draws.shares[rows]
        shares = shares / shares.sum()
        points = operand.points[rows]
        centre = shares @ points
        deviations = points - centre
        covariance = (deviations * shares[:, None]).T @ deviations
        dim = len(centre)
        level = np.trace(covariance) / dim
        distance = ((covariance - level * np.eye(dim)) ** 2).sum()
        if dim > 1 and distance > 0.0:
            squares = deviations**2
            noise = float((shares**2) @ squares.sum(axis=1) ** 2) - float(shares @ shares) * (covariance**2).sum()
            share = min(1.0, max(0.0, noise) / distance)
            covariance = share * level * np.eye(dim) + (1.0 - share) * covariance
        return cls(centre, covariance)

    def own(self, operand: Operand, rows: Integers, kind: Own) -> Floats:
        """Features of each coordinate for itself, shape (len(rows), d, 2 or 4)."""
        c, u, a = self._fields(operand, rows)
        variance = np.diag(self.covariance) * a
        found = np.empty((*c.shape, DEGREE[kind]))
        power = np.ones_like(c)
        found[:, :, 0] = u
        for k in range(1, DEGREE[kind]):
            found[:, :, k] = k * variance * power
            power = power * c
            found[:, :, k] += power * u
        return found

    def joint(self, operand: Operand, rows: Integers, kind: Joint) -> Floats:
        """Features of all coordinates together, shape (len(rows), 2 d or d (d + 3) / 2)."""
        c, u, a = self._fields(operand, rows)
        if kind == "diagonal":
            return np.hstack([u, c * u + np.diag(self.covariance) * a])
        i, j = np.triu_indices(c.shape[1])
        a = np.broadcast_to(a, c.shape)
        return np.hstack([u, c[:, i] * u[:, j] + c[:, j] * u[:, i] + self.covariance[i, j] * (a[:, i] + a[:, j])])

    def of_all(self, operand: Operand, rows: Integers, kind: FeatureSet) -> Floats:
        """Features of any set, side by side."""
        if kind == "diagonal" or kind == "pairs":
            return self.joint(operand, rows, kind)
        return self.own(operand, rows, kind).reshape(len(rows), -1)

    def _fields(self, operand: Operand, rows: Integers) -> tuple[Floats, Floats, Floats]:
        a = np.ones(1) if operand.diffusion is None else operand.diffusion[rows]
        return operand.points[rows] - self.centre, operand.drift[rows] @ self.covariance, a


def width_of(kind: FeatureSet, dim: int) -> int:
    """How many numbers the features of a draw are."""
    if kind in ("own2", "own4"):
        return dim * DEGREE[kind]
    return 2 * dim if kind == "diagonal" else dim * (dim + 3) // 2
