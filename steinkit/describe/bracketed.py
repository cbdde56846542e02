"""What is said of measures whose result is one number: kernel, classical, Wasserstein, effective sample size."""

from __future__ import annotations

from functools import partial

from steinkit.describe.layout import Table
from steinkit.describe.numbers import compact, sentence, value_of
from steinkit.describe.statements import (
    DescribedMeasure,
    Description,
    Document,
    Statement,
    beside_right_samples,
    claimed,
    spent,
)

_LIMITS_OF_KERNEL = (
    "The score does not know the shares of modes that lie far apart: a sample that misses one, or visits it too often, "
    "can score as well as a right one."
)


def describe_bracketed(
    measure: DescribedMeasure,
    entry: Document,
    reference: Document | None,
    sample: Document,
    *,
    title: str = "",
    details: str = "",
    meaning: str = "",
) -> Description:
    """The number, its claim, what independent samples score, its details and what it means, in one paragraph."""
    title = title or measure.title
    what = f"What is its {title}?"
    claim = claimed(measure.claim, entry["lower"], entry["upper"])
    found = [Statement("number", what, f"The {title} is {value_of(entry)}, {claim}.")]
    if reference is not None:
        found.append(Statement("comparison", what, beside_right_samples(entry, reference, sample), continues=True))
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


def describe_kernel(
    measure: DescribedMeasure, entry: Document, reference: Document | None, sample: Document
) -> Description:
    """The number, its proof, the comparison, its kernel, its test, and what it cannot see."""
    title = f"{'squared ' if entry['squared'] else ''}{measure.title} ({entry['statistic'].upper()}-statistic)"
    details = " ".join(filter(None, (_kernel(entry["kernel"]), _test(entry))))
    return describe_bracketed(
        measure, entry, reference, sample, title=title, details=details, meaning=_LIMITS_OF_KERNEL
    )


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
_LIMITS = (
    "It counts the independent draws that would estimate a mean as well, of the distribution that the chains converge "
    "to: it cannot see whether that is the target."
)


def describe_ess(
    measure: DescribedMeasure, entry: Document, reference: Document | None, sample: Document
) -> Description:
    """The number, what it is blind to, and how the chains went; a table of coordinates, that of least ESS first."""
    what = f"What is its {measure.title}?"
    worst = f"The {measure.title} is {compact(entry['value'])}, that of the worst coordinate."
    said = [Statement("number", what, worst), Statement("limits", what, _LIMITS, continues=True)]
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
