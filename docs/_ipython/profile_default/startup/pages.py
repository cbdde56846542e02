"""Prepare the kernel of a page: the working directory contains ``examples``, and figures are shown as SVG.

IPython runs this file when the kernel starts, in the namespace of the page.
"""


def _prepare():
    import os
    import shutil
    import subprocess
    from pathlib import Path

    from IPython import get_ipython

    from steinkit.plots import svg

    root = Path(os.environ["STEINKIT_ROOT"])
    unwanted = shutil.ignore_patterns("papers", "figures", "__pycache__")
    shutil.copytree(root / "examples", "examples", ignore=unwanted, dirs_exist_ok=True)
    shell = get_ipython()
    shell.run_line_magic("xmode", "Minimal")
    formatters = shell.display_formatter.formatters
    formatters["image/svg+xml"].for_type_by_name("matplotlib.figure", "Figure", lambda figure: svg(figure).decode())

    def bash(line, cell):
        """Print the output at once: MyST-NB breaks lines that reach it in two parts."""
        command = ["bash", "-euo", "pipefail", "-c", cell]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        if done.returncode and "--no-raise-error" not in line:
            raise RuntimeError(f"exit code {done.returncode}\n{done.stdout}\n{done.stderr}")
        print(done.stdout, end="")

    shell.register_magic_function(bash, magic_kind="cell")


_prepare()
del _prepare
