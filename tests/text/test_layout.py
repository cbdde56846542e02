"""Layout of paragraphs and tables, with and without a terminal."""

import pytest

from steinkit.text import Table, filled, on_screen, one_line, screen_width

PROSE = "The draws are as far off as --fail-above allows; see the-file-with-a-long-name.csv. " * 4
TABLE = Table(
    "",
    ("rank", "sample", "value", "between", "what is wrong"),
    (("1", "first.csv", "0.25", "0.2 and 0.3", ""), ("2", "second.csv", "12.5", "12.4 and 12.6", "x2 is too high")),
)
LEFT = ("rank", "sample", "between", "what is wrong")


def test_paragraphs_without_a_terminal():
    assert screen_width() is None
    assert 80 < max(map(len, filled(PROSE).splitlines())) <= 100
    assert one_line(PROSE, "  ") == f"  {PROSE}"
    assert len(TABLE.lines(LEFT)) == 3


@pytest.mark.parametrize(("columns", "width"), [(300, 100), (101, 100), (80, 79), (60, 59), (10, 40), (0, 40)])
def test_paragraphs_on_a_terminal(columns, width):
    with on_screen(columns):
        assert screen_width() == width
        for text in (filled(PROSE, "    "), one_line(PROSE, "    ")):
            lines = text.splitlines()
            assert max(map(len, lines)) <= width
            assert [word for line in lines for word in line.split()] == PROSE.split()
            assert all(line.startswith("    ") for line in lines)
    assert screen_width() is None


def test_long_words_are_not_broken():
    with on_screen(40):
        assert filled(f"see {'x' * 60} there").splitlines() == ["see", "x" * 60, "there"]


def test_wide_tables_are_split():
    with on_screen(42):
        assert TABLE.lines(LEFT, names="sample") == [
            "rank  sample      value  between",
            "1     first.csv    0.25  0.2 and 0.3",
            "2     second.csv   12.5  12.4 and 12.6",
            "",
            "sample      what is wrong",
            "first.csv",
            "second.csv  x2 is too high",
        ]
    with on_screen(80):
        assert len(TABLE.lines(LEFT)) == 3


def test_tables_with_wide_names():
    wide = Table("", ("rank", "sample", "a", "b"), (("1", "x" * 60, "2", "3"),))
    with on_screen(40):
        rows = [line.split() for line in wide.lines(names="sample") if "x" * 60 in line]
    assert rows == [["1", "x" * 60], ["x" * 60, "2"], ["x" * 60, "3"]]
