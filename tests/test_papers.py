"""The frame of the papers' experiments: cells are kept and not run again, rows are judged, the index tells all."""

import json
import runpy
import sys
from pathlib import Path

import numpy as np
import pytest
from support.scripts import output_of

PAPERS = Path(__file__).parents[1] / "examples" / "papers"
SCRIPTS = sorted(path.stem for path in PAPERS.glob("*.py") if path.stem[0] != "_" and path.stem != "index")

SCRIPT = '''"""Is a square a square? A small experiment."""

import functools
from pathlib import Path

import numpy as np
from _frame import Experiment, Found, figure, main_of

LOG = Path("calls.txt")
FAILS = "failing.txt"


@functools.cache
def factor() -> int:
    """What cells share in a process."""
    return 1


def squares(x: int) -> dict:
    """The square, and what JSON does not know."""
    with open("calls.txt", "a") as log:
        log.write(f"{x}\\n")
    if x == 3 and Path(FAILS).exists():
        raise ValueError("three is too many")
    return {"square": np.int64(factor() * x * x), "row": np.array([x, np.nan])}


def main():
    experiment = Experiment(__file__, __doc__, paper="Nobody (2020)", shows="table 1")
    found = experiment.cells(squares, [{"x": x} for x in (1, 2, 3, 2)])
    experiment.row("sum", paper="18", here=float(sum(each["square"] for each in found)))
    experiment.row("mean", paper="4.5", here=Found.mean([each["square"] for each in found]))
    experiment.row("far", paper="9", here=4.0, within=2.0, because="it is far")
    experiment.row("near", paper="9", here=7.5, within=2.0, because="it was counted once")
    experiment.claim("in words", paper="so", here="not so", agrees=None)
    experiment.settings(x=np.arange(3))
    experiment.numbers(found=found)
    fig, ((ax,),) = figure()
    ax.plot([1, 2, 3], [1, 4, 9])
    experiment.finish(fig)


if __name__ == "__main__":
    main_of(main)
'''


@pytest.fixture(scope="module")
def frame():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(PAPERS)
        import _frame

        yield _frame
        for name in ("_frame", "_judged"):
            sys.modules.pop(name)


@pytest.fixture
def script(frame, tmp_path):
    path = tmp_path / "squares.py"
    path.write_text(SCRIPT)
    return path


def calls(folder):
    return (folder / "calls.txt").read_text().split()


def run(script, *options):
    return output_of(script, "-o", "found", *options, folder=script.parent)


def test_a_script_prints_its_rows_and_keeps_its_numbers(script):
    said = run(script)
    assert "Nobody (2020), table 1, at small size" in said
    assert [line.split()[-1] for line in said.splitlines()[2:7]] == ["yes", "yes", "NO", "yes", "judged"]
    assert "far: ± 2: it is far\n" in said
    assert "near: ± 2: it was counted once, and only with it do the two agree\n" in said
    document = json.loads((script.parent / "found" / "squares.json").read_text())
    assert [row["agrees"] for row in document["rows"]] == [True, True, False, True, None]
    assert document["numbers"]["found"][0] == {"square": 1, "row": [1.0, None]}
    assert document["settings"] == {"x": [0, 1, 2]}
    assert (document["size"], document["command"]) == ("small", "python examples/papers/squares.py")
    assert (script.parent / "found" / document["figure"]).read_bytes().startswith(b"\x89PNG")


def test_cells_are_computed_once_and_never_again(script):
    run(script)
    first = json.loads((script.parent / "found" / "squares.json").read_text())
    assert calls(script.parent) == ["1", "2", "3"]  # the second 2 is the same cell
    assert "3 of them kept from before" in run(script)
    assert calls(script.parent) == ["1", "2", "3"]
    assert json.loads((script.parent / "found" / "squares.json").read_text()) == first


def test_a_run_that_fails_keeps_what_was_finished(script, capsys):
    (script.parent / "failing.txt").touch()
    with pytest.raises(SystemExit) as ended:
        run(script)
    assert ended.value.code not in (0, None)
    (script.parent / "failing.txt").unlink()
    said = run(script)
    assert "2 of them kept from before" in said
    assert calls(script.parent) == ["1", "2", "3", "3"]


def test_other_code_is_run_again(script):
    run(script)
    script.write_text(SCRIPT.replace("x * x", "x * x * x"))
    assert "0 of them kept from before" in run(script)
    assert len(calls(script.parent)) == 6


def test_processes_find_the_same(script):
    run(script)
    alone = json.loads((script.parent / "found" / "squares.json").read_text())
    output_of(script, "-o", "other", "--jobs", "2", folder=script.parent)
    together = json.loads((script.parent / "other" / "squares.json").read_text())
    assert together["numbers"] == alone["numbers"]
    assert together["rows"] == alone["rows"]


def test_a_folder_of_another_size_is_refused(script):
    run(script)
    with pytest.raises(SystemExit) as ended:
        run(script, "--full")
    assert ended.value.code == 2
    assert len(calls(script.parent)) == 3


def experiment(frame, tmp_path, monkeypatch, **options):
    monkeypatch.setattr(sys, "argv", ["script.py", "-o", str(tmp_path)])
    return frame.Experiment("script.py", "A question? A sentence.", paper="A (2000)", shows="figure 1", **options)


@pytest.mark.parametrize(
    ("paper", "low", "high", "options", "agrees"),
    [
        ("-0.49", -0.6, -0.486, {}, True),  # printed to two digits: -.495 to -.485
        ("-0.49", -0.6, -0.496, {}, False),
        ("172", 163.0, 171.4, {}, False),
        ("172", 163.0, 171.4, {"within": 4.0}, True),
        (0.5, 0.44, 0.449, {}, False),
        ("1e4", 12_000.0, 13_000.0, {}, True),
        ("about half", 0.5, 0.5, {}, None),
        ("1", 1.0, 1.0, {"judged": False}, None),
    ],
)
def test_a_number_agrees_where_the_intervals_meet(frame, tmp_path, monkeypatch, paper, low, high, options, agrees):
    made = experiment(frame, tmp_path, monkeypatch)
    made.row("x", paper=paper, here=frame.Found(0.5 * (low + high), low, high), **options)
    assert made.rows[0].agrees is agrees


def test_found_is_a_mean_with_two_standard_errors_or_a_range(frame):
    values = np.arange(100.0)
    mean = frame.Found.mean(values)
    reach = 2.0 * values.std(ddof=1) / 10.0
    assert (mean.low, mean.value, mean.high) == pytest.approx((49.5 - reach, 49.5, 49.5 + reach))
    assert frame.Found.range(values).low == pytest.approx(np.quantile(values, 0.025))
    assert str(frame.Found.exactly(2.0)) == "2"
    assert str(frame.Found(1.0, 0.5, 1.5)) == "1 (0.5 to 1.5)"


def test_a_cell_whose_function_cannot_be_told_from_another_is_refused(frame, tmp_path, monkeypatch):
    made = experiment(frame, tmp_path, monkeypatch)
    with pytest.raises(frame.UsageError, match="cannot be told"):
        made.cells(np.sum, [{"a": 1}])


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_explains_itself(name, monkeypatch, capsys, frame):
    monkeypatch.setattr("sys.argv", [f"{name}.py", "--help"])
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(str(PAPERS / f"{name}.py"), run_name="__main__")
    assert ended.value.code == 0
    explained = capsys.readouterr().out
    assert "?" in explained
    for option in ("--full", "--jobs", "-o"):
        assert option in explained


def test_the_page_is_that_of_the_documents(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["index.py", "--check"])
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(str(PAPERS / "index.py"), run_name="__main__")
    assert ended.value.code == 0


def test_the_index_takes_over_full_runs_and_says_what_they_found(script, monkeypatch, capsys):
    run(script)
    index = runpy.run_path(str(PAPERS / "index.py"))
    names = index["take_over"].__globals__
    monkeypatch.setitem(names, "RESULTS", script.parent / "results")
    found = script.parent / "found"
    index["take_over"](found, small_too=False)
    page = index["page"]([index["read"](script.parent / "results" / "squares.json")])
    assert "| Nobody (2020) | [table 1](#squares) | `python examples/papers/squares.py` |" in page
    assert "3 of 4 agree, 1 not judged (small run)" in page
    assert "| far | 9 ± 2 | 4 | **no** | ± 2: it is far |" in page
    assert "| far: 4, not 9 ± 2. | <img src=" in page
    document = json.loads((found / "squares.json").read_text())
    (script.parent / "results" / "squares.json").write_text(json.dumps(document | {"size": "full"}))
    index["take_over"](found, small_too=False)
    assert index["read"](script.parent / "results" / "squares.json")["size"] == "full"
    index["take_over"](found, small_too=True)
    assert index["read"](script.parent / "results" / "squares.json")["size"] == "small"


@pytest.mark.parametrize(("seconds", "said"), [(5.0, "5 s"), (150.0, "2.5 min"), (9000.0, "2.5 h")])
def test_durations_have_two_digits(seconds, said):
    assert runpy.run_path(str(PAPERS / "index.py"))["duration"](seconds) == said
