"""What is known of each family: its derivatives, its suprema, its name, and what a family must say."""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

import steinkit as sk
from steinkit.discrepancy.kernel import base_kernels
from steinkit.discrepancy.kernel.base_kernels import BaseKernel, kernel_names, kernel_of

KERNELS = [sk.IMQ(), sk.IMQ(1.7, -0.3), sk.GaussianKernel(1.3), sk.MaternKernel(1.6)]
by_kernel = pytest.mark.parametrize("kernel", KERNELS, ids=str)


@by_kernel
def test_derivatives_are_those_of_phi(kernel):
    u, h = np.geomspace(0.01, 50.0, 40), 1e-3
    _, first, second = kernel.radial(u, 1.0, *kernel.parameters())
    up, down = (kernel.radial(u * (1 + step), 1.0, *kernel.parameters()) for step in (h, -h))
    np.testing.assert_allclose(first, (up[0] - down[0]) / (2 * h * u), rtol=1e-3)
    np.testing.assert_allclose(second, (up[1] - down[1]) / (2 * h * u), rtol=1e-3)
    np.testing.assert_allclose(kernel.radial(u, 4.0 * u, *kernel.parameters())[2], 4.0 * u * second, rtol=1e-14)
    assert kernel.radial(0.0, 1.0, *kernel.parameters())[0] == pytest.approx(kernel.height(), rel=1e-15)


@by_kernel
def test_terms_are_no_larger_than_the_rounding_bound_takes_them(kernel):
    r = np.concatenate([np.zeros(1), np.geomspace(1e-4, 1e3, 20000)]) * kernel.scale
    u = r**2
    if isinstance(kernel, sk.IMQ):
        b, e = kernel.scale**2 + u, kernel.exponent
        phi, first, second, loss = b**e, -e * b ** (e - 1), e * (e - 1) * b ** (e - 2), np.ones_like(u)
    elif isinstance(kernel, sk.GaussianKernel):
        loss, phi = 1 + u / (2 * kernel.scale**2), np.exp(-u / (2 * kernel.scale**2))
        first, second = phi / (2 * kernel.scale**2), phi / (4 * kernel.scale**4)
    else:
        t, a = np.sqrt(5.0) * r / kernel.scale, 5 / (6 * kernel.scale**2)
        loss, phi = 1 + t, (1 + t + t**2 / 3) * np.exp(-t)
        first, second = a * (1 + t) * np.exp(-t), 3 * a**2 * np.exp(-t)
    largest = (
        (loss * phi).max(),
        (loss * 2 * r * first).max(),
        (loss * 2 * first).max() + (loss * 4 * u * second).max(),
    )
    for taken, found in zip(kernel.suprema(), largest, strict=True):
        assert found <= taken * (1 + 1e-12)
        assert taken < 3 * found


def test_names_stand_for_the_families_defaults():
    assert kernel_names() == ("imq", "gaussian", "matern")
    assert [kernel_of(name) for name in kernel_names()] == [sk.IMQ(), sk.GaussianKernel(), sk.MaternKernel()]
    assert [repr(kernel_of(name)) for name in kernel_names()] == [
        "IMQ(scale=1.0, exponent=-0.5)",
        "GaussianKernel(scale=None)",
        "MaternKernel(scale=None)",
    ]
    assert sk.IMQ(2.0).document() == {"name": "IMQ", "scale": 2.0, "exponent": -0.5}
    assert sk.MaternKernel(2.0).document() == {"name": "MaternKernel", "scale": 2.0, "exponent": None}


def test_what_is_no_family_is_refused():
    @dataclass(frozen=True)
    class Nameless:
        scale: float = 1.0

    for kernel in (Nameless(), sk.IMQ, 1.0, None):
        with pytest.raises(sk.UsageError, match="imq, gaussian, matern, or an IMQ, GaussianKernel or MaternKernel"):
            kernel_of(kernel)


def test_a_family_that_does_not_say_what_it_must_cannot_be_made(monkeypatch):
    monkeypatch.setattr(base_kernels, "_FAMILIES", dict(base_kernels._FAMILIES))

    @dataclass(frozen=True)
    class Mute(BaseKernel):
        name: ClassVar[str] = "mute"

    with pytest.raises(TypeError, match="abstract"):
        Mute(1.0)


def test_a_family_of_ones_own_is_taken_everywhere(monkeypatch):
    """phi = 1 / (1 + u / l^2), which is an IMQ kernel of exponent -1 but for a factor l^2."""
    monkeypatch.setattr(base_kernels, "_FAMILIES", dict(base_kernels._FAMILIES))

    @dataclass(frozen=True)
    class Cauchy(BaseKernel):
        name: ClassVar[str] = "cauchy"

        @staticmethod
        def radial(u, weight, scale):
            phi = 1.0 / (1.0 + u / scale**2)
            first = -phi * phi / scale**2
            return phi, first, weight * (-2.0 * phi * first / scale**2)

        def suprema(self):
            return 1.0, 2.0 / self.scale, 10.0 / self.scale**2

    points = np.random.default_rng(4).standard_normal((60, 2))
    ours, known = Cauchy(1.4), sk.IMQ(1.4, -1.0)
    found, wanted = (sk.kernel_stein_discrepancy(points, scores=-points, kernel=k, squared=True) for k in (ours, known))
    assert found.value == pytest.approx(1.4**2 * wanted.value, rel=1e-12)
    assert found.lower < found.value < found.upper < found.value * (1 + 1e-9)
    thinned = (sk.thin(points, scores=-points, m=9, kernel=k).draw for k in (ours, known))
    np.testing.assert_array_equal(*thinned)
    tests = (sk.kernel_stein_test(points, scores=-points, kernel=k, n_bootstrap=99).p_value for k in (ours, known))
    assert len(set(tests)) == 1
    assert kernel_of("cauchy") == Cauchy(None)
    assert not math.isnan(sk.kernel_stein_discrepancy(points, scores=-points, kernel="cauchy").kernel.scale)
