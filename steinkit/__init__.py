"""Measurement of the quality and the bias of samples with Stein discrepancies.

A bracket of a discrepancy is certified, that is, proved to contain the value.

Public names are imported on first use, so that ``import steinkit`` is fast. The file ``__init__.pyi`` lists these names
with their modules.
"""

import lazy_loader

from steinkit.result import serve_results_with

__version__ = "0.1.0.dev0"

serve_results_with(
    html="steinkit.report.page:as_html",
    picture="steinkit.plots.overview:picture",
    figures="steinkit.plots.overview:figures",
    save="steinkit.saved_results:save_result",
)

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
