"""What is said of samples compared, and of curves: a table a measure, what it proves, and what it does not.

Documents are those that ``steinkit compare --json`` and ``steinkit curve --json`` print.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from steinkit.describe.bias import compared_biases
from steinkit.describe.results import (
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
from steinkit.describe.verdict import WORST, fault_label, is_accused, unjudged_sentence, verdict_label, verdict_sentence
from steinkit.describe.writing import (
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
    if (judged := verdicts_table(document)) is not None:
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


def verdicts_table(document: Document) -> Table | None:
    """The samples in the order given, with what was judged of each; None if none was."""
    judged = [(each["file"], each.get("verdict")) for each in document["samples"]]
    if not any(verdict for _, verdict in judged):
        return None
    asked = any(verdict and verdict["matters"] is not None for _, verdict in judged)
    columns = ("sample", "verdict", "p", *(["p matters"] if asked else []), "ESS", "what is wrong")
    rows = []
    for name, verdict in judged:
        known = verdict or {}
        keys = ("p", *(["p_matters"] if asked else []))
        numbers = ["-" if known.get(key) is None else f"{known[key]:.2g}" for key in keys]
        ess = "-" if known.get("ess") is None else f"{known['ess']:.0f}"
        rows.append((name, verdict_label(verdict), *numbers, ess, fault_label(verdict)))
    return Table("May they be used?", columns, tuple(rows))


def sizes_table(document: Document, most: int | None = WORST) -> Table | None:
    """How far means and standard deviations of the samples are off, by their verdicts; None if none is known."""
    judged = {each["file"]: (each.get("verdict") or {}) for each in document["samples"]}
    known = {name: each["bias"] for name, each in judged.items() if each.get("bias") and each["enough_draws"]}
    return compared_biases(known, most)


def comparison_table(document: Document, measure: DescribedMeasure) -> Table:
    """The samples measured, best first, and the independent ones."""
    results = measured(document, measure.name)
    places, draws = ranks(document, measure.name), {each["file"]: each["draws"] for each in document["samples"]}
    proof = bracket_column(measure.claim)
    rows = []
    for name in (*places, *(each for each in results if each not in places)):
        entry = results[name]
        row = {"rank": places.get(name, "-"), "sample": name, "draws": str(draws[name])}
        row["value"] = value_of(entry)
        if proof:
            row[proof] = " and ".join(rounded_outwards(entry["lower"], entry["upper"]))
        rows.append(row | _coordinates(entry))
    for reference in document["reference"].get(measure.name, ()):
        n, run = len(reference["values"]), reference.get("run")
        what = f"{count(n, 'block')} of the long run" if run else count(n, "independent sample")
        row = {"sample": f"({what})", "draws": str(reference["draws"])}
        row["value"] = compact(reference["median"])
        rows.append(row | {proof: f"{reference['lower']:.4g} and {reference['upper']:.4g}"})
    first = ("rank", "sample", "draws", "value", *([proof] if proof else []))
    columns = tuple(dict.fromkeys((*first, *(name for row in rows for name in row))))
    cells = tuple(tuple(row.get(column, "") for column in columns) for row in rows)
    return Table(f"{measure.title}, {preference(measure)}", columns, cells)


def comparison_statements(document: Document, measure: DescribedMeasure) -> list[Statement]:
    """What the order by a measure proves, and what it does not."""
    which = f"Which sample, by {measure.title}?"
    groups, has_bracket = document["ranking"][measure.name], measure.claim != "estimated"
    reasons = unranked(document, measure.name)
    joined = "their brackets overlap" if has_bracket else "they are equal, or within their margins"
    found = [
        Statement("comparison", which, f"{listed(group, of='more')} cannot be told apart: {joined}.", True)
        for group in groups
        if len(group) > 1
    ]
    if reasons:
        names, reason = list(reasons), next(iter(reasons.values()))
        of_whom = f" (said of {names[0]})" if len(names) > 1 else ""
        alone = " The others are ranked among themselves." if groups else ""
        refused = f"It cannot rank {listed(names)}: {reason}{of_whom}.{alone}"
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
    which: list[Statement] = []
    good: list[Statement] = []
    for measure in map(find, document["ranking"]):
        if document["ranking"][measure.name] or unranked(document, measure.name):
            which.append(Statement("number", f"Which sample, by {measure.title}?", _order(document, measure)))
            if document["reference"].get(measure.name) and document["ranking"][measure.name]:
                good.append(Statement("comparison", _GOOD, _against(document, measure)))
            for each in comparison_statements(document, measure):
                if each.question != _GOOD:
                    which.append(each)
                elif each not in good:  # it is the same for every measure
                    good.append(each)
    if not any(document["reference"].values()) and not any(each.get("verdict") for each in document["samples"]):
        unknown = (
            "No independent samples from the target were measured beside them: the order says which is better, not "
            "whether any is good."
        )
        good.append(Statement("limits", _GOOD, unknown))
    errors = [f"{each['file']} was not measured: {each['error']}" for each in document["samples"] if each["error"]]
    judged = [
        Statement("number", "May they be used?", f"{each['file']}: {verdict_sentence(each['verdict'])}")
        for each in document["samples"]
        if each.get("verdict")
    ]
    judged += [Statement("number", "May they be used?", said) for said in _unjudged(document)]
    any_judged = any(each.get("verdict") for each in document["samples"])
    untested = [Statement("limits", "What was not tested?", _untested(document))] if any_judged else []
    return [
        *judged,
        *untested,
        *which,
        *good,
        *(Statement("limits", "Did anything fail?", each) for each in errors or ["No: every sample was measured."]),
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


def measured(document: Document, measure: str) -> dict[str, Document]:
    """The entries of the samples that a measure could be taken of, by their names."""
    return {
        sample["file"]: entry
        for sample in document["samples"]
        for entry in sample["results"]
        if entry["measure"] == measure
    }


def ranks(document: Document, measure: str) -> dict[str, str]:
    """Ranks of the samples that a measure puts in order, best first, with "=" where several share one."""
    found: dict[str, str] = {}
    place = 1
    for group in document["ranking"][measure]:
        found |= dict.fromkeys(group, f"{place}{'=' * (len(group) > 1)}")
        place += len(group)
    return found


def unranked(document: Document, measure: str) -> dict[str, str]:
    """Why some samples are not put in order though they were measured, by their names."""
    return {name: entry["unranked"] for name, entry in measured(document, measure).items() if entry.get("unranked")}


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


def _order(document: Document, measure: DescribedMeasure) -> str:
    results, groups = measured(document, measure.name), document["ranking"][measure.name]
    if not groups:
        return f"That cannot be told by {measure.title}."
    places = [
        listed([f"{name} ({value_of(results[name])})" for name in group], most=6) + (", tied" if len(group) > 1 else "")
        for group in groups
    ]
    return f"Best first ({preference(measure)}): {'; then '.join(places)}."


def reference_of(document: Document, measure: str, name: str) -> Document | None:
    """The independent samples of a measure that have as many effective draws as the sample of a name."""
    sizes = {each["file"]: each.get("effective_draws") or each["draws"] for each in document["samples"]}
    references = document["reference"].get(measure, ())
    alike = (each for each in references if each.get("effective_draws", each["draws"]) == sizes[name])
    return next(alike, None)


def _against(document: Document, measure: DescribedMeasure) -> str:
    """The best sample beside independent ones of its size."""
    name = document["ranking"][measure.name][0][0]
    best = measured(document, measure.name)[name]
    reference = reference_of(document, measure.name, name) or document["reference"][measure.name][0]
    lowest, highest, median = reference["lower"], reference["upper"], reference["median"]
    times = f", at {ratio(best['value'] / median)} times their median" if median else ""
    return (
        f"By {measure.title}, {name} has {value_of(best)}, "
        f"{place(best['lower'], best['upper'], lowest, highest)} the range {compact(lowest)} to {compact(highest)} of "
        f"{right_samples(reference).rstrip(',')}{times}."
    )


_INDEPENDENT = -0.5  # rate of independent draws
_FLAT = -0.25  # a rate above it is nearer to none


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
    """All that a page has room for: both ends of the curve, and its rate beside that of independent draws, as well."""
    rate, limits = curve_statements(document, measure)
    ends = Statement(
        "number", rate.question, f"From {end_of_curve(document, 0)} to {end_of_curve(document, -1)}.", True
    )
    if not measure.smaller_is_better:
        return [rate, ends, limits]
    said = _beside_independent(document)
    beside = [Statement("comparison", "What does the rate say?", said)] if said else []
    return [rate, ends, *beside, limits, Statement("limits", limits.question, UNVISITED)]


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


def end_of_curve(document: Document, k: int) -> str:
    """The curve at one of its ends."""
    cost = "" if document["cost"] is None else f" (cost {compact(document['cost'][k])})"
    return f"{compact(document['values'][k])} at {document['n'][k]:g} draws{cost}"


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


def _beside_independent(document: Document) -> str:
    """The rate beside that of independent draws."""
    if document["rate"] is None:
        return ""
    low, high = document["rate_interval"]
    if low > _FLAT:
        return "This curve is flatter than with independent draws: it levels out, as it does at a bias."
    if low <= _INDEPENDENT <= high:
        both = ", and with that of a bias as well" if high > _FLAT else ""
        return f"It agrees with that of independent draws{both}."
    if high < _INDEPENDENT:
        return "This curve falls faster than with independent draws."
    return (
        "This curve falls more slowly than with independent draws: a longer one would show whether it levels out at a "
        "bias."
    )
