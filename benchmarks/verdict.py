"""Rejection rates of `steinkit.verdict` for exact samples and for samples with defects.

    python benchmarks/verdict.py                       # a quarter of an hour: families of targets
    python benchmarks/verdict.py --quick
    python benchmarks/verdict.py --modes --repeats 60  # only chains that rarely switch between two modes, a minute
    python benchmarks/verdict.py --posteriors FOLDER   # also samples from real posteriors
    python benchmarks/verdict.py --posteriors FOLDER --table  # these only, one by one
    python benchmarks/false_alarms.py                  # raw chains of NUTS, of Hamiltonian Monte Carlo, and antithetic
    python benchmarks/faults.py                        # power and findings, on known and on fresh defects

All rates have Monte Carlo errors. For each kind of sample, the table also counts the evaluated samples and those
rejected at .01; the others have too few effective draws. For samples with a shift or a scale error in one coordinate,
it counts how often the first finding names this coordinate, and how often the coordinate is first or within 10% of the
first, which is a tie.

FOLDER contains one folder per posterior, with ``reference.npz`` (points, scores, names: exact draws), ``biased.npz``
(KEY_points, KEY_scores) and ``facts.json`` (shift_coordinate). Exact draws are evaluated in blocks of a thousand.
"""

from __future__ import annotations

import argparse
import json
import math
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from records import add_option, keep

import steinkit as sk

Draws = tuple[np.ndarray, np.ndarray]
LEVELS = (0.05, 0.01)
TIED = 0.9  # fraction of the largest z-score above which findings are tied


def families() -> dict[str, sk.Target]:
    """Return targets with samplers, in one to thirty dimensions."""
    found: dict[str, sk.Target] = {}
    for dim in (1, 3, 10, 20, 30):
        found[f"normal, d = {dim}"] = sk.targets.Normal(0.0, dim=dim)
    for dim in (2, 10):
        covariance = 0.9 ** np.abs(np.subtract.outer(np.arange(dim), np.arange(dim)))
        found[f"correlation .9, d = {dim}"] = sk.targets.Normal(np.zeros(dim), covariance=covariance)
    found["student t, 5 df, d = 5"] = sk.targets.StudentT(5.0, dim=5)
    found["two modes, d = 2"] = sk.targets.GaussianMixture([[-1.5, 0.0], [1.5, 1.0]], sd=1.0)
    found["gamma, shape 2, d = 3"] = sk.targets.Gamma(2.0, dim=3)
    found["scales 1e-3 to 1e3, d = 4"] = sk.targets.Normal(np.zeros(4), covariance=np.array([1e-6, 1.0, 1e2, 1e6]))
    return found


def lazy_chain(target: sk.Target, n: int, ess: float, rng: np.random.Generator) -> Draws:
    """Return an exact chain with rejections, such that a given number of effective draws remains."""
    stay = (n - ess) / (n + ess)
    fresh = target.sample(n, rng)
    rows = np.maximum.accumulate(np.where(rng.random(n) < stay, 0, np.arange(n)))
    return fresh[rows], target.score(fresh)[rows]


@dataclass(frozen=True)
class Wrong:
    """Sample with a defect, and the coordinate or pair that the first finding should name, if any."""

    draws: Draws
    right_findings: tuple[str, int] | None = None


def wrong_samples(target: sk.Target, n: int, rng: np.random.Generator) -> Iterator[tuple[str, Wrong]]:
    """Return samples from unbounded targets, with one defect each."""
    x = target.sample(n, rng)
    centre, sd, dim = x.mean(axis=0), x.std(axis=0), x.shape[1]
    j = int(rng.integers(dim))
    one = np.eye(dim)[j]
    defects: dict[str, tuple[np.ndarray, tuple[str, int] | None]] = {
        "shift .25 sd of one coordinate": (x + 0.25 * sd * one, ("location", j)),
        "shift -.25 sd of one coordinate": (x - 0.25 * sd * one, ("location", j)),
        "sd of one coordinate x 1.2": (centre + (x - centre) * (1.0 + 0.2 * one), ("scale", j)),
        "sd of one coordinate / 1.2": (centre + (x - centre) / (1.0 + 0.2 * one), ("scale", j)),
    }
    if 2 <= dim <= 20:
        defects["all sds x 1.1, d = 2 to 20"] = centre + 1.1 * (x - centre), None
        defects["all sds x .9, d = 2 to 20"] = centre + 0.9 * (x - centre), None
    if np.abs(np.corrcoef(x.T) - np.eye(dim)).max(initial=0.0) > 0.5:
        permuted = np.column_stack([rng.permutation(column) for column in x.T])
        defects["coordinates made independent, a correlation above .5"] = permuted, None
    if dim == 20:
        outliers = x.copy()
        outliers[::100] = centre + 4.0 * sd * rng.choice([-1.0, 1.0], size=outliers[::100].shape)
        defects["1% of outliers at 4 sd, d = 20"] = outliers, None
    for name, (draws, findings) in defects.items():
        yield name, Wrong((draws, target.score(draws)), findings)


class Count:
    """Rejections at both levels, of all samples and of the evaluated samples."""

    def __init__(self) -> None:
        self.tried, self.judged = 0, 0
        self.rejected, self.rejected_judged = [0, 0], [0, 0]

    def add(self, p: float, enough_draws: bool) -> None:
        """Count a p-value."""
        self.tried += 1
        self.judged += enough_draws
        for k, level in enumerate(LEVELS):
            self.rejected[k] += p <= level
            self.rejected_judged[k] += enough_draws and p <= level

    def row(self) -> dict[str, Any]:
        """Return the counts with the keys of the records."""
        counts = dict(vars(self))
        counts["accused"] = counts.pop("rejected_judged")
        return counts

    def __str__(self) -> str:
        shares = "   ".join(share_and_error(count, self.tried) for count in self.rejected)
        return f"{self.tried:>5} samples   {shares}   {self.judged:>5} judged, {self.rejected_judged[-1]} rejected"


def share_and_error(count: int, tried: int) -> str:
    share = count / tried
    return f"{share:5.3f} +- {math.sqrt(max(share * (1.0 - share), 0.25 / tried) / tried):5.3f}"


def judged(draws: Draws, bounds: np.ndarray | None = None) -> sk.Verdict:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return sk.verdict(draws[0], scores=draws[1], bounds=bounds)


class Table:
    """Rejections by every test and accuracy of the findings, per kind of sample."""

    def __init__(self, title: str) -> None:
        self.title, self.began = title, time.perf_counter()
        self.counts: dict[tuple[str, str], Count] = {}
        self.flagged: dict[str, list[tuple[bool, bool]]] = {}

    def add(self, row: str, found: sk.Verdict) -> None:
        """Count a verdict."""
        parts = {
            "moments": found.p_of("moments"),
            "bounded": found.p_of("bounded"),
            "sliced": found.p_of("sliced"),
            "ksd": found.p_of("ksd"),
            "verdict": found.p,
        }
        for test, p in parts.items():
            if p is not None:
                self.counts.setdefault((row, test), Count()).add(p, found.enough_draws)

    def add_findings(self, row: str, found: sk.Verdict, kind: str, coordinate: str) -> None:
        """Count whether the first finding names the defect, for a rejected sample."""
        if found.is_biased:
            worst = max((abs(each.z) for each in found.findings), default=0.0)
            right = [each for each in found.findings if (each.kind, each.parameters) == (kind, (coordinate,))]
            first = found.findings[:1] == tuple(right[:1]) and bool(right)
            self.flagged.setdefault(row, []).append((first, any(abs(each.z) >= TIED * worst for each in right)))

    def print(self) -> None:
        """Format rates with standard errors."""
        print(f"\n{self.title}: fraction rejected at .05 and .01, with its standard error\n")
        width = max((len(row) for row, _ in self.counts), default=0)
        for (row, test), count in self.counts.items():
            print(f"{row:<{width}}  {test:<8} {count}")
        if self.flagged:
            print("\nSamples rejected at .01: fraction with the defect as the first finding, or tied with the first\n")
            together = [first for row in self.flagged.values() for first in row]
            for row, firsts in [*self.flagged.items(), ("together", together)]:
                shares = "   ".join(share_and_error(sum(of), len(of)) for of in zip(*firsts, strict=True))
                print(f"{row:<{width}}  {len(firsts):>14} samples   {shares}")
        print(f"\n({time.perf_counter() - self.began:.0f} s)", flush=True)

    def rows(self) -> list[dict[str, Any]]:
        """Print the rejection rates of the verdict and the accuracy of the findings, one row per kind of sample."""
        found: list[dict[str, Any]] = []
        for (row, test), count in self.counts.items():
            if test == "verdict":
                flagged = self.flagged.get(row, [])
                first, tied = (sum(of) for of in zip(*flagged, strict=True)) if flagged else (0, 0)
                findings = {"flagged": len(flagged), "first": first, "first_or_tied": tied}
                found.append({"table": self.title, "sample": row, **count.row(), **(findings if flagged else {})})
        return found


def right_samples(targets: list[sk.Target], repeats: int, n: int) -> Table:
    table = Table(f"Exact samples of {len(targets)} families, n = {n}")
    rng = np.random.default_rng(0)
    for target in targets:
        for name, ess in (("independent", n), ("right chain, ESS 100", 100.0), ("right chain, ESS 30", 30.0)):
            for _ in range(repeats):
                table.add(name, judged(lazy_chain(target, n, ess, rng), target.bounds))
    return table


def chains_between_modes(repeats: int, n: int) -> Table:
    """Count rejections of stationary chains of exact samplers that switch between two modes rarely or occasionally."""
    from steinkit.samplers import mala, rwmh

    target = sk.targets.MixturePosterior()
    table = Table("Right chains of a posterior with two modes")
    starts = target.sample(repeats, np.random.default_rng(2))
    for name, sampler, options, draws in (
        ("walk with steps of 0.2", rwmh, {"proposal_scale": 0.2}, n),
        ("adjusted Langevin with steps of 0.02", mala, {"step_size": 0.02}, n),
        ("walk with steps of 1", rwmh, {"proposal_scale": 1.0}, 2 * n),
        ("walk with steps of 1", rwmh, {"proposal_scale": 1.0}, 10 * n),
    ):
        for k in range(repeats):
            chain = sampler(target, draws=draws, start=starts[k], seed=[k], **options).points[0]
            table.add(f"{name}, {draws:,} draws", judged((chain, target.score(chain))))
    return table


def spoilt_samples(targets: list[sk.Target], repeats: int, n: int) -> Table:
    table = Table("Wrong samples")
    rng = np.random.default_rng(1)
    for target in targets:
        if target.bounds is None:
            for _ in range(repeats):
                for name, wrong in wrong_samples(target, n, rng):
                    found = judged(wrong.draws)
                    table.add(name, found)
                    if wrong.right_findings is not None:
                        kind, j = wrong.right_findings
                        table.add_findings(name, found, kind, found.names[j])
    return table


def real_posteriors(folder: Path) -> Table:
    """Yield exact blocks and samples with defects; ``facts.json`` gives the coordinate of a shift."""
    table = Table("Real posteriors")
    for place in sorted(path for path in folder.iterdir() if path.is_dir()):
        right, wrong = np.load(place / "reference.npz"), np.load(place / "biased.npz")
        names = tuple(map(str, right["names"]))
        for begin in range(0, len(right["points"]), 1000):
            rows = slice(begin, begin + 1000)
            table.add("good", judged((right["points"][rows], right["scores"][rows])))
        for key in (name.removesuffix("_points") for name in wrong.files if name.endswith("_points")):
            found = judged((wrong[f"{key}_points"], wrong[f"{key}_scores"]))
            table.add(key, found)
            if key == "shift25":
                moved = json.loads((place / "facts.json").read_text())["shift_coordinate"]
                if moved in names:
                    table.add_findings(key, found, "location", found.names[names.index(moved)])
    return table


WRONG = {"shift25": "shifted", "ula": "Langevin", "meanfield": "mean-field"}


def each_posterior(folder: Path) -> Iterator[dict[str, Any]]:
    """Return a row per posterior: the smallest p-value of three exact blocks, and those of `WRONG`."""
    places = [path for path in folder.iterdir() if path.is_dir()]
    loaded = {place: np.load(place / "reference.npz") for place in places}
    for place in sorted(places, key=lambda each: (loaded[each]["points"].shape[1], each.name)):
        right, wrong = loaded[place], np.load(place / "biased.npz")
        names = tuple(map(str, right["names"]))
        blocks = [(right["points"][begin:][:1000], right["scores"][begin:][:1000]) for begin in (0, 1000)]
        blocks.append((wrong["good_points"], wrong["good_scores"]))
        fine = [judged(block) for block in blocks]
        found = {key: judged((wrong[f"{key}_points"], wrong[f"{key}_scores"])) for key in WRONG}
        findings = found["shift25"].findings
        yield {
            "posterior": place.name,
            "dim": len(names),
            "right": [each.p for each in fine],
            **{key: each.p for key, each in found.items()},
            "not_judged": [
                key for key, each in [*(("right", each) for each in fine), *found.items()] if not each.enough_draws
            ],
            "named": names[found["shift25"].names.index(findings[0].parameters[0])] if findings else None,
            "moved": json.loads((place / "facts.json").read_text())["shift_coordinate"],
            "names": list(names),
        }


def print_posteriors(folder: Path) -> list[dict[str, Any]]:
    """Print one row per posterior, and return the rows."""
    print(f"{'posterior':40}{'d':>3}{'right':>9}{''.join(f'{name:>12}' for name in WRONG.values())}  named first")
    rows = []
    for row in each_posterior(folder):
        cells = "".join(f"{row[key]:12.2g}" for key in WRONG)
        text = (row["named"] or "nothing") + (", which was moved" if row["named"] == row["moved"] else "")
        print(f"{row['posterior']:40}{row['dim']:3}{min(row['right']):9.2g}{cells}  {text}", flush=True)
        rows.append(row)
    return rows


def real_correlations(folder: Path, repeats: int, n: int) -> Table:
    """Evaluate normal targets with the correlation matrices of real posteriors, with a shift or a scale error."""
    targets: list[sk.Target] = []
    for place in sorted(path for path in folder.iterdir() if path.is_dir()):
        points = np.load(place / "reference.npz")["points"]
        targets.append(sk.targets.Normal(np.zeros(points.shape[1]), covariance=np.corrcoef(points.T)))
    table = spoilt_samples(targets, repeats, n)
    table.title = f"Biased samples from normal distributions with the correlations of {len(targets)} real posteriors"
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a sample or two of each kind")
    parser.add_argument("--repeats", type=int, default=40, help="exact samples per family and kind")
    parser.add_argument("--posteriors", type=Path, metavar="FOLDER", help="samples of real posteriors")
    parser.add_argument("--modes", action="store_true", help="only chains that cross between two modes seldom")
    parser.add_argument("--table", action="store_true", help="only the real posteriors, a row each")
    add_option(parser)
    arguments = parser.parse_args()
    if arguments.table:
        if not arguments.posteriors:
            parser.error("--table needs --posteriors FOLDER")
        rows = print_posteriors(arguments.posteriors)
        keep(arguments.record, "posteriors", rows, ["--posteriors", "FOLDER", "--table"])
        return
    repeats, n = (1, 300) if arguments.quick else (arguments.repeats, 1000)
    if arguments.modes:
        between_modes = chains_between_modes(repeats, n)
        between_modes.print()
        keep(arguments.record, "modes", between_modes.rows(), ["--modes", f"--repeats {repeats}"])
        return
    spoilt = max(1, repeats // 4)
    targets = list(families().values())[:: 5 if arguments.quick else 1]
    tables = [right_samples(targets, repeats, n)]
    tables[-1].print()
    chains_between_modes(repeats, n).print()
    tables.append(spoilt_samples(targets, spoilt, n))
    tables[-1].print()
    keep(arguments.record, "families", [row for table in tables for row in table.rows()], [f"--repeats {repeats}"])
    if arguments.posteriors:
        real_posteriors(arguments.posteriors).print()
        real_correlations(arguments.posteriors, spoilt, n).print()


if __name__ == "__main__":
    main()
