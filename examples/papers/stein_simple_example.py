"""Compare the discrepancies of a Gaussian and a Student's t sample of the same variance.

    python examples/papers/stein_simple_example.py [--full] [--jobs N] [-o DIR]

The target is N(0, 1). The samples are independent draws from N(0, 1), and from Student's t distribution with 10 degrees
of freedom, scaled to the same variance. The discrepancy of the Gaussian sample decreases with n. The discrepancy of the
t sample has a positive limit. A lower bound on this limit is the mean of h = T_P g under the t distribution for the
Stein function g(x) = sin x, which belongs to every Stein set of this target.

The script reports the convergence rate for the Gaussian sample. The paper's rate is for one sequence, so it is compared
with the range of the rates of individual sequences. The script also reports the limit for the t sample, and the size of
the sample's test function h in the tails. The sample sizes are those of the authors' code, which fits the line to all
of them.

References
----------
J. Gorham and L. Mackey (2015), "Measuring sample quality with Stein's method", section 5.1 and figure 1.
"""

from __future__ import annotations

import numpy as np
from _bands import bands
from _frame import COLOURS, Experiment, Found, figure, main_of
from _pictures import plot_bands
from matplotlib.figure import Figure
from scipy.integrate import quad
from scipy.stats import t as student_t

import steinkit as sk

DEGREES = 10.0
SAMPLES = {"gaussian": "Gaussian", "student": "scaled Student's t"}
DRAWN = 400  # number of points at which a function is plotted
TAIL, CENTRE = 3.0, 1.5


def draws(sample: str, seed: int, n: int) -> np.ndarray:
    """Return the first n draws of a sequence, shape (n,)."""
    rng = np.random.default_rng(seed)
    if sample == "gaussian":
        return rng.standard_normal(n)
    return np.sqrt((DEGREES - 2.0) / DEGREES) * rng.standard_t(DEGREES, n)


def discrepancies(sample: str, seed: int, sizes: list[int]) -> np.ndarray:
    """Compute the complete graph Stein discrepancy of the first n draws for each size, shape (k,)."""
    target = sk.targets.Normal([0.0])
    return sk.curve(draws(sample, seed, sizes[-1]), target, n=sizes, measure="graph", units="raw").values


def functions(sample: str, seed: int, n: int) -> dict[str, object]:
    """Return the optimal g and h at some points, and the ratio of h in the tails to its maximum in the center."""
    found = sk.graph_stein_discrepancy(draws(sample, seed, n), sk.targets.Normal([0.0]), units="raw")
    order = np.argsort(found.sample.points[:, 0])
    x, g, h = found.sample.points[order, 0], found.g[order, 0], found.test_function[order]
    shown = np.unique(np.searchsorted(x, np.linspace(x[0], x[-1], DRAWN)))
    sizes = [np.abs(h[inside]).max(initial=0.0) for inside in (np.abs(x) > TAIL, np.abs(x) < CENTRE)]
    return {"x": x[shown], "g": g[shown], "h": h[shown], "tail": sizes[0], "centre": sizes[1]}


def limit() -> float:
    """Compute the mean of h = cos x - x sin x under the scaled t distribution, a lower bound on the limit."""
    scaled = student_t(DEGREES, scale=np.sqrt((DEGREES - 2.0) / DEGREES))
    return abs(2.0 * quad(lambda x: (np.cos(x) - x * np.sin(x)) * scaled.pdf(x), 0.0, 60.0, limit=500)[0])


def main() -> None:
    experiment = Experiment(__file__, __doc__, shows="Gorham and Mackey (2015), figure 1")
    seeds, largest = (20, 200_000) if experiment.full else (2, 10_000)
    sizes = [*range(100, 1000, 100), *range(1000, 10_000, 1000), *range(10_000, largest + 1, 10_000)]
    lengths = (300, 3000, 30_000)
    experiment.settings(target="N(0, 1)", degrees_of_freedom=DEGREES, sizes=sizes, seeds=seeds, functions=lengths)
    cells = [{"sample": sample, "seed": seed, "sizes": sizes} for sample in SAMPLES for seed in range(seeds)]
    values = np.array(experiment.cells(discrepancies, cells)).reshape(len(SAMPLES), seeds, len(sizes))
    curves = {sample: bands(found, sizes) for sample, found in zip(SAMPLES, values, strict=True)}
    wanted = [{"sample": sample, "seed": 8, "n": n} for n in lengths for sample in SAMPLES]
    shapes = {(c["n"], c["sample"]): f for c, f in zip(wanted, experiment.cells(functions, wanted), strict=True)}

    gaussian, student = curves.values()
    rates = gaussian.single_rates()
    experiment.result("gaussian rate", Found.range(rates))
    ends, floor = Found.range(student.replicates[:, -1]), limit()
    tail = student.rate(tail_from=3000.0)
    experiment.result(
        "student level", low=ends.low, floor=floor, rate_low=tail.rate_interval[0], text=f"{ends} at n = {largest:,}"
    )
    ratio = {sample: shapes[lengths[-1], sample]["tail"] / shapes[lengths[-1], sample]["centre"] for sample in SAMPLES}
    experiment.result("student tails", **ratio, text=f"{ratio['student']:.1f} times the center")
    experiment.numbers(sizes=sizes, gaussian=gaussian.median, student=student.median, limit=floor)
    experiment.finish(plot(curves, shapes, lengths))


def plot(curves: dict, shapes: dict, lengths: tuple[int, ...]) -> Figure:
    """Plot the discrepancy against n, and the functions g and h of both samples at the largest n."""
    fig, ((top, g), (other, h)) = figure(2, 2, height=6.0)
    for color, (sample, name) in zip(COLOURS, SAMPLES.items(), strict=False):
        plot_bands(curves[sample], top, label=name, color=color)
        for ax, key in ((g, "g"), (h, "h")):
            ax.plot(shapes[lengths[-1], sample]["x"], shapes[lengths[-1], sample][key], color=color)
        for n, style in zip(lengths, (":", "--", "-"), strict=True):
            found = shapes[n, sample]
            if sample == "student":
                other.plot(found["x"], found["h"], style, color=color, label=f"n = {n:,}")
    top.set(xlabel="n", ylabel="discrepancy", title="complete graph")
    g.set(xlabel="x", title=f"g, n = {lengths[-1]:,}")
    h.set(xlabel="x", title=f"h, n = {lengths[-1]:,}")
    other.set(xlabel="x", title="h of the t, as n grows")
    top.legend()
    other.set_ylim(top=1.6 * other.get_ylim()[1])  # space for the legend
    other.legend(loc="upper center")
    return fig


if __name__ == "__main__":
    main_of(main)
