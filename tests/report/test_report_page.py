"""Report pages: valid HTML without external resources, escaped text, order, contrast, reproducibility."""

import base64
import re
import shutil
import sqlite3
from contextlib import closing
from importlib import resources

import pytest
from support.page_checks import HOSTILE_SHOWN, Page, control_characters, faults

from steinkit.errors import InputError, UsageError
from steinkit.report.page import meanings, write_report
from steinkit.sweeps.result import read_sweep
from steinkit.text import Table, compact, setting_key, within


@pytest.fixture(scope="module")
def pages(written):
    return {name: path.read_text(encoding="utf-8") for name, path in written.items()}


@pytest.mark.parametrize("name", ["sweep", "tuning", "mixed"])
def test_is_valid_without_external_resources(pages, name):
    assert faults(pages[name]) == []
    assert "default-src 'none'" in pages[name]
    style = Page(pages[name]).text("style")[0]
    assert "url(" not in style
    assert "@import" not in style
    assert len(pages[name]) < 1_000_000


def test_a_text_is_one_source_and_explanations_depend_on_the_table(swept, tmp_path):
    write_report(str(swept.with_suffix("")), tmp_path / "page.html")
    assert (tmp_path / "page.html").exists()
    found = {lead: dict(meanings(Table("", (lead, "mean"), ())))["mean"] for lead in ("coordinate", "moment")}
    assert found["coordinate"] != found["moment"]


@pytest.mark.parametrize(
    ("html", "fault"),
    [
        ("<p>", "never closed"),
        ("<b><i></b></i>", "closes"),
        ('<p id="a"></p><p id="a"></p>', "twice"),
        ('<img alt="x" src="https://example.org/x.png">', "leaves the page"),
        ('<a href="#nowhere">x</a>', "no element"),
        ("<h1>a</h1><h3>b</h3>", "skips"),
        ("<script></script>", "not wanted"),
    ],
)
def test_the_checks_detect_errors(html, fault):
    assert any(fault in each for each in faults(html))


def test_the_first_heading_is_the_headline(pages, swept):
    best = read_sweep(swept).criteria["graph"].best["proposal_scale"]
    (heading,) = Page(pages["sweep"]).text("h1")
    headline = f"Proposal scale {best:g} is the best of 3 settings by graph Stein discrepancy"
    assert heading.startswith(f"rwmh on target normal (mean=(0, 0)): {headline}")
    assert Page(pages["sweep"]).text("title") == [heading]


def test_text_figures_and_tables_are_in_this_order(pages):
    html = pages["sweep"]
    places = [html.index(each) for each in ('<dl class="answers">', "<figure>", "<table ", "target fingerprint")]
    assert places == sorted(places)


def test_alternative_texts_have_the_numbers_of_figures(pages, swept):
    page = Page(pages["sweep"])
    described = [attrs["alt"] for attrs in page.find("img")]
    assert len(described) == 1
    for row in read_sweep(swept).criteria["graph"].rows:
        assert f"{row.median:.4g}" in described[0]
        assert within(row.median, row.lower, row.upper) in page.text("td")
    assert len(page.text("figcaption")) == 1


@pytest.mark.parametrize("name", ["sweep", "mixed"])
def test_every_column_is_explained(pages, name):
    page = Page(pages[name])
    columns = {text for text, attrs in zip(page.text("th"), page.find("th"), strict=True) if attrs["scope"] == "col"}
    plain = {"sample", "setting", "source", "subject", "result", "quantity"}
    assert columns - plain <= set(page.text("dt"))


def test_names_are_escaped(pages):
    html = pages["mixed"]
    assert "<script" not in html
    page = Page(html)
    assert page.text("title") == [f"All of {HOSTILE_SHOWN}"]
    assert any(HOSTILE_SHOWN in cell for cell in page.text("th"))
    assert any(HOSTILE_SHOWN in attrs["alt"] for attrs in page.find("img"))


def test_a_tuning_from_its_file_and_from_memory_is_the_same(pages, tuning, tmp_path):
    file, found = tuning
    page = Page(pages["tuning"])
    (heading,) = page.text("h1")
    assert heading.startswith(f"sgld on target logistic-posterior: Step size {found.setting['step_size']:g} ")
    assert "4 settings" in heading
    assert f"{found.spent / found.full:.1%} of the full grid's cost" in heading
    heads = ["setting", *(f"{rung.measure} at {rung.length:,}" for rung in found.rungs)]
    assert [text for text in page.text("th") if text in heads] == heads
    assert page.text("td")[: len(found.rungs)] == [
        compact(rung.losses[setting_key(found.setting)]) for rung in found.rungs
    ]
    assert "Which setting is best?" in page.text("dt")
    write_report(found, tmp_path / "other.html")
    assert Page((tmp_path / "other.html").read_text(encoding="utf-8")).text("td") == page.text("td")
    assert file.name in pages["tuning"].replace("&amp;", "&")


@pytest.mark.parametrize("name", ["sweep", "tuning", "mixed"])
def test_a_page_has_no_control_characters(pages, name):
    pictures = re.findall(r"data:image/svg\+xml;base64,([^\"]+)", pages[name])
    assert pictures
    for text in (pages[name], *(base64.b64decode(each).decode() for each in pictures)):
        assert control_characters(text) == set()


@pytest.fixture(scope="module")
def comparison_page(comparison, tmp_path_factory):
    path = tmp_path_factory.mktemp("made") / "made.html"
    write_report(comparison, path)
    return path


def test_a_comparison_from_its_file_and_from_memory_is_the_same(comparison, comparison_page, tmp_path):
    comparison.save(tmp_path / "kept.json")
    write_report(tmp_path / "kept.json", tmp_path / "read.html")
    read, made = (Page(path.read_text(encoding="utf-8")) for path in (tmp_path / "read.html", comparison_page))
    assert read.text("td") == made.text("td")
    assert read.find("img") == made.find("img")


def test_each_source_has_its_section(pages):
    page = Page(pages["mixed"])
    (heading,) = page.text("h1")
    assert heading.startswith("2 samples: exact.csv is proved better than " + HOSTILE_SHOWN + " by graph Stein")
    assert page.text("h2") == ["Summary", "the comparison", "the curve", "the curve (2)"]
    summary = next(at for at, (tag, attrs) in enumerate(page.elements) if tag == "table")
    assert page.elements[summary][1]["class"] == "summary"
    assert page.texts[summary].count("decreases") == 2
    links = [attrs["href"] for attrs in page.find("a")]
    assert all(links.count(f"#source-{number}") == 2 for number in (1, 2, 3))  # above and in the summary
    assert "(3 independent samples)" in page.text("td")


def test_the_same_result_gives_the_same_bytes(comparison, comparison_page, tmp_path):
    write_report(comparison, tmp_path / "again.html")
    assert (tmp_path / "again.html").read_bytes() == comparison_page.read_bytes()


def test_colors_have_contrast():
    """WCAG 2 AA: 4.5 for text, 3 for graphical marks, in both schemes."""
    style = resources.files("steinkit.report").joinpath("style.css").read_text(encoding="utf-8")
    schemes = [
        dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", block)) for block in re.findall(r":root \{(.*?)\}", style, re.S)
    ]
    assert len(schemes) == 3  # light, dark, print
    for colors in schemes:
        for text in ("ink", "soft", "link"):
            for ground in ("paper", "card", "warned", "code"):
                assert _contrast(colors[text], colors[ground]) >= 4.5, (text, ground)
        for mark in ("accent", "warned-line"):
            assert _contrast(colors[mark], colors["paper"]) >= 3.0


def test_contrast_of_known_colors():
    assert _contrast("#000000", "#ffffff") == pytest.approx(21.0)
    assert _contrast("#767676", "#ffffff") == pytest.approx(4.54, abs=0.01)  # the well-known lightest gray that passes


def _contrast(one, other):
    def luminance(color):
        shares = [int(color[k : k + 2], 16) / 255.0 for k in (1, 3, 5)]
        linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in shares]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


class TestInvalidInput:
    @pytest.mark.parametrize("text", ["{", "[1, 2]", "{}"])
    def test_a_file_without_a_result(self, tmp_path, text):
        (tmp_path / "result.json").write_text(text)
        with pytest.raises(InputError, match=r"result\.json\.npz"):
            write_report(tmp_path / "result.json", tmp_path / "page.html")
        assert not (tmp_path / "page.html").exists()

    def test_a_file_without_a_finished_sweep(self, swept, tmp_path):
        copy = shutil.copy(swept, tmp_path)
        with closing(sqlite3.connect(copy)) as database, database:
            database.execute("DELETE FROM result")
        with pytest.raises(InputError, match=r"more\.sqlite"):
            write_report(copy, tmp_path / "page.html")

    @pytest.mark.parametrize("sources", [[], 3, [3]])
    def test_sources_that_are_not_results(self, tmp_path, sources):
        with pytest.raises(UsageError):
            write_report(sources, tmp_path / "page.html")
