"""Words about units."""

import pytest

from steinkit.text import units_sentence


@pytest.mark.parametrize(
    ("units", "said"),
    [
        (None, ""),
        ({"kind": "raw", "scale": {"a": 1.0}}, "Measured in raw units, as the draws are."),
        ({"kind": "own", "scale": {"a": 0.25}}, "Measured in the draws' own standard deviations: a 0.25."),
        (
            {"kind": "pilot", "scale": {f"x{k}": float(k) for k in range(1, 10)}},
            "Measured in standard deviations of one sample, for all alike: x1 1, x2 2, x3 3, x4 4, x5 5, x6 6 and 3 "
            "others.",
        ),
    ],
)
def test_say_whose_standard_deviations_they_are(units, said):
    assert units_sentence(units) == said
