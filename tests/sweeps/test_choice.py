"""The choice of a setting, its interval, and the settings that cannot be distinguished from it."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import bootstrap

from steinkit import InputError, UsageError, estimate_bias
from steinkit.sweeps.cells import Cell, Measured
from steinkit.sweeps.choice import UnrankedError, choose, is_above, ranking
from steinkit.targets import Normal

_FAILED = None


def _records(table, measure="graph", slack=0.0, **reasons):
    """Return cells of settings step = 0, 1, ...; a row of the table has one value per seed, None for a failed cell."""
    records, error = [], 0.0 if measure in ("ess", "bias") else slack
    for step, row in enumerate(table):
        for seed, value in enumerate(row):
            reason, found = "failed", {}
            if value is not _FAILED:
                ends = float(value) - error, float(value) + error
                reason, found = None, {measure: Measured(measure, float(value), *ends, **reasons)}
            records.append(Cell({"step": step}, seed, reason, cost_per_draw=5.0, measures=found))
    return records


def _settings(table):
    return [{"step": step} for step in range(len(table))]


def _choose(table, measure="graph", slack=0.0, **options):
    return choose(_records(table, measure, slack), measure, _settings(table), **options)


def _apart(choice):
    """Return the settings that are distinguished from the best."""
    return {row.settings["step"] for row in choice.rows} - {setting["step"] for setting in (choice.best, *choice.ties)}


class TestBest:
    def test_the_smallest_median_wins_for_a_discrepancy_and_the_largest_for_ess(self):
        table = [[3.0, 3.1, 90.0], [2.0, 2.1, 50.0], [1.0, 4.0, 4.1]]
        assert _choose(table).best == {"step": 1}
        assert _choose(table).median == 2.1
        assert _choose(table, "ess").best == {"step": 2}
        assert _choose(table, "ess").median == 4.0
        rows = _choose(table, "ess").rows
        assert [(row.lower, row.median, row.upper) for row in rows] == [(m, m, m) for m in (3.1, 2.1, 4.0)]

    def test_rows_are_in_grid_order_with_medians_of_both_bounds(self):
        table = [[3.0, 1.0, 2.0], [5.0, 9.0, 6.0]]
        choice = _choose(table, slack=0.5)
        assert [row.settings for row in choice.rows] == [{"step": 0}, {"step": 1}]
        assert [(row.lower, row.median, row.upper) for row in choice.rows] == [(1.5, 2.0, 2.5), (5.5, 6.0, 6.5)]
        assert [row.cost_per_draw for row in choice.rows] == [5.0, 5.0]
        assert [(row.scored, row.failed) for row in choice.rows] == [(3, 0), (3, 0)]

    def test_cells_of_other_settings_are_ignored(self):
        table = [[3.0, 3.0], [1.0, 1.0]]
        assert choose(_records(table), "graph", [{"step": 0}]).best == {"step": 0}

    def test_a_setting_that_is_not_eligible_is_only_summarized(self):
        table = [[1.0, 1.1], [2.0, 2.1], [2.05, 2.0]]
        assert _choose(table).best == {"step": 0}
        choice = _choose(table, eligible=[1, 2])
        assert (choice.best, choice.ties) == ({"step": 2}, ({"step": 1},))
        assert [row.median for row in choice.rows] == [1.05, 2.05, 2.025]

    def test_the_order_of_records_and_of_names_in_them_does_not_matter(self):
        rng = np.random.default_rng(0)
        records = [replace(each, settings={**each.settings, "batch": 5}) for each in _records(rng.random((3, 9)))]
        settings = [{"batch": 5, "step": step} for step in range(3)]
        shuffled = [records[i] for i in rng.permutation(len(records))]
        assert choose(records, "graph", settings) == choose(shuffled, "graph", settings)


class TestInterval:
    @pytest.mark.parametrize("measure", ["graph", "ess"])
    @pytest.mark.parametrize("level", [0.8, 0.95])
    def test_agrees_with_the_percentile_bootstrap_of_scipy(self, measure, level):
        values = np.random.default_rng(3).lognormal(size=41)
        peer = bootstrap(
            (values,), np.median, confidence_level=level, n_resamples=20_000, method="percentile", rng=1
        ).confidence_interval
        choice = _choose([values], measure, level=level, repeats=20_000)
        # the bootstrap distribution of a median is concentrated on order statistics, so both ends are neighboring ones
        ordered = np.sort(values)
        for own, other in zip(choice.interval, peer, strict=True):
            assert abs(np.searchsorted(ordered, own) - np.searchsorted(ordered, other)) <= 1

    def test_includes_the_brackets(self):
        values = np.random.default_rng(4).lognormal(size=20)
        tight, loose = _choose([values]), _choose([values], slack=0.25)
        assert loose.interval == pytest.approx((tight.interval[0] - 0.25, tight.interval[1] + 0.25))

    @pytest.mark.parametrize("measure", ["graph", "ess"])
    def test_covers_the_true_median_at_its_level(self, measure):
        rng = np.random.default_rng(5)
        intervals = [_choose([rng.lognormal(size=25)], measure, repeats=400).interval for _ in range(200)]
        share = np.mean([low <= 1.0 <= high for low, high in intervals])
        assert share >= 0.95 - 3.0 * math.sqrt(0.05 * 0.95 / 200)
        assert np.mean([low <= 1.6 <= high for low, high in intervals]) < 0.7  # the 68th percentile is not the median

    def test_is_none_for_one_seed(self):
        assert _choose([[1.0], [2.0]]).interval is None


class TestTies:
    @pytest.mark.parametrize(("count", "seeds"), [(2, 6), (20, 12)])
    def test_best_and_ties_contain_the_true_best_at_their_level(self, count, seeds):
        rng = np.random.default_rng([count, seeds])
        runs = 60
        kept = sum(0 not in _apart(_choose(rng.lognormal(size=(count, seeds)), repeats=400)) for _ in range(runs))
        assert kept / runs >= 0.95 - 3.0 * math.sqrt(0.05 * 0.95 / runs)

    def test_comparisons_without_correction_lose_the_true_best_more_often(self):
        rng = np.random.default_rng(6)
        one_by_one = 1.0 - 19 * 0.05  # level at which each of 19 comparisons has an error probability of 5%
        runs = 60
        tables = (rng.lognormal(size=(20, 12)) for _ in range(runs))
        kept = sum(0 not in _apart(_choose(table, repeats=400, level=one_by_one)) for table in tables)
        assert kept / runs < 0.95 - 3.0 * math.sqrt(0.05 * 0.95 / runs)

    @pytest.mark.parametrize(("measure", "worse"), [("graph", 3.0), ("ess", 1.0 / 3.0)])
    def test_a_clearly_worse_setting_is_distinguished(self, measure, worse):
        rng = np.random.default_rng(7)
        for _ in range(20):
            table = rng.lognormal(sigma=0.5, size=(4, 20))
            table[2] *= worse
            assert 2 in _apart(_choose(table, measure))

    @pytest.mark.parametrize(("least", "above"), [(1.0, False), (math.nextafter(1.0, 2.0), True)])
    def test_brackets_of_few_seeds_that_touch_are_a_tie(self, least, above):
        assert is_above(np.array([least, 3.0]), np.array([0.5, 1.0]), error=0.05) is above

    def test_settings_with_the_same_values_tie(self):
        values = np.arange(1.0, 13.0)
        assert _apart(_choose([values, values])) == set()

    def test_seeds_are_paired(self):
        rng = np.random.default_rng(8)
        shared = rng.lognormal(size=30)
        other = shared + rng.uniform(0.05, 0.1, size=30)
        assert _apart(_choose([shared, other])) == {1}
        assert _apart(_choose([shared, rng.permutation(other)])) == set()

    def test_differences_within_the_brackets_are_ties(self):
        rng = np.random.default_rng(9)
        table = [1.0 + 0.01 * rng.random(12), 1.1 + 0.01 * rng.random(12)]
        assert _apart(_choose(table, slack=0.04)) == {1}
        assert _apart(_choose(table, slack=0.06)) == set()

    def test_one_seed_is_decided_by_the_brackets(self):
        table = [[1.0], [1.2], [3.0]]
        assert _apart(_choose(table, slack=0.11)) == {2}
        assert _apart(_choose(table, slack=0.09)) == {1, 2}

    def test_few_seeds_are_distinguished_only_if_all_brackets_are(self):
        table = [[1.0, 1.1, 1.2], [1.3, 1.4, 1.5], [1.15, 8.0, 8.0]]
        choice = _choose(table)
        assert _apart(choice) == {1}
        assert choice.ties == ({"step": 2},)
        assert any("at least 4 seeds" in note for note in choice.warnings)
        assert _choose([[1.0] * 8, [2.0] * 8, [3.0] * 8]).warnings == ()

    @pytest.mark.parametrize(("seeds", "apart"), [(5, set()), (6, {1})])
    def test_resamples_are_used_if_the_number_of_seeds_can_reach_the_level(self, seeds, apart):
        """Two settings at 95%: 2^-5 > .025 > 2^-6. The second is worse with every seed, and their ranges overlap."""
        best = np.arange(1.0, seeds + 1.0)
        assert _apart(_choose([best, best + 0.5])) == apart

    def test_settings_are_compared_on_their_common_seeds(self):
        rng = np.random.default_rng(10)
        best = np.append(1.0 + 0.1 * rng.random(7), 1.0 + 9.0 * rng.random(43) * (np.arange(43) % 3 == 0))
        records = _records([best, 2.0 + 0.1 * rng.random(7)])
        assert _apart(choose(records, "graph", [{"step": 0}, {"step": 1}])) == {1}

    def test_settings_without_a_common_seed_tie(self):
        records = _records([[1.0, 1.1, 1.2], [3.0, 3.1, 3.2]])
        records = [replace(each, seed=each.seed + 100 * each.settings["step"]) for each in records]
        choice = choose(records, "graph", [{"step": 0}, {"step": 1}])
        assert (choice.best, choice.ties) == ({"step": 0}, ({"step": 1},))

    def test_a_setting_that_was_not_run_is_neither_best_nor_tied(self):
        choice = choose(_records([[1.0, 2.0]]), "graph", [{"step": 1}, {"step": 0}])
        assert (choice.best, choice.ties) == ({"step": 0}, ())
        assert math.isnan(choice.rows[0].median)


class TestFailures:
    @pytest.mark.parametrize("measure", ["graph", "ess"])
    def test_a_setting_that_fails_with_half_of_its_seeds_cannot_win(self, measure):
        good, bad = (0.1, 5.0) if measure == "graph" else (5.0, 0.1)
        table = [[good] * 6 + [_FAILED] * 6, [bad + 0.01 * seed for seed in range(12)]]
        choice = _choose(table, measure)
        assert (choice.best, choice.ties) == ({"step": 1}, ())
        assert (choice.rows[0].scored, choice.rows[0].failed) == (6, 6)
        assert choice.rows[0].median == (math.inf if measure == "graph" else -math.inf)
        assert choice.warnings == ("6 of 12 cells with step 0 failed",)

    def test_one_failure_moves_the_median_by_one_rank(self):
        values = [float(k) for k in range(1, 11)]
        choice = _choose([[*values, _FAILED], [50.0] * 11])
        assert choice.best == {"step": 0}
        assert choice.median == 6.0
        assert choice.rows[0].failed == 1

    def test_failures_of_the_best_setting_make_ties(self):
        rng = np.random.default_rng(13)
        good, worse = (1.0 + 0.1 * rng.random(9)).tolist(), (2.0 + 0.1 * rng.random(9)).tolist()
        assert _apart(_choose([good, worse])) == {1}
        assert _apart(_choose([good[:5] + [_FAILED] * 4, worse])) == set()

    def test_the_setting_that_fails_least_is_best_if_all_fail_with_half_of_their_seeds(self):
        table = [[1.0, _FAILED, _FAILED, _FAILED], [9.0, 9.0, _FAILED, _FAILED], [_FAILED] * 4]
        choice = choose(_records(table), "graph", [*_settings(table), {"step": 3}])
        assert choice.best == {"step": 1}
        assert choice.median == math.inf


def test_invalid_arguments_are_rejected():
    records = _records([[1.0, 2.0]])
    with pytest.raises(InputError, match=r"'step': 0.* with 1"):
        choose([*records, records[1]], "graph", [{"step": 0}])
    with pytest.raises(InputError, match="graph"):
        _choose([[_FAILED, _FAILED]])
    for options in ({"level": 1.0}, {"repeats": 10}):
        with pytest.raises(UsageError, match=next(iter(options))):
            _choose([[1.0]], **options)
    with pytest.raises(UsageError, match="settings"):
        choose([], "graph", [])
    with pytest.raises(UsageError, match="'grpah'"):
        choose([], "grpah", [{"step": 0}])


class TestUnranked:
    """Cells with values that may be small for the wrong reason do not order settings."""

    def _records(self, unranked, table=((1.0, 1.1, 1.2), (2.0, 2.1, 2.2)), measure="graph", **reasons):
        reasons = reasons or {"unranked": "saturated", "unknown": "saturated"}
        plain, other = _records(table, measure), _records(table, measure, **reasons)
        return [b if (a.settings["step"], a.seed) in unranked else a for a, b in zip(plain, other, strict=True)]

    def test_a_best_setting_with_half_of_its_cells_unranked_is_rejected(self):
        with pytest.raises(UnrankedError, match="in 2 of 3 cells with step 0, saturated"):
            choose(self._records([(0, 0), (0, 2)]), "graph", _settings("ab"))

    def test_half_of_an_even_number_of_cells_suffices(self):
        table = ((1.0, 1.1, 1.2, 1.3), (2.0, 2.1, 2.2, 2.3))
        with pytest.raises(UnrankedError, match="in 2 of 4 cells"):
            choose(self._records([(0, 0), (0, 2)], table), "graph", _settings("ab"))
        assert choose(self._records([(0, 0)], table), "graph", _settings("ab")).best == {"step": 0}

    def test_for_an_estimate_unranked_cells_of_another_setting_suffice(self):
        """An unreliable estimate may also be too large, so that the other setting may be better."""
        records = self._records([(1, 0), (1, 2)], measure="bias")
        with pytest.raises(UnrankedError, match="by measure bias: in 2 of 3 cells with step 1, saturated"):
            choose(records, "bias", _settings("ab"))
        assert choose(records, "bias", _settings("ab"), eligible=[0]).best == {"step": 0}

    def test_unknown_values_matter_for_the_best_setting_only(self):
        slow = {"unknown": "it is slow"}
        behind, first = [(1, 0), (1, 2)], [(0, 0), (0, 2)]
        assert choose(self._records(behind, measure="bias", **slow), "bias", _settings("ab")).best == {"step": 0}
        with pytest.raises(UnrankedError, match="in 2 of 3 cells with step 0, it is slow"):
            choose(self._records(first, measure="bias", **slow), "bias", _settings("ab"))

    @pytest.mark.parametrize(
        ("changes", "unranked", "unknown"),
        [
            ({"unranked": "slow", "hidden": "slow", "is_multimodal": False}, "", "slow"),
            ({"unranked": "slow", "hidden": "slow", "is_multimodal": True}, "slow", "slow"),
            ({"unranked": "off", "hidden": "", "is_multimodal": False}, "off", "off"),
            ({"reason": ("", "too wide")}, "", "the biases could not be estimated: too wide"),
        ],
    )
    def test_slow_chains_are_unranked_only_if_their_draws_are_multimodal(self, changes, unranked, unknown):
        draws = np.random.default_rng(0).standard_normal(400)
        bias = estimate_bias(draws, Normal([0.0]))
        assert not any(bias.reason)
        found = Measured.of(replace(bias, **changes))
        assert (found.unranked, found.unknown, found.margin) == (unranked, unknown, bias.margin)
        assert found.lower == found.value == found.upper

    @pytest.mark.parametrize(("wanted", "chosen"), [(None, "sliced"), (1, "bias"), (2, "sliced")])
    def test_ranking_uses_the_first_measure_that_orders_enough_settings(self, wanted, chosen):
        """Biases of the second setting are not known: they find the best setting, but do not order two."""
        biases = self._records([(1, 0), (1, 1)], measure="bias")
        sliced = _records(((3.0, 3.1, 3.2), (2.0, 2.1, 2.2)), "sliced")
        cells = [replace(a, measures=a.measures | b.measures) for a, b in zip(biases, sliced, strict=True)]
        by_setting = [cells[:3], cells[3:]]
        name, losses = ranking(by_setting, ["bias", "sliced"], wanted)
        assert name == chosen
        assert losses.shape == (2, 3, 2)
        assert np.isfinite(losses[0, 0]).all()
        with pytest.raises(UnrankedError, match="by bias"):
            ranking(by_setting, ["bias"], 2)

    def test_fewer_unranked_cells_or_those_of_another_setting_are_allowed(self):
        assert choose(self._records([(0, 1)]), "graph", _settings("ab")).best == {"step": 0}
        assert choose(self._records([(1, 0), (1, 1), (1, 2)]), "graph", _settings("ab")).best == {"step": 0}
        assert choose(self._records([(0, 0), (0, 1)]), "graph", _settings("ab"), eligible=[1]).best == {"step": 1}
