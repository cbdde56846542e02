from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from steinkit.errors import InputError, MissingDependencyError, UsageError
from steinkit.files.grouped import read_netcdf, write_netcdf
from steinkit.sample import Sample

xarray = pytest.importorskip("xarray")
pytest.importorskip("h5netcdf")

THETA = np.arange(24.0).reshape(2, 3, 4)
BOTH = ("chain", "draw")


@pytest.fixture
def netcdf(tmp_path: Path) -> Any:
    """Make the bytes of a file the way other programs do, with xarray."""

    def make(variables: dict[str, Any], group: str | None = "posterior", **options: Any) -> bytes:
        path = tmp_path / "made.nc"
        encoding = options.pop("encoding", None)
        dataset = xarray.Dataset(variables, **options)
        dataset.to_netcdf(path, group=group, engine="h5netcdf", encoding=encoding)
        return path.read_bytes()

    return make


def read(data: bytes, columns: list[str] | None = None) -> Sample:
    return read_netcdf(data, "fit.nc", columns)


def test_variables_are_flattened_by_label_or_position(netcdf: Any) -> None:
    data = netcdf(
        {"mu": (BOTH, THETA[..., 0]), "Sigma": ((*BOTH, "i", "j"), THETA.reshape(2, 3, 2, 2))},
        coords={"i": ["p", "q"], "chain": [3, 5], "draw": [10, 11, 12]},
    )
    sample = read(data)
    assert sample.names == ("mu", "Sigma[p,0]", "Sigma[p,1]", "Sigma[q,0]", "Sigma[q,1]")
    assert (sample.points[:, 1:] == THETA.reshape(6, 4)).all()
    assert (sample.points[:, 0] == THETA[..., 0].ravel()).all()
    assert sample.chain is not None
    assert sample.chain.tolist() == [3, 3, 3, 5, 5, 5]
    assert sample.draw is not None
    assert sample.draw.tolist() == [10, 11, 12] * 2


def test_labels_that_are_not_unique_give_way_to_positions(netcdf: Any) -> None:
    data = netcdf({"theta": ((*BOTH, "k"), THETA)}, coords={"k": ["a", "b", "a", "c"]})
    assert read(data).names == ("theta[0]", "theta[1]", "theta[2]", "theta[3]")


def test_dimensions_in_another_order(netcdf: Any) -> None:
    data = netcdf({"theta": (("k", "draw", "chain"), THETA.transpose(2, 1, 0))})
    assert (read(data).points == THETA.reshape(6, 4)).all()


def test_the_order_of_many_variables_is_kept(netcdf: Any) -> None:
    names = [f"v{k}" for k in np.random.default_rng(1).permutation(40)]
    assert read(netcdf(dict.fromkeys(names, (BOTH, THETA[..., 0])))).names == tuple(names)


def test_the_root_group_serves_without_a_posterior(netcdf: Any) -> None:
    assert read(netcdf({"mu": (BOTH, THETA[..., 0])}, group=None)).names == ("mu",)


def test_scores_other_variables_and_parameters_of_reserved_names(netcdf: Any) -> None:
    sample = read(
        netcdf(
            {
                "theta": ((*BOTH, "k"), THETA),
                "score:theta": ((*BOTH, "k"), -THETA),
                "weight": (BOTH, -THETA[..., 1]),
                "score:weight": (BOTH, THETA[..., 1]),
                "data": (("row",), np.ones(7)),
            }
        )
    )
    assert sample.names == ("theta[0]", "theta[1]", "theta[2]", "theta[3]", "weight")
    assert sample.scores is not None
    assert (sample.scores == -sample.points).all()
    assert sample.weights is None
    assert (sample.points[:, 4] == -sample.points[:, 1]).all()


def test_weights_and_costs_that_steinkit_wrote_are_no_parameters(netcdf: Any) -> None:
    data = netcdf(
        {"mu": (BOTH, THETA[..., 0]), "weight": (BOTH, THETA[..., 1]), "cost": (BOTH, THETA[..., 2])},
        attrs={"steinkit_labels": "chain draw", "steinkit_reserved": "weight cost"},
    )
    sample = read(data)
    assert sample.names == ("mu",)
    assert sample.weights is not None
    assert (sample.weights == THETA[..., 1].ravel()).all()
    assert sample.cost is not None
    assert (sample.cost == THETA[..., 2].ravel()).all()
    with pytest.raises(InputError, match=r'fit\.nc, chain 0, draw 0, column "weight" is -1 .*non-negative'):
        read(
            netcdf(
                {"mu": (BOTH, THETA[..., 0]), "weight": (BOTH, -THETA[..., 1])},
                attrs={"steinkit_labels": "chain draw", "steinkit_reserved": "weight cost"},
            )
        )


def test_a_coordinate_named_weight_and_weights_are_told_apart(assert_same: Any) -> None:
    points = np.array([[1.0, 2.0], [3.0, -4.0]])
    for sample in (
        Sample(points, names=("a", "weight")),
        Sample(points, names=("a", "weight"), cost=[1.0, 2.0]),
        Sample(points, names=("a", "cost"), weights=[1.0, 2.0]),
    ):
        assert_same(read(write_netcdf(sample, "out.nc")), sample)
    with pytest.raises(UsageError, match=r'a coordinate named "weight" cannot be a column'):
        write_netcdf(Sample(points, names=("a", "weight"), weights=[1.0, 2.0]), "out.nc")


def test_another_group_is_read_when_it_is_named(netcdf: Any, tmp_path: Path) -> None:
    netcdf({"mu": (BOTH, THETA[..., 0])})
    path = tmp_path / "made.nc"
    for group, values in (("prior", THETA[..., 1]), ("sample_stats", THETA[..., 2])):
        xarray.Dataset({"mu": (BOTH, values)}).to_netcdf(path, group=group, mode="a", engine="h5netcdf")
    data = path.read_bytes()
    assert (read(data).points[:, 0] == THETA[..., 0].ravel()).all()
    assert (read_netcdf(data, "fit.nc", None, "prior").points[:, 0] == THETA[..., 1].ravel()).all()
    with pytest.raises(InputError, match=r'fit\.nc has no group "pior" [(]did you mean "prior"'):
        read_netcdf(data, "fit.nc", None, "pior")
    with pytest.raises(InputError, match=r'has no group "x"; it has "posterior", "prior", "sample_stats"'):
        read_netcdf(data, "fit.nc", None, "x")


def test_the_name_of_a_parameter_stands_for_its_entries(netcdf: Any) -> None:
    data = netcdf({"theta": ((*BOTH, "k"), THETA), "mu": (BOTH, THETA[..., 0]), "tau": (BOTH, THETA[..., 1])})
    assert read(data, ["mu", "theta"]).names == ("mu", "theta[0]", "theta[1]", "theta[2]", "theta[3]")
    with pytest.raises(UsageError, match=r'names "theta\[1\]" twice'):
        read(data, ["theta", "theta[1]"])


def test_narrow_types_and_units(netcdf: Any) -> None:
    data = netcdf(
        {
            "count": (BOTH, np.arange(6, dtype=np.int32).reshape(2, 3)),
            "flag": (BOTH, THETA[..., 0] > 3),
            "half": (BOTH, np.float32(THETA[..., 0])),
            "duration": (BOTH, THETA[..., 0], {"units": "seconds"}),
            "time": (BOTH, THETA[..., 0], {"units": "days since 2000-01-01"}),
        }
    )
    sample = read(data)
    assert sample.points[5].tolist() == [5, 1, 20, 20, 20]


@pytest.mark.parametrize(
    ("variables", "words"),
    [
        ({"mu": (("sample",), np.ones(3))}, ["no variable with the dimensions chain and draw", '"mu(sample)"']),
        ({}, ["no variable", "nothing"]),
        (
            {"mu": (BOTH, THETA[..., 0]), "label": (BOTH, np.full((2, 3), "oak"))},
            ['"label"', "real numbers", "columns="],
        ),
        (
            {"mu": (BOTH, [[0.0, 1.0], [2.0, np.nan]])},
            ['chain 1, draw 1, column "mu" is nan'],
        ),
        ({"mu": (BOTH, [[0.0, 1.0], [np.nan, 3.0]])}, ['chain 1, draw 0, column "mu" is nan']),
        ({"mu": (BOTH, np.full((2, 2), np.nan))}, ['chain 0, draw 0, column "mu" is nan', "4 such values"]),
        ({"mu": (BOTH, THETA[..., 0]), "score:nu": (BOTH, THETA[..., 1])}, ['"score:nu" belongs to no coordinate']),
        ({"mu": (BOTH, THETA[..., 0]), "chain": (("chain",), ["a", "b"])}, ["chain must be an array of real numbers"]),
        (
            {"a": ((*BOTH, "k"), THETA), "a[1]": (BOTH, THETA[..., 0])},
            ['two columns are named "a[1]"'],
        ),
    ],
)
def test_faults(netcdf: Any, variables: dict[str, Any], words: list[str]) -> None:
    with pytest.raises(InputError) as caught:
        read(netcdf(variables))
    for word in ["fit.nc", *words]:
        assert word in str(caught.value)


def test_columns_leave_out_what_is_no_number(netcdf: Any) -> None:
    variables = {"theta": ((*BOTH, "k"), THETA), "label": (BOTH, np.full((2, 3), "oak"))}
    sample = read(netcdf(variables), ["theta[2]", "theta[0]"])
    assert sample.names == ("theta[2]", "theta[0]")
    assert (sample.points == THETA.reshape(6, 4)[:, [2, 0]]).all()
    with pytest.raises(InputError, match=r'fit\.nc has no coordinate named "thet" [(]did you mean'):
        read(netcdf(variables), ["thet"])


def test_files_of_other_kinds(netcdf: Any) -> None:
    whole = netcdf({"mu": (BOTH, THETA[..., 0])})
    with pytest.raises(InputError, match=r"fit\.nc is no NetCDF 4"):
        read(b"x1,x2\n1,2\n")
    with pytest.raises(InputError, match=r"fit\.nc is a NetCDF 3 file; convert it .*nccopy"):
        read(b"CDF\x01" + b"\0" * 100)
    with pytest.raises(InputError, match=r"fit\.nc is damaged or no NetCDF file"):
        read(whole[: len(whole) // 2])


def test_written_as_a_posterior_that_others_can_read(full_sample: Sample, tmp_path: Path) -> None:
    path = tmp_path / "out.nc"
    path.write_bytes(write_netcdf(full_sample, "out.nc"))
    with xarray.open_dataset(path, group="posterior", engine="h5netcdf") as dataset:
        assert list(dataset.data_vars) == ["theta[0,1]", "b", "score:theta[0,1]", "score:b", "weight", "cost"]
        assert dict(dataset["b"].sizes) == {"chain": 3, "draw": 4}
        assert (dataset["b"].values.ravel() == full_sample.points[:, 1]).all()


@pytest.mark.parametrize(
    ("chain", "draw"),
    [
        (None, None),
        ([2, 2, 7, 7], [5, 6, 5, 6]),
        ([2, 2, 7, 7], None),
        (None, [3, 1, 2, 0]),
        ([4, 4, 4, 4], [0, 1, 2, 3]),
    ],
)
def test_labels_survive(chain: list[int] | None, draw: list[int] | None, assert_same: Any) -> None:
    sample = Sample(points=[1.0, 2.0, 3.0, 4.0], chain=chain, draw=draw)
    assert_same(read(write_netcdf(sample, "out.nc")), sample)


@pytest.mark.parametrize(
    ("chain", "draw"),
    [
        ([0, 0, 0, 1], [0, 1, 2, 0]),
        ([0, 1, 0, 1], [0, 0, 1, 1]),
        ([0, 0, 1, 1], [0, 1, 1, 0]),
        ([0, 1, 1, 0], [0, 0, 0, 0]),
        ([0, 1, 0, 1], [0, 0, 0, 0]),
        ([0, 0, 0, 1], [0, 1, 0, 1]),
    ],
)
def test_chains_that_form_no_rectangle_are_refused(chain: list[int], draw: list[int]) -> None:
    with pytest.raises(UsageError, match=r"out\.nc: NetCDF needs chains of equal length.*\.npz"):
        write_netcdf(Sample(points=[1.0, 2.0, 3.0, 4.0], chain=chain, draw=draw), "out.nc")


@pytest.mark.parametrize("name", ["a/b", ".", "", "a "])
def test_names_that_hdf5_cannot_hold_are_refused(name: str) -> None:
    with pytest.raises(UsageError, match=r"cannot name a NetCDF variable; rename it, or write \.npz"):
        write_netcdf(Sample(points=[[1.0, 2.0]], names=("x", name)), "out.nc")


def _outside(file: Any, kind: str, secret: Path) -> str:
    """Let the posterior of a file stand in another one; what messages call that."""
    h5py = pytest.importorskip("h5py")
    posterior = file["posterior"]
    if kind == "link":
        posterior["theta"] = h5py.ExternalLink("elsewhere.nc", "/posterior/mu")
        return r'"posterior/theta" is a link into the file elsewhere\.nc'
    if kind == "link to a group":
        file["deeper"] = h5py.ExternalLink("elsewhere.nc", "/posterior")
        return r'"deeper" is a link into the file elsewhere\.nc'
    if kind == "storage":
        posterior.create_dataset("theta", (2, 3), "f8", external=[(str(secret), 0, 48)])
        return rf'"posterior/theta" is stored outside, in "{secret}"'
    layout = h5py.VirtualLayout((2, 3), "f8")
    layout[:] = h5py.VirtualSource(str(secret), "/mu", (2, 3))
    posterior.create_virtual_dataset("theta", layout)
    return rf'"posterior/theta" is a virtual dataset, made of "{secret}"'


@pytest.mark.parametrize("kind", ["link", "link to a group", "storage", "virtual"])
def test_other_files_are_not_read_as_draws(netcdf: Any, tmp_path: Path, kind: str) -> None:
    h5py = pytest.importorskip("h5py")
    netcdf({"mu": (BOTH, THETA[..., 0])})
    secret = tmp_path / "secret"
    secret.write_bytes(THETA[..., 0].tobytes())
    with h5py.File(tmp_path / "made.nc", "a") as file:
        said = _outside(file, kind, secret)
    with pytest.raises(InputError, match=rf"fit\.nc: {said}; other files are not read"):
        read((tmp_path / "made.nc").read_bytes())


def test_links_inside_a_file_may_run_in_circles(netcdf: Any, tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py")
    netcdf({"mu": (BOTH, THETA[..., 0])})
    with h5py.File(tmp_path / "made.nc", "a") as file:
        file["again"] = file["posterior"]
        file["posterior/up"] = file["/"]
        file["soft"] = h5py.SoftLink("/posterior")
    assert read_netcdf((tmp_path / "made.nc").read_bytes(), "fit.nc", None, "again").names == ("mu",)


@pytest.mark.parametrize(
    ("shape", "dims", "words"),
    [
        ((2, 10**12), BOTH, ["unpacks to ", "STEINKIT_MAX_BYTES"]),
        ((2, 10**7), BOTH, ["unpacks to", "bytes or more for each of its own", "STEINKIT_MAX_RATIO"]),
        ((2, 3, 10**5), (*BOTH, "k"), ["holds 100,000 columns", "STEINKIT_MAX_COLUMNS"]),
    ],
)
def test_dimensions_beyond_the_limits(tmp_path: Path, shape: Any, dims: Any, words: list[str]) -> None:
    """Values that were never written take no room in a file."""
    h5netcdf = pytest.importorskip("h5netcdf")
    with h5netcdf.File(tmp_path / "made.nc", "w") as file:
        file.dimensions = dict(zip(dims, shape, strict=True))
        file.create_variable("theta", dims, "f8", chunks=tuple(min(each, 1000) for each in shape))
    with pytest.raises(InputError) as caught:
        read((tmp_path / "made.nc").read_bytes())
    for word in ["fit.nc", *words]:
        assert word in str(caught.value)


@pytest.mark.parametrize("package", ["xarray", "h5netcdf", "h5py"])
def test_without_the_packages(package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingDependencyError, match=rf"{package}.*pip install 'steinkit\[netcdf\]'"):
        write_netcdf(Sample(points=[1.0]), "out.nc")
    with pytest.raises(MissingDependencyError, match=r"pip install 'steinkit\[netcdf\]'"):
        read(b"")
