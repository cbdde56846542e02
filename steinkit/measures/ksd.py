"""The kernel Stein discrepancy as a measure, with the test that goes with it."""

# ruff: noqa: RUF009  (what an option's field() gives is a field of the dataclass)
from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from steinkit.describe.kernel import describe_kernel
from steinkit.measures.base import Measure, Measurement, bracketed
from steinkit.measures.options import BOUNDS, MAX_SECONDS, N_JOBS, OPERATOR, UNITS, Option
from steinkit.sample import Floats, Sample
from steinkit.target import Target

if TYPE_CHECKING:
    from steinkit.discrepancy.kernel.base_kernels import BaseKernel
    from steinkit.discrepancy.operators import RiemannianLangevin
    from steinkit.discrepancy.units import UnitsLike

_BOOTSTRAP = 1000


@dataclass(frozen=True, kw_only=True)
class _KernelOption(Option):
    """A base kernel, or the name of one."""

    may_be_object: ClassVar[bool] = True

    def recorded(self, value: Any) -> Any:
        """Its name, or else what it prints itself as."""
        return value if isinstance(value, str) else repr(value)


def _kernel_names() -> tuple[str, ...]:
    from steinkit.discrepancy.kernel.base_kernels import kernel_names

    return kernel_names()


@dataclass(frozen=True)
class KernelSettings:
    """See `kernel_stein_discrepancy`; `bootstrap` and `seed` are of the test's p-value."""

    bounds: Floats | None = BOUNDS.field()
    units: UnitsLike | None = UNITS.field()
    operator: RiemannianLangevin | None = OPERATOR.field()
    kernel: str | BaseKernel = _KernelOption(default="imq", choices=_kernel_names, help="Base kernel").field()
    kernel_scale: float | None = Option(
        metavar="SCALE", help="Scale of the base kernel in the units chosen. Its own default if not given"
    ).field()
    statistic: Literal["v", "u"] = Option(
        default="v",
        choices=lambda: ("v", "u"),
        implies={"u": {"squared": True}},
        help="V- or U-statistic. The latter comes squared",
    ).field()
    squared: bool = Option(default=False, read=bool).field()
    bootstrap: int = Option(
        default=0,
        read=int,
        flag="p-value",
        switched_on=_BOOTSTRAP,
        of_one_sample=True,
        help="Also test whether the draws come from the target. By the V-statistic, the draws in their order, with "
        f"{_BOOTSTRAP} wild bootstrap samples",
    ).field()
    seed: int = Option(default=0, read=int, of_one_sample=True).field()
    max_seconds: float | None = MAX_SECONDS.field()
    n_jobs: int = N_JOBS.field()


def _take(sample: Sample, target: Target | None, settings: KernelSettings) -> Measurement:
    from steinkit.discrepancy.kernel.ksd import kernel_stein_discrepancy

    result = kernel_stein_discrepancy(
        sample, target, statistic=settings.statistic, squared=settings.squared, **_shared(settings)
    )
    return bracketed(result, **(_test(sample, target, settings) if settings.bootstrap else {}))


def _test(sample: Sample, target: Target | None, settings: KernelSettings) -> dict[str, Any]:
    """What a document says of the test."""
    from steinkit.discrepancy.kernel.goodness_of_fit import kernel_stein_test

    test = kernel_stein_test(sample, target, n_bootstrap=settings.bootstrap, rng=settings.seed, **_shared(settings))
    return {"p_value": test.p_value, "flip_probability": test.flip_probability, "bootstrap": settings.bootstrap}


def _shared(settings: KernelSettings) -> dict[str, Any]:
    """Settings of the discrepancy and of its test."""
    found = {
        name: getattr(settings, name) for name in ("bounds", "units", "operator", "kernel", "max_seconds", "n_jobs")
    }
    return found | {"kernel": scaled_kernel(settings.kernel, settings.kernel_scale)}


def scaled_kernel(kernel: str | BaseKernel, scale: float | None) -> str | BaseKernel:
    """A base kernel with the scale asked for, if one is."""
    from steinkit.discrepancy.kernel.base_kernels import kernel_of

    return kernel if scale is None else replace(kernel_of(kernel), scale=scale)


KSD = Measure("ksd", "kernel Stein discrepancy", _take, KernelSettings, reuses_scores=True, describe=describe_kernel)
