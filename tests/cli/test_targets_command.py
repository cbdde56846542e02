"""``steinkit targets``, the version, and wrong usage."""

from steinkit import __version__
from steinkit.targets.registry import target_table


def test_lists_every_target_with_its_options(steinkit):
    outcome = steinkit("targets")
    assert outcome.code == 0
    lines = outcome.out.splitlines()
    for name, options, summary in target_table():
        at = lines.index(name)
        assert summary in lines[at + 1]
        assert lines[at + 2].split() == ["-p", *options.split()]


def test_explains_options_and_own_targets(steinkit):
    out = steinkit("targets").out
    assert "-p mean=0,0" in out
    assert "path.py:attribute" in out


def test_version(steinkit):
    outcome = steinkit("--version")
    assert (outcome.code, outcome.out.split()[-1]) == (0, __version__)
