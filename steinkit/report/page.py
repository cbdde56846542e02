"""Report pages and notebook displays.

A single template renders statements, figures and tables.

A page is a single HTML file with CSS and without scripts. The content security policy of the page forbids scripts and
network access. Identical results produce identical bytes.
"""

from __future__ import annotations

import base64
import os
import re
import tomllib
from collections.abc import Sequence
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any, TypeAlias

from jinja2 import Environment, PackageLoader, StrictUndefined, Template
from markupsafe import Markup
from matplotlib.figure import Figure

from steinkit import __version__, plots
from steinkit.discrepancy.moments import MomentSteinDiscrepancy
from steinkit.errors import SteinkitError, UsageError, printable
from steinkit.files.streams import write_bytes
from steinkit.result import ReportFigure, Result, answers
from steinkit.sample import Sample
from steinkit.samplers.chains.draws import Draws
from steinkit.saved_results import read_result
from steinkit.sweeps.store import read_run
from steinkit.target import Target
from steinkit.targets import make_target
from steinkit.targets.registry import load_target_or_model
from steinkit.text import UNDEFINED, Table, compact

Source: TypeAlias = str | os.PathLike[str] | Result

_LONG = 36  # maximum number of characters per line; longer cells are wrapped
_INTERVAL = " interval of the median"
_MOST_ROWS = 12  # maximum number of coordinates in a sample table
_MOST_MOMENTS = 12  # maximum dimension at which a matrix is legible in a notebook
_PIXELS = 96  # CSS pixels per inch


def write_report(
    sources: Source | Sequence[Source],
    path: str | os.PathLike[str],
    *,
    title: str | None = None,
    target: Target | str | None = None,
) -> None:
    """Write an HTML page that presents results.

    For each result, the page contains statements, figures, tables and the information needed to reproduce the result.

    Parameters
    ----------
    sources : path or result, or sequence of these
        Results, JSON files written by `Result.save` or by the option ``-o`` of a command (with their .npz files), or
        files of sweeps or tuning runs. The headline of the page is that of the first result.
    path : path
        File to write, or "-" for standard output.
    title : str, optional
        Line above the headline, and title of the page in a browser.
    target : Target or str, optional
        Target of the scores, used to draw contours of its density. The target is required if it is defined in your own
        code. If the target is a string ``path.py:attribute``, the file is executed. Built-in targets are identified
        from the source.

    Raises
    ------
    InputError
        If a source cannot be read.
    UsageError
        If there is no source, or if a source is not a result.
    OutputError
        If the file cannot be written.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import steinkit as sk
    >>> samples = {"first": [0.1, 0.5, -0.4], "second": [3.0, 4.0, 5.0]}
    >>> found = sk.compare(samples, sk.targets.Normal([0.0]))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page = pathlib.Path(folder) / "report.html"
    ...     sk.write_report(found, page)
    ...     "<!DOCTYPE html>" in page.read_text(encoding="utf-8")
    True
    """
    listed = list(sources) if isinstance(sources, Sequence) and not isinstance(sources, str) else [sources]
    if not listed:
        raise UsageError("`sources` must contain at least one result or file; got none")
    parts = [_part(source, target) for source in listed]
    names = [part["source"] for part in parts]
    for k, name in enumerate(names):
        if again := names[:k].count(name):
            parts[k]["source"] = f"{name} ({again + 1})"
    html = _template("page.html").render(parts=parts, title=title, version=__version__)
    write_bytes(path, f"{html}\n".encode(), binary=True)


def _part(source: Source, target: Target | str | None) -> dict[str, Any]:
    """Return the page content of a source, by the names used in the templates.

    A figure that cannot be drawn is omitted.
    """
    if isinstance(source, Result):
        words = re.sub(r"(?<!^)(?=[A-Z])", " ", type(source).__name__).lower()
        name, result = f"the {words}", source
    elif isinstance(source, str | os.PathLike):
        name, result = Path(source).name, read_run(source) or read_result(source)
    else:
        raise UsageError(f"`sources` must contain results or result files; got {type(source).__name__}")
    warnings, figures = [*result.warnings], tuple[ReportFigure, ...]()
    drawn_target = _target_of(result, target)
    try:
        figures = plots.figures(result, drawn_target)
    except SteinkitError as error:
        warnings.append(f"figures could not be drawn: {error}")
    return {
        "source": name,
        "subject": result.subject or name,
        "headline": result.headline(),
        "statements": result.statements(),
        "warnings": warnings,
        "figures": figures,
        "tables": result.tables(),
        "facts": result.facts(),
    }


def _target_of(result: Result, target: Target | str | None) -> Target | None:
    """Return the target needed to plot the draws.

    User code is executed only if it was passed explicitly.
    """
    sample, origin = getattr(result, "sample", None), result.origin
    if sample is None or isinstance(target, Target):
        return target if isinstance(target, Target) else None
    if isinstance(target, str):
        own = load_target_or_model(target)
        return own if isinstance(own, Target) else own.make_target(sample.names, own.label)
    if origin is None or origin.target is None or ":" in origin.target or origin.target.endswith(".py"):
        return None
    return make_target(origin.target, dict(origin.options), sample.dim)


def _text_of(name: str) -> str:
    """Return the contents of a text file in this package."""
    return resources.files("steinkit.report").joinpath(name).read_text(encoding="utf-8")


@cache
def _template(name: str) -> Template:
    """Load a template with autoescaping and strict handling of undefined names."""
    environment = Environment(
        loader=PackageLoader("steinkit.report"),
        autoescape=True,
        finalize=_visible,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals |= {
        "answers": answers,
        "column_classes": _column_classes,
        "drawing": _drawing,
        "meanings": meanings,
        "style": Markup(_text_of("style.css")),
        "LONG": _LONG,
    }
    return environment.get_template(name)


def _visible(value: Any) -> Any:
    """Escape control characters in a value.

    The markup of the template itself is unchanged.
    """
    return printable(value, lines=True) if isinstance(value, str) and not hasattr(value, "__html__") else value


def _drawing(figure: Figure) -> dict[str, Any]:
    """Return a figure as an SVG data URL, with its size in CSS pixels."""
    width, height = figure.get_size_inches()
    address = f"data:image/svg+xml;base64,{base64.b64encode(plots.svg(figure)).decode('ascii')}"
    return {"address": address, "width": round(_PIXELS * width), "height": round(_PIXELS * height)}


def _column_classes(table: Table) -> list[str]:
    """Return the CSS class of each column.

    The class is "number" for right-aligned columns, and "long" for text that can be wrapped.
    """
    classes = [""]  # the first column contains the row names
    for column in range(1, len(table.columns)):
        cells = [row[column] for row in table.rows if row[column]]
        if cells and all(cell.lstrip("-+")[:1].isdigit() or cell == UNDEFINED for cell in cells):
            classes.append("number")
        else:
            classes.append("long" if max(map(len, cells), default=0) > _LONG else "")
    return classes


def meanings(table: Table) -> tuple[tuple[str, str], ...]:
    """Return the descriptions of the columns."""
    lead, known = table.columns[0], tomllib.loads(_text_of("columns.toml"))
    found = [(name, known.get(f"{lead}: {name}", known.get(name, ""))) for name in table.columns]
    found += [(name, "Bootstrap interval over the samples.") for name in table.columns if name.endswith(_INTERVAL)]
    return tuple((name, text) for name, text in found if text)


def as_html(shown: Any) -> str:
    """Return HTML for a notebook.

    Parameters
    ----------
    shown : Sample, Draws or result
    """
    sample = shown.to_sample() if isinstance(shown, Draws) else shown if isinstance(shown, Sample) else None
    rows = [] if sample is None else _rows(sample)
    return _template("notebook.html").render(
        heading="" if sample is None else repr(shown).strip("<>"),
        listing=shown.summary() if sample is None else "",
        figure=_report_figure(shown),
        rows=rows,
        left_out=0 if sample is None else sample.dim - len(rows),
    )


def _report_figure(shown: Any) -> dict[str, Any] | None:
    """Draw `Result.plot` if the result has a legible plot."""
    if isinstance(shown, MomentSteinDiscrepancy) and len(shown.names) > _MOST_MOMENTS:
        return None
    try:
        return _drawing(plots.plot(shown))
    except UsageError:
        return None


def _rows(sample: Sample) -> list[tuple[str, str, str]]:
    """Return names, weighted means and standard deviations of the first coordinates."""
    p = sample.probabilities
    points = sample.points[:, :_MOST_ROWS]
    mean = p @ points
    spread = (p @ (points - mean) ** 2) ** 0.5
    return [(name, compact(a), compact(b)) for name, a, b in zip(sample.names, mean, spread, strict=False)]
