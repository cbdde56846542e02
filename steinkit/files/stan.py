"""Reader for the Stan CSV files that CmdStan and its interfaces write.

Column names are converted to the names used by Stan's interfaces: ``theta.1`` becomes ``theta[1]``, ``Sigma.1.2``
becomes ``Sigma[1,2]``, and ``pair:1.2`` becomes ``pair.1[2]``. Columns with names that end in ``__``, such as ``lp__``,
are diagnostics. Only the divergences, energies and tree depths are read, and for approximations, the log densities of
the approximation and of the target in unconstrained space. They are called ``lp_approx__`` and ``lp__`` (Pathfinder),
``log_g__`` and ``log_p__`` (ADVI), or ``log_q__`` and ``log_p__`` (Laplace). All other columns are coordinates,
including transformed parameters and generated quantities.

The diagnostic file of a sampler contains unconstrained draws and gradients. For every coordinate ``tau``, the file has
columns for the value ``tau``, the momentum ``p_tau`` and the gradient ``g_tau`` of the potential energy, -log p, where
log p includes the log Jacobian of the transforms. Such a file is read as a sample with scores. The coordinates are
named ``unconstrained tau`` because the file does not specify the transforms.

Warm-up draws (``save_warmup``) are skipped. The first row of a variational inference file is also skipped because it
contains the mean of the approximation. Multi-path Pathfinder resamples its draws, so ``lp_approx__`` is not their log
density and is ignored.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from steinkit.containers.columns import (
    ALL,
    DIAGNOSTICS,
    SCORE,
    Columns,
    Selection,
    lay_out,
    sample_from_table,
    weight_column,
)
from steinkit.errors import InputError, ReadingWarning, warn_user
from steinkit.files.csv_format import open_table
from steinkit.sample import Sample

_SETTING = re.compile(r"^\s*(\w+)\s*=\s*(\S+)", re.MULTILINE)


def read_stan(data: bytes, source: str, selection: Selection = ALL) -> Sample:
    """Read the draws from a Stan CSV file, omitting diagnostics such as lp__.

    Parameters
    ----------
    data : bytes
    source : str
        Name of the file, for messages.
    selection : Selection
        Selection of columns. Coordinates have names such as ``theta[1]``.

    Raises
    ------
    InputError
        If the file contains no draws after warm-up, or a value is not a finite number.
    """
    table = open_table(data, source)
    settings = dict(_SETTING.findall("\n".join(table.comments)))
    if settings.get("method") == "optimize":
        raise InputError(f"{source} contains a mode found by optimization, not draws; run Stan with method=sample")
    layout = _lay_out(table.header, source, selection, _are_resampled(settings))
    table.lines = (each for each in table.lines if not each[1].startswith("#"))
    values, lines = table.rows(range(len(table.header)), layout.header)
    skipped = _rows_before_draws(settings, source)
    if skipped >= len(values):
        raise InputError(
            f"{source}: expected draws after row {skipped} (the end of warm-up, or the mean of an approximation), got "
            f"{len(values)} rows in total"
        )
    sample = sample_from_table(values[skipped:], layout, source, lambda row: f"line {lines[skipped + row]}")
    # the file contains gradients of the potential energy, -log p
    return sample if sample.scores is None else sample.with_columns(scores=-sample.scores)


def _are_resampled(settings: dict[str, str]) -> bool:
    """Return True if Pathfinder resampled the draws with importance weights."""
    is_multiple = settings.get("method") == "pathfinder" and settings.get("num_paths", "1") != "1"
    return is_multiple and settings.get("psis_resample", "1") not in ("0", "false")


def _rows_before_draws(settings: dict[str, str], source: str) -> int:
    if settings.get("method") == "variational":
        return 1
    if settings.get("save_warmup", "0") in ("0", "false") or settings.get("algorithm") == "fixed_param":
        return 0  # fixed_param has no warm-up, regardless of num_warmup
    warmup = settings.get("num_warmup", settings.get("warmup", "0"))
    thin = settings.get("thin", "1")
    if not re.fullmatch(r"\d{1,9}/[1-9]\d{0,8}", f"{warmup}/{thin}"):
        raise InputError(f"{source}: expected whole numbers for warm-up and thinning, got {warmup:.40} and {thin:.40}")
    return -(-int(warmup) // int(thin))  # Stan keeps iterations 0, thin, 2 thin, ...


def _lay_out(header: list[str], source: str, selection: Selection, resampled: bool) -> Columns:
    if header[0] == "lp__" and all(name.startswith("g_") for name in header[1:]):
        raise InputError(
            f"expected draws in {source}, got the output of CmdStan's log_prob, which contains only gradients"
        )
    names = [readable(name) for name in header]
    # Stan reserves only names that end in "__", so a parameter named weight is a coordinate
    meanings = {name: DIAGNOSTICS.get(name, "") for name in header if name.endswith("__")}
    if "lp_approx__" in meanings:
        meanings |= {"lp_approx__": ""} if resampled else {"lp__": "log_p"}
    if resampled:
        warn_user(
            f"{source}: Pathfinder has resampled the draws, so their importance ratios are not known. To compute the "
            "Pareto k, run Pathfinder with psis_resample=0 or num_paths=1",
            ReadingWarning,
        )
    weights = weight_column(names, source, selection, None)
    named = names.copy()
    if (latent := latent_columns(header)) is not None:
        coordinates, gradients = latent
        meanings |= dict.fromkeys(names[coordinates.stop : gradients.start], "") | {"lp__": "log_p"}  # momenta
        for coordinate, gradient in zip(coordinates, gradients, strict=True):
            named[coordinate] = f"unconstrained {names[coordinate]}"
            named[gradient] = f"{SCORE}{named[coordinate]}"
    if weights is not None:
        meanings[named[names.index(weights)]] = "weights"
    return replace(lay_out(named, source, selection, meanings), header=tuple(names))


def readable(name: str) -> str:
    """Convert a CmdStan column name to the name used by Stan's interfaces.

    ``Sigma.1.2`` becomes ``Sigma[1,2]``. The component ``pair:1`` of a tuple becomes ``pair.1``.
    """
    parameter, index = parameter_of(name)
    return f"{parameter}[{','.join(index)}]" if index else parameter


def parameter_of(name: str) -> tuple[str, tuple[str, ...]]:
    """Split a CmdStan column name into a parameter name and an index.

    ``Sigma.1.2`` has the index (1, 2). ``pair:1.2`` is an entry of the parameter ``pair.1``.
    """
    outer, _, last = name.rpartition(":")
    head, *index = last.split(".")
    return (f"{readable(outer)}.{head}" if outer else head), tuple(index)


def latent_columns(header: Sequence[str]) -> tuple[range, range] | None:
    """Return the coordinate and gradient columns of a diagnostic file.

    Return None if the header does not belong to a diagnostic file.
    """
    first = next((k for k, name in enumerate(header) if not name.endswith("__")), len(header))
    d, rest = divmod(len(header) - first, 3)
    names = list(header[first : first + d])
    if rest or not d or list(header[first + d :]) != [mark + name for mark in ("p_", "g_") for name in names]:
        return None
    return range(first, first + d), range(first + 2 * d, first + 3 * d)
