"""Every example runs as a user would run it, says what its docstring promises, and leaves a picture."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"
EXPLAINED = ["good_and_biased", "your_own_target", "bounded_target", "sgld_step_size", "approximate_mh", "data_used"]


def run(name, folder):
    """What an example prints, at small size, and its picture; warnings of ours would be a fault of the example."""
    command = [sys.executable, str(EXAMPLES / f"{name}.py"), "--small", "--output", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, timeout=300)
    assert done.returncode == 0, done.stderr
    assert "Warning" not in done.stderr
    picture = (folder / f"{name}.png").read_bytes()
    assert picture.startswith(b"\x89PNG")
    assert len(picture) > 20_000
    return done.stdout


def table(text):
    """Certified bracket and ratio to independent draws of each row, by the words that open it."""
    rows = re.findall(r"^(\S.*?) {2,}.*\[([\d.]+), ([\d.]+)\] +([\d.]+)$", text, flags=re.MULTILINE)
    return {name: (float(lower), float(upper), float(ratio)) for name, lower, upper, ratio in rows}


def test_every_example_is_run():
    run_here = {*EXPLAINED, "make_data"}
    assert {path.stem for path in EXAMPLES.glob("*.py")} == run_here


def test_good_and_biased_ranks_the_samples(tmp_path):
    text = run("good_and_biased", tmp_path)
    rows = table(text)
    good, biased, worst = rows["Metropolis"], rows["SGLD, step 5e-3"], rows["SGLD, step 5e-2"]
    assert good[1] < biased[0]
    assert biased[1] < worst[0]
    assert worst[2] > 10.0
    assert "The worst, SGLD, step 5e-2" in text
    assert "theta1" in text


def test_your_own_target_tells_a_normal_with_the_same_moments_apart(tmp_path):
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


def test_sgld_step_size_lies_between_too_small_and_too_large(tmp_path):
    text = run("sgld_step_size", tmp_path)
    rows = re.findall(r"^ *(\de-\d\d) +[\d.]+, [\d.]+ +(-?[\d.]+) +([\d.]+)", text, flags=re.MULTILINE)
    correlation = {step: float(found) for step, found, _ in rows}
    discrepancy = {step: float(found) for step, _, found in rows}
    assert discrepancy["5e-03"] < 0.6 * min(discrepancy["5e-05"], discrepancy["5e-02"])
    assert correlation["5e-02"] < correlation["5e-03"]
    assert "Choose a step size of 5e-03." in text


def test_approximate_mh_reads_fewer_data(tmp_path):
    text = run("approximate_mh", tmp_path)
    read = dict(re.findall(r"^(exact test|epsilon \.\d), (\d+) data a test", text, flags=re.MULTILINE))
    assert int(read["exact test"]) == 53
    assert 4 < int(read["epsilon .2"]) < int(read["epsilon .1"]) < 20
    assert "Lowest discrepancy:" in text


def test_data_used_by_barkers_test_do_not_grow(tmp_path):
    text = run("data_used", tmp_path)
    rows = re.findall(r"^(Barker|austerity), (\S.*?) {2,}([\d,]+) +([\d,]+)$", text, flags=re.MULTILINE)
    read = {f"{test}, {setting}": [float(n.replace(",", "")) for n in found] for test, setting, *found in rows[:4]}
    assert max(read["Barker, sigma 1"]) < 250
    assert read["Barker, sigma 1.3"][1] < read["Barker, sigma 1"][1]
    assert read["austerity, epsilon .005"][1] > 2.0 * read["austerity, epsilon .005"][0]
    assert read["austerity, epsilon .005"][1] > 4.0 * read["Barker, sigma 1"][1]


@pytest.mark.parametrize("name", EXPLAINED)
def test_an_example_explains_itself(name):
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / f"{name}.py"), "--help"], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert "?" in done.stdout  # the question it answers
    assert "--small" in done.stdout
