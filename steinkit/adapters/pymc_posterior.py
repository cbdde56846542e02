"""A PyMC model whose observed variables tell N data: a posterior with a likelihood term for each."""

from __future__ import annotations

import numpy as np

from steinkit.adapters.pymc_graphs import Graphs
from steinkit.posterior import Posterior
from steinkit.sample import Floats, Integers


class PyMCPosterior(Posterior):
    """The posterior of a PyMC model in unconstrained space; its data are the numbers 0 to N - 1 of the data.

    The model computes the likelihood of all data, from which a batch is taken: it costs what all data cost.
    """

    def __init__(self, graphs: Graphs, size: int, names: tuple[str, ...], bounds: Floats | None, label: str) -> None:
        self._graphs = graphs
        super().__init__(
            data=(np.arange(size),),
            log_likelihood=lambda theta, rows: graphs.log_likelihood(theta[None])[0, rows],
            grad_log_likelihood=lambda theta, rows: self._gradient(theta[None], rows[None])[0],
            log_prior=graphs.log_prior,
            grad_log_prior=graphs.grad_log_prior,
            log_likelihood_many=lambda thetas, rows: np.take_along_axis(graphs.log_likelihood(thetas), rows, axis=1),
            grad_log_likelihood_many=self._gradient,
            names=names,
            bounds=bounds,
            label=label,
        )

    def _gradient(self, thetas: Floats, rows: Integers) -> Floats:
        """Gradient of the log likelihood of each parameter's own batch, (K, d) and (K, b) -> (K, d)."""
        times = np.zeros((len(thetas), self.size))
        np.add.at(times, (np.arange(len(thetas))[:, None], rows), 1.0)
        return self._graphs.grad_log_likelihood(thetas, times)

    def _score_over_data(self, points: Floats) -> Floats:
        return self._graphs.score(points)

    def _log_density_over_data(self, points: Floats) -> Floats:
        return self._graphs.log_density(points)
