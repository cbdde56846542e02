"""Compiled acceptance tests for one or more chains.

A built-in test is represented by a `Rule`, which contains its kind and its options as plain numbers. The function
`decide` calls `exceeds_level`, `sequential_t_test`, `minibatch_barker` or `concentration`, depending on the kind of
test. Other tests, such as user-defined tests, are run in Python, one chain after another.
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
    Decision,
    MetropolisTest,
    Stage,
    exceeds_level,
)
from steinkit.samplers.acceptance.minibatch_barker import MinibatchBarkerTest, minibatch_barker
from steinkit.samplers.acceptance.sequential import AusterityTest, ConcentrationTest, concentration, sequential_t_test

_exceeds_level, _sequential_t_test, _minibatch_barker, _concentration = (
    array_kernel(test) for test in (exceeds_level, sequential_t_test, minibatch_barker, concentration)
)


class TestKind(IntEnum):
    """Kinds of compiled tests."""

    EXACT = 0
    AUSTERITY = 1
    BARKER = 2
    CONCENTRATION = 3


class Rule(NamedTuple):
    """Options of a compiled test for N data points.

    Options that do not apply to the kind of test are zero.

    Attributes
    ----------
    kind : int
        A `TestKind`. The kind is stored as a plain number because passing enumerations is slow in Numba.
    batch : int
        Number of data points in the first stage.
    thresholds : ndarray, shape (J - 1,)
        Thresholds G_j of the austerity test at all stages except the last.
    sigma : float
        Standard deviation of the minibatch Barker test.
    epsilon, factor : float
        Error and growth factor of the concentration test.
    """

    kind: int
    batch: int
    thresholds: Floats
    sigma: float = 0.0
    epsilon: float = 0.0
    factor: float = 0.0


def rule_of(test: AcceptanceTest, size: int) -> Rule | None:
    """Return the rule for a test on N data points, or None if it is not compiled."""
    batch, empty = min(test.first_batch(size), size), np.zeros(0)
    # the types must be equal because a derived class may have overridden any method
    sequential = type(test) in (AusterityTest, ConcentrationTest)
    if type(test) in (MetropolisTest, BarkerTest) or (sequential and test.reads_all(size)):
        return Rule(TestKind.EXACT.value, batch, empty)
    if type(test) is MinibatchBarkerTest:
        return Rule(TestKind.BARKER.value, batch, empty, float(test.sigma))
    if type(test) is AusterityTest:
        return Rule(TestKind.AUSTERITY.value, batch, test.thresholds(size).copy())
    if type(test) is ConcentrationTest:
        return Rule(TestKind.CONCENTRATION.value, batch, empty, 0.0, float(test.epsilon), float(test.factor))
    return None


@array_kernel
def decide(rule: Rule, stage: Stage) -> Any:
    """Return the status and decision of a test, and the size of its next stage."""
    if rule.kind == TestKind.AUSTERITY:
        threshold = rule.thresholds[stage.number] if stage.number < len(rule.thresholds) else math.inf
        return _sequential_t_test(stage, threshold, rule.batch)
    if rule.kind == TestKind.BARKER:
        return _minibatch_barker(stage, rule.sigma, rule.batch)
    if rule.kind == TestKind.CONCENTRATION:
        return _concentration(stage, rule.epsilon, rule.factor)
    return _exceeds_level(stage)


@array_kernel
def _decide_each(rule: Rule, stages: Stage, found: Any) -> None:
    """Write the decisions of n chains to ``found``, an array of shape (n, 3)."""
    for k in range(len(found)):
        moments = stages.mean[k], stages.variance[k]
        given = stages.offset[k], stages.temperature[k], stages.level[k], stages.normal[k], stages.bound[k]
        stage = Stage(stages.size, stages.number[k], stages.seen[k], *moments, *given)
        found[k, 0], found[k, 1], found[k, 2] = decide(rule, stage)


def decisions(test: AcceptanceTest, rule: Rule | None, stages: Stage) -> Decision:
    """Compute the decisions for n chains with the compiled rule or the Python method."""
    if rule is not None:
        found = np.empty((len(stages.seen), 3), dtype=np.int64)
        _decide_each(rule, stages, found)
        return Decision(found[:, 0] == 1, found[:, 1] == 1, found[:, 2])
    chains = zip(*(column.tolist() for column in stages[1:]), strict=True)
    each = [test.decide(Stage(stages.size, *chain)) for chain in chains]
    reported = {name: np.array([one.diagnostics[name] for one in each]) for name in each[0].diagnostics}
    decided, accepted, next_size = (np.array([one[field] for one in each]) for field in range(3))
    return Decision(decided, accepted, next_size, reported)
