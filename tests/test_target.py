"""Targets: validation of arguments and results, and checks of the score."""

import numpy as np
import pytest

import steinkit as sk
from steinkit.target import as_bounds
from steinkit.targets import (
    Beta,
    Gamma,
    GaussianMixture,
    LogisticRegression,
    MixturePosterior,
    Normal,
    StudentT,
    Uniform,
)


def standard_normal(score=lambda x: -x, constant=0.0, **settings):
    return sk.Target(score=score, log_density=lambda x: constant - 0.5 * (x**2).sum(axis=1), **settings)


POINTS = np.random.default_rng(0).normal(size=(25, 3))


def flip_one(x):
    return -x * np.array([1.0, -1.0, 1.0])


WRONG_SCORES = {
    "sign": lambda x: x,
    "scale": lambda x: -1.01 * x,
    "one coordinate": flip_one,
    "swapped coordinates": lambda x: -x[:, ::-1],
    "shift": lambda x: -x + 0.01,
    "zero": np.zeros_like,
    "one point": lambda x: np.where(np.arange(len(x))[:, None] == 7, -2.0 * x, -x),
}


@pytest.mark.parametrize("score", WRONG_SCORES.values(), ids=WRONG_SCORES)
def test_check_rejects_wrong_scores(score):
    with pytest.raises(sk.InputError, match="not the gradient of the log density"):
        standard_normal(score).check(POINTS)


def test_check_names_the_parameter_and_both_values():
    target = standard_normal(flip_one, names=["a", "b", "c"])
    with pytest.raises(sk.InputError, match=r"parameter 'b', the score is .* finite differences are"):
        target.check(POINTS)


@pytest.mark.parametrize("scale", [1e-6, 1e-3, 1.0, 1e3, 1e6])
@pytest.mark.parametrize("wrong", [1.0, -1.0, 1.01])
def test_check_works_in_any_unit(scale, wrong):
    target = sk.Target(
        score=lambda x: -wrong * x / scale**2, log_density=lambda x: -0.5 * ((x / scale) ** 2).sum(axis=1)
    )
    if wrong == 1.0:
        outcome = target.check(scale * POINTS)
        assert outcome.compared == POINTS.size
        assert outcome.undecided == 0
    else:
        with pytest.raises(sk.InputError):
            target.check(scale * POINTS)


RIGHT = [
    Normal([0.0, 1e6], [1e-6, 1e6]),
    Normal(0.0, [[2.0, 1.9], [1.9, 2.0]]),
    GaussianMixture([[-5.0, 0.0], [5.0, 1.0]], sd=0.05),
    StudentT(2.5, [1.0, 2.0], [[2.0, 0.5], [0.5, 1.0]]),
    StudentT(1.0, dim=2),
    Gamma(0.05),
    Gamma([0.5, 3.0], 1e6),
    Beta(0.5, [0.5, 7.0]),
    Uniform([0.0, -5.0], [1e-3, 1e3]),
    MixturePosterior(),
]


@pytest.mark.parametrize("target", RIGHT, ids=repr)
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_check_accepts_correct_scores(target, seed):
    outcome = target.check(target.sample(40, seed))
    assert outcome.largest_difference < 1e-5
    assert outcome.compared > 0.6 * (outcome.compared + outcome.undecided)


def test_check_of_the_logistic_posterior():
    target = LogisticRegression.nodal()
    for size in (1e-3, 1.0, 30.0):
        assert target.check(size * np.random.default_rng(1).normal(size=(10, 6))).compared == 60


@pytest.mark.parametrize("constant", [1e8, -1e8, 1e12, 1e16, 1e300])
def test_check_does_not_compare_inaccurate_derivatives(constant):
    outcome = standard_normal(constant=constant).check(POINTS)
    assert outcome.compared + outcome.undecided == POINTS.size
    if abs(constant) > 1e11:
        assert outcome.compared == 0


def test_check_counts_points_on_a_bound_as_undecided():
    outcome = Gamma(1.0, 2.0).check([0.0, 0.5, 1.0])
    assert (outcome.compared, outcome.undecided) == (2, 1)


def test_check_needs_a_log_density_and_a_point():
    with pytest.raises(sk.UsageError, match="no log density"):
        sk.Target(lambda x: -x).check(POINTS)
    with pytest.raises(sk.InputError, match="at least one point"):
        standard_normal().check(np.empty((0, 2)))


def test_capabilities_are_declared():
    bare, full = sk.Target(lambda x: -x), Normal()
    assert (bare.has_log_density, bare.has_cdf, bare.can_sample) == (False, False, False)
    assert (full.has_log_density, full.has_cdf, full.can_sample) == (True, True, True)
    can = {"cdf": "has_cdf", "tail_integrals": "has_tail_integrals", "sampler": "can_sample"}
    for given in (["cdf"], ["cdf", "tail_integrals"], ["sampler"]):
        one = sk.Target(lambda x: -x, dim=1, **dict.fromkeys(given, lambda *_: None))
        assert [name for name in can if getattr(one, can[name])] == given
    with pytest.raises(sk.UsageError, match="no cdf"):
        bare.cdf([0.0])
    with pytest.raises(sk.UsageError, match="no sampler"):
        bare.sample(3)


def test_flat_arrays_in_one_dimension():
    np.testing.assert_array_equal(Normal().score([1.0, 2.0]), [[-1.0], [-2.0]])
    with pytest.raises(sk.InputError, match=r"shape \(n, d\)"):
        Normal(dim=2).score([1.0, 2.0])
    with pytest.raises(sk.InputError, match=r"2 parameters .* got 3"):
        Normal(dim=2).score(POINTS)


@pytest.mark.parametrize(
    ("score", "message"),
    [
        (lambda x: -x[:, 0], r"must return an array of shape \(25, 3\).*got \(25,\)"),
        (lambda x: np.where(x > 9.0, x, np.nan), "nan for parameter 'x1' at draw 1"),
        (lambda x: 1 / 0, "score raised ZeroDivisionError"),
    ],
)
def test_invalid_score_functions(score, message):
    with pytest.raises(sk.InputError, match=message):
        sk.Target(score).score(POINTS)


def test_points_outside_the_support():
    target = sk.Target(lambda x: -x, bounds=[(0.0, 1.0), (-np.inf, np.inf)], names=["p", "q"])
    with pytest.raises(sk.InputError, match=r"p = 1\.5 at draw 2"):
        target.score([[0.5, 9.0], [1.5, 0.0]])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"bounds": [(1.0, 0.0)]}, r"\[1.0, 0.0\] in row 1"),
        ({"bounds": [(0.0, np.nan)]}, r"\[0.0, nan\] in row 1"),
        ({"bounds": [(0.0, 1.0)], "dim": 2}, "bounds must have shape"),
        ({"bounds": "unit"}, "bounds must be numbers"),
        ({"names": ["a", "b"], "dim": 3}, "expected 3 names, got 2"),
        ({"cdf": np.tanh, "dim": 2}, "cdf requires dim=1; got 2"),
        ({"dim": 0}, "whole number of at least 1"),
        ({"dim": 2.5}, "dim must be a whole number"),
    ],
)
def test_contradictory_settings(settings, message):
    with pytest.raises(sk.UsageError, match=message):
        sk.Target(lambda x: -x, **settings)


def test_score_must_be_a_function():
    with pytest.raises(sk.UsageError, match="to be a function"):
        sk.Target(POINTS)


def test_one_pair_of_bounds():
    np.testing.assert_array_equal(as_bounds((0.0, 1.0), 2), [[0.0, 1.0], [0.0, 1.0]])


def test_a_sampler_of_the_wrong_shape():
    target = sk.Target(lambda x: -x, sampler=lambda n, rng: rng.normal(size=n), dim=1)
    with pytest.raises(sk.InputError, match=r"sampler must return an array of shape \(4, 1\); got \(4,\)"):
        target.sample(4, 0)


def test_sampling_depends_only_on_the_seed():
    target = Normal(dim=2)
    np.testing.assert_array_equal(target.sample(5, 3), target.sample(5, np.random.default_rng(3)))
    assert (target.sample(5, 3) != target.sample(5, 4)).all()


def test_functions_must_be_a_mapping():
    assert list(sk.Target(lambda x: -x, functions={"tau": lambda x: np.exp(x[:, 0])}).functions) == ["tau"]
    for given in (lambda x: x, {"tau": 1.0}, ["tau"]):
        with pytest.raises(sk.UsageError, match="functions must be a mapping"):
            sk.Target(lambda x: -x, functions=given)
