"""``steinkit targets``: the built-in targets and their options."""

from __future__ import annotations

from steinkit.cli.help_screens import command
from steinkit.cli.outputs import say, say_next
from steinkit.describe.writing import one_line
from steinkit.targets import target_table

_TRIED = ["sample", "iid", "--target", "normal", "-p", "mean=0,0", "--draws", "500", "-o", "draws.csv"]


@command()
def targets() -> None:
    """List the built-in targets, with the options that -p sets."""
    lines = []
    for name, options, summary in target_table():
        lines += [name, one_line(summary, "    "), one_line(f"-p {options}", "    ")]
    said = (
        "Options are written -p key=value: -p mean=0,0, -p 'covariance=[[2,1],[1,2]]'. Those in brackets are optional."
    )
    own = "Your own: --target path.py:attribute, a steinkit.Target, a function that returns one, or score(points)."
    say("\n".join([*lines, "", one_line(said), one_line(own)]))
    say_next(_TRIED, "draws of one")
