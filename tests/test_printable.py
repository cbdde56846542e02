"""What of a text is shown as it is, and what as an escape."""

from __future__ import annotations

import pytest

import steinkit as sk
from steinkit.errors import look_alikes, printable


def test_what_is_printable_stays():
    texts = ("theta[1]", "naïve Größe, β₀ 模型 🙂", "ε ≤ 10⁻³", "a\N{NO-BREAK SPACE}b")
    assert tuple(map(printable, texts)) == texts
    assert printable("a\nb", lines=True) == "a\nb"
    assert printable("a\nb") == r"a\nb"


@pytest.mark.parametrize(
    "character",
    [
        *("\u200b", "\u200c", "\u200d", "\u2060", "\ufeff"),  # of no width
        *("\xad", "\u061c", "\u202e", "\ufff9"),  # soft hyphen, directions, annotations
        *("\U000e0041", "\U000e0100", "\ufe0f", "\u034f", "\u3164"),  # tags, variations, joiner and filler
        *("\ue000", "\U0010fffd", "\ufdd0", "\ud800", "\u2028"),  # private, no characters, separators
    ],
)
def test_characters_without_a_shape_are_shown_as_escapes(character):
    escape = character.encode("unicode_escape").decode()
    assert printable(f"a{character}b") == f"a{escape}b"
    assert printable(f"a\n{character}", lines=True) == f"a\n{escape}"
    with pytest.raises(sk.InputError, match="with control or invisible characters in it"):
        sk.Sample([1.0], names=[f"a{character}b"])


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (["tau", "t\u0430u"], '"tau" and "tau" (the second as t\\u0430u)'),
        (["\u0395", "E"], '"E" and "E" (the first as \\u0395)'),
        (["\u00b5", "\u03bc"], "(the first as \\xb5)"),
        (["a\u0308", "\u00e4"], "(the first as a\\u0308)"),
    ],
)
def test_names_that_look_alike(names, said):
    assert look_alikes(names).endswith(said)
    assert not look_alikes(names[:-1])
    with pytest.raises(sk.InputError, match="two coordinates have names that look alike"):
        sk.Sample([[1.0] * len(names)], names=names)


def test_names_that_a_reader_tells_apart():
    assert not look_alikes(["a", "\u03b1", "v", "\u03bd", "o", "\u03c3", "\u0431", "x\u00b2", "x2", "tau", "Tau"])
