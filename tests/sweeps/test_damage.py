"""A bit that flips in a sweep's folder, or an end cut off, is never used in silence: it is named and run again."""

import json
import os
import shutil

import numpy as np
import pytest
from support.records import timeless

import steinkit as sk
from steinkit.errors import InputError
from steinkit.sweeps import store as store_module
from steinkit.sweeps.identity import sample_digest
from steinkit.sweeps.result import read_sweep
from steinkit.sweeps.run import sweep
from steinkit.sweeps.store import RECORDS, Store, draws_file, parse_records, sealed, unsealed

DATA = np.linspace(-1.0, 1.0, 12)


def small(directory, **changes):
    given = {"grid": {"proposal_scale": [0.2, 1.0]}, "options": {"draws": 30}, "seeds": 2, "measures": ("ksd",)}
    return sweep(sk.targets.GaussianMean(DATA), "rwmh", directory=directory, **given | changes)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole") / "out"
    return folder, small(folder)


def flipped(data, rng):
    bit = int(rng.integers(8 * len(data)))
    return data[: bit // 8] + bytes([data[bit // 8] ^ 1 << bit % 8]) + data[bit // 8 + 1 :]


def damaged_folders(folder, count, tmp_path, only="**/*"):
    """Copies of a folder with a bit flipped, or one in four of them cut off, in a file drawn by its size."""
    rng = np.random.default_rng(7)
    files = [path.relative_to(folder) for path in sorted(folder.glob(only)) if path.is_file() and path.stat().st_size]
    sizes = np.array([(folder / path).stat().st_size for path in files], dtype=float) ** 0.5
    for k in range(count):
        copy = tmp_path / str(k)
        shutil.copytree(folder, copy)
        path = copy / files[rng.choice(len(files), p=sizes / sizes.sum())]
        data = path.read_bytes()
        path.write_bytes(data[: rng.integers(len(data))] if rng.random() < 0.25 else flipped(data, rng))
        yield copy, path


def used_in_silence(copy, path, result):
    """Whether what is read, or what the sweep makes of the folder, is another result without a word of the file."""
    try:
        read = timeless(read_sweep(copy).records) == timeless(result.records)
    except InputError as error:
        read = str(copy) in str(error)
    ends_well = path.read_bytes()[-1:] in (b"", b"\n")  # as after a kill, where it was cut off between two lines
    again = small(copy)
    named = any(path.name in note for note in again.warnings)
    same = timeless(again.records) == timeless(result.records)
    return not (read and same and (named or again.reused == result.cells or (path.name == RECORDS and ends_well)))


def test_no_damage_is_used_in_silence(whole, tmp_path):
    folder, result = whole
    assert [path for copy, path in damaged_folders(folder, 24, tmp_path) if used_in_silence(copy, path, result)] == []


@pytest.mark.parametrize("checked", [True, False])
def test_a_flipped_bit_of_a_score_is_seen_by_the_checks_alone(whole, tmp_path, monkeypatch, checked):
    folder, result = whole

    def trusting(data, indent=None):
        return {name: value for name, value in json.loads(data).items() if name != "checksum"}

    if not checked:
        monkeypatch.setattr(store_module, "unsealed", trusting)
    shutil.copytree(folder, tmp_path / "out")
    path = tmp_path / "out" / RECORDS
    data = path.read_bytes()
    digit = data.index(b'"value": 0.') + len(b'"value": 0.')
    path.write_bytes(data[:digit] + bytes([data[digit] ^ 1]) + data[digit + 1 :])
    assert used_in_silence(tmp_path / "out", path, result) is not checked


def test_damaged_records_are_named_set_aside_and_run_again(whole, tmp_path):
    folder, result = whole
    shutil.copytree(folder, tmp_path / "out")
    file = tmp_path / "out" / RECORDS
    lines = file.read_bytes().splitlines(keepends=True)
    harmed = lines[1].replace(b'"acceptance": 0.', b'"acceptance": 1.')
    assert harmed != lines[1]
    file.write_bytes(b"".join([lines[0], harmed, lines[2], lines[3][:50] + b"\n"]))
    with pytest.raises(InputError, match=rf"{RECORDS}, damaged in line 2, lacks 2 records"):
        read_sweep(tmp_path / "out")
    again = small(tmp_path / "out")
    assert again.reused == 2
    assert any(f"lines 2, 4 of {file}" in note for note in again.warnings)
    assert timeless(again.records) == timeless(result.records)
    assert (tmp_path / "out" / "damaged" / RECORDS).read_bytes() == harmed + lines[3][:50] + b"\n"
    last = small(tmp_path / "out")
    assert (last.reused, last.warnings) == (4, result.warnings)


def test_damaged_draws_are_named_set_aside_and_run_again(whole, tmp_path):
    folder, result = whole
    shutil.copytree(folder, tmp_path / "out")
    first = result.records[0]["cell"]
    path = draws_file(tmp_path / "out", first)
    other = draws_file(tmp_path / "out", result.records[2]["cell"])
    shutil.copy(other, path)  # a whole file, but of another cell
    again = small(tmp_path / "out")
    assert again.reused == 3
    assert any(f"the draws in {path} are damaged" in note for note in again.warnings)
    assert (tmp_path / "out" / "damaged" / path.name).read_bytes() == other.read_bytes()
    assert timeless(again.records) == timeless(result.records)
    assert draws_file(tmp_path / "out", first).read_bytes() == draws_file(folder, first).read_bytes()
    path.unlink()
    assert any(f"the draws in {path} cannot be read" in note for note in small(tmp_path / "out").warnings)
    assert small(tmp_path / "out").reused == 4


def test_a_document_that_is_not_as_it_was_written_is_refused(whole, tmp_path):
    folder, _ = whole
    for name in ("result.json", "sweep.json"):
        shutil.copytree(folder, tmp_path / name)
        file = tmp_path / name / name
        file.write_text(file.read_text().replace("0.2", "0.3", 1))
        with pytest.raises(InputError, match=rf"{name} is not as a sweep wrote it \(the checksum does not match\)"):
            read_sweep(tmp_path / name)


def test_a_record_must_describe_the_cell_whose_fingerprint_it_bears(whole):
    record = parse_records((whole[0] / RECORDS).read_bytes())[0].popitem()[1]
    moved = sealed({**record, "seed": 99})  # with a checksum of its own
    assert parse_records(moved) == ({}, {1: moved[:-1]})


def test_what_has_no_checksum_is_refused_by_name_and_run_again(whole, tmp_path):
    shutil.copytree(whole[0], tmp_path / "out")
    for path in (tmp_path / "out").glob("*.json*"):
        lines = path.read_text().splitlines() if path.name == RECORDS else [path.read_text()]
        found = [json.loads(line) for line in lines]
        path.write_text("".join(json.dumps({k: v for k, v in d.items() if k != "checksum"}) + "\n" for d in found))
    with pytest.raises(InputError, match=r"there is no checksum\): it is damaged"):
        read_sweep(tmp_path / "out")
    again = small(tmp_path / "out")
    assert again.reused == 0
    assert any("lines 1, 2, 3, 4 of" in note for note in again.warnings)


@pytest.mark.parametrize("document", [{}, {"a": [1, None, 0.1, 1e-300, "ü\n"], "b": {"c": True}}])
@pytest.mark.parametrize("indent", [None, 2])
def test_every_flipped_bit_breaks_a_seal(document, indent):
    data = sealed(document, indent)
    assert unsealed(data, indent) == document
    for bit in range(8 * len(data)):
        harmed = data[: bit // 8] + bytes([data[bit // 8] ^ 1 << bit % 8]) + data[bit // 8 + 1 :]
        with pytest.raises(ValueError):  # noqa: PT011 (of whatever kind)
            unsealed(harmed, indent)
    for end in range(len(data)):
        with pytest.raises(ValueError):  # noqa: PT011
            unsealed(data[:end], indent)
    with pytest.raises(ValueError, match="nested too deeply"):
        unsealed(b"[" * 100_000)


def test_draws_are_told_apart_by_all_that_is_known_of_them():
    points = np.arange(6.0).reshape(3, 2)
    samples = [
        sk.Sample(points),
        sk.Sample(points[::-1]),
        sk.Sample(points, names=("a", "b")),
        sk.Sample(points, weights=[1.0, 2.0, 3.0]),
        sk.Sample(points, cost=[1.0, 2.0, 3.0]),
        sk.Sample(points, scores=points),
    ]
    assert len({sample_digest(sample) for sample in samples}) == len(samples)
    assert sample_digest(sk.Sample(points.copy())) == sample_digest(samples[0])


def test_what_a_killed_run_was_writing_is_removed(tmp_path):
    (tmp_path / "samples").mkdir()
    for folder in (tmp_path, tmp_path / "samples"):
        (folder / ".steinkit-0123456789abcdef.tmp").write_bytes(b"half")
    with Store(tmp_path):
        assert not list(tmp_path.glob("**/*.tmp"))


@pytest.fixture
def strange(whole, tmp_path):
    """A copy of a sweep's folder, and beside it what a link in it could lead to."""
    folder, _ = whole
    (tmp_path / "victim").write_bytes(b"precious\n")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / ".steinkit-0.tmp").write_bytes(b"precious\n")
    return shutil.copytree(folder, tmp_path / "out")


def kept_outside(folder):
    outside = list((folder.parent / "outside").iterdir())
    return [each.read_bytes() for each in (folder.parent / "victim", *outside)] == [b"precious\n", b"precious\n"]


@pytest.mark.skipif(os.name == "nt", reason="links are made as POSIX has them")
@pytest.mark.parametrize("name", ["lock", "records.jsonl", "sweep.json", "damaged/records.jsonl", "samples", "damaged"])
@pytest.mark.parametrize("begun", [True, False])
def test_links_in_a_strangers_folder_lead_nowhere(strange, name, begun):
    if not begun:
        for path in strange.iterdir():
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    if name.startswith("damaged"):
        with open(strange / RECORDS, "ab") as stream:
            stream.write(b"damaged\n")  # and so to be set aside
    place = strange / name
    place.parent.mkdir(exist_ok=True)
    if place.is_dir():
        shutil.rmtree(place)
    place.unlink(missing_ok=True)
    place.symlink_to(strange.parent / ("outside" if name in ("samples", "damaged") else "victim"))
    with pytest.raises(InputError, match=f"{name} is a link, which is not followed"):
        small(strange)
    assert kept_outside(strange)


@pytest.mark.skipif(os.name == "nt", reason="links are made as POSIX has them")
def test_a_result_and_draws_that_are_links_are_replaced(strange):
    (strange / "result.json").unlink()
    (strange / "result.json").symlink_to(strange.parent / "victim")
    draws = next((strange / "samples").iterdir())
    kept = draws.rename(strange.parent / "kept.npz")
    draws.symlink_to(kept)
    with pytest.raises(InputError, match=r"result\.json is a link, which is not followed"):
        read_sweep(strange)
    result = small(strange)
    assert any(f"{draws.name} is a link, which is not followed" in note for note in result.warnings)
    assert not (strange / "result.json").is_symlink()
    assert not draws.is_symlink()
    assert kept_outside(strange)
    assert kept.exists()


@pytest.mark.skipif(os.name == "nt", reason="pipes are made as POSIX has them")
@pytest.mark.parametrize("name", ["sweep.json", "result.json", RECORDS])
def test_pipes_in_a_strangers_folder_are_not_waited_for(strange, name):
    (strange / name).unlink()
    os.mkfifo(strange / name)
    with pytest.raises(InputError, match=f"{name} is a pipe or a device and no file"):
        read_sweep(strange)
    if name != "result.json":  # which is replaced
        with pytest.raises(InputError, match=f"{name} is a pipe or a device and no file"):
            small(strange)
