"""Stein programs of small samples, and the proofs of answers."""

import numpy as np

import steinkit as sk
from steinkit.discrepancy.graph.programs.matrix_form import certify
from steinkit.discrepancy.graph.programs.stein_program import SteinFactors, SteinProgram
from steinkit.discrepancy.graph.spanner.geometry import complete_graph


def program_of(points, scores, weights=None, graph=None, **more):
    """Return a program on the spanner with equal weights, unless others are given."""
    n = len(points)
    weights = np.full(n, 1.0 / n) if weights is None else weights
    return SteinProgram(points, scores, weights, sk.greedy_spanner(points) if graph is None else graph, **more)


def random_program(seed, dim, n=18):
    """Return a random program; odd seeds have bounds, one of them at a point."""
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
    """Return the certificates of the answers of a solver."""
    return [certify(answer.program, answer.y, answer.p) for answer in answers]
