"""Every example runs as a user would run it, says what its docstring promises, and leaves a picture."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"


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
    run_here = {"good_and_biased", "your_own_target", "bounded_target", "make_data"}
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


@pytest.mark.parametrize("name", ["good_and_biased", "your_own_target", "bounded_target"])
def test_an_example_explains_itself(name):
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / f"{name}.py"), "--help"], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert "?" in done.stdout  # the question it answers
    assert "--small" in done.stdout
