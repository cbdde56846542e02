"""Successive elimination and halving: cells that run, dropped settings, and the winner."""

import math

import numpy as np
import pytest

from steinkit.sweeps.scheduler import Rung, eliminate


def _run(count, seeds, cell, measure="graph"):
    """Eliminate settings with given losses; return the seeds and settings of each rung, and the dropped settings."""
    rounds = []

    def losses_of(settings, some):
        rounds.append((tuple(some), tuple(settings)))
        return measure, np.array([[cell(i, seed) for seed in some] for i in settings])

    found = eliminate([{"setting": i} for i in range(count)], seeds, losses_of)
    dropped = {int(name.removeprefix("setting ")): reason for name, reason in found.items()}
    rounds.append((tuple(seeds), tuple(i for i in range(count) if i not in dropped)))
    return rounds, dropped


def _table(values, slack=0.0):
    return lambda i, seed: (values[i][seed] - slack, values[i][seed] + slack)


def _spread(rng, medians, seeds):
    return np.asarray(medians)[:, None] * rng.lognormal(sigma=0.3, size=(len(medians), seeds))


class TestRounds:
    @pytest.mark.parametrize(
        ("seeds", "sizes"), [(1, [1]), (5, [5]), (8, [5, 8]), (20, [5, 10, 20]), (50, [7, 13, 25, 50])]
    )
    def test_an_eighth_a_quarter_half_and_all_of_the_seeds(self, seeds, sizes):
        rounds, _ = _run(3, range(seeds), lambda i, seed: (0.0, 1.0))
        assert rounds == [(tuple(range(size)), (0, 1, 2)) for size in sizes]

    def test_seeds_are_taken_in_the_order_given(self):
        rounds, _ = _run(2, [9, 4, 7, 1, 3, 5, 2, 8, 6, 0], lambda i, seed: (0.0, 1.0))
        assert rounds[0][0] == (9, 4, 7, 1, 3)

    def test_a_lone_setting_runs_with_all_seeds_at_once(self):
        rounds, _ = _run(1, range(50), _table([np.ones(50)]))
        assert rounds == [(tuple(range(50)), (0,))]

    def test_a_single_remaining_setting_proceeds_to_the_last_round(self):
        values = np.array([[1.0], [50.0]]) + np.random.default_rng(0).random((2, 50))
        rounds, _ = _run(2, range(50), _table(values))
        assert [(settings, len(seeds)) for seeds, settings in rounds] == [((0, 1), 7), ((0,), 50)]


class TestDropping:
    def test_the_reason_contains_both_bounds_and_the_leader(self):
        values = np.array([[5.0], [1.0], [1.0]]) + 0.01 * np.random.default_rng(0).random((3, 50))
        _, dropped = _run(3, range(50), _table(values, slack=0.1))
        assert set(dropped) == {0}
        assert dropped[0].startswith("median at least 4.90")
        assert "over 7 seeds" in dropped[0]
        assert "setting 1 has at most 1.1" in dropped[0] or "setting 2 has at most 1.1" in dropped[0]

    def test_reasons_are_in_units_of_a_measure_with_larger_better_values(self):
        values = np.array([[100.0], [10.0]]) + np.random.default_rng(0).random((2, 50))
        rounds, dropped = _run(2, range(50), _table(-values), "ess")
        assert rounds[-1][1] == (0,)
        assert dropped[1].startswith("median at most 10.")
        assert "setting 0 has at least 100." in dropped[1]
        assert _run(2, range(50), _table(values))[0][-1][1] == (1,)

    def test_the_leader_has_the_smallest_midpoints(self):
        ends = [(0.0, 10.0), (2.0, 2.1), (3.0, 3.1)]
        assert set(_run(3, range(50), lambda i, seed: ends[i])[1]) == {2}

    def test_a_loose_bracket_drops_no_setting(self):
        values = np.array([[1.0], [2.0]]) + 0.1 * np.random.default_rng(0).random((2, 50))
        assert _run(2, range(50), _table(values, slack=0.6))[1] == {}
        assert set(_run(2, range(50), _table(values, slack=0.4))[1]) == {1}

    @pytest.mark.parametrize(("measure", "sign"), [("graph", 1), ("ess", -1)])
    def test_failed_cells_count_as_worst(self, measure, sign):
        values = sign * np.ones((2, 50)) + 0.1 * np.random.default_rng(0).random((2, 50))

        def cell(i, seed):
            return (math.inf, math.inf) if i == 0 else (values[i, seed],) * 2

        rounds, dropped = _run(2, range(50), cell, measure)
        assert rounds[-1][1] == (1,)
        assert dropped[0].startswith("no finite median over 7 seeds")

    def test_no_setting_is_dropped_if_all_fail(self):
        assert _run(2, range(50), lambda i, seed: (math.inf, math.inf))[0][-1][1] == (0, 1)


class TestTuning:
    def test_a_fixed_number_of_settings_continues(self):
        """Ties are broken by the order in the grid."""
        losses = np.array([[(loss, loss)] * 2 for loss in (3.0, 1.0, 9.0, 1.0, 1.0)])
        rung = Rung.of(10, "graph", [{"k": i} for i in range(5)], losses, 2)
        assert rung.kept == ({"k": 1}, {"k": 3})
        assert rung.losses == {"k 0": 3.0, "k 1": 1.0, "k 2": 9.0, "k 3": 1.0, "k 4": 1.0}


class TestWinner:
    _RUNS = 40

    @pytest.mark.parametrize("medians", [[1.0] * 6, [1.0, 1.1, 1.2, 1.5, 2.0, 4.0]])
    def test_the_true_best_remains_with_the_stated_probability(self, medians):
        rng = np.random.default_rng(len(set(medians)))
        kept = sum(
            0 in _run(len(medians), range(50), _table(_spread(rng, medians, 50)))[0][-1][1] for _ in range(self._RUNS)
        )
        assert kept / self._RUNS >= 0.95 - 3.0 * math.sqrt(0.05 * 0.95 / self._RUNS)
