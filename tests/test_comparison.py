"""Comparison of samples: ranks by brackets, failures, references, units and verdicts."""

import itertools
import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import steinkit as sk
from steinkit.comparison import compare, rank_groups
from steinkit.errors import SolverError, UsageError

NORMAL = sk.targets.Normal(dim=2)


@pytest.fixture(scope="module")
def points():
    return np.random.default_rng(0).standard_normal((200, 2))


class TestRankGroups:
    def test_a_chain_of_overlaps_is_one_tie(self):
        assert rank_groups({"a": (1, 2), "b": (1.9, 3), "c": (2.5, 4), "d": (5, 6)}) == (("a", "b", "c"), ("d",))

    @given(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 5)), min_size=1, max_size=12), st.booleans())
    def test_groups_are_the_components_of_overlap(self, drawn, smaller):
        brackets = {f"s{k}": (float(low), float(low + width)) for k, (low, width) in enumerate(drawn)}
        component = {name: {name} for name in brackets}
        for a, (low_a, up_a) in brackets.items():
            for b, (low_b, up_b) in brackets.items():
                if low_a <= up_b and low_b <= up_a:
                    joined = component[a] | component[b]
                    for name in joined:
                        component[name] = joined
        groups = rank_groups(brackets, smaller_is_better=smaller)
        assert {frozenset(group) for group in groups} == {frozenset(each) for each in component.values()}
        for better, worse in itertools.pairwise(groups):
            for a in better:
                for b in worse:
                    assert brackets[a][1] < brackets[b][0] if smaller else brackets[a][0] > brackets[b][1]


class TestCompare:
    def test_ranks_by_the_separate_measures(self, points):
        samples = {"wide": 1.5 * points, "exact": points, "again": points.copy()}
        found = compare(samples, NORMAL)
        assert found.ranking == {"graph": (("exact", "again"), ("wide",))}
        assert [found.rank(name, "graph") for name in samples] == [3, 1, 1]
        for each in found.samples:
            alone = sk.graph_stein_discrepancy(samples[each.name], NORMAL, units=found.units)
            assert (each.measurements["graph"].lower, each.measurements["graph"].upper) == (alone.lower, alone.upper)

    def test_wide_brackets_tie_samples_that_narrow_ones_rank(self, points):
        samples = {"a": points, "b": 1.02 * points}
        narrow = compare(samples, NORMAL)
        wide = compare(samples, NORMAL, solver="first_order", tolerance=0.09)
        assert [len(group) for group in narrow.ranking["graph"]] == [1, 1]
        assert [len(group) for group in wide.ranking["graph"]] == [2]
        assert "1=" in wide.summary()

    def test_an_invalid_sample_is_reported(self, points):
        samples = {"nan": [[math.nan, 0.0]], "three": np.zeros((5, 3)), "exact": points}
        found = compare(samples, NORMAL, measures=("graph", "ess"))
        assert found.ranking["graph"] == (("exact",),)
        nan, three, exact = found.samples
        assert "nan" in str(nan.errors["graph"])
        assert set(nan.errors) == {"graph", "ess"}
        assert "2 parameters" in str(three.errors["graph"])
        assert set(three.measurements) == {"ess"}
        assert exact.errors == {}
        assert compare({"three": np.zeros((5, 3)), "exact": points}, NORMAL).samples[0].unjudged is None
        entries = found.to_dict()["samples"]
        assert [entry["error"] is None for entry in entries] == [False, False, True]
        assert [entry["draws"] for entry in entries] == [None, 5, 200]
        assert "graph" not in entries[1]["rank"]

    def test_a_missing_certificate_is_reported(self, points, monkeypatch):
        compute = sk.graph_stein_discrepancy

        def sometimes(sample, *args, **kwargs):
            if sample.points[0, 0] > 50.0:
                raise SolverError("no certified result", 1.0, 2.0)
            return compute(sample, *args, **kwargs)

        monkeypatch.setattr("steinkit.discrepancy.graph.discrepancy.graph_stein_discrepancy", sometimes)
        found = compare({"far": points + 100.0, "exact": points}, NORMAL)
        assert isinstance(found.samples[0].errors["graph"], SolverError)
        assert found.rank("far", "graph") is None
        assert found.rank("exact", "graph") == 1

    def test_effective_sizes_rank_descending_and_undefined_ones_are_omitted(self):
        rng = np.random.default_rng(1)
        steps = np.cumsum(rng.standard_normal(200))
        found = compare({"walk": steps, "free": rng.standard_normal(200), "still": np.zeros(200)}, measures="ess")
        assert found.ranking["ess"] == (("free",), ("walk",))
        assert found.rank("still", "ess") is None
        assert json.loads(json.dumps(found.to_dict(), allow_nan=False))["samples"][2]["rank"] == {}

    def test_references_have_the_sizes_of_the_samples(self, points):
        found = compare({"a": points, "b": points[:40], "c": points[:40] + 1.0}, NORMAL, reference=3, rng=5)
        assert [each.n for each in found.references["graph"]] == [40, 200]
        alone = sk.reference_discrepancy(NORMAL, 200, 3, rng=5, tolerance=1e-3, units=found.units)
        assert found.references["graph"][1].median == pytest.approx(alone.median, rel=1e-3)
        assert found.to_dict()["reference"]["graph"][0]["draws"] == 40
        small, large = found.references["graph"]
        assert large.median < small.median

    def test_slow_chains_have_a_reference_of_their_effective_size(self, points):
        found = compare({"slow": np.repeat(points, 5, axis=0)}, NORMAL, measures="ksd", reference=3, rng=5)
        (reference,) = found.references["ksd"]
        assert found.samples[0].effective == reference.n < 400  # 200 draws that are repeated five times each
        entry, document = found.to_dict()["reference"]["ksd"][0], found.to_dict()["samples"][0]
        assert (entry["draws"], entry["effective_draws"], entry["run"]) == (reference.n, reference.n, None)
        assert (document["draws"], document["effective_draws"]) == (1000, reference.n)

    def test_blocks_of_a_long_run_replace_independent_samples(self, points):
        run = np.random.default_rng(3).standard_normal((1000, 2))
        found = compare({"a": points}, sk.Target(lambda x: -x, dim=2), measures="ksd", reference_draws=run)
        (reference,) = found.references["ksd"]
        assert len(reference.values) == 1000 // reference.n
        assert 200 <= reference.n < 400
        assert found.to_dict()["reference"]["ksd"][0]["run"] == "the long run"
        with pytest.raises(UsageError, match="mutually exclusive"):
            compare({"a": points}, NORMAL, measures="ksd", reference_draws=run, reference=2)

    def test_a_long_run_that_is_too_short_is_a_warning(self, points):
        found = compare({"a": points}, NORMAL, measures="ksd", reference_draws=points[:60])
        assert found.ranking["ksd"] == (("a",),)
        assert found.references == {}
        assert any("200" in note for note in found.warnings)

    def test_different_sizes_are_a_warning(self, points):
        found = compare({"a": points, "b": points[:40]}, NORMAL, measures=("ksd",))
        assert "40 to 200 draws" in found.warnings[0]
        assert compare({"a": points, "b": points + 1.0}, NORMAL, measures=("ksd",)).warnings == ()

    def test_warnings_name_their_sample(self, points):
        found = compare({"twice": np.vstack([points, points])}, NORMAL)
        assert found.warnings[0].startswith("twice: 200 of 400 draws repeat an earlier draw")

    def test_stored_scores_need_no_target(self, points):
        found = compare({"stored": sk.Sample(points, scores=-points), "none": points})
        assert found.rank("stored", "graph") == 1
        assert "scores=" in str(found.samples[1].errors["graph"])

    def test_the_table_has_the_worst_coordinate(self):
        draws = np.random.default_rng(2).standard_normal((30, 7))
        draws[:, 4] += 3.0
        found = compare({"a": draws}, sk.targets.Normal(dim=7), tolerance=0.05)
        assert found.table("sliced").rows[0][-1].startswith("x5 ")


LINE = np.random.default_rng(11).standard_normal(80)


class TestUnits:
    """All samples have one scale: in its own units, a sample that is too wide would score lower."""

    def test_are_those_of_a_target_with_a_sampler(self):
        found = compare({"a": 20.0 * LINE, "b": 10.0 * LINE}, sk.targets.Normal([0.0], covariance=400.0))
        assert found.units.kind == "reference"
        assert found.units.scale == pytest.approx([20.0], rel=0.03)  # the standard error for 10,000 draws is .007
        assert found.to_dict()["units"] == {"kind": "reference", "scale": {"x1": found.units.scale[0]}}

    def test_are_those_of_the_first_sample_otherwise(self):
        target = sk.Target(score=lambda x: -x / 400.0, dim=1)
        found = compare({"a": 10.0 * LINE, "b": 20.0 * LINE}, target, measures=("graph", "moments"))
        assert found.units.kind == "pilot"
        assert found.units.scale == pytest.approx([10.0 * LINE.std()])
        assert all(each.measurements["graph"].units.scale == found.units.scale for each in found.samples)
        assert found.ranking["graph"][0] == found.ranking["moments"][0] == ("b",)

    def test_are_not_those_of_constant_draws(self):
        target = sk.Target(score=lambda x: -x, dim=1)
        assert compare({"still": np.zeros(20), "moving": LINE}, target).units.scale == pytest.approx([LINE.std()])
        with pytest.warns(sk.SteinkitWarning, match="x1"):
            raw = compare({"still": np.zeros(20)}, target, verdict=False)
        assert raw.units.kind == "raw"
        assert "x1" in raw.warnings[0]

    def test_may_be_given(self):
        found = compare({"a": LINE}, sk.targets.Normal([0.0]), units=[2.0])
        assert found.to_dict()["units"] == {"kind": "given", "scale": {"x1": 2.0}}
        raw = compare({"a": LINE}, sk.targets.Normal([0.0]), units="raw")
        assert (
            raw.samples[0].measurements["graph"].lower
            == sk.graph_stein_discrepancy(LINE, sk.targets.Normal([0.0])).lower
        )

    def test_are_not_defined_for_ess(self):
        assert compare({"a": LINE}, measures="ess").to_dict()["units"] is None


class TestRefusals:
    @pytest.mark.parametrize(
        ("settings", "message"),
        [
            ({"measures": ("grahp",)}, 'did you mean "graph"'),
            ({"measures": ()}, "measures"),
            ({"reference": -1}, "reference .* got -1"),
            ({"solver": "nosuch"}, "nosuch"),
            ({"reference": 2, "bounds": (-9.0, 9.0)}, "with different bounds"),
        ],
    )
    def test_invalid_settings(self, points, settings, message):
        with pytest.raises(UsageError, match=message):
            compare({"a": points, "b": points}, NORMAL, **settings)

    def test_samples_must_be_a_mapping_with_samples(self, points):
        with pytest.raises(UsageError, match="got none"):
            compare({}, NORMAL)
        with pytest.raises(UsageError, match="got list"):
            compare([points], NORMAL)

    def test_own_bounds_of_the_target_allow_a_reference(self):
        found = compare({"a": np.linspace(0.1, 0.9, 20)}, sk.targets.Uniform(), bounds=(0.0, 1.0), reference=2)
        assert len(found.references["graph"]) == 1

    def test_a_reference_needs_a_target_with_a_sampler(self, points):
        with pytest.raises(UsageError, match="stored scores"):
            compare({"a": sk.Sample(points, scores=-points)}, reference=2)


class TestVerdicts:
    def test_every_sample_is_judged_separately(self):
        points = np.random.default_rng(4).standard_normal((400, 2))
        found = compare({"wide": 1.5 * points, "exact": points}, NORMAL, measures="ksd", matters=0.2, rng=3)
        wide, exact = found.samples
        alone = sk.verdict(1.5 * points, NORMAL, matters=0.2, rng=3)
        assert wide.verdict.to_dict() == alone.to_dict()
        assert (wide.verdict.is_biased, exact.verdict.is_biased) == (True, False)
        assert found.to_dict()["samples"][0]["verdict"] == alone.to_dict()

    def test_a_sample_without_a_verdict_has_the_reason(self, points):
        found = compare({"few": points[:5], "exact": points}, NORMAL, measures="graph")
        assert found.samples[0].verdict is None
        assert [each.measurements["graph"].value > 0.0 for each in found.samples] == [True, True]
        assert any(note.startswith("few: there is no verdict") for note in found.warnings)
        assert [bool(each["unjudged"]) for each in found.to_dict()["samples"]] == [True, False]

    def test_there_is_none_on_request_or_without_scores(self, points):
        assert compare({"a": points}, NORMAL, measures="ksd", verdict=False).samples[0].verdict is None
        blind = compare({"a": points}, measures="ess")
        assert blind.samples[0].verdict is None
        assert blind.warnings == ()

    def test_use_the_bounds_of_the_settings(self):
        x = np.abs(np.random.default_rng(5).standard_normal((800, 1)))
        half = sk.Target(score=lambda x: -x)
        assert not compare({"a": x}, half, measures="ksd", bounds=(0.0, np.inf)).samples[0].verdict.is_biased
        assert compare({"a": x}, half, measures="ksd").samples[0].verdict.is_biased
