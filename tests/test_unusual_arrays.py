"""Arguments and return values with masked entries or imaginary parts are refused."""

import numpy as np
import pytest

import steinkit as sk

RNG = np.random.default_rng(0)
POINTS = RNG.normal(size=(50, 2))
ONES = np.ones(50)
NORMAL = sk.targets.Normal([0.0, 0.0])


def masked(values):
    """Return an array with its last entry masked."""
    values = np.asarray(values, dtype=float)
    return np.ma.array(values, mask=np.arange(values.size).reshape(values.shape) == values.size - 1)


def turned(values):
    return np.asarray(values) * (1.0 + 1e-3j)


def height(x):
    return -0.5 * (x**2).sum(axis=1)


def posterior(**changed):
    functions = {
        "log_likelihood": lambda theta, y: -0.5 * (y - theta[0]) ** 2,
        "grad_log_likelihood": lambda theta, y: np.array([(y - theta[0]).sum()]),
        "log_prior": height,
        "grad_log_prior": np.negative,
    }
    return sk.Posterior(data=(np.arange(5.0),), dim=1, **functions | changed)


class Ensemble:
    """A sampler with an emcee chain."""

    def __init__(self, chain):
        self.get_chain = lambda: chain


TAKES = {
    "draws": lambda of: sk.verdict(of(POINTS), NORMAL),
    "list of draws": lambda of: sk.Sample(list(of(POINTS))),
    "list of chains": lambda of: sk.Sample([of(POINTS), of(POINTS)]),
    "draws by name": lambda of: sk.as_sample({"a": list(of(POINTS))}),
    "chains by name": lambda of: sk.as_sample({"a": [of(ONES), of(ONES)]}, dims=("chain", "draw")),
    "ensemble": lambda of: sk.as_sample(Ensemble(of(np.zeros((20, 4, 2))))),
    "weights": lambda of: sk.verdict(POINTS, NORMAL, weights=of(ONES)),
    "list of weights": lambda of: sk.Sample(POINTS, weights=list(of(ONES))),
    "energy": lambda of: sk.Sample(POINTS, energy=of(ONES)),
    "scores": lambda of: sk.verdict(POINTS, scores=of(-POINTS)),
    "list of scores": lambda of: sk.graph_stein_discrepancy(POINTS, scores=list(of(-POINTS))),
    "score": lambda of: sk.Target(lambda x: of(-x)).score(POINTS),
    "log density": lambda of: sk.Target(log_density=lambda x: of(height(x)), dim=2).log_density(POINTS),
    "sampler": lambda of: sk.Target(np.negative, sampler=lambda n, rng: of(POINTS[:n]), dim=2).sample(4),
    "points": lambda of: NORMAL.score(of(POINTS)),
    "bounds": lambda of: sk.Target(np.negative, bounds=of([[-9.0, 9.0], [-9.0, 9.0]])),
    "units": lambda of: sk.graph_stein_discrepancy(POINTS, NORMAL, units=of([1.0, 1.0])),
    "stein factors": lambda of: sk.graph_stein_discrepancy(POINTS, NORMAL, stein_factors=of([1.0, 1.0, 1.0])),
    "mean": lambda of: sk.targets.Normal(of([0.0, 1.0])),
    "covariance": lambda of: sk.targets.Normal([0.0, 0.0], covariance=of(np.eye(2))),
    "data": lambda of: sk.targets.GaussianMean(of(POINTS)),
    "responses": lambda of: sk.targets.LogisticRegression(POINTS, of(ONES)),
}
IMAGINARY = {
    "function": lambda of: sk.estimate_bias(POINTS, NORMAL, functions={"f": lambda x: of(x[:, 0])}),
    "cdf": lambda of: sk.targets.Normal().cdf(of([1.0])),
    "proposals": lambda of: sk.Target(log_density=lambda x: of(height(x)), dim=2).proposal_log_density(POINTS),
    "score at proposals": lambda of: sk.Target(lambda x: of(-x)).proposal_score(POINTS),
    "log likelihood": lambda of: posterior(log_likelihood=lambda theta, y: of(y)).log_density([[0.1]]),
    "gradient": lambda of: posterior(grad_log_likelihood=lambda theta, y: of([y.sum()])).score([[0.1]]),
    "log prior": lambda of: posterior(log_prior=lambda x: of(height(x))).log_density([[0.1]]),
    "prior's gradient": lambda of: sk.samplers.mala(posterior(grad_log_prior=of), step_size=0.1, draws=5),
}


@pytest.mark.parametrize("take", TAKES.values(), ids=TAKES)
def test_masked_entries_are_refused(take):
    with pytest.raises(sk.SteinkitError, match="masked"):
        take(masked)


@pytest.mark.parametrize("take", (TAKES | IMAGINARY).values(), ids=TAKES | IMAGINARY)
@pytest.mark.filterwarnings("error")
def test_imaginary_parts_are_refused(take):
    with pytest.raises(
        sk.SteinkitError, match=r"complex|real numbers|number or an array of numbers|sequence of numbers"
    ):
        take(turned)


@pytest.mark.filterwarnings("error")
def test_masks_and_imaginary_parts_without_effect_are_accepted():
    assert (sk.Sample(np.ma.array(POINTS), weights=np.ma.array(ONES)).points == POINTS).all()
    target = sk.Target(lambda x: -x + 0.0j, log_density=lambda x: height(x) + 0.0j, bounds=np.array([[-9, 9]] * 2) + 0j)
    np.testing.assert_array_equal(target.score(POINTS), -POINTS)
    np.testing.assert_array_equal(target.log_density(POINTS), height(POINTS))
    assert target.bounds.dtype == np.float64
