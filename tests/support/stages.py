"""Stages of acceptance tests."""

from steinkit.samplers.acceptance.interface import Stage


def stage(**changes):
    """Stage of one chain at 100 of 1000 data points."""
    values = {
        "size": 1000,
        "number": 0,
        "seen": 100,
        "mean": 0.001,
        "variance": 0.02,
        "offset": 0.3,
        "temperature": 2.0,
        "level": -0.7,
        "normal": 0.4,
        "bound": 1.5,
    } | changes
    return Stage(**values)
