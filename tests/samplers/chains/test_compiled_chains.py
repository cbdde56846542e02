"""Compiled chains equal those of the vectorized path, step by step: noise, orders, decisions and costs."""

import numpy as np
import pytest
from support.sampler_problems import vectorised

import steinkit as sk
from steinkit import samplers
from steinkit.errors import TimeLimitError
from steinkit.runtime.deadlines import time_limit
from steinkit.samplers.chains import compiled_chains, run

NODAL, MIXTURE = sk.targets.LogisticRegression.nodal(), sk.targets.MixturePosterior()
MANY = sk.targets.MixturePosterior.simulate(40_000, rng=1)  # with computed orders
HOT = MIXTURE.tempered(4.0)
WALK = {"proposal_scale": 0.3}
SHORT_WALK = {"proposal_scale": 0.01, "start": (0.0, 1.0)}
GRADIENT = {"step_size": 0.02, "batch_size": 6}


def metropolis_hastings(proposal, test):
    def function(target, **options):
        return samplers.metropolis_hastings(target, proposal=proposal, test=test, **options)

    return function


RUNS = {
    "rwmh": (samplers.rwmh, NODAL, WALK),
    "rwmh, a scale a coordinate": (samplers.rwmh, MIXTURE, {"proposal_scale": [0.3, 0.7]}),
    "rwmh, tempered": (samplers.rwmh, HOT, WALK | {"temperature": 2.0}),
    "barker": (samplers.barker, MIXTURE, WALK),
    "mala": (samplers.mala, NODAL, {"step_size": 0.1}),
    "mala, tempered": (samplers.mala, HOT, {"step_size": 0.3, "temperature": 2.0}),
    "sgld": (samplers.sgld, NODAL, GRADIENT),
    "sgld, decay": (samplers.sgld, HOT, GRADIENT | {"decay": 0.55, "decay_offset": 3.0, "temperature": 2.0}),
    "sgld, control variates": (samplers.sgld, NODAL, GRADIENT | {"control_variates": True}),
    "sgld, computed orders": (samplers.sgld, MANY, {"step_size": 1e-4, "batch_size": 2000}),
    "corrected_sgld": (samplers.corrected_sgld, NODAL, GRADIENT | {"epsilon": 0.1}),
    "corrected_sgld, all data": (samplers.corrected_sgld, MIXTURE, GRADIENT | {"test": samplers.MetropolisTest()}),
    "corrected_sgld, minibatch Barker": (
        samplers.corrected_sgld,
        HOT,
        GRADIENT | {"test": samplers.MinibatchBarkerTest(20)},
    ),
    "approximate_mh": (samplers.approximate_mh, NODAL, WALK | {"batch_size": 5, "epsilon": 0.1}),
    "approximate_mh, alpha": (samplers.approximate_mh, HOT, WALK | {"batch_size": 10, "alpha": 0.8}),
    "approximate_mh, epsilon 0": (samplers.approximate_mh, MIXTURE, WALK | {"epsilon": 0.0}),
    "approximate_mh, computed orders": (
        samplers.approximate_mh,
        MANY,
        SHORT_WALK | {"batch_size": 300, "temperature": 20.0},
    ),
    "barker_mh": (samplers.barker_mh, NODAL, WALK | {"batch_size": 10}),
    "barker_mh, sigma": (samplers.barker_mh, HOT, WALK | {"batch_size": 9, "sigma": 1.2}),
    "barker_mh, computed orders": (samplers.barker_mh, MANY, SHORT_WALK | {"batch_size": 60, "temperature": 40.0}),
    "barker_mh, all data": (samplers.barker_mh, NODAL, WALK),
    "subsampling_mh, scans": (samplers.subsampling_mh, MIXTURE, WALK | {"batch_size": 10, "epsilon": 0.3}),
    "subsampling_mh, bound": (samplers.subsampling_mh, HOT, WALK | {"batch_size": 5, "epsilon": 0.5, "bound": 0.2}),
    "subsampling_mh, epsilon 0": (samplers.subsampling_mh, NODAL, WALK | {"epsilon": 0.0}),
    "all data's gradient, minibatch test": (
        metropolis_hastings(samplers.Langevin(0.05), samplers.AusterityTest(0.1, 7)),
        NODAL,
        {"temperature": 3.0},
    ),
}


def assert_same_chains(found, wanted):
    """Require identical decisions and costs, and numbers equal up to rounding."""
    for name in ("accepted", "batch_sizes", "cost", "lengths"):
        np.testing.assert_array_equal(getattr(found, name), getattr(wanted, name), err_msg=name)
    np.testing.assert_allclose(found.points, wanted.points, rtol=1e-9, atol=1e-11)
    if wanted.weights is not None:
        np.testing.assert_allclose(found.weights, wanted.weights, rtol=1e-14)
    assert found.diagnostics.keys() == wanted.diagnostics.keys()
    for name, values in wanted.diagnostics.items():
        np.testing.assert_array_equal(found.diagnostics[name], values)
    assert found.settings == wanted.settings
    assert (found.names, found.seeds) == (wanted.names, wanted.seeds)


@pytest.fixture(params=RUNS)
def both(request, monkeypatch):
    """Run a sampler on both paths, and check that each path is used."""
    function, target, options = RUNS[request.param]
    plain = vectorised(target)
    plain.names = target.names

    def forbidden(*_, **__):
        raise AssertionError("the wrong path")

    def runs(**more):
        with monkeypatch.context() as patch:
            patch.setattr(run.Run, "_advance_together", forbidden)
            patch.setattr("steinkit.samplers.stochastic_langevin._take_steps", forbidden)
            found = function(target, **{**options, **more})
        with monkeypatch.context() as patch:
            patch.setattr(compiled_chains.CompiledChains, "run", forbidden)
            return found, function(plain, **{**options, **more})

    return runs


def test_chains_are_those_of_the_vectorised_path(both):
    assert_same_chains(*both(draws=80, chains=3, seed=8))


def test_burn_in_thinning_and_budget(both):
    first, _ = both(draws=20)
    assert_same_chains(*both(budget=int(2.02 * first.cost[0, -1]), burn_in=4, thin=3, chains=2, seed=3))


@pytest.mark.parametrize("layout", ["one state", "rows", "columns"])
def test_starts_of_any_layout(layout):
    starts = np.random.default_rng(2).normal(size=(8, NODAL.dim))
    start = {"one state": starts[0], "rows": starts, "columns": np.asfortranarray(starts)}[layout]
    options = {"proposal_scale": 0.3, "draws": 30, "chains": 8, "seed": 5, "start": start}
    plain = vectorised(NODAL)
    plain.names = NODAL.names
    assert_same_chains(samplers.rwmh(NODAL, **options), samplers.rwmh(plain, **options))


class SternTest(samplers.AusterityTest):
    """Subclass of a supported test with different decisions."""

    def decide(self, stage):
        """Reject everything."""
        return super().decide(stage)._replace(accepted=False)


@pytest.mark.parametrize(
    ("proposal", "test", "known"),
    [
        (samplers.RandomWalk(0.3), samplers.AusterityTest(0.1, 5), True),
        (samplers.Langevin(0.01), samplers.MinibatchBarkerTest(5), True),
        (samplers.RandomWalk(0.3), SternTest(0.1, 5), False),
        (samplers.CustomProposal(lambda states, noise: states + noise), samplers.MetropolisTest(), False),
    ],
)
def test_unsupported_proposals_and_tests_run_on_the_vectorized_path(proposal, test, known):
    assert run.runs_compiled(NODAL, proposal, test) == known
    assert not run.runs_compiled(vectorised(NODAL), proposal, test)
    draws = metropolis_hastings(proposal, test)(NODAL, draws=20)
    assert (draws.acceptance[0] == 0.0) == isinstance(test, SternTest)


@pytest.mark.parametrize(
    ("function", "options"), [(samplers.rwmh, WALK), (samplers.sgld, GRADIENT), (samplers.approximate_mh, WALK)]
)
def test_the_time_and_the_user_are_heard(function, options, monkeypatch):
    function(NODAL, draws=2, **options)  # compiled
    with time_limit(0.02), pytest.raises(TimeLimitError, match="the next steps of a chain"):
        function(NODAL, draws=3_000_000, **options)

    def interrupted(self, first, most):
        raise KeyboardInterrupt

    monkeypatch.setattr(compiled_chains.CompiledChains, "_begin_block", interrupted)
    with pytest.raises(KeyboardInterrupt):
        function(NODAL, draws=3_000_000, **options)
