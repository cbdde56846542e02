"""The rule of what is coloured: the fewest draws that carry what right samples do not show."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import steinkit as sk
from steinkit.plots.axes import told_apart
from steinkit.plots.discrepancy import right_share, said_of, threshold


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("share", [0.0, 0.3, 0.8, 0.99])
def test_the_draws_beyond_the_threshold_are_the_fewest_that_carry_the_excess(seed, share):
    rng = np.random.default_rng(seed)
    h, weights = rng.standard_normal(10) + 0.4, np.full(10, 0.1)
    if weights @ h <= 0.0:
        pytest.skip("no discrepancy")
    excess = (1.0 - share) * float(weights @ h)
    coloured = int((h >= threshold(h, weights, share)).sum())
    enough = [
        size
        for size in range(1, 11)
        if any(0.1 * sum(chosen) >= excess - 1e-12 for chosen in itertools.combinations(h, size))
    ]
    assert coloured == enough[0]


def test_nothing_is_beyond_where_a_right_sample_shows_as_much():
    h, weights = np.array([3.0, -1.0]), np.array([0.5, 0.5])
    assert threshold(h, weights, 1.0) == math.inf
    assert threshold(-h, weights, 0.0) == math.inf  # nor where there is no discrepancy


def test_independent_samples_tell_by_their_largest_value():
    values, parts = np.array([1.0, 2.0]), np.array([[0.2, 0.8], [1.5, 0.5]])
    reference = sk.Reference(values, values + 0.5, 100, parts)
    assert right_share(10.0, reference) == 0.25
    assert right_share(3.0, reference, 0) == 0.5
    assert right_share(2.0, reference) == 1.0


def test_a_verdict_tells_by_its_sizes():
    x = np.random.default_rng(0).standard_normal((600, 2))
    right, wrong = sk.verdict(x, scores=-x), sk.verdict(1.4 * x, scores=-1.4 * x)
    assert not right.is_biased
    assert wrong.is_biased
    assert right_share(1.0, right) == 1.0
    assert right_share(1.0, wrong) == pytest.approx(math.sqrt(wrong.ksd_equivalent_draws / min(wrong.ess, 600)))
    assert "no draw stands out" in said_of(right, math.inf)


def test_an_accused_sample_never_looks_right():
    """One of 40 coordinates is too wide: the kernel test does not see it, the moments do, and draws are coloured."""
    x = np.random.default_rng(1).standard_normal((400, 40))
    x[:, 7] *= 1.4
    found = sk.verdict(x, scores=-x)
    assert found.is_biased
    assert found.ksd_equivalent_draws > found.ess
    assert right_share(1.0, found) == 0.5
    assert said_of(found, 1.0).startswith("coloured: half of the discrepancy")
    for sample in (found, sk.verdict(1.4 * x, scores=-1.4 * x)):
        assert "no draw stands out" not in said_of(sample, math.inf)


def test_right_samples_seldom_have_coloured_draws_and_wrong_ones_always_do():
    target = sk.targets.Normal(dim=1)
    reference = sk.reference_discrepancy(target, 100, 5)
    coloured = {}
    for scale in (1.0, 1.6):
        points = scale * np.random.default_rng(3).standard_normal((20, 100))
        found = [sk.graph_stein_discrepancy(each, target) for each in points]
        coloured[scale] = sum(
            math.isfinite(threshold(each.test_function, each.sample.weights, right_share(each.value, reference)))
            for each in found
        )
    assert coloured[1.0] <= 8  # one in six is above all five; 8 of 20 are met once in 300 times
    assert coloured[1.6] == 20


def test_names_are_told_apart_without_what_they_share():
    runs = [f"runs/of_today/sgld_step_size_{step}.csv" for step in ("1e-2", "1e-3", "5e-3")]
    assert told_apart(runs, 24) == ["…1e-2…", "…1e-3…", "…5e-3…"]
    assert told_apart(["short", "names"], 24) == ["short", "names"]
    assert told_apart(["a" * 100], 20) == ["\n".join(textwrapped) for textwrapped in [_cut("a" * 100, 20)]]
    assert told_apart([], 20) == []


def test_what_tells_names_apart_is_never_cut_out():
    names = [f"{'x' * 60}{middle}{'y' * 60}" for middle in "ab"]
    found = told_apart(names, 10)
    assert len(set(found)) == 2
    assert [each.replace("\n", "") for each in found] == names
    assert told_apart(["a long name of a model, refit", "a long name of a model"], 12)[1] == "a long name\nof a model"


def _cut(name, longest):
    shown = f"{name[: 3 * longest // 2]}…{name[1 - 3 * longest // 2 :]}"
    return [shown[k : k + longest] for k in range(0, len(shown), longest)]
