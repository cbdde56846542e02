"""Simulated mixed sources for independent component analysis, in place of the paper's recordings.

The paper mixed a piece of classical music, street noise and two Gaussian sources. Here, the first two sources are
replaced by independent draws from distributions with heavy tails, which are similar to the distribution of sound
amplitudes.
"""

from __future__ import annotations

import numpy as np
from _data_files import recordings
from applications.ica import IndependentComponents

from steinkit.errors import InputError

_MIXING = [[1.0, 0.5, -0.3, 0.2], [0.2, 1.0, 0.5, -0.4], [-0.4, 0.3, 1.0, 0.6], [0.5, -0.2, 0.1, 1.0]]


def mixed_sources(size: int, normal: int, data: str = "") -> IndependentComponents:
    """Return the posterior of the unmixing matrix of four mixed sources with at most two normal ones.

    If a file is given, the first two sources are the beginning of its recordings.
    """
    rng = np.random.default_rng(1)
    sources = rng.laplace(size=(size, 4))
    sources[:, 1] *= np.sqrt(np.abs(sources[:, 1]))  # heavier tails
    if data:
        found = recordings(data)
        if len(found) < size:
            raise InputError(f"{data} has {len(found):,} samples, and {size:,} are mixed; give longer recordings")
        sources[:, :2] = found[:size]
    sources[:, 4 - normal :] = rng.standard_normal((size, normal))
    return IndependentComponents.from_mixtures(sources @ np.array(_MIXING).T)


def true_unmixing() -> np.ndarray:
    """Return the inverse of the mixing matrix, shape (4, 4)."""
    return np.linalg.inv(np.array(_MIXING))
