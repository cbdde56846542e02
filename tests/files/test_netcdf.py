"""NetCDF files and Zarr folders, written by xarray, ArviZ and steinkit."""

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import steinkit as sk
from steinkit.files.grouped import write_netcdf
from steinkit.files.streams import is_zarr

xarray = pytest.importorskip("xarray")
pytest.importorskip("h5netcdf")

THETA = np.arange(24.0).reshape(2, 3, 4)
BOTH = ("chain", "draw")


@pytest.fixture
def netcdf(tmp_path: Path) -> Any:
    """Write a file as other programs do, with xarray."""

    def make(variables: dict[str, Any], group: str | None = "posterior", **options: Any) -> Path:
        path = tmp_path / "fit.nc"
        xarray.Dataset(variables, **options).to_netcdf(path, group=group, mode="a", engine="h5netcdf")
        return path

    return make


def test_variables_are_flattened_by_label_or_position(netcdf: Any) -> None:
    path = netcdf(
        {"mu": (BOTH, THETA[..., 0]), "Sigma": ((*BOTH, "i", "j"), THETA.reshape(2, 3, 2, 2))},
        coords={"i": ["p", "q"], "chain": [3, 5], "draw": [10, 11, 12]},
    )
    sample = sk.read_sample(path)
    assert sample.names == ("mu", "Sigma[p,0]", "Sigma[p,1]", "Sigma[q,0]", "Sigma[q,1]")
    np.testing.assert_array_equal(sample.points, np.column_stack([THETA[..., 0].ravel(), THETA.reshape(6, 4)]))
    np.testing.assert_array_equal(sample.chain, [3, 3, 3, 5, 5, 5])
    np.testing.assert_array_equal(sample.draw, [10, 11, 12] * 2)


def test_variables_keep_the_order_of_the_file(netcdf: Any) -> None:
    names = [f"v{k}" for k in np.random.default_rng(1).permutation(40)]
    assert sk.read_sample(netcdf(dict.fromkeys(names, (BOTH, THETA[..., 0])))).names == tuple(names)


def test_reserved_names_are_parameters_unless_steinkit_wrote_them(netcdf: Any) -> None:
    variables = {
        "mu": (BOTH, THETA[..., 0]),
        "weight": (BOTH, THETA[..., 1]),
        "cost": (BOTH, THETA[..., 2]),
        "data": (("row",), np.ones(7)),
    }
    path = netcdf(variables)
    assert sk.read_sample(path).names == ("mu", "weight", "cost")
    np.testing.assert_array_equal(sk.read_sample(path, weights="weight").weights, THETA[..., 1].ravel())
    with pytest.raises(sk.InputError, match='no column "w" with weights'):
        sk.read_sample(path, weights="w")
    path.unlink()
    sample = sk.read_sample(netcdf(variables, attrs={"steinkit_labels": "chain", "steinkit_reserved": "weight cost"}))
    assert (sample.names, sample.draw) == (("mu",), None)
    np.testing.assert_array_equal(sample.weights, THETA[..., 1].ravel())
    np.testing.assert_array_equal(sample.cost, THETA[..., 2].ravel())


def test_scores_follow_their_coordinates(netcdf: Any) -> None:
    sample = sk.read_sample(netcdf({"theta": ((*BOTH, "k"), THETA), "score:theta": ((*BOTH, "k"), -THETA)}))
    assert sample.names == ("theta[0]", "theta[1]", "theta[2]", "theta[3]")
    np.testing.assert_array_equal(sample.scores, -sample.points)


def test_groups(netcdf: Any) -> None:
    path = netcdf({"mu": (BOTH, THETA[..., 0])}, group=None)
    assert sk.read_sample(path).names == ("mu",)
    for group, shift in (("posterior", 1.0), ("prior", 2.0)):
        netcdf({"mu": (BOTH, THETA[..., 0] + shift)}, group=group)
    assert sk.read_sample(path).points[0, 0] == 1.0
    assert sk.read_sample(path, group="prior").points[0, 0] == 2.0
    with pytest.raises(sk.InputError, match=r'"pior".*"prior"'):
        sk.read_sample(path, group="pior")


def test_columns_select_entries_and_leave_out_text(netcdf: Any) -> None:
    path = netcdf({"theta": ((*BOTH, "k"), THETA), "label": (BOTH, np.full((2, 3), "oak"))})
    sample = sk.read_sample(path, columns=["theta[2]", "theta[0]"])
    np.testing.assert_array_equal(sample.points, THETA.reshape(6, 4)[:, [2, 0]])


def test_narrow_types_and_units(netcdf: Any) -> None:
    path = netcdf(
        {
            "count": (BOTH, np.arange(6, dtype=np.int32).reshape(2, 3)),
            "flag": (BOTH, THETA[..., 0] > 3),
            "half": (BOTH, np.float32(THETA[..., 0])),
            "duration": (BOTH, THETA[..., 0], {"units": "seconds"}),
            "time": (BOTH, THETA[..., 0], {"units": "days since 2000-01-01"}),
        }
    )
    assert sk.read_sample(path).points[5].tolist() == [5, 1, 20, 20, 20]


@pytest.mark.parametrize(
    ("variables", "words"),
    [
        ({}, "draw"),
        ({"mu": (BOTH, THETA[..., 0]), "label": (BOTH, np.full((2, 3), "oak"))}, '"label".*columns='),
        ({"mu": (BOTH, THETA[..., 0]), "score:nu": (BOTH, THETA[..., 1])}, '"score:nu"'),
        ({"mu": (BOTH, THETA[..., 0]), "chain": (("chain",), ["a", "b"])}, "chain"),
        ({"a": ((*BOTH, "k"), THETA), "a[1]": (BOTH, THETA[..., 0])}, r'"a\[1\]"'),
    ],
)
def test_bad_content(netcdf: Any, variables: dict[str, Any], words: str) -> None:
    with pytest.raises(sk.InputError, match=rf"fit\.nc.*{words}"):
        sk.read_sample(netcdf(variables))


def test_damaged_files(netcdf: Any) -> None:
    path = netcdf({"mu": (BOTH, THETA[..., 0])})
    whole = path.read_bytes()
    for data, words in ((b"x\n1\n", "valid"), (b"CDF\x01" + bytes(100), "nccopy"), (whole[: len(whole) // 2], "valid")):
        path.write_bytes(data)
        with pytest.raises(sk.InputError, match=rf"fit\.nc.*{words}"):
            sk.read_sample(path)


def test_coordinates_named_like_other_parts_are_distinct_from_them(assert_same: Any, tmp_path: Path) -> None:
    points = np.array([[1.0, 2.0], [3.0, -4.0]])
    for sample in (
        sk.Sample(points, names=("a", "weight"), cost=[1.0, 2.0]),
        sk.Sample(points, names=("a", "cost"), weights=[1.0, 2.0]),
        sk.Sample(points, names=("diverging", "energy"), divergent=[True, False], energy=[3.0, 4.0]),
    ):
        sk.write_sample(sample, tmp_path / "out.nc")
        assert_same(sk.read_sample(tmp_path / "out.nc"), sample)
    with pytest.raises(sk.UsageError, match='"weight"'):
        write_netcdf(sk.Sample(points, names=("a", "weight"), weights=[1.0, 2.0]), "out.nc")


def test_a_written_file_is_a_posterior_of_arviz(full_sample: sk.Sample, tmp_path: Path) -> None:
    path = tmp_path / "out.nc"
    path.write_bytes(write_netcdf(full_sample, "out.nc"))
    with xarray.open_dataset(path, group="posterior", engine="h5netcdf") as dataset:
        assert list(dataset.data_vars) == ["theta[0,1]", "b", "score:theta[0,1]", "score:b", "weight", "cost"]
        assert dict(dataset["b"].sizes) == {"chain": 3, "draw": 4}
        np.testing.assert_array_equal(dataset["b"].values.ravel(), full_sample.points[:, 1])


@pytest.mark.parametrize("chain", [[0, 0, 0, 1], [0, 1, 0, 1], [0, 1, 1, 0]])
def test_chains_of_unequal_length_or_interleaved_are_refused(chain: list[int]) -> None:
    with pytest.raises(sk.UsageError, match=r"out\.nc: .*\.npz"):
        write_netcdf(sk.Sample(points=[1.0, 2.0, 3.0, 4.0], chain=chain, draw=[0, 0, 1, 1]), "out.nc")


@pytest.mark.parametrize("name", ["a/b", ".", "", "a "])
def test_names_that_hdf5_cannot_hold_are_refused(name: str) -> None:
    with pytest.raises(sk.UsageError, match=r"\.npz"):
        write_netcdf(sk.Sample(points=[[1.0, 2.0]], names=("x", name)), "out.nc")


@pytest.mark.parametrize("package", ["xarray", "h5netcdf"])
def test_missing_packages(package: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    (tmp_path / "fit.nc").write_bytes(b"x")
    for use in (lambda: write_netcdf(sk.Sample([1.0]), "out.nc"), lambda: sk.read_sample(tmp_path / "fit.nc")):
        with pytest.raises(sk.MissingDependencyError, match=rf"{package}.*\[netcdf\]"):
            use()


class TestZarr:
    """Folders of both versions of the format."""

    @pytest.fixture(params=[2, 3], ids=["version 2", "version 3"])
    def folder(self, request: Any, tmp_path: Path) -> Path:
        pytest.importorskip("zarr", minversion="3")
        path = tmp_path / "fit.zarr"
        for group, shift in (("posterior", 0.0), ("prior", 1.0)):
            xarray.Dataset(
                {"mu": (BOTH, THETA[..., 0] + shift), "theta": ((*BOTH, "school"), THETA + shift)},
                coords={"school": [1990, 1991, 1992, 1993], "chain": [3, 5]},
            ).to_zarr(path, group=group, mode="a", zarr_format=request.param, consolidated=False)
        return path

    def test_groups_and_names(self, folder: Path) -> None:
        for path in (folder, f"{folder}/"):
            sample = sk.read_sample(path)
            assert sample.names == ("mu", *(f"theta[{year}]" for year in (1990, 1991, 1992, 1993)))
            np.testing.assert_array_equal(sample.points[:, 1:], THETA.reshape(6, 4))
            np.testing.assert_array_equal(sample.chain, np.repeat([3, 5], 3))
        assert sk.read_sample(folder, group="prior", columns=["mu"]).points[0] == [1.0]
        with pytest.raises(sk.InputError, match=r'"pior" .*"prior"'):
            sk.read_sample(folder, group="pior")
        other = folder.rename(folder.with_suffix(""))
        assert is_zarr(other)
        assert sk.read_sample(other).dim == 5

    def test_pickled_objects_are_refused(self, folder: Path) -> None:
        path = next(folder.glob("posterior/mu/.zarray"), None) or folder / "posterior/mu/zarr.json"
        meta = json.loads(path.read_text())
        if path.name == ".zarray":
            meta["filters"] = [{"id": "pickle"}]
        else:
            meta["codecs"] = [{"name": "numcodecs.pickle", "configuration": {}}]
        path.write_text(json.dumps(meta))
        with pytest.raises(sk.InputError, match=r"fit\.zarr .*pickle"):
            sk.read_sample(folder)

    @pytest.mark.parametrize("text", ["[]", "{", "[" * 100_000])
    def test_damaged_metadata(self, folder: Path, text: str) -> None:
        path = next(folder.glob("posterior/mu/.zarray"), None) or folder / "posterior/mu/zarr.json"
        path.write_text(text)
        with pytest.raises(sk.InputError, match=r"fit\.zarr"):
            sk.read_sample(folder)

    def test_folders_that_are_not_zarr(self, tmp_path: Path) -> None:
        pytest.importorskip("zarr")
        (tmp_path / "empty.zarr").mkdir()
        for name in ("empty.zarr", "none.zarr"):
            with pytest.raises(sk.InputError, match=name):
                sk.read_sample(tmp_path / name)
        with pytest.raises(sk.UsageError, match="Zarr"):
            sk.read_sample("-", format="zarr")
        with pytest.raises(sk.UsageError, match="zarr"):
            sk.write_sample(sk.Sample([1.0]), "fit.zarr")


def test_a_heap_with_an_empty_gap_is_refused(tmp_path: Path) -> None:
    data = bytearray(write_netcdf(sk.Sample(np.zeros((2, 2)), names=["a", "b"]), "posterior"))
    place = data.index(b"GCOL") + 16
    data[place : place + 16] = bytes(16)
    (tmp_path / "damaged.nc").write_bytes(data)
    with pytest.raises(sk.InputError, match="heap of variable-length values is damaged"):
        sk.read_sample(tmp_path / "damaged.nc")
