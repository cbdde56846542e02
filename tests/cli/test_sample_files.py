"""Files of a sample: several chains, compressed files, groups, and parameters by name."""

import gzip
import json

import numpy as np
import pytest

import steinkit as sk

SCORE = ("score", "--target", "normal", "--no-verdict", "--reference", "0", "--measure", "ess", "--json")


@pytest.fixture
def chains(tmp_path):
    draws = np.random.default_rng(5).standard_normal((3, 40, 2))
    for k in range(3):
        sk.write_sample(sk.Sample(draws[k], names=("theta[a]", "theta[b]")), tmp_path / f"fit-{k + 1}.csv")
    return draws


def document(outcome):
    assert outcome.code == 0, outcome.err
    return json.loads(outcome.out)


def test_files_as_chains(steinkit, chains, tmp_path):
    files = [str(tmp_path / f"fit-{k}.csv") for k in (1, 2, 3)]
    together = document(steinkit(*SCORE, *files))
    assert together["sample"]["draws"] == 120
    # computed from separate chains, not from one long chain
    wanted = sk.chain_diagnostics(sk.Sample(chains)).bulk_ess.min()
    assert together["results"][0]["value"] == pytest.approx(wanted, rel=1e-12)
    assert document(steinkit(*SCORE, str(tmp_path / "fit-*.csv")))["results"] == together["results"]
    assert steinkit(*SCORE[:-1], *files).out.startswith(f"{files[0]} and 2 more chains against target normal")
    assert "fit-1.csv twice" in steinkit(*SCORE, files[0], files[0]).err


def test_thinned_chains_of_several_files(steinkit, chains, tmp_path):
    out = tmp_path / "thinned.csv.gz"
    files = [str(tmp_path / f"fit-{k}.csv") for k in (1, 2)]
    assert steinkit("thin", *files, "--target", "normal", "--draws", "9", "-o", str(out)).code == 0
    assert gzip.decompress(out.read_bytes())
    thinned = sk.read_sample(out)
    rows = chains[:2].reshape(80, 2).tolist()
    assert len(thinned) == 9
    assert all(point in rows for point in thinned.points.tolist())


def test_files_with_different_parameters(steinkit, chains, tmp_path):
    sk.write_sample(sk.Sample(chains[0], names=("theta[a]", "mu")), tmp_path / "other.csv")
    found = steinkit(*SCORE, str(tmp_path / "fit-1.csv"), str(tmp_path / "other.csv"))
    assert found.code == 3
    assert 'only one of the two files contains "mu", "theta[b]"' in found.err


def test_a_parameter_selects_its_entries(steinkit, chains, tmp_path):
    found = steinkit(*SCORE, str(tmp_path / "fit-1.csv"), "--columns", "theta")
    assert document(found)["sample"]["names"] == ["theta[a]", "theta[b]"]


def test_a_group_by_name(steinkit, chains, tmp_path):
    xarray = pytest.importorskip("xarray")
    pytest.importorskip("h5netcdf")
    path = tmp_path / "fit.nc"
    for group, values in (("posterior", chains), ("prior", chains[:, :7])):
        dataset = xarray.Dataset({"theta": (("chain", "draw", "k"), values)})
        dataset.to_netcdf(path, group=group, mode="a", engine="h5netcdf")
    assert document(steinkit(*SCORE, str(path)))["sample"]["draws"] == 120
    assert document(steinkit(*SCORE, str(path), "--group", "prior"))["sample"]["draws"] == 21
    wrong = steinkit(*SCORE, str(path), "--group", "pior")
    assert (wrong.code, 'no group "pior" (did you mean "prior"' in wrong.err) == (3, True)
    none = steinkit(*SCORE, str(tmp_path / "fit-1.csv"), "--group", "prior")
    assert (none.code, "csv has no groups; omit group= (--group)" in none.err) == (2, True)
