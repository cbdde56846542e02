"""The chains of the false-alarm benchmark satisfy Stein's identities from their first draw on."""

import importlib.util
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
SAMPLES, DRAWS = 200, 8
LIMIT = 4.5  # standard errors
NAMES = (
    "AR(-0.9), d = 5, 1 chain",
    "AR(0.6), d = 20, 1 chain, thinned",
    "HMC of length 1, normal, d = 20, 1 chain",
    "HMC of length 2, normal, d = 50, 1 chain, thinned",
    "HMC of length 3, normal, d = 2, 1 chain",
    "HMC of length 2, logistic regression, d = 10, 1 chain",
)


@pytest.fixture(scope="module")
def right_chains():
    specification = importlib.util.spec_from_file_location("right_chains", BENCHMARKS / "right_chains.py")
    module = importlib.util.module_from_spec(specification)
    sys.modules[specification.name] = module  # required by the module's dataclasses
    specification.loader.exec_module(module)
    yield module
    del sys.modules[specification.name]


def identities(samples):
    """Yield the errors of E s_j = 0, E x_j s_j = -1 and E x's = -d in standard errors over independent chains."""
    for function in (lambda x, s: s, lambda x, s: x * s + 1.0, lambda x, s: (x * s + 1.0).sum(axis=1, keepdims=True)):
        means = np.array([function(draws.reshape(scores.shape), scores).mean(axis=0) for draws, scores in samples])
        yield means.mean(axis=0) / (means.std(axis=0, ddof=1) / np.sqrt(len(means)))


@pytest.mark.parametrize("name", NAMES)
def test_short_chains_satisfy_steins_identities(right_chains, name):
    family = replace(right_chains.families()[name], draws=DRAWS)
    samples = list(family.samples(np.random.default_rng(4), SAMPLES))
    for errors in identities(samples):
        assert np.abs(errors).max() < LIMIT


def test_uncorrected_chains_violate_steins_identities(right_chains, monkeypatch):
    """The stationary distribution of the leapfrog integrator is too wide."""
    move = right_chains.Chains.move

    def accept_all(self, length, steps, rng):
        class Uniform:
            standard_normal = rng.standard_normal

            @staticmethod
            def random(size):
                return np.zeros(size)

        return move(self, length, steps, Uniform())

    monkeypatch.setattr(right_chains.Chains, "move", accept_all)
    family = replace(right_chains.families()["HMC of length 1, normal, d = 50, 1 chain"], draws=50)
    samples = list(family.samples(np.random.default_rng(4), SAMPLES))
    assert max(np.abs(errors).max() for errors in identities(samples)) > LIMIT


def test_scores_are_the_gradients_of_the_log_density(right_chains):
    density = right_chains.logistic(10)
    x = density.start(3, np.random.default_rng(5))
    score = density.at(x)[1]
    for j, step in enumerate(1e-5 * np.eye(10)):
        by_differences = (density.at(x + step)[0] - density.at(x - step)[0]) / 2e-5
        np.testing.assert_allclose(score[:, j], by_differences, rtol=1e-5, atol=1e-6)
