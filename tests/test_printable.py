"""What of a text is shown as it is, and what as an escape."""

from __future__ import annotations

from steinkit.printable import printable, printable_document


def test_what_is_printable_stays():
    texts = ("theta[1]", "naïve Größe, β₀ 模型 🙂", "ε ≤ 10⁻³", "a\N{NO-BREAK SPACE}b", "a\N{ZERO WIDTH NON-JOINER}b")
    assert tuple(map(printable, texts)) == texts
    assert printable("a\nb", lines=True) == "a\nb"
    assert printable("a\nb") == r"a\nb"
    assert printable_document({"\x1b": ["\x07", 1.0, None, {"a": ("b\x00",)}]}) == {
        r"\x1b": [r"\x07", 1.0, None, {"a": [r"b\x00"]}]
    }
