"""Overview figures of results."""

import io

import numpy as np
import pytest

import steinkit as sk
from steinkit import plots
from steinkit.measures import take_measure
from steinkit.measures.scores import Scores
from steinkit.plots.axes import WIDTH

NORMAL = sk.targets.Normal(dim=2)


def _png(figure):
    stream = io.BytesIO()
    figure.savefig(stream, format="png", dpi=50)
    return stream.getvalue()


def _graph(points, names=None):
    points = np.asarray(points)
    sample = sk.Sample(points, names=names)
    return sk.graph_stein_discrepancy(sample, sk.targets.Normal(dim=points.shape[1]), tolerance=1e-2)


@pytest.mark.parametrize("dim", [1, 2, 7])
def test_a_figure_has_the_headline_and_is_not_registered_with_pyplot(dim):
    import matplotlib.pyplot as plt

    plt.close("all")
    result = _graph(np.random.default_rng(dim).standard_normal((25, dim)))
    figure = plots.plot(result)
    assert figure.get_suptitle().replace("\n", " ") == result.headline()
    assert len(_png(figure)) > 3000
    assert plt.get_fignums() == []


@pytest.mark.parametrize("dim", [1, 2])
def test_names_are_not_formulas(dim):
    result = _graph(np.random.default_rng(0).standard_normal((5, dim)), (r"$\frac{$", "cost_$ and $")[:dim])
    for figure in plots.figures(result):
        assert _png(figure.draw()).startswith(b"\x89PNG")


def test_extreme_draws_have_a_figure():
    points = np.vstack([np.random.default_rng(0).standard_normal((10, 2)), [[1e80, -1e50]]])
    assert _png(plots.plot(_graph(points))).startswith(b"\x89PNG")


def test_a_result_without_figures_is_refused():
    with pytest.raises(sk.UsageError, match="ChainDiagnostics"):
        plots.plot(sk.chain_diagnostics(np.arange(20.0)))


def test_scores_have_the_figures_of_the_verdict_and_of_each_measure():
    draws = np.random.default_rng(0).standard_normal((200, 2)) + np.array([1.0, 0.5])
    sample = sk.Sample(draws, scores=-draws)
    taken = tuple(take_measure(name, sample) for name in ("graph", "sliced", "moments"))
    found = Scores(sample, taken, {}, sk.verdict(draws, scores=-draws), None, ())
    shown = found.figures()
    assert [each.draw().axes[0].get_xlabel() for each in shown] == [
        "standard errors from the target",
        "x1",
        "contribution to the discrepancy",
        "x1",
        "contribution to the discrepancy",
        "",
    ]
    assert "200 draws, x1 from" in shown[1].alt
    assert found.plot().axes[0].get_xlabel() == "x1"


def test_every_letter_is_legible_at_390_pixels():
    """Fonts of 9 points on a figure 5.2 inches wide are 9 pixels high if the page is 390 pixels wide."""
    draws = np.random.default_rng(0).standard_normal((200, 2)) + 0.5
    compared = sk.compare({"a": draws, "b": draws + 1.0}, NORMAL, measures="ksd", reference=2)
    results = (_graph(draws), sk.verdict(draws, NORMAL), compared, sk.curve(draws, NORMAL, measure="ksd"))
    for picture in (each for result in results for each in plots.figures(result)):
        figure = picture.draw()
        figure.draw_without_rendering()
        assert figure.get_size_inches()[0] == WIDTH
        for ax in figure.axes:
            texts = [ax.xaxis.label, ax.yaxis.label, *ax.get_xticklabels(), *ax.get_yticklabels(), *ax.texts]
            texts += ax.get_legend().get_texts() if ax.get_legend() else []
            assert min(text.get_size() for text in texts) * 390.0 / 72.0 / WIDTH >= 9.0
