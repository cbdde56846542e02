"""Solve regressions by iteratively reweighted least squares with tests of the step direction.

    python examples/papers/sequential_irls.py [--data FILE] [--full] [--jobs N] [-o DIR]

The script compares four methods for least absolute deviations and logistic regression. The first method uses all the
data in each iteration. The second method, which is the published one, uses batches that grow by a thousandth of the
data until the direction of a step passes a test at 1%. The third method is this package's variant, which keeps the
batch of the previous iteration and allows for its noise. The fourth method is stochastic gradient descent with the best
of several schedules. The published test starts with a thousandth of the data, or with 8,100 data points, which is a
thousandth of the paper's eight million digits. FILE is the Million Song data set or MNIST. The images of MNIST are
reduced to 50 principal components, and the regression distinguishes the digit 3 from the other digits. Without FILE,
the data are simulated with ten coefficients.

For a logistic regression with three coefficients and 20,000 data points, the script counts, among the first ten steps
from zero, the steps whose direction differs by more than 90 degrees from the direction for all the data.

The script reports the loss on the test data relative to that of the solution, as a function of the number of passes
over the data.

References
----------
A. Korattikara, Y. Chen and M. Welling (2016), "Sequential tests for large-scale learning", sections 2.1 and
4.1, figures 2 and 3.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from _annealed_descent import stochastic_gradient_descent
from _data_files import million_song, mnist, principal_components
from _frame import COLOURS, Experiment, Found, figure, main_of
from applications.irls import Batches, NormalEquations, batch_irls, loss_named, sequential_irls
from matplotlib.figure import Figure
from scipy.special import expit

# Batch sizes, which are a thousandth of the data used here and a thousandth of the data in figure 3.
PAPER_LOOKS = {"lad": (464, 8100), "logistic": (500, 8100)}
DIM, TESTS, NEAR = 10, 5000, 0.01
LEAST = 1e-5  # smallest excess in the plot
STEPS = 10  # number of steps in a run with three coefficients
RECORDS = 200  # number of stored states of gradient descent per pass
TITLES = {"lad": "least absolute deviations", "logistic": "logistic regression"}
METHODS = {"batch": "all data", "published": "as published", "grown": "growing batches", "sgd": "gradient descent"}
SCHEDULES = [(c_1, c_2, c_3) for c_1 in (0.1, 1.0) for c_2 in (10.0, 100.0) for c_3 in (0.5, 0.7, 1.0)]


def solve(loss: str, method: str, size: int, first: int, data: str) -> dict[str, Any]:
    """Return the excess test loss after each iteration, relative to the solution, and the number of passes.

    The first stage of the published test reads `first` data points.
    """
    X, y, X_test, y_test = _data(loss, size, data)
    best = _loss(loss, X_test, y_test, batch_irls(X, y, loss=loss, tolerance=1e-8).coefficients[None, :])[0]
    if method == "batch":
        runs: list[Any] = [batch_irls(X, y, loss=loss)]
    elif method == "grown":
        runs = [sequential_irls(X, y, loss=loss)]
    elif method == "published":
        options: dict[str, Any] = {"debias": False, "carry": "nothing", "growth": 1.0, "max_passes": 20}
        runs = [sequential_irls(X, y, loss=loss, batch_size=max(2 * X.shape[1], first), max_iterations=5000, **options)]
    else:
        runs = [
            stochastic_gradient_descent(
                X, y, loss=loss, step_size=c_1, step_offset=c_2, decay=c_3, passes=5, records=RECORDS
            )
            for c_1, c_2, c_3 in SCHEDULES
        ]
    excess = [_loss(loss, X_test, y_test, run.path) / best - 1.0 for run in runs]
    chosen = int(np.argmin([values[-1] for values in excess]))
    return {"passes": runs[chosen].data_passes, "excess": excess[chosen]}


def wrong_directions(size: int, seeds: list[int]) -> list[float]:
    """Return the fraction of steps with a wrong direction in the published test.

    Their direction differs by more than 90 degrees from the direction of the step for all the data.
    """
    rng, found = np.random.default_rng(1), []
    X = rng.standard_normal((size, 3))
    X[:, 0] = 1.0
    loss = loss_named("logistic", (rng.random(size) < expit(0.5 * X @ np.linspace(1.0, 2.0, 3))).astype(float), 1e-4)
    for seed in seeds:
        batches = Batches(X, loss, np.random.default_rng(seed), size // 1000, 1.0, 0.01, False, "nothing")
        theta, wrong = np.zeros(3), 0
        for _ in range(STEPS):
            whole = NormalEquations(size, 3)
            whole.add(loss.working_rows(theta, X, loss.responses))
            step, *_, share = batches.step(theta)
            wrong += step @ whole.solve()[0] < 0.0
            theta = theta + share * step
        found.append(wrong / STEPS)
    return found


def _data(loss: str, size: int, data: str) -> tuple[np.ndarray, ...]:
    """Return the training and test data of a file, or simulated data with normal features and an intercept."""
    if data and loss == "lad":
        X, y, X_test, y_test = million_song(data)
        return X, y - y.mean(), X_test, y_test - y.mean()
    if data:
        (images, labels), (tests, test_labels) = mnist(data)
        X, X_test = (np.column_stack([np.ones(len(each)), each]) for each in principal_components(images, tests, 50))
        return X, (labels == 3).astype(float), X_test, (test_labels == 3).astype(float)
    rng = np.random.default_rng(0)
    X = rng.standard_normal((size + TESTS, DIM))
    X[:, 0] = 1.0
    eta = X @ np.linspace(1.0, 2.0, DIM)
    y = eta + rng.laplace(size=len(X)) if loss == "lad" else (rng.random(len(X)) < expit(0.5 * eta)).astype(float)
    return X[:size], y[:size], X[size:], y[size:]


def _loss(loss: str, X: np.ndarray, y: np.ndarray, path: np.ndarray) -> np.ndarray:
    """Return the mean absolute error, or minus the mean log likelihood, of each row of coefficients."""
    eta = X @ np.asarray(path).T
    if loss == "lad":
        return np.abs(y[:, None] - eta).mean(axis=0)
    return (np.logaddexp(0.0, eta) - y[:, None] * eta).mean(axis=0)


def main() -> None:
    experiment = Experiment(
        __file__,
        __doc__,
        shows="Korattikara et al. (2016), section 2.1, figures 2 and 3",
        data="YearPredictionMSD.txt for least absolute deviations, or MNIST's training images for logistic regression",
    )
    data, full = "" if experiment.data is None else str(experiment.data), experiment.full
    losses = tuple(TITLES) if not data else ("logistic",) if "idx3" in data or data.endswith(".npz") else ("lad",)
    sizes = {"lad": 463_715, "logistic": 500_000} if full else dict.fromkeys(TITLES, 10_000)
    looks = PAPER_LOOKS if full else dict.fromkeys(TITLES, (200, 1000))
    cells = [
        {"loss": loss, "method": method, "size": sizes[loss], "first": first, "data": data}
        for loss in losses
        for method in METHODS
        for first in (looks[loss] if method == "published" else looks[loss][:1])
    ]
    answers = experiment.cells(solve, cells)
    found = {(c["loss"], c["method"], c["first"]): a for c, a in zip(cells, answers, strict=True)}
    experiment.settings(data=sizes, coefficients=DIM, epsilon=0.01, near=NEAR, first_looks=looks)
    runs = list(range(100 if full else 3))
    (wrong,) = experiment.cells(wrong_directions, [{"size": 20_000, "seeds": runs}])
    experiment.result("direction", Found.mean(100.0 * np.array(wrong)))
    grown = []
    for loss in losses:
        few = looks[loss][0]
        read = {m: passes_until_near(found[loss, m, few]) for m in METHODS}
        for first in looks[loss]:
            test = passes_until_near(found[loss, "published", first])
            numbers = {"test": min(test, 1e9), "batch": read["batch"], "sgd": read["sgd"]}
            ours = f"test {test:.2g} passes" if np.isfinite(test) else "test never near"
            protocol = f"N0 = {PAPER_LOOKS[loss][looks[loss].index(first)]:,}"
            for other, words in {"batch": "all data", "sgd": "descent"}.items():
                here = f"{ours}, {words} {read[other]:.2g}"
                experiment.result(f"{loss}, beside {other}", protocol=protocol, text=here, **numbers)
        grown.append(f"{read['grown']:.2g}")
    experiment.remark(f"Batches that are kept and corrected for noise require {' and '.join(grown)} passes.")
    experiment.numbers(**{f"{loss}_{method}_{first}": each for (loss, method, first), each in found.items()})
    experiment.finish(plot(found, losses, looks))


def passes_until_near(each: dict[str, Any]) -> float:
    """Return the number of passes until the excess remains below the limit, or infinity if it never does."""
    above = np.flatnonzero(np.array(each["excess"]) >= NEAR)
    first = int(above[-1]) + 1 if above.size else 0
    return float(each["passes"][first]) if first < len(each["excess"]) else float("inf")


def plot(found: dict[tuple[str, str, int], dict], losses: tuple[str, ...], looks: dict) -> Figure:
    """Plot the excess test loss against the data read."""
    fig, ((*panels,),) = figure(1, len(losses), height=4.6, sharey=True)
    for ax, loss in zip(panels, losses, strict=True):
        drawn = [(m, looks[loss][0], name, "-") for m, name in METHODS.items()]
        drawn.insert(2, ("published", looks[loss][1], "as published, N0 larger", "--"))
        colours = (COLOURS[0], COLOURS[1], COLOURS[1], *COLOURS[2:])
        for color, (method, first, name, line) in zip(colours, drawn, strict=False):
            each = found[loss, method, first]
            style = f".{line}" if len(each["passes"]) <= RECORDS else line
            excess = np.array(each["excess"], dtype=float)
            excess[excess <= LEAST] = np.nan  # the test loss can be lower than that of the solution by chance
            ax.plot(each["passes"], excess, style, color=color, label=name, alpha=0.8)
        ax.axhline(NEAR, color="0.5", linestyle=":", linewidth=1.0)
        ax.set(xscale="log", yscale="log", xlabel="passes over the data", title=TITLES[loss])
    panels[0].set_ylabel("excess test loss")
    fig.legend(*panels[0].get_legend_handles_labels(), loc="outside upper center", ncols=3, columnspacing=1.0)
    return fig


if __name__ == "__main__":
    main_of(main)
