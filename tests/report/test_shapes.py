"""Documents that are not what commands write are refused by file and key."""

import json

import pytest

from steinkit.errors import InputError
from steinkit.json_documents import parse_json
from steinkit.report.document_shapes import require_document
from steinkit.report.page import write_report

SCORE = {
    "sample": {"draws": 10, "distinct": 10, "dim": 1, "names": ["x1"]},
    "results": [{"measure": "graph", "value": 1.0, "lower": 0.9, "upper": 1.1, "coordinates": []}],
    "references": {},
    "warnings": [],
    "version": "0.1.0",
}
CURVE = {
    **{"measure": "ksd", "n": [10, 20], "cost": None, "budget": None, "values": [2.0, 1.0], "lower": [2.0, None]},
    **{"upper": [2.0, 1.0], "interval": None, "rate": -0.5, "rate_interval": [None, None]},
    **{"interval_kind": "regression", "warnings": [], "version": "0.1.0"},
}
ROW = {"settings": {"a": 1}, "scored": 2, "failed": 0, "median": 1.0, "interval": None, "lower": 1.0, "upper": 1.0}
SWEEP = {
    "criteria": {"ess": {"best": {"a": 1}, "ties": [], "median": 1.0, "table": [{**ROW, "cost_per_draw": None}]}},
    **{"cells": 2, "failed": 0, "failures": [], "reused": 0, "seconds": 1.0, "racing": None},
    **{"warnings": [], "version": "0.1.0"},
}
COMPARISON = {
    "samples": [{"file": "a", "draws": 9, "error": None, "results": [{"measure": "ess", "value": 4.0}]}],
    **{"ranking": {"ess": [["a"]]}, "reference": {"ess": []}, "warnings": [], "version": "0.1.0"},
}


def changed(document, path, value):
    """The document with another value at a path; without the key if the value is `changed` itself."""
    found = json.loads(json.dumps(document))
    *way, last = path
    holder = found
    for key in way:
        holder = holder[key]
    if value is changed:
        del holder[last]
    else:
        holder[last] = value
    return found


@pytest.mark.parametrize(
    ("kind", "document"), [("score", SCORE), ("curve", CURVE), ("sweep", SWEEP), ("comparison", COMPARISON)]
)
def test_sound_documents_pass(kind, document):
    require_document(document, kind, "r.json")


def test_a_file_that_could_not_be_read_has_no_draws():
    unread = {"file": "b", "draws": None, "distinct": None, "dim": None, "results": [], "error": "b does not exist"}
    require_document(changed(COMPARISON, ["samples"], [*COMPARISON["samples"], unread]), "comparison", "r.json")


def test_a_measure_may_have_no_reference():
    """Independent samples are not measured by what has no bracket, such as effective sample size."""
    require_document(changed(COMPARISON, ["reference"], {}), "comparison", "r.json")


@pytest.mark.parametrize(
    ("kind", "document", "path", "value", "words"),
    [
        ("score", SCORE, ["results", 0, "lower"], changed, r"results\[0\]\.lower is None; a number is wanted"),
        ("score", SCORE, ["results", 0, "measure"], "grph", r"results\[0\]\.measure is 'grph'; one of .*graph"),
        ("score", SCORE, ["sample", "names"], "x1", r"sample\.names is 'x1'; a list is wanted"),
        ("score", SCORE, ["sample", "draws"], -1, r"sample\.draws is -1; a whole number"),
        ("score", SCORE, ["sample"], [], r"sample is list of 0; an object is wanted"),
        ("score", SCORE, ["results", 0, "value"], True, r"results\[0\]\.value is True; a number"),
        ("score", SCORE, ["results", 0, "value"], 10**400, r"results\[0\]\.value is 10+; a number"),
        ("score", SCORE, ["results", 0, "value"], 1e300, r"results\[0\]\.value is 1e\+300; a number"),
        ("score", SCORE, ["references"], changed, r'the document lacks the key "references"'),
        ("curve", CURVE, ["values"], [1.0], r'the document holds lists .* equally long: 2 of "n", 1 of "values"'),
        ("curve", CURVE, ["n", 0], 0, r"n\[0\] is 0; a positive number"),
        ("curve", CURVE, ["rate_interval"], [0.0], r"rate_interval has 1 entries where 2 are wanted"),
        ("sweep", SWEEP, ["criteria", "ess", "best"], {"a": 2}, r"criteria\.ess\.best holds a setting that"),
        ("sweep", SWEEP, ["criteria", "ess", "table"], [], r"criteria\.ess\.table has 0 entries"),
        ("sweep", SWEEP, ["criteria", "x y"], {}, r"a key of criteria is 'x y'; one of"),
        ("comparison", COMPARISON, ["ranking", "ess"], [["b"]], r'ranking\.ess holds "b", which was not measured'),
        ("comparison", COMPARISON, ["ranking", "ess"], [["a", "a"]], r'ranking\.ess holds "a"'),
        ("comparison", COMPARISON, ["ranking"], {}, "ranking is empty"),
    ],
)
def test_others_are_refused_by_file_and_key(kind, document, path, value, words):
    with pytest.raises(InputError, match=rf"^r\.json: {words}"):
        require_document(changed(document, path, value), kind, "r.json")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"a": NaN}', "NaN is no number of JSON"),
        ('{"a": -Infinity}', "-Infinity is no number"),
        ('{"a": 1e999}', "the number 1e999 is too large"),
        ('{"a": ' + "9" * 400 + "}", "the number 9+... is too large"),
        ('{"a": 1, "a": 2}', 'the key "a" stands twice'),
        ("{" + "".join(f'"{k}": 0, ' for k in range(200_000)) + '"199999": 0}', 'the key "199999" stands twice'),
        ("[" * 100_000, "nested too deep"),
        ("{", "r.json is no JSON"),
        ("\ud800", "no JSON"),
    ],
)
def test_json_and_no_more(text, words, tmp_path):
    with pytest.raises(InputError, match=words):
        parse_json(text, "r.json")
    if text.isascii():
        (tmp_path / "r.json").write_text(text)
        with pytest.raises(InputError, match=rf"r\.json .*{words}" if "r.json" not in words else words):
            write_report(tmp_path / "r.json", tmp_path / "page.html")


def test_bytes_that_are_no_text():
    with pytest.raises(InputError, match=r"r\.json is no JSON"):
        parse_json(b'{"a": "\xff"}', "r.json")
