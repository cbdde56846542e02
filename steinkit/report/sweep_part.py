"""What a report says of a sweep."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from steinkit import plots
from steinkit.describe.numbers import bracket, count, number, sentence
from steinkit.errors import SteinkitError
from steinkit.measures import find_measure
from steinkit.report import sweep_draws, sweep_words
from steinkit.report.coordinate_bars import bars_pictures
from steinkit.report.parts import Part, Picture, Table
from steinkit.report.pictures import NARROW, WIDE, drawing, on_axes
from steinkit.report.reproduction import sweep_listings
from steinkit.report.sources import Found
from steinkit.report.wording import seeds_words, setting_words, value_words
from steinkit.sweeps.choice import Choice, SettingSummary
from steinkit.target import Target

_LEVEL = 0.95  # at which a sweep chooses
_BARS_CAPTION = (
    "What each coordinate carries of the graph Stein discrepancy, medians over the seeds: where one bar stands out, "
    "that is the coordinate to mend."
)


def sweep_part(found: Found, target: Target | str | None) -> Part:
    """The verdict, pictures and tables of a sweep.

    Parameters
    ----------
    found : Found
        Of kind "sweep".
    target : Target or str, optional
        What was drawn from or its name, for the picture of the draws; by default the built-in target that the sweep
        names.
    """
    document = found.document
    criteria = found.sweep.criteria if found.sweep is not None else _criteria(document)
    choice = sweep_words.leading(criteria)
    pictures: list[Picture] = []
    reservations = list(document["warnings"])
    if choice is not None:
        parameters = _parameters(choice)
        pictures += [_selection(criteria, choice, name) for name in parameters]
        if parameters and found.sweep is not None and choice.measure == "graph":
            told = sweep_draws.telling_settings(choice, criteria.get("ess"), parameters[0])
            if found.folder is not None:
                try:
                    pictures += _draws(found, choice, told, target)
                except SteinkitError as error:
                    reservations.append(f"the draws are not shown: {error}")
            pictures += _bars(found.sweep.records, told)
    return Part(
        source=found.name,
        headline=sweep_words.headline(criteria, document),
        answers=tuple(sweep_words.answers(criteria, document, _draws_per_chain(found))),
        reservations=tuple(reservations),
        pictures=tuple(pictures),
        tables=(*(_table(each) for each in criteria.values()), *_failure_table(document)),
        facts=tuple(_facts(found)),
        listings=() if found.configuration is None else sweep_listings(found.configuration, str(found.folder)),
    )


def _criteria(document: Mapping[str, Any]) -> dict[str, Choice]:
    """The choices, from the document of a sweep."""
    return {name: _choice(name, entry) for name, entry in document["criteria"].items()}


def _choice(name: str, entry: Mapping[str, Any]) -> Choice:
    worst = math.inf if find_measure(name).smaller_is_better else -math.inf
    rows = tuple(_summary(row, worst) for row in entry["table"])
    best = next(row for row in rows if row.settings == entry["best"])
    return Choice(name, entry["best"], tuple(entry["ties"]), best.median, best.interval, rows, _LEVEL, ())


def _summary(row: Mapping[str, Any], worst: float) -> SettingSummary:
    """A row of a choice; what has no number in JSON is worst, or not there where there are no cells."""
    absent = worst if row["scored"] + row["failed"] else math.nan
    interval = row["interval"]
    if interval is not None:
        low, high = (worst if end is None else end for end in interval)
        interval = (low, high)
    median, lower, upper = (absent if row[key] is None else row[key] for key in ("median", "lower", "upper"))
    return SettingSummary(
        row["settings"], row["scored"], row["failed"], median, interval, lower, upper, row["cost_per_draw"]
    )


def _parameters(choice: Choice) -> list[str]:
    """Options with several values, the one with most first; lists make no axis."""
    values: dict[str, list[Any]] = {}
    for row in choice.rows:
        for name, value in row.settings.items():
            if value not in values.setdefault(name, []):
                values[name].append(value)
    varied = [name for name, found in values.items() if len(found) > 1]
    return sorted(varied, key=lambda name: -len(values[name]))


def _selection(criteria: Mapping[str, Choice], choice: Choice, parameter: str) -> Picture:
    words, measure = parameter.replace("_", " "), find_measure(choice.measure)
    blind = criteria.get("ess")
    against = blind is not None and blind is not choice

    def draw(ax: Any) -> None:
        plots.selection(criteria, parameter, ax, measure=choice.measure, against="ess" if against else None)
        ax.set_title("")

    other = ""
    if blind is not None and against:
        other = (
            " The broken line is effective sample size (scale on the right, larger is better), which rises as long as "
            "the chain moves more freely, biased or not: it has a star of its own."
        )
    better = "lower" if measure.smaller_is_better else "higher"
    return Picture(
        title=f"Which {words}?",
        caption=(
            f"The solid line is the median {measure.title} over the seeds, {better} is better, in the band of its "
            f"95% bootstrap interval; the star marks the best setting, rings those that cannot be told from it.{other}"
        ),
        description=f"Medians by setting. {_in_numbers(choice)}"
        + (f" {_in_numbers(blind)}" if against and blind else ""),
        wide=on_axes(draw, WIDE, 4.4),
        narrow=on_axes(draw, NARROW, 3.7),
    )


def _in_numbers(choice: Choice) -> str:
    medians = "; ".join(f"{number(row.median, 3)} at {setting_words(row.settings)}" for row in choice.rows)
    return f"{sentence(find_measure(choice.measure).title)}: {medians}. Best: {setting_words(choice.best)}."


def _draws(
    found: Found, choice: Choice, told: Mapping[str, Mapping[str, Any]], target: Target | str | None
) -> list[Picture]:
    """Draws of three settings with contours of the target."""
    made, scored = sweep_draws.scored_draws(found, list(told.values()), target)
    if not scored:
        return []
    blind = found.sweep.criteria.get("ess") if found.sweep is not None else None
    names = [setting_words(setting) for setting in told.values()]
    results = {names[k]: result for k, result in scored.items()}
    marks: dict[str, str] = {}
    for name, setting in zip(names, told.values(), strict=True):
        told_by = ["best"] if setting == choice.best else []
        told_by += ["picked by ESS"] if blind is not None and setting == blind.best else []
        if told_by:
            marks[name] = ", ".join(told_by)
    wide = plots.settings_panels(results, made, marks=marks, columns=len(results))
    narrow = plots.settings_panels(results, made, marks=marks, columns=1)
    wide.set_size_inches(WIDE, 3.5)
    narrow.set_size_inches(NARROW, 2.4 * len(results) + 0.9)
    seed = found.configuration["seeds"][0] if found.configuration is not None else 0
    dim = next(iter(scored.values())).sample.dim
    contours = dim == 2 and made is not None and made.has_log_density
    return [
        Picture(
            title="The draws of one seed",
            caption=(
                f"Seed {seed}, one panel a setting, all on one scale. Colour is the test function h, whose mean over "
                "the draws is the discrepancy and under the target 0: red where there are too many draws, blue where "
                "there are too few."
                + (" Grey regions hold 50, 90 and 99% of the target." if contours else "")
                + " One seed is an example; the verdict rests on all of them."
            ),
            description=" ".join(_panel_words(name, result) for name, result in results.items()),
            wide=drawing(wide),
            narrow=drawing(narrow),
        )
    ]


def _panel_words(name: str, result: Any) -> str:
    points = result.sample.points
    ranges = ", ".join(
        f"{label} from {number(low, 2)} to {number(high, 2)}"
        for label, low, high in zip(result.sample.names, points.min(axis=0), points.max(axis=0), strict=True)
    )
    return f"{sentence(name)}: {count(len(points), 'draw')}, {ranges}, discrepancy {number(result.value, 3)}."


def _bars(records: Sequence[Mapping[str, Any]], told: Mapping[str, Mapping[str, Any]]) -> list[Picture]:
    """Medians over the seeds of what each coordinate carries."""
    groups = {
        f"{setting_words(setting)}{' (best)' * (role == 'best')}": _coordinate_medians(records, setting)
        for role, setting in told.items()
    }
    return bars_pictures({label: entries for label, entries in groups.items() if entries}, _BARS_CAPTION)


def _coordinate_medians(records: Sequence[Mapping[str, Any]], setting: Mapping[str, Any]) -> list[dict[str, Any]]:
    values: dict[str, list[float]] = {}
    for record in records:
        for entry in record["results"] if record["settings"] == setting else ():
            for each in entry.get("coordinates", ()) if entry["measure"] == "graph" else ():
                values.setdefault(each["name"], []).append(each["value"])
    return [{"name": name, "value": float(np.median(found))} for name, found in values.items()]


def _table(choice: Choice) -> Table:
    measure = find_measure(choice.measure)
    better = "smaller is better" if measure.smaller_is_better else "larger is better"
    columns = ["setting", "verdict", "median", f"{choice.level:.0%} interval"]
    columns += ["certified median"] if measure.has_bracket else []
    columns += ["scored", "failed", "cost a draw"]
    rows = tuple(_setting_row(choice, row, measure.has_bracket) for row in choice.rows)
    marked = next(k for k, row in enumerate(choice.rows) if row.settings == choice.best)
    return Table(f"{sentence(measure.title)} over the seeds, {better}", tuple(columns), rows, marked)


def _setting_row(choice: Choice, row: SettingSummary, proves: bool) -> tuple[str, ...]:
    interval = "" if row.interval is None else " to ".join(_end(end) for end in row.interval)
    verdict = "best" if row.settings == choice.best else "not told apart" if row.settings in choice.ties else "worse"
    if not row.scored + row.failed:
        verdict = "not run"
    return (
        setting_words(row.settings),
        verdict,
        _end(row.median),
        interval,
        *([bracket(row.lower, row.upper)] if proves else []),
        str(row.scored),
        str(row.failed),
        number(row.cost_per_draw) if row.cost_per_draw is not None else "",
    )


def _end(value: float) -> str:
    return "worst" if math.isinf(value) else number(value)


def _failure_table(document: Mapping[str, Any]) -> list[Table]:
    rows = tuple(
        (setting_words(entry["settings"]), seeds_words(entry["seeds"]), entry["reason"])
        for entry in document["failures"]
    )
    return [Table("Failures", ("setting", "seeds", "reason"), rows)] if rows else []


def _draws_per_chain(found: Found) -> int | None:
    """Draws of each chain, if they all have the same number."""
    lengths = (
        {record["draws"] for record in found.sweep.records if record["draws"]} if found.sweep is not None else set()
    )
    return lengths.pop() if len(lengths) == 1 else None


def _facts(found: Found) -> list[tuple[str, str]]:
    document, configuration = found.document, found.configuration
    facts = [
        ("cells", f"{document['cells']}, of which {document['failed']} failed and {document['reused']} were reused")
    ]
    if configuration is not None:
        target, sampler = configuration["target"], configuration["sampler"]
        facts += [
            ("target", target["name"] + (f" ({setting_words(target['options'])})" if target["options"] else "")),
            ("target fingerprint", target["fingerprint"]),
            ("sampler", sampler["name"]),
            *((f"sampler {name.replace('_', ' ')}", value_words(value)) for name, value in sampler["options"].items()),
            *([("hash of the sampler's code", str(sampler["code"]))] if "code" in sampler else []),
            ("seeds", seeds_words(configuration["seeds"])),
            ("measures", ", ".join(configuration["measures"])),
            *_measure_facts(configuration),
            *([("label", configuration["label"])] if configuration["label"] else []),
            ("racing", value_words(configuration["racing"])),
        ]
    facts += [("wall time", f"{document['seconds']:.1f} s")]
    if found.sweep is not None:
        for what in ("sampling", "scoring"):
            spent = sum(record["seconds"][what] for record in found.sweep.records)
            facts.append((f"{what}, all cells", f"{spent:.1f} s of work"))
    facts.append(("steinkit that ran the sweep", configuration["version"] if configuration else document["version"]))
    facts += [(f"SHA-256 of {name}", value) for name, value in (found.hashes or {}).items()]
    return facts


def _measure_facts(configuration: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The settings that the sweep's measures read."""
    options = [find_measure(measure).options for measure in configuration["measures"]]
    read = {name for each in options for name, option in each.items() if not option.of_one_sample}
    settings = configuration["measure_settings"]
    return [
        (name.replace("_", " "), value_words(value))
        for name, value in settings.items()
        if name in read and value is not None
    ]
