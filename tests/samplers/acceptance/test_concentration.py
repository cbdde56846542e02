"""The concentration test against its own formula, and its bounds."""

import numpy as np
import pytest
from support.looks import look

import steinkit as sk
from steinkit import samplers
from steinkit.samplers import (
    ConcentrationTest,
)

NODAL = sk.targets.LogisticRegression.nodal()


@pytest.mark.parametrize("seen", [100, 400, 800])
def test_concentration_decides_at_its_bound(seen):
    test, N, number = ConcentrationTest(0.05, 100, factor=1.5, power=3.0), 1000, 2
    L = np.log(5 / (0.05 * 2 / (3 * 3**3)))
    rho = 1 - (seen - 1) / N if seen <= N / 2 else (1 - seen / N) * (1 + 1 / seen)
    c = np.sqrt(0.02) * np.sqrt(2 * rho * L / seen) + (7 / 3 + 3 / np.sqrt(2)) * 2 * 1.5 * L / seen
    mu_0 = 2.0 / N * (-0.7 - 0.3)
    for factor, decided in ((1 - 1e-9, False), (1 + 1e-9, True)):
        verdict = test.decide(look(number=number, seen=seen, mean=mu_0 - factor * c))
        assert verdict.decided == decided
        assert not verdict.accepted
        assert verdict.wanted == min(1.5 * seen, N)


def test_a_bound_of_the_users_serves_like_the_oracles():
    norms = np.linalg.norm(NODAL.data[0], axis=1).max()

    def bound(states, proposals):
        return norms * np.linalg.norm(proposals - states, axis=1)

    run = {"proposal_scale": 0.01, "batch_size": 5, "epsilon": 0.3, "chains": 4, "draws": 50}
    oracle, users = (samplers.subsampling_mh(NODAL, bound=b, **run) for b in ("oracle", bound))
    assert users.diagnostics == {}
    assert (users.mean_batch_size >= oracle.mean_batch_size).all()  # the bound is looser
    with pytest.raises(sk.InputError, match=r"bound must return shape \(4,\)"):
        samplers.subsampling_mh(NODAL, bound=lambda states, proposals: -1.0, **run)
