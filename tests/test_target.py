"""Targets: shapes and supports enforced, wrong scores caught, right ones left alone."""

import numpy as np
import pytest

import steinkit as sk
from steinkit.target import as_bounds
from steinkit.targets import (
    Beta,
    Gamma,
    GaussianMixture,
    IndependentStudentT,
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
def test_check_catches_a_wrong_score(score):
    with pytest.raises(sk.InputError, match="not the gradient of the log density"):
        standard_normal(score).check(POINTS)


def test_check_names_the_coordinate_and_both_values():
    target = standard_normal(flip_one, names=["a", "b", "c"])
    with pytest.raises(sk.InputError, match=r"coordinate 'b', the score says .* finite differences say"):
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
    IndependentStudentT([0.5, 30.0], 2.0, [1.0, 1e-3]),
    Gamma(0.05),
    Gamma([0.5, 3.0], 1e6),
    Beta(0.5, [0.5, 7.0]),
    Uniform([0.0, -5.0], [1e-3, 1e3]),
    MixturePosterior(),
]


@pytest.mark.parametrize("target", RIGHT, ids=repr)
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_check_raises_no_false_alarm(target, seed):
    outcome = target.check(target.sample(40, seed))
    assert outcome.largest_difference < 1e-5
    assert outcome.compared > 0.6 * (outcome.compared + outcome.undecided)


@pytest.mark.parametrize("target", RIGHT[:-1], ids=repr)
def test_check_catches_the_wrong_sign_of_every_family(target):
    if isinstance(target, Uniform):
        wrong = sk.Target(lambda x: target.score(x) + 1.0, log_density=target.log_density, bounds=target.bounds)
    else:
        wrong = sk.Target(lambda x: -target.score(x), log_density=target.log_density, bounds=target.bounds)
    with pytest.raises(sk.InputError, match="not the gradient"):
        wrong.check(target.sample(40, 1))


def test_check_of_the_logistic_posterior_over_small_and_large_coefficients():
    target = LogisticRegression.nodal()
    for size in (1e-3, 1.0, 30.0):
        assert target.check(size * np.random.default_rng(1).normal(size=(10, 6))).compared == 60


@pytest.mark.parametrize("constant", [1e8, -1e8, 1e12, 1e16, 1e300])
def test_check_prefers_undecided_to_a_false_alarm(constant):
    outcome = standard_normal(constant=constant).check(POINTS)
    assert outcome.compared + outcome.undecided == POINTS.size
    if abs(constant) > 1e11:
        assert outcome.compared == 0


def test_check_counts_points_on_a_bound_as_undecided():
    target = Gamma(1.0, 2.0)
    outcome = target.check([0.0, 0.5, 1.0])
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
    with pytest.raises(sk.UsageError, match="cannot be drawn from"):
        bare.sample(3)


def test_score_accepts_a_flat_array_in_one_dimension_only():
    np.testing.assert_array_equal(Normal().score([1.0, 2.0]), [[-1.0], [-2.0]])
    with pytest.raises(sk.InputError, match=r"shape \(n, d\)"):
        Normal(dim=2).score([1.0, 2.0])
    with pytest.raises(sk.InputError, match="2 coordinates, the draws have 3"):
        Normal(dim=2).score(POINTS)


@pytest.mark.parametrize(
    ("score", "message"),
    [
        (lambda x: -x[:, 0], r"must return shape \(25, 3\).*returned \(25,\)"),
        (lambda x: np.where(x > 9.0, x, np.nan), "score at draw 1 is nan in coordinate 'x1'"),
        (lambda x: 1 / 0, "score raised ZeroDivisionError"),
    ],
)
def test_a_bad_score_function_is_reported(score, message):
    with pytest.raises(sk.InputError, match=message):
        sk.Target(score).score(POINTS)


def test_points_outside_the_support_are_refused_by_draw_and_name():
    target = sk.Target(lambda x: -x, bounds=[(0.0, 1.0), (-np.inf, np.inf)], names=["p", "q"])
    with pytest.raises(sk.InputError, match=r"draw 2 lies outside the support: p = 1.5"):
        target.score([[0.5, 9.0], [1.5, 0.0]])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"bounds": [(1.0, 0.0)]}, "lower must be below upper"),
        ({"bounds": [(0.0, np.nan)]}, "lower must be below upper"),
        ({"bounds": [(0.0, 1.0)], "dim": 2}, "bounds must have shape"),
        ({"bounds": "unit"}, "bounds must be numbers"),
        ({"names": ["a", "b"], "dim": 3}, "2 names for 3 coordinates"),
        ({"cdf": np.tanh, "dim": 2}, "cdf is for targets of one dimension"),
        ({"dim": 0}, "whole number of at least 1"),
        ({"dim": 2.5}, "dim must be a whole number"),
    ],
)
def test_contradictory_settings_are_refused(settings, message):
    with pytest.raises(sk.UsageError, match=message):
        sk.Target(lambda x: -x, **settings)


def test_score_must_be_a_function():
    with pytest.raises(sk.UsageError, match="to be a function"):
        sk.Target(POINTS)


def test_one_pair_of_bounds_serves_every_coordinate():
    np.testing.assert_array_equal(as_bounds((0.0, 1.0), 2), [[0.0, 1.0], [0.0, 1.0]])


def test_a_sampler_of_the_wrong_shape_is_reported():
    target = sk.Target(lambda x: -x, sampler=lambda n, rng: rng.normal(size=n), dim=1)
    with pytest.raises(sk.InputError, match=r"sampler must return shape \(4, 1\); it returned \(4,\)"):
        target.sample(4, 0)


def test_sampling_depends_on_the_seed_only():
    target = Normal(dim=2)
    np.testing.assert_array_equal(target.sample(5, 3), target.sample(5, np.random.default_rng(3)))
    assert (target.sample(5, 3) != target.sample(5, 4)).all()


def test_functions_are_held_to_be_functions_by_name():
    assert list(sk.Target(lambda x: -x, functions={"tau": lambda x: np.exp(x[:, 0])}).functions) == ["tau"]
    for given in (lambda x: x, {"tau": 1.0}, ["tau"]):
        with pytest.raises(sk.UsageError, match="functions must be a mapping"):
            sk.Target(lambda x: -x, functions=given)
