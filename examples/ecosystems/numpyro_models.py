"""Eight schools in both forms, and a logistic regression with a simplex, sampled by NumPyro's NUTS.

The script requires ``pip install -e '.[numpyro]'``.
"""

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
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
from numpyro.handlers import reparam
from numpyro.infer import MCMC, NUTS
from numpyro.infer.reparam import LocScaleReparam

import steinkit as sk


def schools(errors, effects, prior=dist.HalfCauchy):
    mu = numpyro.sample("mu", dist.Normal(0.0, 5.0))
    tau = numpyro.sample("tau", prior(5.0 if prior is dist.HalfCauchy else 1.0))
    with numpyro.plate("school", len(effects)):
        theta = numpyro.sample("theta", dist.Normal(mu, tau))
        numpyro.sample("y", dist.Normal(theta, errors), obs=effects)


non_centred = reparam(schools, config={"theta": LocScaleReparam(centered=0.0)})


def regression_and_shares(X, y, counts):
    intercept = numpyro.sample("intercept", dist.Normal(0.0, 2.5))
    beta = numpyro.sample("beta", dist.Normal(0.0, 2.5).expand([X.shape[1]]).to_event(1))
    numpyro.sample("y", dist.Bernoulli(logits=intercept + X @ beta), obs=y)
    w = numpyro.sample("w", dist.Dirichlet(jnp.ones(len(counts))))
    numpyro.sample("counts", dist.Multinomial(total_count=counts.sum(), probs=w), obs=counts)


def shares_score(w):
    """Compute the score of the posterior Dirichlet(13, 31, 9) in logits of stick breaking."""
    alpha = COUNTS + 1.0
    sticks = np.column_stack([w[:, 0], w[:, 1] / (1.0 - w[:, 0])])  # independent: Beta(13, 40), Beta(31, 9)
    return alpha[:2] - sticks * [alpha.sum(), alpha[1:].sum()]


def run(model, *args, seed, draws, **kwargs):
    """Run four vectorized chains of NUTS."""
    kernel = NUTS(model, target_accept_prob=0.95)
    mcmc = MCMC(kernel, num_warmup=1000, num_samples=draws, num_chains=4, chain_method="vectorized", progress_bar=False)
    mcmc.run(jax.random.key(seed), *args, **kwargs)
    return mcmc


def check_schools(table, draws):
    """Test draws of eight schools for both priors of tau, in both forms."""
    mcmc = run(non_centred, ERRORS, EFFECTS, seed=1, draws=draws)
    target, sample = sk.from_numpyro(non_centred, mcmc, ERRORS, EFFECTS)
    table.judge("eight schools, not centred", target, sample)
    x = sample.points
    by_hand = non_centred_score(x[:, 0], x[:, 1], x[:, 2:])
    table.agree("eight schools, not centred", target.score(x), by_hand, ("mu", "log_tau", "z"))
    table.cost("eight schools, not centred", target, x)

    # theta is a deterministic site of the same run: the draws of mu, tau and theta are those of the centered model
    target, sample = sk.from_numpyro(schools, mcmc, ERRORS, EFFECTS)
    table.judge("eight schools, centred", target, sample)
    x = sample.points
    table.agree(
        "eight schools, centred",
        target.score(x),
        centred_score(x[:, 0], x[:, 1], x[:, 2:]),
        ("mu", "log_tau", "theta"),
    )
    table.cost("eight schools, centred", target, x)

    wrong = run(non_centred, ERRORS, EFFECTS, prior=dist.HalfNormal, seed=2, draws=draws)
    table.judge("eight schools, not centred", *sk.from_numpyro(non_centred, wrong, ERRORS, EFFECTS), right=False)
    table.judge("eight schools, centred", *sk.from_numpyro(schools, wrong, ERRORS, EFFECTS), right=False)


def main():
    small = settings(__doc__).small
    draws = 500 if small else 2000
    table = Table("NumPyro")
    if not small:
        check_schools(table, draws)

    data = (*logistic_data(), COUNTS)
    mcmc = run(regression_and_shares, *data, seed=3, draws=draws)
    target, sample = sk.from_numpyro(regression_and_shares, mcmc, *data)
    table.judge("logistic regression and a simplex", target, sample)
    by_hand = logistic_score(*data[:2], sample.points[:, 0], sample.points[:, 1:3])
    by_hand["w"] = shares_score(np.asarray(mcmc.get_samples(group_by_chain=True)["w"], dtype=np.float64).reshape(-1, 3))
    table.agree("logistic regression and a simplex", target.score(sample.points), by_hand, ("intercept", "beta", "w"))
    table.cost("logistic regression and a simplex", target, sample.points)
    table.close()


if __name__ == "__main__":
    main()
