"""Draws of emcee, with the log density that its walkers moved by.

emcee lays its chain out as (steps, walkers, d): walkers, not steps, are the chains. At equilibrium the walkers of one
step are independent draws (Goodman and Weare 2010, section 2); those of different steps are not, since a walker moves
along the line to another one. Effective sample sizes take walkers for independent chains all the same. On Gaussians of
2, 5 and 10 dimensions with 8, 32 and 24 walkers that is cautious: they come out at 70 to 80 % of what the variance of
the mean over 60 ensembles of 2000 steps says. The spread of the whole ensemble can still move slowly, unseen by any one
walker: one that starts as a tight ball is too narrow for long after its walkers seem to mix.

emcee knows no gradient. Without `score=` it is made by central differences of the log density, which need bounds where
a prior ends at a box: at an edge where the density does not vanish, Stein's identity holds for the box only.

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
from steinkit.target import Target, Vectorised

_NEAR = 0.1  # standard deviations beyond the outermost draw within which an edge of the support matters


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
    """The log density of an ensemble sampler as a target, and its walkers as chains of a sample.

    Parameters
    ----------
    sampler : emcee.EnsembleSampler
        That has run.
    discard, thin : int
        As in its `get_chain`: steps left out at the beginning, and of how many steps one is kept.
    names : sequence of str, optional
        Of the d coordinates; the sampler's `parameter_names` if not given.
    score : callable, (n, d) -> (n, d), optional
        Gradient of the log density; by central differences if not given, some eleven evaluations a draw and
        coordinate, more where it is hardly smooth.
    bounds : array_like, shape (d, 2), optional
        Of the support. Needed where the log density becomes -inf next to the draws.
    label : str
        How reports call the target.

    Returns
    -------
    target : Target
        The sampler's log density, with the score given or made by differences.
    sample : Sample
        A chain a walker.

    Raises
    ------
    UsageError
        If `discard` or `thin` are no counts.
    InputError
        If the sampler has not run, if its function gives other values than it stored, if the support ends next to the
        draws and no bounds say where, or if `score` is not the gradient of the log density.

    Examples
    --------
    >>> import steinkit as sk
    >>> target, sample = sk.from_emcee(sampler, discard=500)  # doctest: +SKIP
    """
    if not hasattr(sampler, "get_chain") or not hasattr(sampler, "log_prob_fn"):
        raise UsageError(
            f"an emcee.EnsembleSampler is wanted; received {type(sampler).__name__}. Of a backend alone make a Sample "
            "of get_chain().transpose(1, 0, 2), and give a target"
        )
    kept = {"discard": whole(discard, "discard", 0), "thin": whole(thin, "thin", 1)}
    sample = from_ensemble(sampler, names, **kept)
    log_density = _log_density(sampler)
    stored = np.asarray(sampler.get_log_prob(**kept), dtype=np.float64)  # (steps, walkers)
    _require_same(log_density, sample.points, stored.T.reshape(-1))
    target = Target(score=score, log_density=log_density, bounds=bounds, names=sample.names, label=label)
    _require_bounds(target, sample)
    if score is not None:
        check(target, sample)
    return target, sample


def _log_density(sampler: Any) -> Callable[[Floats], Floats]:
    """The sampler's function of many points, called as emcee calls it, but without its pool, which may be closed."""

    def given(points: Floats) -> Any:
        if getattr(sampler, "params_are_named", False):
            return [{name: point[where] for name, where in sampler.parameter_names.items()} for point in points]
        return points

    def log_density(points: Floats) -> Floats:
        values = sampler.log_prob_fn(points) if sampler.vectorize else map(sampler.log_prob_fn, given(points))
        return np.array([_without_blobs(value) for value in values], dtype=np.float64)

    return log_density


def _without_blobs(value: Any) -> float:
    """The log density of what a function returned: the first entry, if blobs follow it."""
    return float(value[0] if np.ndim(value) or isinstance(value, Sequence) else value)


def _require_same(log_density: Callable[[Floats], Floats], points: Floats, stored: Floats) -> None:
    """Hold the function to the log densities that the sampler stored for some of its draws."""
    places = some_of(len(points))
    found = log_density(points[places])
    wrong = ~np.isclose(found, stored[places], rtol=1e-6, atol=1e-6)
    if wrong.any():
        k = int(wrong.argmax())
        raise InputError(
            f"the sampler's log density of draw {places[k] + 1} is {found[k]:.8g}, and {stored[places[k]]:.8g} was "
            "stored with it: the chain was made by another function, or with other data, or the function is random"
        )


def _require_bounds(target: Target, sample: Sample) -> None:
    """Raise InputError if the support ends next to the draws where no bound is given."""
    points, found = sample.points, list[str]()
    limits = np.tile([-np.inf, np.inf], (sample.dim, 1)) if target.bounds is None else target.bounds
    for column, scale in enumerate(points.std(axis=0)):
        rows = points[:, column].argmin(), points[:, column].argmax()
        for row, way, side in zip(rows, (-_NEAR, _NEAR), ("below", "above"), strict=True):
            place = points[row].copy()
            place[column] += way * scale
            if scale == 0.0 or not limits[column, 0] < place[column] < limits[column, 1]:
                continue
            if target.proposal_log_density(place[None])[0] == -np.inf:
                found.append(f"{sample.names[column]} {side} the outermost draw, {points[row, column]:.6g}")
    if found:
        raise InputError(
            f"the log density is -inf next to the draws, for {'; '.join(found)}: the support ends there, where the "
            "density need not vanish. Give bounds=, the (lower, upper) of your prior for each coordinate; if the "
            "support is not a box, sample transformed parameters"
        )
