"""``steinkit compare``: ranks, failures, JSON, figures and exit codes."""

import json

import pytest

from steinkit import __version__

_NORMAL = ("--target", "normal", "--reference", "0")
_ASKED = ("files", "target", "command")  # keys that describe the call


@pytest.fixture
def three(write_csv, draws):
    """Return the files of two exact samples and one that is too wide."""
    return (
        write_csv("a,b", draws, "right.csv"),
        write_csv("a,b", draws, "again.csv"),
        write_csv("a,b", 1.5 * draws, "wide.csv"),
    )


class TestJson:
    def test_ranking(self, steinkit, three):
        outcome = steinkit("compare", *three, *_NORMAL, "--json")
        document = outcome.document
        assert outcome.code == 0
        assert list(document) == ["samples", "ranking", "reference", "units", "warnings", "version", *_ASKED]
        assert document["ranking"] == {"graph": [["right.csv", "again.csv"], ["wide.csv"]]}
        assert [each["file"] for each in document["samples"]] == list(three)
        assert [each["rank"] for each in document["samples"]] == [{"graph": 1}, {"graph": 1}, {"graph": 3}]
        assert (document["reference"], document["version"]) == ({}, __version__)
        assert all(note.startswith("wide.csv: ") for note in document["warnings"])

    def test_output_file(self, steinkit, three, folder):
        outcome = steinkit("compare", *three, *_NORMAL, "--measure", "ksd", "--measure", "ess", "-o", "out.json")
        document = json.loads((folder / "out.json").read_text())
        assert outcome.code == 0
        assert set(document["ranking"]) == {"ksd", "ess"}
        assert "Kernel Stein discrepancy, smaller is better" in outcome.out

    def test_default_reference(self, steinkit, three):
        document = steinkit("compare", *three, "--target", "normal", "--measure", "ksd", "--json").document
        (reference,) = document["reference"]["ksd"]
        assert (reference["draws"], len(reference["values"])) == (200, 5)


class TestFailures:
    def test_an_unreadable_file_is_reported(self, steinkit, three, write_csv):
        bad = write_csv("a,b", [[0.0, "what"]], "bad.csv")
        outcome = steinkit("compare", bad, *three, "missing.csv", *_NORMAL, "--json")
        document = outcome.document
        assert outcome.code == 3
        assert [each["file"] for each in document["samples"]] == [bad, *three, "missing.csv"]
        assert "what" in document["samples"][0]["error"]
        assert "missing.csv" in document["samples"][4]["error"]
        assert document["samples"][0]["draws"] is None
        assert "warning: bad.csv could not be read" in outcome.err

    def test_no_readable_file(self, steinkit):
        outcome = steinkit("compare", "missing.csv", "gone.csv", *_NORMAL)
        assert outcome.code == 3
        assert "missing.csv" in outcome.err

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (("right.csv",), "twice"),
            (("--solver", "nosuch"), "nosuch"),
            (("-o", "right.csv"), "overwrite"),
            (("--plot", "ranks.doc"), ".png"),
            (("-o", "-"), "standard output"),
        ],
    )
    def test_wrong_usage(self, steinkit, three, arguments, message):
        outcome = steinkit("compare", *three, *_NORMAL, *arguments)
        assert (outcome.code, outcome.out) == (2, "")
        assert message in outcome.err


def test_reads_standard_input(steinkit, three, folder):
    data = (folder / "wide.csv").read_bytes()
    document = steinkit("compare", "-", three[0], *_NORMAL, "--measure", "ksd", "--json", stdin=data).document
    assert document["ranking"] == {"ksd": [["right.csv"], ["-"]]}
