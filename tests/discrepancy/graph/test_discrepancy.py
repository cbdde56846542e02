"""Properties of the discrepancy, negative controls, and invalid arguments."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.instances import instance

import steinkit as sk

NORMAL = sk.targets.Normal(0.0, dim=2)
SMALL = settings(max_examples=12, deadline=None)
samples = st.builds(
    lambda seed, n, dim: np.random.default_rng(seed).standard_normal((n, dim)),
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(2, 20),
    dim=st.integers(2, 3),
)


def scored(points, **arguments):
    return sk.graph_stein_discrepancy(points, scores=-np.asarray(points), **arguments)


def certainly_at_most(first, second):
    """Return True if the brackets allow first <= second."""
    return first.lower <= second.upper


def same(first, second):
    """Return True if the brackets overlap."""
    return certainly_at_most(first, second) and certainly_at_most(second, first)


@SMALL
@given(samples, st.integers(0, 2**32 - 1))
def test_permuting_draws_keeps_the_value(points, seed):
    shuffled = np.random.default_rng(seed).permutation(points)
    assert same(scored(points), scored(shuffled))


@SMALL
@given(samples)
def test_splitting_a_weight_keeps_the_value(points):
    whole = np.arange(1.0, len(points) + 1)
    halves = np.concatenate([0.25 * whole, 0.75 * whole])
    twice = np.concatenate([points, points])
    assert same(scored(points, weights=whole), scored(twice, weights=halves))


@SMALL
@given(samples)
def test_complete_and_spanner_bound_each_other(points):
    """Proposition 6: complete <= spanner <= 2 t^2 complete."""
    complete = scored(points, graph="complete")
    for t in (1.2, 2.0, 3.0):
        spanner = scored(points, dilation=t)
        assert certainly_at_most(complete, spanner)
        assert spanner.lower <= 2 * t**2 * complete.upper


@SMALL
@given(samples)
def test_more_edges_never_increase_the_value(points):
    values = [scored(points, dilation=t) for t in (3.0, 2.0, 1.2)]
    edges = [set(map(tuple, result.graph.edges)) for result in values]
    for (few, looser), (many, tighter) in itertools.pairwise(zip(edges, values, strict=True)):
        if few <= many:
            assert certainly_at_most(tighter, looser)
    complete = scored(points, graph="complete")
    assert all(certainly_at_most(complete, result) for result in values)


@SMALL
@given(samples, st.tuples(*[st.floats(0.2, 5.0)] * 3))
def test_stein_factors_scale_the_value(points, c):
    classical, scaled = scored(points, graph="complete"), scored(points, graph="complete", stein_factors=c)
    assert min(c) * classical.lower <= scaled.upper
    assert scaled.lower <= max(c) * classical.upper


@SMALL
@given(samples)
def test_bounds_never_increase_the_value(points):
    free = scored(points)
    assert same(free, scored(points, bounds=(-1e3, 1e3)))
    assert certainly_at_most(scored(points, bounds=(points.min() - 0.1, points.max() + 0.1)), free)


def test_stein_function_is_feasible_and_attains_the_lower_bound():
    points = instance("normal 300x2")[0][:100]
    result = scored(points)
    q, g, gradient = result.sample.weights, result.g, result.grad_g
    assert q @ result.test_function == pytest.approx(result.lower, rel=1e-12)
    assert (q @ (g * -points + np.einsum("ijj->ij", gradient))).sum() == pytest.approx(result.lower, rel=1e-12)
    assert result.coordinate_lower.sum() == pytest.approx(result.lower, rel=1e-12)
    slack = 1 + 1e-12
    assert np.abs(g).max() <= slack
    assert np.abs(gradient).max() <= slack
    for i, k in result.graph.edges:
        step = points[i] - points[k]
        distance = np.abs(step).sum()
        assert np.abs(g[i] - g[k]).max() <= slack * distance
        assert np.abs(gradient[i] - gradient[k]).max() <= slack * distance
        for end in (i, k):
            assert np.abs(g[i] - g[k] - gradient[end] @ step).max() <= slack * distance**2 / 2 + 1e-15


@pytest.mark.parametrize("seed", range(3))
def test_biased_samples_score_higher_than_exact_draws(seed):
    """Negative controls: shifted, scaled, heavy-tailed and truncated samples."""
    rng = np.random.default_rng(seed)
    right = rng.standard_normal((200, 2))
    wrong = {
        "shifted": right + 0.4,
        "too wide": 1.4 * right,
        "too narrow": 0.6 * right,
        "heavy tails": rng.standard_t(3, (200, 2)),
        "truncated": np.abs(right),
    }
    good = sk.graph_stein_discrepancy(right, NORMAL, tolerance=1e-3)
    for name, points in wrong.items():
        bad = sk.graph_stein_discrepancy(points, NORMAL, tolerance=1e-3)
        assert bad.lower > 1.1 * good.upper, name


def test_repeated_draws_are_merged_and_counted():
    points = np.random.default_rng(0).standard_normal((20, 2))
    repeated = np.repeat(points, 3, axis=0)
    result, distinct = scored(repeated), scored(points)
    assert len(result.sample) == 20
    assert (result.lower, result.upper) == pytest.approx((distinct.lower, distinct.upper), rel=1e-9)
    assert "40 of 60 draws repeat an earlier draw" in result.warnings[0]
    np.testing.assert_array_equal(result.sample.inverse, np.repeat(np.arange(20), 3))


def test_draws_with_zero_weight_are_dropped_and_counted():
    points = np.random.default_rng(0).standard_normal((20, 2))
    weights = np.where(np.arange(20) < 15, 1.0, 0.0)
    result = scored(points, weights=weights)
    assert (result.lower, result.upper) == pytest.approx((scored(points[:15]).lower, scored(points[:15]).upper))
    assert "5 of 20 draws have weight zero" in result.warnings[0]


@pytest.mark.parametrize(
    ("draws", "note"), [([[0.5, 2.0]], "a single draw"), ([[0.5, 2.0]] * 4, "all 4 draws are the same point")]
)
def test_single_point_in_closed_form(draws, note):
    """For one point the optimum of gamma s_j + Gamma_jj over the boxes is |s_j| + 1."""
    result = sk.graph_stein_discrepancy(draws, NORMAL)
    assert result.value == pytest.approx(0.5 + 1 + 2.0 + 1)
    assert result.gap < 1e-12
    assert any(note in warning for warning in result.warnings)


def test_two_distant_points_in_closed_form():
    """Only the boxes remain: q (|s| + 1) per point and coordinate."""
    points = np.array([[0.0, 0.0], [10.0, 0.0]])
    result = scored(points)
    assert result.coordinate_values == pytest.approx([0.5 * (0 + 1) + 0.5 * (10 + 1), 1.0])


def test_outliers_are_certified():
    points = np.random.default_rng(0).standard_normal((50, 2))
    points[7] = 1e9, -1e9
    result = scored(points)
    assert result.gap <= 1e-6
    assert result.value == pytest.approx(2 * 1e9 / 50, rel=1e-3)
    assert int(np.argmax(np.abs(result.test_function))) == 7


def test_default_tolerance_above_three_dimensions():
    points = np.random.default_rng(0).standard_normal((30, 4))
    assert scored(points).tolerance == 1e-3
    assert scored(points, tolerance=1e-7).tolerance == 1e-7


def test_a_sample_that_stores_scores_needs_no_target():
    points = np.random.default_rng(0).standard_normal((20, 2))
    stored = sk.graph_stein_discrepancy(sk.Sample(points, scores=-points))
    assert (stored.lower, stored.upper) == (scored(points).lower, scored(points).upper)
    assert any(
        "stored in the sample" in note
        for note in sk.graph_stein_discrepancy(sk.Sample(points, scores=points), NORMAL).warnings
    )


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({}, sk.UsageError, "scores="),
        ({"target": NORMAL, "scores": np.zeros((3, 2))}, sk.UsageError, "so was a target"),
        (
            {"target": "normal"},
            sk.UsageError,
            r"target .* got str",
        ),
        ({"target": sk.targets.Normal(0.0, dim=3)}, sk.InputError, "3 parameters .* got 2"),
        ({"scores": np.zeros((3, 1))}, sk.InputError, r"\(3, 2\); got \(3, 1\)"),
        ({"target": NORMAL, "weights": [1.0, 2.0]}, sk.InputError, "one number per draw, 3 in total"),
        ({"target": NORMAL, "dilation": 1.0}, sk.UsageError, r"dilation .* got 1"),
        ({"target": NORMAL, "dilation": np.nan}, sk.UsageError, r"dilation .* got nan"),
        ({"target": NORMAL, "graph": "knn"}, sk.UsageError, "'spanner' or 'complete'"),
        ({"target": NORMAL, "tolerance": 0.0}, sk.UsageError, "between 0 and 1"),
        ({"target": NORMAL, "max_seconds": -1.0}, sk.UsageError, "must be positive; got -1"),
        ({"target": NORMAL, "n_jobs": 0}, sk.UsageError, "n_jobs"),
        ({"target": NORMAL, "stein_factors": (1, 1, 0)}, sk.UsageError, "three positive numbers"),
        ({"target": NORMAL, "bounds": (0.5, 3.0)}, sk.InputError, r"x1 = 0 at draw 1"),
        ({"target": NORMAL, "bounds": (3.0, 0.5)}, sk.UsageError, r"\[3.0, 0.5\]"),
        ({"target": sk.targets.Uniform([0, 0], [1, 1]), "bounds": (-9, 9)}, sk.UsageError, "bounds="),
    ],
)
def test_invalid_arguments_raise(arguments, error, message):
    with pytest.raises(error, match=message):
        sk.graph_stein_discrepancy([[0.0, 1.0], [1.0, 0.0], [2.0, 2.0]], **arguments)


def test_weights_given_twice_raise():
    with pytest.raises(sk.UsageError, match="has weights"):
        sk.graph_stein_discrepancy(sk.Sample([[0.0, 0.0]], weights=[1.0]), NORMAL, weights=[1.0])


def test_errors_name_the_draw_not_the_distinct_point():
    draws = np.array([[0.5, 0.5], [0.5, 0.5], [2.0, 0.5]])
    with pytest.raises(sk.InputError, match="at draw 3"):
        sk.graph_stein_discrepancy(draws, sk.targets.Uniform([0.0, 0.0], [1.0, 1.0]))
    broken = sk.Target(lambda x: np.where(x > 1.0, np.nan, -x), dim=2)
    with pytest.raises(sk.InputError, match=r"nan .* at draw 3"):
        sk.graph_stein_discrepancy(draws, broken)


def test_mismatched_names_raise():
    target = sk.Target(lambda x: -x, names=("a", "b"))
    points = np.random.default_rng(0).standard_normal((300, 2))
    reordered = sk.graph_stein_discrepancy(sk.Sample(points[:, ::-1], names=("b", "a")), target)
    assert reordered.value == sk.graph_stein_discrepancy(points, target).value
    with pytest.raises(sk.InputError, match=r"u, v, .* a, b") as caught:
        sk.graph_stein_discrepancy(sk.Sample(points, names=("u", "v")), target)
    assert "--columns" in str(caught.value)
    for measure in (sk.kernel_stein_discrepancy, sk.moment_stein_discrepancy, sk.sliced_stein_discrepancy, sk.verdict):
        with pytest.raises(sk.InputError, match=r"u, v, .* a, b"):
            measure(sk.Sample(points, names=("u", "v")), target)
    named = sk.graph_stein_discrepancy(sk.Sample(points, names=("a", "b")), target)
    assert named.value == sk.graph_stein_discrepancy(points, target).value
    assert named.sample.names == sk.graph_stein_discrepancy(points, target).sample.names == ("a", "b")
    assert not sk.graph_stein_discrepancy(points, target).warnings


def test_error_carries_the_bracket(monkeypatch):
    points = np.random.default_rng(0).standard_normal((40, 2))
    honest = scored(points)
    monkeypatch.setattr("steinkit.discrepancy.bracket.WIDEST_BRACKET", 1e-15)
    with pytest.raises(sk.SolverError, match="no certified result") as caught:
        scored(points, tolerance=1e-15)
    assert caught.value.lower <= honest.upper
    assert caught.value.upper >= honest.lower


@pytest.mark.parametrize("apart", [1e-8, 1e-10, 1e-14])
def test_nearly_equal_draws_are_certified(apart):
    points = np.random.default_rng(0).standard_normal((20, 2))
    points[13] = points[5] + [apart, 0.0]
    for solver in ("auto", "highs", "cvxpy"):
        assert scored(points, solver=solver).gap <= 1e-6


def test_target_names_are_used():
    target = sk.Target(lambda x: -x, names=("alpha", "beta"))
    assert sk.graph_stein_discrepancy([[0.0, 1.0], [1.0, 0.0]], target).sample.names == ("alpha", "beta")


def test_draws_near_a_bound_are_certified():
    """Exact draws from a gamma distribution with mass concentrated at 0."""
    points, target = np.random.default_rng(0).gamma([0.1, 2.0], size=(100, 2)), sk.targets.Gamma([0.1, 2.0], [1.0, 1.0])
    for solver in ("auto", "cvxpy"):
        assert sk.graph_stein_discrepancy(points, target, solver=solver).gap <= 1e-6


def test_saturation_warns():
    """In five dimensions, independent draws are so far apart that halving them lowers the value."""
    target = sk.targets.Normal(0.0, dim=5)
    draws = np.random.default_rng(0).standard_normal((100, 5))
    right, wrong = (sk.graph_stein_discrepancy(points, target) for points in (draws, 0.5 * draws))
    ceiling = (np.abs(draws) + 1.0).mean(axis=0).sum()
    assert right.saturation == pytest.approx(right.lower / ceiling)
    assert right.saturation > 0.9
    assert wrong.upper < right.lower
    assert right.unranked in right.warnings
    roomy = sk.graph_stein_discrepancy(np.random.default_rng(0).standard_normal((300, 2)), NORMAL)
    assert roomy.saturation < 0.25
    assert not roomy.is_saturated
    assert not roomy.warnings
