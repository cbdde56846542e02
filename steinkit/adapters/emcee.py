"""Conversion of emcee draws and of the log density used by the walkers.

emcee stores a chain with shape (steps, walkers, d), and each walker is treated as a chain. In equilibrium, the walkers
at each step are independent draws (Goodman and Weare 2010, section 2). Different steps are dependent because each
walker moves along the line through another walker. Effective sample sizes are computed as if walkers were independent
chains. The resulting sizes are conservative. In an experiment with 60 ensembles of 2000 steps, the sizes were 70 to 80%
of the values computed from the variance of the mean. The targets were Gaussian distributions in 2, 5 and 10 dimensions
with 8, 32 and 24 walkers, respectively. The spread of the whole ensemble may change slowly even if each walker mixes
well. For example, an ensemble that starts with a very small spread remains too narrow for a long time.

emcee does not use gradients. If `score` is not given, the score is computed by central differences of the log density.
Bounds are required if the support is a box and the density does not vanish at its boundary. Stein's identity then holds
only for the box.

References
----------
J. Goodman and J. Weare (2010), "Ensemble samplers with affine invariance".
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from steinkit.adapters.model import check, some_of
from steinkit.arguments import whole
from steinkit.containers.objects import from_ensemble
from steinkit.errors import InputError, UsageError
from steinkit.sample import Floats, Sample
from steinkit.target import Target
from steinkit.user_functions import Vectorised

_NEAR = 0.1  # an edge of the support is relevant if its distance from the outermost draw is below this value (in sd)


def from_emcee(
    sampler: Any,
    *,
    discard: int = 0,
    thin: int = 1,
    names: Sequence[str] | None = None,
    score: Vectorised | None = None,
    bounds: ArrayLike | None = None,
    label: str = "emcee log density",
) -> tuple[Target, Sample]:
    """Convert an emcee ensemble sampler to a target and a sample.

    Parameters
    ----------
    sampler : emcee.EnsembleSampler
        Sampler after a run.
    discard, thin : int
        Number of initial steps to discard, and interval between kept steps, as in `get_chain`.
    names : sequence of str, optional
        Names of the d coordinates. The default is the sampler's `parameter_names`.
    score : callable, (n, d) -> (n, d), optional
        Gradient of the log density. By default, the gradient is computed by central differences, with about eleven
        evaluations per draw and coordinate, or more if the log density is not smooth.
    bounds : array_like, shape (d, 2), optional
        Bounds of the support. Bounds are required if the log density is -inf at points close to the draws.
    label : str
        Name of the target in reports.

    Returns
    -------
    target : Target
        The sampler's log density and its score.
    sample : Sample
        Draws, with one chain per walker.

    Raises
    ------
    UsageError
        If ``sampler`` is not an EnsembleSampler, or if `discard` or `thin` is not a whole number.
    InputError
        If the sampler has not run, if its function does not reproduce the stored log densities, if the support ends
        next to the draws and no bounds are given, or if `score` is not the gradient of the log density.

    Examples
    --------
    >>> import steinkit as sk
    >>> target, sample = sk.from_emcee(sampler, discard=500)  # doctest: +SKIP
    """
    if not hasattr(sampler, "get_chain") or not hasattr(sampler, "log_prob_fn"):
        raise UsageError(
            f"expected an emcee.EnsembleSampler, got {type(sampler).__name__}; convert a backend with as_sample and "
            "define a target"
        )
    kept = {"discard": whole(discard, "discard", 0), "thin": whole(thin, "thin", 1)}
    sample = from_ensemble(sampler, names, **kept)
    log_density = _log_density(sampler)
    stored = np.asarray(sampler.get_log_prob(**kept), dtype=np.float64)  # shape (steps, walkers)
    _require_same(log_density, sample.points, stored.T.reshape(-1))
    target = Target(score=score, log_density=log_density, bounds=bounds, names=sample.names, label=label)
    _require_bounds(target, sample)
    if score is not None:
        check(target, sample)
    return target, sample


def _log_density(sampler: Any) -> Callable[[Floats], Floats]:
    """Return the log density at many points without using the sampler's pool.

    The pool may already be closed.
    """

    def log_density(points: Floats) -> Floats:
        given: Any = points
        if getattr(sampler, "params_are_named", False):
            given = [{name: point[where] for name, where in sampler.parameter_names.items()} for point in points]
        values = sampler.log_prob_fn(given) if sampler.vectorize else map(sampler.log_prob_fn, given)
        # a function with blobs returns the log density first
        found = [value[0] if np.ndim(value) or isinstance(value, Sequence) else value for value in values]
        return np.array(found, dtype=np.float64)

    return log_density


def _require_same(log_density: Callable[[Floats], Floats], points: Floats, stored: Floats) -> None:
    """Raise InputError if the function does not reproduce stored log densities."""
    places = some_of(len(points))
    found = log_density(points[places])
    wrong = ~np.isclose(found, stored[places], rtol=1e-6, atol=1e-6)
    if wrong.any():
        k = int(wrong.argmax())
        raise InputError(
            f"the sampler's function returns the log density {found[k]:.8g} at draw {places[k] + 1}, but the chain "
            f"contains {stored[places[k]]:.8g}; the function or its data changed, or the function is random"
        )


def _require_bounds(target: Target, sample: Sample) -> None:
    """Raise InputError if the support ends near the draws and has no bounds."""
    points, found = sample.points, list[str]()
    limits = np.tile([-np.inf, np.inf], (sample.dim, 1)) if target.bounds is None else target.bounds
    for column, scale in enumerate(points.std(axis=0)):
        rows = points[:, column].argmin(), points[:, column].argmax()
        for row, step, side in zip(rows, (-_NEAR, _NEAR), ("below", "above"), strict=True):
            place = points[row].copy()
            place[column] += step * scale
            if scale == 0.0 or not limits[column, 0] < place[column] < limits[column, 1]:
                continue
            if target.proposal_log_density(place[None])[0] == -np.inf:
                found.append(f"{sample.names[column]} {side} the outermost draw, {points[row, column]:.6g}")
    if found:
        raise InputError(
            f"the log density is -inf at points close to the draws: {'; '.join(found)}; pass bounds= with (lower, "
            "upper) for every coordinate, or sample transformed parameters if the support is not a box"
        )
