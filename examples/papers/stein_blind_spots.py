"""Show problems of samples that common diagnostics do not detect.

    python examples/papers/stein_blind_spots.py [--full] [--jobs N] [-o DIR]

Chains of stochastic gradient Langevin dynamics with step size 0.05 sample the mixture posterior, which has two modes,
with a bias. R-hat compares the chains with each other, and the halves of a chain can also be compared, but neither
comparison involves the target. The script reports both comparisons, the error of the second moments relative to the
posterior, and the Stein discrepancy relative to that of exact draws.

The score statistic of N(0, 1) consists of the means of the score and of the product of score and draws, so it is a
function of the first two moments. It is computed for standardized draws from N(0, 1) and from Student's t distribution.

References
----------
J. Gorham and L. Mackey (2015), "Measuring sample quality with Stein's method", sections 1, 5.3 and 6.
"""

from __future__ import annotations

import numpy as np
from _frame import Experiment, Found, main_of
from stein_sgld_step_size import BATCH, TOO_LARGE, posterior

import steinkit as sk
from steinkit.samplers import sgld

CHAINS, SCORED = 4, 500


def diagnostics(seed: int, draws: int) -> dict[str, float]:
    """Return R-hat, the drift and error of the second moments in standard errors, and the discrepancy ratio."""
    target, rng, exact = sk.targets.MixturePosterior(), np.random.default_rng(seed), posterior()["points"]
    seeds, start = range(CHAINS * seed, CHAINS * (seed + 1)), rng.standard_normal((CHAINS, 2))
    run = sgld(target, step_size=TOO_LARGE, batch_size=BATCH, draws=2 * draws, seed=seeds, start=start)
    points = run.points[:, draws:]
    squares = (points**2).reshape(CHAINS, 2, -1, 2).mean(axis=2)  # shape (chains, halves, d)
    found, error = sk.chain_diagnostics(points**2), sk.chain_diagnostics(points**2).mcse_mean
    drift = np.abs(np.diff(squares.mean(axis=0), axis=0)[0]) / (2.0 * error)
    away = np.abs(squares.mean(axis=(0, 1)) - (exact**2).mean(axis=0)) / error
    samples = (rng.permutation(each)[:SCORED] for each in (points.reshape(-1, 2), exact))
    own, right = (sk.graph_stein_discrepancy(each, target, units="raw", tolerance=1e-2).value for each in samples)
    rhat = max(float(sk.chain_diagnostics(points).r_hat.max()), float(found.r_hat.max()))
    return {"rhat": rhat, "drift": float(drift.max()), "away": float(away.max()), "stein": own / right}


def score_statistics(n: int) -> dict[str, float]:
    """Return the difference between the score statistics of normal and t draws, and the ratio of discrepancies."""
    rng, target = np.random.default_rng(0), sk.targets.Normal([0.0])
    samples = [
        each / np.sqrt((each**2).mean())
        for each in (x - x.mean() for x in (rng.standard_normal(n), rng.standard_t(5, n)))
    ]
    scores = [target.score(each[:, None])[:, 0] for each in samples]
    pairs = np.array([[s.mean(), (s * x).mean() + 1.0] for s, x in zip(scores, samples, strict=True)])
    normal, student = (sk.graph_stein_discrepancy(each, target, units="raw").value for each in samples)
    return {"score": float(np.abs(np.diff(pairs, axis=0)).max()), "stein": student / normal}


def main() -> None:
    experiment = Experiment(__file__, __doc__, shows="Gorham and Mackey (2015), diagnostics")
    runs, draws, n = (4, 200_000, 10_000) if experiment.full else (2, 1000, 1000)
    experiment.settings(step_size=TOO_LARGE, chains=CHAINS, draws=draws, runs=runs, scored=SCORED)
    found = experiment.cells(diagnostics, [{"seed": seed, "draws": draws} for seed in range(runs)])
    each = {name: Found.range([one[name] for one in found], inside=1.0) for name in found[0]}
    text = f"R-hat at most {each['rhat'].high:.3f}, discrepancy {each['stein']} times exact draws'"
    experiment.result("blind, rhat", rhat=each["rhat"].high, stein_low=each["stein"].low, text=text)
    text = f"halves at most {each['drift'].high:.1f} standard errors apart, posterior {each['away']}"
    experiment.result("blind, traces", drift=each["drift"].high, away=each["away"].low, text=text)
    (score,) = experiment.cells(score_statistics, [{"n": n}])
    text = f"statistics {score['score']:.0e} apart, discrepancies {score['stein']:.1f} times"
    experiment.result("blind, score statistic", **score, text=text)
    experiment.numbers(runs=found, score_statistic=score)
    experiment.finish()


if __name__ == "__main__":
    main_of(main)
