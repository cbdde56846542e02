"""Diffusion operators: mean zero under the target, agreement of solvers, errors."""

import itertools

import numpy as np
import pytest
from numpy.polynomial import hermite_e, legendre
from scipy.optimize import linprog

import steinkit as sk
from steinkit.discrepancy.operators import Coefficients, RiemannianLangevin
from steinkit.errors import InputError, UsageError
from steinkit.units import Units

SOLVERS = {
    1: ["auto", "chain", "block", "first_order", "highs", "cvxpy"],
    2: ["auto", "block", "first_order", "highs", "cvxpy"],
    3: ["block", "first_order", "highs", "cvxpy"],
    4: ["auto", "block", "first_order", "highs", "cvxpy"],
}
TIGHT = {"first_order": 1e-4}  # single precision
LINE = np.array([[0.0, 1.0], [-np.inf, np.inf]])


def tolerance(solver):
    return TIGHT.get(solver, 1e-6)


def identity():
    return RiemannianLangevin(lambda x: np.tile(np.eye(x.shape[1]), (len(x), 1, 1)), lambda x: np.zeros(x.shape))


def scaled(operator, factor):
    return RiemannianLangevin(lambda x: factor * operator.covariance(x), lambda x: factor * operator.divergence(x))


def smooth(dim, seed=0):
    """a = C + u u' with u_j = sin(w_j'x): (div a)_j = <grad u_j, u> + u_j div u."""
    rng = np.random.default_rng(seed)
    root, w = 0.4 * rng.standard_normal((dim, dim)), rng.standard_normal((dim, dim))

    def covariance(x):
        u = np.sin(x @ w.T)
        return root @ root.T + u[:, :, None] * u[:, None, :]

    def divergence(x):
        u, slope = np.sin(x @ w.T), np.cos(x @ w.T)
        return slope * (u @ w.T) + u * (slope @ np.diag(w))[:, None]

    return RiemannianLangevin(covariance, divergence)


def heavy_tailed(nu):
    return RiemannianLangevin(lambda x: (1.0 + x**2 / nu)[:, :, None], lambda x: 2.0 * x / nu)


def on_a_strip(across=lambda x: x * (1.0 - x), slope=lambda x: 1.0 - 2.0 * x):
    """For x in [0, 1]: a_12 = across(x) cos y / 2, which must vanish at 0 and 1; diagonal 1 + x^2, 1 + sin(y)^2."""

    def covariance(p):
        x, y = p.T
        off = 0.5 * across(x) * np.cos(y)
        return np.array([[1.0 + x**2, off], [off, 1.0 + np.sin(y) ** 2]]).transpose(2, 0, 1)

    def divergence(p):
        x, y = p.T
        return np.column_stack(
            [2.0 * x - 0.5 * across(x) * np.sin(y), 0.5 * slope(x) * np.cos(y) + np.sin(2.0 * y)],
        )

    return RiemannianLangevin(covariance, divergence)


def spaced(n, dim, seed=1):
    """Return points with distances that general solvers resolve."""
    rng = np.random.default_rng(seed)
    if dim == 1:
        return rng.permutation(np.linspace(-2.0, 2.0, n) + 0.02 * rng.random(n))[:, None]
    return rng.standard_normal((n, dim))


def score(points, operator, **settings):
    return sk.graph_stein_discrepancy(points, scores=-points, operator=operator, **settings)


def raw_value(points, scores, weights, edges, drift, a, bounds=None, c=(1.0, 1.0, 1.0)):
    """Solve the d programs of the paper with SciPy, and return the values of the coordinates."""
    n, dim = points.shape
    values = []
    for j in range(dim):
        rows, limits = [], []

        def add(limit, *terms, rows=rows, limits=limits):
            row = np.zeros((dim + 1, n))
            for variable, point, factor in terms:
                row[variable, point] += factor
            rows.extend([row.ravel(), -row.ravel()])
            limits.extend([limit, limit])

        for i in range(n):
            add(c[0], (0, i, 1.0))
            for k in range(dim):
                add(c[1], (k + 1, i, 1.0))
            for bound in [] if bounds is None else bounds[j][np.isfinite(bounds[j])]:
                inward = points[i, j] - bound
                add(c[1] * abs(inward), (0, i, 1.0))
                add(0.5 * c[2] * inward**2, (0, i, 1.0), (j + 1, i, -inward))
                for k in range(dim):
                    if k != j:
                        add(c[2] * abs(inward), (k + 1, i, 1.0))
        for i, k in edges:
            step = points[i] - points[k]
            length = np.abs(step).sum()
            add(c[1] * length, (0, i, 1.0), (0, k, -1.0))
            for m in range(dim):
                add(c[2] * length, (m + 1, i, 1.0), (m + 1, k, -1.0))
            for end in (i, k):
                slopes = [(m + 1, end, -step[m]) for m in range(dim)]
                add(0.5 * c[2] * length**2, (0, i, 1.0), (0, k, -1.0), *slopes)
        objective = np.zeros((dim + 1, n))
        for i in range(n):
            objective[0, i] = weights[i] * drift[i, j]
            for k in range(dim):
                objective[k + 1, i] = weights[i] * a[i, j, k]
        solution = linprog(-objective.ravel(), A_ub=np.array(rows), b_ub=limits, bounds=(None, None))
        assert solution.status == 0
        values.append(-solution.fun)
    return np.array(values)


def contains(result, truth, slack):
    """Return True if the brackets of the coordinates contain the values of another solver."""
    above, below = result.coordinate_lower <= truth * (1.0 + slack), result.coordinate_upper >= truth * (1.0 - slack)
    return bool((above & below).all())


# the value


@pytest.mark.parametrize(("dim", "solver"), [(dim, name) for dim in (1, 4) for name in SOLVERS[dim]])
@pytest.mark.parametrize("bounded", [False, True])
def test_identity_gives_bit_for_bit_langevin_results(dim, solver, bounded):
    points = spaced(30, dim)
    settings = {"solver": solver, "tolerance": 1e-2, "bounds": [[-4.0, np.inf]] * dim if bounded else None}
    langevin, other = score(points, None, **settings), score(points, identity(), **settings)
    for name in ("coordinate_lower", "coordinate_upper", "g", "grad_g", "drift"):
        np.testing.assert_array_equal(getattr(other, name), getattr(langevin, name))
    assert (other.lower, other.upper, other.saturation) == (langevin.lower, langevin.upper, langevin.saturation)
    np.testing.assert_allclose(other.test_function, langevin.test_function, rtol=1e-13, atol=1e-15)
    assert other.summary() == langevin.summary()
    assert langevin.operator is None
    assert isinstance(other.operator, RiemannianLangevin)


@pytest.mark.parametrize("dim", [1, 2, 3])
def test_solvers_match_the_full_program(dim):
    points, weights = spaced(22, dim), np.random.default_rng(4).dirichlet(np.full(22, 5.0))
    operator = smooth(dim)
    coefficients = operator.coefficients(points, -points)
    edges = sk.complete_graph(points).edges
    truth = raw_value(points, -points, weights, edges, coefficients.drift, coefficients.covariance)
    for solver in SOLVERS[dim]:
        result = score(points, operator, weights=weights, graph="complete", solver=solver, tolerance=tolerance(solver))
        assert result.gap <= tolerance(solver)
        assert contains(result, truth, 1e-8)
        if dim > 1:  # control: the objective without the off-diagonal entries
            drift, diagonal = coefficients.drift, coefficients.covariance * np.eye(dim)
            without = raw_value(points, -points, weights, edges, drift, diagonal)
            assert not contains(result, without, 1e-3)


@pytest.mark.parametrize("solver", SOLVERS[2])
def test_solvers_match_the_full_program_on_a_bounded_support(solver):
    rng = np.random.default_rng(5)
    points = np.column_stack([rng.random(22), rng.standard_normal(22)])
    scores = np.column_stack([np.zeros(22), -points[:, 1]])
    operator = on_a_strip()
    coefficients = operator.coefficients(points, scores, bounds=LINE)
    settings = {"bounds": LINE, "operator": operator, "solver": solver, "tolerance": tolerance(solver)}
    result = sk.graph_stein_discrepancy(points, scores=scores, **settings)
    weights = np.full(22, 1.0 / 22.0)
    truth = raw_value(points, scores, weights, result.graph.edges, coefficients.drift, coefficients.covariance, LINE)
    assert contains(result, truth, 1e-8)


@pytest.mark.parametrize("bounds", [(-3.0, np.inf), (-np.inf, 3.0), (-3.0, 3.0), (-2.5, 9.0), (-9.0, 2.5)])
def test_chain_matches_the_full_program_between_bounds(bounds):
    """The chain is reflected depending on the nearest bound; the sign of the drift then changes, and a does not."""
    points = spaced(20, 1)
    operator = heavy_tailed(3.0)
    scores = -4.0 * points / (3.0 + points**2) + 0.3
    settings = {"bounds": bounds, "operator": operator, "solver": "chain"}
    result = sk.graph_stein_discrepancy(points, scores=scores, **settings)
    coefficients = operator.coefficients(points, scores)
    truth = raw_value(
        points, scores, np.full(20, 0.05), result.graph.edges, coefficients.drift, coefficients.covariance,
        np.array([bounds]),
    )  # fmt: skip
    assert contains(result, truth, 1e-8)


def test_nearly_equal_points():
    """Nearly equal points have the value of one point with both weights."""
    rng = np.random.default_rng(5)
    base = rng.standard_normal((60, 2))
    pairs = np.concatenate([base, base + 1e-8 * rng.standard_normal(base.shape)])
    merged, near = score(base, smooth(2)), score(pairs, smooth(2), solver="block")
    assert near.gap <= 1e-6
    assert near.value == pytest.approx(merged.value, rel=2e-6)


@pytest.mark.parametrize("dim", [1, 2, 3])
def test_test_function_attains_the_lower_bound(dim):
    points, operator = spaced(40, dim), smooth(dim)
    result = score(points, operator)
    a, gradient, g = operator.covariance(points), result.grad_g, result.g
    drift = operator.divergence(points) - np.array([a[i] @ points[i] for i in range(40)])
    h = [
        drift[i] @ g[i] + sum(a[i, j, k] * gradient[i, j, k] for j, k in itertools.product(range(dim), repeat=2))
        for i in range(40)
    ]
    np.testing.assert_allclose(result.test_function, h, rtol=1e-10, atol=1e-12)
    assert result.sample.weights @ result.test_function == pytest.approx(result.lower, rel=1e-9)
    assert 0.0 < result.saturation <= 1.0


@pytest.mark.parametrize("dim", [1, 2])
@pytest.mark.parametrize("factor", [0.25, 3.0, 1e6])
def test_scaling_the_covariance_scales_the_value(dim, factor):
    points = spaced(40, dim)
    once, scaled_up = score(points, smooth(dim)), score(points, scaled(smooth(dim), factor))
    assert scaled_up.lower <= factor * once.upper * (1.0 + 1e-12)
    assert scaled_up.upper >= factor * once.lower * (1.0 - 1e-12)


def test_reference_is_scored_with_the_same_operator():
    target, operator = sk.targets.Normal(0.0), heavy_tailed(3.0)
    reference = sk.reference_discrepancy(target, 40, 1, rng=3, operator=operator)
    draws = target.sample(40, np.random.default_rng(3).spawn(1)[0])
    assert reference.lower[0] == sk.graph_stein_discrepancy(draws, target, operator=operator).lower
    assert reference.lower[0] != sk.graph_stein_discrepancy(draws, target).lower


# mean zero under the target


def stein_mean(operator, nodes, masses, scores, field, jacobian, bounds=None):
    """E_P[T g] by quadrature."""
    coefficients = operator.coefficients(nodes, scores, bounds=bounds)
    return masses @ (
        (coefficients.drift * field(nodes)).sum(axis=1) + (coefficients.covariance * jacobian(nodes)).sum(axis=(1, 2))
    )


class WithoutDivergence(RiemannianLangevin):
    """Control with the drift a s."""

    def coefficients(self, points, scores, **more):
        right = super().coefficients(points, scores, **more)
        return type(right)(right.drift - self.divergence(points), right.covariance)


@pytest.mark.parametrize("nu", [3.0, 4.0, 10.0])
def test_mean_zero_under_student_s_t(nu):
    """Integrate over theta: with x = sqrt(nu) tan(theta), p dx is proportional to cos(theta)^(nu - 1) dtheta."""
    t, w = legendre.leggauss(200)
    theta = 0.5 * np.pi * t
    nodes = np.sqrt(nu) * np.tan(theta)[:, None]
    masses = w * np.cos(theta) ** (nu - 1.0)
    masses /= masses.sum()
    scores = -(nu + 1.0) * nodes / (nu + nodes**2)

    def field(x):
        return np.sin(2.0 * np.arctan(x / np.sqrt(nu)) + 0.3)

    def jacobian(x):
        return (np.cos(2.0 * np.arctan(x / np.sqrt(nu)) + 0.3) * 2.0 * np.sqrt(nu) / (nu + x**2))[:, :, None]

    operator = heavy_tailed(nu)
    assert abs(stein_mean(operator, nodes, masses, scores, field, jacobian)) < 1e-10
    control = WithoutDivergence(operator.covariance, operator.divergence)
    assert abs(stein_mean(control, nodes, masses, scores, field, jacobian)) > 1e-2


def gauss(nodes, weights):
    return nodes, weights / weights.sum()


def strip_field(points):
    """g_1 vanishes at x = 0 and x = 1; g_2 need not."""
    x, y = points.T
    return np.column_stack([x * (1.0 - x) * np.sin(x + y), np.cos(x * 0.7 - y)])


def strip_jacobian(points):
    x, y = points.T
    bump, second = x * (1.0 - x), -np.sin(x * 0.7 - y)
    along = (1.0 - 2.0 * x) * np.sin(x + y) + bump * np.cos(x + y)
    return np.array([[along, bump * np.cos(x + y)], [0.7 * second, -second]]).transpose(2, 0, 1)


def test_mean_zero_on_a_strip_where_the_off_diagonal_vanishes_on_the_faces():
    x, w = gauss(*legendre.leggauss(40))
    y, v = gauss(*hermite_e.hermegauss(60))
    nodes = np.array(list(itertools.product(0.5 + 0.5 * x, y)))
    masses, scores = np.outer(w, v).ravel(), nodes * [0.0, -1.0]
    mean = stein_mean(on_a_strip(), nodes, masses, scores, strip_field, strip_jacobian, LINE)
    assert abs(mean) < 1e-10
    # control: an entry that does not vanish at the faces gives a nonzero mean
    leaky = on_a_strip(across=lambda x: 0.5 + 0.5 * x, slope=lambda x: 0.5)
    assert abs(stein_mean(leaky, nodes, masses, scores, strip_field, strip_jacobian)) > 1e-2
    with pytest.raises(InputError, match=r"between 'x2' and 'x1' must be 0 on the bound 0"):
        leaky.coefficients(nodes, scores, bounds=LINE)


# errors


def coefficients_of(covariance=None, divergence=None, **more):
    points = np.random.default_rng(2).standard_normal((20, 2))
    covariance = covariance or identity().covariance
    return RiemannianLangevin(covariance, divergence or identity().divergence).coefficients(points, -points, **more)


@pytest.mark.parametrize("change", [lambda v: -v, lambda v: 1.01 * v, lambda v: v + 0.01, np.zeros_like])
@pytest.mark.parametrize("dim", [1, 2, 5])
def test_inaccurate_divergence_is_refused(change, dim):
    points, right = spaced(30, dim), smooth(dim)
    right.coefficients(points, -points)
    wrong = RiemannianLangevin(right.covariance, lambda x: change(right.divergence(x)))
    with pytest.raises(InputError, match="by finite differences"):
        wrong.coefficients(points, -points)


def test_divergence_without_off_diagonal_entries_is_refused():
    """(div a)_1 is d_2 a_12, which is not a derivative of the diagonal."""

    def covariance(x):
        off = 0.5 * np.sin(x[:, 1])
        return np.array([[np.ones(len(x)), off], [off, np.ones(len(x))]]).transpose(2, 0, 1)

    coefficients_of(covariance, lambda x: np.column_stack([0.5 * np.cos(x[:, 1]), np.zeros(len(x))]))
    with pytest.raises(InputError, match="'x1'"):
        coefficients_of(covariance)


def test_covariance_is_evaluated_inside_the_support_only():
    seen = []

    def covariance(x):
        seen.append(x)
        return np.sqrt(x)[:, :, None]

    draws = np.concatenate([[0.0, 1e-9, 1.0], np.linspace(0.1, 0.9, 7)])[:, None] ** 2
    inside = RiemannianLangevin(covariance, lambda x: 0.5 / np.sqrt(np.maximum(x, 1e-100)))
    inside.coefficients(draws, np.zeros_like(draws), bounds=np.array([[0.0, 1.0]]))
    everything = np.concatenate(seen)
    assert everything.min() >= 0.0
    assert everything.max() <= 1.0


def one_bad(value, row=7, at=(0, 1)):
    def covariance(x):
        a = identity().covariance(x)
        if len(x) == 20:
            a[row][at] = value
        return a

    return covariance


@pytest.mark.parametrize(
    ("functions", "message"),
    [
        (
            {"covariance": lambda x: x},
            r"covariance must return an array of shape \(20, 2, 2\) for points of shape \(20, 2\); got \(20, 2\)",
        ),
        ({"covariance": lambda x: 1 / 0}, "covariance raised ZeroDivisionError at .*test_operators.py, line"),
        ({"covariance": one_bad(np.nan)}, r"`covariance` .* got nan in 'x1', 'x2'"),
        ({"covariance": one_bad(2e100, at=(1, 1))}, r"`covariance` .* got 2e\+100 in 'x2', 'x2'"),
        ({"covariance": one_bad(0.1)}, r"symmetric; got 0.1\d* in row 'x1', column 'x2' and 0 in"),
        ({"covariance": one_bad(-1.0, at=(1, 1))}, "semi-definite; got the eigenvalue -1 at"),
        ({"covariance": lambda x: np.tile([[1.0, 0.0], [0.0, 0.0]], (len(x), 1, 1))}, "zero in 'x2'"),
        (
            {"divergence": lambda x: x[:, 0]},
            r"divergence must return an array of shape \(20, 2\) for points of shape \(20, 2\); got \(20,\)",
        ),
        ({"divergence": lambda x: np.full(x.shape, np.inf)}, r"`divergence` .* got inf in 'x1'"),
    ],
)
def test_invalid_results_of_the_functions_are_refused(functions, message):
    with pytest.raises(InputError, match=message):
        coefficients_of(**functions)


def test_underflow_of_squared_units_is_refused():
    """The product 3.3e-162^2 is subnormal, so a quotient by it has few correct bits."""
    coefficients = Coefficients(np.zeros((2, 1)), np.full((2, 1, 1), 3e-280))
    with pytest.raises(InputError, match="units"):
        coefficients.in_units(Units("given", np.zeros(1), np.array([3.3e-162]), ("x",)))


def test_rounding_is_tolerated():
    """Inverses are symmetric and semi-definite up to rounding."""
    root = np.random.default_rng(0).standard_normal((2, 2)) @ np.diag([1.0, 1e-3])
    inverse = np.linalg.inv(root @ root.T)
    coefficients_of(lambda x: np.tile(inverse * [[1.0, 1.0 + 1e-14], [1.0, 1.0]], (len(x), 1, 1)))
    coefficients_of(lambda x: np.tile([[1.0, 1.0], [1.0, 1.0 - 1e-15]], (len(x), 1, 1)))


@pytest.mark.parametrize(("covariance", "divergence"), [(np.eye(2), np.zeros_like), (np.ones_like, None)])
def test_non_functions_are_refused(covariance, divergence):
    with pytest.raises(UsageError, match="must be a function"):
        RiemannianLangevin(covariance, divergence)


def test_non_operators_are_refused():
    with pytest.raises(UsageError, match="operator to be a RiemannianLangevin or None, got 'langev"):
        score(spaced(10, 2), "langevin")
