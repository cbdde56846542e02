"""Gradients of the log density that a sampler stored beside its draws: a target known at these draws, and a check.

The check needs no model. By Stein's identity E (x_j - E x_j) s_j = -1 for the score s of the distribution that the
draws come from, in any coordinate and any units; so stored gradients of the wrong sign give about 1 everywhere. Where
log densities were stored too, they must rise along the gradients: for draws x, y near each other
log p(y) - log p(x) = (s(x) + s(y)) / 2 . (y - x), exactly for a Gaussian, whatever distribution the draws have.
"""

from __future__ import annotations

import numpy as np

from steinkit.adapters.model import some_of
from steinkit.errors import Caution, InputError, caution
from steinkit.sample import Floats, Sample
from steinkit.target import Target

_FACTOR = 1.5  # from which on a scale is said to be wrong; a spread that is off by a fifth gives 1.44
_FEWEST = 20  # draws from which the check can tell anything
_COMPARED = 100  # draws at which stored gradients are held to a target's score
_SAME = 0.01  # largest median difference between these, relative to the score: samplers store single precision
_HELD = 20  # draws at which gradients in double precision are held to it
_ACCURACY = 1e-6  # of the gradients of one model that two compilers make, relative to a coordinate's largest


def from_stored(sample: Sample, label: str, log_density: Floats | None = None) -> tuple[Target, Sample]:
    """A sample with the scores that a sampler stored, checked, and a target that is known at its draws only.

    Parameters
    ----------
    sample : Sample
        With scores.
    label : str
    log_density : ndarray, shape (n,), optional
        Stored too.

    Returns
    -------
    Target, Sample
        The target raises InputError where it is asked elsewhere.

    Raises
    ------
    InputError
        As `check_stored` does.
    """
    assert sample.scores is not None
    check_stored(sample, log_density)
    places = {point.tobytes(): k for k, point in enumerate(sample.points)}

    def rows(points: Floats) -> list[int]:
        try:
            return [places[point.tobytes()] for point in np.ascontiguousarray(points)]
        except KeyError:
            raise InputError(
                f"{label}: the score is known at the {len(sample)} stored draws only; for others give the model"
            ) from None

    scores = sample.scores
    target = Target(
        score=lambda points: scores[rows(points)],
        log_density=None if log_density is None else lambda points: log_density[rows(points)],
        names=sample.names,
        label=label,
    )
    return target, sample


def compare_stored(target: Target, sample: Sample, stored: Floats) -> None:
    """Compare gradients that a sampler stored at a sample's draws with a target's score there.

    Parameters
    ----------
    target : Target
    sample : Sample
    stored : ndarray, shape (n, d)

    Warns
    -----
    SteinkitWarning
        If in some coordinate they differ at most draws: the sampler had another density than the target's.
    """
    places = some_of(len(sample), _COMPARED)
    score, found = target.score(sample.points[places]), stored[places]
    scale = np.abs(score) + np.median(np.abs(score), axis=0)
    difference = np.abs(found - score) / np.where(scale > 0.0, scale, 1.0)
    off = np.median(difference, axis=0)
    if off.max() <= _SAME:
        return
    column = int(off.argmax())
    row = int(difference[:, column].argmax())
    caution(
        [
            Caution(
                f"the gradients that the sampler stored are not those of {target.label}: at draw {places[row] + 1}, "
                f"coordinate {sample.names[column]!r}, it stored {found[row, column]:.6g}, and the score is "
                f"{score[row, column]:.6g}; the draws were made for another density: other priors, or other data?"
            )
        ]
    )


def require_same_scores(target: Target, sample: Sample, remedy: str) -> None:
    """Hold the scores of a sample, stored in double precision as its draws were made, to the target's.

    Parameters
    ----------
    target : Target
    sample : Sample
        Without scores nothing is said.
    remedy : str
        What to do if they are not the same.

    Raises
    ------
    InputError
        If they are those of another density.
    """
    if sample.scores is None:
        return
    places = some_of(len(sample), _HELD)
    score, found = target.score(sample.points[places]), sample.scores[places]
    difference = np.abs(found - score) / np.abs(score).max(axis=0).clip(min=np.finfo(np.float64).tiny)
    row, column = np.unravel_index(int(difference.argmax()), difference.shape)
    if difference[row, column] > _ACCURACY:
        raise InputError(
            f"the stored gradients are not those of the model: at draw {places[row] + 1}, coordinate "
            f"{sample.names[column]!r}, {found[row, column]:.6g} was stored and the model says "
            f"{score[row, column]:.6g}; another model made the draws, or one with other data: {remedy}"
        )


def check_stored(sample: Sample, log_density: Floats | None = None) -> None:
    """Hold stored scores to Stein's identity, and to the stored log densities where there are some.

    Raises
    ------
    InputError
        If the scores have the wrong sign, or another scale than the log densities.

    Warns
    -----
    SteinkitWarning
        If by the moments alone they seem to have another scale: draws that are too wide or too narrow in every
        coordinate alike look the same.
    """
    if sample.scores is None or len(sample) < _FEWEST:
        return
    if log_density is not None:
        _against_log_density(sample.points, sample.scores, log_density)
        return
    moments = _stein_moments(sample)
    middle = float(np.median(moments))
    if middle < 0.0:
        raise InputError(
            f"the stored gradients have the wrong sign: the median over coordinates of E (x - E x) s is {-middle:.3g}, "
            "and -1 for draws from the target; were gradients of the potential energy, -log p, stored? Negate them"
        )
    if not 1.0 / _FACTOR < middle < _FACTOR:
        caution(
            [
                Caution(
                    f"the stored gradients look {middle:.3g} times what they should be (the median over coordinates of "
                    "E (x - E x) s, which is -1 for draws from the target): either they belong to another scale of the "
                    "parameters, or the draws are that much too wide or too narrow in most coordinates"
                )
            ]
        )


def _stein_moments(sample: Sample) -> Floats:
    """-E (x_j - E x_j) s_j of every coordinate that varies: 1 for draws from the target."""
    assert sample.scores is not None
    weights = sample.probabilities[:, None]
    spread = sample.points - (weights * sample.points).sum(axis=0)
    moments = -(weights * spread * sample.scores).sum(axis=0)
    return moments[np.ptp(sample.points, axis=0) > 0.0] if np.ptp(sample.points) > 0.0 else np.ones(1)


def _against_log_density(points: Floats, scores: Floats, log_density: Floats) -> None:
    """Compare differences of log densities with those that gradients predict, from each draw to a near one."""
    from scipy.spatial import cKDTree

    scale = points.std(axis=0)
    moving = scale > 0.0
    if not moving.any():
        return
    first = np.unique(points, axis=0, return_index=True)[1]  # repeats of a point say nothing
    if len(first) < _FEWEST:
        return
    places = points[first][:, moving] / scale[moving]
    near = np.asarray(cKDTree(places).query(places, k=2)[1])[:, 1]
    step = points[first[near]] - points[first]
    predicted = 0.5 * ((scores[first] + scores[first[near]]) * step).sum(axis=1)
    found = log_density[first[near]] - log_density[first]
    if not predicted.any():
        return
    # the median of ratios, weighted by how much is predicted: a few long steps through a curved density do not count
    order = np.argsort(found / np.where(predicted == 0.0, np.nan, predicted))
    mass = np.cumsum(np.abs(predicted[order]))
    ratio = float((found[order] / predicted[order])[np.searchsorted(mass, 0.5 * mass[-1])])
    if not 1.0 / _FACTOR < ratio < _FACTOR:
        remedy = "negate them" if -_FACTOR < ratio < -1.0 / _FACTOR else "were they stored for other parameters?"
        raise InputError(
            f"the stored gradients are not those of the stored log densities, which change {ratio:.3g} times as much "
            f"between near draws as the gradients say; {remedy}"
        )
