"""Log densities of pytrees, sampled by BlackJAX's NUTS.

BlackJAX has no transforms. Positive parameters and simplexes are therefore expressed in terms of unconstrained
parameters, and the log density includes log |J|. The script requires ``pip install -e '.[blackjax]'``.
"""

import blackjax
import jax
import jax.numpy as jnp
import numpy as np
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
from jax.scipy.stats import cauchy, norm

import steinkit as sk

y, sigma = jnp.asarray(EFFECTS), jnp.asarray(ERRORS)
X, response = map(jnp.asarray, logistic_data())
counts = jnp.asarray(COUNTS)


def half_cauchy(log_tau):
    return cauchy.logpdf(jnp.exp(log_tau), scale=5.0) + log_tau


def half_normal(log_tau):
    return norm.logpdf(jnp.exp(log_tau)) + log_tau


def non_centred(x, prior=half_cauchy):
    theta = x["mu"] + jnp.exp(x["log_tau"]) * x["z"]
    likelihood = norm.logpdf(y, theta, sigma).sum()
    return norm.logpdf(x["mu"], scale=5.0) + prior(x["log_tau"]) + norm.logpdf(x["z"]).sum() + likelihood


def centred(x):
    likelihood = norm.logpdf(y, x["theta"], sigma).sum()
    effects = norm.logpdf(x["theta"], x["mu"], jnp.exp(x["log_tau"])).sum()
    return norm.logpdf(x["mu"], scale=5.0) + half_cauchy(x["log_tau"]) + effects + likelihood


def regression_and_shares(x):
    """Log density of a logistic regression, and of probabilities w in log ratios to the last one.

    The factor |J| is the product of w.
    """
    logits = x["intercept"] + X @ x["beta"]
    prior = norm.logpdf(x["intercept"], scale=2.5) + norm.logpdf(x["beta"], scale=2.5).sum()
    log_w = jax.nn.log_softmax(jnp.append(x["ratios"], 0.0))
    return prior + (response * logits - jnp.logaddexp(0.0, logits)).sum() + (counts * log_w).sum() + log_w.sum()


def shares_score(ratios):
    """Compute the score of the posterior Dirichlet(13, 31, 9) in log ratios to the last probability."""
    w = np.exp(np.column_stack([ratios, np.zeros(len(ratios))]))
    w /= w.sum(axis=1, keepdims=True)
    alpha = COUNTS + 1.0
    return (alpha - alpha.sum() * w)[:, :-1]


def run(logdensity, start, *, seed, draws, chains=4):
    """Run NUTS and return its states, stacked over chains and draws."""
    warm, key = jax.random.split(jax.random.key(seed))
    adaptation = blackjax.window_adaptation(blackjax.nuts, logdensity, target_acceptance_rate=0.95)
    (state, parameters), _ = adaptation.run(warm, start, num_steps=1000)
    step = blackjax.nuts(logdensity, **parameters).step

    def chain(key):
        return jax.lax.scan(lambda now, k: (step(k, now)[0],) * 2, state, jax.random.split(key, draws))[1]

    return jax.jit(jax.vmap(chain))(jax.random.split(key, chains))


def with_effects(states):
    """Return the positions of the non-centered model with theta instead of z."""
    mu, log_tau, z = (states.position[name] for name in ("mu", "log_tau", "z"))
    return {"mu": mu, "log_tau": log_tau, "theta": mu[..., None] + jnp.exp(log_tau)[..., None] * z}


def check_schools(table, draws, dims, *, small):
    """Test draws of eight schools; if not small, for both priors of tau and in both forms."""
    start = {"mu": jnp.array(4.0), "log_tau": jnp.array(1.0), "z": jnp.zeros(8)}

    states = run(non_centred, start, seed=1, draws=draws)
    target, sample = sk.from_blackjax(non_centred, states, dims=dims)
    table.judge("eight schools, not centred", target, sample)
    x = sample.points  # coordinates in the order of JAX's pytrees: log_tau, mu, z
    by_hand = non_centred_score(x[:, 1], x[:, 0], x[:, 2:])
    table.agree("eight schools, not centred", target.score(x), by_hand, ("log_tau", "mu", "z"))
    table.cost("eight schools, not centred", target, x)
    table.judge("the same, by the gradients that NUTS stored", *sk.from_blackjax(None, states, dims=dims))
    if small:
        return

    target, sample = sk.from_blackjax(centred, with_effects(states), dims=dims)
    table.judge("eight schools, centred", target, sample)
    x = sample.points  # log_tau, mu, theta
    by_hand = centred_score(x[:, 1], x[:, 0], x[:, 2:])
    table.agree("eight schools, centred", target.score(x), by_hand, ("log_tau", "mu", "theta"))
    table.cost("eight schools, centred", target, x)

    wrong = run(lambda x: non_centred(x, half_normal), start, seed=2, draws=draws)
    positions = wrong.position  # because the states show that they were generated for another density
    table.judge("eight schools, not centred", *sk.from_blackjax(non_centred, positions, dims=dims), right=False)
    table.judge("eight schools, centred", *sk.from_blackjax(centred, with_effects(wrong), dims=dims), right=False)


def check_regression(table, draws, dims):
    """Test draws of a logistic regression and a simplex."""
    start = {"intercept": jnp.array(0.0), "beta": jnp.zeros(2), "ratios": jnp.zeros(2)}
    states = run(regression_and_shares, start, seed=3, draws=draws)
    target, sample = sk.from_blackjax(regression_and_shares, states, dims=dims)
    table.judge("logistic regression and a simplex", target, sample)
    x = sample.points  # beta, intercept, ratios
    data = np.asarray(X, dtype=np.float64), np.asarray(response)  # in single precision, which the model uses
    by_hand = logistic_score(*data, x[:, 2], x[:, :2]) | {"ratios": shares_score(x[:, 3:])}
    table.agree("logistic regression and a simplex", target.score(x), by_hand, ("beta", "intercept", "ratios"))
    table.cost("logistic regression and a simplex", target, x)


def main():
    small = settings(__doc__).small
    draws, dims = 500 if small else 2000, ("chain", "draw")
    table = Table("BlackJAX")
    check_schools(table, draws, dims, small=small)
    if not small:
        check_regression(table, draws, dims)
    table.close()


if __name__ == "__main__":
    main()
