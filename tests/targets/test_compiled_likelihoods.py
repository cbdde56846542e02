"""Compiled likelihoods: the NumPy forms' numbers, and the same bits whatever is computed beside them."""

import numpy as np
import pytest

import steinkit as sk
from steinkit.targets import LogisticRegression, MixturePosterior, make_target
from steinkit.targets.elementary_kernels import exp_negative, expit_all, log_one_plus, softplus_all


def regression(dim):
    rng = np.random.default_rng(dim)
    features = rng.normal(size=(300, dim)) / np.sqrt(dim)
    return LogisticRegression(features, rng.random(300) < 0.5)


POSTERIORS = [MixturePosterior(variance=1.3), LogisticRegression.nodal(), regression(1), regression(7), regression(33)]
FORMS = ["log_likelihood_many", "grad_log_likelihood_many"]


def batches(target, chains, rows, seed=0):
    index = np.random.default_rng(seed).integers(target.size, size=(chains, rows))
    return tuple(array[index] for array in target.data)


def parameters(target, chains, scale=2.0):
    return scale * np.random.default_rng(1).normal(size=(chains, target.dim))


@pytest.mark.parametrize("target", POSTERIORS, ids=repr)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("chains", "rows"), [(1, 1), (3, 7), (100, 5), (2, 1000)])
def test_numbers_are_those_of_numpy(target, form, chains, rows):
    thetas, batch = parameters(target, chains), batches(target, chains, rows)
    found = getattr(target.compiled(), form)(thetas, *batch)
    np.testing.assert_allclose(found, getattr(target, form)(thetas, *batch), rtol=1e-12, atol=1e-12 * rows)


@pytest.mark.parametrize("target", POSTERIORS, ids=repr)
@pytest.mark.parametrize("form", FORMS)
def test_a_chain_has_the_same_bits_alone_or_among_a_hundred(target, form):
    function = getattr(target.compiled(), form)
    thetas, batch = parameters(target, 100), batches(target, 100, 23)
    together = function(thetas, *batch)
    for k in (0, 1, 57, 99):
        np.testing.assert_array_equal(function(thetas[k : k + 1], *(x[k : k + 1] for x in batch))[0], together[k])


@pytest.mark.parametrize("target", POSTERIORS, ids=repr)
@pytest.mark.parametrize("form", FORMS)
def test_a_shared_batch_gives_the_bits_of_separate_copies(target, form):
    function = getattr(target.compiled(), form)
    thetas = parameters(target, 20)
    shared = tuple(np.broadcast_to(x[:40], (20, *x[:40].shape)) for x in target.data)
    copies = tuple(x.copy() for x in shared)
    np.testing.assert_array_equal(function(thetas, *shared), function(thetas, *copies))
    np.testing.assert_array_equal(function(thetas[3:4], *(x[:1] for x in shared))[0], function(thetas, *shared)[3])


@pytest.mark.parametrize("target", POSTERIORS, ids=repr)
def test_a_datum_has_the_same_bits_in_a_batch_of_any_length(target):
    function = target.compiled().log_likelihood_many
    theta, batch = parameters(target, 1), batches(target, 1, 40)
    whole = function(theta, *batch)
    for rows in range(1, 20):
        np.testing.assert_array_equal(function(theta, *(x[:, :rows] for x in batch)), whole[:, :rows])


@pytest.mark.parametrize("target", POSTERIORS[:2], ids=repr)
def test_far_parameters_and_nan(target):
    compiled = target.compiled()
    batch = batches(target, 4, 9)
    for value in (-1e3, 1e3, -1e6, 1e6):
        thetas = np.full((4, target.dim), value)
        for form in FORMS:
            expected = getattr(target, form)(thetas, *batch)
            np.testing.assert_allclose(getattr(compiled, form)(thetas, *batch), expected, rtol=1e-12, atol=1e-300)
    for column in range(target.dim):
        thetas = parameters(target, 4)
        thetas[2, column] = np.nan
        for form in FORMS:
            values = getattr(compiled, form)(thetas, *batch)
            assert np.isnan(values[2]).any()
            assert np.isfinite(values[[0, 1, 3]]).all()


def test_one_compilation_serves_arrays_of_every_layout():
    from steinkit.targets.logistic_kernels import logistic_gradients, logistic_terms

    target = LogisticRegression.nodal().compiled()
    thetas, (features, signs) = parameters(target, 4), batches(target, 4, 8)
    locked = features.copy()
    locked.setflags(write=False)
    strided = np.asfortranarray(features)
    for x in (features, locked, strided, np.broadcast_to(features[0], features.shape)):
        target.log_likelihood_many(thetas, x, signs)
        target.grad_log_likelihood_many(np.asfortranarray(thetas), x, signs[:, ::-1])
    assert len(logistic_terms.signatures) == len(logistic_gradients.signatures) == 1


def test_score_stays_as_it_was_and_shapes_are_accepted():
    target = MixturePosterior()
    points = parameters(target, 30)
    np.testing.assert_array_equal(target.compiled().score(points), target.score(points))
    target.compiled().check_shapes(points[0])
    hot = target.compiled().tempered(10.0)
    np.testing.assert_allclose(hot.score(points), target.tempered(10.0).score(points), rtol=1e-10)


def test_compiled_forms_by_name():
    target = make_target("logistic-posterior", {"compiled": "true"}, dim=6)
    assert "compiled" in target.log_likelihood_many.__name__
    assert "compiled" not in make_target("logistic-posterior", {}, dim=6).log_likelihood_many.__name__
    with pytest.raises(sk.UsageError, match="compiled must be true or false; received 3"):
        make_target("mixture-posterior", {"compiled": "3"}, dim=2)


def test_only_posteriors_that_have_them_have_compiled_forms():
    with pytest.raises(sk.UsageError, match="gaussian-mean has no compiled forms"):
        sk.targets.GaussianMean([1.0]).compiled()


def test_elementary_functions_to_the_last_places():
    a = np.concatenate(
        [[0.0, 1e-300, 1e-17, 0.3465, 0.3466, 707.9], np.random.default_rng(2).exponential(30.0, 20_000)]
    )
    a = a[a < 708.0]
    exponentials = np.array([exp_negative(x) for x in a])
    np.testing.assert_allclose(exponentials, np.exp(-a), rtol=4e-16)
    np.testing.assert_allclose([log_one_plus(e) for e in exponentials], np.log1p(np.exp(-a)), rtol=5e-16)
    assert exp_negative(1e9) < 1e-300
    z = np.concatenate([a, -a])
    softplus, expit = z.copy(), z.copy()
    softplus_all(softplus)
    expit_all(expit)
    np.testing.assert_allclose(softplus, np.logaddexp(0.0, z), rtol=1e-15)
    np.testing.assert_allclose(expit, np.where(z > 0, 1.0, np.exp(-np.abs(z))) / (1.0 + np.exp(-np.abs(z))), rtol=1e-15)
