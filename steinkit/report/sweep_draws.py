"""The draws behind a sweep's verdict: three of its settings, on one scale, with the test function h of each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from steinkit.describe.claims import FindMeasure
from steinkit.describe.labels import setting_key, setting_label
from steinkit.describe.sweep import leading
from steinkit.describe.verdict import modes_sentence, verdict_sentence
from steinkit.errors import InputError, SteinkitError, UsageError
from steinkit.report.missed_modes import missed_mode
from steinkit.report.sources import Found
from steinkit.sweeps.identity import target_fingerprint
from steinkit.sweeps.run import named_target
from steinkit.sweeps.store import draws_file, read_draws
from steinkit.sweeps.tasks import judge_again, score_again
from steinkit.target import Target

Setting = Mapping[str, Any]
FindTarget = Callable[[int], Target]


def telling_settings(choice: Mapping[str, Any], blind: Mapping[str, Any] | None, parameter: str) -> dict[str, Setting]:
    """A setting on either side of the best one along a parameter, and the best one itself, by what to call them.

    On each side it is the pick of effective sample size if that lies there, else the middle one.

    Parameters
    ----------
    choice, blind : mapping
        Choices of a sweep's document: that of the verdict, and that of effective sample size.
    parameter : str
    """
    others = {name: value for name, value in choice["best"].items() if name != parameter}
    line = [row["settings"] for row in choice["table"] if {**row["settings"], **others} == row["settings"]]
    values = [setting[parameter] for setting in line]
    if all(isinstance(value, int | float) and not isinstance(value, bool) for value in values):
        line.sort(key=lambda setting: float(setting[parameter]))
    at = next(k for k, setting in enumerate(line) if setting == choice["best"])
    found: dict[str, Setting] = {}
    for name, side in (("smaller", line[:at]), ("best", [choice["best"]]), ("larger", line[at + 1 :])):
        if not side:
            continue
        picked = [setting for setting in side if blind is not None and setting == blind["best"]]
        found[name] = (picked or [side[len(side) // 2]])[0]
    return found


def scored_draws(
    found: Found, settings: Sequence[Setting], measure: str, target: Target | str | None
) -> tuple[Target | None, dict[int, Any]]:
    """The draws of the first seed of some settings, scored again; by the settings' places in the sequence.

    Parameters
    ----------
    found : Found
        A sweep's folder.
    settings : sequence of mapping
    measure : str
    target : Target or str, optional
        What was drawn from, or its name; by default the built-in target that the sweep names.

    Raises
    ------
    SteinkitError
        If the target is not that of the sweep, or draws cannot be had or scored.
    """
    assert found.folder is not None
    records = {k: _kept(found.folder, found.records, setting) for k, setting in enumerate(settings)}
    kept = {k: record for k, record in records.items() if record is not None}  # others failed before they had draws
    if not kept:
        return None, {}
    samples = {k: read_draws(found.folder, record) for k, record in kept.items()}
    made = sweep_target(found, target, next(iter(samples.values())).dim)
    return made, {k: score_again(made, samples[k], measure, record).result for k, record in kept.items()}


def judged_draws(
    found: Found, setting: Setting, measure: str, target_of: FindTarget
) -> tuple[Mapping[str, Any], int] | None:
    """The verdict's document on the draws of a setting that were kept of its first seed, and that seed, if there are.

    Parameters
    ----------
    found : Found
    setting : mapping
    measure : str
    target_of : callable
        The sweep's target, given the dimension of its draws.

    Raises
    ------
    SteinkitError
        If the draws cannot be had or judged.
    """
    if found.folder is None or found.configuration is None:
        return None
    record = _kept(found.folder, found.records, setting)
    if record is None:
        return None
    sample = read_draws(found.folder, record)
    judgement = judge_again(target_of(sample.dim), sample, measure, record)
    if judgement.verdict is None:
        raise InputError(f"there is no verdict: {judgement.unjudged}")
    return judgement.verdict.to_dict(), record["seed"]


def mode_missed(found: Found, best: Setting, target_of: FindTarget) -> str:
    """Where chains of other settings found a mode that the chain of the best one missed; empty if none is seen.

    Nothing is seen without draws of both, or a log density of the target.

    Raises
    ------
    SteinkitError
        As `judged_draws` does.
    """
    if found.folder is None or found.configuration is None:
        return ""
    kept = {k: _kept(found.folder, found.records, each) for k, each in enumerate(found.configuration["settings"])}
    samples = {k: read_draws(found.folder, record) for k, record in kept.items() if record is not None}
    at = found.configuration["settings"].index(best)
    own, others = samples.pop(at, None), list(samples.items())
    if own is None or not others:
        return ""
    made = target_of(own.dim)
    if not made.has_log_density:
        return ""
    mode = missed_mode(own, [sample for _, sample in others], made)
    if mode is None:
        return ""
    return mode.described(setting_label(found.configuration["settings"][others[mode.chain][0]]))


def best_in_words(found: Found, find: FindMeasure, target_of: FindTarget) -> list[str]:
    """What a terminal says of draws of the best setting: the verdict, and the mode that they missed.

    Parameters
    ----------
    found : Found
    find : callable
        The measure of a name.
    target_of : callable
        As `judged_draws` takes it.
    """
    name = leading(found.document, find)
    if name is None:
        return []
    best = found.document["criteria"][name]["best"]
    try:
        judged, missed = judged_draws(found, best, name, target_of), mode_missed(found, best, target_of)
    except SteinkitError as error:
        return [f"Draws of the best setting, {setting_key(best)}, were not judged: {error}."]
    if judged is None:
        return [f"Draws of the best setting, {setting_key(best)}, were not judged: none were kept."]
    document, seed = judged
    said = f"Draws of the best setting, {setting_key(best)}, seed {seed}: {verdict_sentence(document)}"
    return [said, *filter(None, (modes_sentence(document), missed))]


def sweep_target(found: Found, target: Target | str | None, dim: int) -> Target:
    """The target of a sweep, held to be the same as it was.

    Parameters
    ----------
    found : Found
        A sweep's folder.
    target : Target or str, optional
        As `scored_draws` takes it.
    dim : int
        Of the draws.

    Raises
    ------
    UsageError, InputError
        If it is code of the user's own and not named, or is another one.
    """
    assert found.configuration is not None  # a folder has one
    known = found.configuration["target"]
    files: tuple[Path, ...] = ()
    if target is None:
        if ".py:" in known["name"]:
            raise UsageError(
                f"the target {known['name']} is code of your own, which a report does not run unasked; pass it with "
                "--target (in Python target=)"
            )
        target, files = named_target(known["name"], known["options"], dim)
    elif isinstance(target, str):
        target, files = named_target(target, {} if ".py:" in target else known["options"], dim)
    if known["fingerprint"] != target_fingerprint(target, files):
        raise InputError(
            f"the target {known['name']} is not the one that the sweep was run with: its data, its score or its file "
            "have changed"
        )
    return target


def _kept(folder: Path, records: Sequence[Mapping[str, Any]], setting: Setting) -> Mapping[str, Any] | None:
    """The record of a setting whose draws the sweep kept."""
    there = (each for each in records if each["settings"] == setting and draws_file(folder, each["cell"]).is_file())
    return next(there, None)
