"""The documentation's tables and sentences of what benchmarks found, made of their records.

    python benchmarks/tables.py   # writes benchmarks/tables/*.md of benchmarks/records/*.json

The pages include them, and a test holds that they are what the records say. A record is a full run's, by the command
that its table names.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from datetime import date
from pathlib import Path
from typing import Any

from records import RECORDS, kept

TABLES = Path(__file__).parent / "tables"
Row = dict[str, Any]

ENGINES = {  # instance and tolerance: how it is called, of those that `benchmarks/engines.py` runs
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
BLOWN_UP = ("eight_schools_centered", "eight_schools_noncentered", "gp_pois_regr")  # models: Langevin of no set bias


def taken(record: Row) -> str:
    """By what command a table was made, and when."""
    day = date.fromisoformat(record["day"])
    return f"`{record['command']}`, {day.day} {day:%B %Y}, commit {record['commit']}."


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table of Markdown."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(line)} |".replace("|  |", "| |").replace("|  |", "| |") for line in lines)


def rounded(value: float, digits: int = 2) -> str:
    """A number with so many significant digits, without an exponent."""
    if value == 0.0:
        return "0"
    places = digits - 1 - math.floor(math.log10(abs(value)))
    return f"{round(value, places):,.{max(places, 0)}f}"


def share(count: int, of: int) -> str:
    """A share with three decimals, or "all" or "none"."""
    return "all" if count == of else "none" if count == 0 else f"{count / of:.3f}".lstrip("0")


def engines(records: Path = RECORDS) -> str:
    """Times of our engines a coordinate, and their ratios to general solvers'."""
    record = kept("engines", records)
    rows = []
    for row in record["rows"]:
        name = ENGINES.get((row["instance"], row["tolerance"]))
        if name is not None:
            peers = [ratio(row, row["peers"].get(peer)) for peer in ("cvxpy", "highs")]
            rows.append([name, f"`{row['engine']}`, {power(row['tolerance'])}", rounded(row["seconds"]), *peers])
    header = ("draws of N(0, I)", "engine, bracket", "seconds", "to CVXPY with HiGHS", "to HiGHS on the dual")
    return f"{table(header, rows)}\n\n{taken(record)}"


def ratio(row: Row, peer: Row | None) -> str:
    """Our time over a peer's, and what the peer's answer proves where that is less than was asked for."""
    if peer is None:
        return ""
    if peer["gap"] is None or peer["gap"] > 0.99:  # of the width that a lower bound of zero leaves
        proves = " (proves nothing)"
    else:
        proves = "" if peer["gap"] <= row["tolerance"] else f" (its bracket: {power(peer['gap'])})"
    return f"{rounded(row['seconds'] / peer['seconds'])}{proves}"


def power(gap: float) -> str:
    """A tolerance or a bracket's width, as 1e-6 or 0.7."""
    return rounded(gap, 1) if gap >= 0.05 else f"{gap:.0e}".replace("e-0", "e-")


def spanner(records: Path = RECORDS) -> str:
    """What the spanner takes, beside others."""
    record = kept("spanner", records)
    times = next(row for row in record["rows"] if (row["of"], row["dim"], row["n"]) == ("times", 2, 3000))
    fewest = min(row["ratio"] for row in record["rows"] if row["of"] == "edges")
    return (
        f"The spanner of 3000 draws in two dimensions takes {rounded(times['seconds'])} CPU seconds, an algorithm that "
        f"keeps all pairwise path lengths {rounded(times['ratio'])} times as long. At a dilation of 3 the spanner of "
        f"networkx has {rounded(fewest)} times its edges or more. {taken(record)}"
    )


def families(records: Path = RECORDS) -> str:
    """How often right samples are accused, and wrong ones found, of families that can be drawn from."""
    record = kept("families", records)
    right = [row for row in record["rows"] if row["table"].startswith("Right")]
    many = [row for row in right if not row["sample"].endswith("ESS 30")]
    one = [row for row in record["rows"] if "of one coordinate" in row["sample"]]
    every = [row for row in record["rows"] if row["sample"].startswith("all sds")]
    rows = [
        ["*right*: independent, or a chain with an effective size of 100", *accused(many)],
        [
            "one coordinate shifted by a quarter of its standard deviation, or wider or narrower by a fifth",
            *accused(one),
        ],
        ["every coordinate wider or narrower by a tenth, in 2 to 20 dimensions", *accused(every)],
    ]
    named = sum(row["first"] for row in one) / sum(row["blamed"] for row in one)
    few = [row for row in right if row not in many]
    return (
        f"{table(('sample', 'samples', 'judged', 'accused at .05', 'at .01'), rows)}\n\n{taken(record)}\n\n"
        "Of the right samples that are judged the share that is accused ought to be at most the level. Chains with an "
        f"effective size of 30 are judged in {sum(row['judged'] for row in few)} of {sum(row['tried'] for row in few)} "
        f"cases. Of the wrong samples with one coordinate off, that coordinate was named first in {named:.0%}."
    )


def accused(rows: list[Row]) -> list[str]:
    """How many are judged, and the shares of them that are accused."""
    tried, judged = (sum(row[key] for row in rows) for key in ("tried", "judged"))
    return [str(tried), str(judged), *(share(sum(row["accused"][k] for row in rows), judged) for k in (0, 1))]


def modes(records: Path = RECORDS) -> str:
    """Right chains that cross between two modes seldom."""
    record = kept("modes", records)
    rows = [
        [row["sample"], *(str(each) for each in (row["tried"], row["rejected"][1], row["judged"], row["accused"][1]))]
        for row in record["rows"]
    ]
    header = ("sampler, draws", "chains", "p below .01", "judged", "of these accused at .01")
    return f"{table(header, rows)}\n\n{taken(record)}"


def modes_in_words(records: Path = RECORDS) -> str:
    """The same, as the guide to the verdict says it."""
    rows = kept("modes", records)["rows"]
    short, long = rows[:-1], rows[-1]
    tried, judged = (sum(row[key] for row in short) for key in ("tried", "judged"))
    below, wrongly = (sum(row[key][1] for row in short) for key in ("rejected", "accused"))
    return (
        f"Of {tried} short chains of exact samplers between two modes, all begun at exact draws, {below} have a "
        f"p-value below .01; {judged} are judged, and {wrongly or 'none'} of them accused. Of {long['tried']} long "
        f"ones {long['judged']} are judged and {long['accused'][1] or 'none'} accused."
    )


def posteriors(records: Path = RECORDS) -> str:
    """P-values of right and wrong samples of real posteriors, a row each, and what they come to."""
    record = kept("posteriors", records)
    rows = record["rows"]
    cells = [
        [
            row["posterior"],
            str(row["dim"]),
            f"{min(row['right']):.2g}",
            *(f"{row[key]:.2g}" if row[key] else "< 1e-300" for key in ("shift25", "ula", "meanfield")),
            "yes" if row["named"] == row["moved"] else f"`{row['named']}`",
        ]
        for row in rows
    ]
    right = [p for row in rows for p in row["right"]]
    shifts = [row for row in rows if row["shift25"] <= 0.01]
    movable = [row for row in shifts if row["moved"] in row["names"]]
    blamed = sum(row["named"] == row["moved"] for row in movable)
    biased, blown_up = (
        [row for row in rows if (row["posterior"].split("-")[-1] in BLOWN_UP) == blown] for blown in (False, True)
    )
    unset = f"{found(blown_up, 'ula')} of the {len(blown_up)} where it could not be"
    lost = [row for row in rows if row["meanfield"] > 0.01]
    header = ("posterior", "d", "right", "shifted", "Langevin", "mean-field", "named first")
    all_judged = sum(row["judged"] for row in rows) == 6 * len(rows)
    return (
        f"{table(header, cells)}\n\n{taken(record)} These are p-values, of the right draws the least of three; "
        f"{'all samples are judged' if all_judged else 'some samples have too few effective draws to be judged'}. "
        "*Named first* says whether the verdict blames the shift first of all on the coordinate that was moved, or on "
        "which other.\n\n"
        f"Accused of the {len(right)} right blocks: {sum(p <= 0.05 for p in right) or 'none'} at .05, "
        f"{sum(p <= 0.01 for p in right) or 'none'} at .01. At .01 the shift is found in {len(shifts)} of {len(rows)}, "
        f"and laid to the coordinate that was moved in {blamed} of {len(movable)}"
        + (": of the other posteriors no single coordinate was moved" if len(movable) < len(shifts) else "")
        + f". The Langevin samples are found in {found(biased, 'ula')} of the {len(biased)} where the bias was set, "
        f"and in {unset}; the lost dependence in {found(rows, 'meanfield')}, and not in "
        + " and ".join(f"`{row['posterior'].split('-')[-1]}`" for row in lost)
        + "."
    )


def found(rows: list[Row], key: str) -> int:
    """In how many rows a wrong sample is found at .01."""
    return sum(row[key] <= 0.01 for row in rows)


def sequential(records: Path = RECORDS) -> str:
    """What approximate tests read and take beside exact ones."""
    record = kept("sequential", records)
    rows: dict[tuple[str, int], list[Row]] = {}
    for row in record["rows"]:
        if row["epsilon"]:
            rows.setdefault((row["chain"], row["data"]), []).append(row)
    cells = []
    for (chain, data), of in rows.items():
        name = chain if chain.startswith("Gibbs") else f"{chain}, {data:,} data"
        shares, times = (sorted(row[key] for row in of) for key in ("share", "time_ratio"))
        cells.append([name, f"{shares[0]:.0%} to {shares[-1]:.0%}", f"{times[0]:.1f} to {times[-1]:.1f}"])
    return f"{table(('chain', 'data read', 'time'), cells)}\n\n{taken(record)}"


def measure_costs(records: Path = RECORDS) -> str:
    """Seconds of every measure."""
    record = kept("measure_costs", records)
    sizes = list(dict.fromkeys((row["n"], row["dim"]) for row in record["rows"]))
    rows: dict[str, list[str]] = {}
    for row in record["rows"]:
        name = "the verdict" if row["measure"] == "verdict" else f"`{row['measure']}`"
        rows.setdefault(name, []).append("" if row["seconds"] is None else rounded(row["seconds"], 1))
    header = ["", *(f"{n if n < 10_000 else f'{n:,}'}, d = {dim}" for n, dim in sizes)]
    return f"{table(header, [[name, *cells] for name, cells in rows.items()])}\n\n{taken(record)}"


WRITTEN: dict[str, Callable[..., str]] = {
    "engines": engines,
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
