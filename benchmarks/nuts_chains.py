"""Rejection rates of `steinkit.verdict` for correct chains of PyMC, nutpie, NumPyro and BlackJAX.

    python benchmarks/nuts_chains.py --judge --seeds 20 --keep FOLDER  # sample, store the draws and evaluate them
    python benchmarks/nuts_chains.py --judge --kept FOLDER             # evaluate stored draws, without sampling
    python benchmarks/nuts_chains.py --judge --kept FOLDER --target    # by the score function: with invariance test
    python benchmarks/nuts_chains.py --write tests/data/nuts           # the small samples used by the tests

NUTS runs with the default settings of each package, without thinning. Each sample consists of one chain of 1000 draws
or four chains of 500 draws. The draws are negatively autocorrelated, but their squares are positively autocorrelated.
The models are defined in `nuts_models.py`. The options ``--models`` and ``--packages`` select models and packages.
Sampling requires ``pip install -e '.[ecosystems]'``, but the evaluation of stored draws does not. Because chains are
independent, the chains of all seeds are sampled in one run, which compiles once.

FOLDER contains ``MODEL--PACKAGE--CHAINS.npz``: points and scores, of shape (seeds, chains, draws, d), and the software.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from false_alarms import HEAD, Found, counts_of, found_in, report, row
from nuts_models import MODELS, PACKAGES, Model, sampled, software
from records import add_option, keep
from right_chains import LAYOUTS

import steinkit as sk

UNIT = 2.0**-10  # unit of the integers that are written for the tests
WRITTEN = {  # model: number of samples with one chain, and with four
    "normal_2": (3, 2),
    "normal_5": (3, 2),
    "normal_20": (2, 1),
    "normal_50": (1, 1),
    "schools": (2, 1),
}


@dataclass(frozen=True)
class Fits:
    """Samples of one model by one package.

    Attributes
    ----------
    model : Model
        The model.
    package : str
        Name of the package.
    points : ndarray of float32, shape (seeds, chains, draws, d)
        Draws of all seeds.
    """

    model: Model
    package: str
    points: np.ndarray

    def __str__(self) -> str:
        chains = self.points.shape[1]
        return f"{self.model.name}, {self.package}, {chains} chain{'s' if chains > 1 else ''}"

    def each(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """For each seed, yield the draws, shape (chains, draws, d), and the scores, shape (chains * draws, d)."""
        for points in self.points.astype(np.float64):
            yield points, self.model.score(points.reshape(-1, self.model.dim))

    def keep(self, folder: Path) -> None:
        """Store the samples with their scores."""
        folder.mkdir(parents=True, exist_ok=True)
        scores = np.array([scores for _, scores in self.each()], dtype=np.float32).reshape(self.points.shape)
        place = folder / f"{self.model.name}--{self.package}--{self.points.shape[1]}.npz"
        np.savez_compressed(place, points=self.points, scores=scores, software=software(self.package))


def fitted(model: Model, package: str, chains: int, seeds: int) -> Fits:
    """Sample a model with several seeds."""
    points = sampled(model, package, seeds * chains, LAYOUTS[chains], seed=chains)
    return Fits(model, package, points.reshape(seeds, chains, LAYOUTS[chains], model.dim))


def kept(folder: Path, model: Model, package: str, chains: int, seeds: int) -> Fits | None:
    """Return samples stored by `Fits.keep`, or None."""
    place = folder / f"{model.name}--{package}--{chains}.npz"
    if not place.exists():
        return None
    with np.load(place) as file:
        return Fits(model, package, file["points"][:seeds])


def rounded(points: np.ndarray) -> np.ndarray:
    """Return points as integers in units of `UNIT`, with half of the memory of floats."""
    whole = np.round(points / UNIT)
    if np.abs(whole).max() > np.iinfo(np.int16).max:
        raise ValueError("draws are too large for 16 bits")
    return whole.astype(np.int16)


def write(folder: Path, package: str) -> None:
    """Write small samples of a package for the tests.

    The file ``PACKAGE.npz`` contains ``MODEL_one`` and ``MODEL_four``.
    """
    folder.mkdir(parents=True, exist_ok=True)
    arrays: dict[str, np.ndarray] = {}
    for name, seeds in WRITTEN.items():
        for (word, chains), count in zip((("one", 1), ("four", 4)), seeds, strict=True):
            points = fitted(MODELS[name], package, chains, count).points
            arrays[f"{name}_{word}"] = rounded(points)
    np.savez_compressed(folder / f"{package}.npz", software=software(package), **arrays)
    print(f"{package}: {(folder / f'{package}.npz').stat().st_size / 1e6:.2f} MB, {software(package)}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--judge", action="store_true", help="count rejections")
    parser.add_argument("--target", action="store_true", help="use the score function instead of stored scores")
    parser.add_argument("--seeds", type=int, default=20, help="samples per model and package")
    parser.add_argument("--models", nargs="+", choices=MODELS, default=list(MODELS), metavar="MODEL")
    parser.add_argument("--packages", nargs="+", choices=PACKAGES, default=list(PACKAGES), metavar="PACKAGE")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="store the samples")
    parser.add_argument("--kept", type=Path, metavar="FOLDER", help="use stored samples instead of sampling")
    parser.add_argument("--write", type=Path, metavar="FOLDER", help="write the samples for the tests")
    add_option(parser)
    arguments = parser.parse_args()
    if not (arguments.judge or arguments.keep or arguments.write):
        parser.error("one of --judge, --keep FOLDER or --write FOLDER is required")
    warnings.filterwarnings("ignore", module="(nutpie|pymc|pytensor|arviz|numpyro|jax)")
    if arguments.write:
        for package in arguments.packages:
            write(arguments.write, package)
    if not (arguments.judge or arguments.keep):
        return
    rows: dict[str, list[Found]] = {}
    print(HEAD)
    for model in (MODELS[name] for name in arguments.models):
        for package in arguments.packages:
            for chains in LAYOUTS:
                if arguments.kept:
                    fits = kept(arguments.kept, model, package, chains, arguments.seeds)
                else:
                    fits = fitted(model, package, chains, arguments.seeds)
                if fits is not None and arguments.keep:
                    fits.keep(arguments.keep)
                if fits is not None and arguments.judge:
                    target = sk.Target(model.score, dim=model.dim) if arguments.target else None
                    rows[str(fits)] = [found_in(*sample, target) for sample in fits.each()]
                    print(row(str(fits), rows[str(fits)]), flush=True)
    if rows:
        report(rows)
        target = ["--target"] if arguments.target else []
        keep(arguments.record, "nuts_chains", counts_of(rows), ["--judge", *target, f"--seeds {arguments.seeds}"])


if __name__ == "__main__":
    main()
