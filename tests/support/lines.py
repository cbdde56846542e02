"""One-dimensional samples and their programs."""

import numpy as np

from steinkit.discrepancy.graph.programs.stein_program import SteinFactors, SteinProgram
from steinkit.discrepancy.graph.spanner.geometry import sorted_graph


def line(points, scores, bounds=None, c=(1.0, 1.0, 1.0), weights=None):
    points = np.asarray(points, dtype=float)
    weights = np.full(len(points), 1.0 / len(points)) if weights is None else weights
    limits = None if bounds is None else np.array([bounds], dtype=float)
    graph = sorted_graph(points)
    return SteinProgram(points[:, None], np.asarray(scores)[:, None], weights, graph, SteinFactors.of(c), limits)


def normal(n, seed=1):
    points = np.random.default_rng(seed).standard_normal(n)
    return line(points, -points)


def beta_score(points, a, b):
    return (a - 1.0) / points - (b - 1.0) / (1.0 - points)


def spaced(n, rng):
    """Return programs of samples from several targets, with their supports."""
    normal, heavy, half = rng.standard_normal(n), rng.standard_cauchy(n), rng.gamma(2.0, size=n)
    unit, bell, arc = rng.random(n), rng.beta(2.0, 2.0, n), rng.beta(0.3, 0.4, n)
    walk = np.cumsum(rng.standard_normal(n) * 0.01)
    return {
        "normal": line(normal, -normal),
        "normal, factors 1,4,2": line(normal, -normal, c=(1.0, 4.0, 2.0)),
        "normal, factors .5,.5,1": line(normal, -normal, c=(0.5, 0.5, 1.0)),
        "normal, factors 10,1,1": line(normal, -normal, c=(10.0, 1.0, 1.0)),
        "shifted": line(normal + 0.5, -normal - 0.5),
        "wide": line(300.0 * normal, -normal / 300.0),
        "narrow": line(1e-6 * normal, -1e-6 * normal),
        "repeats": line(normal, -normal, weights=rng.dirichlet(np.full(n, 0.5))),
        "walk": line(walk, -walk),
        "cauchy": line(heavy, -2.0 * heavy / (1.0 + heavy**2)),
        "uniform": line(unit, 0.0 * unit, (0.0, 1.0)),
        "beta(2, 2)": line(bell, beta_score(bell, 2.0, 2.0), (0.0, 1.0)),
        "beta(.3, .4)": line(arc, beta_score(arc, 0.3, 0.4), (0.0, 1.0)),
        "gamma": line(half, 1.0 / half - 1.0, (0.0, np.inf)),
    }
