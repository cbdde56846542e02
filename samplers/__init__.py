"""Samplers for one or more chains, exact and on minibatches.

A sampler is a function of a target and options. It returns `Draws`, which contain the draws of one or more chains and
their cost. Each chain depends only on its seed. Samplers on minibatches require a `steinkit.Posterior`.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
