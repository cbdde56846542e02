"""The picture of moments: a cell a moment, red for too high, too wide and a correlation above the target's."""

import io

import numpy as np
import pytest
from matplotlib.figure import Figure

import steinkit as sk
from steinkit import plots


def found(dim, n=400):
    """The first coordinate too high, the last too wide; the first two too much alike, from two dimensions on."""
    x = np.random.default_rng(dim).standard_normal((n, dim))
    x[:, -1] *= 1.4
    x[:, 0] += 0.5
    if dim > 2:
        x[:, 1] += 0.5 * (x[:, 0] - 0.5)
    return sk.moment_stein_discrepancy(sk.Sample(x, names=[f"name {j}" for j in range(dim)], scores=-x))


def cells(ax):
    return np.asarray(ax.images[0].get_array().filled(np.nan))


def test_signs_say_which_way():
    result = found(4)
    shown = cells(plots.moment_matrix(result, Figure().add_subplot()))
    z = {(each.kind, *each.coordinates): each.z for each in result.moments}
    assert shown[0, 0] == abs(z["location", "name 0"]) > 5.0  # too high, where the moment itself is negative
    assert z["location", "name 0"] < 0.0
    assert shown[3, 1] == -z["spread", "name 3"] > 5.0
    assert shown[1, 3] == -z["dependence", "name 0", "name 1"] > 5.0
    assert np.isnan(shown[0, 3:]).all()  # no pair twice
    assert np.isfinite(shown).sum() == 4 + 4 + 6


@pytest.mark.parametrize(("dim", "written"), [(1, 2), (2, 5), (30, 0)])
def test_numbers_are_written_where_there_is_room(dim, written):
    figure = plots.picture(found(dim), "$draws$.csv")
    assert sum(text.get_text()[-1].isdigit() for text in figure.axes[0].texts) == written
    labels = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert labels == [f"name {j}" for j in range(dim)]
    stream = io.BytesIO()
    figure.savefig(stream, format="png")
    assert stream.getvalue().startswith(b"\x89PNG")
    assert figure.get_suptitle().startswith("$draws$.csv\nmoments: p = ")
