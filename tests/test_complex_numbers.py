"""Numbers with an imaginary part are refused."""

import numpy as np
import pytest

import steinkit as sk

RNG = np.random.default_rng(0)
POINTS = RNG.normal(size=(50, 2))
NORMAL = sk.targets.Normal([0.0, 0.0])
TURN = 1.0 + 1e-3j


def height(x):
    return -0.5 * (x**2).sum(axis=1)


def posterior(turned):
    functions = {
        "log_likelihood": lambda theta, y: -0.5 * (y - theta[0]) ** 2,
        "grad_log_likelihood": lambda theta, y: np.array([(y - theta[0]).sum()]),
        "log_prior": height,
        "grad_log_prior": np.negative,
    }
    own = functions[turned]
    functions[turned] = lambda *arguments: TURN * own(*arguments)
    return sk.Posterior(data=(np.arange(5.0),), dim=1, **functions)


TAKES = {
    "score": lambda: sk.verdict(POINTS, sk.Target(lambda x: -x * TURN)),
    "log density": lambda: sk.Target(log_density=lambda x: TURN * height(x), dim=2).log_density(POINTS),
    "log density at proposals": lambda: sk.Target(log_density=lambda x: TURN * height(x), dim=2).proposal_log_density(
        POINTS
    ),
    "score at proposals": lambda: sk.Target(lambda x: -x * TURN).proposal_score(POINTS),
    "scores": lambda: sk.verdict(POINTS, scores=-POINTS * TURN),
    "draws": lambda: sk.verdict(POINTS * TURN, NORMAL),
    "list of draws": lambda: sk.Sample((POINTS * TURN).tolist()),
    "draws by name": lambda: sk.as_sample({"a": POINTS[:, 0] * TURN}),
    "weights": lambda: sk.verdict(POINTS, NORMAL, weights=np.full(50, TURN)),
    "energy": lambda: sk.Sample(POINTS, energy=np.full(50, TURN)),
    "bounds": lambda: sk.Target(np.negative, bounds=[[-9.0 * TURN, 9.0], [-9.0, 9.0]]),
    "units": lambda: sk.graph_stein_discrepancy(POINTS, NORMAL, units=[TURN, 1.0]),
    "covariance": lambda: sk.targets.Normal([0.0, 0.0], covariance=np.eye(2) * TURN),
    "stein factors": lambda: sk.graph_stein_discrepancy(POINTS, NORMAL, stein_factors=np.array([TURN, 1.0, 1.0])),
    "function": lambda: sk.estimate_bias(POINTS, NORMAL, functions={"f": lambda x: x[:, 0] * TURN}),
    "points": lambda: NORMAL.score(POINTS * TURN),
    "cdf": lambda: sk.targets.Normal().cdf([TURN]),
    "sampler": lambda: sk.Target(np.negative, sampler=lambda n, rng: POINTS[:n] * TURN, dim=2).sample(4),
    "log likelihood": lambda: posterior("log_likelihood").log_density([[0.1]]),
    "its gradient": lambda: posterior("grad_log_likelihood").score([[0.1]]),
    "log prior": lambda: posterior("log_prior").log_density([[0.1]]),
    "prior's gradient": lambda: posterior("grad_log_prior").score([[0.1]]),
    "sampler's gradient": lambda: sk.samplers.mala(posterior("grad_log_prior"), step_size=0.1, draws=5),
}


@pytest.mark.parametrize("take", TAKES.values(), ids=TAKES)
@pytest.mark.filterwarnings("error")
def test_imaginary_parts_are_refused(take):
    with pytest.raises(
        sk.SteinkitError, match=r"complex|real numbers|number or an array of numbers|sequence of numbers"
    ):
        take()


@pytest.mark.filterwarnings("error")
def test_an_imaginary_part_of_zero_is_accepted():
    bounds = np.array([[-9.0, 9.0], [-9.0, 9.0]]) + 0.0j
    target = sk.Target(lambda x: -x + 0.0j, log_density=lambda x: height(x) + 0.0j, bounds=bounds)
    np.testing.assert_array_equal(target.score(POINTS), -POINTS)
    np.testing.assert_array_equal(target.log_density(POINTS), height(POINTS))
    assert target.bounds.dtype == np.float64
