"""The probability and the covariance of the 90-degree test, compared with simulation and textbook formulas."""

import numpy as np
import pytest
from applications.irls import (
    NormalEquations,
    WorkingRows,
    batch_irls,
    loss_named,
    wrong_direction_probability,
)
from scipy import stats

from steinkit.errors import InputError

LIMIT = 4.5  # standard errors


def noise_with(covariance, size, seed):
    return np.random.default_rng(seed).multivariate_normal(np.zeros(len(covariance)), covariance, size)


def random_covariance(dim, seed):
    root = np.random.default_rng(seed).standard_normal((dim, dim + 2))
    return root @ root.T / dim


def in_standard_errors(hits, probability):
    return (hits.mean() - probability) / np.sqrt(probability * (1.0 - probability) / len(hits))


@pytest.mark.parametrize("dim", [1, 2, 10])
@pytest.mark.parametrize("length", [0.3, 1.0, 2.0])
def test_at_the_true_step_it_equals_the_frequency_of_wrong_directions(dim, length):
    covariance, true = random_covariance(dim, 1), np.zeros(dim)
    true[0] = length
    wrong = (true + noise_with(covariance, 40_000, 2)) @ true < 0.0
    delta = wrong_direction_probability(true, covariance, debias=False)
    assert abs(in_standard_errors(wrong, delta)) < LIMIT
    assert abs(in_standard_errors(~wrong, delta)) > 2 * LIMIT  # the inequality as equation 4 prints it


def test_debiasing_subtracts_the_noise_from_the_length():
    covariance, true = random_covariance(4, 3), np.array([5.0, 0.0, 2.0, 0.0])
    steps = true + noise_with(covariance, 4000, 4)
    found = np.array([wrong_direction_probability(step, covariance) for step in steps])
    spread = np.einsum("ij,jk,ik->i", steps, covariance, steps) / (steps**2).sum(axis=1)
    squares = stats.norm.ppf(found) ** 2 * spread  # mu^2
    unbiased, biased = squares - true @ true, (steps**2).sum(axis=1) - true @ true
    assert abs(unbiased.mean()) < LIMIT * unbiased.std() / np.sqrt(len(steps))
    assert biased.mean() > 2 * LIMIT * biased.std() / np.sqrt(len(steps))


@pytest.mark.parametrize(("dim", "paper", "debiased"), [(2, 0.0668, 0.0246), (10, 0.862, 0.118), (50, 1.0, 0.278)])
def test_how_much_pure_noise_passes(dim, paper, debiased):
    quantile = stats.norm.ppf(0.01) ** 2
    expected = stats.chi2(dim).sf([quantile, quantile + dim])
    np.testing.assert_allclose(expected, [paper, debiased], atol=1e-3)
    steps = np.random.default_rng(5).standard_normal((4000, dim))
    for debias, share in zip((False, True), expected, strict=True):
        passed = np.array([wrong_direction_probability(s, np.eye(dim), debias=debias) < 0.01 for s in steps])
        assert abs(passed.mean() - share) < LIMIT * np.sqrt(share * (1.0 - share) / len(steps)) + 1e-3


def test_probability_is_one_half_for_a_zero_step_and_zero_without_noise():
    assert wrong_direction_probability([0.0, 0.0], np.eye(2), debias=False) == 0.5
    assert wrong_direction_probability([1.0, 0.9], np.eye(2)) == 0.5
    assert wrong_direction_probability([1.0, 0.0], np.zeros((2, 2))) == 0.0


@pytest.mark.parametrize("unit", [1e-150, 1e-40, 1e40, 1e150])
@pytest.mark.parametrize("debias", [False, True])
def test_units_do_not_matter(unit, debias):
    step, covariance = np.array([2.0, 1.0, -0.5]), random_covariance(3, 1)
    found = wrong_direction_probability(step * unit, covariance * unit * unit, debias=debias)
    assert found == pytest.approx(wrong_direction_probability(step, covariance, debias=debias), rel=1e-9)
    assert 0.0 < found < 0.5


@pytest.mark.parametrize(
    ("step", "covariance", "message"),
    [
        ([1.0, 2.0], np.eye(3), r"got \(2,\) and \(3, 3\)"),
        ([[1.0]], np.eye(1), r"\(1, 1\) and"),
        ([np.nan], np.eye(1), "must be finite"),
        ([1.0], [[np.inf]], "must be finite"),
        (["up"], [[1.0]], "step must be an array of real numbers"),
        ([1.0, 2.0], -np.eye(2), "along this one the variance is -1"),
    ],
)
def test_bad_input_is_named(step, covariance, message):
    with pytest.raises(InputError, match=message):
        wrong_direction_probability(step, covariance)


def least_squares(size=400, dim=3, seed=6):
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((size, dim))
    return rows, rows @ np.arange(1.0, dim + 1.0) + rng.standard_normal(size)


def equations(rows, residuals, size, blocks=1):
    system = NormalEquations(size, rows.shape[1])
    for part in np.array_split(np.arange(len(rows)), blocks):
        system.add(WorkingRows(rows[part], residuals[part], False))
    return system


@pytest.mark.parametrize("blocks", [1, 7])
def test_blocks_give_the_least_squares_and_the_textbook_covariance(blocks):
    rows, residuals = least_squares()
    system = equations(rows, residuals, 10**9, blocks)
    step, inverse = system.solve()
    expected, squares, *_ = np.linalg.lstsq(rows, residuals)
    np.testing.assert_allclose(step, expected, rtol=1e-12)
    pinv = np.linalg.pinv(rows)
    np.testing.assert_allclose(system.covariance(step, inverse), pinv @ pinv.T * squares / 397, rtol=1e-6)


def test_without_replacement_the_covariance_shrinks():
    rows, residuals = least_squares()
    rng, repeats = np.random.default_rng(7), 2000
    found = []
    for _ in range(repeats):
        chosen = rng.permutation(400)[:300]
        system = equations(rows[chosen], residuals[chosen], 400)
        step, inverse = system.solve()
        found.append((step, np.trace(system.covariance(step, inverse))))
    steps, traces = map(np.array, zip(*found, strict=True))
    ratio = traces.mean() / steps.var(axis=0, ddof=1).sum()
    error = np.sqrt(2.0 / (repeats * 3))
    assert abs(ratio - 1.0) < LIMIT * error + 0.02  # 2% for terms of order D / n
    assert abs(4.0 * ratio - 1.0) > 2.0  # without the correction for a finite population


def test_all_the_data_have_no_covariance_and_dependent_columns_no_solution():
    rows, residuals = least_squares()
    system = equations(rows, residuals, 400)
    assert (system.covariance(*system.solve()) == 0.0).all()
    assert equations(rows[:, [0, 1, 0]], residuals, 400).solve() is None
    assert equations(rows[:2], residuals[:2], 400).solve() is None


@pytest.mark.parametrize("loss", ["lad", "logistic"])
def test_wrong_directions_on_regression_data_are_predicted(loss):
    rng, N, n = np.random.default_rng(8), 20_000, 500
    X = rng.standard_normal((N, 2))
    eta = X @ [1.0, -0.5]
    y = eta + rng.laplace(size=N) if loss == "lad" else (rng.random(N) < 1.0 / (1.0 + np.exp(-eta))) * 1.0
    theta = batch_irls(X, y, loss=loss, tolerance=1e-4).coefficients + np.full(2, 0.04)
    chosen_loss = loss_named(loss, y, 1e-4)

    def equations_of(chosen):
        system = NormalEquations(N, 2)
        system.add(chosen_loss.working_rows(theta, X[chosen], y[chosen]))
        return system

    true = equations_of(np.arange(N)).solve()[0]
    wrong, deltas = [], []
    for _ in range(600):
        chosen = rng.choice(N, n, replace=False, shuffle=False)
        system = equations_of(chosen)
        step, inverse = system.solve()
        deltas.append(wrong_direction_probability(true, system.covariance(step, inverse), debias=False))
        wrong.append(step @ true < 0.0)
    share, error = np.mean(wrong), np.std(wrong) / np.sqrt(600)
    assert 0.03 < share < 0.35
    if loss == "logistic":
        assert abs(np.mean(deltas) - share) < LIMIT * error
    else:  # equation 7d overstates the noise
        assert np.mean(deltas) > share + 2 * LIMIT * error
