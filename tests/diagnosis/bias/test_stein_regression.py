"""What features explain: against plain least squares, draw by draw, and exactly where it is all."""

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
    """The fits of a plain ridge regression on scaled features, with the penalty of least cross-validated error."""
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
def test_a_ridge_regression_on_one_fold_is_used_on_the_other(kind):
    of = operand(POINTS, SCORES)
    functions = np.column_stack([of.points, np.sin(of.points[:, 0])])
    values = np.hstack([functions, functions**2])
    wanted = values.copy()
    for fold in (0, 1):
        learn, use = np.flatnonzero(fold == FOLDS), np.flatnonzero(fold != FOLDS)
        frame = Frame.of(of, learn)
        coefficients = ridge_fits(frame.joint(of, learn, kind), values[learn])
        wanted[use] -= frame.joint(of, use, kind) @ coefficients
    assert cross_fitted(of, functions, kind)[0] == pytest.approx(wanted, abs=1e-7)


@pytest.mark.parametrize("kind", ["own2", "own4"])
def test_a_coordinate_is_explained_by_its_own_features_alone(kind):
    of = operand(POINTS, SCORES)
    values = np.hstack([of.points, of.points**2])
    wanted = values.copy()
    for fold in (0, 1):
        learn, use = np.flatnonzero(fold == FOLDS), np.flatnonzero(fold != FOLDS)
        frame = Frame.of(of, learn)
        for k, column in enumerate(values.T):
            there, here = (frame.own(of, rows, kind)[:, k % DIM] for rows in (learn, use))
            centred, scale = there - there.mean(axis=0), there.std(axis=0)
            slight = np.diag(1e-6 * scale**2 * len(learn))  # no more than rounding asks for
            wanted[use, k] -= here @ np.linalg.solve(centred.T @ centred + slight, centred.T @ column[learn])
    assert cross_fitted(of, of.points, kind)[0] == pytest.approx(wanted, abs=1e-6)


def test_sets_that_share_the_moments_of_vector_fields_are_fitted_as_each_is_alone():
    of = operand(POINTS, SCORES)
    kinds = ["diagonal", "pairs", "affine", "quadratic"]
    alone = np.concatenate([cross_fitted(of, of.points, kind) for kind in kinds])
    assert cross_fitted(of, of.points, *kinds) == pytest.approx(alone, abs=1e-7)


def test_degree_two_is_known_exactly_of_a_normal_target():
    rng = np.random.default_rng(1)
    root = np.array([[1.0, 0.0], [0.9, 0.4]])
    mean, covariance = np.array([2.0, -1.0]), root @ root.T
    points = rng.gamma(2.0, size=(400, 2))  # draws of something else altogether
    of = operand(points, -(points - mean) @ np.linalg.inv(covariance))
    left = cross_fitted(of, of.points, "pairs")[0]
    scale = points.std(axis=0)
    wanted = (mean - points.mean(axis=0)) / scale
    assert left[:, :2].mean(axis=0) == pytest.approx(wanted, abs=1e-3)
    assert left[:, 2:].mean(axis=0) == pytest.approx(wanted**2 + np.diag(covariance) / scale**2, abs=1e-3)
    assert left.std(axis=0).max() < 0.02
    shifted = operand(points, 0.3 - (points - mean) @ np.linalg.inv(covariance))  # a control: of another target
    assert np.abs(cross_fitted(shifted, shifted.points, "pairs")[0].mean(axis=0)[:2] - wanted).min() > 0.05


@pytest.mark.parametrize("kind", ["own2", "own4"])
def test_weights_count_as_repeated_draws(kind):
    """As many repetitions in every block, so that both have the same folds; one coordinate, so that none is shrunk."""
    times, one = np.tile([1, 2, 3, 2, 1, 3], N // 6), slice(0, 1)
    of = operand(POINTS[:, one], SCORES[:, one], weights=times)
    repeated = operand(np.repeat(POINTS[:, one], times, axis=0), np.repeat(SCORES[:, one], times, axis=0))
    a, b = (cross_fitted(each, each.points, kind)[0] for each in (of, repeated))
    assert np.repeat(a, times, axis=0) == pytest.approx(b, abs=1e-7)
    unweighted = operand(POINTS[:, one], SCORES[:, one])
    assert np.abs(cross_fitted(unweighted, unweighted.points, kind)[0] - a).max() > 0.01  # a control


@pytest.mark.parametrize("kind", ["own4", "diagonal", "pairs"])
def test_blocks_of_rows_change_rounding_only(kind, monkeypatch):
    of = operand(POINTS, SCORES)
    whole = cross_fitted(of, of.points, kind)[0]
    monkeypatch.setattr("steinkit.diagnosis.bias.stein_regression._VALUES", 200)
    assert cross_fitted(of, of.points, kind)[0] == pytest.approx(whole, abs=1e-9)
