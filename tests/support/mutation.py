"""Run the tests of the module that a mutation tool changed, until one fails.

    python tests/support/mutation.py            # after one file of the proof layer has been changed

The exit code is that of pytest. `mutation.toml` names this program as its test command; see CONTRIBUTING.md.
"""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = ["tests/discrepancy/graph/programs"]
TESTS = {
    "steinkit/double_double.py": ["tests/test_double_double.py", "tests/test_sample.py"],
    "steinkit/discrepancy/graph/programs/matrix_form.py": PROGRAMS,
    "steinkit/discrepancy/graph/programs/stein_program.py": PROGRAMS,
    "steinkit/discrepancy/graph/programs/relative_form.py": PROGRAMS,
    "steinkit/discrepancy/graph/programs/chain_form.py": PROGRAMS,
    "steinkit/discrepancy/graph/programs/chain_form_kernels.py": PROGRAMS,
    "steinkit/discrepancy/kernel/rounding.py": ["tests/discrepancy/kernel"],
    "steinkit/discrepancy/classical_bounds.py": ["tests/discrepancy/classical"],
}
"""The modules, and the tests of each."""


def changed() -> list[str]:
    """Return the modules of the table that differ from the last commit."""
    found = subprocess.run(["git", "diff", "--name-only"], cwd=ROOT, check=True, capture_output=True, text=True)
    return [name for name in found.stdout.splitlines() if name in TESTS]


def run(modules: list[str]) -> int:
    """Run the tests of some modules in this process."""
    if any(name.endswith("_kernels.py") for name in modules):
        os.environ["NUMBA_DISABLE_JIT"] = "1"  # bit-for-bit identical without a compilation
    import hypothesis
    import pytest

    phases = (hypothesis.Phase.explicit, hypothesis.Phase.generate)  # smaller examples would not detect more
    hypothesis.settings.register_profile("mutation", phases=phases, derandomize=True, database=None, deadline=None)
    tests = dict.fromkeys(test for name in modules for test in TESTS[name])
    quiet = ["-q", "-p", "no:cacheprovider", "-W", "ignore::pytest.PytestAssertRewriteWarning"]
    return int(pytest.main(["-x", *quiet, "-m", "not slow", "--hypothesis-profile=mutation", *tests]))


if __name__ == "__main__":
    os.chdir(ROOT)
    sys.path.insert(0, str(ROOT))
    if modules := sys.argv[1:] or changed():
        sys.exit(run(modules))
    kernels = [name for name in TESTS if name.endswith("_kernels.py")]  # as plain Python, in a separate process
    parts = [kernels, [name for name in TESTS if name not in kernels]]
    sys.exit(max(subprocess.run([sys.executable, __file__, *part]).returncode for part in parts))
