"""Tuning at a budget: the ladder, chains that go on, the choice, and the same answer wherever it is worked out."""

import subprocess
import sys

import numpy as np
import pytest

import steinkit as sk
from steinkit.sweeps.cells import Cell, Measured
from steinkit.sweeps.scheduler import ladder
from steinkit.sweeps.store import Store
from steinkit.sweeps.tuning import _bias_of, sobol_settings

POSTERIOR = sk.targets.LogisticRegression.nodal()
GRID = {"step_size": [1e-5, 1e-3, 0.03, 0.3, 3.0], "batch_size": [10, 30]}
GIVEN = {"grid": GRID, "options": {"budget": 60_000}, "seeds": 2, "cost": 0.4}


def tuned(**changes):
    return sk.tune(POSTERIOR, "sgld", **GIVEN | changes)


def without_times(result):
    document = result.to_dict()
    del document["seconds"], document["full_seconds"]
    return document


@pytest.fixture(scope="module", name="found")
def made_found(tmp_path_factory):
    return tuned(file=tmp_path_factory.mktemp("tuned") / "out")


@pytest.mark.parametrize("settings", [1, 2, 3, 9, 10, 27, 100])
@pytest.mark.parametrize("cost", [0.1, 0.15, 0.5, 1.0])
def test_the_ladder_is_the_longest_that_the_cost_pays(settings, cost):
    full = 100_000
    rungs = ladder(settings, full, cost)
    counts, each = zip(*rungs, strict=True)
    assert counts[0] == settings
    assert counts[-1] == 1
    assert list(each) == sorted(each)
    assert each[-1] <= full
    # chains as long as those of the rung before cost nothing again
    spent = sum(n * m for k, (n, m) in enumerate(rungs) if k == 0 or each[k - 1] != m)
    assert spent <= cost * settings * full
    assert spent > 0.85 * cost * settings * full or each[0] == full


def test_twenty_seven_settings_at_fifteen_percent_reach_full_length():
    assert ladder(27, 27_000, 0.15)[-1] == (1, 27_000)
    assert ladder(27, 27_000, 1.0)[0] == (27, 27_000)


def test_the_step_that_is_neither_stuck_nor_wild_is_chosen(found):
    assert found.setting["step_size"] == 0.03
    assert found.spent <= 0.4 * found.full == 0.4 * 10 * 2 * 60_000
    assert [len(rung.losses) for rung in found.rungs] == [10, 4, 2, 1]
    assert found.bias < 0.3
    assert found.margin > 0.0
    assert found.verdict is not None
    assert found.unjudged is None
    assert f"{found.share:.1%} of the 1,200,000" in found.statements()[2].text


def test_a_rungs_chain_is_the_beginning_of_the_next(found):
    """What makes it right to draw them again: a long run has the short one in front, bit by bit."""
    short, long = (rung.length for rung in found.rungs[:2])
    one, other = (
        sk.samplers.sgld(POSTERIOR, step_size=0.03, batch_size=10, budget=budget, seed=[0]).points[0]
        for budget in (short, long)
    )
    np.testing.assert_array_equal(one, other[: len(one)])


def test_jobs_and_dask_change_nothing(found):
    assert without_times(tuned(n_jobs=2)) == without_times(found)
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=":0") as cluster:
        assert without_times(tuned(backend="dask", scheduler=cluster.scheduler_address)) == without_times(found)


def test_it_goes_on_where_it_was_killed(found, tmp_path):
    """A process killed while it works, then the same call again: what was finished is not run twice."""
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); import steinkit as sk\n"
        "from steinkit.sweeps.store import Store\n"
        "append = Store.append\n"
        "def told(*given): append(*given); print('kept', flush=True)\n"
        "Store.append = told\n"
        f"sk.tune(sk.targets.LogisticRegression.nodal(), 'sgld', file=sys.argv[2], **{GIVEN!r})"
    )
    file = tmp_path / "out.sqlite"
    command = [sys.executable, "-c", code, str(sk.__path__[0]) + "/..", str(file)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE)
    for _ in range(5):
        assert process.stdout.readline() == b"kept\n"
    process.kill()
    process.communicate()
    with Store(file, writing=False) as store:
        before = {name: cell for name, cell in store.cells.items() if not cell.reason}
    assert len(before) >= 3
    again = tuned(file=file)
    assert without_times(again)["rungs"] == without_times(found)["rungs"]
    assert again.verdict.p == found.verdict.p
    with Store(file, writing=False) as store:
        assert {name: store.cells[name] for name in before} == before
        assert store.result().to_dict() == again.to_dict()


def test_time_that_runs_out_leaves_the_best_so_far():
    with pytest.warns(sk.SteinkitWarning, match="time ran out after chains of"):
        found = tuned(max_seconds=1e-9)
    assert len(found.rungs) == 1
    assert found.setting in found.rungs[0].kept


@pytest.mark.parametrize("seconds", [-1.0, 0.0, np.nan])
def test_no_time_at_all_is_refused(seconds):
    with pytest.raises(sk.UsageError, match="max_seconds must be a number, positive and finite; got"):
        tuned(max_seconds=seconds)


def test_draws_may_be_the_length_and_a_sampler_the_users_own():
    runs = []

    def own(target, *, seed, scale, draws):
        runs.append((seed, scale, draws))
        return scale * np.random.default_rng(seed).standard_normal((draws, 2))

    found = sk.tune(
        sk.targets.Normal([0.0, 0.0]), own, grid={"scale": [0.3, 1.0, 2.0]}, options={"draws": 2000}, cost=0.6
    )
    assert (found.setting, found.resource) == ({"scale": 1.0}, "draws")
    assert runs[-1] == (3, 1.0, 2000)  # seeds 0 to 2 took part in the choice
    assert not found.verdict.is_biased
    assert "cale 1" in found.plot().get_suptitle()


def test_biases_that_are_not_trusted_order_nothing():
    """Two modes, whose shares the score does not know: the rungs go by the next measure."""
    found = sk.tune(
        "mixture-posterior",
        "sgld",
        grid={"step_size": [5e-2, 5e-3, 1e-3]},
        options={"batch_size": 5, "draws": 1000, "start": "normal"},
        seeds=2,
        cost=1.0,
    )
    assert {rung.measure for rung in found.rungs} == {"sliced"}
    assert (found.bias, found.margin) == (None, None)


def test_a_bias_is_known_where_more_than_half_of_the_seeds_know_it():
    def records(*known):
        biases = [Measured("bias", value, value, value, 0.1 * value) for value in known]
        return [Cell({}, 0, measures={"bias": each}) for each in biases] + [Cell({}, 0)]

    assert _bias_of(records(1.0, 3.0)) == (2.0, pytest.approx(0.2))
    assert _bias_of(records(1.0)) == (None, None)


def test_where_nothing_can_be_scored_nothing_is_chosen():
    with pytest.raises(sk.InputError, match=r"too few settings have values in half of their cells: .*not finite"):
        tuned(grid={"step_size": [1e6, 1e7], "batch_size": [10]}, seeds=1)


def test_sobols_settings_are_log_uniform_and_whole_where_the_ends_are():
    found = sobol_settings({"step_size": (1e-4, 1.0), "batch_size": (10, 1000)}, 63)
    assert len(found) == 63
    assert all(isinstance(each["batch_size"], int) and 10 <= each["batch_size"] <= 1000 for each in found)
    counts, _ = np.histogram(np.log10([each["step_size"] for each in found]), bins=[-4, -3, -2, -1, 0])
    assert counts.max() - counts.min() <= 1
    assert [each["x"] for each in sobol_settings({"x": (1.00001, 1.00002)}, 3)] == [1.00001]
    assert any(each["x"] % 1.0 for each in sobol_settings({"x": (1.0, 3.0)}, 20))
    assert sobol_settings({"batch_size": (1, 3.0)}, 20) == sobol_settings({"batch_size": (1, 3)}, 20)
    assert sobol_settings({"batch_size": (1, 3)}, 20) == tuple({"batch_size": k} for k in (2, 1, 3))


def test_what_no_measure_may_order_is_not_ordered():
    """Between two modes biases are not known: a sweep refuses to choose by them, and so does this."""
    options = {"batch_size": 5, "draws": 1000, "start": "normal"}
    grid = {"step_size": [5e-2, 5e-3, 1e-3]}
    with pytest.raises(sk.InputError, match="cannot be ordered by bias"):
        sk.tune("mixture-posterior", "sgld", grid=grid, options=options, seeds=2, cost=1.0, measures=["bias"])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"cost": 0.0}, "cost must be a number, a share"),
        ({"cost": 1e-9}, "does not pay one step"),
        ({"grid": None}, "give either grid="),
        ({"ranges": {"step_size": (1e-3, 1.0)}}, "give either grid="),
        (
            {"grid": None, "ranges": {"step_size": (1.0, 1e-3), "batch_size": (5, 30)}},
            "the range of step_size must be two positive numbers",
        ),
        (
            {"grid": None, "ranges": {"step_size": (0.0, 1.0), "batch_size": (5, 30)}},
            "the range of step_size must be two positive numbers",
        ),
        ({"grid": None, "ranges": {"step_size": 5, "batch_size": (5, 30)}}, "must be a list"),
        ({"options": {}}, "must be a fixed option: budget"),
        ({"options": {"budget": 1000, "burn_in": 10}}, "burn_in is not for tuning"),
        ({"grid": {"budget": [1000, 2000]}, "options": {"step_size": 1e-3, "batch_size": 10}}, "full length"),
        ({"measures": ("bias", "nonsense")}, "nonsense"),
    ],
)
def test_what_is_refused(changes, message):
    with pytest.raises(sk.UsageError, match=message):
        tuned(**changes)
