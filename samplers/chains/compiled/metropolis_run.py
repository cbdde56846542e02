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
from steinkit.samplers.acceptance.interface import AcceptanceTest
from steinkit.samplers.chains.compiled.chain_blocks import CompiledChain, Walk
from steinkit.samplers.chains.compiled.metropolis_kernels import advance
from steinkit.samplers.chains.compiled.posterior_kernels import total_gradient, total_log_likelihood
from steinkit.samplers.chains.compiled.records import Drift, Outcome, Rule, Vector
from steinkit.samplers.chains.compiled.rules import drift_of, rule_of
from steinkit.samplers.chains.likelihood_terms import (
    PosteriorModel,
    lost,
    no_number,
    require_likelihoods,
    require_states,
)
from steinkit.samplers.chains.options import RunOptions, Temperature
from steinkit.samplers.chains.proposals import Proposal, RandomWalk
from steinkit.samplers.chains.random_streams import Kind, generator, normals, uniforms
from steinkit.samplers.chains.recorder import Recorder

_UNLIMITED = sys.maxsize


class CompiledRun:
    """Metropolis-Hastings chains of a posterior with compiled terms, with a proposal and a test that `rules` knows.

    Parameters
    ----------
    patience : int
        Proposals outside the support in a row after which a chain is given up.
    states, log_prior : ndarray, shapes (K, d), (K,)
        Where the chains begin.
    stop : StopSignal
    """

    def __init__(
        self,
        model: PosteriorModel,
        proposal: Proposal,
        test: AcceptanceTest,
        options: RunOptions,
        temperature: Temperature,
        recorder: Recorder,
        *,
        step_cost: int,
        patience: int,
        states: Floats,
        log_prior: Floats,
        stop: StopSignal,
    ) -> None:
        self.test, self.options, self.recorder = test, options, recorder
        self.states, self.log_prior, self.patience = states, log_prior, patience
        divisor = 1.0 if model.posterior.compiled_terms is None else model.posterior.compiled_terms.temperature
        entries, self.thresholds = rule_of(test, model.size, divisor)
        self.chain = CompiledChain(
            model,
            options,
            temperature,
            stop,
            **entries,
            **drift_of(proposal, model.size),
            size=model.size,
            steps=_UNLIMITED if options.steps is None else options.steps,
            budget=_UNLIMITED if options.budget is None else options.budget,
            step_cost=step_cost,
            patience=patience,
        )
        plan = self.chain.plan[0]
        self.reads_all, self.drift = plan["rule"] == Rule.ALL_DATA, plan["drift"]
        dim = states.shape[1]
        scale = np.asarray(proposal.proposal_scale if isinstance(proposal, RandomWalk) else 0.0, dtype=np.float64)
        self.scale = np.array(np.broadcast_to(scale, (dim,)))

    def advance(self) -> None:
        """Run all chains to their ends."""
        total = self.options.chains * (self.options.steps or 0) or None
        with progress_bar("sampling", total, shown=self.options.progress, unit=" steps") as bar:
            interruptible(partial(self._run_all, bar), self.chain.stop)

    def _run_all(self, bar: Any) -> None:
        self._require_starts()
        for k in range(self.options.chains):
            self._run(k, bar)

    def _require_starts(self) -> None:
        """Evaluate the first states, where their values are kept."""
        self.likelihoods = np.zeros(len(self.states))
        if self.reads_all:
            chain = self.chain
            terms, size, stop = chain.terms, chain.model.size, chain.stop
            for k, state in enumerate(self.states):
                self.likelihoods[k] = total_log_likelihood(
                    terms.addresses, state, size, terms.slice_rows, chain.values, stop.flag
                )
                stop.require("the first states of chains")
            require_likelihoods(self.likelihoods, self.states)

    def _run(self, k: int, bar: Any) -> None:
        chain, seed, size = self.chain, self.options.seeds[k], self.chain.model.size
        chain.begin(self.states[k])
        record = chain.record
        record["log_prior"], record["log_likelihood"] = self.log_prior[k], self.likelihoods[k]
        if self.drift == Drift.ALL_DATA:
            self._keep_gradient()
        test_walk = Walk(size, seed, Kind.TEST_ORDER, wanted=not self.reads_all)
        gradient_walk = Walk(size, seed, Kind.PROPOSAL_ORDER, wanted=self.drift == Drift.MINIBATCH)
        generators = [generator(seed, kind) for kind in (Kind.PROPOSAL, Kind.UNIFORM, Kind.TEST)]
        self._begin_block(generators)
        while True:
            outcome = self._advance(test_walk, gradient_walk)
            if outcome == Outcome.FINISHED:
                self._keep(k)
                chain.listen(bar)
                return
            if outcome == Outcome.NOISE_USED:
                self._keep(k)
                self._begin_block(generators)
            elif outcome != Outcome.PAUSED:
                self._raise(outcome, k)
            chain.listen(bar)

    def _keep_gradient(self) -> None:
        """The gradient over all the data at the first state."""
        chain = self.chain
        vectors, posterior = chain.vectors, chain.model.posterior
        vectors[Vector.PRIOR_GRADIENT] = posterior.grad_log_prior(vectors[Vector.STATE][None])[0]
        total_gradient(
            chain.terms.addresses,
            vectors[Vector.STATE],
            chain.model.size,
            chain.terms.slice_rows,
            vectors[Vector.DATA_GRADIENT],
            chain.rows,
            chain.values,
            vectors[Vector.SUM],
            chain.stop.flag,
        )
        chain.stop.require("the first steps of a chain")

    def _begin_block(self, generators: list[np.random.Generator]) -> None:
        """Draw the noise of the next steps."""
        chain, plan, record = self.chain, self.chain.plan[0], self.chain.record[0]
        # a schedule of temperatures is not asked for steps that a test might leave no budget for
        dearest = plan["size"] if callable(chain.temperature) else plan["first_batch"]
        paid = (plan["budget"] - record["spent"]) // (plan["step_cost"] + dearest)
        steps = chain.begin_block(min(int(plan["steps"] - record["step"]), int(paid)))
        moves, levels, noise = generators
        self.noise = normals(moves, (steps, self.states.shape[1]))
        self.levels = np.array(self.test.level(uniforms(levels, (steps, 1)))[:, 0], dtype=np.float64)
        self.normals = normals(noise, (steps, 1))[:, 0] if self.test.needs_normal else np.empty(0)
        self.results = np.empty((steps, 4), dtype=np.int64)

    def _advance(self, test_walk: Walk, gradient_walk: Walk) -> int:
        chain = self.chain
        return int(
            advance(
                chain.plan,
                chain.record,
                chain.terms.addresses,
                self.scale,
                chain.bounds,
                self.thresholds,
                chain.vectors,
                self.noise,
                self.levels,
                self.normals,
                chain.heat,
                test_walk.record,
                test_walk.order,
                test_walk.tables,
                gradient_walk.record,
                gradient_walk.order,
                gradient_walk.tables,
                chain.rows,
                chain.values,
                chain.digits,
                chain.points,
                self.results,
                chain.quota,
                chain.stop.flag,
            )
        )

    def _keep(self, k: int) -> None:
        """Record the steps of the block that were taken."""
        record = self.chain.record[0]
        begin = int(record["block_start"])
        taken = int(record["step"]) - begin
        spent, accepted, read, scanned = self.results[:taken].T
        columns = {"oracle_cost": scanned} if "oracle_cost" in self.test.diagnostics else {}
        points = self.chain.points[:taken]
        self.recorder.extend(k, begin, points=points, cost=spent, accepted=accepted, batch_sizes=read, **columns)

    def _raise(self, outcome: int, k: int) -> None:
        """Say what is wrong, naming chain, step and state."""
        record, vectors = self.chain.record[0], self.chain.vectors
        step, proposed = int(record["step"]), vectors[Vector.PROPOSED]
        if outcome == Outcome.STATE_NOT_FINITE:
            require_states(proposed[None], [k], [step], "the proposed state")
        if outcome == Outcome.LOST:
            raise lost(k, self.patience, vectors[Vector.STATE])
        of_prior = outcome == Outcome.RATIO_NO_NUMBER
        what = "the log prior or the proposal's log ratio" if of_prior else "the log likelihood"
        raise no_number(k, step, what, record["wrong"], proposed)
