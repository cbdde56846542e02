"""The page: a verdict in words, then pictures, then tables and how to find it all again; and what a notebook shows.

A page is one file of HTML and CSS that needs no network and runs no script; its policy forbids both. A notebook shows
the words of the terminal, and one small picture beside them.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from importlib import resources
from typing import Any

from steinkit import __version__, plots
from steinkit.discrepancy.moments import MomentSteinDiscrepancy
from steinkit.errors import InputError, SteinkitError, UsageError
from steinkit.files.streams import write_bytes
from steinkit.report.elements import Drawing, Part, drawing, template
from steinkit.report.parts import comparison_part, curve_parts, score_part
from steinkit.report.sources import Found, Source, read_source
from steinkit.report.sweep_part import sweep_part, tuning_part
from steinkit.sample import Sample
from steinkit.samplers.chains.draws import Draws
from steinkit.target import Target
from steinkit.text import UNDEFINED, Table, compact

_LONG = 36  # letters, beyond which a cell may be broken into lines


def write_report(
    sources: Source | Sequence[Source],
    path: str | os.PathLike[str],
    *,
    title: str | None = None,
    target: Target | str | None = None,
) -> None:
    """Write a page of HTML that says what was found, shows it, and says how to find it again.

    Parameters
    ----------
    sources : path or result, or sequence of these
        The file of a sweep or tuning; a JSON document of ``steinkit score``, ``compare``, ``curve``, ``sweep`` or
        ``tune``; or what `sweep`, `tune`, `compare` or `curve` returned. The first one's verdict heads the page.
    path : path
        The file to write, in one step; "-" for standard output.
    title : str, optional
        A line above the verdict, and the name of the page in a browser.
    target : Target or str, optional
        Target of the sweep or score, where that is code of your own (as ``path.py:attribute`` it is run): the picture
        of the draws needs it. Built-in targets are made from what the source says.

    Raises
    ------
    InputError
        If a source cannot be read.
    UsageError
        If there is no source, or it is of no kind that a report is made of.
    OutputError
        If the file cannot be written.

    Notes
    -----
    The page holds no date: the same sources give the same bytes.

    A score's document holds no draws: they are shown where its arrays stand beside it, as ``steinkit score -o`` and
    `Result.save` write them.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import steinkit as sk
    >>> from steinkit.comparison import compare
    >>> from steinkit.report.page import write_report
    >>> samples = {"first": [0.1, 0.5, -0.4], "second": [3.0, 4.0, 5.0]}
    >>> found = compare(samples, sk.targets.Normal([0.0]))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page = pathlib.Path(folder) / "report.html"
    ...     write_report(found, page)
    ...     "first is proved better than second" in page.read_text(encoding="utf-8")
    True
    """
    listed = list(sources) if isinstance(sources, Sequence) and not isinstance(sources, str) else [sources]
    if not listed:
        raise UsageError("there is nothing to report; name a sweep's file or a JSON document")
    found = _differently_named(map(read_source, listed))
    html = _page(_accounts(found, target), title)
    write_bytes(path, f"{html}\n".encode(), binary=True)


def _differently_named(found: Iterable[Found]) -> list[Found]:
    """The sources, with a number after names that were there before."""
    counts: dict[str, int] = {}
    named = []
    for each in found:
        counts[each.name] = counts.get(each.name, 0) + 1
        again = counts[each.name]
        named.append(each if again == 1 else replace(each, name=f"{each.name} ({again})"))
    return named


def _accounts(found: Sequence[Found], target: Target | str | None) -> list[Part]:
    """What is said of each source, in their order; curves look at each other."""
    kinds: dict[str, Callable[[Found], Part]] = {
        "sweep": lambda each: sweep_part(each, target),
        "tuning": tuning_part,
        "comparison": comparison_part,
        "score": lambda each: score_part(each, target),
    }
    try:
        curves = iter(curve_parts([each for each in found if each.kind == "curve"]))
        return [next(curves) if each.kind == "curve" else kinds[each.kind](each) for each in found]
    except SteinkitError:
        raise
    except Exception as error:  # of what no command wrote anything may be missing, or of another kind
        names = ", ".join(each.name for each in found if each.address is not None)
        if not names:
            raise
        raise InputError(
            f"{names}: a result lacks what this version of steinkit ({__version__}) puts into it ({error!r}); make it "
            "again with this version"
        ) from error


def _page(accounts: Sequence[Part], title: str | None) -> str:
    from markupsafe import Markup

    return template("page.html").render(
        accounts=accounts,
        title=title,
        style=Markup(_text_of("style.css")),
        version=__version__,
        column_classes=_column_classes,
        meanings=meanings,
        LONG=_LONG,
    )


def _text_of(name: str) -> str:
    """A file of this folder."""
    return resources.files("steinkit.report").joinpath(name).read_text(encoding="utf-8")


def _column_classes(table: Table) -> list[str]:
    """How the columns of a table stand: "number" on the right, "long" where sentences may be broken."""
    classes = [""]  # names of the rows
    for column in range(1, len(table.columns)):
        cells = [row[column] for row in table.rows if row[column]]
        if cells and all(map(_is_number, cells)):
            classes.append("number")
        else:
            classes.append("long" if max(map(len, cells), default=0) > _LONG else "")
    return classes


def _is_number(cell: str) -> bool:
    return cell.lstrip("-+")[:1].isdigit() or cell == UNDEFINED


_INTERVAL = " interval of the median"


def meanings(table: Table) -> tuple[tuple[str, str], ...]:
    """The columns that do not explain themselves, each with what it says; a coordinate's column is headed "[name]"."""
    lead, known = table.columns[0], tomllib.loads(_text_of("columns.toml"))
    found = [(name, known.get(f"{lead}: {name}", known.get(name, ""))) for name in table.columns[1:]]
    found += [(name, "Bootstrap interval over the samples.") for name in table.columns if name.endswith(_INTERVAL)]
    if any(_is_coordinate(name) for name in table.columns):
        found.append(("[…]", "The same of that coordinate alone."))
    return tuple((name, said) for name, said in found if said)


def _is_coordinate(column: str) -> bool:
    return column.startswith("[") and column.endswith("]")


_MOST_ROWS = 12  # coordinates in the table of a sample
_MOST_MOMENTS = 12  # coordinates of a matrix of moments that can still be read


def as_html(shown: Any) -> str:
    """HTML for a notebook.

    Parameters
    ----------
    shown : Sample, Draws or result
    """
    sample = shown.to_sample() if isinstance(shown, Draws) else shown if isinstance(shown, Sample) else None
    rows = [] if sample is None else _rows(sample)
    return template("notebook.html").render(
        heading="" if sample is None else repr(shown).strip("<>"),
        listing=shown.summary() if sample is None else "",
        picture=_picture(shown),
        rows=rows,
        left_out=0 if sample is None else sample.dim - len(rows),
    )


def _picture(shown: Any) -> Drawing | None:
    """What `Result.plot` draws, if it draws something that can be read."""
    if isinstance(shown, MomentSteinDiscrepancy) and len(shown.names) > _MOST_MOMENTS:
        return None
    try:
        return drawing(plots.picture(shown))
    except UsageError:
        return None


def _rows(sample: Sample) -> list[tuple[str, str, str]]:
    """Name, weighted mean and standard deviation of the first coordinates."""
    p = sample.probabilities
    points = sample.points[:, :_MOST_ROWS]
    mean = p @ points
    spread = (p @ (points - mean) ** 2) ** 0.5
    return [(name, compact(a), compact(b)) for name, a, b in zip(sample.names, mean, spread, strict=False)]
