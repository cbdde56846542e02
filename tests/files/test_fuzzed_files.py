"""Damaged files are read right or refused in words: a small part of what `benchmarks/fuzz_files.py` tries."""

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
def test_every_file_is_read_right_or_refused(reader):
    @settings(max_examples=40, deadline=None, database=None)
    @given(st.integers(0, 2**63))
    def try_file(seed):
        found, said = readers.outcome(reader, corpora.mutated(reader, seed))
        assert found in ("read", "refused"), said

    assert readers.outcome(reader, corpora.sound(reader)) == ("read", "")
    try_file()


def test_some_are_read_and_some_refused():
    found = {readers.outcome("csv", corpora.mutated("csv", seed))[0] for seed in range(40)}
    assert found == {"read", "refused"}


def test_mutations_are_those_of_their_seed():
    assert [corpora.mutated("npz", 3)] * 2 == [corpora.mutated("npz", 3), corpora.mutated("npz", 3)]


class TestControls:
    """Readers with faults, which must be found."""

    def test_a_number_that_is_another(self, monkeypatch):
        whole = csv_format.read_plain

        def careless(*given):
            table = whole(*given)
            if table is not None:
                table.values[0, 0] = np.nextafter(table.values[0, 0], 1.0)
            return table

        monkeypatch.setattr(csv_format, "read_plain", careless)
        assert readers.outcome("csv", corpora.sound("csv"))[0] == "misread"

    def test_quotes_that_join_what_stands_beside_them(self, monkeypatch):
        strict = csv_format.csv.reader
        with monkeypatch.context() as lenient:  # one of its own: the folder at hand stays what it is
            lenient.setattr(
                csv_format.csv, "reader", lambda *given, **options: strict(*given, **options | {"strict": False})
            )
            found, said = readers.outcome("csv", b'a,b\n"0.5"1,2\n')
        assert found != "refused", said
        assert readers.outcome("csv", b'a,b\n"0.5"1,2\n')[0] == "refused"

    def test_an_error_that_is_none_of_ours(self, monkeypatch):
        def fail(*given, **options):
            raise KeyError("points")

        monkeypatch.setattr(sk, "read_sample", fail)
        assert readers.outcome("npz", corpora.sound("npz"))[0] == "traceback"
