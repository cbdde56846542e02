"""Whatever shares a panel is told apart in grey print and by the colour-blind: by colour, or by mark, dashes or hatch.

Every picture is drawn, and what stands in each of its panels is compared pair by pair, as colours of CIELAB. What those
see who lack a cone is simulated by the matrices of Machado, Oliveira and Fernandes (2009), for linear red, green, blue.
"""

from __future__ import annotations

import inspect
from itertools import chain, combinations

import numpy as np
import pytest
from _bands import bands
from _pictures import plot_bands, plot_risk
from _running_means import LongRunMean, risk, running_means
from matplotlib.collections import PathCollection, PolyCollection
from matplotlib.colors import to_rgb, to_rgba
from matplotlib.figure import Figure

import steinkit as sk
from steinkit import plots
from steinkit.measurement import Term
from steinkit.measures import measure_names, take_measure
from steinkit.plots.axes import coordinate_bars
from steinkit.sweeps.cells import Cell, Measured
from steinkit.sweeps.choice import choose

MINUS = "\N{MINUS SIGN}"
APART = 10.0  # in CIELAB; a step of 2.3 is just noticed side by side
XYZ = np.array(
    [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]]
)
SEEN = {
    "in grey": np.tile([0.2126729, 0.7151522, 0.0721750], (3, 1)),
    "with protanopia": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "with deuteranopia": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
}


def lab(colour, how):
    """CIELAB of a colour on white paper, as it is seen."""
    *rgb, alpha = to_rgba(colour)
    rgb = alpha * np.array(rgb) + 1.0 - alpha
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    t = XYZ @ np.clip(SEEN[how] @ linear, 0.0, 1.0) / XYZ.sum(axis=1)
    f = np.where(t > (6.0 / 29.0) ** 3, np.cbrt(t), t * (29.0 / 6.0) ** 2 / 3.0 + 4.0 / 29.0)
    return np.array([116.0 * f[1] - 16.0, 500.0 * (f[0] - f[1]), 200.0 * (f[1] - f[2])])


def distance(one, other, how):
    return float(np.linalg.norm(lab(one, how) - lab(other, how)))


def hue(colour):
    """Which of red, green and blue is the most; -1 for greys."""
    rgb = np.array(to_rgb(colour))
    return -1 if np.ptp(rgb) < 0.01 else int(rgb.argmax())


def things(ax):
    """(kind and form, colour) of all lines, marks and areas of a panel; the area about a line is told by the line."""
    lined = {to_rgb(line.get_color()) for line in ax.lines}
    for line in ax.lines:
        mark = line.get_marker() if line.get_markersize() else "None"
        dashes = str(line._unscaled_dash_pattern) if line.get_linestyle() != "None" else "None"
        yield ("line", str(mark), line.get_fillstyle(), dashes), line.get_color()
    for each in ax.collections:
        if isinstance(each, PathCollection) and len(each.get_offsets()):
            each.update_scalarmappable()
            form = each.get_paths()[0].vertices.round(6).tobytes()
            yield from ((("marks", form), colour) for colour in np.unique(each.get_facecolors(), axis=0))
        elif isinstance(each, PolyCollection) and each.get_paths() and to_rgb(each.get_facecolors()[0]) not in lined:
            yield ("area", each.get_hatch()), each.get_facecolors()[0]
    for each in ax.patches:
        yield ("area", each.get_hatch()), each.get_facecolor()


def muddled(figure):
    """Pairs of one form in a panel of which the colours are not told apart, and how they are looked at."""
    found = []
    for ax in figure.axes:
        if ax.get_label() == "<colorbar>":  # there the place tells
            continue
        drawn = {(form, to_rgba(colour)) for form, colour in things(ax)}
        for (form, one), (other_form, other) in combinations(sorted(drawn, key=repr), 2):
            if form != other_form or (form[0] == "marks" and hue(one) == hue(other)):  # shades say how much
                continue
            for how in SEEN:
                if distance(one, other, how) < APART:
                    found.append((form[0], one, other, how))
    return found


@pytest.fixture(scope="module")
def found():
    """Results to draw, by what they are."""
    rng = np.random.default_rng(0)
    plane, line = rng.standard_normal((200, 2)) + np.array([0.5, 0.0]), 1.4 * rng.standard_normal(60)
    space = rng.standard_normal((150, 4)) * [1.0, 1.5, 1.0, 1.0] + [0.5, 0.0, 0.0, 0.0]
    normal = sk.targets.Normal(dim=2)
    graph = sk.graph_stein_discrepancy(plane, normal, tolerance=1e-2)
    right = np.full(3, 0.02 * graph.value)  # so that there are too many draws and too few
    settings = [{"step_size": step, "batch": batch} for batch in (1, 2, 3, 4, 5, 6) for step in (0.01, 0.1)]
    return {
        "line": sk.graph_stein_discrepancy(line, sk.targets.Normal(dim=1), tolerance=1e-2),
        "line_draws": sk.Sample(line),
        "plane": graph,
        "normal": normal,
        "reference": sk.Reference(right, right, 200),
        "sliced": sk.sliced_stein_discrepancy(sk.Sample(space, scores=-space)),
        "moments": sk.moment_stein_discrepancy(sk.Sample(space, scores=-space)),
        "verdict": sk.verdict(sk.Sample(space, scores=-space)),
        "choices": {name: choice(name, settings) for name in ("graph", "ess")},
        "compared": sk.compare({"a": line, "b": line[:30]}, sk.targets.Normal(dim=1), measures="ksd", reference=2),
        "modes": sk.mode_weights(
            np.where(rng.random((600, 1)) < 0.3, 9.0, 0.0) + rng.standard_normal((600, 1)),
            sk.targets.GaussianMixture([[0.0], [9.0]], sd=1.0),
        ),
        "repaired": sk.repair(0.1 + 1.1 * rng.standard_normal((200, 2)), sk.targets.Normal([0.0, 0.0])),
        "curve": sk.curve([sk.Sample(line), sk.Sample(line[::-1])], sk.targets.Normal(dim=1), measure="ksd"),
        "bands": bands(rng.lognormal(size=(4, 3)), [1.0, 2.0, 3.0]),
    }


def choice(measure, settings):
    records = [
        Cell(setting, seed, measures={measure: Measured(measure, v, v, v)})
        for k, setting in enumerate(settings)
        for seed, v in enumerate(k + np.arange(1.0, 6.0))
    ]
    return choose(records, measure, settings)


def curves(found, ax):
    for number in range(5):
        color, marker, _ = plots.look(number)
        plots.curve(found["curve"], ax, label=f"sampler {number}", color=color, marker=marker)


def replicates(found, ax):
    for number in range(5):
        color, _, dashes = plots.look(number)
        plot_bands(found["bands"], ax, color=color, linestyle=dashes)


def risks(found, ax):
    truth = LongRunMean(np.zeros(1), np.full(1, 0.1))
    chains = sk.Sample(np.random.default_rng(1).standard_normal((3, 20, 1)))
    for number in range(5):
        color, _, dashes = plots.look(number)
        table = running_means(chains, n=[5, 20])
        plot_risk(risk(table, truth), ax, color=color, linestyle=dashes)


def bars(found, ax):
    terms = [Term(name, 1.0, 1.0, 1.0) for name in "ab"]
    coordinate_bars({f"sample {k}": terms for k in range(6)}, ax)


ON_AXES = {
    "coordinates": bars,
    "curve": curves,
    "draws": lambda found, ax: plots.draws(found["plane"], ax, reference=found["reference"]),
    "draws_with_density": lambda found, ax: plots.draws_with_density(found["plane"], found["normal"], ax),
    "selection": lambda found, ax: plots.selection(found["choices"], "step_size", ax),
}
OF_PAPERS = {"bands": replicates, "risk": risks}
FIGURES = {
    "biases": lambda found: plots.biases(found["repaired"].bias, found["repaired"].after),
    "picture": lambda found: plots.picture(found["plane"]),
}


NOT_DRAWN = {"Look", "figures", "look", "svg"}


def of_its_kind(found, name):
    """A picture by itself: of the result that its first argument is to be, one of `found` or any measure's."""
    function = getattr(plots, name)
    parameters = inspect.signature(function).parameters
    kind = next(iter(parameters.values())).annotation.partition(" |")[0]
    measured = (take_measure(each, found["line_draws"], sk.targets.Normal(dim=1)) for each in measure_names())
    result = next(each for each in chain(found.values(), measured) if type(each).__name__ == kind)
    return function(result, **({"ax": new_axes()} if "ax" in parameters else {}))


def new_axes():
    return Figure(figsize=(6.0, 6.0), layout="constrained").add_subplot()


@pytest.mark.parametrize("name", sorted(set(plots.__all__) - NOT_DRAWN | set(OF_PAPERS)))
def test_what_shares_a_panel_is_told_apart(found, name):
    if name in FIGURES:
        drawn = FIGURES[name](found)
    elif name in ON_AXES | OF_PAPERS:
        (ON_AXES | OF_PAPERS)[name](found, drawn := new_axes())
    else:
        drawn = of_its_kind(found, name)
    figure = drawn if isinstance(drawn, Figure) else drawn.figure
    assert any(list(things(ax)) or ax.images for ax in figure.axes)
    assert muddled(figure) == []


def test_signs_of_moments_do_not_hang_on_a_colour(found):
    ax = plots.moment_matrix(found["moments"], Figure().add_subplot())
    assert {text.get_text()[0] for text in ax.texts} == {"+", "-"}


def test_signs_of_many_moments_do_not_hang_on_a_colour():
    x = np.random.default_rng(2).standard_normal((300, 16)) * np.linspace(0.7, 1.3, 16)
    result = sk.moment_stein_discrepancy(sk.Sample(x, scores=-x))
    ax = plots.moment_matrix(result, Figure().add_subplot())
    values = ax.images[0].get_array().filled(0.0)
    shown = {text.get_position(): text.get_text() for text in ax.texts}
    assert shown == {(k, i): "+" if values[i, k] > 0.0 else MINUS for i, k in np.argwhere(np.abs(values) >= 3.0)}
    assert set(shown.values()) == {"+", MINUS}


@pytest.mark.parametrize(
    ("one", "other", "how"),
    [
        ("#D55E00", "#0072B2", "in grey"),  # of one lightness
        ("#cc4444", "#448844", "with deuteranopia"),  # red and green
        ("#009E73", "#D55E00", "in grey"),
        ("#c02020", "#564a20", "with protanopia"),  # red is dark, as olive is
    ],
)
def test_colours_that_are_muddled_are_found(one, other, how):
    figure = Figure()
    ax = figure.add_subplot()
    ax.plot([0, 1], [0, 1], color=one)
    ax.plot([0, 1], [1, 0], color=other)
    assert how in {found[-1] for found in muddled(figure)}
    ax.lines[1].set_linestyle("--")
    assert muddled(figure) == []
    ax.bar([0, 1], [1.0, 1.0], color=[one, other])
    assert how in {found[-1] for found in muddled(figure)}
    ax.patches[1].set_hatch("//")
    assert muddled(figure) == []


def test_grey_is_seen_as_it_is_and_white_is_white():
    for how in SEEN:
        assert lab("white", how) == pytest.approx([100.0, 0.0, 0.0], abs=0.05)
        assert lab("0.466", how) == pytest.approx([50.0, 0.0, 0.0], abs=0.1)


class TestLook:
    def test_marks_and_dashes_differ_for_longer_than_colours(self):
        looks = [plots.look(number) for number in range(35)]
        assert len({look.color for look in looks[:5]}) == 5
        assert len({(look.marker, str(look.linestyle)) for look in looks}) == 35

    def test_there_is_none_before_the_first(self):
        with pytest.raises(sk.UsageError, match="must be 0 or more; received -1"):
            plots.look(-1)
