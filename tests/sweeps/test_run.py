"""A sweep's cells: what they hold, that they fail alone, and that nothing but themselves decides what they are."""

import itertools
import json
import math
import sys
import threading
from dataclasses import replace

import numpy as np
import pytest
from support.records import timeless

import steinkit as sk
from steinkit.errors import MissingDependencyError, SteinkitError, UsageError
from steinkit.measures import take_measure
from steinkit.samplers import Draws, rwmh
from steinkit.sweeps.run import sweep

TARGET = sk.targets.Normal([0.0])
GRID = {"proposal_scale": [0.2, 2.5]}
OPTIONS = {"draws": 40}
MEASURES = ("graph",)


def small(target=TARGET, sampler="rwmh", **changes):
    given = {"grid": GRID, "options": OPTIONS, "seeds": 3, "measures": MEASURES} | changes
    return sweep(target, sampler, **given)


def test_a_cell_is_the_samplers_chain_scored():
    result = small(measures=("graph", "ess"))
    assert [(r.settings["proposal_scale"], r.seed) for r in result.records] == list(
        itertools.product(GRID["proposal_scale"], range(3))
    )
    for record in result.records:
        draws = rwmh(TARGET, **record.settings, **OPTIONS, seed=[record.seed])
        assert list(record.measures) == ["graph", "ess"]
        for name, measured in record.measures.items():
            alone = take_measure(name, draws.to_sample(), TARGET, tolerance=1e-2, units=result.units)
            assert measured.value == alone.value
        assert record.reason is None
        assert record.draws == 40
        assert record.cost_per_draw == draws.cost[0, -1] / 40
    medians = [
        np.median([r.measures["graph"].value for r in result.records if r.settings["proposal_scale"] == scale])
        for scale in GRID["proposal_scale"]
    ]
    assert result.criteria["graph"].best == {"proposal_scale": GRID["proposal_scale"][int(np.argmin(medians))]}
    assert (result.cells, result.failed, result.reused) == (6, 0, 0)
    json.dumps(result.to_dict(), allow_nan=False)


def test_seeds_given_are_the_chains_own():
    by_list, by_count = small(seeds=[2, 1]), small(seeds=3)
    assert by_list.seeds == (2, 1)
    assert small(seeds=iter([2, 1]), grid={"proposal_scale": iter(GRID["proposal_scale"])}).seeds == (2, 1)
    wanted = {(r.settings["proposal_scale"], r.seed): r for r in timeless(by_count.records)}
    assert all(r == wanted[r.settings["proposal_scale"], r.seed] for r in timeless(by_list.records))


def test_a_normal_start_differs_by_seed_and_is_standard_normal():
    result = small(
        sampler=_first_states,
        grid={"draws": [1]},
        options={"start": "normal"},
        seeds=200,
        target=sk.targets.Normal([0.0, 0.0]),
        measures=("ksd",),
    )
    assert result.failed == 0
    states = np.array(_SEEN)
    assert len(np.unique(states[:, 0])) == 200
    assert abs(states.mean()) < 4.0 / math.sqrt(400)
    assert abs(states.var() - 1.0) < 4.0 * math.sqrt(2.0 / 400)


_SEEN = []


def _first_states(target, *, seed, draws, start):
    _SEEN.append(start[0])
    return np.ones((draws + 1, 2)) * [[seed], [seed + 0.5]] / 400.0


def test_a_users_sampler_may_return_draws_a_sample_or_an_array():
    def as_array(target, *, seed, scale):
        return scale * np.random.default_rng(seed).standard_normal(30)

    def as_sample(target, *, seed, scale):
        return sk.Sample(points=as_array(target, seed=seed, scale=scale))

    def as_draws(target, *, seed, scale):
        return Draws(points=as_array(target, seed=seed, scale=scale).reshape(1, 30, 1), cost=np.zeros((1, 30)))

    results = [small(sampler=each, grid={"scale": [0.3, 1.0]}, options={}) for each in (as_array, as_sample, as_draws)]
    assert results[0].criteria["graph"].best == {"scale": 1.0}
    values = [[r.measures["graph"].value for r in result.records] for result in results]
    assert values[0] == values[1] == values[2]


def test_a_function_of_steinkit_is_the_sampler_of_its_name():
    assert timeless(small(sampler=rwmh).records) == timeless(small().records)


def test_a_chain_that_fails_fails_alone():
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
    result = small(target, grid={"proposal_scale": [1.0]}, options={"draws": 60}, seeds=8)
    failed = {r.seed: r for r in result.records if r.reason}
    assert set(failed) == fails
    assert all("gives nan" in r.reason and not r.measures for r in failed.values())
    assert result.failed == len(fails)
    for record in result.records:
        if record.seed not in fails:
            draws = rwmh(target, proposal_scale=1.0, draws=60, seed=[record.seed])
            assert (
                record.measures["graph"].value
                == sk.graph_stein_discrepancy(draws.to_sample(), target, tolerance=1e-2).value
            )


def test_a_setting_that_diverges_costs_itself_only():
    posterior = sk.targets.GaussianMean(np.random.default_rng(0).normal(size=(20, 2)))
    result = sweep(
        posterior,
        "sgld",
        grid={"step_size": [0.01, 10.0]},
        options={"batch_size": 5, "draws": 400},
        seeds=2,
        measures=("graph",),
    )
    assert [bool(r.reason) for r in result.records] == [False, False, True, True]
    assert "step" in result.failures[0].reason
    assert [entry.seeds for entry in result.failures] == [(0,), (1,)]  # each for a reason of its own
    assert result.criteria["graph"].best == {"step_size": 0.01}


def test_code_that_raises_and_time_that_runs_out_are_reasons():
    def raising(target, *, seed, scale):
        if seed == 1:
            raise ZeroDivisionError("one over\nnothing")
        if seed == 2:
            sys.exit("gone")
        return scale * np.random.default_rng(seed).standard_normal((150, 3))

    target = sk.targets.Normal([0.0, 0.0, 0.0])
    result = small(target, raising, grid={"scale": [1.0]}, options={}, seeds=3, max_seconds=1e-6, solver="highs")
    assert result.failed == 3
    reasons = {r.seed: r.reason for r in result.records}
    assert reasons[1] == "ZeroDivisionError: one over nothing"
    assert reasons[2] == "SystemExit: gone"
    assert reasons[0].startswith("graph: no certified answer: time ran out")
    assert result.criteria == {}
    assert any("no cell has a value of measure graph" in note for note in result.warnings)
    assert result.to_dict()["criteria"] == {}


def test_draws_of_another_dimension_than_the_target_fail_with_every_measure():
    def draw(target, *, seed, columns):
        return np.random.default_rng(seed).standard_normal((50, columns))

    result = sweep(sk.targets.Normal([0.0]), draw, grid={"columns": [1, 2]}, seeds=5, measures=("ess",))
    assert result.criteria["ess"].best == {"columns": 1}
    reasons = {(r.settings["columns"], r.reason) for r in result.records}
    assert reasons == {
        (1, None),
        (2, "the target 'normal' has 1 coordinates, the sampler's draws have 2; return an array of shape (draws, "
            "coordinates)"),
    }  # fmt: skip


def test_a_measure_that_fails_does_not_cost_the_other():
    target = sk.targets.Normal([0.0, 0.0, 0.0])
    result = small(
        target, "iid", grid={"draws": [60]}, options={}, measures=("ess", "graph"), max_seconds=1e-6, solver="highs"
    )
    assert result.failed == 3
    for record in result.records:
        assert record.reason.startswith("graph: no certified answer")
        assert list(record.measures) == ["ess"]
    assert set(result.criteria) == {"ess"}


def test_jobs_do_not_change_the_result():
    lock = threading.Lock()
    with pytest.raises(UsageError, match="cannot be sent to another process"):
        small(sampler=lambda target, seed, **options: [lock], n_jobs=2)
    one, two = small(), small(n_jobs=2)
    assert timeless(one.records) == timeless(two.records)
    assert one.criteria["graph"].to_dict() == two.criteria["graph"].to_dict()


@pytest.mark.slow
def test_a_dask_cluster_gives_the_same_result():
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0") as cluster:
        spread = small(backend="dask", scheduler=cluster.scheduler_address)
        with distributed.Client(cluster, set_as_default=False) as client:
            busy = [log for log in client.run(_has_scored).values() if log]
    assert timeless(spread.records) == timeless(small().records)
    assert busy, "no worker of the cluster did anything"


def _has_scored():
    return "steinkit.sweeps.tasks" in sys.modules


@pytest.mark.parametrize("backend", ["dask", "ray"])
def test_a_missing_package_is_named(backend, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, {"dask": "distributed", "ray": "ray"}[backend], None)
    with pytest.raises(MissingDependencyError, match=rf"steinkit\[{backend}\]"):
        small(backend=backend)


def test_racing_drops_what_cannot_win_and_keeps_the_winner():
    grid = {"scale": [0.01, 0.02, 1.0, 1.1]}

    def scaled(target, *, seed, scale):
        return scale * np.random.default_rng(seed).standard_normal(40)

    full = small(sampler=scaled, grid=grid, options={}, seeds=24)
    raced = small(sampler=scaled, grid=grid, options={}, seeds=24, racing=True)
    assert set(raced.racing) == {"scale 0.01", "scale 0.02"}
    assert raced.cells < raced.full == 96
    assert raced.to_dict()["racing"] == {"dropped": raced.racing, "cells_run": raced.cells, "cells_full": 96}
    assert raced.criteria["graph"].best == full.criteria["graph"].best
    wanted = {(r.settings["scale"], r.seed): r for r in timeless(full.records)}
    assert all(r == wanted[r.settings["scale"], r.seed] for r in timeless(raced.records))


def test_effective_sample_size_would_have_chosen_another():
    def shifted(target, *, seed, scale):
        rng = np.random.default_rng(seed)
        noise = rng.standard_normal(80)
        return 5.0 + noise if scale == "far and independent" else 0.5 * np.cumsum(noise) / np.sqrt(10)

    result = small(
        sampler=shifted,
        grid={"scale": ["far and independent", "wandering"]},
        options={},
        seeds=8,
        measures=("graph", "ess"),
    )
    assert result.criteria["ess"].best == {"scale": "far and independent"}
    assert (result.leading, result.blind) == ("graph", "ess")
    assert result.criteria["graph"].of(result.criteria["ess"].best).standing == "worse"


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"grid": {"proposal_scal": [1.0]}}, 'did you mean "proposal_scale"'),
        ({"grid": {}}, "at least one option"),
        ({"grid": {"proposal_scale": 1.0}}, "must be a list"),
        ({"grid": {"proposal_scale": []}}, "at least one value"),
        ({"grid": {"proposal_scale": [1.0, 1.0]}}, "twice"),
        ({"grid": {"proposal_scale": [1.0, [0.5, 1], [0.5, 1.0]]}}, "twice"),
        ({"grid": {"proposal_scale": list(range(1001)), "thin": list(range(1000))}}, "1,000,000 settings at most"),
        ({"grid": {"proposal_scale": list(range(1, 1002))}, "seeds": 1000}, "1,000,000 cells at most"),
        ({"options": {"draws": 10, "proposal_scale": 1.0}}, "fixed too"),
        ({"options": {}}, "give draws, budget, or both"),
        ({"options": {"draws": 10, "seed": 1}}, "is not an option of a sweep's"),
        ({"options": {"draws": 10, "start": "anywhere"}}, "got .anywhere."),
        ({"options": {"draws": 10, "temperature": lambda n: n}}, "which a record can keep"),
        ({"sampler": "rwhm"}, 'did you mean "rwmh".*your own is named path.py:function'),
        ({"sampler": "own.py"}, "a sampler from a file is written path.py:attribute"),
        ({"sampler": lambda target, *, seed: [0.0]}, "unexpected keyword argument 'draws'"),
        ({"sampler": lambda target, *, proposal_scale, draws: [0.0]}, "unexpected keyword argument 'seed'"),
        ({"sampler": lambda target, *, seed, step, **others: [0.0]}, "missing a required argument: 'step'"),
        ({"sampler": 3}, "a name or a function"),
        ({"seeds": 0}, "positive number of seeds"),
        ({"seeds": [2**63]}, "below 2.63"),
        ({"seeds": [1, 1]}, "twice"),
        ({"seeds": [-1]}, "at least 0"),
        ({"seeds": True}, "positive number of seeds"),
        ({"measures": ("grph",)}, 'did you mean "graph"'),
        ({"measures": "graph"}, "list of different measures"),
        ({"measures": (["graph"],)}, "list of different measures"),
        ({"dilation": math.nan}, "dilation .* received nan"),
        ({"stein_factors": (math.inf, 1, 1)}, "stein_factors must be a finite number"),
        ({"options": {"draws": 10, "start": [[0.0], [1.0, 2.0]]}, "target": "normal"}, "rows of the same length"),
        ({"target": "normal", "target_options": {"mean": {1}}}, "target option mean must be a finite number"),
        ({"tolerance": 2.0}, "between 0 and 1"),
        ({"max_seconds": -1.0}, "max_seconds must be a number, positive and finite"),
        ({"stein_factor": (1, 1, 1)}, 'did you mean "stein_factors"'),
        ({"stein_factors": (1, 1)}, "three numbers"),
        ({"bounds": "wide"}, "bounds must be numbers"),
        ({"label": 3}, "label must be words"),
        ({"seed": 3}, 'did you mean "seeds"'),
        ({"directory": "elsewhere"}, "sweep has no option .directory."),
        ({"target": "norml"}, 'did you mean "normal"'),
        ({"target": np.zeros(3)}, "steinkit.Target, or the name"),
        ({"target_options": {"dim": 1}}, "given by its name"),
        ({"backend": "dusk"}, 'did you mean "dask"'),
        ({"n_jobs": 0}, "n_jobs"),
        ({"scheduler": "tcp://nowhere:1"}, "for backends dask and ray"),
    ],
)
def test_what_cannot_be_honoured_is_refused(changes, match):
    with pytest.raises(UsageError, match=match):
        small(**changes)


def test_a_sampler_without_chance_takes_one_seed():
    box = sk.targets.Uniform([0.0], [1.0])
    with pytest.raises(UsageError, match="is not random"):
        sweep(box, "herding", grid={"draws": [10, 20]}, seeds=2, measures=("graph",))
    result = sweep(box, "herding", grid={"draws": [10, 20]}, seeds=1, measures=("graph",))
    assert result.criteria["graph"].best == {"draws": 20}


def test_more_seeds_than_anybody_can_run_are_refused():
    for seeds in (10**7, 99999999999999999999999):
        with pytest.raises(sk.UsageError, match="1,000,000 cells at most"):
            sk.sweep("normal", "iid", grid={"draws": [5]}, seeds=seeds)


def test_scrambled_points_of_several_seeds_differ():
    box = sk.targets.Uniform([0.0], [1.0])
    result = sweep(box, "sobol", grid={"draws": [16]}, options={"scramble": True}, seeds=3, measures=("graph",))
    assert len({r.measures["graph"].value for r in result.records}) == 3


def of_width(target, *, seed, width):
    return width * np.random.default_rng(seed).standard_normal((60, 3))


def test_a_measure_at_its_ceiling_chooses_nothing_and_says_by_what_to_choose():
    result = small(
        sk.targets.Normal(0.0, dim=3),
        of_width,
        grid={"width": [0.5, 1.0]},
        options={},
        seeds=4,
        measures=("graph", "sliced", "ess"),
    )
    values = np.array([record.measures["graph"].value for record in result.records]).reshape(2, 4)
    medians = np.median(values, axis=1)
    assert medians[0] < medians[1]  # it would have chosen the narrow one
    assert set(result.criteria) == {"sliced", "ess"}
    assert result.criteria["sliced"].best == {"width": 1.0}
    assert "take the sliced discrepancy" in result.refused["graph"]
    assert result.refused["graph"] in result.warnings
    assert result.to_dict()["refused"] == result.refused
    assert result.leading == "sliced"
    assert result.headline().startswith("Width 1 is the best of 2 settings by sliced")
    blind = replace(result, criteria={"ess": result.criteria["ess"]})
    assert blind.headline().startswith("No setting is chosen by graph Stein discrepancy")


def two_modes(target, *, seed, width):
    rng = np.random.default_rng(seed)
    return width * rng.standard_normal((200, 1)) + 8.0 * (rng.random((200, 1)) < 0.4)


def near_one(target, *, seed, width):
    return width * np.random.default_rng(seed).standard_normal((200, 1))


def test_bias_chooses_by_default_but_not_between_modes():
    by_bias = small(sk.targets.Normal([0.0]), near_one, grid={"width": [1.0, 1.4]}, options={}, measures=None)
    assert by_bias.measures == ("bias", "graph", "ess")
    assert next(iter(by_bias.criteria)) == "bias"
    assert by_bias.criteria["bias"].best == {"width": 1.0}
    assert 0.0 < by_bias.criteria["bias"].median < 0.3
    mixture = sk.targets.GaussianMixture([[0.0], [8.0]], sd=1.0)
    for racing in (False, True):
        apart = small(mixture, two_modes, grid={"width": [1.0, 1.4]}, options={}, seeds=6, measures=None, racing=racing)
        assert next(iter(apart.criteria)) == "graph"
        assert "whose shares the score does not know" in apart.refused["bias"]


def test_a_race_by_a_measure_at_its_ceiling_is_refused():
    with pytest.raises(sk.InputError, match=r"settings cannot be ordered by graph: .*take the sliced discrepancy"):
        small(
            sk.targets.Normal(0.0, dim=3),
            of_width,
            grid={"width": [0.5, 1.0]},
            options={},
            seeds=12,
            measures=("graph",),
            racing=True,
        )


def test_a_sampler_is_named_with_its_file(tmp_path):
    file = tmp_path / "own.py"
    file.write_text(
        "import numpy as np\nfrom steinkit.samplers import rwmh\n"
        "def normal(target, *, seed, draws, proposal_scale):\n"
        "    return proposal_scale * np.random.default_rng(seed).standard_normal(draws)\n"
    )

    def normal(target, *, seed, draws, proposal_scale):
        return proposal_scale * np.random.default_rng(seed).standard_normal(draws)

    named, given = small(sampler=f"{file}:normal"), small(sampler=normal)
    assert timeless(named.records) == timeless(given.records)
    assert named.configuration.sampler == f"{file}:normal"
    assert timeless(small(sampler=f"{file}:rwmh").records) == timeless(small().records)
    with pytest.raises(sk.InputError, match=r"there is no file .*none\.py; the sampler"):
        small(sampler=f"{tmp_path / 'none.py'}:normal")
    with pytest.raises(UsageError, match=r"a name or a function .*, got module"):
        small(sampler=f"{file}:np")


def test_other_measures_may_choose_what_racing_by_the_first_dropped():
    """The wide draws are right, and each stands there twice: by ESS the narrow ones are better."""

    def scaled(target, *, seed, scale):
        draws = scale * np.random.default_rng(seed).standard_normal(80)
        return np.repeat(draws[:40], 2) if scale > 0.5 else draws

    raced = small(
        sampler=scaled, grid={"scale": [0.01, 1.0]}, options={}, seeds=24, racing=True, measures=("graph", "ess")
    )
    assert set(raced.racing) == {"scale 0.01"}
    assert {name: choice.best["scale"] for name, choice in raced.criteria.items()} == {"graph": 1.0, "ess": 0.01}


def test_what_a_choice_warns_of_the_result_does_and_a_scheduler_is_for_clusters():
    result = small(seeds=2, measures=("graph", "ess"))
    told = {name: choice.warnings for name, choice in result.criteria.items()}
    assert any(told.values())
    assert all(any(note in each for each in result.warnings) for notes in told.values() for note in notes)
    with pytest.raises(UsageError, match="is for backends dask and ray"):
        small(scheduler="tcp://head:8786")
