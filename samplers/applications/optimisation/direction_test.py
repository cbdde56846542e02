"""Does a step computed from a batch point the wrong way? The 90-degree test.

The step d_n of a batch is about N(d_N, Sigma), d_N being the step of all the data. It points more than 90 degrees away
from d_N with probability

    delta = P(<d_n, d_N> < 0) = Phi(-mu / sigma),    mu = |d_N|,    sigma^2 = d_N' Sigma d_N / |d_N|^2.

(The paper's equation 4 integrates over >= 0; its equation 6 is this.) Both are estimated by putting d_n for d_N. But
E |d_n|^2 = |d_N|^2 + tr Sigma: the noise itself is taken for a long step, in many dimensions nearly always. Hence

    mu^2 = |d_n|^2                           the paper's form,
    mu^2 = max(|d_n|^2 - tr Sigma, 0)        debiased.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from steinkit.arguments import checked
from steinkit.errors import InputError
from steinkit.samplers.applications.optimisation.regression_data import as_reals

# Share of the largest covariance below which a negative variance is rounding.
_ROUNDING = 1e-12


@checked
def wrong_direction_probability(step: ArrayLike, covariance: ArrayLike, *, debias: bool = True) -> float:
    """Estimate the probability that a batch's step is more than 90 degrees off the step of all the data.

    Parameters
    ----------
    step : array_like, shape (D,)
        Step d_n that the batch proposes.
    covariance : array_like, shape (D, D)
        Sigma, of d_n about d_N.
    debias : bool
        Take tr Sigma off |d_n|^2, as far as that leaves something.

    Returns
    -------
    float
        delta, in [0, 1/2]; 1/2 if nothing of the step is left. It is an estimate: where the true step is short, noise
        makes it small by chance. Of steps that are nothing but isotropic noise, delta < 0.01 lets pass 86 % in ten
        dimensions in the paper's form, 12 % debiased; in fifty dimensions practically all, and 28 %.

    Raises
    ------
    InputError
        If shapes disagree, a value is not finite, or the covariance gives the step a negative variance.

    References
    ----------
    A. Korattikara, Y. Chen and M. Welling (2016), "Sequential tests for large-scale learning", section 2.1, eq. 4-6.
    """
    from scipy.special import ndtr

    d, Sigma = as_reals(step, "step"), as_reals(covariance, "covariance")
    if d.ndim != 1 or Sigma.shape != (len(d), len(d)):
        raise InputError(f"step and covariance must have shapes (D,) and (D, D); received {d.shape} and {Sigma.shape}")
    if not (np.isfinite(d).all() and np.isfinite(Sigma).all()):
        raise InputError("step and covariance must be finite; received NaN or infinity")
    scale = float(np.abs(d).max(initial=0.0))
    if scale == 0.0:
        return 0.5
    length = scale * float(np.linalg.norm(d / scale))  # so that no square overflows
    direction = d / length
    sigma_squared = float(direction @ Sigma @ direction)
    if sigma_squared < -_ROUNDING * float(np.abs(Sigma).max()):
        raise InputError(f"covariance must be that of a step; along this one the variance is {sigma_squared:.3g}")
    left = 1.0 - float(np.trace(Sigma)) / length / length if debias else 1.0
    if left <= 0.0:
        return 0.5
    return float(ndtr(-length * math.sqrt(left / sigma_squared))) if sigma_squared > 0.0 else 0.0
