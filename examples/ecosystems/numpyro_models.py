"""Eight schools, a logistic regression and a simplex, sampled by NumPyro's NUTS.

The script requires ``pip install -e '.[numpyro]'``.
"""

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
from cases import COUNTS, EFFECTS, ERRORS, Table, centred_score, logistic_data, logistic_score, non_centred_score
from cases import settings as read_settings
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


def logistic(X, y):
    intercept = numpyro.sample("intercept", dist.Normal(0.0, 2.5))
    beta = numpyro.sample("beta", dist.Normal(0.0, 2.5).expand([X.shape[1]]).to_event(1))
    numpyro.sample("y", dist.Bernoulli(logits=intercept + X @ beta), obs=y)


def shares(counts):
    w = numpyro.sample("w", dist.Dirichlet(jnp.ones(len(counts))))
    numpyro.sample("counts", dist.Multinomial(total_count=counts.sum(), probs=w), obs=counts)


def shares_score(w):
    """Compute the score of the posterior Dirichlet(13, 31, 9) in logits of stick breaking."""
    alpha = COUNTS + 1.0
    first, second = w[:, 0], w[:, 1] / (1.0 - w[:, 0])  # independent: Beta(13, 40), Beta(31, 9), each with its |J|
    pairs = ((first, alpha[0], alpha[1:].sum()), (second, alpha[1], alpha[2]))
    return {f"logit {k}": a * (1.0 - x) - b * x for k, (x, a, b) in enumerate(pairs)}


def run(model, *args, seed, draws, **kwargs):
    """Run four vectorized chains of NUTS."""
    kernel = NUTS(model, target_accept_prob=0.95)
    mcmc = MCMC(kernel, num_warmup=1000, num_samples=draws, num_chains=4, chain_method="vectorized", progress_bar=False)
    mcmc.run(jax.random.key(seed), *args, **kwargs)
    return mcmc


def main():
    small = read_settings(__doc__).small
    draws = 500 if small else 2000
    table = Table("NumPyro")

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

    if not small:
        wrong = run(non_centred, ERRORS, EFFECTS, prior=dist.HalfNormal, seed=2, draws=draws)
        table.judge("eight schools, not centred", *sk.from_numpyro(non_centred, wrong, ERRORS, EFFECTS), right=False)
        table.judge("eight schools, centred", *sk.from_numpyro(schools, wrong, ERRORS, EFFECTS), right=False)

    X, y = logistic_data()
    target, sample = sk.from_numpyro(logistic, run(logistic, X, y, seed=3, draws=draws), X, y)
    table.judge("logistic regression", target, sample)
    by_hand = logistic_score(X, y, sample.points[:, 0], sample.points[:, 1:])
    table.agree("logistic regression", target.score(sample.points), by_hand, ("intercept", "beta"))
    table.cost("logistic regression", target, sample.points)

    mcmc = run(shares, COUNTS, seed=4, draws=draws)
    target, sample = sk.from_numpyro(shares, mcmc, COUNTS)
    table.judge("shares of three kinds (a simplex)", target, sample)
    w = np.asarray(mcmc.get_samples(group_by_chain=True)["w"], dtype=np.float64).reshape(-1, 3)
    by_hand = shares_score(w)
    table.agree("shares of three kinds", target.score(sample.points), by_hand, ("logit 0", "logit 1"))
    table.close()


if __name__ == "__main__":
    main()
