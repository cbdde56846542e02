"""Races: what is run, what is dropped and why, and that the winner stays."""

from __future__ import annotations

import math

import numpy as np
import pytest

from steinkit.sweeps.execution import Round, race


def _run(count, seeds, cell, names=None, **given):
    """All rounds of a race, whose losses are computed by a function of setting, seed and tolerance; what it drops."""
    rounds, losses, dropped = [], {}, {}
    for coming in race(names or [f"setting {i + 1}" for i in range(count)], seeds, losses, dropped, **given):
        rounds.append(coming)
        losses |= {(i, seed): cell(i, seed, coming.tolerance) for i in coming.settings for seed in coming.seeds}
    return rounds, dropped


def _table(values, slack=0.0):
    return lambda i, seed, tolerance: (values[i][seed] - slack, values[i][seed] + slack)


def _spread(rng, medians, seeds):
    return np.asarray(medians)[:, None] * rng.lognormal(sigma=0.3, size=(len(medians), seeds))


class TestRounds:
    @pytest.mark.parametrize(
        ("seeds", "sizes"), [(1, [1]), (5, [5]), (8, [5, 8]), (20, [5, 10, 20]), (50, [7, 13, 25, 50])]
    )
    def test_an_eighth_a_quarter_half_and_all_of_the_seeds(self, seeds, sizes):
        rounds, _ = _run(3, range(seeds), lambda i, seed, tolerance: (0.0, 1.0), tolerance=0.1)
        assert [len(each.seeds) for each in rounds] == sizes
        assert all(each.seeds == tuple(range(len(each.seeds))) for each in rounds)
        assert [each.tolerance for each in rounds] == [0.1] * (len(sizes) - 1) + [None]

    def test_without_a_tolerance_all_rounds_are_at_the_final_one(self):
        rounds, _ = _run(3, range(50), lambda i, seed, tolerance: (0.0, 1.0))
        assert [each.tolerance for each in rounds] == [None] * 4

    def test_seeds_are_taken_in_the_order_given(self):
        first = next(race(["a", "b"], [9, 4, 7, 1, 3, 5, 2, 8, 6, 0], {}, {}))
        assert first == Round((0, 1), (9, 4, 7, 1, 3), None)

    def test_a_lone_setting_runs_with_all_seeds_at_once(self):
        rounds, _ = _run(1, range(50), _table([np.ones(50)]), tolerance=0.1)
        assert rounds == [Round((0,), tuple(range(50)), None)]

    def test_what_is_left_alone_goes_to_the_last_round(self):
        values = np.array([[1.0], [50.0]]) + np.random.default_rng(0).random((2, 50))
        rounds, _ = _run(2, range(50), _table(values))
        assert [(each.settings, len(each.seeds)) for each in rounds] == [((0, 1), 7), ((0,), 50)]


class TestDropping:
    def test_the_reason_names_both_bounds_and_the_leader(self):
        values = np.array([[5.0], [1.0], [1.0]]) + 0.01 * np.random.default_rng(0).random((3, 50))
        _, dropped = _run(3, range(50), _table(values, slack=0.1), names=["step 5", "step 1", "step 2"])
        assert set(dropped) == {0}
        assert dropped[0].startswith("median at least 4.90")
        assert "over 7 seeds" in dropped[0]
        assert "where step 1 has at most 1.1" in dropped[0] or "where step 2 has at most 1.1" in dropped[0]

    def test_reasons_name_the_measure_where_larger_is_better(self):
        values = np.array([[100.0], [10.0]]) + np.random.default_rng(0).random((2, 50))
        rounds, dropped = _run(2, range(50), _table(-values), sign=-1)
        assert rounds[-1].settings == (0,)
        assert dropped[1].startswith("median at most 10.")
        assert "setting 1 has at least 100." in dropped[1]
        assert _run(2, range(50), _table(values))[0][-1].settings == (1,)

    def test_the_leader_is_the_one_whose_midpoints_are_small_not_whose_bounds_are_loose(self):
        ends = [(0.0, 10.0), (2.0, 2.1), (3.0, 3.1)]
        assert set(_run(3, range(50), lambda i, seed, tolerance: ends[i])[1]) == {2}

    def test_the_error_allowed_is_shared_by_all_comparisons_of_all_rounds(self, monkeypatch):
        given = []
        monkeypatch.setattr("steinkit.sweeps.execution.is_above", lambda *bounds, error: given.append(error))
        _run(5, range(50), lambda i, seed, tolerance: (0.0, 1.0))
        assert given == [pytest.approx(0.05 / (3 * 4))] * 12

    def test_a_loose_bracket_drops_nothing(self):
        values = np.array([[1.0], [2.0]]) + 0.1 * np.random.default_rng(0).random((2, 50))
        assert _run(2, range(50), _table(values, slack=0.6))[1] == {}
        assert set(_run(2, range(50), _table(values, slack=0.4))[1]) == {1}

    @pytest.mark.parametrize("sign", [1, -1])
    def test_failed_cells_count_as_worst(self, sign):
        values = sign * np.ones((2, 50)) + 0.1 * np.random.default_rng(0).random((2, 50))

        def cell(i, seed, tolerance):
            return (math.inf, math.inf) if i == 0 else (values[i, seed],) * 2

        rounds, dropped = _run(2, range(50), cell, sign=sign)
        assert rounds[-1].settings == (1,)
        assert dropped[0].startswith("no finite median over 7 seeds, 7 of them failed")

    def test_nothing_is_dropped_where_everything_fails(self):
        assert _run(2, range(50), lambda i, seed, tolerance: (math.inf, math.inf))[0][-1].settings == (0, 1)

    def test_the_same_brackets_give_the_same_race(self):
        values = _spread(np.random.default_rng(1), [1.0, 1.2, 1.5, 3.0], 40)
        assert _run(4, range(40), _table(values)) == _run(4, range(40), _table(values))


class TestWinner:
    _RUNS = 40

    @pytest.mark.parametrize("medians", [[1.0] * 6, [1.0, 1.1, 1.2, 1.5, 2.0, 4.0]])
    def test_the_true_best_stays_in_as_often_as_said(self, medians):
        rng = np.random.default_rng(len(set(medians)))
        kept = sum(
            0 in _run(len(medians), range(50), _table(_spread(rng, medians, 50)))[0][-1].settings
            for _ in range(self._RUNS)
        )
        assert kept / self._RUNS >= 0.95 - 3.0 * math.sqrt(0.05 * 0.95 / self._RUNS)

    def test_races_over_settings_that_differ_run_less_than_half_of_the_cells_and_keep_the_winner(self):
        rng = np.random.default_rng(2)
        medians = [30.0, 5.0, 3.0, 4.6, 6.8, 22.0, 35.0, 54.0]
        kept, shares = 0, []
        for _ in range(20):
            values = _spread(rng, medians, 50)
            rounds, _ = _run(8, range(50), _table(values))
            shares.append(len({(i, seed) for each in rounds for i in each.settings for seed in each.seeds}) / 400)
            kept += int(np.median(values, axis=1).argmin()) in rounds[-1].settings
        assert kept >= 19
        assert np.mean(shares) < 0.5
