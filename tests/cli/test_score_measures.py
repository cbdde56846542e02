"""``steinkit score --measure``: several measures of one sample."""

import re

import numpy as np
import pytest

import steinkit as sk
from steinkit.measures import find_measure, measure_names

_NORMAL = ("--target", "normal", "--reference", "0")
_ALL = tuple(word for name in measure_names() for word in ("--measure", name))


@pytest.fixture
def line():
    """Eighty draws from a standard normal distribution in one dimension."""
    return np.random.default_rng(3).standard_normal((80, 1))


@pytest.fixture
def line_file(write_csv, line):
    return write_csv("a", line, name="line.csv")


class TestJson:
    def test_one_entry_per_measure_in_the_requested_order(self, steinkit, line_file):
        outcome = steinkit("score", line_file, *_NORMAL, *_ALL, "--json")
        assert outcome.code == 0
        document = outcome.document
        assert [entry["measure"] for entry in document["results"]] == list(measure_names())
        for entry in document["results"]:
            assert set(entry) > {"measure", "value"}
            if find_measure(entry["measure"]).has_bracket:
                assert entry["lower"] <= entry["value"] <= entry["upper"]
                assert all(seconds >= 0.0 for seconds in entry["seconds"].values())

    def test_the_numbers_are_the_librarys(self, steinkit, line_file, line):
        results = {
            entry["measure"]: entry["value"]
            for entry in steinkit("score", line_file, *_NORMAL, *_ALL, "--json").document["results"]
        }
        target = sk.targets.Normal(dim=1)
        assert results["graph"] == sk.graph_stein_discrepancy(line, target, units="own").value
        assert results["sliced"] == sk.sliced_stein_discrepancy(line, target).value
        assert results["moments"] == sk.moment_stein_discrepancy(line, target).value
        assert results["classical"] == sk.classical_stein_discrepancy(line, target, units="own").value
        assert results["wasserstein"] == sk.wasserstein_distance(line, target, units="own").value
        assert results["ksd"] == sk.kernel_stein_discrepancy(line, target, units="own").value
        assert results["ess"] == sk.chain_diagnostics(line).min_ess

    def test_ksd_names_its_number(self, steinkit, line_file, line):
        arguments = ("--measure", "ksd", "--statistic", "u", "--kernel", "gaussian")
        (entry,) = steinkit("score", line_file, *_NORMAL, *arguments, "--json").document["results"]
        expected = sk.kernel_stein_discrepancy(
            line, sk.targets.Normal(dim=1), units="own", kernel="gaussian", statistic="u", squared=True
        )
        assert (entry["statistic"], entry["squared"], entry["value"]) == ("u", True, expected.value)
        assert entry["kernel"] == {"name": "GaussianKernel", "scale": expected.kernel.scale, "exponent": None}

    def test_every_discrepancy_has_its_reference(self, steinkit, line_file):
        arguments = ("--target", "normal", "--reference", "3", "--seed", "2", "--json")
        measures = ("--measure", "ksd", "--measure", "wasserstein", "--measure", "ess")
        document = steinkit("score", line_file, *arguments, *measures).document
        assert list(document["references"]) == ["ksd", "wasserstein"]
        assert document["reference"] == document["references"]["ksd"]
        expected = sk.reference_discrepancy(
            sk.targets.Normal(dim=1), 80, 3, rng=2, discrepancy=sk.kernel_stein_discrepancy, units="own"
        )
        assert [each["value"] for each in document["references"]["ksd"]["samples"]] == expected.values.tolist()

    def test_the_threshold_holds_for_the_first_measure(self, steinkit, line_file, line):
        value = sk.kernel_stein_discrepancy(line, sk.targets.Normal(dim=1), units="own").value
        arguments = ("score", line_file, *_NORMAL, "--measure", "ksd", "--measure", "graph", "--fail-above")
        assert steinkit(*arguments, repr(0.99 * value)).code == 1
        assert steinkit(*arguments, repr(1.01 * value)).code == 0

    def test_an_operator_from_a_file(self, steinkit, line_file, line, write_code):
        code = (
            "operator = sk.RiemannianLangevin(\n"
            "    covariance=lambda x: (1 + x**2)[:, :, None], divergence=lambda x: 2 * x)\n"
        )
        arguments = ("--operator", f"{write_code(code)}:operator", "--measure", "graph")
        (graph,) = steinkit("score", line_file, *_NORMAL, *arguments, "--json").document["results"]
        operator = sk.RiemannianLangevin(covariance=lambda x: (1 + x**2)[:, :, None], divergence=lambda x: 2 * x)
        target = sk.targets.Normal(dim=1)
        assert graph["value"] == sk.graph_stein_discrepancy(line, target, operator=operator).value


class TestText:
    def test_every_measure_is_reported(self, steinkit, line_file):
        text = " ".join(
            steinkit("score", line_file, "--target", "normal", "--reference", "2", *_ALL, "--all").out.split()
        )
        titles = [find_measure(name).title for name in measure_names()]
        assert all(title in text for title in titles)

    def test_ess_reports_moves_and_cost(self, steinkit, write_csv, line):
        stuck = np.repeat(line, 2, axis=0)  # every second draw repeats the previous one
        name = write_csv("a,cost", np.column_stack([stuck, 5.0 * np.arange(1, 161)]), name="stuck.csv")
        (entry,) = steinkit("score", name, "--measure", "ess", "--json").document["results"]
        assert entry["moved"] == pytest.approx(79 / 159)
        assert entry["cost_per_draw"] == 5.0
        text = steinkit("score", name, "--measure", "ess").out
        assert "50%" in text
        assert re.search(r"cost\s+per\s+draw\D+5\.$", text, flags=re.MULTILINE)


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("--measure", "stein"), 2, "'stein' is not one of"),
        (("--measure", "ksd", "--plot", "where.png"), 2, "--measure"),
        (("--kernel", "gaussian"), 2, "--measure ksd"),
        (("--measure", "ess", "--fail-above", "1"), 2, "got ess"),
        (("--measure", "classical", "--operator", "op.py:operator"), 3, "op.py"),
    ],
)
def test_mistakes(steinkit, line_file, arguments, code, message):
    outcome = steinkit("score", line_file, *_NORMAL, *arguments)
    assert (outcome.code, outcome.out) == (code, "")
    assert message in outcome.err


class TestDefault:
    """The default measure is graph in up to two dimensions, and sliced otherwise."""

    @pytest.mark.parametrize("command", ["score", "compare", "curve"])
    def test_is_by_dimension(self, steinkit, write_csv, command):
        file = write_csv("a,b,c", np.random.default_rng(3).standard_normal((30, 3)), name="draws.csv")
        document = steinkit(command, file, "--target", "normal", "--json").document
        found = {
            "score": lambda: [each["measure"] for each in document["results"]],
            "compare": lambda: list(document["ranking"]),
            "curve": lambda: [document["measure"]],
        }
        assert found[command]() == ["sliced"]

    def test_an_option_of_another_measure(self, steinkit, write_csv):
        file = write_csv("a,b,c", np.random.default_rng(0).standard_normal((20, 3)), name="draws.csv")
        outcome = steinkit("score", file, "--target", "normal", "--dilation", "3")
        assert outcome.code == 2
        assert "--dilation requires --measure graph, got sliced" in outcome.err
        assert steinkit("score", file, *_NORMAL, "--dilation", "3", "--measure", "graph", "--json").code == 0
