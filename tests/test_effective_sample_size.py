"""Effective sizes, R-hat and errors of means against arviz-stats, to twelve digits."""

import io

import numpy as np
import pytest
from scipy.signal import lfilter
from support.autoregressions import autoregression

import steinkit as sk
from steinkit.chains import (
    bulk_effective_size,
    chain_diagnostics,
    error_of_mean,
    rank_r_hat,
    tail_effective_size,
)

NUMBERS = ("bulk_ess", "tail_ess", "r_hat", "mcse_mean")


def by_arviz(chains):
    """Return the diagnostics of one parameter from arviz-stats."""
    from arviz_stats.base.array import array_stats

    with np.errstate(divide="ignore", invalid="ignore"):
        return {
            "bulk_ess": float(array_stats.ess(chains, method="bulk")),
            "tail_ess": float(array_stats.ess(chains, method="tail", prob=(0.05, 0.95))),
            "r_hat": float(array_stats.rhat(chains, method="rank")),
            "mcse_mean": float(array_stats.mcse(chains, method="mean")),
        }


def require_equal(points):
    """Compare the diagnostics of chains, shape (chains, draws, d), with arviz-stats."""
    found = chain_diagnostics(sk.as_sample(points, dims=("chain", "draw")))
    for j in range(points.shape[2]):
        for name, value in by_arviz(points[:, :, j]).items():
            assert getattr(found, name)[j] == pytest.approx(value, rel=1e-12, abs=0.0, nan_ok=True), name


KINDS = {
    "normal": lambda x, rng: x,
    "ties": lambda x, rng: np.round(x),
    "two values": lambda x, rng: (x > 1.0) + 0.0,
    "mostly one value": lambda x, rng: np.where(rng.random(x.shape) < 0.9, 0.0, x),
    "heavy tails": lambda x, rng: x / rng.standard_normal(x.shape) ** 3,
    "slow": lambda x, rng: lfilter([1.0], [1.0, -0.95], x, axis=1),
    "antithetic": lambda x, rng: lfilter([1.0], [1.0, 0.98], x, axis=1),
    "walks": lambda x, rng: np.cumsum(x, axis=1),
    "apart": lambda x, rng: x + 10.0 * rng.standard_normal((len(x), 1, 1)),
    "one chain stands still": lambda x, rng: np.where(np.arange(len(x))[:, None, None] == 0, 1.0, x),
}


@pytest.mark.parametrize("kind", KINDS)
def test_random_arrays_agree_with_arviz_stats(kind):
    rng = np.random.default_rng(list(KINDS).index(kind))
    for _ in range(8):
        shape = rng.integers(1, 13), rng.choice([4, 5, 6, 7, 8, 9, 16, 33, 50, 101, 400, 1001]), rng.integers(1, 5)
        points = KINDS[kind](rng.standard_normal(shape), rng)
        points = points[:, :, np.ptp(points, axis=(0, 1)) > 0.0]
        if points.size:
            require_equal(points)


@pytest.mark.parametrize("draws", [4, 5, 6, 7, 40, 41])
@pytest.mark.parametrize("chains", [1, 2, 5])
def test_regular_arrays_agree_with_arviz_stats(chains, draws):
    t, k = np.arange(draws), np.arange(chains)[:, None]
    ends = np.where(t == 0, 1.0, 0.0) + 0 * k
    alternating = (t + 0 * k) % 2.0
    middle = np.where(t == draws // 2, 1.0, 0.0) + 0 * k  # an odd number's half chains do not change
    rising = 1.0 * t + 0 * k
    stuck = np.where(k == 0, 1.0, 0.0) + 0 * t
    require_equal(np.stack([ends, alternating, middle, rising] + [stuck] * (chains > 1), axis=2))


@pytest.mark.parametrize(("unit", "shift"), [(2.0**-600, 0.0), (2.0**600, 0.0), (1.0, 2.0**40)])
def test_units_and_offsets_agree_with_arviz_stats(unit, shift):
    chains = np.round(np.random.default_rng(1).standard_normal((3, 200)), 2) * 2.0**-10
    chains = (chains + shift) - shift  # digits that remain after adding an offset
    found, exact = chain_diagnostics((unit * (chains + shift))[:, :, None]), by_arviz(chains)
    assert found.mcse_mean[0] == pytest.approx(unit * exact.pop("mcse_mean"), rel=1e-9)
    for name, value in exact.items():
        assert getattr(found, name)[0] == pytest.approx(value, rel=1e-12)


def test_parameters_are_independent():
    points = np.random.default_rng(4).standard_normal((3, 100, 7))
    points[:, :, 2] = 0.1
    points[:, :, 5] = np.round(points[:, :, 5])
    together = chain_diagnostics(points)
    for j in range(7):
        alone = chain_diagnostics(points[:, :, j : j + 1])
        for name in NUMBERS:
            assert getattr(together, name)[j : j + 1].tobytes() == getattr(alone, name).tobytes()


def test_blocks_of_parameters(monkeypatch):
    points = np.random.default_rng(5).standard_normal((2, 50, 7))
    whole = chain_diagnostics(points)
    known = {name: getattr(whole, name) for name in NUMBERS}
    monkeypatch.setattr("steinkit.chains._AT_ONCE", 300)  # blocks of three, three and one coordinates
    again = chain_diagnostics(points)
    for name, values in known.items():
        np.testing.assert_array_equal(getattr(again, name), values)


def test_the_comparison_detects_errors_in_the_eleventh_digit(monkeypatch):
    points = np.random.default_rng(7).standard_normal((2, 50, 1))
    require_equal(points)
    for function in (bulk_effective_size, tail_effective_size, rank_r_hat, error_of_mean):
        with monkeypatch.context() as patched:
            patched.setattr(
                f"steinkit.chains.{function.__name__}", lambda chains, whole=function: whole(chains) * (1.0 + 1e-11)
            )
            with pytest.raises(AssertionError):
                require_equal(points)


def interleaved(seed, chains, n, correlation):
    """Return draws of stationary AR(1) chains, step by step, as from emcee's ``get_chain(flat=True)``."""
    return autoregression(np.random.default_rng(seed).standard_normal((n, chains, 3)), correlation)


@pytest.mark.parametrize(("chains", "correlation"), [(4, 0.5), (32, 0.7), (100, 0.4)])
def test_interleaved_chains_are_detected(chains, correlation):
    x = interleaved(1, chains, 250, correlation)
    with pytest.warns(sk.ReadingWarning, match=f"rows {chains} apart are correlated"):
        flat = sk.chain_diagnostics(x.reshape(-1, 3))
    labelled = sk.chain_diagnostics(x.swapaxes(0, 1))
    np.testing.assert_allclose(flat.bulk_ess, labelled.bulk_ess, rtol=1e-10)
    stream = io.StringIO()
    sk.write_sample(sk.Sample(x.reshape(-1, 3)), stream)
    with pytest.warns(sk.ReadingWarning, match=f"rows {chains} apart"):
        read = sk.read_sample(io.StringIO(stream.getvalue()))
    np.testing.assert_array_equal(read.chain, np.tile(range(chains), 250))


@pytest.mark.filterwarnings("ignore:rows 32 apart:steinkit.ReadingWarning")
def test_exact_interleaved_chains_pass():
    target = sk.targets.Normal(np.zeros(3))
    found = [sk.verdict(interleaved(seed, 32, 60, 0.7).reshape(-1, 3), target) for seed in range(3)]
    assert sum(each.p < 0.05 for each in found) <= 1
    assert all(each.ess < 430 for each in found)  # 1920 * 0.3 / 1.7 = 339 for the means


@pytest.mark.parametrize(
    "draw",
    [
        lambda rng: rng.standard_normal((400, 2)),
        lambda rng: rng.standard_cauchy((400, 2)),
        lambda rng: rng.poisson(1.0, (400, 2)),
        lambda rng: interleaved(int(rng.integers(1000)), 1, 400, 0.95)[:, 0],
        lambda rng: interleaved(int(rng.integers(1000)), 1, 400, -0.7)[:, 0],
    ],
    ids=["normal", "cauchy", "counts", "slow", "antithetic"],
)
def test_other_draws_are_one_chain(draw):
    for seed in range(40):
        assert sk.as_sample(draw(np.random.default_rng(seed))).chain is None
