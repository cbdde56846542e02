"""``steinkit sample`` and ``steinkit samplers``."""

import itertools
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import steinkit as sk
from steinkit import samplers
from steinkit.cli.sampler_commands import SAMPLER_OPTIONS
from steinkit.samplers import registry

_COMMAND = str(Path(sys.executable).with_name("steinkit"))
_LANGEVIN = ("--step-size", "1e-3", "--batch-size", "5")
_WALK = ("--proposal-scale", "0.2")
_SETTINGS = {
    "sgld": (*_LANGEVIN, "--decay", "0.3"),
    "corrected-sgld": (*_LANGEVIN, "--epsilon", "0.1"),
    "approximate-mh": (*_WALK, "--batch-size", "10"),
    "barker-mh": (*_WALK, "--batch-size", "10"),
    "subsampling-mh": (*_WALK, "--factor", "1.5"),
    "rwmh": _WALK,
    "barker": _WALK,
    "mala": ("--step-size", "0.05"),
    "iid": (),
}
_RWMH = ("sample", "rwmh", "--target", "normal", "--proposal-scale", "1")


def _same(sample, draws):
    expected = draws.to_sample()
    for part in ("points", "cost", "weights", "chain", "draw"):
        np.testing.assert_array_equal(getattr(sample, part), getattr(expected, part))


@pytest.mark.parametrize(("name", "ending"), [*zip(_SETTINGS, itertools.cycle(["csv", "npz"]), strict=False)])
def test_score_reads_written_draws(steinkit, name, ending):
    arguments = ("--target", "mixture-posterior", "--draws", "30", "--chains", "2", "--seed", "4")
    outcome = steinkit("sample", name, *arguments, *_SETTINGS[name], "-o", f"draws.{ending}")
    assert (outcome.code, outcome.out) == (0, ""), outcome.err
    assert "2 chains of 30 draws" in outcome.err
    sample = sk.read_sample(f"draws.{ending}")
    assert (len(sample), sample.names) == (60, ("theta1", "theta2"))
    assert sample.cost is not None
    assert sample.chain.tolist() == [0] * 30 + [1] * 30
    assert (sample.weights is not None) == (name == "sgld")
    arguments = ("--target", "mixture-posterior", "--measure", "ksd", "--reference", "0", "--no-verdict", "--json")
    scored = steinkit("score", f"draws.{ending}", *arguments)
    assert scored.document["sample"]["draws"] == 60
    assert scored.document["results"][0]["lower"] > 0.0


def test_draws_are_those_of_the_library(steinkit):
    arguments = ("--step-size", "1e-3", "--batch-size", "5", "--draws", "20", "--burn-in", "3", "--thin", "2")
    more = ("--decay", "0.5", "--start", "0.5,1", "--start", "-1,2", "--chains", "2", "--seed", "9")
    steinkit("sample", "sgld", "--target", "mixture-posterior", *arguments, *more, "-o", "draws.npz")
    options = {"step_size": 1e-3, "batch_size": 5, "draws": 20, "burn_in": 3, "thin": 2, "decay": 0.5}
    draws = samplers.sgld(sk.targets.MixturePosterior(), **options, start=[[0.5, 1.0], [-1.0, 2.0]], chains=2, seed=9)
    _same(sk.read_sample("draws.npz"), draws)


def test_json_and_its_seeds(steinkit):
    arguments = ("sample", "barker-mh", "--target", "logistic-posterior", "--batch-size", "10", *_WALK, "--draws", "25")
    outcome = steinkit(*arguments, "--chains", "2", "-o", "two.npz", "--json")
    document = outcome.document
    assert document["draws"] == [25, 25]
    assert (document["sampler"], document["target"], document["file"]) == ("barker-mh", "logistic-posterior", "two.npz")
    assert document["settings"]["batch_size"] == 10
    two = sk.read_sample("two.npz")
    assert document["cost"] == [two.cost[24], two.cost[49]]
    assert all(0.0 < share < 1.0 for share in document["acceptance"])
    assert document["cost"][0] == pytest.approx(25 * document["mean_batch_size"][0])
    for name in ("acceptance", "cost"):
        assert f"; {name} {np.mean(document[name]):,.4g}" in outcome.err
    steinkit(*arguments, "--seed", f"{document['seeds'][1]},", "-o", "one.npz")
    np.testing.assert_array_equal(sk.read_sample("one.npz").points, two.points[25:])


def test_a_budget_ends_chains_at_different_lengths(steinkit):
    arguments = ("sample", "approximate-mh", "--target", "mixture-posterior", "--batch-size", "10", *_WALK)
    more = ("--chains", "3", "--budget", "1e3", "-o", "draws.csv")
    outcome = steinkit(*arguments, *more, "--json")
    lengths = outcome.document["draws"]
    sample = sk.read_sample("draws.csv")
    assert np.bincount(sample.chain).tolist() == lengths
    assert len(set(lengths)) > 1
    assert f"3 chains of {min(lengths)} to {max(lengths)} draws" in steinkit(*arguments, *more).err


def test_standard_output_has_only_the_draws(steinkit, folder):
    outcome = steinkit("sample", "herding", "--target", "uniform", "--draws", "3", "-o", "-")
    assert outcome.out.splitlines()[:2] == ["chain,draw,x1,cost", "0,0,1.0,0.0"]
    assert "herding on uniform" in outcome.err
    assert list(folder.iterdir()) == []


def test_an_own_target(steinkit, write_code):
    model = write_code(
        "print('loading')\n"
        "target = sk.Target(score=lambda x: -x, log_density=lambda x: -0.5 * (x**2).sum(axis=1), names=['a', 'b'])\n"
    )
    outcome = steinkit("sample", "mala", "--target", f"{model}:target", "--step-size", "1", "--draws", "9", "-o", "-")
    assert outcome.out.startswith("chain,draw,a,b,cost\n")
    assert "loading" in outcome.err


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ((*_RWMH, "--draws", "3"), 2, "-o"),
        ((*_RWMH, "-o", "x.csv"), 2, "--draws or --budget"),
        ((*_RWMH, "--draws", "3", "-o", "runs/x.csv"), 3, "runs"),
        ((*_RWMH, "--draws", "3", "-o", "x.npy"), 2, ".csv or .npz, got x.npy"),
        ((*_RWMH, "--draws", "3", "-o", "-", "--json"), 2, "both write to standard output"),
        ((*_RWMH, "--draws", "3", "--step-size", "1", "-o", "x.csv"), 2, "no option --step-size"),
        ((*_RWMH, "--draws", "1.5", "-o", "x.csv"), 2, "expected a whole number, got '1.5'"),
        ((*_RWMH, "--draws", "3", "--seed", "-1", "-o", "x.csv"), 2, "seed"),
        ((*_RWMH, "--draws", "3", "--start", "1", "--start", "1,2", "-o", "x.csv"), 2, "got 1, 2"),
        (("sample", "sgdl", "--target", "normal", "-o", "x.csv"), 2, 'did you mean "sgld"'),
        (("sample", "sgld", "--target", "normal", "--draws", "3", "-o", "x.csv"), 2, "--step-size and --batch-size"),
        (("sample", "sgld", "--target", "normal", "--draws", "3", *_LANGEVIN, "-o", "x.csv"), 2, "steinkit.Posterior"),
        (("sample", "iid", "--target", "logistic-posterior", "--draws", "3", "-o", "x.csv"), 2, "has no sampler"),
        (("sample", "sobol", "--target", "normal", "--draws", "3", "-o", "x.csv"), 2, "Uniform"),
    ],
)  # fmt: skip
def test_refused(steinkit, folder, arguments, code, message):
    outcome = steinkit(*arguments)
    assert (outcome.code, outcome.out) == (code, ""), outcome
    assert message in outcome.err
    assert list(folder.iterdir()) == []


def test_a_diverged_chain_keeps_the_old_file(steinkit, folder):
    (folder / "x.csv").write_text("of an earlier run")
    arguments = ("--target", "logistic-posterior", "--step-size", "1e200", "--batch-size", "5", "--draws", "50")
    outcome = steinkit("sample", "sgld", *arguments, "-o", "x.csv")
    assert outcome.code == 3
    assert re.search(r"chain 1, step \d+", outcome.err)
    assert (folder / "x.csv").read_text() == "of an earlier run"


def test_a_closed_pipe_is_not_an_error(folder):
    arguments = [_COMMAND, "sample", "iid", "--target", "normal", "--draws", "100000", "-o", "-"]
    process = subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    process.stdout.readline()
    process.stdout.close()
    err = process.stderr.read()
    process.stderr.close()
    assert process.wait(timeout=60) == 0, err
    assert b"Exception" not in err


def test_every_option_is_available():
    taken = set()
    for name in registry.sampler_names():
        sampler = registry.find_sampler(name)
        taken |= sampler.options().keys()
    assert SAMPLER_OPTIONS.keys() == taken


def test_list_of_samplers(steinkit):
    lines = steinkit("samplers").out.splitlines()
    listed = {each["name"]: each for each in steinkit("samplers", "--json").document["samplers"]}
    assert tuple(listed) == registry.sampler_names()
    for name, entry in listed.items():
        assert entry["summary"] in lines[lines.index(name) + 1]
    assert {"name": "--step-size", "required": True, "default": None} in listed["mala"]["options"]
    assert {"name": "--thin", "required": False, "default": 1} in listed["mala"]["options"]
