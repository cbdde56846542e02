"""Halves of the warming-up that the whole suite begins with, whose own failures nobody sees."""

from support.warming import FIRST_HALF

from steinkit.cli.other_commands import _steps


def test_the_first_half_is_steps_of_warm_and_leaves_some_to_the_second():
    steps = list(_steps())
    assert set(FIRST_HALF) < set(steps)
    assert len(FIRST_HALF) == len(set(FIRST_HALF))
