"""Wrong types for every argument of every public function raise a steinkit error."""

import inspect
import re
from contextlib import nullcontext
from fractions import Fraction
from functools import cache, partial

import joblib
import numpy as np
import pytest

import steinkit as sk
from steinkit import samplers as sp
from steinkit import targets as tg
from steinkit.arguments import generator_from, number, require_flags, require_mappings, require_type, whole
from steinkit.errors import SteinkitError

DRAWS = np.random.default_rng(0).standard_normal((60, 2))
LINE = DRAWS[:, 0]
NORMAL = tg.Normal([0.0, 0.0])
TWO_MODES = np.repeat([0.0, 12.0], 100) + np.random.default_rng(3).standard_normal(200)
MIXTURE = tg.GaussianMixture([[0.0], [12.0]], sd=1.0)
POSTERIOR = tg.GaussianMean(np.random.default_rng(1).standard_normal((80, 2)))
RUN = {"draws": 4}
FEATURES, RESPONSES = np.random.default_rng(2).standard_normal((60, 2)), np.resize([1.0, -1.0], 60)
NOT_HERE = {
    "from_blackjax", "from_bridgestan", "from_cmdstan", "from_emcee", "from_numpyro", "from_nutpie", "from_pymc",
    "from_pystan", "from_torch",
}  # fmt: skip
"""Functions of optional packages, which have tests of their own."""
RESULTS = {"Draws", "TrialRun"}
"""Classes that only steinkit instantiates."""


@cache
def trial():
    return sp.trial_run(POSTERIOR, proposal=sp.RandomWalk(0.3), draws=20, chains=1)


VALUES = {
    "features": FEATURES, "points": DRAWS, "posterior": POSTERIOR, "proposal": sp.RandomWalk(0.3),
    "responses": RESPONSES, "sigma": 0.9, "target": NORMAL, "test": sp.MetropolisTest(),
}  # fmt: skip
"""Values of required arguments by name; others get a small number."""

EXAMPLES = {
    "Graph": lambda: {"n_points": 2, "edges": [[0, 1]], "lengths": [1.0]},
    "Posterior": lambda: {
        "data": [DRAWS], "log_likelihood": lambda x, d: x, "grad_log_likelihood": lambda x, d: x,
        "log_prior": lambda x: x[:, 0], "grad_log_prior": lambda x: x, "dim": 2,
    },
    "RiemannianLangevin": lambda: {"covariance": lambda x: np.ones((len(x), 2)), "divergence": lambda x: 0.0 * x},
    "Target": lambda: {"score": lambda x: -x, "dim": 2},
    "stochastic_scores": lambda: {"draws": 1e-3 * DRAWS, "posterior": POSTERIOR},
    "choose": lambda: {"records": [], "measure": "graph", "settings": [{}]},
    "common_units": lambda: {"units": "own", "pilot": sk.Sample(DRAWS).distinct(), "target": NORMAL},
    "compare": lambda: {"samples": {"a": DRAWS}, "target": NORMAL, "verdict": False, "measures": ["moments"]},
    "curve": lambda: {"draws": DRAWS, "target": NORMAL, "n": [30, 60]},
    "dilation": lambda: {"points": DRAWS, "graph": sk.greedy_spanner(DRAWS)},
    "sorted_graph": lambda: {"points": LINE},
    "read_result": lambda: {"path": "no/such/file.json"},
    "read_sample": lambda: {"source": "no/such/file.csv"},
    "read_sweep": lambda: {"file": "no/such/file"},
    "reference_discrepancy": lambda: {
        "target": NORMAL, "n": 20, "repeats": 1, "discrepancy": sk.kernel_stein_discrepancy,
    },
    "sweep": lambda: {
        "target": NORMAL, "sampler": "iid", "grid": {"draws": [20]}, "seeds": 1, "measures": ["ess"],
    },
    "tune": lambda: {
        "target": NORMAL, "sampler": "rwmh", "grid": {"proposal_scale": [0.5]}, "options": {"draws": 20}, "seeds": 1,
    },
    "wasserstein_distance": lambda: {"draws": LINE, "target": sk.targets.Normal(0.0)},
    "classical_stein_discrepancy": lambda: {"draws": LINE, "target": tg.Normal(0.0)},
    "thin": lambda: {"draws": DRAWS, "target": NORMAL, "m": 3},
    "write_report": lambda: {"sources": [], "path": "no/such/folder/page.html"},
    "write_sample": lambda: {"sample": sk.Sample(DRAWS), "destination": "no/such/folder/draws.csv"},
    "CustomProposal": lambda: {"move": lambda x, z: x + z},
    "acceptance_bias": lambda: {"trial": trial(), "first_fraction": 0.2, "epsilon": 0.05},
    "average_design": lambda: {"trial": trial(), "target_error": 0.1, "batch_sizes": [20], "alphas": [0.5]},
    "herding": lambda: {"target": tg.Uniform(), "draws": 2},
    "sobol": lambda: {"target": tg.Uniform(), "draws": 4},
    "barker_mh": lambda: {"posterior": POSTERIOR, "proposal_scale": 0.01, "batch_size": 40, **RUN},
    "mode_weights": lambda: {"draws": TWO_MODES, "target": MIXTURE},
    "operating_characteristics": lambda: {"mean": [0.0], "first_fraction": 0.2, "epsilon": 0.05},
    "trial_run": lambda: {"posterior": POSTERIOR, "proposal": sp.RandomWalk(0.1), "draws": 10, "chains": 1},
    "worst_case_design": lambda: {"target_error": 0.1, "first_fractions": [0.5], "alphas": [0.5]},
    "GaussianMean": lambda: {"data": LINE},
    "GaussianMixture": lambda: {"means": [[0.0], [1.0]]},
    "load_target": lambda: {"reference": "no/such/file.py:target"},
    "make_target": lambda: {"name": "normal", "options": {}, "dim": 1},
}  # fmt: skip
"""Valid arguments, except for missing files."""

FAILING = {"choose", "read_result", "read_sample", "read_sweep", "write_report", "write_sample", "load_target"}

WRONG = {
    "word": "a", "None": None, "True": True, "fraction": 1.5, "negative": -1, "nan": np.nan, "complex": 1j,
    "object": object(), "list": [], "list of words": ["a"], "mapping": {"a": "b"}, "function": lambda: None,
    "array": np.zeros((2, 2, 2, 2)),
}  # fmt: skip

FUNCTIONS = {"temperature", "bound", "discrepancy"}
"""Arguments that may be functions, which may raise any error."""


def example(function):
    """Return valid arguments of a function."""
    if function.__name__ in EXAMPLES:
        return EXAMPLES[function.__name__]()
    parameters = inspect.signature(function).parameters
    given = {name: usual(each) for name, each in parameters.items() if each.default is each.empty}
    return given | (RUN if "seed" in parameters else {}) | ({"target": NORMAL} if "target" in parameters else {})


def usual(parameter):
    if parameter.name == "draws":
        return DRAWS
    return VALUES.get(parameter.name, 20 if parameter.annotation == "int" else 0.1)


def callables():
    for module in (sk, sp, tg):
        for name in sorted(module.__all__):
            found = getattr(module, name)
            unmade = isinstance(found, type) and "\n    Parameters\n" not in str(found.__doc__)  # errors are included
            if callable(found) and not unmade and name not in RESULTS | NOT_HERE:
                yield pytest.param(found, id=f"{module.__name__.rpartition('.')[2]}.{name}")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("function", list(callables()))
def test_wrong_types_raise_errors_of_steinkit(function, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    wrong = []
    with nullcontext() if function.__name__ not in FAILING else pytest.raises(SteinkitError):
        function(**example(function))
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL):
            continue
        for what, value in WRONG.items():
            if parameter.name in FUNCTIONS and callable(value):
                continue
            arguments = example(function) | {parameter.name: value}
            try:
                with joblib.parallel_config(backend="threading"):  # with n_jobs=-1, compute in this process
                    function(**arguments)
            except SteinkitError:
                pass
            except Exception as error:
                wrong.append(f"{parameter.name} = {what}: {type(error).__name__}: {str(error)[:100]}")
    assert not wrong, "\n" + "\n".join(wrong)


@pytest.mark.parametrize(
    ("check", "value", "shown"),
    [
        (require_flags, "yes", "expected size to be True or False, got 'yes' (str)"),
        (require_flags, 1, "(int)"),
        (require_mappings, [1], "[1] (list)"),
        (partial(require_type, sk.Sample, "a steinkit Sample"), np.zeros(3), "array([0., 0., 0.]) (ndarray)"),
    ],
)
def test_messages_name_the_argument_and_its_value(check, value, shown):
    with pytest.raises(sk.UsageError, match=re.escape(shown)):
        check(size=value)


@pytest.mark.parametrize("value", [True, "a", None, np.nan, 1j, 10**400, [1.0], np.zeros(2)])
def test_a_number_is_a_real_number_of_double_size(value):
    with pytest.raises(sk.UsageError):
        number(value, "size", lambda size: True, "any")


@pytest.mark.parametrize("value", [True, "a", None, 2.0, -1, np.float64(2.0)])
def test_a_whole_number_has_no_fraction(value):
    with pytest.raises(sk.UsageError):
        whole(value, "count", 0)


def test_scalars_of_numpy_and_fractions_are_numbers():
    for value in (2, np.float32(2.0), np.int64(2), np.array(2.0), Fraction(4, 2)):
        assert number(value, "size", lambda size: size == 2.0, "two") == 2.0
    assert whole(np.int32(3), "count", 0) == 3
    require_flags(on=np.True_, off=False)
    require_mappings(options=None, settings={})


def test_seeds_and_generators():
    generator = np.random.default_rng(3)
    assert generator_from(generator) is generator
    assert generator_from(np.int64(3)).random() == np.random.default_rng(3).random()
    for value in (-1, 1.5, "a", True):
        with pytest.raises(sk.UsageError):
            generator_from(value)
