"""The draws behind a score, as the arrays show them that were kept with it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from steinkit import plots
from steinkit.describe.numbers import sentence
from steinkit.errors import InputError
from steinkit.measures.scoring import Scores
from steinkit.plots.excess import Standard, key
from steinkit.report.elements import Drawing, Picture
from steinkit.report.pictures import NARROW, WIDE, drawing, draws_in_numbers
from steinkit.report.sources import Found
from steinkit.target import Target

if TYPE_CHECKING:
    from matplotlib.axes import Axes

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
    return [_picture(found, drawn.measure, drawn.result, _contoured(found, target), standard)]


def _contoured(found: Found, target: Target | str | None) -> Target | None:
    """The target whose contours lie behind the draws; code of the user's own only where it was passed."""
    from steinkit.targets import make_target
    from steinkit.targets.user_code import load_target_or_model

    known, names = found.document.get("target"), found.document["sample"]["names"]
    if isinstance(target, str):
        own = load_target_or_model(target)
        return own if isinstance(own, Target) else own.make_target(names, own.label)
    if target is not None or known is None or ":" in known["name"] or known["name"].endswith(".py"):
        return target
    return make_target(known["name"], known["options"], len(names))


def _picture(found: Found, measure: str, result: Any, target: Target | None, standard: Standard) -> Picture:
    dim = result.sample.dim
    draw, kind = _drawer(measure, result, target, standard)
    wide, said = _on_paper(draw, WIDE, 4.6)
    narrow, _ = _on_paper(draw, NARROW, 4.2)
    contours = kind == "graph" and dim == 2 and target is not None and target.has_log_density
    caption = [
        _CAPTIONS[kind],
        f"{sentence(said)}.",
        *(["Grey regions hold 50, 90 and 99% of the target."] if contours else []),
    ]
    return Picture(
        title=f"The draws of {found.sample}",
        caption=" ".join(caption),
        description=draws_in_numbers(found.sample, result),
        wide=wide,
        narrow=narrow,
    )


def _drawer(measure: str, result: Any, target: Target | None, standard: Standard) -> tuple[Callable[[Axes], Axes], str]:
    """What draws the picture on Axes, and which kind of picture that is."""
    if measure == "sliced":
        return lambda ax: plots.slice_function(result, ax, reference=standard, legend=False), "sliced"
    if result.sample.dim == 1:
        return lambda ax: plots.stein_function(result, ax, reference=standard, legend=False), "curve"
    if target is None:
        return lambda ax: plots.draws(result, ax, reference=standard, colorbar=False), "graph"
    return lambda ax: plots.draws_with_density(result, target, ax, reference=standard, colorbar=False), "graph"


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
