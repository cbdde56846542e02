import sys

import numpy as np
import pytest
from scipy import special, stats
from support.eight_schools import EFFECTS, ERRORS, SCHOOLS, schools_score

import steinkit as sk


def test_without_pytorch_the_error_names_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(sk.MissingDependencyError, match=r"PyTorch .*pip install -e '.\[torch\]'"):
        sk.from_torch(lambda x: x, np.zeros((3, 2)))


@pytest.fixture(name="torch")
def pytorch():
    return pytest.importorskip("torch")


def correlated(torch, n):
    """Draws of a Gaussian, its precision matrix, and their score in closed form."""
    precision = np.array([[2.0, 0.6], [0.6, 1.0]])
    points = np.random.default_rng(1).multivariate_normal([1.0, -2.0], np.linalg.inv(precision), n)
    return torch.tensor(points), torch.tensor(precision), -(points - [1.0, -2.0]) @ precision


@pytest.mark.parametrize("n", [200, 2500])  # 2500 points are more than one block holds
def test_score_of_a_function_of_one_point(torch, n):
    draws, precision, wanted = correlated(torch, n)
    mean = torch.tensor([1.0, -2.0])  # in single precision, because only the precision of the argument matters
    target, sample = sk.from_torch(lambda x: -0.5 * (x - mean) @ precision @ (x - mean), draws, names=["a", "b"])
    np.testing.assert_allclose(target.score(sample.points), wanted, rtol=1e-12, atol=1e-12)
    assert sample.names == target.names == ("a", "b")
    np.testing.assert_array_equal(sample.points, draws.numpy())


def test_function_of_a_batch_distribution_and_branches(torch):
    draws, precision, wanted = correlated(torch, n=30)
    mean = torch.tensor([1.0, -2.0], dtype=torch.float64)

    def of_a_batch(x):
        assert x.ndim == 2
        return -0.5 * torch.einsum("ni,ij,nj->n", x - mean, precision, x - mean)

    def with_a_branch(x):
        if x[0].item() > 100.0:
            return x.sum()
        return -0.5 * (x - mean) @ precision @ (x - mean)

    distribution = torch.distributions.MultivariateNormal(mean, precision_matrix=precision)
    for form in (of_a_batch, with_a_branch, distribution):
        target, sample = sk.from_torch(form, draws)
        np.testing.assert_allclose(target.score(sample.points), wanted, rtol=1e-10, atol=1e-10)


def test_shapes_of_one_tensor(torch):
    flat = torch.randn(40, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    target, sample = sk.from_torch(lambda x: -0.5 * x**2, flat)
    np.testing.assert_allclose(target.score(sample.points)[:, 0], -flat.numpy())
    target, sample = sk.from_torch(lambda x: -0.5 * (x**2).sum(), flat.reshape(2, 10, 2))
    assert sample.chain.tolist() == [0] * 10 + [1] * 10
    np.testing.assert_allclose(target.score(sample.points), -flat.numpy().reshape(20, 2))


def test_draws_with_a_history_in_single_precision(torch):
    draws = torch.randn(20, 2, generator=torch.Generator().manual_seed(1), requires_grad=True)
    target, sample = sk.from_torch(lambda x: -0.5 * (x**2).sum(), draws)
    np.testing.assert_array_equal(sample.points, draws.detach().double().numpy())
    assert draws.grad is None
    with torch.no_grad():
        np.testing.assert_array_equal(target.score(sample.points), -sample.points)


def schools(torch):
    """Three schools with constrained parameters, and draws that any model could have produced."""
    y, sigma = torch.tensor(EFFECTS), torch.tensor(ERRORS)

    def log_density(draw):
        normal = torch.distributions.Normal
        prior = normal(0.0, 5.0).log_prob(draw["mu"]) - torch.log1p((draw["tau"] / 5.0) ** 2)
        given = normal(draw["mu"], draw["tau"]).log_prob(draw["theta"]).sum()
        return prior + given + normal(draw["theta"], sigma).log_prob(y).sum()

    make = np.random.default_rng(2)
    draws = {"mu": make.normal(0, 5, 50), "tau": np.exp(make.normal(1, 1, 50)), "theta": make.normal(3, 5, (50, 3))}
    return log_density, {name: torch.tensor(values) for name, values in draws.items()}


def test_parameters_by_name_with_constraints(torch):
    log_density, draws = schools(torch)
    positive = torch.distributions.constraints.positive
    target, sample = sk.from_torch(log_density, draws, constraints={"tau": positive}, names={"theta": SCHOOLS})
    assert sample.names == ("mu", "log tau", "theta[Choate]", "theta[Deerfield]", "theta[Andover]")
    mu, tau, theta = (draws[name].numpy() for name in ("mu", "tau", "theta"))
    np.testing.assert_allclose(sample.points, np.column_stack([mu, np.log(tau), theta]), rtol=1e-12)
    np.testing.assert_allclose(target.score(sample.points), schools_score(mu, tau, theta), rtol=1e-10, atol=1e-12)


def test_simplex_in_one_dimension_less(torch):
    """The Dirichlet's log density in free coordinates, by finite differences of SciPy's density and Jacobian."""
    alpha = np.array([13.0, 31.0, 9.0])
    shares = np.random.default_rng(3).dirichlet(alpha, 60)
    target, sample = sk.from_torch(
        lambda draw: ((torch.tensor(alpha) - 1.0) * draw["w"].log()).sum(),
        {"w": torch.tensor(shares)},
        constraints={"w": torch.distributions.constraints.simplex},
    )
    assert sample.names == ("simplex w[0]", "simplex w[1]")
    for k in range(3):
        np.testing.assert_allclose(target.functions[f"w[{k}]"](sample.points), shares[:, k], rtol=1e-12)

    def broken(x):  # sequential stick breaking; the first piece has length expit(x1 - log 2)
        first = special.expit(x[0] - np.log(2.0))
        return np.array([first, (1.0 - first) * special.expit(x[1])])

    def log_density(x):
        w, h = broken(x), 1e-5
        jacobian = np.column_stack([(broken(x + h * e) - broken(x - h * e)) / (2 * h) for e in np.eye(2)])
        return stats.dirichlet.logpdf(w, alpha) + np.log(abs(np.linalg.det(jacobian)))

    for k in (0, 7):
        x = sample.points[k]
        np.testing.assert_allclose(broken(x), shares[k, :2], rtol=1e-12)
        slope = [(log_density(x + 1e-4 * e) - log_density(x - 1e-4 * e)) / 2e-4 for e in np.eye(2)]
        np.testing.assert_allclose(target.score(x[None])[0], slope, rtol=1e-4)


def test_chains_must_be_stated(torch):
    values = torch.randn(4, 25, 3, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    _, sample = sk.from_torch(lambda draw: -0.5 * (draw["x"] ** 2).sum(), {"x": values}, dims=("chain", "draw"))
    assert (len(sample), sample.dim, sample.chain.max()) == (100, 3, 3)
    turned = {"x": values.transpose(0, 1)}
    _, again = sk.from_torch(lambda draw: -0.5 * (draw["x"] ** 2).sum(), turned, dims=("draw", "chain"))
    np.testing.assert_array_equal(again.points, sample.points)
    _, sample = sk.from_torch(lambda draw: -0.5 * (draw["x"] ** 2).sum(), {"x": values})
    assert (len(sample), sample.dim, sample.names[3]) == (4, 75, "x[1,0]")
    many = {"x": values.reshape(25, 4, 3)}  # more chains than draws, with explicit dimensions
    _, sample = sk.from_torch(lambda draw: -0.5 * (draw["x"] ** 2).sum(), many, dims=("chain", "draw"))
    assert (len(sample), sample.dim, sample.chain.max()) == (100, 3, 24)
    _, sample = sk.from_torch(lambda x: -0.5 * x**2, values[..., 0], dims=("chain", "draw"))
    assert (len(sample), sample.dim, sample.chain.max()) == (100, 1, 3)


def test_constraints_are_fulfilled_to_the_precision_of_the_draws(torch):
    """Rows of a factor in single precision have length 1 to single precision."""
    torch.manual_seed(1)
    factors = torch.distributions.LKJCholesky(3, 1.0).sample((50,))
    assert factors.dtype == torch.float32
    corr_cholesky = torch.distributions.constraints.corr_cholesky
    _, sample = sk.from_torch(
        lambda draw: draw["L"].diagonal()[1:].log().sum(), {"L": factors}, constraints={"L": corr_cholesky}
    )
    back = torch.distributions.biject_to(corr_cholesky)(torch.tensor(sample.points))
    np.testing.assert_allclose(back.numpy(), factors.numpy(), atol=1e-5)
    with pytest.raises(sk.InputError, match="violates its constraint"):
        sk.from_torch(
            lambda draw: draw["L"].diagonal()[1:].log().sum(), {"L": 1.01 * factors}, constraints={"L": corr_cholesky}
        )


def normal(x):
    return -0.5 * (x**2).sum()


@pytest.mark.parametrize(
    ("log_density", "words"),
    [
        (lambda x: -0.5 * x**2, r"returned shape \(2,\), for the first 2 draws it returned shape \(2, 2\); sum"),
        (lambda x: 1.0, "returned float"),
        (lambda x: -0.5 * (x.detach() ** 2).sum(), r"differentiate .*\.detach"),
        (lambda x: -0.5 * (x[0] ** 2 + x[1].detach() ** 2), "the score is not the gradient"),
        (lambda x: x.no_such_thing(), r"raised AttributeError at .*test_torch\.py"),
        (lambda x: (x / x.shape[0] ** 0.5).sum(dim=1), "alone and .* batch"),
        (3.0, "log_density must be .* got float"),
    ],
)
def test_invalid_functions_are_refused(torch, log_density, words):
    draws = torch.randn(20, 2, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    with pytest.raises(sk.SteinkitError, match=words):
        sk.from_torch(log_density, draws)


def test_data_in_single_precision_are_refused(torch):
    X = torch.ones(5, 2)
    with pytest.raises(sk.InputError, match=r"double precision: .*\.double\(\)"):
        sk.from_torch(lambda x: -((X @ x) ** 2).sum(), torch.ones(4, 2))


def test_draws_that_are_not_finite_or_outside(torch):
    draws = torch.zeros(10, 2)
    draws[3, 1] = torch.nan
    with pytest.raises(sk.InputError, match="row 4, column 'x2' is nan"):
        sk.from_torch(normal, draws)
    constraints = torch.distributions.constraints
    with pytest.raises(sk.InputError, match=r"draw 2 of tau, -1.0, violates its constraint"):
        sk.from_torch(
            lambda draw: -draw["tau"], {"tau": torch.tensor([1.0, -1.0])}, constraints={"tau": constraints.positive}
        )
    with pytest.raises(sk.InputError, match="discrete k;"):
        sk.from_torch(lambda draw: -(draw["x"] ** 2), {"x": torch.zeros(4), "k": torch.zeros(4, dtype=torch.int64)})
    with pytest.raises(sk.InputError, match="PyTorch has no bijection onto"):
        sk.from_torch(
            lambda draw: draw["S"].sum(),
            {"S": torch.eye(2).repeat(3, 1, 1)},
            constraints={"S": constraints.positive_definite},
        )
    with pytest.raises(sk.UsageError, match=r"'tua' [(]did you mean \"?'?tau"):
        sk.from_torch(lambda draw: -draw["tau"], {"tau": torch.ones(3)}, constraints={"tua": constraints.positive})


def test_arguments_of_another_type_are_refused(torch):
    draws = {"tau": torch.ones(4)}
    with pytest.raises(sk.UsageError, match=r"constraints must be .* got list"):
        sk.from_torch(lambda p: p["tau"], draws, constraints=["tau"])
    dataset = pytest.importorskip("xarray").Dataset({"tau": (("chain", "draw"), np.ones((2, 4)))})
    with pytest.raises(sk.UsageError, match="got Dataset"):
        sk.from_torch(lambda p: p["tau"], dataset)
    with pytest.raises(sk.InputError, match="got NoneType"):
        sk.from_torch(lambda x: x.sum(), None)
