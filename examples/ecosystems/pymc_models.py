"""Draws from `pm.sample` for eight schools in both forms, and for a logistic regression with a simplex.

Before sampling, PyMC compiles each model, either to C (with a cache) or, since version 6, with Numba.
"""

import logging

import numpy as np
import pymc as pm
from cases import (
    COUNTS,
    EFFECTS,
    ERRORS,
    SCHOOLS,
    Table,
    centred_score,
    logistic_data,
    logistic_score,
    non_centred_score,
    settings,
)

import steinkit as sk


def schools(*, centred, tau=lambda: pm.HalfCauchy("tau", 5.0)):
    with pm.Model(coords={"school": SCHOOLS}) as model:
        mu = pm.Normal("mu", 0.0, 5.0)
        tau = tau()
        if centred:
            theta = pm.Normal("theta", mu, tau, dims="school")
        else:
            z = pm.Normal("z", dims="school")
            theta = pm.Deterministic("theta", mu + tau * z, dims="school")
        pm.Normal("y", theta, ERRORS, observed=EFFECTS, dims="school")
    return model


def regression_and_shares(X, y):
    with pm.Model() as model:
        intercept = pm.Normal("intercept", 0.0, 2.5)
        beta = pm.Normal("beta", 0.0, 2.5, shape=2)
        pm.Bernoulli("y", logit_p=intercept + pm.math.dot(X, beta), observed=y)
        shares()
    return model


def shares():
    """Add a simplex to the current model."""
    w = pm.Dirichlet("w", np.ones(3))
    pm.Multinomial("counts", COUNTS.sum(), w, observed=COUNTS)


def only_shares():
    with pm.Model() as model:
        shares()
    return model


def shares_score(w):
    """Compute the score of w ~ Dirichlet(counts + 1) in u_k = log w_k - mean of log w, k = 0, 1, as in PyMC.

    The density in u is w_0^14 w_1^32 w_2^10 / (w_0 w_1 w_2) times |J|, proportional to w_0 w_1 w_2; and
    d log w_j / du_k = 1(j = k) - 1(j = 2) - (w_k - w_2).
    """
    alpha = COUNTS + 1.0
    return alpha[:2] - alpha[2] - alpha.sum() * (w[:, :2] - w[:, 2:])


def check_schools(table, draws):
    """Test draws of eight schools for both priors of tau, in both forms."""
    for centred, score_of in ((False, non_centred_score), (True, centred_score)):
        case = f"eight schools, {'centred' if centred else 'non-centred'}"
        model = schools(centred=centred)
        idata = pm.sample(model=model, target_accept=0.99, **draws)
        target, sample = sk.from_pymc(model, idata)
        table.judge(case, target, sample)
        mu, log_tau, z = sample.points[:, 0], sample.points[:, 1], sample.points[:, 2:]
        table.agree(case, target.score(sample.points), score_of(mu, log_tau, z), tuple(score_of(mu, log_tau, z)))
        table.cost(case, target, sample.points)

    case = "eight schools, non-centred, HalfNormal(1) for HalfCauchy(5)"
    idata = pm.sample(model=schools(centred=False, tau=lambda: pm.HalfNormal("tau", 1.0)), **draws)
    target, sample = sk.from_pymc(schools(centred=False), idata)
    table.judge(case, target, sample, right=False)
    target, sample = sk.from_pymc(schools(centred=True), idata)  # the same draws, expressed in terms of theta
    table.judge("the same, centred", target, sample, right=False)


def main():
    small = settings(__doc__).small
    logging.getLogger("pymc").setLevel(logging.ERROR)
    table = Table("pymc")
    size = 500 if small else 4000
    draws = {"chains": 2, "cores": 1, "draws": size, "tune": min(size, 1000), "random_seed": 1, "progressbar": False}
    if not small:
        check_schools(table, draws)

    X, y = logistic_data()
    case = "simplex" if small else "logistic regression and a simplex"
    model = only_shares() if small else regression_and_shares(X, y)
    idata = pm.sample(model=model, **draws)
    target, sample = sk.from_pymc(model, idata)
    table.judge(case, target, sample)
    by_hand = {} if small else logistic_score(X, y, sample.points[:, 0], sample.points[:, 1:3])
    by_hand["w"] = shares_score(idata.posterior["w"].values.reshape(-1, 3))
    table.agree(case, target.score(sample.points), by_hand, tuple(by_hand))
    table.cost(case, target, sample.points)
    table.close()


if __name__ == "__main__":
    main()
