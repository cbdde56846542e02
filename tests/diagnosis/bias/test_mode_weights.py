"""Mode weights against mixtures whose shares are known: found, tested, refused, and the draws mended."""

import json
from dataclasses import replace

import numpy as np
import pytest
from support.modes import Mixture, Mode, two_modes

import steinkit as sk
from steinkit.diagnosis.bias import mode_groups
from steinkit.diagnosis.bias.mode_weights import bias_of_mixture, estimates_in_modes


def z_scores(mixture, seeds, shares=None, n=600):
    """Errors of the first mode's share in standard errors, and the p-values, where modes are not too curved."""
    found = []
    for seed in seeds:
        points, labels = mixture.draw(n, np.random.default_rng([21, seed]), shares)
        try:
            result = sk.mode_weights(points, mixture.target, rng=seed)
        except sk.InputError as refused:
            if "nearest to one mode belong to another" not in str(refused):
                raise
            continue
        assert len(result.shares) == len(mixture.modes)
        first = result.labels[labels == 0]
        k = int(np.bincount(first).argmax())
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
def test_shares_are_right_to_their_margins_whatever_those_of_the_draws(mixture):
    """Of normal z-scores at most a quarter lies beyond 2 in 999 of 1000 cases, and none beyond 4.5.

    Of bananas a region may cut off an arm of the other: such samples are refused, a few of them.
    """
    equal = np.full(len(mixture.modes), 1.0 / len(mixture.modes))
    own, _ = z_scores(mixture, range(6))
    others, p = z_scores(mixture, range(6), equal)
    z = np.abs(np.concatenate([own, others]))
    assert len(z) == 12 or (mixture.modes[0].bend and len(z) >= 8)
    assert np.mean(z >= 2.0) <= 0.25
    assert z.max() < 4.5
    if not np.allclose(mixture.shares, equal):
        assert (p < 0.01).all()


def test_right_draws_are_rejected_as_often_as_is_said():
    """Of 60 at .05, from 0 to 8 are in 995 of 1000 cases; p-values are not crowded at either end."""
    _, p = z_scores(two_modes(2), range(60), n=400)
    assert (p < 0.05).sum() <= 8
    assert 0.3 < np.mean(p) < 0.7


def test_right_draws_of_three_modes_are_rejected_no_more_often():
    three = Mixture(tuple(Mode(np.array([9.0 * k, 0.0]), np.ones(2)) for k in range(3)), np.array([0.4, 0.3, 0.3]))
    _, p = z_scores(three, range(60), n=400)
    assert (p < 0.05).sum() <= 8
    assert 0.38 < np.mean(p) < 0.62


def test_every_draw_is_bridged_once(monkeypatch):
    bridged, bridge = [], mode_groups.bridge

    def watched(at_draws, *others):
        bridged.append(at_draws)
        return bridge(at_draws, *others)

    monkeypatch.setattr(mode_groups, "bridge", watched)
    mixture = two_modes(2)
    sk.mode_weights(mixture.draw(600, np.random.default_rng(5))[0], mixture.target)
    assert len(bridged) == 4
    assert len(np.unique(np.concatenate(bridged))) == sum(map(len, bridged)) == 600


def test_shares_of_60_to_40_are_found_in_twenty_dimensions():
    _, p = z_scores(two_modes(20, separation=12.0), range(5), [0.6, 0.4], n=1000)
    assert (p < 0.05).sum() >= 4


def test_slow_crossings_widen_the_test():
    """The same draws in the order in which a chain that crosses every 25 draws has them: 62:38 is then chance."""
    mixture = two_modes(2)
    points, labels = mixture.draw(1000, np.random.default_rng(3), [0.56, 0.44])
    runs = [np.flatnonzero(labels == k) for k in (0, 1)]
    blocks = [block for pair in zip(*(np.array_split(rows, 20) for rows in runs), strict=True) for block in pair]
    slow, quick = (sk.mode_weights(x, mixture.target) for x in (points[np.concatenate(blocks)], points))
    assert quick.p < 0.01 < 0.05 < slow.p
    assert slow.shares == pytest.approx(quick.shares, abs=0.02)
    assert slow.effective_draws < 0.2 * quick.effective_draws


def test_chains_that_never_cross_are_stacked_by_the_shares():
    """Three chains in a mode of share .2, one in the other: weighted means are the mixture's."""
    mixture, rng = two_modes(3, share=0.2), np.random.default_rng(4)
    chains = np.stack([mixture.chain_in(k, 400, rng) for k in (0, 0, 0, 1)])
    found = sk.mode_weights(chains, mixture.target)
    assert found.p is None
    assert found.draws_shares == pytest.approx([0.75, 0.25])
    assert found.shares[0] == pytest.approx(0.2, abs=2.0 * found.margins[0])
    assert found.margins[0] < 0.02
    assert found.weights @ found.reweighted.points[:, 0] == pytest.approx(8.0, abs=0.2)
    assert found.reweighted.probabilities.sum() == pytest.approx(1.0)
    assert "cross too seldom" in found.summary()
    assert np.bincount(found.labels.reshape(4, 400).ravel()).tolist() == [1200, 400]


def test_labels_that_are_given_keep_their_order():
    mixture = two_modes(2, share=0.3)
    points, labels = mixture.draw(800, np.random.default_rng(5), [0.5, 0.5])
    named = np.where(labels == 0, "b", "a")
    found = sk.mode_weights(points, mixture.target, labels=named)
    assert found.shares == pytest.approx([0.7, 0.3], abs=0.03)
    assert (found.labels == np.where(named == "a", 0, 1)).all()
    sought = sk.mode_weights(points, mixture.target)
    assert np.sort(found.shares) == pytest.approx(np.sort(sought.shares), abs=0.02)


def test_labels_in_chains_have_the_shape_of_the_draws():
    mixture = two_modes(1)
    points, labels = mixture.draw(800, np.random.default_rng(6))
    found = sk.mode_weights(points.reshape(2, 400, 1), mixture.target, labels=labels.reshape(2, 400))
    assert (found.labels == labels).all()


def test_one_mode_has_no_shares():
    points = np.random.default_rng(7).standard_normal((500, 2))
    with pytest.raises(sk.InputError, match="do not fall into groups"):
        sk.mode_weights(points, sk.targets.Normal([0.0, 0.0]))


@pytest.mark.parametrize("separation", [1.0, 2.0])
def test_labels_of_what_is_one_mode_are_refused(separation):
    mixture = two_modes(2, separation=separation)
    points, labels = mixture.draw(800, np.random.default_rng(8))
    with pytest.raises(sk.InputError, match=r"the modes overlap: .* give the two the same label"):
        sk.mode_weights(points, mixture.target, labels=labels)


def test_labels_that_do_not_tell_modes_apart_are_refused():
    mixture = two_modes(2)
    points, labels = mixture.draw(800, np.random.default_rng(9))
    labels[:60] = 1 - labels[:60]
    with pytest.raises(sk.InputError, match="of label 0 lie where those of 1 are denser"):
        sk.mode_weights(points, mixture.target, labels=labels)


def test_modes_that_nearly_touch_are_refused_or_right():
    mixture, refused, p = two_modes(2, separation=4.0, share=0.4), 0, []
    for seed in range(8):
        points, _ = mixture.draw(1000, np.random.default_rng([10, seed]))
        try:
            found = sk.mode_weights(points, mixture.target)
        except sk.InputError:
            refused += 1
            continue
        k = int(found.centres[:, 0].argmin())
        assert found.shares[k] == pytest.approx(0.4, abs=0.08)  # the border is a region's, not the component's
        p.append(found.p)
    assert refused + sum(each > 0.01 for each in p) >= 7


def test_a_mode_curved_beyond_the_proposal_is_refused():
    mixture = two_modes(2, separation=300.0, bend=12.0)
    points, labels = mixture.draw(400, np.random.default_rng(12))
    with pytest.raises(sk.InputError, match="curved far beyond a t distribution"):
        sk.mode_weights(points, mixture.target, labels=labels)


def test_few_draws_of_a_mode_are_refused():
    mixture = two_modes(1)
    points, _ = mixture.draw(600, np.random.default_rng(13), [0.97, 0.03])
    with pytest.raises(sk.InputError, match=r"one of 2 modes has \d+ draws, where 30 are wanted"):
        sk.mode_weights(points, mixture.target)


def test_a_mode_that_is_hardly_explored_is_refused():
    mixture, rng = two_modes(2), np.random.default_rng(14)
    drift = np.cumsum(0.05 * rng.standard_normal((400, 2)), axis=0)
    points = np.concatenate([mixture.chain_in(1, 400, rng), drift])
    with pytest.raises(sk.InputError, match="effective draws of what changes slowest in it"):
        sk.mode_weights(points, mixture.target, labels=np.repeat([0, 1], 400))


@pytest.mark.parametrize("dim", [2, 6])
def test_draws_that_are_wrong_within_a_mode_are_refused(dim):
    """One mode 1.5 times too wide: the bridge would say 45:55 and be sure of it."""
    mixture = two_modes(dim, separation=20.0)
    points, labels = mixture.draw(1000, np.random.default_rng([24, dim]))
    points[labels == 0] *= 1.5
    with pytest.raises(
        sk.InputError, match=r"in the mode about \(x1 = .*\) the draws are not the target's: .*; mend the sampler first"
    ):
        sk.mode_weights(points, mixture.target)


def test_stragglers_on_a_saddle_neither_join_modes_nor_make_one():
    """Right draws of the mixture's posterior, some of them between its two modes."""
    target = sk.targets.MixturePosterior()
    points = target.sample(2000, np.random.default_rng(15))
    found = sk.mode_weights(points, target)
    assert len(found.shares) == 2
    assert found.p > 0.01


def test_the_evaluations_are_counted_and_bounded():
    mixture, calls = two_modes(2), []
    counted = sk.Target(mixture.score, log_density=lambda x: calls.append(len(x)) or mixture.log_density(x), dim=2)
    counted.score_is_checked = True  # which takes evaluations of its own
    points, _ = mixture.draw(1000, np.random.default_rng(16))
    found = sk.mode_weights(points, counted)
    assert sum(calls) == found.evaluations <= 3 * 1000 + 16 + 2 * 1000
    assert max(calls) <= 1000


def test_the_deadline_is_kept():
    mixture = two_modes(2)

    def slow(x):
        import time

        time.sleep(0.05)
        return mixture.log_density(x)

    points, _ = mixture.draw(3000, np.random.default_rng(17))
    with pytest.raises(sk.TimeLimitError):
        sk.mode_weights(points, sk.Target(mixture.score, log_density=slow, dim=2), max_seconds=0.1)


def test_the_seed_decides_and_is_not_that_of_the_draws():
    mixture = two_modes(2)
    points, _ = mixture.draw(600, np.random.default_rng(0))
    one, same, other = (sk.mode_weights(points, mixture.target, rng=seed) for seed in (0, 0, 1))
    assert one.to_dict() == same.to_dict()
    assert one.shares[0] != other.shares[0]


def test_a_bounded_support_is_kept():
    """Two bumps on the unit interval, of which the proposals would leave it: the density is asked inside only."""
    from scipy.stats import beta

    low, high = beta(3.0, 60.0), beta(60.0, 3.0)

    def density(x):
        assert ((x > 0.0) & (x < 1.0)).all()
        return np.log(0.25 * low.pdf(x[:, 0]) + 0.75 * high.pdf(x[:, 0]))

    def score(x):
        def part(share, of, a, b):
            return share * of.pdf(x), share * of.pdf(x) * ((a - 1.0) / x - (b - 1.0) / (1.0 - x))

        (p, dp), (q, dq) = part(0.25, low, 3.0, 60.0), part(0.75, high, 60.0, 3.0)
        return (dp + dq) / (p + q)

    target = sk.Target(score, log_density=density, bounds=[(0.0, 1.0)])
    rng = np.random.default_rng(18)
    points = np.concatenate([low.rvs(500, random_state=rng), high.rvs(500, random_state=rng)])[rng.permutation(1000)]
    found = sk.mode_weights(points, target)
    k = int(found.centres[:, 0].argmin())
    assert found.shares[k] == pytest.approx(0.25, abs=2.0 * found.margins[k])
    assert found.p < 1e-6


def test_where_the_density_is_not_a_number_it_is_zero():
    mixture = two_modes(1)
    with_hole = sk.Target(
        mixture.score, log_density=lambda x: np.where(x[:, 0] < -1.2, np.nan, mixture.log_density(x)), dim=1
    )
    points, _ = mixture.draw(600, np.random.default_rng(19))
    cut = sk.Target(
        mixture.score, log_density=lambda x: np.where(x[:, 0] < -1.2, -np.inf, mixture.log_density(x)), dim=1
    )
    found, wanted = (sk.mode_weights(points[points[:, 0] > -1.2], target) for target in (with_hole, cut))
    assert found.shares.tolist() == wanted.shares.tolist()


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"labels": [0, 1]}, sk.UsageError, "labels must be 60 whole numbers or names"),
        ({"labels": np.linspace(0.0, 1.0, 60)}, sk.UsageError, "labels must be 60 whole numbers or names"),
        ({"labels": np.zeros(60, dtype=int)}, sk.InputError, "labels must name 2 to 10 modes; received 1"),
        ({"target": sk.Target(lambda x: -x, dim=2)}, sk.UsageError, "has no log density"),
        ({"draws": sk.Sample(np.zeros((60, 2)), np.arange(60.0))}, sk.UsageError, "carry weights"),
    ],
)
def test_what_cannot_be_is_refused(given, error, message):
    points = np.random.default_rng(20).standard_normal((60, 2))
    arguments = {"draws": points, "target": sk.targets.Normal([0.0, 0.0])} | given
    with pytest.raises(error, match=message):
        sk.mode_weights(**arguments)


def test_the_result_speaks_and_is_json():
    mixture = two_modes(2)
    points, _ = mixture.draw(1000, np.random.default_rng(22), [0.72, 0.28])
    found = sk.mode_weights(sk.Sample(points, names=("mu", "tau")), mixture.target)
    document = found.to_dict()
    assert json.loads(json.dumps(document, allow_nan=False)) == document
    assert list(document) == ["modes", "p", "draws", "effective_draws", "evaluations"]
    assert list(document["modes"][0]) == ["share", "margin", "draws_share", "centre"]
    assert list(document["modes"][0]["centre"]) == ["mu", "tau"]
    assert found.summary().startswith("Modes 7")
    assert "mu = " in found.summary()
    assert repr(found).startswith("<ModeWeights: 7")
    assert len(found.plot().axes) == 1


def test_the_picture_shows_both_shares_of_every_mode():
    mixture = two_modes(1)
    points, _ = mixture.draw(600, np.random.default_rng(23), [0.3, 0.7])
    found = sk.mode_weights(points, mixture.target)
    (ax,) = found.plot().axes
    assert ax.lines[0].get_xdata() == pytest.approx(found.draws_shares)
    assert ax.containers[0][0].get_xdata() == pytest.approx(found.shares)
    assert len(ax.get_yticklabels()) == 2


def test_a_mixture_of_which_one_mode_has_all_has_the_margins_of_that_mode():
    mixture = two_modes(2)
    points, _ = mixture.draw(1000, np.random.default_rng(9))
    found = sk.mode_weights(points, mixture.target)
    parts = estimates_in_modes(sk.as_sample(points), mixture.target, None, found)
    for k, part in enumerate(parts):
        alone = bias_of_mixture(parts, replace(found, shares=np.eye(2)[k], margins=np.zeros(2)), weighted=True)
        for name in ("mean", "sd", "mean_margin", "sd_margin"):
            np.testing.assert_allclose(getattr(alone, name), getattr(part, name), rtol=1e-9)


def test_draws_that_come_again_keep_their_weights():
    """One chain of three is given twice: its draws have two thirds of the weight, and half of it is right."""
    rng = np.random.default_rng(5)
    first, second = rng.standard_normal((2, 200, 2))
    target = sk.targets.GaussianMixture([[0.0, 0.0], [8.0, 0.0]], sd=1.0)
    found = sk.mode_weights(np.stack([first, second + np.array([8.0, 0.0]), first]), target)
    assert sorted(found.draws_shares) == pytest.approx([1 / 3, 2 / 3])
    assert len(found.labels) == len(found.weights) == 600
    assert found.weights[found.labels == 0].sum() == pytest.approx(found.shares[0])
    assert found.shares == pytest.approx([0.5, 0.5], abs=0.02)
