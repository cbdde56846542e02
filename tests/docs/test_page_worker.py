"""Blocks of the documentation's pages: run in order, what they wrote told apart, and what failed told at all."""

import base64
import json
import subprocess
import sys
from pathlib import Path

WORKER = Path(__file__).parents[2] / "docs" / "_extensions" / "page_worker.py"


def results_of(folder, *blocks):
    (folder / "blocks.json").write_text(json.dumps(blocks))
    command = [sys.executable, WORKER, folder / "blocks.json", folder / "results.json"]
    subprocess.run(command, cwd=folder, check=True)
    return json.loads((folder / "results.json").read_text())


def test_blocks_of_a_page_share_names_and_files_and_keep_their_outputs_apart(tmp_path):
    file, first, shell, value = results_of(
        tmp_path,
        {"language": "file", "name": "seven.py", "source": "seven = 7\n"},
        {"language": "python", "source": "from seven import seven\nprint('said')\nseven + 1"},
        {"language": "bash", "source": "cat seven.py; echo aside >&2"},
        {"language": "value", "source": "f'{seven:.2f}'"},
    )
    assert (file["stdout"], file["code"]) == ("", 0)
    assert first["stdout"] == "said\n8\n"
    assert (shell["stdout"], shell["stderr"]) == ("seven = 7\n", "aside\n")
    assert value["stdout"] == "7.00"


def test_what_fails_says_so_and_does_not_end_the_page(tmp_path):
    python, shell, pipe, after = results_of(
        tmp_path,
        {"language": "python", "source": "x = 1\n1 / 0"},
        {"language": "bash", "source": "exit 3"},
        {"language": "bash", "source": "false | true"},
        {"language": "python", "source": "x"},
    )
    assert python["failure"] == "ZeroDivisionError: division by zero"
    assert "block 1 of the page" in python["stderr"]
    assert "1 / 0" in python["stderr"]
    assert (python["code"], shell["code"], pipe["code"]) == (1, 3, 1)
    assert after["stdout"] == "1\n"


def test_a_figure_at_the_end_of_a_block_is_its_picture(tmp_path):
    drawn = "from matplotlib.figure import Figure\nFigure(figsize=(1, 1))"
    saved = "from pathlib import Path\nPath('seen.png').write_bytes(b'picture')\nNone"
    (first, second) = results_of(
        tmp_path,
        {"language": "python", "source": drawn},
        {"language": "python", "source": saved, "figure": "seen.png"},
    )
    (drawing,) = map(base64.b64decode, first["pictures"])
    assert b"<svg" in drawing[:1000]
    assert [base64.b64decode(each) for each in second["pictures"]] == [b"picture"]
