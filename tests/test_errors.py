"""Cautions: what changes how a number is to be read reaches the user as a warning, once, and at his own line."""

import pickle
import warnings
from dataclasses import dataclass

import numpy as np
import pytest

import steinkit as sk
from steinkit.errors import Caution, about, caution, cautious, reservations


@dataclass(frozen=True)
class Answer:
    warnings: tuple[str, ...]


@cautious
def inner(*said):
    return Answer(said)


@cautious
def outer(*said):
    return Answer((*inner(*said).warnings, *inner(Caution("not passed on")).warnings[:0]))


def told(function, *arguments, **settings):
    """What Python warns of, each with the file that it points to."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = function(*arguments, **settings)
    assert all(each.category is sk.SteinkitWarning for each in caught)
    assert all(each.filename == __file__ for each in caught)
    return result, [str(each.message) for each in caught]


def test_cautions_are_python_warnings_and_notes_are_none():
    assert told(inner, "a note", Caution("a caution"), Caution("another"))[1] == ["a caution", "another"]
    assert told(inner, Caution("twice"), Caution("twice"))[1] == ["twice"]


def test_only_the_function_that_the_user_called_warns():
    assert told(outer, Caution("once"))[1] == ["once"]
    assert told(outer, "a note")[1] == []


def test_after_an_error_warnings_go_on():
    @cautious
    def fails():
        raise sk.InputError("no")

    with pytest.raises(sk.InputError):
        fails()
    assert told(inner, Caution("still"))[1] == ["still"]


def test_a_function_without_a_result_of_its_own_warns_too():
    assert told(lambda: caution(["a note", Caution("mind")]))[1] == ["mind"]


def test_cautions_are_strings():
    assert str(Caution("mind")) == "mind"
    assert pickle.loads(pickle.dumps(Caution("mind"))) == "mind"
    assert isinstance(pickle.loads(pickle.dumps(Caution("mind"))), Caution)
    assert (about("x", "said"), type(about("x", "said"))) == ("x: said", str)
    assert (about("x", Caution("said")), type(about("x", Caution("said")))) == ("x: said", Caution)
    assert [reservations(each) for each in (("a",), (Caution("a"), "b"), 2 * (Caution("a"),))] == [
        "",
        ", 1 warning",
        ", 2 warnings",
    ]


DRAWS = np.random.default_rng(0).standard_normal((40, 5))
WEIGHTS = np.arange(1.0, 41.0)


@pytest.mark.parametrize(
    ("function", "arguments", "settings", "said"),
    [
        (sk.graph_stein_discrepancy, (DRAWS,), {}, "of its ceiling"),
        (sk.graph_stein_discrepancy, (DRAWS[:1],), {}, "the sample is one draw"),
        (sk.kernel_stein_discrepancy, (DRAWS[:1],), {}, "the sample is one draw"),
        (
            sk.kernel_stein_discrepancy,
            (np.repeat(DRAWS, 2, axis=0),),
            {"statistic": "u", "squared": True},
            "repeated draws are not independent",
        ),
        (sk.kernel_stein_test, (np.cumsum(DRAWS, axis=0),), {}, "worth about"),
        (sk.classical_stein_discrepancy, (DRAWS[:1, :1],), {}, "the sample is one draw"),
        (sk.sliced_stein_discrepancy, (DRAWS,), {"tolerance": 1e-15}, "relative width"),
        (sk.sliced_stein_test, (DRAWS,), {}, "too few effective draws"),
        (sk.moment_stein_discrepancy, (DRAWS,), {"weights": WEIGHTS}, "sorted by weight"),
        (sk.verdict, (DRAWS,), {}, "too few effective draws"),
        (sk.thin, (DRAWS[:1],), {"m": 1, "units": "raw"}, "the sample is one draw"),
    ],
)
def test_what_is_wrong_with_an_answer_reaches_the_user(function, arguments, settings, said):
    result, warned = told(function, *arguments, scores=-arguments[0], **settings)
    assert any(said in each for each in warned)
    assert len(warned) == len(set(warned))
    if function is not sk.thin:
        assert set(warned) <= set(result.warnings)
        assert repr(result).endswith(f"{len(warned)} warning{'s' * (len(warned) > 1)}>")
    if hasattr(result, "summary"):
        assert said in " ".join(result.summary().lower().split())


def test_merged_duplicates_are_only_noted():
    x = np.repeat(np.random.default_rng(1).standard_normal((200, 1)), 2, axis=0)
    for function in (sk.graph_stein_discrepancy, sk.kernel_stein_discrepancy):
        result, warned = told(function, x, scores=-x)
        assert "were merged" in result.warnings[0]
        assert warned == []
        assert "warning" not in repr(result)


def test_samples_side_by_side():
    found, warned = told(
        sk.compare, {"long": DRAWS, "short": DRAWS[:20]}, sk.targets.Normal(0.0, dim=5), measures="graph"
    )
    assert [each.partition(":")[0] for each in warned[:2]] == ["long", "short"]
    assert "have 20 to 40 draws" in warned[2]
    assert repr(found).endswith("3 warnings>")


def test_a_curve_and_chains():
    found, warned = told(sk.curve, DRAWS, sk.targets.Normal(0.0, dim=5), measure="graph", n=[20, 30, 40])
    assert any("of its ceiling" in each for each in warned)
    assert "warning" in repr(found)
    assert "unequal weights" in told(sk.chain_diagnostics, sk.Sample(DRAWS, weights=WEIGHTS))[1][0]


def test_reference_samples_do_not_warn():
    assert told(sk.reference_discrepancy, sk.targets.Normal(0.0, dim=5), 30, 2)[1] == []
