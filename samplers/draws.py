"""What a sampler returns: chains of draws, what they cost, and how they were made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steinkit.describe.results import Displayed, named
from steinkit.errors import InputError
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
        if self.lengths is None:
            weights = None if self.weights is None else np.ravel(self.weights)
            return Sample(points=self.points, cost=np.ravel(self.cost), weights=weights, names=self.names)
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
