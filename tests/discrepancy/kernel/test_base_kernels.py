"""Derivatives, suprema and names of the base kernels."""

import numpy as np
import pytest

import steinkit as sk
from steinkit.discrepancy.kernel.base import kernel_names, kernel_of

KERNELS = [sk.IMQ(), sk.IMQ(1.7, -0.3), sk.GaussianKernel(1.3)]
by_kernel = pytest.mark.parametrize("kernel", KERNELS, ids=str)


@by_kernel
def test_derivatives_match_finite_differences(kernel):
    u, h = np.geomspace(0.01, 50.0, 40), 1e-3
    _, first, second = kernel.radial(u, 1.0, *kernel.parameters())
    up, down = (kernel.radial(u * (1 + step), 1.0, *kernel.parameters()) for step in (h, -h))
    np.testing.assert_allclose(first, (up[0] - down[0]) / (2 * h * u), rtol=1e-3)
    np.testing.assert_allclose(second, (up[1] - down[1]) / (2 * h * u), rtol=1e-3)
    np.testing.assert_allclose(kernel.radial(u, 4.0 * u, *kernel.parameters())[2], 4.0 * u * second, rtol=1e-14)
    assert kernel.radial(0.0, 1.0, *kernel.parameters())[0] == pytest.approx(kernel.height(), rel=1e-15)


@by_kernel
def test_suprema_bound_the_terms(kernel):
    r = np.concatenate([np.zeros(1), np.geomspace(1e-4, 1e3, 20000)]) * kernel.scale
    u = r**2
    if isinstance(kernel, sk.IMQ):
        b, e = kernel.scale**2 + u, kernel.exponent
        phi, first, second, loss = b**e, -e * b ** (e - 1), e * (e - 1) * b ** (e - 2), np.ones_like(u)
    else:
        loss, phi = 1 + u / (2 * kernel.scale**2), np.exp(-u / (2 * kernel.scale**2))
        first, second = phi / (2 * kernel.scale**2), phi / (4 * kernel.scale**4)
    largest = (
        (loss * phi).max(),
        (loss * 2 * r * first).max(),
        (loss * 2 * first).max() + (loss * 4 * u * second).max(),
    )
    for taken, found in zip(kernel.suprema(), largest, strict=True):
        assert found <= taken * (1 + 1e-12)
        assert taken < 3 * found


def test_names_select_default_kernels():
    assert kernel_names() == ("imq", "gaussian")
    assert [kernel_of(name) for name in kernel_names()] == [sk.IMQ(), sk.GaussianKernel()]
    assert [repr(kernel_of(name)) for name in kernel_names()] == [
        "IMQ(scale=1.0, exponent=-0.5)",
        "GaussianKernel(scale=None)",
    ]
    assert sk.IMQ(2.0).document() == {"name": "IMQ", "scale": 2.0, "exponent": -0.5}
    assert sk.GaussianKernel(2.0).document() == {"name": "GaussianKernel", "scale": 2.0, "exponent": None}
