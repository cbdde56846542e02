"""Targets by name, with options as text."""

import numpy as np
import pytest

import steinkit as sk
from steinkit import targets
from steinkit.targets import registry
from steinkit.targets.registry import parse_value


@pytest.mark.parametrize("name", targets.target_names())
def test_every_name_gives_a_target_with_a_correct_score(name):
    required = next(options for each, options, _ in targets.target_table() if each == name).partition("[")[0].split()
    target = targets.make_target(name, {option: "-2,2" if option == "means" else "3" for option in required}, dim=3)
    assert target.label == name
    points = target.sample(10, 1) if target.can_sample else np.random.default_rng(1).normal(size=(10, target.dim))
    assert target.check(points).compared == points.size


@pytest.mark.parametrize(
    ("name", "options", "dim"),
    [
        ("normal", {}, 5),
        ("normal", {"mean": "[0, 0]", "covariance": "[[2, 1], [1, 2]]"}, 2),
        ("normal", {"dim": "4"}, 4),
        ("gaussian-mixture", {"means": "[[-2, 0, 1], [2, 0, 1]]", "sd": "0.5"}, 3),
        ("gaussian-mixture", {"means": "-2,2", "weights": "1,3"}, 1),
        ("student-t", {"df": "3", "scale-matrix": "1,2"}, 2),
        ("uniform", {"lower": "-1", "upper": "1"}, 5),
        ("mixture-posterior", {"prior-variances": "10,1"}, 2),
        ("mixture-posterior", {"data": "[1.5, 2.5]", "variance": "1"}, 2),
        ("mixture-posterior", {"size": "50", "theta": "0,2", "data-seed": "3"}, 2),
        ("lasso-posterior", {"size": "1e3", "prior-rate": "10"}, 1),
        ("gaussian-mean", {}, 5),
        ("gaussian-mean", {"size": "20", "theta": "1,2"}, 2),
        ("gaussian-mean", {"variance": "1,2,3"}, 3),
        ("gaussian-mean", {"data": "1,2,3"}, 1),
        ("logistic-posterior", {"prior_variance": "Infinity"}, 6),
        ("logistic-posterior", {"prior-variance": "inf"}, 6),
    ],
)
def test_options_fix_the_dimension_or_the_sample_does(name, options, dim):
    assert targets.make_target(name, options, dim=5).dim == dim


def test_values_reach_the_target():
    target = targets.make_target("normal", {"mean": "1, 2", "covariance": "4"}, dim=7)
    np.testing.assert_allclose(target.score([[3.0, 2.0]]), [[-0.5, 0.0]])


def test_logistic_posterior_from_a_file(tmp_path):
    path = tmp_path / "1.csv"
    path.write_text("2,y\n1,0\n2,1\n")
    options = {"data": str(path), "response": "y", "intercept": "true", "prior-variance": "2"}
    assert targets.make_target("logistic-posterior", options, dim=9).names == ("intercept", "2")


def test_lasso_posterior_and_gaussian_mean_from_files(tmp_path):
    path = tmp_path / "1.csv"
    path.write_text("x,y\n1,0.5\n2,1\n")
    lasso = targets.make_target("lasso-posterior", {"data": str(path), "response": "y", "precision": "4"}, dim=9)
    np.testing.assert_allclose(lasso.score([[1.0]]), [[4.0 * (1 * -0.5 + 2 * -1.0) - 1.0]])
    mean = targets.make_target("gaussian-mean", {"data": str(path)}, dim=9)
    assert mean.names == ("x", "y")
    np.testing.assert_allclose(mean.posterior_mean, [1.0, 0.5])


def test_simulated_data_reach_the_target():
    target = targets.make_target("mixture-posterior", {"size": "1e3", "data-seed": "4"}, dim=2)
    np.testing.assert_array_equal(target.data[0], targets.MixturePosterior.simulate(1000, rng=4).data[0])
    toy = targets.make_target("lasso-posterior", {}, dim=1)
    assert (toy.size, toy.precision, toy.prior_rate) == (10_000, 3.0, 4950.0)


def test_a_posterior_can_be_tempered_by_name():
    hot = targets.make_target("mixture-posterior", {"temperature": "10"}, dim=2)
    points = np.array([[0.3, 0.8]])
    prior = -points / [10.0, 1.0]
    expected = prior + (targets.MixturePosterior().score(points) - prior) / 10.0
    np.testing.assert_allclose(hot.score(points), expected)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1", 1),
        ("1e-3", 1e-3),
        ("true", True),
        ("0,0", [0.0, 0.0]),
        ("[0, 0]", [0, 0]),
        (".5", 0.5),
        ("-1, 2.5", [-1.0, 2.5]),
        ("two", "two"),
        ("1,two", "1,two"),
    ],
)
def test_values_are_json_or_comma_lists_or_text(text, value):
    assert parse_value(text) == value


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("norml", {}, r'''unknown target 'norml' [(]did you mean "normal"'''),
        ("zzz", {}, "built-in targets are beta, gamma, gaussian-mixture"),
        (
            "normal",
            {"men": "1"},
            r"""no option 'men' [(]did you mean "mean"\?[)]; its options are \[mean\] \[covariance\]""",
        ),
        ("normal", {"mean": "one"}, "mean"),
        ("normal", {"covariance": "0"}, "covariance"),
        ("normal", {"dim": "two"}, "dim.*two"),
        ("student-t", {}, "df.*-p df=VALUE"),
        ("student-t", {"df": "3", "scale-matrix": "1", "scale_matrix": "2"}, "given twice"),
        ("beta", {}, "a, b"),
        ("logistic-posterior", {"data": "x.csv"}, "'data' .*'response'"),
        ("logistic-posterior", {"intercept": "true"}, "'intercept' .*'data'"),
        ("lasso-posterior", {"data": "x.csv", "response": "y", "size": "9"}, "'size' applies to simulated data"),
        ("mixture-posterior", {"theta": "0,1"}, "'theta' .*'size'"),
        ("mixture-posterior", {"temperature": "0"}, "temperature.*0"),
        ("mixture-posterior", {"size": "9", "data-seed": "-1"}, "data_seed.*-1"),
        ("logistic-posterior", {"prior-variance": "big"}, "prior_variance"),
    ],
)
def test_bad_options_are_rejected(name, options, message):
    with pytest.raises(sk.UsageError, match=message):
        targets.make_target(name, options, dim=2)


def test_a_class_that_is_exported_is_a_target(monkeypatch):
    class NewStudentT(targets.Normal):
        """A new family.

        It is not described.
        """

    monkeypatch.setattr(targets, "NewStudentT", NewStudentT, raising=False)
    monkeypatch.setattr(targets, "__dir__", lambda: ["GaussianMean", "NewStudentT", "make_target"])
    found = registry._targets.__wrapped__()
    assert list(found) == [
        "new-student-t",
        "mixture-posterior",
        "logistic-posterior",
        "lasso-posterior",
        "gaussian-mean",
    ]
    assert found["new-student-t"].summary == "A new family"
    assert found["new-student-t"].options == {"mean": False, "covariance": False, "dim": False}


def test_table_lists_every_target_once():
    table = targets.target_table()
    assert tuple(row[0] for row in table) == targets.target_names()
    summary = "Independent gamma distributions on (0, inf) with mean shape / rate"
    assert ("gamma", "shape [rate] [dim]", summary) in table
    assert all(summary and "\n" not in summary for _, _, summary in table)
