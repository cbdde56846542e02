"""Columns gathered into parameters."""

import numpy as np
import pytest

import steinkit as sk
from steinkit.containers.columns import entries_of, split
from steinkit.containers.named_draws import gather
from steinkit.containers.reading import read_draws


@pytest.mark.parametrize(
    ("column", "parts"),
    [
        ("mu", ("mu", ())),
        ("theta[St. Paul's]", ("theta", ("St. Paul's",))),
        ("Sigma[0,1]", ("Sigma", ("0", "1"))),
        ("Sigma[1, 2]", ("Sigma", ("1", "2"))),
        ("theta.1.2", ("theta", ("1", "2"))),
        ("pair.1[2]", ("pair.1", ("2",))),
        ("a.0", ("a.0", ())),  # Stan counts from 1
        ("x.y", ("x.y", ())),
        ("[0]", ("[0]", ())),
    ],
)
def test_a_name_and_an_index(column, parts):
    assert split(column) == parts


def test_numbered_axes_are_sorted_by_number():
    columns = [f"theta.{k}" for k in (10, 1, 2, 3, 4, 5, 6, 7, 8, 9)]
    (found,) = gather(columns)
    assert found.labels == (tuple(map(str, range(1, 11))),)
    assert found.columns == (1, 2, 3, 4, 5, 6, 7, 8, 9, 0)


def test_matrices_are_ordered_by_index_for_any_order_of_the_columns():
    sample = sk.Sample(
        [[11.0, 21.0, 12.0, 22.0]], names=("S[1,1]", "S[2,1]", "S[1,2]", "S[2,2]")
    )  # column names written by Stan
    found = read_draws(sample).variable("S")
    np.testing.assert_array_equal(found.rows[0], [[11.0, 12.0], [21.0, 22.0]])
    assert found.is_numbered


def test_labels_keep_their_order():
    (found,) = gather(["theta[b]", "theta[a]"])
    assert (found.labels, found.columns) == ((("b", "a"),), (0, 1))
    assert not read_draws(sk.Sample([[1.0, 2.0]], names=("theta[b]", "theta[a]"))).variable("theta").is_numbered


@pytest.mark.parametrize(
    "columns",
    [
        ["L[0,0]", "L[1,0]", "L[1,1]"],  # not a complete array
        ["x", "x.1"],  # names that pandas assigns to two columns x
        ["y[0]", "y[0,1]"],
    ],
)
def test_columns_that_do_not_form_an_array_stay_separate(columns):
    assert sorted(each.name for each in gather(columns)) == sorted(columns)


def test_two_spellings_of_one_entry_stay_apart():
    assert [each.name for each in gather(["theta[1]", "theta.1"])] == ["theta", "theta.1"]


def test_a_parameter_of_a_model_may_have_brackets_in_its_name():
    draws = read_draws(sk.Sample([[1.0, 2.0]], names=("a[0]", "b[0]")), shapes={"a[0]": (), "b": (1,)})
    assert dict(draws.labels) == {"a[0]": (), "b": (("0",),)}


def test_chains_and_weights_of_a_sample_stay_with_its_variables():
    points = np.arange(12.0).reshape(2, 3, 2)
    sample = sk.Sample(points, weights=np.arange(6.0), cost=np.arange(6.0), names=("theta[0]", "theta[1]"))
    found = read_draws(sample)
    np.testing.assert_array_equal(found.variable("theta").values, points)
    np.testing.assert_array_equal(found.per_draw["weights"], sample.weights)
    np.testing.assert_array_equal(found.per_draw["cost"], sample.cost)
    ragged = sk.Sample(np.arange(3.0), chain=[0, 0, 1], draw=[0, 1, 0], names=("mu",))
    assert read_draws(ragged).variable("mu").values.shape == (1, 3)


def test_the_name_of_a_parameter_selects_its_columns():
    names = ["mu", "theta[b]", "theta[a]", "thetas[0]", "v.1", "v.2"]
    assert entries_of("theta", names) == ["theta[b]", "theta[a]"]
    assert entries_of("v", names) == ["v.1", "v.2"]
    assert entries_of("mu", names) == []
    sample = sk.as_sample(sk.Sample(np.arange(6.0)[None], names=names), columns=["theta", "mu"])
    assert sample.names == ("theta[b]", "theta[a]", "mu")
    np.testing.assert_array_equal(sample.points, [[1.0, 2.0, 0.0]])
