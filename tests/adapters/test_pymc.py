"""PyMC models compared with closed forms, and with JAX derivatives of independent inverse transforms."""

import numpy as np
import pytest
from scipy import stats
from support.eight_schools import schools_score

import steinkit as sk
from steinkit.adapters.pymc import pymc_model
from steinkit.errors import InputError, UsageError

pm = pytest.importorskip("pymc")
jax = pytest.importorskip("jax")

jnp = jax.numpy

pytestmark = [
    pytest.mark.filterwarnings("ignore:PyTensor could not link to a BLAS:UserWarning"),
    pytest.mark.filterwarnings("ignore:The `pymc.dims` module is experimental:UserWarning"),
]

RNG = np.random.default_rng(5)
EFFECTS = np.array([28.0, 8.0, -3.0, 7.0])
ERRORS = np.array([15.0, 10.0, 16.0, 11.0])
NAMES = ("Choate", "Deerfield", "Andover", "St. Paul's")


def schools():
    with pm.Model(coords={"school": NAMES}) as model:
        mu = pm.Normal("mu", 0.0, 5.0)
        tau = pm.HalfCauchy("tau", 5.0)
        theta = pm.Normal("theta", mu, tau, dims="school")
        pm.Deterministic("shrinkage", 1.0 / (1.0 + tau))
        pm.Normal("y", theta, ERRORS, observed=EFFECTS, dims="school")
    return model


def schools_draws(n=30):
    rng = np.random.default_rng(1)
    return {
        "theta": rng.normal(5.0, 4.0, (2, n, 4)),
        "tau": rng.gamma(2.0, 3.0, (2, n)),
        "mu": rng.normal(4.0, 3.0, (2, n)),
        "shrinkage": np.zeros((2, n)),
    }


def assert_scores(target, log_density, points):
    """Compare with the gradient at each point by JAX, in double precision."""
    expected = np.asarray(sk.Target.from_jax(log_density).score(points))
    np.testing.assert_allclose(target.score(points), expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())


def test_score_names_and_draws_of_eight_schools():
    draws = schools_draws()
    target, sample = sk.from_pymc(schools(), draws)
    assert sample.names == ("mu", "log tau", *(f"theta[{name}]" for name in NAMES))
    np.testing.assert_array_equal(sample.points[:, 0], draws["mu"].ravel())
    np.testing.assert_allclose(sample.points[:, 1], np.log(draws["tau"].ravel()), rtol=1e-15)
    np.testing.assert_array_equal(sample.points[:, 2:], draws["theta"].reshape(-1, 4))
    np.testing.assert_array_equal(np.unique(sample.chain), [0, 1])
    mu, log_tau, *theta = sample.points.T
    expected = schools_score(mu, np.exp(log_tau), np.transpose(theta), EFFECTS, ERRORS)
    np.testing.assert_allclose(target.score(sample.points), expected, rtol=1e-10, atol=1e-12)
    assert target.names == sample.names
    assert list(target.functions) == ["tau"]
    np.testing.assert_allclose(target.functions["tau"](sample.points), draws["tau"].ravel(), rtol=1e-12)


# The unconstrained point of each distribution's draws, its inverse with log |J| written in JAX, and the log density of
# the constrained value: (PyMC's variable, names, inverse(u) -> (value, log |J|), log density of the value)


def _sorted(u):
    return jnp.cumsum(jnp.concatenate([u[:1], jnp.exp(u[1:])])), u[1:].sum()


def _shares(u):
    """Invert PyMC's simplex transform: u are the logs of all but the last proportion minus the mean of all logs."""
    logits = jnp.concatenate([u, -u.sum(keepdims=True)])
    return jax.nn.softmax(logits), None


def _by_determinant(inverse):
    """Compute log |J| of an inverse transform from its first len(u) entries."""

    def with_jacobian(u):
        jacobian = jax.jacfwd(lambda v: inverse(v)[0][: len(v)])(u)
        return inverse(u)[0], jnp.linalg.slogdet(jacobian)[1]

    return with_jacobian


TRANSFORMS = {
    "log": (
        lambda: pm.Gamma("x", 2.0, 4.0),  # PyMC converts 1 / 3 to single precision
        ("log x",),
        lambda u: (jnp.exp(u), u[0]),
        lambda x: jnp.log(x[0]) - 4.0 * x[0],
    ),
    "logodds": (
        lambda: pm.Beta("x", 2.0, 3.0, shape=2),
        ("logit x[0]", "logit x[1]"),
        lambda u: (jax.nn.sigmoid(u), (jax.nn.log_sigmoid(u) + jax.nn.log_sigmoid(-u)).sum()),
        lambda x: (jnp.log(x) + 2.0 * jnp.log1p(-x)).sum(),
    ),
    "interval": (
        lambda: pm.TruncatedNormal("x", 1.0, 2.0, lower=-1.0, upper=4.0),
        ("logit x",),
        lambda u: (-1.0 + 5.0 * jax.nn.sigmoid(u), (jax.nn.log_sigmoid(u) + jax.nn.log_sigmoid(-u))[0]),
        lambda x: -0.125 * (x[0] - 1.0) ** 2,
    ),
    "one-sided interval": (
        lambda: pm.TruncatedNormal("x", 1.0, 2.0, lower=-1.0),
        ("unconstrained x",),
        lambda u: (-1.0 + jnp.exp(u), u[0]),
        lambda x: -0.125 * (x[0] - 1.0) ** 2,
    ),
    "circular": (
        lambda: pm.VonMises("x", 0.5, 2.0),
        ("angle of x",),
        lambda u: (u, 0.0),
        lambda x: 2.0 * jnp.cos(x[0] - 0.5),
    ),
    "ordered": (
        lambda: pm.Normal("x", [-1.0, 0.0, 2.0], 1.5, transform=pm.distributions.transforms.ordered),
        ("ordered x[0]", "ordered x[1]", "ordered x[2]"),
        _sorted,
        lambda x: -0.5 * (((x - jnp.array([-1.0, 0.0, 2.0])) / 1.5) ** 2).sum(),
    ),
    "simplex": (
        lambda: pm.Dirichlet("x", [2.0, 3.0, 5.0]),
        ("simplex x[0]", "simplex x[1]"),
        _by_determinant(_shares),
        lambda x: (jnp.array([1.0, 2.0, 4.0]) * jnp.log(x)).sum(),
    ),
    "chained": (
        # applied after the logarithm
        lambda: pm.Gamma("x", 2.0, 1.0, shape=3, transform=pm.distributions.transforms.ordered),
        tuple(f"unconstrained x[{k}]" for k in range(3)),
        lambda u: (jnp.exp(_sorted(u)[0]), _sorted(u)[0].sum() + _sorted(u)[1]),
        lambda x: (jnp.log(x) - x).sum(),
    ),
}


@pytest.mark.parametrize("case", TRANSFORMS)
def test_transforms_and_their_jacobians(case):
    make, names, inverse, log_density = TRANSFORMS[case]
    with pm.Model() as model:
        make()
    points = np.random.default_rng(2).normal(0.0, 0.7, (40, len(names)))
    with jax.enable_x64(True):
        values = np.asarray(jax.vmap(lambda u: inverse(u)[0])(points))
    draws = {"x": values[None] if model.free_RVs[0].ndim else values[None, :, 0]}
    target, sample = sk.from_pymc(model, draws)
    assert sample.names == names
    np.testing.assert_allclose(sample.points, points, rtol=1e-10, atol=1e-10)

    def unconstrained(u):
        value, log_jacobian = inverse(u)
        return log_density(value) + log_jacobian

    assert_scores(target, unconstrained, points)


def test_interval_between_other_parameters():
    with pm.Model() as model:
        low = pm.Normal("low")
        pm.Uniform("x", low, low + pm.math.exp(low))
    rng = np.random.default_rng(3)
    low = rng.standard_normal(30)
    u = rng.standard_normal(30)
    draws = {"x": (low + np.exp(low) / (1.0 + np.exp(-u)))[None], "low": low[None]}
    target, sample = sk.from_pymc(model, draws)
    assert sample.names == ("low", "logit x")
    np.testing.assert_allclose(target.functions["x"](sample.points), draws["x"][0], rtol=1e-9)
    np.testing.assert_allclose(sample.points, np.column_stack([low, u]), rtol=1e-9, atol=1e-9)
    # p(x | low) |dx / du| = sigmoid(u) sigmoid(-u): the width cancels
    expected = np.column_stack([-low, 1.0 - 2.0 / (1.0 + np.exp(-u))])
    np.testing.assert_allclose(target.score(sample.points), expected, rtol=1e-9, atol=1e-9)


def test_cholesky_factor_of_a_covariance():
    """LKJ's density of Omega with its sds, and data, as a function of L packed by rows: from its definition."""
    values = np.random.default_rng(4).normal(size=(12, 2)) @ np.array([[1.0, 0.0], [0.6, 0.8]])
    with pm.Model() as model:
        chol, _, _ = pm.LKJCholeskyCov("chol", n=2, eta=2.0, sd_dist=pm.Exponential.dist(0.5))
        pm.MvNormal("y", np.zeros(2), chol=chol, observed=values)
    u = np.random.default_rng(5).normal(0.0, 0.4, (40, 3))
    packed = np.column_stack([np.exp(u[:, 0]), u[:, 1], np.exp(u[:, 2])])
    target, sample = sk.from_pymc(model, {"chol": packed[None]})
    assert sample.names == ("cholesky chol[0]", "cholesky chol[1]", "cholesky chol[2]")
    np.testing.assert_allclose(sample.points, u, rtol=1e-12, atol=1e-12)

    def log_density(v):
        a, b, c = jnp.exp(v[0]), v[1], jnp.exp(v[2])
        sd = jnp.sqrt(b**2 + c**2)
        correlation = b / sd
        # p(a, b, c) = p(a) p(sd) p(r) |d(sd, r) / d(b, c)|, and r = b / sd: the determinant is c / sd^2
        lkj = jnp.log1p(-(correlation**2))  # (1 - r^2)^(eta - 1)
        prior = -0.5 * a - 0.5 * sd + lkj + v[2] - 2.0 * jnp.log(sd)
        factor = jnp.array([[1.0, 0.0], [0.0, 1.0]]) * jnp.array([[a, 0.0], [0.0, c]]) + b * jnp.eye(2, k=-1)
        white = jax.scipy.linalg.solve_triangular(factor, values.T, lower=True)
        return prior + v[0] + v[2] - 0.5 * (white**2).sum() - len(values) * (v[0] + v[2])

    assert_scores(target, log_density, u)


def test_zero_sum_vector_loses_a_dimension():
    with pm.Model() as model:
        pm.ZeroSumNormal("x", sigma=2.0, shape=4)
    x = np.random.default_rng(6).normal(size=(30, 4))
    x -= x.mean(axis=1, keepdims=True)
    target, sample = sk.from_pymc(model, {"x": x[None]})
    assert sample.names == tuple(f"unconstrained x[{k}]" for k in range(3))
    # an isometry of the plane on which the sum is zero
    np.testing.assert_allclose((sample.points**2).sum(axis=1), (x**2).sum(axis=1), rtol=1e-12)
    own = np.column_stack([target.functions[f"x[{k}]"](sample.points) for k in range(4)])
    np.testing.assert_allclose(own, x, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(target.score(sample.points), -sample.points / 4.0, rtol=1e-10, atol=1e-12)


def test_missing_data_are_parameters():
    observed = np.ma.masked_invalid([1.0, np.nan, 3.0, np.nan])
    with pm.Model() as model:
        mu = pm.Normal("mu", 0.0, 2.0)
        with pytest.warns(Warning, match="missing values"):
            pm.Normal("y", mu, 1.0, observed=observed)
    rng = np.random.default_rng(7)
    mu, lost = rng.normal(size=30), rng.normal(size=(30, 2))
    target, sample = sk.from_pymc(model, {"mu": mu[None], "y_unobserved": lost[None], "y": np.zeros((1, 30, 4))})
    assert sample.names == ("mu", "y_unobserved[0]", "y_unobserved[1]")
    expected = np.column_stack([-mu / 4.0 + 4.0 - 2.0 * mu + (lost - mu[:, None]).sum(axis=1), mu[:, None] - lost])
    np.testing.assert_allclose(target.score(sample.points), expected, rtol=1e-9, atol=1e-9)


def test_current_data_potentials_and_custom_densities():
    with pm.Model() as model:
        y = pm.Data("y", [1.0, 2.0])
        mu = pm.Flat("mu")
        pm.Potential("penalty", -(mu**4))
        pm.CustomDist("x", mu, logp=lambda value, mu: -0.5 * (value - mu) ** 2)
        pm.Normal("likelihood", mu, 2.0, observed=y)
    model_of_two = pymc_model(model).target
    with model:
        pm.set_data({"y": [1.0, 2.0, 6.0]})
    mu, x = np.random.default_rng(8).normal(size=(2, 30))
    target, sample = sk.from_pymc(model, {"x": x[None], "mu": mu[None]})
    both = np.column_stack([x - mu - 4.0 * mu**3, mu - x])
    for each, total, n in ((target, 9.0, 3), (model_of_two, 3.0, 2)):
        expected = both + np.column_stack([0.25 * (total - n * mu), np.zeros(30)])
        np.testing.assert_allclose(each.score(sample.points), expected, rtol=1e-9, atol=1e-9)


def test_variable_left_untransformed_keeps_its_bounds():
    with pm.Model() as model:
        pm.Exponential("rate", 2.0, default_transform=None)
        pm.Uniform("x", -1.0, 3.0, shape=2, default_transform=None)
        pm.Beta("share", 2.0, 2.0)
    target = pymc_model(model).target
    assert target.names == ("rate", "x[0]", "x[1]", "logit share")
    np.testing.assert_array_equal(target.bounds, [[0.0, np.inf], [-1.0, 3.0], [-1.0, 3.0], [-np.inf, np.inf]])
    np.testing.assert_allclose(target.score([[1.0, 0.0, 1.0, 0.0]]), [[-2.0, 0.0, 0.0, 0.0]], atol=1e-12)
    with pytest.raises(InputError, match="expected draws in"):
        target.score([[1.0, 4.0, 1.0, 0.0]])


def discrete():
    pm.Poisson("count", 3.0)
    pm.Normal("x")


def minibatched():
    mu = pm.Normal("mu")
    batch = pm.Minibatch(np.arange(100.0), batch_size=10)
    pm.Normal("y", mu, observed=batch, total_size=100)


def raw_simplex():
    pm.Dirichlet("shares", np.ones(3), default_transform=None)


def raw_between_parameters():
    low = pm.Normal("low")
    pm.Uniform("x", low, 10.0, default_transform=None)


def of_named_dimensions():
    pytest.importorskip("pymc.dims").Normal("x")


def single_precision():
    pm.Normal("x", dtype="float32")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (discrete, "discrete count"),
        (minibatched, "random .*Minibatch.*all of its data"),
        (raw_simplex, "shares has no transform .*not a box"),
        (raw_between_parameters, "x has no transform, and its support depends on low"),
        (of_named_dimensions, r"variables from pymc\.dims .x."),
        (single_precision, "single precision of x.*floatX = 'float64'"),
        (lambda: None, "expected free variables"),
    ],
)
def test_models_without_a_score_are_refused(make, message):
    with pm.Model() as model:
        make()
    with pytest.raises(InputError, match=message):
        pymc_model(model)


def test_other_objects_are_refused():
    with pytest.raises(UsageError, match=r"pymc\.Model, got dict"):
        sk.from_pymc({}, {})


def test_draws_of_another_model_are_refused():
    draws = schools_draws()
    with pytest.raises(InputError, match="parameter 'tau'"):
        sk.from_pymc(schools(), {name: draws[name] for name in ("mu", "theta")})
    with pytest.raises(InputError, match="got Model"):
        sk.from_pymc(schools(), schools())
    with pytest.raises(InputError, match="outside the support"):
        sk.from_pymc(schools(), draws | {"tau": -draws["tau"]})


def test_numeric_labels_are_not_positions():
    xarray = pytest.importorskip("xarray")
    with pm.Model(coords={"group": [1, 0]}) as model:
        pm.Normal("x", 0.0, 1.0, dims="group")
    x = np.random.default_rng(8).normal(size=(1, 30, 2))
    # ArviZ counts from 0
    counted = xarray.Dataset({"x": (("chain", "draw", "x_dim_0"), x)}, coords={"x_dim_0": [0, 1]})
    for unlabelled in ({"x": x}, counted, counted.drop_vars("x_dim_0")):
        sample = sk.from_pymc(model, unlabelled)[1]
        assert sample.names == ("x[1]", "x[0]")
        np.testing.assert_array_equal(sample.points, x[0])
    np.testing.assert_array_equal(sk.from_pymc(model, counted.isel(x_dim_0=[1, 0]))[1].points, x[0])
    labelled = counted.rename({"x_dim_0": "group"})
    np.testing.assert_array_equal(sk.from_pymc(model, labelled)[1].points, x[0, :, ::-1])


def test_parameters_that_pymc_rejects_have_density_zero():
    """At log tau = -800 the standard deviation of theta underflows to zero, and PyMC raises an error."""
    model = pymc_model(schools())
    target = model.target
    points = RNG.standard_normal((4, 6))
    points[2, 1] = -800.0
    expected = model.target.log_density(points[[0, 1, 3]])
    assert np.isfinite(expected).all()
    np.testing.assert_array_equal(target.log_density(points)[[0, 1, 3]], expected)
    assert target.log_density(points)[2] == -np.inf
    np.testing.assert_array_equal(target.proposal_log_density(points)[[0, 1, 3]], expected)
    assert np.isfinite(target.proposal_score(points)[[0, 1, 3]]).all()


def test_an_assertion_of_the_model_rejects_a_proposal():
    from pytensor.raise_op import Assert

    with pm.Model() as model:
        x = pm.Normal("x", 0.0, 1.0)
        pm.Potential("mine", Assert("x is too large")(0.0 * x, x < 2.0))
    target, _ = sk.from_pymc(model, {"x": RNG.uniform(-1.0, 1.0, 50)})
    points = np.array([[0.5], [2.5], [-0.5]])
    with pytest.raises(InputError, match="x is too large"):
        target.log_density(points)
    normal = -0.125 - 0.5 * np.log(2.0 * np.pi)
    np.testing.assert_allclose(target.proposal_log_density(points), [normal, -np.inf, normal])


@pytest.mark.parametrize("method", ["advi", "fullrank_advi"])
def test_log_density_of_an_approximation_is_normal_in_unconstrained_space(method):
    with schools() as model:
        fit = pm.fit(200, method=method, progressbar=False, random_seed=1)
    draws = fit.sample(50, random_seed=2)
    sample = sk.from_pymc(model, draws, approximation=fit)[1]
    named = dict(zip(("mu", "tau_log__", "theta"), (slice(0, 1), slice(1, 2), slice(2, 6)), strict=True))
    mean = np.concatenate([np.ravel(fit.mean_data[name]) for name in named])
    if method == "advi":
        sd = np.concatenate([np.ravel(fit.std_data[name]) for name in named])
        expected = stats.norm.logpdf(sample.points, mean, sd).sum(axis=1)
    else:
        places = {name: place for name, place, *_ in fit.ordering.values()}
        order = np.concatenate([np.arange(6)[places[name]] for name in named])
        covariance = fit.cov.eval()[np.ix_(order, order)]
        expected = stats.multivariate_normal.logpdf(sample.points, mean, covariance)
    np.testing.assert_allclose(sample.log_q - expected, sample.log_q[0] - expected[0], atol=1e-9)
    with pytest.raises(InputError):
        sk.from_pymc(model, draws, approximation=draws)
