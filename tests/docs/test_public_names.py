"""Pages of public names: a file each, on every system."""

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
