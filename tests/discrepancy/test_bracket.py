"""Acceptance of brackets by width, and the source line that warnings point to."""

import warnings
from dataclasses import dataclass

import pytest

import steinkit as sk
from steinkit.discrepancy.bracket import Bracketed, accepted
from steinkit.errors import Caution


@dataclass(frozen=True)
class Number(Bracketed):
    lower: float
    upper: float
    tolerance: float = 1e-3
    warnings: tuple[str, ...] = ()


def test_narrow_bracket_is_accepted():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        number = Number(0.9995, 1.0)
        assert accepted(number, "it", "", "Wait") is number


def test_wide_bracket_is_accepted_with_a_caution():
    result = accepted(Number(0.95, 1.0, warnings=("before",)), "it", " (why)", "Wait")
    assert result.warnings[0] == "before"
    assert "it lies in [0.949999, 1]" in result.warnings[1]
    assert isinstance(result.warnings[1], Caution)


def test_bracket_wider_than_a_tenth_is_refused():
    with pytest.raises(sk.SolverError, match=r"it lies in .*10%.*Wait") as error:
        accepted(Number(0.8, 1.0), "it", "", "Wait")
    assert (error.value.lower, error.value.upper) == (0.8, 1.0)


def test_warning_points_to_the_calling_line():
    with pytest.warns(sk.SteinkitWarning) as caught:
        sk.classical_stein_discrepancy([0.1, 0.9, 0.95], scores=[0.3, -1.0, 2.0], tolerance=1e-15)
    assert caught[0].filename == __file__
