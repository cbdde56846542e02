"""What is said of the moments: how far locations, spreads and dependences are off, and whether chance explains it."""

from __future__ import annotations

from collections.abc import Sequence

from steinkit.describe.layout import Table
from steinkit.describe.numbers import compact, count, listed, probability, sentence, standard_errors
from steinkit.describe.statements import DescribedMeasure, Description, Document, Statement, spent

Feature = Document

_NAMED = 5
_LARGE = 1e4  # standard errors, from which their digits say nothing
_CLEAR = 3.0  # standard errors below which a moment is not named
_SHARE = 0.2  # of the largest, below which a moment is not named beside it
_TOO = {"location": ("too low", "too high"), "spread": ("too narrow", "too wide")}
_MEANING = (
    "Each moment, such as 1 + (x - m) s(x) for the score s, has mean 0 under the target. p allows for autocorrelation "
    "within the chains and for the number of moments looked at. A sample that agrees in all of them may still be wrong "
    "in its shape, in the shares of its modes, or in a mode that no draw has visited."
)


def describe_moments(
    measure: DescribedMeasure, entry: Document, reference: Document | None, sample: Document
) -> Description:
    """The largest moment and the p-value, which moments are off and which way, and a table of the worst."""
    what = f"What is its {measure.title}?"
    number = (
        f"The {measure.title} is {compact(entry['value'])}: the largest mean of a location, spread or dependence, "
        "which is 0 under the target, in standard units. In a right sample of "
        f"{count(round(entry['n_effective']), 'effective draw')} moments as far off have probability "
        f"{probability(entry['p_value'])}."
    )
    said = [
        Statement("number", what, number),
        Statement("limits", f"What does the {measure.title} say?", _MEANING, continues=True),
        Statement("blame", "Where is it off?", _blame(entry)),
    ]
    if "chains" in entry:
        said.append(Statement("comparison", "Do the chains agree?", _chains(entry["chains"])))
    if spent(entry):
        said.append(Statement("method", "How was it computed?", f"Seconds: {spent(entry)}."))
    return Description(measure.title, tuple(said), _table(entry, measure.title))


def named(entry: Document) -> list[Feature]:
    """Locations, spreads and dependences, the largest in standard errors first."""
    found = [each for each in entry["features"] if each["kind"] in (*_TOO, "dependence")]
    return sorted(found, key=lambda each: -abs(each["z"]))


def direction(feature: Feature) -> str:
    """What a moment above or below zero says of the draws, given the other coordinates.

    Correlations are signed: one of -.5 lies above one of -.8.
    """
    if feature["kind"] in _TOO:
        return _TOO[feature["kind"]][int(feature["z"] < 0.0)]
    return f"{'below' if feature['z'] > 0.0 else 'above'} the target's"


def _blame(entry: Document) -> str:
    """The worst moments in words, worst first."""
    worst = named(entry)[:_NAMED]
    least = max(_CLEAR, _SHARE * abs(worst[0]["z"]))
    clear = [each for each in worst if abs(each["z"]) >= least]
    if not clear:
        return f"No location, spread or dependence is {_CLEAR:g} standard errors or more from 0."
    given = " Each is meant given the others: beside a coordinate that has moved those correlated with it are off, too."
    return f"In standard errors from 0: {'; '.join(map(_said, clear))}.{given * (len(clear) > 1)}"


def _said(feature: Feature) -> str:
    names, size = listed(feature["coordinates"]), standard_errors(feature["z"])
    if feature["kind"] == "dependence":
        return f"the correlation of {names} {direction(feature)} ({size})"
    return f"{names} {direction(feature)} ({size})"


def _signed(z: float) -> str:
    return f"{z:+.2f}" if abs(z) < _LARGE else f"{z:+.3g}"


def _chains(chains: Sequence[Document]) -> str:
    each = ", ".join(f"chain {one['chain']} {one['p_value']:.2g}" for one in chains)
    return f"The p-values of the chains, each by itself: {each}."


def _table(entry: Document, title: str) -> Table:
    rows = tuple(
        (
            f"{each['kind']} of {listed(each['coordinates'])}",
            compact(each["mean"], 3),
            _signed(each["z"]),
            compact(each["autocorrelation_time"], 3),
        )
        for each in named(entry)[:_NAMED]
    )
    return Table(
        f"{sentence(title)}, largest first", ("moment", "mean", "standard errors", "autocorrelation time"), rows
    )
