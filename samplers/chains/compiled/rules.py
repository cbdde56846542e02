"""Which tests and proposals compiled chains know, and what they make of them.

What they do not know, a test or a proposal of your own among it, runs on the vectorised path, with the same results.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from steinkit.posterior import Posterior
from steinkit.sample import Floats
from steinkit.samplers.acceptance.austerity import AusterityTest
from steinkit.samplers.acceptance.concentration import ConcentrationTest
from steinkit.samplers.acceptance.exact import BarkerTest, MetropolisTest
from steinkit.samplers.acceptance.interface import AcceptanceTest
from steinkit.samplers.acceptance.minibatch_barker import MinibatchBarkerTest
from steinkit.samplers.chains.compiled.records import Drift, Rule
from steinkit.samplers.chains.proposals import Langevin, Proposal, RandomWalk

# Classes themselves: one derived from them may have changed any of their methods.
_TESTS = (MetropolisTest, BarkerTest, AusterityTest, MinibatchBarkerTest, ConcentrationTest)


def runs_compiled(posterior: Posterior, proposal: Proposal, test: AcceptanceTest) -> bool:
    """Whether chains of this posterior, with this proposal and test, run in compiled code."""
    terms = posterior.compiled_terms
    if terms is None or (proposal.needs_gradient and not terms.has_gradients):
        return False
    if type(proposal) not in (RandomWalk, Langevin) or type(test) not in _TESTS or test.needs_values:
        return False
    return not (isinstance(test, ConcentrationTest) and callable(test.bound))


def rule_of(test: AcceptanceTest, size: int, temperature: float) -> tuple[dict[str, Any], Floats]:
    """Entries of `PLAN` that a known test fills for N data, and its thresholds.

    ``temperature`` is one that the compiled terms are still to be divided by, and a bound of them multiplied.
    """
    entries: dict[str, Any] = {"first_batch": min(test.first_batch(size), size)}
    none = np.zeros(0)
    if test.reads_all(size):
        # of Barker's minibatch test the noise remains, though there is none in the data
        noise = test.sigma if isinstance(test, MinibatchBarkerTest) else 0.0
        return entries | {"rule": Rule.ALL_DATA, "first_batch": size, "sigma": noise}, none
    if isinstance(test, AusterityTest):
        thresholds = test.fixed_thresholds(size)
        return entries | {"rule": Rule.THRESHOLDS}, np.array(thresholds)
    if isinstance(test, MinibatchBarkerTest):
        entries |= {"rule": Rule.BARKER, "sigma": test.sigma, "grows_in_jumps": test.growth == "jump"}
        return entries, none
    if isinstance(test, ConcentrationTest):
        entries |= {"rule": Rule.CONCENTRATION, "epsilon": test.epsilon, "factor": test.factor, "power": test.power}
        constant = test.constant_bound
        return entries | ({"scans": 1} if constant is None else {"bound": constant * temperature}), none
    raise TypeError(f"no compiled chain knows {type(test).__name__}")


def drift_of(proposal: Proposal, size: int) -> dict[str, Any]:
    """Entries of `PLAN` that a known proposal fills."""
    if not isinstance(proposal, Langevin):
        return {"drift": Drift.NONE}
    batch = proposal.gradient_batch(size)
    kind = Drift.MINIBATCH if batch else Drift.ALL_DATA
    return {"drift": kind, "gradient_batch": batch, "step_size": proposal.step_size}
