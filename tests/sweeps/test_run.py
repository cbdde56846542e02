"""Cells of a sweep: their contents, and their independence from other cells and from the way they are computed."""

import itertools
import json
import math
import os
import signal
import sys
import threading
from dataclasses import replace

import numpy as np
import pytest
from support.records import timeless

import steinkit as sk
from steinkit.errors import SteinkitError, UsageError
from steinkit.measures import take_measure
from steinkit.samplers import Draws, rwmh
from steinkit.sweeps.run import sweep

TARGET = sk.targets.Normal([0.0])
GRID = {"proposal_scale": [0.2, 2.5]}
OPTIONS = {"draws": 40}


def small(target=TARGET, sampler="rwmh", **changes):
    given = {"grid": GRID, "options": OPTIONS, "seeds": 3, "measures": ("graph",)} | changes
    return sweep(target, sampler, **given)


def scaled(target, *, seed, scale):
    return scale * np.random.default_rng(seed).standard_normal(40)


def test_a_cell_contains_the_measures_of_the_samplers_chain():
    result = small(measures=("graph", "ess"))
    cells = list(itertools.product(GRID["proposal_scale"], range(3)))
    assert [(r.settings["proposal_scale"], r.seed) for r in result.records] == cells
    for record in result.records:
        draws = rwmh(TARGET, **record.settings, **OPTIONS, seed=[record.seed])
        assert list(record.measures) == ["graph", "ess"]
        for name, measured in record.measures.items():
            alone = take_measure(name, draws.to_sample(), TARGET, tolerance=1e-2, units=result.units)
            assert measured.value == alone.value
        assert record.reason is None
        assert (record.draws, record.cost_per_draw) == (40, draws.cost[0, -1] / 40)
    medians = [
        np.median([r.measures["graph"].value for r in result.records if r.settings["proposal_scale"] == scale])
        for scale in GRID["proposal_scale"]
    ]
    assert result.criteria["graph"].best == {"proposal_scale": GRID["proposal_scale"][int(np.argmin(medians))]}
    assert (result.cells, result.failed, result.reused) == (6, 0, 0)
    json.dumps(result.to_dict(), allow_nan=False)


def test_seeds_are_a_number_or_a_list():
    by_list, by_count = small(seeds=[2, 1]), small(seeds=3)
    assert by_list.seeds == (2, 1)
    wanted = {(r.settings["proposal_scale"], r.seed): r for r in timeless(by_count.records)}
    assert all(r == wanted[r.settings["proposal_scale"], r.seed] for r in timeless(by_list.records))


def test_a_normal_start_differs_by_seed_and_is_standard_normal():
    states = []

    def first_states(target, *, seed, draws, start):
        states.append(start[0])
        return np.ones((draws + 1, 2)) * [[seed], [seed + 0.5]] / 400.0

    target = sk.targets.Normal([0.0, 0.0])
    given = {"grid": {"draws": [1]}, "options": {"start": "normal"}, "seeds": 200, "measures": ("ess",)}
    small(target, first_states, **given)
    assert len(np.unique(np.array(states)[:, 0])) == 200
    assert abs(np.mean(states)) < 4.0 / math.sqrt(400)
    assert abs(np.var(states) - 1.0) < 4.0 * math.sqrt(2.0 / 400)


def test_a_users_sampler_may_return_draws_a_sample_or_an_array():
    def as_sample(target, *, seed, scale):
        return sk.Sample(points=scaled(target, seed=seed, scale=scale))

    def as_draws(target, *, seed, scale):
        return Draws(points=scaled(target, seed=seed, scale=scale).reshape(1, 40, 1), cost=np.zeros((1, 40)))

    results = [small(sampler=each, grid={"scale": [0.3, 1.0]}, options={}) for each in (scaled, as_sample, as_draws)]
    assert results[0].criteria["graph"].best == {"scale": 1.0}
    values = [[r.measures["graph"].value for r in result.records] for result in results]
    assert values[0] == values[1] == values[2]


def test_a_function_of_steinkit_is_the_sampler_of_its_name():
    assert timeless(small(sampler=rwmh).records) == timeless(small().records)


def test_a_failed_chain_does_not_affect_the_others():
    def log_density(x):
        return np.where(x[:, 0] > 2.0, np.nan, -0.5 * x[:, 0] ** 2)

    target = sk.Target(score=lambda x: -x, log_density=log_density, dim=1)
    fails = set()
    for seed in range(8):
        try:
            rwmh(target, proposal_scale=1.0, draws=60, seed=[seed])
        except SteinkitError:
            fails.add(seed)
    assert 0 < len(fails) < 8
    result = small(target, grid={"proposal_scale": [1.0]}, options={"draws": 60}, seeds=8, measures=("ess",))
    failed = {r.seed: r for r in result.records if r.reason}
    assert set(failed) == fails
    assert all("nan" in r.reason and not r.measures for r in failed.values())


def test_a_diverging_setting_fails_alone():
    posterior = sk.targets.GaussianMean(np.random.default_rng(0).normal(size=(20, 2)))
    given = {"grid": {"step_size": [0.01, 10.0]}, "options": {"batch_size": 5, "draws": 400}, "seeds": 2}
    result = small(posterior, "sgld", **given)
    assert [bool(r.reason) for r in result.records] == [False, False, True, True]
    assert [entry.seeds for entry in result.failures] == [(0,), (1,)]
    assert result.criteria["graph"].best == {"step_size": 0.01}


def test_exceptions_and_time_limits_are_reasons_of_failed_cells():
    def raising(target, *, seed, scale):
        if seed == 1:
            raise ZeroDivisionError("one over\nzero")
        if seed == 2:
            sys.exit("gone")
        return scale * np.random.default_rng(seed).standard_normal((150, 3))

    target = sk.targets.Normal([0.0, 0.0, 0.0])
    given = {"grid": {"scale": [1.0]}, "options": {}, "max_seconds": 1e-6, "solver": "highs"}
    result = small(target, raising, measures=("ess", "graph"), **given)
    reasons = [r.reason for r in result.records]
    assert reasons[1:] == ["ZeroDivisionError: one over zero", "SystemExit: gone"]
    assert reasons[0].startswith("graph: no certified result")
    assert (set(result.records[0].measures), set(result.criteria)) == ({"ess"}, {"ess"})
    assert any("measure graph" in note for note in result.warnings)


def test_draws_of_a_wrong_dimension_fail_with_every_measure():
    def draw(target, *, seed, columns):
        return np.random.default_rng(seed).standard_normal((50, columns))

    result = small(sampler=draw, grid={"columns": [1, 2]}, options={}, measures=("ess",))
    assert result.criteria["ess"].best == {"columns": 1}
    assert [bool(r.reason) for r in result.records] == [False] * 3 + [True] * 3


def test_jobs_do_not_change_the_result():
    lock = threading.Lock()
    with pytest.raises(SteinkitError, match="lock"):
        small(sampler=lambda target, seed, **options: [lock], n_jobs=2)
    one, two = small(), small(n_jobs=2)
    assert timeless(one.records) == timeless(two.records)
    assert one.criteria["graph"].to_dict() == two.criteria["graph"].to_dict()


@pytest.mark.slow
def test_the_active_joblib_backend_computes_the_cells():
    distributed = pytest.importorskip("distributed")
    import joblib

    with (
        distributed.LocalCluster(n_workers=1, threads_per_worker=2, processes=True, dashboard_address=":0") as cluster,
        distributed.Client(cluster) as client,
    ):
        with joblib.parallel_config(backend="dask"):
            spread = small()
        busy = [log for log in client.run(lambda: "steinkit.sweeps.tasks" in sys.modules).values() if log]
    assert timeless(spread.records) == timeless(small().records)
    assert busy


def test_a_killed_worker_ends_the_sweep_and_its_finished_cells_are_kept(tmp_path):
    def dying(target, *, seed, scale):
        if scale == 6.0 and not os.path.exists(f"{tmp_path}/killed"):
            open(f"{tmp_path}/killed", "w").close()
            os.kill(os.getpid(), signal.SIGKILL)
        return scaled(target, seed=seed, scale=scale)

    given = {"grid": {"scale": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]}, "options": {}, "seeds": 2, "measures": ("ess",)}
    given |= {"file": tmp_path / "out", "label": "same", "n_jobs": 2}
    with pytest.raises(SteinkitError, match="TerminatedWorkerError"):
        small(sampler=dying, **given)
    resumed = small(sampler=dying, **given)
    assert resumed.reused > 0
    assert timeless(resumed.records) == timeless(small(sampler=scaled, **given | {"file": None, "n_jobs": 1}).records)


def test_racing_drops_poor_settings_and_keeps_the_best():
    given = {"sampler": scaled, "grid": {"scale": [0.01, 0.02, 1.0, 1.1]}, "options": {}, "seeds": 24}
    full, raced = small(**given), small(**given, racing=True)
    assert set(raced.racing) == {"scale 0.01", "scale 0.02"}
    assert raced.cells < raced.full == 96
    assert raced.to_dict()["racing"] == {"dropped": raced.racing, "cells_run": raced.cells, "cells_full": 96}
    assert raced.criteria["graph"].best == full.criteria["graph"].best
    wanted = {(r.settings["scale"], r.seed): r for r in timeless(full.records)}
    assert all(r == wanted[r.settings["scale"], r.seed] for r in timeless(raced.records))


def test_other_measures_may_choose_a_setting_that_racing_dropped():
    """The wide draws are exact but repeated, so that ESS prefers the narrow ones."""

    def repeated(target, *, seed, scale):
        draws = scale * np.random.default_rng(seed).standard_normal(80)
        return np.repeat(draws[:40], 2) if scale > 0.5 else draws

    given = {"grid": {"scale": [0.01, 1.0]}, "options": {}, "seeds": 24, "measures": ("graph", "ess")}
    raced = small(sampler=repeated, racing=True, **given)
    assert set(raced.racing) == {"scale 0.01"}
    assert {name: choice.best["scale"] for name, choice in raced.criteria.items()} == {"graph": 1.0, "ess": 0.01}
    assert (raced.leading, raced.blind) == ("graph", "ess")


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"grid": {"proposal_scal": [1.0]}}, 'did you mean "proposal_scale"'),
        ({"grid": {}}, "grid"),
        ({"grid": {"proposal_scale": 1.0}}, "proposal_scale"),
        ({"grid": {"proposal_scale": []}}, "proposal_scale"),
        ({"grid": {"proposal_scale": [1.0, [0.5, 1], [0.5, 1.0]]}}, "proposal_scale"),
        ({"grid": {"proposal_scale": [1.0, -1.0]}}, "proposal_scale -1.0"),
        ({"options": {}}, "draws"),
        ({"options": {"draws": 10, "seed": 1}}, "seed"),
        ({"options": {"draws": 10, "temperature": lambda n: n}}, "temperature"),
        ({"sampler": "rwhm"}, 'did you mean "rwmh"'),
        ({"sampler": "own.py"}, "path.py:attribute"),
        ({"seeds": 0}, "seeds"),
        ({"seeds": [1, 1]}, "seeds"),
        ({"seeds": [-1]}, "seed .*-1"),
        ({"measures": ("grph",)}, 'did you mean "graph"'),
        ({"measures": "graph"}, "measures"),
        ({"dilation": math.nan}, "dilation .*nan"),
        ({"target": "normal", "target_options": {"mean": {1}}}, "target option mean"),
        ({"tolerance": 2.0}, "tolerance"),
        ({"max_seconds": -1.0}, "max_seconds"),
        ({"stein_factor": (1, 1, 1)}, 'did you mean "stein_factors"'),
        ({"bounds": "wide"}, "bounds"),
        ({"seed": 3}, 'did you mean "seeds"'),
        ({"directory": "elsewhere"}, "directory"),
        ({"target": "norml"}, 'did you mean "normal"'),
        ({"target": np.zeros(3)}, "target"),
        ({"target_options": {"dim": 1}}, "target_options"),
        ({"n_jobs": 0}, "n_jobs"),
    ],
)
def test_invalid_arguments_are_rejected_before_anything_is_run(changes, match):
    with pytest.raises(UsageError, match=match):
        small(**changes)


def test_a_deterministic_sampler_takes_one_seed():
    box = sk.targets.Uniform([0.0], [1.0])
    with pytest.raises(UsageError, match="herding"):
        small(box, "herding", grid={"draws": [10, 20]}, options={}, seeds=2)
    result = small(box, "herding", grid={"draws": [10, 20]}, options={}, seeds=1)
    assert result.criteria["graph"].best == {"draws": 20}
    randomized = small(box, "sobol", grid={"draws": [16]}, options={"scramble": True})
    assert len({r.measures["graph"].value for r in randomized.records}) == 3


def of_width(target, *, seed, width):
    return width * np.random.default_rng(seed).standard_normal((60, 3))


def test_a_saturated_measure_does_not_choose():
    given = {"sampler": of_width, "grid": {"width": [0.5, 1.0]}, "options": {}}
    target = sk.targets.Normal(0.0, dim=3)
    result = small(target, seeds=4, measures=("graph", "sliced", "ess"), **given)
    values = np.array([record.measures["graph"].value for record in result.records]).reshape(2, 4)
    assert np.median(values[0]) < np.median(values[1])  # the graph discrepancy would prefer the narrow draws
    assert set(result.criteria) == {"sliced", "ess"}
    assert result.criteria["sliced"].best == {"width": 1.0}
    assert result.refused["graph"] in result.warnings
    assert result.to_dict()["refused"] == result.refused
    assert result.leading == "sliced"
    assert result.headline().startswith("Width 1 is the best of 2 settings by sliced")
    blind = replace(result, criteria={"ess": result.criteria["ess"]})
    assert blind.headline().startswith("No setting is chosen")
    with pytest.raises(sk.InputError, match="by graph"):
        small(target, seeds=12, racing=True, **given)


def test_bias_chooses_by_default_but_not_between_modes():
    def near_one(target, *, seed, width):
        return width * np.random.default_rng(seed).standard_normal((200, 1))

    def two_modes(target, *, seed, width):
        rng = np.random.default_rng(seed)
        return width * rng.standard_normal((200, 1)) + 8.0 * (rng.random((200, 1)) < 0.4)

    given = {"grid": {"width": [1.0, 1.4]}, "options": {}, "measures": None}
    by_bias = small(TARGET, near_one, **given)
    assert [*by_bias.criteria] == ["bias", "graph", "ess"]
    assert by_bias.criteria["bias"].best == {"width": 1.0}
    assert 0.0 < by_bias.criteria["bias"].median < 0.3
    mixture = sk.targets.GaussianMixture([[0.0], [8.0]], sd=1.0)
    for racing in (False, True):
        apart = small(mixture, two_modes, seeds=6, racing=racing, **given)
        assert next(iter(apart.criteria)) == "graph"
        assert "bias" in apart.refused


def test_warnings_of_choices_are_warnings_of_the_result():
    result = small(seeds=2, measures=("graph", "ess"))
    notes = [note for choice in result.criteria.values() for note in choice.warnings]
    assert notes
    assert all(any(note in each for each in result.warnings) for note in notes)
