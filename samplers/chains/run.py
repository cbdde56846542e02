"""Metropolis-Hastings chains with any proposal and any acceptance test.

Each round advances every active chain by one step. The chain proposes a state, and its test reads data in stages until
it reaches a decision. A chain ends when it reaches its number of draws or its budget. If all chains stopped at the same
time, long tests would be interrupted, and the draws would be biased.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steinkit.arguments import positive
from steinkit.errors import UsageError
from steinkit.posterior import Posterior
from steinkit.runtime.progress import progress_bar
from steinkit.sample import Floats, Integers
from steinkit.samplers.acceptance.interface import AcceptanceTest, Moves, Stage
from steinkit.samplers.chains import likelihood_terms as models
from steinkit.samplers.chains.draws import Draws, Noise, Recorder, RunOptions, StreamKind, normals, uniforms
from steinkit.samplers.chains.gradients import BatchGradient, FullGradient, Langevin, Proposal, RandomWalk
from steinkit.samplers.chains.readers import MinibatchReader, Seen
from steinkit.target import Target

# A chain is stopped after this number of consecutive proposals outside the support. Such proposals use no budget,
# so the budget alone would never end the chain.
_LOST = 100_000


def run_chains(
    sampler: str,
    target: Target,
    proposal: Proposal,
    test: AcceptanceTest,
    options: RunOptions,
    temperature: float,
) -> Draws:
    """Run Metropolis-Hastings chains.

    Parameters
    ----------
    sampler : str
        Name of the sampler, for `Draws.settings`.
    target : Target or Posterior
        Distribution to sample from.
    proposal : Proposal
        Proposal for the moves.
    test : AcceptanceTest
        Acceptance test for the moves.
    options : RunOptions
        Options of the run.
    temperature : float
        Temperature T, which divides the log likelihood.

    Returns
    -------
    Draws
        Draws of all chains, with the diagnostics of the test.

    Raises
    ------
    UsageError
        If an option is out of range, if the budget is too small for one step, or if it ends before the first draw.
    InputError
        If a function of the target returns an array that has an invalid shape or contains NaN, or if a state is not
        finite.
    """
    _require(proposal, "proposal", "propose", "RandomWalk(0.1)")
    _require(test, "test", "decide", "MetropolisTest()")
    temperature = positive(temperature, "temperature")
    settings = {"sampler": sampler} | proposal.described() | test.described() | {"temperature": temperature}
    with np.errstate(all="ignore"):  # non-finite values are reported with their chain and step
        run = Run(target, proposal, test, options, temperature)
        run.advance()
    return run.recorder.draws(run.model.names, settings, test.diagnostics)


class Run:
    """State of a run of Metropolis-Hastings chains."""

    def __init__(
        self,
        target: Target,
        proposal: Proposal,
        test: AcceptanceTest,
        options: RunOptions,
        temperature: float,
    ) -> None:
        self.proposal, self.test, self.options, self.temperature = proposal, test, options, temperature
        self.model = models.as_model(target) if test.needs_all_data else models.as_posterior_model(target)
        self.reads_all = test.reads_all(self.model.size)
        self.states = models.start_states(target, options.start, options.chains)
        if isinstance(self.model, models.PosteriorModel):
            self.model.posterior.check_shapes(self.states[0])
        dim, size = self.states.shape[1], self.model.size
        self._noise_width = proposal.noise_width(dim)
        self.first_batch = min(test.first_batch(size), size)
        self._gradient_batch = proposal.gradient_batch(size) if proposal.needs_gradient else 0
        # if the test reads all the data, a gradient on all the data has no additional cost
        full_gradient = size if proposal.needs_gradient and not self.reads_all else 0
        self.proposal_cost = self._gradient_batch or full_gradient
        options.require_budget(self.first_batch + self.proposal_cost)
        columns = {"accepted": np.bool_, "batch_sizes": np.int64}
        self.recorder = Recorder(options, dim, columns | dict.fromkeys(test.diagnostics, np.float64))
        # copy because an array returned by a user-supplied function may be read-only or shared
        self.log_prior = np.array(self.model.log_prior(self.states))
        models.require_start(self.log_prior, self.states, "the log prior", "pass start= inside the support")

    def advance(self) -> None:
        """Run all chains using compiled code if possible."""
        model, proposal, test = self.model, self.proposal, self.test
        if isinstance(model, models.PosteriorModel) and runs_compiled(model.posterior, proposal, test):
            from steinkit.samplers.chains.compiled_chains import MetropolisChains

            MetropolisChains(self, _LOST).run(self.states)
        else:
            self._advance_together()

    def _advance_together(self) -> None:
        """Advance all active chains together until all have ended."""
        from steinkit.runtime.compilation import announced_compilation
        from steinkit.samplers.acceptance.rules import decisions, rule_of

        test, options, live = self.test, self.options, np.arange(self.options.chains)
        self._decide = partial(decisions, test, rule_of(test, self.model.size))
        self._gradient: FullGradient | BatchGradient | None = None
        if self._gradient_batch and isinstance(self.model, models.PosteriorModel):
            self._gradient = BatchGradient(self.model, self._gradient_batch, options.seeds)
        elif self.proposal.needs_gradient:
            self._gradient = FullGradient(self.model, self.states)
        self._moves = Noise(options.seeds, StreamKind.PROPOSAL, self._noise_width, normals)
        self._levels = Noise(options.seeds, StreamKind.UNIFORM, 1, lambda rng, shape: test.level(uniforms(rng, shape)))
        self._normals = Noise(options.seeds, StreamKind.TEST, 1 if test.needs_normal else 0, normals)
        self._step, self._spent, self._outside = np.zeros((3, options.chains), dtype=np.int64)
        self._scanned = np.zeros(options.chains)
        if self.reads_all:
            self._likelihoods = self.model.total_log_likelihood(self.states)
            models.require_start(self._likelihoods, self.states, "the log likelihood", "pass another start=")
        elif isinstance(self.model, models.PosteriorModel):
            self._reader = MinibatchReader(self.model, options.seeds)
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

    def _take_step(self, live: Integers) -> None:
        """Propose, test, accept or reject, and record one step of these chains."""
        step, states = self._step[live], self.states[live]
        gradient = None if self._gradient is None else self._gradient.turn_to(live, states, self.temperature)
        proposed, ratio = self.proposal.propose(states, self._moves.take(live, step), gradient)
        models.require_states(proposed, live, step, "the proposed state")
        log_prior = self.model.log_prior(proposed)
        # the log ratio of a proposal outside the support may have any value
        offset = np.where(log_prior == -np.inf, -np.inf, log_prior - self.log_prior[live] + ratio)
        models.require_numbers(offset, live, step, proposed, "the log prior or the log ratio of the proposal")
        level, normal = self._levels.take(live, step)[:, 0], self._normals.take(live, step).sum(axis=1)
        seen, inside = Seen(live, step, states, proposed), offset > -np.inf
        heat = np.full(len(live), self.temperature)
        accepted, reported = self._judge(seen, np.flatnonzero(inside), offset, heat, level, normal)
        self._outside[live] = np.where(inside, 0, self._outside[live] + 1)
        if (strayed := live[self._outside[live] >= _LOST]).size:
            raise models.lost(int(strayed[0]), _LOST, self.states[strayed[0]])
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
        """Accept or reject the moves in these rows.

        Return a mask of the accepted moves, and the diagnostics.

        The tuple ``given`` contains the offset, the temperature, the level and the normal random number of each move.
        The moves in other rows are rejected without a test, and their diagnostics are NaN.
        """
        test, size, chain, bound = self.test, self.model.size, seen.chain, np.zeros(len(seen.chain))
        accepted = np.zeros(len(chain), dtype=bool)
        reported = {name: np.full(len(chain), np.nan) for name in test.diagnostics}
        if self.reads_all:
            proposed = seen.proposed[rows]
            likelihoods = self.model.total_log_likelihood(proposed)
            models.require_numbers(likelihoods, chain[rows], seen.step[rows], proposed, "the log likelihood")
            before, seen.count[rows] = self._likelihoods[chain[rows]], size
            seen.mean[rows] = (likelihoods - before) / size
        elif test.needs_bound and rows.size:
            entries = (entry[rows] for entry in (seen.states, seen.proposed, *given[:3]))
            moves = Moves(self.model, self._scanned[chain[rows]], *entries)
            bound[rows], self._scanned[chain[rows]] = test.bounds(moves), moves.scanned
        undecided, sizes, number = rows, np.full(len(rows), self.first_batch), 0
        while undecided.size:
            if not self.reads_all:
                self._reader.read(seen, undecided, sizes)
            columns: list[Any] = [np.full(len(undecided), number), *seen.moments(undecided)]
            columns += [column[undecided] for column in (*given, bound)]
            found = self._decide(Stage(size, *columns))
            impossible = seen.mean[undecided] == -np.inf  # a data point has zero likelihood at the proposal
            decided = found.decided | impossible
            accepted[undecided] = decided & found.accepted & ~impossible
            for name, values in found.diagnostics.items():
                reported[name][undecided] = values
            undecided, sizes = undecided[~decided], np.minimum(found.next_size, size)[~decided]
            number += 1
        if self.reads_all:
            self._likelihoods[chain[rows]] = np.where(accepted[rows], likelihoods, before)
        else:
            self._reader.close(chain)
        return accepted, reported


def runs_compiled(posterior: Posterior, proposal: Proposal, test: AcceptanceTest) -> bool:
    """Return True if the posterior, the proposal and the test are compiled.

    Other chains, such as those with a user-defined test or proposal, are advanced together in NumPy and give the same
    results.
    """
    if posterior.compiled_terms is None or type(proposal) not in (RandomWalk, Langevin):
        return False
    from steinkit.samplers.acceptance.rules import rule_of

    return rule_of(test, posterior.size) is not None


def _require(value: Any, name: str, method: str, example: str) -> None:
    """Raise UsageError if ``value`` does not have the given method."""
    if isinstance(value, type) or not hasattr(value, method):
        raise UsageError(f"`{name}` must be an object such as {example}; got {value!r}")
