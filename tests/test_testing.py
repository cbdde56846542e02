"""Draws against a target, and samplers against standard targets."""

import numpy as np
import pytest
from scipy import stats
from support.autoregressions import autoregression

import steinkit as sk
from steinkit.errors import UsageError
from steinkit.testing import StandardTarget, assert_draws_from, check_sampler, standard_targets

STANDARD = standard_targets()


def ring(rng, n, radius=4.0, width=0.5):
    """Draw radii with a density proportional to r exp(-(r - radius)^2 / (2 width^2)) by rejection."""
    r = radius + width * rng.standard_normal(8 * n)
    r = r[(r > 0.0) & (8.0 * rng.random(len(r)) < r)][:n]
    angle = rng.uniform(0.0, 2.0 * np.pi, n)
    return np.column_stack([r * np.cos(angle), r * np.sin(angle)])


def correlated(rng, n):
    return autoregression(rng.standard_normal((n, 5)).T, 0.9).T


def banana(rng, n):
    x = rng.standard_normal((n, 2))
    return np.column_stack([x[:, 0], x[:, 0] ** 2 + 0.5 * x[:, 1]])


def funnel(rng, n):
    x = rng.standard_normal((n, 3))
    return np.column_stack([x[:, 0], x[:, 1:] * np.exp(0.5 * x[:, :1])])


EXACT = {
    "normal": lambda rng, n: [1.0, -2.0] + [1.0, 2.0] * rng.standard_normal((n, 2)),
    "correlated": correlated,
    "scales": lambda rng, n: [0.01, 1.0, 100.0] * rng.standard_normal((n, 3)),
    "heavy tails": lambda rng, n: rng.standard_normal((n, 2)) / np.sqrt(rng.chisquare(5.0, (n, 1)) / 5.0),
    "positive": lambda rng, n: rng.gamma([2.0, 5.0], [1.0, 0.5], (n, 2)),
    "interval": lambda rng, n: rng.beta([2.0, 5.0], [3.0, 2.0], (n, 2)),
    "two modes": lambda rng, n: rng.standard_normal((n, 2)) + np.outer(rng.choice([-1.5, 1.5], n), [1.0, 0.0]),
    "banana": banana,
    "funnel": funnel,
    "ring": ring,
    "ordered": lambda rng, n: np.sort(rng.standard_normal((n, 2)), axis=1),
}


def exact(target, start, seed, draws=1000):
    name = next(name for name, each in STANDARD.items() if type(each.target) is type(target) and same(each, target))
    return EXACT[name](np.random.default_rng(seed), draws)


def same(standard, target):
    """Return whether two targets have the same score at a few points."""
    if standard.target.dim != target.dim:
        return False
    points = standard.start + 0.1 * standard.sd * np.random.default_rng(0).uniform(-1.0, 1.0, (5, target.dim))
    return np.array_equal(standard.target.log_density(points), target.log_density(points))


@pytest.mark.parametrize("name", STANDARD)
def test_moments_are_those_of_independent_draws(name):
    draws = EXACT[name](np.random.default_rng(3), 200_000)
    standard = STANDARD[name]
    assert draws.mean(axis=0) == pytest.approx(standard.mean, abs=5.0 * standard.sd.max() / np.sqrt(len(draws)))
    assert draws.std(axis=0) == pytest.approx(standard.sd, rel=0.03)
    assert np.isfinite(standard.target.log_density(standard.start[None])).all()


@pytest.mark.parametrize("name", STANDARD)
def test_scores_are_gradients(name):
    standard = STANDARD[name]
    standard.target.check(EXACT[name](np.random.default_rng(4), 5))


def test_exact_draws_pass_on_all_standard_targets():
    found = check_sampler(exact)
    assert found.passed, found.summary()
    assert [each.name for each in found.checked] == list(STANDARD)
    assert max(each.mean_error for each in found.checked) < 0.15
    assert found.summary().startswith("No bias was found on 11 targets at level 0.001.")


@pytest.mark.parametrize(
    ("name", "defect"),
    [
        ("normal", lambda x: 1.2 * x),
        ("correlated", lambda x: x[:, ::-1] * [1.0, -1.0, 1.0, 1.0, 1.0]),
        ("heavy tails", lambda x: x / np.maximum(1.0, np.abs(x) / 3.0)),
        ("positive", lambda x: x + 0.3),
        ("funnel", lambda x: x[x[:, 0] > -1.0]),
        ("ring", lambda x: x[np.random.default_rng(1).random(len(x)) < 0.5 + 0.1 * x[:, 0]]),
        ("ordered", lambda x: x + 0.2),
    ],
)
def test_defects_are_found(name, defect):
    found = check_sampler(lambda *args, **options: defect(np.asarray(exact(*args, **options))), [name], draws=2000)
    assert not found.passed
    assert found.checked[0].label == "biased"
    assert found.summary().startswith(f"Biased: {name}.")


def test_sampler_that_raises_has_failed_on_that_target_only():
    def sample(target, start, seed):
        if target.bounds is not None:
            raise ValueError("bounds are not supported")
        return exact(target, start, seed)

    found = check_sampler(sample, ["normal", "positive"])
    assert [each.label for each in found.checked] == ["no bias seen", "failed"]
    assert "Failed: positive." in found.summary()
    assert "ValueError: bounds are not supported" in found.table()
    assert not found.passed


def test_too_few_draws_do_not_pass():
    found = check_sampler(exact, "normal", draws=50)
    assert found.checked[0].label == "too few draws"
    assert not found.passed


def test_every_target_has_a_seed_of_its_own_and_results_repeat():
    seeds = []

    def sample(target, start, seed):
        seeds.append(seed)
        return exact(target, start, seed)

    names = ["normal", "banana"]
    first, second = check_sampler(sample, names, rng=3), check_sampler(sample, names, rng=3)
    assert seeds[0] != seeds[1]
    assert seeds[:2] == seeds[2:]
    assert [each.verdict.p for each in first.checked] == [each.verdict.p for each in second.checked]


def test_own_targets():
    own = {"mine": StandardTarget(sk.targets.Normal([3.0]), np.array([3.0]), np.array([3.0]), np.array([1.0]))}
    found = check_sampler(lambda target, start, seed: start + stats.norm.rvs(size=(500, 1), random_state=seed), own)
    assert found.passed
    assert found.checked[0].name == "mine"


@pytest.mark.parametrize(
    ("targets", "level", "message"),
    [
        (["bananas"], 0.01, "bananas"),
        ([], 0.01, "at least one target"),
        (["normal"], -1.0, "level"),
        (["normal"], 2.0, "level"),
    ],
)
def test_invalid_arguments_are_refused(targets, level, message):
    with pytest.raises(UsageError, match=message):
        check_sampler(exact, targets, level=level)


@pytest.mark.filterwarnings("error")
def test_warnings_of_the_verdict_are_not_failures():
    assert check_sampler(exact, ["ordered"]).passed


def test_assertion_states_the_finding():
    draws = np.random.default_rng(1).standard_normal((1000, 2))
    target = sk.targets.Normal([0.0, 0.0])
    assert_draws_from(draws, target)
    with pytest.raises(AssertionError, match="x2 is too high"):
        assert_draws_from(draws + np.array([0.0, 0.5]), target)
    with pytest.raises(AssertionError, match="at least 100 are needed"):
        assert_draws_from(draws[:40], target)
