"""The two halves of the compilation before the test suite."""

from support.warming import FIRST_HALF

from steinkit.cli.other_commands import _steps


def test_the_halves_of_the_steps():
    steps = list(_steps())
    assert set(FIRST_HALF) < set(steps)
    assert len(FIRST_HALF) == len(set(FIRST_HALF))
