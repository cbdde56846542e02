"""What can go wrong, in one place; cautions, under which an answer is to be read; and how text from outside is shown.

Every message says what was received, what is wanted, and what to do. The command line turns each class into its exit
code: 2 wrong usage, 3 bad input, 4 no certified answer, 70 a defect of steinkit.

Names must not move a cursor, colour a terminal, begin a line of their own or hide anything: characters without a shape
of their own are shown as escapes. Nor may two names look alike: characters composed and decomposed, Latin letters and
the Cyrillic and Greek ones of the same shape, and characters without a shape make two names that every reader takes for
one.
"""

from __future__ import annotations

import difflib
import importlib
import math
import re
import sys
import tempfile
import unicodedata
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial, wraps
from typing import Any, ParamSpec, TypeVar

_LINES = "\n"
# Controls, formats (of no width, or that turn text round, tags among them), private, unassigned, halves of characters
# and separators of lines; and letters and marks without a shape, which Unicode lists as ignorable.
_SHAPELESS = {"Cc", "Cf", "Co", "Cn", "Cs", "Zl", "Zp"}
_IGNORABLE = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0\U000e0000-\U000e0fff]")


# Letters whose shapes are those of Latin ones; alpha, nu and others that statisticians tell apart are not among them.
_SAME_SHAPES = str.maketrans(
    "\u0430\u0441\u0435\u043e\u0440\u0443\u0445\u0456\u0458\u0455\u0501\u04bb\u051b\u051d"
    "\u0410\u0412\u0421\u0415\u041d\u0406\u0408\u041a\u041c\u041e\u0420\u0405\u0422\u0425"
    "\u0391\u0392\u0395\u0396\u0397\u0399\u039a\u039c\u039d\u039f\u03a1\u03a4\u03a5\u03a7\u03bf\u00b5\u00a0",
    "aceopyxijsdhqwABCEHIJKMOPSTXABEZHIKMNOPTYXo\u03bc ",
)


def look_alikes(names: Iterable[str]) -> str:
    r"""The first two names that look alike, with what tells them apart; empty if no two do.

    Examples
    --------
    >>> from steinkit.errors import look_alikes
    >>> look_alikes(["tau", "t\u0430u"])
    '"tau" and "tau" (the second as t\\u0430u)'
    """
    names = list(names)
    if "".join(names).isascii():
        return ""
    seen: dict[str, str] = {}
    for name in names:
        other = seen.setdefault(name if name.isascii() else _shape(name), name)
        if other != name:
            which, told = ("second", name) if other.isascii() else ("first", other)
            spelled = told.encode("unicode_escape").decode("ascii")
            return f'"{_shape(other)}" and "{_shape(name)}" (the {which} as {spelled})'
    return ""


def _shape(name: str) -> str:
    composed = unicodedata.normalize("NFC", name).translate(_SAME_SHAPES)
    return "".join(each for each in composed if not _is_shapeless(each))


def _is_shapeless(character: str) -> bool:
    return unicodedata.category(character) in _SHAPELESS or _IGNORABLE.match(character) is not None


def printable(text: str, *, lines: bool = False) -> str:
    r"""Text with escapes, such as ``\x1b``, for controls and other characters without a shape of their own.

    Parameters
    ----------
    text : str
    lines : bool
        Whether line breaks are the text's own and stay; else they are escaped, too.

    Examples
    --------
    >>> from steinkit.errors import printable
    >>> print(printable("theta\x1b[31m\n"))
    theta\x1b[31m\n
    """
    if text.isascii() and text.isprintable():
        return text
    if lines:
        return _LINES.join(map(printable, text.split(_LINES)))
    return "".join(each.encode("unicode_escape").decode("ascii") if _is_shapeless(each) else each for each in text)


class SteinkitError(Exception):
    """Base class of every error that steinkit raises on purpose."""

    exit_code = 3

    def __str__(self) -> str:
        """The message; names in it may come from files, so that control characters are escaped."""
        return _shown(super().__str__())


class UsageError(SteinkitError, ValueError):
    """A setting that cannot be honoured: an unknown solver, a dilation of 1 or less."""

    exit_code = 2


class MissingDependencyError(SteinkitError, ImportError):
    """An optional package is needed for this and is not installed."""

    exit_code = 2


class InputError(SteinkitError, ValueError):
    """Data that cannot be scored: a missing file, a NaN, a draw outside the support.

    Attributes
    ----------
    cell : (str, int, int, str) or None
        Of a number that no sample can hold: its array, row and column, and what is wrong with it.
    """

    cell: tuple[str, int, int, str] | None = None


class OutputError(SteinkitError, OSError):
    """A result could not be written where it was asked for."""


class SolverError(SteinkitError, RuntimeError):
    """No solver could certify the answer to within 10 %.

    Attributes
    ----------
    lower, upper : float
        The bracket that *was* proved; the discrepancy lies inside it.
    """

    exit_code = 4

    def __init__(self, message: str, lower: float, upper: float) -> None:
        super().__init__(message)
        self.lower = lower
        self.upper = upper


class TimeLimitError(SolverError):
    """Time ran out (`max_seconds`, ``--max-seconds``) before there was an answer worth giving.

    Attributes
    ----------
    doing : str
        What was under way.
    needed : float
        Seconds that were known to be missing; 0 where time had run out.
    lower, upper : float
        What was known by then: [0, inf], or better.
    """

    def __init__(self, doing: str, lower: float = 0.0, upper: float = math.inf, *, needed: float = 0.0) -> None:
        late = f"time would have run out: about {needed:.2g} seconds more are needed than are left" if needed else ""
        known = f"; all that is known is that the value lies in [{lower:.6g}, {upper:.6g}]" if upper < math.inf else ""
        super().__init__(
            f"no certified answer: {late or 'time ran out'} while {doing}{known}. Allow more time (max_seconds, "
            "--max-seconds), or thin the sample",
            lower,
            upper,
        )
        self.doing: str = doing
        self.needed: float = needed

    def within(self, lower: float, upper: float) -> TimeLimitError:
        """The same of a value of which more is known.

        Parameters
        ----------
        lower, upper : float
            What is known of it.

        Returns
        -------
        TimeLimitError
            A new one, with this bracket.
        """
        return TimeLimitError(self.doing, lower, upper, needed=self.needed)

    def __reduce__(self) -> tuple[Callable[..., TimeLimitError], tuple[str, float, float]]:
        return partial(TimeLimitError, needed=self.needed), (self.doing, self.lower, self.upper)


class CrossedBracketError(SteinkitError, RuntimeError):
    """What was proved from below exceeds what was proved from above: one of the two proofs is false.

    It is a defect of steinkit, whatever the sample. It is no `SolverError`, so that nobody who makes do without an
    answer passes over it.

    Attributes
    ----------
    lower, upper : float
        The contradicting bounds.
    evidence : dict
        Arrays that led to them.
    instance : str or None
        File that `keep` has written.
    """

    exit_code = 70

    def __init__(self, lower: float, upper: float, **evidence: Any) -> None:
        super().__init__(lower, upper)
        self.lower = lower
        self.upper = upper
        self.evidence = evidence
        self.instance: str | None = None

    def __str__(self) -> str:
        """What happened, and how to report it."""
        where = "it could not be saved" if self.instance is None else f"it was saved to {self.instance}"
        return _shown(
            f"no answer: what was proved from below, {self.lower!r}, exceeds what was proved from above, "
            f"{self.upper!r}. This is a defect of steinkit, not of the sample; please report it with the instance: "
            f"{where} (an NPZ file of arrays, the draws among them)"
        )

    def keep(self, **arrays: Any) -> None:
        """Save the evidence and what else is known of the instance, if that was not done, in the temporary folder.

        Parameters
        ----------
        **arrays
            What else is known.
        """
        if self.instance is not None:
            return
        import numpy as np  # here only: whoever merely lists the commands need not wait for it

        known = {name: value for name, value in {**arrays, **self.evidence}.items() if value is not None}
        try:
            with tempfile.NamedTemporaryFile(prefix="steinkit-defect-", suffix=".npz", delete=False) as file:
                np.savez(file, lower=self.lower, upper=self.upper, **known)
        except OSError:  # the error itself matters more
            return
        self.instance = file.name


class SteinkitWarning(UserWarning):
    """An answer that comes with a reservation, such as a bracket wider than asked for."""

    def __str__(self) -> str:
        """The message, control characters of names in it escaped."""
        return _shown(super().__str__())


class ReadingWarning(SteinkitWarning):
    """Columns of draws were taken for a sampler's labels and diagnostics, or for row names, and not for coordinates."""


class Caution(str):
    """A warning of a result that changes how its number is to be read; one that merely notes something is a plain str.

    `cautious` lets it reach the user as a Python warning.
    """

    __slots__ = ()


Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")
Value = TypeVar("Value")


@contextmanager
def during(variable: ContextVar[Value], value: Value) -> Iterator[None]:
    """Give a context variable a value while this lasts."""
    token = variable.set(value)
    try:
        yield
    finally:
        variable.reset(token)


_asked: ContextVar[bool] = ContextVar("asked", default=False)  # whether a cautious function is at work


def cautious(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Make the cautions in `warnings` of what a public function returns Python warnings, at the line of its user.

    Functions that it calls in turn stay silent: what they have to say is in its own result, or does not concern it.
    """

    @wraps(function)
    def told(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        if _asked.get():
            return function(*args, **kwargs)
        with during(_asked, True):
            result = function(*args, **kwargs)
        caution(getattr(result, "warnings", ()))
        return result

    return told


def caution(said: Iterable[str]) -> None:
    """Make the cautions among warnings Python warnings, unless a cautious function is at work, which will do so."""
    if _asked.get():
        return
    for each in dict.fromkeys(said):
        if isinstance(each, Caution):
            warn_user(str(each))


def warn_user(said: str, category: type[SteinkitWarning] = SteinkitWarning) -> None:
    """A Python warning at the line of the user, whichever function of ours is at work."""
    warnings.warn(said, category, stacklevel=_levels_to_user())


def leave_to_results() -> None:
    """Silence, inside of `warnings.catch_warnings`, what results say in their own warnings too."""
    warnings.simplefilter("ignore", SteinkitWarning)
    warnings.simplefilter("default", ReadingWarning)


def about(what: str, said: str) -> str:
    """A warning with what it is about; a caution stays one."""
    return type(said)(f"{what}: {said}")


def reservations(said: Iterable[str]) -> str:
    """How many cautions there are among warnings, to end a repr with; empty if there are none."""
    found = sum(isinstance(each, Caution) for each in said)
    return f", {found} warning{'s' * (found > 1)}" if found else ""


def _shown(message: str) -> str:
    """A message for a terminal; further lines are set in, so that none can be taken for another message."""
    return printable(message, lines=True).replace("\n", "\n  ")


def _levels_to_user() -> int:
    """The stacklevel, for the caller of this function, of the line outside of the package that led here."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == __package__:
        level, frame = level + 1, frame.f_back
    return level


def did_you_mean(word: str, known: Iterable[str], cutoff: float = 0.6) -> str:
    """``' (did you mean "theta1"?)'``, or nothing where no known word comes near."""
    near = difflib.get_close_matches(word, list(known), n=3, cutoff=cutoff) if isinstance(word, str) else []
    if not near:
        return ""
    *others, last = (f'"{name}"' for name in near)
    return f" (did you mean {', '.join(others)} or {last}?)" if others else f" (did you mean {last}?)"


def require_known(given: Iterable[str], known: Collection[str], what: str, which: str) -> None:
    """Raise UsageError for a name that is not among those known: ``what`` it is, and ``which`` there are."""
    for name in given:
        if not isinstance(name, str) or name not in known:
            raise UsageError(f"{what} {name!r}{did_you_mean(name, known)}; {which} are {', '.join(known)}")


def listed(names: Sequence[str], *, most: int = 12, last: str = ", ") -> str:
    """Quote names and join them, at most ``most`` of them."""
    quoted = [f'"{name}"' for name in names[:most]]
    if len(names) > most:
        return ", ".join(quoted) + f" and {len(names) - most} more"
    return last.join([", ".join(quoted[:-1]), quoted[-1]] if len(quoted) > 1 else quoted)


def shortened(text: str, most: int = 40) -> str:
    """Text in double quotes, cut when long: a stray quote can turn half a file into one cell."""
    return f'"{text}"' if len(text) <= most else f'"{text[:most]}..."'


def imported(module: str, package: str, extra: str) -> Any:
    """A module of an optional package; MissingDependencyError with the command that installs it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        reason = "is not installed" if isinstance(error, ModuleNotFoundError) else f"cannot be imported ({error})"
        raise MissingDependencyError(f"{package} {reason}; pip install 'steinkit[{extra}]'") from None


class AbandonedWork(KeyboardInterrupt):
    """The user interrupted, and a thread that cannot be stopped is still at work."""
