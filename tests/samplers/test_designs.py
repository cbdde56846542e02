"""Designs of sequential tests are optimal on their grid and hold for chains."""

import numpy as np
import pytest
from support.sampler_problems import POSTERIOR, RUN, SIZE, trial

import steinkit as sk
from steinkit.samplers import (
    AusterityTest,
    RandomWalk,
    TrialRun,
    acceptance_bias,
    approximate_mh,
    average_design,
    metropolis_hastings,
    operating_characteristics,
    trial_run,
    worst_case_design,
)


@pytest.mark.parametrize("target", [0.1, 0.01])
def test_the_worst_case_design_is_optimal(target):
    fractions, alphas = [0.05, 0.2], [0.5, 1.0]
    design = worst_case_design(target, first_fractions=fractions, alphas=alphas)
    assert 0.995 * target < design.error <= target
    for first in fractions:
        for alpha in alphas:
            for epsilon in np.geomspace(1e-5, 0.5, 40):
                found = operating_characteristics(0.0, first_fraction=first, epsilon=epsilon, alpha=alpha)
                assert found.error > target or found.data_use >= design.data_use - 1e-3 * target


def test_the_average_design_is_optimal():
    batches, alphas, target = [200, 800], [0.5, 1.0], 0.02
    design = average_design(trial(), target, batch_sizes=batches, alphas=alphas)
    assert 0.99 * target < design.error <= target
    for batch in batches:
        for alpha in alphas:
            for epsilon in np.geomspace(1e-3, 0.5, 9):
                found = acceptance_bias(trial(), first_fraction=batch / SIZE, epsilon=epsilon, alpha=alpha)
                enough = np.abs(found.bias).mean() > target
                assert enough or found.data_use.mean() >= design.data_use - 1e-3


def test_the_average_design_is_valid_on_new_moves_and_reads_less_than_the_worst_case():
    target = 0.02
    average = average_design(trial(), target, batch_sizes=[150, 400], alphas=[0.5])
    worst = worst_case_design(target, first_fractions=[150 / SIZE, 400 / SIZE], alphas=[0.5])
    new = trial_run(POSTERIOR, draws=300, seed=2, **RUN)
    found, careful = (
        acceptance_bias(new, first_fraction=d.first_fraction, epsilon=d.epsilon, alpha=d.alpha)
        for d in (average, worst)
    )
    assert np.abs(found.bias).mean() == pytest.approx(target, rel=0.2)
    assert np.abs(careful.bias).mean() < 0.3 * target
    assert found.data_use.mean() < 0.8 * careful.data_use.mean()


def test_a_chain_with_the_design_has_the_expected_data_use():
    design = average_design(trial(), 0.01, batch_sizes=[200], alphas=[0.5])
    run = {"start": POSTERIOR.posterior_mean, "chains": 10, "draws": 60, "burn_in": 20, "seed": 3}
    draws = approximate_mh(POSTERIOR, proposal_scale=0.03, **design.options(SIZE), **run)
    read = draws.batch_sizes / SIZE
    assert read.mean() == pytest.approx(design.data_use, abs=4.0 * read.mean(axis=1).std() / np.sqrt(10) + 0.02)
    same = metropolis_hastings(POSTERIOR, proposal=RandomWalk(0.03), test=design.test(SIZE), **run)
    np.testing.assert_array_equal(same.points, draws.points)


def test_a_design_becomes_a_test():
    design = worst_case_design(0.1, first_fractions=[0.1], alphas=[0.75])
    assert design.test(1234) == AusterityTest(design.epsilon, 123, 0.75)
    assert design.options(3)["batch_size"] == 1
    assert design.criterion == "worst case"
    easy = average_design(TrialRun(1000, [1.0], [1e-3]), 0.1, batch_sizes=[100])
    assert (easy.epsilon, easy.data_use) == (0.5, pytest.approx(0.1))


def test_settings_out_of_range_are_rejected():
    for wrong in ({"first_fraction": 0.0}, {"first_fraction": 1.1}, {"epsilon": -0.1}, {"alpha": 0.4}):
        with pytest.raises(sk.UsageError, match=next(iter(wrong))):
            operating_characteristics(0.0, **({"first_fraction": 0.1, "epsilon": 0.1} | wrong))
    with pytest.raises(sk.UsageError, match=r"mean.*'far'"):
        operating_characteristics("far", first_fraction=0.1, epsilon=0.1)
    with pytest.raises(sk.UsageError, match=r"first_fractions.*0\.1"):
        worst_case_design(0.1, first_fractions=0.1)
    with pytest.raises(sk.UsageError, match=r"alphas.*constant"):
        worst_case_design(0.1, alphas="constant")
    with pytest.raises(sk.UsageError, match="batch_sizes"):
        average_design(trial(), 0.1, batch_sizes=100)
    with pytest.raises(sk.UsageError, match=r"mean.*nan"):
        operating_characteristics([0.0, np.nan], first_fraction=0.1, epsilon=0.1)
    for target in (0.0, 0.5, np.nan, "much"):
        with pytest.raises(sk.UsageError, match="target_error"):
            worst_case_design(target)
    with pytest.raises(sk.UsageError, match="at least one"):
        worst_case_design(0.1, first_fractions=[])
    with pytest.raises(sk.UsageError, match=r"batch_sizes.*4000; got 5000"):
        average_design(trial(), 0.1, batch_sizes=[5000])
    with pytest.raises(sk.UsageError, match=r"53.*batch_sizes"):
        average_design(TrialRun(53, [0.1], [1.0]), 0.1)
