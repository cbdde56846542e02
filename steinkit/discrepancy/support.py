"""Edges of a support that no box of bounds says, as of ordered vectors, simplexes and balls.

Stein's identities need a density that vanishes at the edge of its support, or a boundary factor there. Bounds of the
coordinates are known; other edges show where the log density is minus infinity a short way from a draw, within the
bounds. So it is asked for beyond the outermost draws along coordinates and principal axes, and a short way from others
in random directions.
"""

from __future__ import annotations

import numpy as np

from steinkit.errors import InputError
from steinkit.sample import Floats
from steinkit.target import Target

_STEPS = 0.05, 0.3  # standard deviations
_MOST = 500  # places of each kind at which the density is asked for


def edges(points: Floats, target: Target, bounds: Floats | None = None) -> bool:
    """Tell whether the support ends near some draws where no bound says so.

    Parameters
    ----------
    points : ndarray, shape (n, d)
        Draws, inside the support.
    target : Target
        With a log density.
    bounds : ndarray, shape (d, 2), optional
        Bounds of the support, in the draws' unit; the target's own if not given.

    Returns
    -------
    bool
        False as well where the log density cannot be evaluated a short way from the draws.

    Examples
    --------
    >>> import numpy as np, steinkit as sk
    >>> from steinkit.discrepancy.support import edges
    >>> def log_density(x):
    ...     return np.where(x[:, 0] < x[:, 1], -0.5 * (x**2).sum(axis=1), -np.inf)
    >>> draws = np.sort(np.random.default_rng(0).standard_normal((500, 2)), axis=1)
    >>> edges(draws, sk.Target(log_density=log_density, dim=2))
    True
    """
    limits, places = target.bounds if bounds is None else bounds, _nearby(points)
    if limits is not None:
        places = places[((places > limits[:, 0]) & (places < limits[:, 1])).all(axis=1)]
    try:
        with np.errstate(all="ignore"):
            return len(places) > 0 and bool(np.isneginf(target.log_density(places)).any())
    except InputError:
        return False


def _nearby(points: Floats) -> Floats:
    """Places near draws, shape (m, d)."""
    mean, sd, dim = points.mean(axis=0), points.std(axis=0), points.shape[1]
    sd = np.where(sd > 0.0, sd, 1.0)
    z, rng = (points - mean) / sd, np.random.default_rng(0)
    variances, axes = np.linalg.eigh(z.T @ z / len(z))
    directions = np.concatenate([np.eye(dim), (axes * np.sqrt(np.maximum(variances, 0.0))).T])
    directions = np.concatenate([directions, -directions])
    outermost = z[(z @ directions.T).argmax(axis=0)]
    some = z[np.linspace(0, len(z) - 1, min(len(z), _MOST)).astype(np.int64)]
    moved = [outermost + step * directions for step in _STEPS]
    moved += [some + step * rng.standard_normal(some.shape) for step in _STEPS]
    return np.asarray(mean + sd * np.concatenate(moved))
