"""Chains of draws: what a sampler returns, the options that all share, their noise, and how draws are kept.

**Noise.** Each chain has generators of its own, one for each kind of noise. Chain k of a run with seed s has the seed

    s_k = the first 53 bits of SeedSequence(s, spawn_key=(k,)),

and noise of kind j in it comes from SeedSequence(s_k, spawn_key=(j,)). So a chain depends on s_k alone, not on how
many chains run beside it; and as a generator gives the same numbers one by one or many at a time, not on the
size of the blocks either.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from functools import wraps
from typing import Any, TypedDict, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from steinkit.arguments import positive, whole
from steinkit.errors import InputError, UsageError
from steinkit.result import Displayed, named
from steinkit.sample import Floats, Integers, Sample, default_names


@dataclass(frozen=True, eq=False)
class Draws(Displayed):
    """Draws of several chains of one sampler.

    Parameters
    ----------
    points : ndarray, shape (chains, draws, d)
        The draws, in the target's coordinates.
    cost : ndarray, shape (chains, draws)
        Cumulative likelihood or gradient evaluations of single data up to each draw, burn-in included; each datum
        counts once a test.
    weights : ndarray, shape (chains, draws), optional
        Weights of the draws, such as the step sizes of a sampler whose steps decrease.
    accepted : ndarray of bool, shape (chains, draws), optional
        Whether the move into each draw was accepted; None for a sampler that does not reject.
    batch_sizes : ndarray of int, shape (chains, draws), optional
        Data used by the decision on each draw.
    names : tuple of str
        Names of the d coordinates.
    seeds : tuple of int
        The chains' seeds.
    settings : mapping
        The sampler's name and its options.
    lengths : ndarray of int, shape (chains,), optional
        How many draws each chain has, where a budget ended chains at different numbers; the rows beyond hold NaN, 0
        and False. None if every chain fills its row.
    diagnostics : mapping of str to ndarray, shape (chains, draws)
        What else the sampler reports of each draw.

    Raises
    ------
    InputError
        If an array does not hold one entry a draw.
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
            raise InputError(f"points must have shape (chains, draws, d); received {np.shape(self.points)}")
        columns = {name: getattr(self, name) for name in ("cost", "weights", "accepted", "batch_sizes")}
        for name, values in {**columns, **self.diagnostics}.items():
            if values is not None and np.shape(values) != self.points.shape[:2]:
                raise InputError(
                    f"{name} must have shape (chains, draws) = {self.points.shape[:2]}; received {np.shape(values)}"
                )
        if self.lengths is not None and (
            np.shape(self.lengths) != (self.chains,)
            or np.min(self.lengths, initial=0) < 0
            or np.max(self.lengths, initial=0) > self.points.shape[1]
        ):
            raise InputError(
                f"lengths must hold a number of draws for each chain, at most {self.points.shape[1]}; "
                f"received {self.lengths}"
            )

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
        """Which entries of the arrays are draws, shape (chains, draws)."""
        lengths = np.full(self.chains, self.points.shape[1]) if self.lengths is None else self.lengths
        return np.asarray(np.arange(self.points.shape[1]) < lengths[:, None])

    @property
    def acceptance(self) -> Floats | None:
        """Share of accepted moves of each chain, shape (chains,); None for a sampler that does not reject."""
        return None if self.accepted is None else self._mean(self.accepted)

    @property
    def mean_batch_size(self) -> Floats | None:
        """Mean number of data a decision used, of each chain, shape (chains,); None where that is not known."""
        return None if self.batch_sizes is None else self._mean(self.batch_sizes)

    def to_sample(self) -> Sample:
        """Lay the chains end to end.

        Returns
        -------
        Sample
            All draws, chain by chain, each with its chain, its number in the chain, its cost, and its weight if there
            are any.
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
        """Mean over the draws of each chain; NaN for a chain without draws."""
        counts = self.present.sum(axis=1)
        sums = np.where(self.present, values, 0).sum(axis=1)
        return np.asarray(np.divide(sums, counts, out=np.full(self.chains, np.nan), where=counts > 0))


# Numbers drawn at once for a chain, and the most steps they serve.
_BLOCK_NUMBERS = 1 << 13
_BLOCK_STEPS = 256


class Kind(IntEnum):
    """What noise is for. New kinds come last, so that old ones keep their numbers."""

    PROPOSAL = 0
    UNIFORM = 1
    TEST_ORDER = 2
    TEST = 3
    PROPOSAL_ORDER = 4


def chain_seeds(seed: int | Sequence[int], chains: int) -> tuple[int, ...]:
    """Seeds of the chains.

    Parameters
    ----------
    seed : int, or sequence of int
        Seed of the run, or the seeds of the chains themselves, such as some of `Draws.seeds`.
    chains : int
        Number of chains; 1 is read as the number of seeds where there are several.

    Raises
    ------
    UsageError
        If a seed is not a whole number of at least 0, or there are more or fewer than chains.
    """
    given = np.atleast_1d(np.asarray(seed, dtype=object))
    wrong = [s for s in given.ravel() if isinstance(s, bool) or not isinstance(s, int | np.integer) or s < 0]
    if wrong or given.ndim != 1 or not given.size:
        raise UsageError(f"seed must be a whole number of at least 0, or one for each chain; received {seed!r}")
    if np.ndim(seed) == 0:
        return tuple(
            int(np.random.SeedSequence(int(given[0]), spawn_key=(k,)).generate_state(1, np.uint64)[0] >> 11)
            for k in range(chains)
        )
    if chains not in (1, len(given)):
        raise UsageError(f"{len(given)} seeds for {chains} chains; give one for each chain, or a single number")
    return tuple(int(s) for s in given)


def seed_sequence(seed: int, kind: Kind) -> np.random.SeedSequence:
    """What one kind of noise of the chain with this seed comes from."""
    return np.random.SeedSequence(seed, spawn_key=(int(kind),))


def generator(seed: int, kind: Kind) -> np.random.Generator:
    """Generator of one kind of noise of the chain with this seed."""
    return np.random.default_rng(seed_sequence(seed, kind))


class Noise:
    """One row of numbers for each step of each chain, drawn in blocks.

    Parameters
    ----------
    seeds : sequence of int
        Seeds of the chains.
    kind : Kind
    width : int
        Numbers a step.
    fill : callable, (Generator, shape) -> array of that shape
        Draws the numbers in order, whatever the shape: a block may be anything from one step up.
    """

    def __init__(
        self,
        seeds: Sequence[int],
        kind: Kind,
        width: int,
        fill: Callable[[np.random.Generator, tuple[int, int]], Floats],
    ) -> None:
        self._generators = [generator(seed, kind) for seed in seeds]
        self._fill = fill
        self._steps = min(_BLOCK_STEPS, max(1, _BLOCK_NUMBERS // max(1, width)))
        self._width = width
        self._rows = np.empty((len(seeds) * self._steps, width))

    def take(self, chains: Integers, steps: Integers) -> Floats:
        """Numbers of each of these chains for the step it is at, shape (n, width).

        The steps of a chain are numbered from 0 and must be asked for once each and in order.
        """
        within = steps % self._steps
        if not within.all():
            for k in chains[within == 0].tolist():
                begin = k * self._steps
                self._rows[begin : begin + self._steps] = self._fill(self._generators[k], (self._steps, self._width))
        return self._rows.take(chains * self._steps + within, axis=0)


def normals(rng: np.random.Generator, shape: tuple[int, int]) -> Floats:
    """Standard normal numbers."""
    return rng.standard_normal(shape)


def uniforms(rng: np.random.Generator, shape: tuple[int, int]) -> Floats:
    """Uniform numbers in the open interval (0, 1)."""
    return np.maximum(rng.random(shape), 2.0**-54)


Temperature = float | Callable[[Integers], ArrayLike]


@dataclass(frozen=True)
class RunOptions:
    """How long to run, how many chains, from which seeds.

    Parameters
    ----------
    chains : int
        Number of chains.
    draws : int, optional
        Draws to keep of each chain.
    budget : int, optional
        Likelihood or gradient evaluations of single data that each chain may spend, burn-in included. A step is begun
        while its first batch still fits, and is finished even if its test then asks for more: to cut it off would
        drop the expensive tests. At least one of draws and budget is needed; what is reached first ends a chain.
    burn_in : int
        First steps of each chain that are not kept.
    thin : int
        Keep every thin-th step after those.
    seed : int, or sequence of int
        Seed of the run, from which each chain has its own (`Draws.seeds`); or the seeds of the chains themselves, to
        run some of them again. A chain depends on its own seed only.
    start : array_like, shape (d,) or (chains, d), optional
        First state of all chains, or of each; zeros if not given.
    progress : bool
        Show a bar on standard error if the run takes more than a second.

    Attributes
    ----------
    seeds : tuple of int
        Seed of each chain: not to be given, they follow from ``seed`` and ``chains``.

    Raises
    ------
    UsageError
        If a value is not of its kind, or neither draws nor budget is given.
    """

    chains: int = 1
    draws: int | None = None
    budget: int | None = None
    burn_in: int = 0
    thin: int = 1
    seed: int | Sequence[int] = 0
    start: ArrayLike | None = None
    progress: bool = False
    seeds: tuple[int, ...] = field(init=False)  # follow from seed and chains

    def __post_init__(self) -> None:
        if self.draws is None and self.budget is None:
            raise UsageError("a run needs an end: give draws, budget, or both")
        for name, least in {"draws": 1, "budget": 1, "chains": 1, "burn_in": 0, "thin": 1}.items():
            value = getattr(self, name)
            if value is not None or name not in ("draws", "budget"):
                whole(value, name, least)
        if not isinstance(self.progress, bool | np.bool_):
            raise UsageError(f"progress must be True or False; received {self.progress!r}")
        seeds = chain_seeds(self.seed, self.chains)
        object.__setattr__(self, "chains", len(seeds))
        object.__setattr__(self, "seeds", seeds)

    @property
    def steps(self) -> int | None:
        """Steps that give all draws; None where only the budget ends a chain."""
        return None if self.draws is None else self.burn_in + self.draws * self.thin

    def steps_of(self, cost: int, before: int = 0) -> int:
        """Steps of a chain each of which costs the same.

        Parameters
        ----------
        cost : int
            Likelihood or gradient evaluations of single data in a step.
        before : int
            Those before the first step.

        Returns
        -------
        int
            Those that give all draws, or that the budget pays, whichever are fewer.
        """
        paid = None if self.budget is None else (self.budget - before) // cost
        return min(count for count in (self.steps, paid) if count is not None)

    def require_budget(self, step_cost: int, before: int = 0) -> None:
        """Hold the budget to paying the first draw.

        Parameters
        ----------
        step_cost : int
            Likelihood or gradient evaluations of single data in a step, at least.
        before : int
            Those before the first step.

        Raises
        ------
        UsageError
            If it does not pay burn_in + thin such steps.
        """
        first = before + step_cost * (self.burn_in + self.thin)
        if self.budget is not None and self.budget < first:
            raise UsageError(
                f"budget must be at least {first}, what burn_in, thin and {step_cost} data a step"
                f"{f', after {before} before the first,' if before else ''} need for one draw; received {self.budget}"
            )

    def described(self) -> dict[str, Any]:
        """Options as `Draws.settings` keeps them.

        Returns
        -------
        dict
            By their names, without ``progress``; "seed" is a list where the chains' own were given.
        """
        names = ("chains", "draws", "budget", "burn_in", "thin")
        return {name: getattr(self, name) for name in names} | {
            "seed": self.seed if np.ndim(self.seed) == 0 else list(self.seeds),
            "start": None if self.start is None else np.asarray(self.start).tolist(),
        }


class RunKeywords(TypedDict, total=False):
    """The options of `RunOptions`, as samplers take them."""

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
    """Write the options of `RunOptions` into the signature of a sampler, which takes them as ``**run``."""
    own, options = inspect.signature(sampler), inspect.signature(RunOptions).parameters.values()
    parameters = [*list(own.parameters.values())[:-1], *(each.replace(kind=each.KEYWORD_ONLY) for each in options)]
    signature = own.replace(parameters=parameters)

    @wraps(sampler)
    def run(*args: Any, **given: Any) -> Any:
        if unknown := given.keys() - signature.parameters.keys():
            raise TypeError(f"{sampler.__name__}() got an unexpected keyword argument {min(unknown)!r}")
        return sampler(*args, **given)

    run.__signature__ = signature  # type: ignore[attr-defined]
    return run  # type: ignore[return-value]


def temperatures(temperature: Temperature, steps: Integers) -> Floats:
    """Temperature of the steps with these numbers, from 0."""
    if not callable(temperature):
        return np.full(len(steps), positive(temperature, "temperature"))
    values = np.asarray(temperature(steps), dtype=np.float64)
    if values.shape != steps.shape or not (values > 0.0).all() or not np.isfinite(values).all():
        raise UsageError(
            "a temperature schedule must return positive finite numbers, one for each step number of an array (n,); "
            f"for {steps[:3]} it returned {values[:3] if values.ndim else values}"
        )
    return values


def describe_temperature(temperature: Temperature) -> Any:
    """A temperature as `Draws.settings` keeps it."""
    return (
        getattr(temperature, "__name__", "schedule") if callable(temperature) else positive(temperature, "temperature")
    )


_FIRST_CAPACITY = 1024


class Recorder:
    """The kept draws of each chain: steps after the burn-in, every thin-th.

    Parameters
    ----------
    options : RunOptions
    dim : int
    columns : mapping of str to dtype
        What is kept of each draw beside the state and the cost.
    """

    def __init__(self, options: RunOptions, dim: int, columns: dict[str, Any]) -> None:
        self.options = options
        self.kept = np.zeros(options.chains, dtype=np.int64)
        self.columns = tuple(columns)
        room = (options.chains, options.draws or _FIRST_CAPACITY)
        self._arrays = {name: np.empty(room, dtype=dtype) for name, dtype in ({"cost": np.float64} | columns).items()}
        self._arrays["points"] = np.empty((*room, dim))

    def record(self, chains: Integers, steps: Integers, **columns: NDArray[Any]) -> None:
        """Record the step just finished by each of these chains; ``steps`` counts it, so the first is 1."""
        after = steps - self.options.burn_in
        keep = (after > 0) & (after % self.options.thin == 0)
        chains = chains[keep]
        filled = self.kept[chains]
        self._make_room(filled.max(initial=-1) + 1)
        for name, values in columns.items():
            self._arrays[name][chains, filled] = values[keep]
        self.kept[chains] = filled + 1

    def extend(self, chain: int, first: int, **columns: NDArray[Any]) -> None:
        """Record consecutive steps of one chain, one entry of each column a step; ``first`` steps came before them."""
        count, thin = len(columns["cost"]), self.options.thin
        after = first + 1 - self.options.burn_in  # of the first of these steps
        begin, filled = max(thin - after, -after % thin), int(self.kept[chain])
        end = filled + len(range(begin, count, thin))
        self._make_room(end)
        for name, values in columns.items():
            self._arrays[name][chain, filled:end] = values[begin:count:thin]
        self.kept[chain] = end

    def _make_room(self, wanted: int) -> None:
        """Double the room of every chain, until so many draws find place."""
        while wanted > self._arrays["cost"].shape[1]:
            self._arrays = {name: np.concatenate((old, np.empty_like(old)), 1) for name, old in self._arrays.items()}

    def column(self, name: str) -> NDArray[Any]:
        """Everything recorded under a name, shape (chains, draws, ...); NaN, 0 or False beyond a chain's end."""
        array = self._arrays[name][:, : self.kept.max()]
        for k in np.flatnonzero(self.kept < self.kept.max()).tolist():
            array[k, self.kept[k] :] = np.nan if array.dtype.kind == "f" else 0
        return array

    def draws(self, names: tuple[str, ...], settings: dict[str, Any], diagnostics: tuple[str, ...] = ()) -> Draws:
        """Everything recorded, as `Draws`.

        Raises
        ------
        UsageError
            If no chain has a draw.
        """
        if not self.kept.any():
            raise UsageError(
                f"budget {self.options.budget} was spent before any chain had a draw (burn_in={self.options.burn_in}, "
                f"thin={self.options.thin}): tests read more than their first batch; raise budget, or lower burn_in"
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
