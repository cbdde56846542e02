"""IRLS on batches and on all data, compared with other solvers; data usage and errors."""

import numpy as np
import pytest
from applications.irls import batch_irls, loss_named, sequential_irls
from scipy.optimize import linprog, minimize

from steinkit.errors import InputError, UsageError


def simulated(loss, size=20_000, dim=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((size, dim))
    X[:, 0] = 1.0
    eta = X @ np.linspace(1.0, 2.0, dim)
    if loss == "lad":
        return X, eta + rng.laplace(size=size)
    return X, (rng.random(size) < 1.0 / (1.0 + np.exp(-0.5 * eta))).astype(float)


def distance(path, reference):
    return np.abs(path - reference).max(axis=-1) / np.abs(reference).max()


def passes_to(result, reference, limit=5e-4):
    return result.data_passes[np.flatnonzero(distance(result.path, reference) < limit)[0]]


def test_least_absolute_deviations_are_those_of_a_linear_program():
    X, y = simulated("lad", 300, 3)
    N = len(y)
    cost = np.concatenate([np.zeros(3), np.ones(2 * N)])
    program = linprog(
        cost, A_eq=np.hstack([X, np.eye(N), -np.eye(N)]), b_eq=y, bounds=[(None, None)] * 3 + [(0, None)] * (2 * N)
    )
    found = batch_irls(X, y, tolerance=1e-9, max_iterations=5000, smallest_residual=1e-6)
    assert found.converged
    np.testing.assert_allclose(found.coefficients, program.x[:3], atol=1e-4)
    assert program.fun <= N * loss_named("lad", y, 1.0).mean(found.coefficients, X, y) < program.fun * (1.0 + 1e-6)
    assert distance(np.linalg.lstsq(X, y)[0], program.x[:3]) > 1e-2  # the least squares solution is different


@pytest.mark.parametrize("signs", [False, True])
def test_logistic_regression_is_the_minimum_of_its_loss(signs):
    X, y = simulated("logistic", 500, 4)
    loss = loss_named("logistic", y, 1.0)
    expected = minimize(loss.mean, np.zeros(4), (X, y), method="BFGS", options={"gtol": 1e-8}).x
    found = batch_irls(X, 2.0 * y - 1.0 if signs else y, loss="logistic")
    assert found.converged
    np.testing.assert_allclose(found.coefficients, expected, rtol=1e-5)


@pytest.mark.parametrize("loss", ["lad", "logistic"])
@pytest.mark.parametrize("dim", [2, 10])
@pytest.mark.parametrize("debias", [True, False])
def test_growing_batches_reach_the_same_minimum_for_less(loss, dim, debias):
    X, y = simulated(loss, 10_000, dim)
    batch = batch_irls(X, y, loss=loss, tolerance=1e-8)
    found = sequential_irls(X, y, loss=loss, debias=debias, tolerance=1e-7)
    assert batch.converged
    assert found.converged
    assert found.warnings == ()
    assert distance(found.coefficients, batch.coefficients) < 1e-5
    share = passes_to(found, batch.coefficients, 0.02) / passes_to(batch, batch.coefficients, 0.02)
    assert share < (0.6 if loss == "lad" else 0.9)
    np.testing.assert_allclose(found.data_passes, np.cumsum(found.batch_sizes) / len(X))
    assert (np.diff(found.batch_sizes) >= 0).all()
    assert found.batch_sizes[0] < len(X) // 10
    assert (found.wrong_direction < 0.01).all()
    assert ((found.wrong_direction == 0.0) == (found.batch_sizes == len(X))).all() or dim == 2
    np.testing.assert_array_equal(found.path[-1], found.coefficients)


def test_new_batches_do_not_converge_and_kept_batches_do():
    X, y = simulated("logistic", dim=10)
    reference = batch_irls(X, y, loss="logistic").coefficients
    options = {"loss": "logistic", "max_iterations": 60}
    carried = sequential_irls(X, y, **options)
    paper = sequential_irls(X, y, debias=False, carry="nothing", growth=1.0, batch_size=200, **options)
    assert distance(carried.coefficients, reference) < 1e-5
    assert not paper.converged
    assert distance(paper.coefficients, reference) > 0.05
    assert (paper.wrong_direction < 0.01).all()  # although the test always passes


def test_other_data_in_each_iteration_do_in_two_dimensions():
    X, y = simulated("lad", 5000)
    reference = batch_irls(X, y, tolerance=1e-8).coefficients
    as_many, anew = (sequential_irls(X, y, carry=carry, max_iterations=100) for carry in ("size", "nothing"))
    assert distance(as_many.coefficients, reference) < 1e-3
    assert distance(anew.coefficients, reference) < 5e-3
    assert (np.diff(as_many.batch_sizes) >= 0).all()
    assert (np.diff(anew.batch_sizes) < 0).any()


@pytest.mark.parametrize("loss", ["lad", "logistic"])
def test_epsilon_zero_is_irls_on_all_the_data(loss):
    X, y = simulated(loss, 500)
    batch = batch_irls(X, y, loss=loss)
    found = sequential_irls(X, y, loss=loss, epsilon=0.0)
    assert (found.batch_sizes == 500).all()
    np.testing.assert_allclose(found.path, batch.path, atol=1e-6)


def test_the_same_seed_gives_the_same_answer():
    X, y = simulated("lad", 5000)
    first, again, other = (sequential_irls(X, y, rng=seed) for seed in (3, 3, 4))
    np.testing.assert_array_equal(first.path, again.path)
    np.testing.assert_array_equal(first.batch_sizes, again.batch_sizes)
    assert not np.array_equal(first.path[0], other.path[0])
    generator = sequential_irls(X, y, rng=np.random.default_rng(3))
    np.testing.assert_array_equal(first.path, generator.path)


def test_units_of_the_responses_do_not_matter():
    X, y = simulated("lad", 5000)
    found, scaled = sequential_irls(X, y), sequential_irls(X, y * 2.0**-40)
    np.testing.assert_allclose(scaled.coefficients * 2.0**40, found.coefficients, rtol=1e-12)
    np.testing.assert_array_equal(scaled.batch_sizes, found.batch_sizes)


def test_a_perfect_fit_is_found():
    X = np.random.default_rng(1).standard_normal((2000, 3))
    found = sequential_irls(X, X @ [1.0, 2.0, 3.0])
    np.testing.assert_allclose(found.coefficients, [1.0, 2.0, 3.0], rtol=1e-6)


def test_a_truncated_run_is_reported():
    X, y = simulated("lad", 5000)
    few = sequential_irls(X, y, max_iterations=3)
    assert len(few.path) == 3
    assert not few.converged
    assert "not converged: the last step, on" in few.warnings[0]
    cheap = sequential_irls(X, y, max_passes=2.0)
    assert 2.0 <= cheap.data_passes[-1] < 3.0
    assert not cheap.converged


def test_a_column_that_small_batches_do_not_vary_waits_for_more_data():
    X, y = simulated("lad", 5000)
    X = np.column_stack([X, np.arange(5000) % 1000 == 0])
    found = sequential_irls(X, y, batch_size=20)
    assert found.converged
    assert found.batch_sizes[0] > 20


@pytest.mark.parametrize("solve", [batch_irls, sequential_irls])
class TestBadData:
    @pytest.mark.parametrize(
        ("change", "message"),
        [
            (lambda X, y: (np.where(np.arange(200)[:, None] == 7, np.nan, X), y), "X is nan in row 7, column 0"),
            (lambda X, y: (X, np.where(np.arange(200) == 9, np.inf, y)), "y is inf in row 9 "),
            (lambda X, y: (X * 1e150, y), "at most 1e[+]100"),
            (lambda X, y: (X[:, 0], y), r"shape \(N, D\).*got \(200,\)"),
            (lambda X, y: (X, y[:-1]), r"shape \(200,\).*got \(199,\)"),
            (lambda X, y: (X, y[:, None]), r"got \(200, 1\)"),
            (lambda X, y: (X[:2], y[:2]), "2 data do not determine 2 coefficients"),
            (lambda X, y: (np.column_stack([X, X[:, 1] * 3.0]), y), r"dependent.*columns 1, 2 \(from 0\)"),
            (lambda X, y: (np.column_stack([X, np.zeros(200)]), y), r"columns 2 \(from 0\)"),
            (lambda X, y: (X.astype(str).astype(object) + "x", y), "X must be an array of real numbers"),
        ],
    )
    @pytest.mark.parametrize("loss", ["lad", "logistic"])
    def test_is_named(self, solve, loss, change, message):
        with pytest.raises(InputError, match=message):
            solve(*change(*simulated(loss, 200)), loss=loss)

    def test_constant_responses(self, solve):
        with pytest.raises(InputError, match="y is 2 for all 200 data"):
            solve(simulated("lad", 200)[0], np.full(200, 2.0))

    @pytest.mark.parametrize("labels", [[0.0, 2.0], [1.0, 1.0], [0.0, 1.0, 2.0]])
    def test_classes(self, solve, labels):
        with pytest.raises(InputError, match="0 and 1, or -1 and"):
            solve(simulated("lad", 200)[0], np.resize(labels, 200), loss="logistic")

    def test_separated_classes(self, solve):
        X = simulated("lad", 5000)[0]
        with pytest.raises(InputError, match="a hyperplane separates"):
            solve(X, (X @ [0.3, 1.0] > 0.0).astype(float), loss="logistic")

    @pytest.mark.parametrize("intercept", [False, True])
    def test_classes_separated_but_for_data_on_the_hyperplane(self, solve, intercept):
        x, y = np.repeat([-1.0, 0.0, 1.0], [50, 2, 50]), np.repeat([0.0, 1.0, 0.0, 1.0], [50, 1, 1, 50])
        X = np.column_stack([x, np.ones(102)]) if intercept else x[:, None]
        with pytest.raises(InputError, match="a hyperplane separates the two classes of y, but for data on it"):
            solve(X, y, loss="logistic")
        y[60] = 0.0
        assert solve(X, y, loss="logistic").converged

    @pytest.mark.parametrize("start", [[3.0, -3.0], [200.0, 100.0], [-1e6, 1.0]])
    def test_a_start_from_which_full_newton_steps_diverge(self, solve, start):
        X, y = np.random.default_rng(0).standard_normal((500, 2)), np.arange(500) % 2
        found = solve(X, y, loss="logistic", start=start)
        assert found.converged
        np.testing.assert_allclose(found.coefficients, batch_irls(X, y, loss="logistic").coefficients, rtol=1e-6)

    def test_complex_numbers(self, solve):
        X, y = simulated("lad", 200)
        with pytest.raises(InputError, match="X must be an array of real numbers: some are complex"):
            solve(X + 0.0j, y)

    def test_large_units(self, solve):
        X, y = simulated("lad", 2000)
        found, large = solve(X, y), solve(X, y * 2.0**300)
        np.testing.assert_allclose(large.coefficients * 2.0**-300, found.coefficients, rtol=1e-9)

    @pytest.mark.parametrize("start", [[1.0], [np.nan, 1.0]])
    def test_start(self, solve, start):
        with pytest.raises(InputError, match="start"):
            solve(*simulated("lad", 200), start=start)

    @pytest.mark.parametrize(
        ("option", "message"),
        [
            ({"loss": "logit"}, "loss must be"),
            ({"tolerance": 0.0}, "tolerance"),
            ({"max_iterations": 0}, "max_iterations"),
            ({"max_passes": -1.0}, "max_passes"),
            ({"smallest_residual": 0.0}, "smallest_residual"),
        ],
    )
    def test_options(self, solve, option, message):
        with pytest.raises(UsageError, match=message):
            solve(*simulated("lad", 200), **option)


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"epsilon": 0.6}, "epsilon"),
        ({"growth": 0.9}, "growth"),
        ({"carry": "all"}, "carry must be one of"),
        ({"batch_size": 2}, "more than the number of coefficients, 2; got 2"),
        ({"batch_size": 201}, "at most the number of data points, 200"),
    ],
)
def test_options_of_the_sequential_test(option, message):
    with pytest.raises(UsageError, match=message):
        sequential_irls(*simulated("lad", 200), **option)


def test_a_batch_that_is_separated_by_chance_grows():
    X, y = simulated("logistic", 20_000)
    X[:, 1] *= 10.0
    y = (np.random.default_rng(2).random(len(X)) < 1.0 / (1.0 + np.exp(-3.0 * X[:, 1]))).astype(float)
    found = sequential_irls(X, y, loss="logistic", batch_size=20)
    assert found.converged
    assert distance(found.coefficients, batch_irls(X, y, loss="logistic").coefficients) < 1e-5


def is_separable(X, y):
    """Return True if some theta has a margin of at least 1 for every data point."""
    signed = np.where(y > 0.0, 1.0, -1.0)[:, None] * X
    return linprog(
        np.zeros(X.shape[1]), A_ub=-signed, b_ub=-np.ones(len(X)), bounds=[(None, None)] * X.shape[1]
    ).success


def nearly_separable(seed):
    """Return 6000 data points that are not separable, although the first 200 drawn are."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((6000, 20))
    y = (rng.random(6000) < 1.0 / (1.0 + np.exp(-10.0 * X[:, :4].sum(axis=1)))).astype(float)
    order = np.random.default_rng(seed).permutation(6000)
    assert is_separable(X[order[:200]], y[order[:200]])
    assert not is_separable(X, y)
    return X, y, order


@pytest.mark.parametrize("options", [{}, {"debias": False}], ids=str)
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_separable_first_batches_do_not_prevent_convergence(options, seed):
    X, y, order = nearly_separable(seed)
    expected = batch_irls(X, y, loss="logistic")
    found = sequential_irls(X, y, loss="logistic", rng=seed, max_iterations=60, **options)
    assert found.converged
    assert distance(found.coefficients, expected.coefficients) < 1e-5
    assert found.batch_sizes[0] == 200
    for theta, n in zip(found.path, found.batch_sizes, strict=True):  # the coefficients do not separate their own batch
        assert ((X[order[:n]] @ theta > 0.0) != (y[order[:n]] > 0.0)).any()


@pytest.mark.parametrize("carry", ["size", "nothing"])
def test_other_data_in_each_iteration_do_not_diverge(carry):
    X, y, _ = nearly_separable(1)
    found = sequential_irls(X, y, loss="logistic", rng=1, carry=carry, max_iterations=60)
    assert loss_named("logistic", y, 1.0).mean(found.coefficients, X, y) < np.log(2.0)


def test_other_data_in_each_iteration_are_others():
    """Newton's steps on the same data would give the same coefficients again."""
    X, y = simulated("logistic", 1000)
    options = {"carry": "nothing", "epsilon": 0.4, "debias": False, "growth": 1.0, "batch_size": 100}
    path = sequential_irls(X, y, loss="logistic", max_iterations=15, **options).path
    apart = np.abs(path[:, None] - path).max(axis=-1)[np.triu_indices(15, 1)]
    assert apart.min() > 1e-4


def test_coefficients_worse_than_the_start_are_no_answer():
    X, y = simulated("lad", 5000)
    start = batch_irls(X, y, tolerance=1e-9).coefficients
    options = {"start": start, "carry": "nothing", "epsilon": 0.5, "debias": False, "batch_size": 10}
    with pytest.raises(InputError, match=r"the mean loss rose from .* give a batch_size several times as large"):
        sequential_irls(X, y, max_iterations=1, **options)


def test_newton_steps_are_halved_until_the_loss_falls():
    X, y = simulated("logistic", 300, 3)
    loss = loss_named("logistic", y, 1.0)
    mean = lambda theta: loss.mean(theta, X, y)  # noqa: E731
    for theta, step in (
        (np.zeros(3), np.array([40.0, 80.0, 80.0])),  # correct direction, but too long
        (np.array([50.0, -50.0, 10.0]), np.array([-1e7, 1e7, 0.0])),
        (np.zeros(3), np.array([0.5, 0.8, 1.0])),
        (np.zeros(3), np.array([1e-9, 1e-9, 1e-9])),  # the decrease is smaller than the rounding error
    ):
        share = loss.advance(theta, step, X, y).share
        slope = X.T @ (1.0 / (1.0 + np.exp(-X @ theta)) - y) / len(y) @ step
        assert slope < 0.0
        assert mean(theta + share * step) <= mean(theta) + 1e-4 * share * slope + 1e-15
        if share < 1.0:
            assert np.log2(share) == round(np.log2(share))
            assert mean(theta + 2.0 * share * step) > mean(theta) + 2e-4 * share * slope
    assert share == 1.0
