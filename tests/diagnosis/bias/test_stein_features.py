"""Stein features have mean zero under the target, by quadrature."""

from itertools import product

import numpy as np
import pytest
from scipy import stats
from support.bias_samples import raw_operand

from steinkit.diagnosis.bias.stein_regression import Frame, width_of

KINDS = ("own2", "own4", "diagonal", "pairs", "affine", "quadratic")
TARGETS = {  # density, score, bounds, limits of integration
    "normal": (stats.norm(0.3, 1.2), lambda x: -(x - 0.3) / 1.44, None, (-12.0, 12.0)),
    "student t": (stats.t(12.0), lambda x: -13.0 * x / (12.0 + x**2), None, (-300.0, 300.0)),
    "gamma": (stats.gamma(2.5), lambda x: 1.5 / x - 1.0, [0.0, np.inf], (0.0, 60.0)),
    "beta": (stats.beta(2.0, 3.0), lambda x: 1.0 / x - 2.0 / (1.0 - x), [0.0, 1.0], (0.0, 1.0)),
}


def features(frame, of, kind):
    return frame.features(of, np.arange(len(of.draws.points)), kind)


def nodes(name, size):
    """Return Gauss-Legendre nodes in pieces, with probabilities under the target, scores and bounds."""
    density, score, bounds, (low, high) = TARGETS[name]
    t, w = np.polynomial.legendre.leggauss(16)
    if low < 0.0:
        cuts = np.sinh(np.linspace(np.arcsinh(low), np.arcsinh(high), size + 1))
    else:
        cuts = low + (high - low) * np.linspace(0.0, 1.0, size + 1) ** 2
    x = (0.5 * (cuts[1:] + cuts[:-1])[:, None] + 0.5 * np.diff(cuts)[:, None] * t).ravel()
    shares = (0.5 * np.diff(cuts)[:, None] * w).ravel() * density.pdf(x)
    kept = shares > 1e-300
    return x[kept], shares[kept], score(x[kept]), bounds


@pytest.mark.parametrize(("name", "kind"), [*product(TARGETS, KINDS)])
def test_features_of_one_coordinate_have_mean_zero(name, kind):
    x, shares, score, bounds = nodes(name, 60)
    frame = Frame(np.array([0.4]), np.array([[0.7]]))
    of, wrong = (raw_operand(x[:, None], score[:, None] + error, bounds=bounds, weights=shares) for error in (0.0, 0.1))
    size = (of.draws.shares @ np.abs(features(frame, of, kind))).max()
    assert np.abs(of.draws.shares @ features(frame, of, kind)).max() < 1e-7 * size
    assert np.abs(of.draws.shares @ features(frame, wrong, kind)).max() > 1e-3 * size


@pytest.mark.parametrize(("names", "kind"), [*product((("gamma", "beta"), ("normal", "student t")), KINDS)])
def test_features_of_two_coordinates_have_mean_zero_for_any_covariance(names, kind):
    (x, p, s, bounds), (y, q, t, others) = (nodes(name, 12) for name in names)
    points, scores = np.array([*product(x, y)]), np.array([*product(s, t)])
    shares = np.outer(p, q).ravel()
    kept = shares > 1e-300
    limits = None if bounds is None else [bounds, others]
    of = raw_operand(points[kept], scores[kept], bounds=limits, weights=shares[kept])
    values = features(Frame(np.array([0.4, -0.1]), np.array([[0.7, 0.5], [0.5, 1.3]])), of, kind)
    assert values.shape[1] == width_of(kind, 2)
    assert np.abs(of.draws.shares @ values).max() < 1e-5 * (of.draws.shares @ np.abs(values)).max()


def test_pairs_of_a_normal_target_are_polynomials():
    root = np.array([[1.0, 0.0, 0.0], [0.8, 0.5, 0.0], [-0.3, 0.2, 2.0]])
    covariance, mean = root @ root.T, np.array([1.0, -2.0, 0.5])
    points = np.random.default_rng(0).standard_normal((50, 3))
    of = raw_operand(points, -(points - mean) @ np.linalg.inv(covariance))
    values = features(Frame(np.zeros(3), covariance), of, "pairs")
    assert values[:, :3] == pytest.approx(mean - points, abs=1e-12)
    i, j = np.triu_indices(3)
    # c_i (mu_j - x_j) + c_j (mu_i - x_i) + 2 C_ij, with c = x
    expected = points[:, i] * (mean - points)[:, j] + points[:, j] * (mean - points)[:, i] + 2.0 * covariance[i, j]
    assert values[:, 3:] == pytest.approx(expected, abs=1e-12)


def ledoit_wolf(points):
    """Return the estimate of Ledoit and Wolf (2004), section 3.3, draw by draw."""
    n, dim = points.shape
    deviations = points - points.mean(axis=0)
    sample = sum(np.outer(each, each) for each in deviations) / n
    target = np.trace(sample) / dim * np.eye(dim)
    distance = ((sample - target) ** 2).sum()
    noise = sum(((np.outer(each, each) - sample) ** 2).sum() for each in deviations) / n**2
    share = min(noise, distance) / distance
    return share * target + (1.0 - share) * sample


@pytest.mark.parametrize(("n", "dim"), [(12, 30), (40, 5), (500, 3)])
def test_covariance_is_that_of_ledoit_and_wolf(n, dim):
    points = np.random.default_rng(n).standard_normal((n, dim)) * np.linspace(0.5, 2.0, dim)
    padded = np.vstack([points, points + 1.0, points - 1.0])  # at least as many draws as coordinates
    found = Frame.of(raw_operand(padded, np.ones_like(padded)), np.arange(n))
    assert found.centre == pytest.approx(points.mean(axis=0), abs=1e-12)
    assert found.covariance == pytest.approx(ledoit_wolf(points), abs=1e-12)


def test_weights_enter_the_covariance_as_repeated_draws_do():
    rng = np.random.default_rng(1)
    points, times = rng.standard_normal((30, 3)) @ [[1.0, 0.5, 0.2], [0.0, 1.0, 0.7], [0.0, 0.0, 1.0]], np.ones(30)
    times[::3] = 3.0
    weighted = Frame.of(raw_operand(points, -points, weights=times), slice(None))
    repeated = np.repeat(points, times.astype(int), axis=0)
    plain = np.cov(repeated.T, bias=True)
    assert weighted.centre == pytest.approx(repeated.mean(axis=0), abs=1e-12)
    others = ~np.eye(3, dtype=bool)
    assert np.ptp(weighted.covariance[others] / plain[others]) < 1e-12  # shrunk by a common factor
    assert 0.0 < weighted.covariance[others][0] / plain[others][0] < 1.0
