"""Result of a comparison: the samples with their verdicts and measures, the ranking, and its report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from steinkit import __version__
from steinkit.diagnosis.bias.result import compared_biases
from steinkit.diagnosis.verdict_text import WORST, unjudged_sentence, verdicts_table
from steinkit.errors import SteinkitError, reservations
from steinkit.measurement import Measurement, Reference, Term
from steinkit.measures import find_measure
from steinkit.measures.options import Measure
from steinkit.result import UNVISITED, Origin, Result, Statement, bracket_column
from steinkit.sample import Sample
from steinkit.text import (
    Table,
    compact,
    count,
    filled,
    listed,
    one_line,
    rounded_outwards,
    sentence,
    units_label,
    units_sentence,
)

if TYPE_CHECKING:
    from steinkit.diagnosis.verdict_result import Verdict
    from steinkit.units import Units

_MOST_COLUMNS = 6  # coordinates beyond which only the heaviest is shown
_MAY_BE_USED, _GOOD = "Can they be used?", "Is the best one good?"
_LEFT = ("rank", "sample", "worst coordinate", "verdict", "what is wrong", "quantity")
_SCORED_ALONE = {
    "reference": " `steinkit score` gives the same number with --units reference, and by default one in a file's own.",
    "pilot": " `steinkit score` measures a file in its own, which gives another number.",
}
_SCALE = (
    "The independent samples come from the target itself, each with as many draws as a sample is worth by its ESS, or "
    "as it has where they could be independent: their median, and the range of them all."
)
_SCALE_OF_RUN = "The blocks of the long run are worth as much as the samples by their ESS: their median and range."
_UNKNOWN = (
    "No independent samples from the target were measured beside them: the order says which is better, not whether any "
    "is good."
)


@dataclass(frozen=True, eq=False)
class ComparedSample:
    """What was found of one of the samples compared.

    Attributes
    ----------
    name : str
    sample : Sample, optional
        None where the draws are no sample.
    measurements : mapping of str to Measurement
        By the measures that could be taken.
    errors : mapping of str to SteinkitError
        Why the others could not.
    verdict : Verdict or None
        None where none was asked for, or could be had.
    unjudged : str or None
        Why none could be had.
    effective : int or None
        Independent draws that right samples to compare with have; None where none were wanted.
    """

    name: str
    sample: Sample | None
    measurements: Mapping[str, Measurement]
    errors: Mapping[str, SteinkitError]
    verdict: Verdict | None = None
    unjudged: str | None = None
    effective: int | None = None

    @property
    def draws(self) -> int:
        """How many there are; 0 of what is no sample."""
        return 0 if self.sample is None else len(self.sample)

    @property
    def size(self) -> int:
        """Independent draws of the right samples to compare with."""
        return self.effective or self.draws

    @property
    def reasons(self) -> str:
        """Why measures could not be taken."""
        return "; ".join(f"{measure}: {error}" for measure, error in self.errors.items())


class Standing(NamedTuple):
    """Where a sample stands by a measure.

    Parameters
    ----------
    name : str
    rank : str
        With "=" where several share it; empty for a sample that was measured and is not put in order.
    measurement : Measurement
    draws : int
    reference : Reference or None
        The independent samples that have as many effective draws.
    """

    name: str
    rank: str
    measurement: Measurement
    draws: int
    reference: Reference | None


@dataclass(frozen=True, eq=False)
class Comparison(Result):
    """Samples measured alike, and their order.

    Attributes
    ----------
    samples : tuple of ComparedSample
        In the order given.
    measures : tuple of str
        Their names, in the order asked for.
    ranking : mapping of str to tuple of tuple of str
        For each measure groups of sample names, best first; those within a group are tied. A sample that could not be
        measured, whose effective size is not defined, or whose value is at its ceiling, is in none.
    references : mapping of str to tuple of Reference
        For each measure what right samples score, one entry for each effective size that samples have.
    units : Units or None
        The one scale of all samples; None where no measure has units.
    warnings : tuple of str
        What a reader should know before the order.
    origin : Origin or None
        Where a command line made it.
    """

    samples: tuple[ComparedSample, ...]
    measures: tuple[str, ...]
    ranking: Mapping[str, tuple[tuple[str, ...], ...]]
    references: Mapping[str, tuple[Reference, ...]]
    units: Units | None
    warnings: tuple[str, ...]
    origin: Origin | None = None

    def rank(self, name: str, measure: str) -> int | None:
        """Rank of a sample by a measure.

        Parameters
        ----------
        name : str
            Of the sample.
        measure : str
            One of `measures`.

        Returns
        -------
        int or None
            One more than the samples proved better; None where `ranking` does not have the sample.

        Raises
        ------
        KeyError
            If the samples were not compared by this measure.
        """
        better = 0
        for group in self.ranking[measure]:
            if name in group:
                return better + 1
            better += len(group)
        return None

    def to_dict(self) -> dict[str, Any]:
        """List what ``steinkit compare --json`` prints.

        Returns
        -------
        dict
            Of strings, finite numbers, lists and dicts.
        """
        return {
            "samples": [self._entry(each) for each in self.samples],
            "ranking": {measure: [list(group) for group in groups] for measure, groups in self.ranking.items()},
            "reference": {measure: [*map(_reference, references)] for measure, references in self.references.items()},
            "units": self.units and self.units.document,
            "warnings": list(self.warnings),
            "version": __version__,
            **(self.origin.to_dict() if self.origin else {}),
        }

    def _entry(self, each: ComparedSample) -> dict[str, Any]:
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
        """Number of samples, and their target."""
        of = count(len(self.samples), "sample")
        return of if self.origin is None else f"{of} against {self.origin.against}"

    def standings(self, measure: str) -> list[Standing]:
        """List the measured samples by rank, then those that the measure does not rank.

        Parameters
        ----------
        measure : str
            One of `measures`.

        Returns
        -------
        list of Standing
            One per sample.
        """
        taken = {each.name: each for each in self.samples if measure in each.measurements}
        ranks: dict[str, str] = {}
        for group in self.ranking[measure]:
            ranks |= dict.fromkeys(group, f"{len(ranks) + 1}{'=' * (len(group) > 1)}")
        found = []
        for name in dict.fromkeys([*ranks, *taken]):
            each, alike = taken[name], (of for of in self.references.get(measure, ()) if of.worth == taken[name].size)
            found.append(Standing(name, ranks.get(name, ""), each.measurements[measure], each.draws, next(alike, None)))
        return found

    def headline(self) -> str:
        """State which sample ranks first, and whether it is biased."""
        first = find_measure(self.measures[0])
        best: Sequence[str] = next(iter(self.ranking[first.name]), ())
        judged = {each.name: each.verdict for each in self.samples if each.verdict is not None}
        wrong = [name for name in best if name in judged and judged[name].is_biased]
        if wrong:
            return f"{self._first(first)}, but {listed(wrong)} {'is' if len(wrong) == 1 else 'are'} biased"
        if best and all(name in judged and judged[name].enough_draws for name in best):
            return f"{self._first(first)}; no bias is seen in {'it' if len(best) == 1 else 'them'}"
        return self._first(first)

    def statements(self) -> tuple[Statement, ...]:
        """State the verdicts, the ranking by every measure, the accuracy of the best sample, failures and limits."""
        judged = [each for each in self.samples if each.verdict is not None]
        found = [
            Statement("number", _MAY_BE_USED, f"{each.name}: {each.verdict.sentence}")
            for each in judged
            if each.verdict is not None
        ]
        found += [Statement("number", _MAY_BE_USED, said) for said in self._unjudged]
        found += [Statement("limits", "What was not tested?", self._untested)] if judged else []
        good: list[Statement] = []
        for measure in map(find_measure, self.measures):
            known = self.standings(measure.name)
            if not known:
                continue
            found.append(Statement("number", _which(measure), f"{self._first(measure)}."))
            if self.references.get(measure.name) and known[0].rank:
                good.append(Statement("comparison", _GOOD, self._against(measure, known[0])))
            for each in self._order(measure):
                if each.question != _GOOD:
                    found.append(each)
                elif each not in good:  # it is the same for every measure
                    good.append(each)
        if not any(self.references.values()) and not judged:
            good.append(Statement("limits", _GOOD, _UNKNOWN))
        failed = [f"{each.name} was not measured: {each.reasons}" for each in self.samples if each.errors]
        return (
            *found,
            *good,
            *(Statement("limits", "Did anything fail?", each) for each in failed or ["No: every sample was measured."]),
            Statement("limits", "What does this not prove?", UNVISITED),
        )

    def tables(self) -> tuple[Table, ...]:
        """List the verdicts, the biases, and the ranking by every measure."""
        judged = [table for table in (self._verdicts, self._biases(WORST)) if table is not None]
        return (*judged, *(self.table(name) for name in self.measures))

    def table(self, measure: str) -> Table:
        """List the samples by rank, and the reference samples.

        Parameters
        ----------
        measure : str
            One of `measures`.

        Returns
        -------
        Table
            One row per sample.
        """
        known = find_measure(measure)
        proof = bracket_column(known.claim)
        rows = []
        for each in self.standings(measure):
            taken = each.measurement
            ends = {proof: " and ".join(rounded_outwards(taken.lower, taken.upper))} if proof else {}
            row = {"rank": each.rank or "-", "sample": each.name, "draws": str(each.draws), "value": taken.shown}
            rows.append(row | ends | _by_coordinate(known, taken.terms))
        for reference in self.references.get(measure, ()):
            n = len(reference.lower)
            what = f"{count(n, 'block')} of the long run" if reference.run else count(n, "independent sample")
            row = {"sample": f"({what})", "draws": str(reference.n), "value": compact(reference.median)}
            rows.append(row | {proof: "{:.4g} and {:.4g}".format(*reference.range)})
        first = ("rank", "sample", "draws", "value", *([proof] if proof else []))
        columns = tuple(dict.fromkeys((*first, *(name for row in rows for name in row))))
        cells = tuple(tuple(row.get(column, "") for column in columns) for row in rows)
        return Table(f"{sentence(known.title)}, {known.preference}", columns, cells)

    def facts(self) -> tuple[tuple[str, str], ...]:
        """List the samples, their units and their origin."""
        units = units_label(None if self.units is None else self.units.document)
        names = ", ".join(each.name for each in self.samples)
        return ("samples", names), *((("units", units),) if units else ()), *super().facts()

    def summary(self, *, everything: bool = False) -> str:
        """Report which samples may be used, and how they rank by each measure.

        Parameters
        ----------
        everything : bool
            The biases of all quantities, not of the worst ten.

        Returns
        -------
        str
            Of several lines, as ``steinkit compare`` prints it.
        """
        blocks = [] if self.origin is None else [one_line(self.subject)]
        if (judged := self._verdicts) is not None:
            blocks.append("\n".join([judged.caption, *judged.lines(_LEFT), "", filled(self._untested)]))
        if (sizes := self._biases(None if everything else WORST)) is not None:
            blocks.append("\n".join([sizes.caption, *sizes.lines(_LEFT)]))
        blocks += [filled(said) for said in self._unjudged]
        for measure in map(find_measure, self.measures):
            table = self.table(measure.name)
            lines = [table.caption, *table.lines((*_LEFT, bracket_column(measure.claim)), names="sample")]
            lines = lines if table.rows else [f"{measure.title}: no sample could be measured"]
            said = " ".join(each.text for each in self._order(measure))
            lines += ["", filled(said)] if said else []
            for each in self.samples:
                error = each.errors.get(measure.name)
                lines += [] if error is None else [filled(f"{each.name} was not measured: {error}")]
            blocks.append("\n".join(lines))
        if self.units is not None:
            alone = _SCORED_ALONE.get(self.units.kind, "")
            blocks.append(filled(f"{units_sentence(self.units.document)}{alone}"))
        return "\n\n".join(blocks)

    @property
    def _verdicts(self) -> Table | None:
        """Table of the verdicts; None if there are none."""
        verdicts = {each.name: each.verdict for each in self.samples}
        return verdicts_table(verdicts) if any(verdicts.values()) else None

    def _biases(self, most: int | None) -> Table | None:
        """How far means and standard deviations of the samples are off, by their verdicts; None if none is known."""
        judged = {each.name: each.verdict for each in self.samples if each.verdict is not None}
        known = {name: each.bias for name, each in judged.items() if each.bias and each.enough_draws}
        return compared_biases(known, most)

    @property
    def _unjudged(self) -> list[str]:
        """The samples without a verdict, and why they have none."""
        return [f"{each.name}: {unjudged_sentence(each.unjudged)}" for each in self.samples if each.unjudged]

    @property
    def _untested(self) -> str:
        """Sentence on the meaning of the ESS, and on aspects that were not tested."""
        verdict = next(each.verdict for each in self.samples if each.verdict is not None)
        return f"ESS says how well the chains mix, and is blind to bias. {verdict.untested_sentence}"

    def _order(self, measure: Measure) -> list[Statement]:
        """State what the ranking by a measure proves."""
        which, groups = _which(measure), self.ranking[measure.name]
        known = self.standings(measure.name)
        reasons = {each.name: each.measurement.unranked for each in known if each.measurement.unranked}
        joined = "their brackets overlap" if measure.has_bracket else "they are equal, or within their margins"
        found = [
            Statement("comparison", which, f"{listed(group, of='more')} cannot be told apart: {joined}.", True)
            for group in groups
            if len(group) > 1
        ]
        if reasons:
            names = list(reasons)
            of_whom = f" (said of {names[0]})" if len(names) > 1 else ""
            alone = " The others are ranked among themselves." if groups else ""
            refused = f"It cannot rank {listed(names)}: {reasons[names[0]]}{of_whom}.{alone}"
            found.append(Statement("limits", which, refused, True))
        if len(groups) > 1 and measure.has_bracket:
            proved = (
                f"Of two samples of different rank the difference is {measure.claim}, for these draws: how far their "
                "samplers differ takes several samples of each to say."
            )
            found.append(Statement("comparison", which, proved, True))
        if measure.needs == "draws":
            blind = (
                f"{sentence(measure.title)} is an estimate and blind to bias: it does not know the target, so that its "
                "order is one of mixing, not of quality."
            )
            found.append(Statement("limits", which, blind, True))
        if references := self.references.get(measure.name):
            found.append(Statement("method", _GOOD, _SCALE_OF_RUN if references[0].run else _SCALE, True))
        return found

    def _first(self, measure: Measure) -> str:
        """Return a clause on the sample that ranks first."""
        groups, title = self.ranking[measure.name], measure.title
        if not groups:
            return f"None of {count(len(self.samples), 'sample')} could be ranked by {title}"
        best, others = groups[0], sum(map(len, groups[1:]))
        if len(best) > 1:
            rest = f", and {measure.better} than the other {others}" if others else ""
            return f"{listed(best)} are tied for best by {title}{rest}"
        if not others:
            return f"{best[0]} is the only sample ranked by {title}"
        whom = groups[1][0] if others == 1 else f"the other {others} samples"
        return f"{best[0]} is {measure.better} than {whom} by {title}"

    def _against(self, measure: Measure, best: Standing) -> str:
        """Compare the best sample with reference samples of its size."""
        reference, taken = best.reference or self.references[measure.name][0], best.measurement
        lowest, highest = map(compact, reference.range)
        beside = f"{reference.samples().rstrip(',')}{reference.times_median(taken.value)}"
        return (
            f"By {measure.title}, {best.name} has {taken.shown}, {reference.place(taken.lower, taken.upper)} "
            f"the range {lowest} to {highest} of {beside}."
        )

    def __repr__(self) -> str:
        return f"<Comparison of {len(self.samples)} samples by {', '.join(self.measures)}{reservations(self.warnings)}>"


def _reference(each: Reference) -> dict[str, Any]:
    known, (lower, upper) = each.to_dict(), each.range
    ends = {"lower": lower, "upper": upper, "values": each.values.tolist()}
    return {key: known[key] for key in ("draws", "effective_draws", "run", "median")} | ends


def _which(measure: Measure) -> str:
    return f"Which sample, by {measure.title}?"


def _by_coordinate(measure: Measure, terms: Sequence[Term]) -> dict[str, str]:
    """Return cells with the values by coordinate, or with the worst one if there are many."""
    if 2 <= len(terms) <= _MOST_COLUMNS:
        return {f"[{each.name}]": compact(each.value) for each in terms}
    known = [each for each in terms if each.value == each.value]
    if len(terms) < 2 or not known:
        return {}
    worst = (max if measure.smaller_is_better else min)(known, key=lambda each: each.value)
    return {"worst coordinate": f"{worst.name} {compact(worst.value)}"}
