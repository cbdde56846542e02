"""Draws in objects of samplers."""

import numpy as np
import pytest

import steinkit as sk
from steinkit.containers.reading import read_draws


class Ensemble:
    """Substitute for an EnsembleSampler with a chain of shape (steps, walkers, d)."""

    def __init__(self, chain, parameter_names=None):
        self.chain, self.parameter_names = chain, parameter_names

    def get_chain(self):
        if self.chain is None:
            raise AttributeError("you must run the sampler with 'store == True' before accessing the results")
        return self.chain


STEPS = np.arange(30.0).reshape(5, 3, 2)


def test_walkers_are_chains():
    sample = sk.as_sample(Ensemble(STEPS))
    for walker in range(3):
        np.testing.assert_array_equal(sample.points[sample.chain == walker], STEPS[:, walker])
    assert sample.has_default_names
    assert sk.as_sample(Ensemble(STEPS, {"a": 1, "b": 0})).names == ("b", "a")
    assert sk.as_sample(Ensemble(STEPS, {"a": [0, 1]})).names == ("a[0]", "a[1]")
    few = Ensemble(STEPS[:2])  # the object identifies the axes even if there are fewer steps than walkers
    assert sk.as_sample(few).points.shape == (6, 2)


def test_an_ensemble_without_draws_is_refused():
    with pytest.raises(sk.InputError, match="Ensemble contains no draws: you must run the sampler"):
        sk.as_sample(Ensemble(None))
    with pytest.raises(sk.InputError, match=r"\(15, 2\)"):
        sk.as_sample(Ensemble(STEPS.reshape(15, 2)))
    with pytest.raises(sk.UsageError, match="dims="):
        sk.as_sample(Ensemble(STEPS), dims=("draw", "chain"))


class StanFit(dict):
    """Substitute for a PyStan fit: arrays (*shape, draws * chains) with interleaved chains."""

    param_names = ("mu", "theta")
    constrained_param_names = ("mu", "theta.1", "theta.2")
    dims = ([], [2])
    num_chains, num_samples, num_warmup, num_thin, save_warmup = 2, 6, 4, 2, True


def test_chains_of_a_stan_fit_without_warm_up():
    draws = np.arange(5 * 2 * 3.0).reshape(5, 2, 3)  # 2 warm-up draws and 3 kept draws of 2 chains with 3 columns
    fit = StanFit(mu=draws[..., 0].reshape(1, -1), theta=np.moveaxis(draws[..., 1:], 2, 0).reshape(2, -1))
    sample = sk.as_sample(fit)
    assert sample.names == ("mu", "theta[1]", "theta[2]")
    for chain in range(2):
        np.testing.assert_array_equal(sample.points[sample.chain == chain], draws[2:, chain])
    assert read_draws(fit).variable("theta").is_numbered
    weighted = sk.as_sample(fit, weights="mu")
    assert weighted.names == ("theta[1]", "theta[2]")
    np.testing.assert_array_equal(weighted.weights, sample.points[:, 0])


def test_draws_of_steinkits_own_samplers():
    from steinkit.samplers import iid

    drawn = iid(sk.targets.Normal([0.0, 1.0]), draws=5, seed=1)
    np.testing.assert_array_equal(sk.as_sample(drawn).points, drawn.to_sample().points)


class CmdStanFit:
    """Substitute for a CmdStanPy fit, with the method that returns a data frame."""

    def draws_pd(self):
        pandas = pytest.importorskip("pandas")
        names = ["chain__", "iter__", "draw__", "lp__", "mu", "theta[1]", "theta[2]"]
        rows = [[1 + k // 3, 1 + k % 3, 1 + k, -1.0, 0.1 * k, k, k + 0.5] for k in range(6)]
        return pandas.DataFrame(np.array(rows), columns=names)


def test_a_fit_of_cmdstan():
    sample = sk.as_sample(CmdStanFit())
    assert sample.names == ("mu", "theta[1]", "theta[2]")
    np.testing.assert_array_equal(sample.points[:, 1], np.arange(6.0))
    np.testing.assert_array_equal(sample.chain, [1, 1, 1, 2, 2, 2])
