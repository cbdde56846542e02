"""Cost and budget of a run, against the number of data points passed to the functions of the posterior."""

from dataclasses import dataclass

import numpy as np
import pytest
from support.sampler_problems import plain

import steinkit as sk
from steinkit.samplers import AusterityTest, Langevin, MetropolisTest, MinibatchBarkerTest, RandomWalk, RunOptions
from steinkit.samplers.chains.run import run_chains

NODAL = sk.targets.LogisticRegression.nodal()  # 53 data points


@dataclass
class Counted:
    """The nodal posterior with plain functions, and the number of rows passed to them."""

    likelihood: int = 0
    gradient: int = 0

    def posterior(self):
        def log_likelihood(theta, x, y):
            self.likelihood += len(y)
            return NODAL.log_likelihood(theta, x, y)

        def grad_log_likelihood(theta, x, y):
            self.gradient += len(y)
            return NODAL.grad_log_likelihood(theta, x, y)

        return plain(NODAL, "dim", log_likelihood=log_likelihood, grad_log_likelihood=grad_log_likelihood)


@dataclass(frozen=True)
class Case:
    """Proposal and test, with the documented cost of a step."""

    proposal: object
    test: object
    gradient: int  # data points of the gradient that are counted
    first: int  # data points of the first stage


CASES = {
    "walk, growing batches": Case(RandomWalk(0.3), AusterityTest(0.2, 5), 0, 5),
    "walk, all data": Case(RandomWalk(0.3), MetropolisTest(), 0, 53),
    "minibatch gradient, growing batches": Case(Langevin(0.1, 7), AusterityTest(0.2, 5), 7, 5),
    "minibatch gradient, Barker": Case(Langevin(0.1, 11), MinibatchBarkerTest(6), 11, 6),
    "minibatch gradient, all data": Case(Langevin(0.1, 7), MetropolisTest(), 7, 53),
    "all data's gradient, growing batches": Case(Langevin(0.1), AusterityTest(0.2, 5), 53, 5),
    "walk, austerity at 0": Case(RandomWalk(0.3), AusterityTest(0.0, 5), 0, 53),
    "all data's gradient, austerity at 0": Case(Langevin(0.1), AusterityTest(0.0, 5), 0, 53),
    "minibatch gradient, austerity at 0": Case(Langevin(0.1, 7), AusterityTest(0.0, 5), 7, 53),
    "all data's gradient, all data": Case(Langevin(0.1), MetropolisTest(), 0, 53),
}


def run(case, posterior=NODAL, **options):
    return run_chains("run", posterior, case.proposal, case.test, RunOptions(seed=4, **options), 1.0)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_the_cost_is_the_number_of_evaluations(case):
    steps, counted = 40, Counted()
    draws = run(case, counted.posterior(), draws=steps)
    checks = Counted()
    checks.posterior().check_shapes(np.zeros(6))
    likelihood, gradient = counted.likelihood - checks.likelihood, counted.gradient - checks.gradient
    if case.test.reads_all(53):  # the value at the state is stored
        assert likelihood == 53 * (steps + 1)
        tested = 53 * steps
    else:
        tested = likelihood // 2  # at the state and at the proposal
    proposed = gradient // 2 if case.proposal.needs_gradient and case.proposal.batch_size else max(gradient - 53, 0)
    assert draws.batch_sizes.sum() == tested
    counted_gradient = 0 if case.test.reads_all(53) and proposed == 53 * steps else proposed
    assert counted_gradient == case.gradient * steps
    assert draws.cost[0, -1] == tested + counted_gradient
    np.testing.assert_array_equal(np.diff(draws.cost[0], prepend=0.0), draws.batch_sizes[0] + case.gradient)


@pytest.mark.parametrize("posterior", [NODAL, Counted().posterior()], ids=["compiled", "together"])
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_a_step_starts_if_its_gradient_and_first_batch_fit_into_the_budget(case, posterior):
    batches = run(case, posterior, draws=60).batch_sizes[0].tolist()
    spent = np.cumsum([read + case.gradient for read in batches])
    least = case.gradient + case.first
    for steps in (1, 2, 5, 11, 30):
        for budget in (spent[steps - 1] + least - 1, spent[steps - 1] + least):
            taken, left = 0, int(budget)
            while left >= least:
                left -= batches[taken] + case.gradient
                taken += 1
            draws = run(case, posterior, budget=int(budget))
            assert draws.batch_sizes[0].tolist() == batches[:taken]
            assert draws.cost[0].tolist() == spent[:taken].tolist()
        assert taken == steps + 1  # the last budget covers one more step


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_a_budget_below_the_cost_of_the_first_draw_is_rejected(case):
    least = 3 * (case.gradient + case.first)
    with pytest.raises(sk.UsageError, match=f"budget.* {least}.* {least - 1}"):
        run(case, budget=least - 1, burn_in=1, thin=2)
    if case.test.reads_all(53):  # constant cost per step
        assert run(case, budget=least, burn_in=1, thin=2).cost.tolist() == [[least]]


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_arrays_returned_by_functions_are_not_modified(case):
    def constant(*shape):
        kept = np.zeros(shape)
        kept.setflags(write=False)
        return kept

    functions = (NODAL.log_likelihood, NODAL.grad_log_likelihood)
    priors = (lambda thetas: constant(len(thetas)), lambda thetas: constant(*thetas.shape))
    fresh = (lambda thetas: np.zeros(len(thetas)), np.zeros_like)
    found, wanted = (
        run(case, sk.Posterior(NODAL.data, *functions, *prior, dim=6), draws=20, chains=3) for prior in (priors, fresh)
    )
    assert found.points.tobytes() == wanted.points.tobytes()
    assert found.acceptance.max() > 0.0
