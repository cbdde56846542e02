"""Samples and Stein factors of extreme size give a result or a typed error, without NumPy warnings."""

import numpy as np
import pytest

import steinkit as sk
from steinkit.discrepancy.bracket import sum_of_brackets
from steinkit.discrepancy.graph.programs.stein_program import SteinFactors
from steinkit.discrepancy.graph.readings import spacing

SIZES = np.array([1.0, 1.0, 1e-9, 1e-50, 1e-98, 1e-310, 1e50, 1e98, 1e300])


def extreme_sample(rng):
    n, dim = rng.integers(1, 7), rng.integers(1, 3)
    points = rng.standard_normal((n, dim)) * rng.choice(SIZES, (n, 1))
    scores = rng.standard_normal((n, dim)) * rng.choice(SIZES, (n, 1))
    factors = 10.0 ** rng.choice([0, 0, -9, 9, -100, 100, 200], 3)
    units = ("own", "raw", 10.0 ** rng.choice([0, -50, 200], dim))[rng.integers(3)]
    return points, {"scores": scores, "stein_factors": tuple(factors), "units": units}


@pytest.mark.filterwarnings("ignore:.*relative width:steinkit.SteinkitWarning")
@pytest.mark.parametrize("seed", range(50))
def test_extreme_samples_give_a_result_or_a_typed_error(seed):
    rng = np.random.default_rng(seed)
    points, settings = extreme_sample(rng)
    try:
        result = sk.graph_stein_discrepancy(points, **settings)
    except (sk.InputError, sk.SolverError):
        return
    assert 0.0 <= result.lower <= result.upper
    assert 0.0 <= result.saturation <= 1.0 + 1e-9
    assert isinstance(result.unranked, str)


@pytest.mark.parametrize("power", [-300, 0, 300])
def test_saturation_does_not_depend_on_the_scale_of_g(power):
    """Multiplying all Stein factors multiplies the discrepancy."""
    draws = np.random.default_rng(0).standard_normal((20, 2))
    plain = sk.graph_stein_discrepancy(draws, scores=-draws)
    scaled = sk.graph_stein_discrepancy(draws, scores=-draws, stein_factors=(2.0**power,) * 3)
    assert scaled.saturation == pytest.approx(plain.saturation, rel=1e-3)
    assert spacing(scaled.graph, scaled.stein_factors) == spacing(plain.graph, plain.stein_factors)


def test_taylor_radii_without_intermediate_overflow():
    factors = SteinFactors(1.0, 1.0, 2.0**-900)
    assert factors.taylor_radius(2.0**600) == 2.0**299
    assert factors.taylor_radius(np.array([2.0**-400, 3.0])).tolist() == [0.0, 9 * 2.0**-901]


def test_sums_of_brackets_that_overflow():
    huge = 1.5e308
    assert sum_of_brackets([huge, huge], [huge, huge]) == (np.finfo(float).max, np.inf)
    assert sum_of_brackets([huge, 0.0], [huge, np.inf]) == (huge, np.inf)
    lower, upper = sum_of_brackets([1.0, 1e-30], [1.0, 1e-30])
    assert lower == 1.0 < upper


def test_integers_beyond_the_range_of_doubles_raise():
    points, huge = np.zeros((2, 1)), 10**400
    wrong = (
        {"dilation": huge}, {"stein_factors": (huge, 1, 1)}, {"units": [huge]},
        {"bounds": [-huge, huge]},
    )  # fmt: skip
    for setting in wrong:
        with pytest.raises(sk.UsageError):
            sk.graph_stein_discrepancy(points, scores=points, **setting)
