"""Biases in the parameters' own units, with margins: on draws whose truth is known, and on what cannot serve."""

import json
import math
import time
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.special import digamma, polygamma
from support.bias_samples import normal_mixture

import steinkit as sk
from steinkit.diagnosis.bias.drift import Drift
from steinkit.diagnosis.bias.estimate import _reason, bias_of
from steinkit.errors import InputError, TimeLimitError, UsageError
from steinkit.scored_sample import ScoredSample

pytestmark = pytest.mark.filterwarnings("ignore::steinkit.SteinkitWarning")

PLANE = sk.targets.Normal([0.0, 0.0])
SHAPE = 3.0
MEAN, SD = digamma(SHAPE), math.sqrt(polygamma(1, SHAPE))


def log_gamma(dim, shape=SHAPE):
    """Logarithms of gamma variables: skewed, with known means and standard deviations."""
    return sk.Target(lambda x: shape - np.exp(x), log_density=lambda x: (shape * x - np.exp(x)).sum(axis=1), dim=dim)


def skewed(seed, n=1000, dim=3):
    return np.log(np.random.default_rng([1, seed]).gamma(SHAPE, size=(n, dim)))


def errors(found, mean=MEAN, sd=SD):
    """Of means, in standard deviations, and of logarithms of standard deviations."""
    return (found.mean - mean) / sd, np.log(found.sd / sd)


def wrong(found, mean=MEAN, sd=SD):
    """How many of the reliable quantities are outside their margins."""
    means, sds = errors(found, mean, sd)
    outside = np.concatenate([np.abs(means) > found.mean_margin, np.abs(sds) > found.sd_margin])
    return int(outside[np.tile(found.reliable, 2)].sum())


def test_a_shift_and_a_width_of_a_normal_target_are_known_exactly():
    covariance = np.array([[4.0, 1.2], [1.2, 1.0]])
    target = sk.targets.Normal([10.0, -3.0], covariance=covariance)
    draws = target.sample(1000, np.random.default_rng(0)) * [0.7, 1.0] + [3.5, 0.0]
    found = sk.estimate_bias(sk.Sample(draws, names=("mu", "tau")), scores=target.score(draws))
    assert found.names == ("mu", "tau")
    assert found.mean == pytest.approx([10.0, -3.0], abs=1e-3)
    assert found.sd == pytest.approx([2.0, 1.0], rel=1e-3)
    assert found.draws_mean == pytest.approx(draws.mean(axis=0), abs=1e-12)
    assert found.draws_sd == pytest.approx(draws.std(axis=0), abs=1e-12)
    assert found.mean_bias == pytest.approx((draws.mean(axis=0) - [10.0, -3.0]) / [2.0, 1.0], abs=1e-3)
    assert found.sd_bias == pytest.approx(np.log(draws.std(axis=0) / [2.0, 1.0]), abs=1e-3)
    assert found.reliable.all()
    assert found.reason == ("", "")
    assert found.unranked == ""
    assert found.is_off_by(0.1)  # 7 + 3.5 is above 10 by .25 sd
    assert not found.is_off_by(0.4)
    assert found.method == "regression"
    assert found.value == pytest.approx(math.sqrt(np.mean(found.mean_bias**2 + found.sd_bias**2)))
    assert found.worst(1).tolist() == [int(np.argmax(np.maximum(np.abs(found.mean_bias), np.abs(found.sd_bias))))]


def test_margins_hold_on_a_skewed_target_and_less_is_wrong_than_in_the_draws():
    outside, raw, left = 0, [], []
    for seed in range(10):
        found = sk.estimate_bias(1.1 * (skewed(seed) - 0.1), log_gamma(3), method="regression")
        assert found.reliable.all()
        outside += wrong(found)
        raw.append(np.hypot(found.draws_mean - MEAN, np.log(found.draws_sd / SD)).mean())
        left.append(np.hypot(*errors(found)).mean())
    assert outside <= 4  # of 60
    assert np.median(left) < np.median(raw) / 3.0


@pytest.mark.parametrize(
    ("target", "mean", "sd"),
    [
        (sk.targets.Gamma(3.0, dim=2), 3.0, math.sqrt(3.0)),
        (sk.targets.Beta(2.0, 3.0, dim=2), 0.4, 0.2),
    ],
    ids=["gamma", "beta"],
)
@pytest.mark.parametrize("power", [1.0, 1.1])
def test_within_bounds(target, mean, sd, power):
    draws = target.sample(2000, np.random.default_rng(2)) ** power
    found = sk.estimate_bias(draws, target, method="regression")
    assert found.reliable.all()
    assert wrong(found, mean, sd) <= 1
    off = abs(draws.mean() - mean) / sd
    assert np.abs(errors(found, mean, sd)).max() < (0.03 if power == 1.0 else 0.6 * off)
    others = sk.estimate_bias(draws, scores=target.score(draws), bounds=target.bounds, method="regression")
    assert (others.mean == found.mean).all()


def test_functions_of_the_draws_have_biases_of_their_own():
    draws = 0.9 * np.random.default_rng(3).standard_normal((4000, 2)) + 0.2
    functions = {"square": lambda x: x[:, 0] ** 2, "product": lambda x: x[:, 0] * x[:, 1]}
    found = sk.estimate_bias(draws, PLANE, functions=functions)
    assert found.names == ("x1", "x2", "square", "product")
    assert found.reliable.all()
    assert found.mean[2:] == pytest.approx([1.0, 0.0], abs=0.01)
    assert found.sd[2:] == pytest.approx([math.sqrt(2.0), 1.0], abs=0.2)
    assert (np.abs(np.log(found.sd[2:] / [math.sqrt(2.0), 1.0])) < found.sd_margin[2:]).all()
    plain = sk.estimate_bias(draws, PLANE)
    assert plain.mean == pytest.approx(found.mean[:2], abs=1e-6)


def test_weighted_draws():
    rng = np.random.default_rng(4)
    draws = 1.4 * rng.standard_normal((3000, 2))
    weights = np.exp(-0.5 * (1.0 - 1.0 / 1.96) * (draws**2).sum(axis=1))
    found = sk.estimate_bias(draws, PLANE, weights=weights)
    assert found.draws_sd == pytest.approx([1.0, 1.0], abs=0.06)
    assert found.sd == pytest.approx([1.0, 1.0], abs=1e-3)
    assert found.sd_bias == pytest.approx(np.log(found.draws_sd), abs=1e-3)
    unweighted = sk.estimate_bias(draws, PLANE)
    assert unweighted.sd_bias == pytest.approx([math.log(1.4)] * 2, abs=0.05)
    in_a_sample = sk.estimate_bias(sk.Sample(draws, weights), PLANE)
    assert in_a_sample.mean == pytest.approx(found.mean, abs=1e-12)


def test_draws_without_weight_count_for_nothing():
    draws = np.random.default_rng(5).standard_normal((500, 2))
    weights = np.ones(500)
    weights[::5] = 0.0
    spoilt = np.where(weights[:, None] > 0.0, draws, 1e6)
    found = sk.estimate_bias(spoilt, PLANE, weights=weights)
    assert found.mean == pytest.approx(sk.estimate_bias(draws[weights > 0.0], PLANE).mean, abs=1e-12)
    assert (found.weights[::5] == 0.0).all()
    assert found.weights.sum() == pytest.approx(1.0)


def test_the_order_of_chains_changes_rounding_only():
    chains = 1.1 * np.random.default_rng(6).standard_normal((4, 300, 2)) + 0.1
    labels = np.repeat(np.arange(4), 300)
    one = sk.estimate_bias(sk.Sample(chains.reshape(-1, 2), chain=labels), PLANE)
    turned = sk.estimate_bias(sk.Sample(chains[[2, 0, 3, 1]].reshape(-1, 2), chain=labels[::1]), PLANE)
    for name in ("mean", "sd", "mean_bias", "sd_bias"):
        assert getattr(turned, name) == pytest.approx(getattr(one, name), abs=1e-3)  # exact for a normal target
    other = skewed(6, 1200).reshape(4, 300, 3)
    first, second = (sk.estimate_bias(each, log_gamma(3), method="regression") for each in (other, other[[2, 0, 3, 1]]))
    for name in ("mean", "sd", "mean_margin", "sd_margin"):
        assert getattr(second, name) == pytest.approx(getattr(first, name), rel=1e-6)
    same = sk.estimate_bias(chains, PLANE)
    assert same.mean == pytest.approx(one.mean, abs=1e-12)


def test_every_draw_has_its_weight():
    chains = 1.1 * np.random.default_rng(7).standard_normal((4, 100, 2)) + 0.1
    rows = np.random.default_rng(8).permutation(400)
    labels = np.repeat(np.arange(4), 100)
    draws = chains.reshape(-1, 2)
    mixed = sk.Sample(draws[rows], chain=labels[rows], draw=np.tile(np.arange(100), 4)[rows])
    found, plain = sk.estimate_bias(mixed, PLANE), sk.estimate_bias(chains, PLANE)
    assert found.weights == pytest.approx(plain.weights[rows], abs=1e-9)
    assert plain.weights @ draws == pytest.approx([0.0, 0.0], abs=0.01)
    assert plain.worth == pytest.approx(1.0 / (plain.weights**2).sum())


def test_draws_too_far_off_are_refused_without_a_density():
    draws = skewed(9) * 0.4 - 3.0
    found = sk.estimate_bias(draws, scores=log_gamma(3).score(draws))
    assert not found.reliable.any()
    assert found.lower == 0.0  # so that by their margins no sample is told apart from these draws
    assert all("the margin is too wide" in each for each in found.reason)
    assert found.value == pytest.approx(math.sqrt(np.mean(found.mean_bias**2 + found.sd_bias**2)))
    assert not found.is_off_by(0.1)  # though it is by far, nothing is known for certain


def test_with_a_density_a_run_is_made_where_the_regression_is_not_reliable():
    draws = skewed(10) * 0.4 - 1.0
    found = sk.estimate_bias(draws, log_gamma(3))
    assert found.method == "run"
    assert found.gradients >= 4
    assert found.reliable.all()
    assert np.abs(errors(found)).max() < 0.1
    assert wrong(found) <= 1
    assert found.draws_mean == pytest.approx(draws.mean(axis=0), abs=1e-12)
    assert found.mean_bias == pytest.approx((draws.mean(axis=0) - MEAN) / SD, abs=0.15)
    assert len(found.moved) == len(draws)
    assert found.moved.scores == pytest.approx(log_gamma(3).score(found.moved.points))


def test_a_run_that_is_still_moving_says_how_far_it_went():
    """Draws a thousand times too narrow, on a target that is far away: 64 gradients do not bring them there."""
    target = sk.targets.Normal(np.zeros(2), covariance=np.diag([1.0, 1e6]))
    start = np.array([0.0, 3000.0]) + np.random.default_rng(11).standard_normal((200, 2))
    skew = sk.Target(
        lambda x: target.score(x) - 1e-3 * x**3,
        log_density=lambda x: target.log_density(x) - 2.5e-4 * (x**4).sum(axis=1),
        dim=2,
    )
    found = sk.estimate_bias(start, skew, method="run")
    assert not found.reliable.all()
    assert ((found.at_least > 0.0) <= ~found.reliable).all()
    assert found.at_least[1] > 1.0
    assert f"x2 by {found.at_least[1]:.2g} sd" in " ".join(found.summary().split())


def test_the_same_seed_runs_alike_and_another_does_not():
    draws = skewed(13) * 0.5 - 0.5
    one, same, other = (sk.estimate_bias(draws, log_gamma(3), method="run", rng=seed) for seed in (1, 1, 2))
    assert (one.mean == same.mean).all()
    assert (one.moved.points == same.moved.points).all()
    assert (one.mean != other.mean).any()
    assert other.mean == pytest.approx(one.mean, abs=0.1)


def test_half_of_what_the_last_moves_of_a_run_changed_is_claimed(monkeypatch):
    monkeypatch.setattr("steinkit.diagnosis.bias.estimate._MOVES", (4,))
    draws = 0.6 * skewed(26) - 0.5
    found = sk.estimate_bias(draws, log_gamma(3), method="run")
    start = sk.estimate_bias(draws, log_gamma(3), method="regression")
    end = sk.estimate_bias(found.moved, method="regression")
    change = np.log(end.sd / start.sd)
    assert np.abs(change).min() > 0.003
    assert found.sd == pytest.approx(end.sd, rel=1e-9)
    assert found.sd_margin == pytest.approx(np.hypot(end.sd_margin, change), rel=1e-6)  # two claimed errors


def test_nothing_is_reliable_where_one_coordinate_still_drifts(monkeypatch):
    """Draws in the neck of a hierarchical model leave it slowly; the log density alone may not show it."""
    monkeypatch.setattr("steinkit.diagnosis.bias.estimate._CLIMB", np.inf)
    data = np.array([1.0, 0.2, 1.9, 0.4, 2.1])

    def log_density(x):
        log_tau, theta = x[:, 0], x[:, 1:]
        spread = 0.5 * (theta**2).sum(axis=1) * np.exp(-2.0 * log_tau) + 5.0 * log_tau
        return -spread - 0.5 * ((data - theta) ** 2).sum(axis=1) - 0.5 * log_tau**2

    def score(x):
        pull = x[:, 1:] * np.exp(-2.0 * x[:, :1])
        return np.hstack([(x[:, 1:] * pull).sum(axis=1, keepdims=True) - 5.0 - x[:, :1], data - x[:, 1:] - pull])

    z = np.random.default_rng(27).standard_normal((1000, 6))
    draws = np.hstack([z[:, :1] - 5.0, np.exp(-5.0) * z[:, 1:]])
    found = sk.estimate_bias(draws, sk.Target(score, log_density=log_density, dim=6), method="run")
    assert not found.reliable.any()
    assert all("has not settled" in each for each in found.reason)


def test_by_weights():
    draws = 1.1 * (skewed(14) - 0.1)
    found = sk.estimate_bias(draws, log_gamma(3), method="weights")
    assert found.method == "weights"
    assert found.mean == pytest.approx(found.weights @ draws, abs=1e-12)
    assert found.sd == pytest.approx(np.sqrt(found.weights @ (draws - found.mean) ** 2), abs=1e-12)
    assert np.abs(errors(found)).max() < 0.08
    assert (found.mean_margin >= sk.estimate_bias(draws, log_gamma(3), method="regression").mean_margin).all()
    narrow = np.random.default_rng(15).standard_normal((60, 12))
    with pytest.raises(InputError, match=r"weights need more than 72 draws of 12 coordinates; received 60"):
        sk.estimate_bias(narrow, scores=-narrow, method="weights")


@pytest.mark.parametrize("order", ["shuffled", "stuck"])
def test_shares_of_modes_are_not_known(order):
    points, target = normal_mixture([[0.0, 0.0], [8.0, 0.0]], [0.8, 0.2], 1000, np.random.default_rng(16), order)
    found = sk.estimate_bias(points, target)
    assert found.hidden
    assert not found.reliable.any()
    assert found.reason == (found.hidden,) * 2
    assert found.moved is None  # a run does not cross
    assert found.to_dict()["hidden"] == found.hidden


def test_functions_ask_for_six_draws_a_coordinate():
    draws = np.random.default_rng(17).standard_normal((150, 30))
    found = sk.estimate_bias(draws, scores=-draws, functions={"cube": lambda x: x[:, 0] ** 3})
    assert not found.reliable[-1]
    assert "take six times as many as coordinates" in found.reason[-1]
    assert found.weights is None
    assert found.worth == 0.0
    (row,) = [each for each in found.to_dict()["quantities"] if each["name"] == "cube"]
    assert row["mean"] is None
    json.dumps(found.to_dict(), allow_nan=False)


def test_as_many_coordinates_as_draws():
    draws = 0.9 * np.random.default_rng(18).standard_normal((300, 300))
    found = sk.estimate_bias(draws, scores=-draws)
    assert found.reliable.all()
    assert np.abs(found.mean).max() < 0.01
    assert np.abs(found.sd - 1.0).max() < 0.01
    assert found.sd_bias.mean() == pytest.approx(math.log(0.9), abs=0.01)


@pytest.mark.parametrize(
    ("given", "error", "said"),
    [
        (
            {"method": "regresion"},
            UsageError,
            "'regresion' .did you mean",
        ),
        ({"method": "run"}, UsageError, "a run needs a target with a log density; give one, or take another method"),
        ({"functions": [1]}, UsageError, r"functions must be a mapping"),
        ({"functions": {"x1": lambda x: x[:, 0]}}, UsageError, "'x1' is a coordinate of the draws"),
        ({"scores": np.ones((7, 2))}, InputError, r"\(200, 2\); got \(7, 2\)"),
        ({"scores": None}, UsageError, "scores"),
        ({"max_seconds": 1e-9}, TimeLimitError, "time ran out while biases were estimated"),
    ],
)
def test_what_is_not_meant_is_refused(given, error, said):
    draws = np.random.default_rng(19).standard_normal((200, 2))
    with pytest.raises(error, match=said):
        sk.estimate_bias(draws, **{"scores": -draws, **given})


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda x: (x, x), "the scores lead away from the draws' mean, as scores of the opposite sign do"),
        (lambda x: (x[:1], -x[:1]), "at least 8 draws, got 1"),
        (lambda x: (np.tile(x[:10], (1, 10)), -np.tile(x[:10], (1, 10))), "10 draws are too few for 20 coordinates"),
        (lambda x: (x * [1.0, 0.0], -x), "x2 is the same in all draws"),
        (lambda x: (np.where(x == x[3], np.nan, x), -x), "nan"),
        (lambda x: (x, np.where(x == x[3], np.nan, -x)), "nan"),
    ],
    ids=["sign", "one draw", "few draws", "constant", "NaN in draws", "NaN in scores"],
)
def test_bad_draws_are_refused(spoil, said):
    draws, scores = spoil(np.random.default_rng(20).standard_normal((200, 2)))
    with pytest.raises(InputError, match=said):
        sk.estimate_bias(draws, scores=scores)


def test_a_run_gives_up_in_time():
    def slow(x):
        time.sleep(0.02)
        return -0.5 * (x**4).sum(axis=1)

    target = sk.Target(lambda x: -2.0 * x**3, log_density=slow, dim=2)
    began = time.perf_counter()
    with pytest.raises(TimeLimitError):
        sk.estimate_bias(np.random.default_rng(21).standard_normal((200, 2)), target, method="run", max_seconds=0.05)
    assert time.perf_counter() - began < 5.0


def test_it_can_speak_and_list_itself():
    draws = 0.7 * np.random.default_rng(22).standard_normal((1000, 2)) + [0.5, 0.0]
    found = sk.estimate_bias(draws, PLANE)
    assert isinstance(found, sk.Result)
    document = found.to_dict()
    assert json.loads(json.dumps(document, allow_nan=False)) == document
    assert [row["name"] for row in document["quantities"]] == [found.names[k] for k in found.worst()]
    assert document["measure"] == "bias"
    assert document["value"] == pytest.approx(found.value)
    assert repr(found).startswith("<BiasEstimate by regression: ")
    assert "2 of 2 quantities reliable" in repr(found)
    assert "x1: mean 0.5" in found.summary()
    assert "too high" in found.summary()
    assert [line.split()[0] for line in found.table().splitlines() if line.split()[0] in found.names] == ["x1", "x2"]


def test_a_kept_estimate_is_read_again(tmp_path):
    found = sk.estimate_bias(skewed(23) * 0.5 - 0.5, log_gamma(3), method="run")
    found.save(tmp_path / "bias.json")
    again = sk.read_result(tmp_path / "bias.json")
    assert type(again) is type(found)
    assert again.to_dict() == found.to_dict()
    assert again.summary() == found.summary()
    assert (again.weights == found.weights).all()
    assert (again.moved.points == found.moved.points).all()


class TestFunctionsOfTheTarget:
    """exp(x) of a standard normal x: its mean is sqrt(e), its variance e (e - 1)."""

    @pytest.fixture
    def draws(self):
        return 0.2 + np.random.default_rng(4).standard_normal((2000, 2))

    def target(self, function=lambda x: np.exp(x[:, 0])):
        return sk.Target(
            lambda x: -x, log_density=lambda x: -0.5 * (x**2).sum(axis=1), dim=2, functions={"tau": function}
        )

    def test_the_verdict_tells_of_them(self, draws):
        found = sk.verdict(draws, self.target()).bias
        assert found.names == ("x1", "x2", "tau")
        assert abs(found.mean[2] - np.exp(0.5)) < found.mean_margin[2] * found.sd[2]
        assert abs(np.log(found.sd[2] ** 2 / (np.e * (np.e - 1.0)))) < 2.0 * found.sd_margin[2]
        assert found.mean_bias[2] > 0.05

    def test_those_of_a_call_stand_beside_them(self, draws):
        found = sk.estimate_bias(draws, self.target(), functions={"sum": lambda x: x.sum(axis=1)})
        assert found.names == ("x1", "x2", "tau", "sum")

    def test_one_that_never_changes_is_left_out_and_said(self, draws):
        found = sk.verdict(draws, self.target(lambda x: (x[:, 0] > 9.0).astype(float))).bias
        assert found.names == ("x1", "x2")
        assert found.warnings == ("tau never changes in the draws: no bias of it is told",)

    def test_one_that_fails_is_told_of(self, draws):
        with pytest.raises(sk.InputError, match="function 'tau' is nan at draw 1"):
            sk.verdict(draws, self.target(lambda x: np.full(len(x), np.nan)))


def test_draws_at_the_end_of_all_numbers_are_refused_without_a_warning_of_numpy():
    x = np.append(np.random.default_rng(1).normal(size=30), 1e308)[:, None]
    with pytest.raises(sk.InputError, match="overflow"):
        sk.estimate_bias(x, scores=-x)
    with pytest.raises(sk.InputError, match="the squares of scores overflow: rescale"):
        sk.estimate_bias(np.random.default_rng(1).normal(size=(120, 2)), sk.Target(score=lambda x: -1e300 * x))


def test_where_most_margins_are_too_wide_none_is_relied_on():
    def said(*errors):
        nothing, one = np.zeros(len(errors)), np.ones(len(errors))
        found = SimpleNamespace(
            mean=nothing, sd=one, mean_error=0.5 * np.array(errors), log_sd_error=nothing, explained=one
        )
        return _reason(found, SimpleNamespace(centre=nothing, scale=one), "", nothing > 0.0)

    assert said(0.1, 0.2, 0.5) == ("", "", "the margin is too wide")
    most = "the margins of most quantities are too wide"
    assert said(0.1, 0.4, 0.5) == (most, "the margin is too wide", "the margin is too wide")
    assert said(0.1, np.inf, np.nan)[0] == ""


def test_draws_far_narrower_than_the_target_have_a_document():
    draws = 1e-9 * np.random.default_rng(0).standard_normal((900, 1))
    document = sk.estimate_bias(draws, sk.targets.Normal()).to_dict()
    assert 0.0 < json.loads(json.dumps(document, allow_nan=False))["worth"] <= 900.1


def test_draws_whose_first_half_does_not_vary_in_a_coordinate_are_refused_or_nothing_is_reliable():
    """Rounding decides whether linear algebra fails."""

    def outcome(seed):
        draws = np.random.default_rng(seed).standard_normal((60, 2))
        draws[:, 0] = 1.0 + 1e-15 * np.where(np.arange(60) < 30, 0, np.arange(60))
        try:
            return str(sk.estimate_bias(draws, scores=-draws).reliable.any())
        except sk.InputError as error:
            return str(error)

    found = {outcome(seed) for seed in range(24)}
    assert found == {"False", "half of the draws hardly vary, so their bias cannot be told; run a longer chain"}


def banana(mean, seed, n=1000):
    """Draws of x1 ~ N(mean, 1), x2 ~ N(1.5 x1^2, .4^2), and the target, where that mean is 0."""
    rng = np.random.default_rng(seed)
    x = mean + rng.standard_normal(n)
    draws = np.column_stack([x, 1.5 * x**2 + 0.4 * rng.standard_normal(n)])

    def score(x):
        left = (x[:, 1] - 1.5 * x[:, 0] ** 2) / 0.16
        return np.column_stack([3.0 * x[:, 0] * left - x[:, 0], -left])

    def log_density(x):
        return -0.5 * x[:, 0] ** 2 - 0.5 * ((x[:, 1] - 1.5 * x[:, 0] ** 2) / 0.4) ** 2

    return draws, sk.Target(score, log_density=log_density, dim=2)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_shift_along_a_curved_ridge_is_seen(seed):
    draws, target = banana(0.3, seed)
    found = sk.estimate_bias(draws, target)
    assert found.mean_bias[0] == pytest.approx(draws[:, 0].mean(), abs=0.02)
    assert abs(found.mean_bias[0] - draws[:, 0].mean()) <= found.mean_margin[0] < 0.1
    assert found.reliable[0]


def test_a_quantity_that_features_do_not_explain_is_not_called_right():
    """Of x1 on a sine ridge they see nothing, be it off by .3 or not."""
    rng = np.random.default_rng(4)
    x = 0.3 + rng.standard_normal(1000)
    rng.standard_normal(1000)
    draws = np.column_stack([x, np.sin(2.0 * x) + 0.3 * rng.standard_normal(1000)])
    left = (draws[:, 1] - np.sin(2.0 * x)) / 0.09
    found = sk.estimate_bias(draws, scores=np.column_stack([2.0 * np.cos(2.0 * x) * left - x, -left]))
    assert not found.reliable[0]
    assert found.reason[0] == "its variation is not explained by the features, which cannot see its bias"


def test_the_margin_of_a_large_bias_includes_the_error_of_the_unit():
    """Draws five posterior sds away: the mean is known well, the sd that is the unit is not."""
    draws = 0.9 * (skewed(23) - MEAN) + MEAN + 0.25
    found = sk.estimate_bias(draws, log_gamma(3), method="regression")
    least = np.abs(found.mean_bias) * found.sd_margin
    assert (found.mean_margin >= least).all()
    assert (np.abs(found.mean_bias - (draws.mean(axis=0) - MEAN) / SD) <= found.mean_margin).all()


@pytest.mark.parametrize("agrees", [True, False])
def test_a_drift_that_contradicts_the_regression_takes_its_trust(agrees):
    """The second coordinate is .5 sd too high and falls back by 80 % of it, or stays."""
    draws = np.random.default_rng(24).standard_normal((1000, 2)) + np.array([0.0, 0.5])
    error, mixing = np.full(2, 0.03), np.full(2, 0.8)
    fall = np.array([0.0, -0.4 if agrees else 0.0])
    drift = Drift(fall, error, mixing, fall**2, error, mixing)
    prepared = ScoredSample.of(draws, PLANE)
    given = {"functions": {"sum": lambda x: x.sum(axis=1)}, "drift": drift}
    found = bias_of(prepared, **given)
    disagree = "the regression and an exact Markov kernel disagree"
    assert found.reason == (("",) * 3 if agrees else ("", disagree, disagree))
    by_run = bias_of(prepared, method="auto", **given)
    assert by_run.method == ("regression" if agrees else "run")
    assert by_run.reliable.all()


def test_quantities_that_may_be_off_by_much_are_not_called_right():
    """Skewed draws whose margins reach to .3 are known to be off, or not known."""
    for seed in range(5):
        found = sk.estimate_bias(0.7 * (skewed(seed) - MEAN) + MEAN - 0.2, scores=None, target=log_gamma(3))
        for off, margin in ((found.mean_bias, found.mean_margin), (found.sd_bias, found.sd_margin)):
            right = found.reliable & (np.abs(off) <= margin)
            assert (np.abs(off) + margin)[right].max(initial=0.0) < 0.31
