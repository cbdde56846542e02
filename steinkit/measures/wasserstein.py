"""The Wasserstein-1 distance as a measure."""

# ruff: noqa: RUF009  (what an option's field() gives is a field of the dataclass)
from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from steinkit.describe.wasserstein import describe_wasserstein
from steinkit.measures.base import Measure, Measurement, bracketed
from steinkit.measures.options import MAX_SECONDS, TOLERANCE, UNITS
from steinkit.sample import Sample
from steinkit.target import Target

if TYPE_CHECKING:
    from steinkit.discrepancy.units import UnitsLike


@dataclass(frozen=True)
class WassersteinSettings:
    """See `wasserstein_distance`."""

    units: UnitsLike | None = UNITS.field()
    tolerance: float | None = TOLERANCE.field()
    max_seconds: float | None = MAX_SECONDS.field()


def _take(sample: Sample, target: Target | None, settings: WassersteinSettings) -> Measurement:
    from steinkit.discrepancy.wasserstein.distance import wasserstein_distance

    assert target is not None  # take_measure saw to it
    given = {name: value for name, value in vars(settings).items() if value is not None}
    return bracketed(wasserstein_distance(sample, target, **given))


WASSERSTEIN = Measure(
    "wasserstein",
    "Wasserstein distance",
    _take,
    WassersteinSettings,
    claim="found",
    needs="target",
    max_dim=1,
    refuses={
        "operator": "measure wasserstein knows the Langevin operator only; operator= is for graph and ksd",
        "bounds": "measure wasserstein takes the target as its cdf gives it, not cut off by bounds; leave out one of "
        "the two",
    },
    describe=describe_wasserstein,
)
