"""A mode that other chains found and the best one missed is told, with where it lies; nothing else is."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

import steinkit as sk
from steinkit.report.sources import read_source
from steinkit.report.sweep_draws import missed_mode
from steinkit.report.sweep_part import sweep_part
from steinkit.sweeps.run import sweep

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
def folder(tmp_path_factory):
    """A sampler whose first setting stays in one mode, and whose second visits both, but noisily."""
    place = tmp_path_factory.mktemp("sweeps") / "two modes"

    def visiting(target, *, seed, noise):
        rng = np.random.default_rng(seed)
        draws = rng.standard_normal((60, 2)) - [4.0, 0.0]
        return draws if noise == 0.0 else noise * draws + [8.0, 0.0] * rng.integers(0, 2, (60, 1))

    options = {"means": [[-4.0, 0.0], [4.0, 0.0]], "sd": 1.0}
    grid = {"noise": [0.0, 1.4]}
    sweep("gaussian-mixture", visiting, target_options=options, grid=grid, seeds=2, units="raw", directory=place)
    return place


def test_a_sweeps_page_says_so_at_its_head_and_in_its_answers(folder):
    part = sweep_part(read_source(folder), None)
    assert "missed a mode that others found" in part.headline
    answer = dict(part.answers)["Did its chain visit all modes?"]
    assert "of noise 1.4 lie where the target is denser" in answer


def test_after_a_resumed_sweep_all_work_is_told(folder, tmp_path):
    fresh = read_source(folder)
    facts = dict(sweep_part(fresh, None).facts)
    assert "wall time" in facts
    spent = sum(sum(each["seconds"].values()) for each in fresh.records)
    assert facts["work of all cells"] == f"{spent:.1f} s"
    resumed = read_source(shutil.copytree(folder, tmp_path / "again"))
    resumed.document["reused"] = 3
    facts = dict(sweep_part(resumed, None).facts)
    assert facts["work of all cells, also of earlier runs"] == f"{spent:.1f} s"
    assert "wall time of the last run" in facts
