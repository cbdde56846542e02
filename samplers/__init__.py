"""Samplers whose draws steinkit scores.

So far this holds `Draws`, what a sampler returns; the samplers themselves are to come.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
