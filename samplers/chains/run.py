"""Metropolis-Hastings chains, many at once: any proposal, any acceptance test.

In a round every chain that is not finished takes one step: it proposes, and its test looks at more and more of the data
until it is decided. A chain steps until it has its own number of draws or has spent its own budget: to stop all chains
together would cut off the long tests and bias what is left.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steinkit.errors import UsageError
from steinkit.posterior import Posterior
from steinkit.runtime.progress import progress_bar
from steinkit.sample import Floats, Integers
from steinkit.samplers.acceptance.interface import AcceptanceTest, Look, Moves
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
    require_numbers,
    require_start,
    require_states,
    start_states,
)
from steinkit.samplers.chains.readers import MinibatchReader, Seen
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
    """Proposing, judging and recording; `MinibatchReader` reads."""

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
        # a copy, for what a user's function returned may be read-only, or kept by it
        self.log_prior = np.array(self.model.log_prior(self.states))
        require_start(self.log_prior, self.states, "the log prior", "give a start= inside the support")

    def advance(self) -> None:
        """Run all chains to their ends: in compiled code where posterior, proposal and test allow it."""
        model, proposal, test = self.model, self.proposal, self.test
        if isinstance(model, PosteriorModel) and runs_compiled(model.posterior, proposal, test):
            from steinkit.samplers.chains.compiled_chains import MetropolisChains

            MetropolisChains(self, _LOST).run(self.states)
        else:
            self._advance_together()

    def _advance_together(self) -> None:
        """Step with all chains that are not finished, until none is left."""
        from steinkit.runtime.compilation import announced_compilation
        from steinkit.samplers.acceptance.rules import rule_of, verdicts

        test, options, live = self.test, self.options, np.arange(self.options.chains)
        self._verdicts = partial(verdicts, test, rule_of(test, self.model.size))
        self._gradient = self._make_gradient()
        self._moves = Noise(options.seeds, Kind.PROPOSAL, self._noise_width, normals)
        self._levels = Noise(options.seeds, Kind.UNIFORM, 1, lambda rng, shape: test.level(uniforms(rng, shape)))
        self._normals = Noise(options.seeds, Kind.TEST, 1 if test.needs_normal else 0, normals)
        self._step, self._spent, self._outside = np.zeros((3, options.chains), dtype=np.int64)
        self._scanned = np.zeros(options.chains)
        if self.reads_all:
            self._likelihoods = self.model.total_log_likelihood(self.states)
            require_start(self._likelihoods, self.states, "the log likelihood", "give another start=")
        elif isinstance(self.model, PosteriorModel):
            self._reader = MinibatchReader(self.model, options.seeds, keeps_values=test.needs_values)
        total = options.chains * (options.steps or 0) or None
        shown = progress_bar("sampling", total, shown=options.progress, unit=" steps")
        with announced_compilation(), shown as bar:
            while live.size:
                self._take_step(live)
                bar.update(len(live))
                finished = np.zeros(len(live), dtype=bool)
                if options.steps is not None:
                    finished |= self._step[live] >= options.steps
                if options.budget is not None:
                    finished |= self._spent[live] + self.first_batch + self.proposal_cost > options.budget
                live = live[~finished]

    def _make_gradient(self) -> FullGradient | BatchGradient | None:
        if not self.proposal.needs_gradient:
            return None
        if self._gradient_batch and isinstance(self.model, PosteriorModel):
            return BatchGradient(self.model, self._gradient_batch, self.options.seeds)
        return FullGradient(self.model, self.states)

    def _take_step(self, live: Integers) -> None:
        """Propose, judge, move and record, for these chains."""
        step, states = self._step[live], self.states[live]
        heat = temperatures(self.temperature, step)
        gradient = None if self._gradient is None else self._gradient.turn_to(live, states, heat)
        proposed, ratio = self.proposal.propose(states, self._moves.take(live, step), gradient)
        require_states(proposed, live, step, "the proposed state")
        log_prior = self.model.log_prior(proposed)
        # outside the support a proposal's gradient, and so its ratio, may be anything
        offset = np.where(log_prior == -np.inf, -np.inf, log_prior - self.log_prior[live] + ratio)
        require_numbers(offset, live, step, proposed, "the log prior or the proposal's log ratio")
        level, normal = self._levels.take(live, step)[:, 0], self._normals.take(live, step).sum(axis=1)
        seen = Seen(live, step, states, proposed)
        accepted, reported = self._judge(seen, np.flatnonzero(offset > -np.inf), offset, heat, level, normal)
        self._outside[live] = np.where(offset > -np.inf, 0, self._outside[live] + 1)
        if (strayed := live[self._outside[live] >= _LOST]).size:
            raise lost(int(strayed[0]), _LOST, self.states[strayed[0]])
        moved = live[accepted]
        self.states[moved], self.log_prior[moved] = proposed[accepted], log_prior[accepted]
        if self._gradient is not None:
            self._gradient.accept(moved)
        self._step[live] += 1
        self._spent[live] += seen.count + self.proposal_cost
        if "oracle_cost" in reported:
            reported["oracle_cost"] = self._scanned[live]
        columns = {"points": self.states[live], "cost": self._spent[live], "batch_sizes": seen.count}
        self.recorder.record(live, step + 1, accepted=accepted, **columns, **reported)

    def _judge(self, seen: Seen, rows: Integers, *given: Floats) -> tuple[NDArray[np.bool_], dict[str, Floats]]:
        """Whether each move is accepted, and what is reported of it; these rows are looked at until they are decided.

        ``given`` are offset, temperature, level and normal number of each move. Those of other rows are rejected
        without a look, and nothing is known of them.
        """
        test, size, chain, bound = self.test, self.model.size, seen.chain, np.zeros(len(seen.chain))
        accepted = np.zeros(len(chain), dtype=bool)
        reported = {name: np.full(len(chain), np.nan) for name in test.diagnostics}
        if self.reads_all:
            proposed = seen.proposed[rows]
            likelihoods = self.model.total_log_likelihood(proposed)
            require_numbers(likelihoods, chain[rows], seen.step[rows], proposed, "the log likelihood")
            before, seen.count[rows] = self._likelihoods[chain[rows]], size
            seen.mean[rows] = (likelihoods - before) / size
        elif test.needs_bound and rows.size:
            entries = (entry[rows] for entry in (seen.states, seen.proposed, *given[:3]))
            moves = Moves(self.model, self._scanned[chain[rows]], *entries)
            bound[rows], self._scanned[chain[rows]] = test.bounds(moves), moves.scanned
        looking, wanted, number = rows, np.full(len(rows), self.first_batch), 0
        while looking.size:
            if not self.reads_all:
                self._reader.read(seen, looking, wanted)
            columns: list[Any] = [np.full(len(looking), number), *seen.moments(looking)]
            columns += [column[looking] for column in (*given, bound)]
            verdict = self._verdicts(Look._make((size, *columns, seen.terms(looking))))
            impossible = seen.mean[looking] == -np.inf  # some datum has no likelihood at the proposal
            decided = verdict.decided | impossible
            accepted[looking] = decided & verdict.accepted & ~impossible
            for name, values in verdict.diagnostics.items():
                reported[name][looking] = values
            looking, wanted, number = looking[~decided], np.minimum(verdict.wanted, size)[~decided], number + 1
        if self.reads_all:
            self._likelihoods[chain[rows]] = np.where(accepted[rows], likelihoods, before)
        else:
            self._reader.close(chain)
        return accepted, reported


def runs_compiled(posterior: Posterior, proposal: Proposal, test: AcceptanceTest) -> bool:
    """Whether chains of this posterior, with this proposal and test, run in compiled code.

    What compiled chains do not know, a test or a proposal of your own among it, runs together, with the same results.
    """
    if posterior.compiled_terms is None or type(proposal) not in (RandomWalk, Langevin):
        return False
    if callable(getattr(test, "bound", None)):
        return False
    from steinkit.samplers.acceptance.rules import rule_of

    return rule_of(test, posterior.size) is not None


def _require(value: Any, name: str, method: str, example: str) -> None:
    """Raise UsageError if ``value`` is a name or a class, say, where an object that has the method is wanted."""
    if isinstance(value, type) or not hasattr(value, method):
        raise UsageError(f"{name} must be an object such as {example}; received {value!r}")
