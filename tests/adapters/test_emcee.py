"""A substitute with the chain layout documented by emcee; if emcee is installed, it is tested as well."""

import numpy as np
import pytest
from support.autoregressions import autoregression

import steinkit as sk

PRECISION = np.array([[2.0, 0.6], [0.6, 1.0]])

pytestmark = pytest.mark.filterwarnings("ignore:emcee log density has no score")


def gaussian(x, shift=0.0, *, scale=1.0):
    return -0.5 * (x - shift) @ PRECISION @ (x - shift) * scale


class StandIn:
    """Substitute for an EnsembleSampler, with exact draws."""

    def __init__(self, function, chain, *, vectorize=False, parameter_names=None):
        self._chain, self.vectorize = chain, vectorize
        self.log_prob_fn, self.ndim = function, chain.shape[2]
        self.iteration = len(chain)
        self.params_are_named = parameter_names is not None
        if parameter_names is not None:
            self.parameter_names = parameter_names
        given = chain.reshape(-1, self.ndim)
        if self.params_are_named:
            given = [{name: point[where] for name, where in parameter_names.items()} for point in given]
        values = function(given) if vectorize else [function(point) for point in given]
        values = [np.atleast_1d(np.asarray(value, dtype=object))[0] for value in values]
        self._log_prob = np.array(values, dtype=float).reshape(chain.shape[:2])

    def get_chain(self, discard=0, thin=1):
        return self._chain[discard + thin - 1 :: thin]

    def get_log_prob(self, discard=0, thin=1):
        return self._log_prob[discard + thin - 1 :: thin]


def gaussian_chain(steps=30, walkers=8, seed=1):
    draws = np.random.default_rng(seed).multivariate_normal([0.0, 0.0], np.linalg.inv(PRECISION), steps * walkers)
    return draws.reshape(steps, walkers, 2)


def test_walkers_are_chains():
    chain = gaussian_chain()
    target, sample = sk.from_emcee(StandIn(gaussian, chain), discard=3, thin=2)
    assert sample.chain.max() == 7
    for walker in range(8):
        np.testing.assert_array_equal(sample.points[sample.chain == walker], chain[4::2, walker])
    np.testing.assert_allclose(target.score(sample.points), -sample.points @ PRECISION, rtol=1e-6, atol=1e-8)


def test_ess_of_autocorrelated_walkers():
    """Steps of an autoregression with autocorrelation time 39; along the other axis they are independent."""
    chain = autoregression(np.random.default_rng(1).standard_normal((600, 8, 1)), 0.95)
    _, sample = sk.from_emcee(StandIn(lambda x: -0.5 * x[0] ** 2, chain))
    found = sk.chain_diagnostics(sample).bulk_ess[0]
    assert 0.5 * 8 * 600 / 39 < found < 2.0 * 8 * 600 / 39
    assert sk.chain_diagnostics(sk.Sample(points=chain)).bulk_ess[0] > 10.0 * found


def test_named_parameters_blobs_and_vectorized_functions():
    chain = gaussian_chain()

    def by_name(given):
        return gaussian(np.array([given["a"], *given["b"]])), "a blob", 3

    target, sample = sk.from_emcee(StandIn(by_name, chain, parameter_names={"a": 0, "b": [1]}))
    assert sample.names == ("a", "b[0]")
    np.testing.assert_allclose(target.score(sample.points), -sample.points @ PRECISION, rtol=1e-6, atol=1e-8)

    def of_many(points):
        return np.column_stack([-0.5 * np.einsum("ni,ij,nj->n", points, PRECISION, points), np.ones(len(points))])

    target, again = sk.from_emcee(StandIn(of_many, chain, vectorize=True), names=["u", "v"])
    assert again.names == ("u", "v")
    np.testing.assert_allclose(target.log_density(again.points), [gaussian(x) for x in again.points])


def test_a_given_score_is_used_and_checked():
    sampler = StandIn(gaussian, gaussian_chain())
    target, sample = sk.from_emcee(sampler, score=lambda x: -x @ PRECISION)
    np.testing.assert_array_equal(target.score(sample.points), -sample.points @ PRECISION)
    with pytest.raises(sk.InputError, match="the score is not the gradient"):
        sk.from_emcee(sampler, score=lambda x: x @ PRECISION)


def box_chain(upper):
    """Exponential in the first coordinate, uniform up to `upper` in the second."""
    make = np.random.default_rng(4)
    return np.stack([make.exponential(2.0, (40, 10)), make.uniform(-1.0, upper, (40, 10))], axis=2)


def in_a_box(x):
    return -x[0] / 2.0 if x[0] > 0.0 and -1.0 < x[1] < 3.0 else -np.inf


def test_edges_of_the_support_need_bounds():
    sampler = StandIn(in_a_box, box_chain(3.0))
    with pytest.raises(
        sk.InputError, match=r"draws: x1 below .*, 0.*; x2 below .*, -0\.9.*; x2 above .*, 2\.9.*bounds= "
    ) as error:
        sk.from_emcee(sampler)
    assert "x1 above" not in str(error.value)
    with pytest.raises(sk.InputError, match=r"draws: x2 below .*, -0\.9[^;]*; pass"):
        sk.from_emcee(sampler, bounds=[(0.0, np.inf), (-np.inf, 3.0)])
    bounds = [(0.0, np.inf), (-1.0, 3.0)]
    target, sample = sk.from_emcee(sampler, bounds=bounds)
    np.testing.assert_allclose(target.score(sample.points), np.tile([-0.5, 0.0], (len(sample), 1)), atol=1e-6)
    np.testing.assert_array_equal(target.bounds, bounds)


def test_distant_edges_need_no_bounds():
    sampler = StandIn(lambda x: gaussian(x) if np.abs(x).max() < 50.0 else -np.inf, gaussian_chain())
    target, sample = sk.from_emcee(sampler)
    assert target.bounds is None
    np.testing.assert_allclose(target.score(sample.points), -sample.points @ PRECISION, rtol=1e-6, atol=1e-8)


def test_invalid_samplers_are_refused():
    sampler = StandIn(gaussian, gaussian_chain())
    with pytest.raises(sk.UsageError, match=r"EnsembleSampler, got ndarray"):
        sk.from_emcee(gaussian_chain())
    with pytest.raises(sk.InputError, match=r"at least one step, .*shape \(0, 8, 2\)"):
        sk.from_emcee(sampler, discard=30)
    sampler.log_prob_fn = lambda x: gaussian(x, shift=0.1)
    with pytest.raises(sk.InputError, match=r"log density .* but the chain contains"):
        sk.from_emcee(sampler)


def test_a_sampler_of_the_package_itself():
    sampler = pytest.importorskip("emcee").EnsembleSampler(8, 2, gaussian, args=[0.5], kwargs={"scale": 2.0})
    with pytest.raises(sk.InputError, match="the EnsembleSampler contains no draws"):
        sk.from_emcee(sampler)
    sampler._random.seed(1)
    sampler.run_mcmc(gaussian_chain(1)[0], 50)
    target, sample = sk.from_emcee(sampler, discard=10)
    np.testing.assert_array_equal(sample.points[40:80], sampler.get_chain(discard=10)[:, 1])
    np.testing.assert_allclose(target.score(sample.points), -2.0 * (sample.points - 0.5) @ PRECISION, rtol=1e-6)


@pytest.mark.parametrize(("option", "value"), [("discard", -1), ("discard", 0.5), ("thin", 0), ("thin", "2")])
def test_discard_and_thin_are_whole_numbers(option, value):
    with pytest.raises(sk.UsageError, match=f"{option} must be a whole number of at least .*got {value!r}"):
        sk.from_emcee(StandIn(gaussian, gaussian_chain()), **{option: value})


def raising(x):
    if x[0] < -4.0:
        raise ValueError("no root")
    return gaussian(x)


def test_a_function_that_raises_rejects_a_proposal():
    target, sample = sk.from_emcee(StandIn(raising, gaussian_chain()))
    assert sample.points[:, 0].min() > -4.0
    points = np.array([[1.0, 0.0], [-5.0, 0.0], [0.0, 0.0]])
    np.testing.assert_allclose(target.proposal_log_density(points), [-1.0, -np.inf, 0.0])
    np.testing.assert_allclose(target.proposal_score(points), [[-2.0, -0.6], [np.nan, np.nan], [0.0, 0.0]], atol=1e-8)


def test_a_function_that_raises_next_to_the_draws_ends_the_support_there():
    chain = gaussian_chain()
    edge = chain[..., 0].min() - 1e-9

    def beyond(x):
        return gaussian(x) if x[0] > edge else 1 / 0

    with pytest.raises(sk.InputError, match="below the outermost draw"):
        sk.from_emcee(StandIn(beyond, chain))
