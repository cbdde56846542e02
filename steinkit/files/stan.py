"""Samples as Stan CSV, the output of CmdStan and its interfaces; read only.

Stan's own names are turned into those that its interfaces show: ``theta.1`` into ``theta[1]``, ``Sigma.1.2``
into ``Sigma[1,2]``, ``pair:1.2`` into ``pair.1[2]``. Columns that end in ``__`` (``lp__``, ``accept_stat__``) are the
sampler's diagnostics, of which ``divergent__`` and ``energy__`` are kept beside the draws. Everything else is a
coordinate, transformed parameters and generated quantities too; choose among them with ``columns``.

A sampler's diagnostic file holds unconstrained draws with the gradients that the sampler used; it gives a sample with
scores, whose coordinates are called ``unconstrained tau``, for nothing in it says how they were transformed. For
every unconstrained coordinate it has its value, its momentum and the gradient of the potential energy, -log p, with
log |J| of the transforms: columns ``tau``, ..., ``p_tau``, ..., ``g_tau``, ... after the sampler's, which end in ``__``
(Stan's `ps_point::get_param_names`, and `base_hamiltonian`, which negates what `stan::model::gradient` returns).
The output of CmdStan's method log_prob has the gradient of log p itself, in columns ``g_tau``, ... after ``lp__``, and
no draws.

What is not a draw of the posterior is not returned: warm-up draws, which a file written with ``save_warmup``
holds before the others, and the first row of variational inference, which is the mean of the approximation.
"""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from typing import NamedTuple

from steinkit.containers.columns import DIAGNOSTICS, Columns, choose, require_distinct, sample_from_table
from steinkit.errors import InputError, listed
from steinkit.files.csv_format import read_cells, read_plain
from steinkit.files.streams import MAX_COLUMNS
from steinkit.sample import Floats, Sample

_SETTING = re.compile(r"#\s*(\w+)\s*=\s*(\S+)")
_SETTINGS_READ = ("method", "algorithm", "save_warmup", "num_warmup", "warmup", "thin")
_LINE_END = re.compile(r"\r\n|\r|\n")


def read_stan(data: bytes, source: str, columns: Sequence[str] | None = None) -> Sample:
    """Read Stan CSV: draws of CmdStan, without columns such as lp__.

    Parameters
    ----------
    data : bytes
    source : str
        Name of the file, for messages.
    columns : sequence of str, optional
        Coordinates to keep, named as in ``theta[1]``.

    Raises
    ------
    InputError
        If the file holds no draws after warm-up, or a value that is no finite number.
    """
    found = read_stan_file(data, source)
    sample = sample_from_table(
        found.values, _lay_out(found.header, source, columns), source, lambda row: f"line {found.lines[row]}"
    )
    # the gradients are those of the potential energy, -log p
    return sample if sample.scores is None else sample.with_columns(scores=-sample.scores)


class StanFile(NamedTuple):
    """A file's draws.

    Attributes
    ----------
    header : list of str
        Names of the columns, as Stan writes them.
    values : ndarray, shape (n, columns)
        Warm-up left out.
    lines : sequence of int
        The line of the file that each row came from.
    """

    header: list[str]
    values: Floats
    lines: Sequence[int]


def read_stan_file(data: bytes, source: str) -> StanFile:
    """Read all columns of a Stan CSV file; parameters and errors of `read_stan`."""
    text = data.decode("utf-8-sig", errors="replace")
    numbered = [(line, content) for line, content in enumerate(_LINE_END.split(text), start=1) if content.strip()]
    (line, first), *rows = [each for each in numbered if not each[1].lstrip().startswith("#")] or [(0, "")]
    if not rows:
        raise InputError(f"{source} holds no draws; did Stan stop early? Run it again")
    settings = _settings([row for number, row in numbered if number < line], source)
    header = [name.strip() for name in first.split(",")]
    MAX_COLUMNS.require(len(header), source, "has")
    if "\ufffd" in first:
        raise InputError(f"{source}, line {line} is not UTF-8 text; write the file again")
    require_distinct(header, source)
    skipped = _rows_before_draws(settings, source)
    if skipped >= len(rows):
        raise InputError(
            f"{source} says that its first {skipped} rows are warm-up draws, and has {len(rows)} in all; let Stan run "
            "to its end, or correct num_warmup"
        )
    table = read_plain(io.BytesIO("\n".join(row for _, row in rows).encode("ascii", errors="replace")), len(header), 0)
    if table is None:
        every = tuple(range(len(header)))
        layout = Columns(tuple(map(readable, header)), tuple(header), every, (), {})
        table = read_cells(((line, row.split(",")) for line, row in rows), layout, source)
    return StanFile(header, table.values[skipped:], [line for line, _ in rows][skipped:])


def _settings(comments: Sequence[str], source: str) -> dict[str, str]:
    """What the comments before the header say of the run; of what is read here, no two things."""
    found: dict[str, str] = {}
    for name, value in _SETTING.findall("\n".join(comments)):
        if name in _SETTINGS_READ and found.get(name, value) != value:
            raise InputError(f"{source} says {name} = {found[name]} and {name} = {value}; which is it? Write it again")
        found[name] = value
    if found.get("method") == "optimize":
        raise InputError(f"{source} holds a mode found by optimisation, not draws; run Stan with method=sample")
    return found


def _whole(settings: dict[str, str], name: str, usual: int, least: int, source: str) -> int:
    text = settings.get(name, str(usual))
    if not (text.isascii() and text.isdigit() and len(text) < 16) or int(text) < least:
        raise InputError(
            f"{source} says {name} = {text:.40} where a whole number of at least {least} and below 10^15 is "
            "wanted; correct it"
        )
    return int(text)


def _lay_out(header: list[str], source: str, columns: Sequence[str] | None) -> Columns:
    if is_log_prob(header):
        raise InputError(
            f"{source} is the output of CmdStan's log_prob: it holds gradients, and not the draws that they belong to; "
            "give both to from_cmdstan(draws, gradients)"
        )
    latent = latent_columns(header)
    # Stan reserves no name but those in "__": a parameter called weight is a coordinate like any other.
    kept = [k for k, name in enumerate(header) if not name.endswith("__")]
    if not kept:
        raise InputError(f"{source} holds Stan's diagnostics only: {listed(header)}; save the parameters too")
    coordinates, scores, prefix = (kept, (), "") if latent is None else (*latent[1:], "unconstrained ")
    names = [prefix + readable(header[k]) for k in coordinates]
    chosen = choose(names, columns, source)
    return Columns(
        header=tuple(map(readable, header)),
        names=tuple(names[k] for k in chosen),
        coordinates=tuple(coordinates[k] for k in chosen),
        scores=tuple(scores[k] for k in chosen) if scores else (),
        reserved={own: header.index(name) for name, own in DIAGNOSTICS.items() if name in header},
    )


def readable(name: str) -> str:
    """``Sigma.1.2`` -> ``Sigma[1,2]``; the parts of a tuple, after a colon, come after a point."""
    return ".".join(_readable_part(part) for part in name.split(":"))


def parameter_of(name: str) -> tuple[str, tuple[str, ...]]:
    """``Sigma.1.2`` as the parameter and the entry's index; of a tuple's ``pair:1.2`` the part ``pair.1`` is one."""
    *outer, last = name.split(":")
    head, *index = last.split(".")
    return ".".join([*map(_readable_part, outer), head]), tuple(index)


def _readable_part(part: str) -> str:
    head, *index = part.split(".")
    return head + (f"[{','.join(index)}]" if index else "")


def _rows_before_draws(settings: dict[str, str], source: str) -> int:
    if settings.get("method") == "variational":
        return 1
    saved = settings.get("save_warmup", "0")
    if saved not in ("0", "1", "false", "true"):
        raise InputError(f"{source} says save_warmup = {saved} where 0, 1, false or true is wanted; correct it")
    warmup = _whole(settings, "num_warmup" if "num_warmup" in settings else "warmup", 0, 0, source)
    thin = _whole(settings, "thin", 1, 1, source)
    if saved in ("0", "false") or settings.get("algorithm") == "fixed_param":
        return 0  # fixed_param runs no warm-up, whatever num_warmup says
    return -(-warmup // thin)  # Stan keeps iterations 0, thin, 2 thin, ...


class LatentColumns(NamedTuple):
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
