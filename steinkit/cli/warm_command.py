"""``steinkit warm``: compile the numerical kernels once, for whoever comes after."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numba.core.dispatcher import Dispatcher

from steinkit.cli.help_screens import command
from steinkit.cli.outputs import apart_from_results, say, say_aside, say_next
from steinkit.errors import SteinkitWarning
from steinkit.runtime.compilation import compile_from_now_on
from steinkit.target import Target

_DRAWS = 200
_HELP = """Compile the numerical kernels and keep the machine code, so that no first use has to wait for it.

An installer, or whoever builds an image, runs it once. The code stands beside the modules where their folder can be
written, and serves all users then; else in the user's own cache folder, or in that which NUMBA_CACHE_DIR names.
"""


@command(help=_HELP)
def warm() -> None:
    """Do each kind of work on a few draws."""
    steps = _steps()
    compiled, folders = 0, set[str]()
    for k, (what, work) in enumerate(steps.items(), start=1):
        say_aside(f"{k} of {len(steps)}: {what}")
        with apart_from_results(), warnings.catch_warnings():
            warnings.simplefilter("ignore", SteinkitWarning)  # of so few draws
            work()
    for kernel in _kernels_at_hand():
        if kernel.stats.cache_path is not None:
            compiled += sum(kernel.stats.cache_misses.values())
            folders.add(kernel.stats.cache_path)
    where = f"kept under {os.path.commonpath(folders)}" if folders else "nowhere kept: no cache folder can be written"
    say(f"{compiled} kernels were compiled, the others were there; {where}")
    say_next(["--help"], "all commands")


def _steps() -> dict[str, Callable[[], object]]:
    """Work that between it runs every kernel, compiled, by what to call it."""
    from steinkit import samplers
    from steinkit.discrepancy.graph.discrepancy import graph_stein_discrepancy as score
    from steinkit.discrepancy.kernel.ksd import kernel_stein_discrepancy
    from steinkit.discrepancy.verdict import verdict
    from steinkit.targets.gaussian import Normal
    from steinkit.targets.mixture_posterior import MixturePosterior

    compile_from_now_on()
    rng = np.random.default_rng(0)
    plane, space = rng.standard_normal((_DRAWS, 2)), rng.standard_normal((_DRAWS, 3))
    normal: list[Target] = [Normal(np.zeros(dim)) for dim in (1, 2, 3)]
    posterior = MixturePosterior()
    walk: dict[str, Any] = {"proposal_scale": 0.1, "draws": 3, "seed": 0}
    noisy: dict[str, Any] = {"step_size": 1e-3, "batch_size": 5, "draws": 3, "seed": 0}
    return {
        "the graph Stein discrepancy": lambda: score(plane, normal[1]),
        "the discrepancy in one dimension": lambda: score(plane[:, :1], normal[0]),
        "and in many dimensions": lambda: score(space, normal[2], engine="first_order", tolerance=1e-3),
        "the verdict": lambda: verdict(plane, normal[1]),
        "the kernel Stein discrepancy": lambda: kernel_stein_discrepancy(plane, normal[1]),
        "sgld": lambda: samplers.sgld(posterior, **noisy),
        "corrected-sgld": lambda: samplers.corrected_sgld(posterior, **noisy),
        "rwmh": lambda: samplers.rwmh(posterior, **walk),
        "mala": lambda: samplers.mala(posterior, step_size=1e-3, draws=3, seed=0),
        "approximate-mh": lambda: samplers.approximate_mh(posterior, batch_size=20, epsilon=0.1, **walk),
        "barker-mh": lambda: samplers.barker_mh(posterior, batch_size=20, **walk),
        "subsampling-mh": lambda: samplers.subsampling_mh(posterior, **walk),
    }


def _kernels_at_hand() -> list[Dispatcher]:
    """Kernels of the modules that have been imported."""
    modules = [module for name, module in list(sys.modules.items()) if name.startswith("steinkit.")]
    found = {id(each): each for module in modules for each in vars(module).values() if isinstance(each, Dispatcher)}
    return list(found.values())
