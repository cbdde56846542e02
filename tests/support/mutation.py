"""Run the tests of the module that a mutation tool changed, until one fails.

    python tests/support/mutation.py            # after one file of the proof layer has been changed

The exit code is that of pytest. `mutation.toml` names this program as its test command; see CONTRIBUTING.md.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = "tests/discrepancy/graph/programs/"
FURTHER = {
    "steinkit/double_double.py": ["tests/test_sample.py"],
    "steinkit/discrepancy/graph/programs/matrix_form.py": [
        PROGRAMS + "test_certificate.py",
        PROGRAMS + "test_stein_program.py",
        PROGRAMS + "test_rounded_data.py",
    ],
    "steinkit/discrepancy/graph/programs/stein_program.py": [
        PROGRAMS + "test_matrix_form.py",
        PROGRAMS + "test_rounded_data.py",
    ],
    "steinkit/discrepancy/graph/programs/relative_form.py": [
        PROGRAMS + "test_relative_rows.py",
        PROGRAMS + "test_rounded_data.py",
    ],
    "steinkit/discrepancy/graph/programs/chain_form.py": [
        PROGRAMS + "test_chain_bounds.py",
        PROGRAMS + "test_chain_errors.py",
        PROGRAMS + "test_rounded_data.py",
    ],
    "steinkit/discrepancy/graph/programs/chain_form_kernels.py": [
        PROGRAMS + "test_chain_bounds.py",
        PROGRAMS + "test_chain_errors.py",
        PROGRAMS + "test_chain_form.py",
        PROGRAMS + "test_matrix_form.py",
    ],
    "steinkit/discrepancy/kernel/rounding.py": [
        "tests/discrepancy/kernel/test_base_kernels.py",
        "tests/discrepancy/kernel/test_ksd.py",
    ],
    "steinkit/discrepancy/classical_bounds.py": [
        "tests/discrepancy/classical/test_discrepancy.py",
        "tests/discrepancy/classical/test_lower_bound.py",
        "tests/discrepancy/classical/test_upper_bound.py",
    ],
}
"""The modules, and their tests in addition to the file that mirrors each."""


def changed() -> list[str]:
    """Return the modules of the table that differ from the last commit."""
    found = subprocess.run(["git", "diff", "--name-only"], cwd=ROOT, check=True, capture_output=True, text=True)
    return [name for name in found.stdout.splitlines() if name in FURTHER]


def tests_of(module: str) -> list[str]:
    """Return the test files of a module."""
    path = Path(module)
    mirror = Path("tests", *path.parent.parts[1:], f"test_{path.name}")
    return [str(mirror)] * (ROOT / mirror).exists() + FURTHER[module]


def run(modules: list[str]) -> int:
    """Run the tests of some modules in this process."""
    if any(name.endswith("_kernels.py") for name in modules):
        os.environ["NUMBA_DISABLE_JIT"] = "1"  # bit-for-bit identical without a compilation
    import hypothesis
    import pytest

    phases = (hypothesis.Phase.explicit, hypothesis.Phase.generate)  # smaller examples would not detect more
    hypothesis.settings.register_profile("mutation", phases=phases, derandomize=True, database=None, deadline=None)
    tests = dict.fromkeys(test for name in modules for test in tests_of(name))
    quiet = ["-q", "-p", "no:cacheprovider", "-W", "ignore::pytest.PytestAssertRewriteWarning"]
    return int(pytest.main(["-x", *quiet, "-m", "not slow", "--hypothesis-profile=mutation", *tests]))


if __name__ == "__main__":
    os.chdir(ROOT)
    sys.path.insert(0, str(ROOT))
    if modules := sys.argv[1:] or changed():
        sys.exit(run(modules))
    kernels = [name for name in FURTHER if name.endswith("_kernels.py")]  # as plain Python, in a separate process
    parts = [kernels, [name for name in FURTHER if name not in kernels]]
    sys.exit(max(subprocess.run([sys.executable, __file__, *part]).returncode for part in parts))
