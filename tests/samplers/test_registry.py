"""Samplers by name, and the options read from their signatures."""

import inspect

import numpy as np
import pytest

import steinkit as sk
from steinkit import samplers
from steinkit.samplers import registry

NOT_BY_NAME = {
    "correction_distribution",
    "metropolis_hastings",
    "trial_run",
    "operating_characteristics",
    "acceptance_bias",
    "average_design",
    "worst_case_design",
    "approximate_gibbs",
    "orthogonal_mh",
    "amari_distance",
    "select_variables",
    "wrong_direction_probability",
    "batch_irls",
    "sequential_irls",
}
NODAL = sk.targets.LogisticRegression.nodal()


def test_every_public_sampler_has_a_name():
    functions = {name for name in dir(samplers) if inspect.isfunction(getattr(samplers, name))} - NOT_BY_NAME
    assert {registry.find_sampler(name).function_name for name in registry.sampler_names()} == functions


@pytest.mark.parametrize("name", registry.sampler_names())
def test_options_are_the_keyword_arguments(name):
    sampler = registry.find_sampler(name)
    assert name.replace("-", "_") == sampler.function_name
    signature = inspect.signature(sampler.function).parameters
    wanted = [each for each in signature if each not in ("target", "posterior", "progress")]
    assert list(sampler.options()) == wanted
    for option in sampler.options().values():
        assert option.required == (signature[option.name].default is inspect.Parameter.empty)


def test_a_test_brings_its_options_and_takes_epsilon_away():
    sampler = registry.find_sampler("corrected-sgld")
    assert "epsilon" in sampler.options()
    assert "epsilon" not in sampler.options("metropolis")
    assert {"sigma", "growth", "step_size"} <= sampler.options("minibatch-barker").keys()
    assert "epsilon" in sampler.options("concentration")
    assert sampler.options("barker")["batch_size"].required


def test_run_calls_the_function():
    options = {"step_size": 0.01, "batch_size": 5, "draws": 20, "seed": 3}
    by_name = registry.find_sampler("corrected-sgld").run(NODAL, {**options, "test": "minibatch-barker", "sigma": 0.9})
    test = samplers.MinibatchBarkerTest(batch_size=5, sigma=0.9)
    np.testing.assert_array_equal(by_name.points, samplers.corrected_sgld(NODAL, **options, test=test).points)
    default = registry.find_sampler("corrected-sgld").run(NODAL, options)
    np.testing.assert_array_equal(default.points, samplers.corrected_sgld(NODAL, **options).points)


def test_unknown_names():
    with pytest.raises(sk.UsageError, match=r'''unknown sampler 'sgdl' [(]did you mean "sgld"'''):
        registry.find_sampler("sgdl")
    with pytest.raises(sk.UsageError, match=r'''unknown test 'austreity' [(]did you mean "austerity"'''):
        registry.find_sampler("corrected-sgld").options("austreity")
