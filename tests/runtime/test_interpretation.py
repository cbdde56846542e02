"""Interpreted and compiled kernels give bit-for-bit identical results."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

from steinkit.runtime import compilation
from steinkit.runtime.compilation import array_kernel, as_source, compile_from_now_on, small_work

BOTH_WAYS = """
import json, sys
import numpy as np, steinkit as sk
from steinkit.discrepancy.graph.solvers.chain_kernels import riccati_solve
from steinkit.discrepancy.kernel.base import IMQ
from steinkit.discrepancy.kernel.stein_row_kernels import row_kernels
from steinkit.runtime import compilation

def samples(first, last):
    for seed in range(first, last):
        rng = np.random.default_rng(seed)
        kind, n = seed % 5, 120 + 15 * (seed % 7)
        x = rng.standard_normal((n, 1 + seed % 3)) * (1.0 + 0.2 * (seed % 2))
        normal = sk.targets.Normal(np.zeros(x.shape[1]))
        if kind == 0:  # a slow chain, in two
            for k in range(1, n):
                x[k] = 0.6 * x[k - 1] + 0.8 * x[k]
            yield dict(draws=x[: n // 2 * 2].reshape(2, n // 2, -1), target=normal)
        elif kind == 1:  # which rejects
            yield dict(draws=x[np.sort(rng.integers(0, n // 2, n))], target=normal)
        elif kind == 2:
            yield dict(draws=np.round(x, 1), target=normal, weights=rng.dirichlet(np.ones(n)))
        elif kind == 3:  # between a bound and another
            yield dict(draws=rng.beta(2.0, 2.2, (n, 2)), scores=None, bounds=[0.0, 1.0])
        else:  # above one bound, some draws at it, or very near one another
            draws = np.where(rng.random((n, 2)) < 0.02, 1e-9 * rng.random((n, 2)), rng.exponential(1.0, (n, 2)))
            yield dict(draws=draws, scores=-np.ones((n, 2)), bounds=[0.0, np.inf])

def judged(first, last):
    for given in samples(first, last):
        if given.get("scores", 0) is None:
            x = given["draws"]
            given["scores"] = 1.0 / x - 1.0 / (1.0 - x)
        found = sk.verdict(**given)
        yield json.dumps(found.to_dict()), found.summary(), found.sliced.z.tobytes(), found.ksd_equivalent_draws

def machine_code():
    return [len(each.compiled().signatures) for each in (riccati_solve, *row_kernels(IMQ.radial))]

first, last = map(int, sys.argv[1:])
compilation._is_kept = lambda _: False
compilation._left["seconds"] = 1e9
cold, compiled = list(judged(first, last)), [machine_code()]
compilation.compile_from_now_on()
warm = list(judged(first, last))
compiled.append(machine_code())
print(json.dumps([len(cold), [k for k in range(len(cold)) if cold[k] != warm[k]], *compiled]))
"""


def both_ways(first, last):
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", BOTH_WAYS, str(first), str(last)],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )
    return json.loads(done.stdout)


def test_verdicts_are_bit_for_bit_identical():
    count, differing, before, then = both_ways(0, 5)
    assert (count, differing) == (5, [])
    assert before == [0, 0, 0]  # run as plain Python
    assert min(then) > 0  # run as machine code


def reciprocal_added(values, total):
    for k in range(len(values)):
        total[0] += 1.0
        values[k] = 1.0 / values[k]
    return total[0]


@pytest.fixture
def kernel(monkeypatch):
    """Simulate a process without compiled kernels."""
    monkeypatch.setattr(compilation, "_left", {"seconds": 1.0})
    monkeypatch.setattr(compilation, "_is_kept", lambda compiled: False)
    return as_source(array_kernel(reciprocal_added))


def test_small_work_is_interpreted_for_a_limited_time(kernel):
    values, total = np.array([2.0, 4.0]), np.zeros(1)
    for seconds in (0.6, 0.4):
        with small_work(seconds):
            kernel(values, total)
        assert not kernel.compiled().signatures
    with small_work(0.1):
        assert kernel(values, total) == 6.0
    assert kernel.compiled().signatures
    np.testing.assert_array_equal(values, [0.5, 0.25])


@pytest.mark.parametrize("before", [lambda: None, compile_from_now_on])
def test_large_work_is_compiled(kernel, before):
    before()
    with small_work(1.1 if before is not compile_from_now_on else 0.1):
        kernel(np.ones(2), np.zeros(1))
    assert kernel.compiled().signatures


def test_division_by_zero_in_plain_python(kernel):
    values, total = np.array([2.0, 0.0, 4.0]), np.zeros(1)
    with small_work(0.1):
        assert kernel(values, total) == 3.0
    np.testing.assert_array_equal(values, [0.5, np.inf, 0.25])
    assert not kernel.compiled().signatures
