"""Metropolis-Hastings chains one after another, each in compiled code: the same chains as `run.Run` gives."""

from __future__ import annotations

import sys
from functools import partial
from typing import Any

import numpy as np

from steinkit.runtime.deadlines import StopSignal
from steinkit.runtime.progress import progress_bar
from steinkit.runtime.threads import interruptible
from steinkit.sample import Floats
from steinkit.samplers.acceptance.rules import rule_of
from steinkit.samplers.chains.compiled.chain_blocks import CompiledChain
from steinkit.samplers.chains.compiled.metropolis_kernels import advance
from steinkit.samplers.chains.compiled.posterior_kernels import total_gradient, total_log_likelihood
from steinkit.samplers.chains.compiled.records import Drift, Outcome, Vector
from steinkit.samplers.chains.likelihood_terms import lost, no_number, require_likelihoods, require_states
from steinkit.samplers.chains.proposals import Langevin
from steinkit.samplers.chains.random_streams import Kind, generator, normals, uniforms


class CompiledRun:
    """The chains of a run of a posterior with compiled terms, with a proposal and a test that compiled code knows.

    Parameters
    ----------
    run : Run
    patience : int
        Proposals outside the support in a row after which a chain is given up.
    stop : StopSignal
    """

    def __init__(self, run: Any, patience: int, stop: StopSignal) -> None:
        self.run, self.patience, self.options, self.test = run, patience, run.options, run.test
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
        self.chain = CompiledChain(
            run.model,
            run.options,
            run.temperature,
            stop,
            rule_of(self.test, size),
            getattr(proposal, "proposal_scale", 0.0),
            **plan,
            reads_all=run.reads_all,
            first_batch=run.first_batch,
            steps=sys.maxsize if run.options.steps is None else run.options.steps,
            budget=sys.maxsize if run.options.budget is None else run.options.budget,
            step_cost=run.proposal_cost,
            patience=patience,
        )

    def advance(self) -> None:
        """Run all chains to their ends."""
        total = self.options.chains * (self.options.steps or 0) or None
        with progress_bar("sampling", total, shown=self.options.progress, unit=" steps") as bar:
            interruptible(partial(self._run_all, bar), self.chain.stop)

    def _run_all(self, bar: Any) -> None:
        """Evaluate the first states, where their values are kept, and run chain after chain."""
        chain, states = self.chain, self.run.states
        self.likelihoods = np.zeros(len(states))
        if self.run.reads_all:
            for k, state in enumerate(states):
                chain.begin(k, state)
                self.likelihoods[k] = total_log_likelihood(chain.machine.terms, state)
                chain.stop.require("the first states of chains")
            require_likelihoods(self.likelihoods, states)
        for k in range(self.options.chains):
            self._run(k, bar)

    def _run(self, k: int, bar: Any) -> None:
        chain, seed = self.chain, self.options.seeds[k]
        chain.begin(k, self.run.states[k])
        record, plan, vectors = chain.record, chain.plan[0], chain.vectors
        record["log_prior"], record["log_likelihood"] = self.run.log_prior[k], self.likelihoods[k]
        if self.drift == Drift.ALL_DATA:
            state = vectors[Vector.STATE]
            vectors[Vector.PRIOR_GRADIENT] = chain.model.posterior.grad_log_prior(state[None])[0]
            total_gradient(chain.machine.terms, state, vectors[Vector.DATA_GRADIENT])
            chain.stop.require("the first steps of a chain")
        generators = [generator(seed, kind) for kind in (Kind.PROPOSAL, Kind.UNIFORM, Kind.TEST)]
        # a schedule of temperatures is not asked for steps that a test might leave no budget for
        dearest = plan["size"] if callable(chain.temperature) else plan["first_batch"]
        outcome = Outcome.NOISE_USED
        while outcome == Outcome.NOISE_USED:
            paid = (plan["budget"] - record["spent"]) // (plan["step_cost"] + dearest)
            chain.begin_block(min(int(plan["steps"] - record["step"]), int(paid)), partial(self._noise, generators))
            outcome = chain.run_block(advance, bar)
            if outcome not in (Outcome.NOISE_USED, Outcome.FINISHED):
                self._raise(outcome, k)
            self._keep(k)

    def _noise(self, generators: list[np.random.Generator], steps: int) -> tuple[Floats, Floats, Floats]:
        moves, levels, noise = generators
        test, dim = self.test, self.chain.vectors.shape[1]
        level = np.array(test.level(uniforms(levels, (steps, 1)))[:, 0], dtype=np.float64)
        return normals(moves, (steps, dim)), level, normals(noise, (steps if test.needs_normal else 0, 1))[:, 0]

    def _keep(self, k: int) -> None:
        """Record the steps of the block that were taken."""
        begin, block = int(self.chain.record["block_start"]), self.chain.block
        taken = int(self.chain.record["step"]) - begin
        spent, accepted, read, scanned = block.results[:taken].T
        columns = {"oracle_cost": scanned} if "oracle_cost" in self.test.diagnostics else {}
        columns |= {"points": block.points[:taken], "cost": spent, "accepted": accepted, "batch_sizes": read}
        self.run.recorder.extend(k, begin, **columns)

    def _raise(self, outcome: int, k: int) -> None:
        """Say what is wrong, naming chain, step and state."""
        record, vectors = self.chain.record, self.chain.vectors
        step, proposed = int(record["step"]), vectors[Vector.PROPOSED]
        if outcome == Outcome.STATE_NOT_FINITE:
            require_states(proposed[None], [k], [step], "the proposed state")
        if outcome == Outcome.LOST:
            raise lost(k, self.patience, vectors[Vector.STATE])
        of_prior = outcome == Outcome.RATIO_NO_NUMBER
        what = "the log prior or the proposal's log ratio" if of_prior else "the log likelihood"
        raise no_number(k, step, what, record["wrong"], proposed)
