"""Mode weights of mixtures with known weights: estimates, tests, rejected input and reweighted draws."""

import json
import time
from dataclasses import replace

import numpy as np
import pytest
from support.modes import Mixture, Mode, two_modes

import steinkit as sk
from steinkit.diagnosis.bias.mode_weights import bias_of_mixture, estimates_in_modes


def z_scores(mixture, seeds, shares=None, n=600):
    """Return errors of the first mode's weight in standard errors, and p-values, for modes that are not too curved."""
    found = []
    for seed in seeds:
        points, labels = mixture.draw(n, np.random.default_rng([21, seed]), shares)
        try:
            result = sk.mode_weights(points, mixture.target, rng=seed)
        except sk.InputError as error:
            if "too curved" not in str(error):
                raise
            continue
        assert len(result.shares) == len(mixture.modes)
        k = int(np.bincount(result.labels[labels == 0]).argmax())
        found.append(((result.shares[k] - mixture.shares[0]) / (result.margins[k] / 2.0), result.p))
    return np.array(found).T


@pytest.mark.parametrize(
    "mixture",
    [
        two_modes(1, share=0.3),
        two_modes(2, separation=400.0),
        two_modes(6, separation=8.0),
        two_modes(5, df=5.0),
        two_modes(2, separation=14.0, share=0.1, bend=0.7),
        Mixture(
            tuple(Mode(np.array(c), np.ones(2) * s) for c, s in (((0, 0), 1), ((9, 0), 0.5), ((0, 12), 2.0))),
            np.array([0.6, 0.3, 0.1]),
        ),
    ],
    ids=["line", "far", "six", "t", "bananas", "three"],
)
def test_weights_are_within_their_margins_for_any_proportions_of_the_draws(mixture):
    """In 999 of 1000 cases, at most a quarter of normal z-scores exceed 2, and none exceeds 4.5.

    A region may contain an arm of another banana. A few such samples are rejected.
    """
    equal = np.full(len(mixture.modes), 1.0 / len(mixture.modes))
    exact, _ = z_scores(mixture, range(6))
    others, p = z_scores(mixture, range(6), equal)
    z = np.abs(np.concatenate([exact, others]))
    assert len(z) == 12 or (mixture.modes[0].bend and len(z) >= 8)
    assert np.mean(z >= 2.0) <= 0.25
    assert z.max() < 4.5
    if not np.allclose(mixture.shares, equal):
        assert (p < 0.01).all()


THREE = Mixture(tuple(Mode(np.array([9.0 * k, 0.0]), np.ones(2)) for k in range(3)), np.array([0.4, 0.3, 0.3]))


@pytest.mark.parametrize("mixture", [two_modes(2), THREE], ids=["two", "three"])
def test_p_values_of_exact_draws_are_uniform(mixture):
    """Of 30 p-values, at most 5 are below .05 in 996 of 1000 cases."""
    _, p = z_scores(mixture, range(30), n=400)
    assert (p < 0.05).sum() <= 5
    assert 0.33 < np.mean(p) < 0.67


def test_wrong_proportions_are_rejected_in_twenty_dimensions():
    _, p = z_scores(two_modes(20, separation=12.0), range(5), [0.6, 0.4], n=1000)
    assert (p < 0.05).sum() >= 4


def test_slow_crossings_widen_the_test():
    """The same draws in the order of a chain that crosses every 25 draws."""
    mixture = two_modes(2)
    points, labels = mixture.draw(1000, np.random.default_rng(3), [0.56, 0.44])
    runs = [np.flatnonzero(labels == k) for k in (0, 1)]
    blocks = [block for pair in zip(*(np.array_split(rows, 20) for rows in runs), strict=True) for block in pair]
    slow, fast = (sk.mode_weights(x, mixture.target) for x in (points[np.concatenate(blocks)], points))
    assert fast.p < 0.01 < 0.05 < slow.p
    assert slow.shares == pytest.approx(fast.shares, abs=0.02)
    assert slow.effective_draws < 0.2 * fast.effective_draws


def test_chains_that_never_cross_are_reweighted():
    """Three chains in a mode with weight .2, and one in the other."""
    mixture, rng = two_modes(3, share=0.2), np.random.default_rng(4)
    chains = np.stack([mixture.chain_in(k, 400, rng) for k in (0, 0, 0, 1)])
    found = sk.mode_weights(chains, mixture.target)
    assert found.p is None
    assert found.draws_shares == pytest.approx([0.75, 0.25])
    assert found.shares[0] == pytest.approx(0.2, abs=2.0 * found.margins[0])
    assert found.margins[0] < 0.02
    assert found.weights @ found.reweighted.points[:, 0] == pytest.approx(8.0, abs=0.2)
    assert found.reweighted.probabilities.sum() == pytest.approx(1.0)
    assert np.bincount(found.labels).tolist() == [1200, 400]


def test_repeated_draws_keep_their_weights():
    """One chain of three is given twice, so its mode has two thirds of the draws and half of the weight."""
    first, second = np.random.default_rng(5).standard_normal((2, 200, 2))
    target = sk.targets.GaussianMixture([[0.0, 0.0], [8.0, 0.0]], sd=1.0)
    found = sk.mode_weights(np.stack([first, second + np.array([8.0, 0.0]), first]), target)
    assert sorted(found.draws_shares) == pytest.approx([1 / 3, 2 / 3])
    assert len(found.labels) == len(found.weights) == 600
    assert found.weights[found.labels == 0].sum() == pytest.approx(found.shares[0])
    assert found.shares == pytest.approx([0.5, 0.5], abs=0.02)


def hardly_explored():
    mixture, rng = two_modes(2), np.random.default_rng(14)
    drift = np.cumsum(0.05 * rng.standard_normal((400, 2)), axis=0)
    return mixture, np.concatenate([mixture.chain_in(1, 400, rng), drift])


def wrong_within_a_mode(dim):
    """One mode is too wide. The bridge alone would estimate 45:55 with a small error."""
    mixture = two_modes(dim, separation=20.0)
    points, labels = mixture.draw(1000, np.random.default_rng([24, dim]))
    points[labels == 0] *= 1.5
    return mixture, points


def with_few_draws():
    mixture = two_modes(1)
    return mixture, mixture.draw(600, np.random.default_rng(13), [0.97, 0.03])[0]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (hardly_explored, "effective draws in its slowest mixing direction"),
        (lambda: wrong_within_a_mode(2), r"near \(x1 = .* do not come from the target"),
        (lambda: wrong_within_a_mode(6), r"near \(x1 = .* do not come from the target"),
        (with_few_draws, r"one of 2 modes has \d+ draws"),
    ],
)
def test_modes_without_reliable_weights_are_rejected(make, message):
    mixture, points = make()
    with pytest.raises(sk.InputError, match=message):
        sk.mode_weights(points, mixture.target)


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({}, sk.InputError, "do not split into modes"),
        ({"target": sk.Target(lambda x: -x, dim=2)}, sk.UsageError, "a target with a log density"),
        ({"draws": sk.Sample(np.zeros((60, 2)), np.arange(60.0))}, sk.UsageError, "without weights"),
    ],
)
def test_unusable_input_is_rejected(given, error, message):
    points = np.random.default_rng(20).standard_normal((500, 2))
    with pytest.raises(error, match=message):
        sk.mode_weights(**{"draws": points, "target": sk.targets.Normal([0.0, 0.0])} | given)


def test_a_mode_of_two_repeated_points_is_rejected():
    centre = np.array([20.0, 0.0])
    target = sk.targets.GaussianMixture([[0.0, 0.0], centre])
    points = np.repeat([[1.0, 1.0], [-1.0, -1.0]], 100, axis=0)
    draws = np.vstack([np.random.default_rng(0).standard_normal((200, 2)), centre + points])
    with pytest.raises(sk.InputError, match="do not span the space"):
        sk.mode_weights(draws, target)


def test_modes_that_nearly_touch_are_rejected_or_accurate():
    mixture, rejected, p = two_modes(2, separation=4.0, share=0.4), 0, []
    for seed in range(8):
        points, _ = mixture.draw(1000, np.random.default_rng([10, seed]))
        try:
            found = sk.mode_weights(points, mixture.target)
        except sk.InputError:
            rejected += 1
            continue
        k = int(found.centres[:, 0].argmin())
        # probability of the region, which differs from that of the component
        assert found.shares[k] == pytest.approx(0.4, abs=0.08)
        p.append(found.p)
    assert rejected + sum(each > 0.01 for each in p) >= 7


def test_draws_on_a_saddle_neither_join_modes_nor_form_one():
    target = sk.targets.MixturePosterior()
    found = sk.mode_weights(target.sample(2000, np.random.default_rng(15)), target)
    assert len(found.shares) == 2
    assert found.p > 0.01


def test_evaluations_are_counted_and_bounded():
    mixture, calls = two_modes(2), []
    counted = sk.Target(mixture.score, log_density=lambda x: calls.append(len(x)) or mixture.log_density(x), dim=2)
    counted.score_is_checked = True  # the check requires additional evaluations
    found = sk.mode_weights(mixture.draw(1000, np.random.default_rng(16))[0], counted)
    assert sum(calls) == found.evaluations <= 3 * 1000 + 16 + 2 * 1000
    assert max(calls) <= 1000


def test_time_limit_is_kept():
    mixture = two_modes(2)

    def slow(x):
        time.sleep(0.05)
        return mixture.log_density(x)

    points, _ = mixture.draw(3000, np.random.default_rng(17))
    with pytest.raises(sk.TimeLimitError):
        sk.mode_weights(points, sk.Target(mixture.score, log_density=slow, dim=2), max_seconds=0.1)


def test_result_depends_on_the_seed_alone():
    mixture = two_modes(2)
    points, _ = mixture.draw(600, np.random.default_rng(0))
    one, same, other = (sk.mode_weights(points, mixture.target, rng=seed) for seed in (0, 0, 1))
    assert one.to_dict() == same.to_dict()
    assert one.shares[0] != other.shares[0]


def test_density_is_evaluated_within_the_bounds_only():
    from scipy.stats import beta

    low, high = beta(3.0, 60.0), beta(60.0, 3.0)

    def density(x):
        assert ((x > 0.0) & (x < 1.0)).all()
        return np.log(0.25 * low.pdf(x[:, 0]) + 0.75 * high.pdf(x[:, 0]))

    def score(x):
        p, q = 0.25 * low.pdf(x), 0.75 * high.pdf(x)
        return (p * (2.0 / x - 59.0 / (1.0 - x)) + q * (59.0 / x - 2.0 / (1.0 - x))) / (p + q)

    target = sk.Target(score, log_density=density, bounds=[(0.0, 1.0)])
    rng = np.random.default_rng(18)
    points = np.concatenate([low.rvs(500, random_state=rng), high.rvs(500, random_state=rng)])[rng.permutation(1000)]
    found = sk.mode_weights(points, target)
    k = int(found.centres[:, 0].argmin())
    assert found.shares[k] == pytest.approx(0.25, abs=2.0 * found.margins[k])
    assert found.p < 1e-6


def test_undefined_density_counts_as_zero():
    mixture = two_modes(1)
    points = mixture.draw(600, np.random.default_rng(19))[0]
    found = [
        sk.mode_weights(
            points[points[:, 0] > -1.2],
            sk.Target(
                mixture.score,
                log_density=lambda x, hole=hole: np.where(x[:, 0] < -1.2, hole, mixture.log_density(x)),
                dim=1,
            ),
        )
        for hole in (np.nan, -np.inf)
    ]
    assert found[0].shares.tolist() == found[1].shares.tolist()


def test_result_is_json():
    mixture = two_modes(2)
    points, _ = mixture.draw(1000, np.random.default_rng(22), [0.72, 0.28])
    found = sk.mode_weights(sk.Sample(points, names=("mu", "tau")), mixture.target)
    document = found.to_dict()
    assert json.loads(json.dumps(document, allow_nan=False)) == document
    assert list(document) == ["modes", "p", "draws", "effective_draws", "evaluations"]
    assert list(document["modes"][0]) == ["share", "margin", "draws_share", "centre"]
    assert list(document["modes"][0]["centre"]) == ["mu", "tau"]
    assert "mu = " in found.summary()
    (ax,) = found.plot().axes
    assert ax.lines[0].get_xdata() == pytest.approx(found.draws_shares)
    assert ax.containers[0][0].get_xdata() == pytest.approx(found.shares)


def test_mixture_with_a_single_weight_has_the_biases_of_that_mode():
    mixture = two_modes(2)
    points, _ = mixture.draw(1000, np.random.default_rng(9))
    found = sk.mode_weights(points, mixture.target)
    parts = estimates_in_modes(sk.as_sample(points), mixture.target, None, found)
    for k, part in enumerate(parts):
        alone = bias_of_mixture(parts, replace(found, shares=np.eye(2)[k], margins=np.zeros(2)), weighted=True)
        for name in ("mean", "sd", "mean_margin", "sd_margin"):
            np.testing.assert_allclose(getattr(alone, name), getattr(part, name), rtol=1e-9)
