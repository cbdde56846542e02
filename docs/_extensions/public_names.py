"""Conversion of docstrings to pages, with single backticks as links and mathematics in plain text escaped.

Lists on the reference pages can contain patterns, such as `*Test`, which are replaced by all matching public names that
are not on any list.
"""

from __future__ import annotations

import functools
import importlib
import re
import sys
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxRole

MARKUP = re.compile(
    r"\|"  # a substitution
    r"|(?<=\w)_(?=\W)"  # a reference
    r"|(?<![\w*])\*(?=\w)(?!.*\w\*)"  # emphasis without an end
)
MODULES = ("steinkit", "steinkit.samplers", "steinkit.targets", "steinkit.plots", "steinkit.testing")


@functools.cache
def public_names() -> dict[str, str]:
    """Return a mapping from the names used in docstrings to full names.

    The first module of `MODULES` takes precedence.
    """
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
    """Return the objects in the order of their names."""
    return [getattr(sys.modules[full.rpartition(".")[0]], full.rpartition(".")[2]) for full in public_names().values()]


def file_names() -> dict[str, str]:
    """Return page names for classes that differ from a function only in case, such as `Verdict` and `verdict`.

    On macOS and Windows, one page would overwrite the other.
    """
    classes = {
        full: isinstance(found, type) for full, found in zip(public_names().values(), public_objects(), strict=True)
    }
    others = {full.lower() for full, is_class in classes.items() if not is_class}
    return {full: f"{full}-class" for full, is_class in classes.items() if is_class and full.lower() in others}


def write_names(docs: Path) -> list[str]:
    """Write the list of public names that autosummary uses to generate pages, and return its path."""
    path = docs / "reference" / "_generated" / "names.rst"
    path.parent.mkdir(exist_ok=True)
    names = "".join(f"   {full}\n" for full in sorted(set(public_names().values())))
    path.write_text(f".. autosummary::\n   :toctree: ../api/generated\n\n{names}", encoding="utf-8")
    return [path.relative_to(docs).as_posix()]


def entries(text: str) -> Iterator[tuple[str, str]]:
    """Yield the lines of the lists on a page, each with its full name or pattern of full names."""
    module = ""
    for line in text.splitlines():
        module = line.removeprefix(".. currentmodule:: ") if line.startswith(".. currentmodule::") else module
        if re.fullmatch(r"   [\w*]+", line):
            yield line, f"{module}.{line.strip()}"


def filled(text: str, folder: Path) -> str:
    """Return a page with patterns replaced by names; if a name matches several patterns, use the longest."""
    known = {full for page in folder.glob("*.rst") for _, full in entries(page.read_text(encoding="utf-8"))}
    patterns = sorted((each for each in known if "*" in each), key=len, reverse=True)
    for line, full in entries(text):
        if "*" in line:
            left = sorted(set(public_names().values()) - known)
            fits = [name for name in left if next((p for p in patterns if fnmatchcase(name, p)), None) == full]
            text = text.replace(f"{line}\n", "".join(f"   {name.rpartition('.')[2]}\n" for name in fits), 1)
    return text


def fill_lists(app: Sphinx, name: str, source: list[str]) -> None:
    """Fill in the lists on a reference page."""
    if re.fullmatch(r"reference/api/\w+", name):
        source[0] = filled(source[0], Path(app.srcdir) / "reference" / "api")


class NameRole(SphinxRole):
    """Role of single backticks in docstrings: a link for a public name or `Class.method`, otherwise code."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """Create a cross-reference if the name that it refers to exists."""
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
    """Escape a docstring, except for directives, examples, and parameter names that begin with asterisks."""
    for number, line in enumerate(lines):
        if not line.lstrip().startswith((">>>", "...", ".. ", "*")):
            lines[number] = escaped(line)


def escaped(text: str) -> str:
    """Escape |x|, x_-i and (theta, *data), which are not markup in our docstrings."""
    parts = re.split(r"(`+.*?`+)", text, flags=re.DOTALL)
    return "".join(part if part.startswith("`") else MARKUP.sub(r"\\\g<0>", part) for part in parts)


def public_bases(app: Sphinx, name: str, obj: object, options: object, bases: list[type]) -> None:
    """List only the base classes that the reference documents."""
    bases[:] = [base for base in bases if base in public_objects() or base.__module__ == "builtins"] or [object]


def is_alias(app: Sphinx, what: str, name: str, obj: object, skip: bool, options: object) -> bool | None:
    """Skip the generated docstrings of named tuple fields, "Alias for field number 0"."""
    return True if str(obj.__doc__).startswith("Alias for field number") else None


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the role and the conversions."""
    app.add_role("name", NameRole())
    app.connect("autodoc-process-docstring", escape_mathematics, priority=400)  # before numpydoc
    app.connect("autodoc-process-bases", public_bases)
    app.connect("autodoc-skip-member", is_alias)
    app.connect("source-read", fill_lists)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
