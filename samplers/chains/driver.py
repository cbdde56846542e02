"""Running Metropolis-Hastings chains: any proposal, any acceptance test, on all the data or on minibatches."""

from __future__ import annotations

from typing import Any

import numpy as np

from steinkit.errors import UsageError
from steinkit.samplers.acceptance.interface import AcceptanceTest
from steinkit.samplers.chains.full_data import FullRun
from steinkit.samplers.chains.minibatches import MinibatchRun
from steinkit.samplers.chains.options import RunOptions, Temperature, describe_temperature
from steinkit.samplers.chains.proposals import Proposal
from steinkit.samplers.draws import Draws
from steinkit.target import Target


def run_chains(
    target: Target,
    proposal: Proposal,
    test: AcceptanceTest,
    options: RunOptions,
    temperature: Temperature,
    settings: dict[str, Any],
) -> Draws:
    """Run Metropolis-Hastings chains.

    Parameters
    ----------
    target : Target or Posterior
    proposal : Proposal
    test : AcceptanceTest
    options : RunOptions
    temperature : float or callable, (n,) -> (n,)
        T that divides the log likelihood; or T of the steps with the given numbers, from 0.
    settings : dict
        What `Draws.settings` is to say beside the options of the run, the proposal and the test.

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
    settings = settings | proposal.described() | test.described()
    settings["temperature"] = describe_temperature(temperature)
    run_class = FullRun if test.needs_all_data else MinibatchRun
    with np.errstate(all="ignore"):  # what is not finite is found and reported
        run = run_class(target, proposal, test, options, temperature)
        run.advance()
    return run.recorder.draws(run.model.names, settings, test.diagnostics)


def _require(value: Any, name: str, method: str, example: str) -> None:
    """Raise UsageError if ``value`` is a name or a class, say, where an object that has the method is wanted."""
    if isinstance(value, type) or not hasattr(value, method):
        raise UsageError(f"{name} must be an object such as {example}; received {value!r}")
