"""PyStan fits of eight schools in both forms, and of a logistic regression with a simplex.

Stan compiles the two programs when they are first used, which takes a few minutes. PyStan caches the compiled programs.
"""

from pathlib import Path

import numpy as np
import stan
from cases import (
    COUNTS,
    EFFECTS,
    ERRORS,
    Table,
    centred_score,
    logistic_data,
    logistic_score,
    non_centred_score,
    settings,
)

import steinkit as sk

SCHOOLS = Path(__file__).with_name("eight_schools.stan").read_text()

REGRESSION_AND_SHARES = """
data {
  int<lower=0> N;
  matrix[N, 2] X;
  array[N] int<lower=0, upper=1> y;
  array[3] int counts;
}
parameters {
  real intercept;
  vector[2] beta;
  simplex[3] w;
}
model {
  intercept ~ normal(0, 2.5);
  beta ~ normal(0, 2.5);
  y ~ bernoulli_logit(intercept + X * beta);
  counts ~ multinomial(w);
}
"""


def schools(*, centred, cauchy):
    data = {"J": len(EFFECTS), "y": EFFECTS, "sigma": ERRORS, "centred": int(centred), "cauchy": int(cauchy)}
    return stan.build(SCHOOLS, data=data, random_seed=1)


def shares_score(w):
    """Compute the score of w ~ Dirichlet(counts + 1) in logits of stick breaking, as in Stan."""
    alpha = COUNTS + 1.0
    z = np.column_stack([w[:, 0], w[:, 1] / (1.0 - w[:, 0])])
    return alpha[:2] - z * [alpha.sum(), alpha[1:].sum()]


def check_schools(table, draws):
    """Test draws of eight schools for both priors of tau, in both forms."""
    for centred, score_of in ((False, non_centred_score), (True, centred_score)):
        case = f"eight schools, {'centred' if centred else 'non-centred'}"
        model = schools(centred=centred, cauchy=True)
        fit = model.sample(**draws)
        target, sample = sk.from_pystan(fit)
        table.judge(case, target, sample)
        by_hand = score_of(sample.points[:, 0], sample.points[:, 1], sample.points[:, 2:])
        table.agree(case, target.score(sample.points), by_hand, tuple(by_hand))
        anywhere, _ = sk.from_pystan(fit, model)
        table.cost(case, anywhere, sample.points)
        _, wrong = sk.from_pystan(schools(centred=centred, cauchy=False).sample(**draws))
        table.judge(case, anywhere, wrong, right=False)


def main():
    small = settings(__doc__).small
    table = Table("pystan")
    draws = {"num_chains": 2, "num_samples": 1000 if small else 4000, "delta": 0.99}
    if not small:
        check_schools(table, draws)

    X, y = logistic_data()
    model = stan.build(REGRESSION_AND_SHARES, data={"N": len(y), "X": X, "y": y, "counts": COUNTS}, random_seed=1)
    fit = model.sample(**draws)
    target, sample = sk.from_pystan(fit)
    table.judge("logistic regression and shares", target, sample)
    by_hand = logistic_score(X, y, sample.points[:, 0], sample.points[:, 1:3])
    w = fit["w"].T
    by_hand["w"] = shares_score(w.reshape(-1, 2, 3).swapaxes(0, 1).reshape(-1, 3))
    table.agree("logistic regression and shares", target.score(sample.points), by_hand, ("intercept", "beta", "w"))
    table.close()


if __name__ == "__main__":
    main()
