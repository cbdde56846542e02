"""Results of chains do not depend on the order of the data rows, even if they are sorted."""

import importlib.util
from pathlib import Path

import numpy as np

PATH = Path(__file__).parents[3] / "benchmarks" / "row_orders.py"
SPECIFICATION = importlib.util.spec_from_file_location("benchmark_row_orders", PATH)
benchmark = importlib.util.module_from_spec(SPECIFICATION)
SPECIFICATION.loader.exec_module(benchmark)

SIZE = 33_600  # above the size up to which permutations are stored
DATA = np.random.default_rng(0).exponential(size=SIZE)


def test_eight_orders_of_the_rows_give_the_same():
    """The benchmark, which `.ci/run weekly` runs at a small size, compares all samplers."""
    name = "approximate_mh, epsilon .1"
    found = benchmark.examine(name, DATA, chains=16, steps=25, seed=1)
    assert set(found) >= {"mean", "second moment"}
    assert min(benchmark.report(name, found)) > benchmark.LIMIT


def test_one_shuffle_for_all_chains_is_found_out():
    with benchmark.one_shuffle():
        found = benchmark.examine("approximate_mh, epsilon .1", DATA, chains=16, steps=25, seed=1)
    assert min(benchmark.report("control", found)) < benchmark.LIMIT
