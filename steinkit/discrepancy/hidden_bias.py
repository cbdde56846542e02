"""What of the draws themselves may hide a bias from the verdict's tests."""

from __future__ import annotations

from steinkit.discrepancy.units import Units
from steinkit.errors import Caution
from steinkit.sample import DistinctSample

_OUTLYING = 0.5  # of a coordinate's variance, above which one point alone makes its unit


def outlying(points: DistinctSample, units: Units) -> tuple[str, ...]:
    """Coordinates in whose unit all draws but one are the same."""
    shares = points.weights[:, None] * units.points(points.points) ** 2
    worst = shares.argmax(axis=0)
    return tuple(
        Caution(
            f"draw {points.first[row] + 1} makes up {share:.0%} of the variance of {name}: in units of that, the tests "
            "see little of the other draws, and one draw proves nothing; judge them without it"
        )
        for name, row, share in zip(points.names, worst, shares.max(axis=0), strict=True)
        if share > _OUTLYING
    )


def too_few_to_span(points: DistinctSample) -> tuple[str, ...]:
    """Whether there are no more different draws than coordinates."""
    different, dim = points.points.shape
    if different > dim:
        return ()
    return (
        Caution(
            f"{different} different draws of {dim} coordinates do not span their space: what is wrong along the "
            "directions that they leave out may not be seen; take more draws than coordinates"
        ),
    )
