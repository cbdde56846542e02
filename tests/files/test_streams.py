"""Files of a folder that may come from outside: no links, no pipes, no devices."""

import os
from pathlib import Path

import pytest

from steinkit.errors import InputError
from steinkit.files.streams import enclosed

pytestmark = pytest.mark.skipif(os.name == "nt", reason="links and pipes are made as POSIX has them")


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "folder"
    (made / "inner").mkdir(parents=True)
    (made / "inner" / "file").write_bytes(b"found")
    (tmp_path / "victim").write_bytes(b"precious")
    (tmp_path / "outside").mkdir()
    return made


def test_regular_files_and_those_to_come_have_their_path(folder, tmp_path):
    assert enclosed(folder, "inner", "file") == folder / "inner" / "file"
    assert enclosed(folder, "lacking", "file") == folder / "lacking" / "file"
    (tmp_path / "shortcut").symlink_to(folder)
    assert enclosed(tmp_path / "shortcut", "inner", "file").read_bytes() == b"found"


@pytest.mark.parametrize("parts", [("link",), ("dangling",), ("led", "file"), ("led", "new")])
def test_links_are_refused(folder, tmp_path, parts):
    (folder / "link").symlink_to(tmp_path / "victim")
    (folder / "dangling").symlink_to(tmp_path / "made")
    (folder / "led").symlink_to(tmp_path / "outside")
    with pytest.raises(InputError, match=rf"folder/{parts[0]} is a link, which is not followed"):
        enclosed(folder, *parts)


def test_pipes_and_devices_are_refused_at_once(folder):
    os.mkfifo(folder / "pipe")
    with pytest.raises(InputError, match="folder/pipe is a pipe or a device"):
        enclosed(folder, "pipe")
    with pytest.raises(InputError, match=r"null is a pipe or a device"):
        enclosed(Path("/dev"), "null")
