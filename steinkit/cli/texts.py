"""What ``steinkit score`` says to a reader at a terminal: tables, then what the numbers mean and do not prove."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from steinkit.describe.numbers import midpoint, rounded_outwards
from steinkit.discrepancy.graph.result import GraphSteinDiscrepancy
from steinkit.discrepancy.reference import Reference
from steinkit.measures import Measurement, find_measure

_WIDTH = 100


def as_text(file: str, against: str, measurements: Sequence[Measurement], references: Mapping[str, Reference]) -> str:
    """The report: heading, the measures side by side if there are several, then each in turn."""
    source = "standard input" if file == "-" else file
    lines = [f"{source} against {against}", ""]
    if len(measurements) > 1:
        lines += [*_side_by_side(measurements, references), ""]
    for measurement in measurements:
        lines += [*_DETAILS[measurement.measure](measurement, references.get(measurement.measure)), ""]
    return "\n".join(lines[:-1])


def title_of(measurement: Measurement) -> str:
    """The measure's name in words, with what must be known of the number."""
    title = find_measure(measurement.measure).title
    if measurement.measure != "ksd":
        return title
    result = measurement.result
    return f"{'squared ' if result.squared else ''}{title} ({result.statistic.upper()}-statistic)"


def _side_by_side(measurements: Sequence[Measurement], references: Mapping[str, Reference]) -> list[str]:
    rows = [("measure", "value", "between", "independent samples" if references else "")]
    for measurement in measurements:
        proof = "an estimate"
        if find_measure(measurement.measure).has_bracket:
            proof = " and ".join(rounded_outwards(measurement.lower, measurement.upper))
        reference = references.get(measurement.measure)
        others = "" if reference is None else f"{reference.lower.min():.4g} to {reference.upper.max():.4g}"
        rows.append((title_of(measurement), f"{measurement.value:.6g}", proof, others))
    widths = [max(len(row[k]) for row in rows) for k in range(4)]
    return [f"{row[0]:<{widths[0]}}  {row[1]:>{widths[1]}}  {row[2]:<{widths[2]}}  {row[3]}".rstrip() for row in rows]


def _graph(measurement: Measurement, reference: Reference | None) -> list[str]:
    result: GraphSteinDiscrepancy = measurement.result
    return [*_coordinates(result), "", result.summary(reference), "", _method(result)]


def _coordinates(result: GraphSteinDiscrepancy) -> list[str]:
    names = [*result.sample.names, "total"]
    brackets = [*zip(result.coordinate_lower, result.coordinate_upper, strict=True), (result.lower, result.upper)]
    width = max(len("coordinate"), *map(len, names))
    rows = [f"{'coordinate':<{width}}  {'discrepancy':>11}  {'share':>5}  certified between"]
    for name, (lower, upper) in zip(names, brackets, strict=True):
        shown = midpoint(lower, upper) if result.gap <= result.tolerance else "see bracket"
        share = _share(0.5 * (lower + upper), result)
        rows.append(f"{name:<{width}}  {shown:>11}  {share:>5.0%}  {' and '.join(rounded_outwards(lower, upper))}")
    return rows


def _share(value: float, result: GraphSteinDiscrepancy) -> float:
    return value / result.value if result.value > 0.0 else 0.0


def _method(result: GraphSteinDiscrepancy) -> str:
    kind = "complete graph" if result.dilation == 1.0 else f"{result.dilation:g}-spanner"
    if result.sample.dim == 1:
        kind = "sorted sample"
    edges = f"{len(result.graph.edges)} edges"
    return f"Computed on the {kind} ({edges}) by engine {result.engine}; seconds: {_seconds(result)}."


def _classical(measurement: Measurement, reference: Reference | None) -> list[str]:
    return _paragraph(
        measurement,
        reference,
        "It is the largest gap between sample and target over all admitted functions, not only over those that a graph "
        "on the draws holds together: never above the graph Stein discrepancy. It is known in one dimension only, and "
        "does not see a mode that no draw has visited either.",
    )


def _wasserstein(measurement: Measurement, reference: Reference | None) -> list[str]:
    return _paragraph(
        measurement,
        reference,
        "It is the mean distance by which the sample's mass must be moved to become the target, in the unit of the "
        "draws. It needs the target's cdf, and sees a mode that no draw has visited.",
        proof="found to lie between",  # of a tail known by its cdf alone a part is extrapolated, with a warning
    )


def _kernel(measurement: Measurement, reference: Reference | None) -> list[str]:
    document = measurement.document
    test = ""
    if "p_value" in document:
        test = (
            f" Under the target such a number or a larger one has probability p = {document['p_value']:.3g} (wild "
            f"bootstrap, {document['bootstrap']} replicates, signs that flip with probability "
            f"{document['flip_probability']:.3g})."
        )
    return _paragraph(
        measurement,
        reference,
        f"Its kernel is {measurement.result.kernel!r}.{test} The score does not know the shares of modes that lie far "
        "apart: a sample that misses one, or visits it too often, can score as well as a right one.",
    )


def _effective_sample_size(measurement: Measurement, reference: Reference | None) -> list[str]:
    header = ("coordinate", "mean", "sd", "MCSE", "bulk ESS", "tail ESS", "R-hat")
    keys = ("mean", "sd", "mcse_mean", "bulk_ess", "tail_ess", "r_hat")
    coordinates: list[dict[str, Any]] = measurement.document["coordinates"]
    rows = [header, *((each["name"], *(_shown(each[key]) for key in keys)) for each in coordinates)]
    widths = [max(len(row[k]) for row in rows) for k in range(len(header))]
    table = ["  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]) for row in rows]
    words = (
        f"The effective sample size is {_shown(measurement.document['value'])}, that of the worst coordinate. It "
        "counts the independent draws that would estimate a mean as well, of the distribution that the chains converge "
        f"to: it cannot see whether that is the target.{_course(measurement.document)}"
    )
    return [*table, "", textwrap.fill(words, _WIDTH, break_long_words=False)]


def _course(document: dict[str, Any]) -> str:
    """What else is known of how the draws were made."""
    facts = []
    if document["moved"] is not None:
        facts.append(f"{document['moved']:.0%} of the draws differ from the one before")
    if document["cost_per_draw"] is not None:
        facts.append(f"a draw cost {document['cost_per_draw']:.4g}")
    return f" In these chains {', and '.join(facts)}." if facts else ""


_DETAILS: dict[str, Callable[[Measurement, Reference | None], list[str]]] = {
    "graph": _graph,
    "classical": _classical,
    "wasserstein": _wasserstein,
    "ksd": _kernel,
    "ess": _effective_sample_size,
}


def _paragraph(
    measurement: Measurement, reference: Reference | None, meaning: str, proof: str = "proved to lie between"
) -> list[str]:
    """The number, its proof, what independent samples score, and what it means."""
    bracket = " and ".join(rounded_outwards(measurement.lower, measurement.upper))
    compared = ""
    if reference is not None:
        compared = (
            f" {len(reference.values)} independent samples of {reference.n} draws from the target have "
            f"{reference.lower.min():.4g} to {reference.upper.max():.4g}, median {reference.median:.4g}."
        )
    words = (
        f"The {title_of(measurement)} is {measurement.value:.6g}, {proof} {bracket}.{compared} {meaning} "
        f"Seconds: {_seconds(measurement.result)}."
    )
    return [textwrap.fill(words, _WIDTH, break_long_words=False)]


def _seconds(result: Any) -> str:
    return ", ".join(f"{name} {value:.2f}" for name, value in result.seconds.items())


def _shown(value: float | None) -> str:
    return "undefined" if value is None else f"{value:.4g}"
