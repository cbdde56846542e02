"""What is said of one sample: whether the draws may be used, what is wrong with them if not, and its score.

Documents are those that ``steinkit score --json`` prints, and its "verdict".
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from steinkit.chains import LOW_BFMI
from steinkit.diagnosis.bias.text import (
    accused_bias_sentence,
    bias_clause,
    bias_table,
    biases_table,
    matters_sentence,
    shares_clause,
    shares_sentence,
    within_sentence,
)
from steinkit.result import (
    ACCUSED,
    UNDECIDED,
    UNSUSPECTED,
    Document,
    Statement,
    running_text,
)
from steinkit.text import (
    Table,
    count,
    filled,
    listed,
    probability,
    standard_errors,
)

Fault = Document

NOTHING_STANDS_OUT = "no single coordinate or pair stands out"
WORST = 10
"""Rows of a table that a screen holds: the worst parameters or coordinates."""

_MAY_BE_USED = "May these draws be used?"
_TIED = 0.9  # of the worst fault's |z|, from which another is as bad
_NAMED = 3  # coordinates of one fault
_ALONG_AXIS = "wrong"  # the direction of a shape along a principal axis, which says nothing more
_OPPOSITE = {"too low": "too high", "too high": "too low", "too narrow": "too wide", "too wide": "too narrow"}
_WANTED = 100
_WANTED_OF_SLOWEST = 30
_GIVEN = "Each is meant given the other coordinates:"
_TESTS = {"p_moments": "moments", "p_bounded": "bounded moments", "p_sliced": "slices", "p_ksd": "kernel"}
_OTHER_TESTS = {
    "p_invariance": "invariance",
    "p_dependence": "all pairs together",
    "p_critic": "critic",
    "p_modes": "mode weights",
}
SHARES_BESIDE = {"p_invariance": 0.4, "p_dependence": 0.1, "p_critic": 0.2, "p_modes": 0.2}
"""Share of the level per test that may lower the verdict's p-value; the four score tests use less than their level."""


def verdict_sentence(document: Document) -> str:
    """The verdict, how well the chains mixed, sizes, and whether they matter where asked."""
    parts = _trajectories(document), _head(document), _mixing(document), _sizes(document), _matters(document)
    return " ".join(filter(None, parts))


def verdict_statements(document: Document) -> list[Statement]:
    """The sentence, what is wrong, the tests behind it, and what none of them sees."""
    found = [Statement("number", _MAY_BE_USED, verdict_sentence(document))]
    if len(document["findings"]) > 1 or (
        document["findings"] and (document["burn_in"] is not None or _accuses_modes(document))
    ):
        found.append(Statement("findings", "What is wrong with them?", _faults(document)))
    if said := modes_sentence(document):
        found.append(Statement("comparison", "Which shares have the modes?", said))
    found.append(Statement("limits", "What was not tested?", untested_sentence(document)))
    found.append(Statement("method", "How was it tested?", _tests(document)))
    return found


def verdict_blocks(
    document: Document | None, unjudged: str | None, *, everything: bool = False, table: bool = True
) -> list[str]:
    """Say a verdict on a screen: its sentence, then the worst biases; or why there is none.

    Parameters
    ----------
    document : mapping or None
    unjudged : str or None
    everything : bool
        All faults, limits and tests, and the biases of all parameters.
    table : bool
        Whether the biases are listed.
    """
    if document is None:
        return [filled(unjudged_sentence(unjudged))] if unjudged else []
    said = running_text(verdict_statements(document)) if everything else filled(verdict_sentence(document))
    rows = verdict_table(document, None if everything else WORST) if table else ""
    return [said, *([rows] if rows else [])]


def untested_sentence(document: Document) -> str:
    """What none of the tests sees."""
    return f"Not tested: {listed(document['not_tested'])}."


def verdict_table(document: Document, most: int | None = WORST) -> str:
    """Biases of means and standard deviations, the worst first; empty where none is known."""
    return bias_table(document["bias"], most) if _knows_biases(document) else ""


def verdict_biases(document: Document | None) -> tuple[Table, ...]:
    """The same for a page: one table, or none."""
    return (biases_table(document["bias"], WORST),) if document and _knows_biases(document) else ()


def _knows_biases(document: Document) -> bool:
    found = document.get("bias")
    return bool(found and document["enough_draws"] and any(each["reliable"] for each in found["quantities"]))


def verdicts_table(entries: Sequence[Document], last: str = "what is wrong") -> Table:
    """Samples side by side: of each its file, and what its "verdict" says if it has one.

    Parameters
    ----------
    entries : sequence of mapping
    last : {"what is wrong", "largest bias"}
        The last column.
    """
    verdicts = [entry.get("verdict") for entry in entries]
    asked = any(verdict and verdict["matters"] is not None for verdict in verdicts)
    keys = ("p", *(["p_matters"] if asked else []))
    rows = []
    for entry, verdict in zip(entries, verdicts, strict=True):
        known = verdict or {}
        numbers = ["-" if known.get(key) is None else f"{known[key]:.2g}" for key in keys]
        ess = "-" if known.get("ess") is None else f"{known['ess']:.0f}"
        said = fault_label(verdict) if last == "what is wrong" else _largest_bias(known)
        rows.append((entry["file"], verdict_label(verdict), *numbers, ess, said))
    columns = ("sample", "verdict", "p", *(["p matters"] if asked else []), "ESS", last)
    return Table("May they be used?", columns, tuple(rows))


def _largest_bias(document: Document) -> str:
    worst = next((each for each in (document.get("bias") or {}).get("quantities", ()) if each["reliable"]), None)
    return "not known" if worst is None else f"{worst['name']}: {bias_clause(worst) or 'none'}"


def unjudged_sentence(why: str) -> str:
    """Why there is no verdict."""
    return f"There is no verdict: {why}."


def chosen_statements(document: Document, seed: int) -> list[Statement]:
    """What is said of one seed's draws of the setting that a sweep chose: the best of those tried may be wrong."""
    asked, modes = "May draws of the best setting be used?", modes_sentence(document)
    return [
        Statement("number", asked, " ".join(filter(None, (f"Seed {seed}: {verdict_sentence(document)}", modes)))),
        Statement("limits", asked, untested_sentence(document), continues=True),
    ]


def modes_sentence(document: Document) -> str:
    """Mode weights that the verdict's sentence does not say, be the draws too few to be judged; else empty."""
    return shares_sentence(document["modes"]) if document.get("modes") and not _accuses_modes(document) else ""


def verdict_label(document: Document | None) -> str:
    """The verdict in a table's cell."""
    if document is None:
        return "none"
    if not document["enough_draws"]:
        return "too few draws"
    return "biased" if is_accused(document) else "no bias seen"


def fault_label(document: Document | None) -> str:
    """The worst fault in a table's cell, empty for draws that are not accused."""
    if document is None:
        return ""
    if document["findings"]:
        return fault(document["findings"][0])
    return NOTHING_STANDS_OUT if is_accused(document) else ""


def is_accused(document: Document) -> bool:
    """Whether draws are said not to come from their target."""
    return bool(document["enough_draws"] and document["p"] <= document["level"])


def fault(each: Fault) -> str:
    """What is wrong, as a clause: "mu is too high"."""
    names, direction, kind = each["coordinates"], each["direction"], each["kind"]
    named = listed(names, most=_NAMED)
    if kind == "shape":
        where = "" if direction == _ALONG_AXIS else f": {direction}"
        return f"the {'joint ' * (len(names) > 1)}shape of {named} is wrong{where}"
    if kind in ("location given", "spread given"):
        return f"{names[0]} is {direction}, and {_OPPOSITE[direction.split(' where ')[0]]} far from it"
    if kind == "dependence":
        how = direction.removeprefix("correlation ")
        return f"the correlation of {named} {'has the wrong sign' if how == 'of wrong sign' else f'is {how}'}"
    if kind == "tails":
        return f"the tails{f' of {named}' if len(names) == 1 else ''} are {direction}"
    return f"{named} is {direction}" if len(names) == 1 else f"{named} together are {direction}"


def ess_of(document: Document) -> str:
    """The ESS of the draws; empty where it is undefined, or above their number, as of antithetic chains."""
    ess = document["ess"]
    return "" if ess is None or ess > document["draws"] else f"{ess:.0f}"


def _head(document: Document) -> str:
    p, late = probability(document["p"]), document["burn_in"]
    start = (
        ""
        if late is None
        else f" But the first draws are off: leave out the first tenth of every chain ({probability(late)} then)."
    )
    if not document["enough_draws"]:
        effective = math.floor(document["effective_draws"])
        return (
            f"{UNDECIDED}: {effective} of {count(document['draws'], 'draw')}, where {_WANTED} are wanted"
            f"{f', and {_WANTED_OF_SLOWEST} of what changes slowest' if effective < _WANTED_OF_SLOWEST else ''}. "
            f"This says neither that they are right nor that they are wrong.{start}"
        )
    if not is_accused(document):
        hidden = " The warnings say what may hide one." if document.get("hiding") else ""
        ess = ess_of(document)
        draws = f"{count(document['draws'], 'draw')}{f' with ESS {ess}' if ess else ''}"
        return f"{UNSUSPECTED} that {draws} could show ({p}).{hidden}{start}"
    if late is not None:
        return (
            f"{ACCUSED} ({p}), but only the first draws are biased: without the first tenth of every chain no bias "
            f"is seen ({probability(late)})."
        )
    return f"{ACCUSED} ({p}): {_worst(document)}."


def _trajectories(document: Document) -> str:
    """Divergent transitions and a low E-BFMI, where the sample records them: regions may be missing unseen."""
    divergent, bfmi = document.get("divergent"), document.get("bfmi")
    found = []
    if divergent:
        found.append(f"{divergent} of {document['draws']} transitions diverged")
    if bfmi is not None and bfmi < LOW_BFMI:
        found.append(f"the E-BFMI is {bfmi:.2f}, where {LOW_BFMI} is wanted")
    if not found:
        return ""
    said = " and ".join(found)
    return f"{said[0].upper()}{said[1:]}: the chains may have missed a region, which no test of these draws can show."


def _accuses_modes(document: Document) -> bool:
    """Whether the modes' shares alone are enough to accuse: the verdict's p-value is theirs."""
    return is_accused(document) and _decides(document, "p_modes")


def _decides(document: Document, key: str) -> bool:
    """Whether the verdict's p-value is that of this test, over its divisor and times the looks."""
    p = document.get(key)
    return p is not None and document.get("looks", 1) * p / SHARES_BESIDE[key] <= document["p"] * (1.0 + 1e-9)


def _worst(document: Document) -> str:
    """The worst fault, and those that are as bad."""
    faults = document["findings"]
    if _accuses_modes(document):
        return "; and ".join([shares_clause(document["modes"]), *map(_measured, faults[:1])])
    if not faults and _decides(document, "p_dependence"):
        return "many correlations are off by a little, none clearly by itself"
    if not faults and _decides(document, "p_critic"):
        return f"{NOTHING_STANDS_OUT}; a function fitted to half of the draws rejects the other half"
    if not faults:
        share = document.get("ksd_share")
        if document["p_ksd"] is None:
            return NOTHING_STANDS_OUT
        said = f"{NOTHING_STANDS_OUT}; only the kernel test, which tests all coordinates jointly, rejects"
        if share is None:  # as on bounded supports
            return said
        multiple = f"{share['multiple']:.1f} times what independent draws would give"
        return f"{said} ({share['coordinate']} contributes most: {multiple})"
    return _tied(_ties(faults)[0], _NAMED)


def _measured(each: Fault) -> str:
    """A fault and its evidence."""
    if each.get("source") == "invariance":
        return f"{fault(each)} (an exact Markov kernel moves this by {standard_errors(each['z'])} standard errors)"
    if each["kind"] == "location":
        return f"{fault(each)} (its mean score is {standard_errors(each['z'])} standard errors from 0)"
    return f"{fault(each)} ({standard_errors(each['z'])} standard errors off)"


def _faults(document: Document) -> str:
    """All faults, largest first, with ties as ties."""
    groups = [_tied(group, len(group)) for group in _ties(document["findings"])]
    said = f"What is wrong: {'; '.join(groups)}."
    if any(each["kind"] == "dependence" for each in document["findings"]):
        return f"{said} {_GIVEN} where the correlation of two is off, so is the spread of each given the other."
    return f"{said} {_GIVEN} one that is right may be off given another that is not."


def _tied(faults: Sequence[Fault], most: int) -> str:
    """Faults about as bad as each other, each with its evidence."""
    return listed([_measured(each) for each in faults], most=most, of="more faults") + ", a tie" * (len(faults) > 1)


def _ties(faults: Sequence[Fault]) -> list[list[Fault]]:
    """Faults in groups of those about as bad as the first of the group; that of all coordinates may be fainter."""
    groups: list[list[Fault]] = []
    for each in faults:
        if groups and _TIED <= abs(each["z"] / groups[-1][0]["z"]) <= 1.0 / _TIED:
            groups[-1].append(each)
        else:
            groups.append([each])
    return groups


def _mixing(document: Document) -> str:
    """The ESS of rejected draws, and whether slow mixing may explain the rejection; weighted draws are no chain."""
    ess, r_hat = ess_of(document), document.get("r_hat")
    if not ess or not is_accused(document) or document["burn_in"] is not None:
        return ""
    if document["p_ksd"] is None:
        return f"Their ESS is {ess}."
    if document.get("mixed", True):
        return f"Their ESS is {ess}: slow mixing does not explain it."
    said = f"R-hat {r_hat:.2f}, " if r_hat is not None else ""
    return f"The chains have not mixed ({said}ESS {ess}), which may be the whole explanation."


def _sizes(document: Document) -> str:
    """How far means and standard deviations are off: of draws accused, and of others how right they are."""
    found = document.get("bias")
    if found is None or not document["enough_draws"] or document["burn_in"] is not None:
        return ""
    if _accuses_modes(document) and found["hidden"]:
        return "`steinkit repair` weighs the modes by the right ones."
    if is_accused(document):
        return accused_bias_sentence(found)
    return within_sentence(found)


def _matters(document: Document) -> str:
    delta, p = document["matters"], document["p_matters"]
    if delta is None or not document["enough_draws"]:
        return ""
    if document.get("bias") is not None and (said := matters_sentence(document["bias"], delta)):
        return said
    if p <= document["level"]:
        return f"Some moment is off by more than {delta:g} standard units ({probability(p)})."
    return f"There is no evidence that any moment is off by more than {delta:g} standard units ({probability(p)})."


def _tests(document: Document) -> str:
    names = {**_TESTS, **_OTHER_TESTS}
    tests = [f"{name} {probability(document[key])}" for key, name in names.items() if document.get(key) is not None]
    looks = document.get("looks", 1)
    together = f"together, times {looks} looks," if looks > 1 else "together"
    return f"Tests: {', '.join(tests)}; {together} {probability(document['p'])}."


def verdict_headline(document: Document) -> str:
    """The verdict in one sentence."""
    return _head(document).split(". ")[0].removesuffix(".")
