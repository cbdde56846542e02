"""Options of the command line and of a sweep's [run] table follow from the options of the measures."""

import re
import warnings

import numpy as np
import pytest

import steinkit as sk
from steinkit.cli import load_command
from steinkit.cli.options import flag_of
from steinkit.cli.request import Request
from steinkit.measures import all_options, takers_of
from steinkit.sample import Sample
from steinkit.sweeps.plan import measure_setting_names

_TAKERS = ("score", "compare", "curve")


def _parameters(command):
    return {parameter.name: parameter for parameter in load_command(command).params}


@pytest.mark.parametrize("name", [name for name, option in all_options().items() if option.help])
def test_settings_are_options_of_all_commands(name):
    option = all_options()[name]
    for command in _TAKERS:
        found = _parameters(command).get(name)
        assert found.opts == [flag_of(name)]
        takers = takers_of(name)
        assert len(takers) > 3 or all(taker in found.help for taker in takers)
    if option.changes_value:
        assert name in (*measure_setting_names(), "tolerance", "max_seconds", "operator")


@pytest.mark.parametrize("command", _TAKERS)
def test_defaults_are_those_of_the_measures(command, tmp_path):
    file = str(tmp_path / "draws.csv")
    context = load_command(command).make_context(command, [file, "--target", "normal"])
    options = {name: value for name, value in context.params.items() if name not in ("file", "files")}
    sample = Sample(points=[[0.0], [1.0]])
    settings = Request((file,), options).task({file: sample}, file).settings
    usual = {name: option.default for name, option in all_options().items()}
    assert settings == {name: usual[name] for name in settings}


def test_help_names_measures():
    """Thinning has one measure, so its help does not name it."""
    assert "ksd" in _parameters("score")["kernel"].help
    assert "ksd" not in _parameters("thin")["kernel"].help


_NAMED = "import steinkit as sk\ntarget = sk.Target(score=lambda x: -x * [1.0, 4.0], names=['u', 'v'])\n"


@pytest.mark.parametrize(
    "command",
    [
        ("score", "--no-verdict", "--json"),
        ("compare", "--no-verdict", "--json"),
        ("curve", "--n", "10,20,40", "--json"),
        ("thin", "--draws", "5", "-o", "thinned.csv", "--json"),
    ],
)
def test_columns_state_the_order_of_parameters(steinkit, folder, write_csv, command):
    """Names other than the target's are refused unless --columns states the order."""
    draws = np.random.default_rng(0).standard_normal((40, 2))
    name = write_csv("b,a", draws)
    (folder / "model.py").write_text(_NAMED)
    first, *rest = command
    refused = steinkit(first, name, "--target", "model.py:target", *rest)
    assert "u, v" in refused.out + refused.err
    taken = steinkit(first, name, "--target", "model.py:target", "--columns", "a,b", *rest)
    assert taken.code == 0
    assert len(re.findall("a, b.*u, v", taken.err)) == 1
    if first == "score":
        x = draws[:, ::-1]
        expected = sk.graph_stein_discrepancy(x, scores=-x * [1.0, 4.0], units="own").value
        assert taken.document["results"][0]["value"] == pytest.approx(expected, rel=1e-9)
        assert taken.document["sample"]["names"] == ["u", "v"]


@pytest.mark.parametrize("command", ["score", "compare"])
def test_columns_of_reference_draws(steinkit, folder, write_csv, command):
    """The order of the columns in its file does not matter."""
    rng = np.random.default_rng(0)
    draws, run = rng.standard_normal((60, 2)), rng.standard_normal((600, 2)) / [1.0, 2.0]
    name, files = (
        write_csv("b,a", draws),
        (write_csv("b,a", run[:, ::-1], "run.csv"), write_csv("a,b", run, "other.csv")),
    )
    (folder / "model.py").write_text(_NAMED)
    asked = (command, name, "--target", "model.py:target", "--columns", "a,b", "--measure", "ksd", "--no-verdict")
    found = [steinkit(*asked, "--reference-draws", file, "--json") for file in files]
    assert [each.code for each in found] == [0, 0]
    references = [each.document["reference"] for each in found]
    medians = [each["median"] if command == "score" else each["ksd"][0]["median"] for each in references]
    assert medians[0] == medians[1] > 0.0


def test_warnings_are_printed_once(steinkit, write_csv):
    name = write_csv("a,b,c,d,e", np.random.default_rng(0).standard_normal((40, 5)))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        outcome = steinkit("score", name, "--target", "normal", "--measure", "graph", "--reference", "0")
        assert outcome.err.count("ceiling") == 1
        steinkit("thin", name, "--target", "normal", "--draws", "5", "-o", "thinned.csv")
    assert not caught
