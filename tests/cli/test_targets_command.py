"""``steinkit targets`` and what the command line says of itself."""

from __future__ import annotations

import pytest

from steinkit import __version__
from steinkit.targets.registry import target_table


def test_lists_every_target_with_its_options(steinkit):
    outcome = steinkit("targets")
    assert outcome.code == 0
    assert outcome.err == ""
    lines = outcome.out.splitlines()
    for name, options, summary in target_table():
        at = lines.index(name)
        assert summary in lines[at + 1]
        assert lines[at + 2].split() == ["-p", *options.split()]


def test_says_how_options_and_ones_own_target_are_written(steinkit):
    out = steinkit("targets").out
    assert "-p mean=0,0" in out
    assert "path.py:attribute" in out


@pytest.mark.parametrize("option", ["-h", "--help"])
def test_help_names_the_commands_and_the_exit_codes(steinkit, option):
    outcome = steinkit(option)
    assert outcome.code == 0
    text = " ".join(outcome.out.split())
    for part in ("score", "targets", "0 fine", "1 --fail-above exceeded", "2 wrong usage", "3 bad input", "4 no"):
        assert part in text


def test_help_of_score_shows_each_example_on_a_line_of_its_own(steinkit):
    lines = [line.strip() for line in steinkit("score", "--help").out.splitlines()]
    assert "steinkit score draws.csv --target normal -p mean=0,0" in lines
    assert "steinkit score draws.csv --target model.py:target --plot where.png" in lines


def test_help_of_score_says_that_a_python_file_is_run(steinkit):
    assert "which is then run" in " ".join(steinkit("score", "--help").out.split())


def test_version(steinkit):
    outcome = steinkit("--version")
    assert (outcome.code, outcome.out.split()[-1]) == (0, __version__)


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ((), "Commands"),
        (("scor",), "scor"),
        (("score",), "FILE"),
        (("score", "x.csv", "--tolerence", "1"), "--tolerance"),
        (("score", "x.csv", "--dilation", "two"), "two"),
        (("score", "x.csv", "--graph", "star"), "'spanner', 'complete'"),
        (("score", "x.csv", "--stein-factors", "1,2"), "three numbers"),
        (("score", "x.csv", "--reference", "-1"), "--reference"),
        (("score", "x.csv", "--seed", "-1"), "--seed"),
        (("score", "x.csv", "--fail-above", "nan"), "--fail-above"),
    ],
)
def test_wrong_usage_is_told_on_standard_error_with_code_2(steinkit, arguments, named):
    outcome = steinkit(*arguments)
    assert outcome.code == 2
    assert outcome.out == ""
    assert named in outcome.err
