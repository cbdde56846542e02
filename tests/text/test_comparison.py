"""What is said of samples compared, for documents of which the right thing to say is known."""

from __future__ import annotations

import pytest

from steinkit.comparison_text import (
    comparison_grounds,
    comparison_headline,
    comparison_statements,
    comparison_table,
    comparison_text,
    sizes_table,
    standings,
)
from steinkit.diagnosis.verdict_text import verdicts_table
from steinkit.measures import find_measure
from steinkit.result import answers


def _document(brackets, measure="graph", *, reference=(), ranking=None):
    """A comparison of samples with these brackets, best first, none tied unless the ranking says so."""
    ranking = [[name] for name in brackets] if ranking is None else ranking
    place, rank = 1, {}
    for group in ranking:
        rank |= dict.fromkeys(group, place)
        place += len(group)
    samples = [
        {
            "file": name,
            "draws": 50,
            "results": [{"measure": measure, "value": sum(ends) / 2, "lower": ends[0], "upper": ends[1]}],
            "rank": {measure: rank[name]},
            "error": None,
        }
        for name, ends in brackets.items()
    ]
    return {"samples": samples, "ranking": {measure: ranking}, "reference": {measure: list(reference)}, "warnings": []}


_TWO = {"a": (1.0, 1.1), "b": (2.0, 2.1)}
_REFERENCE = {"draws": 20, "median": 9.0, "lower": 8.9, "upper": 9.1, "values": [8.95, 9.05]}


@pytest.mark.parametrize(("measure", "claim"), [("graph", "proved"), ("ksd", "proved"), ("wasserstein", "found")])
def test_a_difference_is_called_what_the_measure_claims(measure, claim):
    document, known = _document(_TWO, measure), find_measure(measure)
    assert comparison_headline(document, known) == f"a is {claim} better than b by {known.title}"
    assert comparison_table(document, known).columns == ("rank", "sample", "draws", "value", f"{claim} between")
    (proof,) = [each.text for each in comparison_statements(document, known)]
    assert proof.startswith(f"Of two samples of different rank the difference is {claim}, for these draws")
    said = comparison_text(document, find_measure, {}) + str(comparison_grounds(document, find_measure))
    assert ("proved" in said) == (claim == "proved")


def test_an_estimate_claims_nothing_and_says_why():
    document, known = _document(_TWO, "ess"), find_measure("ess")
    assert comparison_headline(document, known) == "a is better than b by effective sample size"
    assert comparison_table(document, known).columns == ("rank", "sample", "draws", "value")
    (blind,) = [each.text for each in comparison_statements(document, known)]
    assert "blind to bias" in blind


def test_terminal_and_page_say_the_same():
    document = _document(_TWO | {"c": (2.05, 2.2)}, ranking=[["a"], ["b", "c"]], reference=[_REFERENCE])
    page = " ".join(answer for _, answer in answers(comparison_grounds(document, find_measure)))
    terminal = " ".join(comparison_text(document, find_measure, {}).split())
    for each in comparison_statements(document, find_measure("graph")):
        assert each.text in page
        assert each.text in terminal
    assert "b and c cannot be told apart: their brackets overlap." in terminal


def test_ranks_are_one_more_than_the_samples_before():
    document = _document(_TWO | {"c": (2.05, 2.2), "d": (5.0, 6.0)}, ranking=[["a"], ["b", "c"], ["d"]])
    found = standings(document, "graph")
    assert [(each.name, each.rank) for each in found] == [("a", "1"), ("b", "2="), ("c", "2="), ("d", "4")]


def test_the_best_is_held_against_independent_samples_of_its_own_size():
    own = {"draws": 50, "median": 1.0, "lower": 0.9, "upper": 1.2, "values": [0.95, 1.15]}
    said = dict(answers(comparison_grounds(_document(_TWO, reference=[_REFERENCE, own]), find_measure)))[
        "Is the best one good?"
    ]
    assert "within the range 0.9 to 1.2 of 2 independent samples of 50 draws" in said  # as in the table
    assert "at 1.05 times their median" in said


def test_independent_samples_are_of_the_effective_size():
    own = _REFERENCE | {"effective_draws": 20, "draws": 20}
    document = _document(_TWO, reference=[own | {"effective_draws": 50, "draws": 50}, own])
    document["samples"][0]["effective_draws"] = 20
    assert [each.reference["draws"] for each in standings(document, "graph")] == [20, 50]


def test_samples_that_were_not_measured_are_named_with_the_reason():
    document = _document(_TWO)
    document["samples"].append({"file": "c", "draws": None, "results": [], "rank": {}, "error": "graph: a NaN"})
    assert comparison_text(document, find_measure, {"c": {"graph": "a NaN"}}).endswith("c was not measured: a NaN")
    assert (
        dict(answers(comparison_grounds(document, find_measure)))["Did anything fail?"]
        == "c was not measured: graph: a NaN"
    )


def test_nothing_measured():
    document = _document({}, ranking=[])
    assert comparison_text(document, find_measure, {}) == "graph Stein discrepancy: no sample could be measured"
    assert (
        comparison_headline(document, find_measure("graph"))
        == "None of 0 samples could be ranked by graph Stein discrepancy"
    )


def test_samples_that_a_measure_does_not_rank_are_named_with_the_reason():
    document = _document(_TWO | {"c": (0.5, 0.6)}, ranking=[["a"], ["b"], ["c"]])
    document["samples"][2]["results"][0]["unranked"] = "it is at its ceiling"
    document["ranking"]["graph"] = [["a"], ["b"]]
    said = "It cannot rank c: it is at its ceiling. The others are ranked among themselves."
    assert said in " ".join(comparison_text(document, find_measure, {}).split())
    assert said in " ".join(answer for _, answer in answers(comparison_grounds(document, find_measure)))
    assert comparison_table(document, find_measure("graph")).rows[2][:2] == ("-", "c")
    assert (
        comparison_headline(document, find_measure("graph")) == "a is proved better than b by graph Stein discrepancy"
    )


def test_a_page_says_that_no_sample_is_ranked_and_why():
    document = _document(_TWO, reference=[_REFERENCE])
    for sample in document["samples"]:
        sample["results"][0]["unranked"] = "it is at its ceiling"
    document["ranking"]["graph"] = []
    said = dict(answers(comparison_grounds(document, find_measure)))
    asked = "Which sample, by graph Stein discrepancy?"
    assert said[asked].startswith("None of 2 samples could be ranked by graph Stein discrepancy.")
    assert "It cannot rank a and b: it is at its ceiling (said of a)." in said[asked]
    assert (
        comparison_headline(document, find_measure("graph"))
        == "None of 2 samples could be ranked by graph Stein discrepancy"
    )


def _judged(p, findings=(), **more):
    return {
        **{"p": p, "p_moments": p, "p_sliced": 1.0, "p_ksd": None, "level": 0.01, "ess": 40.4},
        **{"draws": 50, "effective_draws": 120.0, "enough_draws": True, "burn_in": None, "matters": None},
        **{
            "p_matters": None,
            "findings": list(findings),
            "not_tested": ["modes or regions that no draw has visited"],
            **more,
        },
    }


_HIGH = {"kind": "location", "coordinates": ["mu"], "z": -9.0, "size": 0.3, "direction": "too high"}


def test_verdicts_stand_at_the_head():
    document = _document(_TWO | {"c": (3.0, 3.1)})
    for sample, verdict in zip(document["samples"], (_judged(1e-9, [_HIGH]), None, _judged(0.4)), strict=True):
        sample["verdict"] = verdict
    lines = comparison_text(document, find_measure, {}).splitlines()
    assert lines[0] == "May they be used?"
    assert [" ".join(line.split()) for line in lines[1:5]] == [
        "sample verdict p ESS what is wrong",
        "a biased 1e-09 40 mu is too high",
        "b none - -",
        "c no bias seen 0.4 40",
    ]
    assert "Not tested: modes or regions that no draw has visited." in " ".join(lines)
    assert comparison_headline(document, find_measure("graph")).endswith("by graph Stein discrepancy, but a is biased")
    document["samples"][0]["verdict"] = _judged(0.4)
    assert comparison_headline(document, find_measure("graph")).endswith(
        "by graph Stein discrepancy; no bias is seen in it"
    )
    document["samples"][0]["verdict"] = _judged(1e-9, enough_draws=False)
    assert comparison_headline(document, find_measure("graph")).endswith("by graph Stein discrepancy")
    document["samples"][0]["verdict"] = _judged(1e-9)
    assert verdicts_table(document["samples"]).rows[0][-1] == "no single coordinate or pair stands out"
    document["samples"][0]["verdict"] = _judged(1e-9, [_HIGH])
    page = answers(comparison_grounds(document, find_measure))
    assert page[0][0] == "May they be used?"
    assert page[0][1].splitlines()[0].startswith("a: These draws are not from the target (p = 1e-09): mu is too high")
    assert len(page[0][1].splitlines()) == 2


def test_what_matters_has_a_column_where_it_was_asked():
    document = _document({"a": (1.0, 1.1)})
    document["samples"][0]["verdict"] = _judged(0.4, matters=0.1, p_matters=0.9)
    assert " ".join(comparison_text(document, find_measure, {}).splitlines()[2].split()) == "a no bias seen 0.4 0.9 40"


def test_biases_of_the_samples_judged_stand_side_by_side():
    off = {"mean_bias": 0.3, "mean_margin": 0.02, "sd_bias": 0.0, "sd_margin": 0.02, "reliable": True, "reason": ""}
    bias = {"quantities": [{"name": "mu", **off}, {"name": "nu", **off, "mean_bias": 0.1}]}
    document = _document(_TWO)
    document["samples"][0]["verdict"] = {**_judged(1e-9, [_HIGH]), "bias": bias}
    document["samples"][1]["verdict"] = {**_judged(0.4), "bias": None}
    assert sizes_table(document).columns == ("quantity", "sample", "bias (sd)", "sd bias")
    lines = [" ".join(line.split()) for line in comparison_text(document, find_measure, {}).splitlines()]
    at = lines.index("Biases of means and standard deviations, largest first")
    assert lines[at + 2 : at + 4] == ["mu a +0.30 ± 0.02 0% ± 2%", "nu a +0.10 ± 0.02 0% ± 2%"]
    document["samples"][0]["verdict"]["enough_draws"] = False
    assert sizes_table(document) is None
