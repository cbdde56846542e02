"""Curves: the measure of the first draws of a sample, and known rates of independent and low-discrepancy draws."""

import json
import math

import numpy as np
import pytest

import steinkit as sk
from steinkit.curves import curve, first_draws, fit_rate
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
    @pytest.mark.parametrize(
        ("sample", "n", "expected"),
        [
            (sk.Sample(np.arange(9.0)), 4, [0, 1, 2, 3]),
            (sk.Sample(np.arange(12.0).reshape(3, 4, 1)), 6, [0, 1, 4, 5, 8, 9]),
            (sk.Sample(np.arange(12.0).reshape(3, 4, 1)), 8, [0, 1, 2, 4, 5, 6, 8, 9]),
            (sk.Sample(np.arange(7.0), chain=[0, 0, 1, 1, 1, 1, 1]), 6, [0, 1, 2, 3, 4, 5]),
            (sk.Sample([3.0, 1.0, 2.0, 0.0], draw=[3, 1, 2, 0]), 2, [0, 1]),
        ],
        ids=["one chain", "equal shares", "a remainder", "a short chain", "draw numbers"],
    )
    def test_chains_give_equal_numbers_of_draws(self, sample, n, expected):
        assert first_draws(sample, n).points[:, 0].tolist() == expected


class TestValues:
    def test_are_those_of_the_first_draws(self, draws):
        found = curve(draws, PLANE, n=[15, 30, 60])
        for k, n in enumerate([15, 30, 60]):
            alone = sk.graph_stein_discrepancy(draws[:n], PLANE, units=found.units)
            assert found.lower[k] <= alone.upper * (1 + 1e-12)
            assert alone.lower <= found.upper[k] * (1 + 1e-12)
        assert found.n.tolist() == [15, 30, 60]
        assert found.interval is None

    def test_respect_bounds_repeats_and_weights(self):
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

    def test_all_sizes_have_the_scale_of_the_whole_sample(self, draws):
        target = sk.Target(score=lambda x: -x, dim=2)
        found = curve(3.0 * draws, target, n=[20, 60], measure="ksd")
        assert (found.units.kind, found.to_dict()["units"]["kind"]) == ("pilot", "pilot")
        assert found.units.scale == pytest.approx(3.0 * draws.std(axis=0))
        first = sk.kernel_stein_discrepancy(3.0 * draws[:20], target, units=found.units)
        assert found.values[0] == pytest.approx(first.value)

    def test_are_medians_of_replicates_with_a_band(self):
        samples = replicates(LINE, 60, 9)
        found = curve(samples, LINE, n=[20, 30, 60])
        each = np.array([curve(sample, LINE, n=[20, 30, 60]).values for sample in samples])
        assert found.replicates == pytest.approx(each)
        assert found.values == pytest.approx(np.median(each, axis=0))
        assert (found.interval[:, 0] <= found.values).all()
        assert (found.values <= found.interval[:, 1]).all()

    def test_the_default_grid_goes_from_ten_to_all(self):
        found = curve(np.random.default_rng(3).standard_normal(500), LINE, measure="ksd")
        assert found.n[[0, -1]].tolist() == [10, 500]
        assert len(found.n) == 12
        steps = np.diff(np.log(found.n))
        assert steps == pytest.approx(np.full(11, steps.mean()), rel=0.15)
        assert curve(np.arange(6.0), LINE, measure="ksd").n.tolist() == [6]

    def test_the_tail_is_the_upper_half_and_at_least_three_points(self):
        points = np.random.default_rng(10).standard_normal(640)
        found = curve(points, LINE, n=[10, 20, 40, 80, 160, 320, 640], measure="ksd")
        assert found.n[found.tail].tolist() == [80, 160, 320, 640]
        assert curve(points, LINE, n=[10, 20, 40, 640], measure="ksd").tail.tolist() == [False, True, True, True]

    def test_an_effective_size_is_proportional_to_the_draws(self):
        found = curve(np.random.default_rng(6).standard_normal(2000), measure="ess")
        assert found.rate == pytest.approx(1.0, abs=0.2)

    def test_wasserstein_uses_the_target(self):
        points = np.random.default_rng(7).uniform(size=60)
        found = curve(points, INTERVAL, n=[30, 60], measure="wasserstein")
        alone = sk.wasserstein_distance(points, INTERVAL, units=found.units)
        assert found.values[1] == pytest.approx(alone.value, rel=1e-6)


class TestRate:
    def test_a_biased_sample_levels_out(self):
        points = np.random.default_rng(8).standard_normal(1500)
        exact, biased = curve(points, LINE), curve(points + 0.5, LINE)
        assert exact.rate < -0.3
        assert biased.rate > -0.15

    def test_two_points_have_no_rate_and_a_warning(self):
        found = curve(np.arange(20.0), LINE, n=[10, 20], measure="ksd")
        assert math.isnan(found.rate)
        assert found.warnings[-1].startswith("no rate")
        assert found.to_dict()["rate"] is None
        found.summary()

    @pytest.mark.slow
    def test_rates_of_the_paper(self):
        """Gorham and Mackey (2015), 5.5 and figure 1: n^-.49, n^-1 and n^-.96 on Unif(0, 1); n^-.52 on N(0, 1)."""
        grid = {"n": np.unique(np.rint(np.geomspace(10, 200, 8)))}

        def fitted(samples, target):
            found = curve(samples, target, **grid)
            return fit_rate(found.replicates, found.n, np.ones(len(found.n), dtype=bool))

        found = {
            "sobol": fitted(sobol(INTERVAL, draws=200).to_sample(), INTERVAL).rate,
            "herding": fitted(herding(INTERVAL, draws=200).to_sample(), INTERVAL).rate,
        }
        assert found["sobol"] == pytest.approx(-1.0, abs=0.15)
        assert found["herding"] == pytest.approx(-0.96, abs=0.15)
        # groups of 25 samples differ by .031 on the interval, where sizes up to 200 fall slightly faster than n^-1/2
        for target, rate, reach in ((INTERVAL, -0.49, 0.15), (LINE, -0.52, 0.05)):
            independent = fitted(replicates(target, 200, 25), target)
            low, high = independent.rate_interval
            assert independent.rate == pytest.approx(rate, abs=reach)
            assert low < independent.rate < high < low + 0.2
            assert low > max(found.values())


class TestReports:
    def test_a_failure_at_one_size_is_a_warning(self, draws, monkeypatch):
        compute = sk.graph_stein_discrepancy

        def sometimes(sample, *args, **kwargs):
            if len(sample) == 20:
                raise SolverError("no certified result", 1.0, 2.0)
            return compute(sample, *args, **kwargs)

        monkeypatch.setattr("steinkit.discrepancy.graph.discrepancy.graph_stein_discrepancy", sometimes)
        found = curve(draws, PLANE, n=[10, 20, 30, 40, 60])
        assert np.isnan(found.values).tolist() == [False, True, False, False, False]
        assert (found.lower[1], found.upper[1]) == (1.0, 2.0)
        assert found.tail.tolist() == [False, False, True, True, True]
        assert "n = 20: no certified result" in found.warnings
        assert found.to_dict()["values"][1] is None
        assert "undefined" in found.summary()

    def test_a_warning_at_several_sizes_is_reported_once(self):
        points = np.repeat(np.random.default_rng(9).standard_normal(30), 2)
        found = curve(points, LINE, n=[20, 40, 60], measure="ksd")
        assert [each[:20] for each in found.warnings if "repeat" in each] == ["n = 60: 30 of 60 dra"]

    def test_the_document_is_json(self, draws):
        document = json.loads(json.dumps(curve(draws, PLANE, measure="ksd").to_dict(), allow_nan=False))
        assert document["n"][0] == 10
        assert list(document) == [
            *("measure", "n", "values", "lower", "upper", "interval", "replicates", "rate", "rate_interval", "tail"),
            *("units", "warnings", "version"),
        ]

    def test_few_replicates_have_a_warning(self):
        few, enough = (curve(replicates(LINE, 30, count), LINE, measure="ksd") for count in (3, 6))
        assert "75%" in few.warnings[-1]
        assert enough.warnings == ()


class TestRefusals:
    @pytest.mark.parametrize(
        ("settings", "message"),
        [
            ({"n": [0, 10]}, "got 0, 10"),
            ({"n": [10, 61]}, "got 10, 61"),
            ({"n": [10.5]}, "got 10.5"),
            ({"n": []}, "got no number"),
            ({"measure": "grpah"}, 'did you mean "graph"'),
            ({"solver": "nosuch"}, "nosuch"),
        ],
    )
    def test_invalid_settings(self, draws, settings, message):
        with pytest.raises(UsageError, match=message):
            curve(draws, PLANE, **settings)

    def test_replicates_must_be_samples_of_one_dimension(self, draws):
        with pytest.raises(UsageError, match=r"draws\[1\]"):
            curve([sk.Sample(draws), draws], PLANE)
        with pytest.raises(UsageError, match=r"\[2, 1\]"):
            curve([sk.Sample(draws), sk.Sample(draws[:, 0])], PLANE)

    def test_an_error_names_the_replicate(self):
        with pytest.raises(InputError, match=r"replicate 2: .*1\.7"):
            curve([sk.Sample([0.2, 0.4]), sk.Sample([0.3, 1.7])], INTERVAL)
