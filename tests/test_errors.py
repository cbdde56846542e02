"""Cautions in results are issued as warnings once, at the user's line."""

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
def inner(*messages):
    return Answer(messages)


@cautious
def outer(*messages):
    return Answer((*inner(*messages).warnings, *inner(Caution("not passed on")).warnings[:0]))


def warned_by(function, *arguments, **settings):
    """Return the result and the messages of its warnings, which refer to this file."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = function(*arguments, **settings)
    assert all(each.category is sk.SteinkitWarning for each in caught)
    assert all(each.filename == __file__ for each in caught)
    return result, [str(each.message) for each in caught]


def test_cautions_are_warnings_and_notes_are_not():
    assert warned_by(inner, "a note", Caution("a caution"), Caution("another"))[1] == ["a caution", "another"]
    assert warned_by(inner, Caution("twice"), Caution("twice"))[1] == ["twice"]


def test_only_the_outer_function_warns():
    assert warned_by(outer, Caution("once"))[1] == ["once"]
    assert warned_by(outer, "a note")[1] == []


def test_warnings_continue_after_an_error():
    @cautious
    def fails():
        raise sk.InputError("no")

    with pytest.raises(sk.InputError):
        fails()
    assert warned_by(inner, Caution("still"))[1] == ["still"]


def test_cautions_without_a_result():
    assert warned_by(lambda: caution(["a note", Caution("mind")]))[1] == ["mind"]


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
    ("function", "arguments", "settings", "fragment"),
    [
        (sk.graph_stein_discrepancy, (DRAWS,), {}, "ceiling"),
        (sk.graph_stein_discrepancy, (DRAWS[:1],), {}, "a single draw"),
        (sk.kernel_stein_discrepancy, (DRAWS[:1],), {}, "a single draw"),
        (
            sk.kernel_stein_discrepancy,
            (np.repeat(DRAWS, 2, axis=0),),
            {"statistic": "u", "squared": True},
            "repeated draws",
        ),
        (sk.kernel_stein_test, (np.cumsum(DRAWS, axis=0),), {}, "equivalent to about"),
        (sk.classical_stein_discrepancy, (DRAWS[:1, :1],), {}, "a single draw"),
        (sk.sliced_stein_discrepancy, (DRAWS,), {"tolerance": 1e-15}, "1e-15"),
        (sk.sliced_stein_test, (DRAWS,), {}, "effective draws"),
        (sk.moment_stein_discrepancy, (DRAWS,), {"weights": WEIGHTS}, "sorted by weight"),
        (sk.verdict, (DRAWS,), {}, "effective draws"),
        (sk.thin, (DRAWS[:1],), {"m": 1, "units": "raw"}, "a single draw"),
    ],
)
def test_cautions_of_public_functions(function, arguments, settings, fragment):
    result, warned = warned_by(function, *arguments, scores=-arguments[0], **settings)
    assert any(fragment in each for each in warned)
    assert len(warned) == len(set(warned))
    if function is not sk.thin:
        assert set(warned) <= set(result.warnings)
        assert repr(result).endswith(f"{len(warned)} warning{'s' * (len(warned) > 1)}>")
    if hasattr(result, "summary"):
        assert fragment in " ".join(result.summary().lower().split())


def test_merged_duplicates_are_a_note():
    x = np.repeat(np.random.default_rng(1).standard_normal((200, 1)), 2, axis=0)
    for function in (sk.graph_stein_discrepancy, sk.kernel_stein_discrepancy):
        result, warned = warned_by(function, x, scores=-x)
        assert "merged" in result.warnings[0]
        assert warned == []
        assert "warning" not in repr(result)


def test_cautions_of_a_curve_and_of_chains():
    found, warned = warned_by(sk.curve, DRAWS, sk.targets.Normal(0.0, dim=5), measure="graph", n=[20, 30, 40])
    assert any("ceiling" in each for each in warned)
    assert "warning" in repr(found)
    assert "weights" in warned_by(sk.chain_diagnostics, sk.Sample(DRAWS, weights=WEIGHTS))[1][0]


def test_reference_samples_do_not_warn():
    assert warned_by(sk.reference_discrepancy, sk.targets.Normal(0.0, dim=5), 30, 2)[1] == []
