"""Samplers whose draws steinkit scores.

Each is a function from a target and its options to `Draws`: many chains at once, each of which depends on its own seed
only, and what they cost. Those that read minibatches need a `steinkit.Posterior`.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
