"""Densities and scores at proposed points: failures reject the proposal."""

import warnings

import numpy as np
import pytest

import steinkit as sk
from steinkit.errors import TimeLimitError
from steinkit.runtime.deadlines import require_time, time_limit

POINTS = np.random.default_rng(0).standard_normal((1000, 2))
HEIGHTS = -0.5 * (POINTS**2).sum(axis=1)


class Counted:
    """A standard normal log density or score that raises an error above a limit."""

    def __init__(self, limit, value):
        self.limit, self.value, self.calls, self.rows = limit, value, 0, 0

    def __call__(self, x):
        self.calls += 1
        self.rows += len(x)
        if (x[:, 0] > self.limit).any():
            raise ValueError("sigma > 0")
        return self.value(x)


def height(x):
    return -0.5 * (x**2).sum(axis=1)


def test_only_rows_that_raise_are_rejected():
    density, score = Counted(2.5, height), Counted(2.5, np.negative)
    target = sk.Target(score, log_density=density, dim=2)
    lost = POINTS[:, 0] > 2.5
    assert 0 < lost.sum() < 20
    np.testing.assert_array_equal(target.proposal_log_density(POINTS), np.where(lost, -np.inf, HEIGHTS))
    np.testing.assert_array_equal(target.proposal_score(POINTS), np.where(lost[:, None], np.nan, -POINTS))
    assert density.calls == score.calls <= 2 * lost.sum() * np.log2(len(POINTS))
    with pytest.raises(sk.InputError, match="log_density raised ValueError"):
        target.log_density(POINTS)


def test_calls_are_limited_if_every_row_raises():
    density = Counted(-np.inf, height)
    target = sk.Target(np.negative, log_density=density, dim=2)
    assert (target.proposal_log_density(np.repeat(POINTS, 20, axis=0)) == -np.inf).all()
    assert density.calls == 40
    assert density.rows < 3 * 20_000


def test_values_that_are_not_finite_are_rejected():
    values = np.array([np.nan, np.inf, -np.inf, 0.5])
    target = sk.Target(
        lambda x: np.column_stack([values[: len(x)], np.zeros(len(x))]), log_density=lambda x: values[: len(x)], dim=2
    )
    np.testing.assert_array_equal(target.proposal_log_density(POINTS[:4]), [-np.inf, -np.inf, -np.inf, 0.5])
    expected = [[np.nan, np.nan]] * 3 + [[0.5, 0.0]]
    np.testing.assert_array_equal(target.proposal_score(POINTS[:4]), expected)


def test_functions_are_not_called_outside_the_bounds():
    seen = []

    def density(x):
        seen.append(x)
        return -x[:, 0]

    target = sk.Target(lambda x: np.full(x.shape, -1.0), log_density=density, bounds=[[0.0, np.inf]])
    points = np.array([[1.0], [-1.0], [np.nan], [np.inf], [0.0], [2.0]])
    np.testing.assert_array_equal(target.proposal_log_density(points), [-1.0, *[-np.inf] * 4, -2.0])
    np.testing.assert_array_equal(target.proposal_score(points)[:, 0], [-1.0, *[np.nan] * 4, -1.0])
    np.testing.assert_array_equal(np.concatenate(seen), [[1.0], [2.0]])
    assert (target.proposal_log_density([-1.0, -2.0]) == -np.inf).all()
    assert target.proposal_score([-1.0, -2.0]).shape == (2, 1)
    assert len(seen) == 1


def test_wrong_shapes_remain_errors():
    target = sk.Target(lambda x: x[:, :1], log_density=lambda x: x, dim=2)
    with pytest.raises(sk.InputError, match=r"log_density must return an array of shape \(1000,\)"):
        target.proposal_log_density(POINTS)
    with pytest.raises(sk.InputError, match=r"score must return an array of shape \(1000, 2\)"):
        target.proposal_score(POINTS)
    with pytest.raises(sk.InputError, match="2 parameters"):
        target.proposal_score(POINTS[:, :1])
    with pytest.raises(sk.UsageError, match="no log density"):
        sk.Target(np.negative).proposal_log_density(POINTS)


def test_floating_point_warnings_are_silent():
    target = sk.Target(lambda x: np.log(x), log_density=lambda x: np.log(x[:, 0]) + np.exp(1e4 * x[:, 1]), dim=2)
    with warnings.catch_warnings(), np.errstate(all="warn"):
        warnings.simplefilter("error")
        target.proposal_log_density(POINTS)
        target.proposal_score(POINTS)


def test_deadlines_and_timeouts_are_raised():
    def slow(x):
        require_time("testing it")
        return -x[:, 0]

    target = sk.Target(np.negative, log_density=slow, dim=2)
    with time_limit(1e-9), pytest.raises(TimeLimitError):
        target.proposal_log_density(POINTS)

    def watched(x):
        raise TimeoutError("the user's own")

    with pytest.raises(sk.InputError, match="the user's own"):
        sk.Target(np.negative, log_density=watched, dim=2).proposal_log_density(POINTS)


@pytest.mark.parametrize("limit", [2.5, np.inf])
def test_scores_by_differences_do_not_warn_at_proposals(limit):
    target = sk.Target(log_density=Counted(limit, height), dim=2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = target.proposal_score(POINTS)
    kept = POINTS[:, 0] <= limit
    np.testing.assert_allclose(found[kept], -POINTS[kept], atol=1e-6)
    assert np.isnan(found[~kept]).all()
    assert target.remarks == ()


def test_differences_where_the_log_density_raises():
    target = sk.Target(log_density=Counted(1.0, height), dim=2)
    with pytest.warns(sk.SteinkitWarning, match="finite differences"):
        found = target.score([[0.999, 0.0], [0.0, 1.0]])
    np.testing.assert_allclose(found, [[-0.999, 0.0], [0.0, -1.0]], atol=1e-5)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_log_densities_of_draws_must_be_finite(value):
    target = sk.Target(np.negative, log_density=lambda x: np.where(x[:, 0] > 2.5, value, HEIGHTS[: len(x)]), dim=2)
    first = int(np.flatnonzero(POINTS[:, 0] > 2.5)[0])
    with pytest.raises(sk.InputError, match=rf"got {value} at draw {first + 1} \(\d+ such draws in all\)"):
        target.log_density_of_draws(POINTS)
    with pytest.raises(sk.InputError, match=f"at draw {2 * first + 1}"):
        target.log_density_of_draws(POINTS, draws=2 * np.arange(1000))
    np.testing.assert_array_equal(target.log_density_of_draws(POINTS[:first]), HEIGHTS[:first])
