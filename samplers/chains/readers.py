"""What lets the tests of chains read data: all of them at once, or minibatches.

**Minibatches** are drawn without replacement, by walking through shuffled data. A test (or a step) reads its data from
where the last one of its chain stopped, in contiguous slices, and round and round: until it has seen all N, no datum
comes twice. Once the end has been passed, the next test begins on a new order. This needs no permutation of N numbers a
step.

The orders are each chain's own, at every N: no two chains share one, and the order in which the rows are given means
nothing. In an order that chains shared, the data near each other would always be read together, and the noise of such
minibatches, which is that one order's, would move the results of all chains alike. Up to 2^15 data a chain keeps a list
of the data, which is shuffled as far as it is read; above, since lists of a million data for a hundred chains would
fill 400 MB, orders are computed. `random_order_kernels` says how.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from steinkit.errors import InputError
from steinkit.sample import Floats, Integers
from steinkit.samplers.acceptance.interface import AcceptanceTest, Moves
from steinkit.samplers.chains.draws import Kind, RunOptions, seed_sequence
from steinkit.samplers.chains.likelihood_terms import Model, PosteriorModel, no_number, require_start

Array = NDArray[Any]

LARGEST_SHUFFLED = 1 << 15
# Of computed orders: tables of one, and the most data.
_TABLES = 6
_LARGEST = 1 << 31


#: Where a chain is on its walk: the key of its orders, which of them, the place there, of how many.
PLACE = np.dtype([("key", np.uint64), ("number", np.int64), ("place", np.int64), ("size", np.int64)])


class Walk(NamedTuple):
    """Ways of K chains through N data, as `random_order_kernels` take them.

    Attributes
    ----------
    place : ndarray of `PLACE`, shape (K,)
    order : ndarray of int32, shape (K, N) or (K, 0)
        Lists of the data, each shuffled as it is read; or none, and tables.
    tables : ndarray of uint16, shape (K, 6, side) or (K, 6, 0)
    """

    place: Array
    order: Array
    tables: Array


def order_key(seed: int, kind: Kind) -> int:
    """The number of which all orders of one kind of the chain with this seed are made."""
    return int(seed_sequence(seed, kind).generate_state(1, np.uint64)[0])


def begin_walk(size: int, seeds: Sequence[int], kind: Kind) -> Walk:
    """The chains with these seeds at the beginning of their first orders of N data.

    Raises
    ------
    InputError
        If there are too many data.
    """
    from steinkit.samplers.chains.random_order_kernels import begin_order

    if size > _LARGEST:
        raise InputError(f"{size} data are more than the {_LARGEST} that can be put into random orders")
    shuffled = size <= LARGEST_SHUFFLED
    side = 0 if shuffled else math.isqrt(size - 1) + 1
    place = np.array([(order_key(seed, kind), 0, 0, size) for seed in seeds], dtype=PLACE)
    order = np.tile(np.arange(size if shuffled else 0, dtype=np.int32), (len(seeds), 1))
    walk = Walk(place, order, np.empty((len(seeds), _TABLES, side), dtype=np.uint16))
    if side:
        for key, tables in zip(place["key"], walk.tables, strict=True):
            begin_order(tables, key, 0)
    return walk


class DataWalk:
    """Walks of the chains with these seeds through arrays of the same leading length N.

    Parameters
    ----------
    data : sequence of ndarray
    seeds : sequence of int
    kind : Kind
        Which of the chains' streams orders the data.
    """

    def __init__(self, data: Sequence[Array], seeds: Sequence[int], kind: Kind) -> None:
        from steinkit.runtime.compilation import announced_compilation
        from steinkit.samplers.chains.random_order_kernels import end_readings, rows_of_chains

        self.data = tuple(data)
        self._rows_of_chains, self._end_readings, nobody = rows_of_chains, end_readings, np.arange(0)
        with announced_compilation():
            self._walk = begin_walk(len(data[0]), seeds, kind)
            rows_of_chains(self._walk, nobody, np.empty((0, 0), dtype=np.int64))
            end_readings(self._walk, nobody)

    def take(self, chains: Integers, rows: int) -> tuple[Array, ...]:
        """Next ``rows`` data of each of these chains: arrays of shape (n, rows, ...)."""
        index = np.empty((len(chains), rows), dtype=np.int64)
        self._rows_of_chains(self._walk, chains, index)
        return tuple(array.take(index, axis=0) for array in self.data)

    def close(self, chains: Integers) -> None:
        """End the test of each of these chains; whoever has passed the end gets a new order."""
        self._end_readings(self._walk, chains)


# The most data a chain reads at once: floats, and rows whatever their width. Not to depend on the number of chains.
_SLICE_FLOATS = 1 << 16
_SLICE_ROWS = (1 << 9, 1 << 13)
# Floats of data that several chains read in one call.
_TOGETHER_FLOATS = 1 << 20


@dataclass
class Chains:
    """The chains that are not finished, an entry each."""

    chain: Integers  # number
    step: Integers  # steps finished
    spent: Integers
    outside: Integers  # proposals outside the support since the last one inside
    state: Floats  # (n, d)
    proposed: Floats  # (n, d)
    log_prior: Floats
    proposed_log_prior: Floats
    offset: Floats  # log prior ratio and log proposal ratio
    temperature: Floats
    level: Floats
    normal: Floats
    number: Integers  # of the coming look
    target: Integers  # data it wants
    count: Integers  # data seen in the test
    mean: Floats  # of the l_i seen
    squares: Floats  # sum of squared deviations from it
    bound: Floats  # what the test made of the move, where it wants that
    log_likelihood: Floats  # of the state, over all data, where the test wants that
    done: Any  # whether finished

    @classmethod
    def begin(cls, states: Floats, log_prior: Floats) -> Chains:
        """Chains at their first states, (n, d)."""
        n = len(states)
        columns: dict[str, Any] = {entry.name: np.zeros(n) for entry in fields(cls)}
        for name in ("step", "spent", "outside", "number", "target", "count"):
            columns[name] = np.zeros(n, dtype=np.int64)
        columns |= {"chain": np.arange(n), "done": np.zeros(n, dtype=bool), "log_prior": log_prior.copy()}
        return cls(**columns | {"state": states.copy(), "proposed": states.copy()})

    def keep(self, rows: Any) -> None:
        """Drop all other chains."""
        for entry in fields(self):
            setattr(self, entry.name, getattr(self, entry.name)[rows])

    def require_numbers(self, values: Floats, rows: Any, proposed: Floats, what: str) -> None:
        """Refuse NaN and plus infinity, naming chain, step and state."""
        if not math.isfinite(np.add.reduce(values)) and not (values < np.inf).all():
            bad = int(np.flatnonzero(~(values < np.inf))[0])
            raise no_number(int(self.chain[rows][bad]), int(self.step[rows][bad]), what, values[bad], proposed[bad])


class Reader:
    """Lets the tests of chains read data."""

    model: Model

    def begin_run(self, live: Chains) -> None:
        """Prepare for chains at their first states."""

    def begin_tests(self, live: Chains, rows: Integers, first_batch: int) -> None:
        """Prepare the tests of these chains, which have just proposed."""
        live.target[rows] = first_batch

    def read(self, live: Chains) -> None:
        """Let every chain read the next data of its test."""
        raise NotImplementedError

    def values(self, live: Chains, rows: Any) -> list[Floats] | None:
        """The l_i that the tests of these chains have seen, where they want them."""
        return None

    def end_tests(self, live: Chains, rows: Integers, moved: Integers, reported: dict[str, Floats]) -> None:
        """End the tests of these chains, some of which have moved, and complete what is reported of them."""


class FullDataReader(Reader):
    """Reads all the data of a target, or of a posterior, at once."""

    def __init__(self, model: Model, test: AcceptanceTest) -> None:
        self.model, self._scans = model, "oracle_cost" in test.diagnostics

    def begin_run(self, live: Chains) -> None:
        """Evaluate the first states."""
        values = self.model.total_log_likelihood(live.state)
        require_start(values, live.state, "the log likelihood", "give another start=")
        live.log_likelihood = values
        self._proposed = np.zeros(len(values))

    def begin_tests(self, live: Chains, rows: Integers, first_batch: int) -> None:
        """Every test wants all the data."""
        live.target[rows] = self.model.size

    def read(self, live: Chains) -> None:
        """Evaluate all proposals."""
        size = self.model.size
        self._proposed = self.model.total_log_likelihood(live.proposed)
        live.require_numbers(self._proposed, slice(None), live.proposed, "the log likelihood")
        live.mean = (self._proposed - live.log_likelihood) / size
        live.count = np.full(len(live.chain), size)

    def end_tests(self, live: Chains, rows: Integers, moved: Integers, reported: dict[str, Floats]) -> None:
        """Keep the log likelihood of the proposals that became states. There is nothing to scan for."""
        if self._scans:
            reported["oracle_cost"] = np.zeros(len(rows))
        if moved.size:
            live.log_likelihood[moved] = self._proposed[moved]


class MinibatchReader(Reader):
    """Reads a posterior's data batch by batch, each datum at most once a test."""

    model: PosteriorModel

    def __init__(self, model: PosteriorModel, test: AcceptanceTest, options: RunOptions) -> None:
        self.model, self.test = model, test
        lowest, highest = _SLICE_ROWS
        self._longest = min(max(_SLICE_FLOATS // self.model.width, lowest), highest)
        self._walk = DataWalk(self.model.data, options.seeds, Kind.TEST_ORDER)
        self._seen: list[list[Floats]] = [[] for _ in range(options.chains)]
        self._oracle_cost = np.zeros(options.chains)

    def begin_tests(self, live: Chains, rows: Integers, first_batch: int) -> None:
        """Forget the values of the tests before; let the new ones look at their moves, where they want that."""
        super().begin_tests(live, rows, first_batch)
        chain = live.chain[rows]
        if self.test.needs_values:
            for k in chain.tolist():
                self._seen[k] = []
        if self.test.needs_bound:
            entries = (getattr(live, name)[rows] for name in ("state", "proposed", "offset", "temperature", "level"))
            moves = Moves(self.model, self._oracle_cost[chain], *entries)
            live.bound[rows] = self.test.bounds(moves)
            self._oracle_cost[chain] = moves.scanned

    def read(self, live: Chains) -> None:
        """Read a slice for every chain, in few calls."""
        sizes = np.minimum(live.target - live.count, self._longest).tolist()
        for size in set(sizes):
            together = max(1, _TOGETHER_FLOATS // (size * self.model.width))
            group = [row for row, wanted in enumerate(sizes) if wanted == size]
            for first in range(0, len(group), together):
                some = group[first : first + together]
                self._read_slice(live, slice(None) if len(some) == len(sizes) else np.array(some), size)

    def _read_slice(self, live: Chains, rows: Any, size: int) -> None:
        """Read the next ``size`` data of these chains, and merge mean and squares of the l_i with those before.

        With the slice's mean m' and squares q' (Chan, Golub and LeVeque 1983), and count, mean, squares b, m, q:
        m += (m' - m) size / (b + size),    q += q' + (m' - m)^2 b size / (b + size).
        """
        chain = live.chain[rows]
        batches = self._walk.take(chain, size)
        proposed, states = live.proposed[rows], live.state[rows]
        terms = self.model.log_ratios(proposed, states, batches)
        mean = np.add.reduce(terms, axis=1) / size
        live.require_numbers(mean, rows, proposed, "the log likelihood")
        deviations = terms - mean[:, None]
        squares = np.add.reduce(deviations * deviations, axis=1)
        count = live.count[rows]
        share = size / (count + size)
        before = live.mean[rows]
        difference = mean - before
        live.mean[rows] = np.where(before == -np.inf, before, before + difference * share)
        live.squares[rows] += squares + difference * difference * (count * share)
        live.count[rows] = count + size
        if self.test.needs_values:
            for k, values in zip(chain.tolist(), terms, strict=True):
                self._seen[k].append(values)

    def values(self, live: Chains, rows: Any) -> list[Floats] | None:
        """The l_i seen in the tests of these chains."""
        if not self.test.needs_values:
            return None
        return [np.concatenate(self._seen[k]) for k in live.chain[rows].tolist()]

    def end_tests(self, live: Chains, rows: Integers, moved: Integers, reported: dict[str, Floats]) -> None:
        """Turn to the data of the next tests."""
        chain = live.chain[rows]
        self._walk.close(chain)
        if "oracle_cost" in self.test.diagnostics:
            reported["oracle_cost"] = self._oracle_cost[chain]
