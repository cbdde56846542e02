"""Traces in nutpie's format for a Gaussian with known score; if PyMC is installed, also for a model."""

import numpy as np
import pytest

import steinkit as sk
from steinkit.errors import InputError, UsageError

xarray = pytest.importorskip("xarray")

NAMES = ("Choate", "Deerfield", "Andover")
LABELS = ["theta_0", "tau_log__", "theta_1", "theta_2"]  # not in the order of any model in this file
EFFECTS = np.array([28.0, 8.0, -3.0])


def log_density(u):
    """Compute the log density of log tau, tau ~ Exponential(1), and theta ~ N(0, 4) with data, up to a constant."""
    theta = u[..., [0, 2, 3]]
    return u[..., 1] - np.exp(u[..., 1]) - (theta**2).sum(axis=-1) / 8.0 - 0.5 * ((EFFECTS - theta) ** 2).sum(axis=-1)


def gradient(u):
    theta = u[..., [0, 2, 3]]
    of_theta = -theta / 4.0 + EFFECTS - theta
    return np.stack([of_theta[..., 0], 1.0 - np.exp(u[..., 1]), of_theta[..., 1], of_theta[..., 2]], axis=-1)


def draws(n=300, seed=1):
    rng = np.random.default_rng(seed)
    theta = 0.8 * EFFECTS + np.sqrt(0.8) * rng.standard_normal((2, n, 3))
    log_tau = np.log(rng.exponential(size=(2, n)))
    return np.stack([theta[..., 0], log_tau, theta[..., 1], theta[..., 2]], axis=-1)


def trace(u, scores=None, *, logp=True, points=True, apart=False):
    """Return a tree in nutpie's format, with unconstrained variables in a separate group as in newer versions."""
    over = ("chain", "draw")
    stats = {"diverging": (over, u[..., 1] < -3.0), "energy": (over, -u[..., 1])}
    if points:
        stats["unconstrained_draw"] = ((*over, "unconstrained_parameter"), u)
    if scores is not None:
        stats["gradient"] = ((*over, "unconstrained_parameter"), scores)
    if logp:
        stats["logp"] = (over, log_density(u))
    theta = ((*over, "school"), u[..., [0, 2, 3]])
    posterior = {"theta": theta, "tau": (over, np.exp(u[..., 1])), "shrinkage": (over, u[..., 1])}
    free = {"tau_log__": (over, u[..., 1])}
    schools = {"school": list(NAMES)}
    groups = {"sample_stats": xarray.Dataset(stats, coords={"unconstrained_parameter": LABELS})}
    if apart:
        groups["posterior"] = xarray.Dataset(posterior, coords=schools)
        groups["unconstrained_posterior"] = xarray.Dataset(free | {"theta": theta}, coords=schools)
    else:
        groups["posterior"] = xarray.Dataset(posterior | free, coords=schools)
    return xarray.DataTree.from_dict(groups)


@pytest.mark.parametrize("apart", [False, True])
def test_stored_gradients_are_the_target(apart):
    u = draws()
    target, sample = sk.from_nutpie(trace(u, gradient(u), apart=apart))
    assert sample.names == ("theta[Choate]", "log tau", "theta[Deerfield]", "theta[Andover]")
    np.testing.assert_array_equal(sample.points, u.reshape(-1, 4))
    np.testing.assert_array_equal(target.score(sample.points[[5, 2]]), gradient(u).reshape(-1, 4)[[5, 2]])
    np.testing.assert_array_equal(sample.divergent, sample.points[:, 1] < -3.0)
    assert sample.divergent.any()
    np.testing.assert_array_equal(sample.energy, -sample.points[:, 1])
    assert not target.has_log_density  # a log density would be useful only away from the draws
    np.testing.assert_array_equal(np.unique(sample.chain), [0, 1])
    with pytest.raises(InputError, match=r"known only at the 600 stored draws"):
        target.score(np.zeros((1, 4)))


def test_exact_draws_pass_and_biased_draws_fail():
    u = draws()
    wrong = u.copy()
    wrong[..., 1] += 0.6
    for points, right in ((u, True), (wrong, False)):
        target, sample = sk.from_nutpie(trace(points, gradient(points)))
        assert (sk.verdict(sample, target).p > 0.01) == right


@pytest.mark.parametrize("logp", [True, False])
def test_gradients_of_the_wrong_sign_are_detected(logp):
    u = draws()
    with pytest.raises(InputError, match=r"(?i)negate "):
        sk.from_nutpie(trace(u, -gradient(u), logp=logp))


def test_errors_for_missing_statistics_state_the_options():
    u = draws()
    how = r"nutpie\.sample\(model, store_unconstrained=True, store_gradient=True\), or from_pymc\(model, trace\)"
    with pytest.raises(InputError, match=rf"group sample_stats of the DataTree has no gradient; .*{how}"):
        sk.from_nutpie(trace(u))
    with pytest.raises(InputError, match="no unconstrained_draw and no gradient"):
        sk.from_nutpie(trace(u, points=False))


def test_unknown_names_of_nutpie_are_kept():
    u = draws()
    tree = trace(u, gradient(u))
    tree["sample_stats"] = (
        tree["sample_stats"]
        .to_dataset()
        .assign_coords(
            unconstrained_parameter=["theta.1", "tau", "theta.2", "theta.3"]  # names used by Stan
        )
    )
    tree["posterior"] = tree["posterior"].to_dataset().drop_vars("tau_log__")
    assert sk.from_nutpie(tree)[1].names[0::2] == ("theta.1", "theta.2")


@pytest.mark.filterwarnings("ignore:PyTensor could not link to a BLAS:UserWarning")
def test_with_the_model_its_order_and_score_are_used():
    pm = pytest.importorskip("pymc")

    def model(effects):
        with pm.Model(coords={"school": NAMES}) as made:
            pm.Exponential("tau", 1.0)
            theta = pm.Normal("theta", 0.0, 2.0, dims="school")
            pm.Normal("y", theta, 1.0, observed=effects)
        return made

    u = draws()
    stored = trace(u, gradient(u))
    target, sample = sk.from_nutpie(stored, model(EFFECTS))
    order = [1, 0, 2, 3]
    assert sample.names == target.names == ("log tau", "theta[Choate]", "theta[Deerfield]", "theta[Andover]")
    np.testing.assert_array_equal(sample.points, u.reshape(-1, 4)[:, order])
    elsewhere = sample.points[:50] + 0.1
    expected = gradient(elsewhere[:, np.argsort(order)])[:, order]
    np.testing.assert_allclose(target.score(elsewhere), expected, rtol=1e-10, atol=1e-10)
    with pytest.raises(InputError, match=r"stored gradients do not match PyMC model.*different priors or data"):
        sk.from_nutpie(stored, model(EFFECTS + 1.0))
    with pm.Model() as other:
        pm.Normal("theta", shape=3)
    with pytest.raises(InputError, match=r"3 coordinates of the model, got 4.*'tau_log__'"):
        sk.from_nutpie(stored, other)


def test_other_traces_are_refused():
    with pytest.raises(UsageError, match=r"got dict"):
        sk.from_nutpie({"x": np.zeros(5)})
    other = xarray.DataTree.from_dict({"posterior": xarray.Dataset({"x": (("chain", "draw"), np.zeros((1, 5)))})})
    with pytest.raises(InputError, match=r'no group "sample_stats".*from_pymc\(model, trace\)'):
        sk.from_nutpie(other)
