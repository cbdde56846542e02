"""Compare thinning by linear programs with Stein thinning, kernel thinning and equal spacing.

    python benchmarks/thinning.py FOLDER [--plot FILE]

The folder contains posteriors, as for `optimal_weights.py`. From samples of 1000 draws from six posteriors, m draws are
selected. The samples are exact draws and draws with four kinds of bias. The methods are

- lp: at most m weighted draws from linear programs, `thin(method="lp")`;
- stein: Stein thinning, `thin()`, and its original form, in which the moments have a weight of 0;
- goodpoints: kernel thinning [1]_, if the package goodpoints is installed, with the inverse multiquadric kernel and the
  median distance as its scale. It represents the draws and not the target;
- spaced: equally spaced draws.

The errors are those of `optimal_weights.py` and the kernel Stein discrepancy in units of the target's standard
deviations. For each other method, the table lists the median ratio of the two errors, with lp in the numerator, and the
fraction of samples for which lp has the larger error.

References
----------
.. [1] R. Dwivedi and L. Mackey, "Kernel thinning", JMLR 25, 2024.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import optimal_weights
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator
from optimal_weights import Case

import steinkit as sk
from steinkit.plots import look

NAMES = ("arma11", "garch11", "low_dim_gauss_mix", "kidscore_momhs", "arK", "gp_regr")
SAMPLES = ("exact", "shift25", "wide12", "ula", "selected")
SIZES = (125, 62, 31, 15)  # 1000 halved three times, as in kernel thinning, and so on
ERRORS = {
    "mean": "means",
    "sd": "standard deviations",
    "quantile": "quantiles",
    "w1": "marginals",
    "ksd": "kernel discrepancy",
}
METHODS = {
    "lp": "linear programs",
    "stein": "Stein thinning",
    "stein, no moments": "Stein thinning, no moments",
    "goodpoints": "kernel thinning (goodpoints)",
    "spaced": "equally spaced",
}


def kernel_thinning(points: np.ndarray, halvings: int) -> np.ndarray | None:
    """Return the rows selected by the package goodpoints, or None if it is not installed."""
    try:
        from goodpoints import kt
    except ImportError:
        return None
    z = np.ascontiguousarray((points - points.mean(axis=0)) / points.std(axis=0))
    pairs = np.random.default_rng(0).integers(len(z), size=(2, 2000))
    scale = np.median(((z[pairs[0]] - z[pairs[1]]) ** 2).sum(axis=1))

    def kernel(y: np.ndarray, x: np.ndarray) -> np.ndarray:
        return (1.0 + ((x - y) ** 2).sum(axis=-1) / scale) ** -0.5

    return kt.thin(z, halvings, kernel, kernel, seed=0, store_K=True)


def selections(case: Case, m: int) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Return rows and weights by method."""
    n, found = len(case.points), {}
    for name, options in {"lp": {"method": "lp"}, "stein": {}, "stein, no moments": {"moment_weight": 0.0}}.items():
        thinned = sk.thin(case.points, scores=case.scores, m=m, **options)
        found[name] = np.asarray(thinned.draw), thinned.probabilities
    found["spaced"] = np.linspace(0, n - 1, m).round().astype(int), np.full(m, 1.0 / m)
    rows = kernel_thinning(case.points, round(np.log2(n / m)))
    if rows is not None:
        found["goodpoints"] = rows, np.full(len(rows), 1.0 / len(rows))
    return found


def compared(folder: Path, sizes: tuple[int, ...]) -> list[dict[str, Any]]:
    """Return the errors of all methods for each sample and size."""
    found = []
    for half in ("development", "held-out"):
        for case in optimal_weights.posteriors(folder, 1000, half):
            if case.name not in NAMES or case.sample not in SAMPLES:
                continue
            for m in sizes:
                row: dict[str, Any] = {"target": case.name, "sample": case.sample, "m": m}
                for name, (rows, weights) in selections(case, m).items():
                    chosen = case._replace(points=case.points[rows], scores=case.scores[rows])
                    sample = sk.Sample(chosen.points, weights=weights, scores=chosen.scores)
                    ksd = sk.kernel_stein_discrepancy(sample, units=case.truth.std(axis=0)).value
                    row[name] = optimal_weights.errors(chosen, weights) | {"ksd": ksd}
                found.append(row)
    return found


def summarize(rows: list[dict[str, Any]], sizes: tuple[int, ...]) -> None:
    """Print ratios of errors, with lp in the numerator and other methods in the denominator."""
    for kind, has_kind in {"exact draws": ("exact",), "biased draws": SAMPLES[1:]}.items():
        print(f"\n{kind}: median ratio of the errors (fraction of samples with a larger error)\n")
        print(f"{'lp relative to':28}{'m':>4}" + "".join(f"{name:>14}" for name in ERRORS))
        for name in METHODS:
            for m in sizes if name != "lp" else ():
                pairs = [(row["lp"], row[name]) for row in rows if row["sample"] in has_kind and row["m"] == m
                         and name in row]  # fmt: skip
                if pairs:
                    ratios = {error: np.array([a[error] / b[error] for a, b in pairs]) for error in ERRORS}
                    cells = "".join(f"{np.median(r):>8.2f} ({np.mean(r > 1.0):>3.0%})" for r in ratios.values())
                    print(f"{METHODS[name]:28}{m:>4}{cells}")


def plot(rows: list[dict[str, Any]], sizes: tuple[int, ...]) -> Figure:
    """Plot the root mean square errors over the samples against the number of selected draws."""
    figure = Figure(figsize=(8.4, 5.6), layout="constrained")
    axes = figure.subplots(2, 3).ravel()
    for ax, (error, title) in zip(axes, ERRORS.items(), strict=False):
        for k, (name, label) in enumerate(METHODS.items()):
            if name in rows[0]:
                values = [[row[name][error] for row in rows if row["m"] == m] for m in sizes]
                ax.plot(sizes, np.sqrt(np.mean(np.square(values), axis=1)), **look(k)._asdict(), ms=4, label=label)
        ax.set(xscale="log", yscale="log", title=title, xlabel="selected draws")
        ax.set_xticks(sizes, [str(m) for m in sizes])
        ax.set_xticks([], minor=True)
        ax.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        ax.yaxis.set_major_formatter("{x:g}")
        ax.yaxis.set_minor_formatter("")
    axes[0].set_ylabel("error, in sd of the target")
    axes[3].set_ylabel("error, in sd of the target")
    axes[5].axis("off")
    axes[5].legend(*axes[0].get_legend_handles_labels(), loc="center", frameon=False)
    figure.suptitle(f"Root mean square errors over {len(rows) // len(sizes)} samples of 1000 draws", fontsize=11)
    return figure


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="folder with samples from posteriors")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="save a figure")
    options = parser.parse_args()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rows = compared(options.folder, SIZES)
    summarize(rows, SIZES)
    if options.plot is not None:
        plot(rows, SIZES).savefig(options.plot, dpi=130)


if __name__ == "__main__":
    main()
