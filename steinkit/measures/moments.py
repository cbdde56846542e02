"""The moment Stein discrepancy as a measure."""

# ruff: noqa: RUF009  (what an option's field() gives is a field of the dataclass)
from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from steinkit.describe.moments import describe_moments
from steinkit.measures.base import Measure, Measurement
from steinkit.measures.options import BOUNDS, MAX_SECONDS, UNITS
from steinkit.sample import Floats, Sample
from steinkit.target import Target

if TYPE_CHECKING:
    from steinkit.discrepancy.units import UnitsLike


@dataclass(frozen=True)
class MomentSettings:
    """See `moment_stein_discrepancy`."""

    bounds: Floats | None = BOUNDS.field()
    units: UnitsLike | None = UNITS.field()
    max_seconds: float | None = MAX_SECONDS.field()


def _take(sample: Sample, target: Target | None, settings: MomentSettings) -> Measurement:
    from steinkit.discrepancy.moments.discrepancy import moment_stein_discrepancy

    result = moment_stein_discrepancy(sample, target, by_chain=True, **vars(settings))
    value = result.value
    return Measurement("moments", value, value, value, result, result.to_dict(), result.warnings)


MOMENTS = Measure(
    "moments",
    "moment Stein discrepancy",
    _take,
    MomentSettings,
    claim="estimated",
    reuses_scores=True,
    has_picture=True,
    refuses={"operator": "measure moments knows the Langevin operator only; operator= is for graph and ksd"},
    describe=describe_moments,
)
