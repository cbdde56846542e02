"""Metropolis-Hastings chains, many at once, each at its own pace.

In a round every chain that is not finished reads the next minibatch of its own current test. A chain whose test is
decided records its state and proposes anew, whatever the others do, until it has its own number of draws or has
spent its own budget: to stop all chains together would cut off the long tests and bias what is left.
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from tqdm import tqdm

from steinkit.errors import InputError
from steinkit.sample import Floats, Integers
from steinkit.samplers.acceptance.interface import AcceptanceTest, Look
from steinkit.samplers.chains.gradients import BatchGradient, FullGradient
from steinkit.samplers.chains.likelihood_terms import Model, PosteriorModel, require_states, show_state, start_states
from steinkit.samplers.chains.options import RunOptions, Temperature, temperatures
from steinkit.samplers.chains.proposals import Proposal
from steinkit.samplers.chains.random_streams import Kind, Noise, normals, uniforms
from steinkit.samplers.chains.recorder import Recorder
from steinkit.target import Target

# Proposals outside the support in a row after which a chain is given up.
_LOST = 100_000


@dataclass
class Chains:
    """The chains that are not finished, an entry each."""

    chain: Integers  # number
    step: Integers  # steps finished
    spent: Integers
    outside: Integers  # proposals outside the support since the last one inside
    state: Floats  # (n, d)
    proposed: Floats  # (n, d)
    log_prior: Floats
    proposed_log_prior: Floats
    offset: Floats  # log prior ratio and log proposal ratio
    temperature: Floats
    level: Floats
    normal: Floats
    number: Integers  # of the coming look
    target: Integers  # data it wants
    count: Integers  # data seen in the test
    mean: Floats  # of the l_i seen
    squares: Floats  # sum of squared deviations from it
    bound: Floats  # of all |l_i|, or their standardised mean, where the test wants that from a scan
    log_likelihood: Floats  # of the state, over all data, where the test wants that
    done: Any  # whether finished

    def keep(self, rows: Any) -> None:
        """Drop all other chains."""
        for entry in fields(self):
            setattr(self, entry.name, getattr(self, entry.name)[rows])


class Run:
    """What the runs with and without minibatches share: proposing, concluding, recording."""

    model: Model

    def __init__(
        self,
        target: Target,
        proposal: Proposal,
        test: AcceptanceTest,
        options: RunOptions,
        temperature: Temperature,
    ) -> None:
        self.model = self._make_model(target)
        self.proposal, self.test, self.options, self.temperature = proposal, test, options, temperature
        states = start_states(target, options.start, options.chains)
        if isinstance(self.model, PosteriorModel):
            self.model.posterior.check_shapes(states[0])
        dim, seeds = states.shape[1], options.seeds
        self.first_batch = min(test.first_batch(self.model.size), self.model.size)
        self.proposal_cost = self._cost_of_gradient()
        options.require_budget(self.first_batch + self.proposal_cost)
        self._moves = Noise(seeds, Kind.PROPOSAL, proposal.noise_width(dim), normals)
        self._levels = Noise(seeds, Kind.UNIFORM, 1, lambda rng, shape: test.level(uniforms(rng, shape)))
        self._normals = Noise(seeds, Kind.TEST, 1, normals) if test.needs_normal else None
        columns = {"accepted": np.bool_, "batch_sizes": np.int64}
        self.recorder = Recorder(options, dim, columns | dict.fromkeys(test.diagnostics, np.float64))
        self.live = self._first(states)
        self._finished = False  # whether a chain has finished in this round
        self.gradient = self._make_gradient(states)

    def advance(self) -> None:
        """Run all chains to their ends."""
        live, options = self.live, self.options
        total = options.chains * (options.steps or 0) or None
        with tqdm(
            desc="sampling",
            total=total,
            unit=" steps",
            delay=1.0,
            file=sys.stderr,
            disable=not options.progress,
            leave=False,
        ) as self.bar:
            self._propose(np.arange(len(live.chain)))
            while len(live.chain):
                if self._finished:
                    live.keep(~live.done)
                    self._finished = False
                else:
                    self._read()
                    self._look()

    def _make_model(self, target: Target) -> Model:
        raise NotImplementedError

    def _cost_of_gradient(self) -> int:
        """Data of a proposal's gradient that count beside those of the test."""
        return self.proposal.gradient_batch(self.model.size) if self.proposal.needs_gradient else 0

    def _read(self) -> None:
        """Let every chain read the next data of its test."""
        raise NotImplementedError

    def _begin_test(self, rows: Integers) -> None:
        """Prepare the tests of these chains, which have just proposed."""
        raise NotImplementedError

    def _first(self, states: Floats) -> Chains:
        n = len(states)
        log_prior = self.model.log_prior(states)
        for k in np.flatnonzero(~np.isfinite(log_prior)).tolist():
            raise InputError(
                f"chain {k + 1} cannot start at {show_state(states[k])}: the log prior there is {log_prior[k]}; "
                "give a start= inside the support"
            )
        columns: dict[str, Any] = {entry.name: np.zeros(n) for entry in fields(Chains)}
        for name in ("step", "spent", "outside", "number", "target", "count"):
            columns[name] = np.zeros(n, dtype=np.int64)
        columns |= {"chain": np.arange(n), "done": np.zeros(n, dtype=bool), "log_prior": log_prior.copy()}
        columns["temperature"] = temperatures(self.temperature, columns["step"])
        return Chains(**columns | {"state": states.copy(), "proposed": states.copy()})

    def _make_gradient(self, states: Floats) -> FullGradient | BatchGradient | None:
        if not self.proposal.needs_gradient:
            return None
        batch = self.proposal.gradient_batch(self.model.size)
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
            self._require_numbers(offset, rows, proposed, "the log prior or the proposal's log ratio")
            live.proposed[rows], live.proposed_log_prior[rows], live.offset[rows] = proposed, log_prior, offset
            live.level[rows] = self._levels.take(chain, step)[:, 0]
            if self._normals is not None:
                live.normal[rows] = self._normals.take(chain, step)[:, 0]
            live.number[rows] = live.count[rows] = 0
            live.mean[rows] = live.squares[rows] = 0.0
            outside = offset == -np.inf
            if not outside.any():
                live.outside[rows] = 0
                self._begin_test(rows)
                return
            self._begin_test(rows[~outside])
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
        verdict = self.test.decide(
            Look(
                size=self.model.size,
                number=live.number[rows],
                seen=seen,
                mean=mean,
                variance=live.squares[rows] / np.maximum(seen - 1, 1),
                offset=live.offset[rows],
                temperature=live.temperature[rows],
                level=live.level[rows],
                normal=None if self._normals is None else live.normal[rows],
                bound=live.bound[rows],
                values=self._values(rows),
            )
        )
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
        self._accept(moved)
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

    def _accept(self, moved: Integers) -> None:
        """Keep what is known of the proposals that became states."""
        if self.gradient is not None:
            self.gradient.accept(self.live.chain[moved])

    def _values(self, rows: Any) -> list[Floats] | None:
        return None

    def _require_numbers(self, values: Floats, rows: Any, proposed: Floats, what: str) -> None:
        """Refuse NaN and plus infinity, naming chain, step and state."""
        if not math.isfinite(np.add.reduce(values)) and not (values < np.inf).all():
            bad = int(np.flatnonzero(~(values < np.inf))[0])
            raise InputError(
                f"chain {self.live.chain[rows][bad] + 1}, step {self.live.step[rows][bad] + 1}: {what} gives "
                f"{values[bad]} for the proposal {show_state(proposed[bad])}; it must be a number or minus infinity"
            )

    def _require_not_lost(self, rows: Integers) -> None:
        lost = rows[self.live.outside[rows] >= _LOST]
        if lost.size:
            raise InputError(
                f"chain {self.live.chain[lost[0]] + 1}: the last {_LOST} proposals all lay outside the support, from "
                f"{show_state(self.live.state[lost[0]])}; use a smaller proposal scale or step, or another start"
            )
