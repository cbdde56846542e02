"""Scores of a single sample, with a verdict and reference values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from steinkit import __version__
from steinkit.diagnosis.verdict_result import Verdict
from steinkit.diagnosis.verdict_text import WORST, unjudged_sentence, verdict_blocks
from steinkit.measurement import CERTIFIED_BETWEEN, Measurement, Reference
from steinkit.result import Origin, Result, Statement, running_text
from steinkit.sample import Sample
from steinkit.text import Table, filled, one_line, sentence, units_label, units_sentence
from steinkit.units import Units

_LEFT = ("coordinate", CERTIFIED_BETWEEN)
_MAY_BE_USED = "Can these draws be used?"
_BARE = (
    "A single value is difficult to interpret because it decreases with the number of draws and depends on the target. "
    "Compare it with independent draws (--reference) or with other samples of the same size."
)
_CHANCE = (
    "The draws are not rejected. The largest contributions to the discrepancy are listed for all samples, and can be "
    "due to chance."
)


class MeasuredResult(Result):
    """Result of measures that share units.

    Attributes
    ----------
    units : Units or None
        Common units of the measures, or None if no measure has units.
    """

    if TYPE_CHECKING:  # a field of some results and a property of others

        @property
        def units(self) -> Units | None:
            """Common units of the measures."""

    @property
    def _unit_facts(self) -> tuple[tuple[str, str], ...]:
        """Description of the units, if any, as an item of `facts`."""
        return () if self.units is None else (("units", units_label(self.units.document)),)

    @property
    def _units_text(self) -> str:
        """Sentence about the units, or an empty string."""
        return "" if self.units is None else filled(units_sentence(self.units.document))

    def _closing(self) -> dict[str, Any]:
        """Return the last items of the JSON document."""
        origin = {} if self.origin is None else self.origin.to_dict()
        units = self.units and self.units.document
        return {"units": units, "warnings": list(self.warnings), "version": __version__, **origin}


@dataclass(frozen=True, eq=False)
class Scores(MeasuredResult):
    """Values of the measures for a sample, and its verdict.

    Attributes
    ----------
    sample : Sample
        The sample, with the parameter names of the target if it had no names.
    measurements : tuple of Measurement
    references : mapping of str to Reference
        Values of exact samples, keyed by measure.
    verdict : Verdict or None
    unjudged : str or None
        Reason why there is no verdict, or None if no verdict was requested.
    warnings : tuple of str
        Limitations of the results.
    origin : Origin or None
        Command that generated the result, if any.
    """

    sample: Sample
    measurements: tuple[Measurement, ...]
    references: Mapping[str, Reference]
    verdict: Verdict | None
    unjudged: str | None
    warnings: tuple[str, ...]
    origin: Origin | None = None

    @property
    def units(self) -> Units | None:
        """Units of the measures, or None if no measure has units."""
        return next((each.units for each in self.measurements if hasattr(each, "units")), None)

    def reference(self, each: Measurement) -> Reference | None:
        """Return the reference values of a measure."""
        return self.references.get(each.measure)

    def to_dict(self) -> dict[str, Any]:
        """Return the scores as a JSON document.

        The key "reference" contains the values for the first measure that has a reference.

        Returns
        -------
        dict
            The JSON document, which contains strings, finite numbers, lists and dicts.
        """
        references = {name: reference.to_dict() for name, reference in self.references.items()}
        return {
            "sample": sample_document(self.sample),
            "verdict": self.verdict and self.verdict.to_dict(),
            "unjudged": self.unjudged,
            "units": self.units and self.units.document,
            "results": [each.to_dict() for each in self.measurements],
            "reference": next(iter(references.values()), None),
            "references": references,
            **self._closing(),
        }

    def headline(self) -> str:
        """State the verdict, or the value of the first measure if there is no verdict."""
        if self.verdict is not None:
            return self.verdict.headline()
        first = self.measurements[0]
        return f"{'No verdict; ' if self.unjudged else ''}{sentence(first.title)} {first.shown}"

    def statements(self) -> tuple[Statement, ...]:
        """State the verdict and the value of every measure.

        If there is neither a reference nor a verdict, the statements include a caution.
        """
        found: list[Statement] = []
        if self.verdict is not None:
            found += self.verdict.statements()
            if not self.verdict.is_biased:
                found.append(Statement("limits", "Where does the discrepancy come from?", _CHANCE))
        elif self.unjudged:
            found.append(Statement("number", _MAY_BE_USED, unjudged_sentence(self.unjudged)))
        found += [each for measured in self.measurements for each in measured.statements(self.reference(measured))]
        if self.verdict is None and not any(each.kind == "comparison" for each in found):
            found.append(Statement("comparison", "Is the value small?", _BARE))
        return tuple(found)

    def tables(self) -> tuple[Table, ...]:
        """List the biases, and the measures by coordinate."""
        biases = () if self.verdict is None else self.verdict.tables()
        return (*biases, *(table for each in self.measurements for table in each.tables(self.reference(each))))

    def facts(self) -> tuple[tuple[str, str], ...]:
        """Describe the sample, its units and its origin."""
        distinct = f"{len(self.sample)}, {len(self.sample.distinct())} of them distinct"
        known = ("draws", distinct), ("coordinates", ", ".join(self.sample.names))
        return (*known, *self._unit_facts, ("SHA-256 of the draws", self.sample.sha256), *super().facts())

    def summary(self, *, everything: bool = False) -> str:
        """Report the verdict and the value of every measure.

        Parameters
        ----------
        everything : bool
            If True, the text includes all findings, tests and limits, the computation of each number, and all
            parameters instead of the ten with the largest bias.

        Returns
        -------
        str
            The text of ``steinkit score``.
        """
        blocks = [one_line(self.subject or "The sample")]
        blocks += verdict_blocks(self.verdict, self.unjudged, everything=everything)
        if self.verdict is not None and not everything:
            blocks.append(filled(self.verdict.untested_sentence))
        elif self.verdict is not None and not self.verdict.is_biased:
            blocks.append(filled(_CHANCE))
        if self.units is not None:
            blocks.append(self._units_text)
        omitted = set() if everything else {"method"} | ({"limits"} if self.verdict else set())
        for each in self.measurements:
            reference = self.reference(each)
            blocks.append(running_text([text for text in each.statements(reference) if text.kind not in omitted]))
            blocks += [table.text(_LEFT, None if everything else WORST) for table in each.tables(reference)]
        return "\n\n".join(blocks)


def sample_document(sample: Sample) -> dict[str, object]:
    """Return the JSON entry for the sample."""
    return {"draws": len(sample), "distinct": len(sample.distinct()), "dim": sample.dim, "names": list(sample.names)}
