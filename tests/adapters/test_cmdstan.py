"""Files in CmdStan's format for a model with known score: mu ~ N(1, 2^2), tau ~ Exponential(1), u = log tau."""

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
    own = [*np.full((4, len(points)), 3.0), np.arange(len(points)) % 7 == 3, np.arange(len(points)) / 8.0]
    table = np.column_stack([log_density(points), *own, points, np.ones_like(points), sign * score(points)])
    header = f"{OWN},mu,tau.1,p_mu,p_tau.1,g_mu,g_tau.1\n"
    adaptation = "# Adaptation terminated\n# Step size = 0.8\n# Diagonal elements of inverse mass matrix:\n# 4, 1\n"
    warmup = "" if first is None else rows(table[:first])
    settings = SETTINGS + SAMPLE.format(warm=warm)
    return settings + header + warmup + adaptation + rows(table[first:]) + ELAPSED


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
    assert not target.has_log_density  # a log density would be useful only away from the draws
    np.testing.assert_array_equal(sk.from_cmdstan(str(tmp_path / "diagnostic_*.csv"))[1].points, sample.points)


def test_a_gradient_of_the_wrong_sign_is_detected(tmp_path):
    file = write(tmp_path / "diagnostic.csv", diagnostic_csv(unconstrained(), sign=1.0))
    with pytest.raises(sk.InputError, match=r"do not match the stored log densities.*negate them"):
        sk.from_cmdstan(file)


def test_files_without_gradients_are_refused(tmp_path):
    output = write(tmp_path / "output.csv", f"{SETTINGS}{SAMPLE.format(warm='false')}lp__,mu,tau.1\n-1,2,3\n-1,2,4\n")
    with pytest.raises(sk.InputError, match=r"output\.csv"):
        sk.from_cmdstan(output)
    no_height = write(tmp_path / "diagnostic.csv", f"{SETTINGS}mu,p_mu,g_mu\n1,2,3\n2,2,4\n")
    with pytest.raises(sk.InputError, match=r"diagnostic\.csv"):
        sk.from_cmdstan(no_height)
    gradients = write(tmp_path / "log_prob.csv", f"{SETTINGS}lp__,g_mu,g_tau.1\n-1,2,3\n")
    with pytest.raises(sk.InputError, match="log_prob"):
        sk.read_sample(gradients)
    with pytest.raises(sk.UsageError, match="ndarray"):
        sk.from_cmdstan(unconstrained())
