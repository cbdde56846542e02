"""Evaluate statements on Barker's minibatch test that need no posterior sample.

    python examples/papers/barker_theory.py [--full] [--jobs N] [-o DIR]

The variance of the log acceptance ratio is computed for moves on the mixture posterior of section 6.1, with 100,000
data points, for several step sizes, batch sizes and temperatures. The batch sizes of Barker's test are compared with a
normal distribution.

The noise of a minibatch is not exactly normal. If the noise is the mean of b exponential terms, its distribution
function is known before and after the test adds a normal variable and the correction. The distribution function without
the correction, where normal noise replaces logistic noise, is also known. The stationary distribution of a walk on 41
states is computed from its transition matrix. The distribution of the t statistic of exponential terms is simulated and
compared with the normal distribution and its first Edgeworth correction.

References
----------
D. Seita, X. Pan, H. Chen and J. Canny (2016), "An efficient minibatch acceptance test for Metropolis-Hastings", first
version, sections 1, 3.3 and 5.2 and supplement D, and (2017), lemma 5.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from _frame import Experiment, main_of
from austerity_theory import distances, proposals, with_rejections
from scipy.optimize import minimize_scalar
from scipy.special import expit, gammainc, ndtr
from scipy.stats import kstest, skew
from stein_equivalence import slope_of

import steinkit as sk
from steinkit.samplers import barker_mh, correction_distribution

SIZE, AS_WIDE_AS, SCALE = 100_000, 100, 0.15  # data size, data size of equal width, and step size
FACTORS = (1 / 16, 1 / 8, 1 / 4, 1 / 2, 1)
USUAL = {"step size": SCALE, "batch size": 100.0, "temperature": 1000.0}
VARIED = {"step size": SCALE, "batch size": 1600.0, "temperature": 10_000.0}  # largest value of each quantity
VARIANCE, TERMS = 0.5, (2, 8, 32, 128, 512)  # variance of a mean of exponential terms, and numbers of terms
GRID = np.linspace(-30.0, 30.0, 12_001)
NUMBERS = (16, 32, 64, 128)


def variances(varied: str, moves: int, batches: int) -> list[float]:
    """Return the mean variance of minibatch estimates over random moves for fractions of the largest value."""
    target, rng, found = sk.targets.MixturePosterior.simulate(SIZE, rng=1), np.random.default_rng(0), []
    for factor in FACTORS:
        setting = USUAL | {varied: factor * VARIED[varied]}
        state, each = np.array([0.0, 1.0]), []
        for direction in np.random.default_rng(1).standard_normal((moves, 2)):
            moved = state + setting["step size"] * direction
            terms = target.log_likelihood(moved, *target.data) - target.log_likelihood(state, *target.data)
            drawn = rng.integers(SIZE, size=(batches, round(setting["batch size"])))
            each.append(float((SIZE / setting["temperature"] * terms[drawn].mean(axis=1)).var()))
        found.append(float(np.mean(each)))
    return found


def batch_sizes(draws: int) -> dict[str, float]:
    """Compare the batch sizes of Barker's test with a normal distribution of the same mean and variance."""
    target = sk.targets.MixturePosterior.simulate(SIZE, rng=1)
    options: dict[str, Any] = {"temperature": SIZE / AS_WIDE_AS, "draws": draws, "start": [0.5, 0.0]}
    read = barker_mh(target, proposal_scale=SCALE, batch_size=100, **options).batch_sizes.ravel()
    distance = kstest((read - read.mean()) / read.std(), ndtr).statistic
    return {"distance": float(distance), "skewness": float(skew(read))}


def noise(b: int) -> np.ndarray:
    """Return the distribution function, on the grid, of the noise of a mean of b exponential terms."""
    return np.asarray(gammainc(b, np.maximum(0.0, b + GRID * np.sqrt(b / VARIANCE))))


def with_both(cdf: np.ndarray) -> np.ndarray:
    """Return the distribution function after a normal variable and the correction are added to the noise."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(60)
    law = correction_distribution(1.0)
    for atoms, masses in ((np.sqrt(1.0 - VARIANCE) * nodes, weights), (law.atoms, law.probabilities)):
        cdf = sum(p * np.interp(GRID - a, GRID, cdf) for a, p in zip(atoms, masses / masses.sum(), strict=True))
    return cdf


def largest_errors(b: int) -> list[float]:
    """Return the largest difference from the normal distribution, and after the test, from the logistic one."""
    cdf = noise(b)
    return [float(np.abs(each).max()) for each in (cdf - ndtr(GRID / np.sqrt(VARIANCE)), with_both(cdf) - expit(GRID))]


def uncorrected(scale: float) -> float:
    """Return the largest difference between a normal distribution function and the logistic one."""
    return float(np.abs(ndtr(GRID / scale) - expit(GRID)).max())


def of_walk(b: int, scale: float) -> dict[str, float]:
    """Return the distance of the stationary distribution from the target, and its bound.

    If b is 0, no correction is added.
    """
    x, proposal = proposals()
    delta = 0.5 * (x[:, None] ** 2 - x[None, :] ** 2)
    total = with_both(noise(b)) if b else ndtr(GRID / scale)
    exact, cheap = expit(delta), 1.0 - np.interp(-delta, GRID, total)
    epsilon = float(np.abs(total - expit(GRID)).max())
    return distances(*(with_rejections(proposal * each) for each in (exact, cheap)), epsilon)


def t_statistics(n: int, repeats: int) -> list[float]:
    """Return the largest errors of the normal and the Edgeworth distribution functions for exponential terms."""
    rng, t = np.random.default_rng(n), np.empty(repeats)
    for part in np.array_split(np.arange(repeats), 40):
        terms = rng.standard_exponential((len(part), n)) - 1.0
        t[part] = np.sqrt(n) * terms.mean(axis=1) / terms.std(axis=1)
    x = np.linspace(-4.0, 4.0, 401)
    found = np.searchsorted(np.sort(t), x) / repeats
    density = np.exp(-0.5 * x**2) / np.sqrt(2.0 * np.pi)
    edgeworth = ndtr(x) + 2.0 * (2.0 * x**2 + 1.0) / (6.0 * np.sqrt(n)) * density  # the skewness is 2
    return [float(np.abs(found - each).max()) for each in (ndtr(x), edgeworth)]


def main() -> None:
    experiment = Experiment(__file__, __doc__, shows="Seita et al. (2016; 2017), theory")
    moves, batches, draws, repeats = (20, 400, 6000, 2_000_000) if experiment.full else (4, 100, 500, 20_000)
    experiment.settings(data=SIZE, moves=moves, batches=batches, draws=draws, repeats=repeats, variance=VARIANCE)
    found = experiment.cells(variances, [{"varied": v, "moves": moves, "batches": batches} for v in VARIED])
    for varied, values in zip(VARIED, found, strict=True):
        experiment.result(f"variance, {varied}", slope_of(FACTORS, values))
    (sizes,) = experiment.cells(batch_sizes, [{"draws": draws}])
    text = f"skewness {sizes['skewness']:.1f}, distance {sizes['distance']:.2f}"
    experiment.result("gaussian sizes", **sizes, text=text)
    best = minimize_scalar(uncorrected, bounds=(1.0, 3.0), method="bounded")
    law = correction_distribution(1.0)
    text = f"at least {best.fun:.4f}; corrected {law.error:.0e}"
    experiment.result("uncorrected error", least=float(best.fun), corrected=law.error, text=text)
    before, after = np.array(experiment.cells(largest_errors, [{"b": b} for b in TERMS])).T
    ratios = after / before
    experiment.result("corollary 2", largest=ratios.max(), text=f"{ratios.min():.2f} to {ratios.max():.2f} of it")
    walks = experiment.cells(of_walk, [{"b": b, "scale": round(float(best.x), 3)} for b in (*TERMS[1:4], 0)])
    bounds, apart = (np.array([each[name] for each in walks]) for name in ("bound", "distance"))
    text = f"{apart.min():.1g} to {apart.max():.1g}, at most {(apart / bounds).max():.2f} of it"
    experiment.result("lemma 5", bound=bounds, distance=apart, text=text)
    errors = np.array(experiment.cells(t_statistics, [{"n": n, "repeats": repeats} for n in NUMBERS])).T
    for name, each in zip(("from the normal", "with the skewness"), errors, strict=True):
        experiment.result(f"edgeworth, {name}", slope_of(NUMBERS, each))
    experiment.numbers(variances=found, before=before, after=after, walks=walks, t_statistics=errors)
    experiment.finish()


if __name__ == "__main__":
    main_of(main)
