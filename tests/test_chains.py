"""Effective sample size, R-hat and moments against closed forms and a second implementation."""

import math

import numpy as np
import pytest
from support.autoregressions import autoregression

import steinkit as sk
from steinkit.chains import chain_diagnostics
from steinkit.sample import split_chains


@pytest.mark.parametrize("phi", [-0.3, 0.0, 0.5, 0.9])
def test_effective_size_of_an_autoregression(phi):
    rng = np.random.default_rng(1)
    runs = [chain_diagnostics(autoregression(rng.standard_normal((4000, 4)), phi).T[:, :, None]) for _ in range(8)]
    exact = 16000 * (1 - phi) / (1 + phi)
    found = np.array([run.bulk_ess[0] for run in runs])
    error = found.std(ddof=1) / math.sqrt(len(found))
    # the truncation of Geyer's sum adds a few percent of bias to the Monte Carlo error
    assert abs(found.mean() - exact) < 4 * error + 0.04 * exact
    exact_error = 1 / math.sqrt(exact)
    assert np.mean([run.mcse_mean[0] for run in runs]) == pytest.approx(exact_error, rel=0.05)


def test_effective_size_depends_on_the_order():
    """Negative control: only the order of the draws differs."""
    rng = np.random.default_rng(2)
    chain = autoregression(rng.standard_normal(4000), 0.9)
    shuffled = rng.permutation(chain)
    assert chain_diagnostics(shuffled).min_ess > 10 * chain_diagnostics(chain).min_ess


def test_r_hat_of_separate_chains():
    """The normal scores have means of -+sqrt(2/pi) and variances of 1 - 2/pi."""
    chains = np.random.default_rng(5).standard_normal((2, 20000)) + np.array([[0.0], [100.0]])
    # four half chains, whose means have variance 4/3 of 2/pi
    exact = math.sqrt(1 + 4 / 3 * (2 / math.pi) / (1 - 2 / math.pi))
    assert chain_diagnostics(chains[:, :, None]).r_hat[0] == pytest.approx(exact, rel=0.01)


def test_r_hat_of_one_chain_and_of_constant_chains():
    stuck = np.repeat([0.0, 1.0], 10).reshape(2, 10, 1)
    assert math.isnan(chain_diagnostics(np.arange(10.0)).r_hat[0])
    found = chain_diagnostics(stuck)
    assert math.isinf(found.r_hat[0])
    assert found.moved == 0.0


def test_labels_split_the_sample_and_numbers_order_each_chain():
    rng = np.random.default_rng(7)
    chains = autoregression(rng.standard_normal((200, 3)), 0.8).T[:, :, None]
    straight = sk.Sample(chains, cost=np.tile(np.arange(1.0, 201.0), (3, 1)))
    mixed = straight[rng.permutation(600)]
    one, other = chain_diagnostics(straight), chain_diagnostics(mixed)
    for name in ("bulk_ess", "tail_ess", "r_hat", "mcse_mean", "moved", "cost_per_draw"):
        assert getattr(other, name) == getattr(one, name)
    assert (one.moved, one.cost_per_draw, one.warnings) == (1.0, 1.0, ())


def test_repeated_draw_numbers_are_not_used():
    sample = sk.Sample(np.arange(8.0), draw=[0, 1, 2, 3, 0, 1, 2, 3])
    chains, notes = split_chains(sample)
    assert [rows.tolist() for rows in chains] == [list(range(8))]
    assert "draw numbers in the sample repeat" in notes[0]
    assert chain_diagnostics(sample).warnings == tuple(notes)


def test_chains_are_cut_to_the_shortest():
    values = np.random.default_rng(8).standard_normal(250)
    uneven = chain_diagnostics(sk.Sample(values, chain=np.repeat([7, 3], [150, 100])))
    even = chain_diagnostics(np.stack([values[150:], values[:100]])[:, :, None])
    assert (uneven.n_chains, uneven.n_draws) == (2, 100)
    for name in ("bulk_ess", "tail_ess", "r_hat", "mcse_mean"):
        assert getattr(uneven, name) == getattr(even, name)
    assert uneven.mean[0] == pytest.approx(values.mean())
    assert "100 to 150 draws" in uneven.warnings[0]
    assert "first 100" in uneven.warnings[0]


@pytest.mark.parametrize("n", [1, 2, 3])
def test_too_few_draws_have_no_diagnostics(n):
    found = chain_diagnostics(np.arange(float(n)))
    assert math.isnan(found.min_ess)
    assert math.isnan(found.mcse_mean[0])
    assert math.isnan(found.sd[0]) == (n == 1)
    assert (found.moved is None) == (n == 1)
    assert found.warnings[0].endswith(f" has {n}")


def test_a_constant_parameter_has_no_diagnostics():
    points = np.column_stack([np.random.default_rng(9).standard_normal(100), np.full(100, 0.1)])
    found = chain_diagnostics(sk.Sample(points, names=("a", "b")))
    assert math.isnan(found.bulk_ess[1])
    assert math.isnan(found.mcse_mean[1])
    assert found.sd[1] == pytest.approx(0.0, abs=1e-15)
    assert found.min_ess == found.bulk_ess[0]
    assert "all draws of b are equal" in found.warnings[0]


def test_weights_enter_moments_only():
    rng = np.random.default_rng(10)
    values, weights = rng.standard_normal(400), rng.uniform(0.0, 5.0, 400)
    unweighted, weighted = chain_diagnostics(values), chain_diagnostics(sk.Sample(values, weights=weights))
    assert weighted.bulk_ess[0] == unweighted.bulk_ess[0]
    assert weighted.weight_ess == pytest.approx(weights.sum() ** 2 / (weights**2).sum())
    assert unweighted.weight_ess == 400
    assert weighted.mean[0] == pytest.approx(np.average(values, weights=weights))
    assert math.isnan(weighted.mcse_mean[0])
    assert "ignore them" in weighted.warnings[0]


def test_equal_weights():
    values = np.random.default_rng(11).standard_normal(50)
    found = chain_diagnostics(sk.Sample(values, weights=np.full(50, 3.0)))
    assert found.sd[0] == pytest.approx(values.std(ddof=1))
    assert (found.weight_ess, found.warnings) == (50.0, ())


def test_moved_counts_changes_within_chains():
    sample = sk.Sample(np.array([[0, 0, 1, 1, 2.0], [5, 5, 5, 5, 6.0]])[:, :, None])
    assert chain_diagnostics(sample).moved == pytest.approx(3 / 8)


def test_cost_counts_each_chain_to_its_end():
    sample = sk.Sample(np.arange(6.0), chain=[0, 0, 0, 0, 1, 1], cost=[10, 20, 30, 40, 8, 16])
    assert chain_diagnostics(sample).cost_per_draw == pytest.approx(56 / 6)
