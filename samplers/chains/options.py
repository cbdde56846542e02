"""Options that all samplers share: the length of a run, its chains and seeds, and the temperature."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from steinkit.arguments import positive, whole
from steinkit.errors import UsageError
from steinkit.sample import Floats, Integers
from steinkit.samplers.chains.random_streams import chain_seeds

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
