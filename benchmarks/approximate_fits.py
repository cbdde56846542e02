"""Coverage of the biases that a verdict reports for approximate fits.

    python benchmarks/approximate_fits.py --seeds 5           # development seeds 0, 1, ...
    python benchmarks/approximate_fits.py --seeds 5 --final   # seeds 5000, 5001, ..., for the last run
    python benchmarks/approximate_fits.py --quick
    python benchmarks/approximate_fits.py --truths            # compute the true moments again

A fit consists of a thousand draws from an approximation (`approximations.py`) to a target (`curved_models.py`). Each of
its means and standard deviations is a quantity. A quantity is *reliable* if the verdict reports it as reliable. It is
*covered* if the true bias is within the margin of error, plus two standard errors of the reference value. Biases are in
true standard deviations, and biases of standard deviations are log ratios. The tables list the following numbers for
each target and each approximation:

- rejected: the number of fits with p <= .01;
- reliable: the fraction of the quantities of rejected fits that are reliable;
- means, sds: the coverage of the reliable quantities of all fits, with their number;
- worst: the largest error minus its margin; "> .1": the number of reliable quantities for which this exceeds .1.
"""

from __future__ import annotations

import argparse
import math
import time
import warnings
import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from approximations import KINDS
from bias_problems import Truth
from curved_models import Model, models
from joblib import Parallel, delayed
from records import RECORDS, add_option, keep, kept

import steinkit as sk
from steinkit.errors import SteinkitError

DRAWS, LEVEL = 1000, 0.01
FINAL = 5000
"""First seed of the last run. The seeds from 1000, 2000, 3000 and 4000 counted earlier rules for the margins of a run:
without the change by its last moves, with runs that still drift, with half of that change, and with a shorter run."""
NOISES = 2.0  # allowance for the errors of reference values, in standard errors
LARGE = 0.1  # excess over the margin of error at which an error counts as large, in sds
FEWEST = 10  # minimum number of reliable quantities for which a target must reach LEAST
COVERED, SDS_COVERED, LEAST, RELIABLE, LARGE_SHARE = 0.95, 0.93, 0.85, 0.5, 1 / 200
TRUTH = "approximate_fits_truth"
PRECISION = 0.01  # maximum standard error of a reference value, in standard deviations


@dataclass(frozen=True, eq=False)
class Fit:
    """Errors minus margins of the reported biases, for means and then for sds; NaN if not reliable."""

    model: str
    kind: str
    seed: int
    judged: bool
    rejected: bool
    excess: np.ndarray
    margins: np.ndarray
    error: str = ""

    @property
    def reliable(self) -> np.ndarray:
        """True where a quantity is reliable."""
        return ~np.isnan(self.excess)


def judge(model: Model, kind: str, seed: int, truth: Truth) -> Fit:
    """Compare the biases reported by a verdict with the reference values."""
    rng = np.random.default_rng([seed, zlib.crc32(f"{model.name}, {kind}".encode())])
    draws = KINDS[kind](model, DRAWS, rng)
    nothing = np.full(2 * len(truth.mean), np.nan)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            verdict = sk.verdict(draws, model.target)
        except SteinkitError as error:
            return Fit(model.name, kind, seed, False, False, nothing, nothing, f"{type(error).__name__}: {error}")
    rejected = bool(verdict.enough_draws and verdict.p <= LEVEL)
    if verdict.bias is None:
        return Fit(model.name, kind, seed, verdict.enough_draws, rejected, nothing, nothing)
    found, points = verdict.bias, draws.reshape(-1, draws.shape[-1])
    reported = np.concatenate([found.mean_bias, found.sd_bias])
    margins = np.concatenate([found.mean_margin, found.sd_margin])
    reliable = np.concatenate(
        [
            found.reliable,
            found.reliable,
        ]
    )
    true = np.concatenate([(points.mean(axis=0) - truth.mean) / truth.sd, np.log(points.std(axis=0) / truth.sd)])
    noise = NOISES * np.concatenate([truth.mean_noise / truth.sd, truth.log_sd_noise])
    excess = np.where(reliable & np.isfinite(margins), np.abs(reported - true) - np.hypot(margins, noise), np.nan)
    return Fit(model.name, kind, seed, verdict.enough_draws, rejected, excess, margins)


def fits_of(name: str, seed: int, kinds: Iterable[str], truth: Truth) -> tuple[list[Fit], float]:
    """Evaluate all approximations of a target with one seed, and measure the CPU time."""
    began = time.process_time()
    return [judge(models()[name], kind, seed, truth) for kind in kinds], time.process_time() - began


def stored_truths() -> dict[str, Truth]:
    """Read the true moments of each target."""
    fields = ("mean", "sd", "mean_noise", "log_sd_noise")
    return {row["target"]: Truth(*(np.array(row[field]) for field in fields)) for row in kept(TRUTH)["rows"]}


def store_truths(folder: Path) -> None:
    """Compute and store the true moments of all targets.

    Raises
    ------
    ValueError
        If the standard error of a reference value exceeds a hundredth of a standard deviation.
    """
    rows = []
    for name, model in models().items():
        truth = model.truth()
        errors = np.concatenate([truth.mean_noise / truth.sd, truth.log_sd_noise])
        if errors.max() > PRECISION:
            raise ValueError(f"{name}: true moments known to {errors.max():.3f} sd")
        print(f"{name:24}{len(truth.mean):4} parameters, largest error {errors.max():.4f} sd")
        values = {field: value.tolist() for field, value in vars(truth).items()}
        rows.append({"target": name, **values})
    keep(folder, TRUTH, rows, ["--truths"])


def figures(fits: list[Fit]) -> dict[str, float]:
    """Return the counts and rates of a row of the tables."""
    excess = np.concatenate([fit.excess for fit in fits])
    means, sds = (
        np.concatenate([np.split(fit.excess, 2)[half][np.split(fit.reliable, 2)[half]] for fit in fits])
        for half in (0, 1)
    )
    rejected = [fit.reliable.mean() for fit in fits if fit.rejected]
    both = np.concatenate([means, sds])
    return {
        "fits": len(fits),
        "judged": sum(fit.judged for fit in fits),
        "rejected": len(rejected),
        "reliable": float(np.mean(rejected)) if rejected else math.nan,
        "means": len(means),
        "means_covered": float((means <= 0.0).mean()) if len(means) else math.nan,
        "sds": len(sds),
        "sds_covered": float((sds <= 0.0).mean()) if len(sds) else math.nan,
        "covered": float((both <= 0.0).mean()) if len(both) else math.nan,
        "worst": float(np.nanmax(excess)) if len(both) else math.nan,
        "large": int((both > LARGE).sum()),
    }


def table(title: str, fits: list[Fit], by: Callable[[Fit], str]) -> list[dict[str, Any]]:
    """Print one row per group and one for all fits, and return the rows."""
    groups: dict[str, list[Fit]] = {}
    for fit in fits:
        groups.setdefault(by(fit), []).append(fit)
    heads = ("fits", "judged", "rejected", "reliable", "means", "covered", "sds", "covered", "worst", f"> {LARGE:g}")
    width = max(map(len, [*groups, "together", title]))
    print(f"\n{title:{width}}{''.join(f'{head:>10}' for head in heads)}")
    rows = []
    for name, group in [*groups.items(), ("together", fits)]:
        row = figures(group)
        shares = f"{row['reliable']:10.2f}{row['means']:10}{row['means_covered']:10.3f}"
        shares += f"{row['sds']:10}{row['sds_covered']:10.3f}{row['worst']:10.2f}{row['large']:10}"
        print(f"{name:{width}}{row['fits']:10}{row['judged']:10}{row['rejected']:10}{shares}")
        rows.append({"table": title, "name": name, **row})
    return rows


def print_worst(fits: list[Fit], count: int = 20) -> None:
    """Print the quantities with the largest errors beyond their margins."""
    cells = [(value, fit, k) for fit in fits for k, value in enumerate(fit.excess) if value > LARGE]
    for value, fit, k in sorted(cells, key=lambda cell: -cell[0])[:count]:
        dim = len(fit.excess) // 2
        quantity = f"{'mean' if k < dim else 'sd'} of x{k % dim + 1}"
        print(f"  {fit.model}, {fit.kind}, seed {fit.seed}: {quantity}, {value:.2f} beyond {fit.margins[k]:.2f}")
    for fit in fits:
        if fit.error:
            print(f"  {fit.model}, {fit.kind}, seed {fit.seed}: {fit.error}")


def print_goals(rows: list[dict[str, Any]]) -> None:
    """Print each goal, and state whether the rows of the targets meet it."""
    every = rows[-1]
    quantities = every["means"] + every["sds"]
    counts = {"covered": ("means", "sds"), "sds_covered": ("sds",)}
    least, least_sds = (
        min(
            ((row[share], row["name"]) for row in rows[:-1] if sum(row[count] for count in of) >= FEWEST),
            default=(math.nan, "none"),
        )
        for share, of in counts.items()
    )
    goals = (
        (f"covered {COVERED:g} pooled", every["covered"] >= COVERED, f"{every['covered']:.3f} of {quantities}"),
        (f"no target below {LEAST:g}", least[0] >= LEAST, f"{least[1]} {least[0]:.3f}"),
        (f"sds covered {SDS_COVERED:g} pooled", every["sds_covered"] >= SDS_COVERED, f"{every['sds_covered']:.3f}"),
        (f"sds of no target below {LEAST:g}", least_sds[0] >= LEAST, f"{least_sds[1]} {least_sds[0]:.3f}"),
        (f"reliable in {RELIABLE:g} of the rejected fits", every["reliable"] >= RELIABLE, f"{every['reliable']:.2f}"),
        (
            f"errors of more than {LARGE:g} sd beyond the margin in at most 1 of 200",
            every["large"] <= LARGE_SHARE * quantities,
            f"{every['large']} of {quantities}",
        ),
    )
    print()
    for goal, reached, figure in goals:
        print(f"{'reached' if reached else 'missed':10}{goal}: {figure}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="one seed, two targets and three approximations")
    parser.add_argument("--seeds", type=int, default=5, help="fits per target and approximation")
    parser.add_argument("--final", action="store_true", help=f"seeds from {FINAL}, for the last run")
    parser.add_argument("--only", default="", help="targets with this in their name")
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS), metavar="KIND", help=", ".join(KINDS))
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--truths", action="store_true", help=f"write {TRUTH}.json and exit")
    parser.add_argument("--name", default="approximate_fits", help="of the record")
    add_option(parser)
    arguments = parser.parse_args()
    if arguments.truths:
        store_truths(arguments.record or RECORDS)
        return
    names, kinds, seeds = [name for name in models() if arguments.only in name], arguments.kinds, arguments.seeds
    if arguments.quick:
        names, kinds, seeds = ["banana, b = .7", "log gamma"], ["exact", "Laplace", "tilted"], 1
    first, truths, began = FINAL if arguments.final else 0, stored_truths(), time.perf_counter()
    tasks = (delayed(fits_of)(name, first + k, kinds, truths[name]) for name in names for k in range(seeds))
    found = Parallel(1 if arguments.quick else arguments.jobs)(tasks)
    fits = [fit for part, _ in found for fit in part]
    by_kind = table("approximation", fits, lambda fit: fit.kind)
    rows = table("target", fits, lambda fit: fit.model)
    print_worst(fits)
    print_goals(rows)
    print(f"\n({time.perf_counter() - began:.0f} s, {sum(seconds for _, seconds in found):.0f} CPU s)")
    options = [f"--seeds {seeds}", *(["--final"] if arguments.final else [])]
    shares = [
        {key: None if isinstance(value, float) and math.isnan(value) else value for key, value in row.items()}
        for row in [*rows, *by_kind]
    ]
    keep(arguments.record, arguments.name, shares, options)  # JSON has no NaN


if __name__ == "__main__":
    main()
