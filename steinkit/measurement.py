"""Results of measures, and the results of right samples to compare them with.

A measure gives a number with a bracket, or an estimate. Its result says what the number means. Where right samples were
measured alike, as a `Reference`, it says where the number lies among theirs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from steinkit.result import Brief, Claim, Result, Statement, cautioned, claimed, running_text
from steinkit.sample import DistinctSample, Floats
from steinkit.text import Table, compact, count, ordinal, ratio, rounded_outwards, sentence, within

Place = Literal["above", "below", "within"]

CERTIFIED_BETWEEN = "certified between"
"""Heading of a column of brackets that a certificate proves."""

_NAMED_COORDINATES = 5
_DESCRIBED_COORDINATES = 3
_NO_SHARES = "in a right sample some carry more than others"
_LARGEST, _SMALLEST = "the largest", "the smallest"
_NOISE = "Right samples score as much, so what follows may be sampling noise."
_NOISE_UNKNOWN = "What right samples score is not known, so what follows may be sampling noise."


@dataclass(frozen=True)
class Term:
    """Part of a number that is a sum over coordinates, or a coordinate's own number.

    Attributes
    ----------
    name : str
        Of the coordinate or direction.
    value, lower, upper : float
        The number and its bracket.
    """

    name: str
    value: float
    lower: float
    upper: float

    @property
    def shown(self) -> str:
        """The value to the digits of its bracket."""
        return within(self.value, self.lower, self.upper)

    def to_dict(self) -> dict[str, Any]:
        """List the term as JSON documents hold it."""
        return dict(vars(self))


def terms_of(names: Sequence[str], lower: Sequence[float], upper: Sequence[float]) -> tuple[Term, ...]:
    """The terms of a sum by their brackets, each with its midpoint."""
    ends = zip(names, lower, upper, strict=True)
    return tuple(Term(name, 0.5 * low + 0.5 * high, low, high) for name, low, high in ends)


@dataclass(frozen=True, eq=False, repr=False)
class Reference(Brief):
    """Discrepancies of right samples: of independent draws from the target, or of blocks of a long run.

    Attributes
    ----------
    lower, upper : ndarray, shape (repeats,)
        Certified brackets.
    n : int
        Draws in each sample.
    coordinates : ndarray, shape (repeats, d), or None
        What each coordinate carries of each value; None where the discrepancy is no sum over them.
    effective : int, or None
        Independent draws that each sample is worth; None for as many as it has.
    run : str
        The long run that they are blocks of; empty for independent draws.
    """

    lower: Floats
    upper: Floats
    n: int
    coordinates: Floats | None = None
    effective: int | None = None
    run: str = ""

    @property
    def values(self) -> Floats:
        """Midpoints of the brackets, shape (repeats,)."""
        return 0.5 * self.lower + 0.5 * self.upper

    @property
    def median(self) -> float:
        """Median of the values."""
        return float(np.median(self.values))

    @property
    def range(self) -> tuple[float, float]:
        """The least lower and the largest upper end."""
        return float(self.lower.min()), float(self.upper.max())

    @property
    def worth(self) -> int:
        """Independent draws that each sample is worth."""
        return self.n if self.effective is None else self.effective

    def to_dict(self) -> dict[str, Any]:
        """List the references as JSON documents hold them.

        Returns
        -------
        dict
            Of strings, finite numbers, lists and dicts.
        """
        brackets = zip(self.values.tolist(), self.lower.tolist(), self.upper.tolist(), strict=True)
        medians = None if self.coordinates is None else np.median(self.coordinates, axis=0).tolist()
        return {
            "draws": self.n,
            "effective_draws": self.worth,
            "run": self.run or None,
            "median": self.median,
            "samples": [{"value": value, "lower": lower, "upper": upper} for value, lower, upper in brackets],
            "coordinates": medians,
        }

    def place(self, lower: float, upper: float) -> Place:
        """Where a bracket lies: above or below the brackets of all samples for certain, or not."""
        lowest, highest = self.range
        if lower > highest:
            return "above"
        return "below" if upper < lowest else "within"

    def rank(self, lower: float, upper: float) -> str:
        """The rank of a bracket among them and itself, as far as brackets tell: "the 2nd to 3rd smallest"."""
        first, last = 1 + int((self.upper < lower).sum()), 1 + int((self.lower <= upper).sum())
        if first > len(self.lower):
            return _LARGEST
        return _SMALLEST if last == 1 else f"the {' to '.join(dict.fromkeys(map(ordinal, (first, last))))} smallest"

    def times(self, values: Sequence[float]) -> list[float] | None:
        """Values by coordinate over the medians of the samples; None where these are not known."""
        if self.coordinates is None or self.coordinates.shape[1] != len(values):
            return None
        medians = np.median(self.coordinates, axis=0).tolist()
        return [value / each if each > 0.0 else 1.0 for value, each in zip(values, medians, strict=True)]

    def times_median(self, value: float) -> str:
        """A clause on a value over the median; empty where that is not positive, as of U-statistics."""
        return f", at {ratio(value / self.median)} times their median" if self.median > 0.0 else ""

    def samples(self, draws: int | None = None) -> str:
        """What they are, in the middle of a sentence; beside a sample of so many draws also why they are fewer."""
        if self.run:
            blocks = count(len(self.lower), "block")
            return f"{blocks} of {self.n} draws of {self.run}, worth {self.worth} independent ones each,"
        why = "" if draws is None or self.worth >= draws else ", as many as this sample is worth by its ESS,"
        return f"{count(len(self.lower), 'independent sample')} of {count(self.n, 'draw')} from the target{why}"

    def beside(self, value: float, lower: float, upper: float, draws: int, caution: str = "") -> str:
        """What they score, and where a sample stands among them: sizes, and no verdict.

        The largest of six is one of six right samples, and most of right chains that mix slowly.

        Parameters
        ----------
        value, lower, upper : float
            Of the sample.
        draws : int
            That the sample has.
        caution : str
            Added where it is the smallest.
        """
        n, (lowest, highest) = len(self.lower), self.range
        theirs = f"{lowest:.4g} to {highest:.4g}, median {self.median:.4g}."
        said = f"{sentence(self.samples(draws))} {'scores' if n == 1 else 'score'} {theirs}"
        if n == 1:
            return said
        rank = self.rank(lower, upper)
        chance = f"; one right sample in {n + 1} is so by chance" if rank == _LARGEST else ""
        end = f"{chance}{caution if rank == _SMALLEST else ''}"
        return f"{said} This sample is {rank} of the {n + 1} together{self.times_median(value)}{end}."


class Measurement(Result):
    """What a measure found of a sample.

    Attributes
    ----------
    measure, title : str
        By which users ask for the measure, and by which sentences call it.
    value, lower, upper : float
        The number and its bracket; of an estimate both ends are the value, or its margin.
    unranked : str
        Why samples must not be ordered by the value; empty where they may.
    seconds : dict
        Wall time by the work that it went to.
    """

    measure: ClassVar[str]
    title: ClassVar[str]
    if TYPE_CHECKING:  # fields of some results, properties of others

        @property
        def value(self) -> float:
            """The number."""

        @property
        def lower(self) -> float:
            """Lower end of its bracket."""

        @property
        def upper(self) -> float:
            """Upper end of its bracket."""

        @property
        def seconds(self) -> dict[str, float]:
            """Wall time by the work that it went to."""

        @property
        def unranked(self) -> str:
            """Why samples must not be ordered by the value; empty where they may."""

    else:
        unranked = ""

    @property
    def claims(self) -> Claim:
        """What the bracket claims; "estimated" where there is none."""
        return "estimated"

    @property
    def full_title(self) -> str:
        """The title with what must be known of the number."""
        return self.title

    @property
    def terms(self) -> tuple[Term, ...]:
        """What each coordinate carries of the value, or its own value; empty where that is not known."""
        return ()

    @property
    def shown(self) -> str:
        """The value to the digits of its bracket."""
        return within(self.value, self.lower, self.upper)

    def headline(self) -> str:
        """Say the number."""
        return f"{sentence(self.full_title)} {self.shown}"

    def statements(self, reference: Reference | None = None, *, is_biased: bool = False) -> tuple[Statement, ...]:
        """Say what the number is and means.

        Parameters
        ----------
        reference : Reference, optional
            What right samples score.
        is_biased : bool
            Whether a verdict has found the sample biased, so that findings are no chance.

        Returns
        -------
        tuple of Statement
        """
        raise NotImplementedError

    def tables(self, reference: Reference | None = None) -> tuple[Table, ...]:
        """List the number by coordinate, beside right samples where there are any."""
        return ()

    def summary(self, reference: Reference | None = None) -> str:
        """Say in words what the number means, and what it does not prove.

        Parameters
        ----------
        reference : Reference, optional
            Discrepancies of right samples, such as `steinkit.reference_discrepancy` returns.

        Returns
        -------
        str
            Paragraphs, with a blank line between them.
        """
        said = [each for each in self.statements(reference) if each.kind != "method"]  # seconds differ each time
        return running_text([*said, *cautioned(self.warnings)])

    def _method(self, *, continues: bool = False) -> list[Statement]:
        """How long it took."""
        said = f"Seconds: {self._spent}."
        return [Statement("method", "How was it computed?", said, continues)] if self._spent else []

    @property
    def _spent(self) -> str:
        return ", ".join(f"{name} {value:.2f}" for name, value in self.seconds.items())


class BracketResult(Measurement):
    """A number of a sample with a bracket.

    Attributes
    ----------
    sample : DistinctSample
    meaning : str
        What the number says, and what it does not see.
    """

    sample: DistinctSample
    meaning: ClassVar[str] = ""
    smallest_is_no_proof: ClassVar[str] = ""

    @property
    def claims(self) -> Claim:
        """What the bracket claims."""
        return "proved"

    def statements(self, reference: Reference | None = None, *, is_biased: bool = False) -> tuple[Statement, ...]:
        """Say the number, its proof, where it lies among right samples, and what it means; see `Measurement`."""
        title = self.full_title
        what, asked = f"What is its {title}?", f"What does the {title} say?"
        number = f"The {title} is {self.shown}, {claimed(self.claims, self.lower, self.upper)}."
        found = [Statement("number", what, number)]
        if reference is not None:
            found.append(Statement("comparison", what, self._beside(reference), continues=True))
        found += [Statement("number", asked, said, continues=True) for said in self._more()]
        found += [Statement("limits", asked, self.meaning, continues=True)] if self.meaning else []
        return (*found, *self._method(continues=True))

    def tables(self, reference: Reference | None = None) -> tuple[Table, ...]:
        """List the total, then what each coordinate carries, the worst first, with brackets."""
        if not self.terms:
            return ()
        times = self._times(reference)
        total = Term("total", self.value, self.lower, self.upper)
        rows = []
        for k in (-1, *self._heaviest(reference)):
            each = total if k < 0 else self.terms[k]
            beside = [] if times is None else [ratio(times[k])]
            proof = " and ".join(rounded_outwards(each.lower, each.upper))
            rows.append((each.name, self._in_table(each), *beside, proof))
        columns = ("coordinate", "discrepancy", *([] if times is None else ["times expected"]), CERTIFIED_BETWEEN)
        return (Table(f"{sentence(self.title)} by coordinate", columns, tuple(rows), marked=0),)

    def _in_table(self, each: Term) -> str:
        return each.shown

    def _more(self) -> list[str]:
        """Sentences on how the number is meant."""
        return []

    def _beside(self, reference: Reference) -> str:
        draws = len(self.sample.inverse)
        return reference.beside(self.value, self.lower, self.upper, draws, self.smallest_is_no_proof)

    def _times(self, reference: Reference | None) -> list[float] | None:
        """Each term's value over that of right samples, then the total's; None where these are not known."""
        times = None if reference is None else reference.times([each.value for each in self.terms])
        if times is None or reference is None:
            return None
        return [*times, self.value / reference.median if reference.median > 0.0 else 1.0]

    def _heaviest(self, reference: Reference | None) -> list[int]:
        """The order of terms by what they carry, beside right samples where there are any."""
        carried = self._times(reference) or [each.value for each in self.terms]
        return sorted(range(len(self.terms)), key=lambda j: -carried[j])

    def _where(
        self,
        reference: Reference | None,
        is_biased: bool,
        hints: Sequence[str],
        unclear: str = "",
        *,
        is_certain: bool = False,
    ) -> str:
        """What each coordinate carries, beside right samples where these are known, and what is seen in the heaviest.

        Parameters
        ----------
        reference : Reference or None
        is_biased : bool
        hints : sequence of str
            By coordinate, what is seen in it; empty where nothing is.
        unclear : str
            What is said where there are no hints of the heaviest.
        is_certain : bool
            Whether it cannot all be noise.
        """
        times, order, said = self._times(reference), self._heaviest(reference), []
        if len(order) > 1:
            each = [
                f"{self.terms[j].name} {compact(self.terms[j].value)}"
                + ("" if times is None else f" ({ratio(times[j])} times)")
                for j in order
            ]
            more = len(order) - _NAMED_COORDINATES
            named = ", ".join([*each[:_NAMED_COORDINATES], *([f"{more} more"] if more > 0 else [])])
            beside = _NO_SHARES if times is None else "times the median of right samples"
            said.append(f"Coordinate by coordinate ({beside}): {named}.")
        seen = [f"In {self.terms[j].name}, {hints[j]}." for j in order[:_DESCRIBED_COORDINATES] if hints[j]]
        said += seen or ([unclear] if unclear else [])
        caution = "" if is_certain else self._caution_for_noise(reference, is_biased)
        return " ".join([*([caution] if said and caution else []), *said])

    def _caution_for_noise(self, reference: Reference | None, is_biased: bool) -> str:
        """That findings may be noise, unless several right samples score less for certain, or a verdict rejects."""
        if reference is None or len(reference.lower) < 2:
            return "" if is_biased else _NOISE_UNKNOWN
        return "" if reference.place(self.lower, self.upper) == "above" else _NOISE
