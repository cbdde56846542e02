"""Kernel Stein discrepancies with a diffusion operator: weighted base kernels, boxes and means under the target."""

import numpy as np
import pytest

import steinkit as sk

BOX = sk.RiemannianLangevin(
    covariance=lambda x: np.prod(x * (1.0 - x), axis=1)[:, None, None] * np.eye(x.shape[1]),
    divergence=lambda x: np.prod(x * (1.0 - x), axis=1)[:, None] * (1.0 - 2.0 * x) / (x * (1.0 - x)),
)
"""Operator of the base kernel w(x) k(x, y) w(y), with w = 0 on the boundary of the unit box."""


def tilted(power):
    def weight(x):
        return (1.0 + (x**2).sum(axis=1)) ** power

    return sk.RiemannianLangevin(
        covariance=lambda x: weight(x)[:, None, None] * np.eye(x.shape[1]),
        divergence=lambda x: 2.0 * power * x * ((1.0 + (x**2).sum(axis=1)) ** (power - 1.0))[:, None],
    )


def test_the_value_of_the_julia_package_on_a_box():
    """The tests of SteinDiscrepancy.jl (J. Gorham) contain this value."""
    x = np.array([[0.1, 0.2], [0.1, 0.4], [0.8, 0.9], [0.3, 0.5], [0.5, 0.1]])
    found = sk.kernel_stein_discrepancy(x, scores=np.zeros_like(x), operator=BOX, squared=True)
    assert found.value == pytest.approx(0.0064761153, abs=1e-8)
    assert found.lower <= found.value <= found.upper


@pytest.mark.parametrize("power", [0.5, 1.0])
def test_the_discrepancy_of_the_target_is_zero(power):
    grid = np.linspace(-8.0, 8.0, 401)[:, None]
    mass, off = np.exp(-0.5 * grid[:, 0] ** 2), np.exp(-0.5 * (grid[:, 0] - 0.01) ** 2)
    found = sk.kernel_stein_discrepancy(grid, scores=-grid, weights=mass, operator=tilted(power), squared=True)
    assert found.value < 1e-10
    other = sk.kernel_stein_discrepancy(grid, scores=-grid, weights=off, operator=tilted(power), squared=True)
    assert other.value > 1e-5


@pytest.mark.parametrize("units", ["raw", "own"])
def test_constant_covariances_scale_the_langevin_operator(units):
    x = np.random.default_rng(0).standard_normal((30, 2)) * [1.0, 3.0]
    scores = -x / [1.0, 9.0]
    scales = np.std(x, axis=0) if units == "own" else np.ones(2)
    operator = sk.RiemannianLangevin(
        covariance=lambda x: np.tile(np.diag(scales**2), (len(x), 1, 1)), divergence=np.zeros_like
    )
    found = sk.kernel_stein_discrepancy(x, scores=scores, operator=operator, units=units)
    expected = sk.kernel_stein_discrepancy(x, scores=scores, units=units)
    assert found.value == pytest.approx(expected.value, rel=1e-12)


def test_a_tilted_kernel_detects_a_heavier_tail():
    exact = np.random.default_rng(0).standard_normal((300, 2))
    outlier = np.vstack([exact[:-1], [[12.0, 12.0]]])
    ratios = []
    for operator in (None, tilted(1.0)):
        values = [sk.kernel_stein_discrepancy(x, scores=-x, operator=operator).value for x in (outlier, exact)]
        ratios.append(values[0] / values[1])
    assert ratios[1] > 3.0 * ratios[0]


def test_off_diagonal_covariances_and_other_types_are_rejected():
    operator = sk.RiemannianLangevin(
        covariance=lambda x: np.tile([[1.0, 0.5], [0.5, 1.0]], (len(x), 1, 1)), divergence=np.zeros_like
    )
    x = np.random.default_rng(0).standard_normal((9, 2))
    with pytest.raises(sk.UsageError, match="must be diagonal"):
        sk.kernel_stein_discrepancy(x, scores=-x, operator=operator)
    with pytest.raises(sk.UsageError, match="operator"):
        sk.kernel_stein_discrepancy(x, scores=-x, operator="langevin")
