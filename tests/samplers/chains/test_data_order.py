"""Walks through the data: one chain alone, every datum once."""

import numpy as np
import pytest

from steinkit.samplers.chains import data_order as walks
from steinkit.samplers.chains.random_streams import Kind


def walk_of(size, seeds, longest=64):
    return walks.data_walk((np.arange(size), np.arange(size)[:, None] * [1, 10]), seeds, Kind.TEST_ORDER, longest)


@pytest.fixture(params=["permuted", "shared"])
def kind_of_walk(request, monkeypatch):
    if request.param == "shared":
        monkeypatch.setattr(walks, "LARGEST_PERMUTED", 0)


@pytest.mark.usefixtures("kind_of_walk")
def test_a_test_sees_every_datum_once_wherever_it_starts():
    walk, chains = walk_of(53, [1, 2, 3]), np.arange(3)
    orders = []
    for first in (10, 1, 53, 7):
        walk.take(chains, first)
        walk.close(chains)
        batches = [walk.take(chains, rows) for rows in (20, 20, 13)]
        walk.close(chains)
        orders.append(np.concatenate([numbers for numbers, _ in batches], axis=1))
        np.testing.assert_array_equal(np.sort(orders[-1], axis=1), np.tile(np.arange(53), (3, 1)))
        for numbers, pairs in batches:
            np.testing.assert_array_equal(pairs, numbers[:, :, None] * [1, 10])
    assert len({order.tobytes() for block in orders for order in block}) > 8  # of 12; shared orders are rotations


@pytest.mark.usefixtures("kind_of_walk")
def test_slices_are_contiguous_and_not_shared_by_chains():
    for array in walk_of(53, [1, 2]).take(np.array([1]), 20):
        assert array.flags.c_contiguous
        assert array.strides[0] > 0


@pytest.mark.usefixtures("kind_of_walk")
def test_a_walk_is_the_chains_own(monkeypatch):
    def history(seeds, chain, block):
        monkeypatch.setattr(walks, "_BLOCK_ENTRIES", block)
        walk, found = walk_of(20, seeds), []
        for t in range(30):
            for k in range(len(seeds)):
                numbers, _ = walk.take(np.array([k]), 3 + (t + k) % 4)
                if t % 3 == k % 3:
                    walk.close(np.array([k]))
                if k == chain:
                    found.append(numbers[0])
        return np.concatenate(found)

    alone = walk_of(20, [9])
    found = []
    for t in range(30):
        found.append(alone.take(np.array([0]), 3 + (t + 2) % 4)[0][0])
        if t % 3 == 2:
            alone.close(np.array([0]))
    for block in (1, 40, 4096):
        np.testing.assert_array_equal(history([7, 8, 9, 4], 2, block), np.concatenate(found))


def test_proposals_and_tests_do_not_share_an_order(monkeypatch):
    """Else two walks whose starting points are near each other would read the same data, step after step."""
    monkeypatch.setattr(walks, "LARGEST_PERMUTED", 0)
    cycles = []
    for kind in (Kind.TEST_ORDER, Kind.PROPOSAL_ORDER):
        numbers = walks.data_walk((np.arange(53),), [1], kind, 53).take(np.array([0]), 53)[0][0]
        cycles.append(np.roll(numbers, -int(numbers.argmin())))
    assert (cycles[0] == cycles[1]).mean() < 0.3


@pytest.mark.usefixtures("kind_of_walk")
def test_batches_are_uniform_over_the_data():
    walk, chains, counts = walk_of(40, list(range(200))), np.arange(200), np.zeros((4, 40))
    for t in range(200):
        numbers, _ = walk.take(chains, 7)
        walk.close(chains)
        counts[t % 4] += np.bincount(numbers.ravel(), minlength=40)
    # draws without replacement: the multinomial chi-square is an upper bound in spread
    chi_square = ((counts - counts.mean()) ** 2 / counts.mean()).sum(axis=1)
    assert (chi_square < 39 + 5 * np.sqrt(2 * 39)).all()
