"""Exact chains from the NUTS samplers of four packages; see tests/data/nuts/README.md."""

from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

FOLDER = Path(__file__).parents[1] / "data" / "nuts"
PACKAGES = ("pymc", "nutpie", "numpyro", "blackjax")
NORMALS = (2, 5, 20, 50)
UNIT = 2.0**-10  # precision of the stored draws
EFFECTS = np.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])
ERRORS = np.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])


class NutsSample(NamedTuple):
    """A sample of exact draws, not thinned.

    Attributes
    ----------
    name : str
        As ``"pymc, normal_20, four, 0"``: package, model, number of chains, number of the sample.
    draws : ndarray, shape (chains, draws, d)
    scores : ndarray, shape (chains * draws, d)
        Chain after chain, as for `steinkit.verdict`.
    """

    name: str
    draws: np.ndarray
    scores: np.ndarray


def schools_score(points: np.ndarray) -> np.ndarray:
    """Return the score of noncentered eight schools for mu, log tau and z; (n, 10) -> (n, 10)."""
    mu, tau, z = points[:, :1], np.exp(points[:, 1:2]), points[:, 2:]
    pull = (EFFECTS - mu - tau * z) / ERRORS**2
    of_mu = pull.sum(axis=1, keepdims=True) - mu / 25.0
    of_log_tau = 1.0 - 2.0 * tau**2 / (25.0 + tau**2) + tau * (pull * z).sum(axis=1, keepdims=True)
    return np.concatenate([of_mu, of_log_tau, tau * pull - z], axis=1)


@cache
def nuts_samples(package: str) -> tuple[NutsSample, ...]:
    """Return all samples of one of `PACKAGES`."""
    found = []
    with np.load(FOLDER / f"{package}.npz") as file:
        for key in file.files:
            if key == "software":
                continue
            model, _, chains = key.rpartition("_")
            for k, draws in enumerate(UNIT * file[key]):
                points = draws.reshape(-1, draws.shape[-1])
                scores = schools_score(points) if model == "schools" else -points
                found.append(NutsSample(f"{package}, {model}, {chains}, {k}", draws, scores))
    return tuple(found)
