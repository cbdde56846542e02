"""The sliced graph Stein discrepancy as a measure."""

# ruff: noqa: RUF009  (what an option's field() gives is a field of the dataclass)
from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from steinkit.describe.sliced import describe_sliced
from steinkit.measures.base import Measure, Measurement, bracketed
from steinkit.measures.options import BOUNDS, MAX_SECONDS, STEIN_FACTORS, TOLERANCE, UNITS
from steinkit.sample import Floats, Sample
from steinkit.target import Target

if TYPE_CHECKING:
    from steinkit.discrepancy.units import UnitsLike


@dataclass(frozen=True)
class SlicedSettings:
    """See `sliced_stein_discrepancy`."""

    bounds: Floats | None = BOUNDS.field()
    units: UnitsLike | None = UNITS.field()
    tolerance: float | None = TOLERANCE.field()
    max_seconds: float | None = MAX_SECONDS.field()
    stein_factors: tuple[float, float, float] = STEIN_FACTORS.field()


def _take(sample: Sample, target: Target | None, settings: SlicedSettings) -> Measurement:
    from steinkit.discrepancy.sliced.discrepancy import sliced_stein_discrepancy

    given = {name: value for name, value in vars(settings).items() if (name, value) != ("tolerance", None)}
    return bracketed(sliced_stein_discrepancy(sample, target, **given))


SLICED = Measure(
    "sliced",
    "sliced graph Stein discrepancy",
    _take,
    SlicedSettings,
    reuses_scores=True,
    has_picture=True,
    refuses={"operator": "measure sliced knows the Langevin operator only; operator= is for graph and ksd"},
    describe=describe_sliced,
)
