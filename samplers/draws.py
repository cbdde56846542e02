"""What a sampler returns: chains of draws, what they cost, and how they were made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steinkit.errors import InputError
from steinkit.sample import Floats, Sample


@dataclass(frozen=True, eq=False)
class Draws:
    """Draws of several chains of one sampler.

    Parameters
    ----------
    points : ndarray, shape (chains, draws, d)
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

    def __post_init__(self) -> None:
        if np.ndim(self.points) != 3:
            raise InputError(f"points must have shape (chains, draws, d); received {np.shape(self.points)}")
        for name in ("cost", "weights", "accepted", "batch_sizes"):
            values = getattr(self, name)
            if values is not None and np.shape(values) != self.points.shape[:2]:
                raise InputError(
                    f"{name} must have shape (chains, draws) = {self.points.shape[:2]}; received {np.shape(values)}"
                )

    @property
    def chains(self) -> int:
        """Number of chains."""
        return int(self.points.shape[0])

    @property
    def acceptance(self) -> Floats | None:
        """Share of accepted moves of each chain, shape (chains,); None for a sampler that does not reject."""
        return None if self.accepted is None else np.asarray(self.accepted.mean(axis=1))

    def to_sample(self) -> Sample:
        """Lay the chains end to end as a sample, with chain, draw, cost and weights of each draw."""
        weights = None if self.weights is None else np.ravel(self.weights)
        return Sample(points=self.points, cost=np.ravel(self.cost), weights=weights, names=self.names)
