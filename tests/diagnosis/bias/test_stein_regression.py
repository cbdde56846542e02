"""Cross-fitted regression on Stein features, compared with plain least squares and with exact results."""

import numpy as np
import pytest
from support.bias_samples import operand

from steinkit.diagnosis.bias.stein_regression import Frame, cross_fitted

RNG = np.random.default_rng(0)
N, DIM = 120, 3
POINTS = RNG.gamma(3.0, size=(N, DIM)) + RNG.standard_normal((N, 1))
SCORES = -(POINTS - 2.5) / 2.0 - 0.1 * POINTS**2
FOLDS = np.repeat([0, 1] * 5, N // 10)


def ridge_fits(features, values):
    """Return coefficients of ridge regression with the penalty of least generalized cross-validation error."""
    n, width = features.shape
    centre, scale = features.mean(axis=0), features.std(axis=0)
    design = (features - centre) / scale
    top = np.linalg.eigvalsh(design.T @ design / n)[-1]
    coefficients = np.empty((width, values.shape[1]))
    for k, column in enumerate(values.T):
        best = np.inf
        for penalty in top * 10.0 ** np.arange(-8.0, 2.0):
            fitted = np.linalg.solve(design.T @ design / n + penalty * np.eye(width), design.T / n)
            hat = np.eye(n) - np.ones((n, n)) / n - design @ fitted  # of the residuals
            left = max(np.trace(hat) / n, 0.05)
            error = np.mean((hat @ column) ** 2) / left**2
            if error < best:
                best, coefficients[:, k] = error, fitted @ (column - column.mean()) / scale
    return coefficients


@pytest.mark.parametrize("kind", ["diagonal", "pairs"])
def test_fit_on_one_fold_is_applied_to_the_other(kind):
    of = operand(POINTS, SCORES)
    functions = np.column_stack([of.points, np.sin(of.points[:, 0])])
    values = np.hstack([functions, functions**2])
    expected = values.copy()
    for fold in (0, 1):
        learn, use = np.flatnonzero(fold == FOLDS), np.flatnonzero(fold != FOLDS)
        frame = Frame.of(of, learn)
        coefficients = ridge_fits(frame.features(of, learn, kind), values[learn])
        expected[use] -= frame.features(of, use, kind) @ coefficients
    assert cross_fitted(of, functions, kind) == pytest.approx(expected, abs=1e-7)


@pytest.mark.parametrize("kind", ["own2", "own4"])
def test_the_features_of_a_coordinate_explain_only_that_coordinate(kind):
    of = operand(POINTS, SCORES)
    values = np.hstack([of.points, of.points**2])
    expected = values.copy()
    for fold in (0, 1):
        learn, use = np.flatnonzero(fold == FOLDS), np.flatnonzero(fold != FOLDS)
        frame = Frame.of(of, learn)
        for k, column in enumerate(values.T):
            both = (frame.features(of, rows, kind).reshape(len(rows), DIM, -1) for rows in (learn, use))
            there, here = (each[:, k % DIM] for each in both)
            centred, scale = there - there.mean(axis=0), there.std(axis=0)
            slight = np.diag(1e-6 * scale**2 * len(learn))
            expected[use, k] -= here @ np.linalg.solve(centred.T @ centred + slight, centred.T @ column[learn])
    assert cross_fitted(of, of.points, kind) == pytest.approx(expected, abs=1e-6)


def test_pairs_are_exact_for_a_normal_target():
    rng = np.random.default_rng(1)
    root = np.array([[1.0, 0.0], [0.9, 0.4]])
    mean, covariance = np.array([2.0, -1.0]), root @ root.T
    points = rng.gamma(2.0, size=(400, 2))  # from another distribution
    of = operand(points, -(points - mean) @ np.linalg.inv(covariance))
    left = cross_fitted(of, of.points, "pairs")
    scale = points.std(axis=0)
    expected = (mean - points.mean(axis=0)) / scale
    assert left[:, :2].mean(axis=0) == pytest.approx(expected, abs=1e-3)
    assert left[:, 2:].mean(axis=0) == pytest.approx(expected**2 + np.diag(covariance) / scale**2, abs=1e-3)
    assert left.std(axis=0).max() < 0.02
    shifted = operand(points, 0.3 - (points - mean) @ np.linalg.inv(covariance))  # another target
    assert np.abs(cross_fitted(shifted, shifted.points, "pairs").mean(axis=0)[:2] - expected).min() > 0.05


@pytest.mark.parametrize("kind", ["own2", "own4"])
def test_weights_act_as_repeated_draws(kind):
    """Equal repetitions in every block preserve the folds, and a single coordinate is not shrunk."""
    times, one = np.tile([1, 2, 3, 2, 1, 3], N // 6), slice(0, 1)
    of = operand(POINTS[:, one], SCORES[:, one], weights=times)
    repeated = operand(np.repeat(POINTS[:, one], times, axis=0), np.repeat(SCORES[:, one], times, axis=0))
    a, b = (cross_fitted(each, each.points, kind) for each in (of, repeated))
    assert np.repeat(a, times, axis=0) == pytest.approx(b, abs=1e-7)
    unweighted = operand(POINTS[:, one], SCORES[:, one])
    assert np.abs(cross_fitted(unweighted, unweighted.points, kind) - a).max() > 0.01


@pytest.mark.parametrize("kind", ["own4", "diagonal", "pairs"])
def test_blocks_of_rows_do_not_change_the_fit(kind, monkeypatch):
    of = operand(POINTS, SCORES)
    whole = cross_fitted(of, of.points, kind)
    monkeypatch.setattr("steinkit.diagnosis.bias.stein_regression._VALUES", 200)
    assert cross_fitted(of, of.points, kind) == pytest.approx(whole, abs=1e-9)
