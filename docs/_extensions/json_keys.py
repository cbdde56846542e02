"""Descriptions of the keys in the JSON documents of the commands, checked against printed documents."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sphinx.util import logging

logger = logging.getLogger(__name__)
BELOW = " below"
NAMES = {
    dict: "object",
    list: "list",
    str: "text",
    bool: "true or false",
    int: "number",
    float: "number",
    type(None): "null",
}

# A single process prints all documents for a small sample.
DOCUMENTS = """
import contextlib, io, json
from pathlib import Path
import click
from steinkit.cli import commands

Path("sgld.toml").write_text('''target = "mixture-posterior"
[sampler]
name = "sgld"
batch_size = 5
draws = 60
start = "normal"
[grid]
step_size = [1e-2, 5e-3]
[run]
seeds = 2
measures = ["graph", "ess"]
''')
target, measures = "--target mixture-posterior", "graph --measure moments --measure ess --measure ksd"
lines = {
    "made": f"sample sgld {target} --step-size 5e-3 --batch-size 5 --draws 60 --chains 2 -o a.csv",
    "score": f"score a.csv {target} --matters 0.1 --measure {measures}",
    "judge": f"verdict examples/data/metropolis.csv {target} --table",
    "repair": "repair examples/data/sgld_nodal.csv --target logistic-posterior -o repaired.csv",
    "compare": f"compare a.csv examples/data/sgld_5e-2.csv {target} --measure moments --measure ess",
    "curve": f"curve a.csv {target} --measure moments",
    "sweep": "sweep sgld.toml -o sweep",
    "tune": "tune sgld.toml --cost 1 -o tune",
    "thin": f"thin a.csv {target} --draws 10 -o thinned.csv",
    "design": "design --first-fraction 0.05 --epsilon 0.01 --mean 1",
}
documents = {}
for name, line in lines.items():
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        commands.main([*line.split(), "--json"], standalone_mode=False)
    documents[name] = json.loads(printed.getvalue())
print(json.dumps(documents))
"""


def key_tables(folder: Path) -> str:
    """Return tables of all keys, by part.

    Warn about keys without a description and descriptions without a key.
    """
    parts: dict[str, dict[str, Any]] = tomllib.loads((folder / "json_keys.toml").read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory() as place:
        (Path(place) / "examples").symlink_to(folder.parents[1] / "examples")
        command = [sys.executable, "-c", DOCUMENTS]
        result = subprocess.run(command, cwd=place, capture_output=True, text=True, check=False)
    if result.returncode:
        logger.warning("the documents of json_keys.py could not be printed:\n%s", result.stderr)
        return ""
    types: dict[tuple[str, str], set[str]] = {}
    for document, content in json.loads(result.stdout).items():
        for path, kind in walk(content):
            part, key = explained(document, path, parts)
            if key is None:
                logger.warning("json_keys.toml does not explain %s of %s", path, document)
            elif not key.endswith(BELOW):
                types.setdefault((part, key), set()).add(kind)
    sections = []
    for part, described in parts.items():
        rows = []
        for key, meaning in described["keys"].items():
            if (part, key) not in types:
                logger.warning("json_keys.toml explains %s of %s, which is in no document", key, part)
            known = types.get((part, key), set()) | set(described.get("otherwise", {}).get(key, ()))
            kinds = ", ".join(sorted(known, key=lambda kind: (kind == "null", kind)))
            rows.append(f"| `{key.removesuffix('{}')}` | {kinds} | {meaning} |")
        sections.append(f"## {described['title']}\n\n| key | type | meaning |\n| --- | --- | --- |\n" + "\n".join(rows))
    return "\n\n".join(sections) + "\n"


def walk(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Yield the path of every key in a document, such as ``samples[].verdict.p``, and the type of its value."""
    if isinstance(value, dict):
        for key, each in value.items():
            below = f"{path}.{key}".lstrip(".")
            yield below, NAMES[type(each)]
            yield from walk(each, below)
    elif isinstance(value, list):
        for each in value:
            yield from walk(each, f"{path}[]")


def explained(document: str, path: str, parts: dict[str, dict[str, Any]]) -> tuple[str, str | None]:
    """Return the part and the key that describe a path; the key ends in `BELOW` for user-defined names."""
    if path in parts["common"]["keys"]:
        return "common", path
    part, key = document, path
    for name, described in parts.items():
        for place in described.get("within", {}).get(document, ()):
            found = re.fullmatch(re.escape(place).replace(r"\*", r"[^.\[]+") + r"\.(.+)", path)
            if found:
                part, key = name, found[1]
    keys = parts[part]["keys"]
    if key in keys:
        return part, key
    for known in keys:
        bare = known.removesuffix("{}")
        if bare != known and re.match(re.escape(bare) + r"($|\.|\[)", key):
            return part, known if key == bare else known + BELOW
    return part, None
