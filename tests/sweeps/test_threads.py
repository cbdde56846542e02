"""Sweeps with joblib's threading backend."""

import sys
import warnings

import joblib
import numpy as np

import steinkit as sk


def sampler(target, *, seed, scale):
    print("a message of the sampler")
    return scale * np.random.default_rng(seed).standard_normal((50, 1))


def test_threads_do_not_change_the_process(capsys):
    given = {"grid": {"scale": [1.0, 2.0, 3.0]}, "seeds": 3, "measures": ("ksd",)}
    alone = sk.sweep(sk.targets.Normal([0.0]), sampler, **given)
    out, filters = sys.stdout, list(warnings.filters)
    with joblib.parallel_config(backend="threading", n_jobs=2):
        found = sk.sweep(sk.targets.Normal([0.0]), sampler, **given)
    assert sys.stdout is out
    assert warnings.filters == filters
    assert "message" not in capsys.readouterr().out
    assert [each.measures["ksd"].value for each in found.records] == [
        each.measures["ksd"].value for each in alone.records
    ]
