"""Escapes for control and invisible characters."""

import pytest

import steinkit as sk
from steinkit.errors import printable


def test_printable_text_is_unchanged():
    texts = ("theta[1]", "naïve Größe, β₀ 模型 🙂", "ε ≤ 10⁻³")
    assert tuple(map(printable, texts)) == texts
    assert printable("a\nb", lines=True) == "a\nb"
    assert printable("a\nb") == r"a\nb"


@pytest.mark.parametrize(
    "character",
    [
        *("\u200b", "\u200d", "\u2060", "\ufeff", "\xa0"),  # invisible
        *("\xad", "\u061c", "\u202e", "\ufff9"),  # soft hyphen, directions, annotations
        *("\U000e0041", "\ue000", "\U0010fffd", "\ufdd0", "\ud800", "\u2028"),  # tags, private, separators
    ],
)
def test_control_and_invisible_characters_are_escaped(character):
    escape = character.encode("unicode_escape").decode()
    assert printable(f"a{character}b") == f"a{escape}b"
    assert printable(f"a\n{character}", lines=True) == f"a\n{escape}"
    with pytest.raises(sk.InputError, match="invisible characters"):
        sk.Sample([1.0], names=[f"a{character}b"])
