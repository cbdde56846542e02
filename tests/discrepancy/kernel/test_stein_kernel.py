"""Stein kernels on boxes compared with automatic differentiation, and their means under the target."""

import math
from functools import cache

import jax
import jax.experimental
import jax.numpy as jnp
import numpy as np
import pytest
from support.stein_matrix import stein_matrix

import steinkit as sk
from steinkit.discrepancy.kernel.stein_kernel import SteinKernel, stein_kernel_for
from steinkit.scored_sample import ScoredSample

double_precision = (jax if hasattr(jax, "enable_x64") else jax.experimental).enable_x64

KERNELS = [sk.IMQ(), sk.IMQ(0.6, -0.3), sk.GaussianKernel(1.3)]
by_kernel = pytest.mark.parametrize("base", KERNELS, ids=str)
BOX = np.array([[0.0, math.inf], [-1.0, 2.0]])
NO_BOX = np.array([[-math.inf, math.inf]] * 2)


def kernel_at(base, points, scores, bounds=None):
    return stein_kernel_for(base, ScoredSample.of(points, scores=scores, bounds=bounds))


def base_kernel(base, x, y):
    u = jnp.sum((x - y) ** 2)
    if isinstance(base, sk.IMQ):
        return (base.scale**2 + u) ** base.exponent
    return jnp.exp(-u / (2 * base.scale**2))


def textbook_factor(base, box, x, j):
    """Return w_j by its definition."""
    value = 1.0
    for bound, side in ((box[j, 0], 1.0), (box[j, 1], -1.0)):
        if math.isfinite(bound):
            distance = side * (x[j] - bound) / base.scale
            value = value * distance / (1 + distance)
    return value


def stein_kernel_by_definition(base, box, x, y, s_x, s_y):
    """Return the sum over j of T_x T_y w_j(x) w_j(y) k(x, y) by automatic differentiation."""

    def operate(function, j, at, score):
        return score[j] * function(at) + jax.grad(function)(at)[j]

    def weighted(j):
        def both(x_, y_):
            return textbook_factor(base, box, x_, j) * textbook_factor(base, box, y_, j) * base_kernel(base, x_, y_)

        return both

    return sum(
        operate(lambda x_, j=j: operate(lambda y_: weighted(j)(x_, y_), j, y, s_y), j, x, s_x) for j in range(len(x))
    )


# few cases, because compiling the derivatives takes a second each
@pytest.mark.parametrize(("base", "box"), [(KERNELS[1], BOX), (KERNELS[2], BOX), (KERNELS[1], NO_BOX)])
def test_stein_kernel_matches_its_definition(base, box):
    rng = np.random.default_rng(2)
    points, scores = rng.uniform([0.1, -0.9], [3.0, 1.9], (3, 2)), rng.standard_normal((3, 2))
    found = kernel_at(base, points, scores, box).rows(range(3))
    pairs = np.array([(0, 1), (1, 2), (2, 0)])
    with double_precision(True):
        definition = jax.jit(jax.vmap(lambda *pair: stein_kernel_by_definition(base, box, *pair)))
        wanted = np.asarray(definition(*points[pairs.T], *scores[pairs.T]))
    np.testing.assert_allclose(found[tuple(pairs.T)], wanted, rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(found, found.T, rtol=1e-13, atol=1e-14)


@by_kernel
@pytest.mark.parametrize("form", ["identity", "diagonal"])
@pytest.mark.parametrize(("n", "dim"), [(5, 1), (300, 3), (530, 2)])
def test_compiled_rows_and_sums_match_full_matrices(base, form, n, dim):
    rng = np.random.default_rng(n)
    points, drift, weights = rng.standard_normal((n, dim)), rng.standard_normal((n, dim)), rng.random(n)
    full = {
        "identity": np.tile(np.eye(dim), (n, 1, 1)),
        "diagonal": rng.standard_normal((n, dim, 1)) * np.eye(dim),
    }[form]
    compact = {
        "identity": np.empty((0, n)),
        "diagonal": np.array(np.diagonal(full, axis1=1, axis2=2).T, order="C"),
    }[form]
    across, upright = np.ascontiguousarray(points.T), np.ascontiguousarray(drift.T)
    stein = SteinKernel(base, across, upright, compact, np.linalg.norm(drift, axis=1))
    matrix = stein_matrix(base, points, drift, full)
    np.testing.assert_allclose(stein.rows(range(n)), matrix, rtol=1e-10, atol=1e-11)
    np.testing.assert_allclose(stein.diagonal(), np.diag(matrix), rtol=1e-12)
    off = matrix - np.diag(np.diag(matrix))
    np.testing.assert_allclose(stein.sums_over_others(weights, 1), off @ weights, rtol=1e-10, atol=1e-10)
    np.testing.assert_array_equal(stein.sums_over_others(weights, 2), stein.sums_over_others(weights, 1))
    some = np.full((2, n), np.nan)
    assert stein.rows([3, 1], n - 2, some) is some
    np.testing.assert_allclose(some[:, n - 2 :], matrix[[3, 1], n - 2 :], rtol=1e-10, atol=1e-11)
    assert np.isnan(some[:, : n - 2]).all()


gauss_legendre = cache(np.polynomial.legendre.leggauss)


def nodes_on(low, high, count):
    x, w = gauss_legendre(count)
    return 0.5 * (high - low) * x + 0.5 * (high + low), 0.5 * (high - low) * w


def product(first, second):
    points = np.stack(np.meshgrid(first[0], second[0], indexing="ij"), axis=-1).reshape(-1, 2)
    return points, np.outer(first[1], second[1]).ravel()


def gamma_rule(shape):
    """Return nodes and probabilities of a gamma distribution; x = t^2 removes the singularity at 0."""
    t, w = nodes_on(0.0, 8.0, 300)
    return t**2, 2 * w * t ** (2 * shape - 1) * np.exp(-(t**2)) / math.gamma(shape)


def beta_rule(a, b):
    angle, w = nodes_on(0.0, math.pi / 2, 200)
    density = np.sin(angle) ** (2 * a - 1) * np.cos(angle) ** (2 * b - 1)
    return np.sin(angle) ** 2, 2 * w * density * math.gamma(a + b) / math.gamma(a) / math.gamma(b)


def normal_rule(count, reach=9.0):
    x, w = nodes_on(-reach, reach, count)
    return x, w * np.exp(-0.5 * x**2) / math.sqrt(2 * math.pi)


def on_line(rule):
    return rule[0][:, None], rule[1]


BOUNDED = {
    "uniform square": (sk.targets.Uniform(dim=2), product(nodes_on(0, 1, 50), nodes_on(0, 1, 50))),
    "exponential": (sk.targets.Gamma(1.0), on_line(gamma_rule(1.0))),
    "gamma, density zero at the bound": (sk.targets.Gamma(2.0), on_line(gamma_rule(2.0))),
    "gamma, density infinite at the bound": (sk.targets.Gamma(0.5), on_line(gamma_rule(0.5))),
    "beta": (sk.targets.Beta(2.0, 3.0), on_line(beta_rule(2.0, 3.0))),
    "beta, density infinite at both bounds": (sk.targets.Beta(0.5, 0.5), on_line(beta_rule(0.5, 0.5))),
    "half plane": (
        sk.Target(lambda x: np.column_stack([-np.ones(len(x)), -x[:, 1]]), bounds=[[0, math.inf], NO_BOX[0]]),
        product(gamma_rule(1.0), normal_rule(100)),
    ),
}


def means_under(target, rule, base, bounds=None):
    """Return |E_P[k0(x, .)]| at a few x, relative to the largest E_P|k0(x, .)|."""
    points, probabilities = rule
    places = points[:: len(points) // 7]
    joined = np.concatenate([places, points])
    prepared = ScoredSample.of(joined, scores=target.score(joined), bounds=bounds)
    stein, rows = stein_kernel_for(base, prepared), prepared.points.inverse  # the positions are among the points
    values = stein.rows(range(len(places)))[:, rows[len(places) :]]
    return np.abs(values @ probabilities) / (np.abs(values) @ probabilities).max()


@pytest.mark.parametrize("base", [sk.IMQ(), sk.GaussianKernel(0.7)], ids=str)
@pytest.mark.parametrize("name", BOUNDED)
def test_mean_under_a_bounded_target_is_zero(base, name):
    target, rule = BOUNDED[name]
    assert rule[1].sum() == pytest.approx(1.0, abs=1e-12)
    assert means_under(target, rule, base, bounds=target.bounds).max() < 1e-11


@pytest.mark.parametrize("name", ["uniform square", "exponential", "half plane"])
def test_mean_without_the_bounds_is_not_zero(name):
    target, rule = BOUNDED[name]
    assert means_under(target, rule, sk.IMQ()).max() > 0.1


@pytest.mark.parametrize("outlier", [None, 1e10, 1e80])
def test_rough_rows_agree_with_rows_also_beside_an_outlier(outlier):
    points = np.random.default_rng(6).standard_normal((60, 40))
    if outlier is not None:
        points[30] = outlier
    prepared = ScoredSample.of(points, scores=-points / (1.0 + (points**2).mean(axis=1, keepdims=True)))
    stein = stein_kernel_for(sk.IMQ(scale=1.0), prepared)
    which = np.array([0, 7, 59])
    exact = stein.rows(which)
    np.testing.assert_allclose(stein.rough_rows(which), exact, rtol=1e-9, atol=1e-12 * np.abs(exact).max())
    if outlier is not None:
        np.testing.assert_array_equal(stein.rough_rows(which), exact)
