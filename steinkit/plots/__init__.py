"""Plots of results.

Most functions draw on the given Axes, or on those of a new pyplot figure, and return the Axes. The functions `plot`
and `biases` return a Figure.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
