import re
from typing import NamedTuple

import numpy as np
import pytest

import steinkit as sk

jax = pytest.importorskip("jax")
jnp = jax.numpy

from steinkit.jax_functions import TreeCoordinates, vectorised  # noqa: E402

POINTS = np.random.default_rng(7).standard_normal((50, 3))


class Position(NamedTuple):
    mu: object
    theta: object


EXAMPLES = {
    "a dict": ({"theta": np.zeros(2), "mu": 0.0}, ("mu", "theta[0]", "theta[1]")),
    "a NamedTuple": (Position(mu=0.0, theta=np.zeros(2)), ("mu", "theta[0]", "theta[1]")),
    "a tuple": ((0.0, np.zeros(2)), ("x.0", "x.1[0]", "x.1[1]")),
    "a matrix": (np.zeros((1, 3)), ("x[0,0]", "x[0,1]", "x[0,2]")),
    "a number": (0.0, ("x",)),
    "nested": ({"net": [{"bias": np.zeros(1)}, 0.0]}, ("net.0.bias[0]", "net.1")),
    "shapes": ({"mu": jax.ShapeDtypeStruct((2,), "float32")}, ("mu[0]", "mu[1]")),
}


@pytest.mark.parametrize(("tree", "names"), EXAMPLES.values(), ids=EXAMPLES)
def test_names_of_coordinates_of_a_pytree(tree, names):
    assert TreeCoordinates.of(tree).names == names


@pytest.mark.parametrize("tree", [tree for tree, _ in EXAMPLES.values()], ids=EXAMPLES)
def test_unravel_agrees_with_jax(tree):
    coordinates = TreeCoordinates.of(tree)
    numbers = jax.tree.map(lambda leaf: np.zeros(np.shape(leaf) if not hasattr(leaf, "shape") else leaf.shape), tree)
    vector = np.arange(1.0, 1.0 + coordinates.dim)
    expected = pytest.importorskip("jax.flatten_util").ravel_pytree(numbers)[1](vector.astype(np.float32))
    jax.tree.map(np.testing.assert_array_equal, coordinates.unravel(vector), expected)
    np.testing.assert_array_equal(coordinates.ravel(coordinates.unravel(vector)), vector)


def test_ravel_with_leading_axes():
    draws = {"theta": np.arange(24.0).reshape(3, 4, 2), "mu": np.arange(100.0, 112.0).reshape(3, 4)}
    coordinates = TreeCoordinates.of(draws, lead=2)
    rows = coordinates.ravel(draws, (3, 4))
    assert coordinates.names == ("mu", "theta[0]", "theta[1]")
    np.testing.assert_array_equal(rows[2, 1], [109.0, 18.0, 19.0])


def test_invalid_pytrees():
    with pytest.raises(sk.InputError, match="got dict"):
        TreeCoordinates.of({})
    with pytest.raises(sk.InputError, match=r"got str for net\.0"):
        TreeCoordinates.of({"net": ["relu"]})
    with pytest.raises(sk.InputError, match=r"expected mu .* got shape \(5,\)"):
        TreeCoordinates.of({"mu": np.zeros(5)}, lead=2)
    coordinates = TreeCoordinates.of({"mu": 0.0, "theta": np.zeros(2)})
    with pytest.raises(sk.InputError, match=re.escape("theta must have shape (5, 2); got (5, 3)")):
        coordinates.ravel({"mu": np.zeros(5), "theta": np.zeros((5, 3))}, (5,))
    with pytest.raises(sk.InputError, match="a pytree PyTreeDef"):
        coordinates.ravel([np.zeros(5)], (5,))


@pytest.mark.parametrize("n", [0, 1, 16, 17, 1024, 1025, 2500])
def test_any_number_of_points(n):
    points = np.random.default_rng(n).standard_normal((n, 2))
    np.testing.assert_allclose(vectorised(lambda x: x[0] * x[1])(points), points.prod(axis=1), rtol=1e-15)
    np.testing.assert_allclose(vectorised(lambda x: jnp.sin(x))(points), np.sin(points), rtol=1e-14)


@pytest.mark.parametrize("configured", [False, True])
def test_a_pytree_log_density_in_double_precision(configured):
    def log_density(position):
        return -0.5 * position.mu**2 / 9.0 - 0.5 * jnp.sum((position.theta - position.mu) ** 4)

    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", configured)
    try:
        target = sk.Target.from_jax(log_density, like=Position(mu=0.0, theta=np.zeros(2, dtype=np.float32)))
        score = target.score(POINTS)
        assert target.check(POINTS[:5]).compared == 15
        assert jnp.ones(2).dtype == (jnp.float64 if configured else jnp.float32)
    finally:
        jax.config.update("jax_enable_x64", before)
    mu, theta = POINTS[:, 0], POINTS[:, 1:]
    cube = (theta - mu[:, None]) ** 3
    expected = np.column_stack([-mu / 9.0 + 2.0 * cube.sum(axis=1), -2.0 * cube])
    np.testing.assert_allclose(score, expected, rtol=1e-12, atol=1e-13)
    assert target.names == ("mu", "theta[0]", "theta[1]")


def test_names_and_dim_with_like():
    like = {"mu": 0.0, "theta": np.zeros(2)}
    assert sk.Target.from_jax(lambda x: -x["mu"], like=like, names=["m", "a", "b"]).names == ("m", "a", "b")
    with pytest.raises(sk.UsageError, match="got dim=2"):
        sk.Target.from_jax(lambda x: -x["mu"], 2, like=like)
    with pytest.raises(sk.UsageError, match="expected 3 names, got 1"):
        sk.Target.from_jax(lambda x: -x["mu"], like=like, names=["m"])


def test_from_jax_accepts_any_dimension():
    target = sk.Target.from_jax(lambda x: -0.5 * jnp.sum(x**2))
    for dim in (1, 4):
        points = np.arange(2.0 * dim).reshape(2, dim)
        np.testing.assert_array_equal(target.score(points), -points)


def test_from_jax_with_a_log_density_that_is_not_scalar():
    with pytest.raises(sk.InputError, match="score raised TypeError"):
        sk.Target.from_jax(lambda x: -x, dim=2).score([[0.0, 1.0]])


def test_from_jax_without_jax(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "jax", None)
    with pytest.raises(sk.MissingDependencyError, match=r"\[jax\]"):
        sk.Target.from_jax(lambda x: 0.0, dim=1)
