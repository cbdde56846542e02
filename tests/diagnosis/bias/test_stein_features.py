"""Features whose means under the target are zero: by quadrature, which knows nothing of Stein's operator."""

from itertools import product

import numpy as np
import pytest
from scipy import stats
from support.bias_samples import operand, raw_operand

from steinkit.diagnosis.bias.stein_regression import DEGREE, Frame, width_of

KINDS = ("own2", "own4", "diagonal", "pairs", "affine", "quadratic")
TARGETS = {  # density, score, bounds, where it is integrated
    "normal": (stats.norm(0.3, 1.2), lambda x: -(x - 0.3) / 1.44, None, (-12.0, 12.0)),
    "student t": (stats.t(12.0), lambda x: -13.0 * x / (12.0 + x**2), None, (-300.0, 300.0)),
    "gamma": (stats.gamma(2.5), lambda x: 1.5 / x - 1.0, [0.0, np.inf], (0.0, 60.0)),
    "beta": (stats.beta(2.0, 3.0), lambda x: 1.0 / x - 2.0 / (1.0 - x), [0.0, 1.0], (0.0, 1.0)),
}


def features(frame, of, kind):
    rows = np.arange(len(of.points))
    if kind in DEGREE:
        return frame.own(of, rows, kind).reshape(len(rows), -1)
    return frame.joint(of, rows, kind)


def nodes(name, size):
    """Gauss-Legendre in pieces: places, and their probabilities under the target."""
    density, score, bounds, (low, high) = TARGETS[name]
    t, w = np.polynomial.legendre.leggauss(16)
    if low < 0.0:
        cuts = np.sinh(np.linspace(np.arcsinh(low), np.arcsinh(high), size + 1))
    else:
        cuts = low + (high - low) * np.linspace(0.0, 1.0, size + 1) ** 2
    x = (0.5 * (cuts[1:] + cuts[:-1])[:, None] + 0.5 * np.diff(cuts)[:, None] * t).ravel()
    shares = (0.5 * np.diff(cuts)[:, None] * w).ravel() * density.pdf(x)
    return x, shares, score(x), bounds


@pytest.mark.parametrize(("name", "kind"), [*product(TARGETS, KINDS)])
def test_features_of_one_coordinate_have_mean_zero(name, kind):
    x, shares, score, bounds = nodes(name, 60)
    kept = shares > 1e-300
    of = raw_operand(x[kept, None], score[kept, None], bounds=bounds, weights=shares[kept])
    values = features(Frame(np.array([0.4]), np.array([[0.7]])), of, kind)
    size = of.draws.shares @ np.abs(values)
    assert np.abs(of.draws.shares @ values).max() < 1e-7 * size.max()
    wrong = raw_operand(x[kept, None], score[kept, None] + 0.1, bounds=bounds, weights=shares[kept])
    values = features(Frame(np.array([0.4]), np.array([[0.7]])), wrong, kind)
    assert np.abs(of.draws.shares @ values).max() > 1e-3 * size.max()  # a control: of a wrong score they have not


@pytest.mark.parametrize(("names", "kind"), [*product((("gamma", "beta"), ("normal", "student t")), KINDS)])
def test_features_of_two_coordinates_have_mean_zero_under_any_covariance(names, kind):
    (x, p, s, bounds), (y, q, t, others) = (nodes(name, 12) for name in names)
    points = np.array([*product(x, y)])
    scores = np.array([*product(s, t)])
    shares = np.outer(p, q).ravel()
    kept = shares > 1e-300
    limits = None if bounds is None else [bounds, others]
    of = raw_operand(points[kept], scores[kept], bounds=limits, weights=shares[kept])
    values = features(Frame(np.array([0.4, -0.1]), np.array([[0.7, 0.5], [0.5, 1.3]])), of, kind)
    assert values.shape[1] == width_of(kind, 2)
    assert np.abs(of.draws.shares @ values).max() < 1e-5 * (of.draws.shares @ np.abs(values)).max()


def test_scores_of_a_normal_target_become_distances():
    rng = np.random.default_rng(0)
    root = np.array([[1.0, 0.0, 0.0], [0.8, 0.5, 0.0], [-0.3, 0.2, 2.0]])
    covariance, mean = root @ root.T, np.array([1.0, -2.0, 0.5])
    points = rng.standard_normal((50, 3))
    of = raw_operand(points, -(points - mean) @ np.linalg.inv(covariance))
    values = Frame(np.zeros(3), covariance).joint(of, np.arange(50), "pairs")
    assert values[:, :3] == pytest.approx(mean - points, abs=1e-12)
    i, j = np.triu_indices(3)
    # c_i (mu_j - x_j) + c_j (mu_i - x_i) + 2 C_ij, with c = x
    wanted = points[:, i] * (mean - points)[:, j] + points[:, j] * (mean - points)[:, i] + 2.0 * covariance[i, j]
    assert values[:, 3:] == pytest.approx(wanted, abs=1e-12)


def ledoit_wolf(points):
    """Ledoit and Wolf (2004), section 3.3, draw by draw."""
    n, dim = points.shape
    deviations = points - points.mean(axis=0)
    sample = sum(np.outer(each, each) for each in deviations) / n
    level = np.trace(sample) / dim
    target = level * np.eye(dim)
    distance = ((sample - target) ** 2).sum()
    noise = sum(((np.outer(each, each) - sample) ** 2).sum() for each in deviations) / n**2
    share = min(noise, distance) / distance
    return share * target + (1.0 - share) * sample


@pytest.mark.parametrize(("n", "dim"), [(12, 30), (40, 5), (500, 3)])
def test_the_covariance_is_shrunk_as_ledoit_and_wolf_do(n, dim):
    points = np.random.default_rng(n).standard_normal((n, dim)) * np.linspace(0.5, 2.0, dim)
    if n < dim:
        of = raw_operand(np.vstack([points, points + 1.0, points - 1.0]), np.ones((3 * n, dim)))
        found = Frame.of(of, np.arange(n))
    else:
        found = Frame.of(raw_operand(points, np.ones((n, dim))), slice(None))
    assert found.centre == pytest.approx(points.mean(axis=0), abs=1e-12)
    assert found.covariance == pytest.approx(ledoit_wolf(points), abs=1e-12)


def test_weights_count_as_repeated_draws_in_the_covariance():
    rng = np.random.default_rng(1)
    points, times = rng.standard_normal((30, 3)) @ [[1.0, 0.5, 0.2], [0.0, 1.0, 0.7], [0.0, 0.0, 1.0]], np.ones(30)
    times[::3] = 3.0
    weighted = Frame.of(raw_operand(points, -points, weights=times), slice(None))
    repeated = np.repeat(points, times.astype(int), axis=0)
    plain = np.cov(repeated.T, bias=True)
    assert weighted.centre == pytest.approx(repeated.mean(axis=0), abs=1e-12)
    off = ~np.eye(3, dtype=bool)
    assert np.ptp(weighted.covariance[off] / plain[off]) < 1e-12  # shrunk by one factor
    assert 0.0 < weighted.covariance[off][0] / plain[off][0] < 1.0


@pytest.mark.parametrize(
    ("n", "dim", "sets"),
    [
        (100, 1, ["diagonal", "pairs", "affine", "quadratic"]),
        (1000, 5, ["diagonal", "pairs", "affine", "quadratic"]),
        (1000, 6, ["diagonal", "pairs", "affine"]),
        (1000, 20, ["diagonal", "pairs"]),
        (1000, 21, ["diagonal"]),
        (100, 17, []),
    ],
)
def test_rich_sets_ask_for_draws(n, dim, sets):
    points = np.random.default_rng(2).standard_normal((n, dim))
    assert operand(points, -points).joint_sets() == sets


def test_blocks_of_rows_change_nothing(monkeypatch):
    points = np.random.default_rng(3).standard_normal((50, 3))
    of = operand(points, -points)
    whole = [*of.blocks(slice(None), 6)]
    monkeypatch.setattr("steinkit.diagnosis.bias.stein_regression._VALUES", 60)
    parts = [*of.blocks(slice(None), 6)]
    assert len(whole) == 1
    assert len(parts) == 5
    assert np.concatenate(parts).tolist() == whole[0].tolist()
