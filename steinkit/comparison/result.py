"""What a comparison found: measures of every sample, why others could not be had, ranks, and the scale."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from steinkit import __version__
from steinkit.describe.comparison import text
from steinkit.describe.display import Result
from steinkit.errors import SteinkitError, reservations
from steinkit.measures import Measurement, find_measure
from steinkit.sample import Sample

if TYPE_CHECKING:
    from steinkit.discrepancy.reference import Reference
    from steinkit.discrepancy.units import Units
    from steinkit.discrepancy.verdict import Verdict


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
    """

    samples: tuple[ComparedSample, ...]
    measures: tuple[str, ...]
    ranking: Mapping[str, tuple[tuple[str, ...], ...]]
    references: Mapping[str, tuple[Reference, ...]]
    units: Units | None
    warnings: tuple[str, ...]

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

    def table(self, *, everything: bool = False) -> str:
        """Say in tables and sentences which samples may be used, and how they compare, measure by measure.

        Parameters
        ----------
        everything : bool
            The biases of all quantities, not of the worst ten.

        Returns
        -------
        str
            Of several lines, as ``steinkit compare`` prints it.
        """
        errors = {each.name: {name: str(error) for name, error in each.errors.items()} for each in self.samples}
        return text(self.to_dict(), find_measure, errors, everything=everything)

    def summary(self) -> str:
        """Say the same as `table`.

        Returns
        -------
        str
            A table and what a reader should know of it.
        """
        return self.table()

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
            "reference": {
                measure: [
                    {
                        "draws": each.to_dict()["draws"],
                        "effective_draws": each.to_dict()["effective_draws"],
                        "run": each.to_dict()["run"],
                        "median": each.median,
                        "lower": float(each.lower.min()),
                        "upper": float(each.upper.max()),
                        "values": each.values.tolist(),
                    }
                    for each in references
                ]
                for measure, references in self.references.items()
            },
            "units": None if self.units is None else self.units.document,
            "warnings": list(self.warnings),
            "version": __version__,
        }

    def _entry(self, each: ComparedSample) -> dict[str, Any]:
        sample = each.sample
        ranks = {measure: self.rank(each.name, measure) for measure in self.measures}
        reasons = [f"{measure}: {error}" for measure, error in each.errors.items()]
        return {
            "file": each.name,
            "draws": None if sample is None else len(sample),
            "effective_draws": each.effective,
            "distinct": None if sample is None else len(sample.distinct()),
            "dim": None if sample is None else sample.dim,
            "verdict": None if each.verdict is None else each.verdict.to_dict(),
            "unjudged": each.unjudged,
            "results": [measurement.document for measurement in each.measurements.values()],
            "rank": {measure: rank for measure, rank in ranks.items() if rank is not None},
            "error": "; ".join(reasons) or None,
        }

    def __repr__(self) -> str:
        return f"<Comparison of {len(self.samples)} samples by {', '.join(self.measures)}{reservations(self.warnings)}>"
