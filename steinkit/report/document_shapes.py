"""The documents that a report is made of, as commands and sweeps write them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from steinkit import __version__
from steinkit.errors import InputError
from steinkit.measures import find_measure, measure_names
from steinkit.report.shapes import (
    Shape,
    also,
    anything,
    by_name,
    equally_long,
    flag,
    matching,
    not_empty,
    number,
    one_of,
    or_null,
    pair,
    positive,
    record,
    some,
    text,
    whole,
)

_KINDS = ("location", "spread", "dependence", "tails", "shape", "location given", "spread given")
_known_number = or_null(number)
_measure = one_of(*measure_names())
_cell = matching("[0-9a-f]{8,128}", "a cell's fingerprint")  # which names a file

_units = or_null(record({"kind": text}, {"scale": by_name(positive)}))

_fault = record(  # of one coordinate, the two of a dependence, or all that are off together
    {"kind": one_of(*_KINDS), "coordinates": some(text, least=1), "z": number, "direction": text},
    {"size": _known_number},
)
_verdict = or_null(
    record(
        {
            "p": number,
            "level": number,
            "ksd_equivalent_draws": _known_number,
            "ess": _known_number,
            "draws": whole,
            "enough_draws": flag,
            "burn_in": _known_number,
            "matters": _known_number,
            "p_matters": _known_number,
            "blame": some(_fault),
            "not_tested": some(text),
            "sentence": text,
        },
        {
            "p_moments": _known_number,
            "p_bounded": _known_number,
            "p_sliced": _known_number,
            "p_ksd": _known_number,
            "effective_draws": number,
            "hiding": some(text),
            "looks": whole,
            "ksd_share": or_null(record({"coordinate": text, "multiple": number})),
        },
    )
)

_coordinate = record({"name": text}, dict.fromkeys(("value", "lower", "upper"), _known_number))
_feature = record(
    {"kind": text, "coordinates": some(text, most=2), "mean": number, "z": number},
    {"autocorrelation_time": _known_number},
)
_result = record(
    {"measure": _measure},
    {
        **dict.fromkeys(("value", "lower", "upper", "saturation", "dilation", "p_value", "n_effective"), _known_number),
        "coordinates": some(_coordinate),
        "features": some(_feature),
        "seconds": by_name(number),
        "unranked": or_null(text),
        "engine": text,
        "edges": whole,
    },
)


def _of_its_measure(value: Any, where: str) -> None:
    """A measured value, and its bracket where the measure has one."""
    wanted = ("value", *(("lower", "upper") if find_measure(value["measure"]).claim != "estimated" else ()))
    for key in wanted:
        number(value.get(key), f"{where}.{key}")


_scored = also(_result, _of_its_measure)
_bracket = record({"value": number, "lower": number, "upper": number})
_reference = record(
    {"draws": whole, "median": number, "samples": some(_bracket, least=1)},
    {"effective_draws": _known_number, "run": anything, "coordinates": or_null(some(number))},
)
_warned = {"warnings": some(text), "version": text}
_target = or_null(record({"name": text, "options": by_name(text)}))
_beside = {"units": _units, "files": some(text, least=1), "target": _target, "command": some(text)}

_reading = record(
    {
        "format": or_null(text),
        "columns": or_null(some(text)),
        "group": or_null(text),
        "names": some(text),
        "sha256": text,
    }
)

_SCORE = record(
    {
        "sample": record({"draws": whole, "distinct": whole, "dim": whole, "names": some(text, least=1)}),
        "results": some(_scored),
        "references": by_name(_reference, _measure),
        **_warned,
    },
    {
        "verdict": _verdict,
        "unjudged": or_null(text),
        "reading": _reading,
        "settings": by_name(anything),
        **_beside,
    },
)

_compared = record(
    {"file": text, "draws": or_null(whole), "results": some(_scored), "error": or_null(text)},
    {
        "verdict": _verdict,
        "unjudged": or_null(text),
        "effective_draws": _known_number,
        "distinct": or_null(whole),
        "dim": or_null(whole),
    },
)
_spread = record(
    {"draws": whole, "median": number, "lower": number, "upper": number, "values": some(number, least=1)},
    {"effective_draws": _known_number, "run": anything},
)


def _ranks_what_was_measured(value: Any, where: str) -> None:
    """Every sample that is ranked is there, once, and was measured."""
    names = [each["file"] for each in value["samples"]]
    if len(set(names)) < len(names):
        raise InputError("samples names a file twice")
    for measure, groups in value["ranking"].items():
        ranked = [name for group in groups for name in group]
        there = {each["file"] for each in value["samples"] for entry in each["results"] if entry["measure"] == measure}
        for name in ranked:
            if name not in there or ranked.count(name) > 1:
                raise InputError(f'ranking.{measure} holds "{name}", which was not measured, or holds it twice')


_COMPARISON = also(
    record(
        {
            "samples": some(_compared, least=1),
            "ranking": also(by_name(some(some(text, least=1)), _measure), not_empty),
            "reference": by_name(some(_spread), _measure),
            **_warned,
        },
        _beside,
    ),
    _ranks_what_was_measured,
)

_values = some(_known_number, least=1)


def _has_positive_places(value: Any, where: str) -> None:
    """Curves are drawn over logarithmic axes."""
    for key in ("n", *(("budget",) if value["budget"] is not None else ())):
        some(positive)(value[key], key)


_CURVE = also(
    record(
        {
            "measure": _measure,
            "n": _values,
            "cost": or_null(_values),
            "budget": or_null(_values),
            **dict.fromkeys(("values", "lower", "upper"), _values),
            "interval": or_null(some(pair(_known_number))),
            "rate": _known_number,
            "rate_interval": pair(_known_number),
            "interval_kind": one_of("bootstrap", "regression"),
            **_warned,
        },
        {
            "replicates": some(_values),
            "rate_against": one_of("n", "cost"),
            "level": number,
            "tail": some(whole),
            **_beside,
        },
    ),
    equally_long("n", "cost", "budget", "values", "lower", "upper", "interval"),
    _has_positive_places,
)

_setting = by_name(anything)
_row = record(
    {
        "settings": _setting,
        "scored": whole,
        "failed": whole,
        **dict.fromkeys(("median", "lower", "upper", "cost_per_draw"), _known_number),
        "interval": or_null(pair(_known_number)),
    }
)


def _chooses_from_its_table(value: Any, where: str) -> None:
    """The best setting and its ties are rows, and a row that was scored or failed has its numbers."""
    rows = [row["settings"] for row in value["table"]]
    for key, setting in [("best", value["best"]), *(("ties", tie) for tie in value["ties"])]:
        if setting not in rows:
            raise InputError(f"{where}.{key} holds a setting that {where}.table does not")
    if any(rows.count(row) > 1 or row.keys() != rows[0].keys() for row in rows):
        raise InputError(f"{where}.table holds a setting twice, or settings of other options than the first")


_choice = also(
    record({"best": _setting, "ties": some(_setting), "median": _known_number, "table": some(_row, least=1)}),
    _chooses_from_its_table,
)
_racing = or_null(
    record(
        {
            **dict.fromkeys(("cells_run", "cells_full"), whole),
            **dict.fromkeys(("seconds_spent", "seconds_full_estimate", "saved"), number),
            "dropped": by_name(text),
        }
    )
)
_SWEEP = record(
    {
        "criteria": by_name(_choice, _measure),
        **dict.fromkeys(("cells", "failed", "reused"), whole),
        "failures": some(record({"settings": _setting, "seeds": some(whole), "reason": text})),
        "seconds": number,
        "racing": _racing,
        **_warned,
    },
    {"refused": by_name(text, _measure), **_beside},
)

_CONFIGURATION = record(
    {
        "target": record({"name": text, "options": _setting, "fingerprint": text}),
        "sampler": record({"name": text, "options": _setting}),
        "settings": some(_setting, least=1),
        "seeds": some(whole, least=1),
        "measures": some(_measure, least=1),
        "measure_settings": record(
            {
                "operator": or_null(text),
                "kernel": anything,
                "tolerance": number,
                "max_seconds": _known_number,
            },
            {"units": _units, "bounds": or_null(some(pair(_known_number)))},
        ),
        "label": text,
        "version": text,
        "racing": flag,
    }
)
_RECORD = record(
    {
        "cell": _cell,
        "settings": _setting,
        "seed": whole,
        "results": some(_result),
        "draws": whole,
        "seconds": record({"sampling": number, "scoring": number}),
    }
)

_DOCUMENTS: Mapping[str, Shape] = {"score": _SCORE, "comparison": _COMPARISON, "curve": _CURVE, "sweep": _SWEEP}


def require_document(document: Any, kind: str, source: str) -> None:
    """Raise InputError, naming the source and the key, unless a document is what a command of this kind prints."""
    _require(_DOCUMENTS[kind], document, source)


def require_sweep(configuration: Any, document: Any, records: Sequence[Any], folder: str) -> None:
    """Raise InputError, naming file and key, unless a folder's files hold what a sweep writes into them."""
    _require(_CONFIGURATION, configuration, f"{folder}/sweep.json")
    _require(_SWEEP, document, f"{folder}/result.json")
    for each in records:
        _require(_RECORD, each, f"{folder}/records.jsonl")


def _require(shape: Shape, found: Any, source: str) -> None:
    try:
        shape(found, "")
    except InputError as error:
        raise InputError(
            f"{source}: {error.args[0]}; it is damaged, or of another version of steinkit than this one "
            f"({__version__}): make it again"
        ) from None
