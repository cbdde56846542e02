"""Scores of draws from a few of the data each, with control variates.

With g_i the gradient of datum i's log likelihood, c the draws' mean, D_i(v) the derivative of g_i at c along v, and B a
batch of b of the N data that is drawn anew for each draw,

    s(x) = grad log rho(x) + sum_i g_i(c) + sum_i D_i(x - c) + (N / b) sum over B of (g_i(x) - g_i(c) - D_i(x - c)).

Its mean over batches is the score. Near the centre the brackets are of the third order, so that a few data are enough
where N is large. The first sums are over all data, once for all draws.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from steinkit.arguments import checked
from steinkit.containers.reading import DrawsLike, as_sample
from steinkit.errors import Caution, InputError, UsageError, caution
from steinkit.posterior import Posterior
from steinkit.runtime.deadlines import one_thread_in_libraries, require_time
from steinkit.sample import Floats, Integers, Sample
from steinkit.target import Seed

_STEP = 1e-4  # of central differences, in standard deviations of the draws, or of the way from the centre
_BLOCK_FLOATS = 1 << 20  # of data gathered at once
_LARGE = 300  # coordinates above which the second order costs more passes over the data than it saves
_TELL, _REFUSE = 0.1, 0.5  # of a score's variance that may be noise


@checked
def stochastic_scores(
    draws: DrawsLike, posterior: Posterior, *, batch: int = 10, order: int | None = None, rng: Seed = 0
) -> Sample:
    """Scores of draws that read a few data each, by control variates: where the data are many.

    Verdicts, biases and discrepancies take them as other stored scores: ``sk.verdict(scored)``. Their noise has mean
    zero, and the tests' standard errors hold it.

    Parameters
    ----------
    draws : Sample, array_like of shape (n,), (n, d) or (chains, draws, d), or what else `as_sample` takes
        Inside the support of the posterior.
    posterior : Posterior
        With its N data.
    batch : int
        Data read for each distinct draw, drawn anew with replacement: from 2 to N.
    order : {1, 2}, optional
        Of the expansion about the draws' mean that stands for the other data. 2 reads all data 2 d times, once for all
        draws; 1 reads them once. By default 2 up to 300 coordinates.
    rng : int, numpy.random.Generator or None
        Seed of the batches.

    Returns
    -------
    Sample
        The draws with these scores.

    Raises
    ------
    UsageError
        If batch or order is out of range.
    InputError
        If more than half of the variance of a coordinate's score is noise: draws in several modes, or far from their
        mean for so many data, have such scores. A tenth and more is warned of.

    References
    ----------
    J. Baker, P. Fearnhead, E. B. Fox and C. Nemeth (2019), "Control variates for stochastic gradient MCMC", equation 5.
    The second order is ours.

    Examples
    --------
    >>> import numpy as np, steinkit as sk
    >>> posterior = sk.targets.LogisticRegression.nodal()
    >>> draws = sk.samplers.mala(posterior, step_size=0.1, draws=500, burn_in=500).points[0]
    >>> scored = sk.stochastic_scores(draws, posterior, batch=20)
    >>> bool(np.corrcoef(scored.scores[:, 1], posterior.score(draws)[:, 1])[0, 1] > 0.9)
    True
    """
    found = batch_scores(draws, posterior, batch, order, rng)
    caution((found.told,))
    return found.sample


class BatchScores(NamedTuple):
    """Draws with such scores.

    Attributes
    ----------
    sample : Sample
    noise : float
        The largest share of the variance of a coordinate's score that is noise.
    told : str
        The same in words: a caution where it costs power.
    """

    sample: Sample
    noise: float
    told: str


def batch_scores(
    draws: DrawsLike, posterior: Posterior, batch: int, order: int | None = None, rng: Seed = 0
) -> BatchScores:
    """The same as `stochastic_scores`, with how much of them is noise."""
    sample = as_sample(draws)
    if posterior.names is not None and sample.has_default_names and sample.dim == posterior.dim:
        sample = sample.with_columns(names=posterior.names)
    points, inverse = np.unique(sample.points, axis=0, return_inverse=True)
    inverse = inverse.ravel()  # which some versions of NumPy give another shape
    still = np.flatnonzero((points == points[0]).all(axis=0))
    if len(still):
        raise InputError(f"{sample.names[still[0]]} is the same in all draws: leave out what does not vary")
    generator = np.random.default_rng(rng)
    if order not in (None, 1, 2):
        raise UsageError(f"order must be 1 or 2; received {order!r}")
    if not isinstance(batch, int | np.integer) or not 2 <= batch <= posterior.size:
        raise UsageError(f"batch must be a whole number from 2 to the {posterior.size} data; received {batch!r}")
    posterior.check_shapes(points[0])
    centre = sample.points.mean(axis=0)
    second = points.shape[1] <= _LARGE if order is None else order == 2
    with one_thread_in_libraries():
        scores = posterior.grad_log_prior(points) + _over_all_data(posterior, points - centre, centre, second)
    noise = np.zeros(points.shape[1])
    width = batch * sum(max(1, array[0].size) for array in posterior.data)
    for begin in range(0, len(points), size := max(1, _BLOCK_FLOATS // width)):
        block = slice(begin, begin + size)
        rows = generator.integers(0, posterior.size, (len(points[block]), batch))
        left = _remainders(posterior, points[block], centre, rows, second)
        scores[block] += posterior.size * left.mean(axis=1)
        noise += (posterior.size**2 / batch * left.var(axis=1, ddof=1)).sum(axis=0)
    if not np.isfinite(scores).all():
        raise InputError("the scores are not finite at every draw; does the posterior know all of them?")
    share = noise / len(points) / np.maximum(scores[inverse].var(axis=0), np.finfo(float).tiny)
    worst = int(share.argmax())
    much = f"{100.0 * min(share[worst], 1.0):.2g}% of the variance of {sample.names[worst]}'s score"
    told = f"{much} is noise of its batches of {batch} data"
    if share[worst] > _REFUSE:
        raise InputError(f"{told}; take a larger batch, or the score itself: draws may lie too far apart")
    if share[worst] > _TELL:
        told = Caution(f"{told}; a larger batch makes tests stronger and margins smaller")
    return BatchScores(sample.with_columns(scores=scores[inverse]), float(share[worst]), told)


def _over_all_data(posterior: Posterior, ways: Floats, centre: Floats, second: bool) -> Floats:
    """Sums over all data of the gradients at the centre, and of their derivatives along the ways from there."""

    def likelihood_score(points: Floats) -> Floats:
        return posterior.score(points) - posterior.grad_log_prior(points)

    total = likelihood_score(centre[None])
    if not second:
        return np.repeat(total, len(ways), axis=0)
    steps = np.diag(_STEP * np.sqrt((ways**2).mean(axis=0)))
    sizes = 2.0 * np.diag(steps)[:, None]
    hessian = (likelihood_score(centre + steps) - likelihood_score(centre - steps)) / sizes
    return np.asarray(total + ways @ hessian)


def _remainders(posterior: Posterior, points: Floats, centre: Floats, rows: Integers, second: bool) -> Floats:
    """Of each datum of each draw's batch what the expansion about the centre leaves, shape (n, b, d)."""
    n, b = rows.shape
    data = tuple(array[rows.ravel()][:, None] for array in posterior.data)  # batches of one

    def gradient(k: int, theta: Floats) -> Floats:
        require_time("the scores were taken")
        return np.asarray(posterior.grad_log_likelihood(theta, *(x[k] for x in data)), dtype=np.float64)

    def gradients(thetas: Floats) -> Floats:
        require_time("the scores were taken")
        if posterior.grad_log_likelihood_many is not None:
            return np.asarray(posterior.grad_log_likelihood_many(thetas, *data), dtype=np.float64)
        return np.array([gradient(k, theta) for k, theta in enumerate(thetas)])

    thetas, middle = np.repeat(points, b, axis=0), np.broadcast_to(centre, (n * b, len(centre)))
    left = gradients(thetas) - gradients(np.array(middle))
    if second:
        way = _STEP * (thetas - centre)
        left -= (gradients(centre + way) - gradients(centre - way)) / (2.0 * _STEP)
    return left.reshape(n, b, -1)
