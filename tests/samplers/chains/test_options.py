"""The options of a run."""

import pytest

import steinkit as sk
from steinkit.samplers import RunOptions


def test_the_seeds_of_the_chains_follow_from_seed():
    options = RunOptions(draws=1, chains=3, seed=7)
    assert len(options.seeds) == options.chains == 3
    again = RunOptions(draws=1, seed=options.seeds[1:])
    assert again.seeds == options.seeds[1:]
    assert again.chains == 2


@pytest.mark.parametrize("name", ["chains", "burn_in", "thin"])
def test_none_is_not_a_number(name):
    with pytest.raises(sk.UsageError, match=f"{name} must be a whole number"):
        RunOptions(draws=1, **{name: None})
