"""The bundled draws are reproducible by `make_data.py`, and have the documented accuracy and ranks."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

import steinkit as sk

EXAMPLES = Path(__file__).parents[1] / "examples"
DATA = EXAMPLES / "data"
EXACT_MEAN, EXACT_SD = np.array([0.5192, 0.0474]), np.array([0.6772, 1.3215])  # by quadrature on a grid


@pytest.fixture(scope="module")
def make_data():
    spec = importlib.util.spec_from_file_location("make_data", EXAMPLES / "make_data.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def target():
    return sk.targets.MixturePosterior()


@pytest.mark.example
@pytest.mark.parametrize("name", ["metropolis.csv", "sgld_5e-3.csv", "sgld_5e-2.csv", "sgld_nodal.csv"])
def test_the_files_are_made_again_byte_for_byte(make_data, target, tmp_path, name):
    sk.write_sample(make_data.SAMPLES[name](target), tmp_path / name)
    assert (tmp_path / name).read_bytes() == (DATA / name).read_bytes()


def test_every_file_is_made_by_the_script(make_data):
    assert {path.name for path in DATA.glob("*.csv")} == set(make_data.SAMPLES)


@pytest.mark.parametrize("name", ["metropolis.csv", "sgld_5e-3.csv", "sgld_5e-2.csv"])
def test_names_and_dimension_match_the_target(target, name):
    sample = sk.read_sample(DATA / name)
    assert sample.names == target.names
    assert len(sample) == 1000
    assert sample.distinct().merged == 0


def test_the_exact_moments_agree_with_quadrature(target):
    # nine times as many points do not change nine digits
    first, second = np.linspace(-4.0, 5.0, 121), np.linspace(-6.0, 6.0, 161)
    grid = np.stack(np.meshgrid(first, second, indexing="ij"), axis=-1).reshape(-1, 2)
    log_density = target.log_density(grid)
    mass = np.exp(log_density - log_density.max())
    mass /= mass.sum()
    mean = mass @ grid
    np.testing.assert_allclose(mean, EXACT_MEAN, atol=2e-4)
    np.testing.assert_allclose(np.sqrt(mass @ (grid - mean) ** 2), EXACT_SD, atol=2e-4)


def standard_errors(points):
    """Return the errors of the first two moments about the exact mean, in standard errors of independent draws."""
    mean = (points.mean(axis=0) - EXACT_MEAN) / (EXACT_SD / np.sqrt(len(points)))
    squares = (points - EXACT_MEAN) ** 2
    return mean, (squares.mean(axis=0) - EXACT_SD**2) / (squares.std(axis=0) / np.sqrt(len(points)))


def test_metropolis_has_the_moments_of_the_posterior_and_both_modes():
    points = sk.read_sample(DATA / "metropolis.csv").points
    mean, spread = standard_errors(points)
    assert np.abs(mean).max() < 3.5
    assert np.abs(spread).max() < 3.5
    upper = (points[:, 1] > 0.0).mean()
    assert abs(upper - 0.5165) < 3.5 * np.sqrt(0.25 / len(points))


def test_metropolis_draws_are_nearly_independent():
    theta2 = sk.read_sample(DATA / "metropolis.csv").points[:, 1].reshape(200, 5) - EXACT_MEAN[1]
    neighbours = (theta2[:, 1:] * theta2[:, :-1]).mean() / EXACT_SD[1] ** 2
    assert abs(neighbours) < 3.5 / np.sqrt(800)


def test_the_large_step_size_fails_the_same_test():
    _, spread = standard_errors(sk.read_sample(DATA / "sgld_5e-2.csv").points)
    assert spread.min() > 10.0


@pytest.mark.slow
def test_the_exact_sample_has_a_lower_discrepancy_than_both_biased_ones(target):
    good, small_step, large_step = (
        sk.graph_stein_discrepancy(sk.read_sample(DATA / name), target)
        for name in ("metropolis.csv", "sgld_5e-3.csv", "sgld_5e-2.csv")
    )
    assert max(result.gap for result in (good, small_step, large_step)) <= 1e-6
    assert 1.5 * good.upper < small_step.lower
    assert 10.0 * small_step.upper < large_step.lower
    printed = (DATA / "README.md").read_text(encoding="utf-8")
    for result in (good, small_step, large_step):
        assert f"| {result.value:.4f} |" in printed
