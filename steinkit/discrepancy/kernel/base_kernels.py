"""Base kernels for the kernel Stein discrepancy: radial, k(x, y) = phi(u) with u = |x - y|^2, a class a family.

    inverse multiquadric   phi(u) = (c^2 + u)^beta,                     beta < 0
    Gaussian               phi(u) = exp(-u / (2 l^2))
    Matern 5/2             phi(u) = (1 + t + t^2 / 3) exp(-t),          t = sqrt(5 u) / l

The inverse multiquadric with -1 < beta < 0 detects every sample sequence that does not converge to a distantly
dissipative target. The Gaussian and Matern kernels decay too fast for that: from d = 3 on, a sample that escapes to
infinity can have a discrepancy near zero (Gorham and Mackey 2017, theorems 6 and 8).

A new family is a further class here, with all that `BaseKernel` asks of it; nothing else has to know it.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Self

import numpy as np

from steinkit.arguments import number, positive
from steinkit.errors import InputError, UsageError, did_you_mean
from steinkit.sample import Floats

_MEDIAN_POINTS = 2000
_FAMILIES: dict[str, type[BaseKernel]] = {}


@dataclass(frozen=True)
class BaseKernel(ABC):
    """A family of radial kernels, phi(u), and what is known of it; its fields are its parameters.

    Attributes
    ----------
    name : str
        What the family is called in arguments and on the command line.
    scale : float or None
        Length, in the unit of the draws; None for the median distance between the sample's distinct points.
    """

    name: ClassVar[str]
    scale: float | None = None

    def __init_subclass__(cls) -> None:
        _FAMILIES[cls.name] = cls

    def __post_init__(self) -> None:
        if self.scale is not None:
            positive(self.scale, "the scale of a kernel")

    def parameters(self) -> tuple[float, ...]:
        """The fields as `radial` takes them; the scale must be known.

        Returns
        -------
        tuple of float
            In the order of `radial`, the scale first.
        """
        return tuple(float(getattr(self, field.name)) for field in fields(self))

    @staticmethod
    @abstractmethod
    def radial(u: Any, weight: Any, *parameters: Any) -> tuple[Any, Any, Any]:
        """Give phi(u), phi'(u) and weight phi''(u), of numbers or arrays, for the parameters in their order.

        Compiled where it is used, so that it can be no method. The order in which a product of three factors is taken
        decides its last bit: hence the weight.
        """

    def height(self) -> float:
        """Value of the kernel at distance 0, which may overflow.

        Returns
        -------
        float
            phi(0).
        """
        return 1.0

    @abstractmethod
    def suprema(self) -> tuple[float, float, float]:
        """F >= sup phi, G >= sup 2 r |phi'(r^2)| and H >= sup 2 |phi'| + sup 4 u |phi''|, rounded up.

        Of an exponential exp(-e), with a factor 1 + e under each supremum; see `rounding`.
        """

    def conditioning(self) -> float:
        """How many times a relative error of u counts in phi, phi' and phi'', the factors of `suprema` apart.

        Returns
        -------
        float
            2, if not overridden.
        """
        return 2.0

    def in_units(self, length: int) -> tuple[Self, float]:
        """The same kernel of points in units 2^length; the scale must be known.

        Parameters
        ----------
        length : int
            Binary exponent of the unit.

        Returns
        -------
        kernel : BaseKernel
            Of the same family, its scale in the new unit.
        exponent : float
            Of the power of two that this kernel is to be multiplied by; 0 if not overridden.
        """
        assert self.scale is not None
        return replace(self, scale=math.ldexp(self.scale, -length)), 0.0

    def document(self) -> dict[str, Any]:
        """Class and parameters for JSON.

        Returns
        -------
        dict
            "name", "scale" and "exponent", which is None where the family has none.
        """
        return {"name": type(self).__name__, "scale": self.scale, "exponent": None} | vars(self)

    def fitted(self, points: Floats) -> tuple[Self, tuple[str, ...]]:
        """The kernel with its scale filled in, if need be, by the median distance between points.

        Parameters
        ----------
        points : ndarray, shape (n, d)
            Distinct points. Of more than 2000, 2000 evenly spaced ones are taken.

        Returns
        -------
        kernel : BaseKernel
            Itself, where its scale is given.
        notes : tuple of str
            What there is to say of how the scale was found.

        Raises
        ------
        InputError
            If there is one point only, or the median distance is 0 or overflows.
        """
        if self.scale is not None:
            return self, ()
        scale, notes = _median_distance(points)
        return replace(self, scale=scale), notes


@dataclass(frozen=True)
class IMQ(BaseKernel):
    """Inverse multiquadric kernel, (scale^2 + |x - y|^2)^exponent.

    Parameters
    ----------
    scale : float
        Length c, in the unit of the draws; positive.
    exponent : float
        Power beta, negative; between -1 and 0 the discrepancy controls convergence.

    Raises
    ------
    UsageError
        If the scale is not positive and finite, or the exponent not negative and finite.
    """

    name: ClassVar[str] = "imq"
    scale: float = 1.0
    exponent: float = -0.5

    def __post_init__(self) -> None:
        positive(self.scale, "the scale of a kernel")
        number(self.exponent, "the exponent of the IMQ kernel", lambda x: -math.inf < x < 0.0, "negative and finite")

    @staticmethod
    def radial(u: Any, weight: Any, scale: float, exponent: float) -> tuple[Any, Any, Any]:
        """With b = c^2 + u: phi = b^beta, phi' = beta phi / b, phi'' = (beta - 1) phi' / b.

        Parameters
        ----------
        u : float or ndarray
            Squared distances |x - y|^2, in the square of the unit of the scale.
        weight : float or ndarray, like u
            Factor of the second derivative.
        scale : float
            Length c.
        exponent : float
            Power beta.

        Returns
        -------
        phi, first : float or ndarray, like u
            phi(u) and phi'(u).
        second : float or ndarray, like u
            weight phi''(u).
        """
        base = scale * scale + u
        phi = 1.0 / np.sqrt(base) if exponent == -0.5 else base**exponent  # a root is much cheaper than a power
        first = exponent * phi / base
        return phi, first, weight * ((exponent - 1.0) * first / base)

    def height(self) -> float:
        """Value of the kernel at distance 0, c^(2 beta), which may overflow.

        Returns
        -------
        float
            phi(0).
        """
        return float(np.power(self.scale, 2.0 * self.exponent))

    def in_units(self, length: int) -> tuple[Self, float]:
        """The same kernel of points in units 2^length: (c^2 + u)^beta is homogeneous of degree 2 beta in lengths.

        Parameters
        ----------
        length : int
            Binary exponent of the unit.

        Returns
        -------
        kernel : IMQ
            With its scale in the new unit.
        exponent : float
            2 beta length: the power of two that this kernel is to be multiplied by.
        """
        kernel, _ = super().in_units(length)
        return kernel, 2.0 * self.exponent * length

    def suprema(self) -> tuple[float, float, float]:
        """Bounds of the kernel and its derivatives: sqrt(u) <= sqrt(b) and u <= b, and powers of b fall.

        Returns
        -------
        F : float
            c^(2 beta), the supremum of phi.
        G : float
            At least sup 2 r |phi'(r^2)|: 2 |beta| F / c.
        H : float
            At least sup 2 |phi'| + sup 4 u |phi''|: 2 |beta| (2 |beta| + 3) F / c^2.
        """
        scale, gamma = np.float64(self.scale), -self.exponent
        slope, bend = 2.0 * gamma * self.height() / scale, 2.0 * gamma * (2.0 * gamma + 3.0) * self.height() / scale**2
        return self.height(), float(slope), float(bend)

    def conditioning(self) -> float:
        """How many times a relative error of u counts: the power beta multiplies an error of its base by |beta|.

        Returns
        -------
        float
            2 + |beta|.
        """
        return 2.0 + abs(self.exponent)


@dataclass(frozen=True)
class GaussianKernel(BaseKernel):
    """Gaussian kernel, exp(-|x - y|^2 / (2 scale^2)).

    Parameters
    ----------
    scale : float, optional
        Length l, in the unit of the draws; the median distance between the sample's distinct points if not given.

    Raises
    ------
    UsageError
        If the scale is not positive and finite.
    """

    name: ClassVar[str] = "gaussian"

    @staticmethod
    def radial(u: Any, weight: Any, scale: float) -> tuple[Any, Any, Any]:
        """With a = -1 / (2 l^2): phi = exp(a u), phi' = a phi, phi'' = a phi'.

        Parameters
        ----------
        u : float or ndarray
            Squared distances |x - y|^2, in the square of the unit of the scale.
        weight : float or ndarray, like u
            Factor of the second derivative.
        scale : float
            Length l.

        Returns
        -------
        phi, first : float or ndarray, like u
            phi(u) and phi'(u).
        second : float or ndarray, like u
            weight phi''(u).
        """
        rate = -0.5 / (scale * scale)
        phi = np.exp(rate * u)
        first = rate * phi
        return phi, first, weight * rate * first

    def suprema(self) -> tuple[float, float, float]:
        """Bounds of the kernel and its derivatives, with e = u / (2 l^2).

        Returns
        -------
        F : float
            1, at least sup (1 + e) exp(-e).
        G : float
            At least sup sqrt(2 e) (1 + e) exp(-e) / l.
        H : float
            At least sup (1 + e) exp(-e) / l^2 + sup 2 e (1 + e) exp(-e) / l^2.
        """
        return 1.0, *_per_length(self.scale, 1.05, 2.8)


@dataclass(frozen=True)
class MaternKernel(BaseKernel):
    """Matern kernel of smoothness 5/2, (1 + t + t^2 / 3) exp(-t) with t = sqrt(5) |x - y| / scale.

    Parameters
    ----------
    scale : float, optional
        Length l, in the unit of the draws; the median distance between the sample's distinct points if not given.

    Raises
    ------
    UsageError
        If the scale is not positive and finite.
    """

    name: ClassVar[str] = "matern"

    @staticmethod
    def radial(u: Any, weight: Any, scale: float) -> tuple[Any, Any, Any]:
        """With a = 5 / (6 l^2): phi' = -a (1 + t) exp(-t), phi'' = 3 a^2 exp(-t).

        Parameters
        ----------
        u : float or ndarray
            Squared distances |x - y|^2, in the square of the unit of the scale.
        weight : float or ndarray, like u
            Factor of the second derivative.
        scale : float
            Length l.

        Returns
        -------
        phi, first : float or ndarray, like u
            phi(u) and phi'(u).
        second : float or ndarray, like u
            weight phi''(u).
        """
        rate = 5.0 / (6.0 * scale * scale)
        t = np.sqrt(6.0 * rate * u)
        decay = np.exp(-t)
        phi = (1.0 + t + t * t / 3.0) * decay
        return phi, -rate * (1.0 + t) * decay, weight * (3.0 * rate * rate * decay)

    def suprema(self) -> tuple[float, float, float]:
        """Bounds of the kernel and its derivatives, with a = 5 / (6 l^2).

        Returns
        -------
        F : float
            At least sup (1 + t) (1 + t + t^2 / 3) exp(-t).
        G : float
            At least sqrt(a / 6) sup 2 t (1 + t)^2 exp(-t).
        H : float
            At least a (sup 2 (1 + t)^2 exp(-t) + sup 2 t^2 (1 + t) exp(-t)).
        """
        return 1.82, *_per_length(self.scale, 1.9, 5.5)


def kernel_names() -> tuple[str, ...]:
    """Names of the families."""
    return tuple(_FAMILIES)


def kernel_of(kernel: str | BaseKernel) -> BaseKernel:
    """The kernel meant by a name, which stands for the family's defaults, or itself.

    Raises
    ------
    UsageError
        If there is none.
    """
    if isinstance(kernel, BaseKernel):
        return kernel
    known = ", ".join(_FAMILIES)
    if not isinstance(kernel, str):
        *others, last = (family.__name__ for family in _FAMILIES.values())
        raise UsageError(f"kernel must be one of {known}, or an {', '.join(others)} or {last}; received {kernel!r}")
    if kernel not in _FAMILIES:
        raise UsageError(f"no kernel named {kernel!r}{did_you_mean(kernel, _FAMILIES)}; known are {known}")
    return _FAMILIES[kernel]()


def scaled_kernel(kernel: str | BaseKernel, scale: float | None) -> str | BaseKernel:
    """A base kernel with the scale asked for, if one is."""
    return kernel if scale is None else replace(kernel_of(kernel), scale=scale)


def _per_length(scale: float | None, slope: float, bend: float) -> tuple[float, float]:
    """Bounds of a first and a second derivative at the scale 1, taken to this one; they may overflow."""
    assert scale is not None
    length = np.float64(scale)
    return float(slope / length), float(bend / length**2)


def _median_distance(points: Floats) -> tuple[float, tuple[str, ...]]:
    """Median distance between points (n, d); of many points, of evenly spaced ones among them."""
    from scipy.spatial.distance import pdist

    if len(points) == 1:
        raise InputError(
            "all draws are the same point, so there is no median distance to set the kernel's scale by; "
            "give the scale, as in kernel=sk.GaussianKernel(scale=1.0)"
        )
    notes: tuple[str, ...] = ()
    chosen = points
    if len(points) > _MEDIAN_POINTS:
        chosen = points[np.linspace(0, len(points) - 1, _MEDIAN_POINTS).astype(np.int64)]
        notes = (
            f"the kernel's scale is the median distance of {_MEDIAN_POINTS} evenly spaced points among the sample",
        )
    unit = int(np.frexp(np.abs(chosen).max())[1])  # so that no square of a distance over- or underflows in vain
    with np.errstate(over="ignore"):
        scale = float(np.ldexp(np.median(pdist(np.ldexp(chosen, -unit))), unit))
    if not 0.0 < scale < math.inf:
        raise InputError(
            f"the median distance between points is {scale}, which cannot set the kernel's scale; "
            "rescale the draws, or give the scale"
        )
    return scale, notes
