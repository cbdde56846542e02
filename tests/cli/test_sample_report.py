"""Report of a sampler's run."""

from steinkit.cli.draws_commands import run_text

_RUN = {
    "sampler": "sgld",
    "target": "normal",
    "draws": [100, 100],
    "acceptance": [0.25, 0.35],
    "mean_batch_size": None,
    "cost": [1234.0, 1234.0],
    "diagnostics": {"step_size": [0.1, None]},
    "seconds": 0.5,
}


def test_chains_facts():
    found = run_text(_RUN)
    for fact in ("2 chains of 100 draws", "acceptance 0.3;", "cost 1,234;", "step size 0.1"):
        assert fact in found


def test_chains_of_several_lengths():
    found = run_text(_RUN | {"draws": [80, 100], "cost": [None, None]})
    assert "2 chains of 80 to 100 draws" in found
    assert "cost" not in found
