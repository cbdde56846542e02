"""Compiled chains one after another, a block of steps at a time: what they are fed with, and what is kept of them.

Chains are the same as those of `run.Run` and of `stochastic_langevin` in plain NumPy.
"""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np

from steinkit.runtime.deadlines import interruptible, stop_signal
from steinkit.runtime.progress import progress_bar
from steinkit.sample import Floats
from steinkit.samplers.acceptance.rules import Kind as TestKind
from steinkit.samplers.acceptance.rules import Rule, rule_of
from steinkit.samplers.chains.compiled_kernels import (
    CHAIN,
    PLAN,
    Block,
    Drift,
    Machine,
    Outcome,
    Terms,
    Vector,
    advance_langevin,
    advance_metropolis,
    total_gradient,
    total_log_likelihood,
)
from steinkit.samplers.chains.draws import (
    Kind,
    Recorder,
    RunOptions,
    Temperature,
    generator,
    normals,
    temperatures,
    uniforms,
)
from steinkit.samplers.chains.gradients import Langevin, Mode
from steinkit.samplers.chains.likelihood_terms import (
    PosteriorModel,
    lost,
    no_number,
    require_gradients,
    require_start,
    require_states,
    require_support,
)
from steinkit.samplers.chains.random_order_kernels import TOGETHER
from steinkit.samplers.chains.readers import begin_walk

# Steps whose noise is drawn together: in the first call, and the most, of so many numbers; in between as many as take
# so many seconds, since a user's likelihood may take a nanosecond a datum, or a millisecond.
_FIRST_STEPS, _BLOCK_STEPS = 1 << 4, 1 << 10
_BLOCK_NUMBERS = 1 << 14
_BLOCK_SECONDS = 0.04


class CompiledChains(ABC):
    """Chains of a posterior one after another, block by block: the driver of the kernels of all samplers.

    A sampler's class says how a chain begins, what the noise of a block is, and what of a block is kept.

    Parameters
    ----------
    advance : kernel, (Machine, Block) -> int
        Runs the steps of a block, and says why it stopped, an `Outcome`.
    rule : Rule, optional
        The test; none for a sampler that does not reject.
    **plan : Any
        Entries of `PLAN`; unless given, the steps are those of the options, or without end.
    """

    def __init__(
        self,
        advance: Any,
        model: PosteriorModel,
        options: RunOptions,
        temperature: Temperature,
        recorder: Recorder,
        rule: Rule | None = None,
        scale: Any = 0.0,
        **plan: Any,
    ) -> None:
        self.advance, self.model, self.options, self.temperature = advance, model, options, temperature
        self.recorder, self.scale = recorder, np.asarray(scale, dtype=np.float64)
        terms = model.posterior.compiled_terms
        if terms is None:
            raise TypeError(f"{model.posterior.label} brings no compiled terms")
        self.terms = terms
        self.rule = rule or Rule(TestKind.EXACT.value, 0, np.zeros(0))
        ends = {"steps": options.steps or sys.maxsize, "budget": sys.maxsize}
        self.plan = np.zeros(1, dtype=PLAN)
        for name, value in {**ends, **plan, "size": model.size}.items():
            self.plan[name] = value
        longest = max(terms.slice_rows, int(self.plan["gradient_batch"][0]))
        self.rows = np.empty(min(longest, model.size), dtype=np.int64)
        self.bounds = np.empty((0, 2)) if model.bounds is None else np.array(model.bounds, dtype=np.float64)
        self.length = _FIRST_STEPS

    def run(self, states: Floats) -> None:
        """Run all chains from their first states, (K, d), to their ends, and record them."""
        steps = int(self.plan["steps"][0])
        total = None if steps == sys.maxsize else self.options.chains * steps
        shown = progress_bar("sampling", total, shown=self.options.progress, unit=" steps")
        with stop_signal() as self.stop, shown as self.bar:
            interruptible(partial(self._run_all, states), self.stop, "chains were run")

    def _run_all(self, states: Floats) -> None:
        plan = self.plan[0]
        # a schedule of temperatures is not asked for steps that a test might leave no budget for
        dearest = plan["size"] if callable(self.temperature) else plan["first_batch"]
        for k, state in enumerate(states):
            self._turn_to(k, state)
            self.begin(k)
            outcome = Outcome.NOISE_USED
            while outcome == Outcome.NOISE_USED:
                first = int(self.record["step"])
                paid = (plan["budget"] - self.record["spent"]) // (plan["step_cost"] + dearest)
                self._begin_block(first, min(int(plan["steps"]) - first, int(paid)))
                began = perf_counter()
                outcome = Outcome(self.advance(self.machine, self.block))
                seconds, taken = perf_counter() - began, int(self.record["step"]) - first
                self.bar.update(taken)
                self.stop.require("the next steps of a chain")
                if outcome not in (Outcome.NOISE_USED, Outcome.FINISHED):
                    self.explain(outcome, k)
                self.recorder.extend(k, first, points=self.block.points[:taken], **self.columns(first, taken))
                if seconds > _BLOCK_SECONDS:
                    self.length = max(1, int(self.length * _BLOCK_SECONDS / seconds))
                elif seconds < 0.5 * _BLOCK_SECONDS:
                    self.length = min(2 * self.length, _BLOCK_STEPS)

    @abstractmethod
    def begin(self, k: int) -> None:
        """Prepare chain k, which stands at its first state."""

    @abstractmethod
    def noise(self, first: int, steps: int) -> tuple[Floats, Floats, Floats]:
        """Noise (B, d), levels (B,) and normals (B,) of B steps."""

    @abstractmethod
    def columns(self, first: int, taken: int) -> dict[str, Any]:
        """What is recorded of the steps of a block beside their points."""

    @abstractmethod
    def explain(self, outcome: Outcome, k: int) -> None:
        """Raise an error that names chain, step and state."""

    def _turn_to(self, k: int, state: Floats) -> None:
        (dim,), size, seed, plan = state.shape, self.model.size, self.options.seeds[k], self.plan[0]
        self.vectors = np.zeros((len(Vector), dim))
        self.vectors[Vector.STATE] = state
        values, work = np.empty(2 * len(self.rows)), np.empty(dim)
        given = self.terms.addresses, self.bounds, size, self.terms.slice_rows, self.rows
        self.machine = Machine(
            self.plan,
            np.zeros(1, dtype=CHAIN),
            Terms(*given, values, work, self.stop.flag),
            self.vectors,
            np.array(np.broadcast_to(self.scale, (dim,))),
            self.rule,
            begin_walk(1 if plan["reads_all"] else size, [seed], Kind.TEST_ORDER),
            begin_walk(size if plan["gradient_batch"] else 1, [seed], Kind.PROPOSAL_ORDER),
            np.empty((2, TOGETHER), dtype=np.uint32),
        )
        self.record = self.machine.chain[0]

    def _begin_block(self, first: int, most: int) -> None:
        """Begin a block of as many steps as are together drawn, if ``most`` are still to come."""
        dim = self.vectors.shape[1]
        length = max(1, min(self.length, _BLOCK_NUMBERS // dim, most))
        self.record["block_start"] = first
        heat = temperatures(self.temperature, np.arange(first, first + length)) * self.terms.temperature
        moves, levels, normals = self.noise(first, length)
        self.block = Block(moves, heat, levels, normals, np.empty((length, dim)), np.empty((length, 4), dtype=np.int64))


class MetropolisChains(CompiledChains):
    """The chains of a run of a posterior with compiled terms, with a proposal and a test that compiled code knows.

    Parameters
    ----------
    run : Run
    patience : int
        Proposals outside the support in a row after which a chain is given up.
    """

    def __init__(self, run: Any, patience: int) -> None:
        self.log_prior, self.patience, self.test = run.log_prior, patience, run.test
        proposal, size, plan = run.proposal, run.model.size, dict[str, Any]()
        if isinstance(proposal, Langevin):
            batch = proposal.gradient_batch(size)
            plan = {"drift": Drift.MINIBATCH if batch else Drift.ALL_DATA, "gradient_batch": batch}
            plan["step_size"] = proposal.step_size
        if self.test.needs_bound and not run.reads_all:
            # the terms are still to be divided by their own temperature
            constant, divisor = self.test.constant_bound, run.model.posterior.compiled_terms.temperature
            plan |= {"scans": 1} if constant is None else {"bound": constant * divisor}
        self.drift = plan.get("drift", Drift.NONE)
        plan |= {"reads_all": run.reads_all, "first_batch": run.first_batch, "step_cost": run.proposal_cost}
        plan |= {"budget": run.options.budget or sys.maxsize, "patience": patience}
        given = run.model, run.options, run.temperature, run.recorder
        scale = getattr(proposal, "proposal_scale", 0.0)
        super().__init__(advance_metropolis, *given, rule_of(self.test, size), scale, **plan)

    def _run_all(self, states: Floats) -> None:
        """Evaluate the first states, where their values are kept, and run chain after chain."""
        self.likelihoods = np.zeros(len(states))
        if self.plan["reads_all"][0]:
            for k, state in enumerate(states):
                self._turn_to(k, state)
                self.likelihoods[k] = total_log_likelihood(self.machine.terms, state)
                self.stop.require("the first states of chains")
            require_start(self.likelihoods, states, "the log likelihood", "give another start=")
        super()._run_all(states)

    def begin(self, k: int) -> None:
        """Take the values of the first state, and the chain's generators."""
        record, vectors, seed = self.record, self.vectors, self.options.seeds[k]
        record["log_prior"], record["log_likelihood"] = self.log_prior[k], self.likelihoods[k]
        if self.drift == Drift.ALL_DATA:
            state = vectors[Vector.STATE]
            vectors[Vector.PRIOR_GRADIENT] = self.model.posterior.grad_log_prior(state[None])[0]
            total_gradient(self.machine.terms, state, vectors[Vector.DATA_GRADIENT])
            self.stop.require("the first steps of a chain")
        self.generators = [generator(seed, kind) for kind in (Kind.PROPOSAL, Kind.UNIFORM, Kind.TEST)]

    def noise(self, first: int, steps: int) -> tuple[Floats, Floats, Floats]:
        """Noise of the proposals, levels and normals of the tests."""
        moves, levels, noise = self.generators
        test, dim = self.test, self.vectors.shape[1]
        level = np.array(test.level(uniforms(levels, (steps, 1)))[:, 0], dtype=np.float64)
        return normals(moves, (steps, dim)), level, normals(noise, (steps if test.needs_normal else 0, 1))[:, 0]

    def columns(self, first: int, taken: int) -> dict[str, Any]:
        """Costs and decisions."""
        spent, accepted, read, scanned = self.block.results[:taken].T
        columns = {"cost": spent, "accepted": accepted, "batch_sizes": read}
        return columns | ({"oracle_cost": scanned} if "oracle_cost" in self.test.diagnostics else {})

    def explain(self, outcome: Outcome, k: int) -> None:
        """Raise an error that names chain, step and state."""
        step, proposed = int(self.record["step"]), self.vectors[Vector.PROPOSED]
        if outcome == Outcome.STATE_NOT_FINITE:
            require_states(proposed[None], [k], [step], "the proposed state")
        if outcome == Outcome.LOST:
            raise lost(k, self.patience, self.vectors[Vector.STATE])
        of_prior = outcome == Outcome.RATIO_NO_NUMBER
        what = "the log prior or the proposal's log ratio" if of_prior else "the log likelihood"
        raise no_number(k, step, what, self.record["wrong"], proposed)


class LangevinChains(CompiledChains):
    """The chains of a run of `sgld` of a posterior with compiled terms and gradients.

    Parameters
    ----------
    batch : int
        Data a step.
    step_sizes : callable, (n,) -> (n,)
        Of the steps with these numbers, from 0.
    mode : Mode, optional
        For control variates.
    step_cost, before : int
        Gradients of single data that a step costs, and those before the first.
    """

    def __init__(
        self,
        model: PosteriorModel,
        options: RunOptions,
        recorder: Recorder,
        batch: int,
        temperature: Temperature,
        step_sizes: Callable[[Floats], Floats],
        mode: Mode | None,
        step_cost: int,
        before: int,
    ) -> None:
        self.batch, self.step_sizes, self.mode, self.before = batch, step_sizes, mode, before
        plan: dict[str, Any] = {"variates": mode is not None, "reads_all": 1, "gradient_batch": batch}
        plan |= {"steps": options.steps_of(step_cost, self.before), "step_cost": step_cost}
        super().__init__(advance_langevin, model, options, temperature, recorder, **plan)

    def begin(self, k: int) -> None:
        """Take the chain's generator."""
        self.moves = generator(self.options.seeds[k], Kind.PROPOSAL)
        if self.mode is not None:
            self.vectors[Vector.MODE], self.vectors[Vector.GRADIENT_AT_MODE] = self.mode.state, self.mode.gradient

    def noise(self, first: int, steps: int) -> tuple[Floats, Floats, Floats]:
        """Noise and sizes of the steps, and the size of the step after them."""
        sizes = np.array(self.step_sizes(np.arange(first, first + steps + 1.0)) * np.ones(steps + 1))
        return normals(self.moves, (steps, self.vectors.shape[1])), sizes, np.empty(0)

    def columns(self, first: int, taken: int) -> dict[str, Any]:
        """Costs, and weights if they are kept."""
        # equation 11 of `stochastic_langevin`: theta_t weighs eps_t, the size of the step that leaves it
        weights = {"weights": self.block.levels[1:]} if "weights" in self.recorder.columns else {}
        return {"cost": self.before + (first + 1 + np.arange(taken)) * int(self.plan["step_cost"][0]), **weights}

    def explain(self, outcome: Outcome, k: int) -> None:
        """Raise an error that names chain, step and state."""
        step, vectors = int(self.record["step"]), self.vectors[:, None]
        require_gradients(vectors[Vector.PRIOR_GRADIENT], vectors[Vector.STATE], [k], [step])
        require_states(vectors[Vector.PROPOSED], [k], [step], "the state")
        require_support(self.model, vectors[Vector.STATE], [k], step)
