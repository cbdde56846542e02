"""Effective sample size as a measure; it has no settings."""

from __future__ import annotations

from functools import partial

from steinkit.describe.ess import describe_ess
from steinkit.measures.base import Measure, Measurement, NoSettings
from steinkit.sample import Sample
from steinkit.target import Target


def _take(
    sample: Sample, target: Target | None, settings: NoSettings, columns: tuple[str, ...] | None = None
) -> Measurement:
    from steinkit.chains import chain_diagnostics

    found = chain_diagnostics(sample)
    value = found.min_ess
    return Measurement("ess", value, value, value, found, found.to_dict(columns), found.warnings)


ESS = Measure(
    "ess",
    "effective sample size",
    _take,
    smaller_is_better=False,
    claim="estimated",
    needs="draws",
    describe=describe_ess,
    take_value=partial(_take, columns=("mean", "sd", "bulk_ess")),  # a quarter of the work
)
