"""Built-in samplers and user-defined functions that sweeps can run."""

from __future__ import annotations

import contextlib
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import joblib
import numpy as np

from steinkit.arguments import require_functions
from steinkit.containers.reading import as_sample
from steinkit.errors import InputError, UsageError, leave_to_results, require_known
from steinkit.runtime.deadlines import one_thread_in_libraries
from steinkit.sample import Sample
from steinkit.samplers.chains.draws import Draws
from steinkit.samplers.registry import find_sampler, sampler_names
from steinkit.sweeps.cells import Setting
from steinkit.sweeps.identity import code_identity
from steinkit.target import Target

_NORMAL_START = "normal"
_START_KEY = 1 << 16  # distinct from the spawn keys that samplers use for their own streams


@dataclass(frozen=True)
class SweptSampler:
    """A sampler that runs one chain per seed.

    Attributes
    ----------
    name : str
        Name of the sampler, ``path.py:function``, or the qualified name of a function.
    code : str, optional
        Hash of a user-supplied function (`code_identity`). The hash is None if the function cannot be identified, and
        empty for a built-in sampler.
    function : callable
        The function that runs the sampler.
    known : frozenset of str, optional
        Options of a built-in sampler, which can run several chains in one call. None for a user-supplied function.
    """

    name: str
    code: str | None
    function: Callable[..., Any]
    known: frozenset[str] | None

    def require(self, target: Target, options: Setting, seed: int) -> None:
        """Raise UsageError if the sampler rejects the options.

        To check the options, a built-in sampler is run for a single draw. User-defined functions are not run because
        they may be slow. Other exceptions are ignored at this point and are recorded when the cells are run.
        """
        if taken := {"seed", "chains"} & options.keys():
            raise UsageError(
                f"{min(taken)} must not be an option of the sampler because a sweep runs one chain per seed"
            )
        if self.known is None:
            return
        names = sorted(self.known - {"seed", "chains"})
        require_known(options, names, f"the sampler {self.name!r} has no option", "its options")
        most = {"draws": 1, "burn_in": 0, "thin": 1}
        short = {name: min(v, most.get(name, v)) if type(v) is int else v for name, v in options.items()}
        try:
            with quiet():
                self.run(target, {"draws": 1, **short} if "budget" in short else short, [seed])
        except UsageError:
            raise
        except TypeError as error:
            raise UsageError(str(error)) from None
        except Exception:  # the error can depend on the seed, so the cell reports it
            return

    def run(self, target: Target, options: Setting, seeds: Sequence[int]) -> list[Sample]:
        """Run an independent chain for each seed."""
        if self.known is None:
            each = ((seed, _started(target, options, [seed])) for seed in seeds)
            return [_as_chain(self.function(target, **started, seed=seed), target) for seed, started in each]
        several = {"seed": list(seeds), "chains": len(seeds)}
        taken = {name: value for name, value in several.items() if name in self.known}
        draws = self.function(target, **_started(target, options, seeds), **taken)
        if not draws.present.any(axis=1).all():
            raise InputError("the run ended before the first draw; increase budget, or decrease burn_in or thin")
        together = draws.to_sample()
        return [replace(together[together.chain == k], chain=None, draw=None) for k in range(draws.chains)]


def swept_sampler(sampler: str | Callable[..., Any], folder: Path = Path()) -> SweptSampler:
    """Return the sampler given by a name, a ``path.py:function`` or a function.

    Parameters
    ----------
    sampler : str or callable
        The sampler. If it is a path, the file is executed. Functions of `steinkit.samplers` are identified by their
        names.
    folder : Path
        Folder to which paths are relative.

    Raises
    ------
    UsageError
        If the sampler or the function does not exist, or `sampler` is neither a string nor callable.
    InputError
        If the file does not exist or raises an exception.
    """
    from steinkit.targets.registry import load_attribute

    name = ""
    if isinstance(sampler, str) and (":" in sampler or sampler.endswith(".py")):
        name, sampler = sampler, load_attribute(sampler, "sampler", folder=folder)
    if isinstance(sampler, str):
        try:
            sampler = find_sampler(sampler).function
        except UsageError as error:
            raise UsageError(f"{error}; for your own function, use path.py:function") from None
    require_functions(sampler=sampler)
    for each in map(find_sampler, sampler_names()):
        if each.function is sampler:
            return SweptSampler(each.name, "", each.function, frozenset(each.options()))
    name = name or getattr(sampler, "__qualname__", type(sampler).__name__)
    return SweptSampler(name, code_identity(sampler), sampler, None)


def _started(target: Target, options: Setting, seeds: Sequence[int]) -> Setting:
    """Replace the option start="normal" with draws from N(0, I), one per seed."""
    arguments = dict(options)
    if arguments.get("start") == _NORMAL_START:
        if target.dim is None:
            raise UsageError(
                f"the dimension of {target.label!r} must be known for start='normal'; pass dim= to the target"
            )
        noise = (np.random.SeedSequence(seed, spawn_key=(_START_KEY,)) for seed in seeds)
        arguments["start"] = np.stack([np.random.default_rng(each).standard_normal(target.dim) for each in noise])
    return arguments


def _as_chain(returned: Any, target: Target) -> Sample:
    """Convert the output of a user-defined sampler to a sample.

    The dimension is checked here because some measures would not detect an incorrect value.
    """
    sample = returned.to_sample() if isinstance(returned, Draws) else as_sample(returned)
    if target.dim not in (None, sample.dim):
        raise InputError(
            f"expected draws with {target.dim} coordinates, as in the target {target.label!r}, got {sample.dim}; "
            "return an array of shape (draws, coordinates)"
        )
    return sample


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Run a block in a single thread, without output or warnings.

    Printed text is sent to standard error. Warnings that are included in the results are not shown. The joblib backend
    is replaced because nested calls would otherwise be distributed over the workers of a cluster.
    """
    with (
        joblib.parallel_config(backend="threading", n_jobs=1),
        one_thread_in_libraries(),
        contextlib.redirect_stdout(sys.stderr),
        warnings.catch_warnings(),
    ):
        leave_to_results()
        yield
