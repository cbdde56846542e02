"""Hash of the code that the function of a cell depends on.

Changes to claims, plots and docstrings do not cause cells to be recomputed. The hash includes all functions,
classes and constants that the function uses, directly or indirectly, if they are defined in files of the script's
folder or its subfolders. Packages are not hashed, but a cell also stores steinkit's version.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

from steinkit.errors import UsageError
from steinkit.sweeps.identity import digest


def cell_code(function: Callable[..., Any]) -> str:
    """Return the hash of the code that a top-level function of a script depends on.

    Raises
    ------
    UsageError
        If the function is not a top-level function of a file.
    """
    code = getattr(function, "__code__", None)
    file = Path(code.co_filename) if code is not None else None
    if file is None or not file.is_file() or function.__name__ not in _top_level(file):
        raise UsageError(
            f"{function.__name__} cannot be told from other code; make it a function of the script's top level"
        )
    found: dict[tuple[str, str], str] = {}
    waiting = [(file, function.__name__)]
    while waiting:
        place, name = waiting.pop()
        node = _top_level(place).get(name)
        if node is None or (place.name, name) in found:
            continue
        if isinstance(node, ast.ImportFrom):
            other = file.parent.joinpath(*str(node.module).split(".")).with_suffix(".py")
            if other.is_file():
                waiting += [(other, each.name) for each in node.names if (each.asname or each.name) == name]
            continue
        found[place.name, name] = ast.dump(node)
        waiting += [(place, each.id) for each in ast.walk(node) if isinstance(each, ast.Name)]
    return digest(sorted(found.items()))


def _top_level(file: Path) -> dict[str, ast.stmt]:
    """Return the definitions of a file by name, without docstrings."""
    return _named(file.read_text(encoding="utf-8"))


@functools.cache
def _named(source: str) -> dict[str, ast.stmt]:
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and ast.get_docstring(node) is not None:
            node.body = node.body[1:]
    named: dict[str, ast.stmt] = {}
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            named[node.name] = node
        elif isinstance(node, ast.ImportFrom):
            named |= {each.asname or each.name: node for each in node.names}
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            named |= {each.id: node for target in targets for each in ast.walk(target) if isinstance(each, ast.Name)}
    return named
