"""``steinkit report``: pages of results."""

import json
from pathlib import Path

import pytest


@pytest.fixture
def scored(steinkit, folder, sample_file):
    """Return a file written by ``steinkit score -o``."""
    steinkit("score", sample_file, "--target", "normal", "--measure", "ess", "-o", "score.json")
    return "score.json"


def test_writes_a_page(steinkit, scored):
    outcome = steinkit("report", scored, "-o", "report.html", "--title", "A <b>title</b>")
    assert outcome.code == 0
    assert outcome.out == ""
    html = Path("report.html").read_text(encoding="utf-8")
    document = json.loads(Path(scored).read_text())
    assert "draws.csv against target normal:</span> No bias found in 200 draws" in html
    assert document["verdict"]["sentence"] in html
    assert f"The effective sample size of the worst parameter is {document['results'][0]['value']:.4g}" in html
    assert "A &lt;b&gt;title&lt;/b&gt;" in html


@pytest.mark.parametrize(
    ("arguments", "code", "fragment"),
    [
        ((), 2, "Missing argument"),
        (("score.json",), 2, "Missing option '-o'"),
        (("score.json", "-o", "-"), 2, "-o"),
        (("score.json", "-o", "score.json"), 2, "would overwrite"),
        (("score.json", "-o", "nowhere/report.html"), 3, "nowhere"),
        (("scores.json", "-o", "report.html"), 3, "scores.json does not exist"),
        (
            ("draws.csv", "-o", "report.html"),
            3,
            "draws.csv.npz",
        ),
        ((".", "-o", "report.html"), 2, "got the folder ."),
    ],
)
def test_mistakes(steinkit, scored, arguments, code, fragment):
    before = Path("score.json").read_bytes()
    outcome = steinkit("report", *arguments)
    assert outcome.code == code
    assert fragment in outcome.err
    assert Path("score.json").read_bytes() == before
    assert not Path("report.html").exists()
