"""Bayesian logistic regression.

theta ~ N(0, v I),   P(y_i | x_i, theta) = sigma(y_i x_i'theta),   y_i in {-1, +1}
score = -theta / v + sum_i sigma(-y_i x_i'theta) y_i x_i,   sigma(u) = 1 / (1 + exp(-u))
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from steinkit.arguments import checked, require_unmasked
from steinkit.compiled_terms import CompiledTerms
from steinkit.errors import InputError, UsageError
from steinkit.posterior import Array
from steinkit.sample import Floats
from steinkit.targets.linear_models import LinearModel, as_features, regression_table, require_responses
from steinkit.targets.parameters import as_finite, as_numbers, as_vector, show


@checked
class LogisticRegression(LinearModel):
    """Posterior of the coefficients theta of a logistic regression, under independent normal priors about 0.

    Parameters
    ----------
    features : array_like, shape (N, d)
        One row a datum; include a column of ones for an intercept.
    responses : array_like, shape (N,)
        Two values, 0 and 1 or -1 and +1; both must occur.
    prior_variance : float or array_like, shape (d,)
        Prior variance of the coefficients; infinity is a flat prior.
    names : sequence of str, optional
        Names of the coefficients.
    label : str, optional
        How reports call the target.

    Attributes
    ----------
    data : (features, signs)
        Shapes (N, d) and (N,); the responses as -1 and +1.

    Raises
    ------
    UsageError
        If shapes disagree or a value is not of its kind.
    """

    def __init__(
        self,
        features: ArrayLike,
        responses: ArrayLike,
        prior_variance: ArrayLike = 1.0,
        names: Sequence[str] | None = None,
        *,
        label: str = "logistic-posterior",
    ) -> None:
        x = as_features(features)
        variance = as_numbers(prior_variance, "prior_variance")
        if not (variance > 0.0).all():
            raise UsageError(f"prior_variance must be positive; received {show(variance)}")
        self.prior_variance = as_vector(variance, x.shape[1], "prior_variance")
        super().__init__(label, (np.ascontiguousarray(x), _as_signs(responses, len(x))), x.shape[1], names)

    def __repr__(self) -> str:
        return f"LogisticRegression({self.size} data, d={self.dim}, prior_variance={show(self.prior_variance)})"

    @classmethod
    def from_csv(
        cls, path: str | Path, response: str, *, intercept: bool = False, prior_variance: ArrayLike = 1.0
    ) -> LogisticRegression:
        """Make the posterior of a regression of one column of a CSV file on all others.

        Parameters
        ----------
        path : str or Path
            A CSV file whose header names its columns, all of them numeric.
        response : str
            Name of the column of responses, coded 0 and 1 or -1 and +1.
        intercept : bool
            Put a column of ones, named ``intercept``, before the others.
        prior_variance : float or array_like, shape (d,)
            Prior variance of the coefficients; infinity is a flat prior.

        Returns
        -------
        LogisticRegression
            With a coefficient for each of the other columns, by their names.

        Raises
        ------
        InputError
            If the file cannot be read, holds a cell that is not a number (file, line and column are named),
            or its responses are not two-valued.
        UsageError
            If no column has the name of the response.
        """
        features, answers, names = regression_table(path, response, intercept)
        try:
            signs = _as_signs(answers, len(answers))
        except UsageError as error:
            raise InputError(f"{path}, column {response!r}: {error}") from None
        return cls(features, signs, prior_variance, names)

    @classmethod
    def nodal(cls, prior_variance: ArrayLike = 1.0) -> LogisticRegression:
        """Make the posterior of the bundled nodal data: 53 patients, d = 6, the intercept m first.

        Parameters
        ----------
        prior_variance : float or array_like, shape (6,)
            Prior variance of the coefficients; infinity is a flat prior.

        Returns
        -------
        LogisticRegression
            Its coefficients named as in the data.

        Raises
        ------
        UsageError
            If a variance is not positive, or their number is not 1 or 6.
        """
        from steinkit.datasets import load_nodal

        features, responses, names = load_nodal()
        return cls(features, responses, prior_variance, names)

    def _log_prior(self, thetas: Floats) -> Floats:
        return np.asarray(-0.5 * (thetas**2 / self.prior_variance).sum(axis=1), dtype=np.float64)

    def _grad_log_prior(self, thetas: Floats) -> Floats:
        return np.asarray(-thetas / self.prior_variance, dtype=np.float64)

    def _terms(self, predictors: Floats, responses: Floats) -> Floats:
        from scipy.special import log_expit

        return np.asarray(log_expit(responses * predictors), dtype=np.float64)

    def _pulls(self, predictors: Floats, responses: Floats) -> Floats:
        from scipy.special import expit

        return np.asarray(responses * expit(-responses * predictors), dtype=np.float64)

    def _compiled_terms(self, data: tuple[Array, ...], _: int) -> CompiledTerms:
        from steinkit.targets.logistic_kernels import logistic_terms

        features, signs = data
        return logistic_terms(features, signs, self.prior_variance)


def _as_signs(responses: ArrayLike, n: int) -> Floats:
    """Responses as -1 and +1, shape (n,)."""
    require_unmasked(responses, "responses")
    values = np.asarray(responses)
    if values.dtype.kind == "b":
        values = values.astype(np.float64)
    values = require_responses(as_finite(values, "responses"), n)
    found = np.unique(values)
    if found.tolist() not in ([0.0, 1.0], [-1.0, 1.0]):
        listed = ", ".join(f"{value:g}" for value in found[:6]) + (", ..." if len(found) > 6 else "")
        raise UsageError(f"responses must take two values, 0 and 1 or -1 and +1; received {listed}: recode them")
    return np.where(values > 0.0, 1.0, -1.0)
