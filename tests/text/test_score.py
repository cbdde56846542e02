"""A score as text: each measure speaks for itself, and one that nobody described says what its claim allows."""

from types import SimpleNamespace

import numpy as np
import pytest

from steinkit.diagnosis.verdict_text import descriptions, headline, page_statements, score_text
from steinkit.discrepancy.text import describe_bracketed, describe_classical, describe_kernel, describe_sliced
from steinkit.result import answers

SAMPLE = {"draws": 10, "distinct": 9, "dim": 1, "names": ["x"]}
ENTRY = {"value": 0.5, "lower": 0.49, "upper": 0.51, "seconds": {"scores": 0.1, "solve": 2.0}}
REFERENCE = {"draws": 10, "median": 0.2, "samples": [{"value": 0.2, "lower": 0.19, "upper": 0.21}]}
KERNEL = {"statistic": "u", "squared": True, "kernel": {"name": "GaussianKernel", "scale": 2.0, "exponent": None}}


def measure(name, describe=describe_bracketed, claim="proved"):
    return SimpleNamespace(
        name=name, title=f"{name} Stein discrepancy", claim=claim, smaller_is_better=True, describe=describe
    )


MEASURES = {
    "new": measure("new", claim="found"),
    "classical": measure("classical", describe_classical),
    "ksd": measure("kernel", describe_kernel),
}


def document(*names, references=()):
    entries = [{"measure": name, **ENTRY, **(KERNEL if name == "ksd" else {})} for name in names]
    return {"sample": SAMPLE, "results": entries, "references": dict.fromkeys(references, REFERENCE)}


def json_verdict(p):
    return {
        **{"p": p, "p_moments": p, "p_sliced": p, "p_ksd": p, "level": 0.01, "ess": 90.0, "draws": 100},
        **{"effective_draws": 100.0, "enough_draws": True, "burn_in": None, "matters": None, "p_matters": None},
        **{"findings": [], "not_tested": ["modes or regions that no draw has visited"]},
    }


def test_a_measure_that_nobody_described():
    text = score_text("a.csv against target normal", document("new"), MEASURES.__getitem__, everything=True)
    heading, paragraph = text.split("\n\n")
    assert heading == "a.csv against target normal"
    assert " ".join(paragraph.split()) == (
        "The new Stein discrepancy is 0.5, found to lie between 0.489999 and 0.510001. "
        "Seconds: scores 0.10, solve 2.00."
    )


def test_measures_stand_side_by_side_with_independent_samples_where_there_are_any():
    lines = score_text("a.csv", document("new", "classical", references=["classical"]), MEASURES.__getitem__)
    table = lines.split("\n\n")[1].splitlines()
    assert [row.split("  ")[0] for row in table] == ["measure", "new Stein discrepancy", "classical Stein discrepancy"]
    assert table[0].endswith("between                independent samples")
    assert table[1].endswith("0.489999 and 0.510001")
    assert table[2].endswith("0.19 to 0.21")
    said = "1 independent sample of 10 draws from the target scores 0.19 to 0.21, median 0.2."
    assert said in " ".join(lines.split())


def test_a_kernel_discrepancy_says_which_number_it_is():
    (description,) = descriptions(document("ksd"), MEASURES.__getitem__)
    assert description.title == "squared kernel Stein discrepancy (U-statistic)"
    assert "Its kernel is GaussianKernel(scale=2.0)." in description.statements[1].text


@pytest.mark.parametrize(("references", "wanted"), [((), True), (("classical",), False)])
def test_a_page_says_that_a_bare_number_does_not_say(references, wanted):
    described = descriptions(document("classical", references=references), MEASURES.__getitem__)
    assert ("Is that good?" in {each.question for each in page_statements(described)}) == wanted


def test_the_headline_places_the_first_measure():
    known = document("classical", references=["classical"])
    assert headline(known, MEASURES.__getitem__) == (
        "Classical Stein discrepancy 0.5, the largest of it and 1 independent sample"
    )
    assert headline(document("new"), MEASURES.__getitem__) == "New Stein discrepancy 0.5"


def test_where_a_sample_stands_among_independent_ones_is_said_of_every_measure():
    found = document("new", "ksd", references=["new", "kernel"])
    several = REFERENCE | {"samples": REFERENCE["samples"] * 2}
    found["references"] = {"new": several, "kernel": several | {"median": -0.1}}
    new, kernel = (each.statements[1].text for each in descriptions(found, MEASURES.__getitem__))
    chance = "; one right sample in 3 is so by chance."
    assert new.endswith(f"median 0.2. This sample is the largest of the 3 together, at 2.50 times their median{chance}")
    assert kernel.endswith(
        f"median -0.1. This sample is the largest of the 3 together{chance}"
    )  # there are no times of a negative number


def test_a_page_asks_no_question_twice():
    described = descriptions(document("new", references=["new"]), MEASURES.__getitem__)
    asked = [question for question, _ in answers(page_statements(described))]
    assert len(asked) == len(set(asked))
    described = descriptions(document("classical"), MEASURES.__getitem__)
    asked = [question for question, _ in answers(page_statements(described))]
    assert len(asked) == len(set(asked))


@pytest.mark.parametrize(("p", "cautioned"), [(0.3, True), (1e-5, False)])
def test_what_measures_find_in_draws_that_are_not_accused_may_be_chance(p, cautioned):
    verdict = json_verdict(p)
    scored = {**document("new"), "verdict": verdict}
    text = " ".join(score_text("a.csv", scored, MEASURES.__getitem__, everything=True).split())
    assert ("that may be chance, and proves no fault" in text) == cautioned
    assert text.index("new Stein discrepancy is") > text.index("Not tested")
    described = descriptions(document("new"), MEASURES.__getitem__)
    assert any("may be chance" in each.text for each in page_statements(described, verdict)) == cautioned


@pytest.mark.parametrize(("p", "cautioned"), [(0.5, True), (1e-9, False)])
def test_an_accusation_needs_no_caution_for_noise(p, cautioned):
    """Beside a verdict a page asks for nothing to compare with; a verdict that accuses rules chance out."""
    verdict = json_verdict(p)
    coordinates = [{"name": name, **ENTRY} for name in ("x", "y")]
    sliced = {"measure": "sliced", **ENTRY, "coordinates": coordinates}
    scored = {"sample": {**SAMPLE, "dim": 2}, "results": [sliced], "references": {}, "verdict": verdict}
    described = descriptions(scored, {"sliced": measure("sliced", describe_sliced)}.__getitem__)
    said = page_statements(described, verdict)
    assert any("sampling noise" in each.text for each in said) == cautioned
    assert not any("A bare number" in each.text for each in said)


def test_why_there_is_no_verdict_stands_in_its_place():
    unjudged = {**document("new"), "verdict": None, "unjudged": "the test needs at least 8 draws"}
    text = score_text("a.csv", unjudged, MEASURES.__getitem__)
    assert text.split("\n\n")[1] == "There is no verdict: the test needs at least 8 draws."
    head = headline(document("new"), MEASURES.__getitem__)
    assert headline(unjudged, MEASURES.__getitem__) == f"No verdict; {head}"
    said = page_statements(descriptions(unjudged, MEASURES.__getitem__), None, unjudged["unjudged"])
    assert (said[0].question, said[0].text) == ("May these draws be used?", text.split("\n\n")[1])


def test_a_screen_shows_the_worst_ten_coordinates_and_leaves_limits_to_the_verdict():
    """The total and the worst ten of 300, the heaviest first; without a verdict the measure says its own limits."""
    values = np.random.default_rng(0).permutation(np.arange(1.0, 301.0))
    rows = [{"name": f"x{k}", "value": v, "lower": v, "upper": v} for k, v in enumerate(values)]
    total = {"value": values.sum(), "lower": values.sum(), "upper": values.sum()}
    sliced = {"measure": "sliced", **total, "coordinates": rows}
    scored = {"sample": {**SAMPLE, "dim": 300}, "results": [sliced], "references": {}}
    judged = {**scored, "verdict": json_verdict(0.5)}
    find = {"sliced": measure("sliced", describe_sliced)}.__getitem__
    table = score_text("a.csv", judged, find).split("\n\n")[-1].splitlines()
    worst = [f"x{k}" for k in np.argsort(-values)[:10]]
    assert [line.split()[0] for line in table] == ["coordinate", "total", *worst, "and"]
    assert table[-1] == "and 290 more"
    whole = score_text("a.csv", judged, find, everything=True)
    assert all(f"\nx{k} " in whole for k in range(300))
    assert ("It is the sum over" in whole, "It is the sum over" in score_text("a.csv", judged, find)) == (True, False)
    assert "It is the sum over" in score_text("a.csv", scored, find)
