"""Reference discrepancies, effective sizes, and blocks of long runs."""

import numpy as np
import pytest
from support.autoregressions import autoregression

import steinkit as sk
from steinkit.discrepancy.reference import LongRun, effective_size

TARGET = sk.targets.Normal(0.0, dim=2)


def test_reference_scores_draws_from_the_target():
    reference = sk.reference_discrepancy(TARGET, 40, 3, rng=5)
    generator = np.random.default_rng(5).spawn(3)[1]
    by_hand = sk.graph_stein_discrepancy(TARGET.sample(40, generator), TARGET)
    assert (reference.lower[1], reference.upper[1]) == (by_hand.lower, by_hand.upper)
    assert reference.median == np.median(reference.values)
    assert reference.n == 40


def test_samples_do_not_depend_on_their_number():
    few, many = (sk.reference_discrepancy(TARGET, 30, repeats) for repeats in (1, 3))
    np.testing.assert_array_equal(few.values, many.values[:1])


def test_settings_are_used():
    classical = sk.reference_discrepancy(TARGET, 30, 1)
    doubled = sk.reference_discrepancy(TARGET, 30, 1, stein_factors=(2, 2, 2))
    assert doubled.values[0] == pytest.approx(2 * classical.values[0], rel=1e-5)


def test_invalid_arguments_are_refused():
    with pytest.raises(sk.UsageError, match="no sampler"):
        sk.reference_discrepancy(sk.Target(lambda x: -x, dim=2), 10, 1)
    with pytest.raises(sk.UsageError, match="repeats"):
        sk.reference_discrepancy(TARGET, 10, 0)


def chain(n, slowness, seed=0, dim=2):
    """Return an exact chain for a standard normal target, with ESS n (1 - slowness) / (1 + slowness)."""
    return sk.Sample(autoregression(np.random.default_rng(seed).standard_normal((n, dim)), slowness))


class TestEffectiveSize:
    def test_independent_draws(self):
        assert all(effective_size(chain(1000, 0.0, seed)) == 1000 for seed in range(20))

    def test_chain_has_two_digits(self):
        found = effective_size(chain(10_000, 0.5))
        assert found == pytest.approx(10_000 / 3.0, rel=0.3)
        assert found % 100 == 0

    def test_weights(self):
        weights = np.where(np.arange(1000) < 100, 1.0, 1e-9)
        assert effective_size(sk.Sample(chain(1000, 0.0).points, weights=weights)) == 100

    def test_undefined_ess(self):
        assert effective_size(sk.Sample(np.zeros((50, 1)))) == 50
        assert effective_size(sk.Sample(np.arange(3.0)[:, None])) == 3

    def test_minimum_is_ten(self):
        assert effective_size(sk.Sample(np.linspace(0.0, 1.0, 1000)[:, None])) == 10


class TestLongRun:
    def test_blocks_are_successive_draws_of_the_effective_size(self):
        run = LongRun(chain(20_000, 0.8), "run")
        blocks = run.blocks(100)
        assert len(blocks) == 20
        assert {len(each) for each in blocks} == {len(blocks[0])}
        assert len(blocks[0]) == pytest.approx(100 * 9.0, rel=0.2)
        np.testing.assert_array_equal(blocks[0].points, run.draws.points[: len(blocks[0])])
        np.testing.assert_array_equal(blocks[-1].points, run.draws.points[-len(blocks[0]) :])

    def test_blocks_do_not_overlap(self):
        run = LongRun(sk.Sample(chain(1000, 0.0).points), "run")
        blocks = run.blocks(300)
        assert len(blocks) in (2, 3)
        rows = np.concatenate([each.points for each in blocks])
        assert len(np.unique(rows, axis=0)) == len(rows)

    def test_blocks_follow_chains(self):
        draws = chain(1000, 0.0)
        (first, *_) = LongRun(sk.Sample(draws.points, chain=np.arange(1000) % 2), "run").blocks(300)
        np.testing.assert_array_equal(first.points, draws.points[::2][: len(first)])

    def test_short_runs_are_refused(self):
        with pytest.raises(sk.InputError, match="500; got"):
            LongRun(chain(1000, 0.8), "run").blocks(500)

    def test_coordinates_are_matched_by_name(self):
        run = LongRun(sk.Sample(np.arange(8.0).reshape(4, 2), names=("b", "a")), "run.csv")
        sample = sk.Sample([[0.0, 0.0]], names=("a", "b"))
        np.testing.assert_array_equal(run.like(sample).draws.points[0], [1.0, 0.0])
        with pytest.raises(sk.InputError, match="a, c; got b, a"):
            run.like(sk.Sample([[0.0, 0.0]], names=("a", "c")))

    def test_reference_has_the_values_of_the_blocks(self):
        run = LongRun(chain(2000, 0.5), "run.csv")
        reference = run.reference(TARGET, 150, discrepancy=sk.kernel_stein_discrepancy)
        alone = [sk.kernel_stein_discrepancy(each, TARGET).value for each in run.blocks(150)]
        assert reference.values.tolist() == pytest.approx(alone, rel=1e-12, abs=0)
        assert (reference.effective, reference.run, reference.n) == (150, "run.csv", len(run.blocks(150)[0]))
        document = reference.to_dict()
        assert (document["draws"], document["effective_draws"], document["run"]) == (reference.n, 150, "run.csv")
