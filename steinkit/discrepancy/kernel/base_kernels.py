"""Base kernels for the kernel Stein discrepancy: radial, k(x, y) = phi(u) with u = |x - y|^2.

    inverse multiquadric   phi(u) = (c^2 + u)^beta,                     beta < 0
    Gaussian               phi(u) = exp(-u / (2 l^2))
    Matern 5/2             phi(u) = (1 + t + t^2 / 3) exp(-t),          t = sqrt(5 u) / l

The inverse multiquadric with -1 < beta < 0 detects every sample sequence that does not converge to a distantly
dissipative target. The Gaussian and Matern kernels decay too fast for that: from d = 3 on, a sample that escapes to
infinity can have a discrepancy near zero (Gorham and Mackey 2017, theorems 6 and 8).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from steinkit.discrepancy.kernel.langevin_kernels import GAUSSIAN, IMQ_FAMILY, MATERN
from steinkit.errors import InputError, UsageError, did_you_mean
from steinkit.sample import Floats

_MEDIAN_POINTS = 2000


@dataclass(frozen=True)
class IMQ:
    """Inverse multiquadric kernel, (scale^2 + |x - y|^2)^exponent.

    Parameters
    ----------
    scale : float
        c, in the unit of the draws; positive.
    exponent : float
        beta, negative; between -1 and 0 the discrepancy controls convergence.
    """

    scale: float = 1.0
    exponent: float = -0.5

    def __post_init__(self) -> None:
        _require_positive(self.scale)
        if not -math.inf < self.exponent < 0.0:
            raise UsageError(f"the exponent of the IMQ kernel must be negative; received {self.exponent}")


@dataclass(frozen=True)
class GaussianKernel:
    """Gaussian kernel, exp(-|x - y|^2 / (2 scale^2)).

    Parameters
    ----------
    scale : float, optional
        l, in the unit of the draws; the median distance between the sample's distinct points if not given.
    """

    scale: float | None = None

    def __post_init__(self) -> None:
        if self.scale is not None:
            _require_positive(self.scale)


@dataclass(frozen=True)
class MaternKernel:
    """Matern kernel of smoothness 5/2, (1 + t + t^2 / 3) exp(-t) with t = sqrt(5) |x - y| / scale.

    Parameters
    ----------
    scale : float, optional
        l, in the unit of the draws; the median distance between the sample's distinct points if not given.
    """

    scale: float | None = None

    def __post_init__(self) -> None:
        if self.scale is not None:
            _require_positive(self.scale)


BaseKernel = IMQ | GaussianKernel | MaternKernel
_NAMED = {"imq": IMQ, "gaussian": GaussianKernel, "matern": MaternKernel}


def fitted(kernel: str | BaseKernel, points: Floats) -> tuple[BaseKernel, tuple[str, ...]]:
    """The kernel meant, its scale filled in from distinct points (n, d) if need be, and what to say about that."""
    chosen = _named(kernel)
    if chosen.scale is not None:
        return chosen, ()
    scale, notes = _median_distance(points)
    return replace(chosen, scale=scale), notes


def compiled_form(kernel: BaseKernel) -> tuple[int, float, float]:
    """Family, scale and exponent, as the compiled kernels take them; the scale must be known."""
    assert kernel.scale is not None
    if isinstance(kernel, IMQ):
        return IMQ_FAMILY, float(kernel.scale), float(kernel.exponent)
    return (GAUSSIAN if isinstance(kernel, GaussianKernel) else MATERN), float(kernel.scale), 0.0


def _named(kernel: str | BaseKernel) -> BaseKernel:
    if isinstance(kernel, IMQ | GaussianKernel | MaternKernel):
        return kernel
    known = ", ".join(_NAMED)
    if not isinstance(kernel, str):
        raise UsageError(
            f"kernel must be one of {known}, or an IMQ, GaussianKernel or MaternKernel; received {kernel!r}"
        )
    if kernel not in _NAMED:
        raise UsageError(f"no kernel named {kernel!r}; known are {known}{did_you_mean(kernel, _NAMED)}")
    named: BaseKernel = _NAMED[kernel]()
    return named


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
    scale = float(np.median(pdist(chosen)))
    if not 0.0 < scale < math.inf:
        raise InputError(
            f"the median distance between points is {scale}, which cannot set the kernel's scale; "
            "rescale the draws, or give the scale"
        )
    return scale, notes


def _require_positive(scale: float) -> None:
    if not 0.0 < scale < math.inf:
        raise UsageError(f"the scale of a kernel must be a positive number; received {scale}")
