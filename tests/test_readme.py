"""The output shown in the README is reproduced, and every file that it names exists."""

import contextlib
import io
import re
import shlex
from pathlib import Path

import pytest

import steinkit as sk

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", README, flags=re.DOTALL | re.MULTILINE)
NUMBER = re.compile(r"\d+(?:\.\d+)?(?:e-?\d+)?")


def told_after(language: str, marker: str) -> tuple[str, str]:
    """Return the block of code that contains a marker, and the output shown below it."""
    place = next(k for k, (kind, text) in enumerate(BLOCKS) if kind == language and marker in text)
    kind, text = BLOCKS[place + 1]
    assert kind == "text"
    return BLOCKS[place][1], text


def require_same(printed: str, told: str) -> None:
    """Require equal words, and numbers within a hundredth, because processors round differently."""
    assert NUMBER.sub("#", printed) == NUMBER.sub("#", told)
    numbers = [float(each) for each in NUMBER.findall(told)]
    assert [float(each) for each in NUMBER.findall(printed)] == pytest.approx(numbers, rel=0.01)


def test_the_main_command_prints_the_output_shown(steinkit, monkeypatch, tmp_path):
    monkeypatch.chdir(ROOT)
    command, told = told_after("bash", "steinkit verdict")
    answer = steinkit(*shlex.split(command.split(".venv/bin/steinkit ")[1]))
    assert answer.code == 0
    require_same("".join(answer.out.splitlines(keepends=True)[: told.count("\n")]), told)


def test_the_draws_are_corrected_and_the_figure_is_saved(steinkit, monkeypatch, tmp_path):
    monkeypatch.chdir(ROOT)
    repair, score = next(text for kind, text in BLOCKS if kind == "bash" and "steinkit repair" in text).splitlines()
    assert steinkit(*shlex.split(repair)[1:-1], str(tmp_path / "repaired.csv")).code == 0
    assert steinkit(*shlex.split(score)[1:-1], str(tmp_path / "where.png")).code == 0
    assert (tmp_path / "repaired.csv").exists()
    assert (tmp_path / "where.png").exists()


def test_the_python_example_prints_the_output_shown(monkeypatch):
    monkeypatch.chdir(ROOT)
    code, told = told_after("python", "sk.verdict")
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, "README.md", "exec"), {})
    require_same(printed.getvalue(), told)


def test_the_sweep_reports_the_best_step_and_that_of_the_largest_ess(steinkit, tmp_path):
    file = ROOT / re.search(r"^steinkit sweep (\S+)", README, flags=re.MULTILINE)[1]
    few = tmp_path / file.name
    few.write_text(file.read_text(encoding="utf-8").replace("seeds = 20", "seeds = 2"), encoding="utf-8")
    told = re.search(r"^The best step size is (\S+)\. .* selected (\S+)\.$", README, re.MULTILINE)
    assert steinkit("sweep", str(few), "-o", str(tmp_path / "sgld")).code == 0
    found = sk.read_sweep(tmp_path / "sgld")
    assert [found.criteria[name].best["step_size"] for name in ("graph", "ess")] == [float(told[1]), float(told[2])]


def test_every_file_that_it_names_exists():
    names = re.findall(r"\]\(([^)#]+)\)", README)
    assert len(names) >= 9
    assert [name for name in names if not (ROOT / name).exists()] == []


def test_it_is_short():
    assert README.count("\n") <= 120


def test_the_functions_for_other_packages_exist():

    names = set(re.findall(r"sk\.(from_\w+)", README))
    assert len(names) >= 8
    assert all(callable(getattr(sk, name)) for name in names)
