r"""Boundary factors: what makes the Stein functions of a kernel vanish on the faces of a box.

On a support with finite bounds, E_P[<b, g> + <a, grad g>] = 0 asks that nothing flows out through the faces: g_j must
be zero on the finite faces of coordinate j (and a_jk, j != k, on those of coordinate k; see `operators`). Functions of
a reproducing kernel are not zero there, so the Stein functions are taken as g_j = w_j f_j with f in the kernel's unit
ball and a factor w_j(x_j) that is zero at those faces and positive inside (Oates, Girolami and Chopin 2017; Xu 2022,
where w is the standardisation function of a truncated density).

**One concept, two uses.** The product rule gives

    <b, w f> + <a, grad(w f)> = <b~, f> + <a~, grad f>,      b~_j = w_j b_j + w_j' a_jj,      a~_jk = w_j a_jk:

the bounded Stein kernel is that of a diffusion operator with these coefficients. For Langevin's operator, a = I and
b = s, they are a~ = diag(w) and b~_j = w_j s_j + w_j'.

**The factor** for a coordinate with bounds (l, u), in the unit of the kernel's scale c:

    w(x) = h((x - l) / c) h((u - x) / c),      h(t) = t / (1 + t),

without the part of a bound that is infinite, and 1 if both are. It lies in [0, 1] and its slope in [-1/c, 1/c], so that
g = w f is bounded and smooth like f. It tends to the factor of fewer bounds as a bound recedes, so that far from all
bounds the kernel is that of the whole space, and it stays the same when draws and scale change their unit. Near a bound
w shrinks like the distance to it; hence p w tends to zero whether the density p is zero, positive or infinite there
(but integrable, a power of the distance), and the mean of the Stein kernel under P is zero in all these cases. On a
domain much narrower than c, w is small, since it rises from the faces with slope 1/c at most: the discrepancy shrinks
with the width, as the distance between any two samples of that domain does.

References
----------
C. J. Oates, M. Girolami and N. Chopin (2017), Control functionals for Monte Carlo integration, JRSS B 79(3).
W. Xu (2022), Standardisation-function kernel Stein discrepancy, AISTATS.
"""

from __future__ import annotations

import numpy as np

from steinkit.sample import Floats


def boundary_factor(points: Floats, bounds: Floats, scale: float) -> tuple[Floats, Floats, Floats]:
    """The factor w_j(x_j), its derivative, and a bound of the terms that the derivative is the difference of.

    Parameters
    ----------
    points : ndarray, shape (n, d)
        Within the bounds.
    bounds : ndarray, shape (d, 2)
    scale : float
        The kernel's scale c, in the unit of the points.

    Returns
    -------
    factor, slope, size : ndarray, shape (n, d)
        |slope| <= size; the rounding error of the slope is a small multiple of the unit roundoff times size.
    """
    lower, rise = _approach((points - bounds[:, 0]) / scale)
    upper, fall = _approach((bounds[:, 1] - points) / scale)
    rising, falling = rise * upper / scale, lower * fall / scale
    return lower * upper, rising - falling, rising + falling


def _approach(t: Floats) -> tuple[Floats, Floats]:
    """h(t) = t / (1 + t) and its derivative; 1 and 0 at infinity."""
    beyond = 1.0 / (1.0 + t)
    return np.where(np.isinf(t), 1.0, np.where(np.isinf(t), 0.0, t) * beyond), beyond * beyond
