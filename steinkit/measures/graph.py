"""The graph Stein discrepancy as a measure."""

# ruff: noqa: RUF009  (what an option's field() gives is a field of the dataclass)
from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from steinkit.describe.graph import describe_graph
from steinkit.measures.base import Measure, Measurement, bracketed
from steinkit.measures.options import (
    BOUNDS,
    MAX_MEMORY,
    MAX_SECONDS,
    N_JOBS,
    OPERATOR,
    PROGRESS,
    STEIN_FACTORS,
    TOLERANCE,
    UNITS,
    Option,
)
from steinkit.sample import Floats, Sample
from steinkit.target import Target

if TYPE_CHECKING:
    from steinkit.discrepancy.operators import RiemannianLangevin
    from steinkit.discrepancy.units import UnitsLike


def _engine_choices() -> str:
    from steinkit.discrepancy.graph.engines import engine_choices

    return engine_choices()


@dataclass(frozen=True)
class GraphSettings:
    """See `graph_stein_discrepancy`."""

    bounds: Floats | None = BOUNDS.field()
    units: UnitsLike | None = UNITS.field()
    tolerance: float | None = TOLERANCE.field()
    max_seconds: float | None = MAX_SECONDS.field()
    max_memory: float | str | None = MAX_MEMORY.field()
    stein_factors: tuple[float, float, float] = STEIN_FACTORS.field()
    dilation: float = Option(default=2.0, help="Stretch of the spanner, above 1").field()
    graph: Literal["spanner", "complete"] = Option(
        default="spanner", choices=lambda: ("spanner", "complete"), help="Which pairs of draws bound g"
    ).field()
    engine: str = Option(
        default="auto",
        read=str,
        of_solver=True,
        metavar="NAME",
        help=_engine_choices,
    ).field()
    operator: RiemannianLangevin | None = OPERATOR.field()
    n_jobs: int = N_JOBS.field()
    progress: bool = PROGRESS.field()


def _take(sample: Sample, target: Target | None, settings: GraphSettings) -> Measurement:
    from steinkit.discrepancy.graph.discrepancy import graph_stein_discrepancy

    return bracketed(graph_stein_discrepancy(sample, target, **vars(settings)))


GRAPH = Measure(
    "graph",
    "graph Stein discrepancy",
    _take,
    GraphSettings,
    reuses_scores=True,
    has_picture=True,
    describe=describe_graph,
)
