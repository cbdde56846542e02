"""Settings of the documentation: ``python -m sphinx docs docs/_build``; docs/README.md says how pages are written."""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE / "_extensions"), str(HERE.parent)]

import steinkit  # noqa: E402

project = "steinkit"
author = "The steinkit developers"
copyright = "the steinkit developers"
version = release = steinkit.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "numpydoc",
    "myst_parser",
    "sphinx_design",
    "sphinx_copybutton",
    "executed_blocks",
    "public_names",
]
root_doc = "index"
exclude_patterns = ["_build", "README.md"]
templates_path = ["_templates"]
nitpicky = True
default_role = "name"
executed_blocks_generated = ["reference/api/generated/", "gallery/"]

myst_enable_extensions = ["attrs_inline", "colon_fence", "deflist", "dollarmath", "smartquotes", "substitution"]
myst_heading_anchors = 3
myst_substitutions = {"version": release}

autosummary_generate = True
autodoc_typehints = "none"  # numpydoc's sections say types and shapes
autodoc_member_order = "bysource"
numpydoc_show_class_members = False

copybutton_exclude = ".linenos, .gp, .go"

html_theme = "pydata_sphinx_theme"
html_title = "steinkit"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_theme_options = {
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "header_links_before_dropdown": 6,
    "footer_start": ["copyright"],
    "footer_end": [],
    "show_prev_next": True,
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
