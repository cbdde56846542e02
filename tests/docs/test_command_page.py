"""The page of commands has the help texts, in the same groups, with straight quotes and dots."""

import re
import sys
from pathlib import Path

import click
import pytest

from steinkit.cli import commands, load_command

pytest.importorskip("sphinx")
pytest.importorskip("myst_parser")
EXTENSIONS = Path(__file__).parents[2] / "docs" / "_extensions"


@pytest.fixture
def sources(monkeypatch):
    """Return the module that writes the page, without writing other pages."""
    monkeypatch.syspath_prepend(EXTENSIONS)
    import reference_sources

    monkeypatch.setattr(reference_sources, "write_sources", lambda app: None)
    yield reference_sources
    for name in ("reference_sources", "json_keys"):
        sys.modules.pop(name, None)


def test_options_are_in_the_groups_of_the_help(sources):
    page = "\n".join(sources.command_line())
    sections = dict(re.findall(r"^## `steinkit (\S+)`\n(.*?)(?=^## |\Z)", page, re.M | re.S))
    assert sections.keys() == set(commands.list_commands(click.Context(commands)))
    for name, section in sections.items():
        command = load_command(name)
        context = command.make_context(name, [], resilient_parsing=True)
        told = re.findall(r"^(\S.*):$", command.get_help(context), re.M)
        assert re.findall(r"^\*\*(.+)\*\*$", section, re.M) == told, name


def test_quotes_and_dots_are_those_that_are_typed(sources, tmp_path):
    from sphinx.application import Sphinx

    (tmp_path / "reference").mkdir()
    page = "# Commands\n\n" + "\n".join(sources.command_line())
    (tmp_path / "reference" / "cli.md").write_text(page, encoding="utf-8")
    settings = {
        "extensions": ["myst_parser"],
        "root_doc": "reference/cli",
        "myst_enable_extensions": ["deflist", "smartquotes"],
    }
    built = tmp_path / "built"
    app = Sphinx(tmp_path, None, built, built, "dummy", settings, status=None, warning=None, freshenv=True)
    sources.setup(app)
    app.build()
    read = app.env.get_doctree("reference/cli").astext()
    assert "the kernel's own" in read
    assert '"$(steinkit completion bash)"' in read
    assert not set("\u2018\u2019\u201c\u201d\u2026") & set(read)
