"""Scores are compared with the gradient of the log density at every entry point."""

import numpy as np
import pytest

import steinkit as sk

MEAN, COVARIANCE = np.array([2.0, -1.0, 0.0]), np.array([[1.0, 0.0, 1.5], [0.0, 0.25, 0.0], [1.5, 0.0, 9.0]])
PRECISION = np.linalg.inv(COVARIANCE)
NAMES = ["a", "log_tau", "b"]
RNG = np.random.default_rng(5)
DRAWS = RNG.multivariate_normal(MEAN, COVARIANCE, 300)


def score(x):
    return -(x - MEAN) @ PRECISION


def height(x):
    return -0.5 * (((x - MEAN) @ PRECISION) * (x - MEAN)).sum(axis=1)


def target(factor=1.0, **settings):
    return sk.Target(lambda x: factor * score(x), log_density=height, names=NAMES, **settings)


ENTRIES = {
    "verdict": sk.verdict,
    "estimate_bias": sk.estimate_bias,
    "repair": sk.repair,
    "graph": sk.graph_stein_discrepancy,
    "kernel": sk.kernel_stein_discrepancy,
    "mode_weights": sk.mode_weights,
}


@pytest.mark.parametrize("entry", ENTRIES)
def test_public_functions_reject_a_wrong_score(entry):
    with pytest.raises(sk.InputError, match=r'not the gradient of the log density in "a", "log_tau", "b" \(3 of 3'):
        ENTRIES[entry](DRAWS, target(0.9))


def test_the_message_names_parameters_and_values():
    with pytest.raises(sk.InputError, match=r'in "b" \(1 of 3 parameters\)') as caught:
        sk.verdict(DRAWS, target(np.array([1.0, 1.0, 0.5])))
    text, found = (
        float(str(caught.value).split(before)[-1].split()[0].rstrip(";"))
        for before in ("score is ", "differences are ")
    )
    assert text == pytest.approx(0.5 * found, rel=1e-5)


def test_a_long_list_of_names():
    wrong = sk.Target(lambda x: -0.9 * x, log_density=lambda x: -0.5 * (x**2).sum(axis=1))
    with pytest.raises(sk.InputError, match=r'"x12" and 28 more \(40 of 40 parameters\)'):
        sk.kernel_stein_discrepancy(RNG.standard_normal((50, 40)), wrong)


@pytest.mark.parametrize("dim", [2, 300])
def test_one_wrong_parameter_in_high_dimension(dim):
    rows = []

    def density(x):
        rows.append(len(x))
        return -0.5 * (x**2).sum(axis=1)

    draws = RNG.standard_normal((1000, dim))
    right = sk.Target(np.negative, log_density=density)
    right.check_once(draws, -draws)
    assert sum(rows) < 400
    assert right.score_is_checked
    assert right.remarks == ()
    half = np.where(np.arange(dim) == 1, 0.5, 1.0)
    with pytest.raises(sk.InputError, match=r'in "x2" \(1 of '):
        sk.Target(lambda x: -half * x, log_density=density).check_once(draws, -half * draws)


def test_the_check_is_made_once_and_can_be_omitted():
    rows = []
    counted = sk.Target(score, log_density=lambda x: rows.append(len(x)) or height(x), names=NAMES)
    sk.kernel_stein_discrepancy(DRAWS, counted)
    first = sum(rows)
    assert first > 0
    sk.kernel_stein_discrepancy(DRAWS[:100], counted)
    assert sum(rows) == first
    wrong = target(0.9)
    wrong.score_is_checked = True
    assert sk.kernel_stein_discrepancy(DRAWS, wrong).value > 0.0


@pytest.mark.filterwarnings("ignore::steinkit.SteinkitWarning")
def test_no_evaluation_without_a_log_density():
    family = sk.targets.Normal([0.0, 0.0])
    family._log_density = lambda x: pytest.fail("a built-in target is known to be right")
    sk.kernel_stein_discrepancy(DRAWS[:, :2], family)
    made = sk.Target(log_density=height, names=NAMES)
    assert not made.score_is_checked
    sk.kernel_stein_discrepancy(DRAWS[:50], made)
    assert not made.score_is_checked


def funnel(n):
    v = 3.0 * RNG.standard_normal(n)
    return np.column_stack([v, np.exp(v / 2) * RNG.standard_normal(n)])


def funnel_score(x):
    v, y, narrow = x[:, 0], x[:, 1], np.exp(-x[:, 0])
    return np.column_stack([-v / 9 - 0.5 + y**2 * narrow / 2, -y * narrow])


def funnel_height(x):
    return -(x[:, 0] ** 2) / 18 - x[:, 0] / 2 - x[:, 1] ** 2 * np.exp(-x[:, 0]) / 2


DESIGN = RNG.standard_normal((400, 4))
ANSWERS = DESIGN @ [1.0, 0.0, -1.0, 2.0] + RNG.standard_normal(400)
COEFFICIENTS = np.linalg.lstsq(DESIGN, ANSWERS)[0] + 0.05 * RNG.standard_normal((500, 4))
SINGLE, SINGLE_ANSWERS = DESIGN.astype(np.float32), ANSWERS.astype(np.float32)


def regression(b):
    return (ANSWERS - b @ DESIGN.T) @ DESIGN


def single(b):
    return -0.5 * ((SINGLE_ANSWERS - b.astype(np.float32) @ SINGLE.T) ** 2).sum(axis=1)


def kept(z):
    return z[z[:, 0] < -3.0]


CAUCHY, WIDE = RNG.standard_t(1, size=(500, 3)), 1e7 + 1e-6 * RNG.standard_normal((500, 2))
RIGHT = {
    "funnel": (funnel(500), funnel_score, funnel_height),
    "neck": (kept(funnel(2000)), funnel_score, funnel_height),
    "steep and far": (WIDE, lambda x: -1e12 * (x - 1e7), lambda x: -0.5e12 * ((x - 1e7) ** 2).sum(axis=1)),
    "kinks": (RNG.laplace(size=(500, 3)), lambda x: -np.sign(x), lambda x: -np.abs(x).sum(axis=1)),
    "Cauchy": (CAUCHY, lambda x: -2.0 * x / (1.0 + x**2), lambda x: -np.log1p(x**2).sum(axis=1)),
    "single": (COEFFICIENTS, regression, single),
    "single, hidden": (COEFFICIENTS, regression, lambda b: single(b) + np.pi),
}


@pytest.mark.parametrize("case", RIGHT)
@pytest.mark.parametrize("seed", range(5))
def test_correct_scores_are_accepted(case, seed):
    draws, gradient, density = RIGHT[case]
    draws = np.random.default_rng(seed).permutation(draws)
    right = sk.Target(gradient, log_density=density)
    right.check_once(draws, gradient(draws))
    assert right.score_is_checked
    assert right.remarks == () or case == "steep and far"  # rounding leaves too few digits in this case
    assert right.check(draws[:10]) if "single" not in case else True


@pytest.mark.parametrize("case", [case for case in RIGHT if case != "steep and far"])
def test_scaled_scores_are_rejected(case):
    draws, gradient, density = RIGHT[case]
    wrong = sk.Target(lambda x: 0.9 * gradient(x), log_density=density)
    with pytest.raises(sk.InputError, match="not the gradient"):
        wrong.check_once(draws, 0.9 * gradient(draws))


def test_draws_near_an_undeclared_bound_are_compared():
    draws = RNG.exponential(size=(500, 2))
    edged = sk.Target(
        lambda x: np.full(x.shape, -1.0), log_density=lambda x: np.where((x > 0.0).all(axis=1), -x.sum(axis=1), -np.inf)
    )
    edged.check_once(draws, np.full(draws.shape, -1.0))
    assert edged.score_is_checked
    assert edged.remarks == ()


def test_a_log_density_that_raises_at_a_draw():
    with pytest.raises(sk.InputError, match="log_density raised ZeroDivisionError"):
        sk.verdict(DRAWS, sk.Target(score, log_density=lambda x: 1 / 0, names=NAMES))
