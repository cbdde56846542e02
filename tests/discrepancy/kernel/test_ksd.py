"""Stein kernel compared with its definition, and statistics with full matrices; errors."""

import math

import numpy as np
import pytest
from stein_thinning.kernel import vfk0_imq
from support.stein_matrix import stein_matrix

import steinkit as sk

KERNELS = [sk.IMQ(), sk.IMQ(1.7, -0.3), sk.GaussianKernel(1.3)]
by_kernel = pytest.mark.parametrize("kernel", KERNELS, ids=str)


def scored(points, **arguments):
    return sk.kernel_stein_discrepancy(points, scores=-np.asarray(points), **arguments)


@by_kernel
@pytest.mark.parametrize(("n", "dim"), [(5, 1), (300, 4), (700, 2)])
def test_statistics_match_the_full_matrix(kernel, n, dim):
    rng = np.random.default_rng(n)
    points, scores, weights = rng.standard_normal((n, dim)), rng.standard_normal((n, dim)), rng.random(n)
    matrix, q = stein_matrix(kernel, points, scores), weights / weights.sum()
    arguments = {"scores": scores, "weights": weights, "kernel": kernel}
    v = sk.kernel_stein_discrepancy(points, squared=True, **arguments)
    assert v.value == pytest.approx(q @ matrix @ q, rel=1e-10)
    np.testing.assert_allclose(v.witness, matrix @ q, rtol=1e-10, atol=1e-12)
    assert sk.kernel_stein_discrepancy(points, **arguments).value == pytest.approx(math.sqrt(q @ matrix @ q), rel=1e-10)
    u = sk.kernel_stein_discrepancy(points, statistic="u", squared=True, **arguments)
    off = np.outer(q, q) * (1 - np.eye(n))
    assert u.value == pytest.approx((off * matrix).sum() / off.sum(), rel=1e-10, abs=1e-13)


def test_scale_is_the_median_distance():
    points = np.random.default_rng(0).standard_normal((40, 3))
    distances = [math.dist(points[i], points[j]) for i in range(40) for j in range(i)]
    result = scored(points, kernel="gaussian")
    assert result.kernel.scale == pytest.approx(np.median(distances), rel=1e-12)
    assert result.value == pytest.approx(scored(points, kernel=result.kernel).value, rel=1e-12)


def test_median_distance_of_a_part_of_the_points_is_reported():
    points = np.random.default_rng(0).standard_normal((2100, 2))
    result = scored(points, kernel="gaussian")
    assert any("median distance between 2000" in note for note in result.warnings)
    assert scored(points[:200], kernel="gaussian").warnings == ()


@by_kernel
def test_repeated_draws_count(kernel):
    """Merged points give the same statistics as the matrix over all draws, including pairs of repeats."""
    rng = np.random.default_rng(5)
    points = rng.standard_normal((12, 2))[rng.integers(0, 12, 30)]
    weights = rng.random(30)
    matrix, q = stein_matrix(kernel, points, -points), weights / weights.sum()
    off = np.outer(q, q) * (1 - np.eye(30))
    v = scored(points, weights=weights, kernel=kernel, squared=True)
    u = scored(points, weights=weights, kernel=kernel, statistic="u", squared=True)
    assert len(v.sample) < 12
    assert v.value == pytest.approx(q @ matrix @ q, rel=1e-10)
    assert u.value == pytest.approx((off * matrix).sum() / off.sum(), rel=1e-10)
    assert any("pairs of repeats" in note for note in u.warnings)


@by_kernel
@pytest.mark.parametrize("statistic", ["v", "u"])
def test_discrepancy_is_invariant_to_permutation(kernel, statistic):
    points = np.random.default_rng(1).standard_normal((90, 3))
    shuffled = np.random.default_rng(2).permutation(points)
    first, second = (scored(p, kernel=kernel, statistic=statistic, squared=True).value for p in (points, shuffled))
    assert first == pytest.approx(second, rel=1e-10, abs=1e-13)


def test_discrepancy_is_invariant_to_splitting_weights():
    points, whole = np.random.default_rng(1).standard_normal((50, 3)), np.arange(1.0, 51.0)
    halves = np.concatenate([0.25 * whole, 0.75 * whole])
    split = scored(np.concatenate([points, points]), weights=halves)
    assert scored(points, weights=whole).value == pytest.approx(split.value, rel=1e-12)
    with_nothing = scored(np.concatenate([points, points + 9.0]), weights=np.concatenate([whole, 0 * whole]))
    assert with_nothing.value == pytest.approx(split.value, rel=1e-12)


def test_threads_give_bit_for_bit_identical_results():
    points = np.random.default_rng(1).standard_normal((1500, 2))
    one, two = scored(points), scored(points, n_jobs=2)
    assert one.value == two.value
    np.testing.assert_array_equal(one.witness, two.witness)


@by_kernel
def test_u_statistic_has_mean_zero_under_the_target_only(kernel):
    def values(shift):
        draws = (np.random.default_rng(seed).standard_normal((40, 2)) + shift for seed in range(120))
        return np.array([scored(points, kernel=kernel, statistic="u", squared=True).value for points in draws])

    right, wrong = values(0.0), values(0.3)
    assert abs(right.mean()) < 4 * right.std() / math.sqrt(len(right))
    assert wrong.mean() > 10 * wrong.std() / math.sqrt(len(wrong))


def test_target_and_its_scores_agree():
    points = np.random.default_rng(0).standard_normal((60, 2))
    by_target = sk.kernel_stein_discrepancy(points, sk.targets.Normal(0.0, dim=2))
    assert by_target.value == pytest.approx(scored(points).value, rel=1e-14)
    assert "V-statistic" in repr(by_target)


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ({"statistic": "w"}, "statistic"),
        ({"statistic": "u"}, "squared"),
        ({"kernel": "gausian"}, "did you mean"),
        ({"kernel": 3}, "3"),
        ({"kernel": sk.IMQ}, "IMQ"),
        ({"n_jobs": 0}, "n_jobs"),
    ],
)
def test_invalid_arguments_are_refused(arguments, match):
    with pytest.raises(sk.UsageError, match=match):
        scored(np.eye(3), **arguments)


@pytest.mark.parametrize("scale", [0.0, -1.0, math.nan, math.inf])
def test_invalid_kernel_parameters_are_refused(scale):
    for kernel in (sk.IMQ, sk.GaussianKernel):
        with pytest.raises(sk.UsageError, match="positive"):
            kernel(scale)
    with pytest.raises(sk.UsageError, match="negative"):
        sk.IMQ(1.0, abs(scale))


@pytest.mark.parametrize("scale", [1e-31, 1e31])
def test_scales_out_of_range_are_refused(scale):
    for kernel in (sk.IMQ(scale), sk.GaussianKernel(scale), sk.GaussianKernel()):
        with pytest.raises(sk.InputError, match="1e-30 and 1e"):
            sk.kernel_stein_discrepancy(scale * np.eye(3), scores=np.zeros((3, 3)), kernel=kernel)


def test_bounds_of_the_target_are_used():
    draws = np.random.default_rng(0).random((50, 2))
    by_target = sk.kernel_stein_discrepancy(draws, sk.targets.Uniform(dim=2))
    given = sk.kernel_stein_discrepancy(draws, scores=np.zeros((50, 2)), bounds=(0.0, 1.0))
    assert by_target.value == given.value
    np.testing.assert_array_equal(by_target.bounds, [[0.0, 1.0]] * 2)
    with pytest.raises(sk.UsageError, match="differ"):
        sk.kernel_stein_discrepancy(draws, sk.targets.Uniform(dim=2), bounds=(0.0, 2.0))
    with pytest.raises(sk.InputError, match="at draw 1"):
        sk.kernel_stein_discrepancy(draws + 0.5, sk.targets.Uniform(dim=2))


def test_known_value_on_a_bounded_support():
    """Draws 0 and 1/2 for Unif(0, 1) with c = 1 have w = 0, 1/9 and w' = 1/2, 0, and b = w', a = w."""
    value = sk.kernel_stein_discrepancy([0.0, 0.5], sk.targets.Uniform(), squared=True).value
    corner, middle = 0.5**2, (1.0 / 9.0) ** 2  # phi(0) b^2 and -2 phi'(0) a^2
    # phi' = -(5/4)^(-3/2) / 2 and r = -1/2: 2 phi' (a(x) r b(y) - a(y) r b(x)), x = 0, y = 1/2
    between = -(1.25**-1.5) * (0.5 * 0.5 / 9.0)
    assert value == pytest.approx((corner + middle + 2.0 * between) / 4.0, rel=1e-14)


def test_u_statistic_on_a_box_requires_its_bounds():
    def values(bounds, power=1.0):
        draws = (np.random.default_rng(seed).random((40, 2)) ** power for seed in range(120))
        zero = np.zeros((40, 2))
        return np.array(
            [
                sk.kernel_stein_discrepancy(x, scores=zero, bounds=bounds, statistic="u", squared=True).value
                for x in draws
            ]
        )

    right, without, biased = values((0.0, 1.0)), values(None), values((0.0, 1.0), 1.5)
    assert abs(right.mean()) < 4 * right.std() / math.sqrt(len(right))
    assert without.mean() > 10 * without.std() / math.sqrt(len(without))
    assert biased.mean() > 10 * biased.std() / math.sqrt(len(biased))


def test_bounded_discrepancy_decreases_with_the_sample_size():
    values = [
        sk.kernel_stein_discrepancy(np.random.default_rng(1).random((n, 2)), sk.targets.Uniform(dim=2)).value
        for n in (50, 5000)
    ]
    assert values[1] < values[0] / 4.0  # ten is the expected ratio


@pytest.mark.parametrize("kernel", KERNELS[:2], ids=str)
def test_stein_thinning_package_agrees(kernel):
    """The package uses c + |x - y|^2, where c is the squared scale."""
    points, scores = np.random.default_rng(9).standard_normal((2, 120, 3))
    rows, columns = np.indices((120, 120)).reshape(2, -1)
    matrix = vfk0_imq(
        points[rows], points[columns], scores[rows], scores[columns], np.eye(3), kernel.scale**2, kernel.exponent
    ).reshape(120, 120)
    result = sk.kernel_stein_discrepancy(points, scores=scores, kernel=kernel)
    assert result.value == pytest.approx(math.sqrt(matrix.mean()), rel=1e-10)
    np.testing.assert_allclose(result.witness, matrix.mean(axis=1), rtol=1e-10, atol=1e-13)


@by_kernel
@pytest.mark.parametrize("size", [1e-3, 1.0, 1e4])
def test_bracket_contains_the_value_in_extended_precision(kernel, size):
    points, scores = np.random.default_rng(6).standard_normal((2, 300, 3))
    scores = scores * size
    long = stein_matrix(kernel, points.astype(np.longdouble), scores.astype(np.longdouble))
    v = sk.kernel_stein_discrepancy(points, scores=scores, kernel=kernel, squared=True)
    wanted = float(v.sample.weights.astype(np.longdouble) @ long @ v.sample.weights.astype(np.longdouble))
    assert v.lower <= wanted <= v.upper
    assert v.lower <= v.value <= v.upper
    assert 0.0 < v.upper - v.lower < 1e-9 * v.value
    root = sk.kernel_stein_discrepancy(points, scores=scores, kernel=kernel)
    assert root.lower <= math.sqrt(wanted) <= root.upper
    assert root.lower < root.value < root.upper
    u = sk.kernel_stein_discrepancy(points, scores=scores, kernel=kernel, statistic="u", squared=True)
    off = float((long.sum() - np.trace(long)) / (300 * 299))
    assert u.lower <= off <= u.upper
    assert u.lower < u.value < u.upper


@pytest.mark.parametrize("weights", [None, [2.0]])
def test_u_statistic_requires_two_draws(weights):
    with pytest.raises(sk.InputError, match="two draws"):
        sk.kernel_stein_discrepancy([[1.0]], scores=[[0.0]], weights=weights, statistic="u", squared=True)
    with pytest.raises(sk.InputError, match="two draws"):
        scored([[1.0], [2.0]], weights=[1.0, 0.0], statistic="u", squared=True)
    with pytest.raises(sk.InputError, match="median distance"):
        scored([[1.0]], kernel="gaussian")


@by_kernel
@pytest.mark.parametrize("statistic", ["v", "u"])
@pytest.mark.parametrize("scores", [[1e200, 1.0], [1e200, -1e200], [1e200, 1e200]])
def test_overflow_is_refused(kernel, statistic, scores):
    with pytest.raises(sk.InputError, match="rescale"):
        sk.kernel_stein_discrepancy([0.0, 1.0], scores=scores, kernel=kernel, statistic=statistic, squared=True)


def test_known_value():
    """For draws -1 and 1 and N(0, 1), k0(x, x) = 2 and k0(-1, 1) = -52 / 5^(5/2)."""
    value = sk.kernel_stein_discrepancy([-1.0, 1.0], scores=[1.0, -1.0], squared=True).value
    assert value == pytest.approx(1.0 - 26.0 / 5.0**2.5, rel=1e-14)
