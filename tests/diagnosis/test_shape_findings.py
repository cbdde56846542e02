"""Findings on shapes and on dependence beyond correlation, for known defects."""

import numpy as np

import steinkit as sk


def rejected(make, target, count=4):
    """Return the verdicts on rejected samples."""
    found = [sk.verdict(make(np.random.default_rng([8, k])), target) for k in range(count)]
    return [each for each in found if each.is_biased]


def normal(dim):
    return sk.targets.Normal(0.0, dim=dim)


def skewed(rng):
    x = rng.standard_normal((1500, 5))
    x[:, 3] = (rng.gamma(6.0, size=1500) - 6.0) / np.sqrt(6.0)
    return x


def cut_off(rng):
    """Reflect half of the draws of x2 below -1."""
    x = rng.standard_normal((1500, 4))
    low = (x[:, 1] < -1.0) & (rng.random(1500) < 0.5)
    x[low, 1] *= -1.0
    return x


def test_skewed_coordinate_is_reported_with_misplaced_mass():
    found = rejected(skewed, normal(5))
    assert len(found) >= 3
    assert all(each.findings[0].parameters == ("x4",) for each in found)
    directions = [finding.direction for each in found for finding in each.findings if finding.kind == "shape"]
    assert len(directions) >= 3
    assert all(each.startswith(("too many draws", "too few draws")) for each in directions)


def test_thresholds_are_in_raw_units():
    def make(rng):
        return 1000.0 * skewed(rng) + 5000.0

    target = sk.targets.Normal(np.full(5, 5000.0), covariance=1e6 * np.eye(5))
    for each in rejected(make, target, 3):
        (direction,) = [finding.direction for finding in each.findings if finding.kind == "shape"][:1]
        numbers = [float(word) for word in direction.split() if word[-1].isdigit()]
        assert all(2000.0 < abs(number) < 8000.0 for number in numbers)


def test_dependence_on_a_square_is_reported():
    def make(rng):
        x = rng.standard_normal((800, 6))
        x[:, 4] = (x[:, 4] - 0.4 * (x[:, 2] ** 2 - 1.0)) / np.sqrt(1.32)
        return x

    found = rejected(make, normal(6))
    assert len(found) >= 3
    for each in found:
        worst = each.findings[0]
        assert (worst.kind, worst.parameters) == ("conditional location", ("x5", "x3"))
        assert worst.direction == "too high where x3 is near its median"


def test_shift_is_not_reported_as_a_shape():
    found = rejected(lambda rng: rng.standard_normal((1000, 3)) + np.array([0.0, 0.25, 0.0]), normal(3))
    assert len(found) >= 3
    assert all({finding.parameters for finding in each.findings} <= {("x2",)} for each in found)
    assert sum({finding.kind for finding in each.findings} == {"location"} for each in found) >= len(found) - 1


def test_rejections_have_findings_unless_only_the_kernel_test_rejects():
    for each in rejected(cut_off, normal(4)):
        assert each.findings or each.p_of("ksd") <= each.level


def test_dependence_of_three_coordinates_has_no_finding():
    """The sign of x3 is the product of two others, which no pair shows."""

    def make(rng):
        x = rng.standard_normal((800, 5))
        x[:, 2] = np.abs(x[:, 2]) * np.sign(x[:, 0] * x[:, 1])
        return x

    found = [each for each in rejected(make, normal(5)) if not each.findings]
    assert len(found) >= 2
    assert all(each.decided_by == "ksd" for each in found)


def test_shapes_are_reported_on_bounded_supports():
    """A gamma distribution is truncated below."""
    target = sk.targets.Gamma(2.0, dim=2)

    def make(rng):
        x = target.sample(3000, rng)
        return x[x[:, 0] > 0.35][:1500]

    found = rejected(make, target)
    assert found
    assert all("x1" in each.findings[0].parameters for each in found)
