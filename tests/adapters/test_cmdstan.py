"""Files as CmdStan writes them, of a model whose score is known: mu ~ N(1, 2^2), tau ~ Exponential(1), u = log tau."""

from __future__ import annotations

import json

import numpy as np
import pytest

import steinkit as sk

SETTINGS = """\
# stan_version_major = 2
# stan_version_minor = 36
# stan_version_patch = 0
# model = waiting_model
"""
SAMPLE = """\
# method = sample (Default)
#   sample
#     num_samples = 60 (Default)
#     num_warmup = 4
#     save_warmup = {warm}
#     thin = 1 (Default)
# output
#   file = output.csv
#   diagnostic_file = diagnostic.csv
"""
LOG_PROB = """\
# method = log_prob
#   log_prob
#     unconstrained_params = unconstrained.json
#     constrained_params =  (Default)
#     jacobian = true (Default)
"""
OWN = "lp__,accept_stat__,stepsize__,treedepth__,n_leapfrog__,divergent__,energy__"
ELAPSED = "# \n#  Elapsed Time: 0.01 seconds (Warm-up)\n#                0.02 seconds (Sampling)\n# \n"


def unconstrained(n=60, seed=7):
    make = np.random.default_rng(seed)
    return np.column_stack([make.normal(1.0, 2.0, n), np.log(make.exponential(1.0, n))])


def log_density(points):
    return -((points[:, 0] - 1.0) ** 2) / 8.0 - np.exp(points[:, 1]) + points[:, 1]


def score(points):
    return np.column_stack([-(points[:, 0] - 1.0) / 4.0, 1.0 - np.exp(points[:, 1])])


def rows(values):
    return "".join(",".join(f"{value:.17g}" for value in row) + "\n" for row in values)


def diagnostic_csv(points, *, sign=-1.0, warm="false", first=None):
    own = [*np.full((4, len(points)), 0.9), np.arange(len(points)) % 7 == 3, np.arange(len(points)) / 8.0]
    table = np.column_stack([log_density(points), *own, points, np.ones_like(points), sign * score(points)])
    header = f"{OWN},mu,tau.1,p_mu,p_tau.1,g_mu,g_tau.1\n"
    adaptation = "# Adaptation terminated\n# Step size = 0.8\n# Diagonal elements of inverse mass matrix:\n# 4, 1\n"
    warmup = "" if first is None else rows(table[:first])
    settings = SETTINGS + SAMPLE.format(warm=warm)
    return settings + header + warmup + adaptation + rows(table[first:]) + ELAPSED


def log_prob_csv(points):
    table = np.column_stack([log_density(points), score(points)])
    return f"{SETTINGS}{LOG_PROB}lp__,g_mu,g_tau.1\n{rows(table)}"


def write(path, text):
    path.write_text(text)
    return path


def test_a_diagnostic_file_is_a_sample_with_scores(tmp_path):
    points = unconstrained()
    file = write(tmp_path / "diagnostic.csv", diagnostic_csv(points, warm="true", first=4))
    sample = sk.read_sample(file)
    assert sample.names == ("unconstrained mu", "unconstrained tau[1]")
    np.testing.assert_array_equal(sample.points, points[4:])
    np.testing.assert_allclose(sample.scores, score(points[4:]), rtol=1e-15)
    one = sk.read_sample(file, columns=["unconstrained tau[1]"])
    np.testing.assert_allclose(one.scores[:, 0], score(points[4:])[:, 1], rtol=1e-15)


def test_chains_of_diagnostic_files_with_their_target(tmp_path):
    chains = [unconstrained(seed=seed) for seed in (1, 2)]
    files = [write(tmp_path / f"diagnostic_{k}.csv", diagnostic_csv(chain)) for k, chain in enumerate(chains)]
    target, sample = sk.from_cmdstan(files)
    np.testing.assert_array_equal(sample.points, np.concatenate(chains))
    assert sample.chain.tolist() == [0] * 60 + [1] * 60
    np.testing.assert_array_equal(target.score(sample.points), sample.scores)
    assert sample.divergent.tolist() == 2 * [k % 7 == 3 for k in range(60)]
    assert sample.energy.tolist() == 2 * [k / 8.0 for k in range(60)]
    assert not target.has_log_density  # which is of use away from the draws only
    again = sk.from_cmdstan(str(tmp_path / "diagnostic_*.csv"))[1]
    np.testing.assert_array_equal(again.points, sample.points)


def test_a_gradient_of_the_other_sign_is_recognised(tmp_path):
    file = write(tmp_path / "diagnostic.csv", diagnostic_csv(unconstrained(), sign=1.0))
    with pytest.raises(sk.InputError, match=r"not those of the stored log densities.*negate them"):
        sk.from_cmdstan(file)


def test_gradients_of_log_prob_belong_to_draws_of_their_own(tmp_path):
    points = unconstrained()
    gradients = write(tmp_path / "log_prob.csv", log_prob_csv(points))
    given = write(tmp_path / "unconstrained.json", json.dumps({"params_r": points.tolist()}))
    turned = [
        sk.Sample(points=points[:, ::-1], names=names)
        for names in (["tau[1]", "mu"], ["unconstrained tau[1]", "unconstrained mu"])
    ]
    for draws in (given, points, *turned):
        target, sample = sk.from_cmdstan(draws, gradients)
        assert sample.names == ("unconstrained mu", "unconstrained tau[1]")
        np.testing.assert_array_equal(sample.points, points)
        np.testing.assert_allclose(target.score(sample.points), score(points), rtol=1e-15)


def test_what_does_not_belong_together(tmp_path):
    points = unconstrained()
    gradients = write(tmp_path / "log_prob.csv", log_prob_csv(points))
    with pytest.raises(sk.InputError, match="there are 59 draws and gradients of 60"):
        sk.from_cmdstan(points[1:], gradients)
    with pytest.raises(sk.InputError, match=r"the draws have 1 coordinates and the gradients 2: mu, tau\[1\]"):
        sk.from_cmdstan(points[:, 0], gradients)
    with pytest.raises(sk.InputError, match=r"mu, sigma; got 'tau\[1\]'"):
        sk.from_cmdstan(sk.Sample(points=points, names=["mu", "sigma"]), gradients)
    with pytest.raises(sk.InputError, match="not those of the stored log densities"):
        sk.from_cmdstan(points[::-1], gradients)
    with pytest.raises(sk.InputError, match=r"holds gradients, and not the draws .* from_cmdstan\(draws, gradients\)"):
        sk.read_sample(gradients)
    output = write(tmp_path / "output.csv", f"{SETTINGS}{SAMPLE.format(warm='false')}lp__,mu,tau.1\n-1,2,3\n-1,2,4\n")
    with pytest.raises(sk.InputError, match="holds draws and no gradients; let CmdStan write them"):
        sk.from_cmdstan(output)
    with pytest.raises(sk.InputError, match="The draws of an output file are constrained"):
        sk.from_cmdstan(output, gradients)
    with pytest.raises(sk.InputError, match=r"is not the output of CmdStan's log_prob.*lp__, mu, tau"):
        sk.from_cmdstan(points, output)
    wrong = write(tmp_path / "wrong.json", json.dumps({"params": 1}))
    with pytest.raises(sk.InputError, match="not a JSON file with rows of unconstrained parameters as params_r"):
        sk.from_cmdstan(wrong, gradients)
    with pytest.raises(sk.UsageError, match="a path or several are wanted; received ndarray"):
        sk.from_cmdstan(points)


def test_columns_of_several_files_go_by_their_names(tmp_path):
    points = unconstrained()
    first = write(tmp_path / "1.csv", log_prob_csv(points[:30]))
    table = np.column_stack([log_density(points), score(points)])[30:, [0, 2, 1]]
    second = write(tmp_path / "2.csv", f"{SETTINGS}{LOG_PROB}lp__,g_tau.1,g_mu\n{rows(table)}")
    np.testing.assert_allclose(sk.from_cmdstan(points, [first, second])[1].scores, score(points), rtol=1e-15)
    short = write(tmp_path / "3.csv", f"{SETTINGS}{LOG_PROB}lp__,g_mu\n{rows(table[:, [0, 2]])}")
    with pytest.raises(sk.InputError, match=r'3\.csv has no column "g_tau\.1"; it has "lp__", "g_mu"'):
        sk.from_cmdstan(points, [first, short])


def test_diagnostics_without_log_densities_are_refused(tmp_path):
    file = write(tmp_path / "diagnostic.csv", f"{SETTINGS}mu,p_mu,g_mu\n1,2,3\n2,2,4\n")
    with pytest.raises(sk.InputError, match=r'diagnostic\.csv has no column "lp__"'):
        sk.from_cmdstan(file)
