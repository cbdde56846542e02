"""The draws behind a sweep's verdict: which settings, and of the right target alone."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import steinkit as sk
from steinkit.errors import InputError, UsageError
from steinkit.measures import find_measure, recorded_settings, restored_settings
from steinkit.report.sources import read_sweep_source
from steinkit.report.sweep_draws import (
    best_in_words,
    judged_draws,
    missed_mode,
    scored_draws,
    sweep_target,
    telling_settings,
)
from steinkit.report.sweep_part import sweep_part
from steinkit.result import answers
from steinkit.sweeps.choice import choose
from steinkit.sweeps.run import sweep
from steinkit.sweeps.store import Store

_STEPS = (5e-2, 1e-2, 5e-3, 1e-3, 1e-4)


def _choice(measure, values):
    settings = [{"step_size": step} for step in _STEPS]
    records = [
        {"settings": setting, "seed": seed, "results": [{"measure": measure, "value": value + 0.01 * seed}]}
        for setting, value in zip(settings, values, strict=True)
        for seed in range(6)
    ]
    return choose(records, measure, settings).to_dict()


def test_one_setting_on_either_side_of_the_best():
    graph = _choice("graph", [30.0, 5.0, 2.0, 4.0, 9.0])
    shown = telling_settings(graph, _choice("ess", [90.0, 20.0, 10.0, 5.0, 1.0]), "step_size")
    assert {name: setting["step_size"] for name, setting in shown.items()} == {
        "smaller": 1e-3,  # the middle of two
        "best": 5e-3,
        "larger": 5e-2,  # what effective sample size picks
    }


def test_a_best_one_at_the_end_has_one_side():
    shown = telling_settings(_choice("graph", [1.0, 5.0, 6.0, 7.0, 9.0]), None, "step_size")
    assert set(shown) == {"smaller", "best"}


@pytest.mark.parametrize(("width", "said"), [(1.0, ""), (0.6, "; its chain is biased")])
def test_the_headline_ends_with_the_verdict_on_draws_of_the_best_setting(tmp_path, width, said):
    def drawn(target, *, seed, scale):
        return scale * np.random.default_rng(seed).standard_normal((300, 2))

    grid = {"scale": [width, 0.2]}
    sweep(
        "normal",
        drawn,
        target_options={"mean": [0.0, 0.0]},
        grid=grid,
        seeds=2,
        units="raw",
        file=tmp_path / "out.sqlite",
    )
    _, semicolon, verdict = sweep_part(read_sweep_source(tmp_path / "out.sqlite"), None).headline.partition(
        "; its chain"
    )
    assert semicolon + verdict == said


def test_shares_of_modes_are_said_of_draws_that_are_too_few_to_be_judged(tmp_path):
    """Beside the step, what the shares of the two modes ought to be: by the density, in a terminal and on the page."""
    step, given = {"step_size": [1e-3]}, {"batch_size": 5, "draws": 1000, "thin": 50, "start": "normal"}
    sweep(
        "mixture-posterior", "sgld", grid=step, options=given, seeds=1, measures=["graph"], file=tmp_path / "out.sqlite"
    )
    found = read_sweep_source(tmp_path / "out.sqlite")
    judged, shares = best_in_words(found, find_measure, partial(sweep_target, found, None))[:2]
    assert "too few effective draws" in judged
    right, margin = map(float, re.search(r"right ([\d.]+):[\d.]+ ± ([\d.]+) points", shares).groups())
    upper = sk.targets.MixturePosterior().sample(100_000, 0)[:, 1] > 0.0  # exact draws
    assert min(abs(right - 100.0 * share) for share in (upper.mean(), 1.0 - upper.mean())) < 2.0 * margin + 0.5
    assert "`steinkit repair` reweights the modes" in shares
    assert shares in str(sweep_part(found, None).statements)


def test_the_draws_kept_are_those_scored(swept):
    found = read_sweep_source(swept)
    target, scored = scored_draws(found, list(found.configuration["settings"]), "graph", None)
    assert target.score(np.array([[1.0, -2.0]])) == pytest.approx(np.array([[-1.0, 2.0]]))
    for k, setting in enumerate(found.configuration["settings"]):
        (record,) = [each for each in found.records if each["settings"] == setting and each["seed"] == 0]
        (entry,) = [each for each in record["results"] if each["measure"] == "graph"]
        assert scored[k].value == pytest.approx(entry["value"], rel=1e-12)


def test_draws_of_a_setting_are_judged_as_they_were_kept(swept):
    found = read_sweep_source(swept)
    setting = found.document["criteria"]["graph"]["best"]
    verdict, seed, missed = judged_draws(found, "graph", partial(sweep_target, found, None))
    (record,) = [each for each in found.records if each["settings"] == setting and each["seed"] == 0]
    with Store(swept, writing=False) as store:
        sample = store.draws(record["cell"])
    assert (seed, missed) == (0, "")
    assert verdict.to_dict() == sk.verdict(sample, sk.targets.Normal([0.0, 0.0])).to_dict()
    assert judged_draws(replace(found, file=None), "graph", partial(sweep_target, found, None)) is None
    with pytest.raises(InputError, match="not the one that the sweep was run with"):
        sweep_target(found, sk.targets.Normal([0.0, 1.0]), 2)


def test_a_page_says_first_whether_draws_of_the_best_may_be_used(swept):
    part = sweep_part(read_sweep_source(swept), None)
    question, answer = answers(part.statements)[0]
    assert question == "May draws of the best setting be used?"
    assert answer.startswith("Seed 0: There are too few effective draws to judge")
    assert "Not tested: dependence that no pair of coordinates shows, mode weights" in answer


def test_another_target_is_refused(swept):
    found = read_sweep_source(swept)
    with pytest.raises(InputError, match="not the one that the sweep was run with"):
        scored_draws(found, list(found.configuration["settings"]), "graph", sk.targets.Normal([0.0, 1.0]))


def test_code_is_not_run_unasked(swept, tmp_path):
    with Store(Path(shutil.copy(swept, tmp_path))) as store:
        configuration = store.document("configuration")
        configuration["target"]["name"] = "model.py:target"
        store.write_documents(configuration=configuration)
    found = read_sweep_source(store.file)
    with pytest.raises(UsageError, match="does not run unasked"):
        scored_draws(found, list(found.configuration["settings"]), "graph", None)


@pytest.fixture(scope="module")
def without_draws(swept):
    return sweep_part(read_sweep_source(swept), sk.targets.Normal([0.0, 1.0]))


def test_a_page_without_draws_says_why(without_draws):
    (note,) = [note for note in without_draws.warnings if note.startswith("the draws are not shown")]
    assert "the target normal is not the one that the sweep was run with" in note
    assert [picture.name for picture in without_draws.pictures] == [
        "Which proposal scale?",
        "Coordinate by coordinate",
    ]


@pytest.fixture(scope="module")
def unusual(tmp_path_factory):
    """The file of a race whose measure has none of its usual settings."""
    file = tmp_path_factory.mktemp("sweeps") / "unusual.sqlite"

    def shifted(target, *, seed, shift):
        return shift + np.random.default_rng(seed).standard_normal((25, 2))

    sweep(
        "normal",
        shifted,
        target_options={"mean": [0.0, 0.0]},
        grid={"shift": [5.0, 0.0]},
        seeds=12,
        measures=("graph",),
        tolerance=1e-4,
        stein_factors=(1.0, 0.1, 0.02),
        dilation=1.5,
        solver="block",
        bounds=[[-np.inf, 50.0], [-60.0, np.inf]],
        racing=True,
        file=file,
    )
    return file


def test_draws_are_scored_as_their_records_were(unusual):
    found = read_sweep_source(unusual)
    settings = found.configuration["settings"]
    _, scored = scored_draws(found, settings, "graph", None)
    assert set(scored) == {0, 1}
    for k, result in scored.items():
        records = [each for each in found.records if each["settings"] == settings[k] and each["seed"] == 0]
        (entry,) = records[0]["results"]
        assert (result.value, result.lower, result.upper) == (entry["value"], entry["lower"], entry["upper"])


@pytest.mark.parametrize("measure", ["graph", "sliced", "moments", "classical", "wasserstein", "ksd"])
def test_settings_survive_their_record(measure):
    """Of every setting of a measure: what a record says is what scoring again reads."""
    unlike = {
        "bounds": np.array([[-np.inf, 3.0], [0.0, np.inf]]),
        "units": {"kind": "pilot", "scale": {"x1": 0.5, "x2": 2.0}},
        "tolerance": 0.031,
        "max_seconds": 7.5,
        "stein_factors": (1.0, 0.5, 0.25),
        "dilation": 3.0,
        "graph": "complete",
        "solver": "block",
        "kernel": "gaussian",
        "kernel_scale": 0.7,
        "statistic": "u",
        "squared": True,
        "bootstrap": 10,
        "seed": 3,
        "operator": None,  # no record holds one
    }
    read = {name for name, option in find_measure(measure).options.items() if option.changes_value}
    assert read <= set(unlike), "add a value for the new setting"
    record = json.loads(json.dumps(recorded_settings(unlike)))
    restored = restored_settings(record, measure)
    assert set(restored) >= read
    assert recorded_settings(unlike | restored) == recorded_settings(unlike)
    for name in read:
        assert np.array_equal(restored[name], unlike[name])


TWO_MODES = sk.targets.GaussianMixture([[-4.0, 0.0], [4.0, 0.0]], sd=1.0)
RNG = np.random.default_rng(0)
LEFT, RIGHT = (sk.Sample(RNG.normal([at, 0.0], 1.0, (200, 2)), names=("a", "b")) for at in (-4.0, 4.0))


def test_the_mode_that_is_missed_is_where_the_others_draws_are_densest():
    mode = missed_mode(LEFT, [LEFT, RIGHT], TWO_MODES)
    assert mode.chain == 1
    assert np.linalg.norm(mode.point - [4.0, 0.0]) < 1.0
    assert mode.of == 200
    assert 100 < mode.draws <= 200
    said = mode.described("step size 0.1")
    assert f"{mode.draws} of 200 draws looked at of step size 0.1" in said
    assert f"the densest at a {mode.point[0]:.4g}, b {mode.point[1]:.4g}." in said


def test_of_a_chain_that_was_in_both_modes_only_draws_in_the_one_that_was_missed_count():
    mode = missed_mode(LEFT, [sk.Sample(np.concatenate([LEFT.points[:150], RIGHT.points[:50]]))], TWO_MODES)
    assert mode is not None
    assert 25 < mode.draws <= 50
    assert mode.of == 200


def test_of_several_chains_the_one_with_the_densest_draw_is_told():
    fringe, peak = (
        sk.Sample(RIGHT.points + np.array([0.5, 0.0])),
        sk.Sample(np.concatenate([RIGHT.points, [[4.0, 0.0]]])),
    )
    for others in ([fringe, peak], [peak, fringe]):
        mode = missed_mode(LEFT, others, TWO_MODES)
        assert others[mode.chain] is peak
        assert mode.point.tolist() == [4.0, 0.0]


@pytest.mark.parametrize(
    "other",
    [
        LEFT,
        sk.Sample(3.0 * LEFT.points),  # goes astray, where the target has little
        sk.Sample(LEFT.points + np.array([0.0, 30.0])),
    ],
)
def test_nothing_is_missed_where_the_others_found_no_mode(other):
    assert missed_mode(LEFT, [other], TWO_MODES) is None


def test_a_chain_that_was_in_both_missed_none():
    both = sk.Sample(np.concatenate([LEFT.points, RIGHT.points]))
    assert missed_mode(both, [RIGHT, LEFT], TWO_MODES) is None


def test_a_mode_that_is_less_dense_is_not_missed_by_a_chain_that_was_in_it():
    """Of N(0, 1) and N(20, 2^2): all of the denser half of right draws lie in the first."""
    target = sk.Target(
        score=lambda x: x,  # not looked at
        log_density=lambda x: np.logaddexp(-0.5 * x[:, 0] ** 2, np.log(0.3) - 0.125 * (x[:, 0] - 20.0) ** 2),
        dim=1,
    )
    rng = np.random.default_rng(2)
    first, second = rng.standard_normal((2, 400, 1)) * [[[1.0]], [[2.0]]] + [[[0.0]], [[20.0]]]
    best = np.concatenate([first[:250], second[:150]])
    assert missed_mode(sk.Sample(best), [sk.Sample(second[150:])], target) is None
    assert missed_mode(sk.Sample(first), [sk.Sample(second[150:])], target) is not None


def test_strays_on_the_way_to_a_mode_do_not_hide_that_it_was_missed():
    """They are the nearest draws to the other mode, and the valley's floor is no deeper than they lie."""
    strays = np.column_stack([np.linspace(-0.1, 0.1, 80), np.zeros(80)])
    mode = missed_mode(sk.Sample(np.concatenate([LEFT.points, strays]), names=("a", "b")), [RIGHT], TWO_MODES)
    assert mode is not None
    assert 100 < mode.draws <= 200


def test_the_far_end_of_one_mode_is_no_other_mode():
    normal = sk.targets.Normal([0.0, 0.0])
    draws = np.random.default_rng(1).standard_normal((400, 2))
    half = sk.Sample(draws[draws[:, 0] < 0.0])
    assert missed_mode(half, [sk.Sample(draws)], normal) is None


def test_a_bent_mode_is_one():
    """Straight ways between draws lead out of a banana; ways to the nearest draw hardly do."""

    def log_density(x):
        return -0.5 * x[:, 0] ** 2 - 2.0 * (x[:, 1] - x[:, 0] ** 2) ** 2

    def drawn():
        x = rng.standard_normal(300)
        return sk.Sample(np.column_stack([x, x**2 + 0.5 * rng.standard_normal(300)]))

    bent = sk.Target(score=lambda x: x, log_density=log_density, dim=2)  # the score is not looked at
    for seed in range(5):
        rng = np.random.default_rng(seed)
        assert missed_mode(drawn(), [drawn(), drawn()], bent) is None


def test_a_mode_beyond_a_shallow_valley_is_missed_too():
    """The posterior of Welling and Teh: between its modes the density is a quarter of that at them."""
    target = sk.targets.MixturePosterior()
    draws = sk.read_sample(str(Path(__file__).parents[2] / "examples" / "data" / "metropolis.csv")).points
    upper, lower = (sk.Sample(draws[side]) for side in (draws[:, 1] > 0.4, draws[:, 1] < 0.4))
    assert missed_mode(upper, [lower], target) is not None
    assert missed_mode(sk.Sample(draws[::2]), [sk.Sample(draws[1::2])], target) is None


@pytest.fixture(scope="module")
def two_modes(tmp_path_factory):
    """A sampler whose first setting stays in one mode, and whose second visits both, but noisily."""
    place = tmp_path_factory.mktemp("sweeps") / "two modes.sqlite"

    def visiting(target, *, seed, noise):
        rng = np.random.default_rng(seed)
        draws = rng.standard_normal((60, 2)) - [4.0, 0.0]
        return draws if noise == 0.0 else noise * draws + [8.0, 0.0] * rng.integers(0, 2, (60, 1))

    options = {"means": [[-4.0, 0.0], [4.0, 0.0]], "sd": 1.0}
    grid = {"noise": [0.0, 1.4]}
    sweep("gaussian-mixture", visiting, target_options=options, grid=grid, seeds=2, units="raw", file=place)
    return place


def test_a_sweeps_page_says_so_at_its_head_and_in_its_answers(two_modes):
    part = sweep_part(read_sweep_source(two_modes), None)
    assert "missed a mode that others found" in part.headline
    answer = dict(answers(part.statements))["Did its chain visit all modes?"]
    assert "of noise 1.4 lie where the target is denser" in answer


def test_after_a_resumed_sweep_all_work_is_told(two_modes, tmp_path):
    fresh = read_sweep_source(two_modes)
    facts = dict(sweep_part(fresh, None).facts)
    assert {"wall time", "work of all cells"} <= facts.keys()
    resumed = read_sweep_source(shutil.copy(two_modes, tmp_path))
    resumed.document["reused"] = 3
    for each in resumed.records:
        each["seconds"] = {"sampling": 1.0, "scoring": 2.0}
    facts = dict(sweep_part(resumed, None).facts)
    assert facts["work of all cells, also of earlier runs"] == "12.0 s"
    assert "wall time of the last run" in facts
