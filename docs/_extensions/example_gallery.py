"""Conversion of the scripts in ``examples`` for sphinx-gallery, with small runs and the saved figures.

sphinx-gallery reads titles as reStructuredText and figures from matplotlib's open figures. Our scripts begin with a
plain title and save their figures. The scripts are therefore copied to a folder in the documentation, with underlined
titles, and the figures are collected from the output folder that is passed to the scripts.
"""

from __future__ import annotations

import ast
import re
import shutil
from pathlib import Path
from typing import Any

from public_names import escaped
from sphinx_gallery.scrapers import figure_rst

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"
SOURCES = ROOT / "docs" / "_gallery_sources"
SAVED = "figures"  # in that folder, where the scripts run; they print the path
FIRST = ["good_and_biased", "your_own_sampler", "your_own_target", "bounded_target", "sgld_step_size", "choose_epsilon"]
HEADER = """\
Gallery
=======

Scripts in the folder ``examples`` of the repository. The results shown here are from runs at small size (``--small``);
without this option the scripts take up to a few minutes.
"""


def prepare_sources(pages: Path) -> None:
    """Copy the examples to the folder that the gallery reads, and remove outdated pages."""
    for digest in pages.glob("*.md5"):
        digest.unlink()
    SOURCES.mkdir(exist_ok=True)
    write(SOURCES / "GALLERY_HEADER.rst", HEADER)
    scripts = [path for path in sorted(EXAMPLES.glob("*.py")) if path.stem != "make_data"]
    for path in scripts:
        write(SOURCES / path.name, titled(path.stem, path.read_text(encoding="utf-8")))


def order(script: str) -> tuple[int, str]:
    """Return the position of a script in the gallery: first the scripts in `FIRST`, then the others by name."""
    name = Path(script).stem
    return (FIRST.index(name) if name in FIRST else len(FIRST), name)


def write(path: Path, text: str) -> None:
    """Write a file if its content has changed."""
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def titled(name: str, source: str) -> str:
    """Return a script with a reStructuredText title at the beginning of its docstring, followed by the explanation.

    The command follows the explanation because the tooltips of the gallery show the first paragraph.
    """
    small = re.search(r'"--small", action="store_true", help="(.+?)"', source)
    assert small is not None, "every example must have an option --small with help"
    docstring = ast.get_docstring(ast.parse(source), clean=False)
    assert docstring is not None, "every example must have a docstring"
    title, command, *rest = docstring.strip().split("\n\n")
    body, _, references = "\n\n".join(rest).partition("References\n----------\n")
    paragraphs = [as_code(each) if each.startswith("    ") else escaped(each) for each in body.strip().split("\n\n")]
    parts = [f"{title}\n{'=' * len(title)}", *paragraphs, as_code(command)]
    parts.append(
        f".. note::\n\n   The output and figures of this page are from a run at small size (``--small``: {small[1]}); "
        f"``python examples/{name}.py`` runs the full size."
    )
    if references:
        entries = re.split(r"\n(?=[A-Z]\. )", references.strip())
        listed = "\n".join("- \\" + each.replace("\n", "\n  ") for each in entries)  # "A." would begin a list
        parts.append(f".. rubric:: References\n\n{listed}")
    quote = '"""'
    head, _, tail = source.partition(f"{quote}{docstring}{quote}")
    return f"{head}r{quote}{(chr(10) * 2).join(parts)}\n{quote}{tail}"


def as_code(indented: str) -> str:
    """Return an indented paragraph as a code block."""
    return f".. code-block:: text\n\n{indented}"


def arguments(gallery: dict[str, Any], script: dict[str, Any]) -> list[str]:
    """Set the arguments of a script (small size and figure folder), its path and its docstring."""
    original = EXAMPLES / Path(script["src_file"]).name
    docstring = ast.get_docstring(ast.parse(original.read_text(encoding="utf-8")), clean=False)
    script["example_globals"].update({"__file__": str(original), "__doc__": docstring})
    return ["--small", "--output", SAVED]


def saved_figure(block: Any, variables: dict[str, Any], gallery: dict[str, Any]) -> str:
    """Move the figure that a script saved into the gallery."""
    source = Path(variables["src_file"])
    saved = source.parent / SAVED / f"{source.stem}.png"
    if not saved.exists():
        return ""
    path = Path(next(variables["image_path_iterator"]))
    shutil.move(saved, path)
    return figure_rst([str(path)], gallery["src_dir"], variables["example_globals"]["__doc__"].splitlines()[0])
