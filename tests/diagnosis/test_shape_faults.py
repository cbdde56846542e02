"""What is said of shapes and of dependence beyond correlation, on draws whose fault is known."""

from types import SimpleNamespace

import numpy as np
import pytest

import steinkit as sk
from steinkit.diagnosis.findings import _shape, misplaced_mass, shape_faults
from steinkit.discrepancy.bounded_features import BoundedFeature
from steinkit.units import Units


def accused(make, target, count=10):
    """Verdicts on the accused of some samples."""
    found = [sk.verdict(make(np.random.default_rng([8, k])), target) for k in range(count)]
    return [each for each in found if each.is_biased]


def normal(dim):
    return sk.targets.Normal(0.0, dim=dim)


def skewed(rng):
    x = rng.standard_normal((1500, 5))
    x[:, 3] = (rng.gamma(6.0, size=1500) - 6.0) / np.sqrt(6.0)
    return x


def cut_off(rng):
    """Draws of x2 below -1, of which there are too few, are reflected."""
    x = rng.standard_normal((1500, 4))
    low = (x[:, 1] < -1.0) & (rng.random(1500) < 0.5)
    x[low, 1] *= -1.0
    return x


def test_a_skewed_coordinate_is_named_with_where_its_draws_are():
    found = accused(skewed, normal(5))
    assert len(found) >= 8
    assert all(each.findings[0].parameters == ("x4",) for each in found)
    words = [fault.direction for each in found for fault in each.findings if fault.kind == "shape"]
    assert len(words) >= 8
    assert all(each.startswith(("too many draws", "too few draws")) for each in words)


def test_thresholds_are_in_the_draws_own_unit():
    def make(rng):
        return 1000.0 * skewed(rng) + 5000.0

    target = sk.targets.Normal(np.full(5, 5000.0), covariance=1e6 * np.eye(5))
    for each in accused(make, target, 3):
        (words,) = [fault.direction for fault in each.findings if fault.kind == "shape"][:1]
        numbers = [float(word) for word in words.split() if word[-1].isdigit()]
        assert all(2000.0 < abs(number) < 8000.0 for number in numbers)


def test_a_dependence_on_a_square_is_named_by_its_pair():
    def make(rng):
        x = rng.standard_normal((800, 6))
        x[:, 4] = (x[:, 4] - 0.4 * (x[:, 2] ** 2 - 1.0)) / np.sqrt(1.32)
        return x

    found = accused(make, normal(6))
    assert len(found) >= 8
    for each in found:
        worst = each.findings[0]
        assert (worst.kind, worst.parameters) == ("conditional location", ("x5", "x3"))
        assert worst.direction == "too high where x3 is near its median"


def test_a_shift_is_no_shape():
    found = accused(lambda rng: rng.standard_normal((1000, 3)) + np.array([0.0, 0.25, 0.0]), normal(3))
    assert len(found) >= 8
    assert all({fault.parameters for fault in each.findings} <= {("x2",)} for each in found)
    assert sum({fault.kind for fault in each.findings} == {"location"} for each in found) >= len(found) - 1


def test_no_accusation_but_the_kernels_is_without_a_fault():
    rng = np.random.default_rng(9)
    for make in (skewed, cut_off):
        for each in accused(make, normal(make(rng).shape[1]), 6):
            assert each.findings or each.p_ksd <= each.level


def test_what_the_kernel_alone_sees_has_no_name():
    """Signs of three coordinates together, which no pair shows."""

    def make(rng):
        x = rng.standard_normal((800, 5))
        x[:, 2] = np.abs(x[:, 2]) * np.sign(x[:, 0] * x[:, 1])
        return x

    found = [each for each in accused(make, normal(5)) if not each.findings]
    assert len(found) >= 5
    assert all("only the kernel test" in each.sentence for each in found)


def test_bounded_supports_have_shapes():
    """Draws of a gamma distribution with too few small values."""
    target = sk.targets.Gamma(2.0, dim=2)

    def make(rng):
        x = target.sample(3000, rng)
        return x[x[:, 0] > 0.35][:1500]

    found = accused(make, target, 4)
    assert found
    assert all("x1" in each.findings[0].parameters for each in found)


def test_where_there_are_too_many_draws_does_not_depend_on_units():
    """A uniform law for the half normal one above 10."""
    x, limits = 10.0 + np.random.default_rng(3).uniform(0.0, 2.0, (2000, 1)), np.array([[10.0, np.inf]])
    units = Units.of("own", sk.as_sample(x).distinct())
    shares, scores = np.full(2000, 1.0 / 2000.0), 10.0 - x
    standard = SimpleNamespace(points=units.points(x), scores=units.scores(scores), shares=shares)
    raw = misplaced_mass(x[:, 0], scores[:, 0], shares, (10.0, np.inf))
    assert _shape(5.0, np.ones(1), "sliced", standard, units, limits).size == pytest.approx(abs(raw.excess))
    assert abs(raw.excess) == pytest.approx(0.185, abs=0.03)  # of the half normal law .683 lie below 11, of draws .5


def test_pairs_that_are_faint_beside_another_are_not_named():
    features = [BoundedFeature("spread given", (0, k), 0.1, z, 1e-9) for k, z in ((1, 10.0), (2, 4.0))]
    of_none = SimpleNamespace(z=(), largest=())
    units, at_most = SimpleNamespace(names=("a", "b", "c")), {"bounded": 0.05, "sliced": 0.05}
    found = shape_faults(SimpleNamespace(largest=features), of_none, None, units, None, at_most)
    assert [each.parameters for each in found] == [("b", "a")]
