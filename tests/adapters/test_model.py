"""The base class of the adapters, with a manual model and draws without labels."""

import numpy as np
import pytest
from scipy import special

from steinkit.adapters.model import Model, Parameter, hold_stored
from steinkit.errors import InputError
from steinkit.sample import Sample
from steinkit.target import Target

xarray = pytest.importorskip("xarray")


def test_reordered_positions_are_restored():
    def make_target(names, label):
        return Target(lambda x: -x, names=names, label=label)

    model = Model("a model", (Parameter("x", (3,), "real", (3,)),), make_target, lambda draws: draws["x"])
    x = np.random.default_rng(1).normal(size=(1, 5, 3))
    counted = xarray.Dataset({"x": (("chain", "draw", "x_dim_0"), x)}, coords={"x_dim_0": [0, 1, 2]})
    turned = model.sample(counted.isel(x_dim_0=[2, 0, 1]))
    assert turned.names == ("x[0]", "x[1]", "x[2]")
    np.testing.assert_array_equal(turned.points, x[0])


def test_samples_in_unconstrained_space_are_not_transformed():
    """`repair` and `write_sample` write draws with the names of the unconstrained coordinates."""

    def make_target(names, label):
        return Target(lambda x: -x, names=names, label=label)

    parameters = Parameter("s", (), "positive", ()), Parameter("m", (), "real", ())
    model = Model("a model", parameters, make_target, lambda draws: np.column_stack([np.log(draws["s"]), draws["m"]]))
    free = model.sample({"s": np.array([[1.0, 2.0]]), "m": np.array([[3.0, 4.0]])})
    assert free.names == ("log s", "m")
    assert model.sample(free) is free
    np.testing.assert_array_equal(model.sample(free.select(("m", "log s"))).points, free.points)


def shares_and_interval():
    """Return a model of a simplex with 30 entries (log ratios to the last) and a number in a wide interval."""

    def constrain(x):
        ratios = np.exp(np.column_stack([x[:, :29], np.zeros(len(x))]))
        return {"w": ratios / ratios.sum(axis=1, keepdims=True), "a": -1e6 + 2e6 * special.expit(x[:, 29])}

    def unconstrain(values):
        w, a = values["w"], values["a"]
        return np.column_stack([np.log(w[:, :29] / w[:, 29:]), np.log((a + 1e6) / (1e6 - a))])

    parameters = Parameter("w", (30,), "simplex", (29,)), Parameter("a", (), "interval", ())
    return Model("a model", parameters, lambda names, label: Target(lambda x: -x), unconstrain, constrain)


def test_rounded_draws_are_accepted_and_draws_outside_the_support_refused():
    make = np.random.default_rng(8)
    w = np.array([[float(f"{each:.6g}") for each in row] for row in make.dirichlet(np.full(30, 500.0), size=50)])
    a = make.normal(size=50)
    a[7] = 1.5e-7  # too small for its distance from the bounds to have a correct digit
    assert 1e-7 < np.abs(w.sum(axis=1) - 1.0).max() < 1e-5
    assert shares_and_interval().sample({"w": w, "a": a}).points.shape == (50, 30)
    w[4] *= 1.001
    with pytest.raises(InputError, match=r"draw 5 of w, .* \(1 such draws\)"):
        shares_and_interval().sample({"w": w, "a": a})


def test_tolerance_for_gradients_of_another_compiler():
    """Cancelling terms of 1e6 leave errors of 1e-10, independent of the size of the score."""
    sample = Sample(points=np.append(np.linspace(-1.0, 1.0, 99), 1e6)[:, None])
    target = Target(lambda x: -x, label="a model")
    stored = -sample.points
    stored[3] += 1e-2
    hold_stored(target, sample, stored, "hand over another")
    stored[3] += 10.0
    with pytest.raises(InputError, match=r"do not match a model: at draw 4.*; hand over another"):
        hold_stored(target, sample, stored, "hand over another")
