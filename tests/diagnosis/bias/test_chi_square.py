"""A lower estimate of chi^2(P | Q): about zero for right draws, and near it where it is known."""

import numpy as np
import pytest
from support.bias_samples import operand

from steinkit.diagnosis.bias.stein_regression import Frame, chi_square
from steinkit.errors import InputError


def of_normal(points):
    return chi_square(operand(points, -points))


@pytest.mark.parametrize(("n", "dim"), [(1000, 2), (400, 20), (300, 100)])
def test_of_right_draws_it_is_small(n, dim):
    found = [of_normal(np.random.default_rng([dim, k]).standard_normal((n, dim))) for k in range(12)]
    assert np.mean(found) < 2.0 * np.sqrt(4.0 * dim) / (n / 2.0)  # the noise of so many products of means


def test_draws_of_which_a_half_never_moves_are_refused_or_judged():
    refused = 0
    for seed in range(30):
        points, scores = (
            np.repeat(each, [21, 7], axis=0) for each in np.random.default_rng(seed).normal(size=(2, 2, 2))
        )
        try:
            assert chi_square(operand(points, scores)) >= 0.0
        except InputError as error:
            refused += "hardly vary" in str(error)
    assert refused > 0


@pytest.mark.parametrize("shift", [0.3, 0.6])
def test_of_a_shifted_normal_it_is_nearly_what_it_is(shift):
    found = [of_normal(np.array([shift, 0.0]) + np.random.default_rng(k).standard_normal((4000, 2))) for k in range(6)]
    assert 0.8 * np.expm1(shift**2) < np.mean(found) < 1.1 * np.expm1(shift**2)


def test_of_draws_that_are_too_wide_it_is_a_lower_estimate():
    """chi^2(N(0, 1) | N(0, s^2)) = s^2 / sqrt(2 s^2 - 1) - 1."""
    sd = 1.2
    found = [of_normal(sd * np.random.default_rng(k).standard_normal((4000, 1))) for k in range(6)]
    exact = sd**2 / np.sqrt(2.0 * sd**2 - 1.0) - 1.0
    assert 0.5 * exact < np.mean(found) < 1.15 * exact


def test_a_wrong_shape_with_the_right_mean_and_spread_is_seen():
    """Of a gamma target its normal draws: a mean score of zero, and one of x s of -1."""
    shape = 6.0
    x = np.random.default_rng(0).standard_normal((2000, 2))
    skewed = (np.random.default_rng(0).gamma(shape, size=(2000, 2)) - shape) / np.sqrt(shape)

    def score(z):  # of log x for gamma x, standardised by mean and sd of x
        return np.sqrt(shape) * ((shape - 1.0) / np.maximum(shape + np.sqrt(shape) * z, 0.4) - 1.0)

    assert chi_square(operand(x, score(x))) > 5.0 * chi_square(operand(skewed, score(skewed)))


@pytest.mark.parametrize("kind", ["diagonal", "own4", "pairs"])
def test_of_right_draws_its_mean_is_zero(kind):
    """Though the largest of several, and never below zero, is not."""
    rng = np.random.default_rng(4)
    drawn = (rng.standard_normal((200, 5)) for _ in range(40))
    found = [by_hand(operand(points, -points), kind) for points in drawn]
    assert abs(np.mean(found)) < 4.0 * np.std(found) / np.sqrt(40.0)


def by_hand(of, kind):
    """With means of both halves, each with features made of the other."""
    first, second = of.draws.halves
    means, solved = [], []
    for half, other in ((first, second), (second, first)):
        values = Frame.of(of, other).of_all(of, half, kind)
        covariance = np.cov(values.T, bias=True)
        ridge = 0.5 * values.shape[1] / len(half) + 1e-6
        means.append(values.mean(axis=0))
        solved.append(covariance + ridge * np.diag(np.diag(covariance)))
    return np.mean([means[0] @ np.linalg.solve(each, means[1]) for each in solved])


@pytest.mark.parametrize(
    ("n", "dim", "kinds"),
    [(60, 40, ["diagonal"]), (100, 4, ["diagonal", "pairs"]), (400, 5, ["diagonal", "own4", "pairs"])],
)
def test_it_is_the_product_of_the_halves_means(n, dim, kinds):
    """With more features than draws, too, where another way to it is taken."""
    points = 1.3 * np.random.default_rng(1).standard_normal((n, dim)) + 0.3
    of = operand(points, -points)
    assert chi_square(of) == pytest.approx(max(by_hand(of, kind) for kind in kinds), rel=1e-6)


def test_weights_that_make_draws_right_take_it_away():
    rng = np.random.default_rng(2)
    points = 1.3 * rng.standard_normal((4000, 2))
    weights = np.exp(-0.5 * (1.0 - 1.0 / 1.69) * (points**2).sum(axis=1))
    assert chi_square(operand(points, -points)) > 0.1
    assert chi_square(operand(points, -points, weights=weights)) < 0.02


def test_blocks_of_rows_change_rounding_only(monkeypatch):
    points = 1.3 * np.random.default_rng(3).standard_normal((300, 4))
    whole = of_normal(points)
    monkeypatch.setattr("steinkit.diagnosis.bias.stein_regression._VALUES", 400)
    assert of_normal(points) == pytest.approx(whole, rel=1e-9)
