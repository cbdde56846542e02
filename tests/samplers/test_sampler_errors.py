"""Errors for invalid options, invalid functions of a posterior, and chains that diverge."""

import re

import numpy as np
import pytest
from support.sampler_problems import plain
from tqdm import tqdm

import steinkit as sk
from steinkit import samplers
from steinkit.runtime import progress
from steinkit.samplers.chains import readers

NODAL = sk.targets.LogisticRegression.nodal()
NORMAL = sk.targets.Normal(mean=[0.0, 0.0])
WALK = {"proposal_scale": 0.1, "draws": 5}
SGLD = {"step_size": 0.01, "batch_size": 5, "draws": 5}


def full_gradient_on_minibatches(**options):
    """Run Langevin proposals with gradients of all 53 data points, and tests on batches of 5."""
    proposal, test = samplers.Langevin(0.1), samplers.AusterityTest(0.1, 5)
    return samplers.metropolis_hastings(NODAL, proposal=proposal, test=test, **options)


@pytest.mark.parametrize(
    ("run", "message"),
    [
        (lambda: samplers.iid(3, draws=5), "int"),
        (lambda: samplers.approximate_mh(NODAL, batch_size=54, **WALK), "batch_size .*53; .*54"),
        (lambda: samplers.corrected_sgld(NODAL, **SGLD | {"batch_size": 54}), "batch_size .*53; .*54"),
        (lambda: samplers.approximate_mh(NODAL, batch_size=2.5, **WALK), "batch_size .*2.5"),
        (lambda: samplers.approximate_mh(NODAL, epsilon=1.1, **WALK), "epsilon .*1.1"),
        (lambda: samplers.approximate_mh(NODAL, epsilon=np.nan, **WALK), "epsilon .*nan"),
        (lambda: samplers.subsampling_mh(NODAL, epsilon=2, **WALK), "epsilon .*2"),
        (lambda: samplers.subsampling_mh(NODAL, factor=1.0, **WALK), "factor .*1.0"),
        (lambda: samplers.subsampling_mh(NODAL, bound=-2.0, **WALK), "bound .*-2.0"),
        (lambda: samplers.subsampling_mh(NODAL, bound="scan", **WALK), "bound.*'scan'"),
        (lambda: samplers.approximate_mh(NODAL, alpha=0.4, **WALK), "alpha .*0.4"),
        (lambda: samplers.barker_mh(NODAL, sigma=2.5, **WALK), "sigma .*2.5"),
        (lambda: samplers.barker_mh(NODAL, temperature=0.0, **WALK), "temperature .*0.0"),
        (lambda: samplers.rwmh(NODAL, temperature="hot", **WALK), "temperature .*'hot'"),
        (lambda: samplers.sgld(NODAL, **SGLD | {"step_size": -1e-3}), "step_size .*-0.001"),
        (lambda: samplers.sgld(NODAL, decay=1.5, **SGLD), "decay .*1.5"),
        (lambda: samplers.mala(NODAL, step_size=0.0, draws=3), "step_size .*0.0"),
        (lambda: samplers.rwmh(NODAL, proposal_scale=-1.0, draws=3), "proposal_scale.*-1.0"),
        (lambda: samplers.rwmh(NODAL, proposal_scale=[1.0, 2.0], draws=3), "proposal_scale.*6"),
        (lambda: samplers.rwmh(NODAL, start=[0.0, 0.0], **WALK), r"start.*\(2,\)"),
        (lambda: samplers.rwmh(NODAL, start=np.zeros((3, 6)), chains=2, **WALK), r"\(2, 6\).*\(3, 6\)"),
        (lambda: samplers.rwmh(NODAL, start=[np.nan] * 6, **WALK), "start.*nan"),
        (lambda: samplers.rwmh(NODAL, start="there", **WALK), "start.*'there'"),
        (lambda: samplers.rwmh(NODAL, proposal_scale=0.1), "draws.*budget"),
        (lambda: samplers.rwmh(NODAL, chains=0, **WALK), "chains .*0"),
        (lambda: samplers.rwmh(NODAL, burn_in=-1, **WALK), "burn_in .*-1"),
        (lambda: samplers.rwmh(NODAL, seed=-1, **WALK), "seed.*-1"),
        (lambda: samplers.rwmh(NODAL, budget=52, **WALK), "budget.* 53.* 52"),
        (lambda: samplers.sgld(NODAL, budget=4, **SGLD), "budget.* 5.* 4"),
        (lambda: samplers.sgld(NODAL, budget=20, burn_in=4, **SGLD), "budget.* 25.* 20"),
        (lambda: samplers.corrected_sgld(NODAL, budget=9, **SGLD), "budget.* 10.* 9"),
        (lambda: full_gradient_on_minibatches(budget=57), "budget.* 58.* 57"),
        (lambda: samplers.approximate_mh(NODAL, proposal_scale=0.3, batch_size=2, epsilon=0.01, budget=22, burn_in=10),
         "budget. 22 was spent"),
        (lambda: samplers.metropolis_hastings(NODAL, proposal=0.3, test=samplers.MetropolisTest(), draws=1),
         "proposal.*0.3"),
        (lambda: samplers.metropolis_hastings(NODAL, proposal=samplers.RandomWalk(1.0), test="barker", draws=1),
         "test.*'barker'"),
        (lambda: samplers.barker_mh(NORMAL, **WALK), "Posterior.*'normal'"),
        (lambda: samplers.sgld(NORMAL, **SGLD), "Posterior.*'normal'"),
        (lambda: samplers.rwmh(lambda x: -x, **WALK), "function"),
        (lambda: samplers.rwmh(sk.Target(score=lambda x: -x, dim=2), **WALK), "log density"),
        (lambda: samplers.rwmh(sk.Target(score=lambda x: -x, log_density=lambda x: x[:, 0]), **WALK), "dimension"),
    ],
)  # fmt: skip
def test_options_out_of_range(run, message):
    with pytest.raises(sk.UsageError, match=message):
        run()


@pytest.mark.parametrize(
    ("functions", "message"),
    [
        ({"log_likelihood": lambda theta, x, y: np.zeros(3)}, "log_likelihood"),
        ({"log_likelihood": lambda theta, x, y: 0.0}, "log_likelihood"),
        ({"log_likelihood": lambda theta, x, y: np.full(len(y), np.nan)}, "chain 1.*log likelihood.*nan"),
        (
            {"log_prior": lambda thetas: np.full(len(thetas), np.nan)},
            "chain 1 .*log prior.*nan",
        ),
        ({"log_prior": lambda thetas: 0.0}, "log_prior"),
        ({"grad_log_likelihood": lambda theta, x, y: np.zeros(2)}, "grad_log_likelihood"),
    ],
)
@pytest.mark.parametrize("function", [samplers.rwmh, samplers.barker_mh])
def test_invalid_functions_of_a_posterior(functions, message, function):
    with pytest.raises(sk.InputError, match=message):
        function(plain(NODAL, "dim", **functions), **WALK)


def broken_after(calls, name, value):
    """Return a posterior with a function whose results are multiplied by a value after some calls."""
    count = [0]

    def function(theta, x, y):
        count[0] += 1
        found = getattr(NODAL, name)(theta, x, y)
        return found if count[0] <= calls else found * value

    return plain(NODAL, "dim", **{name: function})


@pytest.mark.parametrize("function", [samplers.rwmh, samplers.barker, samplers.approximate_mh, samplers.barker_mh])
def test_nan_during_a_run(function):
    with pytest.raises(sk.InputError, match=r"chain 1, step \d+: the log likelihood .*nan.* \(.*\)"):
        function(broken_after(30, "log_likelihood", np.nan), proposal_scale=0.1, draws=50)


def test_a_likelihood_of_zero_is_no_error():
    """A proposal with zero likelihood of a data point is rejected; x_i ~ U(0, theta)."""
    posterior = sk.Posterior(
        (np.array([0.2, 0.9, 0.5]),),
        log_likelihood=lambda theta, x: np.where(x < theta[0], -np.log(abs(theta[0])), -np.inf),
        grad_log_likelihood=lambda theta, x: np.zeros(1),
        log_prior=lambda thetas: -thetas[:, 0],
        grad_log_prior=lambda thetas: -np.ones_like(thetas),
        dim=1,
    )
    for function in (samplers.rwmh, samplers.approximate_mh, samplers.barker_mh):
        draws = function(posterior, proposal_scale=0.7, draws=300, start=1.5)
        assert draws.points.min() > 0.9
        assert 0.1 < draws.acceptance[0] < 0.9
    with pytest.raises(sk.InputError, match=r"chain 2 .*\(0.5\).*-inf"):
        samplers.rwmh(posterior, proposal_scale=0.7, draws=3, chains=2, start=[[1.5], [0.5]])


@pytest.mark.filterwarnings("error")
def test_divergence():
    mixture = sk.targets.GaussianMean.simulate(100)
    with pytest.raises(sk.InputError, match=r"chain 1, step \d+: the state is \(.*\)"):
        samplers.sgld(mixture, step_size=10.0, batch_size=10, draws=1000, chains=3)
    with pytest.raises(sk.InputError, match=r"chain 1, step \d+: the gradient .* \(.*\) is \(nan, "):
        samplers.sgld(broken_after(10, "grad_log_likelihood", np.nan), step_size=0.01, batch_size=10, draws=50)
    with pytest.raises(sk.InputError, match=r"chain 1, step \d+: .*log ratio.*nan"):
        samplers.corrected_sgld(
            broken_after(10, "grad_log_likelihood", np.nan), step_size=0.01, batch_size=10, draws=50
        )


def test_starts_outside_the_support():
    gamma = sk.targets.Gamma(shape=2.0, rate=1.0)
    with pytest.raises(sk.InputError, match=r"chain 1 .*\(-1\): the log prior .*-inf"):
        samplers.rwmh(gamma, proposal_scale=1.0, draws=3, start=-1.0)
    with pytest.raises(sk.InputError, match=r"chain 1 .*\(0\): the log likelihood .*-inf"):
        samplers.rwmh(gamma, proposal_scale=1.0, draws=3)


def test_a_chain_stops_if_all_proposals_are_outside_the_support(monkeypatch):
    monkeypatch.setattr("steinkit.samplers.chains.run._LOST", 200)
    uniform = sk.targets.Uniform(0.0, 1.0, dim=3)
    with pytest.raises(sk.InputError, match="chain 1: the last 200 proposals"):
        samplers.rwmh(uniform, proposal_scale=1e4, budget=10, start=0.5 * np.ones(3))


@pytest.mark.parametrize("target", [NODAL, sk.targets.Normal(0.0, dim=6)], ids=["compiled", "together"])
def test_a_chain_continues_if_it_rejects_proposals_inside_the_support(target, monkeypatch):
    monkeypatch.setattr("steinkit.samplers.chains.run._LOST", 20)
    assert samplers.rwmh(target, proposal_scale=1e4, draws=100).acceptance.max() == 0.0


def test_an_invalid_gradient_outside_the_bounds_is_no_error():
    """For a term log theta, theta > 0, the gradient is NaN outside the bounds, where proposals are rejected."""
    x = np.array([0.5, 2.0, 1.1, 0.3])
    posterior = sk.Posterior(
        (x,),
        log_likelihood=lambda theta, x: np.log(theta[0]) - theta[0] * x,
        grad_log_likelihood=lambda theta, x: (np.exp(-np.log(theta)) - x[:, None]).sum(axis=0),
        log_prior=lambda thetas: -thetas[:, 0],
        grad_log_prior=lambda thetas: -np.ones_like(thetas),
        bounds=[[0.0, np.inf]],
        dim=1,
    )
    for function, options in ((samplers.mala, {}), (samplers.corrected_sgld, {"batch_size": 2})):
        draws = function(posterior, step_size=1.0, draws=300, start=1.0, chains=3, **options)
        assert draws.points.min() > 0.0
        assert (draws.acceptance > 0.1).all()


def test_a_batch_longer_than_a_slice_is_read_in_several(monkeypatch):
    run = {"proposal_scale": 0.3, "batch_size": 17, "chains": 4, "draws": 40}
    tests = (samplers.approximate_mh, samplers.barker_mh, samplers.subsampling_mh)
    wanted = [function(NODAL, **run) for function in tests]
    monkeypatch.setattr(readers, "_SLICE_ROWS", (1, 5))
    for function, expected in zip(tests, wanted, strict=True):
        found = function(NODAL, **run)
        np.testing.assert_array_equal(found.batch_sizes, expected.batch_sizes)
        np.testing.assert_array_equal(found.points, expected.points)
    # zero likelihood of a data point in the first of several slices
    data = np.zeros(53)
    impossible = sk.Posterior(
        (data,),
        log_likelihood=lambda theta, x: np.where(theta[0] < 1.0, 0.0, -np.inf) + x,
        grad_log_likelihood=lambda theta, x: np.zeros(1),
        log_prior=lambda thetas: np.zeros(len(thetas)),
        grad_log_prior=np.zeros_like,
        dim=1,
    )
    draws = samplers.approximate_mh(impossible, proposal_scale=2.0, batch_size=17, draws=200)
    assert draws.points.max() < 1.0
    assert set(draws.batch_sizes[~draws.accepted]) == {17}


def test_sgld_outside_the_bounds_is_an_error():
    base = sk.targets.GaussianMean.simulate(20, theta=0.2)
    bounded = plain(base, bounds=[[0.0, np.inf]])
    with pytest.raises(sk.InputError, match=r"chain \d, step \d+: .*bounds"):
        samplers.sgld(bounded, step_size=0.05, batch_size=10, draws=500, start=0.2)
    draws = samplers.corrected_sgld(bounded, step_size=0.05, batch_size=10, draws=500, start=0.2)
    assert draws.points.min() >= 0.0


def test_a_budget_ends_chains_at_different_lengths():
    options = {"proposal_scale": 0.2, "batch_size": 10, "budget": 2000, "burn_in": 3, "thin": 2}
    draws = samplers.barker_mh(NODAL, chains=8, **options)
    assert draws.lengths is not None
    assert len(set(draws.lengths.tolist())) > 1
    assert np.isnan(draws.points[~draws.present]).all()
    last = np.array([draws.cost[k, n - 1] for k, n in enumerate(draws.lengths)])
    assert (last > 2000 - 4 * 53).all()
    assert (last < 2000 + 53).all()
    sample = draws.to_sample()
    assert len(sample) == draws.lengths.sum()
    np.testing.assert_array_equal(np.bincount(sample.chain), draws.lengths)
    np.testing.assert_array_equal(sample.points, draws.points[draws.present])
    again = samplers.barker_mh(NODAL, seed=draws.seeds[2:3], **options)
    np.testing.assert_array_equal(again.points[0], draws.points[2, : draws.lengths[2]])
    assert (draws.mean_batch_size > 9).all()
    assert ((draws.acceptance > 0) & (draws.acceptance < 1)).all()


def test_settings_contain_the_options():
    draws = samplers.approximate_mh(NODAL, epsilon=0.2, batch_size=4, chains=2, seed=9, **WALK)
    assert draws.settings["sampler"] == "approximate_mh"
    wanted = {"epsilon": 0.2, "batch_size": 4, "proposal_scale": 0.1, "draws": 5, "chains": 2, "seed": 9, "thin": 1}
    assert wanted.items() <= draws.settings.items()
    assert draws.names == NODAL.names
    assert len(draws.seeds) == 2


def test_progress_goes_to_standard_error(capsys, monkeypatch):
    monkeypatch.setattr(progress, "_bar", lambda: lambda *args, **options: tqdm(*args, **options | {"delay": 0.0}))
    samplers.rwmh(NODAL, progress=True, **WALK)
    out, err = capsys.readouterr()
    assert not out
    assert re.search("sampling.*/5", err)
    samplers.rwmh(NODAL, **WALK)
    assert capsys.readouterr() == ("", "")
