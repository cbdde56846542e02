"""Accuracy of steinkit's results for fits from PyMC, NumPyro, BlackJAX and Stan.

    python benchmarks/ecosystem_fits.py --keep FOLDER    # a quarter of an hour; FOLDER stores the fits for later runs
    python benchmarks/ecosystem_fits.py --only pymc --models centred --quantities
    python benchmarks/ecosystem_fits.py --reference --keep FOLDER    # repeat the reference runs

There are four models: varying intercepts of twelve groups, centered and non-centered; a mixture of two normal
components with ordered means; and a negative binomial regression with an offset. Each is fitted by mean-field and
full-rank ADVI (PyMC and NumPyro), by Pathfinder (BlackJAX, with the initial states of NumPyro), and by NUTS with
default settings (PyMC, NumPyro and Stan). PyStan has no variational inference, so mean-field draws from NumPyro are
evaluated with the density from Stan instead. Packages that are not installed are skipped.

The reference for each model consists of four chains of 10,000 draws from PyMC's NUTS with ``target_accept=0.99``. The
centered and non-centered forms of a model have the same reference, which is sampled in the non-centered form. The file
``records/ecosystem_fits_reference.json`` contains the reference means and standard deviations. An estimated bias is
covered if the true bias is within its margin of error, plus two standard errors of the reference. The column "worst
miss" is the largest distance of a reliable estimate from the reference value beyond this margin. Errors are root mean
squares over means and log standard deviations.
"""

from __future__ import annotations

import argparse
import importlib.util
import logging
import math
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cloudpickle
import numpy as np
from bias import NOISES
from bias_problems import Truth
from records import RECORDS, add_option, keep, kept

import steinkit as sk

REFERENCE = "ecosystem_fits_reference"
MODELS = ("centred", "non-centred", "ordered mixture", "counts with offset")
PACKAGES = {"pymc": ("pymc",), "numpyro": ("numpyro",), "blackjax": ("numpyro", "blackjax"), "stan": ("stan",)}
GROUPS, BLOCKS, DRAWS = 12, 40, 1000
SPACES = {"tau": "log", "sigma": "log", "alpha": "log", "scales": "log", "w": "logit", "means": "ordered"}


# Data and models


def grouped_data() -> tuple[np.ndarray, np.ndarray]:
    """Simulate five responses in each of twelve similar groups: groups and responses."""
    rng = np.random.default_rng(31)
    group = np.repeat(np.arange(GROUPS), 5)
    return group, 1.0 + 0.3 * rng.standard_normal(GROUPS)[group] + rng.standard_normal(len(group))


def mixed_data() -> np.ndarray:
    """Simulate two hundred values of two overlapping components."""
    rng = np.random.default_rng(32)
    return np.where(rng.random(200) < 0.35, rng.normal(-1.4, 0.7, 200), rng.normal(1.2, 0.9, 200))


def count_data() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Simulate sixty overdispersed counts: three covariates, log exposures and counts."""
    rng = np.random.default_rng(33)
    features, exposure = rng.standard_normal((60, 3)), rng.uniform(0.5, 8.0, 60)
    mean = exposure * np.exp(0.2 + features @ np.array([0.5, -0.3, 0.2]))
    return features, np.log(exposure), rng.negative_binomial(1.5, 1.5 / (1.5 + mean))


def pymc_model(name: str) -> Any:
    """Define a model in PyMC."""
    import pymc as pm

    logging.getLogger("pymc").setLevel(logging.ERROR)
    with pm.Model() as model:
        if name == "ordered mixture":
            ordered = pm.distributions.transforms.ordered
            means = pm.Normal("means", 0.0, 2.0, shape=2, transform=ordered, initval=[-1.0, 1.0])
            scales, w = pm.HalfNormal("scales", 1.0, shape=2), pm.Beta("w", 2.0, 2.0)
            pm.NormalMixture("y", w=pm.math.stack([w, 1.0 - w]), mu=means, sigma=scales, observed=mixed_data())
        elif name == "counts with offset":
            features, offset, counts = count_data()
            level, slopes = pm.Normal("level", 0.0, 2.0), pm.Normal("slopes", 0.0, 1.0, shape=3)
            mu = pm.math.exp(offset + level + pm.math.dot(features, slopes))
            pm.NegativeBinomial("y", mu=mu, alpha=pm.Exponential("alpha", 1.0), observed=counts)
        else:
            group, responses = grouped_data()
            mu, tau, sigma = pm.Normal("mu", 0.0, 2.0), pm.HalfNormal("tau", 1.0), pm.HalfNormal("sigma", 2.0)
            if name == "centred":
                theta = pm.Normal("theta", mu, tau, shape=GROUPS)
            else:
                theta = mu + tau * pm.Normal("z", 0.0, 1.0, shape=GROUPS)
            pm.Normal("y", theta[group], sigma, observed=responses)
    return model


def numpyro_model(name: str) -> Callable[[], None]:
    """Define the same model in NumPyro."""
    import jax.numpy as jnp
    from jax.nn import logsumexp
    from numpyro import distributions as dist
    from numpyro import factor, plate, sample

    def varying() -> None:
        group, responses = grouped_data()
        mu, tau = sample("mu", dist.Normal(0.0, 2.0)), sample("tau", dist.HalfNormal(1.0))
        sigma = sample("sigma", dist.HalfNormal(2.0))
        with plate("groups", GROUPS):
            if name == "centred":
                theta = sample("theta", dist.Normal(mu, tau))
            else:
                theta = mu + tau * sample("z", dist.Normal(0.0, 1.0))
        sample("y", dist.Normal(theta[group], sigma), obs=responses)

    def mixture() -> None:
        means = sample("means", dist.ImproperUniform(dist.constraints.ordered_vector, (), (2,)))
        factor("prior", dist.Normal(0.0, 2.0).log_prob(means).sum())
        scales = sample("scales", dist.HalfNormal(1.0).expand([2]).to_event(1))
        w = sample("w", dist.Beta(2.0, 2.0))
        parts = dist.Normal(means, scales).log_prob(mixed_data()[:, None]) + jnp.log(jnp.array([w, 1.0 - w]))
        factor("y", logsumexp(parts, axis=1).sum())

    def counts() -> None:
        features, offset, responses = count_data()
        level = sample("level", dist.Normal(0.0, 2.0))
        slopes = sample("slopes", dist.Normal(0.0, 1.0).expand([3]).to_event(1))
        alpha = sample("alpha", dist.Exponential(1.0))
        sample("y", dist.NegativeBinomial2(jnp.exp(offset + level + features @ slopes), alpha), obs=responses)

    return {"ordered mixture": mixture, "counts with offset": counts}.get(name, varying)


_VARYING = """
data { int N; array[N] int group; vector[N] y; }
parameters { real mu; real<lower=0> tau; real<lower=0> sigma; vector[12] EFFECTS; }
model {
  mu ~ normal(0, 2); tau ~ normal(0, 1); sigma ~ normal(0, 2);
  EFFECTS ~ PRIOR;
  y ~ normal(THETA, sigma);
}
"""
_MIXTURE = """
data { int N; vector[N] y; }
parameters { ordered[2] means; vector<lower=0>[2] scales; real<lower=0, upper=1> w; }
model {
  means ~ normal(0, 2); scales ~ normal(0, 1); w ~ beta(2, 2);
  for (n in 1:N)
    target += log_mix(w, normal_lpdf(y[n] | means[1], scales[1]), normal_lpdf(y[n] | means[2], scales[2]));
}
"""
_COUNTS = """
data { int N; matrix[N, 3] X; vector[N] offset_; array[N] int y; }
parameters { real level; vector[3] slopes; real<lower=0> alpha; }
model {
  level ~ normal(0, 2); slopes ~ normal(0, 1); alpha ~ exponential(1);
  y ~ neg_binomial_2_log(offset_ + level + X * slopes, alpha);
}
"""


def stan_program(name: str) -> tuple[str, dict[str, Any]]:
    """Define the same model in Stan: the program and its data."""
    if name == "ordered mixture":
        y = mixed_data()
        return _MIXTURE, {"N": len(y), "y": y.tolist()}
    if name == "counts with offset":
        features, offset, counts = count_data()
        return _COUNTS, {"N": len(counts), "X": features.tolist(), "offset_": offset.tolist(), "y": counts.tolist()}
    group, y = grouped_data()
    parts = ("theta", "normal(mu, tau)", "theta[group]")
    if name == "non-centred":
        parts = ("z", "normal(0, 1)", "mu + tau * z[group]")
    program = _VARYING
    for place, part in zip(("EFFECTS", "PRIOR", "THETA"), parts, strict=True):
        program = program.replace(place, part)
    return program, {"N": len(y), "group": (group + 1).tolist(), "y": y.tolist()}


# Fits


@dataclass(frozen=True)
class Settings:
    """Lengths of the fits, which are short if `quick` is True."""

    seed: int = 0
    quick: bool = False

    @property
    def steps(self) -> int:
        """Return the number of iterations of variational inference."""
        return 1000 if self.quick else 20_000

    @property
    def nuts_draws(self) -> int:
        """Return the draws per chain.

        The default of all packages is 1000.
        """
        return 200 if self.quick else 1000


Fit = Callable[[], Any]  # returns draws
Bound = Callable[[Any], tuple[sk.Target, sk.Sample]]  # converts them to a target and a sample


def by_pymc(name: str, how: Settings) -> Iterator[tuple[str, Fit, Bound]]:
    """Return the fits from PyMC."""
    import pymc as pm

    model = pymc_model(name)
    quiet: dict[str, Any] = {"progressbar": False, "random_seed": how.seed, "model": model}

    def variational(method: str) -> Any:
        options = {}
        if (name, method) == ("ordered mixture", "fullrank_advi"):  # the default optimizer gives NaN
            options["obj_optimizer"] = pm.adam(learning_rate=0.005)
        return pm.fit(how.steps, method=method, **options, **quiet).sample(DRAWS, random_seed=how.seed)

    def nuts() -> Any:
        return pm.sample(how.nuts_draws, chains=4, cores=1, compute_convergence_checks=False, **quiet)

    def bound(found: Any) -> tuple[sk.Target, sk.Sample]:
        return sk.from_pymc(model, found)

    yield "mean field", lambda: variational("advi"), bound
    yield "full rank", lambda: variational("fullrank_advi"), bound
    yield "NUTS", nuts, bound


def by_numpyro(name: str, how: Settings) -> Iterator[tuple[str, Fit, Bound]]:
    """Return the fits from NumPyro."""
    import jax
    from numpyro.infer import MCMC, NUTS, autoguide

    model = numpyro_model(name)

    def nuts() -> Any:
        many: dict[str, Any] = {"num_chains": 4, "chain_method": "vectorized", "progress_bar": False}
        run = MCMC(NUTS(model), num_warmup=1000, num_samples=how.nuts_draws, **many)
        run.run(jax.random.key(how.seed))
        return run

    def bound(found: Any) -> tuple[sk.Target, sk.Sample]:
        return sk.from_numpyro(model, found)

    yield "mean field", lambda: guide_draws(model, autoguide.AutoNormal, how), bound
    yield "full rank", lambda: guide_draws(model, autoguide.AutoMultivariateNormal, how), bound
    yield "NUTS", nuts, bound


def guide_draws(model: Callable[[], None], guide: Any, how: Settings) -> dict[str, np.ndarray]:
    """Fit an automatic guide of NumPyro, and draw from it."""
    import jax
    from numpyro.infer import SVI, Trace_ELBO
    from numpyro.optim import Adam

    fit, draw = jax.random.split(jax.random.key(how.seed))
    made = guide(model)
    found = SVI(model, made, Adam(0.005), Trace_ELBO(num_particles=4)).run(fit, how.steps, progress_bar=False)
    draws = made.sample_posterior(draw, found.params, sample_shape=(DRAWS,))
    return {site: np.asarray(draws[site]) for site in draws if site in SITES}


def by_blackjax(name: str, how: Settings) -> Iterator[tuple[str, Fit, Bound]]:
    """Return BlackJAX fits for the log density from NumPyro in unconstrained space."""
    import jax
    from blackjax.vi import pathfinder
    from numpyro.infer.util import initialize_model

    start, fit, draw = jax.random.split(jax.random.key(how.seed), 3)
    begin = initialize_model(start, numpyro_model(name))

    def log_density(x: Any) -> Any:
        return -begin.potential_fn(x)

    def fitted() -> Any:
        state, _ = pathfinder.approximate(fit, log_density, begin.param_info.z)
        return jax.tree.map(np.asarray, pathfinder.sample(draw, state, DRAWS)[0])

    yield "Pathfinder", fitted, lambda found: sk.from_blackjax(log_density, found, dims=("draw",))


def by_stan(name: str, how: Settings) -> Iterator[tuple[str, Fit, Bound]]:
    """Return the fits from PyStan."""
    import stan

    program, data = stan_program(name)
    with redirect_stdout(sys.stderr):  # hides messages of the build
        model = stan.build(program, data=data, random_seed=how.seed + 1)

    def nuts() -> Any:
        return model.sample(num_chains=4, num_samples=how.nuts_draws)

    yield "NUTS", nuts, lambda found: sk.from_pystan(found, model)

    if importlib.util.find_spec("numpyro"):
        from numpyro.infer import autoguide

        target, like = sk.from_pystan(model.sample(num_chains=1, num_samples=50), model)
        names = [named(each, "stan") for each in like.names]

        def bound(draws: dict[str, np.ndarray]) -> tuple[sk.Target, sk.Sample]:
            values = quantities(draws)
            return target, sk.Sample(points=np.column_stack([values[each] for each in names]), names=like.names)

        yield "mean field", lambda: guide_draws(numpyro_model(name), autoguide.AutoNormal, how), bound


FITS = {"pymc": by_pymc, "numpyro": by_numpyro, "blackjax": by_blackjax, "stan": by_stan}


# Truth

SITES = ("mu", "tau", "sigma", "theta", "z", "means", "scales", "w", "level", "slopes", "alpha")


def quantities(draws: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Tabulate parameters, shape (draws, ...), and their unconstrained values by name."""
    found: dict[str, np.ndarray] = {}
    for site, values in draws.items():
        columns = np.asarray(values, dtype=np.float64).reshape(len(values), -1)
        free = columns
        if SPACES.get(site) == "log":
            free = np.log(columns)
        elif SPACES.get(site) == "logit":
            free = np.log(columns) - np.log1p(-columns)
        elif SPACES.get(site) == "ordered":
            free = np.column_stack([columns[:, 0], np.log(np.diff(columns, axis=1))])
        for k in range(columns.shape[1]):
            name = f"{site}[{k}]" if np.ndim(values) > 1 else site
            found[name] = columns[:, k]
            if site in SPACES:
                found[f"{SPACES[site]} {name}"] = free[:, k]
    return found


def named(name: str, package: str) -> str:
    """Return the name of a quantity in the reference. Names of transforms differ, and Stan counts from one."""
    free = " " in name or package in {"blackjax", "stan"}
    site, *place = name.split()[-1].rstrip("]").split("[")
    entry = f"{site}[{int(place[0]) - (package == 'stan')}]" if place else site
    return f"{SPACES[site]} {entry}" if free and site in SPACES else entry


def reference(name: str, folder: Path | None, how: Settings) -> dict[str, np.ndarray]:
    """Return posterior draws from a long run of PyMC, or from the stored run."""
    made = "non-centred" if name == "centred" else name
    place = None if folder is None else folder / f"{made}.npz"
    if place is None or not place.exists():
        import pymc as pm

        length, tune = (500, 500) if how.quick else (10_000, 2000)
        many: dict[str, Any] = {"chains": 4, "cores": 1, "random_seed": how.seed, "progressbar": False}
        long = pm.sample(length, tune=tune, target_accept=0.99, model=pymc_model(made), **many)
        divergent = int(long.sample_stats["diverging"].sum())
        found = {str(site): values.to_numpy() for site, values in long.posterior.items()}
        found = {site: values.reshape(-1, *values.shape[2:]) for site, values in found.items()}
        print(f"{made}: {divergent} divergences in the long run", flush=True)
        if place is not None:
            place.parent.mkdir(parents=True, exist_ok=True)
            np.savez(place, **found)
    else:
        found = dict(np.load(place))
    if name == "centred":
        found["theta"] = found["mu"][:, None] + found["tau"][:, None] * found.pop("z")
    return found


def truth_of(draws: dict[str, np.ndarray]) -> Iterator[dict[str, Any]]:
    """Compute the mean, the standard deviation and their standard errors of every quantity."""
    values = quantities(draws)
    truth = Truth.of(np.stack(list(values.values()), axis=1).reshape(BLOCKS, -1, len(values)))
    for k, name in enumerate(values):
        figures = ("mean", "sd", "mean_noise", "log_sd_noise")
        yield {"quantity": name, **{each: float(f"{getattr(truth, each)[k]:.6g}") for each in figures}}


# Results and their errors


@dataclass(frozen=True)
class Claim:
    """Estimated and true bias, in standard deviations.

    For log standard deviations, it is the difference.
    """

    quantity: str
    of: str
    claimed: float
    margin: float
    reliable: bool
    true: float
    noise: float

    @property
    def miss(self) -> float:
        """Distance of the reference value from the margin of error."""
        return abs(self.claimed - self.true) - math.hypot(self.margin, NOISES * self.noise)

    def __str__(self) -> str:
        estimate = f"{self.claimed:+.3f} ± {self.margin:.3f}" if math.isfinite(self.margin) else "not known"
        mark = "" if not self.reliable else "reliable, covered" if self.miss <= 0.0 else "reliable, FALSE"
        return f"    {self.of:5}{self.quantity:24}{estimate:18}{self.true:+8.3f}  {mark}"


def claims(bias: Any, truth: Sequence[dict[str, Any]]) -> list[Claim]:
    """Compare the estimated biases with the true ones."""
    found = []
    reliable = bias.reliable
    for k, (name, true) in enumerate(zip(bias.names, truth, strict=True)):
        offs = {
            "mean": ((bias.draws_mean[k] - true["mean"]) / true["sd"], true["mean_noise"] / true["sd"]),
            "sd": (math.log(bias.draws_sd[k] / true["sd"]), true["log_sd_noise"]),
        }
        for of, (off, noise) in offs.items():
            claimed, margin = getattr(bias, f"{of}_bias")[k], getattr(bias, f"{of}_margin")[k]
            found.append(Claim(name, of, float(claimed), float(margin), bool(reliable[k]), float(off), noise))
    return found


def error_of(sample: sk.Sample, truth: Sequence[dict[str, Any]]) -> float:
    """Compute the root mean square error of the means and log standard deviations of all coordinates."""
    mean, sd = (np.array([each[key] for each in truth]) for key in ("mean", "sd"))
    found = sample.probabilities @ sample.points
    spread = np.sqrt(sample.probabilities @ (sample.points - found) ** 2)
    return float(np.sqrt(np.mean(np.concatenate([(found - mean) / sd, np.log(spread / sd)]) ** 2)))


HEAD = (
    f"{'model':20}{'package':10}{'fit':12}{'p':>9} {'verdict':10}{'reliable':>10}{'covered':>9}{'worst miss':>12}"
    f"{'error':>8}{'repaired':>10} {'by':8}{'seconds':>8}"
)


def judged(target: sk.Target, sample: sk.Sample, truth: dict[str, dict[str, Any]], package: str) -> dict[str, Any]:
    """Compute the verdict, the biases and the repair of a fit. Errors are part of the result."""
    began = time.process_time()
    own = [truth[named(name, package)] for name in sample.names]
    found: dict[str, Any] = {"p": math.nan, "verdict": "", "claims": [], "error": error_of(sample, own), "errors": []}
    try:
        verdict = sk.verdict(sample, target)
        found["p"], found["said"] = verdict.p, verdict.summary()
        found["verdict"] = "rejected" if verdict.p <= verdict.level else "passed"
        if not verdict.enough_draws:
            found["verdict"] = "not judged"
        if verdict.bias is not None:
            found["claims"] = claims(verdict.bias, [truth[named(name, package)] for name in verdict.bias.names])
    except Exception as error:  # no fit may raise an error
        found["errors"].append(f"verdict: {type(error).__name__}: {error}")
    try:
        repaired = sk.repair(sample, target)
        found["repaired"], found["by"] = error_of(repaired.sample, own), repaired.method
    except Exception as error:
        found["repaired"], found["by"] = math.nan, "none"
        found["errors"].append(f"repair: {type(error).__name__}: {error}")
    found["seconds"] = time.process_time() - began
    return found


def row(name: str, package: str, fit: str, found: dict[str, Any]) -> str:
    """Format the results of a fit."""
    sure = [each for each in found["claims"] if each.reliable]
    covered, miss = (
        (f"{sum(each.miss <= 0.0 for each in sure)}/{len(sure)}", max(each.miss for each in sure))
        if sure
        else ("-", math.nan)
    )
    return (
        f"{name:20}{package:10}{fit:12}{found['p']:9.2g} {found['verdict']:10}{len(sure):>6}/{len(found['claims']):<3}"
        f"{covered:>9}{miss:12.3f}{found['error']:8.3f}{found['repaired']:10.3f} {found['by']:8}{found['seconds']:8.1f}"
    )


def kept_or_made(fit: Fit, place: Path | None) -> Any:
    """Read draws from a file, or create and store them."""
    if place is not None and place.exists():
        return cloudpickle.loads(place.read_bytes())
    draws = fit()
    if place is not None:
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(cloudpickle.dumps(draws))
    return draws


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=FITS, default=tuple(FITS), help="packages")
    parser.add_argument("--models", nargs="+", choices=MODELS, default=MODELS)
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="folder that stores fits and long runs")
    parser.add_argument("--reference", action="store_true", help="compute the reference by long runs, without fits")
    parser.add_argument("--quantities", action="store_true", help="list the estimate of every quantity")
    parser.add_argument("--quick", action="store_true", help="small fits of one model")
    parser.add_argument("--seed", type=int, default=0)
    add_option(parser)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    how = Settings(arguments.seed, arguments.quick)
    if arguments.reference:
        rows = [
            {"model": name, **each}
            for name in arguments.models
            for each in truth_of(reference(name, arguments.keep, how))
        ]
        keep(arguments.record or RECORDS, REFERENCE, rows, ["--reference"])
        return
    truths: dict[str, dict[str, dict[str, Any]]] = {}
    for each in kept(REFERENCE)["rows"]:
        truths.setdefault(each["model"], {})[each["quantity"]] = each
    print(HEAD)
    rows = []
    for package in arguments.only:
        missing = [each for each in PACKAGES[package] if importlib.util.find_spec(each) is None]
        if missing:
            print(f"{package}: skipped, {' and '.join(missing)} not installed", flush=True)
            continue
        for name in ("counts with offset",) if arguments.quick else arguments.models:
            for fit, make, bound in FITS[package](name, how):
                place = arguments.keep and arguments.keep / f"{name}, {package}, {fit}.pickle".replace(" ", "_")
                target, sample = bound(kept_or_made(make, place))
                found = judged(target, sample, truths[name], package)
                print(row(name, package, fit, found), flush=True)
                if arguments.quantities:
                    print(*found["claims"], sep="\n")
                print(
                    *(f"    {each.splitlines()[0]}" for each in found["errors"]),
                    sep="\n",
                    end="\n" if found["errors"] else "",
                )
                rows.append({"model": name, "package": package, "fit": fit, **found})
    sure = [each for found in rows for each in found["claims"] if each.reliable]
    covered, wrong = sum(each.miss <= 0.0 for each in sure), sum(each.miss > 0.1 for each in sure)
    print(f"together: {covered} of {len(sure)} reliable estimates covered, {wrong} missed by more than .1")


if __name__ == "__main__":
    main()
