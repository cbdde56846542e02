"""The same seed gives the same chain, to the last bit: alone, among 100, and with any block size."""

import numpy as np
import pytest
from support.sampler_problems import plain, vectorised

import steinkit as sk
from steinkit import samplers
from steinkit.samplers.chains import compiled_chains, draws, readers
from steinkit.samplers.chains import draws as streams
from steinkit.samplers.chains import likelihood_terms as model

NODAL = sk.targets.LogisticRegression.nodal()
MIXTURE = sk.targets.MixturePosterior()
NORMAL = sk.targets.Normal(mean=[1.0, -1.0, 0.0], covariance=[[1.0, 0.5, 0.1], [0.5, 2.0, 0.0], [0.1, 0.0, 1.0]])
WALK = {"proposal_scale": 0.3}
RUNS = {
    "rwmh": (samplers.rwmh, NODAL, WALK),
    "rwmh-target": (samplers.rwmh, NORMAL, WALK),
    "barker": (samplers.barker, MIXTURE, WALK),
    "mala": (samplers.mala, NODAL, {"step_size": 0.1}),
    "mala-vectorised": (samplers.mala, vectorised(NODAL), {"step_size": 0.1}),
    "mala-target": (samplers.mala, NORMAL, {"step_size": 0.5}),
    "approximate_mh": (samplers.approximate_mh, NODAL, WALK | {"batch_size": 5, "epsilon": 0.1}),
    "barker_mh-vectorised": (samplers.barker_mh, vectorised(NODAL), WALK | {"batch_size": 10}),
    "approximate_mh-vectorised-computed": (
        samplers.approximate_mh,
        vectorised(MIXTURE),
        WALK | {"batch_size": 7, "alpha": 0.8},
    ),
    "approximate_mh-computed": (samplers.approximate_mh, MIXTURE, WALK | {"batch_size": 7, "alpha": 0.8}),
    "barker_mh": (samplers.barker_mh, NODAL, WALK | {"batch_size": 10}),
    "subsampling_mh": (samplers.subsampling_mh, MIXTURE, WALK | {"batch_size": 10, "epsilon": 0.2}),
    "sgld": (samplers.sgld, NODAL, {"step_size": 0.01, "batch_size": 5, "decay": 0.3}),
    "sgld-vectorised": (samplers.sgld, vectorised(NODAL), {"step_size": 0.01, "batch_size": 5, "decay": 0.3}),
    "sgld-controlled": (samplers.sgld, NODAL, {"step_size": 0.01, "batch_size": 5, "control_variates": True}),
    "sgld-computed": (samplers.sgld, MIXTURE, {"step_size": 0.01, "batch_size": 5}),
    "corrected_sgld": (samplers.corrected_sgld, NODAL, {"step_size": 0.01, "batch_size": 6, "epsilon": 0.1}),
}


@pytest.fixture(params=RUNS)
def run(request, monkeypatch):
    function, target, options = RUNS[request.param]
    if request.param.endswith("computed"):
        monkeypatch.setattr(readers, "LARGEST_SHUFFLED", 0)
    return lambda **more: function(target, draws=14, burn_in=3, thin=2, **{**options, **more})


def assert_same(one, other, chain):
    """The only chain of ``one`` is a chain of ``other``."""
    assert one.seeds[0] == other.seeds[chain]
    for name in ("points", "cost", "weights", "accepted", "batch_sizes"):
        left, right = getattr(one, name), getattr(other, name)
        assert (left is None) == (right is None)
        if left is not None:
            assert left[0].tobytes() == right[chain].tobytes(), name
    for name, values in one.diagnostics.items():
        assert values[0].tobytes() == other.diagnostics[name][chain].tobytes(), name


def test_a_chain_is_the_same_alone_and_among_others(run):
    many = run(chains=100, seed=11)
    assert len(np.unique(many.points[:, -1, 0])) > 90
    for chain in (0, 37, 99):
        assert_same(run(seed=[many.seeds[chain]]), many, chain)
    assert_same(run(seed=11), many, 0)
    pair = run(seed=[many.seeds[99], many.seeds[5]])
    assert_same(run(seed=[many.seeds[5]]), pair, 1)


def test_blocks_change_nothing(run, monkeypatch):
    wanted = run(chains=6, seed=2)
    monkeypatch.setattr(streams, "_BLOCK_STEPS", 7)
    monkeypatch.setattr(compiled_chains, "_BLOCK_STEPS", 7)
    monkeypatch.setattr(readers, "_TOGETHER_FLOATS", 1)
    monkeypatch.setattr(draws, "_FIRST_CAPACITY", 1)
    found = run(chains=6, seed=2)
    for chain, seed in enumerate(wanted.seeds):
        alone = run(seed=[seed])
        assert_same(alone, found, chain)
        assert_same(alone, wanted, chain)


def test_copies_of_the_data_serve_any_number_of_chains(monkeypatch):
    wanted = samplers.rwmh(vectorised(NODAL), draws=20, chains=9, **WALK)
    monkeypatch.setattr(model, "_BLOCK_FLOATS", 53 * 7 * 4)
    found = samplers.rwmh(vectorised(NODAL), draws=20, chains=9, **WALK)
    assert wanted.points.tobytes() == found.points.tobytes()


def test_another_seed_gives_another_chain(run):
    assert not np.array_equal(run(seed=1).points, run(seed=2).points)


def test_the_last_state_of_a_chain_is_where_it_may_start_again():
    first = samplers.rwmh(NODAL, draws=5, chains=2, **WALK)
    again = samplers.rwmh(NODAL, draws=1, chains=2, start=first.points[:, -1], seed=4, **WALK)
    kept = again.points[:, 0] == first.points[:, -1]
    np.testing.assert_array_equal(kept.all(axis=1), ~again.accepted[:, 0])


def test_a_single_likelihood_form_is_enough():
    single = plain(MIXTURE, "dim")
    for function, options in (
        (samplers.barker_mh, WALK),
        (samplers.mala, {"step_size": 0.1}),
        (samplers.sgld, {"step_size": 0.01, "batch_size": 5}),
    ):
        one, other = (function(target, draws=30, chains=3, **options) for target in (single, MIXTURE))
        np.testing.assert_allclose(one.points, other.points, rtol=1e-9)
