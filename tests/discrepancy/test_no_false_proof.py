"""No bracket is false: adversarial samples against optima in rational arithmetic, without the certificate."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import linprog
from support.adversaries import FAMILIES
from support.exact_optimum import solved
from support.exact_programs import clustered_program, exact_program, line_program
from support.judge import answered, claims
from support.ordeal import ALL, make, put

from steinkit.discrepancy.graph.programs import chain_form, matrix_form


def dense(program):
    matrix = np.zeros((len(program.rows), len(program.box)))
    for i, (row, radius) in enumerate(program.rows):
        for k, value in row.items():
            matrix[i, k] = float(value / radius)
    return matrix


@pytest.mark.parametrize("seed", range(8))
def test_the_exact_optimum_is_what_a_solver_finds(seed):
    """The proof of an exact optimum, feasible y and p with equal cost, is always verified."""
    program = line_program(seed) if seed % 2 else clustered_program(100 + seed, dim=2)
    exact = exact_program(program, 0)
    # rows that a solver can resolve
    exact = replace(exact, rows=[row for row in exact.rows if row[1] > Fraction(1, 2**20)])
    matrix, box = dense(exact), np.array([float(limit) for limit in exact.box])
    found = linprog(
        -np.array([float(b) for b in exact.objective]), np.vstack([matrix, -matrix]), np.ones(2 * len(matrix)),
        bounds=np.column_stack([-box, box]), options={"primal_feasibility_tolerance": 1e-10},
    )  # fmt: skip
    assert float(solved(exact).value) == pytest.approx(-found.fun, rel=1e-7)


@pytest.mark.parametrize("family", ["plain", "weights", "wide"])
def test_a_solvers_answer_encloses_the_exact_optimum(family):
    """Instances too large for an exact optimum are verified with these bounds."""
    instance = make(family, 3)
    for claim in claims(instance, instance.by("auto").result()):
        least, most = answered(claim.program)
        assert least <= solved(claim.program).value <= most
        assert most - least < Fraction(1, 1000) * most


@pytest.mark.parametrize("family", [name for name in ALL if name != "hurried"])
def test_brackets_hold(family):
    """Every outcome is a certified bracket or a refusal. The benchmark `torture.py` runs many more instances."""
    seeds = range(5) if family in FAMILIES else range(4)
    found = {seed: put(make(family, seed), family, seed) for seed in seeds}
    assert not {seed: each.why for seed, each in found.items() if each.verdict not in ("certified", "refused")}
    assert any(each.verdict == "certified" for each in found.values())


@pytest.mark.parametrize(
    ("family", "seed"),
    [
        *(("bounded", seed) for seed in (73, 211, 252, 294, 336)),
        ("near", 145), ("clusters cancel", 67), ("clusters cancel", 109), ("subnormal gaps", 111),
    ],
)  # fmt: skip
def test_stored_function_satisfies_the_program_and_attains_lower(family, seed):
    """Points close to each other or to a bound, where values cancel along the recursion or the path to a root."""
    outcome = put(make(family, seed), family, seed)
    assert (outcome.verdict, outcome.why) == ("certified", "")


@pytest.mark.parametrize(
    ("module", "name", "solver"),
    [(matrix_form, "OUTWARD", "block"), (chain_form, "_OUTWARD", "chain"), (chain_form, "_JUST_OUTWARD", "chain")],
)
@pytest.mark.filterwarnings("ignore::steinkit.SteinkitWarning")  # brackets wider than requested
def test_an_allowance_that_is_too_small_is_found_out(module, name, solver, monkeypatch, tmp_path):
    """A proof that loses 1e-13 is refuted wherever the bracket is narrower than that."""
    instances = [replace(make("plain", seed), tolerance=1e-14).by(solver) for seed in LINES]
    assert not [why for each in instances if (why := put(each, "plain", 0).why)]
    narrow = [each for each in instances if any(claim.lower > (1.0 - 5e-14) * claim.upper for claim in judged(each))]
    assert len(narrow) >= 3
    monkeypatch.setattr(module, name, 1.0 - 1e-13)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))  # folder for contradictory bounds
    assert {put(each, "plain", 0).verdict for each in narrow} == {"wrong"}


LINES = [seed for seed in range(12) if make("plain", seed).dim == 1]


@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_a_bracket_slightly_outside_the_optimum_is_refuted(family):
    """Brackets are moved by one part in 10^9 to either side, or have their ends exchanged."""
    instance = next(each for each in (make(family, seed).by("auto") for seed in range(9)) if judged(each))
    claim = judged(instance)[0]
    optimum = solved(claim.program).value
    assert not replace(claim, lower=float(optimum * (1 - HAIR)), upper=float(optimum * (1 + HAIR))).refuted()
    assert "at least" in replace(claim, lower=0.0, upper=float(optimum * (1 - HAIR))).refuted()
    assert "at most" in replace(claim, lower=float(optimum * (1 + HAIR)), upper=np.inf).refuted()
    assert "below" in replace(claim, lower=claim.upper * (1 + 1e-9), upper=claim.lower * (1 - 1e-9)).refuted()


HAIR = Fraction(1, 10**9)


def judged(instance):
    """Claims about optima that are not near underflow."""
    try:
        found = claims(instance, instance.result())
    except Exception:
        return []
    return [claim for claim in found if claim.is_small and claim.lower > 1e-200]
