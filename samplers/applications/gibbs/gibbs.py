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
from numpy.typing import ArrayLike

from steinkit.errors import InputError, UsageError
from steinkit.runtime.progress import progress_bar
from steinkit.sample import Integers
from steinkit.samplers.acceptance.exact import BarkerTest
from steinkit.samplers.acceptance.interface import AcceptanceTest
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
    A sweep is one compiled loop; by a test of your own it is the same loop in Python, some tens of microseconds an
    update.

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
    sampler = Sweeps(field, test, options.seeds)
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
    """Sweeps by an acceptance test.

    Parameters
    ----------
    field : MarkovField
    test : AcceptanceTest
    seeds : sequence of int
        Seeds of the chains.
    """

    def __init__(self, field: MarkovField, test: AcceptanceTest, seeds: Sequence[int]) -> None:
        from steinkit.samplers.acceptance.rules import rule_of
        from steinkit.samplers.applications.gibbs.gibbs_kernels import sweep, sweep_in_python

        self.field = field
        # a test that adds noise of its own brings the level that goes with it
        level = test.level if test.needs_normal else BarkerTest().level
        self._levels = Noise(seeds, Kind.UNIFORM, field.dim, lambda rng, shape: level(uniforms(rng, shape)))
        self._normals = Noise(seeds, Kind.TEST, field.dim if test.needs_normal else 0, normals)
        self._orders = None if test.reads_all(field.size) else Noise(seeds, Kind.TEST_ORDER, field.dim, uniforms)
        rule = rule_of(test, field.size)
        self._sweep = sweep_in_python if rule is None else sweep
        self._judge = (rule or test, test.first_batch(field.size), test.constant_bound or 0.0)

    def sweep(self, states: States, chains: Integers, steps: Integers) -> Integers:
        """Update all variables of these chains, (n, D), in place; return the terms that each has read, (n,)."""
        levels, noise = (each.take(chains, steps) for each in (self._levels, self._normals))
        seeds = np.zeros(levels.shape)  # of the orders in which terms are read: where all are, it does not matter
        if self._orders is not None:
            seeds = np.asarray(self._orders.take(chains, steps) * 2.0**53)
        read = np.empty(len(states), dtype=np.int64)
        self._sweep(self.field.terms, states, levels, noise, seeds.astype(np.uint64), *self._judge, read)
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
