"""Metropolis-Hastings chains one after another, each in compiled code: the same chains as `run.Run` gives."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from steinkit.sample import Floats
from steinkit.samplers.acceptance.rules import rule_of
from steinkit.samplers.chains.compiled.chain_blocks import CompiledChains
from steinkit.samplers.chains.compiled.metropolis_kernels import advance
from steinkit.samplers.chains.compiled.posterior_kernels import total_gradient, total_log_likelihood
from steinkit.samplers.chains.compiled.records import Drift, Outcome, Vector
from steinkit.samplers.chains.likelihood_terms import lost, no_number, require_start, require_states
from steinkit.samplers.chains.proposals import Langevin
from steinkit.samplers.chains.random_streams import Kind, generator, normals, uniforms


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
        super().__init__(
            advance,
            run.model,
            run.options,
            run.temperature,
            run.recorder,
            rule_of(self.test, size),
            getattr(proposal, "proposal_scale", 0.0),
            **plan,
            reads_all=run.reads_all,
            first_batch=run.first_batch,
            budget=run.options.budget or sys.maxsize,
            step_cost=run.proposal_cost,
            patience=patience,
        )

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
