"""steinkit: is this sample any good? Certified Stein discrepancies of a sample, bias included.

Public names load what they need when they are first used, so that ``import steinkit`` is quick; the names and the
modules they live in stand in ``__init__.pyi``.
"""

import lazy_loader

from steinkit.result import serve_results_with

__version__ = "0.1.0.dev0"

serve_results_with(
    html="steinkit.report.page:as_html",
    picture="steinkit.plots.overview:picture",
    figures="steinkit.plots.pages:figures",
    save="steinkit.saved_results:save_result",
)

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
