"""Figures of findings, biases and mode weights: positions, order and labels."""

import numpy as np
import pytest

import steinkit as sk
from steinkit import plots


@pytest.fixture(scope="module")
def wrong():
    x = np.random.default_rng(0).standard_normal((600, 2)) * np.array([1.0, 1.4]) + np.array([0.5, 0.0])
    return sk.verdict(x, scores=-x)


def test_findings_are_at_their_standard_errors_largest_on_top(wrong, ax):
    plots.verdict(wrong, ax)
    labels = [each.get_text() for each in ax.get_yticklabels()]
    assert set(labels[:2]) == {"x2 is too wide", "x1 is too high"}
    assert ax.lines[0].get_xdata() == pytest.approx([abs(each.z) for each in wrong.findings])
    assert list(ax.lines[0].get_ydata()) == list(range(len(wrong.findings)))
    bottom, top = ax.get_ylim()
    assert bottom > top


def test_a_verdict_without_findings_has_a_note(ax):
    x = np.random.default_rng(1).standard_normal((300, 2))
    plots.verdict(sk.verdict(x, scores=-x), ax)
    assert len(ax.lines[0].get_xdata()) == 0
    assert len(ax.texts) == 1
    ax.figure.canvas.draw()


def test_biases_before_and_after_repair():
    """The third of twelve coordinates is .5 too high, and the eighth 1.5 times too wide."""
    x = np.random.default_rng(0).standard_normal((500, 12))
    x[:, 2] += 0.5
    x[:, 7] *= 1.5
    repaired = sk.repair(sk.Sample(x, names=[f"beta[{k}]" for k in range(12)], scores=-x))
    figure = plots.biases(repaired.bias, repaired.after)
    figure.draw_without_rendering()
    means, sds = figure.axes
    labels = [label.get_text() for label in means.get_yticklabels()]
    assert len(labels) == 10
    assert set(labels[:2]) == {"beta[2]", "beta[7]"}
    before, after = (container.lines[0].get_xdata()[labels.index("beta[2]")] for container in means.containers[:2])
    assert before == pytest.approx(0.5, abs=0.05)
    assert abs(after) < abs(before)
    assert sds.containers[0].lines[0].get_xdata()[labels.index("beta[7]")] == pytest.approx(np.log(1.5), abs=0.1)
    boxes = [label.get_window_extent() for label in means.get_yticklabels()]
    assert not any(one.overlaps(other) for k, one in enumerate(boxes) for other in boxes[:k])


def test_mode_weights_of_the_draws_and_of_the_target(ax):
    rng = np.random.default_rng(0)
    points = np.where(rng.random((600, 1)) < 0.3, 9.0, 0.0) + rng.standard_normal((600, 1))
    found = sk.mode_weights(points, sk.targets.GaussianMixture([[0.0], [9.0]], sd=1.0))
    plots.mode_weights(found, ax)
    assert ax.lines[0].get_xdata() == pytest.approx(found.draws_shares)
    assert ax.containers[0].lines[0].get_xdata() == pytest.approx(found.shares)
    assert {text.get_text() for text in ax.get_legend().get_texts()} == {"in the draws", "under the target"}
