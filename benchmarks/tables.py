"""Generate the tables and sentences of the documentation from records of benchmarks.

    python benchmarks/tables.py   # writes benchmarks/tables/*.md from benchmarks/records/*.json

The pages include these files, and a test checks that they agree with the records. A record is from a full run of the
command that its table names.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from datetime import date
from pathlib import Path
from typing import Any

from records import RECORDS, kept
from scipy.stats import binomtest

TABLES = Path(__file__).parent / "tables"
PACKAGES = "four packages"
NUTS = {"schools": "eight schools (non-centered)", "grouped": "grouped logistic regression, d = 45"}
Row = dict[str, Any]
REJECTED = "accused"  # key of the records: rejections among the evaluated samples

SOLVERS = {  # instance and tolerance: name, for instances of `benchmarks/solvers.py`
    ("normal 1000x1", 1e-6): "1000, d = 1",
    ("normal 10000x1", 1e-6): "10,000, d = 1",
    ("normal 1000000x1", 1e-6): "1,000,000, d = 1",
    ("normal 1000x2", 1e-6): "1000, d = 2",
    ("normal 3000x2", 1e-6): "3000, d = 2",
    ("normal 30000x2", 1e-6): "30,000, d = 2",
    ("normal 1000x3", 1e-6): "1000, d = 3",
    ("normal 1000x5", 1e-3): "1000, d = 5",
    ("narrow normal 1000x7", 1e-3): "1000, d = 7, sd 0.3",
}
PEERS = {
    "cvxpy": "relative to CVXPY with HiGHS",
    "default": "relative to CVXPY with its default, Clarabel",
    "highs": "relative to HiGHS on the dual",
    "pdlp": "relative to PDLP on the dual",
    "clarabel": "relative to Clarabel",
}
BLOWN_UP = (
    "eight_schools_centered",
    "eight_schools_noncentered",
    "gp_pois_regr",
)  # models without Langevin draws with a given bias


def taken(record: Row) -> str:
    """Return the command and the date of a table."""
    day = written_out(record["day"])
    return f"These results were computed by `{record['command']}` on {day} (commit {record['commit']})."


def written_out(day: str) -> str:
    """Format an ISO date, as in "30 November 2026"."""
    parsed = date.fromisoformat(day)
    return f"{parsed.day} {parsed:%B %Y}"


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Format a Markdown table."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(line)} |".replace("|  |", "| |").replace("|  |", "| |") for line in lines)


def rounded(value: float, digits: int = 2) -> str:
    """Format a number with a given number of significant digits, without exponent."""
    shown = float(f"{value:.{digits - 1}e}")
    places = digits - 1 - (math.floor(math.log10(abs(shown))) if shown else digits - 1)
    return f"{shown:,.{max(places, 0)}f}"


def share(count: int, of: int) -> str:
    """Return a fraction as a percentage, "all" or "none", or "-" if it is undefined."""
    if not of:
        return "-"
    return "all" if count == of else "none" if count == 0 else f"{rounded(100.0 * count / of)}%"


def number(count: int) -> str:
    """Return a count as text, or "none" if it is zero."""
    return str(count or "none")


def solvers(records: Path = RECORDS) -> str:
    """Return the times of our solvers per coordinate, relative to general solvers."""
    record = kept("solvers", records)
    rows, peers = [], [peer for peer in PEERS if any(peer in row["peers"] for row in record["rows"])]
    for row in record["rows"]:
        name = SOLVERS.get((row["instance"], row["tolerance"]))
        if name is not None:
            ratios = [ratio(row, row["peers"].get(peer)) for peer in peers]
            beat = f"{row['pulse']} ms" if "pulse" in row else "-"
            solver = f"`{row['solver']}`, {power(row['tolerance'])}"
            rows.append([name, solver, rounded(row["seconds"]), *ratios, beat])
    header = ("draws of N(0, I)", "solver, bracket", "seconds", *(PEERS[peer] for peer in peers), "pulse")
    days = ", ".join(map(written_out, sorted({row["day"] for row in record["rows"] if "pulse" in row})))
    return f"{table(header, rows)}\n\n{taken(record)} The rows with a pulse were computed on {days}."


def ratio(row: Row, peer: Row | None) -> str:
    """Return our time relative to that of a peer, and its gap if it exceeds the tolerance."""
    if peer is None:
        return ""
    if peer["gap"] is None or peer["gap"] > 0.99:  # relative width of a bracket with lower bound zero
        proves = " (no bound)"
    else:
        proves = "" if peer["gap"] <= row["tolerance"] else f" (its bracket: {power(peer['gap'])})"
    return f"{rounded(row['seconds'] / peer['seconds'])}{proves}"


def power(gap: float) -> str:
    """Format a tolerance or the width of a bracket, such as 1e-6 or 0.7."""
    return rounded(gap, 1) if gap >= 0.05 else f"{gap:.0e}".replace("e-0", "e-")


def spanner(records: Path = RECORDS) -> str:
    """Return the times of the spanner and of its peers."""
    record = kept("spanner", records)
    times = next(row for row in record["rows"] if (row["of"], row["dim"], row["n"]) == ("times", 2, 3000))
    fewest = math.floor(min(row["ratio"] for row in record["rows"] if row["of"] == "edges"))
    return (
        f"The spanner of 3000 draws in two dimensions takes {rounded(times['seconds'])} CPU seconds. An algorithm that "
        f"stores all pairwise path lengths takes {rounded(times['ratio'])} times as long. At a dilation of 3, "
        f"the spanner of networkx has at least {fewest} times as many edges. {taken(record)}"
    )


def families(records: Path = RECORDS) -> str:
    """Return the rejection rates of exact samples and of samples with defects, for families with samplers."""
    record = kept("families", records)
    right = [row for row in record["rows"] if row["table"].startswith(("Exact", "Right"))]
    one = [row for row in record["rows"] if "of one coordinate" in row["sample"]]
    every = [row for row in record["rows"] if row["sample"].startswith("all sds")]
    rows = [
        *(
            [f"*exact*: {row['sample'].removeprefix('right ').removeprefix('exact ')}", *rejected([row])]
            for row in right
        ),
        [
            "one coordinate shifted by a quarter of its standard deviation, or wider or narrower by a fifth",
            *rejected(one),
        ],
        ["every coordinate wider or narrower by a tenth, in 2 to 20 dimensions", *rejected(every)],
    ]
    named, flagged = (sum(row.get(key, 0) for row in one) for key in ("first", "flagged"))
    return (
        f"{table(('sample', 'samples', 'judged', 'rejected at 0.05', 'at 0.01'), rows)}\n\n{taken(record)} "
        "Except for chance, the rejection rates of exact samples should not exceed the level. "
        f"For {named} of the {flagged} rejected samples with one biased coordinate, the first finding names this "
        "coordinate."
    )


def rejected(rows: list[Row]) -> list[str]:
    """Return the number of evaluated samples, and their rejection rates."""
    tried, judged = (sum(row[key] for row in rows) for key in ("tried", "judged"))
    return [str(tried), str(judged), *(share(sum(row[REJECTED][k] for row in rows), judged) for k in (0, 1))]


def modes(records: Path = RECORDS) -> str:
    """Return the rows of exact chains that rarely switch between two modes."""
    record = kept("modes", records)
    rows = [
        [row["sample"], *(str(each) for each in (row["tried"], row["rejected"][1], row["judged"], row[REJECTED][1]))]
        for row in record["rows"]
    ]
    header = ("sampler, draws", "chains", "p below 0.01", "judged", "rejected at 0.01")
    return f"{table(header, rows)}\n\n{taken(record)}"


def modes_in_words(records: Path = RECORDS) -> str:
    """Return the same rows in the format of the guide to the verdict."""
    rows = kept("modes", records)["rows"]
    long = max(rows, key=lambda row: int(row["sample"].split(", ")[-1].removesuffix(" draws").replace(",", "")))
    short = [row for row in rows if row is not long]
    tried, judged = (sum(row[key] for row in short) for key in ("tried", "judged"))
    below, wrongly = (sum(row[key][1] for row in short) for key in ("rejected", REJECTED))
    return (
        "As an example, exact samplers for a target with two modes were started at exact draws. Of "
        f"{tried} short chains, {number(below)} have a p-value below 0.01, {number(judged)} have enough effective "
        f"draws, and the verdict rejects {number(wrongly)}. "
        f"Of {long['tried']} long chains, {number(long['judged'])} have enough effective draws, and "
        f"the verdict rejects {number(long[REJECTED][1])}."
    )


def posteriors(records: Path = RECORDS) -> str:
    """Return p-values and totals for exact samples from real posteriors and for samples with defects."""
    record = kept("posteriors", records)
    cells = [
        [
            row["posterior"],
            str(row["dim"]),
            f"{min(row['right']):.2g}",
            *(p_value(row[key]) for key in ("shift25", "ula", "meanfield")),
            "yes" if row["named"] == row["moved"] else f"`{row['named']}`" if row["named"] else "none",
        ]
        for row in record["rows"]
    ]
    header = ("posterior", "d", "exact", "shifted", "Langevin", "mean-field", "named first")
    return (
        f"{table(header, cells)}\n\n{taken(record)} The columns *exact* to *mean-field* "
        "contain p-values. For exact draws, the smallest of three p-values is listed. The column *named first* "
        'contains "yes" if the first finding is the shift of the shifted coordinate, and otherwise the parameter of '
        f"the first finding.\n\n{posteriors_in_words(record['rows'])}"
    )


def posteriors_in_words(rows: list[Row]) -> str:
    """Return the number of rejected samples from real posteriors."""
    right = [p for row in rows for p in row["right"]]
    unjudged = sum(len(row["not_judged"]) for row in rows)
    movable = [row for row in rows if row["moved"] in row["names"]]
    flagged = sum(row["named"] == row["moved"] for row in movable)
    biased, blown_up = (
        [row for row in rows if (row["posterior"].split("-")[-1] in BLOWN_UP) == blown] for blown in (False, True)
    )
    return (
        f"Of the {6 * len(rows)} samples, {number(unjudged)} have too few effective draws. Of the {len(right)} exact "
        f"samples, {number(sum(p <= 0.05 for p in right))} have a p-value of at most 0.05, and "
        f"{number(sum(p <= 0.01 for p in right))} have a p-value of at most 0.01. At level 0.01, the verdict rejects "
        f"{found(rows, 'shift25')} of {len(rows)} shifted samples, {found(biased, 'ula')} of {len(biased)} Langevin "
        f"samples with the intended bias, {found(blown_up, 'ula')} of {len(blown_up)} Langevin samples for which the "
        f"bias could not be set, and {found(rows, 'meanfield')} of {len(rows)} mean-field samples. In {flagged} of "
        f"{len(movable)} shifted samples, the first finding names the shifted coordinate."
    )


def p_value(p: float) -> str:
    """Format a number with two digits."""
    return f"{p:.2g}" if p else "< 1e-300"


def found(rows: list[Row], key: str) -> int:
    """Return the number of rows with a rejection at 0.01."""
    return sum(row[key] <= 0.01 and key not in row["not_judged"] for row in rows)


def sequential(records: Path = RECORDS) -> str:
    """Return the data use and time of approximate tests relative to exact ones."""
    record = kept("sequential", records)
    rows: dict[tuple[str, int], list[Row]] = {}
    for row in record["rows"]:
        if row["epsilon"]:
            rows.setdefault((row["chain"], row["data"]), []).append(row)
    cells = []
    for (chain, data), of in rows.items():
        name = chain if chain.startswith("Gibbs") else f"{chain}, {data:,} data points"
        shares, times = (sorted(row[key] for row in of) for key in ("share", "time_ratio"))
        cells.append([name, f"{shares[0]:.0%} to {shares[-1]:.0%}", f"{rounded(times[0])} to {rounded(times[-1])}"])
    return f"{table(('chain', 'data read', 'time'), cells)}\n\n{taken(record)}"


def measure_costs(records: Path = RECORDS) -> str:
    """Return the seconds of every measure."""
    record = kept("measure_costs", records)
    sizes = list(dict.fromkeys((row["n"], row["dim"]) for row in record["rows"]))
    rows: dict[str, list[str]] = {}
    for row in record["rows"]:
        name = "the verdict" if row["measure"] == "verdict" else f"`{row['measure']}`"
        rows.setdefault(name, []).append("" if row["seconds"] is None else rounded(row["seconds"], 1))
    header = ["measure", *(f"{n if n < 10_000 else f'{n:,}'}, d = {dim}" for n, dim in sizes)]
    return f"{table(header, [[name, *cells] for name, cells in rows.items()])}\n\n{taken(record)}"


def approximate_fits(records: Path = RECORDS) -> str:
    """Return the coverage of the biases that verdicts report for approximate fits, one row per target."""
    record = kept("approximate_fits", records)
    cells = [
        [
            "**all targets**" if row["name"] == "together" else row["name"],
            f"{row['rejected']} of {row['judged']}",
            defined(row["reliable"]),
            *(f"{round((row[f'{kind}_covered'] or 0.0) * row[kind]):,} of {row[kind]:,}" for kind in ("means", "sds")),
            str(row["large"]),
        ]
        for row in record["rows"]
        if row["table"] == "target"
    ]
    header = ("target", "rejected fits", "reliable", "means covered", "sds covered", "missed by more than 0.1 sd")
    return f"{table(header, cells)}\n\n{taken(record)}"


def second_witness(records: Path = RECORDS) -> str:
    """Return the rejection rates of exact samples and of defects, one row per family."""
    return families_of("second_witness", records)


def fresh_families(records: Path = RECORDS) -> str:
    """Return the rejection rates for families defined before any run."""
    return families_of("fresh_families", records)


def families_of(name: str, records: Path) -> str:
    """Return the rates of a record of `second_witness.py` or `fresh_families.py`."""
    record = kept(name, records)
    cells = [
        [
            f"*exact*: {row['name']}" if row["table"] == "exact" else row["name"],
            f"{row['judged']} of {row['samples']}",
            *(defined(row[level]) for level in ("at_05", "at_01")),
        ]
        for row in record["rows"]
    ]
    return f"{table(('family', 'judged', 'rejected at 0.05', 'at 0.01'), cells)}\n\n{taken(record)}"


def exact_chains(records: Path = RECORDS) -> str:
    """Return the rates of `false_alarms.py` and `nuts_chains.py`, with intervals."""
    chains, nuts = kept("false_alarms", records), kept("nuts_chains", records)
    groups = {f"{len(chains['rows'])} families of autoregressions and Hamiltonian Monte Carlo": chains["rows"]}
    for row in nuts["rows"]:
        model = row["name"].split(", ")[0]
        groups.setdefault(f"NUTS in {PACKAGES}, {NUTS.get(model, model.replace('_', ', d = '))}", []).append(row)
    cells = []
    for name, rows in groups.items():
        samples, judged, *rejected = (sum(row[key] for row in rows) for key in ("samples", "judged", "at_05", "at_01"))
        cells.append([name, f"{judged:,} of {samples:,}", *(interval(count, judged) for count in rejected)])
    head = ("exact chains, not thinned", "judged", "rejected at 0.05", "at 0.01")
    return f"{table(head, cells)}\n\n{taken(chains)}\n\n{taken(nuts)}"


def interval(count: int, tried: int) -> str:
    """Format a rate with its 95% Clopper-Pearson interval."""
    found = binomtest(count, tried).proportion_ci()
    return f"{count / tried:.3f} [{found.low:.3f}, {found.high:.3f}]"


def defined(share: float | None) -> str:
    """Return a rate with two digits, or a dash if it is undefined."""
    return "-" if share is None else f"{share:.2f}"


WRITTEN: dict[str, Callable[..., str]] = {
    "approximate_fits": approximate_fits,
    "second_witness": second_witness,
    "fresh_families": fresh_families,
    "exact_chains": exact_chains,
    "solvers": solvers,
    "spanner": spanner,
    "families": families,
    "modes": modes,
    "modes_in_words": modes_in_words,
    "posteriors": posteriors,
    "sequential": sequential,
    "measure_costs": measure_costs,
}


def main() -> None:
    TABLES.mkdir(exist_ok=True)
    for name, written in WRITTEN.items():
        (TABLES / f"{name}.md").write_text(f"{written()}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
