"""Autoregressive chains for a normal target."""

import numpy as np
from scipy.signal import lfilter


def autoregression(draws, phi):
    """Return a stationary chain along the first axis, given independent draws from its target with mean zero."""
    noise = draws.copy()
    noise[1:] *= np.sqrt(1.0 - phi**2)
    return lfilter([1.0], [1.0, -phi], noise, axis=0)
