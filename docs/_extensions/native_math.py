"""Conversion of formulas to MathML, which browsers display without network access or scripts."""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.writers.html5 import HTML5Translator

logger = logging.getLogger(__name__)
# In MathML: an unknown command, or an unbalanced brace.
UNREAD = re.compile(r"\\\w+|(?<=<mi>)[{}](?=</mi>)")


def mathml(node: nodes.Element, display: str) -> str:
    """Convert the formula of a node, and warn about parts that could not be read."""
    written = convert(node.astext(), display=display)
    if left := UNREAD.findall(written):
        logger.warning("no MathML for %s in this formula: %s", ", ".join(left), node.astext(), location=node)
    return written


def visit_inline(translator: HTML5Translator, node: nodes.Element) -> None:
    """Write an inline formula."""
    translator.body.append(mathml(node, "inline"))
    raise nodes.SkipNode


def visit_block(translator: HTML5Translator, node: nodes.Element) -> None:
    """Write a displayed formula."""
    translator.body.append(f'<div class="formula">{mathml(node, "block")}</div>\n')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the renderer, which conf.py selects."""
    app.add_html_math_renderer("native", (visit_inline, None), (visit_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
