"""Which tests compiled code knows, and their decisions for one chain or many.

A known test is a `Rule`: its kind and its options as plain numbers. `decide` hands a look to the one function that is
the test, `exceeds_level`, `sequential_t_test`, `minibatch_barker` or `concentration`. Any other test, one of your own
among them, decides in Python, chain by chain.
"""

from __future__ import annotations

import math
from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np

from steinkit.runtime.compilation import array_kernel
from steinkit.sample import Floats
from steinkit.samplers.acceptance.interface import (
    AcceptanceTest,
    BarkerTest,
    Look,
    MetropolisTest,
    Verdict,
    exceeds_level,
)
from steinkit.samplers.acceptance.minibatch_barker import MinibatchBarkerTest, minibatch_barker
from steinkit.samplers.acceptance.sequential import AusterityTest, ConcentrationTest, concentration, sequential_t_test

_exceeds_level, _sequential_t_test, _minibatch_barker, _concentration = (
    array_kernel(test) for test in (exceeds_level, sequential_t_test, minibatch_barker, concentration)
)


class Kind(IntEnum):
    """The known tests."""

    EXACT = 0
    AUSTERITY = 1
    BARKER = 2
    CONCENTRATION = 3


class Rule(NamedTuple):
    """A known test as kernels take it, for N data; options of other tests are zero.

    Attributes
    ----------
    kind : int
        A `Kind`, as a plain number: enumerations take Numba long to hand over.
    batch : int
        Data of the first look.
    thresholds : ndarray, shape (J - 1,)
        G_j of the austerity test's looks before the last.
    sigma, jumps : float, bool
        Of the minibatch Barker test.
    epsilon, factor, power : float
        Of the concentration test.
    """

    kind: int
    batch: int
    thresholds: Floats
    sigma: float = 0.0
    jumps: bool = False
    epsilon: float = 0.0
    factor: float = 0.0
    power: float = 0.0


def rule_of(test: AcceptanceTest, size: int) -> Rule | None:
    """The rule of a test of N data; None if it is not known."""
    batch, none = min(test.first_batch(size), size), np.zeros(0)
    # classes themselves: one derived from them may have changed any of their methods
    if type(test) is MinibatchBarkerTest and not test.needs_values:
        return Rule(Kind.BARKER.value, batch, none, float(test.sigma), test.growth == "jump")
    sequential = type(test) in (AusterityTest, ConcentrationTest)
    if type(test) in (MetropolisTest, BarkerTest) or (sequential and test.reads_all(size)):
        return Rule(Kind.EXACT.value, batch, none)
    if type(test) is AusterityTest:
        return Rule(Kind.AUSTERITY.value, batch, test.thresholds(size).copy())
    if type(test) is ConcentrationTest:
        options = (float(test.epsilon), float(test.factor), float(test.power))
        return Rule(Kind.CONCENTRATION.value, batch, none, 0.0, False, *options)
    return None


@array_kernel
def decide(rule: Rule, look: Look) -> Any:
    """Whether the test decides at this look of one chain, whether it accepts, and the data for its next look."""
    if rule.kind == Kind.AUSTERITY:
        threshold = rule.thresholds[look.number] if look.number < len(rule.thresholds) else math.inf
        return _sequential_t_test(look, threshold, rule.batch)
    if rule.kind == Kind.BARKER:
        return _minibatch_barker(look, rule.sigma, rule.batch, rule.jumps)
    if rule.kind == Kind.CONCENTRATION:
        return _concentration(look, rule.epsilon, rule.factor, rule.power)
    return _exceeds_level(look)


@array_kernel
def _decide_each(rule: Rule, looks: Look, found: Any) -> None:
    """Decide for n chains, whose looks are arrays, into found (n, 3)."""
    for k in range(len(found)):
        moments = looks.mean[k], looks.variance[k]
        given = looks.offset[k], looks.temperature[k], looks.level[k], looks.normal[k], looks.bound[k]
        look = Look(looks.size, looks.number[k], looks.seen[k], *moments, *given, None)
        found[k, 0], found[k, 1], found[k, 2] = decide(rule, look)


def verdicts(test: AcceptanceTest, rule: Rule | None, looks: Look) -> Verdict:
    """Verdicts of n chains, whose looks are arrays (n,), as arrays: by the test's rule, or by its own function."""
    if rule is not None:
        found = np.empty((len(looks.seen), 3), dtype=np.int64)
        _decide_each(rule, looks, found)
        return Verdict(found[:, 0] == 1, found[:, 1] == 1, found[:, 2])
    chains = zip(*(column.tolist() for column in looks[1:-1]), looks.values or [None] * len(looks.seen), strict=True)
    each = [test.decide(Look(looks.size, *chain)) for chain in chains]
    reported = {name: np.array([one.diagnostics[name] for one in each]) for name in each[0].diagnostics}
    decided, accepted, wanted = (np.array([one[field] for one in each]) for field in range(3))
    return Verdict(decided, accepted, wanted, reported)
