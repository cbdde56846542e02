"""What a measure is before it is taken, and what taking it gives."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from steinkit.describe.bracketed import describe_bracketed
from steinkit.describe.claims import Claim
from steinkit.describe.description import Describe
from steinkit.errors import UsageError
from steinkit.measures.options import Option
from steinkit.sample import Sample
from steinkit.target import Target


@dataclass(frozen=True, eq=False)
class Measurement:
    """A measure of a sample.

    Attributes
    ----------
    measure : str
        One of `measure_names`.
    value : float
    lower, upper : float
        The bracket that proves the value; both are the value itself for ess, which is an estimate and proves nothing.
    result : object
        What the measure's own function returned.
    document : dict
        Its entry in JSON; the keys are part of the contract of ``steinkit score --json``.
    warnings : tuple of str
    unranked : str
        Why samples must not be ordered by this value; empty where they may.
    """

    measure: str
    value: float
    lower: float
    upper: float
    result: Any
    document: dict[str, Any]
    warnings: tuple[str, ...]
    unranked: str = ""

    @classmethod
    def of(cls, name: str, result: Any, document: dict[str, Any] | None = None) -> Measurement:
        """The measurement that a measure's own function returned as `result`."""
        value = result.value
        return cls(
            measure=name,
            value=value,
            lower=getattr(result, "lower", value),
            upper=getattr(result, "upper", value),
            result=result,
            document=result.to_dict() if document is None else document,
            warnings=result.warnings,
            unranked=getattr(result, "unranked", ""),
        )

    @property
    def coordinate_values(self) -> list[float] | None:
        """What each coordinate carries of the value; None where it is no sum over them."""
        rows = self.document.get("coordinates", [{}])
        return [each["value"] for each in rows] if all("value" in each for each in rows) else None


Take = Callable[[Sample, Target | None, Mapping[str, Any]], Measurement]


@dataclass(frozen=True)
class Measure:
    """All that is known of a measure.

    Attributes
    ----------
    name, title : str
    take : callable, (sample, target, settings) -> Measurement
        Takes the measure of a sample against a target, with the measure's own settings by their names.
    options : mapping of str to Option
        What it can be told.
    smaller_is_better : bool
    claim : {"proved", "found", "estimated"}
        What its values claim: a bracket that is proved, one of which a part is extrapolated, none.
    needs : {"draws", "scores", "target"}
        What it looks at. One that looks at the draws alone cannot see bias.
    reuses_scores : bool
        Whether scores of all draws, evaluated once, serve for the first n of them as well.
    max_dim : int, optional
        Largest dimension it takes.
    has_picture : bool
        Whether `steinkit.plots.picture` draws its results.
    refuses : mapping of str to str
        Settings of other measures that would make its value one of something else, and why.
    describe : callable
        Says in words what its entry in JSON means.
    take_value : callable, optional
        Takes the measure with less in its document, where the value alone is much less work.
    """

    name: str
    title: str
    take: Take
    options: Mapping[str, Option] = field(default_factory=dict)
    smaller_is_better: bool = True
    claim: Claim = "proved"
    needs: Literal["draws", "scores", "target"] = "scores"
    reuses_scores: bool = False
    max_dim: int | None = None
    has_picture: bool = False
    refuses: Mapping[str, str] = field(default_factory=dict)
    describe: Describe = describe_bracketed
    take_value: Take | None = None

    @property
    def has_bracket(self) -> bool:
        """Whether its values come with a bracket."""
        return self.claim != "estimated"

    def settings_from(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Its own settings among those given, and the defaults of the others.

        Raises
        ------
        UsageError
            If there is one that it refuses.
        """
        for name, reason in self.refuses.items():
            if given.get(name) is not None:
                raise UsageError(reason)
        return {name: given.get(name, option.default) for name, option in self.options.items()}
