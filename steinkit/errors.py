"""Exceptions, warnings and functions that format messages.

A message contains the value received, the allowed values and the remedy. The exit code of the command line is the
`exit_code` of the error class. The exit code is 2 for invalid usage, 3 for invalid input, 4 if no result could be
certified, and 70 for a bug in steinkit.

Names in files may contain control characters, which could move the cursor or begin a new line. Therefore, control
characters in messages are escaped.
"""

from __future__ import annotations

import difflib
import importlib
import math
import sys
import tempfile
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from typing import Any, ParamSpec, TypeVar


def printable(text: str, *, lines: bool = False) -> str:
    r"""Replace control and invisible characters in a text with escape sequences.

    Parameters
    ----------
    text : str
    lines : bool, default False
        If True, keep line breaks. Otherwise, line breaks are replaced as well.

    Returns
    -------
    str

    Examples
    --------
    >>> from steinkit.errors import printable
    >>> print(printable("theta\x1b[31m\n"))
    theta\x1b[31m\n
    """
    if text.isprintable():
        return text
    if lines:
        return "\n".join(map(printable, text.split("\n")))
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode("ascii") for each in text)


class SteinkitError(Exception):
    """Base class for errors raised by steinkit.

    Attributes
    ----------
    exit_code : int
        Exit code of the command line after this error.

    Examples
    --------
    >>> import steinkit as sk
    >>> try:
    ...     sk.Sample([[float("nan")]])
    ... except sk.SteinkitError as error:
    ...     print(type(error).__name__, error.exit_code)
    InputError 3
    """

    exit_code = 3

    def __str__(self) -> str:
        """Return the message with control characters escaped."""
        return _shown(super().__str__())


class UsageError(SteinkitError, ValueError):
    """Error raised when an argument or option is invalid.

    Examples
    --------
    >>> import steinkit as sk
    >>> sk.Target()
    Traceback (most recent call last):
        ...
    steinkit.errors.UsageError: expected score= or log_density=, got neither
    """

    exit_code = 2


class MissingDependencyError(SteinkitError, ImportError):
    """Error raised when an optional package is required but not installed.

    Examples
    --------
    >>> import steinkit as sk
    >>> issubclass(sk.MissingDependencyError, ImportError)
    True
    """

    exit_code = 2


class InputError(SteinkitError, ValueError):
    """Error raised when data are missing or invalid.

    Attributes
    ----------
    cell : (str, int, int, str) or None
        For an invalid number, the name of the array, the row and column counted from 0, and the problem. None for other
        errors.

    Examples
    --------
    >>> import steinkit as sk
    >>> sk.Sample([])
    Traceback (most recent call last):
        ...
    steinkit.errors.InputError: expected at least one draw of one parameter, got shape (0, 1)
    """

    cell: tuple[str, int, int, str] | None = None


class OutputError(SteinkitError, OSError):
    """Error raised when a result could not be written to a file.

    Examples
    --------
    >>> import steinkit as sk
    >>> try:
    ...     sk.write_sample(sk.Sample([0.0]), "no/such/folder/draws.csv")
    ... except sk.OutputError as error:
    ...     print(error.exit_code)
    3
    """


class SolverError(SteinkitError, RuntimeError):
    """Error raised when no solver certified a result to within 10%.

    Attributes
    ----------
    lower, upper : float
        Proved bounds on the discrepancy.

    Examples
    --------
    >>> import steinkit as sk
    >>> error = sk.SolverError("no certified result", lower=1.0, upper=2.0)
    >>> error.lower, error.upper, error.exit_code
    (1.0, 2.0, 4)
    """

    exit_code = 4

    def __init__(self, message: str, lower: float, upper: float) -> None:
        super().__init__(message)
        self.lower = lower
        self.upper = upper


class TimeLimitError(SolverError):
    """Error raised when a time limit is exceeded.

    Attributes
    ----------
    doing : str
        Description of the unfinished work, such as "solving the programs".
    lower, upper : float
        Best proved bounds, or 0 and infinity if no bounds were found.

    Examples
    --------
    >>> import steinkit as sk
    >>> error = sk.TimeLimitError("solving the programs")
    >>> error.lower, error.upper, error.within(1.0, 2.0).upper
    (0.0, inf, 2.0)
    """

    def __init__(self, doing: str, lower: float = 0.0, upper: float = math.inf) -> None:
        known = f"; the value lies in [{lower:.6g}, {upper:.6g}]" if upper < math.inf else ""
        super().__init__(
            f"no certified result: time ran out while {doing}{known}. Increase max_seconds (--max-seconds) or thin the "
            "sample",
            lower,
            upper,
        )
        self.doing: str = doing

    def within(self, lower: float, upper: float) -> TimeLimitError:
        """Return a copy with the given bounds.

        Parameters
        ----------
        lower, upper : float
            Bounds on the value.

        Returns
        -------
        TimeLimitError
        """
        return TimeLimitError(self.doing, lower, upper)

    def __reduce__(self) -> tuple[type[TimeLimitError], tuple[str, float, float]]:
        return TimeLimitError, (self.doing, self.lower, self.upper)


class CrossedBracketError(SteinkitError, RuntimeError):
    """Error raised when a lower bound exceeds an upper bound.

    This error means that one of the two bounds is incorrect, which is a bug in steinkit. The class is not derived from
    `SolverError` because code that continues after a `SolverError` must not ignore this error.

    Attributes
    ----------
    lower, upper : float
        The two inconsistent bounds.
    evidence : dict
        Arrays from which the bounds were computed.
    instance : str or None
        Name of the file that `keep` wrote, or None if there is no such file.

    Examples
    --------
    >>> import steinkit as sk
    >>> error = sk.CrossedBracketError(2.0, 1.0)
    >>> error.exit_code, isinstance(error, sk.SolverError)
    (70, False)
    """

    exit_code = 70

    def __init__(self, lower: float, upper: float, **evidence: Any) -> None:
        super().__init__(lower, upper)
        self.lower = lower
        self.upper = upper
        self.evidence = evidence
        self.instance: str | None = None

    def __str__(self) -> str:
        """Return the message and instructions for reporting the bug."""
        where = "the instance could not be saved" if self.instance is None else f"attach {self.instance}"
        return _shown(
            f"no result: the lower bound {self.lower!r} exceeds the upper bound {self.upper!r}. This is a bug in "
            f"steinkit, not a problem with the sample; please report it ({where}, an NPZ file that contains the draws)"
        )

    def keep(self, **arrays: Any) -> None:
        """Save the evidence and the given arrays to the temporary folder (only once).

        Parameters
        ----------
        **arrays
            Further arrays by name. Values of None are skipped.
        """
        if self.instance is not None:
            return
        import numpy as np  # the list of commands is printed without importing NumPy

        known = {name: value for name, value in {**arrays, **self.evidence}.items() if value is not None}
        try:
            with tempfile.NamedTemporaryFile(prefix="steinkit-defect-", suffix=".npz", delete=False) as file:
                np.savez(file, lower=self.lower, upper=self.upper, **known)
        except OSError:  # the original error is more important
            return
        self.instance = file.name


class SteinkitWarning(UserWarning):
    """Warning that a result has a limitation, such as a wide bracket.

    Examples
    --------
    >>> import warnings
    >>> import steinkit as sk
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore", sk.SteinkitWarning)
    ...     found = sk.chain_diagnostics([0.0, 1.0, 2.0])
    """

    def __str__(self) -> str:
        """Return the message with control characters escaped."""
        return _shown(super().__str__())


class ReadingWarning(SteinkitWarning):
    """Warning that columns were read as labels, diagnostics or row names.

    Examples
    --------
    >>> import steinkit as sk
    >>> issubclass(sk.ReadingWarning, sk.SteinkitWarning)
    True
    """


class Caution(str):
    """Message in a result that affects the interpretation of the numerical values.

    The decorator `cautious` issues such messages as Python warnings. Notes that do not affect the interpretation are
    plain strings.
    """

    __slots__ = ()


Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")
Value = TypeVar("Value")


@contextmanager
def during(variable: ContextVar[Value], value: Value) -> Iterator[None]:
    """Set a context variable inside a block."""
    token = variable.set(value)
    try:
        yield
    finally:
        variable.reset(token)


_is_nested: ContextVar[bool] = ContextVar("is_nested", default=False)  # True inside a cautious function


def cautious(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Decorate a function to issue the cautions in its result as Python warnings.

    The cautions are the `Caution` instances in the `warnings` attribute of the result. The Python warnings refer to the
    calling line in the user's code. If one decorated function calls another, the inner function issues no warnings. The
    outer function decides which cautions to include in its own result.
    """

    @wraps(function)
    def wrapped(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        if _is_nested.get():
            return function(*args, **kwargs)
        with during(_is_nested, True):
            result = function(*args, **kwargs)
        caution(getattr(result, "warnings", ()))
        return result

    return wrapped


def caution(messages: Iterable[str]) -> None:
    """Issue any cautions among messages as warnings, except inside `cautious`."""
    if _is_nested.get():
        return
    for each in dict.fromkeys(messages):
        if isinstance(each, Caution):
            warn_user(str(each))


def warn_user(message: str, category: type[SteinkitWarning] = SteinkitWarning) -> None:
    """Issue a Python warning that refers to the calling line in the user's code."""
    level, frame = 1, sys._getframe(0)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == __package__:
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


def leave_to_results() -> None:
    """Ignore warnings that results already contain."""
    warnings.simplefilter("ignore", SteinkitWarning)
    warnings.simplefilter("default", ReadingWarning)


def about(subject: str, message: str) -> str:
    """Prepend the subject to a warning and keep the type of the warning."""
    return type(message)(f"{subject}: {message}")


def reservations(messages: Iterable[str]) -> str:
    """Return the number of cautions among messages, as text for a repr."""
    found = sum(isinstance(each, Caution) for each in messages)
    return f", {found} warning{'s' * (found > 1)}" if found else ""


def _shown(message: str) -> str:
    """Escape a message and indent all lines except the first."""
    return printable(message, lines=True).replace("\n", "\n  ")


def did_you_mean(word: str, known: Iterable[str], cutoff: float = 0.6) -> str:
    """Return a hint such as ``' (did you mean "theta1"?)'``, or an empty string."""
    near = difflib.get_close_matches(word, list(known), n=3, cutoff=cutoff) if isinstance(word, str) else []
    return f" (did you mean {quoted(near, last=' or ')}?)" if near else ""


def require_known(given: Iterable[str], known: Collection[str], what: str, which: str) -> None:
    """Raise UsageError unless all names are known.

    Parameters
    ----------
    given, known : collection of str
    what : str
        Text of the message before the unknown name.
    which : str
        Plural noun for the known names.
    """
    for name in given:
        if not isinstance(name, str) or name not in known:
            raise UsageError(f"{what} {name!r}{did_you_mean(name, known)}; {which} are {', '.join(known)}")


def quoted(names: Sequence[str], *, most: int = 12, last: str = ", ") -> str:
    """Join at most ``most`` quoted names."""
    shown = [f'"{name}"' for name in names[:most]]
    if len(names) > most:
        return ", ".join(shown) + f" and {len(names) - most} more"
    return last.join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)


def shortened(text: str, most: int = 40) -> str:
    """Return a text in quotes, truncated if necessary."""
    return f'"{text}"' if len(text) <= most else f'"{text[:most]}..."'


def import_extra(module: str, package: str, extra: str) -> Any:
    """Import a module from an optional package or raise MissingDependencyError."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        reason = "is not installed" if isinstance(error, ModuleNotFoundError) else f"cannot be imported ({error})"
        raise MissingDependencyError(
            f"{package} {reason}; run pip install -e '.[{extra}]' in the steinkit folder"
        ) from None


class AbandonedWork(KeyboardInterrupt):
    """Exception raised when the user interrupts a thread that cannot be stopped."""
