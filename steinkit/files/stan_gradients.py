"""Gradients in what Stan writes: which columns of its tables hold them, and of which sign they are.

A sampler's diagnostic file has for every unconstrained coordinate its value, its momentum and the gradient of the
potential energy, -log p, with log |J| of the transforms included: columns ``tau``, ..., ``p_tau``, ..., ``g_tau``, ...
after those of the sampler, which end in ``__`` (Stan's `ps_point::get_param_names`, and `base_hamiltonian`, which
negates what `stan::model::gradient` returns). The output of CmdStan's method log_prob has the gradient of log p itself,
in columns ``g_tau``, ... after ``lp__``, and no draws.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class LatentColumns:
    """Columns of a diagnostic file: of d coordinates, d momenta, d gradients.

    Attributes
    ----------
    log_density : int or None
        Column of ``lp__``.
    coordinates, gradients : range
    """

    log_density: int | None
    coordinates: range
    gradients: range


def latent_columns(header: Sequence[str]) -> LatentColumns | None:
    """Where coordinates and gradients stand, if a header is that of a diagnostic file."""
    first = next((k for k, name in enumerate(header) if not name.endswith("__")), len(header))
    d, rest = divmod(len(header) - first, 3)
    names = list(header[first : first + d])
    if rest or not d or list(header[first + d :]) != [mark + name for mark in ("p_", "g_") for name in names]:
        return None
    return LatentColumns(
        log_density=list(header).index("lp__") if "lp__" in header else None,
        coordinates=range(first, first + d),
        gradients=range(first + 2 * d, first + 3 * d),
    )


def is_log_prob(header: Sequence[str]) -> bool:
    """Whether a header is that of the output of log_prob: log densities and gradients only."""
    return len(header) > 1 and header[0] == "lp__" and all(name.startswith("g_") for name in header[1:])
