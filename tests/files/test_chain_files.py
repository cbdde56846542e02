"""Several files as the chains of one sample, and files compressed with gzip."""

import gzip

import numpy as np
import pytest

import steinkit as sk
from steinkit.files import join_chains, matching_files

STAN = "# stan_version_major = 2\nlp__,mu,theta.1,theta.2\n"


@pytest.fixture
def fits(tmp_path):
    """Write twelve Stan chains; the draws of chain k are 10 k, 10 k + 1, ..."""
    for k in range(1, 13):
        rows = "".join(f"-1,{10 * k + t},{k},{t}\n" for t in range(3))
        (tmp_path / f"fit-{k}.csv").write_text(STAN + rows)
    return tmp_path


def test_a_pattern_and_a_list_give_the_chains_in_the_order_of_their_numbers(fits):
    by_pattern = sk.read_sample(fits / "fit-*.csv")
    by_list = sk.read_sample([fits / f"fit-{k}.csv" for k in range(1, 13)])
    assert by_pattern.names == ("mu", "theta[1]", "theta[2]")
    for sample in (by_pattern, by_list):
        np.testing.assert_array_equal(sample.points[:, 1], np.repeat(np.arange(1, 13), 3))
        np.testing.assert_array_equal(sample.chain, np.repeat(np.arange(12), 3))
        np.testing.assert_array_equal(sample.draw, np.tile([0, 1, 2], 12))
    assert sk.read_sample([fits / "fit-1?.csv", fits / "fit-2.csv"], columns=["mu"]).points[:, 0].tolist()[::3] == [
        100,
        110,
        120,
        20,
    ]


def test_a_file_with_a_name_like_a_pattern_is_read(fits):
    (fits / "fit-*.csv").write_text("x\n1\n")
    assert matching_files(fits / "fit-*.csv") == []
    assert sk.read_sample(fits / "fit-*.csv").names == ("x",)


def test_patterns_without_matches_and_files_named_twice(fits):
    with pytest.raises(sk.InputError, match=r"fut-\*\.csv does not exist"):
        sk.read_sample(fits / "fut-*.csv")
    with pytest.raises(sk.UsageError, match=r"fit-3\.csv twice"):
        sk.read_sample([fits / "fit-*.csv", fits / "fit-3.csv"])
    with pytest.raises(sk.UsageError, match="empty list"):
        sk.read_sample([])


def join(*samples):
    return join_chains(samples, [f"f{k + 1}.csv" for k in range(len(samples))])


def test_labels_stay_where_no_two_files_share_one():
    one = sk.Sample([1.0, 2.0], chain=[7, 7], draw=[5, 6])
    two = sk.Sample([3.0, 4.0, 5.0], chain=[2, 1, 2], draw=[0, 0, 1])
    kept = join(one, two)
    assert kept.chain.tolist() == [7, 7, 2, 1, 2]
    assert kept.draw.tolist() == [5, 6, 0, 0, 1]
    assert join(two, two).chain.tolist() == [1, 0, 1, 3, 2, 3]
    assert join(one, sk.Sample([3.0])).chain.tolist() == [0, 0, 1]
    assert join(sk.Sample([1.0, 2.0, 3.0], chain=[0, 1, 0]), one).draw.tolist() == [0, 0, 1, 5, 6]


def test_weights_scores_and_costs_are_joined_by_names():
    one = sk.Sample([[1.0, 2.0]], names=("a", "b"), scores=[[3.0, 4.0]], weights=[2.0], cost=[9.0])
    both = join(one, sk.Sample([[6.0, 5.0]], names=("b", "a"), scores=[[8.0, 7.0]], weights=[1.0], cost=[8.0]))
    np.testing.assert_array_equal(both.points, [[1.0, 2.0], [5.0, 6.0]])
    np.testing.assert_array_equal(both.scores, [[3.0, 4.0], [7.0, 8.0]])
    assert (both.weights.tolist(), both.cost.tolist()) == ([2.0, 1.0], [9.0, 8.0])
    with pytest.raises(sk.InputError, match=r"weights.*f2\.csv"):
        join(one, sk.Sample([[6.0, 5.0]], names=("a", "b")))
    with pytest.raises(sk.InputError, match='"b", "c", "d"'):
        join(one, sk.Sample([[6.0, 5.0, 1.0]], names=("a", "c", "d")))


def test_compressed_files_need_a_binary_stream(tmp_path):
    with (tmp_path / "s.csv.gz").open("w") as stream, pytest.raises(sk.UsageError, match="mode='wb'"):
        sk.write_sample(sk.Sample([[1.0]]), stream)


@pytest.mark.parametrize("name", ["s.csv.gz", "s.CSV.GZ", "s.npz.gz", "s.npy.gz"])
def test_compressed_files_read_back(name, tmp_path):
    sample = sk.Sample([[1.0, 2.0], [3.0, 4.0]])
    sk.write_sample(sample, tmp_path / name)
    packed = (tmp_path / name).read_bytes()
    assert packed[4:8] == bytes(4)  # no timestamp, so the bytes are reproducible
    sk.write_sample(sample, tmp_path / name[:-3])
    assert len(gzip.decompress(packed)) == len((tmp_path / name[:-3]).read_bytes())
    np.testing.assert_array_equal(sk.read_sample(tmp_path / name).points, sample.points)


def test_compressed_stan_files_and_streams(fits):
    path = fits / "packed.csv.gz"
    path.write_bytes(gzip.compress((fits / "fit-1.csv").read_bytes()))
    assert sk.read_sample(path).names == ("mu", "theta[1]", "theta[2]")
    with open(path, "rb") as stream:
        assert len(sk.read_sample(stream)) == 3
    damaged = fits / "damaged.csv.gz"
    damaged.write_bytes(path.read_bytes()[:30])
    with pytest.raises(sk.InputError, match=r"damaged\.csv\.gz is a damaged gzip"):
        sk.read_sample(damaged)
    (fits / "plain.csv.gz").write_text("x\n1\n")
    assert sk.read_sample(fits / "plain.csv.gz").names == ("x",)


def test_groups_are_refused_for_formats_without_them(fits):
    with pytest.raises(sk.UsageError, match=r"fit-1\.csv.*--group"):
        sk.read_sample(fits / "fit-1.csv", group="prior")


def test_columns_of_samplers_are_reported_once_for_all_chains(steinkit, folder):
    for chain in (1, 2):
        rows = "".join(f"{k},{0.1 * k * (-1) ** k},-1,{chain},{k}\n" for k in range(1, 21))
        (folder / f"fit-{chain}.csv").write_text('"","theta","lp__",".chain",".iteration"\n' + rows)
    with pytest.warns(sk.ReadingWarning):
        sample = sk.read_sample("fit-*.csv")
    assert (sample.names, sorted(set(sample.chain.tolist()))) == (("theta",), [1, 2])
    found = steinkit("verdict", "fit-1.csv", "fit-2.csv", "--target", "normal")
    assert found.err.count("warning: some columns are not coordinates") == 1
    assert '".chain" as chain, ".iteration" as draw, the first, unnamed, as row names, "lp__" ignored' in found.err


@pytest.mark.parametrize("form", ["csv", "npz", "stan", "netcdf"])
def test_log_weights_of_several_files_are_refused(tmp_path, form):
    logs = np.array([-5.0, -6.0])
    files = [tmp_path / f"f{k}" for k in (1, 2)]
    for file in files:
        if form == "npz":
            with open(file, "wb") as stream:
                np.savez(stream, points=np.zeros((2, 1)), logw=logs)
        elif form == "netcdf":
            pytest.importorskip("h5netcdf")
            sk.write_sample(sk.Sample(np.column_stack([np.zeros(2), logs]), names=("a", "logw")), file, format=form)
        else:
            file.write_text("a,logw\n1,-5\n2,-6\n")
    with pytest.warns(sk.ReadingWarning, match="exponentiated"):
        assert sk.read_sample(files[0], format=form, weights="logw").weights is not None
    with pytest.raises(sk.InputError, match=r'"logw".*scaled separately'):
        sk.read_sample(files, format=form, weights="logw")
