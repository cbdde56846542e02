"""Wasserstein distance compared with closed forms, quadrature and large samples of quantiles."""

from fractions import Fraction

import numpy as np
import pytest
from scipy import integrate, special, stats

import steinkit as sk
from steinkit.discrepancy.wasserstein import wasserstein_distance
from steinkit.targets import Gamma, GaussianMixture, Normal, StudentT, Uniform


class Mixture:
    """0.25 N(-2, 1) + 0.75 N(3, 0.5^2) with the interface of scipy.stats."""

    support = staticmethod(lambda: (-np.inf, np.inf))

    @staticmethod
    def cdf(x):
        return 0.25 * stats.norm.cdf(x, -2.0, 1.0) + 0.75 * stats.norm.cdf(x, 3.0, 0.5)

    @staticmethod
    def sf(x):
        return 0.25 * stats.norm.sf(x, -2.0, 1.0) + 0.75 * stats.norm.sf(x, 3.0, 0.5)


FAMILIES = {
    "normal": (Normal(1.0, 4.0), stats.norm(1.0, 2.0)),
    "mixture": (GaussianMixture([-2.0, 3.0], [1.0, 0.25], [1.0, 3.0]), Mixture),
    "student": (StudentT(5.0, 1.0, 4.0), stats.t(5.0, 1.0, 2.0)),
    "uniform": (Uniform(-1.0, 3.0), stats.uniform(-1.0, 4.0)),
    "gamma": (Gamma(2.5, 3.0), stats.gamma(2.5, scale=1.0 / 3.0)),
    "gamma below 1": (Gamma(0.3, 2.0), stats.gamma(0.3, scale=0.5)),
}
by_family = pytest.mark.parametrize(("target", "reference"), FAMILIES.values(), ids=FAMILIES)


def integral(function, a, b):
    """Integrate with a Gauss rule on panels that shrink towards 0 and 1, and by quadrature beyond +-60."""
    near = np.concatenate([-np.logspace(-12, 0, 49), [0.0], np.logspace(-12, 0, 49)])
    edges = np.unique(
        np.concatenate([near, 1.0 + near, np.linspace(-60.0, 60.0, 481), [a, b]]).clip(max(a, -60), min(b, 60))
    )
    nodes, weights = np.polynomial.legendre.leggauss(12)
    half = 0.5 * np.diff(edges)[:, None]
    inside = (half * weights * function(half * nodes + half + edges[:-1, None])).sum()
    tails = [(low, high) for low, high in ((a, -60.0), (60.0, b)) if low < high]
    return inside + sum(integrate.quad(function, *tail, epsabs=1e-12)[0] for tail in tails)


@by_family
def test_tail_integrals_match_quadrature(target, reference):
    low, high = reference.support()
    for x in (-3.0, -0.2, 0.1, 0.9, 2.0, 6.0):
        below, above = target.tail_integrals([x])[0]
        inside = min(max(x, low), high)
        wanted_below = integral(reference.cdf, low, inside) if inside > low else 0.0
        wanted_above = integral(reference.sf, inside, high) if inside < high else 0.0
        assert below == pytest.approx(wanted_below + max(x - high, 0.0), rel=1e-7, abs=1e-9)
        assert above == pytest.approx(wanted_above + max(low - x, 0.0), rel=1e-7, abs=1e-9)


def with_cdf(cdf):
    return sk.Target(score=np.negative, cdf=cdf, tail_integrals=Normal().tail_integrals, dim=1)


@by_family
def test_distance_matches_a_large_sample_of_quantiles(target, reference):
    """Compare with SciPy's distance to the quantiles at (k + 1/2)/m."""
    draws = target.sample(200, 1)[:, 0] * 1.1 + 0.1
    distance = wasserstein_distance(draws, target)
    assert distance.gap < 1e-9
    if reference is not Mixture:
        quantiles = reference.ppf((np.arange(100_000) + 0.5) / 100_000)
        assert stats.wasserstein_distance(draws, quantiles) == pytest.approx(distance.value, abs=1e-2 * distance.value)


def test_closed_forms():
    """The distance to a point mass at a is E|X - a|."""
    assert wasserstein_distance([0.3], Normal()).value == pytest.approx(
        0.3 * (2 * special.ndtr(0.3) - 1) + 2 * stats.norm.pdf(0.3), rel=1e-12
    )
    assert wasserstein_distance([0.25], Uniform()).value == pytest.approx(0.25**2 / 2 + 0.75**2 / 2, rel=1e-12)
    assert wasserstein_distance(np.full(5, 2.0), Uniform()).value == pytest.approx(1.5, rel=1e-12)
    grid = (np.arange(50) + 0.5) / 50
    assert wasserstein_distance(grid, Uniform()).value == pytest.approx(1 / 200, rel=1e-10)
    uniform = wasserstein_distance(np.random.default_rng(7).random(1000), Uniform())
    assert uniform.value == pytest.approx(0.0060622892, abs=1e-10)
    far = 1e99 * np.random.default_rng(0).standard_normal(20)
    assert wasserstein_distance(far, Normal()).value == pytest.approx(np.abs(far).mean(), rel=1e-9)
    assert wasserstein_distance(np.random.default_rng(1).standard_normal(100_000), Normal()).gap < 1e-7


def test_narrow_components_count():
    """A tenth of the target's mass lies within 1e-6 of 5, between or beyond the draws."""
    target = GaussianMixture([0.0, 5.0], [1.0, 1e-12], [9.0, 1.0])
    draws = np.random.default_rng(3).standard_normal(300)
    allowed = 0.9 * wasserstein_distance(draws, Normal()).value
    for sample in (draws, np.append(draws, 400.0)):
        # E max(X - x, 0) at the largest standard normal draw is at least a tenth of the distance to 5
        assert wasserstein_distance(sample, target).lower > 0.1 * (5.0 - draws.max()) - allowed


@pytest.mark.parametrize("spread", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("n", [1, 2, 30])
def test_distance_matches_quantiles_for_few_draws(n, spread):
    """Normal quantiles at (k + 1/2)/m are within 1e-4 of the normal distribution for this m."""
    draws = spread * np.random.default_rng(n).standard_t(2.0, n)
    quantiles = special.ndtri((np.arange(20_000) + 0.5) / 20_000)
    result = wasserstein_distance(draws, Normal())
    assert result.value == pytest.approx(stats.wasserstein_distance(draws, quantiles), abs=1e-4, rel=1e-9)
    assert result.gap < 1e-9


def test_targets_without_a_mean_are_infinitely_far():
    for target in (StudentT(1.0), StudentT(0.7)):
        with pytest.raises(sk.InputError, match="has no mean"):
            wasserstein_distance([0.0, 1.0], target)
    heavy = wasserstein_distance([0.0, 1.0], StudentT(1.1))
    assert np.isfinite(heavy.upper)


BAD_CDFS = {
    "decreasing": lambda x: special.ndtr(-x),
    "dip": lambda x: special.ndtr(x) - 0.3 * (np.abs(x - 0.5) < 0.2),
    "above 1": lambda x: 1.2 * special.ndtr(x),
    "negative": lambda x: special.ndtr(x) - 0.5,
    "NaN": lambda x: np.where(x > 0.3, np.nan, special.ndtr(x)),
}


@pytest.mark.parametrize("cdf", BAD_CDFS.values(), ids=BAD_CDFS)
def test_invalid_cdfs_are_refused(cdf):
    with pytest.raises(sk.InputError, match="must not decrease and must lie between 0 and 1"):
        wasserstein_distance([-1.0, 0.1, 0.5, 1.0], with_cdf(cdf))


def test_cdf_that_does_not_match_its_integrals_is_refused():
    with pytest.raises(sk.InputError, match="do not match"):
        wasserstein_distance(np.linspace(-1.0, 1.0, 200), with_cdf(Normal(0.5).cdf))


@pytest.mark.parametrize("error", [-0.9e-13, 0.9e-13])
def test_brackets_include_errors_of_tail_integrals(error):
    """Errors are relative to E|X - x|, the sum of both integrals, even where one of them is tiny."""
    exact = Normal()

    def tail_integrals(x):
        values = exact.tail_integrals(x)
        return np.maximum(values + error * values.sum(axis=1, keepdims=True), 0.0)

    target = sk.Target(score=np.negative, cdf=exact.cdf, tail_integrals=tail_integrals, dim=1)
    result = wasserstein_distance([-30.0, -29.0, -28.0], target)
    assert result.lower <= 29.0 <= result.upper  # the difference of means, up to 1e-170


def test_brackets_include_crossings_at_the_end_of_a_gap():
    """The median of the target is the next number after a draw.

    With median m, the distance is 1/2 - E|X - m| + 2 E max(x - X, 0) for x = 1e8.
    """
    median, sd = np.nextafter(1e8, np.inf), 1e-8
    z = (1e8 - median) / sd
    exact = 0.5 - sd * np.sqrt(2.0 / np.pi) + 2.0 * sd * (stats.norm.pdf(z) + z * special.ndtr(z))
    result = wasserstein_distance([1e8, 1e8 + 1.0], Normal(median, sd**2))
    assert result.lower <= exact <= result.upper


@pytest.mark.parametrize("bad", [np.nan, -1.0])
def test_invalid_tail_integrals_are_refused(bad):
    target = sk.Target(score=np.negative, cdf=special.ndtr, tail_integrals=lambda x: np.full((len(x), 2), bad), dim=1)
    with pytest.raises(sk.InputError, match=str(bad)):
        wasserstein_distance([0.3], target)
    with pytest.raises(sk.UsageError, match="cdf="):
        sk.Target(score=np.negative, tail_integrals=Normal().tail_integrals, dim=1)
    with pytest.raises(sk.UsageError, match="tail integrals"):
        sk.Target(score=np.negative, dim=1).tail_integrals([0.0])


@pytest.mark.parametrize(("draws", "exact"), [([0.3], 0.0), ([0.3, 1.0], 0.35), ([-1.0, 0.0, 2.0], 3.3 / 3)])
def test_cdf_with_a_jump(draws, exact):
    integrals = lambda x: np.column_stack([np.maximum(x - 0.3, 0.0), np.maximum(0.3 - x, 0.0)])  # noqa: E731
    target = sk.Target(score=np.negative, cdf=lambda x: 1.0 * (x >= 0.3), tail_integrals=integrals, dim=1)
    result = wasserstein_distance(draws, target)
    assert result.lower <= exact + 1e-15
    assert exact <= result.upper + 1e-15


def fractions(weights):
    exact = [Fraction(float(weight)) for weight in weights]
    return [weight / sum(exact) for weight in exact]


@pytest.mark.parametrize("wrong", [1.1e100, 0.9e-100, -1.7e308, 5e-324])
def test_numbers_out_of_range_are_refused(wrong):
    with pytest.raises(sk.InputError, match="rescale"):
        wasserstein_distance([wrong], Normal())
    with pytest.raises(sk.InputError, match="rescale"):
        wasserstein_distance([0.0, 1.0], Normal(), weights=[1.0, abs(wrong)])


def test_counts_of_repeated_draws_are_divided_once():
    """A sum of 1e6 terms 1/n has an error of about 1e-12, which a far point makes visible."""
    a, b, far = 333_333, 666_667, 1e9
    result = wasserstein_distance(np.repeat([0.5, far], [b, a]), Uniform(), tolerance=1e-3)
    share = Fraction(a, a + b)
    middle = Fraction(b, a + b)  # where F crosses the level above a half
    inside = Fraction(1, 8) + ((middle - Fraction(1, 2)) ** 2 + (1 - middle) ** 2) / 2
    exact = inside + share * (Fraction(far) - 1)
    assert result.lower <= exact <= result.upper
    assert result.gap < 2e-12


@pytest.mark.parametrize("n", [30, 600])
def test_rounded_levels_before_a_far_point_are_within_the_bracket(n):
    """The distance to the uniform distribution is rational in the points and weights."""
    rng = np.random.default_rng(n)
    x, w = np.append(np.sort(rng.random(n)), 1e9), np.append(rng.random(n), 2.0**-20)
    result = wasserstein_distance(x, Uniform(), weights=w, tolerance=0.01)
    level, exact, places = Fraction(0), Fraction(0), [Fraction(0), *map(Fraction, x.tolist())]
    for a, b, mass in zip(places, places[1:], [Fraction(0), *fractions(w)], strict=False):
        level += mass
        end = min(b, Fraction(1))
        middle = min(max(level, a), end)
        exact += ((middle - a) * (2 * level - a - middle) + (end - middle) * (end + middle - 2 * level)) / 2
        exact += (1 - level) * (b - end)
    assert result.lower <= exact <= result.upper
    assert result.gap < 1e-3


def test_invalid_arguments_are_refused():
    draws, ones = np.random.default_rng(1).standard_normal((10, 2)), np.ones(10)
    for given, further, match in (
        ((draws, Normal(dim=2)), {}, "one coordinate"),
        ((draws[:, 0], draws), {}, "steinkit Target"),
        ((draws[:, 0], sk.Target(score=np.negative, dim=1)), {}, "tail_integrals="),
        ((draws[:, 0], Normal()), {"tolerance": 2.0}, "tolerance"),
        ((sk.Sample(draws[:, 0], weights=ones), Normal()), {"weights": ones}, "weights"),
    ):
        with pytest.raises(sk.UsageError, match=match):
            wasserstein_distance(*given, **further)


def test_bracket_wider_than_the_tolerance_is_reported():
    with pytest.warns(sk.SteinkitWarning, match="relative width"):
        result = wasserstein_distance(np.random.default_rng(1).standard_normal(100), Normal(), tolerance=1e-15)
    assert 1e-15 < result.gap < 1e-9
    assert "relative width" in result.warnings[-1]


def test_weights_order_and_repeats():
    rng = np.random.default_rng(5)
    draws, weights = rng.standard_normal(100), rng.integers(0, 4, 100)
    repeated = wasserstein_distance(np.repeat(draws, weights), Normal())
    weighted = wasserstein_distance(draws, Normal(), weights=weights)
    assert weighted.value == pytest.approx(repeated.value, rel=1e-10)
    assert any("weight zero" in note for note in weighted.warnings)
    order = rng.permutation(100)
    shuffled = wasserstein_distance(draws[order], Normal(), weights=weights[order])
    assert shuffled.value == pytest.approx(weighted.value, rel=1e-12)
