"""What all adapters share, on a model made by hand: draws of entries without labels."""

import numpy as np
import pytest

from steinkit.adapters.model import Model, Parameter
from steinkit.errors import InputError
from steinkit.target import Target

xarray = pytest.importorskip("xarray")


def test_positions_that_somebody_put_into_another_order_are_put_back():
    def make_target(names, label):
        return Target(lambda x: -x, names=names, label=label)

    model = Model("a model", (Parameter("x", (3,), "real", (3,)),), make_target, lambda draws: draws["x"])
    x = np.random.default_rng(1).normal(size=(1, 5, 3))
    counted = xarray.Dataset({"x": (("chain", "draw", "x_dim_0"), x)}, coords={"x_dim_0": [0, 1, 2]})
    turned = model.sample(counted.isel(x_dim_0=[2, 0, 1]))
    assert turned.names == ("x[0]", "x[1]", "x[2]")
    np.testing.assert_array_equal(turned.points, x[0])


def test_draws_off_the_support_that_the_transform_does_not_notice_are_refused():
    model = Model(
        "a model",
        (Parameter("w", (3,), "simplex", (2,)),),
        lambda names, label: Target(lambda x: -x, names=names, label=label),
        lambda draws: draws["w"][:, :2],
        lambda points: {"w": np.column_stack([points, 1.0 - points.sum(axis=1)])},
    )
    w = np.array([[0.2, 0.3, 0.5], [0.2, 0.3, 0.49999], [0.2, 0.3, 0.49]])
    assert len(model.sample({"w": w[:1]})) == 1
    with pytest.raises(InputError, match=r"draw 2 of w is \[0.2, 0.3, 0.49999\].* \(2 such draws\).*\(simplex\)"):
        model.sample({"w": w})
