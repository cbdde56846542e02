"""The measures and their settings: defaults, refusals, records and units."""

import inspect

import numpy as np
import pytest

import steinkit as sk
from steinkit.errors import UsageError
from steinkit.measures import (
    find_measure,
    recorded_settings,
    take_measure,
)

TARGET = sk.targets.Normal([0.0])
SAMPLE = sk.Sample(points=np.random.default_rng(0).standard_normal((40, 1)))
FUNCTIONS = {
    "graph": sk.graph_stein_discrepancy,
    "sliced": sk.sliced_stein_discrepancy,
    "moments": sk.moment_stein_discrepancy,
    "classical": sk.classical_stein_discrepancy,
    "wasserstein": sk.wasserstein_distance,
    "ksd": sk.kernel_stein_discrepancy,
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_defaults_are_those_of_the_function(name):
    known = inspect.signature(FUNCTIONS[name]).parameters
    for setting, option in find_measure(name).options.items():
        own = (name, setting) in (("wasserstein", "tolerance"), ("sliced", "tolerance"))  # None
        own |= setting in ("units", "kernel_scale")  # measures standardize; a kernel may have its scale
        if not own:
            assert option.default == known[setting].default, setting


def test_each_measure_reads_only_its_own_settings():
    shared = {"tolerance": 1e-2, "kernel": "gaussian", "dilation": 3.0}
    ksd = take_measure("ksd", SAMPLE, TARGET, shared)
    assert ksd.to_dict()["kernel"]["name"] == "GaussianKernel"
    assert ksd.value == sk.kernel_stein_discrepancy(SAMPLE, TARGET, kernel="gaussian", units="own").value
    assert take_measure("graph", SAMPLE, TARGET, shared).tolerance == 1e-2
    assert take_measure("ess", SAMPLE, None, shared).value == sk.chain_diagnostics(SAMPLE).min_ess


def test_a_change_replaces_a_shared_setting():
    assert take_measure("graph", SAMPLE, TARGET, {"tolerance": 1e-2}, tolerance=1e-3).tolerance == 1e-3


@pytest.mark.parametrize(
    ("name", "settings", "message"),
    [
        ("graph", {"tolerence": 1e-2}, 'did you mean "tolerance"'),
        ("classical", {"operator": object()}, "Langevin operator"),
        ("ksd", {"operator": object()}, "Langevin operator"),
        ("wasserstein", {"operator": object()}, "Langevin operator"),
        ("wasserstein", {"bounds": [[0.0, 1.0]]}, "bounds"),
    ],
)
def test_settings_that_would_be_ignored_are_refused(name, settings, message):
    with pytest.raises(UsageError, match=message):
        take_measure(name, SAMPLE, TARGET, settings)


def _compared(measures, **settings):
    return sk.compare({"draws": SAMPLE}, TARGET, measures=measures, **settings)


def _curve(measures, **settings):
    return sk.curve(SAMPLE, TARGET, n=[20, 40], measure=measures[0], **settings)


def _sweep(measures, **settings):
    grid, options = {"proposal_scale": [1.0]}, {"draws": 5}
    return sk.sweep(TARGET, "rwmh", grid=grid, options=options, seeds=1, measures=measures, **settings)


@pytest.mark.parametrize("function", [_compared, _curve, _sweep])
def test_a_setting_of_other_measures_is_refused(function):
    with pytest.raises(UsageError, match=r"kernel .* ksd; .* graph"):
        function(["graph"], kernel="gaussian")
    with pytest.raises(UsageError, match=r"dilation .* graph"):
        function(["ksd"], dilation=3.0)
    function(["ksd"], kernel="gaussian")


def test_measures_use_standard_units_by_default():
    for name in FUNCTIONS:
        function = FUNCTIONS[name]
        assert take_measure(name, SAMPLE, TARGET).value == function(SAMPLE, TARGET, units="own").value
        assert take_measure(name, SAMPLE, TARGET, units="raw").value == function(SAMPLE, TARGET, units="raw").value
        reference = take_measure(name, SAMPLE, TARGET, units="reference").units
        assert (reference.kind, reference.scale[0]) == ("reference", pytest.approx(1.0, abs=0.03))


def test_an_operator_or_a_constant_coordinate_has_raw_units():
    operator = sk.RiemannianLangevin(covariance=lambda x: np.ones((len(x), 1, 1)), divergence=np.zeros_like)
    assert take_measure("graph", SAMPLE, TARGET, operator=operator).units.kind == "raw"
    assert take_measure("graph", SAMPLE, TARGET, operator=operator, units="own").units.kind == "own"
    still = take_measure("graph", sk.Sample([[0.5], [0.5]]), TARGET)
    assert still.units.kind == "raw"
    assert "x1" in still.warnings[-1]
    moving = sk.Sample([[0.5], [0.5], [9.0]], weights=[1.0, 1.0, 0.0])
    assert take_measure("graph", moving, TARGET).units.kind == "raw"


def test_the_scale_of_a_kernel_is_in_the_chosen_units():
    scaled = take_measure("ksd", SAMPLE, TARGET, kernel_scale=0.5, units=[2.0])
    assert scaled.to_dict()["kernel"]["scale"] == 0.5
    by_hand = sk.kernel_stein_discrepancy(SAMPLE.points / 2.0, scores=-2.0 * SAMPLE.points, kernel=sk.IMQ(scale=0.5))
    assert scaled.value == pytest.approx(by_hand.value)


def test_a_kernel_object_is_recorded_by_its_repr():
    assert recorded_settings({"kernel": sk.IMQ(scale=2.0)})["kernel"] == repr(sk.IMQ(scale=2.0))


@pytest.mark.parametrize(("dim", "measure"), [(2, "graph"), (3, "sliced")])
def test_the_default_measure_depends_on_the_dimension(dim, measure):
    target = sk.targets.Normal(0.0, dim=dim)
    draws = np.random.default_rng(dim).standard_normal((20, dim))
    assert tuple(sk.compare({"draws": draws}, target).ranking) == (measure,)
    assert sk.curve(draws, target, n=[10, 20]).measure == measure
    swept = sk.sweep(target, "rwmh", grid={"proposal_scale": [1.0]}, options={"draws": 12}, seeds=1)
    assert measure in swept.records[0].measures
