"""Blocks of a page that are run when the site is built, and the outputs put below them.

Directives `run`, `file` and `notrun`, and a role `value`; docs/README.md says how they are written. A plain block of
Python or shell is an error: every block is run, or says why not. The build ends with their numbers.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from page_runs import PageFailedError, code_identity, results_of
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective, SphinxRole

logger = logging.getLogger(__name__)
LANGUAGES = ("bash", "python")
COMMANDS = {"bash", "console", "python", "python3", "py", "pycon", "sh", "shell"}
SUFFIXES = {".py": "python", ".toml": "toml", ".json": "json", ".stan": "stan", ".csv": "text", ".sh": "bash"}


class PlacedBlock(nodes.General, nodes.Element):
    """Where a block stood, until its page has been read and all of its blocks are run."""


class RunDirective(SphinxDirective):
    """A block that is run: ``{run} python`` or ``{run} bash``."""

    has_content = True
    required_arguments = 1
    option_spec: ClassVar = {
        "hidden": directives.flag,
        "hide-output": directives.flag,
        "stderr": directives.flag,
        "head": directives.positive_int,
        "exit": directives.nonnegative_int,
        "raises": directives.unchanged_required,
        "figure": directives.path,
        "alt": directives.unchanged_required,
    }

    def run(self) -> list[nodes.Node]:
        """Leave a mark where the block stands."""
        language = self.arguments[0]
        if language not in LANGUAGES:
            raise self.error(f"run takes python or bash, not {language!r}")
        block = {
            "language": language,
            "source": "\n".join(self.content),
            **{name: self.options.get(name) for name in ("exit", "raises", "figure", "alt", "head")},
            **{name: name in self.options for name in ("hidden", "hide-output", "stderr")},
        }
        mark = PlacedBlock(block=block)
        self.set_source_info(mark)
        return [mark]


class FileDirective(SphinxDirective):
    """A file that later blocks of the page use: ``{file} model.py``."""

    has_content = True
    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Show the file under its name, and leave a mark for it to be written."""
        name, source = self.arguments[0], "\n".join(self.content)
        mark = PlacedBlock(block={"language": "file", "name": name, "source": f"{source}\n"})
        self.set_source_info(mark)
        caption = nodes.caption("", "", nodes.literal(text=name))
        shown = literal(source, SUFFIXES.get(Path(name).suffix, "text"))
        return [mark, nodes.container("", caption, shown, literal_block=True, classes=["literal-block-wrapper"])]


class NotRunDirective(SphinxDirective):
    """A block that cannot be run where the site is built, and why: ``{notrun} bash``."""

    has_content = True
    required_arguments = 1
    option_spec: ClassVar = {"why": directives.unchanged_required}

    def run(self) -> list[nodes.Node]:
        """Show the block, and count it apart."""
        if "why" not in self.options:
            raise self.error("notrun needs :why:, the reason why the block cannot be run here")
        counts_of(self.env, self.env.docname)["not run"].append(self.options["why"])
        return [literal("\n".join(self.content), self.arguments[0])]


class ValueRole(SphinxRole):
    """The value of a Python expression, after the blocks above it: ``{value}`f"{result.value:.3g}"` ``."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """Leave a mark where the value stands."""
        mark = PlacedBlock(block={"language": "value", "source": self.text})
        self.set_source_info(mark)
        return [mark], []


def literal(text: str, language: str, *classes: str) -> nodes.literal_block:
    """A block of code or output that is not to be run."""
    return nodes.literal_block(text, text, language=language, classes=["settled", *classes])


def counts_of(env: BuildEnvironment, page: str) -> dict[str, Any]:
    """What was run on a page: kept with the environment, so that a page that is not read again counts as well."""
    pages: dict[str, dict[str, Any]] = env.__dict__.setdefault("executed_blocks", {})
    return pages.setdefault(page, {"python": 0, "bash": 0, "value": 0, "seconds": 0.0, "not run": [], "code": None})


def run_page(app: Sphinx, doctree: nodes.document) -> None:
    """Run the blocks of a page that was read, and put what they gave in their places."""
    page = app.env.docname
    marks = list(doctree.findall(PlacedBlock))
    if not marks:
        return
    counts = counts_of(app.env, page)
    counts["code"] = code_identity()
    blocks = [mark["block"] for mark in marks]
    try:
        results = results_of(page, blocks, Path(app.srcdir) / "_runs")
    except PageFailedError as error:
        logger.warning("the blocks of this page did not end: %s", error, location=page)
        results = [{"stdout": "", "stderr": "", "code": 0, "failure": None, "pictures": [], "seconds": 0.0}] * len(
            marks
        )
    for number, (mark, block, result) in enumerate(zip(marks, blocks, results, strict=True)):
        if block["language"] in counts:
            counts[block["language"]] += 1
        counts["seconds"] += result["seconds"]
        judge(block, result, mark)
        mark.replace_self(shown(app, page, number, block, result, mark))


def refuse_plain_blocks(app: Sphinx, doctree: nodes.document) -> None:
    """Warn of commands and code that nobody would run, unless the page says why in its front matter."""
    page = app.env.docname
    reason = app.env.metadata[page].get("notrun")
    generated = any(page.startswith(folder) for folder in app.config.executed_blocks_generated)
    for block in doctree.findall(nodes.literal_block):
        if block.get("language") not in COMMANDS or "settled" in block["classes"] or generated:
            continue
        if reason:
            counts_of(app.env, page)["not run"].append(reason)
        else:
            logger.warning("this block is not run: use {run}, or {notrun} with :why:", location=block)


def judge(block: dict[str, Any], result: dict[str, Any], mark: PlacedBlock) -> None:
    """Warn of a block that ended otherwise than its page says."""
    expected = block.get("exit") or 0
    if block.get("raises"):
        if result["failure"] is None or not result["failure"].partition(":")[0].endswith(block["raises"]):
            logger.warning("expected %s, but: %s", block["raises"], result["failure"] or "no error", location=mark)
    elif result["code"] != expected:
        told = f"{result['stdout'][-2000:]}{result['stderr'][-4000:]}"
        logger.warning("ended with code %d, not %d:\n%s", result["code"], expected, told, location=mark)
    if result["pictures"] and not block.get("alt"):
        logger.warning("a picture needs :alt:, which says what it shows", location=mark)


def shown(
    app: Sphinx, page: str, number: int, block: dict[str, Any], result: dict[str, Any], mark: PlacedBlock
) -> Sequence[nodes.Node]:
    """The nodes that take the place of a block: its source, its output, its picture."""
    if block["language"] == "value":
        return [nodes.Text(result["stdout"])]
    if block["language"] == "file" or block["hidden"]:
        return []
    found: list[nodes.Node] = [literal(block["source"], block["language"])]
    written = result["stderr"] if block["stderr"] else ""
    written += result["stdout"]
    if block["raises"] and result["failure"]:
        written += result["failure"]
    lines = written.rstrip().splitlines()
    if block["head"] and len(lines) > block["head"]:
        lines = [*lines[: block["head"]], "..."]
    if lines and not block["hide-output"]:
        found.append(literal("\n".join(lines), "text", "block-output"))
    for content in map(base64.b64decode, result["pictures"]):
        kind = "svg" if b"<svg" in content[:1000] else "png"
        path = Path(app.srcdir) / "_runs" / "pictures" / f"{page.replace('/', '.')}-{number}.{kind}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        image = nodes.image(uri=f"/_runs/pictures/{path.name}", alt=block["alt"] or "")
        image.source, image.line = mark.source, mark.line
        found.append(image)
    return found


def forget_page(app: Sphinx, env: BuildEnvironment, page: str) -> None:
    """Forget the counts of a page that is read anew or has gone."""
    env.__dict__.setdefault("executed_blocks", {}).pop(page, None)


def join_counts(app: Sphinx, env: BuildEnvironment, pages: Sequence[str], other: BuildEnvironment) -> None:
    """Take over the counts of pages that another process has read."""
    counted = getattr(other, "executed_blocks", {})
    env.__dict__.setdefault("executed_blocks", {}).update({page: counted[page] for page in pages if page in counted})


def outdated_pages(app: Sphinx, env: BuildEnvironment, added: set[str], changed: set[str], gone: set[str]) -> list[str]:
    """Pages whose blocks were run with other code than today's."""
    counted: dict[str, dict[str, Any]] = getattr(env, "executed_blocks", {})
    return [
        page for page, counts in counted.items() if counts["code"] not in (None, code_identity()) and page not in gone
    ]


def say_counts(app: Sphinx, error: Exception | None) -> None:
    """Say how many blocks were run, and which not."""
    pages: dict[str, dict[str, Any]] = getattr(app.env, "executed_blocks", {})
    totals = {key: sum(counts[key] for counts in pages.values()) for key in ("python", "bash", "value", "seconds")}
    ran = sum(1 for counts in pages.values() if counts["python"] + counts["bash"])
    logger.info(
        "\nBlocks run: %d of Python and %d of shell on %d pages, and %d values in the text (%.0f s)",
        *(totals["python"], totals["bash"], ran, totals["value"], totals["seconds"]),
    )
    reasons = [(page, why) for page, counts in sorted(pages.items()) for why in counts["not run"]]
    logger.info("Blocks not run: %d", len(reasons))
    for page, why in dict.fromkeys(reasons):
        logger.info("  %s: %s (%d)", page, why, reasons.count((page, why)))


def setup(app: Sphinx) -> dict[str, Any]:
    """Register directives, role and events."""
    app.add_node(PlacedBlock)
    app.add_config_value("executed_blocks_generated", [], "env", list)
    app.add_directive("run", RunDirective)
    app.add_directive("file", FileDirective)
    app.add_directive("notrun", NotRunDirective)
    app.add_role("value", ValueRole())
    app.connect("doctree-read", run_page, priority=100)  # before pictures are collected
    app.connect("doctree-read", refuse_plain_blocks, priority=900)  # after front matter is collected
    app.connect("env-purge-doc", forget_page)
    app.connect("env-merge-info", join_counts)
    app.connect("env-get-outdated", outdated_pages)
    app.connect("build-finished", say_counts)
    return {"parallel_read_safe": True, "parallel_write_safe": True, "version": "1"}
