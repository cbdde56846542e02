"""What is said of samples compared, and of curves: a table a measure, what it proves, and what it does not.

Documents are those that ``steinkit compare --json`` and ``steinkit curve --json`` print.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from steinkit.diagnosis.bias.text import compared_biases
from steinkit.diagnosis.verdict_text import WORST, is_accused, unjudged_sentence, verdict_sentence, verdicts_table
from steinkit.result import (
    UNVISITED,
    DescribedMeasure,
    Document,
    FindMeasure,
    Statement,
    better,
    bracket_column,
    place,
    preference,
    right_samples,
)
from steinkit.text import (
    Table,
    compact,
    count,
    filled,
    listed,
    ratio,
    rounded_outwards,
    sentence,
    units_sentence,
    value_of,
    within,
)

_MOST_COLUMNS = 6  # coordinates beyond which only the heaviest is shown
_GOOD = "Is the best one good?"
_SCORED_ALONE = {
    "reference": " `steinkit score` gives the same number with --units reference, and by default one in a file's own.",
    "pilot": " `steinkit score` measures a file in its own, which gives another number.",
}
_LEFT = ("rank", "sample", "worst coordinate", "verdict", "what is wrong")


def comparison_text(
    document: Document, find: FindMeasure, errors: Mapping[str, Mapping[str, str]], *, everything: bool = False
) -> str:
    """Tables and sentences for a reader at a terminal, measure by measure.

    Parameters
    ----------
    document : mapping
    find : callable
        The measure of a name.
    errors : mapping of str to mapping of str to str
        By sample and measure, why some measures could not be taken.
    everything : bool
        The biases of all quantities, not of the worst.
    """
    blocks = []
    if any(each.get("verdict") for each in document["samples"]):
        judged = verdicts_table(document["samples"])
        blocks.append("\n".join([judged.caption, *judged.lines(_LEFT), "", filled(_untested(document))]))
    if (sizes := sizes_table(document, None if everything else WORST)) is not None:
        blocks.append("\n".join([sizes.caption, *sizes.lines(("quantity", "sample"))]))
    blocks += [filled(said) for said in _unjudged(document)]
    for name in document["ranking"]:
        measure = find(name)
        found = comparison_table(document, measure)
        lines = [f"{measure.title}: no sample could be measured"]
        if found.rows:
            lines = [found.caption, *found.lines((*_LEFT, bracket_column(measure.claim)), names="sample")]
        said = " ".join(each.text for each in comparison_statements(document, measure))
        lines += ["", filled(said)] if said else []
        for sample, reasons in errors.items():
            lines += [filled(f"{sample} was not measured: {reasons[name]}")] if name in reasons else []
        blocks.append("\n".join(lines))
    if units := document.get("units"):
        blocks.append(filled(f"{units_sentence(units)}{_SCORED_ALONE.get(units['kind'], '')}"))
    return "\n\n".join(blocks)


def sizes_table(document: Document, most: int | None = WORST) -> Table | None:
    """How far means and standard deviations of the samples are off, by their verdicts; None if none is known."""
    judged = {each["file"]: (each.get("verdict") or {}) for each in document["samples"]}
    known = {name: each["bias"] for name, each in judged.items() if each.get("bias") and each["enough_draws"]}
    return compared_biases(known, most)


class Standing(NamedTuple):
    """Where a sample stands by a measure.

    Parameters
    ----------
    name : str
    rank : str
        With "=" where several share it; empty for a sample that was measured and is not put in order.
    entry : mapping
        What was measured.
    draws : int
    reference : mapping, optional
        The independent samples that have as many effective draws.
    """

    name: str
    rank: str
    entry: Document
    draws: int
    reference: Document | None


def standings(document: Document, measure: str) -> list[Standing]:
    """The samples that a measure could be taken of, best first, then those that it does not put in order."""
    samples = {each["file"]: each for each in document["samples"]}
    entries = {
        name: entry for name, each in samples.items() for entry in each["results"] if entry["measure"] == measure
    }
    ranks: dict[str, str] = {}
    for group in document["ranking"][measure]:
        ranks |= dict.fromkeys(group, f"{len(ranks) + 1}{'=' * (len(group) > 1)}")
    found = []
    for name in dict.fromkeys([*ranks, *entries]):
        size = samples[name].get("effective_draws") or samples[name]["draws"]
        references = document["reference"].get(measure, ())
        alike = (each for each in references if each.get("effective_draws", each["draws"]) == size)
        found.append(
            Standing(name, ranks.get(name, ""), entries[name], samples[name]["draws"], next(alike, None)),
        )
    return found


def judged_tables(document: Document) -> list[Table]:
    """The verdicts, and how far off the samples are, as far as these are known."""
    judged = [verdicts_table(document["samples"])] if any(each.get("verdict") for each in document["samples"]) else []
    sizes = sizes_table(document)
    return judged if sizes is None else [*judged, sizes]


def comparison_table(document: Document, measure: DescribedMeasure, lead: str = "rank") -> Table:
    """The samples measured, best first, and the independent ones; a column leads, whose cells name the rows."""
    proof = bracket_column(measure.claim)
    rows = []
    for each in standings(document, measure.name):
        row = {"rank": each.rank or "-", "sample": each.name, "draws": str(each.draws), "value": value_of(each.entry)}
        if proof:
            row[proof] = " and ".join(rounded_outwards(each.entry["lower"], each.entry["upper"]))
        rows.append(row | _coordinates(each.entry))
    for reference in document["reference"].get(measure.name, ()):
        n, run = len(reference["values"]), reference.get("run")
        what = f"{count(n, 'block')} of the long run" if run else count(n, "independent sample")
        row = {"sample": f"({what})", "draws": str(reference["draws"]), "value": compact(reference["median"])}
        rows.append(row | {proof: f"{reference['lower']:.4g} and {reference['upper']:.4g}"})
    first = (lead, "rank", "sample", "draws", "value", *([proof] if proof else []))
    columns = tuple(dict.fromkeys((*first, *(name for row in rows for name in row))))
    cells = tuple(tuple(row.get(column, "") for column in columns) for row in rows)
    return Table(f"{measure.title}, {preference(measure)}", columns, cells)


def comparison_statements(document: Document, measure: DescribedMeasure) -> list[Statement]:
    """What the order by a measure proves, and what it does not."""
    which = f"Which sample, by {measure.title}?"
    groups, has_bracket = document["ranking"][measure.name], measure.claim != "estimated"
    reasons = {
        each.name: each.entry["unranked"] for each in standings(document, measure.name) if each.entry.get("unranked")
    }
    joined = "their brackets overlap" if has_bracket else "they are equal, or within their margins"
    found = [
        Statement("comparison", which, f"{listed(group, of='more')} cannot be told apart: {joined}.", True)
        for group in groups
        if len(group) > 1
    ]
    if reasons:
        names = list(reasons)
        of_whom = f" (said of {names[0]})" if len(names) > 1 else ""
        alone = " The others are ranked among themselves." if groups else ""
        refused = f"It cannot rank {listed(names)}: {reasons[names[0]]}{of_whom}.{alone}"
        found.append(Statement("limits", which, refused, True))
    if len(groups) > 1 and has_bracket:
        proved = (
            f"Of two samples of different rank the difference is {measure.claim}, for these draws: how far their "
            "samplers differ takes several samples of each to say."
        )
        found.append(Statement("comparison", which, proved, True))
    if measure.needs == "draws":
        blind = (
            f"{sentence(measure.title)} is an estimate and blind to bias: it does not know the target, so that its "
            "order is one of mixing, not of quality."
        )
        found.append(Statement("limits", which, blind, True))
    if document["reference"].get(measure.name):
        scale = (
            "The independent samples come from the target itself, each with as many draws as a sample is worth by its "
            "ESS, or as it has where they could be independent: their median, and the range of them all."
        )
        if document["reference"][measure.name][0].get("run"):
            scale = "The blocks of the long run are worth as much as the samples by their ESS: their median and range."
        found.append(Statement("method", _GOOD, scale, True))
    return found


def comparison_grounds(document: Document, find: FindMeasure) -> list[Statement]:
    """All that a page has room for: verdicts, the statements of every measure, the best sample, failures, limits."""
    judged = [(each["file"], each["verdict"]) for each in document["samples"] if each.get("verdict")]
    asked = "May they be used?"
    found = [Statement("number", asked, f"{name}: {verdict_sentence(verdict)}") for name, verdict in judged]
    found += [Statement("number", asked, said) for said in _unjudged(document)]
    found += [Statement("limits", "What was not tested?", _untested(document))] if judged else []
    good: list[Statement] = []
    for measure in map(find, document["ranking"]):
        known = standings(document, measure.name)
        if not known:
            continue
        found.append(Statement("number", f"Which sample, by {measure.title}?", f"{_first(document, measure)}."))
        if document["reference"].get(measure.name) and known[0].rank:
            good.append(Statement("comparison", _GOOD, _against(document, measure, known[0])))
        for each in comparison_statements(document, measure):
            if each.question != _GOOD:
                found.append(each)
            elif each not in good:  # it is the same for every measure
                good.append(each)
    if not any(document["reference"].values()) and not judged:
        unknown = (
            "No independent samples from the target were measured beside them: the order says which is better, not "
            "whether any is good."
        )
        good.append(Statement("limits", _GOOD, unknown))
    errors = [f"{each['file']} was not measured: {each['error']}" for each in document["samples"] if each["error"]]
    failed = errors or ["No: every sample was measured."]
    return [
        *found,
        *good,
        *(Statement("limits", "Did anything fail?", each) for each in failed),
        Statement("limits", "What does this not prove?", UNVISITED),
    ]


def comparison_headline(document: Document, measure: DescribedMeasure) -> str:
    """The order in one sentence, and whether the best is good."""
    return f"{_first(document, measure)}{_of_the_best(document, measure)}"


def _of_the_best(document: Document, measure: DescribedMeasure) -> str:
    """That the best samples are wrong, or that nothing is seen to be."""
    best: Sequence[str] = next(iter(document["ranking"][measure.name]), ())
    judged = {each["file"]: each["verdict"] for each in document["samples"] if each.get("verdict")}
    wrong = [name for name in best if name in judged and is_accused(judged[name])]
    if wrong:
        return f", but {listed(wrong)} {'is' if len(wrong) == 1 else 'are'} biased"
    if best and all(name in judged and judged[name]["enough_draws"] for name in best):
        return "; no bias is seen in it" if len(best) == 1 else "; no bias is seen in them"
    return ""


def _unjudged(document: Document) -> list[str]:
    """The samples without a verdict, and why they have none."""
    return [
        f"{each['file']}: {unjudged_sentence(each['unjudged'])}" for each in document["samples"] if each.get("unjudged")
    ]


def _untested(document: Document) -> str:
    """What ESS means beside the verdicts, and what none of them saw."""
    verdict = next(each["verdict"] for each in document["samples"] if each.get("verdict"))
    return f"ESS says how well the chains mix, and is blind to bias. Not tested: {listed(verdict['not_tested'])}."


def _first(document: Document, measure: DescribedMeasure) -> str:
    """Which sample comes first, and how sure that is."""
    groups, title = document["ranking"][measure.name], measure.title
    if not groups:
        return f"None of {count(len(document['samples']), 'sample')} could be ranked by {title}"
    best, others = groups[0], sum(map(len, groups[1:]))
    if len(best) > 1:
        rest = f", and {better(measure.claim)} than the other {others}" if others else ""
        return f"{listed(best)} are tied for best by {title}{rest}"
    if not others:
        return f"{best[0]} is the only sample ranked by {title}"
    whom = groups[1][0] if others == 1 else f"the other {others} samples"
    return f"{best[0]} is {better(measure.claim)} than {whom} by {title}"


def _coordinates(entry: Document) -> dict[str, str]:
    """Values by coordinate, or the heaviest one's where there are many."""
    found: Sequence[Document] = entry.get("coordinates", ())
    if len(found) < 2:
        return {}
    key = "value" if "value" in found[0] else "bulk_ess"
    if len(found) <= _MOST_COLUMNS:
        return {f"[{each['name']}]": compact(each[key]) for each in found}
    sign = -1.0 if key == "value" else 1.0
    worst = min((each for each in found if each[key] is not None), key=lambda each: sign * each[key], default=None)
    return {} if worst is None else {"worst coordinate": f"{worst['name']} {compact(worst[key])}"}


def _against(document: Document, measure: DescribedMeasure, best: Standing) -> str:
    """The best sample beside independent ones of its size."""
    reference = best.reference or document["reference"][measure.name][0]
    lowest, highest, median = reference["lower"], reference["upper"], reference["median"]
    times = f", at {ratio(best.entry['value'] / median)} times their median" if median else ""
    return (
        f"By {measure.title}, {best.name} has {value_of(best.entry)}, "
        f"{place(best.entry['lower'], best.entry['upper'], lowest, highest)} the range {compact(lowest)} to "
        f"{compact(highest)} of {right_samples(reference).rstrip(',')}{times}."
    )


def curve_text(document: Document, measure: DescribedMeasure) -> str:
    """A table and a paragraph for a reader at a terminal."""
    found = curve_table(document, measure)
    paragraph = " ".join(each.text for each in curve_statements(document, measure))
    units = units_sentence(document.get("units"))
    return "\n".join([found.caption, *found.lines(), "", filled(paragraph), *(["", filled(units)] if units else [])])


def curve_table(document: Document, measure: DescribedMeasure) -> Table:
    """The measure at each size, with its proof and the interval over replicates."""
    cost, interval = document["cost"], document["interval"]
    columns = {"draws": [f"{each:g}" for each in document["n"]]}
    if cost is not None:
        columns["cost"] = [f"{each:g}" for each in cost]
    columns["value"] = [compact(each) for each in document["values"]]
    if proof := bracket_column(measure.claim):
        columns["value"] = [*map(within, document["values"], document["lower"], document["upper"])]
        ends = zip(document["lower"], document["upper"], strict=True)
        highest = [(low or 0.0, math.inf if high is None else high) for low, high in ends]
        columns[proof] = [" and ".join(rounded_outwards(*each)) for each in highest]
    if interval is not None:
        columns[f"{document['level']:.0%} interval of the median"] = [
            " to ".join(map(compact, each)) for each in interval
        ]
    what = f" (median of {len(document['replicates'])} samples)" if interval is not None else ""
    rows = tuple(zip(*columns.values(), strict=True))
    return Table(f"{measure.title} of the first draws{what}", tuple(columns), rows)


def curve_statements(document: Document, measure: DescribedMeasure) -> list[Statement]:
    """The rate, how well it is known, and what it does not prove."""
    if measure.smaller_is_better:
        limits = (
            "Independent draws have a power near -0.5. A curve that levels out shows the bias that more draws do not "
            "mend; one that still falls does not show that there is none."
        )
    else:
        limits = "An effective size that grows like the draws (power 1) speaks for mixing, not for the right target."
    return [
        Statement("number", "How does it go?", _rate(document)),
        Statement("limits", "What does this not prove?", limits),
    ]


def curve_grounds(document: Document, measure: DescribedMeasure) -> list[Statement]:
    """All that a page has room for."""
    found = curve_statements(document, measure)
    return [*found, *([Statement("limits", found[-1].question, UNVISITED)] if measure.smaller_is_better else [])]


def curve_headline(document: Document, measure: DescribedMeasure) -> str:
    """The verdict in one sentence."""
    rate = document["rate"]
    if rate is None:
        return f"{sentence(measure.title)}: no rate could be fitted"
    low, high = document["rate_interval"]
    return (
        f"{sentence(measure.title)} {'falls' if rate < 0.0 else 'grows'} like the {_abscissa(document)} to "
        f"the power {rate:.2f} ({low:.2f} to {high:.2f})"
    )


def _abscissa(document: Document) -> str:
    """What the measure is held against."""
    return "draws" if document["budget"] is None else "cost"


def _rate(document: Document) -> str:
    if document["rate"] is None:
        return "No rate could be fitted."
    low, high = document["rate_interval"]
    source = (
        f"a {document['level']:.0%} bootstrap interval over the samples"
        if document["interval_kind"] == "bootstrap"
        else f"a {document['level']:.0%} regression interval, which says how straight the line is: the points share "
        "draws, and another run may differ by more"
    )
    return (
        f"Over the last {len(document['tail'])} points the measure goes like the {_abscissa(document)} to the power "
        f"{document['rate']:.2f} ({low:.2f} to {high:.2f}: {source})."
    )
