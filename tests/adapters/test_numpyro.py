import sys
import warnings
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import special, stats
from support.eight_schools import EFFECTS, ERRORS, SCHOOLS, schools_score

import steinkit as sk


def test_without_numpyro_the_error_names_the_command(monkeypatch):
    for module in ("numpyro", "numpyro.distributions"):  # another test may have imported the second one
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(sk.MissingDependencyError, match=r"NumPyro .*pip install -e '.\[numpyro\]'"):
        sk.from_numpyro(lambda: None, {"mu": np.zeros(5)})


class Run:
    """Substitute for NumPyro's MCMC object, with arrays (chains, draws, ...)."""

    def __init__(self, samples, last, **fields):
        self.samples, self.fields = samples, fields
        self.last_state = SimpleNamespace(z=last)

    def get_samples(self, group_by_chain=False):
        assert group_by_chain
        return self.samples

    def get_extra_fields(self, group_by_chain=False):
        assert group_by_chain
        return self.fields


@pytest.fixture(name="np_")
def numpyro_package():
    return pytest.importorskip("numpyro")


def schools(errors, effects):
    import numpyro
    import numpyro.distributions as dist

    mu = numpyro.sample("mu", dist.Normal(0.0, 5.0))
    tau = numpyro.sample("tau", dist.HalfCauchy(5.0))
    with numpyro.plate("school", 3):
        theta = numpyro.sample("theta", dist.Normal(mu, tau))
        numpyro.sample("y", dist.Normal(theta, errors), obs=effects)
    numpyro.deterministic("spread", theta.max() - theta.min())


def some_schools(n=40, dtype=np.float64):
    rng = np.random.default_rng(8)
    draws = {"theta": rng.normal(5.0, 4.0, (n, 3)), "tau": rng.gamma(2.0, 2.0, n), "mu": rng.normal(4.0, 3.0, n)}
    return {name: values.astype(dtype) for name, values in draws.items()}


@pytest.mark.usefixtures("np_")
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_eight_schools_by_name_in_the_order_of_the_sites_in_double_precision(dtype):
    draws = some_schools(dtype=dtype)
    target, sample = sk.from_numpyro(schools, {**draws, "spread": draws["mu"]}, ERRORS, effects=EFFECTS)
    assert sample.names == target.names == ("mu", "log tau", "theta[0]", "theta[1]", "theta[2]")
    np.testing.assert_allclose(sample.points[:, 1], np.log(draws["tau"].astype(np.float64)), rtol=1e-14)
    np.testing.assert_allclose(target.score(sample.points), schools_score(**draws), rtol=1e-10, atol=1e-12)
    assert target.label == "NumPyro model schools"


@pytest.mark.usefixtures("np_")
def test_labels_of_the_draws_become_names_in_any_order():
    xarray = pytest.importorskip("xarray")
    draws = some_schools()
    stored = {
        "theta": (("school", "draw", "chain"), draws["theta"].reshape(2, 20, 3).T, {}),
        "tau": (("chain", "draw"), draws["tau"].reshape(2, 20)),
        "mu": (("chain", "draw"), draws["mu"].reshape(2, 20)),
    }
    dataset = xarray.Dataset(stored, coords={"school": list(SCHOOLS)})
    target, sample = sk.from_numpyro(schools, dataset, ERRORS, EFFECTS)
    assert sample.names == ("mu", "log tau", *(f"theta[{school}]" for school in SCHOOLS))
    np.testing.assert_allclose(target.score(sample.points), schools_score(**draws), rtol=1e-10, atol=1e-12)


@pytest.mark.usefixtures("np_")
def test_gradients_that_a_run_stored_are_compared_with_the_model():
    draws = some_schools()
    gradient = -schools_score(**draws)
    grouped = {name: values[None] for name, values in draws.items()}
    stored = {"mu": gradient[None, :, 0], "tau": gradient[None, :, 1], "theta": gradient[None, :, 2:]}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sk.from_numpyro(schools, Run(grouped, None, z_grad=stored), ERRORS, EFFECTS)
    with pytest.warns(sk.SteinkitWarning, match=r"theta\[\d\].* come from a density"):
        sk.from_numpyro(schools, Run(grouped, None, z_grad=stored), ERRORS, EFFECTS[::-1].copy())


@pytest.mark.usefixtures("np_")
def test_reparametrised_models_have_the_sites_that_were_sampled():
    from numpyro.handlers import reparam
    from numpyro.infer.reparam import LocScaleReparam

    draws = some_schools()
    z = (draws["theta"] - draws["mu"][:, None]) / draws["tau"][:, None]
    model = reparam(schools, config={"theta": LocScaleReparam(centered=0.0)})
    target, sample = sk.from_numpyro(model, {**draws, "theta_decentered": z}, ERRORS, EFFECTS)
    assert sample.names == ("mu", "log tau", *(f"theta_decentered[{k}]" for k in range(3)))
    # log |d theta / d z| = 3 log tau; the chain rule converts the centered score to this one
    centred = schools_score(**draws)
    pull, tau = centred[:, 2:], draws["tau"]
    wanted = np.column_stack(
        [
            centred[:, 0] + pull.sum(axis=1),
            centred[:, 1] + tau * (pull * z).sum(axis=1) + 3.0,
            tau[:, None] * pull,
        ]
    )
    np.testing.assert_allclose(target.score(sample.points), wanted, rtol=1e-9, atol=1e-10)


def constrained(dist):
    """Sites of every kind of support: the distribution, draws, and the score in NumPyro's coordinates."""
    rng = np.random.default_rng(11)
    u, w = rng.uniform(-1.5, 4.0, 30), rng.dirichlet([2.0, 3.0, 4.0], 30)
    o = np.sort(rng.normal(0.0, 2.0, (30, 3)), axis=1)
    v = rng.uniform(-3.0, 3.0, 30)
    s = (u + 2.0) / 7.0  # relative position in the interval (-2, 5)
    phi = (v + np.pi) / (2.0 * np.pi)
    first, second = w[:, 0], w[:, 1] / (1.0 - w[:, 0])
    gaps = np.diff(o, axis=1)
    # o = (z0, z0 + exp z1, ...) and o_i ~ N(0, 1): a gap moves all entries after it
    after = np.cumsum(-o[:, ::-1], axis=1)[:, ::-1]
    return {
        "interval": (dist.Uniform(-2.0, 5.0), u, special.logit(s)[:, None], (1.0 - 2.0 * s)[:, None]),
        "circle": (
            dist.VonMises(0.5, 2.0),
            v,
            special.logit(phi)[:, None],
            (-2.0 * np.sin(v - 0.5) * 2.0 * np.pi * phi * (1.0 - phi) + 1.0 - 2.0 * phi)[:, None],
        ),
        "simplex": (
            dist.Dirichlet(np.array([2.0, 3.0, 4.0])),
            w,
            np.column_stack([special.logit(first) + np.log(2.0), special.logit(second)]),
            np.column_stack([2.0 * (1.0 - first) - 7.0 * first, 3.0 * (1.0 - second) - 4.0 * second]),
        ),
        "ordered": (
            dist.ImproperUniform(dist.constraints.ordered_vector, (), (3,)),
            o,
            np.column_stack([o[:, 0], np.log(gaps)]),
            np.column_stack([after[:, 0], after[:, 1:] * gaps + 1.0]),
        ),
    }


@pytest.mark.filterwarnings("ignore:Continuous inference poorly handles circular:UserWarning")
@pytest.mark.parametrize("kind", ["interval", "circle", "simplex", "ordered"])
def test_scores_in_constrained_spaces(np_, kind):
    dist = np_.distributions
    prior, draws, free, score = constrained(dist)[kind]

    def model():
        x = np_.sample("x", prior)
        if kind == "ordered":
            np_.factor("height", -0.5 * (x**2).sum())

    target, sample = sk.from_numpyro(model, {"x": draws})
    np.testing.assert_allclose(sample.points, free, rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(target.score(sample.points), score, rtol=1e-8, atol=1e-9)
    names = {
        "interval": ("logit x",),
        "circle": ("logit x",),
        "simplex": ("simplex x[0]", "simplex x[1]"),
        "ordered": ("ordered x[0]", "ordered x[1]", "ordered x[2]"),
    }
    assert sample.names == names[kind]
    own = np.column_stack([each(sample.points) for each in target.functions.values()])
    np.testing.assert_allclose(own, draws.reshape(len(draws), -1), rtol=1e-9, atol=1e-12)


def test_a_cholesky_factor_has_one_coordinate_per_correlation(np_):
    rng = np.random.default_rng(2)
    factors = np.array([np.linalg.cholesky(stats.random_correlation.rvs([0.5, 1.0, 1.5], rng)) for _ in range(25)])

    def model():
        np_.sample("L", np_.distributions.LKJCholesky(3, 2.0))

    target, sample = sk.from_numpyro(model, {"L": factors})
    assert sample.names == ("cholesky L[0]", "cholesky L[1]", "cholesky L[2]")
    # the other entries are constant
    entries = {f"L[{i},{j}]": factors[:, i, j] for i, j in ((1, 0), (1, 1), (2, 0), (2, 1), (2, 2))}
    assert target.functions.keys() == entries.keys()
    for name, values in entries.items():
        np.testing.assert_allclose(target.functions[name](sample.points), values, rtol=1e-9)
    # the density of L in closed form: |J| of partial correlations y = tanh z, each scaled by the rest of its row
    y10 = factors[:, 1, 0]
    y20 = factors[:, 2, 0]
    y21 = factors[:, 2, 1] / np.sqrt(1.0 - y20**2)
    np.testing.assert_allclose(sample.points, np.arctanh(np.column_stack([y10, y20, y21])), rtol=1e-9)
    # p(L) ~ L22^(2 eta - 1) ... : y10, y20 ~ (1 - y^2)^(eta - 1/2), y21 ~ (1 - y^2)^(eta - 1), times 1 - y^2 of tanh
    wanted = np.column_stack([-2.0 * y10 * 2.5, -2.0 * y20 * 2.5, -2.0 * y21 * 2.0])
    np.testing.assert_allclose(target.score(sample.points), wanted, rtol=1e-8, atol=1e-9)
    with pytest.raises(sk.InputError, match=r"draw 1 of L, .*\(cholesky\).*inverse"):
        sk.from_numpyro(model, {"L": 1.1 * factors})


def test_a_support_that_depends_on_another_site(np_):
    def model():
        top = np_.sample("top", np_.distributions.Exponential(1.0))
        np_.sample("x", np_.distributions.Uniform(0.0, top))

    rng = np.random.default_rng(4)
    top = rng.gamma(2.0, size=30)
    s = rng.uniform(0.05, 0.95, 30)
    target, sample = sk.from_numpyro(model, {"top": top, "x": s * top})
    np.testing.assert_allclose(sample.points, np.column_stack([np.log(top), special.logit(s)]), rtol=1e-9)
    # x / top is uniform and independent of top: top ~ Exp(1)
    np.testing.assert_allclose(target.score(sample.points), np.column_stack([1.0 - top, 1.0 - 2.0 * s]), atol=1e-9)


def test_discrete_sites_are_refused_by_name_and_enumerated_ones_too(np_):
    def model():
        p = np_.sample("p", np_.distributions.Beta(1.0, 1.0))
        np_.sample("k", np_.distributions.Bernoulli(p))
        np_.sample("which", np_.distributions.Categorical(np.ones(3) / 3.0), infer={"enumerate": "parallel"})

    with pytest.raises(sk.InputError, match=r"NumPyro model model, got the discrete k, which"):
        sk.from_numpyro(model, {"p": np.full(5, 0.5)})


def test_a_model_without_latent_sites(np_):
    with pytest.raises(sk.InputError, match="expected latent sites"):
        sk.from_numpyro(lambda: np_.sample("y", np_.distributions.Normal(0.0, 1.0), obs=1.0), {})


def test_a_delta_distribution_has_no_density(np_):
    def model():
        np_.sample("d", np_.distributions.Delta(1.0))
        np_.sample("x", np_.distributions.Normal(0.0, 1.0))

    with pytest.raises(sk.InputError, match=r"samples d from a delta distribution.*numpyro\.deterministic"):
        sk.from_numpyro(model, {"d": np.ones(9), "x": np.zeros(9)})


def test_sites_in_a_scan_are_one_parameter(np_):
    jnp = pytest.importorskip("jax.numpy")
    control_flow = pytest.importorskip("numpyro.contrib.control_flow")
    dist, seen = np_.distributions, np.array([1.0, 2.0, 0.5])

    def walk(y):
        def step(x, obs):
            x = np_.sample("x", dist.Normal(x, 2.0))
            np_.sample("y", dist.Normal(x, 1.0), obs=obs)
            return x, None

        control_flow.scan(step, jnp.zeros(()), y)

    x = np.random.default_rng(9).standard_normal((20, 3))
    target, sample = sk.from_numpyro(walk, {"x": x}, seen)
    steps = np.diff(x, axis=1, prepend=0.0) / 4.0
    np.testing.assert_allclose(
        target.score(sample.points), -steps + np.pad(steps[:, 1:], ((0, 0), (0, 1))) + seen - x, rtol=1e-9, atol=1e-10
    )


def test_draws_of_another_model_are_refused(np_):
    with pytest.raises(sk.InputError, match="'tau' of NumPyro model schools"):
        sk.from_numpyro(schools, {"mu": np.zeros(4), "theta": np.zeros((4, 3))}, ERRORS, EFFECTS)
    draws = some_schools()
    with pytest.raises(sk.InputError, match="theta with shape"):
        sk.from_numpyro(schools, {**draws, "theta": draws["theta"][:, :2]}, ERRORS, EFFECTS)


def regression(np_, X, y, batch):
    dist = np_.distributions

    def model():
        beta = np_.sample("beta", dist.Normal(0.0, 2.5).expand([X.shape[1]]).to_event(1))
        scale = np_.sample("scale", dist.HalfNormal(2.0))
        with np_.plate("data", len(X), subsample_size=batch) as rows:
            np_.sample("y", dist.Normal(X[rows] @ beta, scale), obs=y[rows])

    return model


def test_a_plate_with_a_subsample_uses_all_the_data(np_):
    jnp = pytest.importorskip("jax.numpy")
    rng = np.random.default_rng(6)
    X = rng.standard_normal((50, 2))
    y = X @ [1.0, -0.5] + rng.standard_normal(50)
    draws = {"beta": rng.normal(0.0, 1.0, (30, 2)), "scale": rng.gamma(4.0, 0.3, 30)}
    target, sample = sk.from_numpyro(regression(np_, jnp.asarray(X), jnp.asarray(y), 10), draws)
    assert sample.names == ("beta[0]", "beta[1]", "log scale")
    beta, scale = draws["beta"], draws["scale"]
    X, y = X.astype(np.float32).astype(float), y.astype(np.float32).astype(float)
    rest = y - beta @ X.T
    wanted = np.column_stack(
        [
            -beta / 6.25 + rest @ X / scale[:, None] ** 2,
            -(scale**2) / 4.0 + 1.0 - 50.0 + (rest**2).sum(axis=1) / scale**2,
        ]
    )
    np.testing.assert_allclose(target.score(sample.points), wanted, rtol=1e-9, atol=1e-9)
    plain, _ = sk.from_numpyro(regression(np_, jnp.asarray(X), jnp.asarray(y), None), draws)
    np.testing.assert_allclose(plain.score(sample.points), wanted, rtol=1e-9, atol=1e-9)


def test_arrays_outside_of_a_model_that_ran_in_single_precision(np_):
    jax = pytest.importorskip("jax")
    effects = np.array([1.0, 2.0])

    def model():
        mu = np_.sample("mu", np_.distributions.Normal(0.0, 1.0))
        np_.sample("y", np_.distributions.Normal(mu, effects), obs=effects)

    energy = np_.infer.util.potential_energy
    held = jax.jit(jax.grad(lambda z: energy(model, (), {}, {"mu": z})))
    held(0.5)  # called as a sampler would call it
    with pytest.raises(sk.InputError, match=r"y = jnp.asarray\(y\)"):
        sk.from_numpyro(model, {"mu": np.linspace(-1.0, 1.0, 20)})

    def of_arguments(effects):
        mu = np_.sample("mu", np_.distributions.Normal(0.0, 1.0))
        np_.sample("y", np_.distributions.Normal(mu, effects), obs=effects)

    held = jax.jit(jax.grad(lambda z: energy(of_arguments, (effects,), {}, {"mu": z})))
    held(0.5)
    target, sample = sk.from_numpyro(of_arguments, {"mu": np.linspace(-1.0, 1.0, 20)}, effects)
    mu = sample.points[:, 0]
    np.testing.assert_allclose(target.score(sample.points)[:, 0], -mu + 1.0 - mu + (2.0 - mu) / 4.0, atol=1e-12)


def test_more_chains_than_draws_of_a_run(np_):
    """Vectorized chains; the same arrays without the run are ambiguous."""
    make = np.random.default_rng(4)
    samples = {"a": make.standard_normal((16, 10)), "b": make.standard_normal((16, 10))}
    _, sample = sk.from_numpyro(two_normals, Run(samples, {}))
    np.testing.assert_array_equal(sample.points[:10, 0], samples["a"][0])
    np.testing.assert_array_equal(sample.chain, np.repeat(np.arange(16), 10))
    with pytest.warns(sk.ReadingWarning, match="more chains than draws"):
        sk.from_numpyro(two_normals, samples)


@pytest.mark.slow
def test_a_run_of_numpyro_itself(np_):
    jax = pytest.importorskip("jax")
    infer = np_.infer
    mcmc = infer.MCMC(infer.NUTS(two_normals), num_warmup=300, num_samples=400, num_chains=1, progress_bar=False)
    mcmc.run(jax.random.key(3), extra_fields=("z_grad", "potential_energy"))
    target, sample = sk.from_numpyro(two_normals, mcmc)
    assert sample.names == ("a", "b")
    assert sk.verdict(sample, target).p > 0.01


def two_normals():
    import numpyro
    import numpyro.distributions as dist

    a = numpyro.sample("a", dist.Normal(0.0, 2.0))
    numpyro.sample("b", dist.Normal(a, 1.0))
    numpyro.sample("y", dist.Normal(a, 1.0), obs=1.5)


def test_a_model_that_fails(np_):
    draws = some_schools()
    with pytest.raises(sk.InputError, match=r"NumPyro model schools fails .*TypeError"):
        sk.from_numpyro(schools, draws)
    with pytest.raises(sk.UsageError, match=r"model to be a function, got \{"):
        sk.from_numpyro(draws, schools)


@pytest.mark.parametrize("name", ["AutoNormal", "AutoDiagonalNormal", "AutoMultivariateNormal"])
def test_log_density_of_a_guide_is_that_of_its_unconstrained_sites(name):
    numpyro = pytest.importorskip("numpyro")
    jax = pytest.importorskip("jax")
    guide = getattr(numpyro.infer.autoguide, name)(schools, init_loc_fn=numpyro.infer.init_to_median)
    svi = numpyro.infer.SVI(schools, guide, numpyro.optim.Adam(0.05), numpyro.infer.Trace_ELBO())
    result = svi.run(jax.random.PRNGKey(0), 100, ERRORS, EFFECTS, progress_bar=False)
    draws = guide.sample_posterior(jax.random.PRNGKey(1), result.params, sample_shape=(50,))
    draws = {name: np.asarray(each, dtype=np.float64) for name, each in draws.items()}
    target, sample = sk.from_numpyro(schools, (guide, result.params, draws), ERRORS, EFFECTS)
    plain = sk.from_numpyro(schools, draws, ERRORS, EFFECTS)[1]
    np.testing.assert_array_equal(sample.points, plain.points)
    by_name = dict(zip(sample.names, sample.points.T, strict=True))
    order = sorted(by_name, key=lambda each: each.removeprefix("log ").split("[")[0])  # order of the sites in JAX
    points = np.column_stack([by_name[each] for each in order])
    if name == "AutoNormal":
        means, sds = (
            np.concatenate([np.ravel(result.params[f"{site}_auto_{part}"]) for site in ("mu", "tau", "theta")])
            for part in ("loc", "scale")
        )
        expected = stats.norm.logpdf(points, means, sds).sum(axis=1)
    else:
        fitted = guide.get_posterior(result.params)
        covariance = np.diag(fitted.variance) if name == "AutoDiagonalNormal" else fitted.covariance_matrix
        expected = stats.multivariate_normal.logpdf(points, fitted.mean, covariance)
    np.testing.assert_allclose(sample.log_q, expected, atol=1e-3)
    assert target.dim == sample.dim
