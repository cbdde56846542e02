"""Docstrings on pages: single backticks are links, and mathematics in plain text stays what it is.

And a warning for every public name that the reference lacks, or has twice.
"""

from __future__ import annotations

import functools
import importlib
import re
import sys
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util import logging
from sphinx.util.docutils import SphinxRole

logger = logging.getLogger(__name__)
MARKUP = re.compile(
    r"\|"  # a substitution
    r"|(?<=\w)_(?=\W)"  # a reference
    r"|(?<![\w*])\*(?=\w)(?!.*\w\*)"  # emphasis without an end
)
MODULES = ("steinkit", "steinkit.samplers", "steinkit.targets", "steinkit.plots")


@functools.cache
def public_names() -> dict[str, str]:
    """Full names by the names that docstrings use; where two modules share one, the first of `MODULES` has it."""
    found: dict[str, str] = {}
    for module in MODULES:
        for name in importlib.import_module(module).__all__:
            full = f"{module}.{name}"
            if full not in MODULES:
                found.setdefault(name, full)
                found[full] = full
    return found


@functools.cache
def public_objects() -> list[object]:
    """The objects themselves, in the order of their names."""
    return [getattr(sys.modules[full.rpartition(".")[0]], full.rpartition(".")[2]) for full in public_names().values()]


def file_names() -> dict[str, str]:
    """Names of pages for classes whose own names differ from a function's only in case, `Verdict` and `verdict`.

    On macOS and Windows one page would be written over the other.
    """
    classes = {
        full: isinstance(found, type) for full, found in zip(public_names().values(), public_objects(), strict=True)
    }
    others = {full.lower() for full, is_class in classes.items() if not is_class}
    return {full: f"{full}-class" for full, is_class in classes.items() if is_class and full.lower() in others}


class NameRole(SphinxRole):
    """What single backticks mean in docstrings: a public name, or `Class.method` of one, as a link; else code."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """Make a reference where there is something to refer to."""
        text = self.text.removeprefix("sk.")
        target = public_names().get(text) or public_names().get(text.partition(".")[0])
        shown = nodes.literal(self.rawtext, self.text, classes=["py"])
        if target is None:
            return [shown], []
        reference = addnodes.pending_xref(
            self.rawtext, shown, refdomain="py", reftype="obj", reftarget=target, refexplicit=True
        )
        self.set_source_info(reference)
        return [reference], []


def escape_mathematics(app: Sphinx, what: str, name: str, obj: object, options: object, lines: list[str]) -> None:
    """Escape a docstring but its examples, directives and parameters whose names begin with asterisks."""
    for number, line in enumerate(lines):
        if not line.lstrip().startswith((">>>", "...", ".. ", "*")):
            lines[number] = escaped(line)


def escaped(text: str) -> str:
    """Keep |x|, x_-i and (theta, *data) from being read as markup: docstrings are written to be read as they are."""
    parts = re.split(r"(`+.*?`+)", text, flags=re.DOTALL)
    return "".join(part if part.startswith("`") else MARKUP.sub(r"\\\g<0>", part) for part in parts)


def public_bases(app: Sphinx, name: str, obj: object, options: object, bases: list[type]) -> None:
    """Name the bases that the reference documents, and not those that only share code."""
    bases[:] = [base for base in bases if base in public_objects() or base.__module__ == "builtins"] or [object]


def is_alias(app: Sphinx, what: str, name: str, obj: object, skip: bool, options: object) -> bool | None:
    """Leave out what named tuples say of their fields, "Alias for field number 0": their classes say what these are."""
    return True if str(obj.__doc__).startswith("Alias for field number") else None


def check_complete(app: Sphinx, env: BuildEnvironment) -> None:
    """Warn of public names that no page of the reference documents."""
    documented = env.domains.python_domain.objects
    for full in sorted(set(public_names().values())):
        if full not in documented:
            logger.warning("no page of the reference lists %s: see docs/reference/api", full)


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the role and the check."""
    app.add_role("name", NameRole())
    app.connect("autodoc-process-docstring", escape_mathematics, priority=400)  # before numpydoc
    app.connect("autodoc-process-bases", public_bases)
    app.connect("autodoc-skip-member", is_alias)
    app.connect("env-check-consistency", check_complete)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
