"""Orders of the data: separate for each chain, with each data point once, and indistinguishable from random."""

import itertools

import numpy as np
import pytest

from steinkit.errors import InputError
from steinkit.samplers.chains import random_order_kernels as kernels
from steinkit.samplers.chains import readers as walks
from steinkit.samplers.chains.draws import StreamKind


def walk_of(size, seeds):
    return walks.DataWalk((np.arange(size), np.arange(size)[:, None] * [1, 10]), seeds, StreamKind.TEST_ORDER)


@pytest.fixture(params=["shuffled", "computed"])
def kind_of_walk(request, monkeypatch):
    if request.param == "computed":
        monkeypatch.setattr(walks, "LARGEST_SHUFFLED", 0)


@pytest.mark.usefixtures("kind_of_walk")
def test_a_test_reads_each_data_point_once_from_any_position():
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
    assert len({order.tobytes() for block in orders for order in block}) == 12


@pytest.mark.usefixtures("kind_of_walk")
def test_an_order_does_not_depend_on_other_chains():
    def history(seeds, chain):
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
    np.testing.assert_array_equal(history([7, 8, 9, 4], 2), np.concatenate(found))


@pytest.mark.usefixtures("kind_of_walk")
def test_an_order_is_the_same_in_slices_of_any_length():
    def first_orders(slices):
        walk, found = walk_of(53, [5]), []
        for _ in range(3):
            found += [walk.take(np.array([0]), rows)[0][0] for rows in slices]
            walk.close(np.array([0]))
        return np.concatenate(found)

    wanted = first_orders([53])
    for slices in ([1] * 53, [20, 20, 13], [52, 1]):
        np.testing.assert_array_equal(first_orders(slices), wanted)


def test_random_bits_are_those_of_split_mix():
    """Compare with the reference implementation for the seed 1234567."""
    wanted = [6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431]
    assert [int(kernels.random_bits(np.uint64(1234567), i)) for i in range(4)] == wanted
    for bits, bound in itertools.product((0, 1, 2**32 - 1, 2**63 + 12345, 2**64 - 1), (1, 2, 7, 2**15, 2**31)):
        assert kernels.below(np.uint64(bits), bound) == bits * bound >> 64


def test_all_orders_of_small_data_are_equally_likely():
    """This includes orders that begin in the middle of an earlier order."""
    walk, chains, orders = walk_of(4, list(range(1000))), np.arange(1000), []
    for first in (4, 3, 5, 4, 6, 4):  # some of them wrap around
        walk.take(chains, first)
        walk.close(chains)
        if first == 3:
            walk.take(chains, 1)
            walk.close(chains)
        orders.append(walk.take(chains, 4)[0])
        walk.close(chains)
    counts = np.unique(np.concatenate(orders) @ [64, 16, 4, 1], return_counts=True)[1]
    assert len(counts) == 24
    assert ((counts - counts.mean()) ** 2 / counts.mean()).sum() < 23 + 5 * np.sqrt(2 * 23)


@pytest.mark.usefixtures("kind_of_walk")
def test_proposals_and_tests_do_not_share_an_order():
    """A test on the minibatch of its proposal would accept the errors of that minibatch."""
    cycles = []
    for kind in (StreamKind.TEST_ORDER, StreamKind.PROPOSAL_ORDER):
        numbers = walks.DataWalk((np.arange(53),), [1], kind).take(np.array([0]), 53)[0][0]
        cycles.append(np.roll(numbers, -int(numbers.argmin())))
    assert (cycles[0] == cycles[1]).mean() < 0.3


@pytest.mark.usefixtures("kind_of_walk")
def test_batches_are_uniform_over_the_data():
    walk, chains, counts = walk_of(40, list(range(200))), np.arange(200), np.zeros((4, 40))
    for t in range(200):
        numbers, _ = walk.take(chains, 7)
        walk.close(chains)
        counts[t % 4] += np.bincount(numbers.ravel(), minlength=40)
    # the multinomial chi-square test is conservative for draws without replacement
    assert (((counts - counts.mean()) ** 2 / counts.mean()).sum(axis=1) < 39 + 5 * np.sqrt(2 * 39)).all()


def features(size):
    """Return standardized data with similar values in neighboring or equidistant rows."""
    i = np.arange(size)
    side = int(np.sqrt(size - 1)) + 1
    columns = [i, i < size // 2, i < size // 100, i % 2, np.sin(14.0 * np.pi * i / size), i % side, i // side % 2]
    x = np.stack([np.asarray(column, dtype=np.float64) for column in columns], axis=1)
    return ((x - x.mean(axis=0)) / x.std(axis=0, ddof=1)).astype(np.float32)


def variance_ratios(size, read, orders):
    """Compute the variance of means of an order's first data relative to random samples, and its standard error."""
    x, squares = features(size), []
    for first in range(0, orders, 50):
        walk = walks.DataWalk((x,), list(range(first, first + 50)), StreamKind.TEST_ORDER)
        batch = walk.take(np.arange(50), max(read))[0]
        squares.append([batch[:, :n].mean(axis=1, dtype=np.float64) ** 2 / ((1.0 - n / size) / n) for n in read])
    found = np.concatenate(squares, axis=1)
    return found.mean(axis=1), found.std(axis=1) / np.sqrt(orders)


@pytest.mark.parametrize(("tables", "good"), [(6, True), (4, False)])
def test_computed_orders_of_sorted_rows_are_as_variable_as_random_samples(tables, good, monkeypatch):
    monkeypatch.setattr(walks, "_TABLES", tables)
    ratios, errors = variance_ratios(33_600, (20, 184, 1000, 6000, 16_800), 1000)
    away = np.abs(ratios - 1.0) / errors
    print(np.round(ratios, 2), np.round(away, 1), sep="\n")
    assert (away.max() < 4.5) == good  # the maximum of 35 ratios exceeds it once in 4000 runs


def test_pairs_of_data_are_in_random_positions(monkeypatch):
    """Count neighbors, and data that differ by a digit, in windows of a computed order."""
    size, chains = 1024, np.arange(400)
    monkeypatch.setattr(walks, "LARGEST_SHUFFLED", 0)
    place = np.empty((len(chains), size), dtype=np.int64)
    order = walk_of(size, chains.tolist()).take(chains, size)[0]
    np.put_along_axis(place, order, np.arange(size)[None], axis=1)
    for apart in (1, 2, 31, 32, 33, 64, 512):
        distance = np.abs(place - np.roll(place, apart, axis=1))
        distance = np.minimum(distance, size - distance)
        for window in (8, 64):
            expected = 2.0 * window / (size - 1)
            shares = (distance <= window).mean(axis=1)
            assert abs(shares.mean() - expected) < 4.5 * shares.std() / np.sqrt(len(chains))


def test_too_many_data_are_rejected(monkeypatch):
    monkeypatch.setattr(walks, "LARGEST_SHUFFLED", 0)
    monkeypatch.setattr(walks, "_LARGEST", 52)
    with pytest.raises(InputError, match=r"52.* 53"):
        walk_of(53, [1])
