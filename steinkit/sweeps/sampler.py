"""A sampler as sweeps run it, a chain a seed: one that steinkit knows by name, or a user's function."""

from __future__ import annotations

import contextlib
import inspect
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import joblib
import numpy as np

from steinkit.containers.reading import as_sample
from steinkit.errors import InputError, UsageError, leave_to_results, require_known
from steinkit.runtime.deadlines import one_thread_in_libraries
from steinkit.sample import Sample
from steinkit.samplers.chains.draws import Draws
from steinkit.samplers.registry import Sampler, find_sampler, sampler_names
from steinkit.sweeps.identity import code_identity
from steinkit.target import Target

_NORMAL_START = "normal"
_START_KEY = 1 << 16  # far from the keys by which a chain's other noise is told apart
_SHORTEST = {"draws": 1, "burn_in": 0, "thin": 1}


@dataclass(frozen=True)
class SweptSampler:
    """A sampler that is run from a seed for each chain.

    Attributes
    ----------
    name : str
        The registered name, ``path.py:function`` as it was named, or the place of a user's function.
    code : str, optional
        Hash of a user's function (`code_identity`), None where that cannot be told; empty for one of steinkit's.
    """

    name: str
    code: str | None
    _function: Callable[..., Any]
    _registered: Sampler | None

    @property
    def is_joint(self) -> bool:
        """Whether chains of several seeds are run at once; a user's function runs one."""
        return self._registered is not None

    @property
    def is_random(self) -> bool:
        """Whether it takes a seed."""
        return self._registered is None or "seed" in self._registered.options()

    def require(self, target: Target, options: Mapping[str, Any], seed: int) -> None:
        """Refuse options that the sampler does not take; one of steinkit's is run for a single draw.

        A user's own is not run, since nobody knows what it does with fewer draws. Other failures are left to the cells.

        Raises
        ------
        UsageError
            If it does not take one, does not allow its value, or needs another.
        """
        if taken := {"seed", "chains"} & options.keys():
            raise UsageError(
                f"{min(taken)} is not an option of a sweep's sampler: every seed of the sweep runs one chain"
            )
        if isinstance(start := options.get("start"), str) and start != _NORMAL_START:
            raise UsageError(f'expected start to be a list of numbers or "{_NORMAL_START}", got {start!r}')
        if self._registered is None:
            try:
                with contextlib.suppress(ValueError):  # of a function that does not say what it takes
                    inspect.signature(self._function).bind(target, **options, seed=seed)
            except TypeError as error:
                raise UsageError(f"{error}; a sampler is a function (target, *, seed, **options)") from None
            return
        known = self._registered.options()
        require_known(
            options, sorted(known.keys() - {"seed", "chains"}), f"sampler {self.name!r} has no option", "its options"
        )
        if missing := [name for name, option in known.items() if option.required and name not in options]:
            raise UsageError(f"sampler {self.name!r} needs {' and '.join(missing)}, in the grid or fixed")
        short = {"draws": 1, **options} if "budget" in options else dict(options)
        for name in _SHORTEST.keys() & short.keys():
            if type(short[name]) is int:  # what is out of range stays, for the sampler to say so
                short[name] = min(short[name], _SHORTEST[name])
        try:
            with quiet():
                self.run(target, short, [seed])
        except UsageError:
            raise
        except Exception:  # perhaps one seed's bad luck, or what the sweep is to find out
            return

    def run(self, target: Target, options: Mapping[str, Any], seeds: Sequence[int]) -> list[Sample]:
        """Run a chain for each seed, each the same whatever runs beside it."""
        if self._registered is None:
            each = ((seed, _started(target, options, [seed])) for seed in seeds)
            return [_as_chain(self._function(target, **started, seed=seed), target) for seed, started in each]
        arguments = _started(target, options, seeds)
        if self.is_random:
            arguments["seed"] = list(seeds)
        if "chains" in self._registered.options():
            arguments["chains"] = len(seeds)
        draws = self._registered.run(target, arguments)
        if not draws.present.any(axis=1).all():
            raise InputError("the run ended without a draw; give it a larger budget, or a smaller burn_in or thin")
        together = draws.to_sample()
        return [replace(together[together.chain == k], chain=None, draw=None) for k in range(draws.chains)]


def swept_sampler(sampler: str | Callable[..., Any], folder: Path = Path()) -> SweptSampler:
    """Find the sampler named or given; a function of `steinkit.samplers` is known by its name.

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
    from steinkit.targets.registry import load_attribute

    if isinstance(sampler, str) and (":" in sampler or sampler.endswith(".py")):
        found = swept_sampler(load_attribute(sampler, "sampler", folder=folder))
        return replace(found, name=sampler) if found._registered is None else found
    if isinstance(sampler, str):
        try:
            registered = find_sampler(sampler)
        except UsageError as error:
            raise UsageError(f"{error}; your own is named path.py:function") from None
        return SweptSampler(sampler, "", registered.function, registered)
    if not callable(sampler):
        raise UsageError(
            "expected sampler to be a name or a function (target, *, seed, **options) that returns draws, "
            f"got {type(sampler).__name__}"
        )
    known = next((each for each in map(find_sampler, sampler_names()) if each.function is sampler), None)
    if known is not None:
        return SweptSampler(known.name, "", sampler, known)
    return SweptSampler(getattr(sampler, "__qualname__", type(sampler).__name__), code_identity(sampler), sampler, None)


def _started(target: Target, options: Mapping[str, Any], seeds: Sequence[int]) -> dict[str, Any]:
    """The options, with a start that is wanted at random drawn from N(0, I) for each seed."""
    arguments = dict(options)
    if arguments.get("start") == _NORMAL_START:
        if target.dim is None:
            raise UsageError(f"the dimension of {target.label!r} is not known: pass dim= to the target")
        noise = (np.random.SeedSequence(seed, spawn_key=(_START_KEY,)) for seed in seeds)
        arguments["start"] = np.stack([np.random.default_rng(each).standard_normal(target.dim) for each in noise])
    return arguments


def _as_chain(returned: Any, target: Target) -> Sample:
    """What a user's function returned for one seed; some measures would not see that it is not of the target."""
    sample = returned.to_sample() if isinstance(returned, Draws) else as_sample(returned)
    if target.dim not in (None, sample.dim):
        raise InputError(
            f"the target {target.label!r} has {target.dim} coordinates, the sampler's draws have {sample.dim}; return "
            "an array of shape (draws, coordinates)"
        )
    return sample


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Work in one thread; what a user's code prints goes to standard error; warnings stand in results.

    A cluster's backend reaches into its tasks: the threads that they ask of joblib would be spread over its workers.
    """
    with (
        joblib.parallel_config(backend="threading", n_jobs=1),
        one_thread_in_libraries(),
        contextlib.redirect_stdout(sys.stderr),
        warnings.catch_warnings(),
    ):
        leave_to_results()
        yield
