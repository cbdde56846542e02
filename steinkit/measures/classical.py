"""The classical Stein discrepancy as a measure."""

# ruff: noqa: RUF009  (what an option's field() gives is a field of the dataclass)
from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from steinkit.describe.classical import describe_classical
from steinkit.measures.base import Measure, Measurement, bracketed
from steinkit.measures.options import BOUNDS, MAX_SECONDS, STEIN_FACTORS, TOLERANCE, UNITS
from steinkit.sample import Floats, Sample
from steinkit.target import Target

if TYPE_CHECKING:
    from steinkit.discrepancy.units import UnitsLike


@dataclass(frozen=True)
class ClassicalSettings:
    """See `classical_stein_discrepancy`."""

    bounds: Floats | None = BOUNDS.field()
    units: UnitsLike | None = UNITS.field()
    tolerance: float | None = TOLERANCE.field()
    max_seconds: float | None = MAX_SECONDS.field()
    stein_factors: tuple[float, float, float] = STEIN_FACTORS.field()


def _take(sample: Sample, target: Target | None, settings: ClassicalSettings) -> Measurement:
    from steinkit.discrepancy.classical.discrepancy import classical_stein_discrepancy

    return bracketed(classical_stein_discrepancy(sample, target, **vars(settings)))


CLASSICAL = Measure(
    "classical",
    "classical Stein discrepancy",
    _take,
    ClassicalSettings,
    max_dim=1,
    refuses={"operator": "measure classical knows the Langevin operator only; operator= is for graph and ksd"},
    describe=describe_classical,
)
