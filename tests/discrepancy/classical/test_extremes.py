"""Classical discrepancies for numbers of any size: a bracket that scales with them, or an error."""

import numpy as np
import pytest

import steinkit as sk
from steinkit.errors import CrossedBracketError

SIZES = np.array([1.0, 1.0, 1.0, 1e-9, 1e-50, 1e-90, 1e50, 1e90, 1e-310])


@pytest.mark.parametrize(("length", "height"), [(0, 0), (150, -20), (-150, 20), (100, -100), (-100, 100), (50, 300)])
@pytest.mark.parametrize("bounded", [False, True])
def test_bracket_scales_with_its_units(length, height, bounded):
    """Points are in units 2^length and g in units 2^height; squares of the multipliers overflow or underflow."""
    rng = np.random.default_rng(4)
    points, scores, weights = rng.standard_normal(6), rng.standard_normal(6), rng.random(6)
    bounds = np.array([points.min() - 0.5, points.max() + 0.25]) if bounded else None
    plain = sk.classical_stein_discrepancy(
        points, scores=scores, weights=weights, bounds=bounds, stein_factors=(10.0, 1.0, 0.01)
    )
    scaled = sk.classical_stein_discrepancy(
        np.ldexp(points, length),
        scores=np.ldexp(scores, -length),
        weights=weights,
        bounds=None if bounds is None else np.ldexp(bounds, length),
        stein_factors=tuple(np.ldexp([10.0, 1.0, 0.01], [height, height - length, height - 2 * length])),
    )
    lower, upper = np.ldexp([scaled.lower, scaled.upper], length - height)
    assert lower <= plain.upper
    assert plain.lower <= upper
    assert scaled.gap < 1e-5


@pytest.mark.filterwarnings("ignore:.*relative width:steinkit.SteinkitWarning")
@pytest.mark.parametrize("seed", range(40))
def test_results_or_steinkit_errors_without_numpy_warnings(seed):
    rng = np.random.default_rng(seed)
    n = rng.integers(1, 7)
    points, scores = (rng.standard_normal(n) * rng.choice(SIZES, n) for _ in range(2))
    factors = tuple(10.0 ** rng.choice([0, 0, -9, 9, -90, 90], 3))
    bounds = [points.min() - rng.choice([0.0, 1.0, 1e-12]), points.max() + rng.choice([1.0, 1e90])]
    try:
        result = sk.classical_stein_discrepancy(
            points, scores=scores, stein_factors=factors, bounds=bounds if seed % 2 else None
        )
    except CrossedBracketError:
        raise
    except (sk.InputError, sk.UsageError, sk.SolverError):
        return
    assert 0.0 <= result.lower <= result.upper


def test_stein_factors_out_of_range_are_refused():
    with pytest.raises(sk.InputError, match="rescale"):
        sk.classical_stein_discrepancy([0.0, 1.0], scores=[1.0, 0.0], stein_factors=(1, 1, 1e-101))
