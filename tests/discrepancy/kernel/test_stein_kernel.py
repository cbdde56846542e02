"""Stein kernels of operators on boxes compared with automatic differentiation, and their means under the target."""

import math
from functools import cache

import jax
import jax.experimental
import jax.numpy as jnp
import numpy as np
import pytest

import steinkit as sk
from steinkit.discrepancy.kernel.stein_kernel import SteinKernel, stein_kernel_at
from steinkit.discrepancy.operators import RiemannianLangevin

double_precision = (jax if hasattr(jax, "enable_x64") else jax.experimental).enable_x64

KERNELS = [sk.IMQ(), sk.IMQ(0.6, -0.3), sk.GaussianKernel(1.3)]
by_kernel = pytest.mark.parametrize("base", KERNELS, ids=str)
BOX = np.array([[0.0, math.inf], [-1.0, 2.0]])
NO_BOX = np.array([[-math.inf, math.inf]] * 2)


def identity(x):
    return jnp.eye(len(x))


def straight(x, numpy=jnp):
    """Return a diagonal covariance at points (..., 2), in JAX or NumPy."""
    own = 1 + x**2 / (1 + x**2) + 0.3 * numpy.cos(x[..., ::-1])
    return own[..., None] * np.eye(2)


def bent(x, numpy=jnp):
    """Return a full covariance with off-diagonal entries that vanish on the faces of BOX."""
    x0, x1 = x[..., 0], x[..., 1]
    v = numpy.stack([x0 / (1 + x0**2), (x1 + 1) * (2 - x1) / (4 + x1**2)], axis=-1)
    return (1 + numpy.sin(x) ** 2)[..., None] * np.eye(2) + v[..., None] * v[..., None, :]


def straight_divergence(x):
    return 2 * x / (1 + x**2) ** 2


def bent_divergence(x):
    """Return the divergence of `bent`."""
    x0, x1 = x.T
    v = np.stack([x0 / (1 + x0**2), (x1 + 1) * (2 - x1) / (4 + x1**2)], axis=1)
    second = ((1 - 2 * x1) * (4 + x1**2) - 2 * x1 * (x1 + 1) * (2 - x1)) / (4 + x1**2) ** 2
    slopes = np.stack([(1 - x0**2) / (1 + x0**2) ** 2, second], axis=1)
    return np.sin(2 * x) + v * (slopes.sum(axis=1, keepdims=True) + slopes)


def operator_of(covariance):
    divergence = bent_divergence if covariance is bent else straight_divergence
    return RiemannianLangevin(lambda x: covariance(x, np), divergence)


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


def stein_kernel_by_definition(base, box, covariance, x, y, s_x, s_y):
    """Return the sum over j of T_x T_y w_j(x) w_j(y) k(x, y) by automatic differentiation."""

    def operate(function, j, at, score):
        row = covariance(at)[j]
        divergence = jnp.trace(jax.jacfwd(lambda z: covariance(z)[j])(at))
        return (row @ score + divergence) * function(at) + row @ jax.grad(function)(at)

    def weighted(j):
        def both(x_, y_):
            return textbook_factor(base, box, x_, j) * textbook_factor(base, box, y_, j) * base_kernel(base, x_, y_)

        return both

    return sum(
        operate(lambda x_, j=j: operate(lambda y_: weighted(j)(x_, y_), j, y, s_y), j, x, s_x) for j in range(len(x))
    )


# few cases, because compiling the derivatives takes a second each
CASES = [(BOX, identity), (BOX, bent), (BOX, straight), (NO_BOX, bent)]


@pytest.mark.parametrize(
    ("base", "box", "covariance"), [(base, *case) for base, case in zip([*KERNELS, KERNELS[1]], CASES, strict=True)]
)
def test_stein_kernel_matches_its_definition(base, box, covariance):
    rng = np.random.default_rng(2)
    points, scores = rng.uniform([0.1, -0.9], [3.0, 1.9], (3, 2)), rng.standard_normal((3, 2))
    operator = None if covariance is identity else operator_of(covariance)
    found = stein_kernel_at(base, points, scores, box, operator, names=("a", "b")).rows(range(3))
    pairs = np.array([(0, 1), (1, 2), (2, 0)])
    with double_precision(True):
        definition = jax.jit(jax.vmap(lambda *pair: stein_kernel_by_definition(base, box, covariance, *pair)))
        wanted = np.asarray(definition(*points[pairs.T], *scores[pairs.T]))
    np.testing.assert_allclose(found[tuple(pairs.T)], wanted, rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(found, found.T, rtol=1e-13, atol=1e-14)


def full_matrix(base, points, drift, covariance):
    """Return all k0(x_i, x_j) for a of shape (n, d, d)."""
    r = points[:, None] - points[None]
    u = (r**2).sum(axis=2)
    if isinstance(base, sk.IMQ):
        b, e = base.scale**2 + u, base.exponent
        phi, first, second = b**e, e * b ** (e - 1), e * (e - 1) * b ** (e - 2)
    else:
        phi = np.exp(-u / (2 * base.scale**2))
        first, second = -phi / (2 * base.scale**2), phi / (4 * base.scale**4)
    here, there = np.einsum("ikl,ijl->ijk", covariance, r), np.einsum("jkl,ijl->ijk", covariance, r)
    slope = np.einsum("ijk,jk->ij", here, drift) - np.einsum("ijk,ik->ij", there, drift)
    trace = np.einsum("ikl,jkl->ij", covariance, covariance)
    curvature = np.einsum("ijk,ijk->ij", here, there)
    return phi * (drift @ drift.T) + 2 * first * (slope - trace) - 4 * second * curvature


@by_kernel
@pytest.mark.parametrize("form", ["identity", "diagonal", "matrix"])
@pytest.mark.parametrize(("n", "dim"), [(5, 1), (300, 3), (530, 2)])
def test_compiled_rows_and_sums_match_full_matrices(base, form, n, dim):
    rng = np.random.default_rng(n)
    points, drift, weights = rng.standard_normal((n, dim)), rng.standard_normal((n, dim)), rng.random(n)
    full = {
        "identity": np.tile(np.eye(dim), (n, 1, 1)),
        "diagonal": rng.standard_normal((n, dim, 1)) * np.eye(dim),
        "matrix": rng.standard_normal((n, dim, dim)),  # not symmetric
    }[form]
    compact = {
        "identity": np.empty((0, n)),
        "diagonal": np.array(np.diagonal(full, axis1=1, axis2=2).T, order="C"),
        "matrix": np.ascontiguousarray(full.reshape(n, -1).T),
    }[form]
    across, upright = np.ascontiguousarray(points.T), np.ascontiguousarray(drift.T)
    stein = SteinKernel(base, across, upright, compact, np.linalg.norm(drift, axis=1))
    matrix = full_matrix(base, points, drift, full)
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


def means_under(target, rule, base, operator=None, bounds=None):
    """Return |E_P[k0(x, .)]| at a few x, relative to the largest E_P|k0(x, .)|."""
    points, probabilities = rule
    places = points[:: len(points) // 7]
    joined = np.concatenate([places, points])
    stein = stein_kernel_at(base, joined, target.score(joined), bounds, operator, names=("a", "b")[: joined.shape[1]])
    values = stein.rows(range(len(places)))[:, len(places) :]
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


def test_mean_is_zero_with_other_operators():
    growing = RiemannianLangevin(lambda x: (1 + x**2 / (1 + x**2))[:, :, None], lambda x: 2 * x / (1 + x**2) ** 2)
    line, plane = sk.targets.Normal(0.0), sk.targets.Normal(0.0, dim=2)
    square = product(normal_rule(160), normal_rule(160))
    assert means_under(line, on_line(normal_rule(400)), sk.IMQ(), growing).max() < 1e-11
    assert means_under(plane, square, sk.IMQ(1.5), operator_of(bent)).max() < 1e-11
    box = sk.Target(lambda x: np.column_stack([-np.ones(len(x)), np.zeros(len(x))]), bounds=BOX)
    third = nodes_on(-1, 2, 50)
    rule = product(gamma_rule(1.0), (third[0], third[1] / 3))
    assert means_under(box, rule, sk.IMQ(), operator_of(bent), box.bounds).max() < 1e-11
    assert means_under(box, rule, sk.IMQ(), operator_of(bent)).max() > 0.01


@by_kernel
@pytest.mark.parametrize("bounds", [None, [(-5.0, 5.0)] * 3, [(-5.0, math.inf), (-math.inf, 6.0), (-9.0, 9.0)]])
def test_identity_covariance_gives_bit_for_bit_langevin_results(base, bounds):
    points, scores = np.random.default_rng(4).standard_normal((2, 700, 3))
    operator = RiemannianLangevin(lambda x: np.tile(np.eye(3), (len(x), 1, 1)), np.zeros_like)
    arguments = {"scores": scores, "kernel": base, "bounds": bounds}
    without = sk.kernel_stein_discrepancy(points, **arguments)
    same = sk.kernel_stein_discrepancy(points, operator=operator, **arguments)
    assert (same.value, same.lower, same.upper) == (without.value, without.lower, without.upper)
    np.testing.assert_array_equal(same.witness, without.witness)
    assert same.operator is operator


def test_diagonal_and_matrix_forms_agree():
    """A tiny off-diagonal entry selects the form for matrices."""
    points = np.random.default_rng(4).standard_normal((400, 2)) + 0.3

    def value(coupling):
        operator = RiemannianLangevin(
            lambda x: (1 + x**2)[:, :, None] * np.eye(2) + coupling * (1 - np.eye(2)), lambda x: 2 * x
        )
        return sk.kernel_stein_discrepancy(points, scores=-points, operator=operator).value

    assert value(1e-14) == pytest.approx(value(0.0), rel=1e-11)
    assert value(0.1) != pytest.approx(value(0.0), rel=1e-3)


def test_invalid_operator_is_refused():
    with pytest.raises(sk.UsageError, match="RiemannianLangevin"):
        sk.kernel_stein_discrepancy([0.0, 1.0], scores=[0.0, -1.0], operator="langevin")


def test_coupling_across_a_face_is_refused():
    coupled = RiemannianLangevin(lambda x: np.tile([[1.0, 0.5], [0.5, 1.0]], (len(x), 1, 1)), np.zeros_like)
    points = np.random.default_rng(4).random((20, 2))
    with pytest.raises(sk.InputError, match="bound"):
        sk.kernel_stein_discrepancy(points, sk.targets.Uniform(dim=2), operator=coupled)
