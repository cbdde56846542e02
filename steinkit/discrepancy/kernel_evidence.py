"""What kernels add to a verdict: a test that sees all of a shape, and as many independent draws of the same KSD.

Both take time that grows with the square of the draws, and take a part of many.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from steinkit.chains import in_order_of_content
from steinkit.discrepancy.cross_fitting import Draws
from steinkit.discrepancy.kernel.base_kernels import IMQ
from steinkit.discrepancy.kernel.goodness_of_fit import KernelSteinTest, kernel_stein_test
from steinkit.discrepancy.kernel.ksd import KernelSteinDiscrepancy, kernel_stein_discrepancy
from steinkit.discrepancy.kernel.stein_kernel import stein_kernel_at
from steinkit.discrepancy.preparation import Prepared
from steinkit.errors import InputError
from steinkit.runtime.compilation import small_work
from steinkit.runtime.deadlines import require_time
from steinkit.sample import Floats, Integers, Sample
from steinkit.target import Seed

_MOST_PAIRED = 4000  # draws that enter the kernel test's bootstrap, whose time grows with their square
_MOST_SHARED = 1000  # draws that tell the coordinates' shares
_MOST_SUMMED = 20_000  # draws that enter the number of equivalent ones, which is no larger
# Seconds a pair of draws and coordinate where kernels are not compiled; in coordinates, what else a pair takes.
_INTERPRETED, _RADIAL = 1e-8, 4


def kernel_evidence(
    scored: Sample, draws: Draws, standard: Prepared, rng: Seed
) -> tuple[float | None, float, tuple[str, ...]]:
    """The p-value of the kernel test, `Verdict.ksd_equivalent_draws`, and why the test was left out.

    Parameters
    ----------
    scored : Sample
        The draws that carry weight, with their scores.
    draws : Draws
        The same, chain after chain.
    standard : Prepared
        The same in standard units.
    rng : int, numpy.random.Generator or None
        Seed of the test's bootstrap.
    """
    chains = in_order_of_content([draws.rows[chain] for chain in draws.chains], scored.points)
    in_chains = np.concatenate(chains)
    rows = standard.points.inverse[standard.points.inverse >= 0]
    standardised = replace(scored, points=standard.points.points[rows], scores=standard.scores[rows])
    summed = standardised[_spread(in_chains, _MOST_SUMMED)]
    with small_work(_INTERPRETED * len(summed) ** 2 * (_RADIAL + summed.dim)):
        test, untested = None, tuple[str, ...]()
        if not draws.is_weighted:
            paired = replace(standardised, weights=None)[_spread(in_chains, _MOST_PAIRED)]
            try:
                test = kernel_stein_test(paired, bounds=standard.bounds, kernel=IMQ(), rng=rng)
            except InputError as error:  # as where draws evenly spread over a chain that stands still are one point
                untested = (f"the kernel test was left out: {error}",)
        if test is not None and len(paired) == len(summed):  # its statistic is n KSD^2 of the same draws
            equivalent = _equivalent_draws(test, test.statistic / len(paired), standard.bounds)
        else:
            found = kernel_stein_discrepancy(summed, bounds=standard.bounds, kernel=IMQ(), squared=True)
            equivalent = _equivalent_draws(found, found.value, standard.bounds)
        return None if test is None else test.p_value, equivalent, untested


def largest_share(standardised: Draws, names: Sequence[str]) -> tuple[str, float]:
    """The coordinate whose part of the squared KSD is the largest multiple of what independent draws make it.

    The Stein kernel is a sum over coordinates, and so is n^-2 sum_ij k0(x_i, x_j); for independent draws of the target
    each part has the mean n^-2 sum_i k0(x_i, x_i) of that coordinate.

    Parameters
    ----------
    standardised : Draws
        In standard units, without weights.
    names : sequence of str
        Of the coordinates.

    Returns
    -------
    str, float
        The coordinate, and the multiple.
    """
    rows = _spread(np.arange(len(standardised.points)), _MOST_SHARED)
    x, s = standardised.points[rows], standardised.scores[rows]
    base = np.zeros((len(x), len(x)))
    for column in x.T:
        require_time("shares of the kernel test were found")
        base += (column[:, None] - column) ** 2
    base = 1.0 / np.sqrt(1.0 + base)
    square = base * base  # powers would take a hundred times as long
    cubed, fifth = square * base, 3.0 * square * square * base
    multiples = []
    for column, pull in zip(x.T, s.T, strict=True):
        require_time("shares of the kernel test were found")
        apart = column[:, None] - column
        total = pull @ base @ pull + 2.0 * pull @ (cubed * apart).sum(axis=1) + (cubed - fifth * apart**2).sum()
        multiples.append(total / (pull @ pull + len(x)))
    largest = int(np.argmax(multiples))
    return names[largest], float(multiples[largest])


def _spread(rows: Integers, most: int) -> Integers:
    """At most so many rows, evenly spread along the chains."""
    if len(rows) <= most:
        return np.sort(rows)
    return np.sort(rows[np.linspace(0, len(rows) - 1, most).round().astype(np.int64)])


def _equivalent_draws(found: KernelSteinDiscrepancy | KernelSteinTest, squared: float, bounds: Floats | None) -> float:
    points = found.sample
    stein = stein_kernel_at(IMQ(), points.points, found.scores, bounds, None, names=points.names)
    return float(points.weights @ stein.diagonal()) / squared if squared > 0.0 else math.inf


def thinning_notes(draws: int) -> tuple[str, ...]:
    """Of how many draws the kernel test took fewer."""
    if draws <= _MOST_PAIRED:
        return ()
    return (f"the kernel test took {_MOST_PAIRED} of the {draws} draws, evenly spread",)
