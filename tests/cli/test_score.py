"""``steinkit score``: output, files, figures and exit codes."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import steinkit as sk
from steinkit import __version__
from steinkit.cli import commands
from steinkit.errors import SolverError
from steinkit.measures import recorded_settings

_NORMAL = ("--target", "normal", "--reference", "0")
_GRAPH = (*_NORMAL, "--no-verdict")
_QUICK = (*_GRAPH, "--measure", "moments")  # for tests that need any measure
_COMMAND = str(Path(sys.executable).with_name("steinkit"))
_SIGNATURES = {"png": b"\x89PNG\r\n", "pdf": b"%PDF-", "svg": b"<?xml"}


def _expected(draws, **settings):
    return sk.graph_stein_discrepancy(draws, sk.targets.Normal(dim=draws.shape[1]), units="own", **settings)


@pytest.fixture
def wide(monkeypatch):
    """Replace the bracket of the discrepancy with [1, 1.05]."""

    compute = sk.graph_stein_discrepancy

    def scored(*args, **kwargs):
        return replace(compute(*args, **kwargs), lower=1.0, upper=1.05, tolerance=0.1)

    monkeypatch.setattr("steinkit.discrepancy.graph.discrepancy.graph_stein_discrepancy", scored)


class TestJson:
    def test_keys(self, steinkit, sample_file, draws):
        outcome = steinkit("score", sample_file, *_NORMAL, "--json")
        document = outcome.document
        assert outcome.code == 0
        keys = ["sample", "verdict", "unjudged", "units", "results", "reference", "references", "warnings", "version"]
        keys += ["files", "target", "command", "reading", "settings"]
        assert list(document) == keys
        assert document["sample"] == {"draws": 200, "distinct": 200, "dim": 2, "names": ["a", "b"]}
        (entry,) = document["results"]
        keys = ["measure", "value", "lower", "upper", "coordinates"]
        keys += ["saturation", "unranked", "edges", "dilation", "solver", "seconds"]
        assert list(entry) == keys
        assert entry["measure"] == "graph"
        assert [list(each) for each in entry["coordinates"]] == 2 * [["name", "value", "lower", "upper"]]
        assert list(entry["seconds"]) == ["scores", "graph", "program", "solve"]
        assert all(seconds >= 0.0 for seconds in entry["seconds"].values())
        assert document["reference"] is None
        assert document["warnings"] == []
        assert document["version"] == __version__
        assert document["command"] == ["score", sample_file, *_NORMAL, "--json"]
        assert document["files"] == [sample_file]
        assert document["target"] == {"name": "normal", "options": {}}
        digest = sk.read_sample(sample_file).sha256
        reading = {"format": None, "columns": None, "group": None, "names": ["a", "b"], "sha256": digest}
        assert document["reading"] == reading
        assert document["settings"] == recorded_settings({})

    def test_numbers_are_those_of_the_library(self, steinkit, sample_file, draws):
        (entry,) = steinkit("score", sample_file, *_GRAPH, "--json").document["results"]
        result = _expected(draws)
        assert (entry["value"], entry["lower"], entry["upper"]) == (result.value, result.lower, result.upper)
        assert [each["lower"] for each in entry["coordinates"]] == result.coordinate_lower.tolist()
        assert [each["upper"] for each in entry["coordinates"]] == result.coordinate_upper.tolist()
        assert [each["value"] for each in entry["coordinates"]] == result.coordinate_values.tolist()
        assert [each["name"] for each in entry["coordinates"]] == ["a", "b"]
        assert (entry["edges"], entry["dilation"]) == (len(result.graph.edges), 2.0)
        assert entry["solver"] == result.solver

    def test_names_outside_ascii(self, steinkit, folder, draws):
        (folder / "draws.csv").write_text("θ,b\n" + "\n".join(f"{x},{y}" for x, y in draws), encoding="utf-8")
        assert steinkit("score", "draws.csv", *_QUICK, "--json").document["sample"]["names"] == ["θ", "b"]

    def test_output_of_user_code_goes_to_standard_error(self, steinkit, sample_file, write_code):
        model = write_code("print('loading')\ndef score(x):\n    print('scoring')\n    return -x\n")
        outcome = steinkit("score", sample_file, "--target", f"{model}:score", "--json")
        assert outcome.document["results"][0]["value"] > 0.0
        assert "loading" in outcome.err
        assert "scoring" in outcome.err


def test_the_printed_bracket_contains_the_certified_one(steinkit, sample_file, draws):
    outcome = steinkit("score", sample_file, *_GRAPH)
    total = next(line for line in outcome.out.splitlines() if line.startswith("total"))
    lower, upper = map(float, re.search(r"(\S+) and (\S+)$", total).groups())
    result = _expected(draws)
    assert lower <= result.lower <= result.upper <= upper
    assert upper - lower < 1e-4 * upper


class TestFiles:
    def test_output_is_the_json_and_replaces_an_old_file(self, steinkit, folder, sample_file):
        (folder / "result.json").write_text("old")
        outcome = steinkit("score", sample_file, *_NORMAL, "--json", "-o", "result.json")
        assert (folder / "result.json").read_text() == outcome.out
        assert sorted(os.listdir(folder)) == ["draws.csv", "result.json", "result.json.npz"]

    @pytest.mark.parametrize("ending", sorted(_SIGNATURES))
    def test_plot(self, steinkit, folder, sample_file, ending):
        outcome = steinkit("score", sample_file, *_GRAPH, "--json", "--plot", f"where.{ending}")
        assert outcome.code == 0
        assert outcome.document["results"]
        picture = (folder / f"where.{ending}").read_bytes()
        assert picture.startswith(_SIGNATURES[ending])
        assert len(picture) > 5000

    def test_plot_with_names_that_resemble_formulas(self, steinkit, folder, write_csv, draws):
        name = write_csv(r"$\frac{$,cost_$", draws, name="$_$.csv")
        assert steinkit("score", name, *_NORMAL, "--plot", "where.PNG").code == 0
        assert (folder / "where.PNG").read_bytes().startswith(_SIGNATURES["png"])


class TestSources:
    def test_standard_input(self, steinkit, sample_file, folder):
        outcome = steinkit("score", "-", *_GRAPH, stdin=(folder / sample_file).read_bytes())
        assert outcome.code == 0
        assert outcome.out.startswith("standard input against target normal")

    def test_stored_scores(self, steinkit, write_csv, draws):
        name = write_csv("a,b,score:a,score:b", np.hstack([draws, -draws]))
        outcome = steinkit("score", name)
        assert outcome.code == 0
        assert outcome.out.startswith("draws.csv against the scores stored in the file")
        document = steinkit("score", name, "--json").document
        assert document["results"][0]["value"] == _expected(draws).value
        assert document["reference"] is None


class TestTargetsOfOnesOwn:
    _CODE = (
        "target = sk.Target(score=lambda x: -x, log_density=lambda x: -0.5 * (x**2).sum(axis=1), dim=2,\n"
        "                   sampler=lambda n, rng: rng.standard_normal((n, 2)))\n"
        "def factory():\n    return target\n"
        "def score(points):\n    return -points\n"
    )

    @pytest.mark.parametrize("attribute", ["target", "factory", "score"])
    def test_targets_factories_and_score_functions(self, steinkit, sample_file, write_code, draws, attribute):
        reference = f"{write_code(self._CODE)}:{attribute}"
        arguments = ("score", sample_file, "--target", reference, "--no-verdict")
        assert steinkit(*arguments).out.startswith(f"draws.csv against target {reference}\n")
        document = steinkit(*arguments, "--json").document
        assert document["results"][0]["value"] == _expected(draws).value
        assert document["reference"] is None

    def test_reference_samples_of_an_own_target(self, steinkit, sample_file, write_code):
        document = steinkit(
            "score", sample_file, "--target", f"{write_code(self._CODE)}:target", "--reference", "2", "--json"
        ).document
        assert len(document["reference"]["samples"]) == 2

    def test_a_score_that_cannot_be_checked(self, steinkit, sample_file, write_code):
        model = write_code(
            "target = sk.Target(score=lambda x: -x, log_density=lambda x: np.full(len(x), np.nan), dim=2)\n"
        )
        outcome = steinkit("score", sample_file, "--target", f"{model}:target", "--json")
        assert outcome.code == 0
        assert "too inaccurate to check" in outcome.document["warnings"][0]
        assert "too inaccurate to check" in outcome.err


class TestReference:
    def test_five_samples_by_default(self, steinkit, sample_file):
        outcome = steinkit("score", sample_file, "--target", "normal", "--json")
        reference = outcome.document["reference"]
        assert list(reference) == ["draws", "effective_draws", "run", "median", "samples", "coordinates"]
        assert reference["draws"] == 200
        assert len(reference["samples"]) == 5
        assert all(sample["lower"] <= sample["value"] <= sample["upper"] for sample in reference["samples"])
        assert sorted(sample["value"] for sample in reference["samples"])[2] == reference["median"]

    def test_no_default_for_a_truncated_target(self, steinkit, write_csv):
        name = write_csv("a,b", np.random.default_rng(2).random((60, 2)))
        outcome = steinkit("score", name, "--target", "normal", "--bounds", "0,1", "--json")
        assert outcome.code == 0
        assert outcome.document["reference"] is None

    def test_an_exact_run_of_the_user(self, steinkit, sample_file, write_csv, write_code):
        long = write_csv("b,a", np.random.default_rng(5).standard_normal((1500, 2)), "long.csv")
        model = write_code("def score(x):\n    return -x\n")
        arguments = ("score", sample_file, "--target", f"{model}:score", "--measure", "ksd", "--reference-draws", long)
        reference = steinkit(*arguments, "--json").document["reference"]
        assert (reference["effective_draws"], reference["run"]) == (200, "long.csv")
        assert 200 <= reference["draws"] < 400
        assert len(reference["samples"]) == 1500 // reference["draws"]
        assert "of long.csv" in " ".join(steinkit(*arguments).out.split())
        error = steinkit(*arguments, "--reference", "3").err
        assert "--reference-draws" in error
        other = write_csv("a,c", np.zeros((5, 2)), "other.csv")
        assert "a, b; got a, c" in steinkit(*arguments[:-1], other).err
        scored = write_csv("a,b,score:a,score:b", np.random.default_rng(6).standard_normal((60, 4)), "scored.csv")
        unscored = steinkit("score", scored, "--reference-draws", long)
        assert unscored.code == 3
        assert "long.csv" in unscored.err

    def test_a_failed_reference_is_a_warning(self, steinkit, sample_file, monkeypatch):
        def fails(*args, **kwargs):
            raise SolverError("no certified result: time ran out", 0.0, 1.0)

        monkeypatch.setattr("steinkit.measures.scoring.reference_discrepancy", fails)
        outcome = steinkit("score", sample_file, "--target", "normal", "--json")
        assert outcome.code == 0
        assert outcome.document["results"][0]["value"] > 0.0
        assert outcome.document["reference"] is None
        assert "time ran out" in outcome.document["warnings"][0]


class TestBounds:
    @pytest.fixture
    def unit_file(self, write_csv):
        return write_csv("a,b", np.random.default_rng(2).random((60, 2)))

    @pytest.mark.parametrize(
        ("arguments", "bounds"),
        [
            (("--bounds", "0,1"), [[0, 1], [0, 1]]),
            (("--bounds", "0,1", "--bounds", "-1,inf"), [[0, 1], [-1, np.inf]]),
            (("--bounds", "b=0,inf"), [[-np.inf, np.inf], [0, np.inf]]),
            (("--bounds", "b=0,2", "--bounds", "a=-inf,1"), [[-np.inf, 1], [0, 2]]),
        ],
    )
    def test_forms(self, steinkit, unit_file, arguments, bounds):
        (entry,) = steinkit("score", unit_file, *_GRAPH, *arguments, "--json").document["results"]
        points = np.loadtxt(unit_file, delimiter=",", skiprows=1)
        assert entry["value"] == _expected(points, bounds=bounds).value
        assert entry["value"] != _expected(points).value

    def test_a_name_with_an_equals_sign(self, steinkit, write_csv):
        points = np.random.default_rng(2).random((60, 1))
        name = write_csv("x[k=1]", points)
        (entry,) = steinkit("score", name, *_GRAPH, "--bounds", "x[k=1]=0,1", "--json").document["results"]
        assert entry["value"] == _expected(points, bounds=[[0, 1]]).value


def test_dilation_graph_and_stein_factors(steinkit, sample_file, draws):
    for arguments, settings in (
        (("--dilation", "1.3"), {"dilation": 1.3}),
        (("--graph", "complete"), {"graph": "complete"}),
        (("--stein-factors", "1,2,3"), {"stein_factors": (1, 2, 3)}),
    ):
        (entry,) = steinkit("score", sample_file, *_GRAPH, *arguments, "--json").document["results"]
        expected = _expected(draws, **settings)
        assert (entry["value"], entry["edges"]) == (expected.value, len(expected.graph.edges))
        assert entry["dilation"] == expected.dilation


@pytest.mark.parametrize(("threshold", "code"), [("0.99", 1), ("1.0", 4), ("1.03", 4), ("1.05", 0)])
def test_a_threshold_inside_the_bracket_is_undecided(steinkit, sample_file, wide, threshold, code):
    outcome = steinkit("score", sample_file, *_GRAPH, "--fail-above", threshold, "--json")
    assert outcome.code == code
    assert (f"--fail-above {float(threshold):g}" in outcome.err) is (code == 4)


class TestProcesses:
    """Run the command in a separate process."""

    @pytest.mark.parametrize("solver", ["highs", "cvxpy"])
    def test_output_of_solvers_is_suppressed(self, sample_file, draws, capfd, solver):
        """HiGHS 1.16 and newer write a header to the file descriptor of standard output."""
        words = ["score", sample_file, *_NORMAL, "--measure", "graph", "--no-verdict", "--json", "--solver", solver]
        commands.main(words, standalone_mode=False)
        (entry,) = json.loads(capfd.readouterr().out)["results"]
        assert entry["value"] == pytest.approx(_expected(draws).value, rel=1e-6)

    @pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
    def test_standard_output_on_a_full_disk(self, folder, sample_file):
        with open("/dev/full", "wb") as full:
            done = subprocess.run(
                [_COMMAND, "score", sample_file, *_QUICK, "-o", "result.json"],
                stdout=full,
                stderr=subprocess.PIPE,
                timeout=120,
            )
        assert done.returncode == 3
        assert b"Traceback" not in done.stderr
        assert b"standard output cannot be written" in done.stderr
        assert json.loads((folder / "result.json").read_text())["results"]

    @pytest.mark.skipif(os.name != "posix", reason="sends SIGINT")
    def test_interrupted_while_solving(self, folder, write_csv, write_code):
        points = np.random.default_rng(0).standard_normal((450, 2))  # for the complete graph, the solver takes a minute
        model = write_code("from pathlib import Path\ndef score(x):\n    Path('started').touch()\n    return -x\n")
        (folder / "result.json").write_text("of an earlier run")
        process = subprocess.Popen(
            [
                *(_COMMAND, "score", write_csv("a,b", points), "--target", f"{model}:score", "--graph", "complete"),
                *("--solver", "highs", "-o", "result.json", "--plot", "where.png"),
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
        )
        try:
            deadline = time.monotonic() + 60.0
            while not (folder / "started").exists() and time.monotonic() < deadline:
                time.sleep(0.02)
            time.sleep(1.5)
            assert process.poll() is None
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=60)
        finally:
            process.kill()
        assert process.returncode == 130
        assert out == b""
        assert b"interrupted" in err
        assert b"Traceback" not in err
        assert (folder / "result.json").read_text() == "of an earlier run"
        left = {each for each in os.listdir(folder) if each != "__pycache__"}
        assert left == {"draws.csv", "model.py", "result.json", "started"}
