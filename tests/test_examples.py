"""Small versions of the examples run, print the results stated in their docstrings, and save a figure."""

import os
import re
import textwrap
from pathlib import Path

import pytest
from support.scripts import output_of

pytestmark = pytest.mark.example

EXAMPLES = Path(__file__).parents[1] / "examples"


def run(name, folder):
    """Return the output of a small version of an example, and check its figure; steinkit warnings fail the test.

    The gallery of the documentation runs all examples. To use its output instead, set STEINKIT_GALLERY to its folder.
    """
    gallery = os.environ.get("STEINKIT_GALLERY")
    if gallery:
        page = (Path(gallery) / f"{name}.rst").read_text(encoding="utf-8")
        found = re.search(
            r"^\.\. rst-class:: sphx-glr-script-out\n\n \.\. code-block:: none\n\n((?:    .*\n|\n)+)", page, re.M
        )
        printed = textwrap.dedent(found[1]).strip("\n") + "\n"
        assert "Warning" not in printed
        picture = (Path(gallery) / "images" / f"sphx_glr_{name}_001.png").read_bytes()
    else:
        printed = output_of(EXAMPLES / f"{name}.py", "--small", "--output", str(folder), folder=folder)
        picture = (folder / f"{name}.png").read_bytes()
    assert picture.startswith(b"\x89PNG")
    assert len(picture) > 20_000
    return printed


def table(text):
    """Return the certified bracket and the ratio to independent draws of each row, by its first words."""
    rows = re.findall(r"^(\S.*?) {2,}.*\[([\d.]+), ([\d.]+)\] +([\d.]+)$", text, flags=re.MULTILINE)
    return {name: (float(lower), float(upper), float(ratio)) for name, lower, upper, ratio in rows}


def test_good_and_biased_ranks_the_samples(tmp_path):
    text = run("good_and_biased", tmp_path)
    rows = table(text)
    good, biased, worst = rows["Metropolis"], rows["SGLD, step 5e-3"], rows["SGLD, step 5e-2"]
    assert good[1] < biased[0]
    assert biased[1] < worst[0]
    assert worst[2] > 10.0
    assert "The worst, SGLD, step 5e-2" in text
    assert "theta1" in text


def test_your_own_target_rejects_a_normal_with_the_same_moments(tmp_path):
    text = run("your_own_target", tmp_path)
    rows = table(text)
    assert rows["draws from the target"][2] < 1.3
    assert rows["normal, same moments"][2] > 2.5
    assert "60 values compared" in text


def test_bounded_target_needs_its_bounds(tmp_path):
    text = run("bounded_target", tmp_path)
    ratios = dict(re.findall(r"^(with|without) bounds, the clipped sample scores ([\d.]+) times", text, re.MULTILINE))
    assert float(ratios["with"]) > 1.5
    assert float(ratios["without"]) < 1.2


def chosen(text, measure):
    """Return the setting chosen by a measure, and the medians of all settings, from the table of a sweep."""
    found = re.search(
        rf"^By {measure}, (\S.*) has the \w+ median\n *setting .*\n((?: *\S.*\n)+)", text, flags=re.MULTILINE
    )
    rows = re.findall(r"^ *(\S.*?) {2,}\S.*? {2,}([\d.]+) {2,}[\d.]+ to [\d.]+ ", found[2], flags=re.MULTILINE)
    return found[1], {name: float(median) for name, median in rows}


def test_sgld_step_size_lies_between_too_small_and_too_large(tmp_path):
    text = run("sgld_step_size", tmp_path)
    best, medians = chosen(text, "graph Stein discrepancy")
    assert best == "step size 0.001"
    assert medians[best] < 0.6 * min(medians["step size 5e-05"], medians["step size 0.05"])
    assert chosen(text, "effective sample size")[0] == "step size 0.05"
    assert "Choose a step size of 1e-03: every other one is clearly worse" in text
    wrong, right = map(float, re.search(r"weights ([\d.]+):[\d.]+% in the\s+draws, ([\d.]+):", text).groups())
    assert abs(right - 51.7) < 1.5 < abs(wrong - 51.7)  # weight of the upper mode, by the midpoint rule


def test_choose_epsilon_reports_the_selection_for_each_budget(tmp_path):
    text = run("choose_epsilon", tmp_path)
    exact, *approximate = map(int, re.search(r"^ +data per test((?: +\d+)+)$", text, flags=re.MULTILINE)[1].split())
    assert exact == 53
    assert 4 < approximate[1] < approximate[0] < 20
    assert approximate[1] < approximate[2] < exact
    rows = re.findall(
        r"^ *([\d,]+)((?: +[\d.]+ \([\d.]+\))+)   (\S+?)(?:, not distinguished from .*)?$", text, re.MULTILINE
    )
    assert [budget for budget, _, _ in rows] == ["12,000", "30,000"]
    for _, cells, choice in rows:
        medians = dict(
            zip(["0.0", "0.1", "0.2", "decreasing"], map(float, re.findall(r"([\d.]+) \(", cells)), strict=True)
        )
        assert choice == min(medians, key=medians.get)


def test_your_own_sampler_is_rejected_although_effective_sample_size_prefers_it(tmp_path):
    text = run("your_own_sampler", tmp_path)
    alone, compared, swept = re.split(r"^\d\. .*$", text, flags=re.MULTILINE)[1:]
    assert re.search(r"^ *log precision .*\n *mean ", alone, flags=re.MULTILINE)  # the worst coordinate comes first
    assert "the largest of" in " ".join(alone.split())
    assert re.search(r"^1 +correct ", compared, flags=re.MULTILINE)
    assert re.search(r"^2 +with the error ", compared, flags=re.MULTILINE)
    best, medians = chosen(swept, "graph Stein discrepancy")
    assert best == "squares about current mean"
    assert medians["squares about data mean"] > 1.3 * medians[best]
    assert chosen(swept, "effective sample size")[0] == "squares about data mean"


def test_data_used_by_barkers_test_does_not_grow(tmp_path):
    text = run("data_used", tmp_path)
    rows = re.findall(r"^(Barker|austerity), (\S.*?) {2,}([\d,]+) +([\d,]+)$", text, flags=re.MULTILINE)
    read = {f"{test}, {setting}": [float(n.replace(",", "")) for n in found] for test, setting, *found in rows[:4]}
    assert max(read["Barker, sigma 1"]) < 250
    assert read["Barker, sigma 1.3"][1] < read["Barker, sigma 1"][1]
    assert read["austerity, epsilon .005"][1] > 2.0 * read["austerity, epsilon .005"][0]
    assert read["austerity, epsilon .005"][1] > 4.0 * read["Barker, sigma 1"][1]


def test_designed_tests_hold_on_new_moves(tmp_path):
    text = run("design_a_test", tmp_path)
    checked = re.findall(r"error ([\d.]+) / ([\d.]+), data use ([\d.]+) / ([\d.]+)", text)
    assert len(checked) == 18
    for error, wanted, read, wanted_read in (map(float, row) for row in checked):
        assert error == pytest.approx(wanted, abs=0.15)  # 200 tests
        assert read == pytest.approx(wanted_read, abs=0.12)
    rows = re.findall(r"^ *(0\.\d+)  (average|worst case) .* ([\d.]+) +([\d.]+)%$", text, flags=re.MULTILINE)
    assert len(rows) == 4
    found = {(float(target), name): (float(error), float(read)) for target, name, error, read in rows}
    for target in (0.01, 0.04):
        assert found[target, "average"][0] == pytest.approx(target, rel=0.4)
        assert found[target, "average"][1] < 0.6 * found[target, "worst case"][1]


def test_approximate_tests_of_orthogonal_moves_read_less_data(tmp_path):
    text = run("ica", tmp_path)
    rows = re.findall(r"^(\S.*?) {2,}(\d+)% +([\d,]+) +[\d.]+ {3}(\S+)  (\S+)  (\S+)$", text, flags=re.MULTILINE)
    read = {name: float(data.replace(",", "")) for name, _, data, *_ in rows}
    last = {name: float(risks[-1]) for name, _, _, *risks in rows}
    assert list(read) == ["exact test", "epsilon 0.05", "epsilon 0.1"]
    assert read["epsilon 0.1"] < read["epsilon 0.05"] < 0.7 * read["exact test"]
    assert f"evaluations: {min(last, key=last.get)}" in text
