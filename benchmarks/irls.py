"""Data read by IRLS on growing batches, and reliability of its direction test.

The first table is for simulated regressions. It lists the data read (in multiples of the data set) and the seconds
until the error of a method remains below .5% and .05%, and until the method stops. Ratios are relative to the method
that uses all the data. The method "as published" starts each iteration with new data, has no bias correction, and
increases batches by a thousandth. For stochastic gradient descent, the best of several step size schedules is used,
selected on the same data.

The second table is for several ratios mu / sigma of the true step to its noise. It lists the fraction of steps in the
wrong direction, delta for the true step, and the mean delta as estimated in the paper and with bias correction. It also
lists the fraction of steps that pass at .01, and the fraction of these steps that have the wrong direction.

    python benchmarks/irls.py [--quick]

References
----------
A. Korattikara, Y. Chen and M. Welling (2016), "Sequential tests for large-scale learning", sections 2.1 and 4.1.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np
from scipy.special import ndtr

sys.path.append(str(Path(__file__).resolve().parents[1] / "examples" / "papers"))
from _annealed_descent import StochasticGradientResult, stochastic_gradient_descent
from applications.irls import IRLSResult, batch_irls, sequential_irls, wrong_direction_probability

LIMITS = (5e-3, 5e-4)
EPSILON = 0.01
SCHEDULES = [(c_1, c_2, c_3) for c_1 in (0.1, 1.0, 10.0) for c_2 in (10.0, 100.0) for c_3 in (0.7, 1.0)]

Result = IRLSResult | StochasticGradientResult


def simulate(loss: str, size: int, dim: int) -> tuple[np.ndarray, np.ndarray]:
    """Simulate standard normal features and an intercept, with Laplace noise or two classes."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((size, dim))
    X[:, 0] = 1.0
    eta = X @ np.linspace(1.0, 2.0, dim)
    if loss == "lad":
        return X, eta + rng.laplace(size=size)
    return X, (rng.random(size) < 1.0 / (1.0 + np.exp(-0.5 * eta))).astype(float)


def errors(result: Result, reference: np.ndarray) -> np.ndarray:
    """Compute the largest error of a coefficient per step, relative to the largest coefficient."""
    return np.abs(result.path - reference).max(axis=1) / np.abs(reference).max()


def spent(result: Result, reference: np.ndarray) -> list[tuple[float, float]]:
    """Return the data read and the seconds until each limit holds, and until the end.

    They are infinite if a limit is never reached.
    """
    found = []
    for limit in LIMITS:
        above = np.flatnonzero(errors(result, reference) >= limit)
        first = above[-1] + 1 if above.size else 0
        reached = first < len(result.path)
        found.append((result.data_passes[first], result.seconds[first]) if reached else (np.inf, np.inf))
    end = (result.data_passes[-1], result.seconds[-1])
    return [*found, end if getattr(result, "converged", True) else (np.inf, np.inf)]


def compare_reading(size: int, dims: tuple[int, ...], passes: int) -> None:
    """Print the data read and the times of each method."""
    head = [f"within {limit:.2%}" for limit in LIMITS] + ["until it stops"]
    for loss in ("lad", "logistic"):
        for dim in dims:
            X, y = simulate(loss, size, dim)
            reference = batch_irls(X, y, loss=loss, tolerance=1e-9, max_iterations=1000).coefficients
            descents = [
                stochastic_gradient_descent(
                    X, y, loss=loss, step_size=c_1, step_offset=c_2, decay=c_3, passes=passes, records=5
                )
                for c_1, c_2, c_3 in SCHEDULES
            ]
            published = {"debias": False, "carry": "nothing", "growth": 1.0, "max_passes": 30.0, "max_iterations": 200}
            runs: dict[str, Result] = {
                "all the data": batch_irls(X, y, loss=loss),
                "growing, debiased": sequential_irls(X, y, loss=loss),
                "growing, paper's form": sequential_irls(X, y, loss=loss, debias=False),
                "other data, debiased": sequential_irls(X, y, loss=loss, carry="size", max_iterations=200),
                "as published": sequential_irls(X, y, loss=loss, **published),
                "stochastic gradient descent": min(descents, key=lambda result: errors(result, reference)[-1]),
            }
            print(f"\n{loss}, N = {size:,}, D = {dim}")
            print(f"{'':30}" + "".join(f"{words:>32}" for words in head))
            print(f"{'':30}" + f"{'passes (ratio), seconds (ratio)':>32}" * len(head))
            whole = spent(runs["all the data"], reference)
            for name, result in runs.items():
                cells = [
                    f"{read:.2f} ({read / all_read:.2f}), {time:.2f} ({time / all_time:.2f})"
                    for (read, time), (all_read, all_time) in zip(spent(result, reference), whole, strict=True)
                ]
                print(f"{name:30}" + "".join(f"{cell:>32}" for cell in cells), flush=True)


def calibrate(repeats: int) -> None:
    """Print how often normal steps have the wrong direction, and the results of the test."""
    rng = np.random.default_rng(1)
    print(f"\nDirections of {repeats:,} normal steps with covariance I: paper's form, debiased")
    print(
        f"{'D':>4}{'mu/sigma':>10}{'wrong':>9}{'delta':>9}"
        f"{'delta estimated':>20}{f'pass {EPSILON:g}':>18}{'wrong of those':>20}"
    )
    for dim in (2, 10, 50):
        for ratio in (0.0, 0.5, 1.0, 2.0, 3.0):
            steps = rng.standard_normal((repeats, dim))
            steps[:, 0] += ratio
            wrong = steps[:, 0] < 0.0
            deltas = [
                np.array([wrong_direction_probability(step, np.eye(dim), debias=debias) for step in steps])
                for debias in (False, True)
            ]
            passing = [delta < EPSILON for delta in deltas]
            estimated, passed, misled = (
                ", ".join(f"{value:.4f}" for value in values)
                for values in (
                    [delta.mean() for delta in deltas],
                    [chosen.mean() for chosen in passing],
                    [wrong[chosen].mean() if chosen.any() else np.nan for chosen in passing],
                )
            )
            print(
                f"{dim:4}{ratio:10.1f}{wrong.mean():9.4f}{ndtr(-ratio):9.4f}{estimated:>20}{passed:>18}{misled:>20}",
                flush=True,
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="small sizes")
    quick = parser.parse_args().quick
    compare_reading(*((5_000, (2, 10), 2) if quick else (100_000, (2, 10), 20)))
    calibrate(500 if quick else 20_000)


if __name__ == "__main__":
    main()
