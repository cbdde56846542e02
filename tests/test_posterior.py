"""Posteriors: sums over data in blocks, the two forms, and the shapes they are held to."""

import time

import numpy as np
import pytest

import steinkit as sk
from steinkit.runtime.progress import watched
from steinkit.samplers import sgld
from steinkit.sweeps.identity import target_fingerprint
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
def test_score_is_over_all_data_whatever_the_blocks(monkeypatch, many, block):
    monkeypatch.setattr("steinkit.posterior._BLOCK_FLOATS", block)
    target = conjugate(**many, dim=2)
    precision = len(DATA) + 0.25
    mean = DATA.sum(axis=0) / precision
    np.testing.assert_allclose(target.score(POINTS), -precision * (POINTS - mean), rtol=1e-12)
    quadratic = -0.5 * precision * ((POINTS - mean) ** 2).sum(axis=1)
    difference = target.log_density(POINTS) - quadratic
    np.testing.assert_allclose(difference, difference[0], rtol=1e-12)
    assert target.check(POINTS).compared == POINTS.size


def test_memory_is_bounded_by_the_blocks(monkeypatch):
    monkeypatch.setattr("steinkit.posterior._BLOCK_FLOATS", 24)
    largest = []

    def watched(thetas, x):
        largest.append(x.size)
        return MANY["grad_log_likelihood_many"](thetas, x)

    conjugate(grad_log_likelihood_many=watched).score(POINTS)
    assert max(largest) <= 24


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
def test_many_chain_forms_agree_with_the_single_ones_on_separate_batches(target):
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
        ({"log_prior": lambda t: 0.0}, r"log_prior must return shape \(K,\).*here \(3,\); it returned \(\)"),
        ({"grad_log_prior": lambda t: t[0]}, r"grad_log_prior must return shape \(K, d\)"),
        ({"log_likelihood": lambda t, x: 0.0}, r"log_likelihood must return shape \(b,\), one term a datum"),
        ({"grad_log_likelihood": lambda t, x: x - t}, r"grad_log_likelihood must .* summed over the batch"),
        ({"log_likelihood_many": lambda t, x: x[0, :, 0]}, r"log_likelihood_many must return shape \(K, b\)"),
        ({"grad_log_likelihood_many": lambda t, x: x}, r"grad_log_likelihood_many must return shape \(K, d\)"),
        (
            {"grad_log_likelihood_many": lambda t, x: (t[:, None] - x).sum(axis=1)},
            "grad_log_likelihood_many and grad_log_likelihood disagree",
        ),
    ],
)
def test_a_wrong_shape_names_the_function(changes, message):
    with pytest.raises(sk.InputError, match=message):
        conjugate(**changes).score(POINTS)


def test_shapes_are_checked_once():
    calls = []

    def counted(theta, x):
        calls.append(len(x))
        return SINGLE["log_likelihood"](theta, x)

    target = conjugate(log_likelihood=counted)
    target.score(POINTS)
    target.score(POINTS)
    assert len(calls) == 1


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (DATA, "tuple of arrays"),
        ((), "received shapes none"),
        ((DATA, DATA[:5]), "same leading length"),
        ((np.float64(1.0),), "same leading length"),
        ((np.empty((0, 2)),), "empty"),
    ],
)
def test_data_of_the_wrong_form_are_refused(data, message):
    with pytest.raises(sk.UsageError, match=message):
        sk.Posterior(data, **SINGLE)


def test_one_datum_is_enough():
    target = sk.Posterior((DATA[:1],), **SINGLE, **MANY)
    np.testing.assert_allclose(target.score(POINTS), DATA[:1] - 1.25 * POINTS)


def test_a_wrong_gradient_fails_the_check():
    wrong = conjugate(grad_log_likelihood=lambda theta, x: (theta - x).sum(axis=0))
    with pytest.raises(sk.InputError, match="not the gradient"):
        wrong.check(POINTS)


def test_a_tempered_posterior_has_its_likelihood_flattened_and_its_prior_kept():
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
    with pytest.raises(sk.UsageError, match="temperature must be a number, positive and finite"):
        conjugate().tempered(temperature)


def test_data_in_a_file_are_not_copied(tmp_path):
    """A regression of memory-mapped features holds the file's own memory; an array is copied, as elsewhere."""
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
    with pytest.raises(sk.UsageError, match="features must be finite"):
        LogisticRegression(np.load(tmp_path / "bad.npy", mmap_mode="r"), responses)


@pytest.mark.parametrize("package", ["h5py", "zarr"])
def test_data_kept_in_chunks_are_read_row_by_row(package, tmp_path, monkeypatch):
    """Scores, scores of a few data, and chains are those of the arrays in memory; never is all of them asked for."""
    module = pytest.importorskip(package)
    rng = np.random.default_rng(4)
    x = rng.standard_normal((3000, 2))
    y = x @ [1.0, -1.0] + rng.standard_normal(3000)
    if package == "h5py":
        file = module.File(tmp_path / "data.h5", "w")
        stored = file.create_dataset("x", data=x, chunks=(100, 2)), file.create_dataset("y", data=y, chunks=(100,))
    else:
        stored = tuple(module.array(each, chunks=(100, *each.shape[1:])) for each in (x, y))
    read = []

    class Watched:
        def __init__(self, array):
            self.array, self.chunks = array, array.chunks
            self.shape, self.ndim, self.dtype = array.shape, array.ndim, array.dtype

        def __getitem__(self, rows):
            found = self.array[rows]
            read.append(len(found) if np.ndim(found) == self.ndim else 1)
            return found

    def made(data):
        return sk.Posterior(
            data,
            log_likelihood=lambda theta, x, y: -0.5 * (y - x @ theta) ** 2,
            grad_log_likelihood=lambda theta, x, y: (y - x @ theta) @ x,
            log_prior=lambda thetas: -0.5 * (thetas**2).sum(axis=1),
            grad_log_prior=lambda thetas: -thetas,
            dim=2,
        )

    monkeypatch.setattr("steinkit.posterior._BLOCK_FLOATS", 1500)
    watched, in_memory = made(tuple(map(Watched, stored))), made((x, y))
    draws = np.array([1.0, -1.0]) + 0.02 * rng.standard_normal((20, 2))
    for each in (watched, watched.tempered(2.0)):
        other = in_memory if each is watched else in_memory.tempered(2.0)
        np.testing.assert_allclose(each.score(draws), other.score(draws), rtol=1e-12)
        np.testing.assert_allclose(each.log_density(draws), other.log_density(draws), rtol=1e-12)
    np.testing.assert_allclose(*(sk.stochastic_scores(draws, each, batch=5).scores for each in (watched, in_memory)))
    runs = [sgld(each, step_size=1e-5, batch_size=7, draws=30, seed=1).points for each in (watched, in_memory)]
    np.testing.assert_allclose(*runs, rtol=1e-12)
    monkeypatch.setattr("steinkit.sweeps.identity._ROWS", 400)
    assert target_fingerprint(watched) == target_fingerprint(in_memory)
    assert max(read) <= 500


def test_long_passes_show_their_progress(capsys, monkeypatch):
    """Where someone watches, and a second has passed; passes over few data never do."""

    def slow(thetas, y):
        time.sleep(1.1)
        return thetas * 0.0

    posterior = sk.Posterior(
        (np.zeros(30),),
        log_likelihood=lambda theta, y: 0.0 * y,
        grad_log_likelihood=lambda theta, y: np.zeros(1),
        log_prior=lambda thetas: 0.0 * thetas[:, 0],
        grad_log_prior=lambda thetas: 0.0 * thetas,
        grad_log_likelihood_many=slow,
        dim=1,
    )
    posterior.score([[1.0]])
    with watched(True):
        posterior.score([[1.0]])
        assert "passing through the data" not in capsys.readouterr().err
        monkeypatch.setattr("steinkit.posterior._BLOCK_FLOATS", 20)
        posterior.score([[1.0]])
    assert "passing through the data" in capsys.readouterr().err
