"""Driver that runs compiled chains one after another in blocks of steps.

The draws are identical to those computed by the NumPy implementations in `run.Run` and `stochastic_langevin`.
"""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from steinkit.runtime.deadlines import interruptible, stop_signal
from steinkit.runtime.progress import progress_bar
from steinkit.sample import Floats
from steinkit.samplers.acceptance.rules import Rule, TestKind, rule_of
from steinkit.samplers.chains import compiled_kernels as kernels
from steinkit.samplers.chains import likelihood_terms as models
from steinkit.samplers.chains.draws import Recorder, RunOptions, StreamKind, generator, normals, uniforms
from steinkit.samplers.chains.gradients import Langevin, RandomWalk, StochasticLangevin
from steinkit.samplers.chains.random_order_kernels import TOGETHER
from steinkit.samplers.chains.readers import begin_walk

# Maximum number of steps and maximum number of noise values per block.
_BLOCK_STEPS, _BLOCK_NUMBERS = 1 << 10, 1 << 14


class CompiledChains(ABC):
    """Driver for the compiled kernels of all samplers.

    A derived class defines the start of a chain, the noise for a block of steps, and the recorded quantities.

    Parameters
    ----------
    advance : kernel, (kernels.Machine, kernels.Block) -> int
        Function that runs the steps of a block and returns an `Outcome`.
    model : models.PosteriorModel
        Posterior with terms of the type `kernels.Terms`.
    options : RunOptions
        Options of the run.
    temperature : float
        Temperature T, which divides the log likelihood.
    recorder : Recorder
        Recorder of the draws.
    rule : Rule, optional
        Acceptance test, or None for a sampler without rejection.
    scale : float or array_like, shape (d,)
        Standard deviation of a random walk.
    **plan : Any
        Further entries of `PLAN`. By default, the number of steps is taken from the options.
    """

    def __init__(
        self,
        advance: Any,
        model: models.PosteriorModel,
        options: RunOptions,
        temperature: float,
        recorder: Recorder,
        rule: Rule | None = None,
        scale: ArrayLike = 0.0,
        **plan: Any,
    ) -> None:
        self.advance, self.model, self.options, self.recorder = advance, model, options, recorder
        self.scale = np.asarray(scale, dtype=np.float64)
        terms = model.posterior.compiled_terms
        assert terms is not None  # guaranteed by `runs_compiled`
        self.terms = terms
        self.rule = rule or Rule(TestKind.EXACT.value, 0, np.zeros(0))
        plan = {"steps": options.steps or sys.maxsize, "budget": sys.maxsize, "size": model.size} | plan
        self.plan = np.zeros(1, dtype=kernels.PLAN)
        for name, value in {**plan, "temperature": temperature * terms.temperature}.items():
            self.plan[name] = value
        longest = max(terms.slice_rows, int(self.plan["gradient_batch"][0]))
        self.rows = np.empty(min(longest, model.size), dtype=np.int64)
        self.bounds = np.empty((0, 2)) if model.bounds is None else np.array(model.bounds, dtype=np.float64)

    def run(self, states: Floats) -> None:
        """Run and record all chains from initial states of shape (K, d)."""
        steps = int(self.plan["steps"][0])
        total = None if steps == sys.maxsize else self.options.chains * steps
        shown = progress_bar("sampling", total, shown=self.options.progress, unit=" steps")
        with stop_signal() as self.stop, shown as self.bar:
            interruptible(partial(self._run_all, states), self.stop, "running chains")

    def _run_all(self, states: Floats) -> None:
        longest = max(1, min(_BLOCK_STEPS, _BLOCK_NUMBERS // states.shape[1]))
        for k, state in enumerate(states):
            self._turn_to(k, state)
            self.begin(k)
            outcome = kernels.Outcome.NOISE_USED
            while outcome == kernels.Outcome.NOISE_USED:
                first = int(self.record["step"])
                self._begin_block(first, max(1, min(longest, int(self.plan["steps"][0]) - first)))
                outcome = kernels.Outcome(self.advance(self.machine, self.block))
                taken = int(self.record["step"]) - first
                self.bar.update(taken)
                self.stop.require("the next steps of a chain")
                if outcome not in (kernels.Outcome.NOISE_USED, kernels.Outcome.FINISHED):
                    self.explain(outcome, k)
                self.recorder.extend(k, first, points=self.block.points[:taken], **self.columns(first, taken))

    @abstractmethod
    def begin(self, k: int) -> None:
        """Set chain k to its initial state."""

    @abstractmethod
    def noise(self, first: int, steps: int) -> tuple[Floats, Floats, Floats]:
        """Return the noise, the levels and the normal random numbers for B steps.

        The arrays have shapes (B, d), (B,) and (B,).
        """

    @abstractmethod
    def columns(self, first: int, taken: int) -> dict[str, Any]:
        """Return the recorded quantities for a block of steps, excluding the points."""

    @abstractmethod
    def explain(self, outcome: kernels.Outcome, k: int) -> None:
        """Raise an error that includes the chain, the step and the state."""

    def _turn_to(self, k: int, state: Floats) -> None:
        (dim,), size, seed, plan = state.shape, self.model.size, self.options.seeds[k], self.plan[0]
        self.vectors = np.zeros((len(kernels.Vector), dim))
        self.vectors[kernels.Vector.STATE] = state
        values, work = np.empty(2 * len(self.rows)), np.empty(dim)
        given = self.terms.addresses, self.bounds, size, self.terms.slice_rows, self.rows
        self.machine = kernels.Machine(
            self.plan,
            np.zeros(1, dtype=kernels.CHAIN),
            kernels.Terms(*given, values, work, self.stop.flag),
            self.vectors,
            np.array(np.broadcast_to(self.scale, (dim,))),
            self.rule,
            begin_walk(1 if plan["reads_all"] else size, [seed], StreamKind.TEST_ORDER),
            begin_walk(size if plan["gradient_batch"] else 1, [seed], StreamKind.PROPOSAL_ORDER),
            np.empty((2, TOGETHER), dtype=np.uint32),
        )
        self.record = self.machine.chain[0]

    def _begin_block(self, first: int, length: int) -> None:
        """Draw the noise for a block of steps."""
        self.record["block_start"] = first
        moves, levels, normals = self.noise(first, length)
        points = np.empty((length, self.vectors.shape[1]))
        self.block = kernels.Block(moves, levels, normals, points, np.empty((length, 4), dtype=np.int64))


class MetropolisChains(CompiledChains):
    """Chains for a `Run` with a compiled posterior, proposal and test.

    Parameters
    ----------
    run : Run
        Run to execute.
    patience : int
        Number of consecutive proposals outside the support after which a chain is stopped.
    """

    def __init__(self, run: Any, patience: int) -> None:
        self.log_prior, self.patience, self.test = run.log_prior, patience, run.test
        proposal, size, plan = run.proposal, run.model.size, dict[str, Any]()
        if isinstance(proposal, Langevin):
            batch = proposal.gradient_batch(size)
            plan = {"drift": kernels.Drift.MINIBATCH if batch else kernels.Drift.ALL_DATA, "gradient_batch": batch}
            plan["step_size"] = proposal.step_size
        if self.test.needs_bound and not run.reads_all:
            # the compiled terms are not divided by the temperature of the posterior
            constant, divisor = self.test.constant_bound, run.model.posterior.compiled_terms.temperature
            plan |= {"scans": 1} if constant is None else {"bound": constant * divisor}
        self.drift = plan.get("drift", kernels.Drift.NONE)
        plan |= {"reads_all": run.reads_all, "first_batch": run.first_batch, "step_cost": run.proposal_cost}
        plan |= {"budget": run.options.budget or sys.maxsize, "patience": patience}
        given = run.model, run.options, run.temperature, run.recorder
        scale = proposal.proposal_scale if isinstance(proposal, RandomWalk) else 0.0
        super().__init__(kernels.advance_metropolis, *given, rule_of(self.test, size), scale, **plan)

    def _run_all(self, states: Floats) -> None:
        """Evaluate the initial states if necessary, and run the chains."""
        self.likelihoods = np.zeros(len(states))
        if self.plan["reads_all"][0]:
            for k, state in enumerate(states):
                self._turn_to(k, state)
                self.likelihoods[k] = kernels.total_log_likelihood(self.machine.terms, state)
                self.stop.require("the first states of chains")
            models.require_start(self.likelihoods, states, "the log likelihood", "pass another start=")
        super()._run_all(states)

    def begin(self, k: int) -> None:
        """Set the random number generators and the initial terms of a chain."""
        record, vectors, seed = self.record, self.vectors, self.options.seeds[k]
        record["log_prior"], record["log_likelihood"] = self.log_prior[k], self.likelihoods[k]
        if self.drift == kernels.Drift.ALL_DATA:
            state = vectors[kernels.Vector.STATE]
            vectors[kernels.Vector.PRIOR_GRADIENT] = self.model.posterior.grad_log_prior(state[None])[0]
            kernels.total_gradient(self.machine.terms, state, vectors[kernels.Vector.DATA_GRADIENT])
            self.stop.require("the first steps of a chain")
        self.generators = [generator(seed, kind) for kind in (StreamKind.PROPOSAL, StreamKind.UNIFORM, StreamKind.TEST)]

    def noise(self, first: int, steps: int) -> tuple[Floats, Floats, Floats]:
        """Return the noise for the proposals and the random numbers for the tests.

        The random numbers for the tests are the levels and standard normal numbers.
        """
        moves, levels, noise = self.generators
        test, dim = self.test, self.vectors.shape[1]
        level = np.array(test.level(uniforms(levels, (steps, 1)))[:, 0], dtype=np.float64)
        return normals(moves, (steps, dim)), level, normals(noise, (steps if test.needs_normal else 0, 1))[:, 0]

    def columns(self, first: int, taken: int) -> dict[str, Any]:
        """Return the costs and the decisions."""
        spent, accepted, read, scanned = self.block.results[:taken].T
        columns = {"cost": spent, "accepted": accepted, "batch_sizes": read}
        return columns | ({"oracle_cost": scanned} if "oracle_cost" in self.test.diagnostics else {})

    def explain(self, outcome: kernels.Outcome, k: int) -> None:
        """Raise an error that includes the chain, the step and the state."""
        step, proposed = int(self.record["step"]), self.vectors[kernels.Vector.PROPOSED]
        if outcome == kernels.Outcome.STATE_NOT_FINITE:
            models.require_states(proposed[None], [k], [step], "the proposed state")
        if outcome == kernels.Outcome.LOST:
            raise models.lost(k, self.patience, self.vectors[kernels.Vector.STATE])
        of_prior = outcome == kernels.Outcome.RATIO_NOT_A_NUMBER
        what = "the log prior or the log ratio of the proposal" if of_prior else "the log likelihood"
        raise models.not_a_number(k, step, what, self.record["wrong"], proposed)


class LangevinChains(CompiledChains):
    """`sgld` chains for a posterior with compiled terms and gradients."""

    def __init__(self, run: StochasticLangevin) -> None:
        self.step_sizes, self.mode, self.before = run.step_sizes, run.mode, run.before
        plan: dict[str, Any] = {"variates": run.mode is not None, "reads_all": 1, "gradient_batch": run.batch}
        plan |= {"steps": run.options.steps_of(run.step_cost, run.before), "step_cost": run.step_cost}
        super().__init__(kernels.advance_langevin, run.model, run.options, run.temperature, run.recorder, **plan)

    def begin(self, k: int) -> None:
        """Set the chain's random number generator and its mode."""
        self.moves = generator(self.options.seeds[k], StreamKind.PROPOSAL)
        if self.mode is not None:
            self.vectors[kernels.Vector.MODE] = self.mode.state
            self.vectors[kernels.Vector.GRADIENT_AT_MODE] = self.mode.gradient

    def noise(self, first: int, steps: int) -> tuple[Floats, Floats, Floats]:
        """Return the noise, the step sizes, and the size of the next step."""
        sizes = np.array(self.step_sizes(np.arange(first, first + steps + 1.0)) * np.ones(steps + 1))
        return normals(self.moves, (steps, self.vectors.shape[1])), sizes, np.empty(0)

    def columns(self, first: int, taken: int) -> dict[str, Any]:
        """Return the costs and, if recorded, the weights."""
        # By equation 11 of Welling and Teh, the weight of theta_t is eps_t, the size of the step that starts at
        # theta_t.
        weights = {"weights": self.block.levels[1 : taken + 1]} if "weights" in self.recorder.columns else {}
        return {"cost": self.before + (first + 1 + np.arange(taken)) * int(self.plan["step_cost"][0]), **weights}

    def explain(self, outcome: kernels.Outcome, k: int) -> None:
        """Raise an error that includes the chain, the step and the state."""
        step, vectors = int(self.record["step"]), self.vectors[:, None]
        models.require_gradients(vectors[kernels.Vector.PRIOR_GRADIENT], vectors[kernels.Vector.STATE], [k], [step])
        models.require_states(vectors[kernels.Vector.PROPOSED], [k], [step], "the state")
        models.require_support(self.model, vectors[kernels.Vector.STATE], [k], step)
