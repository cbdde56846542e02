"""Write the page of all experiments from the ledger and the results, and run all experiments.

    python examples/papers/index.py [DIR ...] [--run | --small] [--data SCRIPT=FILE ...] [--jobs N] [--check]

--run runs every experiment at full size in DIR (default: steinkit-papers), imports the results and writes the page. It
takes two to three hours of CPU time and resumes an interrupted run. --data specifies the data file of a script, as in
--data barker_mnist=train-images-idx3-ubyte.gz. If the data file of a script is not given, the script uses simulated
data.

--small runs every experiment at small size in DIR, in one process, and writes no page.

If folders are given without --run or --small, the documents and figures of their full runs are copied to the subfolder
results, and the page README.md is written.

--check writes no files. It fails if the page is not up to date, if a result has no row in the ledger, or if a criterion
was changed after its result.
"""

from __future__ import annotations

import argparse
import runpy
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from _frame import FOLDER
from _ledger import FAILS, HOLDS, NOT_RUN, OPEN, Row, ledger, papers, verdict, weakest

from steinkit.files.streams import parse_json, write_bytes

HERE = Path(__file__).resolve().parent
RESULTS, PAGE = HERE / "results", HERE / "README.md"
MANY = 6  # largest number of rows of a claim that are all shown
ALONE, ITS_PAGE = "minibatch_samplers", HERE / "samplers_at_equal_cost.md"  # an experiment that is not from a paper
HEAD = """# The papers' experiments

This page compares claims of five papers with results of steinkit. A number printed in a paper *holds* if it differs
from the result here by at most half a unit of its last digit plus two standard errors of the difference. One in twenty
correct numbers fails by chance, except for exact values and predictions of one run. A statement in words holds if the
results satisfy our criterion. The files of criteria also describe criteria that were changed after a run.

The number after ± is the half-width of a 95% interval (Student's t for few runs), of a prediction interval for
claims about one run, or the error of a grid. Parentheses contain asymmetric intervals, or 95% of single runs.

If a paper does not specify the protocol, or its data are not available, alternatives are used, and the claim
*holds under* those that confirm it. Other claims *fail*, are *open* if the results cannot decide them, or are
*not run*. A claim has the least favorable verdict of its rows. A row without a verdict has that of its claim. Claims
with more than six rows list only those that do not hold. The papers call the tests *Barker*, *austerity* and
*concentration* MHminibatch, AustereMH and MHSubLhd.

`index.py --run` writes this page. [`_data_files.py`](_data_files.py) lists the papers' data.
"""
SAMPLERS = """*Worth* is the number of independent draws with the same error. *Bias* is the root mean square of the
errors of means and log standard deviations, in posterior standard deviations, as estimated by `estimate_bias` from the
scores, with its margin of error. *True error* is the same root mean square, computed from the true moments of the
posterior, which `estimate_bias` does not use. *Reliable* is the fraction of coordinates with a reliable estimate. All
values are medians over the chains. A dash means that there are too few draws."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", nargs="*", type=Path, metavar="DIR", help="folders with documents to copy")
    parser.add_argument("--run", action="store_true", help="run all experiments at full size, into the first DIR")
    parser.add_argument("--small", action="store_true", help="run all experiments at small size, into the first DIR")
    parser.add_argument("--data", action="append", default=[], metavar="SCRIPT=FILE", help="data of a script")
    parser.add_argument("--jobs", type=int, default=1, help="processes of each experiment")
    parser.add_argument(
        "--check", action="store_true", help="write nothing; fail if the page or a row is outdated or incomplete"
    )
    options = parser.parse_args()
    folders = options.folders or ([FOLDER] if options.run or options.small else [])
    if options.small:
        for script in scripts():
            sys.argv = [str(script), "-o", str(folders[0])]
            runpy.run_path(str(script), run_name="__main__")
        return
    if options.run:
        run_all(folders[0], dict(each.split("=", 1) for each in options.data), options.jobs)
    for folder in folders:
        take_over(folder)
    documents = [read(path) for path in sorted(RESULTS.glob("*.json"))]
    wrong, written = faults(documents), page(documents)
    for fault in wrong:
        print(fault, file=sys.stderr)
    if options.check:
        sys.exit(0 if not wrong and PAGE.exists() and PAGE.read_text(encoding="utf-8") == written else 1)
    write_bytes(PAGE, written.encode(), binary=True)
    alone = [text for document in documents if document["name"] == ALONE for text in of_samplers(document)]
    write_bytes(ITS_PAGE, "\n".join(["# Samplers at equal cost", "", *alone]).encode(), binary=True)
    print(f"{PAGE}: {len(written.split()):,} words")
    sys.exit(1 if wrong else 0)


def scripts() -> list[Path]:
    """List the experiments in order."""
    return [path for path in sorted(HERE.glob("[a-z]*.py")) if path.stem != "index"]


def run_all(folder: Path, data: Mapping[str, str], jobs: int) -> None:
    """Run all experiments at full size in order.

    The failure of an experiment does not stop the others.
    """
    for script in scripts():
        given = ["--data", data[script.stem]] if script.stem in data else []
        command = [sys.executable, str(script), "--full", "-o", str(folder), "--jobs", str(jobs), *given]
        print(f"{script.stem}: exit code {subprocess.run(command, check=False).returncode}", flush=True)


def take_over(folder: Path) -> None:
    """Copy the documents and figures of full runs.

    Small runs are not copied because they decide no claim.
    """
    RESULTS.mkdir(exist_ok=True)
    for path in sorted(folder.glob("*.json")):
        document = read(path)
        for name in (path.name, document["figure"]) if document["size"] == "full" else ():
            if name:
                shutil.copyfile(folder / name, RESULTS / name)


def read(path: Path) -> dict[str, Any]:
    """Read a document."""
    found: dict[str, Any] = parse_json(path.read_bytes(), str(path))
    return found


def faults(documents: Sequence[Mapping[str, Any]]) -> list[str]:
    """List results without a row, results with an outdated criterion, and incomplete rows."""
    rows, found = ledger(), []
    for document in documents:
        for each in document["results"]:
            row = rows.get(each["claim"])
            if row is None or row.script != document["name"] or each["protocol"] not in row.protocols + row.shown:
                found.append(f"{document['name']}: {each['claim']!r} ({each['protocol']}) has no row in the ledger")
            elif row.criterion != each["criterion"]:
                found.append(
                    f"{each['claim']}: the criterion was changed after the result; run {document['name']} again"
                )
    results = by_claim(documents)
    for row in rows.values():
        outcome = outcome_of(row, results)
        if (outcome in (FAILS, OPEN) and not row.because) or (outcome == NOT_RUN and not (row.needs or row.because)):
            found.append(f"{row.id}: {outcome}, but the ledger states no reason; add `because` or `needs`")
    return found


def by_claim(documents: Sequence[Mapping[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """Return the results of each row, and whether they can decide the row."""
    rows, found = ledger(), dict[str, list[dict[str, Any]]]()
    for document in documents:
        for each in document["results"]:
            decides = each["claim"] in rows and rows[each["claim"]].decides(True, "--data" in document["command"])
            found.setdefault(each["claim"], []).append({**each, "decides": decides})
    return found


def outcome_of(row: Row, results: Mapping[str, list[dict[str, Any]]]) -> str:
    """Return the verdict of a row."""
    return verdict(row, [each for each in results.get(row.id, []) if each["decides"]])


def claims_of(rows: Sequence[Row]) -> list[list[Row]]:
    """Return the rows of each claim."""
    names = dict.fromkeys((row.paper, row.of) for row in rows)
    return [[row for row in rows if (row.paper, row.of) == name] for name in names]


def page(documents: Sequence[Mapping[str, Any]]) -> str:
    """Format the page of all documents, which is ordered by paper."""
    rows, results = ledger(), by_claim(documents)
    outcome = {row.id: outcome_of(row, results) for row in rows.values()}
    total = sum(document["seconds"] for document in documents)
    claims = claims_of(list(rows.values()))
    counts = f"Of {len(claims)} claims {counted(claims, outcome)}. The claims have {len(rows)} rows."
    parts = [HEAD, f"{counts} All runs: {duration(total)} of CPU time.", ""]
    for paper, about in papers().items():
        own = [row for row in rows.values() if row.paper == paper]
        counts = counted(claims_of(own), outcome)
        told = f"*{about['title']}*, {about['version']}: {counts}. [Criteria](ledger/{about['file']})."
        parts += [f"## {paper}", "", f"{told} {about.get('data', '')}".rstrip(), ""]
        parts += ["|claim|where|printed|here|verdict|", "|---" * 5 + "|"]
        for claim in claims_of(own):
            parts += lines(claim, results, outcome)
        parts += [""]
        if about["errata"]:
            parts += ["**Errata.**", "", *(f"- {erratum}" for erratum in about["errata"]), ""]
    shown = [document for document in documents if document["name"] != ALONE]
    parts += ["## Figures", "", "See also [samplers at equal cost](samplers_at_equal_cost.md).", ""]
    for document in shown:
        parts += of_figure(document)
    return "\n".join(parts)


def of_figure(document: Mapping[str, Any]) -> list[str]:
    """Format the figure of an experiment, if it has one."""
    return [f"![{document['name']}](results/{document['figure']})", ""] if document["figure"] else []


def of_samplers(document: Mapping[str, Any]) -> list[str]:
    """Format the run of all samplers, and the results at the smallest and the largest budget."""
    command = document["command"].split("/")[-1].removesuffix(" --full")
    parts = [f"`{command}`, commit {', '.join(document['commits'])}", "", *of_figure(document)]
    parts += [folded("Remarks", document["remarks"]), SAMPLERS, ""]
    parts += ["|posterior|evaluations|sampler|worth|bias|true error|reliable|", "|---" * 7 + "|"]
    names = document["numbers"]["names"]
    for key, found in document["numbers"]["results"].items():
        name, sampler = key.split(", ")
        for k in (0, -1):
            if found["worth"][k] is None:
                cells = ["-"] * 4
            else:
                bias = [found[each][k] for each in ("bias", "margin", "error", "reliable")]
                estimate, margin, error, reliable = ("-" if each is None else f"{each:.2g}" for each in bias)
                estimate = f"{estimate} ± {margin}" if estimate != "-" else estimate
                cells = [f"{found['worth'][k]:.3g}", estimate, error, reliable]
            budget = f"{document['settings']['budgets'][name][k]:,}"
            parts.append(f"|{'|'.join([names[name], budget, names[sampler], *cells])}|")
    return [*parts, ""]


def line(row: Row, results: Sequence[Mapping[str, Any]], outcome: str) -> str:
    """Format one row."""
    told = {each["protocol"]: each["said"] if each["decides"] else f"other data: {each['said']}" for each in results}
    here = "; ".join(
        f"{each}: {told[each]}" if each else told[each] for each in row.protocols + row.shown if each in told
    )
    return cells(row.claim, row.where, row.printed, here or "-", outcome)


def cells(*texts: str) -> str:
    """Format a line of a table, in which failures are bold."""
    *told, verdict = (each.replace("|", "\\|") for each in texts)
    verdict = f"**{FAILS}**{verdict.removeprefix(FAILS)}" if verdict.startswith(FAILS) else verdict
    return f"|{'|'.join([*told, verdict])}|".replace("under from", "from")


def lines(claim: Sequence[Row], results: Mapping[str, list[dict[str, Any]]], outcome: Mapping[str, str]) -> list[str]:
    """Format a claim with its rows, without verdicts that equal the verdict of the claim.

    If the claim has many rows, only rows that do not hold are included.
    """
    told = {row.id: remark(row, outcome[row.id]) for row in claim}
    if len(claim) == 1:
        row = claim[0]
        return [line(row, results.get(row.id, []), joined(outcome[row.id], told[row.id]))]
    held = sum(outcome[row.id].startswith(HOLDS) for row in claim)
    printed = claim[0].printed if len({row.printed for row in claim}) == 1 else ""
    state = weakest([outcome[row.id] for row in claim])
    count = f"{held} of {len(claim)} hold" if 0 < held < len(claim) else ""
    remarks = [text for text in told.values() if text]
    common = remarks[0] if len(remarks) > 1 and len(set(remarks)) == 1 else ""
    made = [cells(claim[0].of, claim[0].where, printed, count, joined(state, common))]
    for row in claim if len(claim) <= MANY else [row for row in claim if not outcome[row.id].startswith(HOLDS)]:
        own = joined(outcome[row.id] * (outcome[row.id] != state), told[row.id] * (not common))
        row = replace(row, where="", claim=f"- {row.claim}", printed="" if printed else row.printed)
        made.append(line(row, results.get(row.id, []), own))
    return made


def remark(row: Row, outcome: str) -> str:
    """Return the reason for a verdict, or the change of the criterion if the row holds."""
    text = row.revised if outcome == HOLDS else row.needs if outcome == NOT_RUN and row.needs else row.because
    return "" if text == "the same" else text


def joined(outcome: str, text: str) -> str:
    """Join a verdict and its reason, where either can be empty."""
    return ": ".join(each for each in (outcome, text) if each)


def folded(title: str, texts: Sequence[str]) -> str:
    """Format collapsible remarks."""
    inside = "\n".join(f"<p>{text}</p>" for text in texts)
    return f"<details><summary>{title}</summary>\n{inside}\n</details>\n" if texts else ""


def counted(claims: Sequence[Sequence[Row]], outcome: Mapping[str, str]) -> str:
    """Count the claims by their verdicts."""
    found = (weakest([outcome[row.id] for row in claim]) for claim in claims)
    counts = Counter(f"{HOLDS} under" if each.startswith(f"{HOLDS} under") else each for each in found)
    words = {HOLDS: "hold", f"{HOLDS} under": "under a protocol", FAILS: "fail", OPEN: "open", NOT_RUN: "not run"}
    return ", ".join(f"{counts[each]} {text}" for each, text in words.items() if counts[each])


def duration(seconds: float) -> str:
    """Format a time in seconds, minutes or hours with two digits."""
    for size, unit in ((3600.0, "h"), (60.0, "min")):
        if seconds >= 2.0 * size:
            return f"{float(f'{seconds / size:.2g}'):g} {unit}"
    return f"{float(f'{seconds:.2g}'):g} s"


if __name__ == "__main__":
    main()
