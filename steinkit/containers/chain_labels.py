"""Chain and draw labels: whether they form a rectangle of chains by draws."""

from __future__ import annotations

import numpy as np

from steinkit.sample import Integers, Sample


def rectangle(chain: Integers, draw: Integers) -> tuple[Integers, Integers] | None:
    """Split labels of draws into labels of rows and columns.

    Parameters
    ----------
    chain, draw : ndarray of int, shape (n,)

    Returns
    -------
    tuple of ndarray, shapes (chains,) and (draws,), or None
        None unless each chain is one contiguous block and all blocks carry the same draw labels.
    """
    starts = np.flatnonzero(np.concatenate([[True], chain[1:] != chain[:-1]]))
    chains, (length, rest) = chain[starts], divmod(len(chain), len(starts))
    if rest or len(np.unique(chains)) < len(chains) or (chain != np.repeat(chains, length)).any():
        return None
    draws = draw[:length]
    return None if (draw != np.tile(draws, len(chains))).any() else (chains, draws)


def rectangle_of(sample: Sample) -> tuple[int, int] | None:
    """(chains, draws) if the sample's labels form a rectangle of chains by draws, whatever the labels are."""
    labels = None if sample.chain is None or sample.draw is None else rectangle(sample.chain, sample.draw)
    return None if labels is None else (len(labels[0]), len(labels[1]))


def array_layout(sample: Sample) -> tuple[int, int] | None:
    """(chains, draws) if the labels are those that an array (chains, draws, d) stands for, else None."""
    if sample.chain is None or sample.draw is None:
        return None
    labels = rectangle(sample.chain, sample.draw)
    if labels is None or any((axis != np.arange(len(axis))).any() for axis in labels):
        return None
    return len(labels[0]), len(labels[1])
