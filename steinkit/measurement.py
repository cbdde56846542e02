"""Base classes for the results of measures, and reference values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from steinkit.result import Brief, Claim, Result, Statement, cautioned, claimed, running_text
from steinkit.sample import DistinctSample, Floats
from steinkit.text import Table, count, ordinal, ratio, rounded_outwards, sentence, within

CERTIFIED_BETWEEN = "certified between"
"""Column heading for brackets that are proved by a certificate."""

_SHOWN = 10  # number of table rows in a summary
_LARGEST, _SMALLEST = "the largest", "the smallest"


@dataclass(frozen=True)
class Term:
    """Contribution of a coordinate to a discrepancy, or the value of a coordinate.

    Attributes
    ----------
    name : str
        Name of the coordinate or direction.
    value, lower, upper : float
        Value and bracket of the term.
    """

    name: str
    value: float
    lower: float
    upper: float

    @property
    def shown(self) -> str:
        """Value rounded to the digits determined by its bracket."""
        return within(self.value, self.lower, self.upper)

    def to_dict(self) -> dict[str, Any]:
        """Return the term as a JSON document."""
        return dict(vars(self))


def terms_of(names: Sequence[str], lower: Sequence[float], upper: Sequence[float]) -> tuple[Term, ...]:
    """Build terms from brackets, using the midpoints as values."""
    ends = zip(names, lower, upper, strict=True)
    return tuple(Term(name, 0.5 * low + 0.5 * high, low, high) for name, low, high in ends)


@dataclass(frozen=True, eq=False, repr=False)
class Reference(Brief):
    """Discrepancies of exact samples from a target.

    Each sample consists of independent draws from the target or is a block of a long run.

    Attributes
    ----------
    lower, upper : ndarray, shape (repeats,)
        Certified brackets.
    n : int
        Number of draws in each sample.
    coordinates : ndarray, shape (repeats, d), or None
        Contribution of each coordinate to each value, or None if the discrepancy is not a sum over coordinates.
    effective : int, or None
        Effective sample size of each sample, or None if its draws are independent.
    run : str
        Name of the long run that was divided into blocks, or an empty string for independent draws.

    Examples
    --------
    >>> import numpy as np
    >>> import steinkit as sk
    >>> values = np.array([0.1, 0.2, 0.3])
    >>> sk.Reference(values, values, 100).rank(0.15, 0.15)
    'the 2nd smallest'
    """

    lower: Floats
    upper: Floats
    n: int
    coordinates: Floats | None = None
    effective: int | None = None
    run: str = ""

    @property
    def values(self) -> Floats:
        """Midpoints of the brackets."""
        return 0.5 * self.lower + 0.5 * self.upper

    @property
    def median(self) -> float:
        """Median of the values."""
        return float(np.median(self.values))

    @property
    def range(self) -> tuple[float, float]:
        """Smallest lower bound and largest upper bound."""
        return float(self.lower.min()), float(self.upper.max())

    @property
    def effective_size(self) -> int:
        """Effective sample size of each sample."""
        return self.n if self.effective is None else self.effective

    @property
    def source(self) -> str:
        """Number and type of the samples.

        For example, "5 independent samples", or "12 blocks of" followed by the name of the run.
        """
        n = len(self.lower)
        return f"{count(n, 'block')} of {self.run}" if self.run else count(n, "independent sample")

    def to_dict(self) -> dict[str, Any]:
        """Return the reference as a JSON document.

        Returns
        -------
        dict
            The JSON document, which contains strings, finite numbers, lists and dicts.
        """
        brackets = zip(self.values.tolist(), self.lower.tolist(), self.upper.tolist(), strict=True)
        medians = None if self.coordinates is None else np.median(self.coordinates, axis=0).tolist()
        return {
            "draws": self.n,
            "effective_draws": self.effective_size,
            "run": self.run or None,
            "median": self.median,
            "samples": [{"value": value, "lower": lower, "upper": upper} for value, lower, upper in brackets],
            "coordinates": medians,
        }

    def place(self, lower: float, upper: float) -> Literal["above", "below", "within"]:
        """Locate a bracket relative to the range of the samples.

        Parameters
        ----------
        lower, upper : float
            The bracket.

        Returns
        -------
        {"above", "below", "within"}
            Position of the bracket relative to the range of the samples.
        """
        lowest, highest = self.range
        if lower > highest:
            return "above"
        return "below" if upper < lowest else "within"

    def rank(self, lower: float, upper: float) -> str:
        """Rank a bracket among the brackets of the reference samples.

        If the rank is ambiguous, a range such as "the 2nd to 3rd smallest" is returned.

        Parameters
        ----------
        lower, upper : float
            The bracket.

        Returns
        -------
        str
            The rank.
        """
        first, last = 1 + int((self.upper < lower).sum()), 1 + int((self.lower <= upper).sum())
        if first > len(self.lower):
            return _LARGEST
        return _SMALLEST if last == 1 else f"the {' to '.join(dict.fromkeys(map(ordinal, (first, last))))} smallest"

    def times(self, values: Sequence[float]) -> list[float] | None:
        """Divide the values of the coordinates by their medians over the samples.

        Parameters
        ----------
        values : sequence of float
            One value per coordinate.

        Returns
        -------
        list of float or None
            The ratios, or None for each coordinate if the samples have no values by coordinate.
        """
        if self.coordinates is None or self.coordinates.shape[1] != len(values):
            return None
        medians = np.median(self.coordinates, axis=0).tolist()
        return [value / each if each > 0.0 else 1.0 for value, each in zip(values, medians, strict=True)]

    @property
    def described(self) -> str:
        """Number, size and source of the samples."""
        if self.run:
            return f"{self.source}, of {count(self.n, 'draw')} and ESS {self.effective_size} each"
        return f"{self.source} of {count(self.n, 'draw')} from the target"

    def report(self, value: float, lower: float, upper: float, caution: str = "") -> str:
        """Report the values of the samples and the rank of a tested sample.

        Parameters
        ----------
        value, lower, upper : float
            Value and bracket of the tested sample.
        caution : str
            Clause that is added if the sample has the smallest value.

        Returns
        -------
        str
            Text of two sentences.
        """
        n, (lowest, highest) = len(self.lower), self.range
        message = f"{sentence(self.described)}: {lowest:.4g} to {highest:.4g}, median {self.median:.4g}."
        if n == 1:
            return message
        rank = self.rank(lower, upper)
        chance = f"; an exact sample would be the largest with probability 1/{n + 1}" if rank == _LARGEST else ""
        times = f", {ratio(value / self.median)} times the median" if self.median > 0.0 else ""
        end = f"{chance}{caution if rank == _SMALLEST else ''}"
        return f"{message} The value of this sample is {rank} of all {n + 1}{times}{end}."


class Measurement(Result):
    """Value of a measure for a sample.

    Attributes
    ----------
    measure, title : str
        Name of the measure on the command line, and in sentences.
    value, lower, upper : float
        Value and bracket. For an estimate, the bracket is the value itself or the value plus and minus its margin of
        error.
    unranked : str
        Reason why samples must not be ranked by the value, or an empty string if they may be ranked.
    seconds : dict
        Wall time per stage.
    """

    measure: ClassVar[str]
    title: ClassVar[str]
    if TYPE_CHECKING:  # fields of some results and properties of others

        @property
        def value(self) -> float:
            """The value."""

        @property
        def lower(self) -> float:
            """Lower bound of the bracket."""

        @property
        def upper(self) -> float:
            """Upper bound of the bracket."""

        @property
        def seconds(self) -> dict[str, float]:
            """Wall time per stage."""

        @property
        def unranked(self) -> str:
            """Reason for not ranking samples by the value, or an empty string."""

    else:
        unranked = ""

    @property
    def claims(self) -> Claim:
        """Status of the bracket, or "estimated" if there is no bracket."""
        return "estimated"

    @property
    def full_title(self) -> str:
        """Title that includes the variant of the measure."""
        return self.title

    @property
    def terms(self) -> tuple[Term, ...]:
        """Contribution or value of each coordinate, or an empty tuple if unknown."""
        return ()

    @property
    def shown(self) -> str:
        """Value rounded to the digits determined by its bracket."""
        return within(self.value, self.lower, self.upper)

    def headline(self) -> str:
        """State the value."""
        return f"{sentence(self.full_title)} {self.shown}"

    def statements(self, reference: Reference | None = None) -> tuple[Statement, ...]:
        """State the value, its certified bracket and its meaning.

        Parameters
        ----------
        reference : Reference, optional
            Values of exact samples.

        Returns
        -------
        tuple of Statement
        """
        raise NotImplementedError

    def tables(self, reference: Reference | None = None) -> tuple[Table, ...]:
        """Tabulate the value for each coordinate.

        If a reference is available, the table includes the ratio of each value to its median over exact samples.
        """
        return ()

    def summary(self, reference: Reference | None = None) -> str:
        """Report the value, its meaning and its limitations.

        Parameters
        ----------
        reference : Reference, optional
            Discrepancies of exact samples, from `steinkit.reference_discrepancy`.

        Returns
        -------
        str
            Paragraphs, separated by blank lines.
        """
        statements = [each for each in self.statements(reference) if each.kind != "method"]  # because the seconds vary
        text = running_text([*statements, *cautioned(self.warnings)])
        return "\n\n".join([text, *(table.text(most=_SHOWN) for table in self.tables(reference)[:1])])

    def _method(self, *, continues: bool = False) -> list[Statement]:
        """State the wall time."""
        text = f"Wall time in seconds: {self._spent}."
        return [Statement("method", "How was it computed?", text, continues)] if self._spent else []

    @property
    def _spent(self) -> str:
        return ", ".join(f"{name} {value:.2f}" for name, value in self.seconds.items())


class BracketResult(Measurement):
    """Measurement result with a bracket.

    Attributes
    ----------
    sample : DistinctSample
    meaning : str
        Meaning and limits of the value, in sentences.
    """

    sample: DistinctSample
    meaning: ClassVar[str] = ""
    smallest_is_no_proof: ClassVar[str] = ""

    @property
    def claims(self) -> Claim:
        """Status of the bracket."""
        return "proved"

    def statements(self, reference: Reference | None = None) -> tuple[Statement, ...]:
        """State the value, its certified bracket, its rank and its meaning.

        The sample is ranked among exact samples. See `Measurement.statements`.
        """
        title = self.full_title
        value, meaning = f"What is the {title}?", f"What does the {title} show?"
        number = f"The {title} is {self.shown}, {claimed(self.claims, self.lower, self.upper)}."
        found = [Statement("number", value, number)]
        if reference is not None:
            found.append(Statement("comparison", value, self._comparison_with(reference), continues=True))
        found += [Statement("number", meaning, each, continues=True) for each in self._more()]
        found += [Statement("limits", meaning, self.meaning, continues=True)] if self.meaning else []
        return (*found, *self._method(continues=True))

    def tables(self, reference: Reference | None = None) -> tuple[Table, ...]:
        """Tabulate the total and the contribution of each coordinate, with brackets.

        Contributions are listed in decreasing order of size, relative to exact samples if there is a reference.
        """
        if not self.terms:
            return ()
        times = self._times(reference)
        terms = [*self.terms, Term("total", self.value, self.lower, self.upper)]
        sizes = times or [each.value for each in terms]
        rows = []
        for k in (-1, *sorted(range(len(self.terms)), key=lambda k: -sizes[k])):
            each = terms[k]
            ratios = [] if times is None else [ratio(times[k])]
            proof = " and ".join(rounded_outwards(each.lower, each.upper))
            rows.append((each.name, self._in_table(each), *ratios, proof))
        columns = ("coordinate", "discrepancy", *([] if times is None else ["times expected"]), CERTIFIED_BETWEEN)
        return (Table(f"{sentence(self.title)} by coordinate", columns, tuple(rows), marked=0),)

    def _in_table(self, each: Term) -> str:
        return each.shown

    def _more(self) -> list[str]:
        """Return sentences about the variant of the measure."""
        return []

    def _comparison_with(self, reference: Reference) -> str:
        return reference.report(self.value, self.lower, self.upper, self.smallest_is_no_proof)

    def _times(self, reference: Reference | None) -> list[float] | None:
        """Divide each term and the total by its median over exact samples.

        The total is the last entry. Return None if the medians are unknown.
        """
        times = None if reference is None else reference.times([each.value for each in self.terms])
        if times is None or reference is None:
            return None
        return [*times, self.value / reference.median if reference.median > 0.0 else 1.0]
