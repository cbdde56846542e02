"""Trial runs record the proposals of exact Metropolis chains."""

import numpy as np
import pytest
from support.sampler_problems import POSTERIOR, SIZE

import steinkit as sk
from steinkit.samplers import (
    CustomProposal,
    RandomWalk,
    TrialRun,
    trial_run,
)


def test_a_trial_run_records_the_moments_of_every_proposal():
    seen = []

    def move(states, noise):
        proposals = states + 0.03 * noise
        seen.append((states[0].copy(), proposals[0].copy()))
        return proposals

    run = trial_run(POSTERIOR, proposal=CustomProposal(move), draws=12, burn_in=3, thin=2, temperature=2.0, seed=4)
    data = POSTERIOR.data[0]
    wanted = [(POSTERIOR.log_likelihood(there, data), here, there) for here, there in seen[4::2][:12]]
    terms = [after - POSTERIOR.log_likelihood(here, data) for after, here, _ in wanted]
    np.testing.assert_allclose(run.mean, [t.mean() for t in terms], rtol=1e-9, atol=1e-15)
    np.testing.assert_allclose(run.sd, [t.std() for t in terms], rtol=1e-9)
    prior = [float(np.diff(POSTERIOR.log_prior(np.stack([here, there])))[0]) for _, here, there in wanted]
    np.testing.assert_allclose(run.offset, prior, atol=1e-12)
    np.testing.assert_allclose(run.log_ratio, [t.sum() / 2.0 + p for t, p in zip(terms, prior, strict=True)], atol=1e-9)
    u = 0.3
    mu_0 = 2.0 / SIZE * (np.log(u) - run.offset)
    standardized = (run.mean - mu_0) * np.sqrt(SIZE - 1) / run.sd
    np.testing.assert_allclose(run.sharpness * (run.log_ratio - np.log(u)), standardized, rtol=1e-9, atol=1e-9)
    assert run.cost == SIZE * (3 + 2 * 12)


def test_a_trial_run_is_that_of_exact_metropolis():
    exact = sk.samplers.rwmh(POSTERIOR, proposal_scale=0.03, draws=60, seed=3)
    run = trial_run(POSTERIOR, proposal=RandomWalk(0.03), draws=60, seed=3)
    surely = run.log_ratio > 0.0
    assert exact.accepted.ravel()[surely].all()
    assert surely.any()
    assert run.skipped == 0


def test_proposals_outside_the_support_are_omitted():
    bounded = sk.Posterior(
        data=(np.random.default_rng(0).standard_normal(300),),
        log_likelihood=lambda theta, y: -0.5 * (y - theta[0]) ** 2,
        grad_log_likelihood=lambda theta, y: (y - theta[0]).sum(keepdims=True),
        log_prior=lambda thetas: np.zeros(len(thetas)),
        grad_log_prior=lambda thetas: np.zeros(thetas.shape),
        dim=1,
        bounds=[(0.0, np.inf)],
    )
    run = trial_run(bounded, proposal=RandomWalk(0.5), draws=80, start=[0.05])
    assert run.skipped > 5
    assert len(run.mean) == 80 - run.skipped


def test_proposals_equal_to_the_state_are_rejected():
    with pytest.raises(sk.InputError, match="6 of 6 proposals"):
        trial_run(POSTERIOR, proposal=CustomProposal(lambda states, noise: states.copy()), draws=6)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"mean": []}, "mean"),
        ({"mean": [[0.0, 1.0]]}, "mean"),
        ({"sd": [1.0, 0.0]}, r"sd.*\[1.0, 0.0\]"),
        ({"temperature": -1.0}, "temperature .*-1.0"),
        ({"offset": [np.nan, 0.0]}, "offset.*nan"),
        ({"sd": [1.0, 2.0, 3.0]}, r"sd.*\[1.0, 2.0, 3.0\]"),
        ({"mean": ["much", 0.0]}, "mean.*'much'"),
        ({"size": 1}, "size .*1"),
    ],
)
def test_invalid_moves_are_rejected(changes, message):
    with pytest.raises(sk.UsageError, match=message):
        TrialRun(**({"size": 10, "mean": [0.0, 1.0], "sd": [1.0, 1.0]} | changes))
