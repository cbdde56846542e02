"""Which experiments were run, and what did they find? An index page of the papers' experiments from their documents.

    python examples/papers/index.py [DIR ...] [--small-too] [--check]

Reads the JSON document that each script writes, and writes README.md beside this file: one row an experiment. Given
folders, it first takes over the documents and figures in them, into results/ beside this file; a full run takes the
place of a small one, a small one that of a full one only with --small-too. Without folders it writes the page anew from
what is there, and --check says whether the page is that already (exit code 1 if not).
"""

from __future__ import annotations

import argparse
import shutil
import sys
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from steinkit.files.streams import write_bytes
from steinkit.json_documents import parse_json

HERE = Path(__file__).resolve().parent
RESULTS, PAGE = HERE / "results", HERE / "README.md"
BEYOND = "Beyond the papers"  # comes last
HEAD = """# The papers' experiments

One script an experiment: `python examples/papers/NAME.py [--full] [--jobs N] [-o DIR]`. By default it is small and done
in a minute or two; `--full` is the paper's size. Each prints a table *paper | here | agrees?*, saves its figure and a
JSON document of its numbers in DIR, and goes on where it was interrupted. `--data FILE` is an .npz file of two digits
of [MNIST](http://yann.lecun.com/exdb/mnist), as the script's docstring describes it; without it data are made up.

*Agrees* is decided by code. A number of the paper's agrees where it meets the interval found here, with the error that
its last digit leaves or that is stated; what a paper says in words, by the rule in the row's remark. A time agrees
where it is no longer than the paper's, of other machines. Rows that nothing can decide are not judged.

This page is written by `index.py` from the documents in `results`.
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", nargs="*", type=Path, metavar="DIR", help="folders whose documents are taken over")
    parser.add_argument("--small-too", action="store_true", help="let small runs take the place of full ones")
    parser.add_argument("--check", action="store_true", help="write nothing; fail if the page is not up to date")
    options = parser.parse_args()
    for folder in options.folders:
        take_over(folder, options.small_too)
    written = page([read(path) for path in sorted(RESULTS.glob("*.json"))])
    if options.check:
        sys.exit(0 if PAGE.exists() and PAGE.read_text(encoding="utf-8") == written else 1)
    write_bytes(PAGE, written.encode(), binary=True)
    print(f"{PAGE}: {written.count('<img')} figures")


def take_over(folder: Path, small_too: bool) -> None:
    """Copy documents and their figures, full runs in the place of small ones."""
    RESULTS.mkdir(exist_ok=True)
    for path in sorted(folder.glob("*.json")):
        document, before = read(path), RESULTS / path.name
        if before.exists() and read(before)["size"] == "full" and document["size"] == "small" and not small_too:
            print(f"{path.name}: a small run, left out beside the full one", file=sys.stderr)
            continue
        shutil.copyfile(path, before)
        if document["figure"]:
            shutil.copyfile(folder / document["figure"], RESULTS / document["figure"])


def read(path: Path) -> dict[str, Any]:
    """A document."""
    found: dict[str, Any] = parse_json(path.read_bytes(), str(path))
    return found


def page(documents: list[dict[str, Any]]) -> str:
    """The page of all documents, by paper and figure."""
    ordered = sorted(documents, key=lambda each: (each["paper"] == BEYOND, each["paper"], each["shows"], each["name"]))
    total = {size: sum(each["seconds"] for each in ordered if each["size"] == size) for size in ("full", "small")}
    times = " and ".join(f"{duration(seconds)} at {size} size" for size, seconds in total.items() if seconds)
    table = ["| paper | shows | command | time | result | remark | figure |", "| --- " * 7 + "|"]
    table += [line(each) for each in ordered]
    parts = "\n".join(section(each) for each in ordered)
    return f"{HEAD}\nProcessor time of all {len(ordered)}: {times or 'none'}.\n\n" + "\n".join(table) + f"\n\n{parts}"


def line(document: Mapping[str, Any]) -> str:
    """One row of the table."""
    name = document["name"]
    thumbnail = f'<img src="results/{document["figure"]}" width="200">' if document["figure"] else ""
    cells = (
        document["paper"],
        f"[{document['shows']}](#{name})",
        f"`{document['command']}`",
        duration(document["seconds"]),
        verdicts(document),
        " ".join([*disagreeing(document), *document["remarks"]]).replace("|", r"\|"),
        thumbnail,
    )
    return f"| {' | '.join(cells)} |"


def section(document: Mapping[str, Any]) -> str:
    """An experiment with its rows, remarks and figure."""
    lines = [f"## {document['name']}", "", document["title"], ""]
    lines += ["| | paper | here | agrees? | remark |", "| --- | --- | --- | --- | --- |"]
    for row in document["rows"]:
        agrees = {True: "yes", False: "**no**", None: "not judged"}[row["agrees"]]
        cells = (row["quantity"], row["paper"], row["here"], agrees, row["remark"])
        lines.append(f"| {' | '.join(each.replace('|', chr(92) + '|') for each in cells)} |")
    lines += ["", *(f"{remark}\n" for remark in document["remarks"])]
    said = f"{document['size']} size, version {document['version']}, commit {', '.join(document['commits'])}"
    lines.append(f"`{document['command']}`: {duration(document['seconds'])} of one processor; {said}.\n")
    if document["figure"]:
        lines.append(f"![{document['shows']} of {document['paper']}](results/{document['figure']})\n")
    return "\n".join(lines)


def verdicts(document: Mapping[str, Any]) -> str:
    """How many rows agree."""
    counts = Counter(row["agrees"] for row in document["rows"])
    said = [f"{counts[True]} of {counts[True] + counts[False]} agree"] if counts[True] + counts[False] else []
    said += [f"{counts[None]} not judged"] if counts[None] else []
    return ", ".join(said) + (" (small run)" if document["size"] == "small" else "")


def disagreeing(document: Mapping[str, Any]) -> list[str]:
    """The rows that do not agree, each as a sentence."""
    rows = [row for row in document["rows"] if row["agrees"] is False]
    return [f"{row['quantity']}: {row['here']}, not {row['paper']}." for row in rows]


def duration(seconds: float) -> str:
    """Seconds, minutes or hours, to two digits."""
    for size, unit in ((3600.0, "h"), (60.0, "min")):
        if seconds >= 2.0 * size:
            return f"{float(f'{seconds / size:.2g}'):g} {unit}"
    return f"{float(f'{seconds:.2g}'):g} s"


if __name__ == "__main__":
    main()
