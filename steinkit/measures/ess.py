"""Effective sample size as a measure; it has no settings."""

from __future__ import annotations

from steinkit.describe.ess import describe_ess
from steinkit.measures.base import Measure, Measurement, NoSettings, finite
from steinkit.sample import Sample
from steinkit.target import Target

_COLUMNS = ("mean", "sd", "mcse_mean", "bulk_ess", "tail_ess", "r_hat")
_COLUMNS_OF_VALUE = ("mean", "sd", "bulk_ess")  # a quarter of the work


def _take(sample: Sample, target: Target | None, settings: NoSettings) -> Measurement:
    return _measurement(sample, _COLUMNS)


def _take_value(sample: Sample, target: Target | None, settings: NoSettings) -> Measurement:
    return _measurement(sample, _COLUMNS_OF_VALUE)


def _measurement(sample: Sample, columns: tuple[str, ...]) -> Measurement:
    from steinkit.chains import chain_diagnostics

    found = chain_diagnostics(sample)
    value = found.min_ess
    coordinates = [
        {"name": name, **{key: finite(getattr(found, key)[j]) for key in columns}} for j, name in enumerate(found.names)
    ]
    document = {
        "measure": "ess",
        "value": finite(value),
        "coordinates": coordinates,
        "chains": found.n_chains,
        "moved": finite(found.moved),
        "cost_per_draw": finite(found.cost_per_draw),
    }
    return Measurement("ess", value, value, value, found, document, found.warnings)


ESS = Measure(
    "ess",
    "effective sample size",
    _take,
    smaller_is_better=False,
    claim="estimated",
    needs="draws",
    describe=describe_ess,
    take_value=_take_value,
)
