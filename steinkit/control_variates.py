"""Control-variate estimation of scores from batches of data.

Let rho be the prior density, g_i the gradient of the log likelihood of data point i, c the mean of the draws, and
D_i(v) the derivative of g_i at c along v. For each draw x, let B be a new batch of b of the N data points. The
estimated score is

    s(x) = grad log rho(x) + sum_i g_i(c) + sum_i D_i(x - c) + (N / b) sum over B of (g_i(x) - g_i(c) - D_i(x - c)).

The expectation of s(x) over all batches is the exact score. Near c, the terms in parentheses are of second order in x -
c. Therefore, a few data points suffice even if N is large. The first two sums are computed once for all draws.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from steinkit.arguments import generator_from, require_type
from steinkit.containers.reading import DrawsLike, as_sample
from steinkit.errors import Caution, InputError, UsageError, caution
from steinkit.posterior import Posterior, for_many
from steinkit.runtime.deadlines import one_thread_in_libraries, require_time
from steinkit.sample import Floats, Integers, Sample
from steinkit.target import Seed

_STEP = 1e-4  # step of the central differences, relative to the sds of the draws or their distances from the mean
_GATHERED_FLOATS = 1 << 20  # number of data values gathered at once
_LARGE = 300  # largest dimension for the second-order expansion, which requires 2 d passes over the data
_WARN, _REFUSE = 0.1, 0.5  # noise as a fraction of a score's variance: thresholds for a warning and for an error


def stochastic_scores(
    draws: DrawsLike, posterior: Posterior, *, batch: int = 10, order: int | None = None, rng: Seed = 0
) -> Sample:
    """Use control variates to estimate the scores of draws from batches of data.

    The result can be used like any sample with scores, for example in ``sk.verdict(scored)``. The noise in the scores
    has mean zero and is included in the standard errors of tests.

    Parameters
    ----------
    draws : Sample, array_like of shape (n,), (n, d) or (chains, draws, d), or another type that `as_sample` accepts
        Draws inside the support of the posterior.
    posterior : Posterior
        A posterior with N data points.
    batch : int, default 10
        Number of data points per distinct draw, from 2 to N. The data points are drawn with replacement.
    order : {1, 2}, optional
        Order of the expansion of the log likelihood about the mean of the draws. The expansion replaces the data
        outside the batch. Order 2 evaluates all data points 2 d times, and order 1 evaluates them once. By default,
        order 2 is used for up to 300 parameters.
    rng : int, numpy.random.Generator or None, default 0
        Random seed for the batches.

    Returns
    -------
    Sample
        The draws with estimated scores.

    Raises
    ------
    UsageError
        If `batch` or `order` is out of range.
    InputError
        If more than half of the variance of a parameter's score is noise, for example because the draws are multimodal
        or far from their mean. A warning is issued if the fraction exceeds a tenth.

    References
    ----------
    J. Baker, P. Fearnhead, E. B. Fox and C. Nemeth (2019), "Control variates for stochastic gradient MCMC", equation 5,
    for the first order.

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
    caution((found.message,))
    return found.sample


class BatchScores(NamedTuple):
    """Draws with scores estimated from batches of data.

    Attributes
    ----------
    sample : Sample
    noise : float
        Largest fraction of the variance of a parameter's score that is due to noise.
    message : str
        Sentence about the noise, which is a `Caution` if the noise reduces the power of tests.
    """

    sample: Sample
    noise: float
    message: str


def batch_scores(
    draws: DrawsLike, posterior: Posterior, batch: int, order: int | None = None, rng: Seed = 0
) -> BatchScores:
    """Estimate scores, and the fraction of noise in them, from batches of data."""
    require_type(Posterior, "a steinkit Posterior", posterior=posterior)
    sample = as_sample(draws)
    if posterior.dim not in (None, sample.dim):
        raise InputError(f"expected draws with {posterior.dim} parameters, as in the posterior; got {sample.dim}")
    if posterior.names is not None and sample.has_default_names:
        sample = sample.with_columns(names=posterior.names)
    points, inverse = np.unique(sample.points, axis=0, return_inverse=True)
    inverse = inverse.ravel()  # NumPy 2.0 returns a different shape
    still = np.flatnonzero((points == points[0]).all(axis=0))
    if len(still):
        raise InputError(f"{sample.names[still[0]]} is constant in all draws; omit constant parameters")
    generator = generator_from(rng)
    if not isinstance(order, int | None) or order not in (None, 1, 2):
        raise UsageError(f"order must be 1 or 2; got {order!r}")
    if not isinstance(batch, int | np.integer) or not 2 <= batch <= posterior.size:
        raise UsageError(
            f"batch must be a whole number from 2 to the number of data points, {posterior.size}; got {batch!r}"
        )
    posterior.check_shapes(points[0])
    centre = sample.points.mean(axis=0)
    second = points.shape[1] <= _LARGE if order is None else order == 2
    with one_thread_in_libraries():
        scores = posterior.grad_log_prior(points) + _over_all_data(posterior, points - centre, centre, second)
    noise = np.zeros(points.shape[1])
    width = batch * sum(max(1, array[0].size) for array in posterior.data)
    for begin in range(0, len(points), size := max(1, _GATHERED_FLOATS // width)):
        block = slice(begin, begin + size)
        rows = generator.integers(0, posterior.size, (len(points[block]), batch))
        left = _remainders(posterior, points[block], centre, rows, second)
        scores[block] += posterior.size * left.mean(axis=1)
        noise += (posterior.size**2 / batch * left.var(axis=1, ddof=1)).sum(axis=0)
    if not np.isfinite(scores).all():
        raise InputError(
            "scores must be finite at all draws; check that all draws are inside the support of the posterior"
        )
    share = noise / len(points) / np.maximum(scores[inverse].var(axis=0), np.finfo(float).tiny)
    worst = int(share.argmax())
    percent = f"{100.0 * min(share[worst], 1.0):.2g}%"
    message = f"{percent} of the variance of {sample.names[worst]}'s score is noise from batches of {batch} data points"
    if share[worst] > _REFUSE:
        raise InputError(f"{message}; use a larger batch or the exact score")
    if share[worst] > _WARN:
        message = Caution(f"{message}; a larger batch increases the power of tests and reduces margins of error")
    return BatchScores(sample.with_columns(scores=scores[inverse]), float(share[worst]), message)


def _over_all_data(posterior: Posterior, offsets: Floats, centre: Floats, second: bool) -> Floats:
    """Return the sum of the expanded gradients over all data points."""

    def likelihood_score(points: Floats) -> Floats:
        return posterior.score(points) - posterior.grad_log_prior(points)

    total = likelihood_score(centre[None])
    if not second:
        return np.repeat(total, len(offsets), axis=0)
    steps = np.diag(_STEP * np.sqrt((offsets**2).mean(axis=0)))
    changes = likelihood_score(centre + steps) - likelihood_score(centre - steps)
    return np.asarray(total + offsets @ (changes / (2.0 * np.diag(steps)[:, None])))


def _remainders(posterior: Posterior, points: Floats, centre: Floats, rows: Integers, second: bool) -> Floats:
    """Return the gradients minus their expansions for each batch."""
    n, b = rows.shape
    data = tuple(array[rows.ravel()][:, None] for array in posterior.data)  # each batch has one data point
    many = for_many(posterior.grad_log_likelihood_many, posterior.grad_log_likelihood)

    def gradients(thetas: Floats) -> Floats:
        require_time("computing scores")
        return np.asarray(many(thetas, *data), dtype=np.float64)

    thetas, middle = np.repeat(points, b, axis=0), np.broadcast_to(centre, (n * b, len(centre)))
    left = gradients(thetas) - gradients(np.array(middle))
    if second:
        offset = _STEP * (thetas - centre)
        left -= (gradients(centre + offset) - gradients(centre - offset)) / (2.0 * _STEP)
    return left.reshape(n, b, -1)
