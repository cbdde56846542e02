"""Linear regression with L1 regularisation: the Bayesian lasso with a known precision.

p(theta) ∝ exp(-lambda_0 |theta|_1),   y_i ~ N(x_i'theta, 1 / lambda)
score = -lambda_0 sign(theta) + lambda sum_i (y_i - x_i'theta) x_i

In one dimension, with a = lambda sum of x_i^2 and t = sum of x_i y_i / sum of x_i^2, completing the square gives a
normal distribution on each side of 0,

    p(theta | data) ∝ exp(-a (theta - m)^2 / 2 + a m^2 / 2),   m = t - lambda_0 / a above 0, t + lambda_0 / a below,

hence a share proportional to exp(a m^2 / 2) Phi(+-sqrt(a) m) of the mass, exact draws and a distribution function.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from steinkit.arguments import checked
from steinkit.errors import UsageError
from steinkit.sample import Floats
from steinkit.target import Seed
from steinkit.targets.linear_models import LinearModel, as_features, regression_table, require_responses
from steinkit.targets.parameters import as_count, as_finite, as_number

_TOY_SLOPE, _TOY_PRECISION, _TOY_PRIOR_RATE = 0.5, 3.0, 4950.0


@checked
class LassoRegression(LinearModel):
    """Posterior of the coefficients theta of a linear regression under independent Laplace priors about 0.

    Parameters
    ----------
    features : array_like, shape (N, d)
        One row a datum; include a column of ones for an intercept.
    responses : array_like, shape (N,)
        One number a datum.
    precision : float
        Precision lambda: one over the variance of the noise.
    prior_rate : float
        Rate lambda_0: one over the scale of the Laplace prior; 0 is a flat prior.
    names : sequence of str, optional
        Names of the coefficients.

    Raises
    ------
    UsageError
        If shapes disagree or a value is not of its kind.

    Notes
    -----
    In one dimension there are exact independent draws and a cdf. The score jumps where a coefficient is 0.
    """

    def __init__(
        self,
        features: ArrayLike,
        responses: ArrayLike,
        precision: float = 1.0,
        prior_rate: float = 1.0,
        names: Sequence[str] | None = None,
    ) -> None:
        x, y = as_features(features), as_finite(responses, "responses")
        require_responses(y, len(x))
        self.precision, self.prior_rate = as_number(precision, "precision"), as_number(prior_rate, "prior_rate")
        if self.precision <= 0.0 or self.prior_rate < 0.0:
            raise UsageError(
                f"precision must be positive and prior_rate at least 0; received {precision!r} and {prior_rate!r}"
            )
        one_sided = x.shape[1] == 1 and bool((x != 0.0).any())  # a normal distribution on each side of 0
        super().__init__(
            "lasso-posterior",
            (x, y),
            x.shape[1],
            names,
            cdf=self._evaluate_cdf if one_sided else None,
            sampler=self._draw if one_sided else None,
        )

    def __repr__(self) -> str:
        return (
            f"LassoRegression({self.size} data, d={self.dim}, precision={self.precision:g}, "
            f"prior_rate={self.prior_rate:g})"
        )

    @classmethod
    def from_csv(
        cls,
        path: str | Path,
        response: str,
        *,
        intercept: bool = False,
        precision: float = 1.0,
        prior_rate: float = 1.0,
    ) -> LassoRegression:
        """Make the posterior of a regression of one column of a CSV file on all others.

        Parameters
        ----------
        path : str or Path
            A CSV file whose header names its columns, all of them numeric.
        response : str
            Name of the column of responses.
        intercept : bool
            Put a column of ones, named ``intercept``, before the others; its coefficient has the same prior.
        precision, prior_rate : float
            As for `LassoRegression`.

        Returns
        -------
        LassoRegression
            With a coefficient for each of the other columns, by their names.

        Raises
        ------
        InputError
            If the file cannot be read, or holds a cell that is not a number (file, line and column are named).
        UsageError
            If no column has the name of the response.
        """
        features, responses, names = regression_table(path, response, intercept)
        return cls(features, responses, precision, prior_rate, names)

    @classmethod
    def toy(
        cls,
        size: int = 10_000,
        precision: float = _TOY_PRECISION,
        prior_rate: float = _TOY_PRIOR_RATE,
        *,
        rng: Seed = 0,
    ) -> LassoRegression:
        """One coefficient and simulated data, on which Langevin dynamics without a correction goes astray.

        y_i = x_i / 2 + noise of variance 1/3, x_i uniform on (-1, 1), scaled so that the sum of x_i^2 is N / 3 and with
        noise that is orthogonal to x: the posterior is then the same for all simulated data. At N = 10,000 it
        has its mode at .005, beside the kink of the prior, its mean at .01004 and a standard deviation of .00699.

        Parameters
        ----------
        size : int
            Number of data N.
        precision, prior_rate : float
            As for `LassoRegression`.
        rng : int, numpy.random.Generator or None
            Seed of the data; None for others each time.

        Returns
        -------
        LassoRegression
            Of one coefficient.

        References
        ----------
        A. Korattikara, Y. Chen and M. Welling (2014), "Austerity in MCMC land: cutting the Metropolis-Hastings
        budget", ICML, section 6.4.
        """
        count = as_count(size, "size", least=2)
        generator = np.random.default_rng(rng)
        x = generator.uniform(-1.0, 1.0, count)
        x *= math.sqrt(count / 3.0 / (x @ x))
        noise = math.sqrt(1.0 / 3.0) * generator.standard_normal(count)
        noise -= x * ((x @ noise) / (x @ x))
        return cls(x[:, None], _TOY_SLOPE * x + noise, precision, prior_rate, ["theta"])

    def _log_prior(self, thetas: Floats) -> Floats:
        return np.asarray(-self.prior_rate * np.abs(thetas).sum(axis=1), dtype=np.float64)

    def _grad_log_prior(self, thetas: Floats) -> Floats:
        return np.asarray(-self.prior_rate * np.sign(thetas), dtype=np.float64)

    def _terms(self, predictors: Floats, responses: Floats) -> Floats:
        """Log likelihood of each datum from its residual y - x'theta."""
        constant = 0.5 * math.log(self.precision / (2.0 * math.pi))
        return np.asarray(constant - 0.5 * self.precision * self._pulls(predictors, responses) ** 2)

    def _pulls(self, predictors: Floats, responses: Floats) -> Floats:
        return np.asarray(responses - predictors, dtype=np.float64)

    def _sides(self) -> tuple[float, Floats, Floats, Floats]:
        """In one dimension: sqrt(a), the normals' means and the logs of their masses within their side, and of all.

        Entry 0 of each is for theta < 0, entry 1 for theta > 0.
        """
        from scipy.special import log_ndtr, logsumexp

        x, y = self.data[0][:, 0], self.data[1]
        a = self.precision * float(x @ x)
        means = (float(x @ y) * self.precision + np.array([self.prior_rate, -self.prior_rate])) / a
        log_within = log_ndtr(np.array([-1.0, 1.0]) * math.sqrt(a) * means)
        log_shares = 0.5 * a * means**2 + log_within
        return math.sqrt(a), means, log_within, np.asarray(log_shares - logsumexp(log_shares))

    def _evaluate_cdf(self, values: Floats) -> Floats:
        from scipy.special import log_ndtr

        root, means, log_within, log_shares = self._sides()
        below = np.exp(log_shares[0] - log_within[0] + log_ndtr(root * (np.minimum(values, 0.0) - means[0])))
        above = np.exp(log_shares[1] - log_within[1] + log_ndtr(-root * (np.maximum(values, 0.0) - means[1])))
        return np.asarray(np.where(values < 0.0, below, 1.0 - above), dtype=np.float64)

    def _draw(self, n: int, rng: np.random.Generator) -> Floats:
        """A side by its share, then the normal within it by inversion of its tail."""
        from scipy.special import ndtri_exp

        root, means, log_within, log_shares = self._sides()
        side = (np.log1p(-rng.random(n)) >= log_shares[0]).astype(np.int64)
        tail = ndtri_exp(np.log1p(-rng.random(n)) + log_within[side])
        away = np.where(side == 1, -1.0, 1.0)
        return np.asarray(means[side] + away * tail / root, dtype=np.float64)[:, None]
