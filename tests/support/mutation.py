"""Runs the tests that concern the module a mutation tool has changed, and stops at the first that fails.

    python tests/support/mutation.py            # after one file of the proof layer has been changed

The exit code is pytest's. `mutation.toml` names this program as its test command; CONTRIBUTING.md says how to use it.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = "tests/discrepancy/graph/programs/"
KSD, CLASSICAL = "tests/discrepancy/kernel/test_ksd.py::", "tests/discrepancy/classical/test_discrepancy.py::"
DUALITY = [
    CLASSICAL + "test_a_lying_solver_only_widens_the_bracket",
    CLASSICAL + "test_the_function_returned_is_admitted_and_attains_the_lower_bound",
    CLASSICAL + "test_it_is_that_of_a_discretised_function_space",
    CLASSICAL + "test_one_draw_reaches_the_ceiling_of_a_point",
    CLASSICAL + "test_points_on_and_near_a_bound",
    CLASSICAL + "test_coincident_points_count_like_one",
    CLASSICAL + "test_outliers_add_what_they_are_worth",
    CLASSICAL + "test_long_gaps_restrict_nothing",
]
TESTS = {
    "steinkit/discrepancy/graph/programs/certificate.py": [PROGRAMS + "test_certificate.py"],
    "steinkit/discrepancy/graph/programs/matrix_form.py": [
        PROGRAMS + "test_certificate.py",
        PROGRAMS + "test_matrix_form.py",
        PROGRAMS + "test_stein_program.py",
    ],
    "steinkit/discrepancy/graph/programs/stein_program.py": [
        PROGRAMS + "test_stein_program.py",
        PROGRAMS + "test_matrix_form.py",
    ],
    "steinkit/discrepancy/graph/programs/relative_form.py": [
        PROGRAMS + "test_relative_rows.py",
        PROGRAMS + "test_relative_form.py",
    ],
    "steinkit/discrepancy/graph/programs/chain_form.py": [
        PROGRAMS + "test_chain_bounds.py",
        PROGRAMS + "test_chain_form.py",
    ],
    "steinkit/discrepancy/graph/programs/chain_form_kernels.py": [
        PROGRAMS + "test_chain_bounds.py",
        PROGRAMS + "test_chain_form.py",
    ],
    "steinkit/discrepancy/kernel/rounding.py": [
        KSD + "test_bracket_holds_the_value_of_longer_numbers",
        KSD + "test_terms_are_no_larger_than_the_rounding_bound_takes_them",
    ],
    "steinkit/discrepancy/classical/upper_bound.py": DUALITY,
    "steinkit/discrepancy/classical/lower_bound.py": DUALITY,
}


def changed() -> list[str]:
    """Modules of the table that differ from the last commit."""
    found = subprocess.run(["git", "diff", "--name-only"], cwd=ROOT, check=True, capture_output=True, text=True)
    return [name for name in found.stdout.splitlines() if name in TESTS]


def run(names: list[str]) -> int:
    """Run their tests in this process."""
    if any(name.endswith("_kernels.py") for name in names):
        os.environ["NUMBA_DISABLE_JIT"] = "1"  # the same bits, and nothing to compile again
    import hypothesis
    import pytest

    phases = (hypothesis.Phase.explicit, hypothesis.Phase.generate)  # a smaller example would kill no better
    hypothesis.settings.register_profile("mutation", phases=phases, derandomize=True, database=None, deadline=None)
    hypothesis.settings.load_profile("mutation")
    tests = dict.fromkeys(test for name in names for test in TESTS[name])
    quiet = ["-q", "-p", "no:cacheprovider", "-W", "ignore::pytest.PytestAssertRewriteWarning"]
    return int(pytest.main(["-x", *quiet, "--hypothesis-profile=mutation", *tests]))


if __name__ == "__main__":
    os.chdir(ROOT)
    sys.path.insert(0, str(ROOT))
    sys.exit(run(changed() or list(TESTS)))
