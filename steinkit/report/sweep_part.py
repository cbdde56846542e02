"""What a report says of a sweep, and of a setting that was tuned."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from matplotlib.figure import Figure

from steinkit import plots
from steinkit.diagnosis.verdict_text import chosen_statements
from steinkit.errors import SteinkitError
from steinkit.measurement import Term
from steinkit.measures import find_measure
from steinkit.measures.options import Measure
from steinkit.plots.axes import coordinate_bars, drawn
from steinkit.plots.curves import most_varied, tuning
from steinkit.report.sources import Found
from steinkit.report.sweep_draws import JudgedDraws, Setting, judged_draws, scored_draws, sweep_target, telling_settings
from steinkit.result import Document, Picture, Statement
from steinkit.sweeps.text import (
    LEVEL,
    headline,
    leading,
    rows_of,
    rungs_table,
    statements,
    table,
    tuning_headline,
    tuning_statements,
)
from steinkit.target import Target
from steinkit.text import Table, compact, count, seeds_label, sentence, setting_label, units_label, value_label

_BARS_CAPTION = (
    "What each coordinate carries of the {title}, medians over the seeds: where one bar stands out, that is the "
    "coordinate to look at."
)


_PANELS = {
    "graph": "Colour is the test function h, whose mean over the draws is the discrepancy and under the target 0: red "
    "where there are too many draws, blue where there are too few.",
    "sliced": "The test function h along the coordinate that carries most in any of them: its mean over the draws is "
    "what the coordinate carries, and under the target 0. Red where there are too many draws, blue where there are too "
    "few.",
}


class SweepPart(NamedTuple):
    """What a page says of a sweep or tuning."""

    source: str
    subject: str
    headline: str
    statements: Sequence[Statement]
    warnings: Sequence[str]
    pictures: Sequence[Picture]
    tables: Sequence[Table]
    facts: Sequence[tuple[str, str]]


def sweep_part(found: Found, target: Target | str | None) -> SweepPart:
    """What a page says of a sweep or tuning, a tuning included.

    Parameters
    ----------
    found : Found
        Of kind "sweep".
    target : Target or str, optional
        What was drawn from or its name, for the picture of the draws; by default the built-in target that the sweep
        names.
    """
    if found.is_tuning:
        return tuning_part(found)
    document = found.document
    name = leading(document, find_measure)
    pictures: list[Picture] = []
    judged: JudgedDraws | None = None
    reservations: list[str] = [*document["warnings"]]
    if name is not None:
        best = document["criteria"][name]["best"]
        try:
            judged = judged_draws(found, name, partial(sweep_target, found, target))
        except SteinkitError as error:
            reservations.append(f"draws of the best setting were not judged: {error}")
        choice = document["criteria"][name]
        parameters = most_varied([row["settings"] for row in choice["table"]])
        pictures += [_selection(document, find_measure(name), parameter) for parameter in parameters]
        pictured = next((each for each in (name, *document["criteria"]) if each in _PANELS), None)
        if parameters and found.records and pictured is not None:
            shown = telling_settings(choice, document["criteria"].get(_blind_to(document)), parameters[0])
            if found.file is not None:
                try:
                    pictures += _draws(found, pictured, best, shown, target)
                except SteinkitError as error:
                    reservations.append(f"the draws are not shown: {error}")
            pictures += _bars(found.records, pictured, shown)
    choices = [table(entry, find_measure(each)) for each, entry in document["criteria"].items()]
    return SweepPart(
        found.name,
        found.subject,
        headline(document, find_measure) + _of_the_best(judged),
        [*_judged(judged), *statements(document, find_measure, _draws_per_chain(found))],
        reservations,
        pictures,
        [*choices, *_failure_table(document)],
        [*_facts(found), *_made(found)],
    )


def _made(found: Found) -> list[tuple[str, str]]:
    units = units_label(found.document.get("units"))
    return [*([("units", units)] if units else []), ("steinkit", found.document["version"]), *found.listings]


def tuning_part(found: Found) -> SweepPart:
    """The setting, its rivals rung by rung, and the biases of a fresh chain.

    Parameters
    ----------
    found : Found
        Of kind "tuning".
    """
    document, configuration = found.document, found.configuration
    ranks = rungs_table(document)

    def draw(ax: Any) -> None:
        tuning(document, ax)
        ax.set_title("")

    said = "A line a setting: its rank among those that were left. The chosen one stands out."
    described = f"{ranks.caption}. {sentence(tuning_headline(document))}."
    return SweepPart(
        found.name,
        found.subject,
        tuning_headline(document),
        tuning_statements(document, find_measure),
        document["warnings"],
        [_picture("From short chains to long ones", said, described, draw, 4.3)],
        [ranks],
        [*([] if configuration is None else _configured(configuration)), *_made(found)],
    )


def _picture(name: str, caption: str, alt: str, draw: Callable[[Any], Any], height: float) -> Picture:
    return Picture(name, caption, alt, partial(drawn, draw, 7.6, height))


def _judged(judged: JudgedDraws | None) -> list[Statement]:
    """What the verdict says of draws of the best setting, where the sweep kept them, and the mode that they missed."""
    if judged is None:
        return []
    missed = [Statement("limits", "Did its chain visit all modes?", judged.missed)] if judged.missed else []
    return [*chosen_statements(judged.verdict, judged.seed), *missed]


def _of_the_best(judged: JudgedDraws | None) -> str:
    """The end of the headline: what is wrong with draws of the best setting."""
    faults = ["is biased"] if judged is not None and judged.verdict.is_biased else []
    faults += ["missed a mode that others found"] if judged is not None and judged.missed else []
    return f"; its chain {' and '.join(faults)}" if faults else ""


def _blind_to(document: Document) -> str:
    """The measure that does not know the target, of those that the sweep chose by; empty if there is none."""
    return next((name for name in document["criteria"] if find_measure(name).needs == "draws"), "")


def _selection(document: Document, measure: Measure, parameter: str) -> Picture:
    blind = _blind_to(document)
    against = blind if blind != measure.name else ""

    def draw(ax: Any) -> None:
        plots.selection(document, parameter, ax, measure=measure.name, against=against or None)
        ax.set_title("")

    other = ""
    if against:
        other = (
            f" Below, broken: {find_measure(against).title}, larger is better, which rises as long as the chain moves "
            "more freely, biased or not: it has a star of its own."
        )
    better = "lower" if measure.smaller_is_better else "higher"
    drawn = [measure.name, *([against] if against else [])]
    caption = (
        f"The solid line is the median {measure.title} over the seeds, {better} is better, in the band of its "
        f"{LEVEL:.0%} bootstrap interval; the star marks the best setting, rings those that cannot be told from "
        f"it.{other}"
    )
    described = f"Medians by setting. {' '.join(_in_numbers(document, name) for name in drawn)}"
    return _picture(f"Which {parameter.replace('_', ' ')}?", caption, described, draw, 5.6)


def _in_numbers(document: Document, name: str) -> str:
    measure, choice = find_measure(name), document["criteria"][name]
    rows = rows_of(choice, measure)
    medians = "; ".join(f"{compact(row.median)} at {setting_label(row.settings)}" for row in rows)
    return f"{sentence(measure.title)}: {medians}. Best: {setting_label(choice['best'])}."


def _draws(
    found: Found, name: str, best: Setting, shown: Mapping[str, Setting], target: Target | str | None
) -> list[Picture]:
    """Draws of three settings, the best among them, as a measure draws them; with contours of the target."""
    made, scored = scored_draws(found, list(shown.values()), name, target)
    if not scored:
        return []
    criteria, blind = found.document["criteria"], _blind_to(found.document)
    labels = [setting_label(setting) for setting in shown.values()]
    results = {labels[k]: result for k, result in scored.items()}
    marks: dict[str, str] = {}
    for label, setting in zip(labels, shown.values(), strict=True):
        picks = ["best"] if setting == best else []
        picks += [f"picked by {blind.upper()}"] if blind and setting == criteria[blind]["best"] else []
        if picks:
            marks[label] = ", ".join(picks)
    panels = partial(plots.settings_panels, target=made) if name == "graph" else plots.slice_panels

    def draw() -> Figure:
        figure = panels(results, marks=marks, columns=len(results))
        figure.set_size_inches(7.6, 3.5)
        return figure

    seed = found.configuration["seeds"][0] if found.configuration is not None else 0
    dim = next(iter(scored.values())).sample.dim
    contours = name == "graph" and dim == 2 and made is not None and made.has_log_density
    return [
        Picture(
            name="The draws of one seed",
            caption=(
                f"Seed {seed}, one panel a setting, all on one scale. {_PANELS[name]}"
                + (" Grey regions hold 50, 90 and 99% of the target." if contours else "")
                + " One seed is an example; the verdict rests on all of them."
            ),
            alt=" ".join(map(_ranges, results, results.values())),
            draw=draw,
        )
    ]


def _ranges(name: str, result: Any) -> str:
    points = result.sample.points
    shown = [
        f"{label} from {compact(low, 3)} to {compact(high, 3)}"
        for label, low, high in zip(result.sample.names, points.min(axis=0), points.max(axis=0), strict=True)
    ]
    return f"{sentence(name)}: {count(len(points), 'draw')}, {', '.join(shown[:10])}, discrepancy {result.shown}."


def _bars(records: Sequence[Document], measure: str, shown: Mapping[str, Setting]) -> list[Picture]:
    """Medians over the seeds of what each coordinate carries."""
    groups = {
        f"{setting_label(setting)}{' (best)' * (role == 'best')}": _coordinate_medians(records, measure, setting)
        for role, setting in shown.items()
    }
    groups = {label: terms for label, terms in groups.items() if terms}
    if not groups or max(map(len, groups.values())) < 2:
        return []
    said = (
        f"{name}: {', '.join(f'{each.name} {compact(each.value)}' for each in terms)}."
        for name, terms in groups.items()
    )
    draw, height = (
        partial(coordinate_bars, groups, most=8, longest_name=18),
        1.2 + 0.47 * sum(map(len, groups.values())),
    )
    caption = _BARS_CAPTION.format(title=find_measure(measure).title)
    return [_picture("Coordinate by coordinate", caption, sentence(" ".join(said)), draw, min(height, 9.0))]


def _coordinate_medians(records: Sequence[Document], measure: str, setting: Setting) -> list[Term]:
    values: dict[str, list[float]] = {}
    for record in records:
        for entry in record["results"] if record["settings"] == setting else ():
            for each in entry.get("coordinates", ()) if entry["measure"] == measure else ():
                values.setdefault(each["name"], []).append(each["value"])
    medians = ((name, float(np.median(found))) for name, found in values.items())
    return [Term(name, median, median, median) for name, median in medians]


def _failure_table(document: Document) -> list[Table]:
    rows = tuple(
        (setting_label(entry["settings"]), seeds_label(entry["seeds"]), entry["reason"])
        for entry in document["failures"]
    )
    return [Table("Failures", ("setting", "seeds", "reason"), rows)] if rows else []


def _draws_per_chain(found: Found) -> int | None:
    """Draws of each chain, if they all have the same number."""
    lengths = {record["draws"] for record in found.records if record["draws"]}
    return lengths.pop() if len(lengths) == 1 else None


def _facts(found: Found) -> list[tuple[str, str]]:
    document, configuration = found.document, found.configuration
    facts = [("cells", f"{document['cells']}: {document['failed']} failed, {document['reused']} were reused")]
    if configuration is not None:
        facts += [*_configured(configuration), ("racing", value_label(configuration["racing"]))]
    resumed = " of the last run" if document["reused"] else ""
    facts += [(f"wall time{resumed}", f"{document['seconds']:.1f} s")]
    if found.records:
        spent = sum(each["seconds"][what] for each in found.records for what in ("sampling", "scoring"))
        before = ", also of earlier runs" if resumed else ""
        facts.append((f"work of all cells{before}", f"{spent:.1f} s"))
    return facts


def _configured(configuration: Document) -> list[tuple[str, str]]:
    """What was run."""
    target, sampler = configuration["target"], configuration["sampler"]
    return [
        ("target", target["name"] + (f" ({setting_label(target['options'])})" if target["options"] else "")),
        ("target fingerprint", target["fingerprint"]),
        ("sampler", sampler["name"]),
        *((f"sampler {name.replace('_', ' ')}", value_label(value)) for name, value in sampler["options"].items()),
        *([("hash of the sampler's code", str(sampler["code"]))] if "code" in sampler else []),
        ("seeds", seeds_label(configuration["seeds"])),
        ("measures", ", ".join(configuration["measures"])),
        *([("label", configuration["label"])] if configuration["label"] else []),
    ]
