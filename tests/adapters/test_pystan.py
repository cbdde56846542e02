"""A substitute with Stan's output as PyStan 3 stores it, line by line, for a model with known score.

The lines follow httpstan's writers; tau > 0 and an array of two vectors of two positive numbers, tau and all entries
exponential, so that the score in logarithms is 1 - exp(x).
"""

import json
import sys
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

import steinkit as sk

NAMES = ["tau", "x.1.1", "x.2.1", "x.1.2", "x.2.2"]  # Stan's names, in the same order for both spaces


def line(topic, values):
    return json.dumps({"version": 1, "topic": topic, "values": values}).encode()


def output(free, *, sign=1.0, shift=0.0, header=NAMES):
    """Return the messages of one chain; free, (n, 5), has Stan's order, vector after vector."""
    lines = [line("logger", ["info:"]), line("initialization", [0.0] * 5), line("sample", ["Adaptation terminated"])]
    lines.append(line("diagnostic", ["Step size = 0.8"]))
    for u in free:
        entries = np.exp(u[[0, 1, 3, 2, 4]])
        lp = {"lp__": float((u - np.exp(u)).sum()) + shift, "divergent__": float(u[0] < -2.0), "energy__": u[0]}
        lines.append(line("sample", {**lp, **dict(zip(NAMES, entries, strict=True)), "twice": 2 * entries[0]}))
        potential = sign * (np.exp(u) - 1.0)
        latent = [*zip(header, u, strict=True), *((f"p_{name}", 0.1) for name in header)]
        latent += [(f"g_{name}", slope) for name, slope in zip(header, potential, strict=True)]
        lines.append(line("diagnostic", {**lp, **dict(latent)}))
    return b"\n".join(lines) + b"\n"


def fit(free, **changes):
    """Return a fit of chains, (chains, n, 5); the first three draws are warm-up."""
    fields = {"num_warmup": 3, "num_samples": len(free[0]) - 3, "num_thin": 1, "save_warmup": True}
    return SimpleNamespace(stan_outputs=tuple(output(chain, **changes) for chain in free), **fields)


@pytest.fixture(name="free")
def log_exponential():
    return np.log(np.random.default_rng(6).exponential(1.0, (2, 60, 5)))


def test_stored_draws_and_gradients_are_the_sample_and_its_scores(free):
    target, sample = sk.from_pystan(fit(free))
    assert sample.names == ("log tau", "log x[1,1]", "log x[1,2]", "log x[2,1]", "log x[2,2]")
    # one vector after another, which is C order
    np.testing.assert_array_equal(sample.points, free[:, 3:].reshape(-1, 5))
    np.testing.assert_allclose(sample.scores, 1.0 - np.exp(sample.points), rtol=1e-12)
    assert sample.chain.tolist() == [0] * 57 + [1] * 57
    assert 0 < sample.divergent.sum() < 20
    np.testing.assert_array_equal(sample.divergent, sample.points[:, 0] < -2.0)
    np.testing.assert_array_equal(sample.energy, sample.points[:, 0])
    np.testing.assert_array_equal(target.score(sample.points[5:7]), sample.scores[5:7])
    with pytest.raises(sk.InputError, match="known only at the 114 stored draws"):
        target.score(sample.points[:2] + 0.1)


def test_gradients_of_the_wrong_sign_are_detected(free):
    with pytest.raises(sk.InputError, match=r"stored gradients do not match the stored log densities.*negate them"):
        sk.from_pystan(fit(free, sign=-1.0))


def test_fits_without_gradients(free):
    made = fit(free)
    made.stan_outputs = tuple(
        b"\n".join(x for x in o.splitlines() if b"diagnostic" not in x) for o in made.stan_outputs
    )
    with pytest.raises(sk.InputError, match="the fit contains no gradients"):
        sk.from_pystan(made)
    with pytest.raises(sk.UsageError, match=r"PyStan 3.* got dict"):
        sk.from_pystan({})
    short = fit(free)
    short.num_samples += 1
    with pytest.raises(sk.InputError, match="58 draws in a chain, got 57"):
        sk.from_pystan(short)


@pytest.fixture(name="compiled")
def compiled_module(monkeypatch):
    """Functions of a compiled program, with PyStan's module name."""

    def log_prob_grad(data, u, adjust_transform):
        assert adjust_transform
        return (data["scale"] * (1.0 - np.exp(u))).tolist()

    def log_prob(data, u, adjust_transform):
        return float(data["scale"] * (np.array(u) - np.exp(u)).sum())

    module = SimpleNamespace(log_prob=log_prob, log_prob_grad=log_prob_grad)
    models = ModuleType("httpstan.models")

    def find(name):
        return {"models/known": module}[name]

    models.import_services_extension_module = find
    monkeypatch.setitem(sys.modules, "httpstan", ModuleType("httpstan"))
    monkeypatch.setitem(sys.modules, "httpstan.models", models)


@pytest.mark.usefixtures("compiled")
def test_a_model_is_known_everywhere(free):
    model = SimpleNamespace(model_name="models/known", data={"scale": 1.0})
    target, sample = sk.from_pystan(fit(free), model)
    points = sample.points[:4] + 0.1
    np.testing.assert_allclose(target.score(points), 1.0 - np.exp(points), rtol=1e-12)
    assert target.log_density(points).shape == (4,)


@pytest.mark.usefixtures("compiled")
def test_a_model_that_did_not_make_the_fit(free):
    with pytest.raises(
        sk.InputError,
        match="different priors or data; to test this fit",
    ):
        sk.from_pystan(fit(free), SimpleNamespace(model_name="models/known", data={"scale": 1.1}))
    with pytest.raises(sk.InputError, match="models/gone"):
        sk.from_pystan(fit(free), SimpleNamespace(model_name="models/gone", data={}))


def test_without_pystan_a_model_cannot_be_called(free, monkeypatch):
    monkeypatch.setitem(sys.modules, "httpstan", None)
    monkeypatch.setitem(sys.modules, "httpstan.models", None)
    with pytest.raises(sk.MissingDependencyError, match=r"PyStan .*pip install -e '.\[pystan\]'"):
        sk.from_pystan(fit(free), SimpleNamespace(model_name="models/known", data={}))
