"""Documents that are not what commands write are refused, and leave no page."""

import json

import pytest

from steinkit.errors import InputError, SteinkitError
from steinkit.files.streams import parse_json
from steinkit.report.page import write_report

SCORE = {
    "sample": {"draws": 10, "distinct": 10, "dim": 1, "names": ["x1"]},
    "results": [{"measure": "wasserstein", "value": 1.0, "lower": 0.9, "upper": 1.1}],
    "references": {},
    "warnings": [],
    "version": "0.1.0",
}
CURVE = {
    **{"measure": "ksd", "n": [10, 20], "cost": None, "budget": None, "values": [2.0, 1.0], "lower": [2.0, None]},
    **{"upper": [2.0, 1.0], "interval": None, "rate": -0.5, "rate_interval": [-0.6, -0.4]},
    **{"interval_kind": "regression", "level": 0.95, "tail": [0, 1], "warnings": [], "version": "0.1.0"},
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


@pytest.mark.parametrize("document", [SCORE, CURVE, SWEEP, COMPARISON])
def test_sound_documents_make_a_page(document, write_json, tmp_path):
    write_report(write_json(document), tmp_path / "page.html")
    assert "<title>" in (tmp_path / "page.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("document", "path", "value"),
    [
        (SCORE, ["results", 0, "lower"], changed),
        (SCORE, ["results", 0, "measure"], "grph"),
        (SCORE, ["sample"], []),
        (SCORE, ["results", 0, "value"], "1.0"),
        (SCORE, ["references"], changed),
        (CURVE, ["values"], [1.0]),
        (CURVE, ["rate_interval"], [0.0]),
        (SWEEP, ["criteria", "ess", "best"], {"a": 2}),
        (SWEEP, ["criteria", "ess", "table"], []),
        (SWEEP, ["criteria", "x y"], {}),
        (COMPARISON, ["ranking", "ess"], [["b"]]),
        (COMPARISON, ["ranking"], {}),
    ],
)
def test_others_are_refused(document, path, value, write_json, tmp_path):
    with pytest.raises(SteinkitError):
        write_report(write_json(changed(document, path, value)), tmp_path / "page.html")
    assert not (tmp_path / "page.html").exists()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"a": NaN}', "NaN is not a JSON number"),
        ('{"a": -Infinity}', "-Infinity is not a JSON number"),
        ('{"a": 1e999}', "the number 1e999 is too large"),
        ('{"a": ' + "9" * 400 + "}", "the number 9+... is too large"),
        ('{"a": 1, "a": 2}', 'the key "a" stands twice'),
        ("{" + "".join(f'"{k}": 0, ' for k in range(200_000)) + '"199999": 0}', 'the key "199999" stands twice'),
        ("[" * 100_000, "nested too deep"),
        ("{", "r.json is not valid JSON"),
        ("\ud800", "not valid JSON"),
    ],
)
def test_json_and_no_more(text, words, tmp_path):
    with pytest.raises(InputError, match=words):
        parse_json(text, "r.json")
    if text.isascii():
        (tmp_path / "r.json").write_text(text)
        with pytest.raises(InputError, match=rf"r\.json .*{words}" if "r.json" not in words else words):
            write_report(tmp_path / "r.json", tmp_path / "page.html")


def test_whole_numbers_stay_whole():
    assert list(map(repr, parse_json("[-5, 5, -0, 5.0, -5e2]", "r.json"))) == ["-5", "5", "0", "5.0", "-500.0"]


def test_bytes_that_are_no_text():
    with pytest.raises(InputError, match=r"r\.json is not valid JSON"):
        parse_json(b'{"a": "\xff"}', "r.json")
