"""What ``steinkit score`` prints and writes: the JSON document, which is a contract, and the text."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from steinkit import __version__
from steinkit.discrepancy.reference import Reference
from steinkit.discrepancy.result import GraphSteinDiscrepancy
from steinkit.discrepancy.words import midpoint, rounded_outwards
from steinkit.sample import Sample


def as_document(
    sample: Sample, result: GraphSteinDiscrepancy, reference: Reference | None, notes: Sequence[str]
) -> dict[str, Any]:
    """The document that ``--json`` prints; its keys change only with the changelog."""
    points = result.sample
    names = zip(points.names, result.coordinate_values, result.coordinate_lower, result.coordinate_upper, strict=True)
    return {
        "sample": {
            "draws": len(sample),
            "distinct": len(points),
            "dim": sample.dim,
            "names": list(points.names),
        },
        "results": [
            {
                "measure": "graph",
                "value": result.value,
                "lower": result.lower,
                "upper": result.upper,
                "coordinates": [
                    {"name": name, "value": float(value), "lower": float(lower), "upper": float(upper)}
                    for name, value, lower, upper in names
                ],
                "edges": len(result.graph.edges),
                "dilation": result.dilation,
                "engine": result.engine,
                "seconds": result.seconds,
            }
        ],
        "reference": None if reference is None else _reference_document(reference),
        "warnings": list(notes),
        "version": __version__,
    }


def _reference_document(reference: Reference) -> dict[str, Any]:
    brackets = zip(reference.values, reference.lower, reference.upper, strict=True)
    return {
        "draws": reference.n,
        "median": reference.median,
        "samples": [
            {"value": float(value), "lower": float(lower), "upper": float(upper)} for value, lower, upper in brackets
        ],
    }


def as_json(document: dict[str, Any]) -> str:
    """JSON text, in ASCII so that it passes through any encoding; numbers lose no bit."""
    return json.dumps(document, indent=2, allow_nan=False)


def as_text(
    file: str,
    against: str,
    result: GraphSteinDiscrepancy,
    reference: Reference | None,
) -> str:
    """The report for a reader at a terminal: heading, table of coordinates, summary, how it was computed."""
    source = "standard input" if file == "-" else file
    lines = [
        f"{source} against {against}",
        "",
        *_table(result),
        "",
        result.summary(reference),
        "",
        _method(result),
    ]
    return "\n".join(lines)


def _table(result: GraphSteinDiscrepancy) -> list[str]:
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
    seconds = ", ".join(f"{name} {value:.2f}" for name, value in result.seconds.items())
    return f"Computed on the {kind} ({len(result.graph.edges)} edges) by engine {result.engine}; seconds: {seconds}."
