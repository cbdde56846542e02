r"""Diffusion Stein operators, and Stein operators on a box.

Let the target P have density p and score s = grad log p. A diffusion that leaves P invariant defines a Stein operator
[1]_. The operator has a covariance coefficient a(x), which is a symmetric positive semi-definite d x d matrix that
depends smoothly on x:

    (T g)(x) = <a s + div a, g> + <a, grad g> = sum_j drift_j g_j + sum_jk a_jk d_k g_j,

    drift_j = sum_k (a_jk s_k + d_k a_jk),      (div a)_j = sum_k d_k a_jk.

The product p T g is the divergence of the vector field p a'g, so E_P[T g] = 0 if this field vanishes at the boundary.
The coefficient a = I gives the Langevin operator <s, g> + div g. The generator in [1]_ has an additional factor 1/2.

A Stein discrepancy bounds a distance between the sample and the target. The bound depends on how fast the diffusion
converges to P. The Langevin diffusion is slow in heavy tails, where the score is small. Convergence is fast if the
covariance coefficient grows in the tails [1]_, for example as 1 + |x|^2/nu for Student's t distribution with nu degrees
of freedom.

**Bounded support.** The Stein functions of a target on a box satisfy g_j = 0 on each face where coordinate j equals a
finite bound. The flux through a face of coordinate k is the integral of p sum_j a_jk g_j over the face. This integral
vanishes if a_jk = 0 on the face for all j other than k, which is required here.

**Boundary factors** make the Stein functions of a kernel vanish on the faces of a box. Functions in a reproducing
kernel Hilbert space do not vanish on the faces. The Stein functions are therefore g_j = w_j f_j, with f in the unit
ball of the kernel. The factor w_j(x_j) is zero at the finite faces of coordinate j and positive inside [2]_. In [3]_, w
is the standardization function of a truncated density.

**Common form.** The product rule gives

    <b, w f> + <a, grad(w f)> = <b~, f> + <a~, grad f>,      b~_j = w_j b_j + w_j' a_jj,      a~_jk = w_j a_jk.

The Stein kernel on the box is the Stein kernel of a diffusion operator with these coefficients. For the Langevin
operator, with a = I and b = s, the coefficients are a~ = diag(w) and b~_j = w_j s_j + w_j'.

**The factor** of a coordinate with bounds (l, u), for a kernel with scale c, is

    w(x) = h((x - l) / c) h((u - x) / c),      h(t) = t / (1 + t).

If a bound is infinite, its factor is omitted. The factor w lies in [0, 1] and its slope in [-1/c, 1/c], so the bounds
and the smoothness of g = w f are similar to those of f. As the distance from a bound increases, w approaches the factor
without this bound. Far from all bounds, the kernel approaches the kernel on the whole space. The factor w does not
change if the draws and the scale are expressed in a different unit. Near a bound, w is proportional to the distance.
Therefore, p w tends to zero at the bound even if the density p is positive there or diverges like an integrable power
of the distance. Consequently, the mean of the Stein kernel under P is zero. On a domain much narrower than c, w is
small because its slope is at most 1/c. The discrepancy and the distance between any two samples in the domain then
decrease with the width of the domain.

References
----------
.. [1] J. Gorham, A. B. Duncan, S. J. Vollmer and L. Mackey, "Measuring sample quality with diffusions", Ann. Appl.
   Probab. 29 (2019), arXiv:1611.06972.
.. [2] C. J. Oates, M. Girolami and N. Chopin, "Control functionals for Monte Carlo integration", JRSS B 79(3), 2017.
.. [3] W. Xu, "Standardisation-function kernel Stein discrepancy", AISTATS 2022.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from steinkit.errors import InputError, UsageError
from steinkit.finite_differences import numerical_gradient
from steinkit.sample import Floats, Integers, default_names
from steinkit.target import show_point
from steinkit.units import Units, finite_in_units
from steinkit.user_functions import call_checked

# relative to the largest matrix entry; covers rounding errors of an inverse with condition number 1e6
_ROUNDING = 1e-9
_CHECKED_POINTS = 10  # number of points for the comparison with finite differences
_FACE_POINTS = 1000  # number of points that are projected onto each finite face
_RTOL = 1e-3


@dataclass(frozen=True, eq=False)
class Coefficients:
    """Coefficients of a diffusion operator at the points of a sample.

    The operator is T g = <drift, g> + <covariance, grad g>.

    Attributes
    ----------
    drift : ndarray, shape (n, d)
        Coefficients a s + div a of g.
    covariance : ndarray, shape (n, d, d)
        Coefficients a. Entry (j, k) multiplies the derivative of g_j in direction k.
    """

    drift: Floats
    covariance: Floats

    def in_units(self, units: Units) -> Coefficients:
        """Return the coefficients for z = (x - m) / S.

        The coefficients are the drift b / S and the covariance S^-1 a S^-1.

        Raises
        ------
        InputError
            If a coefficient or a product of two units overflows or underflows, or if a nonzero coefficient is not
            between 1e-100 and 1e100 in absolute value.
        """
        if units.kind == "raw":
            return self
        with np.errstate(all="ignore"):
            squared = np.outer(units.scale, units.scale)
            drift, covariance = self.drift / units.scale, self.covariance / squared
        if not (np.finfo(np.float64).tiny <= squared.min() and squared.max() < np.inf):
            covariance = np.full_like(covariance, np.nan)
        return Coefficients(finite_in_units(drift), finite_in_units(covariance))


@dataclass(frozen=True)
class RiemannianLangevin:
    """Stein operator of a Langevin diffusion on a Riemannian manifold.

    The inverse of the covariance coefficient is the metric of the manifold.

    Parameters
    ----------
    covariance : callable, (n, d) -> (n, d, d)
        Function that returns the symmetric positive semi-definite matrix a(x) at each of n points. The diffusion is dZ
        = (a s + div a) dt + sqrt(2 a) dW. The identity gives the Langevin operator.
    divergence : callable, (n, d) -> (n, d)
        Function that returns the row divergence of a. Entry j is the sum over k of d a_jk / d x_k. The values are
        compared with finite differences of the covariance.

    Raises
    ------
    UsageError
        If `covariance` or `divergence` is not a function.

    References
    ----------
    .. [1] J. Gorham, A. B. Duncan, S. J. Vollmer and L. Mackey, "Measuring sample quality with diffusions", Ann. Appl.
       Probab. 29 (2019).

    Examples
    --------
    For Student's t with nu degrees of freedom, a = 1 + x^2/nu:

    >>> import numpy as np, steinkit as sk
    >>> operator = sk.RiemannianLangevin(
    ...     covariance=lambda x: (1.0 + x**2 / 3.0)[:, :, None], divergence=lambda x: 2.0 * x / 3.0
    ... )
    >>> x = np.array([[0.0], [3.0]])
    >>> coefficients = operator.coefficients(x, scores=-4.0 * x / (3.0 + x**2))
    >>> coefficients.drift.ravel(), coefficients.covariance.ravel()
    (array([ 0., -2.]), array([1., 4.]))
    """

    covariance: Callable[[Floats], ArrayLike]
    divergence: Callable[[Floats], ArrayLike]

    def __post_init__(self) -> None:
        for name, given in vars(self).items():
            if not callable(given):
                raise UsageError(f"`{name}` must be a function of an (n, d) array; got {type(given).__name__}")

    def coefficients(
        self, points: Floats, scores: Floats, *, bounds: Floats | None = None, names: tuple[str, ...] = ()
    ) -> Coefficients:
        """Evaluate and check the operator at the points of a sample.

        Parameters
        ----------
        points, scores : ndarray, shape (n, d)
            Distinct points inside the bounds, and their scores.
        bounds : ndarray, shape (d, 2), optional
            Bounds of the target's support.
        names : tuple of str, optional
            Names of the coordinates, for error messages.

        Returns
        -------
        Coefficients
            Drift a s + div a, shape (n, d), and covariance, shape (n, d, d), at the points.

        Raises
        ------
        InputError
            If the covariance or the divergence is not valid. The arrays must have valid shapes and finite values of at
            most 1e100 in absolute value. The covariance must be symmetric and positive semi-definite, up to 1e-9 of the
            largest entry, and, for every coordinate, it must be nonzero at one or more points. The divergence must
            match finite differences of the covariance at up to ten points. If an entry of the covariance must vanish on
            a face of the support, it must be zero at up to 1000 points projected onto the face.
        """
        names = names or default_names(points.shape[1])
        covariance = self._covariance(points)
        divergence = call_checked(self.divergence, points, points.shape, "divergence")
        _require_moderate(covariance, "covariance", points, names)
        _require_moderate(divergence, "divergence", points, names)
        allowed = _ROUNDING * np.abs(covariance).max(axis=(1, 2))
        twisted = np.argwhere(np.abs(covariance - covariance.transpose(0, 2, 1)) > allowed[:, None, None])
        if twisted.size:
            row, j, k = twisted[0].tolist()
            raise InputError(
                f"`covariance` must be symmetric; got {covariance[row, j, k]:.17g} in row {names[j]!r}, column "
                f"{names[k]!r} and {covariance[row, k, j]:.17g} in the transposed entry at {show_point(points[row])}"
            )
        eigenvalues = np.linalg.eigvalsh(covariance)
        negative = np.flatnonzero(eigenvalues[:, 0] < -_ROUNDING * np.abs(eigenvalues).max(axis=1))
        if negative.size:
            raise InputError(
                f"`covariance` must be positive semi-definite; got the eigenvalue {eigenvalues[negative[0], 0]:.6g} at "
                f"{show_point(points[negative[0]])}"
            )
        drift = np.einsum("ijk,ik->ij", covariance, scores) + divergence
        _require_moderate(drift, "drift", points, names)
        silent = ~(drift.any(axis=0) | covariance.any(axis=(0, 2)))
        if silent.any():
            raise InputError(
                f"`covariance` must not vanish at every draw; it is zero in {names[int(silent.argmax())]!r}, where the "
                "operator cannot detect an error"
            )
        self._check_divergence(divergence, points, bounds, names)
        if bounds is not None and len(bounds) > 1:
            self._check_faces(points, bounds, names)
        return Coefficients(drift, covariance)

    def _covariance(self, points: Floats) -> Floats:
        n, dim = points.shape
        return call_checked(self.covariance, points, (n, dim, dim), "covariance")

    def _entry(self, j: int, k: int, points: Floats) -> Floats:
        return self._covariance(points)[:, j, k]

    def _check_divergence(
        self, divergence: Floats, points: Floats, bounds: Floats | None, names: tuple[str, ...]
    ) -> None:
        """Compare the divergence with finite differences of the covariance.

        The method `Target.check` compares scores in the same way.
        """
        rows = _spread(len(points), _CHECKED_POINTS)
        derivatives, uncertainty = self._derivatives(points[rows], bounds)
        given, found = divergence[rows], derivatives.sum(axis=2)
        beyond_noise = np.maximum(np.nan_to_num(np.abs(derivatives)) - 10.0 * uncertainty, 0.0).sum(axis=2)
        noise = uncertainty.sum(axis=2)
        scale = np.maximum(np.maximum(np.abs(given), beyond_noise), np.median(np.abs(given), axis=0))
        judged = (scale > 0.0) & (noise <= 0.1 * _RTOL * scale)
        difference = np.where(judged, np.abs(given - found), 0.0) / np.where(judged, scale, 1.0)
        row, j = np.unravel_index(int(difference.argmax()), difference.shape)
        if difference[row, j] > _RTOL:
            raise InputError(
                "`divergence` must be the sum over k of the derivatives of a_jk in direction k; got "
                f"{given[row, j]:.6g}, and {found[row, j]:.6g} by finite differences, in {names[j]!r} at "
                f"{show_point(points[rows[row]])}"
            )

    def _derivatives(self, points: Floats, bounds: Floats | None) -> tuple[Floats, Floats]:
        """Estimate the derivatives d_k a_jk and their errors.

        The arrays have shape (m, d, d), indexed by j and then by k.
        """
        m, dim = points.shape
        derivatives, uncertainty = np.empty((2, m, dim, dim))
        for j, k in np.ndindex(dim, dim):
            limits = np.zeros((dim, 2))  # this keeps all other coordinates fixed
            limits[k] = (-np.inf, np.inf) if bounds is None else bounds[k]
            slopes, errors = numerical_gradient(partial(self._entry, j, k), points, limits)
            derivatives[:, j, k], uncertainty[:, j, k] = slopes[:, k], errors[:, k]
        return derivatives, uncertainty

    def _check_faces(self, points: Floats, bounds: Floats, names: tuple[str, ...]) -> None:
        """Check that off-diagonal covariances vanish on the finite faces.

        On a face of coordinate j, these entries are the covariances of j with the other coordinates.
        """
        rows = _spread(len(points), _FACE_POINTS)
        for j, side in zip(*np.nonzero(np.isfinite(bounds)), strict=True):
            projected = points[rows]
            projected[:, j] = bounds[j, side]
            covariance = self._covariance(projected)
            across, limit = np.abs(covariance[:, :, j]), _ROUNDING * np.abs(covariance).max(axis=(1, 2))
            across[:, j] = 0.0
            bad = np.argwhere(~(across <= limit[:, None]))  # this condition is also true for NaN
            if bad.size:
                row, k = bad[0]
                raise InputError(
                    f"`covariance` between {names[k]!r} and {names[j]!r} must be 0 on the bound "
                    f"{bounds[j, side]:g} of {names[j]!r}; got {covariance[row, k, j]:.6g} at "
                    f"{show_point(projected[row])}: multiply this entry by the distance from the bound"
                )


def _spread(n: int, most: int) -> Integers:
    """Return at most `most` evenly spaced rows out of n."""
    return np.unique(np.linspace(0, n - 1, min(n, most)).astype(np.int64))


def _require_moderate(values: Floats, name: str, points: Floats, names: tuple[str, ...]) -> None:
    bad = np.argwhere(~(np.abs(values) <= 1e100))  # this condition is also true for NaN
    if bad.size:
        row, *entry = map(int, bad[0])
        where = ", ".join(repr(names[k]) for k in entry)
        raise InputError(
            f"`{name}` must be finite and at most 1e100 in absolute value; got {values[tuple(bad[0])]} in {where} at "
            f"{show_point(points[row])}"
        )


def boundary_factor(points: Floats, bounds: Floats, scale: float) -> tuple[Floats, Floats, Floats]:
    """Return the boundary factors w_j(x_j) and their derivatives.

    A bound on the terms of each derivative is also returned.

    Parameters
    ----------
    points : ndarray, shape (n, d)
        Points within the bounds.
    bounds : ndarray, shape (d, 2)
    scale : float
        Scale c of the kernel, in the units of the points.

    Returns
    -------
    factor, slope, size : ndarray, shape (n, d)
        Factor, derivative and bound, with |slope| <= size. The rounding error of the slope is a small multiple of the
        unit roundoff times the size.
    """
    lower, rise = _approach((points - bounds[:, 0]) / scale)
    upper, fall = _approach((bounds[:, 1] - points) / scale)
    rising, falling = rise * upper / scale, lower * fall / scale
    return lower * upper, rising - falling, rising + falling


def _approach(t: Floats) -> tuple[Floats, Floats]:
    """Return h(t) = t / (1 + t) and its derivative.

    The limits at infinity are 1 and 0.
    """
    beyond = 1.0 / (1.0 + t)
    return np.where(np.isinf(t), 1.0, np.where(np.isinf(t), 0.0, t) * beyond), beyond * beyond
