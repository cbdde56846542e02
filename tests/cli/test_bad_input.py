"""User mistakes: each has an exit code and an error that names the value, without a traceback."""

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
    """Run a command that must fail without output; return its error, which is one line."""

    def run(*arguments, code, stdin=b""):
        outcome = steinkit(*arguments, stdin=stdin)
        assert (outcome.code, outcome.out) == (code, ""), outcome
        assert re.match(r"(error|Error): ", outcome.err), outcome.err
        assert outcome.err.count("\n") == 1, outcome.err
        return outcome.err

    return run


@pytest.fixture
def refused_file(refused, folder):
    """Score a file with these lines, which must fail."""

    def run(*lines, arguments=_NORMAL, code=3, name="draws.csv"):
        return refused("score", _lines(folder, *lines, name=name), *arguments, code=code)

    return run


def _lines(folder, *lines, name="draws.csv"):
    (folder / name).write_text("\n".join(lines) + "\n")
    return name


def _changed(line, text):
    """Return the good file with one line replaced; line 1 is the header."""
    return [*_GOOD[: line - 1], text, *_GOOD[line:]]


class TestFiles:
    def test_missing_file(self, refused, folder):
        _lines(folder, *_GOOD, name="chain_1.csv")
        error = refused("score", "chian_1.csv", *_NORMAL, code=3)
        assert "chian_1.csv" in error
        assert '"chain_1.csv"' in error
        assert "runs" in refused("score", "runs/draws.csv", *_NORMAL, code=3)

    def test_empty_sources(self, refused, folder):
        (folder / "runs.csv").mkdir()
        (folder / "draws.csv").touch()
        for source in ("runs.csv", "draws.csv"):
            assert source in refused("score", source, *_NORMAL, code=3)
        assert "standard input" in refused("score", "-", *_NORMAL, code=3)

    def test_closed_standard_input(self, folder, monkeypatch, capsys):
        monkeypatch.setattr("sys.argv", ["steinkit", "score", "-", *_NORMAL])
        monkeypatch.setattr("sys.stdin", None)
        with pytest.raises(SystemExit) as ended:
            main()
        assert ended.value.code == 3
        assert "standard input" in capsys.readouterr().err

    @pytest.mark.parametrize(
        ("lines", "fragments"),
        [
            (["a,b"], ["draws"]),
            (_changed(3, "0.5"), ["line 3"]),
            (_changed(3, "0.5,oops"), ["line 3", '"b"', '"oops"']),
            (_changed(3, "nan,inf"), ["(2 such values in all)"]),
        ],
    )
    def test_invalid_content(self, refused_file, lines, fragments):
        error = refused_file(*lines)
        assert all(each in error for each in ["draws.csv", *fragments]), error

    @pytest.mark.parametrize(
        ("name", "arguments", "code", "fragments"),
        [
            ("draws.csv", ("--format", "parquet", *_NORMAL), 2, ["'parquet'", "netcdf"]),
            ("draws.csv", ("--columns", "a,q", *_NORMAL), 3, ['"q"', '"a", "b"']),
            ("draws.csv", ("--columns", ",", *_NORMAL), 2, ["columns"]),
            ("draws.csv", (), 2, ["--target", "steinkit targets"]),
        ],
    )
    def test_invalid_reading_options(self, refused_file, name, arguments, code, fragments):
        error = refused_file(*_GOOD, name=name, arguments=arguments, code=code)
        assert all(each in error for each in fragments), error


class _Trap:
    """An object that creates a file when it is unpickled."""

    def __reduce__(self):
        return (Path.touch, (Path("sprung"),))


@pytest.mark.parametrize("name", ["draws.npy", "draws.npz"])
def test_pickles_are_not_loaded(refused, folder, name):
    (folder / name).write_bytes(pickle.dumps(_Trap()))
    assert name in refused("score", name, *_NORMAL, code=3)
    array = np.array([_Trap()], dtype=object)
    np.save(folder / "draws.npy", array, allow_pickle=True)
    np.savez(folder / "draws.npz", points=array, allow_pickle=True)
    assert name in refused("score", name, *_NORMAL, code=3)
    assert not (folder / "sprung").exists()
    pickle.loads(pickle.dumps(_Trap()))
    assert (folder / "sprung").exists()


class TestDegenerateSamples:
    @pytest.mark.parametrize(("lines", "distinct"), [(["0.5,1.0"], 1), (4 * ["0.5,1.0"], 1)])
    def test_a_single_point_is_scored_with_a_warning(self, steinkit, folder, lines, distinct):
        outcome = steinkit("score", _lines(folder, "a,b", *lines), *_NORMAL, "--json", "--plot", "where.png")
        assert outcome.code == 0
        expected = {"draws": len(lines), "distinct": distinct, "dim": 2, "names": ["a", "b"]}
        assert outcome.document["sample"] == expected
        assert any("point mass" in note for note in outcome.document["warnings"])
        assert "point mass" in outcome.err
        assert (folder / "where.png").stat().st_size > 5000

    def test_draws_outside_the_range(self, refused_file):
        refused_file("a,b", "1e308,0", "-1e308,1")


@pytest.mark.parametrize(
    ("target", "code", "fragments"),
    [
        (("nromal",), 2, ["'nromal'", '"normal"']),
        (("normal", "-p", "mean=0,0,0"), 3, ["3", "2"]),
        (("normal", "-p", "mean"), 2, ["'mean'"]),
        (("normal", "-p", "mean=1", "-p", "mean=2"), 2, ["'mean=2'"]),
        (("normal", "-p", "covariance=[[1,2],[2,1]]"), 2, ["positive definite"]),
        (("student-t",), 2, ["-p df=VALUE"]),
        (("normal", "--bounds", "-9,9", "--reference", "1"), 2, ["--bounds"]),
        (("uniform",), 3, ["a = -1.5", "[0, 1]"]),
        (("nosuch.py:target",), 3, ["nosuch.py"]),
        (("model.py",), 2, ["path.py:attribute", "'model.py'"]),
    ],
)
def test_targets(refused_file, write_code, target, code, fragments):
    write_code("target = None\n")
    lines = ["a,b", "0.5,0.25", "-1.5,0.5"] if target == ("uniform",) else _GOOD
    lines = ["a,b", "0.5,0.25", "0.5,0.5"] if "0,2" in target else lines
    error = refused_file(*lines, arguments=("--target", *target), code=code)
    assert all(each in error for each in fragments), error


def test_options_without_a_target(refused_file):
    assert "--target" in refused_file(*_GOOD, arguments=("-p", "mean=0"), code=2)
    error = refused_file("a,score:a", "1,-1", "0,0", arguments=("--reference", "1"), code=2)
    assert "--reference 1" in error


_SCORE = "target = sk.Target(score=lambda x: -x"


@pytest.mark.parametrize(
    ("code", "arguments", "exit_code", "fragments"),
    [
        ("tagret = 1\n", (), 2, ['"tagret"']),
        ("x = 1\nraise ValueError('no data here')\n", (), 3, ["model.py, line 4", "ValueError", "no data here"]),
        ("raise SystemExit(0)\n", (), 3, ["SystemExit"]),
        ("def (\n", (), 3, ["model.py, line 3"]),
        ("def target(x):\n    raise RuntimeError('boom')\n", (), 3, ["RuntimeError", "line 4", "boom"]),
        ("def target(x):\n    exit(0)\n", (), 3, ["score raised SystemExit", "line 4: 0"]),
        ("def target(x):\n    return x[:, 0]\n", (), 3, ["(4, 2)", "(4,)"]),
        ("def target(x):\n    return np.where(x > 1.9, np.nan, -x)\n", (), 3, ["nan", "draw 1", "'b'"]),
        (f"{_SCORE})\n", ("--reference", "3"), 2, ["sampler=", "model.py:target"]),
        (f"{_SCORE})\n", ("-p", "mean=0"), 2, ["built-in"]),
    ],
)
def test_targets_in_files(refused_file, write_code, code, arguments, exit_code, fragments):
    target = f"{write_code(code)}:target"
    error = refused_file(*_GOOD, arguments=("--target", target, *arguments), code=exit_code)
    assert all(each in error for each in fragments), error


@pytest.mark.parametrize(("calls", "cause"), [(0, "log_prior raised SystemExit"), (9, "user code called exit")])
def test_user_code_that_exits_is_an_error(steinkit, write_code, calls, cause):
    code = f"""
def log_prior(theta, counter=iter(range({calls}))):
    next(counter, None) is None and exit(0)
    return -0.5 * theta[:, 0] ** 2

target = sk.Posterior(
    (np.ones(9),), lambda theta, y: -0.5 * (y - theta) ** 2, lambda theta, y: np.array([(y - theta).sum()]),
    log_prior, lambda theta: -theta, dim=1,
)
"""
    arguments = ("--proposal-scale", "1", "--draws", "100", "--start", "0", "-o", "draws.csv")
    outcome = steinkit("sample", "rwmh", "--target", f"{write_code(code)}:target", *arguments)
    assert outcome.code == 3
    assert re.search(rf"error: {cause}.*model\.py, line 5: 0$", outcome.err, re.MULTILINE), outcome.err


@pytest.mark.parametrize(
    ("sampler", "fragment"), [("lambda n, rng: 1 / 0", "ZeroDivisionError"), ("lambda n, rng: rng.random(n)", "(4, 2)")]
)
def test_a_failing_sampler_of_the_target_is_a_warning(steinkit, folder, write_code, sampler, fragment):
    target = f"{write_code(f'{_SCORE}, dim=2, sampler={sampler})')}:target"
    outcome = steinkit("score", _lines(folder, *_GOOD), "--target", target, "--reference", "1")
    assert outcome.code == 0
    assert "warning: the reference" in outcome.err
    assert fragment in outcome.err


@pytest.mark.parametrize(
    ("definition", "fragment"),
    [
        ("score=lambda x: np.where(x > 0.99, np.nan, -x), dim=2", "draw 30"),
        ("score=lambda x: -x, bounds=[[-1, 0], [-3, 3]]", "draw 16"),
    ],
)
def test_draws_are_named_by_their_position_in_the_file(refused, write_csv, write_code, definition, fragment):
    points = np.linspace(-1.0, 1.0, 60).reshape(30, 2)
    model = write_code(f"target = sk.Target(log_density=lambda x: -0.5 * (x**2).sum(axis=1), {definition})\n")
    assert fragment in refused("score", write_csv("a,b", points), "--target", f"{model}:target", code=3)


def test_a_score_of_the_wrong_sign(refused, steinkit, folder, write_code):
    code = "target = sk.Target(score=lambda x: x, log_density=lambda x: -0.5 * (x**2).sum(axis=1))\n"
    arguments = ("score", _lines(folder, *_GOOD), "--target", f"{write_code(code)}:target")
    assert "log density" in refused(*arguments, code=3)
    outcome = steinkit(*arguments, "--no-check", "--json")
    assert outcome.code == 0
    points = np.array([[float(cell) for cell in line.split(",")] for line in _GOOD[1:]])
    expected = sk.graph_stein_discrepancy(points, scores=points, units="own").value
    assert outcome.document["results"][0]["value"] == expected


@pytest.mark.parametrize(
    ("arguments", "fragment"),
    [
        (("--dilation", "1"), "1"),
        (("--solver", "hihgs"), '"highs"'),
        (("--solver", "cvxpy:NOSUCH"), "'NOSUCH'"),
        (("--tolerance", "2"), "2"),
        (("--jobs", "0"), "--jobs"),
        (("--max-seconds", "0"), "--max-seconds"),
        (("--stein-factors", "1,1,-1"), "three positive numbers"),
        (("--stein-factors", "1,2"), "three numbers"),
        (("--tolerence", "1"), "--tolerance"),
        (("--graph", "star"), "'spanner', 'complete'"),
        (("--reference", "-1"), "--reference"),
        (("--fail-above", "much"), "'much' is not"),
        (("--bounds", "1,0"), "'1,0'"),
        (("--bounds", "0"), "'0'"),
        (("--bounds", "c=0,1"), "got c"),
        (("--bounds", "a=0,1", "--bounds", "a=0,2"), "got a, a"),
        (("--bounds", "-9,9", "--bounds", "-9,9", "--bounds", "-9,9"), "got 3"),
    ],
)
def test_settings(refused_file, arguments, fragment):
    assert fragment in refused_file(*_GOOD, arguments=(*_NORMAL, *arguments), code=2)


_WORKING = "from pathlib import Path\nPath('worked').touch()\ndef score(x):\n    return -x\n"


class TestOutputs:
    @pytest.mark.parametrize(
        ("option", "name", "code"),
        [
            ("-o", "runs/result.json", 3),
            ("--plot", "runs/result.png", 3),
            ("--plot", "where.bmp", 2),
            ("--plot", "where", 2),
            ("--plot", "where.png.gz", 2),
            ("-o", "-", 2),
            ("--plot", "-", 2),
            ("-o", "./draws.csv", 2),
        ],
    )
    def test_invalid_names_are_refused_before_any_work(self, refused_file, folder, write_code, option, name, code):
        arguments = ("--target", f"{write_code(_WORKING)}:score", option, name)
        assert option in refused_file(*_GOOD, arguments=arguments, code=code) or "runs" in name
        assert not (folder / "worked").exists()
        assert (folder / "draws.csv").read_text() == "\n".join(_GOOD) + "\n"

    def test_one_file_for_both(self, refused_file):
        arguments = (*_NORMAL, "-o", "result.png", "--plot", "./result.png")
        assert "result.png" in refused_file(*_GOOD, arguments=arguments, code=2)

    def test_a_folder(self, steinkit, folder):
        (folder / "where.png").mkdir()
        outcome = steinkit("score", _lines(folder, *_GOOD), *_NORMAL, "-o", "where.png")
        assert (outcome.code, outcome.out) == (2, "")

    @pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
    @pytest.mark.parametrize("linked", [False, True])
    @pytest.mark.parametrize("option", ["-o", "--plot"])
    def test_a_full_disk_does_not_lose_the_result(self, steinkit, folder, option, linked):
        place = "/dev/full"
        if linked:
            place = "result.png"
            (folder / place).symlink_to("/dev/full")
        outcome = steinkit("score", _lines(folder, *_GOOD), *_NORMAL, "--json", option, place)
        assert outcome.code == 3
        assert outcome.document["results"][0]["value"] > 0.0
        assert f"error: {place}" in outcome.err
        assert stat.S_ISCHR(os.stat("/dev/full").st_mode)
        assert sorted(os.listdir(folder)) == sorted({"draws.csv", place} - {"/dev/full"})

    @pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
    def test_one_failing_file_does_not_lose_the_other(self, steinkit, folder):
        arguments = ("score", _lines(folder, *_GOOD), *_NORMAL, "-o", "/dev/full", "--plot", "where.png")
        assert steinkit(*arguments).code == 3
        assert (folder / "where.png").read_bytes().startswith(b"\x89PNG")

    def test_a_failing_figure_does_not_lose_the_result(self, steinkit, folder, monkeypatch):
        def fails(*args):
            raise ValueError("too big")

        monkeypatch.setattr("steinkit.plots.overview.plot", fails)
        outcome = steinkit("score", _lines(folder, *_GOOD), *_NORMAL, "--json", "--plot", "where.png")
        assert outcome.code == 3
        assert outcome.document["results"]
        assert "too big" in outcome.err
        assert not (folder / "where.png").exists()


def test_no_certified_answer_has_code_4_and_the_bracket(refused_file):
    error = refused_file(*_GOOD, arguments=(*_NORMAL, "--solver", "block", "--max-seconds", "1e-9"), code=4)
    lower, upper = map(float, re.search(r"lies in \[(\S+), (\S+?)\]", error).groups())
    assert lower < 0.9 * upper
