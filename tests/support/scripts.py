"""Scripts run as a user runs them, but in this process: a new one would import and load everything anew."""

import io
import runpy
import sys
import warnings
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Literal

import pytest


def output_of(script: Path, *arguments: str, folder: Path, warned: Literal["error", "ignore"] = "error") -> str:
    """What a script prints, started in a folder with these arguments.

    It starts as ``__main__``, with its own folder first among those that modules come from. A warning of any kind that
    it lets through is an error, unless `warned` says to ignore them.
    """
    out, err = io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter(warned)
        warnings.filterwarnings("ignore", r"os\.fork\(\) was called", RuntimeWarning)  # by JAX, where it is loaded
        patch.setattr(sys, "argv", [str(script), *arguments])
        patch.syspath_prepend(script.parent)
        patch.chdir(folder)
        with redirect_stdout(out), redirect_stderr(err):
            runpy.run_path(str(script), run_name="__main__")
    assert warned == "ignore" or "Warning" not in err.getvalue()
    return out.getvalue()
