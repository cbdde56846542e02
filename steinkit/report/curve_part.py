"""What a report says of curves: a measure against draws or cost."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from steinkit import plots
from steinkit.curves import Curve
from steinkit.describe.numbers import bracket, count, listed, number, sentence
from steinkit.measures import find_measure
from steinkit.report.parts import Part, Picture, Table
from steinkit.report.pictures import NARROW, WIDE, label, on_axes
from steinkit.report.reproduction import command_listings
from steinkit.report.sources import Found

_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#000000")
_INDEPENDENT = -0.5  # rate of independent draws
_FLAT = -0.25  # a rate above it is nearer to none
_SAME = 0.01  # relative difference between costs a draw that is none


def curve_parts(found: Sequence[Found]) -> list[Part]:
    """The verdict of each curve; those that can share a picture share it, with the first of them.

    Parameters
    ----------
    found : sequence of Found
        Of kind "curve".
    """
    curves = {each.name: _curve(each.document) for each in found}
    shared: dict[tuple[str, bool], dict[str, Curve]] = {}
    for name, curve in curves.items():
        shared.setdefault((curve.measure, curve.budget is None), {})[name] = curve
    pictures = {next(iter(group)): [_picture(group), *_against_cost(group)] for group in shared.values()}
    return [_part(each, curves[each.name], pictures.get(each.name, ())) for each in found]


def _part(found: Found, curve: Curve, pictures: Sequence[Picture]) -> Part:
    files = found.document.get("files", ())
    return Part(
        source=found.name,
        headline=_headline(found.name, curve),
        answers=tuple(_answers(curve)),
        reservations=curve.warnings,
        pictures=tuple(pictures),
        tables=(_table(found.name, curve),),
        facts=(
            *((("samples", ", ".join(files)),) if files else ()),
            ("measure", find_measure(curve.measure).title),
            ("steinkit that measured it", found.document["version"]),
            *((f"SHA-256 of {name}", value) for name, value in (found.hashes or {}).items()),
        ),
        listings=command_listings(found.document),
    )


def _curve(document: Mapping[str, Any]) -> Curve:
    """The curve again, from its document."""

    def numbers(key: str) -> Any:
        return None if document[key] is None else np.array(document[key], dtype=np.float64)

    tail = np.zeros(len(document["n"]), dtype=np.bool_)
    tail[document["tail"]] = True
    low, high = numbers("rate_interval")
    return Curve(
        measure=document["measure"],
        n=numbers("n"),
        cost=numbers("cost"),
        budget=numbers("budget"),
        values=numbers("values"),
        lower=numbers("lower"),
        upper=numbers("upper"),
        replicates=np.atleast_2d(numbers("replicates")),
        interval=numbers("interval"),
        rate=float(numbers("rate")) if document["rate"] is not None else math.nan,
        rate_interval=(float(low), float(high)),
        interval_kind=document["interval_kind"],
        tail=tail,
        level=document["level"],
        warnings=tuple(document["warnings"]),
    )


def _headline(name: str, curve: Curve) -> str:
    title, against = find_measure(curve.measure).title, "the draws" if curve.budget is None else "the cost"
    if not math.isfinite(curve.rate):
        return f"{sentence(title)} of {name}: no rate could be fitted"
    low, high = curve.rate_interval
    goes = "falls" if curve.rate < 0.0 else "grows"
    return f"{sentence(title)} of {name} {goes} like {against} to the power {curve.rate:.2f} ({low:.2f} to {high:.2f})"


def _answers(curve: Curve) -> list[tuple[str, str]]:
    known, first, last = find_measure(curve.measure), _end(curve, 0), _end(curve, -1)
    kind = (
        f"The {curve.level:.0%} interval comes from resampling {count(len(curve.replicates), 'sample')}."
        if curve.interval_kind == "bootstrap"
        else "There is one sample: the interval is that of the regression, which says how straight the line is, not "
        "how much another run would differ."
    )
    found = [
        ("How does it go?", f"From {first} to {last}."),
        ("How sure is the rate?", f"It is fitted to the last {count(int(curve.tail.sum()), 'point')}. {kind}"),
    ]
    if not known.smaller_is_better:
        return [
            *found,
            (
                "What does this not prove?",
                "An effective size that grows like the draws speaks for mixing, not for the right target.",
            ),
        ]
    return [
        *found,
        ("What does the rate say?", _meaning(curve)),
        (
            "What does this not prove?",
            "That there is no bias: a curve that still falls may level out later.\nThat all of the target was visited: "
            "a mode that no draw has come near changes nothing that a Stein discrepancy sees.",
        ),
    ]


def _meaning(curve: Curve) -> str:
    """The rate beside that of independent draws."""
    independent = "Independent draws have a power near -0.5."
    low, high = curve.rate_interval
    if not math.isfinite(curve.rate):
        return independent
    if low > _FLAT:
        return f"{independent} This curve is flatter: it levels out, as it does at a bias that more draws do not mend."
    if low <= _INDEPENDENT <= high:
        return f"{independent} This rate agrees with that" + (
            ", and with that of a bias as well." if high > _FLAT else "."
        )
    if high < _INDEPENDENT:
        return f"{independent} This curve falls faster."
    return f"{independent} This curve falls more slowly: a longer one would show whether it levels out at a bias."


def _end(curve: Curve, k: int) -> str:
    cost = "" if curve.cost is None else f" (cost {number(float(curve.cost[k]))})"
    return f"{number(float(curve.values[k]))} at {curve.n[k]:g} draws{cost}"


def _picture(curves: Mapping[str, Curve]) -> Picture:
    lone = len(curves) == 1
    some = next(iter(curves.values()))
    against = "draws" if some.budget is None else "the cost of the draws"

    def draw(ax: Any) -> None:
        for (name, curve), colour in zip(curves.items(), itertools.cycle(_COLOURS), strict=False):
            plots.curve(curve, ax, label=None if lone else label(name), color=colour)

    band = (
        " Bands are bootstrap intervals over replicates."
        if any(c.interval is not None for c in curves.values())
        else ""
    )
    described = " ".join(f"{name}: {_in_numbers(curve)}." for name, curve in curves.items())
    fitted = any(math.isfinite(curve.rate) for curve in curves.values())
    line = "; the broken line is the rate fitted to the tail" if fitted else ""
    title = find_measure(some.measure).title
    return Picture(
        title=f"{sentence(title)} against {against}",
        caption=(
            f"Both axes are logarithmic, so that a power of {against} is a straight line{line}."
            f"{band}" + ("" if lone else f" Curves: {listed(list(curves), most=6)}.")
        ),
        description=f"{sentence(title)} against {against}. {described}",
        wide=on_axes(draw, WIDE, 4.3),
        narrow=on_axes(draw, NARROW, 3.6),
    )


def _in_numbers(curve: Curve) -> str:
    rate = f", rate {number(curve.rate, 3)}" if math.isfinite(curve.rate) else ""
    return f"from {_end(curve, 0)} to {_end(curve, -1)}{rate}"


def _against_cost(curves: Mapping[str, Curve]) -> list[Picture]:
    """Curves over draws again over their cost, where a draw does not cost the same in all."""
    costs = [
        curve.cost[-1] / curve.n[-1] for curve in curves.values() if curve.budget is None and curve.cost is not None
    ]
    if len(costs) < len(curves) or max(costs) <= (1.0 + _SAME) * min(costs):
        return []
    # the rate was fitted to draws
    return [_picture({name: replace(curve, budget=curve.cost, rate=math.nan) for name, curve in curves.items()})]


def _table(name: str, curve: Curve) -> Table:
    proves = find_measure(curve.measure).has_bracket
    columns = ["draws", *(["cost"] if curve.cost is not None else []), "value"]
    columns += ["certified between"] if proves else []
    columns += [f"{curve.level:.0%} interval"] if curve.interval is not None else []
    rows = []
    for k in range(len(curve.n)):
        row = [f"{curve.n[k]:g}"]
        row += [number(float(curve.cost[k]))] if curve.cost is not None else []
        row += [number(float(curve.values[k]))]
        row += [bracket(float(curve.lower[k]), float(curve.upper[k]))] if proves else []
        row += [" to ".join(number(float(end)) for end in curve.interval[k])] if curve.interval is not None else []
        rows.append(tuple(row))
    return Table(
        f"{sentence(find_measure(curve.measure).title)} of the first draws: {name}", tuple(columns), tuple(rows)
    )
