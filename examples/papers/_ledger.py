"""Ledger of the papers' claims with their criteria, which are files in `ledger/`, one per paper.

A claim has one or more rows, such as the entries of a table. A row contains a printed number or statement, its place in
the paper, and a criterion that is evaluated by code. Criteria are written before the run. If a criterion was changed
after a result was known, `revised` describes the change. Results store the hash of their criterion. The command
`index.py --check` reports results without a row, and criteria that do not agree with the hash.

A printed number holds if it differs from our result by no more than half a unit of its last digit plus two standard
errors of the difference. The latter term is the root of the sum of the squares of the paper's error (`error`) and of
our error. The criterion of a statement in words is an expression, `holds`, of the numbers passed by the script. If the
row also has the expression `fails`, a result that satisfies neither expression leaves the row open. If the paper does
not specify a protocol, a row can have several protocols. The row then holds, holds under some of them, or fails, for
the reason given in the row. Rows that the available data cannot decide are not run (`needs`, `real`). Rows without a
reproducible criterion are open (`undecidable`), but their results are shown. The verdict of a claim is the least
favorable verdict of its rows.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import stdtrit

from steinkit.errors import UsageError
from steinkit.sweeps.identity import digest

FOLDER = Path(__file__).resolve().parent / "ledger"
HOLDS, FAILS, OPEN, NOT_RUN = "holds", "fails", "open", "not run"
_FUNCTIONS = {"min": np.min, "max": np.max, "all": np.all, "any": np.any, "abs": np.abs, "diff": np.diff}


@dataclass(frozen=True)
class Found:
    """Result with its Monte Carlo interval, if it has Monte Carlo error."""

    value: float
    low: float
    high: float

    @classmethod
    def exactly(cls, value: float) -> Found:
        """Create a result without Monte Carlo error."""
        return cls(float(value), float(value), float(value))

    @classmethod
    def mean(cls, values: Any, errors: float = 2.0) -> Found:
        """Create a result from the mean of independent values, with an interval in standard errors."""
        array = np.asarray(values, dtype=np.float64)
        reach = errors * array.std(ddof=1) / np.sqrt(array.size)
        return cls(float(array.mean()), float(array.mean() - reach), float(array.mean() + reach))

    @classmethod
    def few(cls, values: Any, one: bool = False) -> Found:
        """Create a result from the mean of a few runs, with a 95% t interval for the mean or for another run."""
        n = len(values)
        return cls.mean(values, float(stdtrit(n - 1, 0.975)) * math.sqrt(n + 1.0 if one else 1.0))

    @classmethod
    def range(cls, values: Any, inside: float = 0.95) -> Found:
        """Create a result from the median of independent values, with a prediction interval for one run."""
        low, middle, high = np.quantile(values, [0.5 * (1.0 - inside), 0.5, 0.5 * (1.0 + inside)])
        return cls(float(middle), float(low), float(high))

    def __str__(self) -> str:
        value, low, high = (f"{each:,.0f}" if abs(each) >= 1000.0 else f"{each:.3g}" for each in self)
        below, above = self.value - self.low, self.high - self.value
        if low == high:
            return value
        if abs(above - below) <= 0.1 * max(above, below):
            return f"{value}±{0.5 * (above + below):,.{0 if above >= 10.0 else 2}{'f' if above >= 10.0 else 'g'}}"
        return f"{value} ({low}{' to ' if self.low < 0.0 else '-'}{high})"

    def __iter__(self) -> Any:
        return iter((self.value, self.low, self.high))


@dataclass(frozen=True)
class Row:
    """Printed number or statement of a claim.

    Attributes
    ----------
    id, paper : str
        Name of the row, and name of the paper.
    of : str
        Claim to which the row belongs.
    script : str
        Name of the script, or an empty string.
    where : str
        Table, figure or section of the paper.
    claim : str
        Label of the row, or of the claim if this is its only row.
    printed : str
        Number as printed in the paper, or statement in words.
    error : float
        Two standard errors of the printed number.
    holds, fails : str
        Expressions of the criterion for a statement in words.
    rule : str
        Criterion in words.
    protocols : tuple of str
        Variants between which the paper does not distinguish. All of them are run.
    shown : tuple of str
        Other variants, whose results are shown but do not affect the verdict.
    because : str
        Reason why the row fails, is open, or holds only under some protocols.
    revised : str
        Change to the criterion after a result was known.
    needs : str
        Data or work that the run requires.
    real : bool
        True if only real data can decide the row.
    undecidable : bool
        True if the row is open regardless of the result, for the reason in `because`.
    """

    id: str
    paper: str
    of: str
    where: str
    claim: str
    printed: str
    script: str = ""
    error: float = 0.0
    holds: str = ""
    fails: str = ""
    rule: str = ""
    protocols: tuple[str, ...] = ("",)
    shown: tuple[str, ...] = ()
    because: str = ""
    revised: str = ""
    needs: str = ""
    real: bool = False
    undecidable: bool = False

    @property
    def label(self) -> str:
        """Labels of the claim and of the row."""
        return self.claim if self.claim == self.of else f"{self.of}: {self.claim}"

    @property
    def number(self) -> float | None:
        """Printed number, or None if the row contains a statement in words."""
        try:
            return float(self.printed)
        except ValueError:
            return None

    @property
    def criterion(self) -> str:
        """Hash of the criterion."""
        return digest([self.printed, self.error, self.holds, self.fails, self.undecidable, list(self.protocols)])

    def decides(self, full: bool, data: bool) -> bool:
        """Return True if a run of this size, with or without real data, can decide the row."""
        return full and not self.needs and (data or not self.real)

    def judged(self, found: Mapping[str, Any]) -> bool | None:
        """Return True if the row holds under one protocol, False if it fails, or None if it remains open."""
        names = _FUNCTIONS | {"printed": self.number}
        names |= {name: np.array(each, dtype=float) if isinstance(each, list) else each for name, each in found.items()}

        def true(expression: str) -> bool:
            return bool(eval(expression, {"__builtins__": {}}, names))  # only from files of this repository

        if true(self.holds) if self.holds else self._meets(Found(*(float(found[n]) for n in ("value", "low", "high")))):
            return True
        return None if self.fails and not true(self.fails) else False

    def _meets(self, found: Found) -> bool:
        printed = Decimal(self.printed)
        rounding = 0.5 * 10.0 ** int(printed.as_tuple().exponent)
        away = found.value - float(printed)
        reach = found.value - found.low if away > 0 else found.high - found.value
        return bool(abs(away) <= rounding * (1.0 + 1e-9) + math.hypot(reach, self.error))


def ledger() -> dict[str, Row]:
    """Read all rows by name, in the order of the files."""
    rows: dict[str, Row] = {}
    for path in sorted(FOLDER.glob("*.toml")):
        document = tomllib.loads(path.read_text(encoding="utf-8"))
        for claim in document["claim"]:
            entries = [claim | entry for entry in claim.pop("rows", [{}])]
            for each in (one for entry in entries for one in _spread(entry)):
                row = Row(paper=document["paper"], of=claim["claim"].replace("{}", ""), **each)
                if row.id in rows:
                    raise UsageError(f"{path.name} has a second row {row.id}; rename one of them")
                rows[row.id] = row
    return rows


def papers() -> dict[str, dict[str, Any]]:
    """Read the title, version and errata of each paper, with the name of its file."""
    found = {path.name: tomllib.loads(path.read_text(encoding="utf-8")) for path in sorted(FOLDER.glob("*.toml"))}
    return {
        document["paper"]: {key: value for key, value in document.items() if key != "claim"} | {"file": name}
        for name, document in found.items()
    }


def verdict(row: Row, results: Sequence[Mapping[str, Any]]) -> str:
    """Return the verdict for a row, based on the protocols that can decide it."""
    decided = {each["protocol"]: row.judged(each["found"]) for each in results}
    states = [decided[protocol] for protocol in row.protocols if protocol in decided]
    if not states:
        return NOT_RUN
    if row.undecidable:
        return OPEN
    if all(states) and len(states) == len(row.protocols):
        return HOLDS
    if any(states):
        return f"{HOLDS} under {' and '.join(each for each in row.protocols if decided.get(each))}".removesuffix(
            " under "
        )
    return OPEN if None in states else FAILS


def weakest(verdicts: Sequence[str]) -> str:
    """Return the least favorable of the verdicts on a claim's rows."""
    found = set(verdicts)
    if len(found) == 1:
        return found.pop()
    if FAILS in found:
        return FAILS
    return OPEN if {OPEN, NOT_RUN} & found else f"{HOLDS} under a protocol"


def _spread(entry: dict[str, Any]) -> list[dict[str, Any]]:
    """Return a row, or the rows of a table.

    A table has a printed number for each value of `{}` in the id and the claim.
    """
    entry = {name: tuple(each) if isinstance(each, list) else each for name, each in entry.items()}
    table = entry.pop("table", None)
    if table is None:
        return [entry]
    return [
        entry | {"id": entry["id"].format(name), "claim": entry["claim"].format(name), "printed": printed}
        for name, printed in table.items()
    ]
