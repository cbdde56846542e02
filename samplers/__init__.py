"""Exact and minibatch samplers for one or more chains.

A sampler is a function that takes a target and options and returns a `Draws` object, which contains the draws and the
cost of one or more chains. Each chain depends only on its seed. Minibatch samplers require a `steinkit.Posterior`.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
