"""Comparison results and reports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from steinkit.diagnosis.bias.result import compared_biases
from steinkit.diagnosis.verdict_text import WORST, unjudged_sentence, verdicts_table
from steinkit.errors import reservations
from steinkit.measurement import Measurement, Reference, Term
from steinkit.measures import find_measure
from steinkit.measures.options import Measure
from steinkit.measures.scores import MeasuredResult
from steinkit.measures.scoring import ComparedSample
from steinkit.result import UNVISITED, Origin, Statement, bracket_column, running_text
from steinkit.text import Table, compact, count, listed, one_line, rounded_outwards, sentence
from steinkit.units import Units

_MAY_BE_USED = "Can the samples be used?"
_LEFT = (
    "rank",
    "sample",
    "worst coordinate",
    "verdict",
    "main finding",
    "quantity",
    "proved between",
    "found between",
)
_UNKNOWN = (
    "The ranking is relative: no exact samples were measured for comparison, so the best sample may still be biased."
)


class Standing(NamedTuple):
    """Rank of a sample according to a measure.

    Parameters
    ----------
    name : str
    rank : str
        Rank, with "=" for ties. The rank is empty for a measured sample that is not ranked.
    measurement : Measurement
    draws : int
    reference : Reference or None
        Values of exact samples of the same effective size.
    """

    name: str
    rank: str
    measurement: Measurement
    draws: int
    reference: Reference | None


@dataclass(frozen=True, eq=False)
class Comparison(MeasuredResult):
    """Comparison of samples: measures, verdicts and ranking.

    Attributes
    ----------
    samples : tuple of ComparedSample
        Results, in the order of the samples.
    measures : tuple of str
        Names of the measures.
    ranking : mapping of str to tuple of tuple of str
        Groups of sample names for each measure, with the best group first. The samples of a group are tied. A sample is
        missing if it could not be measured, if its effective size is not defined, or if its value is at the maximum of
        the measure.
    references : mapping of str to tuple of Reference
        Values of exact samples for each measure, by effective size.
    units : Units or None
        Common scale of all samples, or None if no measure has units.
    warnings : tuple of str
        Limitations of the ranking.
    origin : Origin or None
        Command that generated the comparison, if any.

    Examples
    --------
    >>> import steinkit as sk
    >>> found = sk.compare({"a": [0.0, 1.0, -1.0], "b": [4.0, 5.0, 6.0]}, sk.targets.Normal([0.0]), measures="ksd")
    >>> found.rank("b", "ksd")
    2
    """

    samples: tuple[ComparedSample, ...]
    measures: tuple[str, ...]
    ranking: Mapping[str, tuple[tuple[str, ...], ...]]
    references: Mapping[str, tuple[Reference, ...]]
    units: Units | None
    warnings: tuple[str, ...]
    origin: Origin | None = None

    def rank(self, name: str, measure: str) -> int | None:
        """Return the rank of a sample according to a measure.

        Parameters
        ----------
        name : str
            Name of the sample.
        measure : str
            One of `measures`.

        Returns
        -------
        int or None
            One more than the number of better samples, or None if the sample is not ranked.

        Raises
        ------
        KeyError
            If the samples were not compared using this measure.
        """
        better = 0
        for group in self.ranking[measure]:
            if name in group:
                return better + 1
            better += len(group)
        return None

    def to_dict(self) -> dict[str, Any]:
        """Return the document that ``steinkit compare --json`` prints.

        Returns
        -------
        dict
            The JSON document, which contains strings, finite numbers, lists and dicts.
        """
        return {
            "samples": [self._entry(each) for each in self.samples],
            "ranking": {measure: [list(group) for group in groups] for measure, groups in self.ranking.items()},
            "reference": {measure: [*map(_reference, references)] for measure, references in self.references.items()},
            **self._closing(),
        }

    def _entry(self, each: ComparedSample) -> dict[str, object]:
        sample = each.sample
        ranks = {measure: self.rank(each.name, measure) for measure in self.measures}
        return {
            "file": each.name,
            "draws": None if sample is None else len(sample),
            "effective_draws": each.effective,
            "distinct": None if sample is None else len(sample.distinct()),
            "dim": None if sample is None else sample.dim,
            "verdict": None if each.verdict is None else each.verdict.to_dict(),
            "unjudged": each.unjudged,
            "results": [measurement.to_dict() for measurement in each.measurements.values()],
            "rank": {measure: rank for measure, rank in ranks.items() if rank is not None},
            "error": each.reasons or None,
        }

    @property
    def subject(self) -> str:
        """Text with the number of samples and their target."""
        of = count(len(self.samples), "sample")
        return of if self.origin is None else f"{of} against {self.origin.against}"

    def standings(self, measure: str) -> list[Standing]:
        """List the measured samples by rank, followed by the samples without a rank.

        Parameters
        ----------
        measure : str
            One of `measures`.

        Returns
        -------
        list of Standing
            One entry per sample.
        """
        taken = {each.name: each for each in self.samples if measure in each.measurements}
        ranks: dict[str, str] = {}
        for group in self.ranking[measure]:
            ranks |= dict.fromkeys(group, f"{len(ranks) + 1}{'=' * (len(group) > 1)}")
        found = []
        for name in dict.fromkeys([*ranks, *taken]):
            each = taken[name]
            exact = next((of for of in self.references.get(measure, ()) if of.effective_size == each.size), None)
            found.append(Standing(name, ranks.get(name, ""), each.measurements[measure], each.draws, exact))
        return found

    def headline(self) -> str:
        """State which sample ranks first, and whether it is biased."""
        first = find_measure(self.measures[0])
        best: Sequence[str] = next(iter(self.ranking[first.name]), ())
        verdicts = [each.verdict for each in self.samples if each.name in best and each.verdict is not None]
        biased = [each.name for each in self.samples if each.name in best and each.verdict and each.verdict.is_biased]
        if biased:
            return f"{self._first(first)}, but {listed(biased)} {'is' if len(biased) == 1 else 'are'} biased"
        if best and len(verdicts) == len(best) and all(each.enough_draws for each in verdicts):
            return f"{self._first(first)}; no bias was found in {'it' if len(best) == 1 else 'them'}"
        return self._first(first)

    def statements(self) -> tuple[Statement, ...]:
        """State the verdicts, the ranking by every measure, failures and limits."""
        verdicts = {each.name: each.verdict for each in self.samples if each.verdict is not None}
        found = [Statement("number", _MAY_BE_USED, f"{name}: {each.sentence}") for name, each in verdicts.items()]
        reasons = [f"{each.name}: {unjudged_sentence(each.unjudged)}" for each in self.samples if each.unjudged]
        found += [Statement("limits", _MAY_BE_USED, each) for each in reasons]
        for verdict in [*verdicts.values()][:1]:
            text = f"ESS measures how well the chains mix and does not detect bias. {verdict.untested_sentence}"
            found.append(Statement("limits", "What was not tested?", text))
        for measure in map(find_measure, self.measures):
            if self.standings(measure.name):
                found += [Statement("number", _which(measure), f"{self._first(measure)}."), *self._order(measure)]
        if not verdicts and not any(self.references.values()):
            found.append(Statement("limits", "Is the best sample free of bias?", _UNKNOWN))
        failed = [f"{each.name} was not measured: {each.reasons}" for each in self.samples if each.errors]
        return (
            *found,
            *(Statement("limits", "Did anything fail?", each) for each in failed),
            Statement("limits", "What does this not prove?", UNVISITED),
        )

    def tables(self) -> tuple[Table, ...]:
        """List the verdicts, the biases and the ranking by every measure."""
        return self._tables(WORST)

    def table(self, measure: str) -> Table:
        """List the samples by rank, together with the reference samples.

        Parameters
        ----------
        measure : str
            One of `measures`.

        Returns
        -------
        Table
            Table with one row per sample.
        """
        known = find_measure(measure)
        proof = bracket_column(known.claim)
        rows = []
        for each in self.standings(measure):
            taken = each.measurement
            ends = {proof: " and ".join(rounded_outwards(taken.lower, taken.upper))} if proof else {}
            row = {"rank": each.rank or "-", "sample": each.name, "draws": str(each.draws), "value": taken.shown}
            rows.append(row | ends | _worst_coordinate(known, taken.terms))
        for reference in self.references.get(measure, ()):
            row = {"sample": f"({reference.source})", "draws": str(reference.n), "value": compact(reference.median)}
            rows.append(row | {proof: "{:.4g} and {:.4g}".format(*reference.range)})
        first = ("rank", "sample", "draws", "value", *([proof] if proof else []))
        columns = tuple(dict.fromkeys((*first, *(name for row in rows for name in row))))
        cells = tuple(tuple(row.get(column, "") for column in columns) for row in rows)
        return Table(f"{sentence(known.title)}, {known.preference}", columns, cells)

    def facts(self) -> tuple[tuple[str, str], ...]:
        """List the samples, their units and their provenance."""
        return ("samples", ", ".join(each.name for each in self.samples)), *self._unit_facts, *super().facts()

    def summary(self, *, everything: bool = False) -> str:
        """Report which samples may be used and how each measure ranks them.

        Parameters
        ----------
        everything : bool
            If True, the biases of all quantities are listed, not only the ten largest.

        Returns
        -------
        str
            The text of ``steinkit compare``.
        """
        shown = [
            "\n".join([each.caption, *each.lines(_LEFT, names="sample" if "rank" in each.columns else None)])
            for each in self._tables(None if everything else WORST)
            if each.rows
        ]
        text = running_text([each for each in self.statements() if each.kind != "number" and each.text != UNVISITED])
        return "\n\n".join(filter(None, [one_line(self.subject), *shown, text, self._units_text]))

    def _tables(self, most_biases: int | None) -> tuple[Table, ...]:
        """List the verdicts, the largest known biases and the ranking by every measure."""
        verdicts = {each.name: each.verdict for each in self.samples}
        judged = {name: each for name, each in verdicts.items() if each is not None}
        known = {name: each.bias for name, each in judged.items() if each.bias and each.enough_draws}
        first = [verdicts_table(verdicts) if judged else None, compared_biases(known, most_biases)]
        return (*(each for each in first if each is not None), *map(self.table, self.measures))

    def _order(self, measure: Measure) -> list[Statement]:
        """Explain the ranking by a measure."""
        which, groups = _which(measure), self.ranking[measure.name]
        taken = {each.name: each.measurement for each in self.standings(measure.name)}
        reasons = {name: each.unranked for name, each in taken.items() if each.unranked}
        found = []
        if reasons:
            text = f"This measure cannot rank {listed(list(reasons))}: {next(iter(reasons.values()))}."
            found.append(Statement("limits", which, text))
        if len(groups) > 1 and measure.has_bracket:
            text = (
                f"Differences between ranks are {measure.claim} for these draws only; to compare samplers, compare "
                "several samples of each."
            )
            found.append(Statement("comparison", which, text))
        if measure.needs == "draws":
            text = (
                f"{sentence(measure.title)} is an estimate that does not depend on the target. The samples are ranked "
                "by mixing, not by quality, and the ranking does not detect bias."
            )
            found.append(Statement("limits", which, text))
        return found

    def _first(self, measure: Measure) -> str:
        """Return a clause that describes the highest-ranked sample."""
        groups, title = self.ranking[measure.name], measure.title
        if not groups:
            return f"None of the {count(len(self.samples), 'sample')} could be ranked by {title}"
        best, others = groups[0], sum(map(len, groups[1:]))
        if len(best) > 1:
            rest = f", and {measure.better} than the other {others}" if others else ""
            return f"{listed(best)} are tied for best by {title}{rest}"
        if not others:
            return f"{best[0]} is the only sample ranked by {title}"
        whom = groups[1][0] if others == 1 else f"the other {others} samples"
        return f"{best[0]} is {measure.better} than {whom} by {title}"

    def __repr__(self) -> str:
        return f"<Comparison of {len(self.samples)} samples by {', '.join(self.measures)}{reservations(self.warnings)}>"


def _reference(each: Reference) -> dict[str, object]:
    known, (lower, upper) = each.to_dict(), each.range
    ends = {"lower": lower, "upper": upper, "values": each.values.tolist()}
    return {key: known[key] for key in ("draws", "effective_draws", "run", "median")} | ends


def _which(measure: Measure) -> str:
    return f"Which sample, by {measure.title}?"


def _worst_coordinate(measure: Measure, terms: Sequence[Term]) -> dict[str, str]:
    """Return the worst coordinate and its value if there are several coordinates."""
    known = [each for each in terms if each.value == each.value]
    if len(terms) < 2 or not known:
        return {}
    worst = (max if measure.smaller_is_better else min)(known, key=lambda each: each.value)
    return {"worst coordinate": f"{worst.name} {compact(worst.value)}"}
