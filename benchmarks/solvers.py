"""Times of the solvers per coordinate, relative to general LP solvers.

All solvers run in the same process, and brackets are computed from their results. Each instance is solved by steinkit's
solver and by up to five general solvers: `cvxpy`, which formulates the program in CVXPY and uses the default settings
of HiGHS; `default`, which leaves the choice of the solver to CVXPY; `highs` and `pdlp`, the interior point method and
the first-order method of HiGHS applied to the explicit dual; and `clarabel`, which is Clarabel with scaled rows and
without presolve. Among these general solvers, Clarabel is the fastest in two dimensions, and HiGHS in three and more
dimensions. In one dimension, no rigorous bound can be derived from Clarabel's result. The pulse is the CPU time of a
fixed loop (`costs.pulse`), which measures the speed of the machine.

The times are medians, per coordinate, of the CPU times of all threads of the process, excluding the construction of the
program and the computation of the bracket. The solvers of steinkit solve all d coordinates, and the general solvers
solve only the first. A gap is the relative width of the certified bracket from the result of a solver. If the gap of a
general solver exceeds the tolerance, its result is less accurate than requested, whatever its reported status.

    python benchmarks/solvers.py [--quick] [--only TEXT ...] [--repeats N] [--record]
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import partial
from statistics import median
from typing import Any

import clarabel
import cvxpy as cp
import numpy as np
from costs import pulse
from instances import (
    Instance,
    cauchy,
    jitter,
    mixed_scales,
    mixture,
    narrow_normal,
    normal,
    stein_program,
    uniform,
    walk,
)
from records import add_option, keep
from scipy import sparse

from steinkit.discrepancy.bracket import relative_width
from steinkit.discrepancy.graph.programs.matrix_form import CoordinateProgram, certify
from steinkit.discrepancy.graph.programs.stein_program import SteinProgram
from steinkit.discrepancy.graph.solvers import Candidate, Settings, highs, solver_named

Make = Callable[[], Instance]
PEERS = ("cvxpy", "highs", "clarabel", "default", "pdlp")
LONGEST_REPEATED = 3.0  # seconds; longer runs are not repeated


@dataclass(frozen=True)
class Case:
    """Instance with its solver, tolerance, peers and goals.

    Attributes
    ----------
    ratio : float, optional
        Goal for the CPU time per coordinate of the first peer relative to steinkit.
    seconds : float, optional
        Goal for the CPU time per coordinate.
    """

    name: str
    make: Make
    solver: str
    tolerance: float = 1e-6
    peers: tuple[str, ...] = PEERS[:4]
    ratio: float | None = None
    seconds: float | None = None


def high_dimensional(solver: str = "first_order") -> list[Case]:
    """Return four instances at two tolerances, with the interior point method of HiGHS at the same tolerance."""
    makes: dict[str, Make] = {
        "normal 1000x5": partial(normal, 1000, 5),
        "narrow normal 1000x6": partial(narrow_normal, 1000, 6),
        "narrow normal 1000x7": partial(narrow_normal, 1000, 7),
        "normal 3000x5": partial(normal, 3000, 5),
    }
    return [
        Case(name, make, solver, tolerance, ("highs", "pdlp"), ratio)
        for tolerance, ratio in ((1e-3, 0.1), (1e-2, 0.04))
        for name, make in makes.items()
    ]


CASES = [
    Case("normal 1000x1", partial(normal, 1000, 1), "chain", peers=PEERS[:2], ratio=0.06),
    Case("normal 10000x1", partial(normal, 10_000, 1), "chain", peers=PEERS[:2], ratio=0.02),
    Case("normal 100000x1", partial(normal, 100_000, 1), "chain", peers=(), seconds=1.0),
    Case("Cauchy 100000x1", partial(cauchy, 100_000), "chain", peers=(), seconds=1.0),
    Case("uniform 100000x1", partial(uniform, 100_000), "chain", peers=(), seconds=1.0),
    Case("normal 1000000x1", partial(normal, 1_000_000, 1), "chain", peers=(), seconds=20.0),
    Case("uniform 1000000x1", partial(uniform, 1_000_000), "chain", peers=(), seconds=20.0),
    Case("normal 300x2", partial(normal, 300, 2), "block", ratio=0.08),
    Case("normal 1000x2", partial(normal, 1000, 2), "block", ratio=0.025),
    Case("mixture 1000x2", partial(mixture, 1000), "block", ratio=0.025),
    Case("normal 3000x2", partial(normal, 3000, 2), "block", ratio=0.01),
    Case("normal 10000x2", partial(normal, 10_000, 2), "block", peers=(), seconds=2.0),
    Case("normal 30000x2", partial(normal, 30_000, 2), "block", peers=(), seconds=12.0),
    Case("normal 500x3", partial(normal, 500, 3), "block", ratio=0.05),
    Case("normal 1000x3", partial(normal, 1000, 3), "block", ratio=0.04),
    Case("normal 3000x3", partial(normal, 3000, 3), "block", peers=()),
    Case("narrow normal 300x7", partial(narrow_normal, 300, 7), "first_order", 1e-3, PEERS[:2]),
    *high_dimensional(),
    Case("normal 1000x10", partial(normal, 1000, 10), "first_order", 1e-3, ("highs", "pdlp")),
]
QUICK = [
    Case("normal 300x1", partial(normal, 300, 1), "chain", peers=PEERS[:2]),
    Case("normal 100x2", partial(normal, 100, 2), "block"),
    Case("normal 100x3", partial(normal, 100, 3), "block"),
    Case("narrow normal 50x7", partial(narrow_normal, 50, 7), "first_order", 1e-2, PEERS[:2]),
]

SPACED: dict[str, Make] = {"normal 600x2": partial(normal, 600, 2), "normal 400x3": partial(normal, 400, 3)}
NEAR: dict[str, list[tuple[str, Make]]] = {
    "normal 600x2": [
        *((f"jitter {size:.0e}", partial(jitter, 600, 2, size)) for size in (1e-3, 1e-5, 1e-8, 1e-12)),
        ("fives 1e-06", partial(jitter, 600, 2, 1e-6, 5)),
        *((f"walk {size:.0e}", partial(walk, 600, 2, size)) for size in (1e-2, 1e-4, 1e-6, 1e-9, 1e-12)),
        *((f"scales {size:.0e}", partial(mixed_scales, 600, 2, size)) for size in (1e-2, 1e-5, 1e-8)),
    ],
    "normal 400x3": [
        *((f"jitter {size:.0e}", partial(jitter, 400, 3, size)) for size in (1e-3, 1e-6, 1e-12)),
        *((f"walk {size:.0e}", partial(walk, 400, 3, size)) for size in (1e-2, 1e-6, 1e-12)),
        ("scales 1e-05", partial(mixed_scales, 400, 3, 1e-5)),
    ],
}


@dataclass(frozen=True)
class Measured:
    """CPU seconds per coordinate, iterations, and the widest bracket of the coordinates."""

    seconds: float
    iterations: int
    gap: float


def ours(solver: str, program: SteinProgram, tolerance: float) -> list[Candidate]:
    """Solve all coordinates with one of steinkit's solvers."""
    return solver_named(solver)(program, Settings(tolerance))


def peer(name: str, program: SteinProgram, tolerance: float) -> list[Candidate]:
    """Solve the first coordinate with a general solver."""
    coordinate = program.coordinate(0)
    if name == "highs":
        return [highs.solve_coordinate(coordinate, Settings(tolerance))]
    if name == "pdlp":
        options = {"solver": "pdlp", "pdlp_optimality_tolerance": 0.03 * tolerance}

        def run(lp: highs.LinearProgram, _: object, settings: Settings) -> highs.Point:
            return highs.run_highs(lp, options, settings)

        return [highs.solve_coordinate(coordinate, Settings(1.0), run)]
    if name == "clarabel":
        return [by_clarabel(coordinate, tolerance)]
    return [by_cvxpy(coordinate, "HIGHS" if name == "cvxpy" else None)]


def by_cvxpy(program: CoordinateProgram, solver: str | None) -> Candidate:
    """Solve a coordinate with a CVXPY solver or its default, using default settings."""
    highs.spend_header()
    y = cp.Variable(len(program.box))
    rows = [program.matrix @ y <= program.radius, program.matrix @ y >= -program.radius]
    box = [y <= program.box, y >= -program.box]
    cp.Problem(cp.Maximize(program.objective @ y), rows + box).solve(solver=solver)
    return Candidate(program, y.value, rows[0].dual_value - rows[1].dual_value, ("cvxpy",))


def by_clarabel(program: CoordinateProgram, tolerance: float) -> Candidate:
    """Solve a coordinate by Clarabel on rows scaled by r^(-1/2), without presolve, which drops binding rows."""
    scale = np.maximum(program.radius, 1e-24) ** -0.5
    rows, identity = sparse.diags_array(scale) @ program.matrix, sparse.eye_array(len(program.box))
    matrix = sparse.csc_matrix(sparse.vstack([rows, -rows, identity, -identity]))
    limits = np.concatenate([scale * program.radius, scale * program.radius, program.box, program.box])
    settings = clarabel.DefaultSettings()
    settings.verbose, settings.presolve_enable, settings.max_threads = False, False, 1
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 0.03 * tolerance
    cones, nothing = [clarabel.NonnegativeConeT(len(limits))], sparse.csc_matrix((len(program.box),) * 2)
    found = clarabel.DefaultSolver(nothing, -program.objective, matrix, limits, cones, settings).solve()
    above, below = np.array(found.z)[: 2 * len(scale)].reshape(2, -1)
    return Candidate(program, np.array(found.x), scale * (above - below), ("clarabel",), iterations=found.iterations)


def measure(solve: Callable[[], list[Candidate]], repeats: int) -> Measured:
    """Measure the time of a solver.

    Long runs are not repeated.
    """
    seconds = []
    for _ in range(repeats):
        started = time.process_time()
        answers = solve()
        seconds.append(time.process_time() - started)
        if seconds[-1] > LONGEST_REPEATED:
            break
    proofs = [certify(answer.program, answer.y, answer.p) for answer in answers]
    return Measured(
        median(seconds) / len(answers),
        max(answer.iterations for answer in answers),
        relative_width(sum(proof.lower for proof in proofs), sum(proof.upper for proof in proofs)),
    )


def row(case: Case, repeats: int) -> dict[str, Any]:
    """Print the row of an instance, and return the numbers in it."""
    program = stein_program(*case.make())
    mine = measure(partial(ours, case.solver, program, case.tolerance), repeats)
    others = {name: measure(partial(peer, name, program, case.tolerance), repeats) for name in case.peers}
    first = next(iter(others.values()), None)
    columns = [
        f"{others[name].seconds:11.3f} {mine.seconds / others[name].seconds:7.3f} {others[name].gap:6.0e}"
        if name in others
        else f"{'-':>11} {'-':>7} {'-':>6}"
        for name in PEERS
    ]
    beat = round(1e3 * pulse(), 2)
    closed = mine.gap <= case.tolerance
    verdict = ""
    if case.ratio is not None and first is not None:
        met = closed and mine.seconds <= case.ratio * first.seconds
        verdict = f"ratio {case.ratio:g} " + ("met" if met else "MISSED")
    elif case.seconds is not None:
        verdict = f"{case.seconds:g} s " + ("met" if closed and mine.seconds <= case.seconds else "MISSED")
    print(
        f"{case.name:21}{case.tolerance:6.0e} {case.solver:>11} {mine.seconds:9.4f}{mine.iterations:5d} "
        f"{mine.gap:6.0e} |{' |'.join(columns)} | {beat:9.2f} | {verdict}",
        flush=True,
    )
    peers = {name: {**asdict(each), "gap": finite(each.gap)} for name, each in others.items()}
    case_of_row = {"instance": case.name, "solver": case.solver, "tolerance": case.tolerance}
    return {**case_of_row, **asdict(mine), "peers": peers, "pulse": beat, "day": datetime.now(UTC).date().isoformat()}


def finite(gap: float) -> float | None:
    """Return a gap, or None if there is no certificate."""
    return gap if math.isfinite(gap) else None


def near_coincident(repeats: int, spaced: dict[str, Make], near: dict[str, list[tuple[str, Make]]]) -> None:
    """Time instances with nearly coincident draws, relative to well-separated ones of the same size."""
    print("\nDraws that nearly coincide: solver block at 1e-6, time a coordinate over that of well-spaced draws (<= 3)")
    print(f"{'instance':16}{'draws':>14} {'s':>9}{'iter':>5} {'gap':>6} {'ratio':>6}")
    for name, make in spaced.items():
        base = measure(partial(ours, "block", stein_program(*make()), 1e-6), max(repeats, 3))
        print(f"{'well spaced':16}{name:>14} {base.seconds:9.4f}{base.iterations:5d} {base.gap:6.0e}")
        for label, instance in near[name]:
            mine = measure(partial(ours, "block", stein_program(*instance()), 1e-6), repeats)
            ratio = mine.seconds / base.seconds
            verdict = "met" if mine.gap <= 1e-6 and ratio <= 3.0 else "MISSED"
            print(
                f"{label:16}{'':14} {mine.seconds:9.4f}{mine.iterations:5d} {mine.gap:6.0e} {ratio:6.2f} {verdict}",
                flush=True,
            )


def warm_up() -> None:
    """Compile or load everything before the measurements."""
    for solver, instance, peers in (
        ("chain", normal(20, 1), PEERS[:2]),
        ("block", normal(20, 2), PEERS),
        ("block", jitter(20, 2, 1e-5), ()),
        ("first_order", normal(20, 4), ()),
    ):
        program = stein_program(*instance)
        ours(solver, program, 1e-2)
        for name in peers:
            peer(name, program, 1e-2)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="small instances, which have no targets")
    parser.add_argument("--only", nargs="+", default=[""], metavar="TEXT", help="instances whose name contains a TEXT")
    parser.add_argument("--repeats", type=int, metavar="N", help="runs of each solver (default: 3, or 1 with --quick)")
    add_option(parser)
    settings = parser.parse_args(arguments)
    if settings.repeats is None:
        settings.repeats = 1 if settings.quick else 3
    if settings.repeats < 1:
        parser.error(f"--repeats must be at least 1; got {settings.repeats}")

    warm_up()
    print(f"CPU seconds a coordinate (medians; runs: {settings.repeats}); ratios are ours to the peer's\n")
    print(
        f"{'instance':21}{'tol.':>6} {'solver':>11} {'s':>9}{'iter':>5} {'gap':>6} |"
        + " |".join(f"{name + ', s':>11} {'ratio':>7} {'gap':>6}" for name in PEERS)
        + " | pulse, ms | target"
    )
    cases = [case for case in (QUICK if settings.quick else CASES) if any(text in case.name for text in settings.only)]
    options = ["--only", *settings.only] if any(settings.only) else []
    keep(settings.record, "solvers", [row(case, settings.repeats) for case in cases], options)
    if settings.quick:
        near_coincident(1, {"normal 60x2": partial(normal, 60, 2)}, {"normal 60x2": [
            ("jitter 1e-06", partial(jitter, 60, 2, 1e-6)),
        ]})  # fmt: skip
    elif any(text in "near" for text in settings.only):
        near_coincident(settings.repeats, SPACED, NEAR)


if __name__ == "__main__":
    main()
