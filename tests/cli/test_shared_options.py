"""Options of the command line follow from what the measures declare, here and in a sweep's table [run]."""

import pytest

from steinkit.cli import commands
from steinkit.cli.request import Request
from steinkit.cli.shared_options import flag_of
from steinkit.measures.registry import all_options, takers_of
from steinkit.sample import Sample
from steinkit.sweeps.run import measure_setting_names

_TAKERS = ("score", "compare", "curve")


def _parameters(command):
    return {parameter.name: parameter for parameter in commands.commands[command].params}


@pytest.mark.parametrize("name", [name for name, option in all_options().items() if option.help])
def test_a_setting_is_an_option_of_every_command_that_measures(name):
    option = all_options()[name]
    for command in _TAKERS:
        found = _parameters(command).get(name)
        if option.of_one_sample and command != "score":
            assert found is None
            continue
        assert found.opts == [flag_of(name)]
        assert all(taker in found.help for taker in takers_of(name))
    if option.changes_value and not option.of_one_sample:
        assert name in (*measure_setting_names(), "tolerance", "max_seconds")


@pytest.mark.parametrize("command", _TAKERS)
def test_what_is_not_given_is_what_the_measures_have_by_default(command, tmp_path):
    file = str(tmp_path / "draws.csv")
    context = commands.commands[command].make_context(command, [file, "--target", "normal"])
    options = {name: value for name, value in context.params.items() if name not in ("file", "files")}
    sample = Sample(points=[[0.0], [1.0]])
    settings = Request.of((file,), options).task(file, sample).settings
    usual = {name: option.default for name, option in all_options().items()}
    assert settings == {name: usual[name] for name in settings}


def test_a_u_statistic_comes_squared(tmp_path):
    file = str(tmp_path / "draws.csv")
    arguments = [file, "--target", "normal", "--statistic", "u", "--p-value", "--seed", "7", "--measure", "ksd"]
    options = commands.commands["score"].make_context("score", arguments).params
    options.pop("file")
    settings = Request.of((file,), options).task(file, Sample(points=[[0.0], [1.0]])).settings
    assert (settings["squared"], settings["bootstrap"], settings["seed"]) == (True, 1000, 7)


def test_help_names_the_measures_where_there_is_a_choice():
    """Thinning is by the kernel Stein discrepancy, and no measure has to be named."""
    assert _parameters("score")["kernel"].help == "Base kernel; of ksd."
    assert _parameters("thin")["kernel"].help == "Base kernel."
