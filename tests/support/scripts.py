"""Scripts run in this process, which avoids repeated imports."""

import io
import runpy
import sys
import warnings
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Literal

import pytest


def output_of(script: Path, *arguments: str, folder: Path, warned: Literal["error", "ignore"] = "error") -> str:
    """Return the output of a script, started in a folder with these arguments.

    It runs as ``__main__`` with its own folder first on the path. Its warnings are errors unless `warned` ignores them.
    """
    out, err = io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter(warned)
        warnings.filterwarnings("ignore", r"os\.fork\(\) was called", RuntimeWarning)  # raised if JAX is loaded
        patch.setattr(sys, "argv", [str(script), *arguments])
        patch.syspath_prepend(script.parent)
        patch.chdir(folder)
        with redirect_stdout(out), redirect_stderr(err):
            runpy.run_path(str(script), run_name="__main__")
    assert warned == "ignore" or "Warning" not in err.getvalue()
    return out.getvalue()
