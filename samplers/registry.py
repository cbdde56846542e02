"""The names by which the command line knows the samplers, and the options that each takes.

The options are the keyword arguments of the sampler's function. Their names have one meaning in all samplers, and are
the same words on the command line, with dashes.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from steinkit.errors import UsageError, did_you_mean
from steinkit.samplers.draws import Draws
from steinkit.target import Target

# Arguments that say how a run is shown, and what a test reports, not what they do.
_PROGRESS = "progress"
_NO_OPTIONS = {_PROGRESS}
_TESTS = {
    "metropolis": "MetropolisTest",
    "barker": "BarkerTest",
    "austerity": "AusterityTest",
    "oracle-austerity": "OracleAusterityTest",
    "concentration": "ConcentrationTest",
    "minibatch-barker": "MinibatchBarkerTest",
}


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
    """A sampler: its name, its function in `steinkit.samplers`, and one line about it."""

    name: str
    function_name: str
    summary: str

    @property
    def function(self) -> Callable[..., Draws]:
        """The public function."""
        from steinkit import samplers

        found: Callable[..., Draws] = getattr(samplers, self.function_name)
        return found

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


_SAMPLERS = {
    name: Sampler(name, function_name, summary)
    for name, function_name, summary in (
        ("sgld", "sgld", "stochastic gradient Langevin dynamics; steps constant or decreasing; biased"),
        ("corrected-sgld", "corrected_sgld", "SGLD moves, each judged by an acceptance test (austerity, or --test)"),
        ("approximate-mh", "approximate_mh", "random walk with the austerity test: biased by --epsilon"),
        ("barker-mh", "barker_mh", "random walk with Barker's test on a minibatch: nearly unbiased"),
        ("subsampling-mh", "subsampling_mh", "random walk with the concentration test: safe, hungry for data"),
        ("rwmh", "rwmh", "random-walk Metropolis, exact: all data at each step"),
        ("mala", "mala", "Metropolis-adjusted Langevin algorithm, exact: all data at each step"),
        ("barker", "barker", "random walk with Barker's test, exact: all data at each step"),
        ("iid", "iid", "independent draws, from a target that can be drawn from"),
        ("sobol", "sobol", "Sobol's low-discrepancy points, for a uniform target"),
        ("herding", "herding", "kernel herding, for a uniform target of one dimension"),
    )
}


def sampler_names() -> tuple[str, ...]:
    """Names of the samplers."""
    return tuple(_SAMPLERS)


def acceptance_test_names() -> tuple[str, ...]:
    """Names of the acceptance tests."""
    return tuple(_TESTS)


def acceptance_tests_with(option: str) -> tuple[str, ...]:
    """Names of the acceptance tests that take an option."""
    return tuple(name for name in _TESTS if option in _options_of(_test_class(name)))


def find_sampler(name: str) -> Sampler:
    """The sampler of this name.

    Raises
    ------
    UsageError
        If there is none.
    """
    if name not in _SAMPLERS:
        raise UsageError(
            f"unknown sampler {name!r}{did_you_mean(name, _SAMPLERS)}; the samplers are {', '.join(_SAMPLERS)}"
        )
    return _SAMPLERS[name]


def _options_of(function: Callable[..., Any]) -> dict[str, Option]:
    """The arguments of a test, or those of a sampler but for its target."""
    parameters = list(inspect.signature(function).parameters.values())
    is_sampler = any(parameter.kind is parameter.KEYWORD_ONLY for parameter in parameters)
    return {
        each.name: Option(each.name, each.default is each.empty, None if each.default is each.empty else each.default)
        for each in parameters
        if each.name not in _NO_OPTIONS and (each.kind is each.KEYWORD_ONLY or not is_sampler)
    }


def _test_class(name: str) -> Callable[..., Any]:
    if name not in _TESTS:
        raise UsageError(f"unknown test {name!r}{did_you_mean(name, _TESTS)}; the tests are {', '.join(_TESTS)}")
    from steinkit import samplers

    found: Callable[..., Any] = getattr(samplers, _TESTS[name])
    return found


def _with_test(arguments: dict[str, Any], own: Mapping[str, Option]) -> dict[str, Any]:
    """Replace the name of a test by the test, made of its options."""
    test_class = _test_class(arguments["test"])
    of_test = {name: arguments[name] for name in _options_of(test_class) if name in arguments}
    rest = {name: value for name, value in arguments.items() if name in own or name not in of_test}
    return rest | {"test": test_class(**of_test)}
