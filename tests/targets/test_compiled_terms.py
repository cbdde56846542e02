"""Compiled terms of the built-in posteriors, against their NumPy forms."""

import pickle

import mpmath as mp
import numpy as np
import pytest

import steinkit as sk
from steinkit.samplers.chains import compiled_kernels as kernels
from steinkit.samplers.chains.compiled_kernels import Terms
from steinkit.targets import LogisticRegression, MixturePosterior
from steinkit.targets.likelihood_kernels import exp_negative, expit, log_ratio, softplus, softplus_difference

NO_BOUNDS = np.empty((0, 2))
GO_ON = np.zeros(1, dtype=np.bool_)
KEPT = []


def regression(dim, size=300):
    rng = np.random.default_rng(dim)
    features = rng.normal(size=(size, dim)) / np.sqrt(dim)
    return LogisticRegression(features, rng.random(size) < 0.5, prior_variance=rng.uniform(0.5, 2.0, dim))


POSTERIORS = [
    MixturePosterior(variance=1.3, prior_variances=(4.0, 0.7)),
    LogisticRegression.nodal(),
    regression(1),
    regression(7),
    regression(33),
]


def terms_of(target, rows, longest=None, bounds=NO_BOUNDS, stop=GO_ON):
    """Return the terms of a posterior, with buffers for a number of rows, or for given rows."""
    index = np.arange(rows) if np.ndim(rows) == 0 else rows
    longest, values, work = longest or len(index), np.empty(2 * len(index)), np.empty(target.dim)
    KEPT.append(target.compiled_terms)  # keeps the objects at these addresses alive
    return Terms(KEPT[-1].addresses, bounds, target.size, longest, index, values, work, stop)


@pytest.mark.parametrize("target", POSTERIORS, ids=repr)
@pytest.mark.parametrize("rows", [1, 3, 8, 47])
def test_the_terms_of_a_batch_agree_with_numpy(target, rows):
    rng = np.random.default_rng(rows)
    index = rng.integers(target.size, size=rows)
    terms = terms_of(target, index)
    theta, proposed = 2.0 * rng.normal(size=(2, target.dim))
    batch = tuple(array[index] for array in target.data)
    total = np.empty(target.dim)
    kernels.log_ratios(terms, theta, proposed, rows)
    expected = target.log_likelihood(proposed, *batch) - target.log_likelihood(theta, *batch)
    np.testing.assert_allclose(terms.values[:rows], expected, rtol=1e-12, atol=1e-13)
    kernels.slice_gradient(terms, theta, 0, rows, total)
    np.testing.assert_allclose(total, target.grad_log_likelihood(theta, *batch), rtol=1e-11, atol=1e-12)
    begin = int(rng.integers(target.size - rows + 1))
    found = kernels.slice_log_likelihood(terms, theta, begin, rows)
    some = tuple(array[begin : begin + rows] for array in target.data)
    np.testing.assert_allclose(found, target.log_likelihood(theta, *some).sum(), rtol=1e-12)


@pytest.mark.parametrize("target", POSTERIORS, ids=repr)
def test_sums_over_all_the_data_and_priors(target):
    theta, other = np.random.default_rng(1).normal(size=(2, target.dim))
    terms, found = terms_of(target, 37), np.empty(target.dim)
    likelihood = target.log_likelihood(theta, *target.data)
    total = kernels.total_log_likelihood(terms, theta)
    np.testing.assert_allclose(total, likelihood.sum(), rtol=1e-12)
    kernels.total_gradient(terms, theta, found)
    np.testing.assert_allclose(found, target.grad_log_likelihood(theta, *target.data), rtol=1e-11)
    kernels.batch_gradient(terms_of(target, target.size, 37), theta, target.size, found)
    np.testing.assert_allclose(found, target.grad_log_likelihood(theta, *target.data), rtol=1e-11)
    largest = kernels.largest_log_ratio(terms, theta, other)
    ratios = target.log_likelihood(other, *target.data) - likelihood
    np.testing.assert_allclose(largest, np.abs(ratios).max(), rtol=1e-12)
    np.testing.assert_allclose(kernels.log_prior(terms, theta), target.log_prior(theta[None])[0], rtol=1e-13)
    kernels.grad_log_prior(terms, theta, found)
    np.testing.assert_allclose(found, target.grad_log_prior(theta[None])[0], rtol=1e-13)


def test_the_log_prior_is_minus_infinity_outside_the_bounds():
    terms = terms_of(POSTERIORS[0], 1, bounds=np.array([[0.0, 1.0], [-np.inf, 2.0]]))
    for theta, inside in (((0.5, -9.0), True), ((0.0, 2.0), True), ((1.1, 0.0), False), ((0.5, 2.1), False)):
        assert np.isfinite(kernels.log_prior(terms, np.array(theta))) == inside


@pytest.mark.parametrize("target", POSTERIORS[:2], ids=repr)
def test_far_parameters_and_nan(target):
    terms, size = terms_of(target, target.size), target.size
    here, found = np.zeros(target.dim), np.empty(target.dim)
    at_zero = target.log_likelihood(here, *target.data)
    for value in (-1e3, 1e3, -1e6, 1e6):
        far = np.full(target.dim, value)
        kernels.log_ratios(terms, here, far, size)
        expected = target.log_likelihood(far, *target.data) - at_zero
        np.testing.assert_allclose(terms.values[:size], expected, rtol=1e-12, atol=1e-12)
        kernels.slice_gradient(terms, far, 0, size, found)
        np.testing.assert_allclose(found, target.grad_log_likelihood(far, *target.data), rtol=1e-12, atol=1e-290)
    for column in range(target.dim):
        broken = np.ones(target.dim)
        broken[column] = np.nan
        kernels.log_ratios(terms, here, broken, size)
        assert np.isnan(terms.values[:size]).any()
        assert np.isnan(kernels.slice_log_likelihood(terms, broken, 0, size))


def test_data_of_any_layout():
    x, y = LogisticRegression.nodal().data
    turned = LogisticRegression(np.asfortranarray(x), y[::-1])
    theta = np.linspace(-1.0, 1.0, 6)
    found = kernels.total_log_likelihood(terms_of(turned, 20), theta)
    np.testing.assert_allclose(found, turned.log_likelihood(theta, x, y[::-1]).sum(), rtol=1e-12)


class Doubled(LogisticRegression):
    """Derived posterior with another likelihood."""

    def _log_likelihood_many(self, thetas, features, signs):
        return 2.0 * super()._log_likelihood_many(thetas, features, signs)


def test_terms_are_invalid_for_other_functions_or_data():
    x, y = LogisticRegression.nodal().data
    assert Doubled(x, y).compiled_terms is None
    assert sk.targets.LassoRegression.toy(rng=0).tempered(2.0).compiled_terms is None
    terms = ("log_likelihood", "grad_log_likelihood", "log_prior", "grad_log_prior")
    for change in (*terms, "log_likelihood_many", "grad_log_likelihood_many"):
        target = LogisticRegression(x, y)
        assert target.compiled_terms is not None
        setattr(target, change, lambda *_: np.zeros(1))
        assert target.compiled_terms is None
        assert target.tempered(3.0).compiled_terms is None
    target.data = (x[:5], y[:5])
    assert target.compiled_terms is None


def total(target, theta):
    terms = terms_of(target, 9)
    return kernels.total_log_likelihood(terms, theta) / KEPT[-1].temperature + kernels.log_prior(terms, theta)


@pytest.mark.parametrize(
    "change",
    [
        {"prior_variance": 0.3},
        {"prior_variance": np.arange(12.0, 0.0, -1.0)[::2]},
        {"variance": 3.0},
        {"prior_variances": 0.2},
        {"prior_variances": (3, 4)},
    ],
    ids=repr,
)
def test_terms_follow_the_parameters_of_their_family(change):
    ((name, value),) = change.items()
    target = LogisticRegression.nodal() if name == "prior_variance" else MixturePosterior()
    hot, theta = target.tempered(2.0), np.linspace(-1.0, 1.0, target.dim)
    before = total(target, theta)
    setattr(target, name, value)
    for changed in (target, hot):
        np.testing.assert_allclose(total(changed, theta), changed.log_density(theta[None])[0], rtol=1e-12)
    assert abs(total(target, theta) - before) > 0.01


def test_terms_follow_numbers_that_change_in_place():
    x, y = LogisticRegression.nodal().data
    target, theta = LogisticRegression(np.asfortranarray(x), y), np.linspace(-1.0, 1.0, 6)
    before = total(target, theta)
    target.data[0][3] *= -2.0
    assert abs(total(target, theta) - before) > 0.01
    np.testing.assert_allclose(total(target, theta), target.log_density(theta[None])[0], rtol=1e-12)


def test_a_tempered_posterior_keeps_its_data():
    target, theta = MixturePosterior(), np.array([0.5, -0.5])
    hot = target.tempered(2.0)
    target.data = (target.data[0][:3],)
    np.testing.assert_allclose(total(hot, theta), hot.log_density(theta[None])[0], rtol=1e-12)


def test_tempered_terms():
    assert MixturePosterior().tempered(4.0).tempered(2.5).compiled_terms.temperature == 10.0


def digits(function, *arguments):
    """Evaluate a function with thirty digits, rounded to doubles."""
    with mp.workdps(30):
        return np.array([float(function(*map(mp.mpf, each))) for each in zip(*arguments, strict=True)])


def numbers(size=500):
    """Return numbers near 0, at changes of the formula, and far away, of both signs."""
    a = np.concatenate(
        [[0.0, 1e-300, 1e-17, 0.3465, 0.3466, 0.6932, 707.9], np.random.default_rng(2).exponential(30.0, size)]
    )
    a = a[a < 708.0]
    return np.concatenate([a, -a])


def test_elementary_functions_are_accurate_to_the_last_digits():
    z = numbers()
    a, ulp = np.abs(z), 2.0**-52
    np.testing.assert_allclose([exp_negative(x) for x in a], digits(lambda x: mp.exp(-x), a), rtol=2 * ulp)
    assert exp_negative(1e9) < 1e-300
    np.testing.assert_allclose([softplus(x) for x in z], digits(lambda x: mp.log1p(mp.exp(x)), z), rtol=2.5 * ulp)
    np.testing.assert_allclose([expit(x) for x in z], digits(lambda x: 1 / (1 + mp.exp(-x)), z), rtol=2 * ulp)
    e, f = np.random.default_rng(3).random((2, 2000))
    e[:4], f[:4] = [0.0, 1.0, 0.0, 1.0], [0.0, 0.0, 1.0, 1.0]
    logs = digits(lambda x, y: mp.log((1 + x) / (1 + y)), e, f)
    np.testing.assert_allclose([log_ratio(*each) for each in zip(e, f, strict=True)], logs, rtol=4 * ulp, atol=ulp / 4)


def test_differences_of_softplus_are_accurate_for_large_values():
    y = numbers()
    steps = np.random.default_rng(4).standard_normal((3, len(y))) * np.array([[1e-6], [0.1], [100.0]])
    for z in np.clip(y + steps, -708.0, 708.0):
        exact = digits(lambda a, b: mp.log1p(mp.exp(a)) - mp.log1p(mp.exp(b)), y, z)
        found = np.array([softplus_difference(*each) for each in zip(y, z, strict=True)])
        near = np.exp(-np.minimum(np.abs(y), np.abs(z)))
        assert (np.abs(found - exact) <= 2.0**-52 * 1.5 * (np.abs(exact) + near)).all()


def test_tempered_posteriors_are_pickled():
    hot = LogisticRegression.nodal().tempered(4.0)
    twin, thetas = pickle.loads(pickle.dumps(hot)), np.linspace(-1.0, 1.0, 12).reshape(2, 6)
    np.testing.assert_array_equal(twin.score(thetas), hot.score(thetas))
    assert twin.compiled_terms.temperature == 4.0
