"""How often `steinkit.verdict` accuses right samples, and how often it finds wrong ones.

    python benchmarks/verdict.py                       # ten minutes: families of targets, with Monte Carlo error
    python benchmarks/verdict.py --quick
    python benchmarks/verdict.py --posteriors FOLDER   # samples of real posteriors as well

FOLDER holds a folder a posterior, with ``reference.npz`` (points, scores: right draws) and ``biased.npz`` (KEY_points,
KEY_scores). Right draws are judged in blocks of a thousand.
"""

from __future__ import annotations

import argparse
import math
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

import steinkit as sk

Draws = tuple[np.ndarray, np.ndarray]
LEVELS = (0.05, 0.01)


def families() -> dict[str, sk.Target]:
    """Targets that can be drawn from, in one to thirty dimensions."""
    found: dict[str, sk.Target] = {}
    for dim in (1, 3, 10, 30):
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
    """A right chain that stays where it is with a probability that leaves so many effective draws."""
    stay = (n - ess) / (n + ess)
    fresh = target.sample(n, rng)
    rows = np.maximum.accumulate(np.where(rng.random(n) < stay, 0, np.arange(n)))
    return fresh[rows], target.score(fresh)[rows]


def wrong_samples(target: sk.Target, n: int, rng: np.random.Generator) -> Iterator[tuple[str, Draws]]:
    """Samples with one defect each, of unbounded targets."""
    x = target.sample(n, rng)
    centre, sd = x.mean(axis=0), x.std(axis=0)
    worst = rng.integers(x.shape[1])
    one = np.eye(x.shape[1])[worst]
    defects: dict[str, np.ndarray] = {
        "shift .25 sd of one coordinate": x + 0.25 * sd * one,
        "sd of one coordinate x 1.2": centre + (x - centre) * (1.0 + 0.2 * one),
        "all sds x 1.1": centre + 1.1 * (x - centre),
        "all sds x .9": centre + 0.9 * (x - centre),
    }
    if np.abs(np.corrcoef(x.T) - np.eye(x.shape[1])).max(initial=0.0) > 0.5:
        defects["coordinates made independent"] = np.column_stack([rng.permutation(column) for column in x.T])
    outliers = x.copy()
    outliers[::100] = centre + 4.0 * sd * rng.choice([-1.0, 1.0], size=outliers[::100].shape)
    defects["1 % of outliers at 4 sd"] = outliers
    for name, draws in defects.items():
        yield name, (draws, target.score(draws))


class Count:
    """Rejections at both levels."""

    def __init__(self) -> None:
        self.tried, self.rejected = 0, [0, 0]

    def add(self, p: float) -> None:
        """Count a p-value."""
        self.tried += 1
        self.rejected = [count + (p <= level) for count, level in zip(self.rejected, LEVELS, strict=True)]

    def __str__(self) -> str:
        shares = [count / self.tried for count in self.rejected]
        errors = [math.sqrt(max(share * (1.0 - share), 0.25 / self.tried) / self.tried) for share in shares]
        return "   ".join(f"{share:5.3f} +- {error:5.3f}" for share, error in zip(shares, errors, strict=True))


def judged(draws: Draws) -> dict[str, float]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = sk.verdict(draws[0], scores=draws[1])
    return p_values(found)


def p_values(found: sk.Verdict) -> dict[str, float]:
    parts = {"moments": found.p_moments, "sliced": found.p_sliced, "ksd": found.p_ksd, "verdict": found.p}
    return {name: p for name, p in parts.items() if p is not None}


def table(title: str, counts: dict[tuple[str, str], Count]) -> None:
    print(f"\n{title}: share rejected at .05 and .01, with its standard error\n")
    width = max((len(row) for row, _ in counts), default=0)
    for (row, test), count in counts.items():
        print(f"{row:<{width}}  {test:<8} {count.tried:>5} samples   {count}")


def collect(rows: Iterator[tuple[str, Callable[[], dict[str, float]]]]) -> dict[tuple[str, str], Count]:
    counts: dict[tuple[str, str], Count] = {}
    for row, judge in rows:
        for test, p in judge().items():
            counts.setdefault((row, test), Count()).add(p)
    return counts


def right_rows(targets: list[sk.Target], repeats: int, n: int) -> Iterator[tuple[str, Callable[[], dict[str, float]]]]:
    rng = np.random.default_rng(0)
    for target in targets:
        for name, ess in (("independent", n), ("right chain, ESS 100", 100.0), ("right chain, ESS 30", 30.0)):
            for _ in range(repeats):
                draws, scores = lazy_chain(target, n, ess, rng)
                bounds = target.bounds

                def judge(draws=draws, scores=scores, bounds=bounds) -> dict[str, float]:
                    return p_values(sk.verdict(draws, scores=scores, bounds=bounds))

                yield name, judge


def wrong_rows(targets: list[sk.Target], repeats: int, n: int) -> Iterator[tuple[str, Callable[[], dict[str, float]]]]:
    rng = np.random.default_rng(1)
    for target in targets:
        if target.bounds is None:
            for _ in range(repeats):
                for name, draws in wrong_samples(target, n, rng):
                    yield name, lambda draws=draws: judged(draws)


def posterior_rows(folder: Path) -> Iterator[tuple[str, Callable[[], dict[str, float]]]]:
    for place in sorted(path for path in folder.iterdir() if path.is_dir()):
        right, wrong = np.load(place / "reference.npz"), np.load(place / "biased.npz")
        samples = {
            f"good {begin}": (right["points"][begin : begin + 1000], right["scores"][begin : begin + 1000])
            for begin in range(0, len(right["points"]), 1000)
        }
        samples |= {
            name.removesuffix("_points"): (wrong[name], wrong[name.replace("_points", "_scores")])
            for name in wrong.files
            if name.endswith("_points")
        }
        for name, draws in samples.items():
            yield name.split()[0], lambda draws=draws: judged(draws)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a sample or two of each kind")
    parser.add_argument("--repeats", type=int, default=15, help="samples of each family and kind")
    parser.add_argument("--posteriors", type=Path, metavar="FOLDER", help="samples of real posteriors")
    arguments = parser.parse_args()
    repeats, n = (1, 300) if arguments.quick else (arguments.repeats, 1000)
    targets = list(families().values())[:: 4 if arguments.quick else 1]
    table(f"Right samples of {len(targets)} families, n = {n}", collect(right_rows(targets, repeats, n)))
    table("Wrong samples", collect(wrong_rows(targets, max(1, repeats // 3), n)))
    if arguments.posteriors:
        table("Real posteriors", collect(posterior_rows(arguments.posteriors)))


if __name__ == "__main__":
    main()
