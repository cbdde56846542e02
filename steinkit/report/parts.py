"""What a report says of samples: the score of one with the draws behind it, a comparison of several, and curves."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from steinkit import plots
from steinkit.comparison_text import (
    comparison_grounds,
    comparison_headline,
    comparison_table,
    curve_grounds,
    curve_headline,
    curve_table,
    judged_tables,
    standings,
)
from steinkit.diagnosis.verdict_text import (
    descriptions,
    fault,
    headline,
    measures_table,
    page_statements,
    verdict_biases,
)
from steinkit.discrepancy.text import direction, named_moments
from steinkit.errors import InputError, SteinkitError
from steinkit.measures import find_measure
from steinkit.measures.options import Measure
from steinkit.measures.scoring import Scores
from steinkit.plots.discrepancy import Standard, key
from steinkit.report.elements import (
    NARROW,
    WIDE,
    Drawing,
    Part,
    Picture,
    bars_pictures,
    brackets_caption,
    drawing,
    draws_in_numbers,
    has_bars,
    label,
    pictured,
)
from steinkit.report.sources import Found
from steinkit.result import Document
from steinkit.target import Target
from steinkit.text import Table, compact, listed, sentence, value_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_IN_WORDS = 10  # moments


def score_part(found: Found, target: Target | str | None = None) -> Part:
    """The verdict, pictures and tables of a score.

    Parameters
    ----------
    found : Found
        Of kind "score".
    target : Target or str, optional
        What was scored against, or its name, where that is code of the user's own: for the picture of the draws.
    """
    document, reservations = found.document, list[str]()
    drawn: list[Picture] = []
    try:
        drawn = draws_pictures(found, target)
    except SteinkitError as error:
        reservations = [f"the draws are not shown: {error}"]
    sample, described = document["sample"], descriptions(document, find_measure)
    return found.part(
        headline(document, find_measure),
        page_statements(described, document.get("verdict"), document.get("unjudged")),
        ("draws", f"{sample['draws']}, {sample['distinct']} of them distinct"),
        ("coordinates", ", ".join(sample["names"])),
        reservations=reservations,
        pictures=_pictures(found, drawn),
        tables=(
            *verdict_biases(document.get("verdict")),
            measures_table(document, described, find_measure),
            *(each.table for each in described if each.table is not None),
        ),
    )


def _pictures(found: Found, drawn: list[Picture]) -> list[Picture]:
    """The faults and the draws, and what documents hold enough for: bars of sums over coordinates, moments."""
    entries = found.document["results"]
    barred, pictures = [each for each in entries if has_bars(each)], []
    for entry in barred:
        title = find_measure(entry["measure"]).title
        shown = title if len(barred) > 1 else ""
        pictures += bars_pictures({found.sample: entry["coordinates"]}, brackets_caption(title), shown)
    judged = _faults(found.sample, found.document.get("verdict"))
    return [
        *judged,
        *drawn,
        *pictures,
        *(_moments(found.sample, each) for each in entries if "features" in each),
    ]


def _faults(name: str, document: Mapping[str, Any] | None) -> list[Picture]:
    """What is wrong with a sample, if something is flagged."""
    if not document or not document["findings"]:
        return []

    def draw(ax: Any) -> None:
        plots.verdict(document, ax)
        ax.set_title("")  # the page says it in words, and a narrow picture has no room for it
        ax.set_xlabel("standard errors from the target", fontsize=9)
        ax.tick_params(axis="y", labelsize=8.5)

    faults = "; ".join(f"{fault(each)}, {abs(each['z']):.3g} standard errors" for each in document["findings"])
    height = 1.2 + 0.4 * len(document["findings"])
    caption = (
        "A line a fault, worst on top: standard errors from what the target asks for, with 95% intervals. The grey "
        "band is what chance makes of what is right."
    )
    return [pictured(f"What is wrong with {name}", caption, f"{sentence(faults)}.", draw, height)]


def _moments(name: str, entry: Mapping[str, Any]) -> Picture:
    """The matrix of the standard errors of a sample's moments."""
    dim = sum(each["kind"] == "location" for each in entry["features"])
    height = 1.9 + 0.32 * max(dim, 2)
    worst = ", ".join(
        f"{each['kind']} of {listed(each['coordinates'])} {abs(each['z']):.2g} standard errors {direction(each)}"
        for each in named_moments(entry)[:_IN_WORDS]
    )
    caption = (
        "A row a coordinate: its location, its spread, and its dependence with those before it, in standard errors "
        "from what the target has. Red is too high, too wide, or a correlation above the target's; blue the contrary; "
        "pale is what chance explains."
    )
    return pictured(f"Moments of {name}", caption, f"{sentence(worst)}.", partial(plots.moment_matrix, entry), height)


_DRAWN = ("graph", "sliced")  # measures whose pictures show the draws
_CAPTIONS = {
    "graph": "Colour is the test function h, whose mean over the draws is the discrepancy and under the target 0: red "
    "triangles where there are too many draws, blue ones where there are too few.",
    "curve": "The test function h, whose mean over the draws is the discrepancy and under the target 0: red where "
    "there are too many draws, blue where there are too few; below it a histogram of the draws.",
    "sliced": "The test function h along the coordinate that carries most: its mean over the draws is what the "
    "coordinate carries, and under the target 0. Red where there are too many draws, blue where there are too few.",
}


def draws_pictures(found: Found, target: Target | str | None) -> list[Picture]:
    """The draws by the first measure that has a picture of them; none where no measure does.

    Parameters
    ----------
    found : Found
        Of kind "score".
    target : Target or str, optional
        What was scored against, or its name, where that is code of the user's own: for its contours.

    Raises
    ------
    SteinkitError
        If no arrays were kept with the document, or the target cannot be made.
    """
    if not any(each["measure"] in _DRAWN for each in found.document["results"]):
        return []
    if not isinstance(found.result, Scores):
        raise InputError("the document holds numbers only; steinkit score -o keeps what a page shows the draws with")
    drawn = next(each for each in found.result.measurements if each.measure in _DRAWN)
    standard = found.result.references.get(drawn.measure) or found.result.verdict
    return [_draws_picture(found, drawn.measure, drawn.result, _contoured(found, target), standard)]


def _contoured(found: Found, target: Target | str | None) -> Target | None:
    """The target whose contours lie behind the draws; code of the user's own only where it was passed."""
    from steinkit.targets import make_target
    from steinkit.targets.registry import load_target_or_model

    known, names = found.document.get("target"), found.document["sample"]["names"]
    if isinstance(target, str):
        own = load_target_or_model(target)
        return own if isinstance(own, Target) else own.make_target(names, own.label)
    if target is not None or known is None or ":" in known["name"] or known["name"].endswith(".py"):
        return target
    return make_target(known["name"], known["options"], len(names))


def _draws_picture(found: Found, measure: str, result: Any, target: Target | None, standard: Standard) -> Picture:
    draw, kind = partial(plots.draws, result, reference=standard, colorbar=False), "graph"
    if measure == "sliced":
        draw, kind = partial(plots.slice_function, result, reference=standard, legend=False), "sliced"
    elif result.sample.dim == 1:
        draw, kind = partial(plots.stein_function, result, reference=standard, legend=False), "curve"
    elif target is not None:
        draw = partial(plots.draws_with_density, result, target, reference=standard, colorbar=False)
    wide, said = _on_paper(draw, WIDE, 4.6)
    narrow, _ = _on_paper(draw, NARROW, 4.2)
    contours = ""
    if kind == "graph" and result.sample.dim == 2 and target is not None and target.has_log_density:
        contours = " Grey regions hold 50, 90 and 99% of the target."
    return Picture(
        title=f"The draws of {found.sample}",
        caption=f"{_CAPTIONS[kind]} {sentence(said)}.{contours}",
        description=draws_in_numbers(found.sample, result),
        wide=wide,
        narrow=narrow,
    )


def _on_paper(draw: Callable[[Axes], Axes], width: float, height: float) -> tuple[Drawing, str]:
    """The picture with its legend below it, and what its title said of grey, which stands in the caption."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    ax = draw(figure.add_subplot())
    said = ax.get_title().split("\n")[-1]
    ax.set_title("")
    handles = ax.get_legend_handles_labels()[0]
    if handles:
        columns = 2 if width > NARROW else 1
        legend = [*handles, *key(marks=False)]
        figure.legend(handles=legend, loc="outside lower center", ncols=columns, fontsize=8, frameon=False)
    return drawing(figure), said


_MOST_BAR_SAMPLES = 6


def comparison_part(found: Found) -> Part:
    """The verdict, pictures and tables of a comparison; `found` is of kind "comparison"."""
    document = found.document
    measures = [find_measure(name) for name in document["ranking"]]
    pictures = [_ranks(document, measure) for measure in measures if standings(document, measure.name)]
    return found.part(
        comparison_headline(document, measures[0]),
        comparison_grounds(document, find_measure),
        ("samples", ", ".join(each["file"] for each in document["samples"])),
        pictures=[*pictures, *_bars(document, measures)],
        tables=[*judged_tables(document), *(_table(document, measure) for measure in measures)],
    )


def _table(document: Document, measure: Measure) -> Table:
    """The table of a terminal, each row named by its sample."""
    found = comparison_table(document, measure, "sample")
    return replace(found, caption=sentence(found.caption))


def _ranks(document: Document, measure: Measure) -> Picture:
    def draw(ax: Any) -> None:
        plots.comparison(document, ax, measure=measure.name)
        ax.tick_params(axis="y", labelsize=8.5)
        if ax.get_legend() is not None:
            ax.get_legend().remove()  # the caption says what the band is

    height = 1.5 + 0.42 * len(document["samples"])
    samples = standings(document, measure.name)
    values = "; ".join(
        f"{f'rank {each.rank}'.rstrip('=') if each.rank else 'not ranked'}, {each.name}: {value_of(each.entry)}"
        for each in samples
    )
    bands = len(document["reference"].get(measure.name, ()))
    band = " The grey band holds independent samples from the target." if bands else ""
    if bands > 1:
        band = " Each sample's grey band holds independent samples from the target of as many effective draws."
    bars = " Bars are the brackets: samples whose bars overlap share a rank (=)." if measure.has_bracket else ""
    grey = "" if all(each.rank for each in samples) else " Samples in grey cannot be ranked by it."
    return pictured(
        f"{sentence(measure.title)}, best first",
        f"One line a sample, with its rank beside its name.{bars}{band}{grey}",
        f"{sentence(measure.title)}: {values}.",
        draw,
        height,
    )


def _bars(document: Document, measures: list[Measure]) -> list[Picture]:
    """What each coordinate carries of the discrepancy of each sample, best first, by the first measure that is one."""
    for measure in measures:
        found = {each.name: each.entry for each in standings(document, measure.name)}
        groups = {name: entry["coordinates"] for name, entry in found.items() if has_bars(entry)}
        if groups and len(groups) <= _MOST_BAR_SAMPLES:
            return bars_pictures(groups, brackets_caption(measure.title))
    return []


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
    pictures = {next(iter(group)): [_curves_picture(group), *_against_cost(group)] for group in shared.values()}
    return [_curve_part(each, pictures.get(each.name, ())) for each in found]


def _curve_part(found: Found, pictures: Sequence[Picture]) -> Part:
    document, measure = found.document, find_measure(found.document["measure"])
    files, numbers = document.get("files", ()), curve_table(document, measure)
    return found.part(
        curve_headline(document, measure),
        curve_grounds(document, measure),
        *([("samples", ", ".join(files))] if files else []),
        ("measure", measure.title),
        pictures=pictures,
        tables=[replace(numbers, caption=f"{sentence(numbers.caption)}: {found.name}")],
    )


def _curves_picture(curves: Mapping[str, Document]) -> Picture:
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
    heading, names = f"{title} against {against}", "" if lone else f" Curves: {listed(list(curves), most=6)}."
    caption = f"Both axes are logarithmic, so that a power of {against} is a straight line{line}.{band}{names}"
    return pictured(heading, caption, f"{heading}. {described}", draw, 4.3, 3.6)


def _in_numbers(curve: Document) -> str:
    costs = [f" (cost {compact(each)})" for each in curve["cost"] or ()] or [""]
    first, last = (f"{compact(curve['values'][k])} at {curve['n'][k]:g} draws{costs[k]}" for k in (0, -1))
    rate = "" if curve["rate"] is None else f", rate {curve['rate']:.2f}"
    return f"from {first} to {last}{rate}"


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
    return [_curves_picture({name: {**curve, "budget": curve["cost"], "rate": None} for name, curve in curves.items()})]
