"""Columns that sampling programs write in addition to the parameters.

Tables from known programs are recognized by some of their column names. The other columns contain weights, labels,
diagnostics, parameters, or values that are ignored, such as the log density of each draw.

Nested sampling [1]_ repeatedly removes the draw with the lowest likelihood from a set of live points. Each step
multiplies the prior volume X by about exp(-1 / N), where N is the number of live points. The weight of the removed draw
is L (X_before - X). Tables without a weight column contain log X, N, or each draw's birth likelihood, which is the
likelihood threshold when the point was drawn. The birth likelihoods determine N because a point is live between its
birth likelihood and its own likelihood [2]_.

References
----------
.. [1] J. Skilling (2006), "Nested sampling for general Bayesian computation", Bayesian Analysis 1(4), 833-859.
.. [2] E. Higson, W. Handley, M. Hobson and A. Lasenby (2019), "Dynamic nested sampling: an improved algorithm for
   parameter estimation and evidence calculation", Statistics and Computing 29, 891-913.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from steinkit.sample import Floats

LIKELIHOOD, VOLUME, BIRTH, LIVE = NESTED = ("log likelihood", "log volume", "log likelihood at birth", "live points")
"""Meanings of the nested sampling columns that determine the weights."""
_NESTED = {
    LIKELIHOOD: ("logl", "lnl", "loglike", "lnlike", "loglikelihood", "lnlikelihood"),
    VOLUME: ("logvol", "logvolume", "lnvol", "logx", "lnx", "logpriorvolume", "logpriormass"),
    BIRTH: ("loglbirth", "lnlbirth", "loglikebirth", "loglikelihoodbirth", "lnlikelihoodbirth"),
    LIVE: ("nlive", "nlivepoints"),
}
_ALSO_NESTED = re.compile(r"logz(err|var)?|n(call|c|iter)|information|insert(ion)?(order|index)?")  # see `key`


@dataclass(frozen=True)
class Program:
    """Columns of the tables that a program writes.

    Attributes
    ----------
    name : str
        Description of the table in messages.
    needs : tuple of str
        Columns that identify the program.
    ignored : str
        Regular expression for the names of the columns that are not parameters.
    meanings : dict of str to str
        Columns and their meanings. The meaning of a label or a diagnostic is the corresponding attribute of `Sample`.
        The meanings of columns that determine the weights are listed in `NESTED`.
    is_weighted : bool
        True if the draws always have weights, which are in a column with a name such as ``logwt``.
    """

    name: str
    needs: tuple[str, ...]
    ignored: str = ""
    meanings: Mapping[str, str] = field(default_factory=dict)
    is_weighted: bool = False

    def interpretation(self, names: Collection[str], *, has_weights: bool) -> dict[str, str]:
        """Return the meanings of columns that are not parameters.

        The meaning of an ignored column is an empty string. If the draws have weights, the columns that would determine
        weights are ignored.
        """
        found = {name: "" for name in names if name and re.fullmatch(self.ignored, name)}
        known = {name: what for name, what in self.meanings.items() if name in names}
        return found | {name: "" if has_weights and what in NESTED else what for name, what in known.items()}


_TURING = (
    r"lp|logprior|loglikelihood|logjoint|n_steps|is_accept|is_adapt|acceptance_rate|log_density|le|log_evidence|"
    r"(max_)?hamiltonian_energy(_error)?|tree_depth|numerical_error|(nom_)?step_size|elapsed|eval_num"
)
_PROGRAMS = (
    Program("a GetDist or Cobaya chain", ("weight", "minuslogpost"), r"minuslog(post|prior)(__.*)?|chi2(__.*)?"),
    Program("UltraNest draws", ("weight", "logl"), "logl"),
    Program("a CosmoSIS chain", ("prior", "post"), "prior|post|like|old_post|old_weight", {}, True),
    Program(
        "MCMCChains.jl chains",
        ("iteration", "chain"),
        _TURING,
        {"iteration": "draw", "numerical_error": "divergent", "hamiltonian_energy": "energy"},
    ),
    Program("FlexiChains.jl chains", ("iter", "chain"), _TURING, {"iter": "draw"}),
    Program("coda chains", ("CHAIN", "ITER"), "", {"CHAIN": "chain", "ITER": "draw"}),
    Program("a BayesianTools chain", ("LP", "LL", "LPr"), "LP|LL|LPr"),
    Program("bilby draws", ("log_likelihood", "log_prior"), "log_likelihood|log_prior"),
    Program("brms draws", ("lprior", "lp__"), "lprior"),
)


def key(name: str) -> str:
    """Return a name in lower case without dots, underscores or spaces."""
    return re.sub(r"[._ ]", "", name).lower()


def recognized(header: Sequence[str]) -> Program | None:
    """Return the program that wrote a table, or None.

    For nested sampling, the meanings include the columns that determine the weights.
    """
    places = {what: [name for name in header if key(name) in keys] for what, keys in _NESTED.items()}
    known = [name for names in places.values() for name in names]
    used = next((what for what in (VOLUME, LIVE, BIRTH) if places[what]), None)
    if places[LIKELIHOOD] and used:
        found = {places[LIKELIHOOD][0]: LIKELIHOOD, places[used][0]: used}
        others = [*known, *(name for name in header if _ALSO_NESTED.fullmatch(key(name)))]
        return Program("nested sampling", (), "|".join(map(re.escape, others)), found, True)
    return next((each for each in _PROGRAMS if set(each.needs) <= set(header)), None)


def nested_weights(columns: Mapping[str, Floats]) -> Floats:
    """Return nested sampling weights, scaled to a maximum of 1.

    Parameters
    ----------
    columns : dict of str to ndarray, shape (n,)
        The log likelihoods in increasing order, and one of the other quantities in `NESTED`.
    """
    likelihood = columns[LIKELIHOOD]
    if VOLUME in columns:
        volume = columns[VOLUME]
    else:
        if LIVE in columns:
            alive = columns[LIVE]
        else:  # draw k is removed after k others, and the rest that were born below its likelihood are alive
            alive = np.searchsorted(np.sort(columns[BIRTH]), likelihood) - np.arange(len(likelihood), dtype=np.float64)
        volume = -np.cumsum(1.0 / np.maximum(alive, 1.0))
    before = np.concatenate([[0.0], volume[:-1]])
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = likelihood + before + np.log(-np.expm1(np.minimum(volume - before, 0.0)))
    return np.asarray(np.exp(logs - logs.max()))
