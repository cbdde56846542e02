"""What a report says of curves: a measure against draws or cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from steinkit import plots
from steinkit.describe.curve import end, grounds, headline, table
from steinkit.describe.numbers import listed, sentence
from steinkit.describe.statements import Document, answers
from steinkit.measures import find_measure
from steinkit.report.elements import NARROW, WIDE, Part, Picture, label, on_axes
from steinkit.report.reproduction import command_listings
from steinkit.report.sources import Found

_SAME = 0.01  # relative difference between costs a draw that is none


def curve_parts(found: Sequence[Found]) -> list[Part]:
    """The verdict of each curve; those that can share a picture share it, with the first of them.

    Parameters
    ----------
    found : sequence of Found
        Of kind "curve".
    """
    shared: dict[tuple[str, bool], dict[str, Document]] = {}
    for each in found:
        kind = each.document["measure"], each.document["budget"] is None
        shared.setdefault(kind, {})[each.name] = each.document
    pictures = {next(iter(group)): [_picture(group), *_against_cost(group)] for group in shared.values()}
    return [_part(each, pictures.get(each.name, ())) for each in found]


def _part(found: Found, pictures: Sequence[Picture]) -> Part:
    document, measure = found.document, find_measure(found.document["measure"])
    files, numbers = document.get("files", ()), table(document, measure)
    return Part(
        source=found.name,
        subject=found.subject,
        headline=headline(document, measure),
        answers=answers(grounds(document, measure)),
        reservations=tuple(document["warnings"]),
        pictures=tuple(pictures),
        tables=(replace(numbers, caption=f"{sentence(numbers.caption)}: {found.name}"),),
        facts=found.facts(
            *([("samples", ", ".join(files))] if files else []), ("measure", measure.title), made="measured it"
        ),
        listings=command_listings(document),
    )


def _picture(curves: Mapping[str, Document]) -> Picture:
    lone = len(curves) == 1
    some = next(iter(curves.values()))
    against = "draws" if some["budget"] is None else "the cost of the draws"

    def draw(ax: Any) -> None:
        for number, (name, curve) in enumerate(curves.items()):
            colour, mark, _ = plots.look(number)
            plots.curve(curve, ax, label=None if lone else label(name), color=colour, marker=mark)

    fitted = any(curve["rate"] is not None for curve in curves.values())
    line = "; the broken line is the rate fitted to the tail" if fitted else ""
    replicated = any(curve["interval"] is not None for curve in curves.values())
    band = " Bands are bootstrap intervals over replicates." if replicated else ""
    described = " ".join(f"{name}: {_in_numbers(curve)}." for name, curve in curves.items())
    title = sentence(find_measure(some["measure"]).title)
    return Picture(
        title=f"{title} against {against}",
        caption=f"Both axes are logarithmic, so that a power of {against} is a straight line{line}.{band}"
        + ("" if lone else f" Curves: {listed(list(curves), most=6)}."),
        description=f"{title} against {against}. {described}",
        wide=on_axes(draw, WIDE, 4.3),
        narrow=on_axes(draw, NARROW, 3.6),
    )


def _in_numbers(curve: Document) -> str:
    rate = "" if curve["rate"] is None else f", rate {format(curve['rate'], '.2f')}"
    return f"from {end(curve, 0)} to {end(curve, -1)}{rate}"


def _against_cost(curves: Mapping[str, Document]) -> list[Picture]:
    """Curves over draws again over their cost, where a draw does not cost the same in all."""
    costs = [
        curve["cost"][-1] / curve["n"][-1]
        for curve in curves.values()
        if curve["budget"] is None and curve["cost"] is not None
    ]
    if len(costs) < len(curves) or max(costs) <= (1.0 + _SAME) * min(costs):
        return []
    # the rate was fitted to draws
    return [_picture({name: {**curve, "budget": curve["cost"], "rate": None} for name, curve in curves.items()})]
