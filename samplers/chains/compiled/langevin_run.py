"""Chains of stochastic gradient Langevin dynamics one after another, each in compiled code."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from steinkit.sample import Floats
from steinkit.samplers.chains.compiled.chain_blocks import CompiledChains
from steinkit.samplers.chains.compiled.langevin_kernels import advance
from steinkit.samplers.chains.compiled.records import Outcome, Vector
from steinkit.samplers.chains.gradients import Mode
from steinkit.samplers.chains.likelihood_terms import PosteriorModel, require_gradients, require_states, require_support
from steinkit.samplers.chains.options import RunOptions, Temperature
from steinkit.samplers.chains.random_streams import Kind, generator, normals
from steinkit.samplers.chains.recorder import Recorder


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
    ) -> None:
        self.batch, self.step_sizes, self.mode = batch, step_sizes, mode
        self.before = 0 if mode is None else mode.cost
        step_cost = batch if mode is None else 2 * batch
        plan: dict[str, Any] = {
            "variates": mode is not None,
            "reads_all": 1,
            "gradient_batch": batch,
            "step_cost": step_cost,
        }
        super().__init__(
            advance, model, options, temperature, recorder, steps=options.steps_of(step_cost, self.before), **plan
        )

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
