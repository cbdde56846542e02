import sys
from typing import NamedTuple

import numpy as np
import pytest

import steinkit as sk

jax = pytest.importorskip("jax")
jnp = jax.numpy

EFFECTS = jnp.array([28.0, 8.0, -3.0])


class State(NamedTuple):
    """State of HMC, NUTS and MALA."""

    position: object
    logdensity: object
    logdensity_grad: object


class WalkState(NamedTuple):
    """State of random-walk samplers."""

    position: object
    logdensity: object


def logdensity(x):
    """theta ~ N(mu, 1), mu ~ N(0, 3^2), y ~ N(theta, 2^2): a Gaussian posterior."""
    off = x["theta"] - x["mu"]
    return -(x["mu"] ** 2) / 18.0 - 0.5 * jnp.sum(off**2) - 0.125 * jnp.sum((EFFECTS - x["theta"]) ** 2)


def exact_draws(n, seed=5):
    """Draw (mu, theta) independently from the posterior, using its precision matrix, in single precision."""
    precision = np.diag([1.0 / 9.0 + 3.0, *[1.25] * 3])
    precision[0, 1:] = precision[1:, 0] = -1.0
    mean = np.linalg.solve(precision, np.concatenate([[0.0], np.asarray(EFFECTS) / 4.0]))
    points = np.random.default_rng(seed).multivariate_normal(mean, np.linalg.inv(precision), n).astype(np.float32)
    points = points.astype(np.float64)
    return points, (mean - points) @ precision


def states(lead, kind=State, seed=5):
    points, scores = exact_draws(int(np.prod(lead)), seed)
    points, scores = (array.reshape(*lead, 4).astype(np.float32) for array in (points, scores))
    split = [{"theta": each[..., 1:], "mu": each[..., 0]} for each in (points, scores)]
    heights = np.asarray(jax.vmap(logdensity)(jax.tree.map(lambda a: a.reshape(-1, *a.shape[len(lead) :]), split[0])))
    heights = heights.reshape(lead)
    return kind(split[0], heights, split[1]) if kind is State else kind(split[0], heights)


def test_positions_are_draws_in_the_order_of_the_tree_and_scores_those_in_closed_form():
    target, sample = sk.from_blackjax(logdensity, states((500,)))
    points, scores = exact_draws(500)
    assert sample.names == target.names == ("mu", "theta[0]", "theta[1]", "theta[2]")
    np.testing.assert_array_equal(sample.points, points)
    np.testing.assert_allclose(target.score(points), scores, rtol=1e-9, atol=1e-9)
    assert sk.verdict(sample, target).p > 0.01


@pytest.mark.parametrize("dims", [("chain", "draw"), ("draw", "chain")])
def test_stated_leading_axes(dims):
    whole = states((3, 40) if dims[0] == "chain" else (40, 3))
    target, sample = sk.from_blackjax(logdensity, whole, dims=dims)
    mu = np.asarray(whole.position["mu"], dtype=np.float64)
    by_chain = mu if dims[0] == "chain" else mu.T
    np.testing.assert_array_equal(sample.points[:, 0], by_chain.reshape(-1))
    np.testing.assert_array_equal(sample.chain, np.repeat([0, 1, 2], 40) + sample.chain[0])
    stored_target, stored = sk.from_blackjax(None, whole, dims=dims)
    np.testing.assert_allclose(stored.scores, target.score(sample.points), rtol=1e-5, atol=1e-5)
    np.testing.assert_array_equal(stored_target.score(stored.points[:7]), stored.scores[:7])


def test_other_leading_axes_are_refused():
    with pytest.raises(sk.InputError, match=r"logdensity .* got \(40, 3\)"):
        sk.from_blackjax(logdensity, states((40, 3)))
    with pytest.raises(sk.UsageError, match=r"got \('walker',\)"):
        sk.from_blackjax(logdensity, states((40,)), dims=("walker",))


def test_positions_alone_and_other_pytrees():
    class Position(NamedTuple):
        mu: object
        theta: object

    position = states((60,)).position
    position = Position(position["mu"], position["theta"])
    target, sample = sk.from_blackjax(lambda x: logdensity(x._asdict()), position)
    np.testing.assert_allclose(target.score(sample.points), exact_draws(60)[1], rtol=1e-9, atol=1e-9)
    assert sample.names == ("mu", "theta[0]", "theta[1]", "theta[2]")


def test_stored_gradients_are_the_score_only_at_the_draws():
    target, sample = sk.from_blackjax(None, states((400,)))
    np.testing.assert_allclose(sample.scores, exact_draws(400)[1], rtol=1e-5, atol=1e-5)
    assert sk.verdict(sample, target).p > 0.01
    with pytest.raises(sk.InputError, match="known only at the 400 stored draws"):
        target.score(sample.points[:1] + 1.0)


def test_gradients_of_the_potential_energy_are_detected():
    whole = states((400,))
    negated = whole._replace(logdensity_grad=jax.tree.map(np.negative, whole.logdensity_grad))
    with pytest.raises(sk.InputError, match="negate them"):
        sk.from_blackjax(None, negated)


def test_states_without_gradients_need_a_log_density():
    walk = states((200,), WalkState)
    with pytest.raises(sk.InputError, match="expected states with gradients"):
        sk.from_blackjax(None, walk)
    target, sample = sk.from_blackjax(logdensity, walk)
    np.testing.assert_allclose(target.score(sample.points), exact_draws(200)[1], rtol=1e-9, atol=1e-9)


def test_states_of_another_density_are_reported():
    def with_another_prior(x):
        return logdensity(x) - 2.0 * x["mu"] ** 2

    with pytest.warns(sk.SteinkitWarning, match=r"coordinate 'mu', the sampler stored .* come from a density"):
        target, sample = sk.from_blackjax(with_another_prior, states((400,)))
    assert sk.verdict(sample, target).p < 1e-6


def test_whole_numbers_have_no_score():
    position = {"k": np.arange(30), "mu": np.linspace(0.0, 1.0, 30)}
    with pytest.raises(sk.InputError, match=r"the position, got the discrete k"):
        sk.from_blackjax(lambda x: -(x["mu"] ** 2), position)


def test_without_jax_the_error_names_the_command(monkeypatch):
    monkeypatch.setitem(sys.modules, "jax", None)
    with pytest.raises(sk.MissingDependencyError, match=r"pip install -e '.\[jax\]'"):
        sk.from_blackjax(logdensity, states)


@pytest.mark.filterwarnings("ignore::DeprecationWarning:blackjax.*")
def test_a_run_of_blackjax_itself():
    sampler = pytest.importorskip("blackjax").nuts(logdensity, step_size=0.7, inverse_mass_matrix=jnp.ones(4))
    start = sampler.init({"mu": jnp.array(1.0), "theta": EFFECTS / 4.0})
    keys = jax.random.split(jax.random.key(1), 600)
    _, run = jax.lax.scan(lambda state, key: (sampler.step(key, state)[0],) * 2, start, keys)
    target, sample = sk.from_blackjax(logdensity, run)
    assert sk.verdict(sample[100:], target).p > 0.01
    _, stored = sk.from_blackjax(None, run)
    np.testing.assert_allclose(stored.scores, target.score(sample.points), rtol=1e-3, atol=1e-3)


def test_a_log_density_is_a_function():
    with pytest.raises(sk.UsageError, match=r"logdensity to be a function, got State\(.*\(State\)$"):
        sk.from_blackjax(states((5,)), logdensity)


def test_an_error_of_the_log_density_names_its_line():
    with pytest.raises(sk.InputError, match=r"raised KeyError at .*test_blackjax\.py, line .*no_such_thing"):
        sk.from_blackjax(lambda position: position["no_such_thing"], states((5,)))
