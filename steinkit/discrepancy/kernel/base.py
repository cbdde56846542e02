"""Radial base kernels for the kernel Stein discrepancy.

The kernels have the form k(x, y) = phi(u) with u = |x - y|^2:

    inverse multiquadric   phi(u) = (c^2 + u)^beta,          beta < 0
    Gaussian               phi(u) = exp(-u / (2 l^2))

The discrepancy of the inverse multiquadric kernel with -1 < beta < 0 detects every sequence of samples that does not
converge to a distantly dissipative target. The Gaussian kernel decays too fast. For d >= 3, a sequence of samples that
escapes to infinity can have a discrepancy near zero [1]_.

References
----------
.. [1] J. Gorham and L. Mackey, "Measuring sample quality with kernels", ICML 2017, theorems 6 and 8.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, fields, replace
from typing import Any, Self

import numpy as np

from steinkit.arguments import number, positive
from steinkit.errors import InputError, UsageError, did_you_mean
from steinkit.sample import Floats

_MEDIAN_POINTS = 2000
_LEAST_SCALE, _LARGEST_SCALE = 1e-30, 1e30  # the fifth powers of these numbers are normal doubles


@dataclass(frozen=True)
class BaseKernel(ABC):
    """Family of radial kernels phi(u).

    The fields of each class are the parameters of the family.

    Attributes
    ----------
    scale : float or None
        Length scale in the units of the draws. If the scale is None, the median distance between the distinct points of
        the sample is used.
    """

    scale: float | None = None

    def __post_init__(self) -> None:
        if self.scale is not None:
            positive(self.scale, "the scale of a kernel")

    def parameters(self) -> tuple[float, ...]:
        """Return the fields in the order of the `radial` arguments.

        The scale must be set.

        Returns
        -------
        tuple of float
            The scale, followed by the other parameters.
        """
        return tuple(float(getattr(self, field.name)) for field in fields(self))

    @staticmethod
    @abstractmethod
    def radial(u: Any, weight: Any, *parameters: Any) -> tuple[Any, Any, Any]:
        """Return phi(u), phi'(u) and weight * phi''(u) for numbers or arrays.

        Callers compile this function. `weight` is an argument because the order of multiplication affects the last bit
        of a product.
        """

    def height(self) -> float:
        """Return the value of the kernel at distance 0.

        Returns
        -------
        float
            phi(0).
        """
        return 1.0

    @abstractmethod
    def suprema(self) -> tuple[float, float, float]:
        """Return upper bounds F, G and H on the kernel and its derivatives.

        The bounds are F >= sup phi, G >= sup 2 r |phi'(r^2)| and H >= sup 2 |phi'| + sup 4 u |phi''|, rounded up. For
        an exponential exp(-e), each supremum includes the factor 1 + e. See `rounding`.
        """

    def conditioning(self) -> float:
        """Return the factor by which phi, phi' and phi'' amplify relative errors in u.

        Returns
        -------
        float
            The factor, excluding the factors that `suprema` includes.
        """
        return 2.0

    def document(self) -> dict[str, str | float | None]:
        """Return the class and the parameters for JSON.

        Returns
        -------
        dict
            The keys "name", "scale" and "exponent". The exponent is None if the family has no exponent.
        """
        return {"name": type(self).__name__, "scale": self.scale, "exponent": None} | vars(self)

    def fitted(self, points: Floats) -> tuple[Self, tuple[str, ...]]:
        """Return the kernel with its scale set.

        The default scale is the median distance between the points.

        Parameters
        ----------
        points : ndarray, shape (n, d)
            Distinct points. If there are more than 2000 points, 2000 evenly spaced points are used.

        Returns
        -------
        kernel : BaseKernel
            The kernel with its scale.
        notes : tuple of str
            A note if only some of the points were used; otherwise, an empty tuple.

        Raises
        ------
        InputError
            If the scale is not between 1e-30 and 1e30, or if a default scale is required for a single point.
        """
        scale, notes = (self.scale, ()) if self.scale is not None else _median_distance(points)
        if not _LEAST_SCALE <= scale <= _LARGEST_SCALE:
            raise InputError(
                f"the scale of the kernel must be between {_LEAST_SCALE:g} and {_LARGEST_SCALE:g}; got {scale:g}: "
                "rescale the draws, or pass the scale"
            )
        return replace(self, scale=scale), notes


@dataclass(frozen=True)
class IMQ(BaseKernel):
    """Inverse multiquadric kernel, (scale^2 + |x - y|^2)^exponent.

    Parameters
    ----------
    scale : float, default 1
        Positive length scale c, in the units of the draws.
    exponent : float, default -0.5
        Power beta, which must be negative. If the power is between -1 and 0, the discrepancy controls convergence.

    Raises
    ------
    UsageError
        If the scale is not positive and finite, or if the exponent is not negative and finite.

    References
    ----------
    .. [1] J. Gorham and L. Mackey, "Measuring sample quality with kernels", ICML 2017.

    Examples
    --------
    >>> import numpy as np, steinkit as sk
    >>> draws = np.random.default_rng(0).standard_normal((500, 2))
    >>> result = sk.kernel_stein_discrepancy(draws, scores=-draws, kernel=sk.IMQ(scale=2.0))
    >>> result.kernel
    IMQ(scale=2.0, exponent=-0.5)
    """

    scale: float = 1.0
    exponent: float = -0.5

    def __post_init__(self) -> None:
        positive(self.scale, "the scale of a kernel")
        number(self.exponent, "the exponent of the IMQ kernel", lambda x: -math.inf < x < 0.0, "negative and finite")

    @staticmethod
    def radial(u: Any, weight: Any, scale: float, exponent: float) -> tuple[Any, Any, Any]:
        """Return phi, phi' and weight * phi''.

        With b = c^2 + u, phi = b^beta, phi' = beta phi / b and phi'' = (beta - 1) phi' / b.

        Parameters
        ----------
        u : float or ndarray
            Squared distances, in squared units of the scale.
        weight : float or ndarray, like u
            Factor that multiplies the second derivative.
        scale : float
            Length scale c.
        exponent : float
            Power beta.

        Returns
        -------
        phi : float or ndarray, like u
            phi(u).
        first : float or ndarray, like u
            phi'(u).
        second : float or ndarray, like u
            weight phi''(u).
        """
        base = scale * scale + u
        phi = 1.0 / np.sqrt(base) if exponent == -0.5 else base**exponent  # a square root costs much less than a power
        first = exponent * phi / base
        return phi, first, weight * ((exponent - 1.0) * first / base)

    def height(self) -> float:
        """Return the value of the kernel at distance 0.

        The value c^(2 beta) may overflow.

        Returns
        -------
        float
            phi(0).
        """
        return float(np.power(self.scale, 2.0 * self.exponent))

    def suprema(self) -> tuple[float, float, float]:
        """Return bounds on the kernel and its derivatives.

        The bounds follow from sqrt(u) <= sqrt(b) and u <= b.

        Returns
        -------
        F : float
            The supremum of phi, which is c^(2 beta).
        G : float
            2 |beta| F / c.
        H : float
            2 |beta| (2 |beta| + 3) F / c^2.
        """
        scale, gamma = np.float64(self.scale), -self.exponent
        slope, bend = 2.0 * gamma * self.height() / scale, 2.0 * gamma * (2.0 * gamma + 3.0) * self.height() / scale**2
        return self.height(), float(slope), float(bend)

    def conditioning(self) -> float:
        """Return 2 + |beta|.

        The power amplifies relative errors by a factor of |beta|.

        Returns
        -------
        float
            The factor.
        """
        return 2.0 + abs(self.exponent)


@dataclass(frozen=True)
class GaussianKernel(BaseKernel):
    """Gaussian kernel, exp(-|x - y|^2 / (2 scale^2)).

    Parameters
    ----------
    scale : float, optional
        Length scale l in the units of the draws. The default is the median distance between the distinct points of the
        sample.

    Raises
    ------
    UsageError
        If the scale is not positive and finite.

    Examples
    --------
    >>> import numpy as np, steinkit as sk
    >>> draws = np.random.default_rng(0).standard_normal((500, 2))
    >>> result = sk.kernel_stein_discrepancy(draws, scores=-draws, kernel=sk.GaussianKernel())
    >>> round(result.kernel.scale, 2)
    1.61
    """

    @staticmethod
    def radial(u: Any, weight: Any, scale: float) -> tuple[Any, Any, Any]:
        """Return phi, phi' and weight * phi''.

        With a = -1 / (2 l^2), phi = exp(a u), phi' = a phi and phi'' = a phi'.

        Parameters
        ----------
        u : float or ndarray
            Squared distances, in squared units of the scale.
        weight : float or ndarray, like u
            Factor that multiplies the second derivative.
        scale : float
            Length scale l.

        Returns
        -------
        phi : float or ndarray, like u
            phi(u).
        first : float or ndarray, like u
            phi'(u).
        second : float or ndarray, like u
            weight phi''(u).
        """
        rate = -0.5 / (scale * scale)
        phi = np.exp(rate * u)
        first = rate * phi
        return phi, first, weight * rate * first

    def suprema(self) -> tuple[float, float, float]:
        """Return bounds on the kernel and its derivatives, with e = u / (2 l^2).

        Returns
        -------
        F : float
            The number 1, which is at least sup (1 + e) exp(-e).
        G : float
            An upper bound on sup sqrt(2 e) (1 + e) exp(-e) / l.
        H : float
            An upper bound on sup (1 + e) exp(-e) / l^2 + sup 2 e (1 + e) exp(-e) / l^2.
        """
        assert self.scale is not None
        return 1.0, 1.05 / self.scale, 2.8 / self.scale**2


_FAMILIES: dict[str, type[BaseKernel]] = {"imq": IMQ, "gaussian": GaussianKernel}


def kernel_names() -> tuple[str, ...]:
    """Return the names of the kernel families."""
    return tuple(_FAMILIES)


def kernel_of(kernel: str | BaseKernel) -> BaseKernel:
    """Return a kernel, or the default kernel of the family with this name.

    Raises
    ------
    UsageError
        If there is no such family.
    """
    if isinstance(kernel, BaseKernel):
        return kernel
    if not isinstance(kernel, str) or kernel not in _FAMILIES:
        names, hint = " or ".join(map(repr, _FAMILIES)), did_you_mean(str(kernel), _FAMILIES)
        raise UsageError(f"`kernel` must be an IMQ, a GaussianKernel, or {names}; got {kernel!r}{hint}")
    return _FAMILIES[kernel]()


def scaled_kernel(kernel: str | BaseKernel, scale: float | None) -> str | BaseKernel:
    """Return the kernel with a new scale, or the given kernel if the scale is None."""
    return kernel if scale is None else replace(kernel_of(kernel), scale=scale)


def _median_distance(points: Floats) -> tuple[float, tuple[str, ...]]:
    """Return the median distance between points of an array of shape (n, d).

    If there are more than 2000 points, 2000 evenly spaced points are used.
    """
    from scipy.spatial.distance import pdist

    if len(points) == 1:
        raise InputError(
            "the default scale of the kernel, the median distance, requires two different draws; got one: pass the "
            "scale, as in kernel=sk.GaussianKernel(scale=1.0)"
        )
    if len(points) <= _MEDIAN_POINTS:
        return float(np.median(pdist(points))), ()
    chosen = points[np.linspace(0, len(points) - 1, _MEDIAN_POINTS).astype(np.int64)]
    note = f"the kernel's scale is the median distance between {_MEDIAN_POINTS} evenly spaced points of the sample"
    return float(np.median(pdist(chosen))), (note,)
