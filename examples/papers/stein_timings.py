"""Compare the paper's timings of spanners and linear programs with those of steinkit.

    python examples/papers/stein_timings.py [--full] [--jobs N] [-o DIR]

The paper reports the times of its spanners and linear programs with one core of a processor of 2013: for 1000 draws of
SGLD from the mixture posterior, for up to 1000 draws of random-walk Metropolis from the nodal posterior, and for 200
points of the uniform distribution. The script solves them with one thread for draws from the same samplers, to the
default tolerances and with certified brackets.

The problems have the paper's size with and without --full. The script reports both times; a row agrees if steinkit is
not slower. Times are wall times, the smallest of three, after a first run that loads the compiled code. They depend on
the machine.

References
----------
J. Gorham and L. Mackey (2015), "Measuring sample quality with Stein's method", sections 5.3, 5.4 and 5.5.
"""

from __future__ import annotations

import numpy as np
from _curves import evenly_spaced
from _frame import COLOURS, Experiment, figure, main_of
from matplotlib.figure import Figure

import steinkit as sk
from steinkit.samplers import approximate_mh, iid, sgld

PROBLEMS = {"uniform": ("program",), "mixture": ("spanner", "program"), "nodal": ("spanner", "program")}
SIZES = (200, 1000, 1000)
REPEATS = 3


def seconds(problem: str, n: int) -> dict[str, float]:
    """Return the seconds of the spanner, and those of the linear programs per coordinate."""
    if problem.startswith("uniform"):
        target = sk.targets.Uniform([0.0], [1.0])
        sample = iid(target, draws=n).to_sample()
    elif problem.startswith("mixture"):
        target = sk.targets.MixturePosterior()
        sample = sgld(target, step_size=5e-3, batch_size=5, draws=n, start=[0.0, 0.0]).to_sample()
    else:
        target = sk.targets.LogisticRegression.nodal()
        chain = approximate_mh(target, proposal_scale=0.1, epsilon=0.0, budget=100_000)
        sample = evenly_spaced(chain.to_sample(), n)
    found = [sk.graph_stein_discrepancy(sample, target, units="raw") for _ in range(1 + REPEATS)][1:]
    programs = [(each.seconds["program"] + each.seconds["solve"]) / sample.dim for each in found]
    return {
        "spanner": min(each.seconds["graph"] for each in found),
        "program": min(programs),
        "edges": len(found[0].graph.edges),
        "gap": found[0].gap,
    }


def main() -> None:
    experiment = Experiment(__file__, __doc__, shows="Gorham and Mackey (2015), timings of section 5")
    sizes = dict(zip(PROBLEMS, SIZES, strict=True))
    experiment.settings(sizes=sizes, repeats=REPEATS, sgld={"step_size": 5e-3, "batch_size": 5}, metropolis_scale=0.1)
    found = experiment.cells(seconds, [{"problem": problem, "n": n} for problem, n in sizes.items()])
    claims = {}
    for (problem, parts), here in zip(PROBLEMS.items(), found, strict=True):
        for part in parts:
            claim = f"seconds, {part}, {problem}, n = {sizes[problem]}"
            claims[problem, part] = experiment.ledger[claim].number
            experiment.result(claim, here[part], text=f"{here[part]:.2g}")
    experiment.numbers(found=found)
    experiment.finish(picture(found, claims))


def picture(found: list[dict[str, float]], printed: dict[tuple[str, str], float]) -> Figure:
    """Plot bars of both; those of the paper are pale."""
    fig, ((ax,),) = figure(height=3.6)
    here = [found[list(PROBLEMS).index(problem)][part] for problem, part in printed]
    places = np.arange(len(here))
    ax.barh(places - 0.2, list(printed.values()), 0.4, color="0.7", label="paper")
    ax.barh(places + 0.2, here, 0.4, color=COLOURS[0], label="here")
    ax.set_yticks(places, [f"{problem}\n{part}" for problem, part in printed], fontsize=9)
    ax.set(xscale="log", xlabel="seconds")
    ax.invert_yaxis()
    ax.legend()
    return fig


if __name__ == "__main__":
    main_of(main)
