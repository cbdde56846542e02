"""Sampler draws, common options, random streams and recording.

**Random streams.** Each chain has one generator per kind of noise. Chain k of a run with seed s has the seed

    s_k = the first 53 bits of SeedSequence(s, spawn_key=(k,)),

and its noise of kind j comes from SeedSequence(s_k, spawn_key=(j,)). Therefore, a chain depends only on s_k and not on
the number of chains. A generator returns the same numbers whether they are drawn one by one or in blocks, so the block
size does not affect a chain.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, TypedDict, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from steinkit.arguments import require_flags, whole
from steinkit.errors import InputError, UsageError
from steinkit.result import Displayed, named
from steinkit.sample import Floats, Integers, Sample, default_names


@dataclass(frozen=True, eq=False)
class Draws(Displayed):
    """Draws from one or more chains of a sampler.

    Parameters
    ----------
    points : ndarray, shape (chains, draws, d)
        The draws, in the coordinates of the target.
    cost : ndarray, shape (chains, draws)
        Cumulative number of likelihood or gradient evaluations at single data points up to each draw, including
        burn-in. Within one test, each data point counts once.
    weights : ndarray, shape (chains, draws), optional
        Weights of the draws, such as decreasing step sizes.
    accepted : ndarray of bool, shape (chains, draws), optional
        True for accepted proposals. The array is None for samplers without rejection.
    batch_sizes : ndarray of int, shape (chains, draws), optional
        Number of data points read for the decision on each draw.
    names : tuple of str
        Names of the d coordinates.
    seeds : tuple of int
        Seed for each chain.
    settings : mapping
        Name and options of the sampler.
    lengths : ndarray of int, shape (chains,), optional
        Number of draws in each chain if the budget ended the chains at different lengths. The remaining entries of the
        arrays are NaN, 0 or False. None if all chains have the same length.
    diagnostics : mapping of str to ndarray, shape (chains, draws)
        Additional quantities reported for each draw by the sampler.

    Raises
    ------
    InputError
        If an array does not have one entry per draw.

    Examples
    --------
    >>> import numpy as np
    >>> from steinkit.samplers import Draws
    >>> Draws(points=np.zeros((2, 100, 3)), cost=np.ones((2, 100))).to_sample().points.shape
    (200, 3)
    """

    points: Floats
    cost: Floats
    weights: Floats | None = None
    accepted: NDArray[np.bool_] | None = None
    batch_sizes: NDArray[np.int64] | None = None
    names: tuple[str, ...] = ()
    seeds: tuple[int, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    lengths: Integers | None = None
    diagnostics: Mapping[str, NDArray[Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if np.ndim(self.points) != 3:
            raise InputError(f"`points` must have shape (chains, draws, d); got {np.shape(self.points)}")
        columns = {name: getattr(self, name) for name in ("cost", "weights", "accepted", "batch_sizes")}
        for name, values in {**columns, **self.diagnostics}.items():
            if values is not None and np.shape(values) != self.points.shape[:2]:
                expected = self.points.shape[:2]
                raise InputError(f"`{name}` must have shape (chains, draws) = {expected}; got {np.shape(values)}")

    def __repr__(self) -> str:
        chains, most, dim = self.points.shape
        each = f"{most} draws" if self.lengths is None else f"{self.lengths.min()} to {self.lengths.max()} draws"
        how = ", ".join(f"{name}={value!r}" for name, value in self.settings.items() if np.ndim(value) == 0)
        return f"<Draws of {chains} chains of {each}, d = {dim}: {named(self.names or default_names(dim))}; {how}>"

    @property
    def chains(self) -> int:
        """Number of chains."""
        return int(self.points.shape[0])

    @property
    def present(self) -> NDArray[np.bool_]:
        """Boolean array of shape (chains, draws) that marks entries containing a draw."""
        lengths = np.full(self.chains, self.points.shape[1]) if self.lengths is None else self.lengths
        return np.asarray(np.arange(self.points.shape[1]) < lengths[:, None])

    @property
    def acceptance(self) -> Floats | None:
        """Acceptance rate of each chain, or None for samplers without rejection."""
        return None if self.accepted is None else self._mean(self.accepted)

    @property
    def mean_batch_size(self) -> Floats | None:
        """Mean number of data points per decision in each chain, if recorded."""
        return None if self.batch_sizes is None else self._mean(self.batch_sizes)

    def to_sample(self) -> Sample:
        """Return the draws of all chains as one sample.

        Returns
        -------
        Sample
            All draws in the order of the chains, with chain numbers, draw numbers, costs and, if present, weights.
        """
        present = self.present
        chain, draw = np.nonzero(present)
        return Sample(
            points=self.points[present],
            cost=self.cost[present],
            weights=None if self.weights is None else self.weights[present],
            chain=chain,
            draw=draw,
            names=self.names,
        )

    def _mean(self, values: NDArray[Any]) -> Floats:
        """Compute the mean over the draws of each chain.

        The mean is NaN for a chain without draws.
        """
        counts = self.present.sum(axis=1)
        sums = np.where(self.present, values, 0).sum(axis=1)
        return np.asarray(np.divide(sums, counts, out=np.full(self.chains, np.nan), where=counts > 0))


# Number of values drawn at once for a chain and maximum number of steps per block.
_BLOCK_NUMBERS = 1 << 13
_BLOCK_STEPS = 256


class StreamKind(IntEnum):
    """Purpose of a random stream.

    New kinds must be appended at the end to keep the existing streams unchanged.
    """

    PROPOSAL = 0
    UNIFORM = 1
    TEST_ORDER = 2
    TEST = 3
    PROPOSAL_ORDER = 4


def chain_seeds(seed: int | Sequence[int], chains: int) -> tuple[int, ...]:
    """Return the seeds of the chains.

    Parameters
    ----------
    seed : int or sequence of int
        Seed for the run, or a sequence with the seeds of the chains, such as a subset of `Draws.seeds`.
    chains : int
        Number of chains, which must be 1 if ``seed`` is a sequence. The number of chains is then the length of the
        sequence.

    Raises
    ------
    UsageError
        If a seed is not a non-negative integer, or the number of seeds differs from the number of chains.
    """
    given = np.atleast_1d(np.asarray(seed, dtype=object))
    wrong = [s for s in given.ravel() if isinstance(s, bool) or not isinstance(s, int | np.integer) or s < 0]
    if wrong or given.ndim != 1 or not given.size:
        raise UsageError(f"`seed` must be a non-negative integer or a sequence with one per chain; got {seed!r}")
    if np.ndim(seed) == 0:
        return tuple(
            int(np.random.SeedSequence(int(given[0]), spawn_key=(k,)).generate_state(1, np.uint64)[0] >> 11)
            for k in range(chains)
        )
    if chains not in (1, len(given)):
        raise UsageError(f"expected one seed or one seed per chain; got {len(given)} seeds for {chains} chains")
    return tuple(int(s) for s in given)


def seed_sequence(seed: int, kind: StreamKind) -> np.random.SeedSequence:
    """Return the seed sequence of a random stream for the chain with a given seed."""
    return np.random.SeedSequence(seed, spawn_key=(int(kind),))


def generator(seed: int, kind: StreamKind) -> np.random.Generator:
    """Return the generator of a random stream for the chain with a given seed."""
    return np.random.default_rng(seed_sequence(seed, kind))


class Noise:
    """Random numbers for each step of each chain, drawn in blocks.

    Parameters
    ----------
    seeds : sequence of int
        Seeds of the chains.
    kind : StreamKind
        Random stream.
    width : int
        Number of random numbers per step.
    fill : callable, (Generator, shape) -> array of that shape
        Function that draws the numbers in an order that does not depend on the shape.
    """

    def __init__(
        self,
        seeds: Sequence[int],
        kind: StreamKind,
        width: int,
        fill: Callable[[np.random.Generator, tuple[int, int]], Floats],
    ) -> None:
        self._generators = [generator(seed, kind) for seed in seeds]
        self._fill = fill
        self._steps = min(_BLOCK_STEPS, max(1, _BLOCK_NUMBERS // max(1, width)))
        self._width = width
        self._rows = np.empty((len(seeds) * self._steps, width))

    def take(self, chains: Integers, steps: Integers) -> Floats:
        """Return random numbers for the current steps of the given chains.

        The steps of a chain are numbered from 0. Each step must be requested once, in order.
        """
        within = steps % self._steps
        if not within.all():
            for k in chains[within == 0].tolist():
                begin = k * self._steps
                self._rows[begin : begin + self._steps] = self._fill(self._generators[k], (self._steps, self._width))
        return self._rows.take(chains * self._steps + within, axis=0)


def normals(rng: np.random.Generator, shape: tuple[int, int]) -> Floats:
    """Draw standard normal random numbers."""
    return rng.standard_normal(shape)


def uniforms(rng: np.random.Generator, shape: tuple[int, int]) -> Floats:
    """Draw uniform random numbers in the open interval (0, 1)."""
    return np.maximum(rng.random(shape), 2.0**-54)


@dataclass(frozen=True)
class RunOptions:
    """Length, number of chains, seeds and initial states of a run.

    Parameters
    ----------
    chains : int, default 1
        Number of chains.
    draws : int, optional
        Number of draws to keep per chain.
    budget : int, optional
        Maximum number of likelihood or gradient evaluations at single data points per chain, including burn-in. A step
        starts if its first batch fits within the budget, and it is always completed. If steps could be interrupted,
        expensive tests would be dropped selectively. At least one of the options draws and budget is required. A chain
        ends when it reaches either limit.
    burn_in : int, default 0
        Number of initial steps to discard.
    thin : int, default 1
        Keep every thin-th step after burn-in.
    seed : int or sequence of int, default 0
        Seed for the run, which determines the seed of each chain (`Draws.seeds`). To run some chains again, pass a
        sequence of their seeds instead. A chain depends only on its seed.
    start : array_like, shape (d,) or (chains, d), optional
        Initial state of all chains, or one state per chain. The default is zeros or, in `sgld` with control variates,
        the mode.
    progress : bool, default False
        If True, a progress bar is shown on standard error if the run takes more than a second.

    Attributes
    ----------
    seeds : tuple of int
        Seed for each chain, derived from ``seed`` and ``chains``. This attribute is not a parameter.

    Raises
    ------
    UsageError
        If a value is invalid, or neither draws nor budget is given.

    Examples
    --------
    >>> from steinkit.samplers import RunOptions
    >>> options = RunOptions(chains=4, draws=1000, burn_in=100)
    >>> len(options.seeds), options.steps
    (4, 1100)
    """

    chains: int = 1
    draws: int | None = None
    budget: int | None = None
    burn_in: int = 0
    thin: int = 1
    seed: int | Sequence[int] = 0
    start: ArrayLike | None = None
    progress: bool = False
    seeds: tuple[int, ...] = field(init=False)  # derived from `seed` and `chains`

    def __post_init__(self) -> None:
        if self.draws is None and self.budget is None:
            raise UsageError("a run requires `draws`, `budget`, or both; got neither")
        for name, least in {"draws": 1, "budget": 1, "chains": 1, "burn_in": 0, "thin": 1}.items():
            value = getattr(self, name)
            if value is not None or name not in ("draws", "budget"):
                whole(value, name, least)
        require_flags(progress=self.progress)
        seeds = chain_seeds(self.seed, self.chains)
        object.__setattr__(self, "chains", len(seeds))
        object.__setattr__(self, "seeds", seeds)

    @property
    def steps(self) -> int | None:
        """Number of steps in a chain, or None if only the budget limits it."""
        return None if self.draws is None else self.burn_in + self.draws * self.thin

    def steps_of(self, cost: int, before: int = 0) -> int:
        """Return the number of steps in a chain with a constant cost per step.

        Parameters
        ----------
        cost : int
            Likelihood or gradient evaluations at single data points per step.
        before : int, default 0
            Evaluations before the first step.

        Returns
        -------
        int
            Number of steps required for all draws or allowed by the budget, whichever is smaller.
        """
        paid = None if self.budget is None else (self.budget - before) // cost
        return min(count for count in (self.steps, paid) if count is not None)

    def require_budget(self, step_cost: int, before: int = 0) -> None:
        """Raise an error if the budget is too small for the first draw.

        Parameters
        ----------
        step_cost : int
            Minimum number of likelihood or gradient evaluations at single data points per step.
        before : int, default 0
            Evaluations before the first step.

        Raises
        ------
        UsageError
            If the budget does not cover burn_in + thin steps.
        """
        least = before + step_cost * (self.burn_in + self.thin)
        if self.budget is not None and self.budget < least:
            raise UsageError(
                f"`budget` must be at least {least}, the cost of the first draw ({step_cost} evaluations per step, "
                f"burn_in={self.burn_in}, thin={self.thin}); got {self.budget}"
            )

    def described(self) -> dict[str, Any]:
        """Return the options for `Draws.settings`.

        Returns
        -------
        dict
            The options by name, without ``progress``. The option "seed" is a list if a sequence of seeds was given.
        """
        names = ("chains", "draws", "budget", "burn_in", "thin")
        return {name: getattr(self, name) for name in names} | {
            "seed": self.seed if np.ndim(self.seed) == 0 else list(self.seeds),
            "start": None if self.start is None else np.asarray(self.start).tolist(),
        }


class RunKeywords(TypedDict, total=False):
    """Keyword arguments of samplers that set the `RunOptions` fields."""

    chains: int
    draws: int | None
    budget: int | None
    burn_in: int
    thin: int
    seed: int | Sequence[int]
    start: ArrayLike | None
    progress: bool


_Sampler = TypeVar("_Sampler", bound=Callable[..., Any])


def takes_run_options(sampler: _Sampler) -> _Sampler:
    """Replace ``**run`` of a sampler with the `RunOptions` fields.

    The fields replace ``**run`` in the signature and, unless the docstring lists them itself, in the docstring.
    """
    own, options = inspect.signature(sampler), inspect.signature(RunOptions).parameters.values()
    parameters = [*list(own.parameters.values())[:-1], *(each.replace(kind=each.KEYWORD_ONLY) for each in options)]
    sampler.__signature__ = own.replace(parameters=parameters)  # type: ignore[attr-defined]
    documented = inspect.cleandoc(RunOptions.__doc__ or "").partition("----------\n")[2].partition("\n\n")[0]
    there = "**run\n    Options of the run. See `RunOptions`."
    sampler.__doc__ = inspect.cleandoc(sampler.__doc__ or "").replace(there, documented)
    return sampler


_FIRST_CAPACITY = 1024


class Recorder:
    """Recorder that keeps every ``thin``-th step of each chain after the burn-in.

    Parameters
    ----------
    options : RunOptions
        Options of the run.
    dim : int
        Number of coordinates d.
    columns : dict of str to dtype
        Quantities to record for each draw in addition to the state and the cost.
    """

    def __init__(self, options: RunOptions, dim: int, columns: dict[str, type]) -> None:
        self.options = options
        self.kept = np.zeros(options.chains, dtype=np.int64)
        self.columns = tuple(columns)
        shape = (options.chains, options.draws or _FIRST_CAPACITY)
        dtypes: dict[str, Any] = {"cost": np.float64} | columns
        self._arrays = {name: np.empty(shape, dtype=dtype) for name, dtype in dtypes.items()}
        self._arrays["points"] = np.empty((*shape, dim))

    def record(self, chains: Integers, steps: Integers, **columns: NDArray[Any]) -> None:
        """Record the last step of each of the given chains.

        The step numbers ``steps`` start at 1.
        """
        after = steps - self.options.burn_in
        keep = (after > 0) & (after % self.options.thin == 0)
        chains = chains[keep]
        filled = self.kept[chains]
        self._reserve(filled.max(initial=-1) + 1)
        for name, values in columns.items():
            self._arrays[name][chains, filled] = values[keep]
        self.kept[chains] = filled + 1

    def extend(self, chain: int, first: int, **columns: NDArray[Any]) -> None:
        """Record consecutive steps of one chain that follow ``first`` earlier steps."""
        count, thin = len(columns["cost"]), self.options.thin
        after = first + 1 - self.options.burn_in  # number of the first step
        begin, filled = max(thin - after, -after % thin), int(self.kept[chain])
        end = filled + len(range(begin, count, thin))
        self._reserve(end)
        for name, values in columns.items():
            self._arrays[name][chain, filled:end] = values[begin:count:thin]
        self.kept[chain] = end

    def _reserve(self, draws: int) -> None:
        """Double the capacity until it is at least ``draws`` per chain."""
        while draws > self._arrays["cost"].shape[1]:
            self._arrays = {name: np.concatenate((old, np.empty_like(old)), 1) for name, old in self._arrays.items()}

    def column(self, name: str) -> NDArray[Any]:
        """Return a recorded quantity, padded with NaN, 0 or False after each chain ends."""
        array = self._arrays[name][:, : self.kept.max()]
        for k in np.flatnonzero(self.kept < self.kept.max()).tolist():
            array[k, self.kept[k] :] = np.nan if array.dtype.kind == "f" else 0
        return array

    def draws(self, names: tuple[str, ...], settings: dict[str, Any], diagnostics: tuple[str, ...] = ()) -> Draws:
        """Return all recorded draws.

        Raises
        ------
        UsageError
            If no chain has a draw.
        """
        if not self.kept.any():
            raise UsageError(
                f"`budget` {self.options.budget} was spent before the first draw (burn_in={self.options.burn_in}, "
                f"thin={self.options.thin}), because tests read more than their first batch; increase `budget`"
            )
        optional = {name: self.column(name) for name in ("weights", "accepted", "batch_sizes") if name in self._arrays}
        return Draws(
            points=self.column("points"),
            cost=self.column("cost"),
            names=names,
            seeds=self.options.seeds,
            settings=settings | self.options.described(),
            lengths=None if (self.kept == self.kept.max()).all() else self.kept.copy(),
            diagnostics={name: self.column(name) for name in diagnostics},
            **optional,
        )
