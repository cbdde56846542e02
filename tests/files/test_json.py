"""JSON and TOML documents."""

import pytest

from steinkit.errors import InputError
from steinkit.files.streams import parse_json, parse_toml


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"a": NaN}', "NaN"),
        ('{"a": -Infinity}', "-Infinity"),
        ("[" * 100_000, "valid JSON"),
        ("{", "valid JSON"),
        (b'{"a": "\xff"}', "valid JSON"),
    ],
)
def test_invalid_json_is_refused(text, words):
    with pytest.raises(InputError, match=rf"r\.json .*{words}"):
        parse_json(text, "r.json")


def test_numbers_keep_their_type():
    assert list(map(repr, parse_json("[-5, 5, 5.0, -5e2]", "r.json"))) == ["-5", "5", "5.0", "-500.0"]


@pytest.mark.parametrize("text", [b"x = ", b"\xff", b"x = " + b"[" * 20_000])
def test_invalid_toml_is_refused(text):
    with pytest.raises(InputError, match=r"s\.toml"):
        parse_toml(text, "s.toml")


@pytest.mark.parametrize("text", [b".".join([b"a"] * 20_000) + b" = 1", b"[" + b".".join([b"a"] * 20_000) + b"]"])
def test_toml_keys_of_many_parts_are_refused(text):
    with pytest.raises(InputError, match=r"s\.toml .*16 parts"):
        parse_toml(text, "s.toml")


def test_dots_in_strings_and_comments_are_no_parts_of_a_key():
    assert parse_toml(b'x = "a.b.c.d.e.f.g.h.i.j.k.l.m.n.o.p.q.r" # a.b.c.d.e.f.g.h.i.j.k.l.m.n.o.p.q.r', "s.toml")
