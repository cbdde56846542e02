"""Exact values and convergence rates of independent draws, Sobol' points and herding."""

import numpy as np
import pytest
from scipy import stats

import steinkit as sk
from steinkit.samplers.sequences import herding, iid, sobol
from steinkit.targets import Normal, Uniform


def squared_distance(points):
    """Compute the integral of (F_n(x) - x)^2 over [0, 1], the squared L_2 star discrepancy."""
    x = np.sort(points)
    n = len(x)
    return 1.0 / (12.0 * n**2) + np.mean((x - (np.arange(1, n + 1) - 0.5) / n) ** 2)


def slope(points):
    """Fit the slope of the log of the median distance against log n."""
    sizes = np.unique(np.geomspace(1, points.shape[1], 60).astype(int))
    distances = [np.median([np.sqrt(squared_distance(sequence[:n])) for sequence in points]) for n in sizes]
    return np.polyfit(np.log(sizes), np.log(distances), 1)[0]


def herd_by_search(n, grid):
    """Compute kernel herding by the definition, with the smallest argmax over a grid."""
    points = []
    for t in range(1, n + 1):
        height = t * (grid - grid**2 / 2) - sum(np.minimum(grid, x) for x in points)
        points.append(grid[np.flatnonzero(height > height.max() - 1e-11)[0]])
    return np.array(points)


def test_iid_has_the_distribution_of_the_target():
    draws = iid(Uniform(), draws=400, chains=50, seed=3)
    assert draws.points.shape == (50, 400, 1)
    assert stats.kstest(draws.points.ravel(), "uniform").pvalue > 1e-3
    # E integral (F_n - x)^2 = 1 / (6 n), variance of n times it about 1/45
    scaled = [400 * squared_distance(chain) for chain in draws.points[:, :, 0]]
    assert np.mean(scaled) == pytest.approx(1 / 6, abs=4.0 * np.sqrt(1 / 45 / 50))
    assert (draws.cost == 0.0).all()
    assert draws.acceptance is None


def test_iid_chains_do_not_depend_on_one_another():
    target = Normal([0.0, 1.0])
    many = iid(target, draws=20, chains=10, seed=5)
    assert len(np.unique(many.points[:, 0, 0])) == 10
    np.testing.assert_array_equal(iid(target, draws=20, chains=3, seed=5).points, many.points[:3])
    np.testing.assert_array_equal(iid(target, draws=20, seed=[many.seeds[7]]).points[0], many.points[7])
    assert not np.array_equal(iid(target, draws=20, seed=6).points[0], many.points[0])


def test_draws_become_a_sample():
    sample = iid(sk.targets.MixturePosterior(), draws=4, chains=2).to_sample()
    assert sample.names == ("theta1", "theta2")
    assert sample.points.shape == (8, 2)
    assert sobol(Uniform(dim=2), draws=3).to_sample().names == ("x1", "x2")


def test_sobol_begins_as_published():
    points = sobol(Uniform(dim=2), draws=7).points[0]
    expected = [[0.5, 0.5], [0.75, 0.25], [0.25, 0.75], [0.375, 0.375], [0.875, 0.875], [0.625, 0.125], [0.125, 0.625]]
    np.testing.assert_array_equal(points, expected)


def test_sobol_fills_every_dyadic_interval():
    points = sobol(Uniform(-1.0, 3.0), draws=1023).points[0, :, 0]
    np.testing.assert_array_equal(np.sort(points), -1.0 + 4.0 * np.arange(1, 1024) / 1024)
    scrambled = sobol(Uniform(dim=3), draws=256, scramble=True, chains=4, seed=1)
    for chain in scrambled.points:
        for column in chain.T:
            np.testing.assert_array_equal(np.sort((column * 256).astype(int)), np.arange(256))
    assert len(np.unique(scrambled.points[:, 0, 0])) == 4
    alone = sobol(Uniform(dim=3), draws=256, scramble=True, seed=[scrambled.seeds[2]])
    np.testing.assert_array_equal(alone.points[0], scrambled.points[2])


def test_sobol_takes_the_seeds_of_the_chains():
    both = sobol(Uniform(dim=2), draws=8, scramble=True, seed=[4, 5]).points
    assert both.shape == (2, 8, 2)
    np.testing.assert_array_equal(both[1], sobol(Uniform(dim=2), draws=8, scramble=True, seed=[5]).points[0])


def test_a_longer_sobol_sequence_begins_with_the_shorter():
    long = sobol(Uniform(dim=4), draws=300).points[0]
    for n in (1, 2, 100, 127, 128):
        np.testing.assert_array_equal(sobol(Uniform(dim=4), draws=n).points[0], long[:n])


def test_herding_begins_as_computed_by_hand():
    points = herding(Uniform(), draws=4).points[0, :, 0]
    # t = 2: maximize 2 x - x^2 - x; t = 3: equal maxima at 1/3 and 2/3; t = 4: maxima at 1/4 (1/8) and 3/4 (13/96)
    np.testing.assert_allclose(points, [1.0, 1 / 2, 1 / 3, 3 / 4], atol=1e-15)


def test_herding_is_the_argmax_found_by_search():
    n = 12
    grid = np.arange(27721) / 27720  # contains every multiple of 1/t, t <= 12
    np.testing.assert_allclose(herding(Uniform(), draws=n).points[0, :, 0], herd_by_search(n, grid), atol=1e-12)


def test_herding_points_are_fractions_of_their_number_and_distinct():
    points = herding(Uniform(), draws=500).points[0, :, 0]
    numerators = points * np.arange(1, 501)
    np.testing.assert_allclose(numerators, np.round(numerators), atol=1e-9)
    assert len(np.unique(np.round(points, 12))) == 500
    moved = herding(Uniform(2.0, 6.0), draws=500).points[0, :, 0]
    np.testing.assert_allclose(moved, 2.0 + 4.0 * points, rtol=1e-15)


def test_points_stay_in_the_box():
    for lower, upper in ((0.1, 0.7), (-3.3, 1e-3), (1e9, 1e9 + 1.0)):
        target = Uniform(lower, upper)
        for draws in (herding(target, draws=50), sobol(target, draws=50)):
            assert (draws.points >= lower).all()
            assert (draws.points <= upper).all()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: iid(Uniform(), draws=0), "draws .*0"),
        (lambda: iid(Uniform(), draws=2.5), "draws .*2.5"),
        (lambda: iid(Uniform(), draws=2, chains=-1), "chains .*-1"),
        (lambda: iid(Uniform(), draws=2, seed=-1), "seed.*-1"),
        (lambda: iid(sk.targets.LogisticRegression.nodal(), draws=2), "sampler="),
        (lambda: sobol(Normal(), draws=2), "sobol .*'normal'"),
        (lambda: sobol(Uniform(), draws=2, chains=2), "chains.* 2"),
        (lambda: sobol(Uniform(), draws=1 << 30), "draws.*1073741824"),
        (lambda: herding(Normal(), draws=2), "herding .*'normal'"),
        (lambda: herding(Uniform(dim=2), draws=2), "herding .*2"),
    ],
)
def test_invalid_input_is_rejected(call, message):
    with pytest.raises(sk.UsageError, match=message):
        call()
