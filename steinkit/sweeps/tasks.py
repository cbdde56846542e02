"""The work of a sweep, as functions that a worker process can be given: run a setting's chains, score a chain.

None raises what a setting, a sampler, a target or a solver does wrong, be it to leave Python: they return the reason.
"""

from __future__ import annotations

import contextlib
import sys
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import joblib

from steinkit.errors import SteinkitError, leave_to_results, listening_to_forecasts
from steinkit.measures import Measurement, take_measure
from steinkit.measures.registry import restored_settings
from steinkit.measures.scoring import Judgement, Judging
from steinkit.runtime.compilation import compile_from_now_on
from steinkit.runtime.deadlines import one_thread_in_libraries
from steinkit.sample import Sample
from steinkit.sweeps.swept_sampler import SweptSampler
from steinkit.target import Target


@dataclass(frozen=True)
class Run:
    """What running the chain of one seed gave: draws, or the reason why there are none.

    `seconds` is the time of all the chains that ran together, shared out evenly.
    """

    seed: int
    sample: Sample | None
    acceptance: float | None
    reason: str | None
    seconds: float


@dataclass(frozen=True)
class Scores:
    """What scoring a chain gave: the documents of the measures that could be taken, and what went wrong.

    `forecasts` warn of memory that may not suffice, where nobody in the same process listened to them.
    """

    results: list[dict[str, Any]]
    reason: str | None
    warnings: list[str]
    seconds: float
    forecasts: tuple[str, ...] = ()


Cell = tuple[int, int]  # number of the setting, and seed


def run_setting(target: Target, setting: int, *others: Any) -> tuple[int, list[Run]]:
    """The chains of a setting, `run_chains_of_setting`, with its number: answers come in any order."""
    return setting, run_chains_of_setting(target, *others)


def score_cell(target: Target, cell: Cell, *others: Any) -> tuple[Cell, Scores]:
    """The scores of a cell, `score_chain`, with the cell."""
    return cell, score_chain(target, *others)


def run_chains_of_setting(
    target: Target, sampler: SweptSampler, options: Mapping[str, Any], seeds: Sequence[int]
) -> list[Run]:
    """Run the chains of one setting together, and apart where that fails, so that each fails for itself."""
    began = time.perf_counter()
    try:
        with _quiet():
            chains = sampler.run(target, options, seeds)
    except (Exception, SystemExit) as error:
        if len(seeds) == 1:
            return [Run(seeds[0], None, None, _reason(error), time.perf_counter() - began)]
        half = len(seeds) // 2  # fewer runs than one by one, and chains do not depend on their company
        return [
            run
            for part in (seeds[:half], seeds[half:])
            for run in run_chains_of_setting(target, sampler, options, part)
        ]
    share = (time.perf_counter() - began) / len(seeds)
    return [Run(seed, *chain, None, share) for seed, chain in zip(seeds, chains, strict=True)]


def score_chain(target: Target, sample: Sample, measures: Sequence[str], settings: Mapping[str, Any]) -> Scores:
    """Take every measure of a sample; one that fails does not cost the others."""
    compile_from_now_on()  # other samples like it will follow
    began = time.perf_counter()
    results, reasons, notes, forecasts = [], [], [], list[str]()
    for name in measures:
        try:
            with _quiet(), listening_to_forecasts(forecasts.append):
                found = take_measure(name, sample, target, settings, value_alone=True)
        except (Exception, SystemExit) as error:
            reasons.append(f"{name}: {_reason(error)}")
        else:
            results.append(found.document)
            notes += [f"{name}: {note}" for note in found.warnings]
    return Scores(results, "; ".join(reasons) or None, notes, time.perf_counter() - began, tuple(forecasts))


def score_again(target: Target, sample: Sample, measure: str, record: Mapping[str, Any]) -> Measurement:
    """Take a measure of a cell's draws again, with the settings that the cell's own record holds.

    Raises
    ------
    SteinkitError
        As `take_measure` does, and UsageError if the record does not hold all of a setting, such as an operator.
    """
    with _quiet():
        return take_measure(measure, sample, target, restored_settings(record["measure_settings"], measure))


def judge_again(target: Target, sample: Sample, measure: str, record: Mapping[str, Any]) -> Judgement:
    """Judge a cell's draws, on the support that the cell's own record holds.

    Raises
    ------
    UsageError
        As `score_again` does.
    """
    with _quiet():
        return Judging().judge(sample, target, restored_settings(record["measure_settings"], measure), rng=0)


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Work in one thread; what a user's code prints goes to standard error; warnings stand in results.

    A cluster's backend reaches into its tasks: the threads that they ask of joblib would be spread over its workers.
    """
    with contextlib.ExitStack() as stack:
        stack.enter_context(joblib.parallel_config(backend="threading", n_jobs=1))
        stack.enter_context(one_thread_in_libraries())
        stack.enter_context(contextlib.redirect_stdout(sys.stderr))
        stack.enter_context(warnings.catch_warnings())
        leave_to_results()
        yield


def _reason(error: Exception | SystemExit) -> str:
    """Why, in one line: steinkit's own errors explain themselves."""
    text = " ".join(str(error).split())
    return text if isinstance(error, SteinkitError) else f"{type(error).__name__}: {text}"
