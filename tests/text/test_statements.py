"""Statements become paragraphs, and questions with answers."""

import pytest
from support.results import reference

from steinkit.finding import Finding, Kind
from steinkit.result import Statement, answers, bracket_column, claimed, running_text
from steinkit.text import Table

NUMBER = Statement("number", "How much?", "It is 3.")
MORE = Statement("comparison", "How much?", "Others have 4.", continues=True)
LIMITS = Statement("limits", "Is that all?", "No.", continues=True)
NOTHING = Statement("findings", "Where?", "")
METHOD = Statement("method", "How?", "By solver " + "x" * 120 + " in no time.")


def test_paragraphs_are_filled_but_the_method_is_one_line():
    assert running_text([NUMBER, MORE, NOTHING, METHOD]) == f"It is 3. Others have 4.\n\n{METHOD.text}"
    long = Statement("limits", "Is that all?", "word " * 40)
    assert max(map(len, running_text([long]).splitlines())) <= 100


def test_answers_are_joined_where_the_question_is_the_same():
    found = answers([NUMBER, MORE, LIMITS, NOTHING, METHOD])
    assert found == (("How much?", "It is 3. Others have 4."), ("Is that all?", "No."), ("How?", METHOD.text))


def test_a_table_as_lines():
    table = Table("", ("name", "value"), (("a", "1"), ("long", "12345")))
    assert table.lines(left=("name",)) == ["name  value", "a         1", "long  12345"]


@pytest.mark.parametrize(
    ("claim", "message", "heading"),
    [
        ("proved", "proved to lie between 0.100000 and 0.200001", "proved between"),
        ("found", "found to lie between 0.100000 and 0.200001", "found between"),
        ("estimated", "an estimate", ""),
    ],
)
def test_claims(claim, message, heading):
    assert claimed(claim, 0.1, 0.2) == message
    assert bracket_column(claim) == heading


@pytest.mark.parametrize(
    ("bracket", "found"),
    [
        ((3.1, 3.2), "above"),
        ((2.9, 3.2), "within"),
        ((3.0, 3.2), "within"),
        ((0.5, 0.9), "below"),
        ((0.5, 1.0), "within"),
        ((1.5, 2.0), "within"),
    ],
)
def test_positions_are_certain(bracket, found):
    assert reference(1.0, 3.0).place(*bracket) == found


FINDINGS = [
    ("scale", "a", "too wide"),
    ("scale", "ab", "too wide"),
    ("scale", "abcdefg", "too narrow"),
    ("dependence", "ab", "correlation too strong"),
    ("dependence", "ab", "correlation of wrong sign"),
    ("tails", "a", "too heavy"),
    ("tails", "ab", "too light"),
    ("shape", "a", "too many draws below -1"),
    ("shape", "a", "wrong"),  # along an axis with the largest loading on one coordinate
    ("shape", "ab", "wrong"),
    ("conditional location", "ab", "too low where b is near its median"),
    ("conditional scale", "ab", "too narrow where b is near its median"),
]


def test_clauses_of_findings(snapshot):
    assert [str(Finding(Kind(kind), tuple(names), direction, 5.0)) for kind, names, direction in FINDINGS] == snapshot
