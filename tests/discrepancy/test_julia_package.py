"""Values in the tests of the Julia package SteinDiscrepancy.jl (J. Gorham), for its samples of five points."""

import numpy as np
import pytest

import steinkit as sk

UNIFORM = np.array([[0.1, 0.2], [0.1, 0.4], [0.8, 0.9], [0.3, 0.5], [0.5, 0.1]])
NORMAL = np.array([[-0.1, 1.2], [0.1, 2.4], [0.8, -0.9], [-2.3, 0.5], [-0.5, 0.1]])


@pytest.mark.parametrize(("dim", "values"), [(1, [0.15]), (2, [0.308, 0.31])])
def test_graph_discrepancies_on_the_unit_box(dim, values):
    x = UNIFORM[:, :dim]
    found = sk.graph_stein_discrepancy(x, scores=np.zeros_like(x), bounds=[[0.0, 1.0]] * dim, units="raw")
    np.testing.assert_allclose([term.value for term in found.terms], values, atol=1e-5)


def test_a_riemannian_graph_discrepancy():
    """The operator of the package is twice that of steinkit."""
    operator = sk.RiemannianLangevin(
        covariance=lambda x: np.sqrt(1.0 + (x**2).sum(axis=1))[:, None, None] * np.eye(2),
        divergence=lambda x: x / np.sqrt(1.0 + (x**2).sum(axis=1, keepdims=True)),
    )
    found = sk.graph_stein_discrepancy(NORMAL, scores=-NORMAL, operator=operator, units="raw")
    np.testing.assert_allclose([2.0 * term.value for term in found.terms], [6.19106, 7.05982], atol=1e-5)


@pytest.mark.parametrize(("dim", "squared"), [(1, 0.269298), (2, 0.807566)])
def test_kernel_discrepancies(dim, squared):
    found = sk.kernel_stein_discrepancy(NORMAL[:, :dim], scores=-NORMAL[:, :dim], units="raw")
    assert found.value**2 == pytest.approx(squared, abs=1e-5)
