"""The Stein kernel against its definition, the statistics against plain matrices, and what is refused."""

import math

import numpy as np
import pytest

import steinkit as sk

KERNELS = [sk.IMQ(), sk.IMQ(1.7, -0.3), sk.GaussianKernel(1.3), sk.MaternKernel(1.6)]
by_kernel = pytest.mark.parametrize("kernel", KERNELS, ids=str)


def base_kernel(kernel, x, y):
    """k(x, y) from the distance, as textbooks write it."""
    distance = math.dist(x, y)
    if isinstance(kernel, sk.IMQ):
        return (kernel.scale**2 + distance**2) ** kernel.exponent
    if isinstance(kernel, sk.GaussianKernel):
        return math.exp(-0.5 * (distance / kernel.scale) ** 2)
    t = math.sqrt(5.0) * distance / kernel.scale
    return (1.0 + t + t**2 / 3.0) * math.exp(-t)


def stein_kernel_by_differences(kernel, x, y, s_x, s_y, h=1e-3):
    """k0 from central differences of the base kernel; error about h^2."""
    value = base_kernel(kernel, x, y) * (s_x @ s_y)
    for step in h * np.eye(len(x)):
        corners = [[base_kernel(kernel, x + a * step, y + b * step) for b in (-1, 1)] for a in (-1, 1)]
        value += (corners[1][1] - corners[1][0] - corners[0][1] + corners[0][0]) / (4 * h**2)
        k = step.argmax()
        value += (base_kernel(kernel, x + step, y) - base_kernel(kernel, x - step, y)) / (2 * h) * s_y[k]
        value += (base_kernel(kernel, x, y + step) - base_kernel(kernel, x, y - step)) / (2 * h) * s_x[k]
    return value


def stein_matrix(kernel, points, scores):
    """All k0(x_i, x_j), shape (n, n), from the gradients of each kernel in vector form."""
    r = points[:, None] - points[None]
    u, dim = (r**2).sum(axis=2), points.shape[1]
    if isinstance(kernel, sk.IMQ):
        b, e = kernel.scale**2 + u, kernel.exponent
        k, gradient = b**e, 2 * e * (b ** (e - 1))[:, :, None] * r
        trace = -2 * e * dim * b ** (e - 1) - 4 * e * (e - 1) * u * b ** (e - 2)
    elif isinstance(kernel, sk.GaussianKernel):
        k = np.exp(-u / (2 * kernel.scale**2))
        gradient = -k[:, :, None] * r / kernel.scale**2
        trace = k * (dim / kernel.scale**2 - u / kernel.scale**4)
    else:
        t, factor = np.sqrt(5 * u) / kernel.scale, 5 / (3 * kernel.scale**2)
        k = (1 + t + t**2 / 3) * np.exp(-t)
        gradient = -factor * ((1 + t) * np.exp(-t))[:, :, None] * r
        trace = factor * np.exp(-t) * (dim * (1 + t) - t**2)
    towards_y = np.einsum("ijk,jk->ij", gradient, scores)
    towards_x = -np.einsum("ijk,ik->ij", gradient, scores)
    return trace + towards_y + towards_x + k * (scores @ scores.T)


def scored(points, **arguments):
    return sk.kernel_stein_discrepancy(points, scores=-np.asarray(points), **arguments)


@by_kernel
@pytest.mark.parametrize("dim", [1, 3])
def test_stein_kernel_is_that_of_its_definition(kernel, dim):
    rng = np.random.default_rng(3)
    x, y, s_x, s_y = rng.standard_normal((4, dim))
    pair = sk.kernel_stein_discrepancy([x, y], scores=[s_x, s_y], kernel=kernel, statistic="u", squared=True)
    assert pair.value == pytest.approx(stein_kernel_by_differences(kernel, x, y, s_x, s_y), rel=1e-5, abs=1e-5)
    alone = sk.kernel_stein_discrepancy([x], scores=[s_x], kernel=kernel, squared=True)
    assert alone.value == pytest.approx(stein_kernel_by_differences(kernel, x, x, s_x, s_x), rel=1e-5)


@by_kernel
@pytest.mark.parametrize(("n", "dim"), [(5, 1), (300, 4), (700, 2)])
def test_statistics_equal_those_of_the_whole_matrix(kernel, n, dim):
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


@pytest.mark.parametrize("kernel", ["gaussian", "matern"])
def test_scale_is_the_median_distance(kernel):
    points = np.random.default_rng(0).standard_normal((40, 3))
    distances = [math.dist(points[i], points[j]) for i in range(40) for j in range(i)]
    result = scored(points, kernel=kernel)
    assert result.kernel.scale == pytest.approx(np.median(distances), rel=1e-12)
    assert result.value == pytest.approx(scored(points, kernel=result.kernel).value, rel=1e-12)


def test_median_distance_of_some_points_is_not_silent():
    points = np.random.default_rng(0).standard_normal((2100, 2))
    result = scored(points, kernel="gaussian")
    assert any("median distance of 2000" in note for note in result.warnings)
    assert scored(points[:200], kernel="gaussian").warnings == ()


@by_kernel
def test_repeats_count_as_draws(kernel):
    """Merged points must give what the matrix over all draws gives, pairs of repeats among them."""
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
def test_order_of_the_draws_does_not_matter(kernel, statistic):
    points = np.random.default_rng(1).standard_normal((90, 3))
    shuffled = np.random.default_rng(2).permutation(points)
    first, second = (scored(p, kernel=kernel, statistic=statistic, squared=True).value for p in (points, shuffled))
    assert first == pytest.approx(second, rel=1e-10, abs=1e-13)


def test_splitting_the_weight_of_a_point_does_not_matter():
    points, whole = np.random.default_rng(1).standard_normal((50, 3)), np.arange(1.0, 51.0)
    halves = np.concatenate([0.25 * whole, 0.75 * whole])
    split = scored(np.concatenate([points, points]), weights=halves)
    assert scored(points, weights=whole).value == pytest.approx(split.value, rel=1e-12)
    with_nothing = scored(np.concatenate([points, points + 9.0]), weights=np.concatenate([whole, 0 * whole]))
    assert with_nothing.value == pytest.approx(split.value, rel=1e-12)


def test_threads_do_not_change_a_bit():
    points = np.random.default_rng(1).standard_normal((1500, 2))
    one, two = scored(points), scored(points, n_jobs=2)
    assert one.value == two.value
    np.testing.assert_array_equal(one.witness, two.witness)


@by_kernel
def test_u_statistic_has_mean_zero_under_the_target_only(kernel):
    def values(shift):
        draws = (np.random.default_rng(seed).standard_normal((40, 2)) + shift for seed in range(300))
        return np.array([scored(points, kernel=kernel, statistic="u", squared=True).value for points in draws])

    right, wrong = values(0.0), values(0.3)
    assert abs(right.mean()) < 4 * right.std() / math.sqrt(len(right))
    assert wrong.mean() > 10 * wrong.std() / math.sqrt(len(wrong))


@by_kernel
def test_worse_samples_score_higher(kernel):
    points = np.random.default_rng(0).standard_normal((500, 2))
    values = [scored(points + shift, kernel=kernel).value for shift in (0.0, 0.2, 0.5, 1.0)]
    assert values == sorted(values)
    assert values[-1] > 3 * values[0]


def test_mean_of_the_witness_is_the_squared_discrepancy():
    points = np.random.default_rng(0).standard_normal((60, 2))
    result = scored(points, weights=np.arange(60) + 1.0)
    assert result.sample.weights @ result.witness == pytest.approx(result.value**2, rel=1e-12)


def test_target_and_its_scores_agree():
    points = np.random.default_rng(0).standard_normal((60, 2))
    by_target = sk.kernel_stein_discrepancy(points, sk.targets.Normal(0.0, dim=2))
    assert by_target.value == pytest.approx(scored(points).value, rel=1e-14)
    assert "V-statistic" in repr(by_target)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"statistic": "w"}, "statistic"),
        ({"statistic": "u"}, "squared=True"),
        ({"kernel": "gausian"}, "did you mean"),
        ({"kernel": 3}, "received 3"),
        ({"n_jobs": 0}, "n_jobs"),
    ],
)
def test_settings_that_are_refused(arguments, said):
    with pytest.raises(sk.UsageError, match=said):
        scored(np.eye(3), **arguments)


@pytest.mark.parametrize("scale", [0.0, -1.0, math.nan, math.inf])
@pytest.mark.parametrize("kernel", [sk.IMQ, sk.GaussianKernel, sk.MaternKernel])
def test_scales_must_be_positive(kernel, scale):
    with pytest.raises(sk.UsageError, match="positive"):
        kernel(scale)


@pytest.mark.parametrize("exponent", [0.0, 0.5, math.nan, -math.inf])
def test_exponents_must_be_negative(exponent):
    with pytest.raises(sk.UsageError, match="negative"):
        sk.IMQ(1.0, exponent)


def test_bounded_targets_are_refused():
    with pytest.raises(sk.UsageError, match="bounds"):
        sk.kernel_stein_discrepancy([0.5, 0.6], sk.targets.Uniform())
    unbounded = sk.Target(score=lambda x: -x, bounds=[(-math.inf, math.inf)])
    assert sk.kernel_stein_discrepancy([0.5, 0.6], unbounded).value > 0.0


@pytest.mark.parametrize("weights", [None, [2.0]])
def test_one_draw_has_no_u_statistic(weights):
    with pytest.raises(sk.InputError, match="two draws"):
        sk.kernel_stein_discrepancy([[1.0]], scores=[[0.0]], weights=weights, statistic="u", squared=True)
    with pytest.raises(sk.InputError, match="two draws"):
        scored([[1.0], [2.0]], weights=[1.0, 0.0], statistic="u", squared=True)
    with pytest.raises(sk.InputError, match="median distance"):
        scored([[1.0]], kernel="gaussian")


@pytest.mark.parametrize("shape", [(3,), (4, 2), (3, 3)])
def test_scores_of_another_shape_are_refused(shape):
    with pytest.raises(sk.InputError, match="scores"):
        sk.kernel_stein_discrepancy(np.ones((3, 2)) * np.arange(3.0)[:, None], scores=np.zeros(shape))


@by_kernel
@pytest.mark.parametrize("statistic", ["v", "u"])
@pytest.mark.parametrize("scores", [[1e200, 1.0], [1e200, -1e200], [1e200, 1e200]])
def test_overflow_is_refused(kernel, statistic, scores):
    with pytest.raises(sk.InputError, match="overflow"):
        sk.kernel_stein_discrepancy([0.0, 1.0], scores=scores, kernel=kernel, statistic=statistic, squared=True)


def test_discrepancy_of_known_value():
    """Draws -1 and 1 for N(0, 1), phi(u) = (1 + u)^(-1/2): by hand, k0(x, x) = 2 and k0(-1, 1) = -52 / 5^(5/2)."""
    value = sk.kernel_stein_discrepancy([-1.0, 1.0], scores=[1.0, -1.0], squared=True).value
    assert value == pytest.approx(1.0 - 26.0 / 5.0**2.5, rel=1e-14)


@pytest.mark.parametrize("scale", [1e-200, 1e-320])
def test_scales_beyond_the_numbers_are_refused(scale):
    with pytest.raises(sk.InputError, match="overflow"):
        scored(np.eye(3), kernel=sk.IMQ(scale))
