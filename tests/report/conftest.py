"""Results for report pages: a sweep, a tuning, a comparison and curves."""

import numpy as np
import pytest
from support.page_checks import HOSTILE

import steinkit as sk
from steinkit.comparison import compare
from steinkit.curves import curve
from steinkit.report.page import write_report
from steinkit.sample import Sample
from steinkit.sweeps.run import sweep


@pytest.fixture(scope="session")
def swept(tmp_path_factory):
    """A sweep of random walks with steps that are too small, suitable and too large."""
    file = tmp_path_factory.mktemp("sweeps") / "walks & more.sqlite"
    sweep(
        "normal",
        "rwmh",
        target_options={"mean": [0.0, 0.0]},
        grid={"proposal_scale": [0.01, 1.0, 30.0]},
        options={"draws": 300, "start": "normal"},
        seeds=3,
        file=file,
    )
    return file


@pytest.fixture(scope="session")
def tuning(tmp_path_factory):
    """A tuning of four step sizes of SGLD at half of the cost of the grid: its file and its result."""
    file = tmp_path_factory.mktemp("tunings") / "steps & more.sqlite"
    posterior = sk.targets.LogisticRegression.nodal()
    steps, options = [1e-5, 1e-2, 3e-2, 1.0], {"batch_size": 10, "draws": 1000, "thin": 20}
    given = {"options": options, "cost": 0.5, "seeds": 1, "measures": ("moments",)}
    return file, sk.tune(posterior, "sgld", grid={"step_size": steps}, file=file, **given)


@pytest.fixture(scope="session")
def target():
    return sk.targets.Normal([0.0, 0.0])


@pytest.fixture(scope="session")
def comparison(target):
    rng = np.random.default_rng(0)
    samples = {"exact.csv": rng.standard_normal((200, 2)), HOSTILE: rng.standard_normal((200, 2)) + 2.0}
    return compare(samples, target, measures=["graph", "ess"], reference=3, tolerance=1e-2)


@pytest.fixture(scope="session")
def curves(target):
    """Two curves."""
    found = []
    for seed in (1, 5):
        rng = np.random.default_rng(seed)
        samples = [Sample(rng.standard_normal((40, 2))) for _ in range(3)]
        found.append(curve(samples, target, n=[10, 20, 40], tolerance=1e-2))
    return found


@pytest.fixture(scope="session")
def written(swept, tuning, comparison, curves, tmp_path_factory):
    """A page of the sweep, one of the tuning, and one of the other results."""
    folder = tmp_path_factory.mktemp("pages")
    write_report(swept, folder / "sweep.html")
    write_report(tuning[0], folder / "tuning.html")
    write_report([comparison, *curves], folder / "mixed.html", title=f"All of {HOSTILE}")
    return {name: folder / f"{name}.html" for name in ("sweep", "tuning", "mixed")}
