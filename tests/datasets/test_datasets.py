"""The bundled data agree with the published ones and state their source."""

from importlib import resources

import numpy as np

from steinkit.targets import LogisticRegression, MixturePosterior


def test_nodal_has_the_published_margins():
    posterior = LogisticRegression.nodal()
    features, responses = posterior.data
    assert posterior.names == ("m", "aged", "stage", "grade", "xray", "acid")
    assert features.shape == (53, 6)
    assert responses.shape == (53,)
    assert (responses == 1.0).sum() == 20  # Brown (1980): nodal involvement in 20 of 53 patients
    assert set(np.unique(features)) == {0.0, 1.0}
    assert (features[:, 0] == 1.0).all()


def test_mixture_data_are_plausible_under_their_model():
    (y,) = MixturePosterior().data
    assert y.shape == (100,)
    # mean 1/2, variance 2 + 1/4
    assert abs(y.mean() - 0.5) < 3.0 * np.sqrt(2.25 / 100)
    assert abs(y.var() - 2.25) < 3.0 * np.sqrt(2.0 / 100) * 2.25


def test_every_file_has_a_source_and_a_licence():
    folder = resources.files("steinkit.datasets")
    text = (folder / "README.md").read_text(encoding="utf-8")
    for entry in folder.iterdir():
        if entry.name.endswith(".csv"):
            assert f"`{entry.name}`" in text
