"""Check the margins of error and the rejection rates of `steinkit.mode_weights`.

    python benchmarks/mode_weights.py             # a quarter of an hour
    python benchmarks/mode_weights.py --quick
    python benchmarks/mode_weights.py --only sgld --seed 1

The program has the following parts:

- right: samples of 1000 independent draws with correct weights, 1/2 or 1/3 each. *Rejected* is the rejection rate at
  .05 of evaluated samples; *within* counts weights within their margins of error, twice the standard error;
- wrong: the same samples with weights .6 and .4 in place of 1/2;
- stuck: four chains that never move between modes, three of them in one of two modes. The errors of means and log
  standard deviations are relative to their root mean square, for the draws as given and after reweighting;
- near: overlapping modes. The true weight of a mode is the probability of its region, estimated from 100,000 draws;
- sgld: SGLD on the mixture posterior, thinned by 50, and unthinned runs of 1000 steps. *Floor* is the error if each
  region has its exact weight, which is the error within the modes;
- verdict: false rejections of `steinkit.verdict` for exact samples, with and without the test of weights.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from scipy.special import gammaln, logsumexp

import steinkit as sk
from steinkit.samplers import sgld

PARTS = ("right", "wrong", "stuck", "near", "sgld", "verdict")
DRAWS = 1000


@dataclass(frozen=True, eq=False)
class Mode:
    """Normal or Student's t component, or curved normal component.

    In a curved component, the second coordinate gains ``bend (z1^2 - 1)``.
    """

    centre: np.ndarray
    sd: np.ndarray
    df: float = np.inf
    bend: float = 0.0

    def draw(self, n: int, rng: np.random.Generator) -> np.ndarray:
        """Draw independently."""
        z = rng.standard_normal((n, len(self.centre)))
        if np.isfinite(self.df):
            z *= np.sqrt(self.df / rng.chisquare(self.df, (n, 1)))
        if self.bend:
            z[:, 1] += self.bend * (z[:, 0] ** 2 - 1.0)
        return self.centre + self.sd * z

    def log_density_and_score(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Compute the normalized log density and the score at points, shape (n, d)."""
        z, d = (x - self.centre) / self.sd, len(self.centre)
        if self.bend:
            z[:, 1] -= self.bend * (z[:, 0] ** 2 - 1.0)
        squares = (z**2).sum(axis=1)
        if np.isinf(self.df):
            density, slope = -0.5 * squares - 0.5 * d * np.log(2.0 * np.pi), -z
        else:
            density = -0.5 * (self.df + d) * np.log1p(squares / self.df) - 0.5 * d * np.log(np.pi * self.df)
            density += gammaln(0.5 * (self.df + d)) - gammaln(0.5 * self.df)
            slope = -(self.df + d) * z / (self.df + squares[:, None])
        if self.bend:
            slope[:, 0] -= 2.0 * self.bend * z[:, 0] * slope[:, 1]
        return density - np.log(self.sd).sum(), slope / self.sd


@dataclass(frozen=True, eq=False)
class Mixture:
    """Mixture with equal weights."""

    name: str
    modes: tuple[Mode, ...]

    def log_density(self, x: np.ndarray) -> np.ndarray:
        """Compute the log density up to the logarithm of the number of modes."""
        return logsumexp([mode.log_density_and_score(x)[0] for mode in self.modes], axis=0)

    def score(self, x: np.ndarray) -> np.ndarray:
        """Compute the score."""
        densities, slopes = zip(*(mode.log_density_and_score(x) for mode in self.modes), strict=True)
        weights = np.exp(np.stack(densities) - logsumexp(densities, axis=0))
        return np.einsum("kn,knd->nd", weights, np.stack(slopes))

    @property
    def target(self) -> sk.Target:
        """Return the target for steinkit."""
        return sk.Target(self.score, log_density=self.log_density, dim=len(self.modes[0].centre))

    def draw(self, n: int, rng: np.random.Generator, shares: list[float] | None = None) -> np.ndarray:
        """Draw independently, with equal or given weights."""
        labels = rng.choice(len(self.modes), size=n, p=shares)
        return np.stack([mode.draw(n, rng) for mode in self.modes])[labels, np.arange(n)]


def mixture(dim: int, separation: float, kind: str = "normal", modes: int = 2) -> Mixture:
    """Return modes along the first coordinate.

    Three modes form a triangle.
    """
    centres = np.zeros((modes, dim))
    centres[1, 0] = separation
    if modes == 3:
        centres[2, dim - 1] = separation
    widths = (np.linspace(0.5, 2.0, dim), np.ones(dim), np.full(dim, 0.7))
    found = [
        Mode(
            centre,
            widths[k] if kind == "normal" else np.ones(dim),
            5.0 if kind == "t5" else np.inf,
            (0.7, -0.7, 0.7)[k] if kind == "banana" else 0.0,
        )
        for k, centre in enumerate(centres)
    ]
    return Mixture(f"{modes} {kind}, d = {dim}, {separation:g} apart", tuple(found))


@dataclass
class Tally:
    """Results for samples of one kind."""

    z: list[float] = field(default_factory=list)
    p: list[float] = field(default_factory=list)
    refused: Counter[str] = field(default_factory=Counter)
    miscounted: int = 0

    def add(self, points: np.ndarray, of: Mixture, seed: int) -> None:
        """Count one sample."""
        found = shares_or_reason(points, of.target, seed)
        if isinstance(found, str):
            self.refused[found] += 1
        elif len(found.shares) != len(of.modes) or found.p is None:
            self.miscounted += 1
        else:
            self.p.append(found.p)
            self.z += ((found.shares - 1.0 / len(of.modes)) / (found.margins / 2.0)).tolist()

    def row(self) -> str:
        """Format the counts."""
        z = np.abs(self.z)
        rejected = f"{np.mean(np.array(self.p) < 0.05):10.3f}" if self.p else f"{'-':>10}"
        within = f"{np.mean(z < 2.0):10.3f}{np.sqrt(np.mean(z**2)):10.2f}" if len(z) else f"{'-':>10}{'-':>10}"
        return f"{len(self.p):8}{sum(self.refused.values()):9}{self.miscounted:9}{rejected}{within}"


def shares_or_reason(points: np.ndarray, target: sk.Target, seed: int) -> sk.ModeWeights | str:
    """Use separate proposals for every sample, to make their noise independent."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return sk.mode_weights(points, target, rng=seed)
        except sk.InputError as error:
            return str(error)


def mixtures(quick: bool) -> list[Mixture]:
    if quick:
        return [mixture(1, 10.0), mixture(2, 14.0, "banana")]
    normal = [(1, 8.0), (1, 400.0), (2, 8.0), (2, 400.0), (6, 8.0), (10, 10.0), (10, 400.0), (20, 12.0)]
    others = [(2, 10.0, "t5"), (6, 10.0, "t5"), (2, 14.0, "banana"), (6, 14.0, "banana")]
    return [*(mixture(*each) for each in (*normal, *others)), mixture(2, 10.0, modes=3), mixture(6, 10.0, modes=3)]


def print_shares(quick: bool, seed: int, wrong: bool) -> None:
    """Print the results for exact samples, or with weights .6 and .4, of all mixtures."""
    repeats = 3 if quick else 50 if wrong else 200
    title = "Weights .6 and .4 in place of 1/2" if wrong else "Exact samples"
    heads = (
        f"{'tested':>8}",
        f"{'refused':>9}",
        f"{'other K':>9}",
        *(f"{each:>10}" for each in ("rejected", "within")),
    )
    print(f"\n{title}, {repeats} of each\n\n{'':32}{''.join(heads)}{'rms z':>10}")
    every = Tally()
    for number, of in enumerate(mixtures(quick)):
        if wrong and len(of.modes) > 2:
            continue
        tally = Tally()
        for k in range(repeats):
            rng = np.random.default_rng([1, seed, number, k, wrong])
            tally.add(of.draw(DRAWS, rng, [0.6, 0.4] if wrong else None), of, k)
        print(f"{of.name:32}{tally.row()}", flush=True)
        for reason, count in tally.refused.most_common(2):
            print(f"    {count}: {reason[:110]}")
        every.z += tally.z
        every.p += tally.p
        every.refused += tally.refused
        every.miscounted += tally.miscounted
    print(f"{'together':32}{every.row()}", flush=True)


def error_of(points: np.ndarray, weights: np.ndarray, mean: np.ndarray, sd: np.ndarray) -> float:
    found = weights @ points
    spread = np.sqrt(weights @ (points - found) ** 2)
    return float(np.sqrt(np.mean(((found - mean) / sd) ** 2 + np.log(spread / sd) ** 2)))


def print_stuck(quick: bool, seed: int) -> None:
    print(
        f"\nFour chains that never switch modes, three in one mode\n\n{'':32}{'samples':>8}{'raw':>10}{'weighted':>10}"
    )
    for of in mixtures(quick)[:: 1 if quick else 3]:
        if len(of.modes) > 2:
            continue
        errors = []
        truth = of.draw(200_000, np.random.default_rng([2, seed]))
        for k in range(3 if quick else 20):
            rng = np.random.default_rng([3, seed, k])
            chains = np.stack([of.modes[m].draw(400, rng) for m in (0, 0, 0, 1)])
            found, points = shares_or_reason(chains, of.target, k), chains.reshape(-1, truth.shape[1])
            if isinstance(found, str):
                print(f"    refused: {found[:110]}")
                continue
            ways = (np.full(len(points), 1.0 / len(points)), found.weights)
            errors.append([error_of(points, each, truth.mean(axis=0), truth.std(axis=0)) for each in ways])
        middle = np.median(errors, axis=0) if errors else np.full(2, np.nan)
        print(f"{of.name:32}{len(errors):8}{middle[0]:10.3f}{middle[1]:10.3f}", flush=True)


def print_near(quick: bool, seed: int) -> None:
    print(f"\nOverlapping modes\n\n{'':32}{'tested':>8}{'refused':>9}{'rejected':>10}{'error':>10}")
    for separation in (3.0, 5.0) if quick else (2.0, 3.0, 4.0, 5.0, 6.0):
        of, p, errors, refused = mixture(2, separation), [], [], 0
        for k in range(3 if quick else 50):
            points = of.draw(DRAWS, np.random.default_rng([4, seed, k]))
            found = shares_or_reason(points, of.target, k)
            if isinstance(found, str):
                refused += 1
            elif found.p is not None:
                p.append(found.p)
                errors.append(found.shares[np.argmin(found.centres[:, 0])] - 0.5)
        rejected = f"{np.mean(np.array(p) < 0.05):10.3f}{np.mean(errors):10.3f}" if p else f"{'-':>10}{'-':>10}"
        print(f"{of.name:32}{len(p):8}{refused:9}{rejected}", flush=True)


def print_sgld(quick: bool, seed: int) -> None:
    """Compute the means and log standard deviations of the mixture posterior, from reweighted runs."""
    from scipy.spatial import cKDTree

    target, ticks = sk.targets.MixturePosterior(), np.linspace(-4.0, 4.0, 401)
    grid = np.stack(np.meshgrid(ticks, ticks), axis=-1).reshape(-1, 2)
    mass = np.exp((density := target.log_density(grid)) - density.max())
    mass /= mass.sum()
    mean = mass @ grid
    sd = np.sqrt(mass @ (grid - mean) ** 2)
    heads = "".join(f"{each:>10}" for each in ("raw", "weighted", "floor", "share off"))
    print(f"\nSGLD on the mixture posterior, medians\n\n{'':32}{'runs':>8}{'refused':>9}{heads}")
    for thin in (1,) if quick else (50, 1):
        for step_size in (5e-3, 1e-3):
            rows, refused, raw = [], Counter[str](), []
            for k in range(3 if quick else 20):
                start = np.random.default_rng([5, seed, k]).standard_normal(2)
                made = sgld(
                    target, step_size=step_size, batch_size=5, draws=1000, thin=thin, start=start, seed=1000 * seed + k
                )
                points = made.points[0]
                raw.append(error_of(points, np.full(1000, 1e-3), mean, sd))
                found = shares_or_reason(points, target, k)
                if isinstance(found, str):
                    refused[" ".join(word for word in found.split() if not any(map(str.isdigit, word)))] += 1
                    continue
                exact = np.bincount(found.labels[cKDTree(points).query(grid)[1]], mass, len(found.shares))
                floor = error_of(points, (exact / found.draws_shares)[found.labels] / 1000, mean, sd)
                off = float(np.abs(found.shares - exact).max())
                rows.append((raw[-1], error_of(points, found.weights, mean, sd), floor, off))
            middle = "".join(f"{each:10.3f}" for each in np.median(rows, axis=0)) if rows else ""
            name = f"step {step_size:g}, thinned by {thin}"
            print(f"{name:32}{len(raw):8}{sum(refused.values()):9}{middle or f'{np.median(raw):10.3f}'}", flush=True)
            for reason, count in refused.most_common():
                print(f"    {count}: {reason[:110]}")


def print_verdicts(quick: bool, seed: int) -> None:
    print(
        f"\nFalse rejections by the verdict\n\n{'':32}{'samples':>8}{'four, .05':>11}{'five, .05':>11}{'four, .01':>11}"
    )
    counts = np.zeros(4, dtype=int)
    for number, of in enumerate((mixture(2, 8.0), mixture(2, 30.0), mixture(6, 10.0), mixture(1, 10.0))):
        row = np.zeros(4, dtype=int)
        for k in range(2 if quick else 100):
            points = of.draw(DRAWS, np.random.default_rng([6, seed, number, k]))
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                five = sk.verdict(points, of.target)
                four = sk.verdict(points, scores=of.score(points))
            row += [1, four.p <= 0.05, five.p <= 0.05, four.p <= 0.01]
        print(f"{of.name:32}{row[0]:8}{row[1]:11}{row[2]:11}{row[3]:11}", flush=True)
        counts += row
    print(f"{'together':32}{counts[0]:8}{counts[1]:11}{counts[2]:11}{counts[3]:11}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="two or three samples of a few kinds")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=PARTS, metavar="PART", help=", ".join(PARTS))
    parser.add_argument("--seed", type=int, default=0, help="of samples and chains")
    arguments = parser.parse_args()
    quick, seed, began = arguments.quick, arguments.seed, time.perf_counter()
    parts: dict[str, Callable[[], None]] = {
        "right": lambda: print_shares(quick, seed, wrong=False),
        "wrong": lambda: print_shares(quick, seed, wrong=True),
        "stuck": lambda: print_stuck(quick, seed),
        "near": lambda: print_near(quick, seed),
        "sgld": lambda: print_sgld(quick, seed),
        "verdict": lambda: print_verdicts(quick, seed),
    }
    for part in PARTS:
        if part in arguments.only:
            parts[part]()
    print(f"\n({time.perf_counter() - began:.0f} s)")


if __name__ == "__main__":
    main()
