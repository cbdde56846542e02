"""Pages of public names have distinct files on every system."""

import re
import sys
from collections import Counter
from pathlib import Path

import pytest

pytest.importorskip("sphinx")
EXTENSIONS = Path(__file__).parents[2] / "docs" / "_extensions"


@pytest.fixture
def names(monkeypatch):
    monkeypatch.syspath_prepend(EXTENSIONS)
    import public_names

    yield public_names
    sys.modules.pop("public_names")


def test_no_two_pages_differ_only_in_case(names):
    public, files = set(names.public_names().values()), names.file_names()
    assert {"steinkit.verdict", "steinkit.Verdict"} <= public
    assert files["steinkit.Verdict"] == "steinkit.Verdict-class"
    assert files.keys() < public
    count = Counter(files.get(full, full).lower() for full in public)
    assert {file for file, pages in count.items() if pages > 1} == set()


def test_every_public_name_is_listed_once(names):
    folder = EXTENSIONS.parent / "reference" / "api"
    pages = [names.filled(page.read_text(encoding="utf-8"), folder) for page in folder.glob("*.rst")]
    listed = Counter(full for page in pages for _, full in names.entries(page) if full.startswith("steinkit."))
    assert listed == Counter(set(names.public_names().values()))


def test_an_unlisted_name_is_listed_by_the_longest_pattern(names, monkeypatch):
    known = names.public_names() | {name: f"steinkit.samplers.{name}" for name in ("new", "NewTest")}
    monkeypatch.setattr(names, "public_names", lambda: known)
    folder = EXTENSIONS.parent / "reference" / "api"
    page = names.filled((folder / "samplers.rst").read_text(encoding="utf-8"), folder)
    assert re.search(r"^   herding\n(   \w+\n)*   new\n", page, re.M)
    assert re.search(r"^   MinibatchBarkerTest\n(   \w+Test\n)*   NewTest\n", page, re.M)
