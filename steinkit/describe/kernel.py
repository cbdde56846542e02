"""What is said of a kernel Stein discrepancy."""

from __future__ import annotations

from steinkit.describe.claims import DescribedMeasure
from steinkit.describe.description import Description, Document, describe_bracketed

_LIMITS = (
    "The score does not know the shares of modes that lie far apart: a sample that misses one, or visits it too often, "
    "can score as well as a right one."
)


def describe_kernel(
    measure: DescribedMeasure, entry: Document, reference: Document | None, sample: Document
) -> Description:
    """The number, its proof, the comparison, its kernel, its test, and what it cannot see."""
    title = f"{'squared ' if entry['squared'] else ''}{measure.title} ({entry['statistic'].upper()}-statistic)"
    meaning = " ".join(each for each in (_kernel(entry["kernel"]), _test(entry), _LIMITS) if each)
    return describe_bracketed(measure, entry, reference, sample, title=title, meaning=meaning)


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
