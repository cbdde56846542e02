"""Runs the blocks of one page, in order, in the folder it is started in.

    python page_worker.py BLOCKS.json RESULTS.json

Python blocks share one namespace, as the cells of a notebook do; every shell block is a shell of its own. What a block
writes to standard output and standard error is kept apart, whoever writes it: Python, a library in C, a child.
"""

from __future__ import annotations

import ast
import base64
import json
import linecache
import os
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path
from typing import Any

Block = dict[str, Any]


def main() -> None:
    """Run the blocks of one file, and write what they gave to another."""
    blocks, results = Path(sys.argv[1]), Path(sys.argv[2])
    sys.path.insert(0, os.getcwd())  # a page's own model.py
    namespace: dict[str, Any] = {"__name__": "__main__"}
    found = [run(block, number, namespace) for number, block in enumerate(json.loads(blocks.read_text()))]
    results.write_text(json.dumps(found))


def run(block: Block, number: int, namespace: dict[str, Any]) -> Block:
    """What a block wrote, how it ended, and the picture that it left."""
    began = time.perf_counter()
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        before = os.dup(1), os.dup(2)
        os.dup2(out.fileno(), 1)
        os.dup2(err.fileno(), 2)
        pictures: list[bytes] = []
        failure, code = None, 0
        try:
            if block["language"] == "bash":
                code = subprocess.run(
                    ["bash", "-euo", "pipefail", "-c", block["source"]], stdin=subprocess.DEVNULL
                ).returncode
            elif block["language"] == "value":
                print(eval(block["source"], namespace), end="")
            elif block["language"] == "file":
                Path(block["name"]).write_text(block["source"], encoding="utf-8")
            else:
                pictures = execute(block["source"], f"block {number + 1} of the page", namespace)
        except (Exception, SystemExit) as error:
            failure = "".join(traceback.format_exception_only(error)).strip()
            code = 1
            if not block.get("raises"):
                traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            for saved, number_of_stream in zip(before, (1, 2), strict=True):
                os.dup2(saved, number_of_stream)
                os.close(saved)
        written = [stream_text(stream) for stream in (out, err)]
    if block.get("figure") and code == 0:
        pictures = [Path(block["figure"]).read_bytes()]
    return {
        "stdout": written[0],
        "stderr": written[1],
        "code": code,
        "failure": failure,
        "pictures": [base64.b64encode(picture).decode() for picture in pictures],
        "seconds": time.perf_counter() - began,
    }


def execute(source: str, name: str, namespace: dict[str, Any]) -> list[bytes]:
    """Run a block; its last expression is shown, as in a notebook: as its repr, or a figure as SVG."""
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)  # for tracebacks and warnings
    tree = ast.parse(source, name)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, name, "exec"), namespace)
    value = eval(compile(ast.Expression(last.value), name, "eval"), namespace) if last else None
    if value is None:
        return []
    if hasattr(value, "savefig"):
        from steinkit.plots import svg

        return [svg(value)]
    print(repr(value))
    return []


def stream_text(stream: Any) -> str:
    """All that was written to a stream's file."""
    stream.seek(0)
    return str(stream.read().decode("utf-8", "replace"))


if __name__ == "__main__":
    main()
