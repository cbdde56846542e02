"""Rejection rates of `steinkit.verdict` and its tests for raw chains of exact samplers.

    python benchmarks/false_alarms.py                   # half an hour on two processors: 100 samples of each family
    python benchmarks/false_alarms.py --target          # with the target, which adds the invariance test
    python benchmarks/false_alarms.py --quick
    python benchmarks/false_alarms.py --only "AR(-0.9)" # families with this in their name

A family is a target with an exact sampler (`right_chains.py`). Its samples alternate between one chain of 1000 draws
and four chains of 500 draws, both with all draws and thinned. The rejection rates at .05 and .01 refer to the evaluated
samples and have 95% Clopper-Pearson intervals. The other samples have too few effective draws. The exit code is 1 if
the interval of all verdicts together lies above a level. The program `nuts_chains.py` computes the same rates for NUTS
in four packages.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
import zlib
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from records import add_option, keep
from right_chains import families
from scipy.stats import beta

import steinkit as sk

LEVELS = (0.05, 0.01)
MANY = 100  # with more coordinates, a verdict takes seconds, and only a quarter of the samples are used
TESTS = ("p", "p_moments", "p_bounded", "p_sliced", "p_ksd", "p_dependence", "p_invariance", "p_critic")
HEAD = f"{'family':44} {'tried':>5} {'judged':>6}   " + "   ".join(f"{test:>12}" for test in TESTS)


class Found(NamedTuple):
    """P-values of `TESTS` for a sample, and whether it was evaluated."""

    p_values: tuple[float, ...]
    judged: bool


def found_in(draws: np.ndarray, scores: np.ndarray, target: sk.Target | None = None) -> Found:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        verdict = sk.verdict(draws, target, scores=scores if target is None else None)
    p_values = [verdict.p, *(verdict.p_of(test.removeprefix("p_")) for test in TESTS[1:])]
    return Found(tuple(np.nan if p is None else p for p in p_values), verdict.enough_draws)


def of_family(base: str, repeats: int, by_target: bool = False) -> tuple[str, list[Found]]:
    """Verdicts on samples of one family, with alternating layouts."""
    layouts = [family for name, family in families().items() if base_of(name) == base]
    if layouts[0].dim >= MANY:
        repeats //= 4
    rng = np.random.default_rng(zlib.crc32(base.encode()))
    found = []
    for k, family in enumerate(layouts):
        count = repeats // len(layouts) + (k < repeats % len(layouts))
        target = family.target() if by_target else None
        found += [found_in(*sample, target) for sample in family.samples(rng, count)]
    return base, found


def base_of(name: str) -> str:
    """Return the name of a family without its layout."""
    return name.removesuffix(", thinned").rsplit(", ", 1)[0]


def lower_bound(count: int, tried: int) -> float:
    """Return the lower end of the Clopper-Pearson interval of a rate."""
    return float(beta.ppf(0.025, count, tried - count + 1)) if count else 0.0


def share(count: int, tried: int) -> str:
    """Format a rate with its Clopper-Pearson interval."""
    low = lower_bound(count, tried)
    high = beta.ppf(0.975, count + 1, tried - count) if count < tried else 1.0
    return f"{count / tried:.3f} [{low:.3f}, {high:.3f}]"


def row(name: str, found: list[Found]) -> str:
    """Return the rejection rates of the evaluated samples."""
    judged = np.array([each.p_values for each in found if each.judged])
    if not len(judged):
        return f"{name:44} {len(found):5} samples, none judged"
    counts = [" ".join(f"{each:.2f}" for each in rejected) for rejected in _rejected(judged)]
    return f"{name:44} {len(found):5} {len(judged):6}   " + "   ".join(f"{each:>12}" for each in counts)


def _rejected(p_values: np.ndarray) -> list[list[float]]:
    """Return the rejection rates of each test at both levels; NaN if the test was not run."""
    made = (column[~np.isnan(column)] for column in p_values.T)
    return [[float((p <= level).mean()) if len(p) else np.nan for level in LEVELS] for p in made]


def counts_of(rows: dict[str, list[Found]]) -> list[dict[str, Any]]:
    """Return the numbers of samples, evaluated samples and rejections of each family, for the record."""
    records = []
    for name, found in rows.items():
        p_values = np.array([each.p_values[0] for each in found if each.judged])
        at_05, at_01 = (int((p_values <= level).sum()) for level in LEVELS)
        records.append({"name": name, "samples": len(found), "judged": len(p_values), "at_05": at_05, "at_01": at_01})
    return records


def report(rows: dict[str, list[Found]]) -> None:
    """Return the totals of all families, with intervals."""
    judged = np.array([each.p_values for found in rows.values() for each in found if each.judged])
    print(f"\nall together, {len(judged)} judged of {sum(map(len, rows.values()))}")
    if not len(judged):
        return
    for test, column in zip(TESTS, judged.T, strict=True):
        made = column[~np.isnan(column)]
        if not len(made):
            continue
        counts = (share(int((made <= level).sum()), len(made)) for level in LEVELS)
        print(f"{test:12}", "   ".join(f"at {level}: {count}" for level, count in zip(LEVELS, counts, strict=True)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="four samples of three small families")
    parser.add_argument("--repeats", type=int, default=100, help="samples of each family")
    parser.add_argument("--only", default="", help="families with this in their name")
    parser.add_argument("--target", action="store_true", help="use score and log density, not only scores")
    parser.add_argument("--jobs", type=int, default=2)
    add_option(parser)
    arguments = parser.parse_args()
    bases = [base for base in dict.fromkeys(map(base_of, families())) if arguments.only in base]
    if arguments.quick:
        bases, arguments.repeats = [base for base in bases if "d = 2" in base and "normal" not in base][:3], 4
    began, rows = time.perf_counter(), {}
    print(HEAD)
    tasks = (delayed(of_family)(base, arguments.repeats, arguments.target) for base in bases)
    for name, found in Parallel(arguments.jobs, return_as="generator")(tasks):
        rows[name] = found
        print(row(name, found), flush=True)
    report(rows)
    target = ["--target"] if arguments.target else []
    counts = counts_of(rows)
    keep(arguments.record, "false_alarms", counts, [*target, f"--repeats {arguments.repeats}"])
    print(f"({time.perf_counter() - began:.0f} s)")
    judged, *rejected = (sum(each[key] for each in counts) for key in ("judged", "at_05", "at_01"))
    if any(lower_bound(count, judged) > level for count, level in zip(rejected, LEVELS, strict=True)):
        sys.exit("more exact samples are rejected than the levels allow")


if __name__ == "__main__":
    main()
