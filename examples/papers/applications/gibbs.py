"""Gibbs sampling of a Markov random field, with exact or approximate updates.

A sweep updates the variables one after the other. Variable i becomes 1 if u < P(x_i = 1 | x_-i) for a uniform random
number u. In terms of the N terms l of its log odds (see `MarkovField`), the condition is

    mean of l > mu_0 = (1 / N) log(u / (1 - u)).

This is Barker's test. It can be replaced by any acceptance test with level log(u / (1 - u)). An exact test reads all N
terms, and the austerity test reads terms until it can distinguish the mean from mu_0. (The paper prints log u / log(1 -
u), which is incorrect because u < P1 / (P1 + P0) if and only if u / (1 - u) < P1 / P0.)

The terms of each variable are stored in a fixed random order. Each update reads them with a random stride, in blocks of
1 to 32 terms, and the blocks are in random order. A permutation of all terms would cost more than reading them.

The field is dense, with binary variables and a potential for each triple of variables,

    P(x) = (1 / Z) prod over i < j < k of psi_ijk(x_i, x_j, x_k),        x in {0, 1}^D.

Given all the other variables, variable i has the log odds

    log P(x_i = 1 | x_-i) / P(x_i = 0 | x_-i) = sum over j < k of l_jk,        j, k != i,
    l_jk = log psi_ijk(1, x_j, x_k) - log psi_ijk(0, x_j, x_k),

which are a sum of N = (D - 1)(D - 2) / 2 terms. An exact Gibbs update reads all of these terms, and an approximate
update reads some of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import NamedTuple, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from applications.gibbs_kernels import log_odds, sweep, sweep_in_python
from steinkit.arguments import positive, whole
from steinkit.errors import InputError, UsageError
from steinkit.result import Brief
from steinkit.runtime.progress import progress_bar
from steinkit.sample import Floats, Integers
from steinkit.samplers.acceptance.interface import AcceptanceTest, BarkerTest
from steinkit.samplers.chains.draws import (
    Draws,
    Noise,
    Recorder,
    RunKeywords,
    RunOptions,
    StreamKind,
    normals,
    takes_run_options,
    uniforms,
)
from steinkit.targets.family import as_finite

States = NDArray[np.uint8]

_LARGEST_ENUMERATED = 20
_SHUFFLE_SEED = 20140621


@takes_run_options
def approximate_gibbs(field: MarkovField, *, test: AcceptanceTest, **run: Unpack[RunKeywords]) -> Draws:
    """Sample a Markov random field by Gibbs updates, which may read minibatches of terms.

    Parameters
    ----------
    field : MarkovField
        Field of D variables, whose log odds are sums of N terms.
    test : AcceptanceTest
        Acceptance test that decides each update. `BarkerTest` and `MetropolisTest` give exact Gibbs sampling, with
        identical results. The other options are `AusterityTest`, `MinibatchBarkerTest`, and `ConcentrationTest` with a
        number as its bound.
    chains : int
        Number of chains.
    draws, budget : int, optional
        Number of draws per chain, and number of terms l that a chain may read, including burn-in. At least one of them
        is required. If both are given, a chain ends when it reaches either limit.
    burn_in, thin : int
        Number of sweeps over all D variables to discard at the beginning, and number of sweeps per kept draw.
    seed : int, or sequence of int
        Seed for the run, or one seed for each chain (see `RunOptions`).
    start : array_like, shape (D,) or (chains, D), optional
        Initial state of all chains, or one state for each chain, consisting of zeros and ones. By default, all
        variables start at 0.
    progress : bool
        If True, show a progress bar on standard error for runs of more than a second.

    Returns
    -------
    Draws
        States after each kept sweep, which consist of zeros and ones. The cost is the number of terms l that have been
        read. An exact sweep costs D N = D (D - 1) (D - 2) / 2. The draws are biased if the test is not exact.

    Raises
    ------
    UsageError
        If an option is out of range, if the budget is too small for one sweep, or if the test requires a scan of all
        terms.
    InputError
        If `start` has values other than zero and one.

    Notes
    -----
    A sweep is one compiled loop. For a user-defined test, the same loop runs in Python and takes tens of microseconds
    per update.

    References
    ----------
    A. Korattikara, Y. Chen and M. Welling (2014), "Austerity in MCMC land: cutting the Metropolis-Hastings budget",
    appendix F.
    D. Seita, X. Pan, H. Chen and J. Canny (2017), "An efficient minibatch acceptance test for Metropolis-Hastings".
    """
    options = RunOptions(**run)
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
    """Run and record sweeps of all unfinished chains."""
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
    """Gibbs sweeps with an acceptance test.

    Parameters
    ----------
    field : MarkovField
        Field whose variables are updated.
    test : AcceptanceTest
        Acceptance test that decides each update.
    seeds : sequence of int
        Seeds of the chains.
    """

    def __init__(self, field: MarkovField, test: AcceptanceTest, seeds: Sequence[int]) -> None:
        from steinkit.samplers.acceptance.rules import rule_of

        self.field = field
        # A test that adds noise provides the corresponding level.
        level = test.level if test.needs_normal else BarkerTest().level
        self._levels = Noise(seeds, StreamKind.UNIFORM, field.dim, lambda rng, shape: level(uniforms(rng, shape)))
        self._normals = Noise(seeds, StreamKind.TEST, field.dim if test.needs_normal else 0, normals)
        self._orders = None if test.reads_all(field.size) else Noise(seeds, StreamKind.TEST_ORDER, field.dim, uniforms)
        rule = rule_of(test, field.size)
        self._sweep = sweep_in_python if rule is None else sweep
        self._judge = (rule or test, test.first_batch(field.size), test.constant_bound or 0.0)

    def sweep(self, states: States, chains: Integers, steps: Integers) -> Integers:
        """Update all variables of these chains in place.

        The states have shape (n, D). The result is the number of terms read by each chain, shape (n,).
        """
        levels, noise = (each.take(chains, steps) for each in (self._levels, self._normals))
        seeds = np.zeros(levels.shape)  # seeds of the reading orders, which are irrelevant if all terms are read
        if self._orders is not None:
            seeds = np.asarray(self._orders.take(chains, steps) * 2.0**53)
        read = np.empty(len(states), dtype=np.int64)
        self._sweep(self.field.terms, states, levels, noise, seeds.astype(np.uint64), *self._judge, read)
        return read


def _start_states(field: MarkovField, options: RunOptions) -> States:
    """Return the first state of each chain, (chains, D)."""
    given = np.zeros(field.dim) if options.start is None else np.asarray(options.start)
    if given.shape not in {(field.dim,), (options.chains, field.dim)}:
        raise InputError(
            f"start must have shape ({field.dim},), or ({options.chains}, {field.dim}), one row per chain; got "
            f"shape {given.shape}"
        )
    return as_states(np.broadcast_to(given, (options.chains, field.dim)), field.dim).copy()


def _require_usable(field: MarkovField, test: AcceptanceTest) -> None:
    """Raise UsageError if the field or the test is not valid for Gibbs sampling."""
    if not isinstance(field, MarkovField):
        raise UsageError(f"approximate_gibbs samples a MarkovField; got {type(field).__name__}")
    if isinstance(test, type) or not hasattr(test, "decide"):
        raise UsageError(f"test must be an object such as AusterityTest(0.05); got {test!r}")
    if test.needs_bound and test.constant_bound is None:
        raise UsageError(
            "here the concentration test requires a number for bound, the largest |l| of all terms: "
            f"numpy.abs(field.terms.differences).max(); got {getattr(test, 'bound', test)!r}"
        )


class FieldTerms(NamedTuple):
    """Terms of the log odds of each variable, in a fixed random order.

    Attributes
    ----------
    differences : ndarray, shape (D, N, 4)
        Terms l_jk of each variable i. The value for x_j and x_k is at index 2 x_j + x_k.
    pairs : ndarray of uint16, shape (D, N, 2)
        Indices j and k of each term.
    """

    differences: Floats
    pairs: NDArray[np.uint16]


@dataclass(frozen=True, eq=False, repr=False)
class MarkovField(Brief):
    """Dense three-way Markov random field.

    Parameters
    ----------
    log_potentials : array_like, shape (D (D - 1) (D - 2) / 6, 2, 2, 2)
        Log potentials log psi_ijk(x_i, x_j, x_k), with an array for each triple i < j < k. The triples are in the order
        of ``itertools.combinations``, that is, (0, 1, 2), (0, 1, 3), ..., (D - 3, D - 2, D - 1). All values must be
        finite. Impossible states can be represented by very low values.

    Raises
    ------
    UsageError
        If a value is not a finite real number.
    InputError
        If the shape is not that of a field.

    References
    ----------
    A. Korattikara, Y. Chen and M. Welling (2014), "Austerity in MCMC land: cutting the Metropolis-Hastings budget",
    appendix F.1.
    """

    log_potentials: ArrayLike

    def __post_init__(self) -> None:
        values = as_finite(self.log_potentials, "log_potentials")
        if values.ndim != 4 or values.shape[1:] != (2, 2, 2) or _triples(_dim_of(len(values))) != len(values):
            raise InputError(
                "log_potentials must have shape (triples, 2, 2, 2), with D (D - 1) (D - 2) / 6 triples of D >= 3 "
                f"variables: 1, 4, 10, 20, ...; got shape {values.shape}"
            )
        object.__setattr__(self, "log_potentials", values)

    @classmethod
    def simulate(cls, dim: int, *, scale: float = 0.02, rng: int | np.random.Generator | None = 0) -> MarkovField:
        """Simulate a field with independent normal log potentials.

        Parameters
        ----------
        dim : int
            Number of variables D, at least 3.
        scale : float
            Standard deviation of the log potentials. The paper's field has D = 100 and a scale of 0.02.
        rng : int, numpy.random.Generator or None
            Seed or generator for the log potentials. If None, each call returns a different field.

        Returns
        -------
        MarkovField
            Field of D variables, with a potential for each triple.

        Raises
        ------
        UsageError
            If `dim` is not an integer of at least 3, or if `scale` is not positive.
        """
        size = (_triples(whole(dim, "dim", 3)), 2, 2, 2)
        return cls(positive(scale, "scale") * np.random.default_rng(rng).standard_normal(size))

    @property
    def dim(self) -> int:
        """Number of variables D."""
        return _dim_of(len(self._tables))

    @property
    def size(self) -> int:
        """Number of terms N in the log odds of a variable."""
        return (self.dim - 1) * (self.dim - 2) // 2

    def log_weight(self, states: ArrayLike) -> Floats:
        """Compute the log probability of each state up to a constant.

        Parameters
        ----------
        states : array_like, shape (n, D)
            States, which consist of zeros and ones.

        Returns
        -------
        ndarray, shape (n,)
            Sums of the log potentials of all triples, which equal log P(x) + log Z.

        Raises
        ------
        InputError
            If the states have another shape, or values other than 0 and 1.
        """
        i, j, k = self._triples.T
        tables, triple = self._tables, np.arange(len(self._tables))
        return np.array([tables[triple, x[i], x[j], x[k]].sum() for x in as_states(states, self.dim)])

    def log_odds(self, variable: int, states: ArrayLike) -> Floats:
        """Compute the log odds of one variable given all the others, from all N terms.

        Parameters
        ----------
        variable : int
            Index i of the variable, starting from 0.
        states : array_like, shape (n, D)
            States, which consist of zeros and ones. Column i is ignored.

        Returns
        -------
        ndarray, shape (n,)
            Log odds log [P(x_i = 1 | x_-i) / P(x_i = 0 | x_-i)] in each state.

        Raises
        ------
        UsageError
            If there is no such variable.
        InputError
            If the states have another shape, or values other than 0 and 1.
        """
        from steinkit.runtime.compilation import announced_compilation

        if whole(variable, "variable", 0) >= self.dim:
            raise UsageError(f"variable must be less than the number of variables, {self.dim}; got {variable}")
        checked = as_states(states, self.dim)
        found = np.empty(len(checked))
        with announced_compilation():
            log_odds(self.terms.differences[variable], self.terms.pairs[variable], checked, found)
        return found

    def conditional(self, variable: int, states: ArrayLike) -> Floats:
        """Compute the probability that one variable is 1 given all the others.

        Parameters
        ----------
        variable : int
            Index i of the variable, starting from 0.
        states : array_like, shape (n, D)
            States, which consist of zeros and ones. Column i is ignored.

        Returns
        -------
        ndarray, shape (n,)
            Conditional probability P(x_i = 1 | x_-i) in each state.

        Raises
        ------
        UsageError, InputError
            Under the same conditions as for `log_odds`.
        """
        from scipy.special import expit

        return np.asarray(expit(self.log_odds(variable, states)), dtype=np.float64)

    def probabilities(self) -> Floats:
        """Compute the probabilities of all 2^D states.

        Returns
        -------
        ndarray, shape (2, ..., 2), D axes
            Probabilities of the states, where entry [x_1, ..., x_D] is P(x). The entries sum to one.

        Raises
        ------
        UsageError
            If D exceeds 20.
        """
        D = self.dim
        if D > _LARGEST_ENUMERATED:
            raise UsageError(
                f"2^{D} states are too many to enumerate; the largest field has {_LARGEST_ENUMERATED} "
                "variables. Estimate probabilities of larger fields from draws"
            )
        log_p = np.zeros((2,) * D)
        for triple, table in zip(self._triples, self._tables, strict=True):
            shape = np.ones(D, dtype=np.int64)
            shape[triple] = 2
            log_p += table.reshape(shape.tolist())
        p = np.exp(log_p - log_p.max())
        return np.asarray(p / p.sum(), dtype=np.float64)

    @cached_property
    def terms(self) -> FieldTerms:
        """Return the terms of the log odds of each variable, contiguous in reading order."""
        i, pairs, differences = [], [], []
        for axis in range(3):
            others = [a for a in range(3) if a != axis]
            i.append(self._triples[:, axis])
            pairs.append(self._triples[:, others])
            differences.append(np.diff(self._tables, axis=1 + axis).reshape(-1, 4))
        variable = np.concatenate(i)
        shuffled = np.random.default_rng(_SHUFFLE_SEED).permutation(len(variable))
        order = np.lexsort((shuffled, variable))
        D, N = self.dim, self.size
        return FieldTerms(
            np.concatenate(differences)[order].reshape(D, N, 4),
            np.concatenate(pairs)[order].astype(np.uint16).reshape(D, N, 2),
        )

    @property
    def _tables(self) -> Floats:
        return np.asarray(self.log_potentials, dtype=np.float64)

    @cached_property
    def _triples(self) -> NDArray[np.int64]:
        """Return all triples i < j < k, shape (triples, 3)."""
        return np.array(list(combinations(range(_dim_of(np.shape(self.log_potentials)[0])), 3)))


def as_states(states: ArrayLike, dim: int) -> States:
    """Convert ``states`` to an array of zeros and ones, shape (n, dim).

    Raises
    ------
    InputError
        If the shape is not valid, or if a value is not 0 or 1.
    """
    values = np.asarray(states)
    if values.ndim != 2 or values.shape[1] != dim:
        raise InputError(f"states must have shape (n, {dim}), one column per variable; got shape {values.shape}")
    wrong = (values != 0) & (values != 1)
    if wrong.any():
        row, column = np.argwhere(wrong)[0].tolist()
        raise InputError(f"variable {column} of state {row} is {values[row, column]}; variables are 0 or 1")
    return np.ascontiguousarray(values, dtype=np.uint8)


def _triples(dim: int) -> int:
    """Return the number of triples of ``dim`` variables."""
    return dim * (dim - 1) * (dim - 2) // 6


def _dim_of(triples: int) -> int:
    """Return the smallest number of variables, at least 3, with at least this number of triples."""
    dim: int = max(3, round((6.0 * triples) ** (1.0 / 3.0)))
    while _triples(dim) < triples:
        dim += 1
    return dim
