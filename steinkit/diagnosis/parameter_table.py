"""Table of moments, convergence diagnostics and biases for each parameter."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from typing import Any

import numpy as np

from steinkit.chains import LOW_BFMI, ChainDiagnostics, smallest_bfmi
from steinkit.diagnosis.bias.result import UNITS, BiasEstimate
from steinkit.diagnosis.importance import ImportanceWeights
from steinkit.errors import import_extra
from steinkit.result import in_json
from steinkit.sample import Floats
from steinkit.text import Table, compact, count, filled

_OF_DRAWS = {
    "mean": ("mean", ".3g"),
    "sd": ("sd", ".3g"),
    "q5": ("5%", ".3g"),
    "q95": ("95%", ".3g"),
    "mcse_mean": ("MCSE", ".2g"),
    "ess_bulk": ("bulk ESS", ".0f"),
    "ess_tail": ("tail ESS", ".0f"),
    "r_hat": ("R-hat", ".3f"),
}
_OF_WEIGHTS = {"psis_mean": ("PSIS mean", ".3g"), "psis_sd": ("PSIS sd", ".3g")}
"""Column headings and formats."""
_WEIGHTED = "MCSE, ESS and R-hat are not defined for weighted draws."


@dataclass(frozen=True, eq=False)
class ParameterTable:
    """Moments, diagnostics and biases of the parameters in a verdict.

    Attributes
    ----------
    diagnostics : ChainDiagnostics
    bias : BiasEstimate or None
        Estimated biases of the parameters and of the target's functions.
    known_bias : BiasEstimate or None
        The same estimate if it is reliable for at least one quantity, and None otherwise.
    importance : ImportanceWeights or None
    """

    diagnostics: ChainDiagnostics
    bias: BiasEstimate | None
    known_bias: BiasEstimate | None
    importance: ImportanceWeights | None

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the parameters, followed by the names of the target's functions."""
        return self.diagnostics.names if self.bias is None else self.bias.names

    @cached_property
    def columns(self) -> dict[str, Floats]:
        """Columns of `Verdict.to_frame` by name, with NaN for unknown values."""
        chains, d, m = self.diagnostics, len(self.diagnostics.names), len(self.names)
        diagnostics = (chains.mcse_mean, chains.bulk_ess, chains.tail_ess, chains.r_hat)
        found = {}
        for name, values in zip(_OF_DRAWS, (chains.mean, chains.sd, *chains.quantiles, *diagnostics), strict=True):
            found[name] = np.full(m, np.nan)
            if not chains.weighted or name in ("mean", "sd", "q5", "q95"):
                found[name][:d] = values
        if self.bias is not None:
            found["mean"][d:], found["sd"][d:] = self.bias.draws_mean[d:], self.bias.draws_sd[d:]
        for name in ("mean", "sd", "mean_bias", "mean_margin", "sd_bias", "sd_margin"):
            known = self.known_bias
            values = np.full(m, np.nan) if known is None else np.where(known.reliable, getattr(known, name), np.nan)
            found[f"corrected_{name}" if name in ("mean", "sd") else name] = values
        if self.importance is not None:
            for name, values in zip(_OF_WEIGHTS, (self.importance.mean, self.importance.sd), strict=True):
                found[name] = np.append(values, np.full(m - d, np.nan))
        return found

    def text(self, most: int | None) -> str:
        """Return the table as text, with the largest biases first."""
        known = {} if self.known_bias is None else {each.name: each for each in self.known_bias.quantities}
        weights = _OF_WEIGHTS if self.importance is not None else {}
        rows = []
        for name in known or self.names:
            own = known[name].cells if known else ("?", "?", "?")
            rows.append((name, *self._cells(name, _OF_DRAWS), *own, *self._cells(name, weights)))
        headings = [[heading for heading, _ in each.values()] for each in (_OF_DRAWS, weights)]
        columns = ("quantity", *headings[0], "corrected", "bias (sd)", "sd bias", *headings[1])
        notes = [UNITS, *([_WEIGHTED] if self.diagnostics.weighted else []), *self._trajectories()]
        return f"{Table('', columns, tuple(rows)).text(('quantity',), most)}\n{filled(' '.join(notes))}"

    def _cells(self, name: str, columns: Mapping[str, tuple[str, str]]) -> list[str]:
        values = {key: float(self.columns[key][self.names.index(name)]) for key in columns}
        return ["-" if np.isnan(value) else f"{value:{columns[key][1]}}" for key, value in values.items()]

    def _trajectories(self) -> Iterator[str]:
        """Yield sentences about divergences, tree depth and energy, where recorded."""
        sample = self.diagnostics.sample
        if sample.divergent is not None:
            yield f"{count(int(sample.divergent.sum()), 'divergent transition')}."
        if sample.tree_depth is not None:
            deepest = int(sample.tree_depth.max())
            share = (sample.tree_depth == deepest).mean()
            yield f"The largest tree depth is {deepest}, in {share:.0%} of the transitions."
        if (bfmi := smallest_bfmi(sample)) is not None:
            yield f"The smallest E-BFMI is {compact(bfmi, 2)} (should be at least {LOW_BFMI})."

    def rows(self) -> list[dict[str, object]]:
        """Return one JSON document per row, with null for unknown values."""
        table = zip(*(each.tolist() for each in self.columns.values()), strict=True)
        rows = zip(self.names, table, strict=True)
        return [in_json({"name": name, **dict(zip(self.columns, row, strict=True))}) for name, row in rows]

    def frame(self) -> Any:
        """Return a pandas data frame, or a Polars one if pandas is not installed."""
        if find_spec("pandas") is None and find_spec("polars") is not None:
            return import_extra("polars", "Polars", "netcdf").DataFrame({"parameter": self.names, **self.columns})
        pandas = import_extra("pandas", "pandas", "netcdf")
        return pandas.DataFrame(self.columns, index=pandas.Index(self.names, name="parameter"))

    def tree(self, attributes: Mapping[str, object]) -> Any:
        """Return the table as an xarray DataTree node."""
        xarray = import_extra("xarray", "xarray", "netcdf")
        variables = {name: ("parameter", each) for name, each in self.columns.items()}
        known = {name: value for name, value in attributes.items() if value is not None}
        return xarray.DataTree(xarray.Dataset(variables, {"parameter": list(self.names)}, known), name="verdict")
