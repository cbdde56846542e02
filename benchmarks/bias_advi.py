"""Whether `steinkit.estimate_bias` is right of variational fits by PyMC: mean-field and full-rank ADVI.

    python benchmarks/bias_advi.py    # a few minutes; needs PyMC

Three models, one of them hierarchical. The truth is known from long chains of NUTS, whose noise is allowed for; a
thousand draws of NUTS of their own stand beside the fits. Columns as in `bias.py`, on the scale on which PyMC samples.
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

BLOCKS = 40  # of the long chains, taken as independent


def hierarchy() -> Any:
    """Twenty groups of binary data, not centred, and two covariates."""
    import pymc

    rng = np.random.default_rng(21)
    group, features = np.repeat(np.arange(20), 12), rng.standard_normal((240, 2))
    odds = 0.5 + 0.8 * rng.standard_normal(20)[group] + features @ np.array([0.7, -0.4])
    with pymc.Model() as model:
        tau = pymc.HalfNormal("tau", 1.0)
        mu, effects = pymc.Normal("mu", 0.0, 2.0), pymc.Normal("effects", 0.0, 1.0, shape=20)
        slopes = pymc.Normal("slopes", 0.0, 1.0, shape=2)
        logits = mu + tau * effects[group] + pymc.math.dot(features, slopes)
        pymc.Bernoulli("y", logit_p=logits, observed=rng.random(240) < expit(odds))
    return model


def robust_line() -> Any:
    """Student's t errors with a scale and degrees of freedom that are not known, forty data."""
    import pymc

    rng = np.random.default_rng(22)
    x = rng.standard_normal(40)
    with pymc.Model() as model:
        a, b = pymc.Normal("a", 0.0, 3.0), pymc.Normal("b", 0.0, 3.0)
        scale, freedom = pymc.HalfNormal("scale", 2.0), pymc.Gamma("freedom", 2.0, 0.1)
        pymc.StudentT("y", nu=freedom, mu=a + b * x, sigma=scale, observed=1.0 + 0.5 * x + rng.standard_t(4.0, 40))
    return model


def overdispersed_counts() -> Any:
    """Negative binomial counts, three correlated covariates, fifty data."""
    import pymc

    rng = np.random.default_rng(23)
    features = rng.standard_normal((50, 3)) @ np.array([[1.0, 0.8, 0.0], [0.0, 0.6, 0.5], [0.0, 0.0, 0.8]])
    mean = np.exp(0.5 + features @ np.array([0.5, -0.3, 0.2]))
    with pymc.Model() as model:
        level, slopes = pymc.Normal("level", 0.0, 2.0), pymc.Normal("slopes", 0.0, 1.0, shape=3)
        alpha = pymc.Exponential("alpha", 1.0)
        mu = pymc.math.exp(level + pymc.math.dot(features, slopes))
        pymc.NegativeBinomial("y", mu=mu, alpha=alpha, observed=rng.negative_binomial(2.0, 2.0 / (2.0 + mean)))
    return model


def fits(name: str, make: Callable[[], Any], draws: int, seed: int) -> Iterator[Problem]:
    """Draws of NUTS and of both fits."""
    import pymc

    quiet: dict[str, Any] = {"progressbar": False, "random_seed": seed}
    with make() as model:
        long = pymc.sample(draws, tune=1000, chains=4, cores=1, compute_convergence_checks=False, **quiet)
        short = pymc.sample(
            250, tune=1000, chains=4, cores=1, compute_convergence_checks=False, progressbar=False, random_seed=seed + 1
        )
        made = {
            "mean-field ADVI": pymc.fit(20_000, method="advi", **quiet).sample(1000, random_seed=seed),
            "full-rank ADVI": pymc.fit(20_000, method="fullrank_advi", **quiet).sample(1000, random_seed=seed),
        }
    _, exact = sk.from_pymc(model, long)
    truth = Truth.of(exact.points.reshape(BLOCKS, -1, exact.dim))
    for kind, found in {"NUTS": short, **made}.items():
        target, sample = sk.from_pymc(model, found)
        points = sample.points if kind != "NUTS" else sample.points.reshape(4, 250, -1)
        yield Problem(name, kind, points, truth, target=target)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=5000, help="of each long chain")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    logging.getLogger("pymc").setLevel(logging.ERROR)
    models = {"hierarchy": hierarchy, "robust line": robust_line, "overdispersed counts": overdispersed_counts}
    problems = [each for name, make in models.items() for each in fits(name, make, arguments.draws, arguments.seed)]
    for cell in print_cells("Variational fits by PyMC", map(Cell.of, problems)):
        print(f"{cell.problem:22}{cell.kind:18}{cell.method:12}{len(cell.covered)}/{cell.quantities}  {cell.why_not}")


if __name__ == "__main__":
    main()
