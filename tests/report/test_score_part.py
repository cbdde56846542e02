"""A score's verdict beside independent samples."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from support.page_checks import ESS_SCORE

import steinkit as sk
from steinkit.report.parts import score_part
from steinkit.report.sources import Found

_GRAPH = {
    "measure": "graph",
    "value": 0.5,
    "lower": 0.49,
    "upper": 0.51,
    "coordinates": [{"name": "x", "value": 0.5, "lower": 0.49, "upper": 0.51}],
    "edges": 99,
    "dilation": 2.0,
    "solver": "chain",
}


def _part(middles):
    document = copy.deepcopy(ESS_SCORE)
    document["results"].insert(0, _GRAPH)
    samples = [{"value": v, "lower": v - 0.001, "upper": v + 0.001} for v in middles]
    document["references"] = {"graph": {"draws": 100, "median": sorted(middles)[1], "samples": samples}}
    return score_part(Found("draws.json", "score", document))


@pytest.mark.parametrize(
    ("middles", "rank"),
    [
        ([0.1, 0.2, 0.25], "the largest"),
        ([0.6, 0.7, 0.8], "the smallest"),
        ([0.4, 0.5, 0.8], "the 2nd to 3rd smallest"),
        ([0.1, 0.2, 0.4995], "the 3rd to 4th smallest"),  # the brackets overlap
    ],
)
def test_rank_among_independent_samples(middles, rank):
    assert _part(middles).headline == f"Graph Stein discrepancy 0.5, {rank} of it and 3 independent samples"


def test_the_bracket_and_the_ratio_are_told():
    answers = dict(_part([0.1, 0.2, 0.25]).answers)
    number = answers["What is its graph Stein discrepancy?"]
    assert "proved to lie between 0.489999 and 0.510001" in number  # rounded outwards
    assert "at 2.50 times their median" in answers["Is that good?"]


def test_a_number_without_reference_is_no_verdict():
    said = dict(score_part(Found("draws.json", "score", ESS_SCORE)).answers)
    assert "A bare number does not say" in said["Is that good?"]
    assert "cannot see whether that is the target" in said["What is its effective sample size?"]


def test_a_wasserstein_distance_is_found_not_proved():
    document = copy.deepcopy(ESS_SCORE)
    document["results"] = [{"measure": "wasserstein", "value": 0.5, "lower": 0.49, "upper": 0.51}]
    said = str(score_part(Found("draws.json", "score", document)))
    assert "found to lie between 0.489999 and 0.510001" in said
    assert "proved" not in said
    assert "certified" not in said


def test_moments_and_every_sum_over_coordinates_have_their_pictures():
    document = copy.deepcopy(ESS_SCORE)
    two = [{"name": name, "value": 0.25, "lower": 0.24, "upper": 0.26} for name in "xy"]
    draws = np.random.default_rng(0).standard_normal((50, 2))
    moments = sk.moment_stein_discrepancy(sk.Sample(draws, names=("x", "y"), scores=-draws)).to_dict()
    sliced = {**_GRAPH, "measure": "sliced", "coordinates": two}
    document["results"] += [{**_GRAPH, "coordinates": two}, sliced, moments]
    pictures = score_part(Found("draws.json", "score", document)).pictures
    assert [each.title for each in pictures] == [
        "Graph Stein discrepancy, coordinate by coordinate",
        "Sliced graph Stein discrepancy, coordinate by coordinate",
        "Moments of draws.json",
    ]
    assert "dependence of x and y" in pictures[2].description.lower()


def test_the_verdict_heads_the_page_and_shows_its_faults():
    document = copy.deepcopy(ESS_SCORE)
    x = np.random.default_rng(0).standard_normal((400, 1)) + 0.5
    document["verdict"] = sk.verdict(x, scores=-x).to_dict()
    part = score_part(Found("draws.json", "score", document))
    assert part.headline.startswith("These draws are not from the target (p = ")
    assert "x1 is too high" in part.headline
    assert part.answers[0] == ("May these draws be used?", document["verdict"]["sentence"])
    assert part.pictures[0].title == "What is wrong with draws.json"
    assert "X1 is too high" in part.pictures[0].description
    document["verdict"] = sk.verdict(x - 0.5, scores=0.5 - x).to_dict()
    right = score_part(Found("draws.json", "score", document))
    assert right.headline.startswith("No bias found that 400 draws")
    assert [each for each in right.pictures if "wrong" in each.title] == []
