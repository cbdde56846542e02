"""Registry of samplers and their options.

A sampler is a function exported by `steinkit.samplers` and decorated with `sampler`. The options of a sampler are the
keyword arguments of the function. An option has the same name and meaning in all samplers. On the command line, dashes
replace underscores.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple, TypeVar

from steinkit.errors import require_known
from steinkit.samplers.chains.draws import Draws, takes_run_options
from steinkit.target import Target

_Function = TypeVar("_Function", bound=Callable[..., Draws])
_REGISTERED = "registered"  # attribute set on the function of a sampler
# These two options (a display setting and a Python object) cannot be set on the command line.
_PYTHON_ONLY = ("progress", "test")


class OwnOption(NamedTuple):
    """Command-line form of an option that belongs to a single sampler.

    Attributes
    ----------
    metavar : str
        Placeholder for the value: ``X`` for a number, ``N`` for an integer, and alternatives separated by ``|``. It is
        empty for a flag.
    text : str
        Help text.
    """

    metavar: str
    text: str


@dataclass(frozen=True)
class SamplerOption:
    """Keyword argument of a sampler.

    Attributes
    ----------
    name : str
        Python name, such as ``step_size``.
    required : bool
        True if the argument has no default.
    default : Any
        Default value. The default is None for required arguments and for values computed by the sampler.
    """

    name: str
    required: bool
    default: Any = None


@dataclass(frozen=True)
class Sampler:
    """Name, one-line summary, function and options of a sampler."""

    name: str
    summary: str
    function: Callable[..., Draws]
    own: Mapping[str, OwnOption]

    def options(self) -> dict[str, SamplerOption]:
        """Return the options as a dictionary keyed by name."""
        empty = inspect.Parameter.empty
        return {
            each.name: SamplerOption(each.name, each.default is empty, None if each.default is empty else each.default)
            for each in inspect.signature(self.function).parameters.values()
            if each.kind is each.KEYWORD_ONLY and each.name not in _PYTHON_ONLY
        }

    @property
    def needs_end(self) -> bool:
        """True if a run requires `draws`, `budget`, or both."""
        options = self.options()
        return {"draws", "budget"} <= options.keys() and not options["draws"].required

    def run(self, target: Target, options: Mapping[str, object], *, progress: bool = False) -> Draws:
        """Run the sampler.

        Parameters
        ----------
        target : Target
            Distribution to sample from.
        options : mapping
            Values of the options by name.
        progress : bool, default False
            If True, a progress bar is shown on standard error if the sampler supports it.
        """
        shown = {"progress": progress} if "progress" in inspect.signature(self.function).parameters else {}
        return self.function(target, **options, **shown)


def sampler(**own: OwnOption) -> Callable[[_Function], _Function]:
    """Register a function of `steinkit.samplers` as a sampler.

    The name of the sampler is the function name with dashes, and the summary is the first line of the docstring. In the
    signature, ``**run`` stands for the `RunOptions` fields.

    Parameters
    ----------
    **own
        Command-line form of each option that belongs only to this sampler.
    """

    def registered(function: _Function) -> _Function:
        named = takes_run_options(function) if "run" in inspect.signature(function).parameters else function
        name, summary = named.__name__.replace("_", "-"), (named.__doc__ or "").partition("\n")[0].rstrip(".")
        vars(named)[_REGISTERED] = Sampler(name, summary, named, own)
        return named

    return registered


def sampler_names() -> tuple[str, ...]:
    """Return the names of the samplers."""
    return tuple(_samplers())


def own_options() -> dict[str, OwnOption]:
    """Return the command-line form of options that belong to only one sampler."""
    return {name: option for each in _samplers().values() for name, option in each.own.items()}


def find_sampler(name: str) -> Sampler:
    """Return the sampler with the given name.

    Raises
    ------
    UsageError
        If the name is unknown.
    """
    require_known([name], _samplers(), "unknown sampler", "the samplers")
    return _samplers()[name]


@cache
def _samplers() -> dict[str, Sampler]:
    """Collect the samplers exported by `steinkit.samplers`, keyed by name."""
    from steinkit import samplers

    found = [getattr(getattr(samplers, name), _REGISTERED, None) for name in dir(samplers)]
    return {each.name: each for each in found if isinstance(each, Sampler)}
