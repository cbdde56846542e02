"""The programs that the site shows newcomers: they run, right draws pass, wrong ones do not, and it is said as shown.

What is shown is made by ``python score_pymc.py > printed/pymc.txt`` in their folder, and so for the others.
"""

import re
from pathlib import Path

import pytest
from support.scripts import output_of

FOLDER = Path(__file__).parents[2] / "examples" / "ecosystems"
PACKAGES = sorted(path.stem.removeprefix("score_") for path in FOLDER.glob("score_*.py"))


def verdicts(text):
    """Return the beginnings of the two verdicts, up to their first number.

    PyStan's report that it builds a program, and a first sentence on divergent transitions, are left out.
    """
    said = re.sub(r"^Building.*$", "", text, flags=re.MULTILINE)
    said = re.sub(r"^\d+ of \d+ transitions diverged.*?can\s+detect\.\s", "", said, flags=re.MULTILINE | re.DOTALL)
    return [re.match(r"[^\d(]+", part.strip())[0] for part in re.split(r"^--- .*$", said, flags=re.MULTILINE)]


def test_pages_show_the_output_of_every_program():
    assert {path.stem for path in (FOLDER / "printed").glob("*.txt")} == set(PACKAGES)


def skip_where_stan_cannot_compile():
    """Skip without a compiler for Stan or enough memory for it."""
    stan = pytest.importorskip("stan")
    try:
        stan.build("parameters { real x; } model { x ~ std_normal(); }")
    except Exception as error:
        pytest.skip(f"Stan cannot compile even the smallest program on this machine: {error}")


@pytest.mark.parametrize("package", PACKAGES)
def test_exact_draws_pass_and_biased_ones_do_not(package, tmp_path):
    pytest.importorskip(package)
    try:
        printed = output_of(FOLDER / f"score_{package}.py", folder=tmp_path, warned="ignore")
    except Exception:
        if package == "stan":
            skip_where_stan_cannot_compile()
        raise
    found = verdicts(printed)
    assert found[0].startswith("No bias found")
    assert found[1].startswith("These draws do not come from the target")
    assert found == verdicts((FOLDER / "printed" / f"{package}.txt").read_text())
