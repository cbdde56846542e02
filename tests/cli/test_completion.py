"""Completion of commands, options, targets, samplers and measures."""

import shutil
import subprocess
import sys

import pytest
from click.shell_completion import ShellComplete

from steinkit.cli import commands
from steinkit.cli.other_commands import SHELLS
from steinkit.measures import measure_names
from steinkit.samplers.registry import sampler_names
from steinkit.targets.registry import target_names


def _completed(*words):
    """Return the completions of the last word."""
    asked = ShellComplete(commands, {}, "steinkit", "_STEINKIT_COMPLETE")
    return [each.value for each in asked.get_completions(list(words[:-1]), words[-1]) if each.type == "plain"]


@pytest.mark.parametrize("command", ["score", "compare", "curve", "thin", "sample", "design"])
def test_targets(command):
    assert _completed(command, "--target", "") == list(target_names())
    assert _completed(command, "--target", "gaussian-m") == ["gaussian-mixture", "gaussian-mean"]


def test_samplers_measures_and_commands():
    assert _completed("sample", "") == list(sampler_names())
    assert _completed("score", "--measure", "") == list(measure_names())
    assert _completed("s") == ["score", "sample", "sweep", "samplers"]
    assert _completed("completion", "") == list(SHELLS)
    assert "--fail-if-biased" in _completed("score", "--f")


def test_commands_are_completed_without_importing_one():
    code = (
        "import sys; from click.shell_completion import ShellComplete; from steinkit.cli import commands\n"
        "ShellComplete(commands, {}, 'steinkit', '').get_completions([], 's'); print('numpy' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "False\n"


@pytest.mark.parametrize("shell", SHELLS)
def test_scripts_are_valid(steinkit, shell):
    outcome = steinkit("completion", shell)
    assert (outcome.code, outcome.err) == (0, "")
    assert f"_STEINKIT_COMPLETE={shell}_complete" in outcome.out
    if shutil.which(shell) is not None:
        done = subprocess.run([shell, "-n"], input=outcome.out, capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (0, "")
