"""Several files, or several of anything read as a sample, as the chains of one sample."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from steinkit.containers.columns import make_sample
from steinkit.containers.messages import listed
from steinkit.errors import InputError
from steinkit.sample import Integers, Sample


def matching_files(path: str | os.PathLike[str]) -> list[str]:
    """The files that a pattern such as ``fit-*.csv`` matches, in the order of the numbers in their names.

    A path without ``*`` or ``?``, or of a file that is there, is no pattern, and matches nothing.
    """
    text = os.fspath(path)
    if not ("*" in text or "?" in text) or Path(text).exists():
        return []
    return sorted(glob.glob(text), key=_by_number)


def join_chains(samples: Sequence[Sample], sources: Sequence[str]) -> Sample:
    """Samples one after the other, each with chains of its own.

    Chains keep their labels where no two files share one; else they are numbered from 0, in the order of the files.

    Parameters
    ----------
    samples : sequence of Sample
        With the same coordinates, in any order: that of the first is taken.
    sources : sequence of str
        Names of the files, for messages.

    Raises
    ------
    InputError
        If the coordinates' names differ, or some have weights, scores or costs and others none.
    """
    first = samples[0]
    for sample, source in zip(samples, sources, strict=True):
        _require_same_names(first, sample, sources[0], source)
    ordered = [each if each.names == first.names else each.select(first.names) for each in samples]
    fields: dict[str, Any] = {"points": np.concatenate([each.points for each in ordered])}
    for name in ("weights", "scores", "cost"):
        found = [getattr(each, name) for each in ordered]
        without = [source for values, source in zip(found, sources, strict=True) if values is None]
        if not without:
            fields[name] = np.concatenate(found)
        elif len(without) < len(sources):
            with_one = next(source for source in sources if source not in without)
            raise InputError(
                f"{with_one} holds {name} and {without[0]} none; chains of one sample must all have them, or none"
            )
    chains = _chains(ordered)
    draws = [_draws(each, chain) for each, chain in zip(ordered, chains, strict=True)]
    return make_sample(
        f"{sources[0]} to {sources[-1]}",
        **fields,
        chain=np.concatenate(chains),
        draw=np.concatenate(draws),
        names=first.names,
    )


def _by_number(name: str) -> list[tuple[int, str]]:
    """``fit-2`` before ``fit-10``."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", name)]


def _require_same_names(first: Sample, other: Sample, source: str, others: str) -> None:
    if sorted(first.names) == sorted(other.names):
        return
    missing = [name for name in first.names if name not in other.names]
    more = [name for name in other.names if name not in first.names]
    which = " and ".join(
        f"{listed(names, most=3)} in {where} only" for names, where in ((missing, source), (more, others)) if names
    )
    raise InputError(
        f"{source} and {others} do not have the same coordinates: {which}; chains of one sample have, choose with "
        "columns= (--columns)"
    )


def _chains(samples: Sequence[Sample]) -> list[Integers]:
    """Labels of the chains of each sample, different from those of every other."""
    labels = [np.zeros(len(each), dtype=np.int64) if each.chain is None else each.chain for each in samples]
    distinct = [np.unique(each) for each in labels]
    if all(each.chain is not None for each in samples) and len(np.unique(np.concatenate(distinct))) == sum(
        map(len, distinct)
    ):
        return labels
    begins = np.cumsum([0, *map(len, distinct[:-1])])
    return [begin + np.searchsorted(known, each) for begin, known, each in zip(begins, distinct, labels, strict=True)]


def _draws(sample: Sample, chain: Integers) -> Integers:
    """Numbers of the draws within each chain, counted in their order where nobody numbered them."""
    if sample.draw is not None:
        return sample.draw
    numbers = np.empty(len(sample), dtype=np.int64)
    for label in np.unique(chain):
        rows = np.flatnonzero(chain == label)
        numbers[rows] = np.arange(len(rows))
    return numbers
