"""JSON as files hold it, and nothing else that Python's reader would take."""

import pytest

from steinkit.errors import InputError
from steinkit.files.streams import parse_json


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
def test_json_and_no_more(text, words):
    with pytest.raises(InputError, match=words):
        parse_json(text, "r.json")


def test_whole_numbers_stay_whole():
    assert list(map(repr, parse_json("[-5, 5, -0, 5.0, -5e2]", "r.json"))) == ["-5", "5", "0", "5.0", "-500.0"]


def test_bytes_that_are_no_text():
    with pytest.raises(InputError, match=r"r\.json is not valid JSON"):
        parse_json(b'{"a": "\xff"}', "r.json")
