"""Whether the first draws are off: draws of a funnel, whose scores have heavy tails, and chains started far off."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import t as t_distribution

from steinkit.autocorrelation import integrated_autocorrelation_times
from steinkit.diagnosis.burn_in import burn_in_p_value, early_rows
from steinkit.scored_sample import ScoredSample
from steinkit.units import Units


def p_value(points, scores):
    """Of chains, shape (chains, draws, d)."""
    prepared = ScoredSample.of(points, scores=scores)
    units, draws = Units.of("own", prepared.points), prepared.draws
    return burn_in_p_value(replace(draws, points=units.points(draws.points), scores=units.scores(draws.scores)))


def funnel(seed, n):
    """Draws of v ~ N(0, 9), x | v ~ N(0, exp v), and their scores."""
    rng = np.random.default_rng(seed)
    v = 3.0 * rng.standard_normal(n)
    x = np.exp(v / 2) * rng.standard_normal(n)
    square = x**2 * np.exp(-v)
    return np.column_stack([v, x]), np.column_stack([-v / 9 - 0.5 + square / 2, -x * np.exp(-v)])


def test_one_early_draw_in_the_neck_of_a_funnel_is_no_bad_start():
    """It may lie further out than all later ones: here it does, in 20 of 20 samples."""
    for seed in range(20):
        points, scores = funnel(seed, 500)
        furthest = int(np.abs(scores[:, 1]).argmax())
        order = np.r_[furthest, np.delete(np.arange(500), furthest)]
        assert p_value(points[order][None], scores[order][None]) > 0.01


def test_a_start_far_off_is_seen_in_one_chain_and_in_many():
    for chains in (1, 4):
        x = np.random.default_rng(chains).standard_normal((chains, 1000, 3))
        assert p_value(x, -x) > 0.01
        x[:, :60] += 3.0
        assert p_value(x, -x) < 1e-4


def test_the_first_tenth_is_of_every_chain():
    x = np.random.default_rng(0).standard_normal((2, 15, 1))
    prepared = ScoredSample.of(x, scores=-x)
    early, late = early_rows(prepared.draws)
    assert early.tolist() == [0, 1, 15, 16]
    assert sorted([*early, *late]) == list(range(30))


def test_a_p_value_is_that_of_the_definition():
    """By loops over draws and features: centre, scale, variances and times are those of the later draws."""
    n, early = 400, 40
    x = np.random.default_rng(2).standard_normal((n, 2)) * [1.0, 3.0] + [0.0, 5.0]
    x[:early, 0] *= 1.9  # too wide, so that the spread decides, about the centre of the later ones
    x[:early, 0] += 0.4
    s = -(x - [0.0, 5.0]) / [1.0, 9.0]
    z, slowest = [], 0.0
    for feature in ("location", "spread"):
        values = []
        for j in range(2):
            centre, scale = x[early:, j].mean(), x[early:, j].std()
            t = scale * s[:, j]
            values.append(t if feature == "location" else 1.0 + (x[:, j] - centre) / scale * t)
        times = [
            float(integrated_autocorrelation_times((v[early:] - v[early:].mean())[None], [slice(0, n - early)])[0])
            for v in values
        ]
        usual = float(np.median(times))
        slowest = max(slowest, usual)
        for v, time in zip(values, times, strict=True):
            variance = max(v[early:].var(), v[:early].var())
            z.append(abs(v[:early].mean()) / np.sqrt(variance * max(time, usual) / early))
    assert int(np.argmax(z)) == 2  # the spread of the first coordinate
    expected = 2.0 * 4 * t_distribution.sf(max(z), early / slowest / 5.0)
    assert 1e-6 < expected < 0.5
    assert p_value(x[None], s[None]) == pytest.approx(expected, rel=1e-9)
