"""Random streams do not depend on the number of chains or the size of blocks."""

import numpy as np
import pytest

import steinkit as sk
from steinkit.samplers.chains import draws as streams
from steinkit.samplers.chains.draws import Noise, StreamKind, chain_seeds, normals, uniforms


def test_the_seed_of_a_chain_does_not_depend_on_the_number_of_chains():
    seeds = chain_seeds(7, 100)
    assert seeds[:3] == chain_seeds(7, 3)
    assert len(set(seeds)) == 100
    assert chain_seeds(seeds[41:43], 1) == seeds[41:43]
    assert max(seeds) < 2**53  # exact in JSON


@pytest.mark.parametrize("seed", [-1, 1.5, True, "3", [], [1, -2], [[1], [2]]])
def test_invalid_seeds_are_rejected(seed):
    with pytest.raises(sk.UsageError, match="seed"):
        chain_seeds(seed, 1)


def test_the_number_of_seeds_is_that_of_chains():
    with pytest.raises(sk.UsageError, match=r"2.*3"):
        chain_seeds([1, 2], 3)


@pytest.mark.parametrize("fill", [normals, uniforms])
def test_noise_depends_neither_on_blocks_nor_on_other_chains(monkeypatch, fill):
    def table(seeds, block):
        monkeypatch.setattr(streams, "_BLOCK_STEPS", block)
        noise = Noise(seeds, StreamKind.TEST, 3, fill)
        everyone = np.arange(len(seeds))
        return np.stack([noise.take(everyone, np.full(len(seeds), t)) for t in range(70)])

    wanted = table([5, 6, 7], 1)
    for block in (2, 64, 256):
        np.testing.assert_array_equal(table([5, 6, 7], block), wanted)
    np.testing.assert_array_equal(table([6], 16)[:, 0], wanted[:, 1])


def test_kinds_of_noise_are_different_streams():
    first, second = (streams.generator(3, kind).random(4) for kind in (StreamKind.PROPOSAL, StreamKind.TEST))
    assert not (first == second).any()
