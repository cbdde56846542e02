"""The names by which the command line knows the samplers, and the options that each takes.

A sampler is a function that `steinkit.samplers` exports and `sampler` decorates. Its options are the function's keyword
arguments. Their names have one meaning in all samplers, and are the same words on the command line, with dashes.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from functools import cache
from typing import Any, TypeVar

from steinkit.errors import UsageError, did_you_mean, require_known
from steinkit.samplers.acceptance.interface import AcceptanceTest
from steinkit.samplers.chains.draws import Draws, takes_run_options
from steinkit.target import Target

_Function = TypeVar("_Function", bound=Callable[..., Draws])
_REGISTERED = "registered"  # attribute of a sampler's function
# Says how a run is shown, not what it does.
_PROGRESS = "progress"
_TWO_BARKERS = (
    "; the samplers called barker have Barker's acceptance test of 1965: the Barker proposal of Livingstone and "
    "Zanella, which uses gradients, is not here, use mala"
)


@dataclass(frozen=True)
class Option:
    """A keyword argument of a sampler.

    Attributes
    ----------
    name : str
        As in Python: ``step_size``.
    required : bool
    default : Any
        None where it is required, or where the sampler works it out.
    """

    name: str
    required: bool
    default: Any = None


@dataclass(frozen=True)
class Sampler:
    """A sampler: its name, one line about it, its function, and what is said of the options that it alone has."""

    name: str
    summary: str
    function: Callable[..., Draws]
    own: Mapping[str, Mapping[str, str]]

    def options(self, test: str | None = None) -> dict[str, Option]:
        """Its options by name.

        Parameters
        ----------
        test : str, optional
            One of `acceptance_test_names`, for a sampler with an option ``test``: that test's options then take the
            place of ``epsilon``, which belongs to the test used by default.

        Raises
        ------
        UsageError
            If there is no such test.
        """
        own = _options_of(self.function)
        if test is None or "test" not in own:
            return own
        own.pop("epsilon", None)
        return _options_of(_test_class(test)) | own

    @property
    def needs_end(self) -> bool:
        """Whether draws or budget, each of them optional, must end a run."""
        options = self.options()
        return {"draws", "budget"} <= options.keys() and not options["draws"].required

    def run(self, target: Target, options: Mapping[str, Any], *, progress: bool = False) -> Draws:
        """Call the function.

        Parameters
        ----------
        target : Target
        options : mapping
            Values by the names in `options`. ``test`` is the name of a test, made of those of its options that are
            here; a batch_size is the proposal's and the test's.
        progress : bool
            Show a bar on standard error, if the sampler has one.
        """
        arguments = dict(options)
        if arguments.get("test") is not None:
            arguments = _with_test(arguments, _options_of(self.function))
        if _PROGRESS in inspect.signature(self.function).parameters:
            arguments[_PROGRESS] = progress
        return self.function(target, **arguments)


def sampler(**own: Mapping[str, str]) -> Callable[[_Function], _Function]:
    """Give a function of `steinkit.samplers` a name on the command line, in sweeps and in lists: its own, with dashes.

    Lists say of it the first line of its docstring. What it takes as ``**run`` are the options of `RunOptions`.

    Parameters
    ----------
    **own
        What `acceptance.interface.option` makes of each option that no other sampler has.
    """

    def registered(function: _Function) -> _Function:
        named = takes_run_options(function) if "run" in inspect.signature(function).parameters else function
        name, summary = named.__name__.replace("_", "-"), (named.__doc__ or "").partition("\n")[0].rstrip(".")
        vars(named)[_REGISTERED] = Sampler(name, summary, named, own)
        return named

    return registered


def sampler_names() -> tuple[str, ...]:
    """Names of the samplers."""
    return tuple(_samplers())


def acceptance_test_names() -> tuple[str, ...]:
    """Names of the acceptance tests."""
    return tuple(_tests())


def acceptance_tests_with(option: str) -> tuple[str, ...]:
    """Names of the acceptance tests that take an option."""
    return tuple(name for name, test in _tests().items() if option in _options_of(test))


def own_options() -> dict[str, Mapping[str, str]]:
    """The options that one sampler has, or acceptance tests, by name: how the command line writes and explains them."""
    of_tests = {each.name: each.metadata for test in _tests().values() for each in fields(test) if each.metadata}
    return {name: said for each in _samplers().values() for name, said in each.own.items()} | of_tests


def find_sampler(name: str) -> Sampler:
    """The sampler of this name.

    Raises
    ------
    UsageError
        If there is none.
    """
    if name not in (known := _samplers()):
        raise UsageError(
            f"unknown sampler {name!r}{did_you_mean(name, known)}{note_on(name)}; the samplers are {', '.join(known)}"
        )
    return known[name]


def note_on(name: str) -> str:
    """What a message about a wrong use should add, where the name may mislead."""
    return _TWO_BARKERS if "barker" in name else ""


@cache
def _samplers() -> dict[str, Sampler]:
    """The samplers by name: what `sampler` made of functions that `steinkit.samplers` exports."""
    from steinkit import samplers

    found = [getattr(getattr(samplers, name), _REGISTERED, None) for name in dir(samplers)]
    return {each.name: each for each in found if isinstance(each, Sampler)}


def _options_of(function: Callable[..., Any]) -> dict[str, Option]:
    """The arguments of a test, or those of a sampler but for its target."""
    parameters = list(inspect.signature(function).parameters.values())
    is_sampler = any(parameter.kind is parameter.KEYWORD_ONLY for parameter in parameters)
    return {
        each.name: Option(each.name, each.default is each.empty, None if each.default is each.empty else each.default)
        for each in parameters
        if each.name != _PROGRESS and (each.kind is each.KEYWORD_ONLY or not is_sampler)
    }


@cache
def _tests() -> dict[str, type[AcceptanceTest]]:
    """The acceptance tests by name: the classes that `steinkit.samplers` exports under a name that ends in Test."""
    from steinkit import samplers

    found = [getattr(samplers, name) for name in dir(samplers) if name.endswith("Test")]
    return {test.name: test for test in found}


def _test_class(name: str) -> type[AcceptanceTest]:
    tests = _tests()
    require_known([name], tests, "unknown test", "the tests")
    return tests[name]


def _with_test(arguments: dict[str, Any], own: Mapping[str, Option]) -> dict[str, Any]:
    """Replace the name of a test by the test, made of its options."""
    test_class = _test_class(arguments["test"])
    of_test = {name: arguments[name] for name in _options_of(test_class) if name in arguments}
    rest = {name: value for name, value in arguments.items() if name in own or name not in of_test}
    return rest | {"test": test_class(**of_test)}
