"""What is said of biases of means and standard deviations, and of mode weights, each with its margin.

Documents are those of `BiasEstimate.to_dict`, whose "quantities" stand in the order of what is to be said first, and of
`ModeWeights.to_dict`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from steinkit.result import Statement
from steinkit.text import Table, compact, listed, probability

Document = Mapping[str, Any]
Quantity = Mapping[str, Any]

AT_LEAST = "; a run has moved its mean, which is off by at least "
"""Before a size, at the end of why a quantity is not known."""
_ASKED = "How wrong are the numbers?"
_SMALLEST = 0.05  # standard deviations, below which a bias is not worth a word
_FINEST = 0.001  # margin that is written
_MOST_PLACES, _LARGE = 6, 1e6  # of numbers that are written without an exponent
_SAID = 3  # quantities in a sentence
_UNKNOWN = "?"
_CAPTION = "Biases of means and standard deviations, largest first"
_SEEN = {
    "quadratic": "quadratic vector fields see",
    "chosen": "affine and some quadratic vector fields see; more draws allow all quadratic ones",
    "affine": "affine vector fields see; more draws allow quadratic ones",
    "pairs": "pairs of coordinates see; more draws allow all affine vector fields",
    "diagonal": "single coordinates see; more draws allow their pairs",
    "own4": "single coordinates see; more draws allow their pairs",
}
_METHODS = {
    "regression": "regression on Stein features",
    "weights": "weights of largest entropy",
    "run": "a short exact run from every draw",
    "modes": "regression within each mode, and the modes' shares by the log density",
}


def bias_statements(document: Document) -> list[Statement]:
    """What is off and by how much, what is right, what is not known and why, and how it was estimated."""
    how = f"Estimated by {_METHODS[document['method']]}, as far as {_SEEN[document['features']]}."
    return [Statement("number", _ASKED, bias_sentence(document)), Statement("method", "How was it estimated?", how)]


def measured_bias_statements(title: str, document: Document) -> tuple[Statement, ...]:
    """The size of all biases together, and the largest in words."""
    number = (
        f"The {title} is {document['value']:.3g} ± {max(document['margin'], _FINEST):.2g} standard deviations, the "
        "root of their mean square."
    )
    return (
        Statement("number", f"What is the {title}?", number),
        Statement("findings", _ASKED, bias_sentence(document), continues=True),
    )


def repair_statements(document: Document) -> list[Statement]:
    """How draws were repaired, what they are worth, and how far off they were and are."""
    draws, before, after = document["draws"], document["before"], document["after"]
    how = {
        "weights": f"Repaired: {draws} weighted draws, worth {document['worth']:.0f}.",
        "run": f"Repaired: {draws} draws, each moved by a short exact run.",
        "modes": f"Repaired: {draws} draws, the modes weighed by their shares, worth {document['worth']:.0f}.",
    }[document["method"]]
    return [
        Statement("number", "What was mended?", how),
        Statement("comparison", "How wrong were the numbers?", f"Before: {bias_sentence(before)}"),
        Statement("comparison", "How wrong are they now?", f"After: {bias_sentence(after)}"),
    ]


def bias_sentence(document: Document) -> str:
    """The largest biases, how right the others are, and of which nothing is known."""
    return " ".join([*_known(document), *not_known(document)])


def accused_bias_sentence(document: Document) -> str:
    """The same of draws that are not from their target, and what mends them."""
    reliable = [each for each in document["quantities"] if each["reliable"]]
    if not reliable:
        return bias_sentence(document)
    if not any(map(is_off, reliable)):
        every = "all means" if len(reliable) > 1 else "the mean"
        said = f"What is wrong does not show: {every} {_that_are_known(document)}{_right_to(reliable)}."
        return " ".join([said, *not_known(document)])
    by_weights = len(reliable) == len(document["quantities"]) and document["worth"] >= 0.2 * document["draws"]
    mends = f"{'mends' if by_weights else 'may mend'} them"
    if document.get("method") == "modes":  # it leaves the draws within each as they are
        mends = "weighs the modes by their shares"
    return f"{bias_sentence(document)} `steinkit repair` {mends}."


def within_sentence(document: Document) -> str:
    """How right the numbers of draws are that nobody accuses; empty where not all of that is known."""
    if not document["quantities"] or not all(each["reliable"] for each in document["quantities"]):
        return ""
    every = "All means" if len(document["quantities"]) > 1 else "The mean"
    return f"{every} {_right_to(document['quantities'])}."


def matters_sentence(document: Document, delta: float) -> str:
    """Whether a mean is off by more than a size that matters, with its margin; empty where none is reliable."""
    reliable = [each for each in document["quantities"] if each["reliable"]]
    if not reliable:
        return ""
    worst = max(reliable, key=lambda each: abs(each["mean_bias"]) - each["mean_margin"])
    if abs(worst["mean_bias"]) - worst["mean_margin"] > delta:
        return f"The mean of {worst['name']} is off by {_mean_bias(worst, sign=False)} sd, more than {delta:g}."
    widest = max(reliable, key=lambda each: abs(each["mean_bias"]) + each["mean_margin"])
    far = f"{widest['name']}'s is off by {_mean_bias(widest, sign=False)}"
    if abs(widest["mean_bias"]) + widest["mean_margin"] <= delta:
        known = "" if len(reliable) == len(document["quantities"]) else " that is known"
        return f"No mean{known} is off by more than {delta:g} sd: {far}."
    return f"Whether a mean is off by more than {delta:g} sd cannot be said: {far}."


def _known(document: Document) -> list[str]:
    reliable = [each for each in document["quantities"] if each["reliable"]]
    off, right = [each for each in reliable if is_off(each)], [each for each in reliable if not is_off(each)]
    said = []
    if off:
        left = len(off) - _SAID
        more = f"; {left} more {'is' if left == 1 else 'are'} off" if left > 0 else ""
        said.append(f"{'; '.join(each['name'] + ': ' + bias_clause(each) for each in off[:_SAID])}{more}.")
    if right and off:
        who = listed([each["name"] for each in right])
        said.append(f"The {'means' if len(right) > 1 else 'mean'} of {who} {_right_to(right)}.")
    elif right:
        said.append(f"{'All means' if len(right) > 1 else 'The mean'} {_that_are_known(document)}{_right_to(right)}.")
    return said


def _right_to(quantities: Sequence[Quantity]) -> str:
    """The largest that biases may be with their margins."""
    mean = max(abs(each["mean_bias"]) + each["mean_margin"] for each in quantities)
    sd = max(abs(each["sd_bias"]) + each["sd_margin"] for each in quantities)
    several = len(quantities) > 1
    sds = f"{'their sds' if several else 'its sd'} to {100.0 * math.expm1(max(sd, _FINEST)):.2g}%"
    return f"{'are' if several else 'is'} right to {max(mean, _FINEST):.2g} sd, {sds}"


def _that_are_known(document: Document) -> str:
    return "" if all(each["reliable"] for each in document["quantities"]) else "that are known "


def not_known(document: Document) -> list[str]:
    """Which quantities have no bias that may be stated, by reason."""
    reasons: dict[str, list[str]] = {}
    moved: list[tuple[float, str]] = []
    for each in document["quantities"]:
        if not each["reliable"]:
            reason, _, least = each["reason"].partition(AT_LEAST)
            reasons.setdefault(reason.split(" (+-")[0], []).append(each["name"])
            moved += [(-float(least.removesuffix(" sd")), f"{each['name']} by {least}")] if least else []
    if len(reasons) == 1 and len(next(iter(reasons.values()))) == len(document["quantities"]):
        said = [f"How far means and sds are off cannot be said: {next(iter(reasons))}."]
    else:
        said = [
            f"How far {listed(names)} {'is' if len(names) == 1 else 'are'} off cannot be said: {reason}."
            for reason, names in reasons.items()
        ]
    if moved:
        worst = listed([clause for _, clause in sorted(moved)[:_SAID]])
        said.append(f"The run was too short; means are off by at least what it moved them: {worst}.")
    return said


def is_off(quantity: Quantity) -> bool:
    """Whether a mean or a standard deviation is off by more than its margin."""
    return _is_beyond(quantity, "mean") or _is_beyond(quantity, "sd")


def bias_clause(quantity: Quantity) -> str:
    """How far a quantity is off: "mean 0.90 +- 0.10 sd too low, sd 26 % +- 3 % too small"."""
    said = []
    if _is_beyond(quantity, "mean"):
        said.append(
            f"mean {_mean_bias(quantity, sign=False)} sd too {'high' if quantity['mean_bias'] > 0.0 else 'low'}"
        )
    if _is_beyond(quantity, "sd"):
        said.append(f"sd {_sd_bias(quantity, sign=False)} too {'large' if quantity['sd_bias'] > 0.0 else 'small'}")
    return ", ".join(said)


def bias_table(document: Document, most: int | None) -> str:
    """A row a quantity, the worst first."""
    return biases_table(document, None).text(("quantity",), most)


def biases_table(document: Document, most: int | None) -> Table:
    """The same as a table."""
    shown: Sequence[Quantity] = document["quantities"][:most]
    rows = tuple(
        (
            each["name"],
            _to_the_margin(each["draws_mean"], each),
            _to_the_margin(each["mean"], each) if each["reliable"] else _UNKNOWN,
            _mean_bias(each) if each["reliable"] else _UNKNOWN,
            _sd_bias(each) if each["reliable"] else _UNKNOWN,
        )
        for each in shown
    )
    columns = ("quantity", "mean", "corrected", "bias (sd)", "sd bias")
    return Table(_CAPTION, columns, rows)


def compared_biases(documents: Mapping[str, Document], most: int | None) -> Table | None:
    """Biases of several samples, those of a quantity below each other, the worst first; None where none is known.

    Parameters
    ----------
    documents : mapping of str to mapping
        By sample.
    most : int or None
        Rows, of which three quantities may have more; all for None.
    """
    sizes: dict[str, tuple[bool, float]] = {}
    rows: dict[str, list[tuple[str, ...]]] = {}
    for sample, document in documents.items():
        for each in document["quantities"]:
            size, said = (False, -1.0), (_UNKNOWN, _UNKNOWN)
            if each["reliable"]:
                size = is_off(each), max(abs(each["mean_bias"]), abs(each["sd_bias"]))
                said = _mean_bias(each), _sd_bias(each)
            sizes[each["name"]] = max(size, sizes.get(each["name"], size))
            rows.setdefault(each["name"], []).append((each["name"], sample, *said))
    if not any(size >= 0.0 for _, size in sizes.values()):
        return None
    shown = None if most is None else max(_SAID, most // len(documents))
    worst = sorted(rows, key=lambda name: sizes[name], reverse=True)[:shown]
    columns = ("quantity", "sample", "bias (sd)", "sd bias")
    return Table(_CAPTION, columns, tuple(row for name in worst for row in rows[name]))


def _is_beyond(quantity: Quantity, what: str) -> bool:
    """Whether the bias of the mean or of the sd is beyond its margin, and large enough to be worth a word."""
    off, margin = quantity[f"{what}_bias"], quantity[f"{what}_margin"]
    return off is not None and margin is not None and abs(off) > max(margin, _SMALLEST)


def _to_the_margin(value: float | None, quantity: Quantity) -> str:
    """A mean in its own unit, to the last place that its margin leaves."""
    if value is None or not quantity["mean_margin"] or not quantity["sd"]:
        return compact(value)
    places = 1 - math.floor(math.log10(quantity["sd"] * max(quantity["mean_margin"], _FINEST)))
    return _fixed(value, places) if 0 <= places <= _MOST_PLACES and abs(value) < _LARGE else compact(value)


def _mean_bias(quantity: Quantity, sign: bool = True) -> str:
    off, margin = quantity["mean_bias"], max(quantity["mean_margin"], _FINEST)
    places = _places(margin)
    return f"{_fixed(off if sign else abs(off), places, sign)} ± {margin:.{places}f}"


def _sd_bias(quantity: Quantity, sign: bool = True) -> str:
    ratio = math.exp(quantity["sd_bias"])
    off, margin = 100.0 * (ratio - 1.0), 100.0 * ratio * max(quantity["sd_margin"], _FINEST)
    places = max(0, _places(0.01 * margin) - 2)
    return f"{_fixed(off if sign else abs(off), places, sign)}% ± {margin:.{places}f}%"


def _fixed(value: float, places: int, sign: bool = False) -> str:
    """A number with so many places; what is rounded to zero has no sign."""
    rounded = round(value, places) or 0.0
    return f"{rounded:{'+' * (sign and rounded != 0.0)}.{places}f}"


def _places(margin: float) -> int:
    """Decimal places at which a margin has a digit or two."""
    return 2 if margin >= 0.01 else 3


_SHOWN = 3  # coordinates of a centre
_FINEST_SHARE = 0.0001  # margin that is written
_SELDOM = "The draws cross too seldom to test this; `steinkit repair` weighs the modes by the right shares."


def shares_statements(document: Document) -> list[Statement]:
    """Both shares, where the modes are, what was not looked at, and how it was done."""
    centres = [centre_clause(mode["centre"]) for mode in document["modes"]]
    places = "; ".join(f"mode {k} about {each}" for k, each in enumerate(centres, 1))
    taken = f"by bridge sampling, with the log density at {document['evaluations']} points"
    return [
        Statement("number", "Which shares have the modes?", shares_sentence(document)),
        Statement("draws", "Where are they?", f"{places[0].upper()}{places[1:]}."),
        Statement(
            "limits",
            "What was not tested?",
            "Draws are taken to be right within each mode. Modes that no draw has visited are not seen.",
        ),
        Statement("method", "How were they found?", f"Shares {taken}."),
    ]


def shares_sentence(document: Document) -> str:
    """Both shares and the probability of a difference so large."""
    clause = f"M{shares_clause(document)[1:]}"
    return f"{clause}. {_SELDOM}" if document["p"] is None else f"{clause} ({probability(document['p'])})."


def shares_clause(document: Document) -> str:
    """Both shares, as fine as the margin: "modes 71.8:28.2, right 50.1:49.9 +- 0.7 points"."""
    modes: Sequence[Mapping[str, Any]] = document["modes"]
    margin = 100.0 * max(_FINEST_SHARE, *(each["margin"] for each in modes))
    places = 0 if margin >= 2.0 else 1 if margin >= 0.2 else 2
    had, right = (":".join(f"{100.0 * each[key]:.{places}f}" for each in modes) for key in ("draws_share", "share"))
    return f"modes {had}, right {right} ± {margin:.{places}f} points"


def centre_clause(centre: Mapping[str, float]) -> str:
    """Where a mode is, in its first coordinates."""
    shown = [f"{name} = {compact(value, 3)}" for name, value in centre.items()]
    return ", ".join([*shown[:_SHOWN], *(["..."] if len(shown) > _SHOWN else [])])
