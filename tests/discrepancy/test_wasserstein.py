"""The Wasserstein distance against closed forms, quadrature, huge samples of quantiles, and brute force."""

import itertools
import threading
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace

import mpmath as mp
import numpy as np
import pytest
from scipy import integrate, special, stats

import steinkit as sk
from steinkit.discrepancy import wasserstein
from steinkit.discrepancy.wasserstein import wasserstein_distance
from steinkit.targets import Gamma, GaussianMixture, Normal, StudentT, Uniform


class Mixture:
    """0.25 N(-2, 1) + 0.75 N(3, 0.5^2) in scipy's terms."""

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
    """Gauss's rule on panels that shrink towards 0 and 1, where densities may be infinite; quadrature beyond +-60."""
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
def test_distance_matches_a_huge_sample_of_quantiles(target, reference):
    """scipy's distance to the quantiles at (k + 1/2)/m; its error is known from the tails and the largest gap."""
    draws = target.sample(200, 1)[:, 0] * 1.1 + 0.1
    distance = wasserstein_distance(draws, target)
    assert distance.gap < 1e-9
    if reference is not Mixture:
        quantiles = reference.ppf((np.arange(100_000) + 0.5) / 100_000)
        assert stats.wasserstein_distance(draws, quantiles) == pytest.approx(distance.value, abs=1e-2 * distance.value)


def test_closed_forms():
    """To a point mass the distance is E|X - a|."""
    assert wasserstein_distance([0.3], Normal()).value == pytest.approx(
        0.3 * (2 * special.ndtr(0.3) - 1) + 2 * stats.norm.pdf(0.3), rel=1e-12
    )
    assert wasserstein_distance([0.25], Uniform()).value == pytest.approx(0.25**2 / 2 + 0.75**2 / 2, rel=1e-12)
    assert wasserstein_distance(np.full(5, 2.0), Uniform()).value == pytest.approx(1.5, rel=1e-12)
    grid = (np.arange(50) + 0.5) / 50
    assert wasserstein_distance(grid, Uniform()).value == pytest.approx(1 / 200, rel=1e-10)
    uniform = wasserstein_distance(np.random.default_rng(7).random(1000), Uniform())
    assert uniform.value == pytest.approx(0.0060622892, abs=1e-10)


def test_many_draws_are_bracketed_as_well():
    draws = np.random.default_rng(1).standard_normal(100_000)
    assert wasserstein_distance(draws, Normal()).gap < 1e-7


def test_narrow_components_are_not_missed():
    """A tenth of the target within 1e-6 of 5, between or beyond the draws."""
    target = GaussianMixture([0.0, 5.0], [1.0, 1e-12], [9.0, 1.0])
    draws = np.random.default_rng(3).standard_normal(300)
    allowed = 0.9 * wasserstein_distance(draws, Normal()).value
    for sample in (draws, np.append(draws, 400.0)):
        # E max(X - x, 0) from the largest standard normal draw on is at least a tenth of the way to 5
        assert wasserstein_distance(sample, target).lower > 0.1 * (5.0 - draws.max()) - allowed


@pytest.mark.parametrize("spread", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("n", [1, 2, 30])
def test_it_is_the_distance_to_many_quantiles(n, spread):
    """Of a normal distribution, whose quantiles at (k + 1/2)/m are within 1e-4 of it for this m."""
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
    "falls": (lambda x: special.ndtr(-x), "never decreases"),
    "dips": (lambda x: special.ndtr(x) - 0.3 * (np.abs(x - 0.5) < 0.2), "never decreases"),
    "beyond 1": (lambda x: 1.2 * special.ndtr(x), "between 0 and 1"),
    "negative": (lambda x: special.ndtr(x) - 0.5, "between 0 and 1"),
    "not a number": (lambda x: np.where(x > 0.3, np.nan, special.ndtr(x)), "between 0 and 1"),
}


@pytest.mark.parametrize(("cdf", "message"), BAD_CDFS.values(), ids=BAD_CDFS)
def test_what_is_no_cdf_is_refused(cdf, message):
    with pytest.raises(sk.InputError, match=message):
        wasserstein_distance([-1.0, 0.1, 0.5, 1.0], with_cdf(cdf))


def test_integrals_that_do_not_fit_the_cdf_are_refused():
    other = Normal(0.5)
    target = sk.Target(score=np.negative, cdf=Normal().cdf, tail_integrals=other.tail_integrals, dim=1)
    with pytest.raises(sk.InputError, match="do not fit its cdf"):
        wasserstein_distance(np.linspace(-1.0, 1.0, 200), target)
    with pytest.raises(sk.UsageError, match="pass cdf= too"):
        sk.Target(score=np.negative, tail_integrals=other.tail_integrals, dim=1)
    with pytest.raises(sk.UsageError, match="no tail integrals"):
        sk.Target(score=np.negative, dim=1).tail_integrals([0.0])


@pytest.mark.parametrize("wrong", [np.nan, -1.0])
def test_integrals_that_are_none_are_refused(wrong):
    target = sk.Target(score=np.negative, cdf=special.ndtr, tail_integrals=lambda x: np.full((len(x), 2), wrong), dim=1)
    with pytest.raises(sk.InputError, match="not negative"):
        wasserstein_distance([0.3], target)


@pytest.mark.parametrize(("draws", "exact"), [([0.3], 0.0), ([0.3, 1.0], 0.35), ([-1.0, 0.0, 2.0], 3.3 / 3)])
def test_a_cdf_that_jumps_is_no_endless_search(draws, exact):
    integrals = lambda x: np.column_stack([np.maximum(x - 0.3, 0.0), np.maximum(0.3 - x, 0.0)])  # noqa: E731
    target = sk.Target(score=np.negative, cdf=lambda x: 1.0 * (x >= 0.3), tail_integrals=integrals, dim=1)
    result = wasserstein_distance(draws, target)
    assert result.lower <= exact + 1e-15
    assert exact <= result.upper + 1e-15


def fractions(weights):
    exact = [Fraction(float(weight)) for weight in weights]
    return [weight / sum(exact) for weight in exact]


def exactly_on_the_line(x, y, p, q):
    """The integral of |F - G|, in rational numbers."""
    moves = sorted([*zip(x, fractions(p), strict=True), *((b, -v) for b, v in zip(y, fractions(q), strict=True))])
    total, above = Fraction(0), Fraction(0)
    for (place, mass), (following, _) in itertools.pairwise(moves):
        above += mass
        total += abs(above) * (Fraction(float(following)) - Fraction(float(place)))
    return total


def exactly_in_space(x, y):
    """The best of all assignments, to sixty digits."""
    with mp.workdps(60):
        costs = [
            [mp.hypot(*(mp.mpf(float(a)) - mp.mpf(float(b)) for a, b in zip(u, v, strict=True))) for v in y] for u in x
        ]
        n = len(costs)
        return min(mp.fsum(costs[i][order[i]] for i in range(n)) for order in itertools.permutations(range(n))) / n


@pytest.mark.parametrize(
    ("x", "y", "exact"),
    [
        ([[0.0, 0.0]], [[1e-100, 0.0]], 1e-100),
        ([[0.0, 0.0], [1.0, 0.0]], [[3e99, 4e99], [1.0, 0.0]], 2.5e99),
        ([[0.0, 0.0], [0.0, 0.0]], [[3e-100, 4e-100]], 5e-100),
        ([[-1e100, 0.0]], [[1e100, 0.0]], 2e100),
        ([0.0], [1e-100], 1e-100),
        ([-8e99, 0.0], [8e99, 0.0], 8e99),
    ],
)
def test_distances_of_any_size(x, y, exact):
    result = wasserstein_distance(x, y)
    assert result.value == pytest.approx(exact, rel=1e-12)
    assert result.gap < 1e-12
    assert result.claim == "proved"


@pytest.mark.parametrize("wrong", [1.1e100, 0.9e-100, -1.7e308, 5e-324])
def test_numbers_out_of_range_are_refused(wrong):
    for x, y in (([wrong], [0.0]), ([0.0], [wrong]), ([[wrong, 0.0]], [[0.0, 0.0]]), ([wrong], Normal())):
        with pytest.raises(sk.InputError, match="rescale"):
            wasserstein_distance(x, y)
    with pytest.raises(sk.InputError, match="rescale"):
        wasserstein_distance([0.0, 1.0], [2.0], weights=[1.0, abs(wrong)])


def test_units_that_take_draws_out_of_range_are_refused():
    draws = np.random.default_rng(0).standard_normal((5, 2))
    with pytest.raises(sk.InputError, match="in these units"):
        wasserstein_distance(draws, draws + 1.0, units=[1e-200, 1.0])


SIZES = [1.0, 1e-9, 1e-50, 1e-90, 1e50, 1e90]


@pytest.mark.filterwarnings("ignore:.*relative width:steinkit.SteinkitWarning")
@pytest.mark.parametrize("seed", range(60))
def test_brackets_of_numbers_of_any_size_hold_the_exact_distance(seed):
    rng = np.random.default_rng(seed)
    n, m = rng.integers(1, 6, 2)
    x, y = (rng.standard_normal(k) * rng.choice(SIZES, k) for k in (n, m))
    p, q = (rng.random(k) * 10.0 ** rng.choice([0, 0, 16, -16, 90, -90], k) for k in (n, m))
    u, v = (rng.standard_normal((n, 2)) * rng.choice(SIZES, (n, 1)) for _ in range(2))
    line = wasserstein_distance, (x, y), {"weights": p, "other_weights": q}, exactly_on_the_line(x, y, p, q)
    for take, samples, further, exact in (
        line,
        (wasserstein_distance, (u, v), {}, exactly_in_space(u, v)),
        (wasserstein_distance, (np.repeat(u, 2, axis=0), v), {}, exactly_in_space(u, v)),  # by linear programming
    ):
        try:
            result = take(*samples, **further)
            lower, upper = result.lower, result.upper
        except sk.SolverError as refused:
            lower, upper = refused.lower, refused.upper
        number = Fraction if isinstance(exact, Fraction) else mp.mpf
        assert number(lower) <= exact <= number(upper)


@pytest.mark.parametrize("fault", ["solver fails", "prices are noise", "plan is noise"])
def test_what_the_solver_says_is_not_believed(monkeypatch, fault):
    rng = np.random.default_rng(3)
    u, v = rng.standard_normal((5, 2)), rng.standard_normal((5, 2))

    def solved(costs, **_):
        n = len(u) * len(v)
        plan = rng.random(n) if fault == "plan is noise" else np.eye(5).ravel() / 5
        prices = 10.0 * rng.standard_normal(10) if fault == "prices are noise" else np.zeros(10)
        return SimpleNamespace(x=None if fault == "solver fails" else plan, eqlin=SimpleNamespace(marginals=prices))

    monkeypatch.setattr("scipy.optimize.linprog", solved)
    weights = np.array([1.0, 1.0, 1.0, 1.0, 1.0 + 1e-12])  # so that it is no assignment problem
    with pytest.raises(sk.SolverError) as refused:
        wasserstein_distance(u, v, weights=weights)
    exact = exactly_in_space(u, v)
    assert refused.value.lower <= exact * (1 + 1e-9)
    assert exact <= refused.value.upper * (1 + 1e-9)


def test_counts_of_repeated_draws_are_divided_once():
    """A million times 1/n added up is off by some 1e-12, which a far point makes visible."""
    a, b, far = 333_333, 666_667, 1e9
    result = wasserstein_distance(np.repeat([0.5, far], [b, a]), Uniform(), tolerance=1e-3)
    share = Fraction(a, a + b)
    middle = Fraction(b, a + b)  # where F crosses the level above a half
    inside = Fraction(1, 8) + ((middle - Fraction(1, 2)) ** 2 + (1 - middle) ** 2) / 2
    exact = inside + share * (Fraction(far) - 1)
    assert result.lower <= exact <= result.upper
    assert result.gap < 2e-12


@pytest.mark.parametrize("far", [1e3, 1e9, 1e12])
def test_rounded_weights_of_far_points_are_within_the_bracket(far):
    """Both samples have about a hundredth of their mass far off: what rounding makes of the shares is moved so far."""
    rng = np.random.default_rng(0)
    x, p = np.append(rng.standard_normal(300), far), np.append(np.ones(300), 3.0)
    y, q = np.append(rng.standard_normal(150), far), np.append(np.ones(150), 1.5)
    result = wasserstein_distance(x, y, weights=p, other_weights=q, tolerance=0.05)
    assert result.lower <= exactly_on_the_line(x, y, p, q) <= result.upper
    assert result.gap < 3e-14 * far + 1e-12


@pytest.mark.parametrize("n", [30, 600])
def test_rounded_levels_before_a_far_point_are_within_the_bracket(n):
    """On [0, 1] below the points, and up to the far one, the distance to the uniform distribution is rational."""
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


def test_draws_of_extreme_size():
    draws = 1e99 * np.random.default_rng(0).standard_normal(20)
    assert wasserstein_distance(draws, Normal()).value == pytest.approx(np.abs(draws).mean(), rel=1e-9)


def test_what_cannot_be_measured_is_refused():
    draws = np.random.default_rng(1).standard_normal((10, 2))
    with pytest.raises(sk.UsageError, match="one dimension"):
        wasserstein_distance(draws, Normal(dim=2))
    with pytest.raises(sk.UsageError, match="cdf= and tail_integrals="):
        wasserstein_distance(draws[:, 0], sk.Target(score=np.negative, dim=1))
    with pytest.raises(sk.UsageError, match="other_weights"):
        wasserstein_distance(draws[:, 0], Normal(), other_weights=np.ones(10))
    with pytest.raises(sk.UsageError, match="tolerance"):
        wasserstein_distance(draws[:, 0], Normal(), tolerance=2.0)
    with pytest.raises(sk.UsageError, match="carries its own"):
        wasserstein_distance(sk.Sample(draws[:, 0], weights=np.ones(10)), Normal(), weights=np.ones(10))
    with pytest.raises(sk.InputError, match="2 coordinates"):
        wasserstein_distance(draws, draws[:, 0])
    with pytest.raises(sk.UsageError, match="thin the samples"):
        wasserstein_distance(np.random.default_rng(1).random((600, 2)), np.random.default_rng(1).random((700, 2)))


def test_a_bracket_wider_than_asked_for_is_warned_of():
    with pytest.warns(sk.SteinkitWarning, match="relative width"):
        result = wasserstein_distance(np.random.default_rng(1).standard_normal(100), Normal(), tolerance=1e-15)
    assert 1e-15 < result.gap < 1e-9
    assert "relative width" in result.warnings[-1]


def test_an_assignment_that_time_cut_short_says_so(monkeypatch):
    monkeypatch.setattr(wasserstein, "_assignment", lambda costs: (0.1, 0.9))
    monkeypatch.setattr("steinkit.discrepancy.wasserstein.seconds_left", lambda: 0.0)
    draws = np.random.default_rng(0).standard_normal((10, 2))
    with pytest.raises(sk.SolverError, match=r"1e-06 was asked for \(time ran out\); .* Allow more time \(max_seconds"):
        sk.wasserstein_distance(draws, draws + 1.0)


def test_an_assignment_which_has_no_clock_is_left_behind_at_the_deadline(monkeypatch):
    release = threading.Event()
    monkeypatch.setattr("steinkit.runtime.deadlines._GRACE", 60.0)
    monkeypatch.setattr("scipy.optimize.linear_sum_assignment", lambda costs: release.wait(20.0))
    draws = np.random.default_rng(0).standard_normal((10, 2))
    try:
        with pytest.raises(sk.TimeLimitError, match="while draws were assigned to each other"):
            sk.wasserstein_distance(draws, draws + 1.0, max_seconds=1.0)
    finally:
        release.set()


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
    between = wasserstein_distance(draws, rng.standard_normal(50), weights=weights)
    assert between.value > 0.0


def test_between_samples_of_one_dimension():
    a, b = np.array([0.0, 1.0, 3.0]), np.array([5.0, 6.0, 8.0])
    assert wasserstein_distance(a, b).value == pytest.approx(5.0, rel=1e-11)
    assert wasserstein_distance(a, a).value == 0.0
    nearly = np.append(a, 1e9)
    assert wasserstein_distance(nearly, nearly + 2.0**-20).value == pytest.approx(2.0**-20, rel=1e-11)
    shares = wasserstein_distance([0.0, 1.0], [0.0, 1.0], weights=[3.0, 1.0], other_weights=[1.0, 1.0])
    assert shares.value == pytest.approx(0.25, rel=1e-11)


def test_between_samples_of_several_dimensions():
    rng = np.random.default_rng(2)
    a, b = rng.standard_normal((6, 2)), rng.standard_normal((6, 2))
    best = min(np.linalg.norm(a - b[list(order)], axis=1).mean() for order in itertools.permutations(range(6)))
    matched = wasserstein_distance(a, b)
    assert matched.lower <= best <= matched.upper
    ones = np.ones(6)
    ones[0] += 1e-9  # no longer equal, so by linear programming
    planned = wasserstein_distance(a, b, weights=ones)
    assert planned.value == pytest.approx(best, rel=1e-7)
    assert planned.gap < 1e-9
    twice = wasserstein_distance(np.concatenate([a, a]), b)
    assert twice.value == pytest.approx(best, rel=1e-9)
    assert wasserstein_distance(a + np.array([3.0, 4.0]), a).value == pytest.approx(5.0, rel=1e-9)
    assert wasserstein_distance(np.concatenate([a, a]), a).upper < 1e-10


def test_transport_matches_scipy():
    rng = np.random.default_rng(8)
    a, b, p, q = rng.random((15, 3)), rng.random((25, 3)), rng.random(15), rng.random(25)
    result = wasserstein_distance(a, b, weights=p, other_weights=q)
    assert result.value == pytest.approx(stats.wasserstein_distance_nd(a, b, p, q), rel=1e-8)
    assert result.gap < 1e-8


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_wrong_samples_lie_further(seed):
    draws = np.random.default_rng(seed).standard_normal(500)
    right = wasserstein_distance(draws, Normal()).upper
    for wrong in (draws + 0.4, 1.5 * draws, 0.6 * draws):
        assert wasserstein_distance(wrong, Normal()).lower > 1.5 * right


def test_bounds_that_contradict_each_other_are_reported(monkeypatch):
    monkeypatch.setattr(wasserstein, "_priced", lambda *given: 2.0)
    with pytest.raises(sk.CrossedBracketError, match="defect of steinkit") as caught:
        sk.wasserstein_distance(np.zeros((2, 2)), np.ones((3, 2)), other_weights=[1.0, 2.0, 3.0])
    assert caught.value.instance is not None
    Path(caught.value.instance).unlink()
