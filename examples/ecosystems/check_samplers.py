"""Check BlackJAX and emcee samplers, and three samplers with a defect, on the targets of steinkit.testing.

The first table contains the verdict for each sampler and target. The second table contains the bias of SGLD, SGHMC and
two exact samplers for a logistic regression, at several step sizes. With ``--small``, the script checks three samplers
on one target and omits the second table. It requires ``pip install -e '.[blackjax,emcee]'``.
"""

import sys
import warnings
from functools import partial

import blackjax
import emcee
import jax
import jax.numpy as jnp
import numpy as np
from cases import logistic_data, settings

import steinkit as sk
from steinkit.testing import check_sampler, standard_targets

jax.config.update("jax_enable_x64", True)
CHAINS = 20
X, RESPONSE = logistic_data()
DESIGN = np.column_stack([np.ones(len(X)), X])
BATCH = 20


def densities():
    """Return the log densities of the standard targets as JAX functions, by target."""
    steps, scales = np.arange(5), np.array([0.01, 1.0, 100.0])
    precision = np.linalg.inv(0.9 ** np.abs(steps[:, None] - steps))
    shape, rate, a, b = np.array([2.0, 5.0]), np.array([1.0, 2.0]), np.array([2.0, 5.0]), np.array([3.0, 2.0])
    written = {
        "normal": lambda x: -0.5 * ((x - jnp.array([1.0, -2.0])) ** 2 / jnp.array([1.0, 4.0])).sum(),
        "correlated": lambda x: -0.5 * x @ precision @ x,
        "scales": lambda x: -0.5 * ((x / scales) ** 2).sum(),
        "heavy tails": lambda x: -3.5 * jnp.log1p(x @ x / 5.0),
        "positive": lambda x: ((shape - 1.0) * jnp.log(x) - rate * x).sum(),
        "interval": lambda x: ((a - 1.0) * jnp.log(x) + (b - 1.0) * jnp.log1p(-x)).sum(),
        "two modes": lambda x: -0.5 * (x @ x) + jnp.logaddexp(1.5 * x[0], -1.5 * x[0]),
        "banana": lambda x: -0.5 * x[0] ** 2 - 2.0 * (x[1] - x[0] ** 2) ** 2,
        "funnel": lambda x: -0.5 * x[0] ** 2 - x[0] - 0.5 * (x[1:] ** 2).sum() * jnp.exp(-x[0]),
        "ring": lambda x: -2.0 * (jnp.sqrt(x @ x) - 4.0) ** 2,
        "ordered": lambda x: jnp.where(x[0] < x[1], -0.5 * (x @ x), -jnp.inf),
    }
    found = {}
    for name, each in TARGETS.items():
        points = each.start + 0.1 * each.sd * np.random.default_rng(0).random((20, each.target.dim))
        difference = np.asarray(jax.vmap(written[name])(points)) - each.target.log_density(points)
        if not np.ptp(difference) < 1e-9:
            sys.exit(f"the log density of {name} differs from that of steinkit.testing")
        found[each.target] = written[name]
    return found


TARGETS = standard_targets()
DENSITIES = densities()


def in_jax(target, with_jacobian=True):
    """Return a map from R^d to the support, and the log density on R^d, as JAX functions."""
    density = DENSITIES[target]
    if target.bounds is None:
        return (lambda u: u), density
    constrain = jax.nn.sigmoid if np.isfinite(target.bounds).all() else jnp.exp
    slope = jax.vmap(jax.grad(constrain))

    def unconstrained(u):
        u = jnp.clip(u, -20.0, 20.0)
        return density(constrain(u)) + (jnp.log(slope(u)).sum() if with_jacobian else 0.0)

    return constrain, unconstrained


def run(advance, state, seed, draws, thin=1):
    """Return the states of CHAINS chains, shape (chains, draws, ...), without the first fifth."""

    def few(state, keys):
        return jax.lax.scan(lambda now, key: (advance(key, now), None), state, keys)[0]

    def chain(key):
        keys = jax.random.split(key, (draws + draws // 4, thin))
        return jax.lax.scan(lambda now, keys: (few(now, keys),) * 2, state, keys)[1]

    states = jax.jit(jax.vmap(chain))(jax.random.split(jax.random.key(seed), CHAINS))
    return jax.tree.map(lambda each: np.asarray(each[:, draws // 4 :]), states)


ADAPTED = {}  # results of the adaptation by target


def prepared(target, start, seed, **options):
    """Return the log density in adapted units, the position after the adaptation of NUTS, and a map to the support."""
    key = (target, *options.values())
    if key not in ADAPTED:
        ADAPTED[key] = adapted(target, start, seed, **options)
    return ADAPTED[key]


def adapted(target, start, seed, **options):
    constrain, density = in_jax(target, **options)
    if target.bounds is not None:
        start = np.log(start) if not np.isfinite(target.bounds).all() else np.log(start / (1.0 - start))
    adaptation = blackjax.window_adaptation(blackjax.nuts, density, target_acceptance_rate=0.9)
    (state, found), _ = adaptation.run(jax.random.key(seed + 1), jnp.asarray(start), num_steps=500)
    scale = jnp.sqrt(found["inverse_mass_matrix"])
    return (lambda v: density(scale * v)), state.position / scale, found["step_size"], lambda v: constrain(scale * v)


def nuts(target, start, seed, draws, temperature=1.0, **options):
    density, at, step_size, back = prepared(target, start, seed, **options)
    sampler = blackjax.nuts(lambda v: density(v) / temperature, step_size, jnp.ones(target.dim))
    states = run(lambda key, now: sampler.step(key, now)[0], sampler.init(at), seed, draws)
    return np.asarray(back(states.position))


def mala(target, start, seed, draws, step=0.2, keep_rejected=True):
    density, at, _, back = prepared(target, start, seed)
    sampler = blackjax.mala(density, step)

    def advance(key, now):
        state, info = sampler.step(key, now[0])
        return state, info.is_accepted

    states, accepted = run(advance, (sampler.init(at), True), seed, draws * (1 if keep_rejected else 4), 20)
    points = np.asarray(back(states.position))
    if keep_rejected:
        return points
    chain = np.broadcast_to(np.arange(CHAINS)[:, None], accepted.shape)
    return sk.Sample(points[accepted], chain=chain[accepted])


def sgld(target, start, seed, draws, step):
    density, at, _, back = prepared(target, start, seed)
    sampler = blackjax.sgld(lambda v, _: jax.grad(density)(v))
    thin = max(20, round(1.0 / step))
    return np.asarray(back(run(lambda key, now: sampler.step(key, now, None, step), at, seed, draws, thin)))


def walkers(target, start, seed, draws):
    """Run emcee, whose walkers move along lines through each other."""
    rng = np.random.default_rng(seed)

    def log_density(x):
        inside = np.ones(len(x), dtype=bool)
        if target.bounds is not None:
            inside = ((x > target.bounds[:, 0]) & (x < target.bounds[:, 1])).all(axis=1)
        found = np.full(len(x), -np.inf)
        found[inside] = target.log_density(x[inside])
        return found

    sampler = emcee.EnsembleSampler(40, target.dim, log_density, vectorize=True)
    sampler.random_state = np.random.MT19937(seed).state
    sampler.run_mcmc(start + 0.01 * np.abs(start + 1.0) * rng.standard_normal((40, target.dim)), 40 * draws)
    return sk.as_sample(sampler.get_chain(discard=10 * draws, thin=20), dims=("draw", "chain"))


EXACT = {"NUTS": nuts, "MALA": mala, "emcee": walkers}
BIASED = {"SGLD, step 0.01": partial(sgld, step=0.01), "SGLD, step 0.3": partial(sgld, step=0.3)}
DEFECTS = {
    "NUTS without log |J|": partial(nuts, with_jacobian=False),
    "NUTS at temperature 2": partial(nuts, temperature=2.0),
    "MALA that drops rejected moves": partial(mala, step=1.0, keep_rejected=False),
}
SHORT = {"no bias seen": "passed", "too few draws": "too few", "not tested": "untested"}


def check_all(targets, samplers, draws):
    """Print the verdict of every sampler on every target, and the main findings of the samplers that are not exact."""
    found = {name: check_sampler(each, targets, draws=draws) for name, each in samplers.items()}
    for defective in (False, True):
        group = [name for name in samplers if (name in DEFECTS) == defective]
        print(f"{'':12}  {'  '.join(group)}")
        for k, name in enumerate(each.name for each in next(iter(found.values())).checked):
            cells = [found[sampler].checked[k].label for sampler in group]
            print(f"{name:12}  {'  '.join(f'{SHORT.get(c, c):{len(s)}}' for c, s in zip(cells, group, strict=True))}")
        print()
    for name in samplers:
        if name in EXACT:
            continue
        print(f"{name}:")
        for each in found[name].checked:
            if each.label == "biased":
                print(f"    {each.name}: {each.verdict.sentences(with_sizes=False)[1]}")
            elif each.failure:
                print(f"    {each.name}: {each.failure[:80]}")
    return found


def log_posterior(b, rows=None):
    """Return the log posterior of a logistic regression with N(0, 2.5^2) priors, from all rows or from a batch."""
    design, y = (DESIGN, RESPONSE) if rows is None else (jnp.asarray(DESIGN)[rows], jnp.asarray(RESPONSE)[rows])
    logits = design @ b
    factor = len(DESIGN) / design.shape[0]
    return factor * (y * logits - jnp.logaddexp(0.0, logits)).sum() - (b @ b) / 12.5


def exact_moments():
    """Return the posterior means and standard deviations, by the trapezoidal rule on a grid."""
    axes = [np.linspace(m - 1.6, m + 1.6, 41) for m in (0.5, 1.0, -1.5)]
    grid = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)
    values = np.concatenate([np.asarray(jax.vmap(log_posterior)(part)) for part in np.array_split(grid, 10)])
    weights = np.exp(values - values.max())
    mean = weights @ grid / weights.sum()
    return mean, np.sqrt(weights @ (grid - mean) ** 2 / weights.sum())


def biases(draws):
    """Print the bias of samplers with constant step sizes, as estimated from the draws and as given by quadrature."""
    mean, sd = exact_moments()
    target = sk.Target.from_jax(log_posterior, dim=3, names=["intercept", "slope 1", "slope 2"])
    start = jnp.asarray(mean)

    def gradient(b, rows):
        return jax.grad(log_posterior)(b, rows)

    def stochastic(sampler, step):
        def advance(key, now):
            rows, own = jax.random.split(key)
            return sampler.step(own, now, jax.random.choice(rows, len(DESIGN), (BATCH,), replace=False), step)

        return advance, start

    def exact(sampler):
        return lambda key, now: sampler.step(key, now)[0], sampler.init(start)

    samplers = {
        "SGLD": ((1e-4, 1e-3, 1e-2), lambda step: stochastic(blackjax.sgld(gradient), step), 0.02),
        "SGHMC": ((0.003, 0.01, 0.03), lambda step: stochastic(blackjax.sghmc(gradient, 10, alpha=10.0), step), 0.1),
        "MALA": ((1e-3, 1e-2), lambda step: exact(blackjax.mala(log_posterior, step)), 0.05),
        "NUTS": ((0.1, 0.3), lambda step: exact(blackjax.nuts(log_posterior, step, jnp.ones(3))), 0.0),
    }
    print("\nsampler   step    ESS  verdict       p        bias          true bias")
    for name, (steps, make, slowness) in samplers.items():
        for step in steps:
            states = run(*make(step), 1, draws, max(1, round(slowness / step)))
            points = np.asarray(getattr(states, "position", states), dtype=np.float64)
            found = sk.verdict(points, target)
            flat = points.reshape(-1, 3)
            true = np.sqrt(np.mean(((flat.mean(axis=0) - mean) / sd) ** 2 + np.log(flat.std(axis=0) / sd) ** 2))
            known = f"{found.bias.value:.3f} ± {found.bias.margin:.3f}" if found.bias.reliable.all() else "not known"
            print(f"{name:7} {step:6g} {found.ess:6.0f}  {found.label:12}  {found.p:7.1g}  {known:13}  {true:.3f}")


def main():
    small = settings(__doc__).small
    warnings.simplefilter("ignore", sk.SteinkitWarning)
    targets, samplers = TARGETS, EXACT | BIASED | DEFECTS
    if small:
        targets = {"positive": TARGETS["positive"]}
        samplers = {name: samplers[name] for name in ("NUTS", "emcee", "NUTS without log |J|")}
    found = check_all(targets, samplers, 100 if small else 250)
    if not small:
        biases(500)
    rejected = [name for name in found if any(each.label == "biased" for each in found[name].checked)]
    passed = [name for name in rejected if name in EXACT]
    missed = [name for name in found if name in DEFECTS and name not in rejected]
    if passed or missed:
        sys.exit(f"not as expected: rejected {passed}, not rejected {missed}")


if __name__ == "__main__":
    main()
