"""Samples of four real posteriors with Stan's gradients; see tests/data/posteriordb/README.md."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

import steinkit as sk

FOLDER = Path(__file__).parents[1] / "data" / "posteriordb"
NAMES = ("kidiq-kidscore_momhs", "garch-garch11", "low_dim_gauss_mix-low_dim_gauss_mix", "arK-arK")
BLOCK = 1000


@dataclass(frozen=True, eq=False)
class Posterior:
    """Independent draws from a posterior on the unconstrained scale, and biased samples.

    Attributes
    ----------
    right : Sample
    shift : Sample
        A quarter of a standard deviation added to `shifted`.
    mean_field : Sample
        Every coordinate permuted separately, which removes the dependence.
    langevin : Sample
        Stationary draws of unadjusted Langevin: 15% too wide along the widest principal axis.
    shifted : str
    """

    right: sk.Sample
    shift: sk.Sample
    mean_field: sk.Sample
    langevin: sk.Sample
    shifted: str

    @property
    def right_blocks(self) -> list[sk.Sample]:
        """Return the exact draws, a thousand at a time."""
        return [self.right[begin : begin + BLOCK] for begin in range(0, len(self.right), BLOCK)]


@cache
def posterior(name: str) -> Posterior:
    """Return the samples of one of `NAMES`."""
    with np.load(FOLDER / f"{name}.npz") as file:
        names = tuple(map(str, file["names"]))
        samples = {
            key: sk.Sample(file[f"{key}_points"].astype(float), scores=file[f"{key}_scores"].astype(float), names=names)
            for key in ("right", "shift", "mean_field", "langevin")
        }
        return Posterior(**samples, shifted=str(file["shift_coordinate"]))
