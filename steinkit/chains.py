r"""How well chains have mixed: effective sample sizes, R-hat, and moments, for any `Sample`.

For K chains of n draws each, with lag-t autocorrelation :math:`\rho_t` of the chains together,

.. math:: \mathrm{ESS} = \frac{K n}{1 + 2 \sum_{t \ge 1} \rho_t},

the number of independent draws whose mean would vary as much. Bulk ESS is that of the ranks' normal scores, tail ESS
the smaller one of the indicators of the 5 % and 95 % quantiles. R-hat compares the spread between half chains, of
ranks and of distances from the median, with that within; it is near 1 where the chains agree. `effective_sample_size`
has the formulas.

What none of it can see is bias. These numbers are about the distribution that the chains converge to, whatever that is;
a sampler that converges quickly to a wrong one has a large ESS and an R-hat of 1.

References
----------
A. Vehtari, A. Gelman, D. Simpson, B. Carpenter and P.-C. Bürkner (2021), "Rank-normalization, folding, and
localization: an improved R-hat for assessing convergence of MCMC", Bayesian Analysis 16, sections 3 and 4.
L. Kish (1965), Survey Sampling (the effective size of weighted draws).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from steinkit.containers.reading import DrawsLike, as_sample
from steinkit.describe.results import Result
from steinkit.effective_sample_size import (
    FEWEST,
    bulk_effective_size,
    error_of_mean,
    rank_r_hat,
    tail_effective_size,
)
from steinkit.errors import Caution, cautious, reservations
from steinkit.sample import Floats, Integers, Sample

_COLUMNS = ("mean", "sd", "mcse_mean", "bulk_ess", "tail_ess", "r_hat")
_COMPARED = 64  # draws of each chain that put chains in order
_AT_ONCE = 2**20  # draws of coordinates that are worked on together


@dataclass(frozen=True, eq=False)
class ChainDiagnostics(Result):
    """Effective sample sizes, R-hat and moments of a sample's coordinates.

    NaN stands wherever a number is not defined: for R-hat of one chain, for a coordinate that never changes, for chains
    of fewer than four draws. Effective sizes, errors and R-hat are computed when they are first asked for.

    Attributes
    ----------
    names : tuple of str
        The coordinates.
    common : ndarray, shape (n_chains, n_draws, d)
        What `bulk_ess`, `tail_ess`, `r_hat` and `mcse_mean` are computed from: the first draws of each chain, as many
        as the shortest has.
    mean, sd : ndarray, shape (d,)
        Of all draws, with their weights.
    weight_ess : float
        Kish's effective size of the weights, (sum w)^2 / sum w^2, of all draws; their number where weights are equal.
    weighted : bool
        Whether draws carry unequal weights.
    cost_per_draw : float, optional
        What the chains cost, burn-in included, over the number of draws; None where the sample stores no cost.
    moved : float, optional
        Share of draws that differ from the one before in their chain: the acceptance rate of a sampler whose proposals
        never equal the present state, if no draws were left out between. None where no chain has two draws.
    warnings : tuple of str
        What was left out, and what is not defined.
    """

    names: tuple[str, ...]
    common: Floats
    mean: Floats
    sd: Floats
    weight_ess: float
    weighted: bool
    cost_per_draw: float | None
    moved: float | None
    warnings: tuple[str, ...]

    @property
    def n_chains(self) -> int:
        """Chains, by the sample's labels."""
        return int(self.common.shape[0])

    @property
    def n_draws(self) -> int:
        """Draws of each chain that `bulk_ess`, `tail_ess`, `r_hat` and `mcse_mean` are computed from."""
        return int(self.common.shape[1])

    @cached_property
    def bulk_ess(self) -> Floats:
        """Effective size of the ranks' normal scores, shape (d,). Each draw counts once, whatever its weight."""
        return self._of_coordinates(bulk_effective_size)

    @cached_property
    def tail_ess(self) -> Floats:
        """The smaller effective size of the indicators of both tails, shape (d,); as `bulk_ess` of weights."""
        return self._of_coordinates(tail_effective_size)

    @cached_property
    def r_hat(self) -> Floats:
        """Spread between half chains over that within, shape (d,); as `bulk_ess` of weights."""
        if self.n_chains == 1:
            return np.full(len(self.names), np.nan)
        return self._of_coordinates(rank_r_hat)

    @cached_property
    def mcse_mean(self) -> Floats:
        """Standard error of the mean that autocorrelation leaves, shape (d,); NaN where weights are unequal."""
        if self.weighted:
            return np.full(len(self.names), np.nan)
        return self._of_coordinates(error_of_mean, in_units=True)

    def _of_coordinates(self, statistic: Callable[[Floats], Floats], in_units: bool = False) -> Floats:
        """A statistic of each coordinate alone, which is in the coordinate's units or has none."""
        found = np.full(len(self.names), np.nan)
        if self.n_draws < FEWEST:
            return found
        width = max(1, _AT_ONCE // (self.n_chains * self.n_draws))
        for first in range(0, len(found), width):
            chains = np.ascontiguousarray(np.moveaxis(self.common[:, :, first : first + width], 2, 0))
            exponents = np.frexp(np.abs(chains).max(axis=(1, 2)))[1]
            scaled = np.ldexp(chains, -exponents[:, None, None])  # exactly: squares neither overflow nor vanish
            changing = np.flatnonzero(np.ptp(scaled, axis=(1, 2)) > 0.0)
            if changing.size:
                values = statistic(scaled[changing])
                found[first + changing] = np.ldexp(values, exponents[changing]) if in_units else values
        return found

    def to_dict(self, columns: Sequence[str] | None = None) -> dict[str, Any]:
        """List what is known of every coordinate and of the chains as ``steinkit score --json`` does.

        Parameters
        ----------
        columns : sequence of str, optional
            Attributes of shape (d,) to list; all of them if not given.

        Returns
        -------
        dict
            Of strings, finite numbers, lists and dicts.
        """
        listed = {name: getattr(self, name).tolist() for name in columns or _COLUMNS}
        return {
            "measure": "ess",
            "value": _finite(self.min_ess),
            "coordinates": [
                {"name": name, **{key: _finite(values[j]) for key, values in listed.items()}}
                for j, name in enumerate(self.names)
            ],
            "chains": self.n_chains,
            "moved": _finite(self.moved),
            "cost_per_draw": _finite(self.cost_per_draw),
        }

    @property
    def min_ess(self) -> float:
        """Smallest bulk ESS of the coordinates for which it is defined; NaN where it is for none."""
        defined = self.bulk_ess[np.isfinite(self.bulk_ess)]
        return float(defined.min()) if defined.size else math.nan

    def __repr__(self) -> str:
        return (
            f"<ChainDiagnostics of {self.n_chains} x {self.n_draws} draws in {len(self.names)} dimensions, "
            f"smallest bulk ESS {self.min_ess:.4g}{reservations(self.warnings)}>"
        )


def _finite(value: float | None) -> float | None:
    """A number for JSON, which has no NaN: null where it is not defined."""
    return None if value is None or not math.isfinite(value) else float(value)


@cautious
def chain_diagnostics(draws: DrawsLike) -> ChainDiagnostics:
    """Compute effective sample sizes, R-hat and moments of a sample, coordinate by coordinate.

    The sample's chain labels split it, its draw numbers order each chain; without them it is one chain in the order
    given. Chains of unequal length are cut to the first draws of each, as many as the shortest has.

    None of these numbers knows the target: a biased sampler that mixes well is praised. They take the draws for a
    chain: weights do not enter ESS and R-hat, and `ChainDiagnostics.weight_ess` says what the weights alone cost.

    Parameters
    ----------
    draws : Sample, array_like of shape (n,), (n, d) or (chains, draws, d), or what else `as_sample` takes
        In the order in which they were made.

    Returns
    -------
    ChainDiagnostics
        Of each coordinate.

    Raises
    ------
    InputError
        If the draws are no sample.
    """
    sample = as_sample(draws)
    chains, notes = split_chains(sample)
    lengths = [len(rows) for rows in chains]
    common = min(lengths)
    if common < max(lengths):
        notes.append(
            f"the chains have from {common} to {max(lengths)} draws; ESS, R-hat and the error of the mean are those of "
            f"the first {common} of each"
        )
    if common < FEWEST:
        shortest = "the sample has" if len(chains) == 1 else "the shortest chain has"
        notes.append(
            f"{shortest} {common} draw{'s' * (common != 1)}; ESS, R-hat and the error of the mean need {FEWEST}"
        )
    p = sample.probabilities
    weighted = bool((p != p[0]).any())
    weight_ess = 1.0 / float(p @ p) if weighted else float(len(sample))
    if weighted:
        notes.append(
            f"the draws carry unequal weights (worth {weight_ess:.4g} equal ones): ESS and R-hat are those of the "
            "chain that made the draws and ignore the weights; the error of the weighted mean is not known"
        )
    mean, sd = _moments(sample.points, p)
    constant = np.ptp(sample.points, axis=0) == 0.0
    if constant.any() and len(sample) > 1:
        still = ", ".join(np.array(sample.names)[constant])
        notes.append(f"all draws of {still} are the same; ESS and R-hat are not defined for what does not change")
    return ChainDiagnostics(
        names=sample.names,
        common=sample.points[np.stack([chain[:common] for chain in chains])],
        mean=mean,
        sd=sd,
        weight_ess=weight_ess,
        weighted=weighted,
        cost_per_draw=_cost_per_draw(sample, chains),
        moved=_moved(sample, chains),
        warnings=tuple(map(Caution, notes)),
    )


def split_chains(sample: Sample) -> tuple[list[Integers], list[str]]:
    """Rows of each chain in the order of its draws, and what stood against it.

    Returns
    -------
    list of ndarray of int
        In ascending order of the labels; one of all rows where the sample has no labels.
    list of str
        Chains whose draw numbers repeat, so that they cannot be put in order; these stay in the order given.
    """
    if sample.chain is None:
        chains = [np.arange(len(sample))]
    else:
        chains = [np.flatnonzero(sample.chain == label) for label in np.unique(sample.chain)]
    if sample.draw is None:
        return chains, []
    ordered, notes = [], []
    for rows in chains:
        numbers = sample.draw[rows]
        if len(np.unique(numbers)) < len(numbers):
            which = "the sample" if sample.chain is None else f"chain {sample.chain[rows[0]]}"
            notes.append(
                f"draw numbers of {which} repeat and cannot put it in order; the order given was taken (several chains "
                "need labels)"
            )
            ordered.append(rows)
        else:
            ordered.append(rows[np.argsort(numbers)])
    return ordered, notes


def in_order_of_content(chains: list[Integers], points: Floats) -> list[Integers]:
    """The rows of each chain, the chains in an order that their first draws decide, whatever their labels are."""
    return sorted(chains, key=lambda rows: points[rows[:_COMPARED]].tolist())


def _moments(points: Floats, p: Floats) -> tuple[Floats, Floats]:
    """Weighted mean, and standard deviation without the bias that n - 1 removes where weights are equal."""
    mean = p @ points
    freedom = 1.0 - float(p @ p)
    if not freedom > 0.0:
        return mean, np.full(points.shape[1], np.nan)
    scale = np.abs(points - mean).max(axis=0)  # squares neither overflow nor vanish
    scale[scale == 0.0] = 1.0
    return mean, scale * np.sqrt(p @ ((points - mean) / scale) ** 2 / freedom)


def _cost_per_draw(sample: Sample, chains: list[Integers]) -> float | None:
    if sample.cost is None:
        return None
    return float(sum(sample.cost[rows].max() for rows in chains)) / len(sample)


def _moved(sample: Sample, chains: list[Integers]) -> float | None:
    steps = sum(len(rows) - 1 for rows in chains)
    if steps == 0:
        return None
    points = sample.points
    return sum(int((points[rows[1:]] != points[rows[:-1]]).any(axis=1).sum()) for rows in chains) / steps
