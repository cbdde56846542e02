"""Settings for the command ``python -m sphinx docs docs/_build``; see docs/README.md."""

import os
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE / "_extensions"), str(HERE.parent)]

# Environment of the pages' kernels and of the gallery's scripts.
os.environ |= {
    "COLUMNS": "80",
    "IPYTHONDIR": str(HERE / "_ipython"),
    "MPLBACKEND": "Agg",
    "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
    "PYTHONPATH": os.pathsep.join([str(HERE.parent), *filter(None, [os.environ.get("PYTHONPATH")])]),
    "STEINKIT_ROOT": str(HERE.parent),
    "TQDM_DISABLE": "1",  # progress bars would appear among the outputs
}

from example_gallery import prepare_sources  # noqa: E402
from numpydoc.xref import DEFAULT_LINKS  # noqa: E402
from public_names import file_names, public_names, write_names  # noqa: E402

import steinkit  # noqa: E402

project = "steinkit"
author = "The steinkit developers"
copyright = "the steinkit developers"
version = release = steinkit.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "sphinx_gallery.gen_gallery",
    "myst_nb",
    "sphinx_design",
    "sphinx_copybutton",
    "native_math",
    "cell_magics",
    "public_names",
    "reference_sources",
]
root_doc = "index"
exclude_patterns = ["_build", "_gallery_sources", "_ipython", "README.md", "reference/_generated"]
templates_path = ["_templates"]
nitpicky = True
default_role = "name"
smartquotes_action = "qe"  # quotes and dots, but not dashes, which occur in --option

myst_enable_extensions = ["attrs_inline", "colon_fence", "deflist", "dollarmath", "smartquotes", "substitution"]
myst_heading_anchors = 3
nb_execution_mode = "inline"
nb_execution_in_temp = True
nb_execution_timeout = 600
nb_execution_raise_on_error = True
nb_eval_name_regex = ".+"  # {eval} takes any expression
nb_output_stderr = "remove"
nb_merge_streams = True
myst_substitutions = {"version": release}

autosummary_generate = write_names(HERE)
autosummary_filename_map = file_names()
autodoc_typehints = "none"  # numpydoc's sections contain types and shapes
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
# In types of parameters and results, only steinkit's classes are links.
numpydoc_xref_param_type, numpydoc_xref_ignore = True, "all"
numpydoc_xref_aliases = {name: name for name in DEFAULT_LINKS} | {
    name: full for name, full in public_names().items() if name[0].isupper()
}
# Public docstrings describe every parameter and result, in numpydoc's sections and their order.
numpydoc_validation_checks = {
    *("GL06", "GL07", "PR01", "PR02", "PR03", "PR04", "PR05", "PR06", "PR07", "PR09", "PR10"),
    *("RT01", "RT02", "RT03", "RT05", "SS06", "YD01"),
}
numpydoc_validation_exclude = {r"\.(headline|statements|tables|facts)$"}  # documented by `Result` for all results
numpydoc_validation_overrides = {"PR01": [r"\nAttributes\n"]}  # fields of result classes are documented as attributes

prepare_sources(HERE / "gallery")
sphinx_gallery_conf = {
    "examples_dirs": "_gallery_sources",
    "gallery_dirs": "gallery",
    "filename_pattern": r"\.py$",
    "within_subsection_order": "example_gallery.order",
    "image_scrapers": ("example_gallery.saved_figure",),
    "reset_argv": "example_gallery.arguments",
    "reset_modules": (),
    "parallel": True,
    "capture_repr": (),
    "notebook_extensions": set(),
    "download_all_examples": False,
    "show_signature": False,
    "thumbnail_size": (480, 300),
    "min_reported_time": float("inf"),
    "write_computation_times": False,
}

copybutton_exclude = ".linenos, .gp, .go"

html_theme = "pydata_sphinx_theme"
html_math_renderer = "native"
html_title = "steinkit"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_js_files = ["site.js"]
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
