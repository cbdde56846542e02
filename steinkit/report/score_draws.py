"""The draws behind a score: read and measured again from the files that its document names, for a picture of them.

Nothing is shown that was not scored: the draws must have the digest that the document holds, and what is measured again
a bracket that meets the one there.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from steinkit import plots
from steinkit.describe.numbers import sentence
from steinkit.discrepancy.bracket import Reference
from steinkit.errors import InputError, SteinkitError, UsageError, leave_to_results
from steinkit.files import read_sample
from steinkit.measures.registry import restored_settings, take_measure
from steinkit.plots.excess import Judged, Standard, key
from steinkit.report.elements import Drawing, Picture
from steinkit.report.pictures import NARROW, WIDE, drawing, draws_in_numbers
from steinkit.report.sources import Found
from steinkit.runtime.progress import say_beside_bars
from steinkit.sample import Sample
from steinkit.target import Target

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Document = Mapping[str, Any]

_DRAWN = ("graph", "sliced")  # measures whose pictures need the draws
_LONGEST = 60.0  # seconds that the measure took, beyond which a page does not take it again
_UNANNOUNCED = 5.0  # seconds beyond which it says so
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
        What was scored against, or its name, where that is code of the user's own.

    Raises
    ------
    SteinkitError
        If the draws cannot be had, or are not those that were scored.
    """
    entry = next((each for each in found.document["results"] if each["measure"] in _DRAWN), None)
    if entry is None or found.address is None:
        return []
    _require_making(found.document, entry)
    sample, made = _scored(found, target)
    result = _measured(entry, sample, made, found.document["settings"])
    return [_picture(found, entry["measure"], result, made)]


def _require_making(document: Document, entry: Document) -> None:
    """Refuse what cannot be read again, or would take too long, before anything is done."""
    if any(key not in document for key in ("files", "target", "reading", "settings")):
        raise InputError("the document does not say how its files were read; score them again with this version")
    if "-" in document["files"]:
        raise InputError("they came from standard input; score a file, and a page can show them")
    if document["settings"].get("operator") is not None:
        raise UsageError(f"the operator {document['settings']['operator']} is code of your own; use --plot")
    took = sum(entry.get("seconds", {}).values())
    if took > _LONGEST:
        raise UsageError(f"the {entry['measure']} measure took {took:.0f} s and would again; use --plot")


def _scored(found: Found, target: Target | str | None) -> tuple[Sample, Target | None]:
    """The sample that was scored, and its target."""
    assert found.address is not None
    first: SteinkitError | None = None
    for folder in dict.fromkeys((Path(), Path(found.address).parent)):  # as given, or beside the document
        try:
            return _read(found.document, folder, target)
        except InputError as error:
            first = first or error
    assert first is not None
    raise first


def _read(document: Document, folder: Path, target: Target | str | None) -> tuple[Sample, Target | None]:
    reading, known = document["reading"], document["target"]
    files = [str(folder / file) for file in document["files"]]
    for path in map(Path, files):  # a document may come from anywhere: a pipe would be waited for
        if path.exists() and not (path.is_file() or path.is_dir()):
            raise InputError(f"{path} is neither a file nor a folder")
    sample = read_sample(files, format=reading["format"], columns=reading["columns"], group=reading["group"])
    made: Target | None = None
    if known is not None:
        sample, made = _with_target(known, sample, target)
    if sample.sha256 != reading["sha256"]:
        named = ", ".join(document["files"])
        raise InputError(f"{named}: the draws there are not those that were scored; score them again")
    return replace(sample, names=reading["names"]), made


def _with_target(known: Document, sample: Sample, target: Target | str | None) -> tuple[Sample, Target]:
    """The sample in the target's coordinates, and the target; code of the user's own only where it was passed."""
    from steinkit.targets import make_target
    from steinkit.targets.user_code import load_target_or_model

    if not (":" in known["name"] or known["name"].endswith(".py")):
        return sample, make_target(known["name"], known["options"], sample.dim)
    if target is None:
        raise UsageError(
            f"the target {known['name']} is code of your own, which a report does not run unasked; pass it with "
            "--target (in Python target=)"
        )
    own = load_target_or_model(target) if isinstance(target, str) else target
    if isinstance(own, Target):
        return sample, own
    bound = own.sample(sample)  # a model of another package
    return bound, own.target_named(bound.names)


def _measured(entry: Document, sample: Sample, target: Target | None, settings: Document) -> Any:
    """The measure's result, taken again; InputError where it is not what the document says."""
    try:
        restored = restored_settings(settings, entry["measure"])
    except (TypeError, ValueError, AttributeError) as error:
        raise InputError(f"the document's settings are not those of a score ({error}); score the draws again") from None
    if sum(entry.get("seconds", {}).values()) > _UNANNOUNCED:
        say_beside_bars(f"measuring {entry['measure']} again, for the picture of the draws")
    with warnings.catch_warnings():
        leave_to_results()  # the document has them
        again = take_measure(entry["measure"], sample, target, restored)
    if again.lower > entry["upper"] or again.upper < entry["lower"]:
        raise InputError(
            f"measured again, {entry['measure']} lies between {again.lower:.6g} and {again.upper:.6g}, and the "
            f"document says between {entry['lower']:.6g} and {entry['upper']:.6g}; the target has changed"
        )
    return again.result


def _picture(found: Found, measure: str, result: Any, target: Target | None) -> Picture:
    standard, dim = _standard(found.document, measure), result.sample.dim
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


def _standard(document: Document, measure: str) -> Standard:
    """Right samples of the document to hold draws against, else its verdict."""
    reference, verdict = document["references"].get(measure), document.get("verdict")
    if reference is not None:
        lower, upper = (np.array([each[end] for each in reference["samples"]]) for end in ("lower", "upper"))
        return Reference(lower, upper, reference["draws"], run=reference.get("run") or "")
    return None if verdict is None else Judged.of(verdict)


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
