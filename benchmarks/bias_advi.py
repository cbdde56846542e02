"""Accuracy of `steinkit.estimate_bias` for mean-field and full-rank variational fits by PyMC and NumPyro.

    python benchmarks/bias_advi.py    # ten minutes; requires PyMC and NumPyro; --of pymc selects one of them

There are three models in each library, and one of them is hierarchical. The reference values are computed from long
NUTS chains, and comparisons account for their standard errors. In addition to the fits, a thousand other draws from
NUTS are evaluated. The columns are those of `bias.py`. All quantities refer to the scale on which the library samples.
"""

from __future__ import annotations

import argparse
import logging
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from bias import Cell, print_cells
from bias_problems import Problem, Truth
from scipy.special import expit

import steinkit as sk

BLOCKS = 40  # number of blocks of the long chains, treated as independent


def hierarchical_data() -> tuple[Any, ...]:
    """Simulate twenty groups of binary data with two covariates: groups, covariates, responses."""
    rng = np.random.default_rng(21)
    group, features = np.repeat(np.arange(20), 12), rng.standard_normal((240, 2))
    odds = 0.5 + 0.8 * rng.standard_normal(20)[group] + features @ np.array([0.7, -0.4])
    return group, features, rng.random(240) < expit(odds)


def line_data() -> tuple[Any, ...]:
    """Simulate forty data points about a line with Student's t errors."""
    rng = np.random.default_rng(22)
    x = rng.standard_normal(40)
    return x, 1.0 + 0.5 * x + rng.standard_t(4.0, 40)


def count_data() -> tuple[Any, ...]:
    """Simulate fifty negative binomial counts with three correlated covariates."""
    rng = np.random.default_rng(23)
    features = rng.standard_normal((50, 3)) @ np.array([[1.0, 0.8, 0.0], [0.0, 0.6, 0.5], [0.0, 0.0, 0.8]])
    mean = np.exp(0.5 + features @ np.array([0.5, -0.3, 0.2]))
    return features, rng.negative_binomial(2.0, 2.0 / (2.0 + mean))


MODELS = ("hierarchy", "robust line", "overdispersed counts")


def pymc_model(name: str) -> Any:
    """Define one of the three models in PyMC."""
    import pymc

    with pymc.Model() as model:
        if name == "hierarchy":
            group, features, responses = hierarchical_data()
            tau = pymc.HalfNormal("tau", 1.0)
            mu, effects = pymc.Normal("mu", 0.0, 2.0), pymc.Normal("effects", 0.0, 1.0, shape=20)
            slopes = pymc.Normal("slopes", 0.0, 1.0, shape=2)
            logits = mu + tau * effects[group] + pymc.math.dot(features, slopes)
            pymc.Bernoulli("y", logit_p=logits, observed=responses)
        elif name == "robust line":
            x, y = line_data()
            a, b = pymc.Normal("a", 0.0, 3.0), pymc.Normal("b", 0.0, 3.0)
            scale, freedom = pymc.HalfNormal("scale", 2.0), pymc.Gamma("freedom", 2.0, 0.1)
            pymc.StudentT("y", nu=freedom, mu=a + b * x, sigma=scale, observed=y)
        else:
            features, counts = count_data()
            level, slopes = pymc.Normal("level", 0.0, 2.0), pymc.Normal("slopes", 0.0, 1.0, shape=3)
            alpha = pymc.Exponential("alpha", 1.0)
            mu = pymc.math.exp(level + pymc.math.dot(features, slopes))
            pymc.NegativeBinomial("y", mu=mu, alpha=alpha, observed=counts)
    return model


def numpyro_model(name: str) -> Callable[[], None]:
    """Define one of the three models in NumPyro."""
    import jax.numpy as jnp
    from numpyro import distributions as dist
    from numpyro import sample

    def hierarchy() -> None:
        group, features, responses = hierarchical_data()
        tau, mu = sample("tau", dist.HalfNormal(1.0)), sample("mu", dist.Normal(0.0, 2.0))
        effects = sample("effects", dist.Normal(0.0, 1.0).expand([20]).to_event(1))
        slopes = sample("slopes", dist.Normal(0.0, 1.0).expand([2]).to_event(1))
        sample("y", dist.Bernoulli(logits=mu + tau * effects[group] + features @ slopes), obs=responses)

    def line() -> None:
        x, y = line_data()
        a, b = sample("a", dist.Normal(0.0, 3.0)), sample("b", dist.Normal(0.0, 3.0))
        scale, freedom = sample("scale", dist.HalfNormal(2.0)), sample("freedom", dist.Gamma(2.0, 0.1))
        sample("y", dist.StudentT(freedom, a + b * x, scale), obs=y)

    def counts() -> None:
        features, responses = count_data()
        level = sample("level", dist.Normal(0.0, 2.0))
        slopes = sample("slopes", dist.Normal(0.0, 1.0).expand([3]).to_event(1))
        alpha = sample("alpha", dist.Exponential(1.0))
        sample("y", dist.NegativeBinomial2(jnp.exp(level + features @ slopes), alpha), obs=responses)

    return {"hierarchy": hierarchy, "robust line": line, "overdispersed counts": counts}[name]


def by_pymc(name: str, draws: int, seed: int) -> Iterator[Problem]:
    """Return draws from PyMC's NUTS and from both PyMC fits."""
    import pymc

    quiet: dict[str, Any] = {"progressbar": False, "random_seed": seed}
    nuts: dict[str, Any] = {"tune": 1000, "chains": 4, "cores": 1, "compute_convergence_checks": False}
    with pymc_model(name) as model:
        long = pymc.sample(draws, **nuts, **quiet)
        short = pymc.sample(250, **nuts, progressbar=False, random_seed=seed + 1)
        made = {
            kind: pymc.fit(20_000, method=method, **quiet).sample(1000, random_seed=seed)
            for kind, method in (("mean field", "advi"), ("full rank", "fullrank_advi"))
        }
    yield from _problems(f"{name}, PyMC", lambda found: sk.from_pymc(model, found), long, short, made)


def by_numpyro(name: str, draws: int, seed: int) -> Iterator[Problem]:
    """Return draws from NumPyro's NUTS and from both automatic guides."""
    import jax
    from numpyro.infer import MCMC, NUTS, SVI, Trace_ELBO, autoguide
    from numpyro.optim import Adam

    model, keys = numpyro_model(name), jax.random.split(jax.random.key(seed), 4)

    def chains(key: Any, length: int) -> Any:
        how: dict[str, Any] = {"num_chains": 4, "chain_method": "vectorized", "progress_bar": False}
        run = MCMC(NUTS(model), num_warmup=1000, num_samples=length, **how)
        run.run(key)
        return run

    made = {}
    for kind, guide in (
        ("mean field", autoguide.AutoNormal(model)),
        ("full rank", autoguide.AutoMultivariateNormal(model)),
    ):
        fit = SVI(model, guide, Adam(0.005), Trace_ELBO(num_particles=4)).run(keys[2], 20_000, progress_bar=False)
        made[kind] = guide.sample_posterior(keys[3], fit.params, sample_shape=(1000,))
    long, short = chains(keys[0], draws), chains(keys[1], 250)
    yield from _problems(f"{name}, NumPyro", lambda found: sk.from_numpyro(model, found), long, short, made)


def _problems(name: str, bound: Callable[[Any], Any], long: Any, short: Any, made: dict[str, Any]) -> Iterator[Problem]:
    """Yield samples with the reference values from the long chains.

    The function `bound` converts draws from a library to a target and a sample.
    """
    exact = bound(long)[1]
    truth = Truth.of(exact.points.reshape(BLOCKS, -1, exact.dim))
    for kind, found in {"NUTS": short, **made}.items():
        target, sample = bound(found)
        points = sample.points if kind != "NUTS" else sample.points.reshape(4, 250, -1)
        yield Problem(name, kind, points, truth, target=target)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=5000, help="of each long chain")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--of", nargs="+", choices=("pymc", "numpyro"), default=("pymc", "numpyro"))
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    logging.getLogger("pymc").setLevel(logging.ERROR)
    makers = {"pymc": by_pymc, "numpyro": by_numpyro}
    problems = (
        each for of in arguments.of for name in MODELS for each in makers[of](name, arguments.draws, arguments.seed)
    )
    for cell in print_cells("Variational fits", map(Cell.of, problems)):
        print(f"{cell.problem:30}{cell.kind:14}{cell.method:12}{len(cell.covered)}/{cell.quantities}  {cell.reason}")


if __name__ == "__main__":
    main()
