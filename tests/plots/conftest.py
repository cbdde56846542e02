"""Axes of figures."""

import pytest
from matplotlib.figure import Figure


@pytest.fixture
def ax():
    return Figure(layout="constrained").add_subplot()
