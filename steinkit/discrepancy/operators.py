r"""Diffusion Stein operators, other operators than Langevin's for the same target; and operators on a box.

A diffusion that leaves the target P, of density p and score s = grad log p, invariant gives a Stein operator [1]_. With
a covariance coefficient a(x), a symmetric positive semi-definite d x d matrix that depends smoothly on x,

    (T g)(x) = <a s + div a, g> + <a, grad g> = sum_j drift_j g_j + sum_jk a_jk d_k g_j,

    drift_j = sum_k (a_jk s_k + d_k a_jk),      (div a)_j = sum_k d_k a_jk.

p T g is the divergence of the vector field p a'g, so that E_P[T g] = 0 wherever that field vanishes at the ends. a = I
is the Langevin operator <s, g> + div g exactly. The generator in [1]_ has a factor 1/2, which is left out here.

Why another operator: how well a Stein discrepancy bounds a distance between sample and target depends on how fast the
diffusion forgets where it started. The Langevin diffusion is slow in heavy tails, where the score fades; one with a
covariance coefficient that grows there, such as 1 + |x|^2/nu for Student's t with nu degrees of freedom, is not [1]_.

**Bounded support.** The Stein functions of a target on a box have g_j = 0 on the finite faces of coordinate j. What
flows through a face of coordinate k is the integral of p sum_j a_jk g_j over it: it vanishes if a_jk = 0 there for
every j other than k, which is asked for.

**Boundary factors** make the Stein functions of a kernel vanish on the faces of a box. On a support with finite bounds,
E_P[<b, g> + <a, grad g>] = 0 asks that nothing flows out through the faces, as above. Functions of a reproducing kernel
are not zero there, so the Stein functions are taken as g_j = w_j f_j with f in the kernel's unit ball and a factor
w_j(x_j) that is zero at the finite faces of coordinate j and positive inside ([2]_; [3]_, where w is the
standardisation function of a truncated density).

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
.. [1] J. Gorham, A. B. Duncan, S. J. Vollmer and L. Mackey, "Measuring sample quality with diffusions", Ann. Appl.
   Probab. 29 (2019), arXiv:1611.06972.
.. [2] C. J. Oates, M. Girolami and N. Chopin, "Control functionals for Monte Carlo integration", JRSS B 79(3), 2017.
.. [3] W. Xu, "Standardisation-function kernel Stein discrepancy", AISTATS 2022.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from steinkit.errors import InputError, UsageError
from steinkit.sample import Floats, Integers, default_names
from steinkit.target import call_checked, show_point
from steinkit.units import Units, finite_in_units

_ROUNDING = 1e-9  # of a matrix's largest entry: the rounding of an inverse of condition 1e6
_CHECKED_POINTS = 10  # where the divergence is held against finite differences
_FACE_POINTS = 1000  # projected onto every finite face
_RTOL = 1e-3


@dataclass(frozen=True, eq=False)
class Coefficients:
    """A diffusion operator at the points of a sample: T g = <drift, g> + <covariance, grad g>.

    Attributes
    ----------
    drift : ndarray, shape (n, d)
        a s + div a: what multiplies g.
    covariance : ndarray, shape (n, d, d)
        a: entry (j, k) multiplies the derivative of g_j in direction k.
    """

    drift: Floats
    covariance: Floats

    def in_units(self, units: Units) -> Coefficients:
        """Those of the same diffusion in other units: of z = (x - m) / S, the drift b / S, and S^-1 a S^-1.

        Raises
        ------
        InputError
            If one of them, or a square of a unit, is no double.
        """
        if units.kind == "raw":
            return self
        with np.errstate(over="ignore", under="ignore", divide="ignore", invalid="ignore"):  # refused at once
            squared = np.outer(units.scale, units.scale)
            drift, covariance = self.drift / units.scale, self.covariance / squared
        if not (np.finfo(np.float64).tiny <= squared.min() and squared.max() < np.inf):
            covariance = np.full_like(covariance, np.nan)
        return Coefficients(finite_in_units(drift), finite_in_units(covariance))


@dataclass(frozen=True)
class RiemannianLangevin:
    """The Langevin diffusion on a Riemannian manifold whose metric is the inverse of a covariance coefficient.

    Parameters
    ----------
    covariance : callable, (n, d) -> (n, d, d)
        Coefficient a(x), symmetric positive semi-definite, at each of n points. In the normalisation of this package
        the identity gives the Langevin operator; the diffusion is dZ = (a s + div a) dt + sqrt(2 a) dW.
    divergence : callable, (n, d) -> (n, d)
        Its row divergence, entry j the sum over k of d a_jk / d x_k. Held against finite differences wherever the
        operator is used.

    Raises
    ------
    UsageError
        If one of the two is not a function.

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
                raise UsageError(f"{name} must be a function of an (n, d) array; received {type(given).__name__}")

    def coefficients(
        self,
        points: Floats,
        scores: Floats,
        *,
        bounds: Floats | None = None,
        names: tuple[str, ...] = (),
        first: Integers | None = None,
    ) -> Coefficients:
        """Evaluate the operator at the points of a sample, and check it.

        Parameters
        ----------
        points, scores : ndarray, shape (n, d)
            Distinct points, inside the bounds, and the target's score there.
        bounds : ndarray, shape (d, 2), optional
            Bounds of the target's support.
        names : tuple of str, optional
            What error messages call the coordinates.
        first : ndarray of int, shape (n,), optional
            Which draw of a sample, from 0, each point is: what error messages call it.

        Returns
        -------
        Coefficients
            Covariance, shape (n, d, d), and drift a s + div a, shape (n, d), at the points.

        Raises
        ------
        InputError
            If the covariance or the divergence returns another shape or a value that is not finite; if the covariance
            is not symmetric or not positive semi-definite, to within 1e-9 of a matrix's largest entry; if it vanishes
            at all points in some coordinate, which the operator then does not see; if the divergence is not that of
            the covariance, as finite differences at up to ten points can tell; or if an entry of the covariance that
            must vanish on a face of the support, judged at up to 1000 points projected onto it, does not.
        """
        sample = _Places(points, names or default_names(points.shape[1]), first)
        covariance = self._covariance(points)
        divergence = call_checked(self.divergence, points, points.shape, "divergence")
        _require_finite(covariance, "covariance", sample)
        _require_finite(divergence, "divergence", sample)
        allowed = _ROUNDING * np.abs(covariance).max(axis=(1, 2))
        twisted = np.argwhere(np.abs(covariance - covariance.transpose(0, 2, 1)) > allowed[:, None, None])
        if twisted.size:
            row, j, k = twisted[0].tolist()
            raise InputError(
                f"the covariance at {sample.at(row)} is not symmetric: {covariance[row, j, k]:.17g} in row "
                f"{sample.names[j]!r}, column {sample.names[k]!r} and {covariance[row, k, j]:.17g} the other way round"
            )
        eigenvalues = np.linalg.eigvalsh(covariance)
        negative = np.flatnonzero(eigenvalues[:, 0] < -_ROUNDING * np.abs(eigenvalues).max(axis=1))
        if negative.size:
            raise InputError(
                f"the covariance at {sample.at(negative[0])} is not positive semi-definite: it has the eigenvalue "
                f"{eigenvalues[negative[0], 0]:.6g}"
            )
        drift = np.einsum("ijk,ik->ij", covariance, scores) + divergence
        _require_finite(drift, "drift a s + div a", sample)
        silent = ~(drift.any(axis=0) | covariance.any(axis=(0, 2)))
        if silent.any():
            raise InputError(
                f"the covariance is zero in coordinate {sample.names[int(silent.argmax())]!r} at every draw: the "
                "operator does not see that coordinate; choose one that is positive definite at most points"
            )
        self._check_divergence(divergence, sample, bounds)
        if bounds is not None and len(bounds) > 1:
            self._check_faces(sample, bounds)
        return Coefficients(drift, covariance)

    def _covariance(self, points: Floats) -> Floats:
        n, dim = points.shape
        return call_checked(self.covariance, points, (n, dim, dim), "covariance")

    def _check_divergence(self, divergence: Floats, sample: _Places, bounds: Floats | None) -> None:
        """Hold the divergence against finite differences of the covariance, as `Target.check` does a score."""
        rows = _spread(len(sample.points), _CHECKED_POINTS)
        derivatives, uncertainty = self._derivatives(sample.points[rows], bounds)
        given, found = divergence[rows], derivatives.sum(axis=2)
        beyond_noise = np.maximum(np.nan_to_num(np.abs(derivatives)) - 10.0 * uncertainty, 0.0).sum(axis=2)
        noise = uncertainty.sum(axis=2)
        scale = np.maximum(np.maximum(np.abs(given), beyond_noise), np.median(np.abs(given), axis=0))
        judged = (scale > 0.0) & (noise <= 0.1 * _RTOL * scale)
        difference = np.where(judged, np.abs(given - found), 0.0) / np.where(judged, scale, 1.0)
        row, j = np.unravel_index(int(difference.argmax()), difference.shape)
        if difference[row, j] > _RTOL:
            raise InputError(
                f"the divergence is not that of the covariance: at {show_point(sample.points[rows[row]])}, "
                f"coordinate {sample.names[j]!r}, it says {given[row, j]:.6g} and finite differences say "
                f"{found[row, j]:.6g}; entry j must be the sum over k of the derivative of a_jk in direction k"
            )

    def _derivatives(self, points: Floats, bounds: Floats | None) -> tuple[Floats, Floats]:
        """Derivatives d_k a_jk and their estimated errors, each of shape (m, d, d) with j before k.

        Every point stands d times, with the row j that is looked at for a further coordinate. Limits that leave no
        room hold all coordinates but the k-th still.
        """
        from steinkit.target import numerical_gradient

        m, dim = points.shape
        labelled = np.column_stack([np.repeat(points, dim, axis=0), np.tile(np.arange(dim), m)])
        derivatives, uncertainty = np.empty((2, m, dim, dim))
        for k in range(dim):

            def entries(moved: Floats, k: int = k) -> Floats:
                entry = np.arange(len(moved)), moved[:, -1].astype(np.int64), k
                return np.asarray(self._covariance(moved[:, :-1])[entry])

            limits = np.zeros((dim + 1, 2))
            limits[k] = (-np.inf, np.inf) if bounds is None else bounds[k]
            slopes, errors = numerical_gradient(entries, labelled, limits)
            derivatives[:, :, k], uncertainty[:, :, k] = slopes[:, k].reshape(m, dim), errors[:, k].reshape(m, dim)
        return derivatives, uncertainty

    def _check_faces(self, sample: _Places, bounds: Floats) -> None:
        """On each finite face of coordinate j, what the other coordinates push through it must vanish."""
        rows = _spread(len(sample.points), _FACE_POINTS)
        for j, side in zip(*np.nonzero(np.isfinite(bounds)), strict=True):
            projected = sample.points[rows]
            projected[:, j] = bounds[j, side]
            covariance = self._covariance(projected)
            across, limit = np.abs(covariance[:, :, j]), _ROUNDING * np.abs(covariance).max(axis=(1, 2))
            across[:, j] = 0.0
            bad = np.argwhere(~(across <= limit[:, None]))  # also refuses NaN
            if bad.size:
                row, k = bad[0]
                raise InputError(
                    f"the covariance at {show_point(projected[row])}, on the bound {bounds[j, side]:g} of "
                    f"{sample.names[j]!r}, is {covariance[row, k, j]:.6g} between {sample.names[k]!r} and "
                    f"{sample.names[j]!r}; it must be 0 on the faces of the support, or the operator's mean under "
                    "the target is not zero: multiply that entry by the distance from the bound"
                )


@dataclass(frozen=True, eq=False)
class _Places:
    """Points, and what error messages call them."""

    points: Floats
    names: tuple[str, ...]
    first: Integers | None

    def at(self, row: int) -> str:
        number = row if self.first is None else int(self.first[row])
        return f"draw {number + 1}, {show_point(self.points[row])}"


def _spread(n: int, most: int) -> Integers:
    """Up to so many of n rows, evenly spread."""
    return np.unique(np.linspace(0, n - 1, min(n, most)).astype(np.int64))


def _require_finite(values: Floats, what: str, sample: _Places) -> None:
    bad = np.argwhere(~np.isfinite(values))
    if bad.size:
        row, *entry = map(int, bad[0])
        where = ", ".join(repr(sample.names[k]) for k in entry)
        raise InputError(
            f"the {what} at {sample.at(row)} is {values[tuple(bad[0])]} in {where}; it must be finite at every draw"
        )


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
