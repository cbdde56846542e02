"""Notebook displays: the summary with a figure, and escaped names."""

from xml.etree import ElementTree

import numpy as np
import pytest

import steinkit as sk
from steinkit.samplers import rwmh

TARGET = sk.targets.Normal(0.0, dim=2)
DRAWS = np.random.default_rng(0).normal(size=(400, 2)) * [1.0, 1.5]


def parsed(shown):
    """Parse the HTML; an unescaped name is an error."""
    return ElementTree.fromstring(
        shown._repr_html_().replace(" alt=", " data-alt=").replace('">\n</div>', '"/>\n</div>')
    )


def words(tree):
    return " ".join("".join(tree.itertext()).split())


def pictures(tree):
    return [image.get("src")[:26] for image in tree.iter("img")]


def test_a_verdict_has_its_summary_and_a_figure():
    found = sk.verdict(DRAWS, TARGET)
    shown = parsed(found)
    assert words(shown) == " ".join(found.summary().split())
    assert pictures(shown) == ["data:image/svg+xml;base64,"]


def test_a_verdict_without_findings_has_no_figure():
    assert pictures(parsed(sk.verdict(DRAWS / [1.0, 1.5], TARGET))) == []


@pytest.mark.parametrize(
    ("measure", "has_plot"),
    [
        (sk.graph_stein_discrepancy, True),
        (sk.sliced_stein_discrepancy, True),
        (sk.moment_stein_discrepancy, True),
        (sk.kernel_stein_discrepancy, False),
    ],
)
def test_results_have_their_value(measure, has_plot):
    found = measure(DRAWS[:60], TARGET)
    shown = parsed(found)
    assert str(found.value)[:4] in words(shown) or f"{found.value:.3g}"[:4] in words(shown)
    assert bool(pictures(shown)) == has_plot


def test_a_sample_has_moments_of_its_first_coordinates():
    names = tuple(f"<b>{k}" for k in range(15))
    shown = parsed(sk.Sample(np.random.default_rng(1).normal(size=(50, 15)) + 7.0, names=names))
    rows = [[cell.text for cell in row] for row in shown.iter("tr")][1:]
    assert [row[0] for row in rows] == list(names[:12])
    assert all(6.0 < float(row[1]) < 8.0 and 0.5 < float(row[2]) < 1.5 for row in rows)
    assert "and 3 more" in "".join(shown.itertext())


def test_draws_of_a_sampler_are_displayed_as_a_sample():
    draws = rwmh(TARGET, draws=30, chains=2, proposal_scale=1.0)
    assert len(list(parsed(draws).iter("tr"))) == 3
    assert repr(draws).startswith("<Draws of 2 chains of 30 draws, d = 2: x1, x2; sampler='rwmh'")


def test_a_curve_has_a_figure():
    found = sk.curve(DRAWS[:, :1], sk.targets.Normal(), n=[10, 20, 40, 80], measure="graph")
    assert len(pictures(parsed(found))) == 1
