"""A test of the dependence of all pairs of coordinates together: many faults, none of which shows by itself.

By Stein's identity E (x_i - m_i) s_j = 0 for draws of the target, i and j apart, where x_j has no bounds. A fault of
one pair shows in its own mean M_ij. One that all share, as where a mean-field fit of d coordinates has no
correlations, is a standard error in each of d (d - 1) means. The sum of their squares sees it. It is taken free of
noise, of means M_b over batches b of the draws,

    T = sum over b, c apart of G_bc,        G_bc = <M_b, M_c>,

b and c being apart if they are not neighbours in one chain: what slow chains carry over to the next batch is left out.
Under the target the signs of the M_b may be turned, so that T has variance 2 sum G_bc^2 and third cumulant 8 tr G^3,
to which a gamma law is fitted (Pearson's type III).
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from steinkit.discrepancy.cross_fitting import Draws
from steinkit.runtime.deadlines import one_thread_in_libraries, require_time
from steinkit.sample import Floats, Integers

_BATCHES = 16  # of all chains together; of more chains every sixteenth makes one
_FEWEST = 4  # draws of a batch
_BLOCK_FLOATS = 1 << 22


def joint_dependence(draws: Draws, bounds: Floats | None = None) -> float | None:
    """The p-value; None for one coordinate, where all have bounds, for weighted draws, and for too few for batches.

    Parameters
    ----------
    draws : Draws
        In standard units.
    bounds : ndarray, shape (d, 2), optional
    """
    free = np.ones(draws.points.shape[1], dtype=bool) if bounds is None else ~np.isfinite(bounds).any(axis=1)
    dim, batches = draws.points.shape[1], list(_batches(draws.chains))
    if dim == 1 or not free.any() or draws.is_weighted or len(batches) < _BATCHES // 2:
        return None
    centred, scores = draws.points - draws.points.mean(axis=0), np.where(free, draws.scores, 0.0)
    scores /= np.abs(scores).max() or 1.0  # what is large may be too large for its square
    products = np.zeros((len(batches), len(batches)))
    with one_thread_in_libraries():
        for begin in range(0, dim, width := max(1, _BLOCK_FLOATS // (len(batches) * dim))):
            require_time("the dependence of all pairs was tested")
            columns = np.arange(begin, min(begin + width, dim))
            means = np.stack([centred[rows].T @ scores[rows, begin : begin + width] for _, _, rows in batches])
            means /= np.array([len(rows) for _, _, rows in batches])[:, None, None]
            means[:, columns, columns - begin] = 0.0
            flat = means.reshape(len(batches), -1)
            products += flat @ flat.T
    chain, place = (np.array([each[k] for each in batches]) for k in (0, 1))
    apart = (chain[:, None] != chain) | (np.abs(place[:, None] - place) > 1)
    return _tail(np.where(apart, products, 0.0))


def _batches(chains: tuple[slice, ...]) -> Iterator[tuple[int, int, Integers]]:
    """Chain, place in it and rows of every batch of draws enough."""
    groups = [np.concatenate([np.r_[each] for each in chains[k::_BATCHES]]) for k in range(min(len(chains), _BATCHES))]
    for k, rows in enumerate(groups):
        for place, part in enumerate(np.array_split(rows, max(1, round(_BATCHES / len(chains))))):
            if len(part) >= _FEWEST:
                yield k, place, part


def _tail(products: Floats) -> float:
    """Probability of a sum so large with random signs, of symmetric products with zeros on the diagonal."""
    from scipy.special import gammaincc, ndtr

    spread = math.sqrt(2.0 * float((products**2).sum()))
    if spread == 0.0:
        return 1.0
    z = float(products.sum()) / spread
    skewness = 8.0 * float(((products @ products) * products).sum()) / spread**3
    if skewness < 1e-3:
        return float(ndtr(-z))
    shape = 4.0 / skewness**2
    return float(gammaincc(shape, max(shape + z * math.sqrt(shape), 0.0)))
