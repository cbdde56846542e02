"""Curves: the measure of beginnings of a sample, and the rates known for independent and low-discrepancy draws."""

import json
import math

import numpy as np
import pytest

import steinkit as sk
from steinkit.curves import curve, first_draws, within_budget
from steinkit.errors import InputError, SolverError, UsageError
from steinkit.samplers import herding, iid, sobol

LINE = sk.targets.Normal(dim=1)
PLANE = sk.targets.Normal(dim=2)
INTERVAL = sk.targets.Uniform(0.0, 1.0)


def replicates(target, draws, count, seed=0):
    return [sk.Sample(points) for points in iid(target, draws=draws, chains=count, seed=seed).points]


@pytest.fixture(scope="module")
def draws():
    return np.random.default_rng(0).standard_normal((60, 2))


class TestFirstDraws:
    def test_one_chain_gives_its_first(self):
        assert first_draws(sk.Sample(np.arange(9.0)), 4).points[:, 0].tolist() == [0.0, 1.0, 2.0, 3.0]

    def test_chains_share_alike_and_the_first_give_what_is_left(self):
        sample = sk.Sample(np.arange(12.0).reshape(3, 4, 1))
        assert first_draws(sample, 6).points[:, 0].tolist() == [0, 1, 4, 5, 8, 9]
        assert first_draws(sample, 8).points[:, 0].tolist() == [0, 1, 2, 4, 5, 6, 8, 9]

    def test_a_chain_that_has_no_more_is_left_at_what_it_has(self):
        sample = sk.Sample(np.arange(7.0), chain=[0, 0, 1, 1, 1, 1, 1])
        assert first_draws(sample, 6).points[:, 0].tolist() == [0, 1, 2, 3, 4, 5]

    def test_draw_numbers_decide_what_is_first(self):
        sample = sk.Sample([3.0, 1.0, 2.0, 0.0], draw=[3, 1, 2, 0])
        assert first_draws(sample, 2).points[:, 0].tolist() == [0.0, 1.0]

    def test_more_than_there_are_is_refused(self):
        with pytest.raises(UsageError, match="first 5 draws were asked for, but the sample has 4"):
            first_draws(sk.Sample(np.arange(4.0)), 5)


class TestWithinBudget:
    def test_every_chain_gets_the_same_share(self):
        cost = [1, 2, 3, 4, 10, 20, 30, 40]
        sample = sk.Sample(np.arange(8.0), chain=np.repeat([0, 1], 4), cost=cost)
        assert within_budget(sample, 4.0).points[:, 0].tolist() == [0, 1]
        assert within_budget(sample, 41.0).points[:, 0].tolist() == [0, 1, 2, 3, 4, 5]

    def test_nothing_to_be_had_is_refused(self):
        sample = sk.Sample(np.arange(3.0), cost=[7, 8, 9])
        with pytest.raises(UsageError, match="pays for no draw: the first of a chain costs 7"):
            within_budget(sample, 5.0)
        with pytest.raises(UsageError, match="needs the draws' cumulative cost"):
            within_budget(sk.Sample(np.arange(3.0)), 5.0)


class TestValues:
    def test_are_those_of_the_first_draws_alone(self, draws):
        found = curve(draws, PLANE, n=[15, 30, 60])
        for k, n in enumerate([15, 30, 60]):
            alone = sk.graph_stein_discrepancy(draws[:n], PLANE, units=found.units)
            assert found.lower[k] <= alone.upper * (1 + 1e-12)
            assert alone.lower <= found.upper[k] * (1 + 1e-12)
        assert found.n.tolist() == [15, 30, 60]
        assert (found.cost, found.interval) == (None, None)

    def test_hold_bounds_repeats_and_weights(self):
        """The scores of a bounded target with repeated and weightless draws, taken once, are those taken anew."""
        target = sk.targets.Gamma(3.0)
        points = np.random.default_rng(1).gamma(3.0, size=40)
        points[10:15] = points[10]
        weights = np.random.default_rng(2).uniform(size=40)
        weights[3] = 0.0
        found = curve(sk.Sample(points, weights=weights), target, n=[20, 30, 40])
        for k, n in enumerate([20, 30, 40]):
            alone = sk.graph_stein_discrepancy(points[:n], target, weights=weights[:n], units=found.units)
            assert found.values[k] == pytest.approx(alone.value, rel=1e-6)
        assert any("weight zero" in warning for warning in found.warnings)

    def test_every_point_has_the_scale_of_the_whole_sample(self, draws):
        """A scale of its own at every size would mix the first draws' spread into the rate."""
        target = sk.Target(score=lambda x: -x, dim=2)
        found = curve(3.0 * draws, target, n=[20, 60], measure="ksd")
        assert (found.units.kind, found.to_dict()["units"]["kind"]) == ("pilot", "pilot")
        assert found.units.scale == pytest.approx(3.0 * draws.std(axis=0))
        first = sk.kernel_stein_discrepancy(3.0 * draws[:20], target, units=found.units)
        assert found.values[0] == pytest.approx(first.value)

    def test_take_the_score_of_every_draw_once(self, draws):
        seen = []

        def score(points):
            seen.append(len(points))
            return -points

        target = sk.Target(score=score)
        target.score(draws[:3])  # the first call checks the function
        seen.clear()
        curve(draws, target, n=[20, 40, 60], measure="ksd")
        assert sum(seen) == 60

    def test_median_of_replicates_and_its_band(self):
        samples = replicates(LINE, 60, 9)
        found = curve(samples, LINE, n=[20, 30, 60])
        each = np.array([curve(sample, LINE, n=[20, 30, 60]).values for sample in samples])
        assert found.replicates == pytest.approx(each)
        assert found.values == pytest.approx(np.median(each, axis=0))
        assert (found.interval[:, 0] <= found.values).all()
        assert (found.values <= found.interval[:, 1]).all()
        assert found.interval_kind == "bootstrap"

    def test_grid_by_default_goes_from_ten_to_all(self):
        found = curve(np.random.default_rng(3).standard_normal(500), LINE, measure="ksd")
        assert found.n[[0, -1]].tolist() == [10, 500]
        assert len(found.n) == 12
        steps = np.diff(np.log(found.n))
        assert steps == pytest.approx(np.full(11, steps.mean()), rel=0.15)
        assert curve(np.arange(6.0), LINE, measure="ksd").n.tolist() == [6]

    def test_tail_by_default_is_the_upper_half_and_three_points_at_least(self):
        points = np.random.default_rng(10).standard_normal(640)
        found = curve(points, LINE, n=[10, 20, 40, 80, 160, 320, 640], measure="ksd")
        assert found.n[found.tail].tolist() == [80, 160, 320, 640]
        assert curve(points, LINE, n=[10, 20, 40, 640], measure="ksd").tail.tolist() == [False, True, True, True]

    def test_budgets_are_the_grid_and_cost_the_abscissa(self):
        points = np.random.default_rng(4).standard_normal(80)
        sample = sk.Sample(points, cost=5.0 * np.arange(1, 81))
        found = curve(sample, LINE, budget=[52, 103, 204, 400], tail_from=52)
        assert found.n.tolist() == [10, 20, 40, 80]
        assert found.cost.tolist() == [50, 100, 200, 400]
        by_size = curve(sample, LINE, n=[10, 20, 40, 80], tail_from=10)
        assert found.values.tolist() == by_size.values.tolist()
        assert found.rate == pytest.approx(by_size.rate)
        assert found.to_dict()["rate_against"] == "cost"

    def test_a_budget_that_buys_nothing_more_is_said(self):
        sample = sk.Sample(np.random.default_rng(11).standard_normal(20), cost=np.arange(1.0, 21))
        found = curve(sample, LINE, budget=[5, 10, 20, 50], measure="ksd")
        assert found.n.tolist() == [5, 10, 20, 20]
        assert found.warnings[-1].startswith("no more was drawn with budget 50 than")
        assert curve(sample, LINE, budget=[5, 10, 20], measure="ksd").warnings == ()

    def test_chains_cost_together(self):
        sample = sk.Sample(
            np.random.default_rng(5).standard_normal((2, 10, 1)), cost=np.tile(np.arange(1.0, 11), (2, 1))
        )
        assert curve(sample, LINE, n=[4, 8, 20], measure="ksd").cost.tolist() == [4, 8, 20]

    def test_effective_size_grows_with_the_draws(self):
        found = curve(np.random.default_rng(6).standard_normal(2000), measure="ess")
        assert found.rate == pytest.approx(1.0, abs=0.2)
        assert "speaks for mixing" in found.summary()

    def test_wasserstein_takes_the_target_itself(self):
        found = curve(np.random.default_rng(7).uniform(size=60), INTERVAL, n=[30, 60], measure="wasserstein")
        assert found.values[1] == pytest.approx(
            sk.wasserstein_distance(np.random.default_rng(7).uniform(size=60), INTERVAL, units=found.units).value,
            rel=1e-6,
        )


class TestRate:
    def test_a_biased_sample_levels_out(self):
        points = np.random.default_rng(8).standard_normal(1500)
        right, biased = curve(points, LINE), curve(points + 0.5, LINE)
        assert right.rate < -0.3
        assert biased.rate > -0.15

    def test_budgets_that_buy_nothing_more_are_not_fitted(self):
        points = np.random.default_rng(8).standard_normal(80)
        sample = sk.Sample(points=points[:, None], cost=np.arange(1.0, 81.0))
        spent, beyond = (
            curve(sample, LINE, budget=[10, 20, 40, 80, *more], measure="ksd", tail_from=10)
            for more in ([], [100, 1000])
        )
        assert (beyond.rate, beyond.rate_interval) == (spent.rate, spent.rate_interval)
        assert beyond.tail.tolist() == [True] * 4 + [False] * 2
        assert "no more was drawn" in beyond.warnings[-1]

    def test_too_few_points_have_no_rate_and_it_is_said(self):
        found = curve(np.arange(20.0), LINE, n=[10, 20], measure="ksd")
        assert math.isnan(found.rate)
        assert found.warnings[-1] == "no rate: the tail has 2 different points to fit, 3 are needed"
        assert "No rate could be fitted" in found.summary()
        assert found.to_dict()["rate"] is None

    @pytest.mark.slow
    def test_rates_of_the_paper(self):
        """Gorham and Mackey (2015), 5.5 and figure 1: n^-.49, n^-1 and n^-.96 on Unif(0, 1); n^-.52 on N(0, 1)."""
        grid = {"n": np.unique(np.rint(np.geomspace(10, 200, 8))), "tail_from": 10, "stein_factors": (1, 1, 1)}
        found = {
            "sobol": curve(sobol(INTERVAL, draws=200).to_sample(), INTERVAL, **grid).rate,
            "herding": curve(herding(INTERVAL, draws=200).to_sample(), INTERVAL, **grid).rate,
        }
        assert found["sobol"] == pytest.approx(-1.0, abs=0.15)
        assert found["herding"] == pytest.approx(-0.96, abs=0.15)
        # groups of 50 samples differ by .022 on the interval, where sizes up to 200 fall a little faster than n^-1/2
        for target, rate, reach in ((INTERVAL, -0.49, 0.15), (LINE, -0.52, 0.05)):
            independent = curve(replicates(target, 200, 50), target, **grid)
            low, high = independent.rate_interval
            assert independent.rate == pytest.approx(rate, abs=reach)
            assert low < independent.rate < high < low + 0.2
            assert low > max(found.values())


class TestReports:
    def test_an_answer_that_fails_leaves_the_others(self, draws, monkeypatch):
        compute = sk.graph_stein_discrepancy

        def sometimes(sample, *args, **kwargs):
            if len(sample) == 20:
                raise SolverError("no certified answer", 1.0, 2.0)
            return compute(sample, *args, **kwargs)

        monkeypatch.setattr("steinkit.discrepancy.graph.discrepancy.graph_stein_discrepancy", sometimes)
        found = curve(draws, PLANE, n=[10, 20, 40, 50, 60], tail_from=10)
        assert np.isnan(found.values).tolist() == [False, True, False, False, False]
        assert (found.lower[1], found.upper[1]) == (1.0, 2.0)
        assert found.tail.tolist() == [True, False, True, True, True]
        assert "n = 20: no certified answer" in found.warnings
        assert found.to_dict()["values"][1] is None
        assert "undefined" in found.summary()

    def test_what_is_said_at_every_size_is_said_once(self):
        points = np.repeat(np.random.default_rng(9).standard_normal(30), 2)
        for sizes, others in (([20, 40, 60], "2 other points"), ([40, 60], "1 other point")):
            found = curve(points, LINE, n=sizes, measure="ksd")
            (said,) = [warning for warning in found.warnings if "repeat an earlier draw" in warning]
            assert said.startswith("n = 60: 30 of 60 draws")
            assert said.endswith(f"(and likewise at {others} of the curve)")

    def test_the_document_is_json(self, draws):
        document = json.loads(json.dumps(curve(draws, PLANE, measure="ksd").to_dict(), allow_nan=False))
        assert document["n"][0] == 10
        assert list(document) == [
            *("measure", "n", "cost", "budget", "values", "lower", "upper", "interval", "replicates", "rate"),
            *("rate_against", "rate_interval", "interval_kind", "level", "tail", "units", "warnings", "version"),
        ]

    def test_few_replicates_are_said_to_be_few(self):
        few, enough = (curve(replicates(LINE, 30, count), LINE, measure="ksd") for count in (3, 6))
        assert "holds the median with probability 75% only" in few.warnings[-1]
        assert enough.warnings == ()

    def test_words_name_the_interval_for_what_it_is(self, draws):
        assert "regression interval" in curve(draws, PLANE, measure="ksd").summary()
        assert "bootstrap interval over the samples" in curve(replicates(LINE, 50, 3), LINE, measure="ksd").summary()

    def test_the_same_seed_gives_the_same_curve(self):
        samples = replicates(LINE, 50, 5)
        one, other = (curve(samples, LINE, measure="ksd", rng=3) for _ in range(2))
        assert one.to_dict() == other.to_dict()

    def test_an_interrupt_goes_through(self, draws, monkeypatch):
        def interrupted(*args, **kwargs):
            raise KeyboardInterrupt

        monkeypatch.setattr("steinkit.curves.take_measure", interrupted)
        with pytest.raises(KeyboardInterrupt):
            curve(draws, PLANE)


class TestRefusals:
    @pytest.mark.parametrize(
        ("settings", "message"),
        [
            ({"n": [0, 10]}, "whole numbers from 1 to 60"),
            ({"n": [10, 61]}, "whole numbers from 1 to 60"),
            ({"n": [10.5]}, "whole numbers"),
            ({"tail_from": np.nan}, "tail_from must be a number"),
            ({"n": []}, "whole numbers"),
            ({"n": [10], "budget": [10]}, "both n and budget"),
            ({"budget": [10]}, "needs the draws' cumulative cost"),
            ({"budget": [-1]}, "positive"),
            ({"measure": "grpah"}, 'did you mean "graph"'),
            ({"level": 1.0}, "between 0 and 1"),
            ({"solver": "nosuch"}, "nosuch"),
        ],
    )
    def test_wrong_settings_are_refused(self, draws, settings, message):
        with pytest.raises(UsageError, match=message):
            curve(draws, PLANE, **settings)

    def test_replicates_are_samples_of_one_dimension(self, draws):
        with pytest.raises(UsageError, match="Samples only; received ndarray"):
            curve([sk.Sample(draws), draws], PLANE)
        with pytest.raises(UsageError, match="same dimension"):
            curve([sk.Sample(draws), sk.Sample(draws[:, 0])], PLANE)

    def test_a_bad_replicate_is_named(self):
        samples = [sk.Sample([0.2, 0.4]), sk.Sample([0.3, 1.7])]
        with pytest.raises(InputError, match=r"replicate 2: .*1\.7"):
            curve(samples, INTERVAL)
