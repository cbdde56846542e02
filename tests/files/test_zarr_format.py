"""Samples in Zarr folders, as xarray and ArviZ write them."""

import json
import os
import re
import shutil
import sys

import numpy as np
import pytest

import steinkit as sk
from steinkit.files.streams import is_zarr

BOTH = ("chain", "draw")
THETA = np.arange(24.0).reshape(2, 4, 3)


def test_without_the_package(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "zarr", None)
    with pytest.raises(sk.MissingDependencyError, match=r"zarr.*pip install 'steinkit\[zarr\]'"):
        sk.read_sample(tmp_path / "fit.zarr")


def test_no_stream_carries_a_folder():
    with pytest.raises(sk.UsageError, match="standard input: Zarr is a folder, which no stream carries"):
        sk.read_sample("-", format="zarr")
    with pytest.raises(sk.UsageError, match=r'format "zarr" is read only; write csv, npz, npy, netcdf'):
        sk.write_sample(sk.Sample([1.0]), "fit.zarr")


@pytest.fixture(params=[2, 3], ids=["version 2", "version 3"])
def folder(request, tmp_path):
    """A folder with a posterior and a prior, in both of Zarr's formats."""
    pytest.importorskip("zarr", minversion="3")
    xarray = pytest.importorskip("xarray")
    path = tmp_path / "fit.zarr"
    for group, shift in (("posterior", 0.0), ("prior", 1.0)):
        xarray.Dataset(
            {"mu": (BOTH, THETA[..., 0] + shift), "theta": ((*BOTH, "school"), THETA + shift)},
            coords={"school": [1990, 1991, 1992], "chain": [3, 5]},
        ).to_zarr(path, group=group, mode="a", zarr_format=request.param, consolidated=False)
    return path


def test_the_posterior_or_another_group(folder):
    for path in (folder, f"{folder}/"):
        sample = sk.read_sample(path)
        assert sample.names == ("mu", "theta[1990]", "theta[1991]", "theta[1992]")
        np.testing.assert_array_equal(sample.points[:, 1:], THETA.reshape(8, 3))
        np.testing.assert_array_equal(sample.chain, np.repeat([3, 5], 4))
    np.testing.assert_array_equal(sk.read_sample(folder, group="prior", columns=["mu"]).points[0], [1.0])
    with pytest.raises(sk.InputError, match=r'fit\.zarr has no group "pior" [(]did you mean "prior"'):
        sk.read_sample(folder, group="pior")


def test_another_ending(folder, tmp_path):
    other = folder.rename(tmp_path / "fit")
    assert is_zarr(other)
    assert sk.read_sample(other).dim == 4


def test_folders_that_are_not_zarrs(folder, tmp_path):
    (tmp_path / "empty.zarr").mkdir()
    with pytest.raises(sk.InputError, match=r"empty\.zarr is not a Zarr folder"):
        sk.read_sample(tmp_path / "empty.zarr")
    with pytest.raises(sk.InputError, match=r"none\.zarr does not exist"):
        sk.read_sample(tmp_path / "none.zarr")
    for file in folder.rglob("c" if (folder / "zarr.json").exists() else "0*"):
        shutil.rmtree(file) if file.is_dir() else file.write_bytes(b"\1")
    with pytest.raises(sk.InputError, match=r"fit\.zarr"):
        sk.read_sample(folder)


@pytest.mark.parametrize("place", ["filters", "compressor"])
def test_nothing_is_unpickled(folder, place):
    """Whatever the version of numcodecs, whose codec for Python objects runs what a file likes."""
    path = next(folder.glob("posterior/mu/.zarray"), None) or folder / "posterior/mu/zarr.json"
    meta = json.loads(path.read_text())
    if path.name == ".zarray":
        meta[place] = [{"id": "pickle"}] if place == "filters" else {"id": "pickle"}
    else:
        inner = {"name": "sharding_indexed", "configuration": {"codecs": [{"name": "numcodecs.pickle"}]}}
        meta["codecs"] = [inner] if place == "filters" else [{"name": "numcodecs.pickle", "configuration": {}}]
    path.write_text(json.dumps(meta))
    with pytest.raises(sk.InputError, match=r'fit\.zarr: "posterior/mu" holds pickled .* never unpickled'):
        sk.read_sample(folder)


def test_chunks_that_are_links_to_other_files(folder, tmp_path):
    (tmp_path / "secret").write_bytes(THETA.tobytes())
    (folder / "posterior" / "mu" / "link").symlink_to(tmp_path / "secret")
    with pytest.raises(sk.InputError, match=r"fit\.zarr/posterior/mu/link is a link, a pipe or a device"):
        sk.read_sample(folder)


def test_shapes_beyond_the_limits(folder):
    path = next(folder.glob("posterior/mu/.zarray"), None) or folder / "posterior/mu/zarr.json"
    meta = json.loads(path.read_text())
    for shape, words in (([2, 10**12], r"1\.6e\+13 bytes.*MAX_BYTES"), ([2, 10**7], "MAX_RATIO")):
        path.write_text(json.dumps({**meta, "shape": shape}))
        with pytest.raises(sk.InputError, match=rf"fit\.zarr unpacks to .*{words}"):
            sk.read_sample(folder)


@pytest.mark.skipif(sys.platform == "win32", reason="pipes are made as POSIX has them")
@pytest.mark.parametrize("name", ["chunk", "zarr.json", ".zarray", ".zgroup", ".zattrs"])
def test_pipes_are_not_waited_for(folder, name):
    path = folder / "posterior" / "mu" / name
    path.unlink(missing_ok=True)
    os.mkfifo(path)
    with pytest.raises(sk.InputError, match=rf"{re.escape(str(path))} is a link, a pipe or a device"):
        sk.read_sample(folder)


@pytest.mark.parametrize("name", ["chunk", "zarr.json", ".zattrs"])
def test_files_beyond_the_cap_are_refused_before_they_are_read(folder, name, monkeypatch):
    monkeypatch.setenv("STEINKIT_MAX_BYTES", "1e8")
    with open(folder / "posterior" / "mu" / name, "ab") as file:
        file.truncate(10**12)  # takes no room
    with pytest.raises(sk.InputError, match=r"fit\.zarr holds 1\.0000\d+e\+12 bytes, beyond the limit of 100,000,000"):
        sk.read_sample(folder)


def test_chunks_beyond_the_cap_are_refused_before_they_are_unpacked(folder, monkeypatch):
    """An array of eight numbers in a chunk of 1e9 bytes, of which none need be stored."""
    monkeypatch.setenv("STEINKIT_MAX_BYTES", "1e8")
    path = next(folder.glob("posterior/mu/.zarray"), None) or folder / "posterior/mu/zarr.json"
    meta = json.loads(path.read_text())
    if path.name == ".zarray":
        meta["chunks"] = [2, 62_500_000]
    else:
        meta["chunk_grid"]["configuration"]["chunk_shape"] = [2, 62_500_000]
    path.write_text(json.dumps(meta))
    with pytest.raises(sk.InputError, match=r"fit\.zarr unpacks to 1,000,000,\d+ bytes, beyond the limit"):
        sk.read_sample(folder)


@pytest.mark.parametrize("kind", ["GZip", "Zstd", "Blosc"])
def test_chunks_that_hold_more_than_they_say_are_refused(tmp_path, kind):
    pytest.importorskip("zarr", minversion="3")
    xarray, numcodecs = pytest.importorskip("xarray"), pytest.importorskip("numcodecs")
    codec, path = getattr(numcodecs, kind)(), tmp_path / "fit.zarr"
    xarray.Dataset({"mu": (BOTH, THETA[..., 0])}).to_zarr(
        path, group="posterior", zarr_format=2, consolidated=False, encoding={"mu": {"compressors": (codec,)}}
    )
    (path / "posterior/mu/0.0").write_bytes(bytes(codec.encode(np.zeros(10**6, dtype=np.uint8))))
    with pytest.raises(sk.InputError, match=r"fit\.zarr is damaged or no Zarr folder"):
        sk.read_sample(path)


def test_metadata_of_two_versions_could_tell_two_sizes(folder):
    mu = folder / "posterior" / "mu"
    (mu / ".zarray").write_text("{}")
    (mu / "zarr.json").write_text("{}")
    with pytest.raises(sk.InputError, match=r'fit\.zarr: "posterior/mu" has metadata of two versions of Zarr'):
        sk.read_sample(folder)


@pytest.mark.parametrize("text", ["[]", "{", '{"shape": 1, "shape": 2}', "[" * 100_000])
def test_metadata_that_are_none(folder, text):
    path = next(folder.glob("posterior/mu/.zarray"), None) or folder / "posterior/mu/zarr.json"
    path.write_text(text)
    with pytest.raises(sk.InputError, match=r"fit\.zarr"):
        sk.read_sample(folder)


def test_inference_data_written_by_arviz(tmp_path):
    pytest.importorskip("zarr")
    arviz = pytest.importorskip("arviz")
    data = arviz.from_dict(posterior={"theta": THETA}, coords={"s": ["b", "a", "c"]}, dims={"theta": ["s"]})
    try:
        data.to_zarr(str(tmp_path / "fit.zarr"))
    except (ImportError, ValueError) as error:
        pytest.skip(f"this ArviZ does not write with this Zarr: {error}")
    assert sk.read_sample(tmp_path / "fit.zarr").names == ("theta[b]", "theta[a]", "theta[c]")


@pytest.mark.parametrize("where", ["posterior", "posterior/mu"])
def test_metadata_that_would_fill_the_memory_are_refused_before_they_are_parsed(folder, where, monkeypatch):
    """Attributes of a thousandth of the cap are read, of a tenth are not."""
    monkeypatch.setenv("STEINKIT_MAX_BYTES", "1e7")
    file = next(path for name in (".zattrs", "zarr.json") if (path := folder / where / name).exists())
    kept = json.loads(file.read_text())
    attributes = kept.setdefault("attributes", {}) if file.name == "zarr.json" else kept
    for size, refused in ((10_000, False), (1_000_000, True)):
        attributes["note"] = "x" * size
        file.write_text(json.dumps(kept))
        if refused:
            with pytest.raises(sk.InputError, match=r"has metadata that take 1\d,\d{3},\d{3} bytes"):
                sk.read_sample(folder)
        else:
            assert len(sk.read_sample(folder)) == 8


def test_thousands_of_groups_are_refused_as_thousands_of_arrays_are(folder, monkeypatch):
    monkeypatch.setenv("STEINKIT_MAX_MEMBERS", "40")
    assert len(sk.read_sample(folder)) == 8
    for k in range(40):
        shutil.copytree(folder / "prior", folder / f"prior{k}", ignore=lambda *_: ["mu", "theta", "school", "chain"])
    with pytest.raises(sk.InputError, match="holds at least 41 members"):
        sk.read_sample(folder)
