"""Gradients that CmdStan wrote to files, beside the draws or for draws that it was given: no model is needed.

``output diagnostic_file=FILE`` of a sampler writes unconstrained draws with the gradients that the sampler used;
``log_prob unconstrained_params=FILE`` writes log densities and gradients of draws in a file of their own. Both are in
unconstrained space with log |J| included. Say ``sig_figs=18``, else values are rounded to six digits or eight.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from steinkit.adapters.stored_scores import from_stored
from steinkit.containers.reading import as_sample
from steinkit.errors import InputError, UsageError, listed
from steinkit.files import read_sample
from steinkit.files.dispatch import matching_files
from steinkit.files.stan import is_log_prob, read_stan_columns, readable, stan_header
from steinkit.files.streams import read_bytes
from steinkit.sample import Floats, Sample
from steinkit.target import Target

_Path = str | os.PathLike[str]
_LABEL = "Stan model"


def from_cmdstan(draws: Any, gradients: _Path | Sequence[_Path] | None = None) -> tuple[Target, Sample]:
    """Draws with the gradients that CmdStan stored, and the target, known at these draws.

    Parameters
    ----------
    draws : path or sequence of paths, or draws
        Diagnostic files of a sampler, one a chain. With `gradients`: the unconstrained draws that log_prob was given,
        as its JSON file (variable params_r), an array, a `Sample` or what else `as_sample` takes.
    gradients : path or sequence of paths, optional
        Output of log_prob, rows in the order of the draws.

    Returns
    -------
    Target, Sample
        Coordinates are called ``unconstrained tau``: the files do not say which transform tau has.

    Raises
    ------
    InputError
        If a file holds no gradients, if there are not as many as draws or for other coordinates, or if they are not
        those of the log densities stored with them. Constrained draws of a few of many coordinates are not told from
        unconstrained ones.

    Examples
    --------
    >>> import steinkit as sk
    >>> target, sample = sk.from_cmdstan("diagnostic-*.csv")  # doctest: +SKIP
    >>> target, sample = sk.from_cmdstan("unconstrained.json", "log_prob.csv")  # doctest: +SKIP
    """
    if gradients is None:
        sample, log_density = _diagnostics(_files(draws))
    else:
        sample, log_density = _log_prob(draws, _files(gradients))
    return from_stored(sample, _LABEL, log_density)


def _diagnostics(files: list[str]) -> tuple[Sample, Floats]:
    sample = read_sample(files)
    if sample.scores is None:
        raise InputError(
            f"{files[0]} holds draws and no gradients; let CmdStan write them with output diagnostic_file=FILE, or "
            "give gradients=, the output of its method log_prob"
        )
    return sample, np.concatenate([_columns(file, ["lp__"])[:, 0] for file in files])


def _log_prob(draws: Any, files: list[str]) -> tuple[Sample, Floats]:
    header = stan_header(_bytes(files[0]), files[0])
    if not is_log_prob(header):
        raise InputError(
            f"{files[0]} is not the output of CmdStan's log_prob, whose columns are lp__ and g_NAME for every "
            f"coordinate; its columns begin {', '.join(header[:4])}"
        )
    values = np.concatenate([_columns(file, header) for file in files])
    names = [readable(name.removeprefix("g_")) for name in header[1:]]
    sample = _unconstrained(draws, names)
    if len(sample) != len(values):
        raise InputError(f"there are {len(sample)} draws and gradients of {len(values)}; give the draws of these files")
    return sample.with_columns(names=tuple(map(_called, names)), scores=values[:, 1:]), values[:, 0]


def _unconstrained(draws: Any, names: list[str]) -> Sample:
    """Draws of the coordinates that gradients are given for, in their order."""
    if isinstance(draws, str | os.PathLike):
        if Path(draws).suffix != ".json":
            raise InputError(
                f"{os.fspath(draws)} is not a JSON file of unconstrained draws, as CmdStan's log_prob takes it. The "
                "draws of an output file are constrained: their gradients are in other coordinates; use its diagnostic "
                "file, or from_bridgestan"
            )
        draws = _params_r(draws)
    sample = as_sample(draws)
    if not sample.has_default_names:
        return sample.select(_matching(sample.names, names))
    if sample.dim != len(names):
        raise InputError(f"the draws have {sample.dim} coordinates and the gradients {len(names)}: {', '.join(names)}")
    return sample


def _matching(found: Sequence[str], names: list[str]) -> list[str]:
    """The coordinates of draws that gradients are given for, by their names or by those that we give them."""
    for wanted in (names, list(map(_called, names))):
        if set(wanted) <= set(found):
            return wanted
    missing = next(name for name in names if name not in found)
    raise InputError(
        f"the gradients are of {listed(names)}, and the draws have no {missing!r}; they are of {listed(found)}: name "
        "them so, or give them as an array in the order of the gradients"
    )


def _called(name: str) -> str:
    return f"unconstrained {name}"


def _params_r(file: _Path) -> Floats:
    try:
        found = json.loads(_bytes(file))["params_r"]
        return np.atleast_2d(np.array(found, dtype=np.float64))
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"{os.fspath(file)} is not a JSON file with rows of unconstrained parameters as params_r ({error!r})"
        ) from None


def _files(given: Any) -> list[str]:
    several = [given] if isinstance(given, str | os.PathLike) else given
    if not isinstance(several, Sequence) or not all(isinstance(each, str | os.PathLike) for each in several):
        raise UsageError(
            f"a path or several are wanted; received {type(given).__name__}. Draws in memory go with gradients="
        )
    return [file for each in several for file in matching_files(each) or [os.fspath(each)]]


def _columns(file: str, names: list[str]) -> Floats:
    return read_stan_columns(_bytes(file), file, names)


def _bytes(file: _Path) -> bytes:
    return read_bytes(file, binary=False)
