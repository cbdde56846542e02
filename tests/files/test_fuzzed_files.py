"""Damaged files are read correctly or rejected: a small part of `benchmarks/fuzz_files.py`."""

import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import steinkit as sk
from steinkit.files import csv_format

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
from fuzzing import corpora, readers

sys.path.pop(0)


@pytest.fixture(autouse=True)
def in_a_folder(tmp_path_factory, monkeypatch):
    monkeypatch.chdir(tmp_path_factory.mktemp("fuzzed"))


@pytest.mark.parametrize("reader", ["csv", "gz", "stan", "npy", "npz", "toml", "units"])
def test_every_file_is_read_correctly_or_rejected(reader):
    @settings(max_examples=40, deadline=None, database=None)
    @given(st.integers(0, 2**63))
    def try_file(seed):
        found, message = readers.outcome(reader, corpora.mutated(reader, seed))
        assert found in ("read", "refused"), message

    assert readers.outcome(reader, corpora.sound(reader)) == ("read", "")
    try_file()


def test_some_files_are_read_and_some_rejected():
    found = {readers.outcome("csv", corpora.mutated("csv", seed))[0] for seed in range(40)}
    assert found == {"read", "refused"}


class TestControls:
    """Readers with defects, which must be detected."""

    def test_a_wrong_number(self, monkeypatch):
        exact = csv_format.TextTable.rows

        def careless(*given):
            values, lines = exact(*given)
            values[0, 0] = np.nextafter(values[0, 0], 1.0)
            return values, lines

        monkeypatch.setattr(csv_format.TextTable, "rows", careless)
        assert readers.outcome("csv", corpora.sound("csv"))[0] == "misread"

    def test_an_unexpected_exception(self, monkeypatch):
        def fail(*given, **options):
            raise KeyError("points")

        monkeypatch.setattr(sk, "read_sample", fail)
        assert readers.outcome("npz", corpora.sound("npz"))[0] == "traceback"
