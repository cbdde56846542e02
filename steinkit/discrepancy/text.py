"""What is said of each measure of a sample: the number, its proof, where the sample is off, and what is not proved.

An entry is that of ``steinkit score --json``, with what its document says of the "sample", and of independent samples,
where they were measured alike, as its "reference". What only the result in memory knows, such as the directions and the
draws that weigh most, is said where the entry has "details", those of the result's method of that name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from steinkit.result import (
    DescribedMeasure,
    Description,
    Document,
    Statement,
    beside_right_samples,
    caution_for_noise,
    claimed,
    coordinates_table,
    heaviest_first,
    spent,
    times_expected,
)
from steinkit.text import (
    Table,
    compact,
    count,
    listed,
    probability,
    ratio,
    rounded_outwards,
    sentence,
    standard_errors,
    value_of,
)

TITLE = "graph Stein discrepancy"
_WHAT, _GOOD, _WHERE = f"What is its {TITLE}?", "Is that good?", "Where is it off?"
_NAMED_COORDINATES = 5
_DESCRIBED_COORDINATES = 3
_SHOWN_NUMBERS = 4  # of a point

_DIRECTIONS = {
    "high": "the draws sit too high: the flow that would mend the sample moves them down",
    "low": "the draws sit too low: the flow that would mend the sample moves them up",
    "wide": "the draws are spread too widely for this target: the flow that would mend the sample pulls them together",
    "narrow": "the draws are too concentrated for this target: the flow that would mend the sample pushes them apart",
    "strays": "the draws stray too far from the modes: the flow that would mend the sample moves them uphill",
    "crowds": "the draws crowd the modes too closely: the flow that would mend the sample moves them apart",
}
_UNCLEAR = "It is no plain shift or stretch of a single coordinate; the picture shows where it is off."
_NO_SHARES = "in a right sample some carry more than others"
_NO_PRAISE_OF_GRAPH = (
    "; one that is too concentrated can be, and right chains that mix slowly are, so this alone is no praise"
)
_UNSEEN_BY_GRAPH = (
    "What this does not prove: a region of the target that no draw has visited, such as a second mode far from the "
    "draws, changes the score nowhere near them and is not seen. A low discrepancy speaks for the regions visited; "
    "whether all were visited must be known from elsewhere."
)


def describe_graph(measure: DescribedMeasure, entry: Document) -> Description:
    """Everything from the number to the method, and a table of brackets beside what independent samples have."""
    said = (*graph_statements(entry), _method(entry))
    return Description(measure.title, said, coordinates_table(TITLE, entry, is_wide=_is_wide(entry)))


def graph_statements(entry: Document) -> tuple[Statement, ...]:
    """The number, the comparison, the coordinates, the draws, and the limits."""
    details = entry.get("details", {})
    beside = (
        "Compared with what? The number shrinks as draws are added, at a level set by the target. Without independent "
        "draws from the target (a reference) it only compares samples with one another."
    )
    if entry.get("reference"):
        beside = beside_right_samples(entry, _NO_PRAISE_OF_GRAPH)
    hints = [_DIRECTIONS.get(each, "") for each in details.get("directions", ())]
    return (
        Statement("number", _WHAT, _number(entry)),
        Statement("comparison", _GOOD, beside),
        Statement("findings", _WHERE, _findings_of(entry, hints, _UNCLEAR if details else "", any(hints))),
        *([Statement("draws", "Which draws weigh most?", _draws(entry, details))] if details else []),
        Statement("limits", "What does this not prove?", _UNSEEN_BY_GRAPH),
    )


def _findings_of(entry: Document, hints: Sequence[str], unclear: str = "", certain: bool = False) -> str:
    """What each coordinate carries, beside independent draws where these are known, and what is seen in the heaviest.

    Parameters
    ----------
    entry : mapping
    hints : sequence of str
        By coordinate, what is seen in it; empty where nothing is.
    unclear : str
        What is said where there are no hints of the heaviest.
    certain : bool
        Whether it cannot all be noise.
    """
    rows, times = entry["coordinates"], times_expected(entry)
    order, said = heaviest_first(entry), []
    if len(rows) > 1:
        each = [
            f"{rows[j]['name']} {compact(rows[j]['value'])}" + ("" if times is None else f" ({ratio(times[j])} times)")
            for j in order
        ]
        more = len(rows) - _NAMED_COORDINATES
        named = ", ".join([*each[:_NAMED_COORDINATES], *([f"{more} more"] if more > 0 else [])])
        beside = _NO_SHARES if times is None else "times the median of right samples"
        said.append(f"Coordinate by coordinate ({beside}): {named}.")
    seen = [f"In {rows[j]['name']}, {hints[j]}." for j in order[:_DESCRIBED_COORDINATES] if hints and hints[j]]
    said += seen or ([unclear] if unclear else [])
    caution = "" if certain else caution_for_noise(entry)
    return " ".join([*([caution] if said and caution else []), *said])


def _number(entry: Document) -> str:
    lower, upper, sample = entry["lower"], entry["upper"], entry["sample"]
    distinct = ""
    if sample["distinct"] != sample["draws"]:
        distinct = f", {count(sample['distinct'], 'distinct point')}"
    what = f"({count(sample['draws'], 'draw')}{distinct}, {count(sample['dim'], 'coordinate')})"
    if _is_wide(entry):
        details = entry["details"]
        return (
            f"The {TITLE} lies between {' and '.join(rounded_outwards(lower, upper))} {what}. The bracket's relative "
            f"width is {details['gap']:.1e} where {details['tolerance']:g} was asked for: quote both ends."
        )
    return f"The {TITLE} is {value_of(entry)}, {claimed('proved', lower, upper)} {what}."


def _is_wide(entry: Document) -> bool:
    """Whether the bracket is known to be wider than what was asked for."""
    details = entry.get("details")
    return details is not None and bool(details["gap"] > details["tolerance"])


def _draws(entry: Document, details: Document) -> str:
    return (
        f"The draws with the most influence on the worst test function h (mean {entry['lower']:.4g} over the sample, "
        "0 under the target; large where there tend to be too many draws): "
        f"{'; '.join(map(_draw, details['draws']))}. Half of the influence lies on {details['half']} of "
        f"{entry['sample']['distinct']} points."
    )


def _draw(found: Document) -> str:
    point = found["point"]
    shown = ", ".join([f"{value:.4g}" for value in point[:_SHOWN_NUMBERS]] + ["..."] * (len(point) > _SHOWN_NUMBERS))
    repeats = f" ({found['count']} times)" if found["count"] > 1 else ""
    return f"draw {found['draw']}{repeats} at ({shown}), h = {found['h']:+.3g}"


def _method(entry: Document) -> Statement:
    kind = "complete graph" if entry["dilation"] == 1.0 else f"{entry['dilation']:g}-spanner"
    if entry["sample"]["dim"] == 1:
        kind = "sorted sample"
    seconds = f"; seconds: {spent(entry)}" if spent(entry) else ""
    text = f"Computed on the {kind} ({entry['edges']} edges) by solver {entry['solver']}{seconds}."
    return Statement("method", "How was it computed?", text)


_REGIONS = {"low": "at the low end", "middle": "in the middle", "high": "at the high end"}
_MEANING_OF_SLICES = (
    "It is the sum over the coordinates of the largest mean of h, which is 0 under the target, over functions of that "
    "coordinate alone: what it finds is there, it falls like one over the root of the number of draws in every "
    "dimension, and too narrow a sample does not score lower. It does not see shapes that no coordinate shows by "
    "itself, nor a mode that no draw has visited."
)


def describe_sliced(measure: DescribedMeasure, entry: Document) -> Description:
    """The number, the comparison, what coordinates carry, where there are too many draws, and a table of brackets."""
    caution = "; below is no proof of quality"
    found = describe_bracketed(measure, entry, meaning=_MEANING_OF_SLICES, caution=caution)
    regions = entry.get("details", {}).get("regions", ())
    hints = [_too_many(each, row["value"]) for each, row in zip(regions, entry["coordinates"], strict=False)]
    where = Statement("findings", _WHERE, _findings_of(entry, hints))
    table = coordinates_table(measure.title, entry)
    return Description(measure.title, (*found.statements, where), table)


def _too_many(means: Mapping[str, float], carried: float) -> str:
    """In which regions h is large, and in which it is negative."""
    many = [words for region, words in _REGIONS.items() if means[region] >= carried > 0.0]
    few = [words for region, words in _REGIONS.items() if means[region] < 0.0]
    if not many or not few:
        return ""
    return f"there tend to be too many draws {listed(many)} and too few {listed(few)}"


Feature = Document

_NAMED = 5
_LARGE = 1e4  # standard errors, from which their digits say nothing
_CLEAR = 3.0  # standard errors below which a moment is not named
_SHARE = 0.2  # of the largest, below which a moment is not named beside it
_TOO = {"location": ("too low", "too high"), "spread": ("too narrow", "too wide")}
_MEANING_OF_MOMENTS = (
    "Each moment, such as 1 + (x - m) s(x) for the score s, has mean 0 under the target. p allows for autocorrelation "
    "within the chains and for the number of moments looked at. A sample that agrees in all of them may still be wrong "
    "in its shape, in the shares of its modes, or in a mode that no draw has visited."
)


def describe_moments(measure: DescribedMeasure, entry: Document) -> Description:
    """The largest moment and the p-value, which moments are off and which way, and a table of the worst."""
    what = f"What is its {measure.title}?"
    number = (
        f"The {measure.title} is {compact(entry['value'])}: the largest mean of a location, spread or dependence, "
        "which is 0 under the target, in standard units. In a right sample of "
        f"{count(round(entry['n_effective']), 'effective draw')} moments as far off have probability "
        f"{probability(entry['p_value'])}."
    )
    said = [
        Statement("number", what, number),
        Statement("limits", f"What does the {measure.title} say?", _MEANING_OF_MOMENTS, continues=True),
        Statement("findings", "Where is it off?", _findings(entry)),
    ]
    if "chains" in entry:
        said.append(Statement("comparison", "Do the chains agree?", _chains(entry["chains"])))
    if spent(entry):
        said.append(Statement("method", "How was it computed?", f"Seconds: {spent(entry)}."))
    return Description(measure.title, tuple(said), _moments_table(entry, measure.title))


def named_moments(entry: Document) -> list[Feature]:
    """Locations, spreads and dependences, the largest in standard errors first."""
    found = [each for each in entry["features"] if each["kind"] in (*_TOO, "dependence")]
    return sorted(found, key=lambda each: -abs(each["z"]))


def direction(feature: Feature) -> str:
    """What a moment above or below zero says of the draws, given the other coordinates.

    Correlations are signed: one of -.5 lies above one of -.8.
    """
    if feature["kind"] in _TOO:
        return _TOO[feature["kind"]][int(feature["z"] < 0.0)]
    return f"{'below' if feature['z'] > 0.0 else 'above'} the target's"


def _findings(entry: Document) -> str:
    """The worst moments in words, worst first."""
    worst = named_moments(entry)[:_NAMED]
    least = max(_CLEAR, _SHARE * abs(worst[0]["z"]))
    clear = [each for each in worst if abs(each["z"]) >= least]
    if not clear:
        return f"No location, spread or dependence is {_CLEAR:g} standard errors or more from 0."
    given = " Each is meant given the others: beside a coordinate that has moved those correlated with it are off, too."
    return f"In standard errors from 0: {'; '.join(map(_said, clear))}.{given * (len(clear) > 1)}"


def _said(feature: Feature) -> str:
    names, size = listed(feature["coordinates"]), standard_errors(feature["z"])
    if feature["kind"] == "dependence":
        return f"the correlation of {names} {direction(feature)} ({size})"
    return f"{names} {direction(feature)} ({size})"


def _signed(z: float) -> str:
    return f"{z:+.2f}" if abs(z) < _LARGE else f"{z:+.3g}"


def _chains(chains: Sequence[Document]) -> str:
    each = ", ".join(f"chain {one['chain']} {one['p_value']:.2g}" for one in chains)
    return f"The p-values of the chains, each by itself: {each}."


def _moments_table(entry: Document, title: str) -> Table:
    rows = tuple(
        (
            f"{each['kind']} of {listed(each['coordinates'])}",
            compact(each["mean"], 3),
            _signed(each["z"]),
            compact(each["autocorrelation_time"], 3),
        )
        for each in named_moments(entry)[:_NAMED]
    )
    return Table(
        f"{sentence(title)}, largest first", ("moment", "mean", "standard errors", "autocorrelation time"), rows
    )


_LIMITS_OF_KERNEL = (
    "The score does not know the mode weights that lie far apart: a sample that misses one, or visits it too often, "
    "can score as well as a right one."
)


def describe_bracketed(
    measure: DescribedMeasure,
    entry: Document,
    *,
    title: str = "",
    details: str = "",
    meaning: str = "",
    caution: str = "",
) -> Description:
    """The number, its claim, what independent samples score, its details and what it means, in one paragraph."""
    title = title or measure.title
    what = f"What is its {title}?"
    claim = claimed(measure.claim, entry["lower"], entry["upper"])
    found = [Statement("number", what, f"The {title} is {value_of(entry)}, {claim}.")]
    if entry.get("reference"):
        found.append(Statement("comparison", what, beside_right_samples(entry, caution), continues=True))
    asked = f"What does the {title} say?"
    found += [Statement("number", asked, details, continues=True)] if details else []
    found += [Statement("limits", asked, meaning, continues=True)] if meaning else []
    if spent(entry):
        found.append(Statement("method", "How was it computed?", f"Seconds: {spent(entry)}.", continues=True))
    return Description(title, tuple(found))


describe_classical = partial(
    describe_bracketed,
    meaning="It is the largest gap between sample and target over all admitted functions, not only over those that a "
    "graph on the draws holds together: never above the graph Stein discrepancy. It is known in one dimension only, "
    "and does not see a mode that no draw has visited either.",
)

describe_wasserstein = partial(
    describe_bracketed,
    meaning="It is the mean distance by which the sample's mass must be moved to become the target, in the unit of the "
    "draws. It needs the target's cdf, and sees a mode that no draw has visited.",
)


def describe_kernel(measure: DescribedMeasure, entry: Document) -> Description:
    """The number, its proof, the comparison, its kernel, its test, and what it cannot see."""
    title = f"{'squared ' if entry['squared'] else ''}{measure.title} ({entry['statistic'].upper()}-statistic)"
    details = " ".join(filter(None, (_kernel(entry["kernel"]), _test(entry))))
    return describe_bracketed(measure, entry, title=title, details=details, meaning=_LIMITS_OF_KERNEL)


def _kernel(kernel: Document) -> str:
    numbers = ", ".join(f"{key}={value!r}" for key, value in kernel.items() if key != "name" and value is not None)
    return f"Its kernel is {kernel['name']}({numbers})."


def _test(entry: Document) -> str:
    if "p_value" not in entry:
        return ""
    return (
        f"Under the target such a number or a larger one has probability p = {entry['p_value']:.3g} (wild bootstrap, "
        f"{entry['bootstrap']} replicates, signs that flip with probability {entry['flip_probability']:.3g})."
    )


_COLUMNS = {
    "mean": "mean",
    "sd": "sd",
    "MCSE": "mcse_mean",
    "bulk ESS": "bulk_ess",
    "tail ESS": "tail_ess",
    "R-hat": "r_hat",
}
_LIMITS_OF_ESS = (
    "It counts the independent draws that would estimate a mean as well, of the distribution that the chains converge "
    "to: it cannot see whether that is the target."
)


def describe_ess(measure: DescribedMeasure, entry: Document) -> Description:
    """The number, what it is blind to, and how the chains went; a table of coordinates, that of least ESS first."""
    what = f"What is its {measure.title}?"
    worst = f"The {measure.title} is {compact(entry['value'])}, that of the worst coordinate."
    said = [Statement("number", what, worst), Statement("limits", what, _LIMITS_OF_ESS, continues=True)]
    facts = []
    if entry.get("moved") is not None:
        facts.append(f"{entry['moved']:.0%} of the draws differ from the one before")
    if entry.get("cost_per_draw") is not None:
        facts.append(f"a draw cost {compact(entry['cost_per_draw'])}")
    if facts:
        said.append(Statement("number", what, f"In these chains {', and '.join(facts)}.", continues=True))
    worst_first = sorted(entry["coordinates"], key=lambda each: each["bulk_ess"] or 0.0)
    rows = tuple((each["name"], *(compact(each[key]) for key in _COLUMNS.values())) for each in worst_first)
    table = Table(f"{sentence(measure.title)} by coordinate", ("coordinate", *_COLUMNS), rows)
    return Description(measure.title, tuple(said), table)
