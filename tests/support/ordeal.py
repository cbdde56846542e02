"""Run steinkit on one instance and verify its answer.

The outcomes "certified" and "refused" (a typed error, with a verified bracket) are correct. "wrong" is a bracket that
rational arithmetic refutes, "crashed" any other exception or a NumPy warning, and "unjudged" an error of the
verification.
"""

import time
import warnings
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations, product
from pathlib import Path

import numpy as np

from steinkit.errors import CrossedBracketError, SolverError, SteinkitError, SteinkitWarning
from support.adversaries import FAMILIES, SAME, classical, hurried, in_some_unit, larger, subnormal_gaps, wasserstein
from support.judge import claims, distinct, excess_in_rounding_errors, graph_of, sum_claim
from support.judge_classical import classical_claims
from support.judge_wasserstein import wasserstein_claims

ALL = {
    **FAMILIES, "subnormal gaps": subnormal_gaps, "classical": classical, "wasserstein": wasserstein,
    "larger": larger, "hurried": hurried, **dict.fromkeys(SAME, larger), "units": in_some_unit, "solvers agree": larger,
}  # fmt: skip
"""Functions that create an instance of each family. For the last ones two answers are compared."""

WHOLE = {"classical": classical_claims, "wasserstein": wasserstein_claims}
"""Measures that claim one number."""

_ROUNDING_ERRORS = 4
"""Largest excess of a row by g, or of `lower` over its objective, in units of 2^-53 times the sizes of the terms."""


@dataclass(frozen=True)
class Outcome:
    """Outcome, reason, relative width of the bracket, and seconds of steinkit."""

    verdict: str
    why: str
    gap: float
    seconds: float


@dataclass(frozen=True)
class Answer:
    """Bracket of the value, with a result or an error."""

    lower: float
    upper: float
    result: object = None
    error: Exception | None = None


def make(family, seed):
    """Return an instance of a family, using its solvers in turn.

    Every other instance requests a bracket that is as narrow as rounding permits.
    """
    rng = np.random.default_rng([seed, *family.encode()])
    instance = replace(ALL[family](rng), tolerance=float(rng.choice([1e-6, 1e-14])))
    return instance.by(instance.solvers[seed % len(instance.solvers)])


def asked(instance):
    """Return the answer of steinkit; other errors and warnings are raised."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", SteinkitWarning)
        try:
            result = instance.result()
        except (SolverError, CrossedBracketError) as error:
            return Answer(error.lower, error.upper, error=error)
        except SteinkitError as error:
            return Answer(0.0, np.inf, error=error)
    return Answer(result.lower, result.upper, result)


def put(instance, family, seed, answered=lambda: None):
    """Run an instance, call `answered` after the last answer, and verify the answers."""
    began = time.perf_counter()
    try:
        answers = [asked(each) for each in questions(instance, family, seed)]
    except Exception as fault:
        answered()
        return Outcome("crashed", described(fault), np.nan, time.perf_counter() - began)
    seconds = time.perf_counter() - began
    answered()
    found = answers[0]
    gap = np.nan if found.result is None else found.result.gap
    try:
        why = next(filter(None, refutations(instance, family, answers)), "")
    except Exception as fault:
        return Outcome("unjudged", f"{type(fault).__name__}: {fault}", gap, seconds)
    if why:
        return Outcome("wrong", why, gap, seconds)
    if found.error is not None:
        return Outcome("refused", f"{type(found.error).__name__}: {found.error}", gap, seconds)
    return Outcome("certified", "", gap, seconds)


def questions(instance, family, seed):
    """Return the instance and equivalent ones."""
    if family in SAME:
        return [instance, SAME[family](np.random.default_rng([seed, 1]), instance)]
    if family == "solvers agree":
        return [instance, *(instance.by(solver) for solver in instance.solvers if solver != instance.solver)]
    return [instance]


def refutations(instance, family, answers):
    """Return the reasons why claims of an answer are false."""
    for one in answers:
        if isinstance(one.error, CrossedBracketError):
            yield str(one.error)
    if family == "permuted" and instance.dim > 1 and instance.graph != "complete":
        return  # edges at equal distances depend on the order of draws
    for one, other in combinations(answers, 2):
        if not (one.lower <= other.upper and other.lower <= one.upper):
            yield f"[{one.lower!r}, {one.upper!r}] and [{other.lower!r}, {other.upper!r}] have nothing in common"
    if len(answers) == 1 and np.isfinite(answers[0].upper):  # other samples are refused without a graph
        if 1 < instance.dim < 4 and instance.measure == "graph" and instance.graph == "spanner":
            yield stretched(instance)
        yield infeasible(instance, answers[0].result)
    if len(answers) == 1:
        yield from (claim.refuted() for claim in claims_of(instance, answers[0]))


def infeasible(instance, result):
    """Return the reason why g and its slopes violate a small program or miss `lower`, or an empty string."""
    if result is None or instance.measure != "graph" or instance.unit != 1.0 or len(result.g) > 20:
        return ""
    excess = excess_in_rounding_errors(instance, result)
    return f"g exceeds a row or misses lower by {excess:.3g} rounding errors" if excess > _ROUNDING_ERRORS else ""


def stretched(instance):
    """Return the reason why a small sample's spanner has too large a dilation, or an empty string."""
    points = instance.points[distinct(instance)[0]]
    if len(points) > 12:
        return ""
    x, n, far = [[Fraction(value) for value in point] for point in points], len(points), Fraction(2) ** 3000
    apart = [[sum((abs(a - b) for a, b in zip(p, q, strict=True)), Fraction(0)) for q in x] for p in x]
    path = [[far if i != k else Fraction(0) for k in range(n)] for i in range(n)]
    for i, k in graph_of(instance).tolist():
        path[i][k] = path[k][i] = apart[i][k]
    for via, i, k in product(range(n), repeat=3):
        path[i][k] = min(path[i][k], path[i][via] + path[via][k])
    most = Fraction(instance.dilation) * (1 + Fraction(1, 10**12))
    for i, k in combinations(range(n), 2):
        if path[i][k] > most * apart[i][k]:
            return f"points {i} and {k} are joined by a path {float(path[i][k] / apart[i][k])!r} times as long"
    return ""


def claims_of(instance, answer):
    """Return the claims of an answer; the bracket of a refusal is that of the sum over coordinates."""
    if answer.result is None and not np.isfinite(answer.upper):
        return []
    if instance.measure in WHOLE:
        return WHOLE[instance.measure](instance, answer)
    if answer.result is not None:
        return claims(instance, answer.result)
    if instance.measure == "graph" and not instance.tails:
        return [sum_claim(instance, answer.lower, answer.upper)]
    return []


def described(fault):
    """Return the exception and its last line in steinkit."""
    trace, place = fault.__traceback__, ""
    while trace is not None:
        path = Path(trace.tb_frame.f_code.co_filename)
        if "steinkit" in path.parts:
            place = f"{'/'.join(path.parts[-2:])}:{trace.tb_lineno}"
        trace = trace.tb_next
    return f"{type(fault).__name__}: {fault} ({place})"
