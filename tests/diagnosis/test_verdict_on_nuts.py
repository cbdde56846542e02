"""Raw NUTS chains from four packages are rejected no more often than the level allows."""

import warnings

from support.nuts_chains import PACKAGES, nuts_samples

import steinkit as sk


def test_exact_chains_of_nuts_pass():
    """On average, .9 of 18 samples are rejected at .05, and .2 at .01. The packages take turns."""
    found = []
    for sample in (nuts_samples(PACKAGES[k % 4])[k] for k in range(18)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found.append(sk.verdict(sample.draws, scores=sample.scores))
    assert len(found) == 18
    assert sum(each.enough_draws for each in found) >= 16
    for test in (None, "moments", "bounded", "sliced", "ksd"):
        p_values = [each.p_of(test) if test else each.p for each in found if each.enough_draws]
        assert sum(p <= 0.05 for p in p_values) <= 4
        assert sum(p <= 0.01 for p in p_values) <= 2


def test_biased_chains_of_nuts_are_rejected():
    """One coordinate is 10% too wide and .2 sd too high."""
    rejected = tried = 0
    for sample in nuts_samples("numpyro"):
        if "normal" in sample.name and sample.name.endswith("four, 0"):
            wrong = sample.draws.copy()
            wrong[..., 0] = 1.1 * wrong[..., 0] + 0.2
            tried += 1
            rejected += sk.verdict(wrong, scores=-wrong).is_biased
    assert tried
    assert rejected >= 0.8 * tried
