"""The Stein kernel against its definition, the statistics against plain matrices, and what is refused."""

import math

import numpy as np
import pytest
from stein_thinning.kernel import vfk0_imq

import steinkit as sk
from steinkit.discrepancy.operators import RiemannianLangevin

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


def test_bounds_of_the_target_are_respected():
    draws = np.random.default_rng(0).random((50, 2))
    by_target = sk.kernel_stein_discrepancy(draws, sk.targets.Uniform(dim=2))
    given = sk.kernel_stein_discrepancy(draws, scores=np.zeros((50, 2)), bounds=(0.0, 1.0))
    assert by_target.value == given.value
    np.testing.assert_array_equal(by_target.bounds, [[0.0, 1.0]] * 2)
    with pytest.raises(sk.UsageError, match="differ"):
        sk.kernel_stein_discrepancy(draws, sk.targets.Uniform(dim=2), bounds=(0.0, 2.0))
    with pytest.raises(sk.InputError, match="at draw 1"):
        sk.kernel_stein_discrepancy(draws + 0.5, sk.targets.Uniform(dim=2))


def test_infinite_bounds_change_nothing():
    unbounded = sk.Target(score=lambda x: -x, bounds=[(-math.inf, math.inf)])
    assert sk.kernel_stein_discrepancy([0.5, 0.6], unbounded).value == scored([0.5, 0.6]).value


def test_bounded_discrepancy_of_known_value():
    """Draws 0 and 1/2 for Unif(0, 1), c = 1: w = 0, 1/9 and w' = 1/2, 0 by hand, so b = w' and a = w."""
    value = sk.kernel_stein_discrepancy([0.0, 0.5], sk.targets.Uniform(), squared=True).value
    corner, middle = 0.5**2, (1.0 / 9.0) ** 2  # phi(0) b^2 and -2 phi'(0) a^2
    # phi' = -(5/4)^(-3/2) / 2 and r = -1/2: 2 phi' (a(x) r b(y) - a(y) r b(x)), x = 0, y = 1/2
    between = -(1.25**-1.5) * (0.5 * 0.5 / 9.0)
    assert value == pytest.approx((corner + middle + 2.0 * between) / 4.0, rel=1e-14)


def test_u_statistic_has_mean_zero_on_a_box_only_with_its_bounds():
    def values(bounds, power=1.0):
        draws = (np.random.default_rng(seed).random((40, 2)) ** power for seed in range(300))
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


def test_bounded_discrepancy_falls_with_the_sample_size():
    values = [
        sk.kernel_stein_discrepancy(np.random.default_rng(1).random((n, 2)), sk.targets.Uniform(dim=2)).value
        for n in (50, 5000)
    ]
    assert values[1] < values[0] / 4.0  # ten is the expected ratio


@pytest.mark.parametrize("kernel", KERNELS[:2], ids=str)
def test_stein_thinning_package_agrees(kernel):
    """Its qf = c + |x - y|^2 takes for c what is the squared scale here; its weights are 1/n, its value the root."""
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
def test_bracket_holds_the_value_of_longer_numbers(kernel, size):
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


def test_witness_at_the_points_is_the_witness():
    points = np.random.default_rng(0).random((60, 2))
    target = sk.targets.Beta(2.0, 3.0, dim=2)
    result = sk.kernel_stein_discrepancy(points, target, weights=np.arange(60) + 1.0)
    again = result.witness_at(points, target)
    np.testing.assert_allclose(again, result.witness, rtol=1e-12, atol=1e-13)
    np.testing.assert_array_equal(result.witness_at(points, scores=target.score(points)), again)
    np.testing.assert_array_equal(result.witness_at(sk.Sample(points, scores=target.score(points))), again)
    np.testing.assert_array_equal(result.witness_at(points[[3, 3, 0]], target), again[[3, 3, 0]])
    in_chains = points.reshape(3, 20, 2)
    np.testing.assert_array_equal(result.witness_at(in_chains, scores=target.score(points).reshape(3, 20, 2)), again)


@by_kernel
def test_witness_is_positive_where_the_sample_has_too_much(kernel):
    target = sk.targets.Normal(0.0)
    sample = np.random.default_rng(0).standard_normal(400) + 0.5
    grid = np.linspace(-8.0, 8.0, 4001)
    witness = sk.kernel_stein_discrepancy(sample, target, kernel=kernel).witness_at(grid, target)
    density = np.exp(-0.5 * grid**2) / math.sqrt(2.0 * math.pi)
    assert abs((witness * density).sum() * (grid[1] - grid[0])) < 1e-9
    assert witness[grid == 2.0] > 0.0 > witness[grid == -2.0]


def test_witness_under_an_operator():
    operator = RiemannianLangevin(lambda x: (1.0 + x**2)[:, :, None], lambda x: 2.0 * x)
    draws = np.random.default_rng(0).standard_normal(40)
    result = sk.kernel_stein_discrepancy(draws, sk.targets.Normal(0.0), operator=operator)
    np.testing.assert_allclose(result.witness_at(draws, sk.targets.Normal(0.0)), result.witness, rtol=1e-11, atol=1e-13)


def test_witness_needs_one_source_of_scores_inside_the_support():
    target = sk.targets.Uniform(dim=2)
    result = sk.kernel_stein_discrepancy(np.random.default_rng(0).random((9, 2)), target)
    with pytest.raises(sk.UsageError, match="scores="):
        result.witness_at([[0.5, 0.5]])
    with pytest.raises(sk.UsageError, match="so was a target"):
        result.witness_at([[0.5, 0.5]], target, scores=[[0.0, 0.0]])
    with pytest.raises(sk.InputError, match="at draw 1"):
        result.witness_at([[0.5, 1.5]], scores=[[0.0, 0.0]])
    with pytest.raises(sk.InputError, match="3 coordinates"):
        result.witness_at([[0.5, 0.5, 0.5]], target)
    with pytest.raises(sk.InputError, match="rescale"):
        sk.kernel_stein_discrepancy([0.0], scores=[1e90]).witness_at([0.5], scores=[1e300])


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
    with pytest.raises(sk.InputError, match="rescale"):
        sk.kernel_stein_discrepancy([0.0, 1.0], scores=scores, kernel=kernel, statistic=statistic, squared=True)


def test_discrepancy_of_known_value():
    """Draws -1 and 1 for N(0, 1), phi(u) = (1 + u)^(-1/2): by hand, k0(x, x) = 2 and k0(-1, 1) = -52 / 5^(5/2)."""
    value = sk.kernel_stein_discrepancy([-1.0, 1.0], scores=[1.0, -1.0], squared=True).value
    assert value == pytest.approx(1.0 - 26.0 / 5.0**2.5, rel=1e-14)


@pytest.mark.parametrize("scale", [1e-200, 1e-320])
def test_scales_beyond_the_numbers_are_refused(scale):
    with pytest.raises(sk.InputError, match="overflow"):
        scored(np.eye(3), kernel=sk.IMQ(scale))
