"""Measurement of sample quality and bias with Stein discrepancies.

The bracket of a discrepancy is certified: it is proved to contain the exact value.

Public names are imported on first use to keep ``import steinkit`` fast. The file ``__init__.pyi`` lists these names and
their modules.
"""

import lazy_loader

from steinkit.result import serve_results_with

__version__ = "0.1.0.dev0"

serve_results_with(
    html="steinkit.report.page:as_html",
    plot="steinkit.plots.overview:plot",
    figures="steinkit.plots.overview:figures",
    save="steinkit.saved_results:save_result",
)

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
