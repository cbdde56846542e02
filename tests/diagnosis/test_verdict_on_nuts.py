"""Raw chains of NUTS, as four packages make them by default, are right: no test may accuse more of them than it says.

Before its signs followed slow even functions, the kernel test rejected 20 of 20 such chains of fifty coordinates.
"""

import warnings

import pytest
from support.nuts_chains import nuts_samples

import steinkit as sk


@pytest.mark.parametrize("package", ["pymc", "nutpie", "numpyro", "blackjax"])
def test_right_chains_of_nuts_are_not_accused(package):
    """Of 18 samples one is rejected at .05 and .2 at .01, by the verdict and by each of its tests."""
    found = []
    for sample in nuts_samples(package):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found.append(sk.verdict(sample.draws, scores=sample.scores))
    assert len(found) == 18
    assert sum(each.enough_draws for each in found) >= 16
    for test in ("p", "p_moments", "p_bounded", "p_sliced", "p_ksd"):
        p_values = [getattr(each, test) for each in found if each.enough_draws]
        assert sum(p <= 0.05 for p in p_values) <= 4
        assert sum(p <= 0.01 for p in p_values) <= 2


def test_wrong_chains_of_nuts_are_accused():
    """The same draws, one coordinate of each a tenth too wide and a fifth of a standard deviation too high."""
    accused = tried = 0
    for sample in nuts_samples("numpyro"):
        if "normal" in sample.name:
            wrong = sample.draws.copy()
            wrong[..., 0] = 1.1 * wrong[..., 0] + 0.2
            tried += 1
            accused += sk.verdict(wrong, scores=-wrong).is_biased
    assert accused >= 0.8 * tried
