"""``steinkit report``: a page of HTML that says what was found, shows it, and says how to find it again."""

from __future__ import annotations

from pathlib import Path

import click

from steinkit.cli.help_screens import INPUT, OUTPUT, command, option
from steinkit.cli.outputs import apart_from_results, say_aside
from steinkit.errors import OutputError, UsageError, printable

_HELP = """Write a page of HTML about one or more results.

\b
steinkit report DIR -o report.html
steinkit report DIR curve.json -o report.html --title "Step size of SGLD"
steinkit report DIR --target model.py:target -o report.html

RESULT is the folder of 'steinkit sweep' or 'tune', or a file (or '-', standard input) with what 'steinkit score',
'compare', 'curve', 'sweep' or 'tune' print with --json. The page is one file that needs no network and runs no script.
"""


@command(help=_HELP)
@click.argument("results", nargs=-1, required=True, metavar="RESULT...", type=click.Path(allow_dash=True))
@option(
    INPUT,
    "--target",
    metavar="PATH.PY:ATTRIBUTE",
    type=click.Path(),
    help="Your own target, of a sweep or of a score. The file is run, to show the draws. Built-in targets "
    "are known from the source.",
)
@option(
    OUTPUT,
    "-o",
    "--output",
    required=True,
    metavar="FILE",
    type=click.Path(dir_okay=False),
    help="Where the page goes, such as report.html.",
)
@option(OUTPUT, "--title", metavar="TEXT", help="A line above the verdict. It names the page in a browser, too.")
def report(results: tuple[str, ...], output: str, title: str | None, target: str | None) -> None:
    """Write the page."""
    from steinkit.report.page import write_report

    _require_place(results, output)
    with apart_from_results():
        write_report(results, output, title=title, target=target)
    say_aside(f"next: open {printable(output)} in a browser")


def _require_place(results: tuple[str, ...], output: str) -> None:
    """Refuse, before any work is done, a file that cannot be written or would cost the user another."""
    from steinkit.sweeps.store import CONFIGURATION, RECORDS, RESULT, TUNING

    if output == "-":
        raise UsageError("-o names a file; a page is not printed on standard output")
    place = Path(output).resolve()
    if not place.parent.is_dir():
        raise OutputError(f"{output} cannot be written: there is no folder {Path(output).parent}; make it first")
    for result in results:
        source = Path(result).resolve()
        if place == source or (
            place.exists() and source in place.parents and place.name in (CONFIGURATION, RECORDS, RESULT, TUNING)
        ):
            raise UsageError(f"-o {output} would overwrite what the page is made from; name another file")
