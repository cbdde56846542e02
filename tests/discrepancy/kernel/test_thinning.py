"""Stein thinning compared with brute force, and the properties of the thinned sample."""

import numpy as np
import pytest
from scipy.stats import loggamma
from support.stein_matrix import stein_matrix

import steinkit as sk
from steinkit.discrepancy.kernel.stein_kernel import stein_kernel_for
from steinkit.scored_sample import ScoredSample

KERNELS = ["imq", sk.IMQ(0.5, -0.3), sk.GaussianKernel(0.8)]


def by_brute_force(points, m, kernel):
    """Add the draw that minimizes the discrepancy, m times."""
    matrix, chosen = stein_matrix(kernel, points, -points), []
    for _ in range(m):
        values = [matrix[np.ix_([*chosen, i], [*chosen, i])].mean() for i in range(len(points))]
        chosen.append(int(np.argmin(values)))
    return points[chosen]


@pytest.mark.parametrize("kernel", [sk.IMQ(), sk.IMQ(0.5, -0.3), sk.GaussianKernel(0.8)], ids=str)
@pytest.mark.parametrize("dim", [1, 3])
def test_selection_matches_brute_force(kernel, dim):
    points = np.random.default_rng(dim).standard_normal((15, dim)) + 0.5
    thinned = sk.thin(points, m=20, scores=-points, units="raw", kernel=kernel, moment_weight=0.0)
    np.testing.assert_array_equal(thinned.points, by_brute_force(points, 20, kernel))


def test_own_units_by_default():
    points = np.random.default_rng(7).standard_normal((200, 2)) + 1.0
    narrow = points * np.array([2.0**-10, 1.0])
    scores = -narrow * np.array([2.0**20, 1.0])
    own, by_hand = sk.thin(narrow, m=30, scores=scores), (narrow - narrow.mean(axis=0)) / narrow.std(axis=0)
    hand_scored = sk.thin(by_hand, m=30, scores=scores * narrow.std(axis=0), units="raw")
    np.testing.assert_array_equal(own.draw, hand_scored.draw)
    np.testing.assert_array_equal(own.draw, sk.thin(points, m=30, scores=-points).draw)
    own, raw = (sk.thin(narrow, m=30, scores=scores, units=units, moment_weight=0.0) for units in ("own", "raw"))
    kept, lost = (thinned.points[:, 0].std() / narrow[:, 0].std() for thinned in (own, raw))
    assert lost < 0.6 < 0.8 < kept


def greedy(matrix):
    """Select twelve draws using the full matrix of k0 and features."""
    chosen = []
    for _ in range(12):
        chosen.append(int(np.argmin(matrix.diagonal() / 2 + matrix[:, chosen].sum(axis=1))))
    return chosen


@pytest.mark.parametrize("weight", [0.3, 5.0])
def test_moments_add_to_the_kernel(weight):
    """Compare with the selection from the full matrix of k0 and features."""
    points = np.random.default_rng(3).gamma(2.0, size=(40, 2)) - 1.0
    scores = 1.0 / (points + 1.0) - 1.0
    stein = stein_kernel_for(sk.IMQ(), ScoredSample.of(points, scores=scores)).rows(range(40))
    features = np.column_stack([scores, 1.0 + (points - points.mean(axis=0)) * scores])
    features /= np.sqrt((features**2).mean(axis=0))
    whole = stein + weight * np.trace(stein) / 40 * features @ features.T / 4
    chosen = greedy(whole)
    assert sk.thin(points, m=12, scores=scores, units="raw", moment_weight=weight).draw.tolist() == chosen
    assert chosen != sk.thin(points, m=12, scores=scores, units="raw", moment_weight=0.0).draw.tolist()


def test_moments_use_the_bounds():
    """The features are T e_j and T (x_j - m_j) e_j of the operator on the bounded support."""
    points = np.random.default_rng(4).uniform(size=(60, 2))
    bounds = [(0.0, 1.0), (0.0, 1.0)]
    stein = stein_kernel_for(sk.IMQ(), ScoredSample.of(points, scores=np.zeros((60, 2)), bounds=bounds))
    w, slope = points * (1 - points) / ((1 + points) * (2 - points)), stein.drift.T  # b = w' where the score is zero
    np.testing.assert_allclose(stein.covariance_diagonal().T, w, rtol=1e-12)
    whole = stein.rows(range(60))
    features = np.column_stack([slope, slope * (points - points.mean(axis=0)) + w])
    features /= np.sqrt((features**2).mean(axis=0))
    whole = whole + 0.3 * np.trace(whole) / 60 * features @ features.T / 4
    chosen = greedy(whole)
    assert sk.thin(points, m=12, scores=np.zeros((60, 2)), bounds=bounds, units="raw").draw.tolist() == chosen


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_thinning_corrects_bias(kernel):
    points = np.random.default_rng(0).standard_normal((600, 2)) + 0.4
    thinned = sk.thin(points, sk.targets.Normal(0.0, dim=2), m=30, kernel=kernel)
    scored = [sk.kernel_stein_discrepancy(p, scores=-p, kernel=sk.IMQ()).value for p in (thinned.points, points[::20])]
    assert scored[0] < 0.5 * scored[1]
    assert np.abs(thinned.points.mean(axis=0)).max() < 0.2


def test_columns_are_kept():
    points = np.random.default_rng(0).standard_normal((2, 20, 3))
    flat = points.reshape(40, 3)
    sample = sk.Sample(points, weights=np.arange(40.0), cost=np.arange(40.0), names=("a", "b", "c"))
    thinned = sk.thin(sample, m=7, scores=-flat)
    rows = thinned.cost.astype(int)
    np.testing.assert_array_equal(thinned.points, flat[rows])
    np.testing.assert_array_equal(thinned.scores, -flat[rows])
    np.testing.assert_array_equal(thinned.chain, rows // 20)
    np.testing.assert_array_equal(thinned.draw, rows % 20)
    assert thinned.names == ("a", "b", "c")
    assert thinned.weights is None


def test_draw_numbers_identify_the_selection():
    points = np.random.default_rng(0).standard_normal((50, 2))
    thinned = sk.thin(points, m=8, scores=-points)
    np.testing.assert_array_equal(points[thinned.draw], thinned.points)
    thinned = sk.thin(sk.Sample(points, chain=np.arange(50) % 2), m=8, scores=-points)
    np.testing.assert_array_equal(points[2 * thinned.draw + thinned.chain], thinned.points)


def test_bounds_are_used():
    biased = np.random.default_rng(1).beta(3.0, 3.0, 400)
    thinned = sk.thin(biased, sk.targets.Uniform(), m=40)
    assert biased.std() < 0.2
    assert thinned.points.std() == pytest.approx(12.0**-0.5, rel=0.1)
    again = sk.thin(biased, m=40, scores=np.zeros((400, 1)), bounds=[(0.0, 1.0)])
    np.testing.assert_array_equal(again.points, thinned.points)


def test_draws_of_weight_zero_are_not_selected():
    points = np.array([[0.0], [3.0], [4.0]])
    assert not (sk.thin(sk.Sample(points, weights=[0.0, 1.0, 1.0], scores=-points), m=5).points == 0.0).any()


def test_selection_is_invariant_to_permutation_and_repeats():
    points = np.random.default_rng(4).standard_normal((30, 2))
    shuffled = np.random.default_rng(5).permutation(np.concatenate([points, points]))
    first, second = (sk.thin(p, m=10, scores=-p) for p in (points, shuffled))
    np.testing.assert_array_equal(first.points, second.points)


def test_invalid_arguments_are_refused():
    for m in (0, 2.5, True, None):
        with pytest.raises(sk.UsageError, match="m must be"):
            sk.thin(np.eye(3), m=m, scores=np.eye(3))
    for weight in (-0.1, np.nan):
        with pytest.raises(sk.UsageError, match="moment_weight"):
            sk.thin(np.eye(3), m=1, scores=np.eye(3), moment_weight=weight)
    with pytest.raises(sk.InputError, match="draw 2"):
        sk.thin([0.5, 1.6], sk.targets.Uniform(), m=1)
    with pytest.raises(sk.UsageError, match="score"):
        sk.thin([0.5, 0.6], m=1)
    with pytest.raises(sk.InputError, match="scores"):
        sk.thin(np.eye(3), m=1, scores=np.zeros((2, 3)))


@pytest.mark.parametrize("scores", [[[1e200], [1e200]], [[1e200], [-1e200]], [[1e200], [0.0]]])
def test_overflow_is_refused(scores):
    with pytest.raises(sk.InputError, match="rescale"):
        sk.thin([[0.0], [1.0]], m=2, scores=scores)


def test_weighted_draws_are_more_accurate_than_equal_weights():
    law, rng, errors = loggamma(3.0), np.random.default_rng(10), {"stein": [], "lp": []}
    levels = (0.05, 0.25, 0.5, 0.75, 0.95)
    for _ in range(4):
        points = 1.2 * law.rvs((400, 3), random_state=rng)
        for method, found in errors.items():
            thinned = sk.thin(points, m=50, scores=3.0 - np.exp(points), method=method)
            assert len(thinned) == 50
            shares = np.broadcast_to(thinned.probabilities[:, None], thinned.points.shape)
            quantiles = np.quantile(thinned.points, levels, axis=0, weights=shares, method="inverted_cdf")
            found.append(np.sqrt(np.mean((quantiles - law.ppf(levels)[:, None]) ** 2)))
    assert np.median(errors["lp"]) < 0.9 * np.median(errors["stein"])


def test_weighted_draws_keep_their_order_numbers_and_scores():
    points = np.repeat(np.random.default_rng(11).standard_normal((60, 2)) + 0.3, 2, axis=0)
    thinned = sk.thin(points, m=20, scores=-points, method="lp")
    assert len(thinned) == len(np.unique(thinned.points, axis=0)) == 20
    assert (np.diff(thinned.draw) > 0).all()
    np.testing.assert_array_equal(thinned.points, points[thinned.draw])
    np.testing.assert_array_equal(thinned.scores, -thinned.points)
    np.testing.assert_allclose(thinned.probabilities @ thinned.points, 0.0, atol=1e-3)
    assert len(sk.thin(points, m=500, scores=-points, method="lp")) == 60


@pytest.mark.parametrize(
    ("points", "options", "error"),
    [
        (np.eye(20), {"m": 7}, sk.UsageError),
        (np.eye(20), {"m": 10, "method": "kernel"}, sk.UsageError),
        (np.ones((20, 2)), {"m": 10}, sk.InputError),
        (np.random.default_rng(12).standard_normal((50, 2)) + 5.0, {"m": 10}, sk.InputError),  # on one side of the mode
    ],
)
def test_draws_that_cannot_be_weighted_are_rejected(points, options, error):
    with pytest.raises(error):
        sk.thin(points, scores=-points, **{"method": "lp", **options})
