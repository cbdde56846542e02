"""Files of a folder that may come from a stranger: no links, no pipes, nothing beyond the cap."""

import os
from pathlib import Path

import pytest

from steinkit.errors import InputError
from steinkit.files.streams import enclosed, open_enclosed, read_enclosed

pytestmark = pytest.mark.skipif(os.name == "nt", reason="links and pipes are made as POSIX has them")


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "folder"
    (made / "inner").mkdir(parents=True)
    (made / "inner" / "file").write_bytes(b"found")
    (tmp_path / "victim").write_bytes(b"precious")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "file").write_bytes(b"precious")
    return made


def test_regular_files_are_read_and_written(folder):
    assert enclosed(folder, "inner", "file") == folder / "inner" / "file"
    assert read_enclosed(folder, "inner", "file") == b"found"
    with open_enclosed(folder, "inner", "file", mode="ab") as file:
        file.write(b", and more")
    with open_enclosed(folder, "new", mode="wb") as file:
        file.write(b"new")
    assert read_enclosed(folder, "inner", "file") == b"found, and more"
    assert read_enclosed(folder, "new") == b"new"
    with pytest.raises(FileNotFoundError):
        read_enclosed(folder, "lacking", "file")


def test_the_folder_itself_may_be_a_link(folder, tmp_path):
    (tmp_path / "shortcut").symlink_to(folder)
    assert read_enclosed(tmp_path / "shortcut", "inner", "file") == b"found"


@pytest.mark.parametrize("mode", ["rb", "ab", "wb"])
@pytest.mark.parametrize("parts", [("link",), ("dangling",), ("led", "file"), ("led", "new")])
def test_links_are_not_followed(folder, tmp_path, parts, mode):
    (folder / "link").symlink_to(tmp_path / "victim")
    (folder / "dangling").symlink_to(tmp_path / "made")
    (folder / "led").symlink_to(tmp_path / "outside")
    with pytest.raises(InputError, match=rf"folder/{parts[0]} is a link, which is not followed"):
        open_enclosed(folder, *parts, mode=mode)
    assert (tmp_path / "victim").read_bytes() == (tmp_path / "outside" / "file").read_bytes() == b"precious"
    assert not (tmp_path / "made").exists()
    assert not (tmp_path / "outside" / "new").exists()


def test_a_link_that_takes_the_place_of_a_file_is_not_followed_either(folder, tmp_path, monkeypatch):
    (folder / "link").symlink_to(tmp_path / "victim")
    monkeypatch.setattr("steinkit.files.streams.enclosed", lambda folder, *parts: folder.joinpath(*parts))
    with pytest.raises(OSError, match="symbolic links"):
        open_enclosed(folder, "link", mode="wb")
    assert (tmp_path / "victim").read_bytes() == b"precious"


@pytest.mark.parametrize("mode", ["rb", "ab"])
def test_pipes_and_devices_are_refused_at_once(folder, mode):
    os.mkfifo(folder / "pipe")
    with pytest.raises(InputError, match="folder/pipe is a pipe or a device"):
        open_enclosed(folder, "pipe", mode=mode)
    with pytest.raises(InputError, match=r"null is a pipe or a device"):
        open_enclosed(Path("/dev"), "null", mode=mode)


def test_files_beyond_the_cap_are_refused_before_they_are_read(folder, monkeypatch):
    monkeypatch.setenv("STEINKIT_MAX_BYTES", "1e6")
    with open(folder / "large", "wb") as file:
        file.truncate(10**12)  # takes no room
    with pytest.raises(InputError, match=r"large holds 1e\+12 bytes, beyond the limit of 1,000,000"):
        read_enclosed(folder, "large")
