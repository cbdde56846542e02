"""Vocabulary and shape of text: docs/development/words.md, applied to every file."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PYTHON = [
    path
    for top in ("steinkit", "samplers")
    for path in sorted((ROOT / top).rglob("*.py"))
    if "steinkit/samplers" not in str(path)
]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md", *sorted((ROOT / "docs").rglob("*.md"))]
OTHERS = [path for top in ("tests", "examples", "benchmarks") for path in sorted((ROOT / top).rglob("*.py"))]
AVOIDED = re.compile(
    r"\b(accus\w+|blam(e|es|ed|ing)|mend(s|ed|ing)?|stranger\w*|why_not|mean_off|sd_off|how far off|right draws"
    r"|right samples?|falls? apart|shares of modes|slow change|equal to the bit|should be had|to be had|be it|of which"
    r"|besides?|alike|all the same|that much)\b",
    re.IGNORECASE,
)
EXEMPT = {
    "docs/development/words.md",
    "tests/docs/test_language.py",
    *("benchmarks/tables.py", "benchmarks/verdict.py"),  # keys of stored records
    *("examples/papers/sequential_irls.py", "examples/papers/tests/test_recomputed.py"),  # names of stored claims
}
LONGEST = 79  # characters of the first line of a docstring


def identity(path: Path) -> str:
    return str(path.relative_to(ROOT))


def test_avoided_words_do_not_occur():
    found = []
    for path in [*PYTHON, *PAGES, *OTHERS]:
        lines = [] if identity(path) in EXEMPT else path.read_text(encoding="utf-8").splitlines()
        found += [f"{identity(path)}:{n}: {line.strip()}" for n, line in enumerate(lines, 1) if AVOIDED.search(line)]
    assert found == []


def test_first_lines_of_docstrings_are_short_sentences():
    found = []
    for path in PYTHON:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and (text := ast.get_docstring(node)):
                first = text.splitlines()[0]
                if len(first) > LONGEST or not first.endswith((".", "?", ":")):
                    found.append(f"{identity(path)}: {first}")
    assert found == []
