"""Log densities without gradients, written in NumPy and sampled by emcee.

The scores are computed by central differences. emcee does not transform parameters. The parameter tau is therefore
represented by its logarithm, and the log density includes log |J|. The last log density is -inf outside a triangle.
"""

import warnings

import emcee
import numpy as np
from cases import EFFECTS, ERRORS, Table, centred_score, logistic_data, logistic_score, non_centred_score, settings

import steinkit as sk

X, RESPONSE = logistic_data()
NAMES = ("mu", "log tau", *(f"z[{k}]" for k in range(8)))


def cauchy_prior(tau):
    return -np.log1p((tau / 5.0) ** 2)


def wrong_prior(tau):
    return -0.5 * tau**2


def non_centred(x, prior=cauchy_prior):
    mu, tau, z = x[:, 0], np.exp(x[:, 1]), x[:, 2:]
    residuals = (EFFECTS - mu[:, None] - tau[:, None] * z) / ERRORS
    return -(mu**2) / 50.0 + prior(tau) + x[:, 1] - 0.5 * (z**2).sum(axis=1) - 0.5 * (residuals**2).sum(axis=1)


def centred(x):
    mu, tau, theta = x[:, 0], np.exp(x[:, 1]), x[:, 2:]
    spread = ((theta - mu[:, None]) ** 2).sum(axis=1) / tau**2 + (((EFFECTS - theta) / ERRORS) ** 2).sum(axis=1)
    return -(mu**2) / 50.0 + cauchy_prior(tau) + (1.0 - len(EFFECTS)) * x[:, 1] - 0.5 * spread


def logistic(x):
    logits = x[:, :1] + x[:, 1:] @ X.T
    return -(x**2).sum(axis=1) / 12.5 + (RESPONSE * logits - np.logaddexp(0.0, logits)).sum(axis=1)


def shares(x):
    """Log density of two of three probabilities for counts 12, 30 and 8.

    It is -inf outside the triangle.
    """
    rest = 1.0 - x.sum(axis=1)
    inside = (x > 0.0).all(axis=1) & (rest > 0.0)
    safe = np.where(inside[:, None], np.column_stack([x, rest]), 1.0)
    return np.where(inside, np.log(safe) @ [12.0, 30.0, 8.0], -np.inf)


def ensemble(log_density, start, steps, *, spread=1.0, walkers=40, seed=1, **options):
    """Run an ensemble from walkers as dispersed as the posterior.

    An ensemble that starts in a small ball expands slowly.
    """
    sampler = emcee.EnsembleSampler(walkers, len(start), log_density, vectorize=True, **options)
    sampler.random_state = np.random.MT19937(seed).state
    sampler.run_mcmc(start + spread * np.random.default_rng(seed).standard_normal((walkers, len(start))), steps)
    return sampler


def in_centred_form(sample):
    points = sample.points.copy()
    points[:, 2:] = points[:, :1] + np.exp(points[:, 1:2]) * points[:, 2:]
    return sk.Sample(points=points, chain=sample.chain, draw=sample.draw)


def check_schools(table, steps):
    """Test draws of eight schools for both priors of tau, in both forms."""
    kept = {"discard": steps // 5, "thin": steps // 50}
    start = np.array([4.0, 1.0, *np.zeros(8)])
    case = "eight schools, non-centred"
    target, sample = sk.from_emcee(ensemble(non_centred, start, steps), names=NAMES, **kept)
    table.judge(case, target, sample)
    by_hand = non_centred_score(sample.points[:, 0], sample.points[:, 1], sample.points[:, 2:])
    table.agree(case, target.score(sample.points), by_hand, tuple(by_hand))
    table.cost(case, target, sample.points)
    _, wrong = sk.from_emcee(ensemble(non_centred, start, steps, kwargs={"prior": wrong_prior}), names=NAMES, **kept)
    table.judge(case, target, wrong, right=False)

    case = "eight schools, centred"  # transformed draws, because no ensemble moves into the funnel
    target = sk.Target(log_density=centred, label=case, dim=10)
    table.judge(case, target, in_centred_form(wrong), right=False)
    moved = in_centred_form(sample)
    table.judge(case, target, moved)
    by_hand = centred_score(moved.points[:, 0], moved.points[:, 1], moved.points[:, 2:])
    table.agree(case, target.score(moved.points), by_hand, tuple(by_hand))


def main():
    small = settings(__doc__).small
    warnings.filterwarnings("ignore", ".*has no score; it was computed", sk.SteinkitWarning)
    steps = 6000 if small else 30000
    table = Table("emcee")
    if not small:
        check_schools(table, steps)

    target, sample = sk.from_emcee(
        ensemble(logistic, np.zeros(3), steps // 2, spread=0.3), discard=steps // 10, thin=steps // 100
    )
    table.judge("logistic regression", target, sample)
    by_hand = logistic_score(X, RESPONSE, sample.points[:, 0], sample.points[:, 1:])
    table.agree("logistic regression", target.score(sample.points), by_hand, tuple(by_hand))
    table.cost("logistic regression", target, sample.points)

    sampler = ensemble(shares, np.array([0.3, 0.5]), steps // 2, spread=0.05)
    target, sample = sk.from_emcee(sampler, names=["a", "b"], discard=steps // 10, thin=steps // 100)
    table.judge("shares on a simplex", target, sample)
    a, b = sample.points.T
    by_hand = {"a": 12.0 / a - 8.0 / (1.0 - a - b), "b": 30.0 / b - 8.0 / (1.0 - a - b)}
    table.agree("shares on a simplex", target.score(sample.points), by_hand, ("a", "b"))
    narrow = np.random.default_rng(1).dirichlet([26.0, 62.0, 18.0], 2000)  # twice the parameters of the posterior
    table.judge("shares on a simplex", target, sk.Sample(narrow[:, :2], names=["a", "b"]), right=False)
    table.close()


if __name__ == "__main__":
    main()
