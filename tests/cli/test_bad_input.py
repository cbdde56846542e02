"""What a user can get wrong: each mistake has its own message, its exit code, and no traceback."""

from __future__ import annotations

import os
import pickle
import re
import stat
from pathlib import Path

import numpy as np
import pytest

import steinkit as sk
from steinkit.cli import main

_NORMAL = ("--target", "normal", "--reference", "0")
_GOOD = ["a,b", "1.0,2.0", "0.5,-1.0", "0.25,0.75", "-1.5,0.5"]


@pytest.fixture
def refused(steinkit):
    """Run a command that must fail with nothing on standard output; return what it says in one line."""

    def run(*arguments, code, stdin=b""):
        outcome = steinkit(*arguments, stdin=stdin)
        assert (outcome.code, outcome.out) == (code, ""), outcome
        assert re.match(r"(error|Error): ", outcome.err), outcome.err
        assert outcome.err.count("\n") == 1, outcome.err
        return outcome.err

    return run


def _lines(folder, *lines, name="draws.csv"):
    (folder / name).write_text("\n".join(lines) + "\n")
    return name


def _changed(line, text):
    """The good file with one of its lines replaced; line 1 is the header."""
    return [*_GOOD[: line - 1], text, *_GOOD[line:]]


class TestFiles:
    def test_missing_with_near_matches(self, refused, folder):
        _lines(folder, *_GOOD, name="chain_1.csv")
        error = refused("score", "chian_1.csv", *_NORMAL, code=3)
        assert "chian_1.csv does not exist" in error
        assert '"chain_1.csv"' in error

    def test_missing_folder(self, refused):
        assert "there is no folder runs" in refused("score", "runs/draws.csv", *_NORMAL, code=3)

    def test_a_folder(self, refused, folder):
        (folder / "runs.csv").mkdir()
        assert "is a folder" in refused("score", "runs.csv", *_NORMAL, code=3)

    def test_empty(self, refused, folder):
        (folder / "draws.csv").touch()
        assert "draws.csv is empty" in refused("score", "draws.csv", *_NORMAL, code=3)

    def test_empty_standard_input(self, refused):
        assert "standard input is empty" in refused("score", "-", *_NORMAL, code=3)

    def test_closed_standard_input(self, folder, monkeypatch, capsys):
        monkeypatch.setattr("sys.argv", ["steinkit", "score", "-", *_NORMAL])
        monkeypatch.setattr("sys.stdin", None)
        with pytest.raises(SystemExit) as ended:
            main()
        assert ended.value.code == 3
        assert "standard input" in capsys.readouterr().err

    def test_a_header_without_draws(self, refused, folder):
        assert "no draws" in refused("score", _lines(folder, "a,b"), *_NORMAL, code=3)

    def test_no_header(self, refused, folder):
        error = refused("score", _lines(folder, *_GOOD[1:]), *_NORMAL, code=3)
        assert "add a header line" in error

    def test_an_unknown_ending(self, refused, folder):
        error = refused("score", _lines(folder, *_GOOD, name="draws.dat"), *_NORMAL, code=2)
        assert "'.dat'" in error
        assert "csv" in error

    def test_an_unknown_format(self, refused, folder):
        error = refused("score", _lines(folder, *_GOOD), "--format", "parquet", *_NORMAL, code=2)
        assert "'parquet'" in error
        assert "netcdf" in error

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("0.5", "line 3: 1 value"),
            ("0.5,1.0,2.0", "line 3: 3 values where the header names 2 columns"),
            ("0.5,oops", 'line 3, column "b" holds "oops"'),
            ("0.5,", 'line 3, column "b" is empty'),
            ("0.5,nan", 'line 3, column "b" is nan'),
            ("-inf,0.5", 'line 3, column "a" is -inf'),
            ("1e999,0.5", 'line 3, column "a" is inf'),
        ],
    )
    def test_a_bad_cell_is_named_by_line_and_column(self, refused, folder, text, message):
        error = refused("score", _lines(folder, *_changed(3, text)), *_NORMAL, code=3)
        assert "draws.csv" in error
        assert message in error
        assert ";" in error  # what to do about it

    def test_all_bad_values_are_counted(self, refused, folder):
        error = refused("score", _lines(folder, *_changed(3, "nan,inf")), *_NORMAL, code=3)
        assert "(2 such values in all)" in error

    @pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
    def test_npz_with_a_bad_value_is_named_by_row_and_column(self, refused, folder, draws, value):
        draws[6, 1] = value
        np.savez(folder / "draws.npz", points=draws, names=np.array(["a", "b"]))
        error = refused("score", "draws.npz", *_NORMAL, code=3)
        assert f"row 7, column 'b' is {value}" in error

    def test_npz_without_points_says_what_it_holds(self, refused, folder, draws):
        np.savez(folder / "draws.npz", samples=draws)
        error = refused("score", "draws.npz", *_NORMAL, code=3)
        assert '"points"' in error
        assert '"samples"' in error

    def test_a_damaged_npz(self, refused, folder, draws):
        np.savez(folder / "whole.npz", points=draws)
        (folder / "draws.npz").write_bytes((folder / "whole.npz").read_bytes()[:200])
        assert "damaged" in refused("score", "draws.npz", *_NORMAL, code=3)

    def test_bytes_that_are_no_text(self, refused):
        error = refused("score", "-", *_NORMAL, code=3, stdin=b"a,b\n\xff\xfe,1\n")
        assert "standard input, line 2 is not UTF-8" in error

    @pytest.mark.parametrize("columns", ["a,q", "q"])
    def test_columns_that_are_not_there(self, refused, folder, columns):
        error = refused("score", _lines(folder, *_GOOD), "--columns", columns, *_NORMAL, code=3)
        assert '"q"' in error
        assert '"a", "b"' in error

    def test_no_columns(self, refused, folder):
        assert "columns" in refused("score", _lines(folder, *_GOOD), "--columns", ",", *_NORMAL, code=2)


class _Trap:
    """Unpickling this makes a file."""

    def __reduce__(self):
        return (Path.touch, (Path("sprung"),))


class TestPickles:
    @pytest.mark.parametrize("name", ["draws.npy", "draws.npz"])
    def test_a_renamed_pickle_is_refused_and_not_run(self, refused, folder, name):
        (folder / name).write_bytes(pickle.dumps(_Trap()))
        error = refused("score", name, *_NORMAL, code=3)
        assert "never unpickled" in error or "no NumPy file" in error
        assert not (folder / "sprung").exists()

    def test_an_array_of_objects_is_refused_and_not_run(self, refused, folder):
        np.save(folder / "draws.npy", np.array([_Trap()], dtype=object), allow_pickle=True)
        np.savez(folder / "draws.npz", points=np.array([_Trap()], dtype=object), allow_pickle=True)
        for name in ("draws.npy", "draws.npz"):
            assert name in refused("score", name, *_NORMAL, code=3)
        assert not (folder / "sprung").exists()

    def test_the_trap_works(self, folder):
        pickle.loads(pickle.dumps(_Trap()))
        assert (folder / "sprung").exists()


class TestWeightsAndScores:
    def test_a_negative_weight(self, refused, folder):
        name = _lines(folder, "a,b,weight", "1,2,1", "0,1,-0.5", "2,2,1")
        error = refused("score", name, *_NORMAL, code=3)
        assert 'line 3, column "weight" is -0.5' in error
        assert "negative" in error

    def test_weights_all_zero(self, refused, folder):
        name = _lines(folder, "a,b,weight", "1,2,0", "0,1,0")
        assert "all weights are zero" in refused("score", name, *_NORMAL, code=3)

    def test_a_negative_weight_in_npz(self, refused, folder, draws):
        np.savez(folder / "draws.npz", points=draws, weights=np.r_[np.ones(199), -2.0])
        assert "row 200 is -2" in refused("score", "draws.npz", *_NORMAL, code=3)

    @pytest.mark.parametrize("shape", [(200,), (200, 1), (200, 3), (199, 2), (2, 200)])
    def test_scores_of_the_wrong_shape(self, refused, folder, draws, shape):
        np.savez(folder / "draws.npz", points=draws, scores=np.ones(shape))
        error = refused("score", "draws.npz", code=3)
        assert "scores" in error
        assert str(shape) in error
        assert "(200, 2)" in error

    def test_a_score_that_is_missing(self, refused, folder):
        name = _lines(folder, "a,b,score:a", "1,2,-1", "0,1,0")
        assert '"score:b"' in refused("score", name, code=3)

    def test_a_score_that_is_not_finite(self, refused, folder):
        name = _lines(folder, "a,score:a", "1,-1", "0,nan")
        assert 'line 3, column "score:a" is nan' in refused("score", name, code=3)

    def test_equal_draws_with_different_scores(self, refused, folder):
        name = _lines(folder, "a,score:a", "1,-1", "0,0", "1,-2")
        error = refused("score", name, code=3)
        assert "draws 1 and 3" in error

    def test_neither_scores_nor_target(self, refused, folder):
        error = refused("score", _lines(folder, *_GOOD), code=2)
        assert "no --target was given" in error
        assert "steinkit targets" in error


class TestDegenerateSamples:
    """Scored, with a warning that says so."""

    def test_one_draw(self, steinkit, folder):
        outcome = steinkit("score", _lines(folder, "a,b", "0.5,1.0"), *_NORMAL, "--json")
        assert outcome.code == 0
        assert outcome.document["sample"]["draws"] == 1
        assert any("the sample is one draw" in note for note in outcome.document["warnings"])
        assert "the sample is one draw" in outcome.err

    def test_all_draws_equal(self, steinkit, folder):
        outcome = steinkit("score", _lines(folder, "a,b", *4 * ["0.5,1.0"]), *_NORMAL, "--json")
        assert outcome.code == 0
        assert outcome.document["sample"] == {"draws": 4, "distinct": 1, "dim": 2, "names": ["a", "b"]}
        assert any("all 4 draws are the same point" in note for note in outcome.document["warnings"])
        assert "all 4 draws are the same point" in outcome.err

    @pytest.mark.parametrize("dim", [1, 2])
    def test_one_draw_can_be_drawn_and_compared(self, steinkit, folder, dim):
        name = _lines(folder, ",".join("ab"[:dim]), ",".join(["0.5", "1.0"][:dim]))
        outcome = steinkit("score", name, "--target", "normal", "--plot", "where.png")
        assert outcome.code == 0
        assert (folder / "where.png").stat().st_size > 5000

    def test_a_column_that_never_changes(self, steinkit, folder):
        outcome = steinkit("score", _lines(folder, "a,b", "1,0", "2,0", "-1,0"), *_NORMAL, "--json")
        assert outcome.code == 0
        assert all(each["value"] > 0.0 for each in outcome.document["results"][0]["coordinates"])

    def test_outliers_of_1e9_are_scored_with_a_certified_bracket(self, steinkit, write_csv, draws):
        name = write_csv("a,b", np.vstack([draws, [[1e9, -1e9], [1e9, 3.0]]]))
        outcome = steinkit("score", name, *_NORMAL, "--json")
        assert outcome.code == 0
        (entry,) = outcome.document["results"]
        assert 1e7 < entry["lower"] <= entry["upper"] <= 1.001 * entry["lower"]

    def test_draws_too_far_apart_to_be_measured(self, refused, folder):
        error = refused("score", _lines(folder, "a,b", "1e308,0", "-1e308,1"), *_NORMAL, code=3)
        assert "rescale" in error


class TestTargets:
    def test_unknown_with_near_matches(self, refused, folder):
        error = refused("score", _lines(folder, *_GOOD), "--target", "nromal", code=2)
        assert """unknown target 'nromal' (did you mean "normal"?""" in error
        assert "student-t" in error

    def test_of_another_dimension(self, refused, folder):
        error = refused("score", _lines(folder, *_GOOD), "--target", "normal", "-p", "mean=0,0,0", code=3)
        assert "3 coordinates" in error
        assert "the draws have 2" in error

    def test_of_another_dimension_than_a_single_column(self, refused, folder):
        error = refused("score", _lines(folder, "a", "1", "2"), "--target", "normal", "-p", "mean=0,0", code=3)
        assert "2 coordinates" in error
        assert "the draws have 1" in error

    @pytest.mark.parametrize(
        ("pairs", "message"),
        [
            (("mean",), "got 'mean'"),
            (("=3",), "got '=3'"),
            (("meen=3",), 'did you mean "mean"?'),
            (("mean=1", "mean=2"), "got 'mean=2'"),
            (("mean=abc",), "'abc'"),
            (("covariance=[[1,2],[2,1]]",), "positive definite"),
            (("dim=1.5",), "1.5"),
        ],
    )
    def test_options_of_a_built_in_target(self, refused, folder, pairs, message):
        arguments = [word for pair in pairs for word in ("-p", pair)]
        assert message in refused("score", _lines(folder, *_GOOD), "--target", "normal", *arguments, code=2)

    def test_an_option_that_is_needed(self, refused, folder):
        assert "-p df=VALUE" in refused("score", _lines(folder, *_GOOD), "--target", "student-t", code=2)

    def test_options_without_a_target(self, refused, folder):
        assert "--target" in refused("score", _lines(folder, *_GOOD), "-p", "mean=0", code=2)

    def test_a_draw_outside_the_support_is_named_by_its_place_in_the_file(self, refused, folder):
        name = _lines(folder, "a,b", *3 * ["0.5,0.5"], "0.25,0.75", "0.5,1.5")
        error = refused("score", name, "--target", "uniform", code=3)
        assert "b = 1.5, bounds [0, 1]" in error

    @pytest.mark.parametrize("reference", ["3", "1"])
    def test_a_reference_that_cannot_be_drawn(self, refused, folder, write_code, reference):
        name = _lines(folder, *_GOOD)
        model = write_code("score = sk.Target(score=lambda x: -x)\n")
        error = refused("score", name, "--target", f"{model}:score", "--reference", reference, code=2)
        assert "sampler=" in error
        assert "got target model.py:score" in error

    def test_a_reference_for_stored_scores(self, refused, folder):
        error = refused("score", _lines(folder, "a,score:a", "1,-1", "0,0"), "--reference", "1", code=2)
        assert "got the scores stored in the file" in error

    def test_a_reference_for_a_target_cut_off_by_bounds(self, refused, folder):
        arguments = ("--target", "normal", "--bounds", "-9,9", "--reference", "1")
        assert "--bounds" in refused("score", _lines(folder, *_GOOD), *arguments, code=2)


class TestTargetsOfOnesOwn:
    @pytest.fixture
    def message(self, refused, folder, write_code):
        """Score the good file against ``model.py:target`` of this code, which must fail with this exit code."""

        def run(code, *arguments, exit_code=3, attribute="target"):
            model = write_code(code)
            return refused(
                "score", _lines(folder, *_GOOD), "--target", f"{model}:{attribute}", *arguments, code=exit_code
            )

        return run

    @pytest.mark.parametrize("reference", ["nosuch.py:target", "folder/nosuch.py:target"])
    def test_no_such_file(self, refused, folder, reference):
        error = refused("score", _lines(folder, *_GOOD), "--target", reference, code=3)
        assert f"there is no file {reference.partition(':')[0]}" in error

    @pytest.mark.parametrize("reference", ["model.py", "model.py:", "model:target", "model.py:a b"])
    def test_badly_written(self, refused, folder, write_code, reference):
        write_code("target = None\n")
        error = refused("score", _lines(folder, *_GOOD), "--target", reference, code=2)
        assert "path.py:attribute" in error
        assert repr(reference) in error

    def test_no_such_attribute(self, message):
        assert 'did you mean "target"?' in message("target = 1\n", attribute="tagret", exit_code=2)

    def test_of_the_wrong_kind(self, message):
        assert "it is int" in message("target = 5\n", exit_code=2)

    def test_a_factory_of_something_else(self, message):
        assert "it returned list" in message("def target():\n    return []\n", exit_code=2)

    def test_a_file_that_raises(self, message):
        error = message("x = 1\nraise ValueError('no data here')\n")
        assert "model.py, line 4 raised ValueError: no data here" in error

    def test_a_file_that_exits(self, message):
        assert "SystemExit" in message("raise SystemExit(0)\n")

    def test_a_file_that_is_no_python(self, message):
        assert "model.py, line 3" in message("def (\n")

    def test_a_factory_that_raises(self, message):
        error = message("def target():\n    raise KeyError('q')\n")
        assert "model.py, line 4 raised KeyError" in error

    def test_a_score_that_raises(self, message):
        error = message("def target(x):\n    raise RuntimeError('boom')\n")
        assert re.search(r"RuntimeError at \S+\.py, line \d+: boom", error)

    def test_a_score_of_the_wrong_shape(self, message):
        error = message("def target(x):\n    return x[:, 0]\n")
        assert "shape (4, 2)" in error
        assert "(4,)" in error

    def test_a_score_that_is_not_finite_names_draw_and_column(self, message):
        error = message("def target(x):\n    return np.where(x > 1.9, np.nan, -x)\n")
        assert "draw 1 is nan" in error
        assert "'b'" in error

    def test_a_checked_score_that_is_not_finite_names_the_draw_by_its_place_in_the_file(
        self, refused, write_csv, write_code
    ):
        points = np.linspace(-1.0, 1.0, 60).reshape(30, 2)
        model = write_code(
            "target = sk.Target(score=lambda x: np.where(x > 0.99, np.nan, -x),\n"
            "                   log_density=lambda x: -0.5 * (x**2).sum(axis=1), dim=2)\n"
        )
        error = refused("score", write_csv("a,b", points), "--target", f"{model}:target", code=3)
        assert "draw 30 is nan" in error

    def test_a_checked_draw_outside_the_support_is_named_by_its_place_in_the_file(self, refused, write_csv, write_code):
        points = np.linspace(0.0, 2.0, 60).reshape(30, 2)
        model = write_code(
            "target = sk.Target(score=lambda x: -x, log_density=lambda x: -0.5 * (x**2).sum(axis=1),\n"
            "                   bounds=[[0, 1], [0, 3]])\n"
        )
        error = refused("score", write_csv("a,b", points), "--target", f"{model}:target", code=3)
        first = int(np.flatnonzero(points[:, 0] > 1.0)[0]) + 1
        assert f"draw {first} lies outside the support" in error

    def test_a_sampler_that_raises(self, message):
        error = message(
            "target = sk.Target(score=lambda x: -x, dim=2, sampler=lambda n, rng: 1 / 0)\n", "--reference", "1"
        )
        assert "ZeroDivisionError" in error

    def test_a_sampler_of_the_wrong_shape(self, message):
        code = "target = sk.Target(score=lambda x: -x, dim=2, sampler=lambda n, rng: rng.random(n))\n"
        assert "(4, 2)" in message(code, "--reference", "1")

    def test_names_in_another_order(self, message):
        error = message("target = sk.Target(score=lambda x: -x, names=['b', 'a'])\n")
        assert "a, b are not in the target's order b, a" in error
        assert "--columns" in error

    def test_other_names(self, message):
        error = message("target = sk.Target(score=lambda x: -x, names=['u', 'v'])\n")
        assert "u, v" in error
        assert "--columns" in error

    def test_options(self, message):
        error = message("target = sk.Target(score=lambda x: -x)\n", "-p", "mean=0", exit_code=2)
        assert "built-in" in error

    _WRONG = "target = sk.Target(score=lambda x: x, log_density=lambda x: -0.5 * (x**2).sum(axis=1))\n"

    def test_a_score_of_the_wrong_sign_is_caught(self, message):
        error = message(self._WRONG)
        assert "log density" in error
        assert "signs" in error

    def test_a_score_of_the_wrong_sign_is_scored_without_the_check(self, steinkit, folder, write_code):
        model = write_code(self._WRONG)
        arguments = ("score", _lines(folder, *_GOOD), "--target", f"{model}:target", "--no-check", "--json")
        outcome = steinkit(*arguments)
        assert outcome.code == 0
        points = np.array([[float(cell) for cell in line.split(",")] for line in _GOOD[1:]])
        assert (
            outcome.document["results"][0]["value"]
            == sk.graph_stein_discrepancy(points, scores=points, units="own").value
        )


class TestSettings:
    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (("--dilation", "1"), "received 1"),
            (("--dilation", "0.5"), "received 0.5"),
            (("--dilation", "nan"), "received nan"),
            (("--solver", "hihgs"), """unknown solver 'hihgs' (did you mean "highs"?"""),
            (("--solver", "cvxpy:NOSUCH"), "no LP solver 'NOSUCH' installed here; it has"),
            (("--tolerance", "2"), "received 2"),
            (("--tolerance", "nan"), "received nan"),
            (("--jobs", "0"), "n_jobs (--jobs) must be a positive number"),
            (("--max-seconds", "0"), "--max-seconds) must be positive; received 0"),
            (("--stein-factors", "1,1,-1"), "three positive numbers"),
            (("--bounds", "1,0"), "got '1,0'"),
            (("--bounds", "1,1"), "got '1,1'"),
            (("--bounds", "b=nan,1"), "got 'b=nan,1'"),
            (("--bounds", "0"), "got '0'"),
            (("--bounds", "c=0,1"), "expected a, b, each once, got c"),
            (("--bounds", "a=0,1", "--bounds", "a=0,2"), "got a, a"),
            (("--bounds", "0,1", "--bounds", "a=0,1"), "expected a, b, each once, got no name, a"),
            (("--bounds", "-9,9", "--bounds", "-9,9", "--bounds", "-9,9"), "2 coordinates, got 3"),
        ],
    )
    def test_refused(self, refused, folder, arguments, message):
        assert message in refused("score", _lines(folder, *_GOOD), *_NORMAL, *arguments, code=2)

    def test_bounds_that_leave_draws_out(self, refused, folder):
        error = refused("score", _lines(folder, *_GOOD), *_NORMAL, "--bounds", "b=0,inf", code=3)
        assert "draw 2 lies outside the support: b = -1" in error

    def test_bounds_that_contradict_the_targets(self, refused, folder):
        name = _lines(folder, "a,b", "0.5,0.5", "0.25,0.75")
        assert "the target has its own" in refused("score", name, "--target", "uniform", "--bounds", "0,2", code=2)


class TestOutputs:
    @pytest.mark.parametrize("option", ["-o", "--plot"])
    def test_a_folder_that_does_not_exist_is_refused_before_any_work(self, refused, folder, write_code, option):
        model = write_code("from pathlib import Path\nPath('worked').touch()\ndef score(x):\n    return -x\n")
        arguments = ("score", _lines(folder, *_GOOD), "--target", f"{model}:score", option, "runs/result.png")
        error = refused(*arguments, code=3)
        assert "there is no folder runs" in error
        assert not (folder / "worked").exists()

    @pytest.mark.parametrize("name", ["where.bmp", "where", "where.png.gz"])
    def test_an_unknown_ending_of_the_picture_is_refused_before_any_work(self, refused, folder, write_code, name):
        model = write_code("from pathlib import Path\nPath('worked').touch()\ndef score(x):\n    return -x\n")
        arguments = ("score", _lines(folder, *_GOOD), "--target", f"{model}:score", "--plot", name)
        error = refused(*arguments, code=2)
        assert ".png, .pdf, .svg" in error
        assert not (folder / "worked").exists()

    @pytest.mark.parametrize("option", ["-o", "--plot"])
    def test_the_sample_itself_is_not_overwritten(self, refused, folder, option):
        name = _lines(folder, *_GOOD, name="draws.png")
        before = (folder / name).read_bytes()
        error = refused("score", name, "--format", "csv", *_NORMAL, option, f"./{name}", code=2)
        assert "overwrite what it is made from" in error
        assert (folder / name).read_bytes() == before

    def test_one_file_for_both_is_refused(self, refused, folder):
        arguments = ("-o", "result.png", "--plot", "./result.png")
        assert "both name" in refused("score", _lines(folder, *_GOOD), *_NORMAL, *arguments, code=2)

    @pytest.mark.parametrize("option", ["-o", "--plot"])
    def test_standard_output_is_no_place_for_them(self, refused, folder, option):
        assert "standard output" in refused("score", _lines(folder, *_GOOD), *_NORMAL, option, "-", code=2)

    @pytest.mark.parametrize("option", ["-o", "--plot"])
    def test_a_folder_is_no_place_for_them(self, steinkit, folder, option):
        (folder / "where.png").mkdir()
        outcome = steinkit("score", _lines(folder, *_GOOD), *_NORMAL, option, "where.png")
        assert (outcome.code, outcome.out) == (2, "")
        assert "is a directory" in outcome.err

    @pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
    @pytest.mark.parametrize("linked", [False, True])
    @pytest.mark.parametrize("option", ["-o", "--plot"])
    def test_a_full_disk_costs_neither_the_result_nor_the_device(self, steinkit, folder, option, linked):
        place = "/dev/full"
        if linked:
            place = "result.png"
            (folder / place).symlink_to("/dev/full")
        outcome = steinkit("score", _lines(folder, *_GOOD), *_NORMAL, "--json", option, place)
        assert outcome.code == 3
        assert outcome.document["results"][0]["value"] > 0.0
        assert f"error: {place} cannot be written: No space left on device" in outcome.err
        assert stat.S_ISCHR(os.stat("/dev/full").st_mode)
        assert not os.path.exists("/dev/full.png")
        assert sorted(os.listdir(folder)) == sorted({"draws.csv", place} - {"/dev/full"})

    @pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
    def test_one_that_fails_does_not_cost_the_other(self, steinkit, folder):
        arguments = ("score", _lines(folder, *_GOOD), *_NORMAL, "-o", "/dev/full", "--plot", "where.png")
        outcome = steinkit(*arguments)
        assert outcome.code == 3
        assert (folder / "where.png").read_bytes().startswith(b"\x89PNG")

    def test_a_picture_that_fails_does_not_cost_the_result(self, steinkit, folder, monkeypatch):
        def fails(*args):
            raise ValueError("too big")

        monkeypatch.setattr("steinkit.plots.overview.picture", fails)
        outcome = steinkit("score", _lines(folder, *_GOOD), *_NORMAL, "--json", "--plot", "where.png")
        assert outcome.code == 3
        assert outcome.document["results"]
        assert "the picture could not be drawn: too big" in outcome.err
        assert not (folder / "where.png").exists()

    def test_a_write_that_fails_leaves_the_old_file_alone(self, steinkit, folder, monkeypatch):
        def fails(*args):
            raise OSError(28, "No space left on device")

        (folder / "result.json").write_text("of an earlier run")
        monkeypatch.setattr("os.fsync", fails)
        outcome = steinkit("score", _lines(folder, *_GOOD), *_NORMAL, "-o", "result.json")
        assert outcome.code == 3
        assert outcome.out
        assert (folder / "result.json").read_text() == "of an earlier run"
        assert sorted(os.listdir(folder)) == ["draws.csv", "result.json"]


def test_no_certified_answer_has_code_4_and_the_bracket(refused, folder):
    error = refused("score", _lines(folder, *_GOOD), *_NORMAL, "--solver", "block", "--max-seconds", "1e-9", code=4)
    lower, upper = map(float, re.search(r"lies in \[(\S+), (\S+?)\]", error).groups())
    assert lower < 0.9 * upper
    assert "Allow more time" in error
