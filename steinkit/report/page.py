"""The page: a verdict in words first, then pictures, then tables and how to find it all again.

One file of HTML and CSS that needs no network and runs no script; its policy forbids both.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from html import escape
from importlib import resources
from pathlib import Path
from string import Template

from steinkit import __version__
from steinkit.comparison import Comparison
from steinkit.curves import Curve
from steinkit.errors import InputError, UsageError
from steinkit.files.streams import write_bytes
from steinkit.report.comparison_part import comparison_part
from steinkit.report.curve_part import curve_parts
from steinkit.report.parts import Listing, Part, answers_html, facts_html, listing_html, picture_html, table_html
from steinkit.report.score_part import score_part
from steinkit.report.sources import Found, Source, read_source
from steinkit.report.sweep_part import sweep_part
from steinkit.sweeps.result import SweepResult
from steinkit.target import Target

_PAGE = Template("""\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data:; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>$title</title>
<link rel="icon" href="data:,">
<style>
$style</style>
</head>
<body>
<a class="skip" href="#main">Skip to the findings</a>
<header>
<p class="kicker">$kicker</p>
<h1>$headline</h1>
</header>
<nav aria-label="On this page">
<ul>
$contents
</ul>
</nav>
<main id="main" tabindex="-1">
$sections
$command
</main>
<footer>
<p>Written by steinkit $version. This page is one file: it needs no network and runs no script.</p>
</footer>
</body>
</html>
""")


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
        A sweep's folder; a JSON document of ``steinkit score``, ``compare``, ``curve`` or ``sweep``; or what `sweep`,
        `compare` or `curve` returned. The first one's verdict heads the page.
    path : path
        The file to write, in one step; "-" for standard output.
    title : str, optional
        A line above the verdict, and the name of the page in a browser.
    target : Target or str, optional
        Target of the sweep, where that is code of your own (as ``path.py:attribute`` it is run): its draws are scored
        again for a picture of them. Built-in targets are made from the sweep's folder.

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
    listed = _as_list(sources)
    if not listed:
        raise UsageError("there is nothing to report; name a sweep's folder or a JSON document")
    found = _differently_named(map(read_source, listed))
    html = _page(_parts(found, target), title, _command(found, os.fspath(path), title, target))
    write_bytes(path, html.encode(), binary=True)


def _as_list(sources: Source | Sequence[Source]) -> list[Source]:
    if isinstance(sources, str | os.PathLike | SweepResult | Comparison | Curve):
        return [sources]
    if not isinstance(sources, Sequence):
        raise UsageError(f"sources must be a path, a result, or a list of these; received {type(sources).__name__}")
    return list(sources)


def _differently_named(found: Iterable[Found]) -> list[Found]:
    """The sources, with a number after names that were there before."""
    counts: dict[str, int] = {}
    named = []
    for each in found:
        counts[each.name] = counts.get(each.name, 0) + 1
        again = counts[each.name]
        named.append(each if again == 1 else replace(each, name=f"{each.name} ({again})"))
    return named


def _command(found: Sequence[Found], path: str, title: str | None, target: Target | str | None) -> tuple[Listing, ...]:
    """The command that writes the page, if all that it is made of is in files."""
    addresses = [each.address for each in found if each.address is not None]
    if len(addresses) < len(found) or isinstance(target, Target):
        return ()
    options = ["-o", Path(path).name, *(["--title", title] if title else []), *(["--target", target] if target else [])]
    return (Listing("This page", shlex.join(["steinkit", "report", *addresses, *options])),)


def _parts(found: Sequence[Found], target: Target | str | None) -> list[Part]:
    """The parts in the order of their sources; curves look at each other."""
    kinds: dict[str, Callable[[Found], Part]] = {
        "sweep": lambda each: sweep_part(each, target),
        "comparison": comparison_part,
        "score": score_part,
    }
    try:
        curves = iter(curve_parts([each for each in found if each.kind == "curve"]))
        return [next(curves) if each.kind == "curve" else kinds[each.kind](each) for each in found]
    except (KeyError, IndexError, TypeError) as error:
        names = ", ".join(each.name for each in found if each.folder is None)
        if not names:
            raise
        raise InputError(
            f"{names}: a result lacks what this version of steinkit ({__version__}) puts into it ({error!r}); make it "
            "again with this version"
        ) from error


def _page(parts: Sequence[Part], title: str | None, command: Sequence[Listing]) -> str:
    sections = {
        "findings": ("What was found", [(part, answers_html(part)) for part in parts]),
        "pictures": ("Pictures", [(part, "\n".join(map(picture_html, part.pictures))) for part in parts]),
        "numbers": ("Numbers", [(part, _tables(part, k)) for k, part in enumerate(parts)]),
        "again": (
            "How it was made, and how to make it again",
            [(part, _making(part, k)) for k, part in enumerate(parts)],
        ),
    }
    shown = {name: (heading, blocks) for name, (heading, blocks) in sections.items() if any(html for _, html in blocks)}
    contents = "\n".join(f'<li><a href="#{name}">{escape(heading)}</a></li>' for name, (heading, _) in shown.items())
    return _PAGE.substitute(
        title=escape(title or parts[0].headline),
        style=resources.files("steinkit.report").joinpath("style.css").read_text(encoding="utf-8"),
        kicker=escape(title or f"Report on {', '.join(part.source for part in parts)}"),
        headline=escape(parts[0].headline),
        contents=contents,
        sections="\n".join(_section(name, *shown[name]) for name in shown),
        command="\n".join(listing_html(listing, "this-page") for listing in command),
        version=escape(__version__),
    )


def _section(name: str, heading: str, blocks: Sequence[tuple[Part, str]]) -> str:
    """A section; with several sources each has a heading of its own in it."""
    inside = []
    for number, (part, html) in enumerate(blocks):
        own = part.headline if name == "findings" and number else part.source  # the first headline heads the page
        if html:
            inside.append((f"<h3>{escape(own)}</h3>\n" if len(blocks) > 1 else "") + html)
    body = "\n".join(inside)
    return f'<section aria-labelledby="{name}">\n<h2 id="{name}">{escape(heading)}</h2>\n{body}\n</section>'


def _tables(part: Part, number: int) -> str:
    return "\n".join(table_html(table, f"table-{number}-{k}") for k, table in enumerate(part.tables))


def _making(part: Part, number: int) -> str:
    listings = [listing_html(listing, f"listing-{number}-{k}") for k, listing in enumerate(part.listings)]
    return "\n".join([*([facts_html(part.facts)] if part.facts else []), *listings])
