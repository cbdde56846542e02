"""The work of a sweep, as functions that a worker process can be given: run a setting's chains, score a chain.

The sampler is one that steinkit knows by name, or a user's own function, given or named with its file.
None raises what a setting, a sampler, a target or a solver does wrong, be it to leave Python: they return the reason.
"""

from __future__ import annotations

import contextlib
import inspect
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import joblib
import numpy as np

from steinkit.containers.reading import as_sample
from steinkit.errors import InputError, SteinkitError, UsageError, leave_to_results, require_known
from steinkit.measurement import Measurement
from steinkit.measures import restored_settings, take_measure
from steinkit.measures.scoring import Judgement, Judging
from steinkit.runtime.compilation import compile_from_now_on
from steinkit.runtime.deadlines import one_thread_in_libraries
from steinkit.sample import Sample
from steinkit.samplers.chains.draws import Draws
from steinkit.samplers.registry import Sampler, find_sampler, sampler_names
from steinkit.scored_sample import prepared_once
from steinkit.sweeps.identity import code_identity
from steinkit.target import Target

Chain = tuple[Sample, float | None]
"""What one seed gave: draws, and the share of moves accepted where the sampler says it."""

_NORMAL_START = "normal"
_START_KEY = 1 << 16  # far from the keys by which a chain's other noise is told apart


@dataclass(frozen=True)
class SweptSampler:
    """A sampler that is run from a seed for each chain.

    Attributes
    ----------
    name : str
        The registered name, ``path.py:function`` as it was named, or the place of a user's function.
    code : str, optional
        Hash of a user's function (`code_identity`); None where that cannot be told.
    """

    name: str
    code: str | None
    _function: Callable[..., Any]
    _registered: Sampler | None

    @property
    def is_users(self) -> bool:
        """Whether it is a function of the user's own."""
        return self._registered is None

    @property
    def is_random(self) -> bool:
        """Whether it takes a seed."""
        return self._registered is None or "seed" in self._registered.options()

    def require_options(self, options: Mapping[str, Any]) -> None:
        """Hold the options of a setting to those that the sampler takes.

        Raises
        ------
        UsageError
            If it does not take one, or needs another.
        """
        if taken := {"seed", "chains"} & options.keys():
            said = "is not an option of a sweep's sampler: every seed of the sweep runs one chain"
            raise UsageError(f"{min(taken)} {said}")
        if isinstance(start := options.get("start"), str) and start != _NORMAL_START:
            wanted = f'a list of numbers or "{_NORMAL_START}", a standard normal state from the seed'
            raise UsageError(f"expected start to be {wanted}, got {start!r}")
        if self._registered is None:
            self._require_parameters(options)
            return
        known = self._registered.options(options.get("test"))
        names = sorted(known.keys() - {"seed", "chains"})
        require_known(options, names, f"sampler {self.name!r} has no option", "its options")
        missing = [name for name in known if name in names and known[name].required and name not in options]
        if self._registered.needs_end and not {"draws", "budget"} & options.keys():
            missing.append("draws or budget")
        if missing:
            raise UsageError(f"sampler {self.name!r} needs {' and '.join(missing)}, in the grid or fixed")

    def run(self, target: Target, options: Mapping[str, Any], seeds: Sequence[int]) -> list[Chain]:
        """A chain for each seed, each the same whatever runs beside it."""
        if self._registered is None:
            each = ((seed, _started(target, options, [seed])) for seed in seeds)
            return [_as_chain(self._function(target, **started, seed=seed), target) for seed, started in each]
        arguments = _started(target, options, seeds)
        if self.is_random:
            arguments["seed"] = list(seeds)
        if "chains" in self._registered.options():
            arguments["chains"] = len(seeds)
        return _chains_of(self._registered.run(target, arguments))

    def _require_parameters(self, options: Mapping[str, Any]) -> None:
        try:
            inspect.signature(self._function).bind(None, **options, seed=0)
        except ValueError:  # it does not say
            return
        except TypeError as error:
            called = ", ".join(["target", *(f"{name}=" for name in options), "seed="])
            raise UsageError(
                f"the sampler {self.name} cannot be called as ({called}): {error}; a sampler is a function "
                "(target, *, seed, **options), and the grid and the fixed options name its options"
            ) from None


def swept_sampler(sampler: str | Callable[..., Any], folder: Path = Path()) -> SweptSampler:
    """The sampler named or given; a function of `steinkit.samplers` is known by its name.

    Parameters
    ----------
    sampler : str or callable
        A name, ``path.py:function``, whose file is run, or a function.
    folder : Path
        What the path is relative to.

    Raises
    ------
    UsageError
        If no sampler has the name, the file no such function, or it is neither a name nor a function.
    InputError
        If the file does not exist or raises an exception.
    """
    if isinstance(sampler, str):
        if ":" in sampler or sampler.endswith(".py"):
            return _from_file(sampler, folder)
        try:
            return _known(sampler)
        except UsageError as error:
            raise UsageError(f"{error}; your own is named path.py:function") from None
    if not callable(sampler):
        raise UsageError(f"sampler must be a name or a function; received {sampler!r}")
    known = next((each for each in map(_known, sampler_names()) if each._function is sampler), None)
    name = getattr(sampler, "__qualname__", type(sampler).__name__)
    return known or SweptSampler(name, code_identity(sampler), sampler, None)


def _known(name: str) -> SweptSampler:
    registered = find_sampler(name)
    return SweptSampler(name, None, registered.function, registered)


def _from_file(reference: str, folder: Path) -> SweptSampler:
    from steinkit.targets.registry import load_attribute

    function = load_attribute(reference, "sampler", folder=folder)
    if not callable(function):
        kind = type(function).__name__
        raise UsageError(
            f"{reference} must be a function (target, *, seed, **options) that returns draws; it is {kind}"
        )
    found = swept_sampler(function)
    return replace(found, name=reference) if found.is_users else found


def _started(target: Target, options: Mapping[str, Any], seeds: Sequence[int]) -> dict[str, Any]:
    """The options, with a start that is wanted at random drawn from N(0, I) for each seed."""
    arguments = dict(options)
    if arguments.get("start") == _NORMAL_START:
        if target.dim is None:
            raise UsageError(f"the dimension of {target.label!r} is not known: pass dim= to the target")
        noise = (np.random.SeedSequence(seed, spawn_key=(_START_KEY,)) for seed in seeds)
        arguments["start"] = np.stack([np.random.default_rng(each).standard_normal(target.dim) for each in noise])
    return arguments


def _chains_of(draws: Draws) -> list[Chain]:
    """The chains of a run, each as a sample of its own."""
    if not draws.present.any(axis=1).all():
        raise InputError("the run ended without a draw; give it a larger budget, or a smaller burn_in or thin")
    together = draws.to_sample()
    samples = [replace(together[together.chain == k], chain=None, draw=None) for k in range(draws.chains)]
    shares = [None] * draws.chains if draws.acceptance is None else draws.acceptance.tolist()
    return list(zip(samples, shares, strict=True))


def _as_chain(returned: Any, target: Target) -> Chain:
    """What a user's function returned for one seed; some measures would not see that it is not of the target."""
    sample = returned.to_sample() if isinstance(returned, Draws) else as_sample(returned)
    if target.dim not in (None, sample.dim):
        raise InputError(
            f"the target {target.label!r} has {target.dim} coordinates, the sampler's draws have {sample.dim}; return "
            "an array of shape (draws, coordinates)"
        )
    acceptance = returned.acceptance if isinstance(returned, Draws) else None
    return sample, None if acceptance is None else float(np.nanmean(acceptance))


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
    """The documents of the measures of a chain that could be taken, and the reason why others could not."""

    results: list[dict[str, Any]]
    reason: str | None
    warnings: list[str]
    seconds: float


Cell = tuple[int, int]  # number of the setting, and seed


def run_chains(target: Target, sampler: SweptSampler, options: Mapping[str, Any], seeds: Sequence[int]) -> list[Run]:
    """Run the chains of one setting together, and apart where that fails, so that each fails for itself."""
    began = time.perf_counter()
    try:
        with _quiet():
            chains = sampler.run(target, options, seeds)
    except (Exception, SystemExit) as error:
        if len(seeds) == 1:
            return [Run(seeds[0], None, None, _reason(error), time.perf_counter() - began)]
        half = len(seeds) // 2  # fewer runs than one by one, and chains do not depend on their company
        return [run for part in (seeds[:half], seeds[half:]) for run in run_chains(target, sampler, options, part)]
    share = (time.perf_counter() - began) / len(seeds)
    return [Run(seed, *chain, None, share) for seed, chain in zip(seeds, chains, strict=True)]


def score_chain(target: Target, sample: Sample, measures: Sequence[str], settings: Mapping[str, Any]) -> Scores:
    """Take every measure of a sample; one that fails does not cost the others."""
    compile_from_now_on()  # other samples like it will follow
    began = time.perf_counter()
    results, reasons, notes = [], [], []
    with _quiet(), prepared_once():
        for name in measures:
            try:
                found = take_measure(name, sample, target, settings)
            except (Exception, SystemExit) as error:
                reasons.append(f"{name}: {_reason(error)}")
            else:
                results.append(found.to_dict())
                notes += [f"{name}: {note}" for note in found.warnings]
    return Scores(results, "; ".join(reasons) or None, notes, time.perf_counter() - began)


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
