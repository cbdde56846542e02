"""Units: invariance of results to rescaling, and agreement with scaled data."""

import json

import numpy as np
import pytest

import steinkit as sk
from steinkit.scored_sample import ScoredSample
from steinkit.units import Units

POWERS = np.array([2.0**-20, 1.0, 2.0**10])
OTHERS = np.array([0.37e-6, 3.1, 777.0])
BOUNDS = np.array([[0.0, np.inf], [-np.inf, np.inf], [-np.inf, np.inf]])


def normal(seed, shape):
    return np.random.default_rng(seed).standard_normal(shape)


def biased(seed=0, n=200, dim=3):
    """Return draws of a correlated normal target that are shifted and too wide, with scores."""
    covariance = 0.5 * np.eye(dim) + 0.5
    x = normal(seed, (n, dim)) @ np.linalg.cholesky(covariance).T
    x = 1.2 * x + 0.4
    return x, -x @ np.linalg.inv(covariance)


def bounded(seed=1, n=200):
    """Return draws of a gamma(3) and two normal coordinates that are too wide, with scores."""
    x = np.column_stack([np.random.default_rng(seed).gamma(3.0, 1.5, n), normal(seed, (n, 2))])
    return x, np.column_stack([2.0 / x[:, 0] - 1.0, -x[:, 1:]])


def results_of(measure, x, scores, bounds=None, shape=None):
    """Return the numbers of a measure in the draws' own units."""
    given = x if shape is None else x.reshape(*shape, x.shape[1])
    settings = {"scores": scores, "bounds": bounds}
    if measure == "graph":
        found = sk.graph_stein_discrepancy(given, units="own", **settings)
        return [*found.coordinate_lower, *found.coordinate_upper, found.saturation]
    if measure == "ksd":
        return [sk.kernel_stein_discrepancy(given, units="own", kernel="gaussian", **settings).value]
    if measure == "ksd test":
        return [sk.kernel_stein_test(given, units="own", **settings).p]
    if measure == "sliced":
        found = sk.sliced_stein_discrepancy(given, **settings)
        return [found.lower, found.upper, *found.test_functions.ravel()]
    if measure == "sliced test":
        found = sk.sliced_stein_test(given, **settings)
        return [found.p, *found.z]
    if measure == "moments":
        found = sk.moment_stein_discrepancy(given, **settings)
        return [found.p, *found.mean, *found.z]
    if measure == "thin":
        return sk.thin(given, m=20, **settings).draw.tolist()
    found = sk.verdict(given, **settings)
    findings = [(each.kind, each.parameters, each.direction) for each in found.findings]
    assert findings
    parts = map(found.p_of, ("moments", "sliced", "ksd"))
    return [found.p, *parts, found.ksd_equivalent_draws, found.ess, hash(tuple(findings))]


MEASURES = ["graph", "ksd", "ksd test", "sliced", "sliced test", "moments", "thin", "verdict"]


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("case", ["plain", "bounded", "chains"])
def test_results_are_invariant_to_rescaling(measure, case):
    n = 60 if measure == "graph" else 400
    x, scores = bounded(n=n) if case == "bounded" else biased(n=n)
    bounds, shape = (BOUNDS if case == "bounded" else None), ((4, n // 4) if case == "chains" else None)
    once = results_of(measure, x, scores, bounds, shape)
    assert results_of(measure, x * POWERS, scores / POWERS, bounds, shape) == once
    rounded = results_of(measure, x * OTHERS, scores / OTHERS, bounds, shape)
    assert rounded == pytest.approx(once, rel=1e-6, abs=1e-12 if measure == "sliced" else 0)


@pytest.mark.parametrize("measure", ["classical", "wasserstein"])
def test_one_dimensional_results_are_invariant_to_rescaling(measure):
    x = 1.2 * normal(2, 100)

    def value(scale):
        if measure == "classical":
            return sk.classical_stein_discrepancy(scale * x, scores=-x / scale, units="own").value
        return sk.wasserstein_distance(scale * x, sk.targets.Normal(0.0, covariance=scale**2), units="own").value

    assert value(2.0**-9) == value(1.0)
    assert value(0.7e-4) == pytest.approx(value(1.0), rel=1e-9)
    assert measure != "wasserstein" or value(1.0) == pytest.approx(
        sk.wasserstein_distance(x, sk.targets.Normal(0.0)).value / x.std(), rel=1e-9
    )


@pytest.mark.parametrize("case", ["plain", "bounded"])
def test_graph_discrepancy_in_units_matches_scaled_data(case):
    """With z = (x - m) / S, g_x = S g_z and d_k g_x,j = S_j d_k g_z,j / S_k, and h is equal."""
    x, scores = bounded(n=80) if case == "bounded" else biased(n=80)
    box, scale = (BOUNDS if case == "bounded" else None), np.array([0.5, 3.0, 0.04])
    centre = np.array([0.0 if case == "bounded" else x[:, 0].mean(), *x[:, 1:].mean(axis=0)])
    found = sk.graph_stein_discrepancy(x, scores=scores, bounds=box, units=scale)
    hand = sk.graph_stein_discrepancy((x - centre) / scale, scores=scores * scale, bounds=box)
    assert found.coordinate_values == pytest.approx(hand.coordinate_values, rel=1e-6)
    np.testing.assert_array_equal(found.graph.edges, hand.graph.edges)
    assert found.saturation == pytest.approx(hand.saturation, rel=1e-6)
    np.testing.assert_array_equal(found.sample.points, x)
    np.testing.assert_array_equal(found.scores, scores)
    assert found.g == pytest.approx(hand.g * scale, rel=1e-3, abs=1e-4)
    h = (found.g * scores).sum(axis=1) + np.trace(found.grad_g, axis1=1, axis2=2)
    assert found.test_function == pytest.approx(h, rel=1e-12)
    assert found.sample.weights @ h == pytest.approx(found.lower, rel=1e-9)
    assert np.abs(found.g / scale).max() == pytest.approx(1.0, rel=1e-6)
    assert found.units.kind == "given"
    assert found.test_function == pytest.approx(hand.test_function, rel=1e-3, abs=1e-3)
    along = found.grad_g * scale / scale[:, None]
    assert along == pytest.approx(hand.grad_g, rel=1e-3, abs=1e-3)


def test_operator_in_units_matches_scaled_diffusion():
    """For z = (x - m) / S the covariance is S^-1 a S^-1 and the divergence S^-1 div a at x = m + S z."""
    x, scores = biased(n=60, dim=2)
    scale = np.array([0.5, 4.0])
    centre = x.mean(axis=0)

    def covariance(x):
        a = np.zeros((len(x), 2, 2))
        a[:, 0, 0], a[:, 1, 1], a[:, 0, 1], a[:, 1, 0] = 1.0 + x[:, 1] ** 2, 2.0, *2 * [np.tanh(x[:, 0])]
        return a

    def divergence(x):
        return np.column_stack([np.zeros(len(x)), np.cosh(x[:, 0]) ** -2.0])

    operator = sk.RiemannianLangevin(covariance, divergence)
    by_hand = sk.RiemannianLangevin(
        lambda z: covariance(centre + scale * z) / np.outer(scale, scale),
        lambda z: divergence(centre + scale * z) / scale,
    )
    z = (x - centre) / scale
    found = sk.graph_stein_discrepancy(x, scores=scores, operator=operator, units=scale)
    hand = sk.graph_stein_discrepancy(z, scores=scores * scale, operator=by_hand)
    assert found.value == pytest.approx(hand.value, rel=1e-6)
    assert found.saturation == pytest.approx(hand.saturation, rel=1e-6)
    assert found.sample.weights @ found.test_function == pytest.approx(found.lower, rel=1e-9)
    drift = np.einsum("ijk,ik->ij", covariance(x), scores) + divergence(x)
    h = (found.g * drift).sum(axis=1) + (covariance(x) * found.grad_g).sum(axis=(1, 2))
    assert found.test_function == pytest.approx(h, rel=1e-9)


def test_wasserstein_distance_is_divided_by_units():
    x, target = normal(4, 40) + 0.3, sk.targets.Normal(0.0)
    raw, scaled = sk.wasserstein_distance(x, target), sk.wasserstein_distance(x, target, units=[0.25])
    assert (scaled.lower, scaled.upper) == pytest.approx((4.0 * raw.lower, 4.0 * raw.upper), rel=1e-12)
    assert scaled.lower <= 4.0 * raw.value <= scaled.upper


def test_raw_units_are_the_default_of_published_discrepancies():
    x, scores = biased(n=40)
    for measure in (sk.graph_stein_discrepancy, sk.kernel_stein_discrepancy):
        bare, raw = measure(x, scores=scores), measure(x, scores=scores, units="raw")
        assert (bare.lower, bare.upper, bare.value) == (raw.lower, raw.upper, raw.value)
        assert bare.units.kind == "raw"
        assert bare.units.document == {"kind": "raw", "scale": {"x1": 1.0, "x2": 1.0, "x3": 1.0}}
    prepared = ScoredSample.of(x, scores=scores)
    assert prepared.in_units("raw") is prepared


def test_points_that_are_equal_in_units_are_merged():
    """A difference of 1e-20 is representable near 0, but not near a mean of 1."""
    x = np.array([[0.0], [1e-20], [1.0], [3.0]])
    scores, weights = np.array([[3.0], [6.0], [0.0], [-1.0]]), [0.2, 0.1, 0.3, 0.4]
    prepared = ScoredSample.of(x, scores=scores, weights=weights).in_units([2.0])
    assert len(prepared.points) == 3
    assert prepared.points.weights.tolist() == pytest.approx([0.3, 0.3, 0.4])
    assert prepared.scores[:, 0].tolist() == pytest.approx([8.0, 0.0, -2.0])
    assert prepared.raw.scores[:, 0].tolist() == pytest.approx([4.0, 0.0, -1.0])
    assert prepared.raw.points.points[:, 0].tolist() == [0.0, 1.0, 3.0]
    assert prepared.points.inverse.tolist() == [0, 0, 1, 2]
    assert "makes 1 point equal to others" in prepared.notes[-1]
    found = sk.graph_stein_discrepancy(x, scores=scores, weights=weights, units=[2.0])
    assert len(found.sample) == len(found.g) == 3
    assert found.sample.weights @ found.test_function == pytest.approx(found.lower)


def test_units_round_trip_through_documents():
    sample = sk.Sample(normal(0, (50, 2)), names=("mu", "tau"))
    own = sk.Units.of("own", sample.distinct())
    document = json.loads(json.dumps(own.document))
    assert document["kind"] == "own"
    assert document["scale"] == pytest.approx({"mu": sample.points[:, 0].std(), "tau": sample.points[:, 1].std()})
    read = sk.Units.of(document, sample.distinct())
    assert (read.kind, read.scale.tolist()) == ("own", own.scale.tolist())
    swapped = sk.Sample(sample.points[:, ::-1], names=("tau", "mu")).distinct()
    assert sk.Units.of(document, swapped).scale.tolist() == own.scale[::-1].tolist()
    assert sk.Units.of(own, swapped).scale.tolist() == own.scale[::-1].tolist()
    assert sk.Units.of({"scale": [1.0, 2.0]}, sample.distinct()).scale.tolist() == [1.0, 2.0]
    raw = sk.Units.of("raw", sample.distinct()).document
    assert raw == {"kind": "raw", "scale": {"mu": 1.0, "tau": 1.0}}
    assert sk.Units.of(raw, sample.distinct()).kind == "raw"


@pytest.mark.parametrize(
    ("units", "error", "fragment"),
    [
        ("onw", sk.UsageError, "got 'onw' (did you mean \"own\""),
        ([1.0], sk.UsageError, "2 positive numbers"),
        ([1.0, -1.0], sk.UsageError, "2 positive numbers"),
        (["a", "b"], sk.UsageError, "2 positive numbers"),
        ({"sd": [1.0, 2.0]}, sk.UsageError, 'item "scale"'),
        ({"kind": "mine", "scale": [1.0, 2.0]}, sk.UsageError, "own, reference, pilot, given, raw"),
        ({"scale": {"mu": 1.0, "rho": 2.0}}, sk.InputError, "got units for mu, rho"),
    ],
)
def test_invalid_units_are_refused(units, error, fragment):
    x = sk.Sample(normal(0, (20, 2)), names=("mu", "tau"))
    with pytest.raises(error) as caught:
        sk.kernel_stein_discrepancy(x, scores=-x.points, units=units)
    assert fragment in str(caught.value)


def test_unknown_names_are_refused():
    x = np.random.default_rng(0).standard_normal((20, 2))
    for names in ({1: 1.0, 2: 1.0}, {1: 1.0, "x2": 1.0}):
        with pytest.raises(sk.InputError, match="got units for 1, "):
            sk.graph_stein_discrepancy(x, scores=-x, units={"scale": names})


def test_constant_coordinates_are_refused():
    x = np.column_stack([normal(0, 20), np.full(20, 0.1)])
    with pytest.raises(sk.InputError, match="x2 is constant in all draws"):
        sk.kernel_stein_discrepancy(x, scores=-x, units="own")
    assert sk.kernel_stein_discrepancy(x, scores=-x, units=[1.0, 1.0]).value > 0.0
    still = np.column_stack([x, np.full(20, 3.0)])
    with pytest.raises(sk.InputError, match="x2 and x3 are constant in all draws"):
        sk.kernel_stein_discrepancy(still, scores=-still, units="own")


def test_common_units():
    pilot = sk.Sample(0.5 * normal(0, (400, 2)), names=("mu", "tau")).distinct()
    target = sk.targets.Normal([0.0, 0.0], covariance=[[1.0, 0.0], [0.0, 9.0]])
    for asked in (None, "own", "reference"):
        found = sk.common_units(asked, pilot, target)
        assert found.kind == "reference"
        assert found.names == ("mu", "tau")
        assert found.scale == pytest.approx([1.0, 3.0], rel=0.04)  # five standard errors of 10,000 draws
    undrawn = sk.Target(score=lambda x: -x)
    for asked in (None, "own"):
        found = sk.common_units(asked, pilot, undrawn)
        assert found.kind == "pilot"
        assert found.scale.tolist() == pytest.approx(pilot.points.std(axis=0).tolist())
    assert sk.common_units("raw", pilot, target).kind == "raw"
    assert sk.common_units([2.0, 3.0], pilot, target).kind == "given"
    given = sk.common_units(None, pilot, target)
    assert sk.common_units(given, pilot, undrawn) is given
    with pytest.raises(sk.UsageError, match="no sampler"):
        sk.common_units("reference", pilot, undrawn)
    with pytest.raises(sk.UsageError, match="no target"):
        sk.common_units("reference", pilot)
    with pytest.raises(sk.InputError, match="the target has 3 parameters"):
        sk.common_units("reference", pilot, sk.targets.Normal(0.0, dim=3))


def test_overflow_in_units_is_refused():
    draws = np.array([[1e200], [-1e200], [3e199]])
    units = sk.Units.of([1e-200], sk.as_sample(draws).distinct())
    with pytest.raises(sk.InputError, match="rescale"):
        units.points(draws)
    with pytest.raises(sk.InputError, match="rescale"):
        sk.Units.of([1e200], sk.as_sample(draws).distinct()).scores(draws)
    with pytest.raises(sk.InputError, match="rescale"):
        sk.Units.of("own", sk.as_sample([-1.7e308, 1.7e308, 1.7e308]).distinct())
    ((below, above),) = units.limits(np.array([[-1e200, float(units.centre[0])]]))
    assert (below, above) == (-np.inf, 0.0)
    for measure in (sk.sliced_stein_discrepancy, sk.graph_stein_discrepancy, sk.kernel_stein_discrepancy):
        with pytest.raises(sk.InputError, match="rescale"):
            measure(draws, scores=draws, units=[1e200])


@pytest.mark.parametrize("unit", [1e-160, 1e-155, 1e155, 1e160, 1e170])
@pytest.mark.parametrize("dim", [1, 2])
def test_overflowing_operators_in_units_are_refused(unit, dim):
    """Squares of units overflow or underflow."""
    draws = normal(0, (20, dim))
    operator = sk.RiemannianLangevin(lambda x: np.broadcast_to(np.eye(dim), (len(x), dim, dim)), lambda x: 0.0 * x)
    with pytest.raises(sk.InputError, match="rescale"):
        sk.graph_stein_discrepancy(draws, scores=-draws, operator=operator, units=[unit] * dim)


@pytest.mark.parametrize(("a", "b"), [(49, 51), (13, 29)])
def test_scores_that_cancel_within_merged_points(a, b):
    """The mean score of a draws with score b and b draws with score -a is zero."""
    scores, weights = np.array([1e10 * b, -1e10 * a, 0.0, 0.0]), [a, b, a + b, a + b]
    found = sk.graph_stein_discrepancy(np.array([0.0, 1e-20, 1.0, 2.0]), scores=scores, weights=weights, units=[0.5])
    right = sk.graph_stein_discrepancy(np.array([0.0, 1.0, 2.0]), scores=np.zeros(3), units=found.units)
    assert max(found.lower, right.lower) <= min(found.upper, right.upper)


def test_units_are_matched_by_name():
    units = Units("given", np.array([1.0, 2.0, 3.0]), np.array([10.0, 20.0, 30.0]), ("a", "b", "c"))
    turned = Units.of(units, sk.Sample(np.eye(3), names=("b", "c", "a")).distinct())
    assert turned.names == ("b", "c", "a")
    assert turned.centre.tolist() == [2.0, 3.0, 1.0]
    assert turned.scale.tolist() == [20.0, 30.0, 10.0]


def test_origin_is_at_a_bound():
    units = Units("given", np.array([1.0, 2.0, 3.0, 4.0]), np.ones(4), ("a", "b", "c", "d"))
    bounds = np.array([[-np.inf, 5.0], [0.0, np.inf], [-np.inf, np.inf], [2.0, 9.0]])
    assert units.from_bounds(bounds).centre.tolist() == [5.0, 0.0, 3.0, 2.0]
    assert units.from_bounds(None) is units


def test_own_units_use_weights():
    rng = np.random.default_rng(0)
    x, weights = rng.standard_normal((50, 2)), rng.random(50)
    own = Units.of("own", sk.Sample(np.concatenate([x, x[:7]]), weights=np.r_[weights, weights[:7]]).distinct())
    p = np.r_[2.0 * weights[:7], weights[7:]]
    p /= p.sum()
    assert own.centre == pytest.approx(p @ x, rel=1e-12)
    assert own.scale == pytest.approx(np.sqrt(p @ (x - p @ x) ** 2), rel=1e-12)
