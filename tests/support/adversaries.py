"""Samples that challenge proofs: each family targets one kind of rounding or solver error.

A family is a function of a random generator that returns an `Instance`, which contains only user inputs.
"""

import json
from dataclasses import dataclass, replace

import numpy as np

import steinkit as sk

LINE_SOLVERS = ("chain", "auto", "block", "first_order", "highs", "cvxpy")
SPACE_SOLVERS = ("auto", "block", "first_order", "highs", "cvxpy")


@dataclass(frozen=True, eq=False)
class Instance:
    """A call to a discrepancy: the measure, the sample and the settings.

    For a Wasserstein distance, the target is uniform between the bounds. With `tails`, the operator is that of the
    covariance with 1 + |x|^2 / tails on the diagonal and .3 elsewhere, where x is the point times `stretch`. Points are
    taken in units of `unit`.
    """

    family: str
    points: np.ndarray
    scores: np.ndarray
    measure: str = "graph"
    weights: np.ndarray | None = None
    bounds: np.ndarray | None = None
    factors: tuple[float, float, float] = (1.0, 1.0, 1.0)
    dilation: float = 2.0
    graph: str = "spanner"
    solver: str = "auto"
    tails: float = 0.0
    stretch: float = 1.0
    unit: float = 1.0
    tolerance: float = 1e-6
    max_seconds: float | None = None

    @property
    def dim(self):
        return self.points.shape[1]

    @property
    def solvers(self):
        """Return the solvers that accept the instance."""
        if self.measure != "graph":
            return (self.measure,)
        return LINE_SOLVERS if self.dim == 1 else SPACE_SOLVERS

    def by(self, solver):
        """Return the instance with a solver."""
        return replace(self, solver=solver)

    def result(self):
        """Return the result of steinkit."""
        if self.measure == "wasserstein":
            return sk.wasserstein_distance(self.points, sk.targets.Uniform(*self.bounds[0]), weights=self.weights)
        given = {"scores": self.scores, "weights": self.weights, "bounds": self.bounds, "stein_factors": self.factors}
        given["tolerance"] = self.tolerance
        if self.measure == "sliced":
            return sk.sliced_stein_discrepancy(self.points, **given, units="raw")
        if self.measure == "classical":
            return sk.classical_stein_discrepancy(self.points, **given)
        return sk.graph_stein_discrepancy(
            self.points,
            **given,
            dilation=self.dilation,
            graph=self.graph,
            solver=self.solver,
            units="raw" if self.unit == 1.0 else np.full(self.dim, self.unit),
            operator=operator(self.tails, self.dim, self.stretch) if self.tails else None,
            max_seconds=self.max_seconds,
        )

    def as_json(self):
        """Return a line that `from_json` reads exactly."""
        values = {
            name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in vars(self).items()
        }
        return json.dumps(values)

    @classmethod
    def from_json(cls, line):
        values = json.loads(line)
        for name in ("points", "scores", "weights", "bounds"):
            values[name] = None if values.get(name) is None else np.array(values[name], dtype=np.float64)
        return cls(**values | {"factors": tuple(values["factors"])})


@np.errstate(over="ignore")
def operator(tails, dim, stretch=1.0):
    """Return a diffusion in z = x / stretch that moves faster in the tails."""

    def covariance(z):
        square = ((stretch * z) ** 2).sum(axis=1)
        a = (1.0 + square / tails)[:, None, None] * np.eye(dim) + 0.3 * (1.0 - np.eye(dim))
        return a / stretch / stretch

    return sk.RiemannianLangevin(covariance, lambda z: 2.0 * (stretch * z) / tails / stretch)


def _size(rng, dim):
    """Return a number of points for which an exact optimum is found quickly."""
    return int(rng.integers(1, (8, 7, 5)[dim - 1]))


def _dim(rng):
    return int(rng.choice([1, 1, 2, 2, 3]))


def _factors(rng):
    return tuple(float(c) for c in rng.choice([0.1, 0.25, 0.5, 1.0, 1.0, 1.0, 2.0, 3.0, 10.0], 3))


def _bounds(rng, points, margins):
    lower, upper = points.min(axis=0) - rng.choice(margins, points.shape[1]), points.max(axis=0)
    return np.column_stack([lower, upper + rng.choice(margins, points.shape[1])])


def plain(rng):
    """Normal draws and scores, some with weights or bounds."""
    dim = _dim(rng)
    points = rng.standard_normal((_size(rng, dim), dim)) * rng.choice([0.1, 1.0, 10.0])
    weights = rng.random(len(points)) + 0.01 if rng.random() < 0.5 else None
    bounds = _bounds(rng, points, [0.0, 0.1, 1.0, np.inf]) if rng.random() < 0.4 else None
    scores = rng.standard_normal(points.shape) * rng.choice([0.3, 1.0, 30.0])
    return Instance("plain", points, scores, weights=weights, bounds=bounds, factors=_factors(rng))


def cancelling(rng):
    """Two or three close points with large weighted scores that nearly cancel, so that rounding of q s matters."""
    dim = int(rng.choice([1, 1, 1, 2]))
    exponent, n = int(rng.integers(20, 51)), int(rng.integers(2, 4))
    counts = rng.integers(1, 100, n).astype(float)
    s = rng.integers(1, 100, n) * np.where(np.arange(n) % 2, -1.0, 1.0)
    s[-1] = -(counts[:-1] @ s[:-1]) / counts[-1]
    for _ in range(int(rng.integers(0, 3))):
        s[0] = np.nextafter(s[0], np.inf)
    points = np.zeros((n, dim))
    points[:, 0] = np.arange(n)
    if dim == 2:
        points[:, 1] = rng.integers(0, 2, n)
    points, scores = points * 2.0**-exponent, np.zeros((n, dim))
    scores[:, 0] = s * 2.0**exponent
    offset = rng.choice([0.0, 0.0, 2.0**-exponent * 8, 1.0]) if exponent < 49 else 0.0
    return Instance("cancelling", points + offset, scores, weights=counts, factors=_factors(rng))


def clusters_cancel(rng):
    """Clusters on grids of 2^-20 to 2^-45 with large scores that nearly cancel; bounds on the grid."""
    dim, exponent = int(rng.integers(1, 4)), int(rng.integers(20, 46))
    step, points, scores, weights = 2.0**-exponent, [], [], []
    for _ in range(int(rng.integers(1, 3))):
        n = int(rng.integers(2, 4))
        corner = rng.integers(0, 4, dim) * rng.choice([1.0, 0.25, 64 * step])
        points.append(corner + step * np.unique(rng.integers(0, 8, (n, dim)), axis=0))
        mass, pull = rng.random(len(points[-1])) + 0.1, rng.standard_normal(points[-1].shape) / step
        pull[-1] = -(mass[:-1] @ pull[:-1]) / mass[-1]
        pull[-1] *= 1 + rng.choice([0.0, 1e-15, 1e-12, step])
        scores.append(pull)
        weights.append(mass)
    points, first = np.unique(np.concatenate(points), axis=0, return_index=True)
    bounds = _bounds(rng, points, np.array([0.0, step, 3 * step, 1.0, np.inf])) if rng.random() < 0.4 else None
    scores, weights = np.concatenate(scores)[first], np.concatenate(weights)[first]
    return Instance("clusters cancel", points, scores, weights=weights, bounds=bounds, factors=_factors(rng))


def neighbours(rng):
    """Points with equal, adjacent or nearly adjacent doubles as coordinates."""
    dim = _dim(rng)
    n, centre = _size(rng, dim) + 1, rng.choice([1.0, 1e-8, 1e8, np.pi], dim)
    points = np.unique(centre + np.spacing(centre) * rng.integers(-3, 4, (n, dim)), axis=0)
    points = rng.permutation(points)
    scores = rng.standard_normal(points.shape) * rng.choice([1.0, 1.0 / np.spacing(centre).max()])
    bounds = _bounds(rng, points, np.array([0.0, np.inf])) if rng.random() < 0.3 else None
    return Instance("neighbours", points, scores, bounds=bounds, factors=_factors(rng))


def repeats(rng):
    """Close points with unequal numbers of repeats and scores that nearly cancel."""
    dim, total = int(rng.choice([1, 1, 2])), int(rng.choice([7, 100, 3000, 30_000]))
    n = int(rng.integers(2, 4))
    counts = 1 + rng.multinomial(total - n, rng.dirichlet(np.ones(n)))
    apart = 10.0 ** rng.uniform(-12, 0)
    points = np.zeros((n, dim))
    points[:, 0] = np.cumsum(1 + rng.random(n)) * apart
    points[:, 1:] = rng.standard_normal((n, dim - 1)) * apart
    scores = rng.standard_normal((n, dim)) * rng.choice([1.0, 1e5 / apart])
    scores[-1] = -(counts[:-1] @ scores[:-1]) / counts[-1] * (1 + rng.choice([0.0, 1e-3 * apart, 1e-12]))
    rows = rng.permutation(np.repeat(np.arange(n), counts))
    weights = None if rng.random() < 0.7 else rng.choice([0.1, 1.0, 1.0 / 3.0], n)[rows]
    return Instance("repeats", points[rows], scores[rows], weights=weights, factors=_factors(rng))


def near(rng):
    """Clusters 1e-9 to 1e-11 wide."""
    dim = _dim(rng)
    n = _size(rng, dim)
    centres = rng.standard_normal((2, dim))
    points = centres[rng.integers(0, 2, n)] + 10.0 ** rng.uniform(-11, -9, (n, 1)) * rng.standard_normal((n, dim))
    scores = rng.standard_normal((n, dim)) * rng.choice([1.0, 1e3, 1e10])
    bounds = _bounds(rng, points, [1e-10, 1.0, np.inf]) if rng.random() < 0.3 else None
    weights = rng.random(n) + 0.01
    return Instance("near", points, scores, weights=weights, bounds=bounds, factors=_factors(rng))


def subnormal(rng):
    """Points, scores, distances to bounds or weights near the smallest accepted numbers."""
    dim = _dim(rng)
    n = _size(rng, dim)
    points, scores, weights = rng.standard_normal((n, dim)), rng.standard_normal((n, dim)), rng.random(n) + 0.1
    tiny = rng.choice([1e-100, 1e-100, 1e-99, 2.0**-1074]) * rng.integers(1, 2**12, (n, dim))
    which = rng.integers(0, 4)
    if which == 0:
        points = tiny
    elif which == 1:
        scores = tiny
    elif which == 2:
        weights = tiny[:, 0]
    else:
        points = 1e-98 * points
    bounds = None
    if rng.random() < 0.5:
        bounds = _bounds(rng, points, [0.0, 1e-100, 1e-98, 1e-90])
    return Instance("subnormal", points, scores, weights=weights, bounds=bounds, factors=_factors(rng))


def extreme(rng):
    """Points, scores or Stein factors of sizes from 1e-100 to 1e100, and beyond."""
    dim = _dim(rng)
    n = _size(rng, dim)
    size = rng.choice([1e-98, 1e-98, 1e-30, 1.0, 1.0, 1.0, 1e30, 1e98, 1e98, 1e200], 5)
    points, scores = size[0] * rng.standard_normal((n, dim)), size[1] * rng.standard_normal((n, dim))
    bounds = _bounds(rng, points, np.array([0.1, 1.0, np.inf]) * size[0]) if rng.random() < 0.3 else None
    return Instance("extreme", points, scores, bounds=bounds, factors=tuple(float(c) for c in size[2:]))


def lattice(rng):
    """Points of a lattice with many equal distances, at 1, 1e-100 or 1e99."""
    dim = _dim(rng)
    side = {1: 6, 2: 3, 3: 2}[dim]
    corners = np.stack(np.meshgrid(*[np.arange(side)] * dim), axis=-1).reshape(-1, dim)
    chosen = rng.permutation(len(corners))[: _size(rng, dim) + 1]
    step = float(rng.choice([1.0, 1e-100, 1e99, 1e-5]))
    points = corners[chosen] * step
    scores = rng.integers(-3, 4, points.shape) * float(rng.choice([1.0, 1.0 / step if step < 1 else 1.0]))
    factors = tuple(float(c) for c in (rng.choice([1.0, step]), 1.0, rng.choice([1.0, 1.0 / step])))
    return Instance("lattice", points, scores, factors=factors)


def bounded(rng):
    """Supports with two bounds and points within 1e-12 of them or on them; narrow supports too."""
    dim = _dim(rng)
    n, width = _size(rng, dim), float(rng.choice([1.0, 1.0, 100.0, 1e-6, 1e-12]))
    from_bound = width * rng.choice([1e-12, 1e-13, 1e-9, 1e-3, 0.1, 0.4, 0.0], (n, dim))
    points = np.where(rng.random((n, dim)) < 0.5, from_bound, width - from_bound)
    scores = rng.standard_normal((n, dim)) * rng.choice([1.0, 1.0 / width, 1e12])
    bounds = np.array([[0.0, width]] * dim)
    if rng.random() < 0.3:
        points, bounds = points + 1.0, bounds + 1.0
        points = np.clip(points, bounds[:, 0], bounds[:, 1])
    return Instance("bounded", points, scores, bounds=bounds, factors=_factors(rng))


def at_bounds(rng):
    """Samples of other families with bounds at or next to the outermost draws."""
    base = (plain, cancelling, clusters_cancel, neighbours, near, subnormal, extreme, lattice)[rng.integers(0, 8)](rng)
    least, most = base.points.min(axis=0), base.points.max(axis=0)
    away = np.abs(base.points).max() * 10.0 ** rng.uniform(-13, -3, (2, base.dim))
    ends = [
        (least - away[0], most + away[1]),
        (least, most),
        (np.nextafter(least, -np.inf), np.nextafter(most, np.inf)),
    ]
    bounds = np.column_stack(ends[rng.integers(0, 3)])
    bounds[bounds[:, 0] == bounds[:, 1], 1] = np.inf
    return replace(base, family="at bounds", bounds=bounds)


def near_bounds(rng):
    """Draws at distances from 1 to 1e-20 from bounds, with scores that grow there, so that g has a wide range.

    In some instances, the Taylor rows are too short to bind, and g reaches c2 times the distance.
    """
    dim = int(rng.choice([1, 1, 2]))
    n, width = int(rng.integers(2, (13, 6)[dim - 1])), float(rng.choice([1.0, 1.0, 2.0**-20, 2.0**20]))
    away = 10.0 ** -rng.uniform(0, 20, (n, dim))
    points = width * np.where(rng.random((n, dim)) < 0.7, away, 1.0 - away)
    bounds = np.array([[0.0, rng.choice([width, width, np.inf])]] * dim)
    scores = rng.standard_normal((n, dim)) / (points + 1e-30 if rng.random() < 0.5 else width)
    weights = rng.random(n) + 0.01 if rng.random() < 0.5 else None
    factors = _factors(rng)
    if rng.random() < 0.3:
        factors = (*factors[:2], 1e22 / width)
    return Instance("near bounds", points, scores, weights=weights, bounds=bounds, factors=factors)


def tight(rng):
    """Spanners of dilation 1.0001."""
    dim = int(rng.integers(2, 4))
    points = rng.standard_normal((_size(rng, dim) + 1, dim)) * rng.choice([1e-4, 1.0])
    scores = rng.standard_normal(points.shape)
    return Instance("dilation 1.0001", points, scores, dilation=1.0001, factors=_factors(rng))


def complete(rng):
    """Complete graphs with some close points."""
    dim = int(rng.integers(2, 4))
    points = rng.standard_normal((_size(rng, dim) + 1, dim))
    points[0] = points[-1] + 10.0 ** rng.uniform(-12, 0) * rng.standard_normal(dim)
    scores = rng.standard_normal(points.shape) * rng.choice([1.0, 100.0])
    weights = rng.random(len(points)) + 0.01
    return Instance("complete", points, scores, weights=weights, graph="complete", factors=_factors(rng))


def weighted(rng):
    """Weights from 1e-97 to 1e97, or nearly all weight on one point."""
    dim = _dim(rng)
    n = _size(rng, dim) + 1
    weights = 10.0 ** rng.uniform(*[(-97, 0), (0, 97), (-20, 0), (-3, 3)][rng.integers(0, 4)], n)
    points, scores = rng.standard_normal((n, dim)), rng.standard_normal((n, dim)) * rng.choice([1.0, 1e8])
    return Instance("weights", points, scores, weights=weights, factors=_factors(rng))


def far_apart(rng):
    """Weights, scores, points and Stein factors that differ by hundreds of powers of two."""
    dim = int(rng.choice([1, 1, 2]))
    n = _size(rng, dim)

    def powers(largest, shape=None):
        return 2.0 ** (largest * rng.choice([-1, 0, 0, 1], shape)) * rng.uniform(1.0, 2.0, shape)

    signs = rng.choice([-1.0, 1.0], (2, n, dim))
    points = signs[0] * powers(int(rng.choice([0, 0, 150, 330])), (n, dim))
    scores = signs[1] * powers(int(rng.choice([0, 150, 330])), (n, dim))
    weights = powers(int(rng.choice([0, 60, 160])), n)
    factors = tuple(float(c) for c in powers(int(rng.choice([0, 150, 330])), 3))
    return Instance("far apart", points, scores, weights=weights, factors=factors)


def wide(rng):
    """Two or three points in four to eight dimensions, some without binding rows."""
    dim, n = int(rng.integers(4, 9)), int(rng.integers(1, 4))
    points = rng.standard_normal((n, dim)) * rng.choice([1e-3, 1.0, 10.0])
    if rng.random() < 0.3:
        points = np.repeat(np.arange(float(n))[:, None], dim, axis=1)
    scores = rng.standard_normal((n, dim)) * rng.choice([0.01, 1.0])
    if rng.random() < 0.3:
        scores[:] = 0.01
    return Instance("wide", points, scores, factors=_factors(rng))


def diffusion(rng):
    """A Riemannian Langevin operator, with points in the tails and clusters."""
    dim = _dim(rng)
    n = _size(rng, dim)
    points = rng.standard_normal((n, dim)) * rng.choice([0.1, 1.0, 30.0])
    points[-1] = points[0] + 10.0 ** rng.uniform(-11, 0) * rng.standard_normal(dim)
    scores = rng.standard_normal((n, dim)) * rng.choice([0.1, 1.0, 1e6])
    tails, factors = float(rng.choice([1.0, 3.0, 100.0])), _factors(rng)
    return Instance("diffusion", points, scores, weights=rng.random(n) + 0.01, factors=factors, tails=tails)


def operators(rng):
    """Riemannian Langevin operators that overflow or underflow, separately or with the scores."""
    base = diffusion(rng)
    size, pull, tails = (float(rng.choice([1e-90, 1e-40, 1.0, 1.0, 1e40, 1e90])) for _ in range(3))
    points, scores = base.points * size, base.scores * pull
    return replace(base, family="operators", points=points, scores=scores, tails=base.tails * tails)


def subnormal_gaps(rng):
    """Distances near the smallest accepted number in two and three dimensions, with small dilations."""
    dim, side = int(rng.integers(2, 4)), int(rng.choice([9, 9, 9, 5000]))
    n = 12 if side == 9 else _size(rng, dim) + 1
    points = 2.0**-332 * rng.integers(0, side, (n, dim))
    if rng.random() < 0.3:
        points[rng.random(len(points)) < 0.3] += float(rng.choice([2.0**-330, 2.0**-300]))
    points = np.unique(points, axis=0)
    factors = tuple(float(c) for c in rng.choice([1.0, 1.0, 2.0**-330, 2.0**330], 3))
    scores = rng.standard_normal(points.shape) * float(rng.choice([1.0, 1e99]))
    dilation = float(rng.choice([1.0001, 1.1, 1.3, 1.3]))  # 1.3 times 6 times the smallest number rounds to 8
    return Instance("subnormal gaps", points, scores, factors=factors, dilation=dilation)


def sliced(rng):
    """Slices along coordinates, some with equal values."""
    dim = int(rng.integers(1, 4))
    n = int(rng.integers(1, 8))
    which = int(rng.integers(0, 3))
    if which == 0:
        base = cancelling(rng)
        return replace(base, family="sliced", measure="sliced")
    points = rng.integers(-2, 3, (n, dim)) * 0.5 if which == 1 else rng.standard_normal((n, dim))
    points = np.unique(points, axis=0) * float(rng.choice([1.0, 1e-9, 1e9]))
    scores = rng.standard_normal(points.shape) * rng.choice([1.0, 1e6])
    weights = rng.random(len(points)) + 0.01
    bounds = _bounds(rng, points, [0.0, 1e-12, 1.0, np.inf]) if rng.random() < 0.5 else None
    return Instance("sliced", points, scores, "sliced", weights, bounds, factors=_factors(rng))


FAMILIES = {
    "plain": plain,
    "cancelling": cancelling,
    "clusters cancel": clusters_cancel,
    "neighbours": neighbours,
    "repeats": repeats,
    "near": near,
    "subnormal": subnormal,
    "extreme": extreme,
    "far apart": far_apart,
    "lattice": lattice,
    "bounded": bounded,
    "at bounds": at_bounds,
    "near bounds": near_bounds,
    "dilation 1.0001": tight,
    "complete": complete,
    "weights": weighted,
    "wide": wide,
    "diffusion": diffusion,
    "operators": operators,
    "sliced": sliced,
}
"""Small enough for an exact optimum."""


def classical(rng):
    """One dimension: uniform targets with a known optimum, draws near others and near the bounds, and others."""
    n = int(rng.integers(1, 6))
    factors = tuple(float(c) for c in rng.choice([0.25, 0.5, 1.0, 2.0], 3))
    if rng.random() < 0.75:
        base = rng.random((n, 1))
        points = np.concatenate([base, np.clip(base + 10.0 ** rng.uniform(-14, -3, base.shape), 0.0, 1.0)])
        points = np.concatenate([points, rng.choice([0.0, 1e-12, 1e-20, 1 - 1e-12, 1.0], (int(rng.integers(0, 3)), 1))])
        weights = 10.0 ** rng.uniform(*[(0, 1), (-12, 0)][rng.integers(0, 2)], len(points))
        width = 2.0 ** int(rng.choice([0, 0, -30, 30, -150, 150]))
        points, bounds, factors = points * width, np.array([[0.0, width]]), (width / 2, 0.5, 1.0 / width)
        return Instance("classical", points, np.zeros_like(points), "classical", weights, bounds, factors)
    n = min(n, 3)
    points = rng.standard_normal((n, 1)) * rng.choice([1e-9, 0.1, 1.0, 10.0, 1e9])
    if n > 1 and rng.random() < 0.5:
        points[0] = points[1] + 10.0 ** rng.uniform(-11, -2) * abs(points[1])
    scores = rng.standard_normal((n, 1)) * rng.choice([0.3, 1.0, 1e3, 1e8])
    bounds = _bounds(rng, points, np.array([1e-12, 0.1, 1.0, np.inf]) * float(np.abs(points).max()))
    weights = rng.random(n) + 0.01
    return Instance("classical", points, scores, "classical", weights, bounds if rng.random() < 0.5 else None, factors)


def wasserstein(rng):
    """Distances to uniform targets, of any size, with nearly equal points."""
    size = float(rng.choice([1.0, 1.0, 1e-9, 1e-50, 1e-80, 1e50, 1e90]))
    points = rng.random((int(rng.integers(1, 6)), 1))
    if rng.random() < 0.4:
        points = np.concatenate([points, np.clip(points[:1] + 10.0 ** rng.uniform(-16, -9), 0.0, 1.0)])
    offset = float(rng.choice([0.0, 0.0, 1.0, 1e6]))
    bounds = np.array([[offset * size, (offset + 1) * size]])
    points = np.clip((points + offset) * size, *bounds[0])
    weights = 10.0 ** rng.uniform(*[(0, 1), (-15, 0)][rng.integers(0, 2)], len(points))
    return Instance("wasserstein", points, np.zeros_like(points), "wasserstein", weights, bounds)


def larger(rng):
    """Samples too large for an exact optimum: clusters, repeats, bounds, up to four dimensions."""
    dim = int(rng.integers(1, 5))
    n = int(rng.integers(8, 41)) if dim < 3 else int(rng.integers(6, 13))
    points = rng.standard_normal((n, dim)) * rng.choice([0.1, 1.0, 3.0])
    near_ones = rng.random(n) < 0.3
    points[near_ones] = points[0] + 10.0 ** rng.uniform(-11, -1) * rng.standard_normal((int(near_ones.sum()), dim))
    bounds = _bounds(rng, points, [0.0, 1e-12, 0.1, np.inf]) if rng.random() < 0.4 else None
    scores = -points * rng.choice([1.0, 100.0]) + rng.standard_normal((n, dim)) * rng.choice([0.1, 10.0])
    weights = rng.random(n) + 0.01 if rng.random() < 0.5 else None
    graph = "complete" if rng.random() < 0.3 and n < 13 else "spanner"
    return Instance("larger", points, scores, weights=weights, bounds=bounds, graph=graph, factors=_factors(rng))


def hurried(rng):
    """Larger samples with very short time limits."""
    return replace(larger(rng), family="hurried", max_seconds=float(10.0 ** rng.uniform(-3, -1)))


def permuted(rng, instance):
    """Permute the draws, if the graph does not depend on their order."""
    order = rng.permutation(len(instance.points))
    weights = None if instance.weights is None else instance.weights[order]
    return replace(instance, points=instance.points[order], scores=instance.scores[order], weights=weights)


def split(rng, instance):
    """Split some draws into two with half the weight."""
    n = len(instance.points)
    twice = rng.random(n) < 0.5
    rows = np.concatenate([np.arange(n), np.flatnonzero(twice)])
    weights = (np.ones(n) if instance.weights is None else instance.weights) * np.where(twice, 0.5, 1.0)
    return replace(instance, points=instance.points[rows], scores=instance.scores[rows], weights=weights[rows])


def scaled(rng, instance):
    """Multiply x by a power of two a: g a, s / a and (c1 a, c2, c3 / a) give the same numbers."""
    a = 2.0 ** int(rng.integers(-40, 41))
    c1, c2, c3 = instance.factors
    bounds = None if instance.bounds is None else instance.bounds * a
    return replace(
        instance, points=instance.points * a, scores=instance.scores / a, bounds=bounds, factors=(c1 * a, c2, c3 / a)
    )


def in_units(rng, instance):
    """Convert to units of a power of two: z = x / u has the score s u and the operator a(u z) / u^2."""
    u = instance.unit
    bounds = None if instance.bounds is None else instance.bounds / u
    points, scores = instance.points / u, instance.scores * u
    return replace(instance, points=points, scores=scores, bounds=bounds, unit=1.0, stretch=u)


def in_some_unit(rng):
    """Draws in other units, half of them with an operator."""
    base = diffusion(rng) if rng.random() < 0.5 else larger(rng)
    return replace(base, family="units", unit=2.0 ** int(rng.choice([-300, -100, -3, 3, 100, 300])))


SAME = {"permuted": permuted, "split": split, "scaled": scaled, "units": in_units}
"""Transformations that do not change the optimum."""
