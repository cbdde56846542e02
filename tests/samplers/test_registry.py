"""Samplers by name, and the options read from their signatures."""

import inspect

import numpy as np
import pytest

import steinkit as sk
from steinkit import samplers
from steinkit.samplers import registry

NODAL = sk.targets.LogisticRegression.nodal()


def test_every_public_sampler_has_a_name():
    algorithms = {f"steinkit.samplers.{file}" for file in ("metropolis", "sequences", "stochastic_langevin")}
    public = [getattr(samplers, name) for name in dir(samplers)]
    functions = [each for each in public if inspect.isfunction(each) and each.__module__ in algorithms]
    named = [registry.find_sampler(name).function for name in registry.sampler_names()]
    assert set(functions) - {samplers.metropolis_hastings} <= set(named) <= set(public)


@pytest.mark.parametrize("name", registry.sampler_names())
def test_options_are_the_keyword_arguments(name):
    sampler = registry.find_sampler(name)
    assert sampler.function is getattr(samplers, name.replace("-", "_"))
    signature = inspect.signature(sampler.function).parameters
    wanted = [each for each in signature if each not in ("target", "posterior", "progress", "test")]
    assert list(sampler.options()) == wanted
    for each in sampler.options().values():
        assert each.required == (signature[each.name].default is inspect.Parameter.empty)


def test_a_function_that_is_decorated_and_exported_is_a_sampler(monkeypatch):
    @registry.sampler(leaps=registry.OwnOption("N", "Steps of a move."))
    def new_walk(target: sk.Target, *, leaps: int, **run):
        """A new walk, exact.

        It is not described.
        """

    monkeypatch.setattr(samplers, "new_walk", new_walk, raising=False)
    monkeypatch.setattr(samplers, "__dir__", lambda: ["Draws", "metropolis_hastings", "new_walk", "rwmh"])
    found = registry._samplers.__wrapped__()
    assert list(found) == ["new-walk", "rwmh"]
    assert found["new-walk"].summary == "A new walk, exact"
    assert list(found["new-walk"].options())[:2] == ["leaps", "chains"]
    assert found["new-walk"].own == {"leaps": ("N", "Steps of a move.")}


def test_run_calls_the_function():
    options = {"step_size": 0.01, "batch_size": 5, "draws": 20, "seed": 3}
    default = registry.find_sampler("corrected-sgld").run(NODAL, options)
    np.testing.assert_array_equal(default.points, samplers.corrected_sgld(NODAL, **options).points)


def test_unknown_names():
    with pytest.raises(sk.UsageError, match=r'''unknown sampler 'sgdl' [(]did you mean "sgld"'''):
        registry.find_sampler("sgdl")
    for name in ("barker_mh", "metropolis-hastings", "Draws", "chains"):
        with pytest.raises(sk.UsageError, match=f"unknown sampler '{name}'"):
            registry.find_sampler(name)
