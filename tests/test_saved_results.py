"""Saved results are equal to the originals."""

import json

import numpy as np
import pytest
from support.page_checks import Page, faults

import steinkit as sk
from steinkit.errors import Caution, InputError
from steinkit.measures import find_measure
from steinkit.measures.scoring import Judging, score_sample

DRAWS = 1.5 * np.random.default_rng(0).standard_normal((150, 2))
MODES = np.where(DRAWS[:, :1] > 0.0, 9.0, 0.0) + np.random.default_rng(1).standard_normal((150, 1))
MIXTURE = sk.targets.GaussianMixture([[0.0], [9.0]], sd=1.0)
PLANE, LINE = sk.targets.Normal([0.0, 0.0]), sk.targets.Normal([0.0])

pytestmark = pytest.mark.filterwarnings("ignore::steinkit.SteinkitWarning")


def _sweep():
    options = {"draws": 50, "start": [0.0]}
    return sk.sweep("normal", "rwmh", grid={"proposal_scale": [0.1, 1.0]}, options=options, seeds=2)


def _scores():
    measures = [find_measure(name) for name in ("sliced", "moments")]
    return score_sample(sk.as_sample(DRAWS), PLANE, measures, {}, exact=2, judging=Judging())


MADE = {
    "graph": lambda: sk.graph_stein_discrepancy(DRAWS, PLANE),
    "sliced": lambda: sk.sliced_stein_discrepancy(DRAWS, PLANE),
    "moments": lambda: sk.moment_stein_discrepancy(DRAWS, PLANE),
    "ksd": lambda: sk.kernel_stein_discrepancy(DRAWS, PLANE),
    "ess": lambda: sk.chain_diagnostics(DRAWS),
    "classical": lambda: sk.classical_stein_discrepancy(DRAWS[:, :1], LINE),
    "wasserstein": lambda: sk.wasserstein_distance(DRAWS[:, :1], LINE),
    "verdict": lambda: sk.verdict(DRAWS, PLANE),
    "bias": lambda: sk.estimate_bias(DRAWS, PLANE, functions={"square": lambda x: x[:, 0] ** 2}),
    "moved": lambda: sk.estimate_bias(DRAWS, PLANE, method="run"),
    "invariance": lambda: sk.invariance_test(DRAWS, PLANE),
    "modes": lambda: sk.mode_weights(MODES, MIXTURE),
    "of modes": lambda: sk.verdict(MODES, MIXTURE),
    "repaired": lambda: sk.repair(DRAWS, PLANE),
    "optimal": lambda: sk.optimal_weights(DRAWS, PLANE),
    "comparison": lambda: sk.compare({"a": DRAWS, "b": DRAWS / 1.5, "c": "none"}, PLANE, measures=["sliced", "ess"]),
    "scores": _scores,
    "curve": lambda: sk.curve(DRAWS, PLANE, measure="ksd"),
    "sweep": _sweep,
}
PICTURED = (
    "graph", "sliced", "moments", "verdict", "bias", "moved", "modes", "repaired", "optimal", "comparison", "scores",
    "curve", "sweep",
)  # fmt: skip


@pytest.fixture(scope="module", params=MADE)
def kept(request, tmp_path_factory):
    """Return the name of a result, the result, and the result read from its files."""
    result = MADE[request.param]()
    path = tmp_path_factory.mktemp("kept") / "result.json"
    result.save(path)
    assert json.loads(path.read_text()) == result.to_dict()
    return request.param, result, sk.read_result(path)


def test_pages_of_saved_results(kept, tmp_path):
    _, _, again = kept
    sk.write_report(again, tmp_path / "page.html")
    html = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert faults(html) == []
    page = Page(html)
    assert page.text("h1")[0].endswith(again.headline())
    assert len(page.find("table")) == len(again.tables())
    assert len(page.find("figure")) == len(again.figures())


def test_read_results_are_equal_to_saved_ones(kept):
    _, result, again = kept
    assert isinstance(result, sk.Result)
    assert type(again) is type(result)
    assert again.to_dict() == result.to_dict()
    assert again.summary() == result.summary()
    assert repr(again) == repr(result)
    notes, notes_again = (getattr(each, "warnings", ()) for each in (result, again))
    assert notes_again == notes
    assert [isinstance(each, Caution) for each in notes_again] == [isinstance(each, Caution) for each in notes]


def test_read_results_have_the_same_text_and_figures(kept):
    name, result, again = kept
    if name in PICTURED:
        drawn, redrawn = (each.plot() for each in (result, again))
        assert len(redrawn.axes) == len(drawn.axes) > 0
    else:
        with pytest.raises(sk.UsageError, match=type(again).__name__):
            again.plot()


def test_arrays_are_bit_for_bit_identical(tmp_path):
    result = MADE["graph"]()
    result.save(tmp_path / "r.json")
    again = sk.read_result(tmp_path / "r.json")
    assert np.array_equal(again.test_function, result.test_function)
    assert np.array_equal(again.graph.edges, result.graph.edges)


def test_functions_are_stored_as_text(tmp_path):
    operator = sk.RiemannianLangevin(lambda x: np.tile(np.eye(2), (len(x), 1, 1)), lambda x: np.zeros_like(x))
    result = sk.graph_stein_discrepancy(DRAWS, PLANE, operator=operator)
    result.save(tmp_path / "r.json")
    assert sk.read_result(tmp_path / "r.json").value == result.value


def _spoilt(folder, name=None, schema=2, fields=None):
    MADE["ksd"]().save(folder / "r.json")
    with np.load(folder / "r.json.npz") as archive:
        arrays = dict(archive)
    state = json.loads(arrays["result"].tobytes())
    held = state["result"]["record"]
    state |= {"schema": schema, "result": {"record": [name or held[0], held[1] if fields is None else fields]}}
    arrays["result"] = np.frombuffer(json.dumps(state).encode(), dtype=np.uint8)
    np.savez(folder / "r.json.npz", **arrays)


def test_repeated_references_to_an_array_take_no_memory(tmp_path):
    references = {name: [{"array": "array_0"}] * 1000 for name in vars(MADE["ksd"]())}
    _spoilt(tmp_path, fields=references)
    held = sk.read_result(tmp_path / "r.json").lower
    assert len({id(array) for array in held}) == 1 < len(held)


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda folder: (folder / "r.json.npz").unlink(), "its arrays, r.json.npz"),
        (lambda folder: (folder / "r.json.npz").write_bytes(b"PK"), "is not a valid NumPy file"),
        (lambda folder: (folder / "r.json").write_text("{}"), "belongs to another JSON file"),
        (lambda folder: _spoilt(folder, name="os.system"), "os.system is not a record"),
        (lambda folder: _spoilt(folder, name="DistinctSample"), "DistinctSample has no field"),
        (lambda folder: _spoilt(folder, fields={}), "KernelSteinDiscrepancy has no field"),
        (lambda folder: _spoilt(folder, schema=1), "schema 2, got 1"),
        (lambda folder: _spoilt(folder, schema=None), "schema 2, got None"),
    ],
)
def test_damaged_files_are_refused(spoil, message, tmp_path):
    MADE["ksd"]().save(tmp_path / "r.json")
    spoil(tmp_path)
    with pytest.raises(InputError, match=message):
        sk.read_result(tmp_path / "r.json")
