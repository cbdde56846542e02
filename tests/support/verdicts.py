"""Verdicts and estimates of bias with given numbers."""

from dataclasses import replace
from functools import cache

import numpy as np

import steinkit as sk
from steinkit.diagnosis.verdict_result import TestResult, Verdict
from steinkit.finding import Finding, Kind

LOCATION = Finding(Kind.LOCATION, ("mu",), "too high", -9.04, 0.28)
SCALE = Finding(Kind.SCALE, ("tau",), "too narrow", 8.4, 0.2)
PAIR = Finding(Kind.DEPENDENCE, ("mu", "tau"), "correlation too weak", 4.0, 0.1)


@cache
def _real() -> Verdict:
    return sk.verdict(np.random.default_rng(0).standard_normal((200, 2)), sk.targets.Normal([0.0, 0.0]))


def verdict(p=0.4, findings=(), *, tests=None, mixed=True, weighted=False, **changes):
    """Return a verdict on 1000 draws of mu and tau with a p-value, by one test unless tests are given.

    By default it has no biases, edges, modes or cautions.
    """
    real = _real()
    diagnostics = replace(real.diagnostics, weighted=weighted)
    diagnostics.__dict__.update(
        r_hat=np.array([1.0 if mixed else 1.3]), bulk_ess=np.array([500.0]), tail_ess=np.array([500.0])
    )
    usual = {
        "ess": 100.4, "draws": 1000, "effective_draws": 120.0, "enough_draws": True, "diagnostics": diagnostics,
        "invariance": None, "modes": None, "bias": None, "hiding": (), "warnings": (), "names": ("mu", "tau"),
    }  # fmt: skip
    tests = (TestResult("moments", p, 1.0),) if tests is None else tests
    return replace(real, tests=tests, findings=tuple(findings), **usual | changes)


def quantity(name="mu", mean_bias=0.0, mean_margin=0.02, sd_bias=0.0, sd_margin=0.02, reason="", at_least=0.0):
    """Return the numbers of one quantity with mean 1 and sd 2."""
    return locals()


def estimate(*quantities, effective_size=850, **changes):
    """Return an estimate of the biases of 1000 draws from numbers of `quantity`."""
    column = {key: [each[key] for each in quantities] for key in quantities[0]}
    arrays = {key: np.array(column[key], dtype=float) for key in column if key not in ("name", "reason")}
    n = len(quantities)
    usual = {
        "names": tuple(column["name"]), "mean": np.ones(n), "sd": np.full(n, 2.0),
        "draws_mean": 1.0 + 2.0 * arrays.pop("mean_bias"), "draws_sd": 2.0 * np.exp(arrays.pop("sd_bias")), **arrays,
        "reason": tuple(column["reason"]),
        "weights": np.repeat([1.0 / effective_size, 0.0], [effective_size, 1000 - effective_size]),
        "draws": 1000, "method": "regression", "features": "quadratic", "hidden": "", "warnings": (),
    }  # fmt: skip
    return replace(_real().bias, **usual | changes)
