"""Help: one screen per command, options in groups with their defaults, and the exit codes."""

import click
import cloup
import pytest

from steinkit.cli import EXIT_CODES, commands, load_command
from steinkit.errors import SteinkitError

_NAMES = commands.list_commands(None)
_MOST_LINES = 62


@pytest.fixture(autouse=True)
def terminal(monkeypatch):
    """Set up a terminal with 100 columns."""
    monkeypatch.setenv("COLUMNS", "101")


@pytest.fixture(params=_NAMES)
def command(request):
    return load_command(request.param)


def _text(lines):
    return " ".join(lines.split())


@pytest.mark.parametrize("words", [("-h",), ("--help",)])
def test_the_list_of_commands_fits_a_screen(steinkit, words):
    outcome = steinkit(*words)
    lines = outcome.out.splitlines()
    assert (outcome.code, len(lines) <= 30, max(map(len, lines)) <= 100) == (0, True, True), outcome.out
    for name in _NAMES:
        assert any(line.startswith(f"  {name} ") for line in lines)
    for code, meaning in EXIT_CODES.items():
        assert f"{code} {meaning}" in _text(outcome.out)


def test_exit_codes_of_errors_are_documented():
    def classes(root):
        return {root}.union(*map(classes, root.__subclasses__()))

    assert {error.exit_code for error in classes(SteinkitError)} <= set(EXIT_CODES)
    assert click.UsageError.exit_code in EXIT_CODES


def test_without_a_command(steinkit):
    outcome = steinkit()
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err == steinkit("--help").out


def test_help_of_a_command_is_one_plain_screen(steinkit, command):
    outcome = steinkit(command.name, "--help")
    lines = outcome.out.splitlines()
    assert (outcome.code, outcome.err) == (0, "")
    assert len(lines) <= _MOST_LINES
    assert max(map(len, lines)) <= 100
    assert outcome.out.isascii()
    assert "\x1b" not in outcome.out


def test_every_option_has_a_group_and_a_line_of_help(steinkit, command):
    assert isinstance(command, cloup.Command)
    shown = _text(steinkit(command.name, "--help").out)
    for each in command.params:
        if isinstance(each, click.Option):
            assert _text(each.help) in shown, each.opts
            assert each.help.endswith("."), each.help
            assert f"{each.opts[-1]} " in shown
    assert "None" not in shown


@pytest.mark.parametrize("name", ["verdict", "score", "compare", "curve", "repair", "thin", "sample"])
def test_examples_run(steinkit, sample_file, name):
    """The first example of every command that measures or draws, with the files that it names."""
    example = next(line for line in steinkit(name, "--help").out.splitlines() if line.startswith("  steinkit "))
    words = [sample_file if word.endswith(".csv") and word == "draws.csv" else word for word in example.split()[1:]]
    if name == "compare":
        words = [word for word in words if word not in ("b.csv", "c.csv")]
        words[words.index("a.csv")] = sample_file
    if name == "curve":
        words[words.index("100,200,400")] = "50,100,200"
        words += ["-p", "mean=0,0"]
    outcome = steinkit(*words)
    assert outcome.code == 0, outcome


def test_defaults_are_shown(steinkit):
    text = _text(steinkit("score", "--help").out)
    for name, default in {"--dilation": "2.0", "--kernel": "imq", "--solver": "auto", "--seed": "0"}.items():
        assert f"[default: {default}" in text[text.index(f"{name} ") :][:160]
