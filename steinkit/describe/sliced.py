"""What is said of a sliced graph Stein discrepancy: the number, its proof, and where the sample is off, slice by slice.

What only the test functions show, where there are too many draws and where too few, is said where the entry has
"findings", those of `SlicedSteinDiscrepancy.findings`.
"""

from __future__ import annotations

from collections.abc import Mapping

from steinkit.describe.numbers import compact, count, listed, ratio, value_of
from steinkit.describe.statements import (
    DescribedMeasure,
    Description,
    Document,
    Statement,
    beside_right_samples,
    caution_for_noise,
    claimed,
    coordinates_table,
    heaviest_first,
    spent,
    times_expected,
)

_WHERE = "Where is it off?"
_DESCRIBED = 3  # coordinates
_REGIONS = {"low": "at the low end", "middle": "in the middle", "high": "at the high end"}
_NO_PRAISE = "; below is no proof of quality"
_MEANING = (
    "It is the sum over the coordinates of the largest mean of h, which is 0 under the target, over functions of that "
    "coordinate alone: what it finds is there, it falls like one over the root of the number of draws in every "
    "dimension, and too narrow a sample does not score lower. It does not see shapes that no coordinate shows by "
    "itself, nor a mode that no draw has visited."
)


def describe_sliced(
    measure: DescribedMeasure, entry: Document, reference: Document | None, sample: Document
) -> Description:
    """The number, the comparison, the coordinates that carry most, and a table of brackets."""
    lower, upper = entry["lower"], entry["upper"]
    what = f"What is its {measure.title}?"
    size = f"({count(sample['draws'], 'draw')}, {count(sample['dim'], 'coordinate')})"
    number = f"The {measure.title} is {value_of(entry)}, {claimed(measure.claim, lower, upper)} {size}."
    said = [
        Statement("number", what, number),
        Statement("limits", f"What does the {measure.title} say?", _MEANING, continues=True),
    ]
    if reference is not None:
        said.append(
            Statement("comparison", "Is that good?", beside_right_samples(entry, reference, sample, _NO_PRAISE))
        )
    where = _where(entry, reference)
    said += [Statement("blame", _WHERE, where)] if where else []
    if spent(entry):
        said.append(Statement("method", "How was it computed?", f"Seconds: {spent(entry)}."))
    return Description(measure.title, tuple(said), coordinates_table(measure.title, entry, reference))


def _where(entry: Document, reference: Document | None) -> str:
    """What the heaviest slices carry, and where along them there tend to be too many draws."""
    rows = entry["coordinates"]
    regions = entry.get("findings", {}).get("regions")
    times = times_expected(entry, reference)
    excess = [row["value"] for row in rows] if times is None else times
    order = heaviest_first(entry, reference)
    heavy = [j for j in order[:_DESCRIBED] if excess[j] >= 0.5 * excess[order[0]]]
    said = []
    if len(rows) > 1:
        carried = [f"{rows[j]['name']} ({compact(rows[j]['value'])})" for j in heavy]
        if times is not None:
            carried = [f"{rows[j]['name']} ({compact(rows[j]['value'])}, {ratio(excess[j])} times)" for j in heavy]
        beside = "" if times is None else " beside the median of right samples"
        said.append(f"Most is carried{beside} by {listed(carried)}, each meant given the other coordinates.")
    if regions is not None:
        found = [(rows[j]["name"], _too_many(regions[j], rows[j]["value"])) for j in heavy]
        said += [f"In {name}, {words}." for name, words in found if words]
    if said and (caution := caution_for_noise(entry, reference)):
        said.insert(0, caution)
    return " ".join(said)


def _too_many(means: Mapping[str, float], carried: float) -> str:
    """In which regions h is large, and in which it is negative."""
    many = [words for region, words in _REGIONS.items() if means[region] >= carried > 0.0]
    few = [words for region, words in _REGIONS.items() if means[region] < 0.0]
    if not many or not few:
        return ""
    return f"there tend to be too many draws {listed(many)} and too few {listed(few)}"
