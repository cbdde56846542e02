"""Comparisons of steinkit's kernels with other packages for the same tasks.

Each comparison uses medians of CPU times in one process with one thread, after a first run for compilation. Packages
that are not installed are reported.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from costs import median_seconds
from instances import normal, stein_program
from measures import PEERS as KSD_PEERS
from newton_matrices import NewtonMatrix, PeerSystem, Qdldl, superlu
from plain_loops import SCALE, SGLD_BATCH, SGLD_STEP, naive_random_walk, naive_sgld
from solvers import by_clarabel, by_cvxpy

import steinkit as sk
from steinkit import samplers
from steinkit.discrepancy.bracket import relative_width
from steinkit.discrepancy.graph.programs.stein_program import SteinProgram
from steinkit.discrepancy.graph.solvers import Settings, interior_point, solver_named
from steinkit.discrepancy.graph.solvers.block import newton_system
from steinkit.targets import MixturePosterior

DILATION = 2.0


@dataclass(frozen=True)
class Comparison:
    """CPU seconds of a task, for steinkit and for a peer.

    The latter is None if the peer is not installed.
    """

    work: str
    peer: str
    ours: float
    theirs: float | None
    remark: str = ""


def seconds_of(run: Callable[[], Any]) -> float | None:
    """Return the CPU seconds of a peer, or None if its package is missing."""
    try:
        return median_seconds(run)
    except ImportError:
        return None


def seconds_of_made(make: Callable[[], Callable[[], Any]]) -> float | None:
    """Return the CPU seconds of a peer without its preparation."""
    try:
        run = make()
    except ImportError:
        return None
    return seconds_of(run)


def factorisations(quick: bool) -> Iterator[Comparison]:
    """Compare factorizations of a Newton matrix with and without a stored ordering.

    The factorization of steinkit also forms the matrix.
    """
    for n, dim in ((100, 2),) if quick else ((3000, 2), (1000, 3)):
        yield from _factorisations(NewtonMatrix.of(n, dim), f"{n}x{dim}")


def _factorisations(newton: NewtonMatrix, size: str) -> Iterator[Comparison]:
    analysis = partial(newton_system.find_pattern, newton.program.edge_rows[0], newton.program.n_points)
    again = median_seconds(newton.factorise)
    anew = again + median_seconds(analysis)

    def known() -> Callable[[], Any]:
        solver = Qdldl()
        solver(newton.matrix)
        return partial(solver, newton.matrix)

    yield Comparison(f"H, {size}, order known", "qdldl, AMD", again, seconds_of_made(known))
    for name, solver in (("qdldl, AMD", lambda matrix: Qdldl()(matrix)), ("SuperLU, minimum degree", superlu)):
        yield Comparison(f"H, {size}, from scratch", name, anew, seconds_of(partial(solver, newton.matrix)))


def programs(quick: bool) -> Iterator[Comparison]:
    """Compare solutions of the program for one coordinate to 1e-6, with brackets."""
    for n, dim in ((50, 2),) if quick else ((1000, 2), (500, 3)):
        yield from _programs(stein_program(*normal(n, dim)), f"program {n}x{dim}, a coordinate")


def _programs(program: SteinProgram, work: str) -> Iterator[Comparison]:
    settings, coordinate = Settings(1e-6), program.coordinate(0)
    ours = median_seconds(partial(solver_named("block"), program, settings, [0]))

    def interior(solver_of: Callable[[], Any]) -> interior_point.Solution:
        return interior_point.solve(PeerSystem(coordinate, solver_of()), settings, newton_system.CORRECTORS)

    for name, solver_of in (("SuperLU", lambda: superlu), ("qdldl", Qdldl)):
        run = partial(interior, solver_of)
        seconds = seconds_of(run)
        remark = "" if seconds is None else f"its bracket: {relative_width(run().lower, run().upper):.0e}"
        yield Comparison(work, f"our iteration on {name}", ours, seconds, remark)
    solvers = {f"CVXPY, {solver}": partial(by_cvxpy, coordinate, solver) for solver in ("HIGHS", "CLARABEL")}
    for name, solve in (solvers | {"Clarabel, rows scaled": partial(by_clarabel, coordinate, 1e-6)}).items():
        remark = f"its bracket: {solve().proof.gap:.0e}"
        yield Comparison(work, name, ours, median_seconds(solve), remark)


def spanners(quick: bool) -> Iterator[Comparison]:
    """Compare with the definition in networkx, and with its randomized spanner, which has more edges."""
    n = 50 if quick else 120
    points = normal(n, 2)[0]
    graph = sk.greedy_spanner(points, DILATION)
    ours = median_seconds(partial(sk.greedy_spanner, points, DILATION))
    edges = greedy_by_networkx(points)
    same = "the same edges" if edges == [tuple(edge) for edge in graph.edges.tolist()] else "OTHER EDGES"
    theirs = median_seconds(partial(greedy_by_networkx, points), enough=0.0)
    yield Comparison(f"greedy 2-spanner {n}x2", "networkx's paths", ours, theirs, same)
    nx = importlib.import_module("networkx")
    n = 60 if quick else 300
    points = normal(n, 2)[0]
    complete = nx.Graph()
    complete.add_weighted_edges_from(
        (i, j, float(np.abs(points[i] - points[j]).sum())) for i in range(n) for j in range(i + 1, n)
    )
    graph, ours = sk.greedy_spanner(points, 3.0), median_seconds(partial(sk.greedy_spanner, points, 3.0))
    run = partial(nx.spanner, complete, 3, weight="weight", seed=0)
    remark = f"another algorithm: {run().number_of_edges()} edges, ours {len(graph)}"
    yield Comparison(f"3-spanner {n}x2", "networkx.spanner", ours, median_seconds(run, enough=0.0), remark)


def greedy_by_networkx(points: np.ndarray) -> list[tuple[int, int]]:
    """Compute the greedy spanner from its definition, with paths from networkx."""
    nx = importlib.import_module("networkx")
    n = len(points)
    graph = nx.Graph()
    graph.add_nodes_from(range(n))
    pairs = sorted((float(np.abs(points[i] - points[j]).sum()), i, j) for i in range(n) for j in range(i + 1, n))
    edges = []
    for length, i, j in pairs:
        near = nx.single_source_dijkstra_path_length(graph, i, cutoff=DILATION * length, weight="weight")
        if j not in near:
            graph.add_edge(i, j, weight=length)
            edges.append((i, j))
    return edges


def kernel_discrepancies(quick: bool) -> Iterator[Comparison]:
    """Compare the V-statistic for IMQ(1, -1/2), and thinning based on it."""
    n, dim = (200, 10) if quick else (3000, 10)
    draws, target = normal(n, dim)
    scores = target.score(draws)
    ours = median_seconds(partial(sk.kernel_stein_discrepancy, draws, scores=scores))
    for name, (make, _) in KSD_PEERS.items():
        if name != "ksd-metric":  # memory grows with n^2 d^2
            yield Comparison(f"ksd {n}x{dim}", name, ours, seconds_of_made(partial(make, draws, scores)))
    m = 20 if quick else 100

    def stein_thinning() -> Any:
        return importlib.import_module("stein_thinning.thinning").thin(draws, scores, m)

    ours = median_seconds(partial(sk.thin, draws, scores=scores, m=m, moment_weight=0.0))
    yield Comparison(f"thinning {n}x{dim} to {m}", "stein-thinning", ours, seconds_of(stein_thinning))


def chains(quick: bool) -> Iterator[Comparison]:
    """Compare one chain on a mixture posterior of 100 data points with NumPy and with jitted BlackJAX."""
    posterior, steps = MixturePosterior(), 500 if quick else 10_000
    ours = median_seconds(partial(samplers.sgld, posterior, step_size=SGLD_STEP, batch_size=SGLD_BATCH, draws=steps))
    work = f"SGLD, batch {SGLD_BATCH}, {steps} steps"
    yield Comparison(work, "NumPy loop", ours, median_seconds(partial(naive_sgld, posterior, steps)))
    yield Comparison(
        work, "BlackJAX", ours, seconds_of_made(partial(blackjax_sgld, posterior, steps)), "batches may repeat"
    )
    ours = median_seconds(partial(samplers.rwmh, posterior, proposal_scale=SCALE, draws=steps))
    work = f"random walk, 100 data, {steps} steps"
    yield Comparison(work, "NumPy loop", ours, median_seconds(partial(naive_random_walk, posterior, steps)))
    yield Comparison(work, "BlackJAX", ours, seconds_of_made(partial(blackjax_walk, posterior, steps)))


def _jax_densities(posterior: MixturePosterior) -> tuple[Any, Any, Any, Any]:
    """Return JAX, in double precision, with the posterior's log prior and log likelihood of a data point."""
    jax = importlib.import_module("jax")
    importlib.import_module("blackjax")  # a missing peer must not change the settings of JAX
    jax.config.update("jax_enable_x64", True)
    jnp = importlib.import_module("jax.numpy")
    variances, factor = jnp.asarray(posterior.prior_variances), -0.5 / posterior.variance

    def log_prior(theta: Any) -> Any:
        return -0.5 * (theta**2 / variances).sum()

    def log_likelihood(theta: Any, y: Any) -> Any:
        first = y - theta[0]
        return jnp.logaddexp(factor * first**2, factor * (first - theta[1]) ** 2)

    return jax, jnp, log_prior, log_likelihood


def blackjax_sgld(posterior: MixturePosterior, steps: int) -> Callable[[], Any]:
    """Run BlackJAX's SGLD in a jitted loop, with a new minibatch per step."""
    blackjax = importlib.import_module("blackjax")
    jax, jnp, log_prior, log_likelihood = _jax_densities(posterior)
    y = jnp.asarray(posterior.data[0])
    gradient = importlib.import_module("blackjax.sgmcmc.gradients").grad_estimator(log_prior, log_likelihood, len(y))
    step = blackjax.sgld(gradient).step

    def advance(theta: Any, key: Any) -> tuple[Any, Any]:
        moving, choosing = jax.random.split(key)
        batch = y[jax.random.randint(choosing, (SGLD_BATCH,), 0, len(y))]
        theta = step(moving, theta, batch, SGLD_STEP / 2.0)
        return theta, theta

    run = jax.jit(lambda key: jax.lax.scan(advance, jnp.zeros(2), jax.random.split(key, steps))[1])
    return lambda: run(jax.random.key(0)).block_until_ready()


def blackjax_walk(posterior: MixturePosterior, steps: int) -> Callable[[], Any]:
    """Run BlackJAX's random-walk Metropolis in a jitted loop."""
    blackjax = importlib.import_module("blackjax")
    jax, jnp, log_prior, log_likelihood = _jax_densities(posterior)
    y = jnp.asarray(posterior.data[0])
    walk = blackjax.additive_step_random_walk(
        lambda theta: log_prior(theta) + log_likelihood(theta, y).sum(),
        blackjax.mcmc.random_walk.normal(SCALE * jnp.ones(2)),
    )

    def advance(state: Any, key: Any) -> tuple[Any, Any]:
        state, _ = walk.step(key, state)
        return state, state.position

    run = jax.jit(lambda key: jax.lax.scan(advance, walk.init(jnp.zeros(2)), jax.random.split(key, steps))[1])
    return lambda: run(jax.random.key(0)).block_until_ready()


PEERS: dict[str, Callable[[bool], Iterator[Comparison]]] = {
    "Cholesky": factorisations,
    "programs": programs,
    "spanner": spanners,
    "ksd": kernel_discrepancies,
    "chain": chains,
}
