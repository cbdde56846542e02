"""Posteriors written in JAX against the same posteriors in NumPy."""

import numpy as np
import pytest

import steinkit as sk
from steinkit import samplers

jax = pytest.importorskip("jax")
jnp = jax.numpy

RNG = np.random.default_rng(3)
X, Y = RNG.standard_normal((300, 3)), RNG.random(300) < 0.4
SIGNS = np.where(Y, -1.0, 1.0)


def _terms(theta, x, y):
    return -np.logaddexp(0.0, np.where(y, -1.0, 1.0) * (x @ theta))


def _gradient(theta, x, y):
    signs = np.where(y, -1.0, 1.0)
    return -(signs / (1.0 + np.exp(-signs * (x @ theta)))) @ x


PLAIN = sk.Posterior((X, Y), _terms, _gradient, lambda t: -0.5 * (t**2).sum(axis=1) / 4.0, lambda t: -t / 4.0, dim=3)


def _term(theta, x, y):
    return -jnp.logaddexp(0.0, jnp.where(y, -1.0, 1.0) * (x @ theta))


def posterior(**settings):
    return sk.Posterior.from_jax(_term, lambda theta: -0.5 * theta @ theta / 4.0, (X, Y), **settings)


JAX = posterior(dim=3)


@pytest.mark.parametrize("rows", [1, 5, 300])
def test_terms_and_gradients_agree_with_numpy(rows):
    thetas, batch = RNG.standard_normal((3, 3)), (X[:rows], Y[:rows])
    own = tuple(np.stack([np.roll(array, k, axis=0)[:rows] for k in range(3)]) for array in (X, Y))
    shared = tuple(np.broadcast_to(array, (3, *array.shape)) for array in batch)
    near = {"rtol": 1e-12, "atol": 1e-12}
    np.testing.assert_allclose(JAX.log_likelihood(thetas[0], *batch), _terms(thetas[0], *batch), **near)
    np.testing.assert_allclose(JAX.grad_log_likelihood(thetas[0], *batch), _gradient(thetas[0], *batch), **near)
    for batches in (own, shared):
        expected = [_terms(theta, *(array[k] for array in batches)) for k, theta in enumerate(thetas)]
        np.testing.assert_allclose(JAX.log_likelihood_many(thetas, *batches), expected, **near)
        expected = [_gradient(theta, *(array[k] for array in batches)) for k, theta in enumerate(thetas)]
        np.testing.assert_allclose(JAX.grad_log_likelihood_many(thetas, *batches), expected, **near)


def test_long_batches(monkeypatch):
    monkeypatch.setattr("steinkit.jax_functions._MOST_ROWS", 128)
    theta = np.array([0.3, -1.0, 0.1])
    np.testing.assert_allclose(JAX.log_likelihood(theta, X, Y), _terms(theta, X, Y), rtol=1e-12)
    np.testing.assert_allclose(JAX.grad_log_likelihood(theta, X, Y), _gradient(theta, X, Y), rtol=1e-12)


def test_padding_does_not_change_a_batch():
    """Five rows are padded to eight with copies of the first, which has the largest term."""
    heavy = np.concatenate([[[1e6, 0.0, 0.0]], X[:4]])
    theta = np.ones(3)
    expected = _gradient(theta, heavy, np.zeros(5, dtype=bool))
    np.testing.assert_allclose(JAX.grad_log_likelihood(theta, heavy, np.zeros(5, dtype=bool)), expected, rtol=1e-14)


def test_score_and_log_density_in_double_precision():
    points = RNG.standard_normal((20, 3))
    np.testing.assert_allclose(JAX.score(points), PLAIN.score(points), rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(JAX.log_density(points), PLAIN.log_density(points), rtol=1e-13)
    assert JAX.check(points[:3]).compared == 9
    assert jnp.ones(2).dtype == jnp.float32


CHAINS = {
    "sgld": {"step_size": 1e-3, "batch_size": 5},
    "rwmh": {"proposal_scale": 0.3},
    "mala": {"step_size": 1e-2},
    "approximate_mh": {"proposal_scale": 0.3, "batch_size": 20, "epsilon": 0.1},
}


@pytest.mark.parametrize("name", CHAINS)
@pytest.mark.parametrize("chains", [1, 3])
def test_chains_agree_with_numpy(name, chains):
    run = getattr(samplers, name)
    ours, plain = (run(each, draws=60, chains=chains, seed=5, **CHAINS[name]) for each in (JAX, PLAIN))
    np.testing.assert_allclose(ours.points, plain.points, rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(ours.cost, plain.cost)


def test_a_pytree_as_state():
    def term(state, x, y):
        return _term(jnp.append(state["slope"], state["intercept"]), x, y)

    like = {"slope": np.zeros(2), "intercept": 0.0}
    tree = sk.Posterior.from_jax(term, lambda state: -0.5 * state["intercept"] ** 2, (X, Y), like=like)
    assert tree.names == ("intercept", "slope[0]", "slope[1]")
    vector = np.array([0.5, -1.0, 2.0])
    np.testing.assert_allclose(tree.log_likelihood(vector, X, Y), _terms(vector[[1, 2, 0]], X, Y), rtol=1e-12)
    with pytest.raises(sk.UsageError, match="got dim=2"):
        sk.Posterior.from_jax(term, lambda state: 0.0, (X, Y), 2, like=like)


def test_tempered_posteriors_divide_the_likelihood():
    theta = np.array([[0.1, 0.2, 0.3]])
    expected = 0.5 * (PLAIN.score(theta) + theta / 4.0) - theta / 4.0
    np.testing.assert_allclose(JAX.tempered(2.0).score(theta), expected, rtol=1e-11)


def test_a_term_that_is_not_scalar():
    bad = sk.Posterior.from_jax(lambda theta, x, y: x, lambda theta: 0.0, (X, Y), dim=3)
    with pytest.raises(sk.InputError, match=r"log_likelihood must return an array of shape \(b,\)"):
        samplers.rwmh(bad, proposal_scale=0.1, draws=2)
