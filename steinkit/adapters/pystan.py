"""Fits of PyStan 3, which hold the gradients that Stan's sampler used, and its models.

A fit keeps all that Stan wrote while it sampled, the unconstrained draws and gradients of its diagnostics among them.
They are the scores of these draws: nothing is evaluated, and no model is needed. PyStan's own `grad_log_prob` starts an
HTTP server for every call, 13 ms each; with `model=` the compiled module that this server calls is called directly,
0.07 ms each for 20 parameters.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from steinkit.adapters.bridgestan import StanParameters, stan_parameters
from steinkit.adapters.model import check
from steinkit.adapters.stored_scores import from_stored, require_same_scores
from steinkit.containers.samplers import stan_fit_lengths
from steinkit.errors import InputError, UsageError, imported
from steinkit.files.stan import latent_columns, parameter_of
from steinkit.sample import Floats, Sample
from steinkit.target import Target

_COMPARED = 64  # draws whose values in both spaces tell which transform a parameter has
_LABEL = "PyStan model"


def from_pystan(fit: Any, model: Any = None) -> tuple[Target, Sample]:
    """A fit of PyStan as a sample in unconstrained space with its scores, and the target that it was drawn from.

    Parameters
    ----------
    fit : stan.fit.Fit
        Of a sampler with gradients. Warm-up draws are left out, and transformed parameters and generated quantities.
    model : stan.model.Model, optional
        That the fit was drawn from, as `stan.build` returns it. Without it the target is known at the fit's draws only,
        which is enough to judge them.

    Returns
    -------
    Target, Sample
        Coordinates are named by what their transforms are found to be: ``log tau``, ``theta[1]``.

    Raises
    ------
    InputError
        If the fit holds no gradients; if these are not those of the log densities stored with them, or not those of
        `model`.
    MissingDependencyError
        If a model is given and PyStan is not installed (``pip install 'steinkit[pystan]'``).

    Examples
    --------
    >>> import steinkit as sk
    >>> target, sample = sk.from_pystan(fit)  # doctest: +SKIP
    """
    if not hasattr(fit, "stan_outputs") or not hasattr(fit, "num_warmup"):
        raise UsageError(
            f"a fit of PyStan 3 is wanted, as posterior.sample() returns it; received {type(fit).__name__}"
        )
    chains = [_Chain(output, fit) for output in fit.stan_outputs]
    found = chains[0].parameters()
    sample = Sample(
        points=np.stack([chain.coordinates[:, found.order] for chain in chains]),
        scores=np.stack([-chain.gradients[:, found.order] for chain in chains]),
        names=found.names,
    )
    log_density = np.concatenate([chain.log_density for chain in chains])
    stored = from_stored(sample, _LABEL, log_density)
    if model is None:
        return stored
    target = _target(model, found)
    require_same_scores(
        target,
        sample,
        "to judge this fit against it, take the sample of from_pystan(fit) and the target of the model's own fit",
    )
    check(target, sample)
    return target, sample


class _Chain:
    """What Stan wrote of one chain, warm-up left out; a line each: ``{"topic": "diagnostic", "values": {...}}``."""

    def __init__(self, output: bytes, fit: Any) -> None:
        self._warmup, draws = stan_fit_lengths(fit)
        self._output = output
        header, rows = self._table("diagnostic")
        columns = latent_columns(header)
        if columns is None or columns.log_density is None:
            raise InputError(
                "the fit holds no gradients: it was made without them (fixed_param), or by a PyStan before 3. Give its "
                "draws and a model: from_bridgestan, or Sample and Target"
            )
        if len(rows) != draws:
            raise InputError(f"the fit holds {len(rows)} gradients of a chain of {draws} draws; sample again")
        self.names = [header[k] for k in columns.coordinates]
        self.coordinates = rows[:, columns.coordinates]  # unconstrained, (n, d), in Stan's order
        self.gradients = rows[:, columns.gradients]  # of the potential energy, (n, d)
        self.log_density = rows[:, columns.log_density]  # with log |J|, (n,)

    def parameters(self) -> StanParameters:
        """The parameters, by their names and by values in both spaces."""
        header, rows = self._table("sample", _COMPARED)
        free = {parameter_of(name)[0] for name in self.names}
        places = [k for k, name in enumerate(header) if parameter_of(name)[0] in free]
        names = [header[k] for k in places]
        return stan_parameters(names, self.names, rows[:, places], self.coordinates[: len(rows)])

    def _table(self, topic: str, most: int | None = None) -> tuple[list[str], Floats]:
        """Names and values of the rows of a topic after warm-up."""
        header: list[str] = []
        rows = []
        marked = f'"{topic}"'.encode()
        for message in (json.loads(line) for line in self._output.splitlines() if marked in line):
            if message["topic"] != topic or not isinstance(message["values"], dict):
                continue
            header = header or list(message["values"])
            rows.append(list(message["values"].values()))
            if most is not None and len(rows) == self._warmup + most:
                break
        kept = rows[self._warmup :]
        return header, np.array(kept, dtype=np.float64).reshape(len(kept), len(header))


def _target(model: Any, found: StanParameters) -> Target:
    """A compiled model as a target in unconstrained space, called without PyStan's server."""
    models = imported("httpstan.models", "PyStan", "pystan")
    try:
        module = models.import_services_extension_module(model.model_name)
    except KeyError:
        raise InputError(f"the compiled {model.model_name} is not in PyStan's cache; run stan.build again") from None
    back = np.argsort(found.order)

    def rows(points: Floats) -> list[list[float]]:
        return [row.tolist() for row in points[:, back]]

    def score(points: Floats) -> Floats:
        slopes = np.array([module.log_prob_grad(model.data, row, True) for row in rows(points)], dtype=np.float64)
        return slopes.reshape(points.shape)[:, found.order]

    def log_density(points: Floats) -> Floats:
        return np.array([module.log_prob(model.data, row, True) for row in rows(points)], dtype=np.float64)

    return Target(score=score, log_density=log_density, names=found.names, label=_LABEL)
