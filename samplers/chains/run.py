"""Metropolis-Hastings chains, many at once, each at its own pace: any proposal, any acceptance test.

In a round every chain that is not finished reads the next minibatch of its own current test, or all the data. A chain
whose test is decided records its state and proposes anew, whatever the others do, until it has its own number of draws
or has spent its own budget: to stop all chains together would cut off the long tests and bias what is left.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from steinkit.errors import UsageError
from steinkit.posterior import Posterior
from steinkit.runtime.progress import progress_bar
from steinkit.sample import Floats, Integers
from steinkit.samplers.acceptance.interface import AcceptanceTest, Look
from steinkit.samplers.chains.draws import (
    Draws,
    Kind,
    Noise,
    Recorder,
    RunOptions,
    Temperature,
    describe_temperature,
    normals,
    temperatures,
    uniforms,
)
from steinkit.samplers.chains.gradients import BatchGradient, FullGradient, Langevin, Proposal, RandomWalk
from steinkit.samplers.chains.likelihood_terms import (
    PosteriorModel,
    as_model,
    as_posterior_model,
    lost,
    require_start,
    require_states,
    start_states,
)
from steinkit.samplers.chains.readers import Chains, FullDataReader, MinibatchReader, Reader
from steinkit.target import Target

# Proposals outside the support in a row after which a chain is given up.
_LOST = 100_000


def run_chains(
    sampler: str,
    target: Target,
    proposal: Proposal,
    test: AcceptanceTest,
    options: RunOptions,
    temperature: Temperature,
) -> Draws:
    """Run Metropolis-Hastings chains.

    Parameters
    ----------
    sampler : str
        The name that `Draws.settings` keeps, beside the options of the run, the proposal and the test.
    target : Target or Posterior
    proposal : Proposal
    test : AcceptanceTest
    options : RunOptions
    temperature : float or callable, (n,) -> (n,)
        T that divides the log likelihood; or T of the steps with the given numbers, from 0.

    Returns
    -------
    Draws

    Raises
    ------
    UsageError
        If an option is out of range, budget does not pay one step, or no chain has a draw when it is spent.
    InputError
        If a function of the target returns a wrong shape or NaN, or a state is not finite.
    """
    _require(proposal, "proposal", "propose", "RandomWalk(0.1)")
    _require(test, "test", "decide", "MetropolisTest()")
    settings = {"sampler": sampler} | proposal.described() | test.described()
    settings["temperature"] = describe_temperature(temperature)
    with np.errstate(all="ignore"):  # what is not finite is found and reported
        run = Run(target, proposal, test, options, temperature)
        run.advance()
    return run.recorder.draws(run.model.names, settings, test.diagnostics)


class Run:
    """Proposing, looking, concluding and recording; `Reader` reads."""

    def __init__(
        self,
        target: Target,
        proposal: Proposal,
        test: AcceptanceTest,
        options: RunOptions,
        temperature: Temperature,
    ) -> None:
        self.proposal, self.test, self.options, self.temperature = proposal, test, options, temperature
        self.model = as_model(target) if test.needs_all_data else as_posterior_model(target)
        self.reads_all = test.reads_all(self.model.size)
        self.states = start_states(target, options.start, options.chains)
        if isinstance(self.model, PosteriorModel):
            self.model.posterior.check_shapes(self.states[0])
        dim, size = self.states.shape[1], self.model.size
        self._noise_width = proposal.noise_width(dim)
        self.first_batch = min(test.first_batch(size), size)
        self._gradient_batch = proposal.gradient_batch(size) if proposal.needs_gradient else 0
        # a gradient over all the data costs nothing beside a test that reads all of them
        full_gradient = size if proposal.needs_gradient and not self.reads_all else 0
        self.proposal_cost = self._gradient_batch or full_gradient
        options.require_budget(self.first_batch + self.proposal_cost)
        columns = {"accepted": np.bool_, "batch_sizes": np.int64}
        self.recorder = Recorder(options, dim, columns | dict.fromkeys(test.diagnostics, np.float64))
        self.log_prior = self.model.log_prior(self.states)
        require_start(self.log_prior, self.states, "the log prior", "give a start= inside the support")

    def advance(self) -> None:
        """Run all chains to their ends: in compiled code where posterior, proposal and test allow it."""
        model, proposal, test = self.model, self.proposal, self.test
        if isinstance(model, PosteriorModel) and runs_compiled(model.posterior, proposal, test):
            from steinkit.samplers.chains.compiled_chains import MetropolisChains

            MetropolisChains(self, _LOST).run(self.states)
        else:
            self._begin()
            self._advance_together()

    def _begin(self) -> None:
        """Prepare to run all chains together."""
        from steinkit.samplers.acceptance.rules import rule_of, verdicts

        test, seeds = self.test, self.options.seeds
        self._verdicts = partial(verdicts, test, rule_of(test, self.model.size))
        self.reader: Reader = FullDataReader(self.model, test)
        if isinstance(self.model, PosteriorModel) and not self.reads_all:
            self.reader = MinibatchReader(self.model, test, self.options)
        self._moves = Noise(seeds, Kind.PROPOSAL, self._noise_width, normals)
        self._levels = Noise(seeds, Kind.UNIFORM, 1, lambda rng, shape: test.level(uniforms(rng, shape)))
        self._normals = Noise(seeds, Kind.TEST, 1, normals) if test.needs_normal else None
        self.live = Chains.begin(self.states, self.log_prior)
        self.live.temperature = temperatures(self.temperature, self.live.step)
        self._finished = False  # whether a chain has finished in this round
        self.gradient = self._make_gradient(self.states, self._gradient_batch)
        self.reader.begin_run(self.live)

    def _advance_together(self) -> None:
        from steinkit.runtime.compilation import announced_compilation

        live, options = self.live, self.options
        total = options.chains * (options.steps or 0) or None
        shown = progress_bar("sampling", total, shown=options.progress, unit=" steps")
        with announced_compilation(), shown as self.bar:
            self._propose(np.arange(len(live.chain)))
            while len(live.chain):
                if self._finished:
                    live.keep(~live.done)
                    self._finished = False
                else:
                    self.reader.read(live)
                    self._look()

    def _make_gradient(self, states: Floats, batch: int) -> FullGradient | BatchGradient | None:
        if not self.proposal.needs_gradient:
            return None
        if batch and isinstance(self.model, PosteriorModel):
            return BatchGradient(self.model, batch, self.options.seeds)
        return FullGradient(self.model, states)

    def _propose(self, rows: Integers) -> None:
        """Propose for these chains, until each has a proposal inside the support or is finished."""
        live = self.live
        while rows.size:
            chain, step, states = live.chain[rows], live.step[rows], live.state[rows]
            if callable(self.temperature):
                live.temperature[rows] = temperatures(self.temperature, step)
            gradient = None if self.gradient is None else self.gradient.turn_to(chain, states, live.temperature[rows])
            proposed, ratio = self.proposal.propose(states, self._moves.take(chain, step), gradient)
            require_states(proposed, chain, step, "the proposed state")
            log_prior = self.model.log_prior(proposed)
            # outside the support a proposal's gradient, and so its ratio, may be anything
            offset = np.where(log_prior == -np.inf, -np.inf, log_prior - live.log_prior[rows] + ratio)
            live.require_numbers(offset, rows, proposed, "the log prior or the proposal's log ratio")
            live.proposed[rows], live.proposed_log_prior[rows], live.offset[rows] = proposed, log_prior, offset
            live.level[rows] = self._levels.take(chain, step)[:, 0]
            if self._normals is not None:
                live.normal[rows] = self._normals.take(chain, step)[:, 0]
            live.number[rows] = live.count[rows] = 0
            live.mean[rows] = live.squares[rows] = 0.0
            outside = offset == -np.inf
            if not outside.any():
                live.outside[rows] = 0
                self.reader.begin_tests(live, rows, self.first_batch)
                return
            self.reader.begin_tests(live, rows[~outside], self.first_batch)
            live.outside[rows] = np.where(outside, live.outside[rows] + 1, 0)
            self._require_not_lost(rows)
            rows = self._conclude(rows[outside], np.zeros(int(outside.sum()), dtype=bool), {})

    def _look(self) -> None:
        """Let the tests that have the data they wanted decide."""
        live = self.live
        ready = live.count == live.target
        if not ready.any():  # a batch longer than a slice takes several rounds
            return
        rows = slice(None) if ready.all() else np.flatnonzero(ready)
        mean, seen = live.mean[rows], live.count[rows]
        variance = live.squares[rows] / np.maximum(seen - 1, 1)
        given = (live.offset, live.temperature, live.level, live.normal, live.bound)
        columns = (live.number[rows], seen, mean, variance, *(column[rows] for column in given))
        looks = Look._make((self.model.size, *columns, self.reader.values(live, rows)))
        verdict = self._verdicts(looks)
        impossible = mean == -np.inf  # some datum has no likelihood at the proposal
        decided, accepted = verdict.decided | impossible, verdict.accepted & ~impossible
        live.target[rows] = np.minimum(verdict.wanted, self.model.size)
        live.number[rows] += 1
        which = np.flatnonzero(decided)
        if which.size:
            reported = {name: values[which] for name, values in verdict.diagnostics.items()}
            chosen = which if isinstance(rows, slice) else rows[which]
            self._propose(self._conclude(chosen, accepted[which], reported))

    def _conclude(self, rows: Integers, accepted: Any, reported: dict[str, Floats]) -> Integers:
        """Move the chains that accepted, record all; return those that are not finished."""
        live, options = self.live, self.options
        moved = rows[accepted]
        live.state[moved] = live.proposed[moved]
        live.log_prior[moved] = live.proposed_log_prior[moved]
        if self.gradient is not None:
            self.gradient.accept(live.chain[moved])
        self.reader.end_tests(live, rows, moved, reported)
        # of a proposal that was rejected without a look nothing is known
        reported = {name: np.full(len(rows), np.nan) for name in self.test.diagnostics} | reported
        count = live.count[rows]
        live.step[rows] += 1
        live.spent[rows] += count + self.proposal_cost
        chain, step, spent = live.chain[rows], live.step[rows], live.spent[rows]
        self.recorder.record(
            chain, step, points=live.state[rows], cost=spent, accepted=accepted, batch_sizes=count, **reported
        )
        self.bar.update(len(rows))
        finished = np.zeros(len(rows), dtype=bool)
        if options.steps is not None:
            finished |= step >= options.steps
        if options.budget is not None:
            finished |= spent + self.first_batch + self.proposal_cost > options.budget
        if not finished.any():
            return rows
        live.done[rows] = finished
        self._finished = True
        return rows[~finished]

    def _require_not_lost(self, rows: Integers) -> None:
        strayed = rows[self.live.outside[rows] >= _LOST]
        if strayed.size:
            raise lost(int(self.live.chain[strayed[0]]), _LOST, self.live.state[strayed[0]])


def runs_compiled(posterior: Posterior, proposal: Proposal, test: AcceptanceTest) -> bool:
    """Whether chains of this posterior, with this proposal and test, run in compiled code.

    What compiled chains do not know, a test or a proposal of your own among it, runs together, with the same results.
    """
    terms = posterior.compiled_terms
    if terms is None or (proposal.needs_gradient and not terms.has_gradients):
        return False
    if type(proposal) not in (RandomWalk, Langevin) or callable(getattr(test, "bound", None)):
        return False
    from steinkit.samplers.acceptance.rules import rule_of

    return rule_of(test, posterior.size) is not None


def _require(value: Any, name: str, method: str, example: str) -> None:
    """Raise UsageError if ``value`` is a name or a class, say, where an object that has the method is wanted."""
    if isinstance(value, type) or not hasattr(value, method):
        raise UsageError(f"{name} must be an object such as {example}; received {value!r}")
