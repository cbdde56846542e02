"""Generated parts of the reference: the command line, file formats, JSON keys and solvers.

These are MyST files in ``docs/reference/_generated``. They are written before pages are read and are included in the
pages.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import cloup
from json_keys import key_tables
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform

from steinkit.cli import EXIT_CODES, commands, load_command
from steinkit.discrepancy.graph.solvers.registry import SOLVERS
from steinkit.files import FORMATS

ROOT = Path(__file__).resolve().parents[2]
PAPERS = "/../examples/papers"
COMMANDS = "reference/cli"


def write_sources(app: Sphinx) -> None:
    """Write the files that are included in the reference pages."""
    folder = Path(app.srcdir) / "reference" / "_generated"
    folder.mkdir(parents=True, exist_ok=True)
    written = {
        "cli.md": "\n".join(command_line()),
        "solvers.md": solvers(),
        "exit_codes.md": exit_codes(),
        "formats.md": formats(),
        "json_keys.md": key_tables(folder.parent),
        "papers.md": papers(),
    }
    for name, text in written.items():
        path = folder / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def command_line() -> Iterator[str]:
    """Return a section for each command: its description, its usage, and its options by group."""
    for name in sorted(commands.list_commands(click.Context(commands))):
        command = load_command(name)
        assert isinstance(command, cloup.Command)
        context = command.make_context(f"steinkit {name}", [], resilient_parsing=True)
        yield f"## `steinkit {name}`\n"
        yield from help_text(command.help or "")
        usage = " ".join(["steinkit", name, *command.collect_usage_pieces(context)])
        yield f"```text\n{usage}\n```\n"
        for group in [*command.option_groups, command.get_default_option_group(context, not command.option_groups)]:
            yield f"**{group.title}**\n"
            for term, text in group.get_help_records(context):
                yield f"`` {term} ``\n: {escaped(text)}\n"


def help_text(text: str) -> Iterator[str]:
    """Return the help of a command, with sentences as paragraphs and unwrapped lines as code."""
    for paragraph in text.replace("\f", "\n").strip().split("\n\n"):
        lines = paragraph.strip("\n").splitlines()
        if lines and lines[0].strip() == "\b":
            kept = "\n".join(line.strip() for line in lines[1:])
            yield f"```text\n{kept}\n```\n"
        elif lines:
            yield escaped(" ".join(line.strip() for line in lines)) + "\n"


def escaped(text: str) -> str:
    """Escape characters of plain text that are markup in MyST."""
    return re.sub(r"([\\`*_\[\]<>$|{}#'\"])", r"\\\1", text)


def exit_codes() -> str:
    """Return the table of exit codes."""
    rows = "\n".join(f"| {code} | {escaped(text)} |" for code, text in EXIT_CODES.items())
    return f"| code | meaning |\n| --- | --- |\n{rows}\n"


def solvers() -> str:
    """Return the table of solvers with their purposes."""
    rows = "\n".join(f"| `{name}` | {solver.purpose} |" for name, solver in SOLVERS.items() if name != "auto")
    return f"| solver | purpose |\n| --- | --- |\n{rows}\n"


def formats() -> str:
    """Return the table of file formats, with the first lines of their readers' docstrings."""
    rows = "\n".join(
        f"| `{name}` | {' '.join(map('`{}`'.format, form.endings))} | {first_line(form.read)} |"
        for name, form in FORMATS.items()
    )
    return f"| format | endings | content |\n| --- | --- | --- |\n{rows}\n"


def first_line(described: object) -> str:
    """Return the first line of a docstring."""
    return escaped((inspect.getdoc(described) or "").partition("\n")[0])


def papers() -> str:
    """Return the page of paper experiments, with figure paths and links that Sphinx can resolve."""
    folder = ROOT / "examples" / "papers"
    text = "\n".join((folder / name).read_text(encoding="utf-8") for name in ("README.md", "samplers_at_equal_cost.md"))
    text = re.sub(r"\]\((?=results/|ledger/|_data_files\.py)", f"]({PAPERS}/", text)
    text = re.sub(r"\[([^\]]+)\]\(samplers_at_equal_cost\.md\)", r"\1", text)
    return re.sub(r"^# ", "## ", text.partition("\n")[2], flags=re.M) + "\n"


class StraightQuotes(SphinxTransform):
    """Keep straight quotes and dots on the command page because they often enclose code."""

    default_priority = 700  # before Sphinx curls them

    def apply(self, **settings: Any) -> None:
        """Mark the page."""
        if self.env.docname == COMMANDS:
            self.document["support_smartquotes"] = False


def setup(app: Sphinx) -> dict[str, Any]:
    """Write the sources before any page is read."""
    app.connect("builder-inited", write_sources)
    app.add_transform(StraightQuotes)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
