"""Tuning at a budget: the rungs, the choice, and its independence from jobs and interruptions."""

import subprocess
import sys

import numpy as np
import pytest

import steinkit as sk
from steinkit.sweeps.scheduler import ladder
from steinkit.sweeps.store import Store

POSTERIOR = sk.targets.LogisticRegression.nodal()
GRID = {"step_size": [1e-3, 0.03, 3.0], "batch_size": [10, 30]}
GIVEN = {"grid": GRID, "options": {"budget": 60_000}, "seeds": 2, "cost": 0.4, "measures": ("bias", "moments")}


def tuned(**changes):
    return sk.tune(POSTERIOR, "sgld", **GIVEN | changes)


def without_times(result):
    return {name: value for name, value in result.to_dict().items() if "seconds" not in name}


@pytest.fixture(scope="module", name="found")
def made_found(tmp_path_factory):
    return tuned(file=tmp_path_factory.mktemp("tuned") / "out")


@pytest.mark.parametrize("settings", [1, 2, 9, 10, 27, 100])
@pytest.mark.parametrize("cost", [0.1, 0.15, 1.0])
def test_chains_are_as_long_as_the_cost_allows(settings, cost):
    full = 100_000
    rungs = ladder(settings, full, cost)
    counts, lengths = zip(*rungs, strict=True)
    assert (counts[0], counts[-1]) == (settings, 1)
    assert list(lengths) == sorted(lengths)
    assert lengths[-1] <= full
    # chains with the length of the last rung are not run again
    spent = sum(n * m for k, (n, m) in enumerate(rungs) if k == 0 or lengths[k - 1] != m)
    assert spent <= cost * settings * full
    assert spent > 0.85 * cost * settings * full or lengths[0] == full


def test_twenty_seven_settings_at_fifteen_percent_reach_full_length():
    assert ladder(27, 27_000, 0.15)[-1] == (1, 27_000)


def test_the_best_step_size_is_chosen_within_the_cost(found):
    assert found.setting["step_size"] == 0.03
    assert found.spent <= 0.4 * found.full == 0.4 * (6 * 2 * 60_000)
    assert [len(rung.losses) for rung in found.rungs] == [6, 2, 1]
    assert found.bias < 0.3
    assert found.margin > 0.0
    assert found.verdict is not None
    assert found.unjudged is None
    assert f"{found.spent:,} of the 720,000" in found.statements()[2].text
    assert f"{found.share:.1%}" in found.headline()


def test_a_shorter_chain_is_the_beginning_of_a_longer_one(found):
    short, long = (
        sk.samplers.sgld(POSTERIOR, step_size=0.03, batch_size=10, budget=rung.length, seed=[0]).points[0]
        for rung in found.rungs[:2]
    )
    np.testing.assert_array_equal(short, long[: len(short)])


def test_jobs_do_not_change_the_result(found):
    assert without_times(tuned(n_jobs=2)) == without_times(found)


def test_a_killed_run_resumes_without_losing_a_finished_cell(found, tmp_path):
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); import steinkit as sk\n"
        "from steinkit.sweeps.store import Store\n"
        "append = Store.append\n"
        "def reporting(*given): append(*given); print('kept', flush=True)\n"
        "Store.append = reporting\n"
        f"sk.tune(sk.targets.LogisticRegression.nodal(), 'sgld', file=sys.argv[2], **{GIVEN!r})"
    )
    file = tmp_path / "out.sqlite"
    command = [sys.executable, "-c", code, str(sk.__path__[0]) + "/..", str(file)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE)
    for _ in range(13):  # the first rung and a cell of the second
        assert process.stdout.readline() == b"kept\n"
    process.kill()
    process.communicate()
    with Store(file, writing=False) as store:
        assert len(store.cells) >= 13
        before = {name: cell for name, cell in store.cells.items() if not cell.reason}
    again = tuned(file=file)
    assert without_times(again)["rungs"] == without_times(found)["rungs"]
    assert again.verdict.p == found.verdict.p
    with Store(file, writing=False) as store:
        assert {name: store.cells[name] for name in before} == before
        assert store.result().to_dict() == again.to_dict()


def test_the_length_may_be_in_draws_of_a_users_sampler():
    runs = []

    def own(target, *, seed, scale, draws):
        runs.append((seed, scale, draws))
        return scale * np.random.default_rng(seed).standard_normal((draws, 2))

    grid = {"scale": [0.3, 1.0, 2.0]}
    found = sk.tune(sk.targets.Normal([0.0, 0.0]), own, grid=grid, options={"draws": 2000}, cost=0.6)
    assert (found.setting, found.resource) == ({"scale": 1.0}, "draws")
    assert runs[-1] == (3, 1.0, 2000)  # seeds 0 to 2 are used for the choice
    assert not found.verdict.is_biased
    assert "cale 1" in found.plot().get_suptitle()


def test_unreliable_biases_do_not_order_settings():
    """The score does not determine the weights of the two modes, so the next measure orders the settings."""
    options = {"batch_size": 5, "draws": 500, "start": "normal"}
    given = {"grid": {"step_size": [5e-2, 5e-3, 1e-3]}, "options": options, "seeds": 2, "cost": 1.0}
    found = sk.tune("mixture-posterior", "sgld", **given)
    assert {rung.measure for rung in found.rungs} == {"sliced"}
    assert (found.bias, found.margin) == (None, None)
    with pytest.raises(sk.InputError, match="by bias"):
        sk.tune("mixture-posterior", "sgld", measures=["bias"], **given)


def test_an_error_is_raised_if_no_cell_has_a_value():
    with pytest.raises(sk.InputError, match="too few settings"):
        tuned(grid={"step_size": [1e6, 1e7], "batch_size": [10]}, seeds=1)


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"cost": 0.0}, "cost"),
        ({"cost": 1e-9}, "cost"),
        ({"options": {}}, "budget or draws"),
        ({"options": {"budget": 1000, "burn_in": 10}}, "burn_in"),
        ({"grid": {"budget": [1000, 2000]}, "options": {"step_size": 1e-3, "batch_size": 10}}, "budget or draws"),
        ({"measures": ("bias", "nonsense")}, "nonsense"),
    ],
)
def test_invalid_arguments_are_rejected(changes, match):
    with pytest.raises(sk.UsageError, match=match):
        tuned(**changes)
