"""Posteriors: sums over data in blocks, vectorized and single forms, and validation of shapes."""

import time

import numpy as np
import pytest

import steinkit as sk
from steinkit.runtime.deadlines import time_limit
from steinkit.targets import GaussianMean, LassoRegression, LogisticRegression, MixturePosterior

RNG = np.random.default_rng(0)
DATA = RNG.normal([1.0, -2.0], 1.0, size=(30, 2))
POINTS = RNG.normal(size=(7, 2))

# theta ~ N(0, 4 I), x ~ N(theta, I): conjugate, so that the score has a closed form
SINGLE = {
    "log_likelihood": lambda theta, x: -0.5 * ((x - theta) ** 2).sum(axis=1),
    "grad_log_likelihood": lambda theta, x: (x - theta).sum(axis=0),
    "log_prior": lambda thetas: -0.125 * (thetas**2).sum(axis=1),
    "grad_log_prior": lambda thetas: -0.25 * thetas,
}
MANY = {
    "log_likelihood_many": lambda thetas, x: -0.5 * ((x - thetas[:, None]) ** 2).sum(axis=2),
    "grad_log_likelihood_many": lambda thetas, x: (x - thetas[:, None]).sum(axis=1),
}


def conjugate(**changes):
    return sk.Posterior((DATA,), **{**SINGLE, **changes})


@pytest.mark.parametrize("many", [{}, MANY], ids=["single", "many"])
@pytest.mark.parametrize("block", [1, 50, 1 << 22])
def test_score_over_all_data(monkeypatch, many, block):
    monkeypatch.setattr("steinkit.posterior._BLOCK_FLOATS", block)
    target = conjugate(**many, dim=2)
    precision = len(DATA) + 0.25
    mean = DATA.sum(axis=0) / precision
    np.testing.assert_allclose(target.score(POINTS), -precision * (POINTS - mean), rtol=1e-12)
    quadratic = -0.5 * precision * ((POINTS - mean) ** 2).sum(axis=1)
    difference = target.log_density(POINTS) - quadratic
    np.testing.assert_allclose(difference, difference[0], rtol=1e-12)
    assert target.check(POINTS).compared == POINTS.size


@pytest.mark.parametrize(
    "target",
    [
        MixturePosterior(),
        MixturePosterior().tempered(4.0),
        LogisticRegression.nodal(),
        LassoRegression(DATA, DATA.sum(axis=1), precision=2.0),
        GaussianMean(DATA, variance=[1.0, 2.0], prior_variance=3.0),
    ],
    ids=repr,
)
def test_vectorized_forms_agree_with_single_ones(target):
    rng = np.random.default_rng(3)
    thetas = rng.normal(size=(4, target.dim))
    rows = rng.integers(target.size, size=(4, 9))
    batches = tuple(array[rows] for array in target.data)
    terms = target.log_likelihood_many(thetas, *batches)
    gradients = target.grad_log_likelihood_many(thetas, *batches)
    assert terms.shape == (4, 9)
    for k, theta in enumerate(thetas):
        batch = tuple(array[rows[k]] for array in target.data)
        np.testing.assert_allclose(terms[k], target.log_likelihood(theta, *batch), rtol=1e-12)
        np.testing.assert_allclose(gradients[k], target.grad_log_likelihood(theta, *batch), rtol=1e-10)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"log_prior": lambda t: 0.0}, r"log_prior must return an array of shape \(K,\).*expected \(3,\), got \(\)"),
        ({"grad_log_prior": lambda t: t[0]}, r"grad_log_prior must return an array of shape \(K, d\)"),
        ({"log_likelihood": lambda t, x: 0.0}, r"log_likelihood must return an array of shape \(b,\)"),
        ({"grad_log_likelihood": lambda t, x: x - t}, r"grad_log_likelihood must return an array of shape \(d,\)"),
        (
            {"log_likelihood_many": lambda t, x: x[0, :, 0]},
            r"log_likelihood_many must return an array of shape \(K, b\)",
        ),
        (
            {"grad_log_likelihood_many": lambda t, x: x},
            r"grad_log_likelihood_many must return an array of shape \(K, d\)",
        ),
        (
            {"grad_log_likelihood_many": lambda t, x: (t[:, None] - x).sum(axis=1)},
            "grad_log_likelihood_many and grad_log_likelihood must agree",
        ),
    ],
)
def test_a_wrong_shape_names_the_function(changes, message):
    with pytest.raises(sk.InputError, match=message):
        conjugate(**changes).score(POINTS)


def test_single_terms_observe_the_time_limit():
    def slow(theta, x):
        time.sleep(0.02)
        return SINGLE["grad_log_likelihood"](theta, x)

    with time_limit(0.1), pytest.raises(sk.TimeLimitError):
        conjugate(grad_log_likelihood=slow).score(np.zeros((100, 2)))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (DATA, "tuple of arrays"),
        ((), "got shapes none"),
        ((DATA, DATA[:5]), "same length"),
        ((np.float64(1.0),), "same length"),
        ((np.empty((0, 2)),), r"\(0, 2\)"),
    ],
)
def test_invalid_data(data, message):
    with pytest.raises(sk.UsageError, match=message):
        sk.Posterior(data, **SINGLE)


def test_one_data_point():
    target = sk.Posterior((DATA[:1],), **SINGLE, **MANY)
    np.testing.assert_allclose(target.score(POINTS), DATA[:1] - 1.25 * POINTS)


def test_a_wrong_gradient_fails_the_check():
    wrong = conjugate(grad_log_likelihood=lambda theta, x: (theta - x).sum(axis=0))
    with pytest.raises(sk.InputError, match="not the gradient"):
        wrong.check(POINTS)


def test_a_tempered_posterior_divides_the_log_likelihood_alone():
    cold = conjugate(**MANY, dim=2)
    hot = cold.tempered(5.0)
    np.testing.assert_allclose(hot.score(POINTS), -0.25 * POINTS + (cold.score(POINTS) + 0.25 * POINTS) / 5.0)
    prior = -0.125 * (POINTS**2).sum(axis=1)
    np.testing.assert_allclose(hot.log_density(POINTS), prior + (cold.log_density(POINTS) - prior) / 5.0)
    assert hot.check(POINTS).compared == POINTS.size
    assert hot.label == "user-defined posterior at temperature 5"
    assert not MixturePosterior().tempered(1.0).can_sample
    np.testing.assert_allclose(conjugate(dim=2).tempered(5.0).score(POINTS), hot.score(POINTS))


@pytest.mark.parametrize("temperature", [0.0, -1.0, np.inf, np.nan, True, "hot"])
def test_a_temperature_must_be_a_positive_number(temperature):
    with pytest.raises(sk.UsageError, match="temperature must be"):
        conjugate().tempered(temperature)


def test_data_in_a_file_are_not_copied(tmp_path):
    """Memory-mapped features are not copied; arrays are."""
    rng = np.random.default_rng(3)
    features, responses = rng.standard_normal((5000, 3)), np.arange(5000) % 2
    np.save(tmp_path / "x.npy", features)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    posterior = LogisticRegression(mapped, responses)
    assert np.shares_memory(posterior.data[0], mapped)
    in_memory = LogisticRegression(features, responses)
    assert not np.shares_memory(in_memory.data[0], features)
    thetas = rng.standard_normal((4, 3))
    np.testing.assert_array_equal(posterior.score(thetas), in_memory.score(thetas))
    np.save(tmp_path / "bad.npy", np.where(features > 3.0, np.inf, features))
    with pytest.raises(sk.UsageError, match="features"):
        LogisticRegression(np.load(tmp_path / "bad.npy", mmap_mode="r"), responses)
