"""A draw of each setting of a sweep: a value that the sampler does not allow is told once, before anything is run."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Mapping
from typing import Any

from steinkit.describe.labels import setting_key
from steinkit.errors import SteinkitWarning, UsageError
from steinkit.sweeps.plan import Plan
from steinkit.sweeps.records import first_few

_SETTINGS_NAMED = 3
_SHORTEST = {"draws": 1, "burn_in": 0, "thin": 1}


def require_runnable(plan: Plan) -> None:
    """Run each setting for one draw, and refuse the sweep if its sampler refuses one of them.

    A user's own sampler is not tried, as nobody knows what it does with fewer draws. What goes wrong in another way is
    left to the cells: it may be one seed's bad luck, or what the sweep is to find out.

    Raises
    ------
    UsageError
        If the sampler does not allow a value; the settings are named, each reason once.
    """
    if plan.sampler.is_users:
        return
    refused: dict[str, list[str]] = {}
    for setting in plan.settings:
        if (reason := _refusal(plan, plan.options | setting)) is not None:
            refused.setdefault(reason, []).append(setting_key(setting))
    if refused:
        told = "; ".join(f"{reason} ({first_few(keys, _SETTINGS_NAMED)})" for reason, keys in refused.items())
        raise UsageError(f"nothing was run, for the sampler {plan.sampler.name} refuses settings: {told}")


def _refusal(plan: Plan, options: Mapping[str, Any]) -> str | None:
    """Why the sampler refuses the options, if it does."""
    with warnings.catch_warnings(), contextlib.suppress(Exception):
        warnings.simplefilter("ignore", SteinkitWarning)  # of so short a run
        try:
            plan.sampler.run(plan.target, _shortened(options), plan.seeds[:1])
        except UsageError as error:
            return str(error)
    return None


def _shortened(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options for one draw; what is out of range stays, for the sampler to say so."""
    short = {
        name: least
        for name, least in _SHORTEST.items()
        if (name not in options and name == "draws") or (_is_whole(options.get(name)) and options[name] > least)
    }
    return {**options, **short}


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
