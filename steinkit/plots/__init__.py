"""Pictures: where a sample is wrong, settings and samples side by side, and falling discrepancies.

Each function draws on the Axes given, or on new ones, and returns the Axes; `picture` arranges
several on a Figure.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
