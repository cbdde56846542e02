"""Programs solved side by side: each to the bit as alone, whatever the others are."""

import numpy as np
import pytest

from steinkit.discrepancy.graph.engines import Settings
from steinkit.discrepancy.graph.engines.chain import aggregation
from steinkit.discrepancy.graph.engines.chain.abreast import solve_abreast
from steinkit.discrepancy.graph.programs.stein_program import SteinProgram
from steinkit.discrepancy.graph.spanner.geometry import unjoined
from steinkit.runtime.deadlines import StopSignal


def program(seed, n, bounds=None):
    points = np.random.default_rng(seed).uniform(0.0, 3.0, (n, 1))
    limits = None if bounds is None else np.array([bounds])
    return SteinProgram(points, 1.0 - points, np.full(n, 1.0 / n), unjoined(n), bounds=limits)


PROGRAMS = [
    program(seed, n, bounds)
    for seed, (n, bounds) in enumerate(
        [(60, None), (1, None), (300, (0.0, np.inf)), (7, (-0.2, 3.1)), (90, (-np.inf, 3.0)), (150, None), (2, None)]
    )
]


@pytest.mark.parametrize("tolerance", [1e-2, 1e-7])
@pytest.mark.parametrize("count", [1, 3, 4, 7])
def test_answers_are_those_of_each_program_alone(count, tolerance):
    settings = Settings(tolerance=tolerance)
    found = dict(solve_abreast(iter(PROGRAMS[:count]), settings))
    assert sorted(found) == list(range(count))
    for k, answer in found.items():
        (alone,) = aggregation.solve(PROGRAMS[k], settings)
        assert np.array_equal(answer.y, alone.y)
        assert np.array_equal(answer.p, alone.p)
        assert answer.iterations == alone.iterations
        assert answer.proof.gap <= tolerance


def test_large_ones_are_solved_by_blocks(monkeypatch):
    monkeypatch.setattr(aggregation, "MANY", 100)
    settings = Settings(tolerance=1e-3)
    found = dict(solve_abreast(PROGRAMS, settings))
    for k, answer in found.items():
        assert np.array_equal(answer.y, aggregation.solve(PROGRAMS[k], settings)[0].y)


def test_all_stop_when_interrupted():
    stop = StopSignal()
    stop.set()
    found = dict(solve_abreast(PROGRAMS, Settings(tolerance=1e-9, interrupted=stop)))
    assert len(found) == len(PROGRAMS)
    assert all(answer.iterations == 0 for answer in found.values())
