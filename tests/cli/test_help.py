"""Help fits a screen, and leaves nothing unsaid: what one screen has no room for, ``--help-all`` explains."""

from __future__ import annotations

import click
import pytest

from steinkit.cli import EXIT_CODES, commands
from steinkit.cli.help_screens import GroupedOption
from steinkit.errors import SteinkitError

_NAMES = commands.list_commands(None)
_MOST_LINES = 41


@pytest.fixture(autouse=True)
def terminal(monkeypatch):
    """One of 80 columns."""
    monkeypatch.setenv("COLUMNS", "80")


@pytest.fixture(params=_NAMES)
def command(request):
    return commands.get_command(None, request.param)


def _text(lines):
    return " ".join(lines.split())


@pytest.mark.parametrize("words", [("-h",), ("--help",)])
def test_the_list_of_commands_fits_a_terminal_and_says_the_exit_codes(steinkit, words):
    outcome = steinkit(*words)
    lines = outcome.out.splitlines()
    assert (outcome.code, len(lines) <= 24, max(map(len, lines)) <= 80) == (0, True, True), outcome.out
    assert "--version" in lines[-1]
    for name in _NAMES:
        (line,) = (line for line in lines if line.startswith(f"  {name} "))
        assert line.endswith(".")
    for code, meaning in EXIT_CODES.items():
        assert f"{code} {meaning}" in _text(outcome.out)


def test_every_error_has_an_exit_code_that_is_told():
    def classes(root):
        return {root}.union(*map(classes, root.__subclasses__()))

    assert {error.exit_code for error in classes(SteinkitError)} <= set(EXIT_CODES)
    assert click.UsageError.exit_code in EXIT_CODES


def test_without_a_command_five_lines_say_how_to_begin(steinkit):
    outcome = steinkit()
    assert (outcome.code, outcome.out, len(outcome.err.splitlines())) == (2, "", 5)
    assert max(map(len, outcome.err.splitlines())) < 80
    begun = [line.partition("#")[0].split() for line in outcome.err.splitlines()[1:]]
    for program, *words in begun:
        assert program == "steinkit"
        assert steinkit(*words).code == 0, words


def test_help_of_a_command_fits_a_screen(steinkit, command):
    outcome = steinkit(command.name, "--help")
    lines = outcome.out.splitlines()
    assert (outcome.code, outcome.err) == (0, "")
    assert len(lines) <= _MOST_LINES
    assert max(map(len, lines)) <= 80
    assert not [line for line in lines if line.endswith("...")]


def test_every_option_is_named_on_the_screen_and_explained_in_full(steinkit, command):
    grouped = [each for each in command.params if isinstance(each, GroupedOption)]
    assert len(grouped) == sum(isinstance(each, click.Option) for each in command.params)
    brief = _text(steinkit(command.name, "--help").out)
    for each in grouped:
        assert any(name in brief for name in (*each.opts, *each.secondary_opts)), each.opts
        assert len(each.summary) <= 52 or each.name in ("measures", "alpha") or not each.everyday, each.summary
    if any(each.is_told_in_brief for each in grouped):
        whole = _text(steinkit(command.name, "--help-all").out)
        for each in grouped:
            assert _text(each.help) in whole
        assert "None" not in whole  # as of a number without bounds


def test_examples_stand_on_lines_of_their_own(steinkit):
    lines = [line.strip() for line in steinkit("score", "--help").out.splitlines()]
    assert "steinkit score draws.csv --target normal -p mean=0,0" in lines
    assert "steinkit score draws.csv --target model.py:target --plot where.png" in lines


@pytest.mark.parametrize("name", ["score", "compare", "curve", "sample", "thin", "design"])
def test_help_says_that_a_python_file_is_run(steinkit, name):
    assert "a Python file is run" in _text(steinkit(name, "--help-all").out)


def test_what_fails_a_run_is_explained_where_it_is_of_every_day():
    said = {
        name: commands.get_command(None, name).get_help(click.Context(commands.get_command(None, name)))
        for name in ("score", "verdict")
    }
    assert "--fail-if-bias DELTA " in said["verdict"]
    assert "--fail-if-bias DELTA " not in said["score"]
