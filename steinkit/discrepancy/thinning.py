"""Stein thinning: the draws that together come nearest to the target.

Greedily, draw after draw, repeats allowed: the j-th is the x_i among the n draws that minimises

    k0(x_i, x_i) / 2 + sum_{l < j} k0(x_i, x_(l)),

which is the one that makes the kernel Stein discrepancy of the j draws chosen so far smallest.
"""

from __future__ import annotations

from dataclasses import replace
from threading import Event

import numpy as np
from numpy.typing import ArrayLike

from steinkit.compilation import announced_compilation
from steinkit.discrepancy.kernel import columns, prepare_on_whole_space, stein_diagonal
from steinkit.discrepancy.kernels import BaseKernel, compiled_form, fitted
from steinkit.discrepancy.preparation import Prepared
from steinkit.discrepancy.stein_kernels import stein_row
from steinkit.discrepancy.threads import interruptible
from steinkit.errors import InputError, UsageError
from steinkit.sample import Integers, Sample, as_sample
from steinkit.target import Target


def thin(
    draws: Sample | ArrayLike,
    target: Target | None = None,
    *,
    m: int,
    scores: ArrayLike | None = None,
    kernel: str | BaseKernel = "imq",
) -> Sample:
    """Choose m draws that represent the target well, correcting bias and burn-in as far as the draws allow.

    Time O(n m d), memory O(n d). What the discrepancy cannot see, thinning cannot mend: shares of modes far apart.

    Parameters
    ----------
    draws : Sample or array_like, shape (n,), (n, d) or (chains, draws, d)
        Weights are not used, but draws of weight zero are never chosen.
    target : Target, optional
        Without finite bounds.
    m : int
        How many draws to choose; may exceed n.
    scores : array_like, shape (n, d), optional
        Scores at the draws in place of a target.
    kernel : {"imq", "gaussian", "matern"} or IMQ, GaussianKernel, MaternKernel
        As in `kernel_stein_discrepancy`.

    Returns
    -------
    Sample
        The m draws in the order of their choice, equally weighted, with all that is known of them; a draw may come
        more than once. Equal draws are represented by the first of them.

    References
    ----------
    Riabiz et al. (2022), Optimal thinning of MCMC output, JRSS B 84(4), algorithm 1.
    """
    if isinstance(m, bool) or not isinstance(m, int | np.integer) or m < 1:
        raise UsageError(f"m must be a positive whole number of draws; received {m!r}")
    sample = as_sample(draws)
    prepared = prepare_on_whole_space(sample, target, scores=scores, weights=None)
    base, _ = fitted(kernel, prepared.points.points)
    rows = prepared.points.first[_greedy(base, prepared, int(m))]
    if scores is not None:
        sample = replace(sample, scores=np.asarray(scores))
    return replace(sample, weights=None)[rows]


def _greedy(base: BaseKernel, prepared: Prepared, m: int) -> Integers:
    """Numbers of the m points chosen; of equally good points the first."""
    form = compiled_form(base)
    across, upright = columns(prepared)
    n = len(prepared.points)
    gain = 0.5 * stein_diagonal(base, prepared.scores)
    chosen = np.empty(m, dtype=np.int64)
    interrupted = Event()

    def work() -> None:
        row = np.empty(n)
        for place in range(m):
            if interrupted.is_set():
                return
            chosen[place] = gain.argmin()
            stein_row(*form, across, upright, int(chosen[place]), 0, row)
            with np.errstate(over="ignore", invalid="ignore"):  # what is not finite is refused below
                np.add(gain, row, out=gain)

    with announced_compilation():
        interruptible(work, interrupted)
    if not np.isfinite(gain).all():
        raise InputError("the Stein kernel overflows: draws or scores are too large; rescale them")
    return chosen
