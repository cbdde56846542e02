"""Infrastructure of the papers' experiments: stored cells, evaluation of claims, and the index."""

import json
import runpy
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support.scripts import output_of

PAPERS = Path(__file__).parents[1]
SCRIPTS = sorted(path.stem for path in PAPERS.glob("*.py") if path.stem[0] != "_" and path.stem != "index")

SCRIPT = '''"""Compute squares in a small experiment."""

import functools
from pathlib import Path

import numpy as np
from _frame import Experiment, Found, figure, main_of

LOG = Path("calls.txt")
FAILS = "failing.txt"


@functools.cache
def factor() -> int:
    """Return a value shared by the cells of a process."""
    return 1


def squares(x: int) -> dict:
    """Return the square, and values that JSON does not support."""
    with open("calls.txt", "a") as log:
        log.write(f"{x}\\n")
    if x == 3 and Path(FAILS).exists():
        raise ValueError("three is too many")
    return {"square": np.int64(factor() * x * x), "row": np.array([x, np.nan])}


def main():
    experiment = Experiment(__file__, __doc__, shows="Nobody (2020), table 1")
    found = experiment.cells(squares, [{"x": x} for x in (1, 2, 3, 2)])
    experiment.result("sum", float(sum(each["square"] for each in found)))
    experiment.result("mean", Found.mean([each["square"] for each in found]))
    experiment.result("far", 4.0, protocol="plain")
    experiment.result("far", 7.5, protocol="odd")
    experiment.result("in words", largest=found[2]["square"], text="nine")
    experiment.settings(x=np.arange(3))
    experiment.numbers(found=found)
    fig, ((ax,),) = figure()
    ax.plot([1, 2, 3], [1, 4, 9])
    experiment.finish(fig)


if __name__ == "__main__":
    main_of(main)
'''


LEDGER = """
paper = "Nobody (2020)"
title = "Squares"
version = "first"
errata = ["A two should be a three."]

[[claim]]
id = "sum"
script = "squares"
where = "table 1"
claim = "the sum"
printed = "19"

[[claim]]
id = "mean"
script = "squares"
where = "table 1"
claim = "the mean"
printed = "4.5"
revised = "a first criterion was missed"

[[claim]]
id = "far"
script = "squares"
where = "table 1"
claim = "a distance"
printed = "9"
error = 2.0
protocols = ["plain", "odd"]
because = "it is far"

[[claim]]
id = "in words"
script = "squares"
where = "text"
claim = "the largest"
printed = "small"
holds = "largest < 5"
fails = "largest > 20"
because = "neither small nor large"

[[claim]]
where = "table 2"
claim = "table of cubes"
needs = "cubes"

[[claim.rows]]
id = "never {}"
claim = "cube of {}"
table = { "1" = "1", "2" = "8" }
"""


@pytest.fixture(scope="module")
def frame(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(PAPERS)
        import _frame
        import _ledger

        folder = tmp_path_factory.mktemp("ledger")
        (folder / "nobody.toml").write_text(LEDGER)
        patch.setattr(_ledger, "FOLDER", folder)
        yield _frame
        for name in ("_frame", "_ledger", "_cell_code"):
            sys.modules.pop(name, None)


@pytest.fixture
def script(frame, tmp_path):
    path = tmp_path / "squares.py"
    path.write_text(SCRIPT)
    return path


def calls(folder):
    return (folder / "calls.txt").read_text().split()


def run(script, *options):
    return output_of(script, "-o", "found", *options, folder=script.parent)


def test_a_script_prints_its_rows_and_stores_its_numbers(script):
    printed = run(script)
    assert "Nobody (2020), table 1, at small size" in printed
    assert [line.split()[-1] for line in printed.splitlines()[2:7]] == ["judged"] * 5  # a small run evaluates no claim
    document = json.loads((script.parent / "found" / "squares.json").read_text())
    assert [(row["claim"], row["protocol"]) for row in document["results"]] == [
        ("sum", ""),
        ("mean", ""),
        ("far", "plain"),
        ("far", "odd"),
        ("in words", ""),
    ]
    assert document["results"][2]["found"] == {"value": 4.0, "low": 4.0, "high": 4.0}
    assert document["numbers"]["found"][0] == {"square": 1, "row": [1.0, None]}
    assert document["settings"] == {"x": [0, 1, 2]}
    assert (document["size"], document["command"]) == ("small", "python examples/papers/squares.py")
    assert (script.parent / "found" / document["figure"]).read_bytes().startswith(b"\x89PNG")


def test_cells_are_computed_once_and_never_again(script):
    run(script)
    first = json.loads((script.parent / "found" / "squares.json").read_text())
    assert calls(script.parent) == ["1", "2", "3"]  # the second 2 is the same cell
    assert "3 of them reused" in run(script)
    assert calls(script.parent) == ["1", "2", "3"]
    assert json.loads((script.parent / "found" / "squares.json").read_text()) == first


def test_a_failed_run_keeps_its_finished_cells(script, capsys):
    (script.parent / "failing.txt").touch()
    with pytest.raises(SystemExit) as ended:
        run(script)
    assert ended.value.code not in (0, None)
    (script.parent / "failing.txt").unlink()
    printed = run(script)
    assert "2 of them reused" in printed
    assert calls(script.parent) == ["1", "2", "3", "3"]


def test_changed_code_is_run_again(script):
    run(script)
    script.write_text(SCRIPT.replace("x * x", "x * x * x"))
    assert "0 of them reused" in run(script)
    assert len(calls(script.parent)) == 6


def test_docstrings_claims_and_plots_do_not_change_the_hash(script):
    run(script)
    changed = SCRIPT.replace(
        '"""Return the square, and values that JSON does not support."""', '"""Return a square."""'
    )
    script.write_text(changed.replace('text="nine"', 'text="9"').replace("[1, 4, 9]", "[9, 4, 1]"))
    assert "3 of them reused" in run(script)
    script.write_text(SCRIPT.replace("return 1\n", "return 2\n"))  # a function called by the function of the cell
    assert "0 of them reused" in run(script)


def test_changed_code_of_an_application_is_run_again(script):
    (script.parent / "rules").mkdir()
    solver = script.parent / "rules" / "powers.py"
    solver.write_text("def power(x):\n    return x * x\n")
    script.write_text(
        SCRIPT.replace("import numpy", "from rules.powers import power\nimport numpy", 1).replace("x * x", "power(x)")
    )
    run(script)
    assert "3 of them reused" in run(script)
    solver.write_text("def power(x):\n    return x * x * x\n")
    assert "0 of them reused" in run(script)


def test_results_do_not_depend_on_the_number_of_processes(script):
    script.write_text(SCRIPT.replace("calls.txt", str(script.parent / "calls.txt")))  # workers have another folder
    run(script)
    alone = json.loads((script.parent / "found" / "squares.json").read_text())
    output_of(script, "-o", "other", "--jobs", "2", folder=script.parent)
    together = json.loads((script.parent / "other" / "squares.json").read_text())
    assert together["numbers"] == alone["numbers"]
    assert together["results"] == alone["results"]


def test_a_folder_of_another_size_is_refused(script):
    run(script)
    with pytest.raises(SystemExit) as ended:
        run(script, "--full")
    assert ended.value.code == 2
    assert len(calls(script.parent)) == 3


def test_a_full_run_evaluates_claims(script):
    printed = run(script, "--full")
    verdicts = [line.split("  ")[-1].strip() for line in printed.splitlines()[2:7]]
    assert verdicts == ["fails", "holds", "fails", "holds", "open"]


def experiment(tmp_path, monkeypatch, frame):
    monkeypatch.setattr(sys, "argv", ["squares.py", "-o", str(tmp_path)])
    return frame.Experiment("squares.py", "A question? A sentence.", shows="A (2000), figure 1")


@pytest.mark.parametrize(("claim", "protocol"), [("cubes", ""), ("never 1", ""), ("sum", "plain"), ("far", "")])
def test_a_claim_without_a_row_is_refused(frame, tmp_path, monkeypatch, claim, protocol):
    with pytest.raises(frame.UsageError, match="ledger first"):
        experiment(tmp_path, monkeypatch, frame).result(claim, 1.0, protocol=protocol)


@pytest.mark.parametrize(
    ("printed", "low", "high", "error", "holds"),
    [
        ("-0.49", -0.6, -0.486, 0.0, True),  # printed to two digits: -0.495 to -0.485
        ("-0.49", -0.6, -0.496, 0.0, False),
        ("172", 163.0, 171.4, 0.0, False),
        # the difference is 4.8; the tolerance is 0.5 for rounding plus sqrt(4.2^2 + 6^2)
        ("172", 163.0, 171.4, 6.0, True),
        ("172", 157.0, 163.0, 6.0, False),  # their intervals overlap, but 12 exceeds sqrt(3^2 + 6^2)
        ("1e4", 12_000.0, 13_000.0, 0.0, True),
    ],
)
def test_a_number_holds_if_the_difference_is_within_its_errors(frame, printed, low, high, error, holds):
    from _ledger import Row

    row = Row("x", "A", "x", "table 1", "x", printed, error=error)
    assert row.judged({"value": 0.5 * (low + high), "low": low, "high": high}) is holds


@pytest.mark.parametrize(
    ("states", "expected"),
    [
        ((True, True), "holds"),
        ((True, False), "holds under one"),
        ((False, True), "holds under two"),
        ((False, False), "fails"),
        ((False, None), "open"),
        ((True,), "holds under one"),
        ((), "not run"),
    ],
)
def test_a_verdict_combines_all_protocols(frame, states, expected):
    from _ledger import Row, verdict

    row = Row("x", "A", "x", "text", "x", "so", holds="state > 0", fails="state < 0", protocols=("one", "two"))
    number = {True: 1.0, False: -1.0, None: 0.0}
    results = [{"protocol": p, "found": {"state": number[s]}} for p, s in zip(row.protocols, states, strict=False)]
    assert verdict(row, results) == expected


@pytest.mark.parametrize(
    ("verdicts", "expected"),
    [
        (("holds", "holds"), "holds"),
        (("holds under one", "holds under one"), "holds under one"),
        (("holds", "holds under one"), "holds under a protocol"),
        (("holds", "open"), "open"),
        (("holds", "not run"), "open"),
        (("open", "fails", "holds"), "fails"),
        (("not run", "not run"), "not run"),
    ],
)
def test_a_claim_has_the_least_favorable_verdict_of_its_rows(frame, verdicts, expected):
    from _ledger import weakest

    assert weakest(verdicts) == expected


@pytest.mark.parametrize(
    "change",
    [
        {"printed": "2"},
        {"error": 1.0},
        {"holds": "a > 1"},
        {"fails": "a < 0"},
        {"undecidable": True},
        {"protocols": ("b",)},
    ],
)
def test_every_part_of_a_criterion_changes_its_hash(frame, change):
    from _ledger import Row

    row = Row("x", "A", "x", "text", "x", "1", holds="a > 0")
    assert replace(row, **change).criterion != row.criterion
    assert replace(row, because="other", revised="later").criterion == row.criterion


def test_some_rows_are_not_decided_whatever_the_result(frame):
    from _ledger import Row, verdict

    row, result = Row("x", "A", "x", "text", "x", "so", holds="state > 0"), {"protocol": "", "found": {"state": 1.0}}
    assert verdict(row, [result]) == "holds"
    assert verdict(replace(row, undecidable=True), [result]) == "open"
    assert row.decides(full=True, data=False)
    assert not row.decides(full=False, data=True)
    assert not replace(row, needs="more data").decides(full=True, data=True)
    assert not replace(row, real=True).decides(full=True, data=False)
    assert replace(row, real=True).decides(full=True, data=True)


def test_found_is_a_mean_with_two_standard_errors_or_a_range(frame):
    values = np.arange(100.0)
    mean = frame.Found.mean(values)
    reach = 2.0 * values.std(ddof=1) / 10.0
    assert (mean.low, mean.value, mean.high) == pytest.approx((49.5 - reach, 49.5, 49.5 + reach))
    assert frame.Found.range(values).low == pytest.approx(np.quantile(values, 0.025))
    # the 0.975 quantile of Student's t distribution with two degrees of freedom is 4.303
    single = frame.Found.few([1.0, 2.0, 3.0], one=True)
    assert single.high - single.value == pytest.approx(4.3027 * np.sqrt(4.0 / 3.0), rel=1e-4)
    assert str(frame.Found.exactly(2.0)) == "2"
    assert str(frame.Found(1.0, 0.5, 1.5)) == "1±0.5"
    assert str(frame.Found(1.0, 0.9, 1.5)) == "1 (0.9-1.5)"
    assert str(frame.Found(-1.0, -1.1, -0.5)) == "-1 (-1.1 to -0.5)"
    assert str(frame.Found(13_578.4, 12_846.0, 14_310.8)) == "13,578±732"


def test_a_cell_function_inside_another_function_is_refused(frame, tmp_path, monkeypatch):
    made = experiment(tmp_path, monkeypatch, frame)
    with pytest.raises(frame.UsageError, match="cannot be told"):
        made.cells(np.sum, [{"a": 1}])


@pytest.mark.parametrize("name", SCRIPTS)
def test_script_prints_its_options(name, monkeypatch, capsys, frame):
    monkeypatch.setattr("sys.argv", [f"{name}.py", "--help"])
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(str(PAPERS / f"{name}.py"), run_name="__main__")
    assert ended.value.code == 0
    explained = capsys.readouterr().out
    assert f"usage: {name}.py" in explained
    for option in ("--full", "--jobs", "-o"):
        assert option in explained


def index_names():
    return runpy.run_path(str(PAPERS / "index.py"))


def test_the_page_agrees_with_the_documents_and_is_complete(monkeypatch, capsys):
    monkeypatch.syspath_prepend(PAPERS)
    for name in ("_frame", "_ledger"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setattr(sys, "argv", ["index.py", "--check"])
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(str(PAPERS / "index.py"), run_name="__main__")
    assert ended.value.code == 0, capsys.readouterr().err
    page = (PAPERS / "README.md").read_text(encoding="utf-8")
    assert len(page.split()) <= 3000


def test_the_index_copies_full_runs_and_reports_their_results(script, monkeypatch):
    run(script, "--full")
    index = index_names()
    monkeypatch.setitem(index["take_over"].__globals__, "RESULTS", script.parent / "results")
    found = script.parent / "found"
    index["take_over"](found)
    document = index["read"](script.parent / "results" / "squares.json")
    page = index["page"]([document])
    assert "Of 5 claims 1 hold, 1 under a protocol, 1 fail, 1 open, 1 not run. The claims have 6 rows." in page
    assert "|the sum|table 1|19|18|**fails**|" in page
    assert "|a distance|table 1|9|plain: 4; odd: 7.5|holds under odd: it is far|" in page
    assert "|the largest|text|small|nine|open: neither small nor large|" in page
    assert "|table of cubes|table 2|||not run: cubes|\n|- cube of 1||1|-||" in page
    assert "|the mean|table 1|4.5|4.5±3.3|holds: a first criterion was missed|" in page
    assert "[Criteria](ledger/nobody.toml)" in page
    assert "- A two should be a three." in page
    assert "![squares](results/squares.png)" in page
    (script.parent / "results" / "squares.json").write_text(json.dumps(document | {"version": "before"}))
    (found / "squares.json").write_text(json.dumps(document | {"size": "small"}))
    index["take_over"](found)
    assert index["read"](script.parent / "results" / "squares.json")["version"] == "before"


def test_a_changed_criterion_and_a_result_without_a_row_are_reported(script, monkeypatch):
    import _ledger

    run(script, "--full")
    index = index_names()
    document = index["read"](script.parent / "found" / "squares.json")
    assert index["faults"]([document]) == ["sum: fails, but the ledger states no reason; add `because` or `needs`"]
    folder = script.parent / "changed"
    folder.mkdir()
    monkeypatch.setattr(_ledger, "FOLDER", folder)
    changed = LEDGER.replace("largest < 5", "largest < 50").replace('id = "mean"', 'id = "average"')
    (folder / "nobody.toml").write_text(changed.replace('printed = "19"', 'printed = "19"\nbecause = "two twos"'))
    told = index["faults"]([document])
    assert "in words: the criterion was changed after the result; run squares again" in told
    assert "squares: 'mean' () has no row in the ledger" in told
    assert "average: not run, but the ledger states no reason; add `because` or `needs`" in told
    assert len(told) == 3


def test_all_experiments_are_run_by_one_command(monkeypatch, tmp_path, capsys):
    index, commands = index_names(), []

    def noted(command, check):
        commands.append(command)
        return type("Ended", (), {"returncode": 0})

    monkeypatch.setattr(index["subprocess"], "run", noted)
    index["run_all"](tmp_path, {"barker_mnist": "images.gz"}, 2)
    assert [Path(command[1]).stem for command in commands] == SCRIPTS
    assert all(command[2:7] == ["--full", "-o", str(tmp_path), "--jobs", "2"] for command in commands)
    with_data = [command for command in commands if "--data" in command]
    assert [(Path(command[1]).stem, command[-1]) for command in with_data] == [("barker_mnist", "images.gz")]


@pytest.mark.parametrize(("seconds", "expected"), [(5.0, "5 s"), (150.0, "2.5 min"), (9000.0, "2.5 h")])
def test_durations_have_two_digits(seconds, expected):
    assert runpy.run_path(str(PAPERS / "index.py"))["duration"](seconds) == expected
