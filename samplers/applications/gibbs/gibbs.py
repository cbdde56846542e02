"""Gibbs sampling of a Markov random field, exact or by tests that read a share of the terms.

A sweep updates the variables one after the other. Variable i becomes 1 if a uniform number u < P(x_i = 1 | x_-i), that
is, with the N terms l of its log odds (see `MarkovField`), if

    mean of l > mu_0 = (1 / N) log(u / (1 - u)).

This is Barker's test, and any acceptance test can take its place, with log(u / (1 - u)) for the level: an exact one
reads all N terms, the austerity test only as many as it takes to tell the mean from mu_0. (The paper prints
log u / log(1 - u), which is not the same: u < P1 / (P1 + P0) if and only if u / (1 - u) < P1 / P0.)

The terms of each variable stand in an order that is random and always the same. Each update reads them in strides of
its own, in blocks of 1 to 32 that come in a random order; a permutation of all terms would cost more than reading them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from steinkit.errors import InputError, UsageError
from steinkit.runtime.progress import progress_bar
from steinkit.sample import Floats, Integers
from steinkit.samplers.acceptance.exact import BarkerTest
from steinkit.samplers.acceptance.interface import AcceptanceTest, Look
from steinkit.samplers.applications.gibbs.markov_field import MarkovField, States, as_states
from steinkit.samplers.chains.options import RunOptions
from steinkit.samplers.chains.random_streams import Kind, Noise, normals, uniforms
from steinkit.samplers.chains.recorder import Recorder
from steinkit.samplers.draws import Draws


def approximate_gibbs(
    field: MarkovField,
    *,
    test: AcceptanceTest,
    chains: int = 1,
    draws: int | None = None,
    budget: int | None = None,
    burn_in: int = 0,
    thin: int = 1,
    seed: int | Sequence[int] = 0,
    start: ArrayLike | None = None,
    progress: bool = False,
) -> Draws:
    """Gibbs sampler of a Markov random field, whose updates may read minibatches.

    Parameters
    ----------
    field : MarkovField
        Of D variables, whose log odds have N terms.
    test : AcceptanceTest
        `BarkerTest` or `MetropolisTest` for exact Gibbs sampling, which here is the same with both; `AusterityTest`;
        `MinibatchBarkerTest`; `ConcentrationTest` with a number for bound.
    chains : int
        Number of chains.
    draws, budget : int, optional
        Draws to keep of each chain, and terms l that it may read, burn-in included. One of the two is needed; with
        both, what is reached first ends a chain.
    burn_in, thin : int
        Sweeps over all D variables left out at the beginning, and of how many sweeps one is kept.
    seed : int, or sequence of int
        Of the run, or of each chain: see `RunOptions`.
    start : array_like, shape (D,) or (chains, D), optional
        First state of all chains, or of each, of zeros and ones; zeros if not given.
    progress : bool
        Show a bar on standard error if the run takes more than a second.

    Returns
    -------
    Draws
        The states after each sweep, of zeros and ones. The cost counts terms l, pairs of potentials; an exact sweep
        costs D N = D (D - 1) (D - 2) / 2. Biased with a test that is not exact.

    Raises
    ------
    UsageError
        If an option is out of range, the budget does not pay one sweep, or the test needs a scan of all terms or
        reports diagnostics.
    InputError
        If start is not of zeros and ones.

    Notes
    -----
    For exact and austerity tests a sweep is one compiled loop; the others cost a few calls of NumPy for each update,
    shared by all chains: run many of them.

    References
    ----------
    A. Korattikara, Y. Chen and M. Welling (2014), "Austerity in MCMC land: cutting the Metropolis-Hastings budget",
    appendix F.
    D. Seita, X. Pan, H. Chen and J. Canny (2017), "An efficient minibatch acceptance test for Metropolis-Hastings".
    """
    options = RunOptions(chains, draws, budget, burn_in, thin, seed, start, progress)
    _require_usable(field, test)
    first_batch = field.dim * test.first_batch(field.size)
    options.require_budget(first_batch)
    is_compiled = test.fixed_thresholds(field.size) is not None
    sampler = (CompiledSweeps if is_compiled else Sweeps)(field, test, options.seeds)
    recorder = Recorder(options, field.dim, {})
    _run(sampler, _start_states(field, options), recorder, options, first_batch)
    names = tuple(f"x{i + 1}" for i in range(field.dim))
    settings = {"sampler": "approximate_gibbs", "dim": field.dim} | test.described()
    return recorder.draws(names, settings)


def _run(sampler: Sweeps, states: States, recorder: Recorder, options: RunOptions, first_batch: int) -> None:
    """Sweep through all chains that are not finished, and record."""
    from steinkit.runtime.compilation import announced_compilation

    chains, step = np.arange(options.chains), 0
    spent = np.zeros(options.chains, dtype=np.int64)
    total = options.chains * (options.steps or 0) or None
    with announced_compilation(), progress_bar("sampling", total, shown=options.progress, unit=" sweeps") as bar:
        while chains.size and step != options.steps:
            steps = np.full(len(chains), step)
            spent += sampler.sweep(states, chains, steps)
            step += 1
            recorder.record(chains, steps + 1, points=states, cost=spent)
            bar.update(len(chains))
            if options.budget is not None and (paid := spent + first_batch <= options.budget).size > paid.sum():
                chains, states, spent = chains[paid], states[paid], spent[paid]


class Sweeps:
    """Sweeps by any acceptance test, an update of all chains at a time.

    Parameters
    ----------
    field : MarkovField
    test : AcceptanceTest
    seeds : sequence of int
        Seeds of the chains.
    """

    def __init__(self, field: MarkovField, test: AcceptanceTest, seeds: Sequence[int]) -> None:
        self.field, self.test = field, test
        # a test that adds noise of its own brings the level that goes with it
        level = test.level if test.needs_normal else BarkerTest().level
        self._levels = Noise(seeds, Kind.UNIFORM, field.dim, lambda rng, shape: level(uniforms(rng, shape)))
        self._normals = Noise(seeds, Kind.TEST, field.dim, normals) if test.needs_normal else None
        self._orders = None if test.reads_all(field.size) else Noise(seeds, Kind.TEST_ORDER, field.dim, uniforms)

    def sweep(self, states: States, chains: Integers, steps: Integers) -> Integers:
        """Update all variables of these chains, (n, D), in place; return the terms that each has read, (n,)."""
        levels, seeds = self._levels.take(chains, steps), self._seeds(chains, steps)
        noise = None if self._normals is None else self._normals.take(chains, steps)
        read = np.zeros(len(states), dtype=np.int64)
        for i in range(self.field.dim):
            read += self._update(i, states, levels[:, i], seeds[:, i], None if noise is None else noise[:, i])
        return read

    def _seeds(self, chains: Integers, steps: Integers) -> NDArray[np.uint64]:
        """Seed of the order in which each update reads, (n, D); it does not matter where all terms are read."""
        if self._orders is None:
            return np.zeros((len(chains), self.field.dim), dtype=np.uint64)
        return np.asarray(self._orders.take(chains, steps) * 2.0**53).astype(np.uint64)

    def _update(
        self, i: int, states: States, levels: Floats, seeds: NDArray[np.uint64], noise: Floats | None
    ) -> Integers:
        """Update variable i of each chain, each when its own test is decided."""
        from steinkit.samplers.applications.gibbs.gibbs_kernels import begin, block_length, read_on

        field, test, n = self.field, self.test, len(states)
        differences, pairs, N = field.terms.differences[i], field.terms.pairs[i], field.size
        counts, numbers = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
        wanted = np.full(n, test.first_batch(N))
        shifts, totals, squares = np.zeros(n), np.zeros(n), np.zeros(n)
        places = *np.empty((2, n), dtype=np.int64), np.empty((n, N // block_length(N)), dtype=np.int64)
        begin(np.ascontiguousarray(seeds), *places, N)
        bound = None if test.constant_bound is None else np.full(n, test.constant_bound)
        rows = np.arange(n)
        while rows.size:
            read_on(differences, pairs, states, rows, *places, counts, wanted, shifts, totals, squares)
            b, deviation = counts[rows], totals[rows] / counts[rows]
            verdict = test.decide(
                Look(
                    size=N,
                    number=numbers[rows],
                    seen=b,
                    mean=shifts[rows] + deviation,
                    variance=np.maximum(squares[rows] - totals[rows] * deviation, 0.0) / np.maximum(b - 1, 1),
                    offset=np.zeros(len(rows)),
                    temperature=np.ones(len(rows)),
                    level=levels[rows],
                    normal=None if noise is None else noise[rows],
                    bound=None if bound is None else bound[rows],
                )
            )
            states[rows[verdict.decided], i] = verdict.accepted[verdict.decided]
            wanted[rows] = np.minimum(verdict.wanted, N)
            numbers[rows] += 1
            rows = rows[~verdict.decided]
        return counts


class CompiledSweeps(Sweeps):
    """The same sweeps by the austerity test or an exact one, compiled."""

    def __init__(self, field: MarkovField, test: AcceptanceTest, seeds: Sequence[int]) -> None:
        super().__init__(field, test, seeds)
        self._batch, self._thresholds = test.first_batch(field.size), test.fixed_thresholds(field.size)

    def sweep(self, states: States, chains: Integers, steps: Integers) -> Integers:
        """Update all variables of these chains, (n, D), in place; return the terms that each has read, (n,)."""
        from steinkit.samplers.applications.gibbs.gibbs_kernels import sweep

        read = np.empty(len(states), dtype=np.int64)
        levels, seeds = self._levels.take(chains, steps), self._seeds(chains, steps)
        sweep(*self.field.terms, states, levels, seeds, self._batch, self._thresholds, read)
        return read


def _start_states(field: MarkovField, options: RunOptions) -> States:
    """First state of each chain, (chains, D)."""
    given = np.zeros(field.dim) if options.start is None else np.asarray(options.start)
    if given.shape not in {(field.dim,), (options.chains, field.dim)}:
        raise InputError(
            f"start must have shape ({field.dim},), or ({options.chains}, {field.dim}), one row a chain; received "
            f"shape {given.shape}"
        )
    return as_states(np.broadcast_to(given, (options.chains, field.dim)), field.dim).copy()


def _require_usable(field: MarkovField, test: AcceptanceTest) -> None:
    """Raise UsageError for what is no field, no test, or a test that Gibbs sampling cannot serve."""
    if not isinstance(field, MarkovField):
        raise UsageError(f"approximate_gibbs samples a MarkovField; received {type(field).__name__}")
    if isinstance(test, type) or not hasattr(test, "decide"):
        raise UsageError(f"test must be an object such as AusterityTest(0.05); received {test!r}")
    if test.needs_bound and test.constant_bound is None:
        raise UsageError(
            "here the concentration test needs a number for bound, the largest |l| of all terms: "
            f"numpy.abs(field.terms.differences).max(); received {getattr(test, 'bound', test)!r}"
        )
    if test.diagnostics or test.needs_values:
        raise UsageError(
            f"{type(test).__name__} with diagnostics {test.diagnostics} reports on single tests, and a sweep is "
            f"{field.dim} of them; use a test without"
        )
