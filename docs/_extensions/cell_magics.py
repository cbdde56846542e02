"""Show ``%%bash`` cells as shell blocks, without the magic."""

from typing import Any

from docutils import nodes
from sphinx.application import Sphinx


def show_shell_cells(app: Sphinx, doctree: nodes.document) -> None:
    """Remove the first line of ``%%bash`` cells and highlight the rest as shell."""
    for block in doctree.findall(nodes.literal_block):
        magic, _, source = block.astext().partition("\n")
        if magic.startswith("%%bash"):
            block.rawsource = source
            block["language"] = "bash"
            block.children = [nodes.Text(source)]


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect the transform."""
    app.connect("doctree-read", show_shell_cells)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
