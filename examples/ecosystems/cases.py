"""Shared data, closed-form scores, and a table of verdicts for the scripts in this folder.

Each script of a package defines the same models, samples from them, and converts the model and the draws in one line.
The verdict must accept these draws. It must reject draws that were sampled with a different prior for tau,
HalfNormal(1) instead of HalfCauchy(5). With ``--small``, each script uses fewer draws and only one or two models, and
most scripts use only exact draws, because compilation and long chains take most of the time.
"""

from __future__ import annotations

import argparse
import resource
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

import steinkit as sk

# D. B. Rubin (1981), "Estimation in parallel randomized experiments"
SCHOOLS = ("Choate", "Deerfield", "Andover", "Exeter", "Hotchkiss", "Lawrenceville", "St. Paul's", "Mt. Hermon")
EFFECTS = np.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])
ERRORS = np.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])

# counts of three categories; with a uniform prior their probabilities have the posterior Dirichlet(13, 31, 9)
COUNTS = np.array([12, 30, 8])

LEVEL = 0.01  # p-value below which draws are rejected


def centred_score(mu: np.ndarray, log_tau: np.ndarray, theta: np.ndarray) -> dict[str, np.ndarray]:
    """Compute the score of the eight schools model in centered form.

    mu ~ N(0, 5^2), tau ~ HalfCauchy(5), theta ~ N(mu, tau^2), y ~ N(theta, sigma^2).

    Parameters
    ----------
    mu, log_tau : ndarray, shape (n,)
    theta : ndarray, shape (n, 8)

    Returns
    -------
    dict of str to ndarray
        Scores of "mu" and "log_tau", shape (n,), and "theta", shape (n, 8), including log |J| = log tau.
    """
    tau2 = np.exp(2.0 * log_tau)
    deviation = theta - mu[:, None]
    return {
        "mu": -mu / 25.0 + deviation.sum(axis=1) / tau2,
        "log_tau": -2.0 * tau2 / (25.0 + tau2) + 1.0 - len(EFFECTS) + (deviation**2).sum(axis=1) / tau2,
        "theta": -deviation / tau2[:, None] + (EFFECTS - theta) / ERRORS**2,
    }


def non_centred_score(mu: np.ndarray, log_tau: np.ndarray, z: np.ndarray) -> dict[str, np.ndarray]:
    """Compute the score in non-centered form, theta = mu + tau z with z ~ N(0, 1)."""
    tau = np.exp(log_tau)
    pull = (EFFECTS - mu[:, None] - tau[:, None] * z) / ERRORS**2
    return {
        "mu": -mu / 25.0 + pull.sum(axis=1),
        "log_tau": -2.0 * tau**2 / (25.0 + tau**2) + 1.0 + tau * (pull * z).sum(axis=1),
        "z": -z + tau[:, None] * pull,
    }


def logistic_data(n: int = 200, seed: int = 3) -> tuple[np.ndarray, np.ndarray]:
    """Simulate two covariates and a binary response, shapes (n, 2) and (n,), of a logistic regression."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 2))
    return X, (rng.random(n) < 1.0 / (1.0 + np.exp(-(0.5 + X @ [1.0, -1.5])))).astype(np.int64)


def logistic_score(X: np.ndarray, y: np.ndarray, intercept: np.ndarray, beta: np.ndarray) -> dict[str, np.ndarray]:
    """Compute the score of a logistic regression with N(0, 2.5^2) priors, in "intercept" (n,) and "beta" (n, 2)."""
    rest = y - 1.0 / (1.0 + np.exp(-(intercept[:, None] + beta @ X.T)))
    return {"intercept": -intercept / 6.25 + rest.sum(axis=1), "beta": -beta / 6.25 + rest @ X}


@dataclass
class Table:
    """Verdicts of a script, printed line by line.

    The method `close` exits with code 1 if a verdict is not as expected.
    """

    package: str
    wrong: list[str] = field(default_factory=list)

    def judge(self, case: str, target: sk.Target, sample: sk.Sample, *, right: bool = True) -> sk.Verdict:
        """Print the verdict of exact or biased draws, and compare it with the expected one."""
        verdict = sk.verdict(sample, target)
        good = (verdict.p >= LEVEL) == right
        if not good:
            self.wrong.append(case)
        draws = "exact draws" if right else "biased draws"
        remark = "" if good else "  UNEXPECTED"
        print(f"{case}, {draws} ({len(sample)} x {sample.dim}): p = {verdict.p:.2g}{remark}")
        print(f"    {verdict.sentence}")
        return verdict

    def agree(self, case: str, found: np.ndarray, by_hand: Mapping[str, np.ndarray], order: tuple[str, ...]) -> None:
        """Compare scores with closed forms, relative to the largest score of each coordinate."""
        wanted = np.column_stack([by_hand[name] for name in order])
        error = float((np.abs(found - wanted).max(axis=0) / np.abs(wanted).max(axis=0)).max())
        if not error < 1e-8:
            self.wrong.append(f"{case}: scores")
        print(f"{case}: the score agrees with the manual one to {error:.1e}")

    def cost(self, case: str, target: sk.Target, points: np.ndarray) -> None:
        """Print the time of 1000 scores, for the first and the second call."""
        points = np.resize(points, (1000, points.shape[1]))
        times = []
        for _ in range(2):
            begin = time.perf_counter()
            target.score(points)
            times.append(time.perf_counter() - begin)
        print(f"{case}: 1000 scores take {times[1]:.2g} s (the first time {times[0]:.2g} s)")

    def close(self) -> None:
        """Print the memory usage, and exit with code 1 if a verdict was not as expected."""
        print(f"{self.package}: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB at most")
        if self.wrong:
            sys.exit(f"{self.package}: not as expected: {'; '.join(self.wrong)}")


def settings(description: str) -> argparse.Namespace:
    """Parse the common option of the scripts, ``--small``."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--small", action="store_true", help="fewer draws and fewer models")
    return parser.parse_args()
