"""A substitute with BridgeStan's methods, with transforms and densities from Stan's reference manual.

BridgeStan downloads sources to compile Stan and is therefore not used here. The order of unconstrained coordinates is
that of a compiled Stan program: array after array, matrices by columns.
"""

import numpy as np
import pytest
from scipy import special

import steinkit as sk

COUNTS = np.array([12.0, 30.0, 8.0])


class StandIn:
    """tau > 0, an array of two vectors of three positive numbers, a 2 x 2 matrix, a simplex, ordered, 0 < p < 1.

    log p = -tau - sum(x) - sum(A^2) / 2 + sum(counts log w) - sum(c^2) / 2 + log p + 2 log(1 - p)
    """

    def name(self):
        return "stand_in_model"

    def param_names(self):
        x = [f"x.{i}.{j}" for j in (1, 2, 3) for i in (1, 2)]
        A = [f"A.{i}.{j}" for j in (1, 2) for i in (1, 2)]
        return ["tau", *x, *A, "w.1", "w.2", "w.3", "c.1", "c.2", "p"]

    def param_unc_names(self):
        return [name for name in self.param_names() if name != "w.3"]

    def _values(self, u):
        """Parameters by name from Stan's vector of 16 unconstrained coordinates."""
        tau, x = np.exp(u[0]), np.exp(u[1:7]).reshape(2, 3)  # one vector after another, independent of the names
        A = u[7:11].reshape(2, 2, order="F")
        z = special.expit(u[11:13] - np.log([2.0, 1.0]))
        w = np.array([z[0], (1 - z[0]) * z[1], (1 - z[0]) * (1 - z[1])])
        c = np.array([u[13], u[13] + np.exp(u[14])])
        p = special.expit(u[15])
        return {"tau": tau, "x": x, "A": A, "w": w, "c": c, "p": p}

    def param_constrain(self, u):
        by_name = self._values(np.asarray(u))
        return np.concatenate([np.ravel(values, order="F") for values in by_name.values()])

    def param_unconstrain(self, theta):
        tau, x, A, w, c, p = np.split(np.asarray(theta), np.cumsum([1, 6, 4, 3, 2]))
        if abs(w.sum() - 1) > 1e-8:
            raise RuntimeError(f"stan::math::simplex_free: Simplex variable is not a valid simplex. sum = {w.sum()}")
        if tau[0] < 0:
            raise RuntimeError("lb_free: Lower bounded variable is less than 0")
        sticks = special.logit([w[0], w[1] / (1 - w[0])]) + np.log([2.0, 1.0])
        x = x.reshape(2, 3, order="F").ravel()
        return np.concatenate([np.log(tau), np.log(x), A, sticks, [c[0], np.log(c[1] - c[0])], special.logit(p)])

    def log_density(self, u):
        return self._complex(np.asarray(u)).real

    def log_density_gradient(self, u, *, propto=True, jacobian=True, out=None):
        assert jacobian
        steps = 1e-20j * np.eye(len(u))  # complex steps are exact up to rounding errors
        slope = [self._complex(u + step).imag / 1e-20 for step in steps]
        return self.log_density(u), np.array(slope)

    def _complex(self, u):
        z = 1 / (1 + np.exp(-(u[11:13] - np.log([2.0, 1.0]))))
        w = np.array([z[0], (1 - z[0]) * z[1], (1 - z[0]) * (1 - z[1])])
        c = np.array([u[13], u[13] + np.exp(u[14])])
        p = 1 / (1 + np.exp(-u[15]))
        log_j = u[:7].sum() + np.log(z * (1 - z) * np.array([1.0, 1 - z[0]])).sum() + u[14] + np.log(p * (1 - p))
        squares = (u[7:11] ** 2).sum() + (c**2).sum()
        return -np.exp(u[:7]).sum() - squares / 2 + COUNTS @ np.log(w) + np.log(p) + 2 * np.log(1 - p) + log_j


def draws(n=40):
    make = np.random.default_rng(5)
    return {
        "p": make.beta(2, 3, n),
        "tau": make.exponential(1, n),
        "x": make.exponential(1, (n, 2, 3)),
        "A": make.normal(size=(n, 2, 2)),
        "w": make.dirichlet(COUNTS + 1, n),
        "c": np.sort(make.normal(size=(n, 2)), axis=1),
        "twice": make.normal(size=n),
    }


def by_hand(given):
    """Score by name; for the simplex, in sticks, alpha_k - (alpha_k + ... + alpha_K) z_k with alpha = counts + 1."""
    tau, x, A, w, c, p = (given[name] for name in ("tau", "x", "A", "w", "c", "p"))
    z = np.column_stack([w[:, 0], w[:, 1] / (1 - w[:, 0])])
    rest = np.cumsum((COUNTS + 1)[::-1])[::-1][:2]
    n = len(tau)
    simplex = (COUNTS + 1)[:2] - rest * z
    ordered = np.column_stack([-c.sum(axis=1), -c[:, 1] * (c[:, 1] - c[:, 0]) + 1])
    return np.column_stack(
        [1 - tau, (1 - x).reshape(n, 6), -A.reshape(n, 4), simplex, ordered, (2 * (1 - p) - 3 * p)[:, None]]
    )


NAMES = (
    *("log tau", *(f"log x[{i},{j}]" for i in (0, 1) for j in (0, 1, 2))),
    *(f"A[{i},{j}]" for i in (0, 1) for j in (0, 1)),
    *("simplex w[0]", "simplex w[1]", "ordered c[0]", "ordered c[1]", "logit p"),
)


def test_transforms_order_names_and_functions_of_parameters():
    given = draws()
    target, sample = sk.from_bridgestan(StandIn(), given)
    assert sample.names == target.names == NAMES
    np.testing.assert_allclose(sample.points[:, 0], np.log(given["tau"]))
    np.testing.assert_allclose(sample.points[:, 1:7], np.log(given["x"]).reshape(-1, 6))
    np.testing.assert_array_equal(sample.points[:, 7:11], given["A"].reshape(-1, 4))
    np.testing.assert_allclose(target.score(sample.points), by_hand(given), rtol=1e-9, atol=1e-12)
    own = {
        "tau": given["tau"],
        **{f"x[{i},{j}]": given["x"][:, i, j] for i in range(2) for j in range(3)},
        **{f"w[{k}]": given["w"][:, k] for k in range(3)},
        **{f"c[{k}]": given["c"][:, k] for k in range(2)},
        "p": given["p"],
    }
    assert list(target.functions) == list(own)
    for name, values in own.items():
        np.testing.assert_allclose(target.functions[name](sample.points), values, rtol=1e-12)
        assert target.functions[name](sample.points[3:5]).shape == (2,)


def in_brackets(entry):
    name, *index = entry.split(".")
    return name + (f"[{','.join(index)}]" if index else "")


def test_draws_of_the_command_line_are_matched_by_name():
    given = draws(10)
    names = ["lp", *map(in_brackets, StandIn().param_names())]
    flat = [given[name].reshape(10, -1, order="F") for name in ("tau", "x", "A", "w", "c", "p")]
    flat = np.column_stack([np.zeros(10), *flat])
    reverse = np.arange(len(names))[::-1]
    read = sk.Sample(points=flat[:, reverse], names=[names[k] for k in reverse])
    target, sample = sk.from_bridgestan(StandIn(), read)
    assert sample.names[1:3] == ("log x[1,1]", "log x[1,2]")
    np.testing.assert_allclose(target.score(sample.points), by_hand(given), rtol=1e-9, atol=1e-12)


def test_draws_that_stan_rejects():
    given = draws()
    given["w"] = given["w"].round(6)
    with pytest.raises(sk.InputError, match=r"draw \d+: .*not a valid simplex.* sig_figs=18"):
        sk.from_bridgestan(StandIn(), given)
    given = draws()
    del given["tau"]
    with pytest.raises(sk.InputError, match="'tau' of Stan model stand_in_model"):
        sk.from_bridgestan(StandIn(), given)
    with pytest.raises(sk.InputError, match=r"x with shape \(2, 3\) .* got shape \(3, 2\)"):
        sk.from_bridgestan(StandIn(), {**draws(), "x": draws()["x"].swapaxes(1, 2)})


def test_objects_without_the_methods():
    with pytest.raises(sk.UsageError, match="dict without log_density_gradient, param_names"):
        sk.from_bridgestan({}, draws())


def test_a_class_is_refused():
    with pytest.raises(sk.UsageError, match="got the class StandIn"):
        sk.from_bridgestan(type("StandIn", (), {}), {})


def test_an_exception_of_the_model_rejects_the_proposal():
    class Strict(StandIn):
        def log_density_gradient(self, u, *, propto=True, jacobian=True, out=None):
            if u[0] < -30.0:
                raise RuntimeError("normal_lpdf: Scale parameter is 0, but must be positive!")
            return super().log_density_gradient(u, propto=propto, jacobian=jacobian)

    given = draws()
    target, sample = sk.from_bridgestan(Strict(), given)
    points = sample.points.copy()
    points[4, 0] = -40.0
    kept = np.arange(len(points)) != 4
    found = target.proposal_score(points)
    np.testing.assert_allclose(found[kept], by_hand(given)[kept], rtol=1e-9, atol=1e-12)
    assert np.isnan(found[4]).all()
    np.testing.assert_array_equal(target.proposal_log_density(points)[kept], target.log_density(points[kept]))
    assert target.proposal_log_density(points)[4] == -np.inf
