"""Posteriors of Numba functions of one parameter and one datum, against the same written for NumPy."""

import contextlib
import functools
import math
import pickle

import numba
import numpy as np
import pytest
from numba import carray
from support.sampler_problems import vectorised

import steinkit as sk
from steinkit import samplers
from steinkit.errors import TimeLimitError
from steinkit.runtime.deadlines import time_limit
from steinkit.runtime.function_pointers import pointer

NODAL = sk.targets.LogisticRegression.nodal()


def log_likelihood(theta, x, y):
    return -np.log1p(np.exp(-y * (x * theta).sum()))


def gradient(theta, x, y):
    return y * x / (1.0 + np.exp(y * (x * theta).sum()))


def log_prior(theta):
    return -0.5 * (theta * theta).sum()


def grad_log_prior(theta):
    return -theta


LOGISTIC = sk.Posterior.from_numba(
    log_likelihood, gradient, log_prior, NODAL.data, grad_log_prior=grad_log_prior, dim=6, names=NODAL.names
)


def test_the_functions_of_batches_are_those_of_numpy():
    thetas = np.random.default_rng(1).normal(size=(5, 6))
    for batch in (NODAL.data, tuple(array[[7, 3, 3]] for array in NODAL.data), tuple(x[::2] for x in NODAL.data)):
        for name in ("log_likelihood", "grad_log_likelihood"):
            found, wanted = (getattr(posterior, name)(thetas[0], *batch) for posterior in (LOGISTIC, NODAL))
            np.testing.assert_allclose(found, wanted, rtol=1e-12)
    for name in ("log_prior", "grad_log_prior", "score"):
        np.testing.assert_allclose(getattr(LOGISTIC, name)(thetas), getattr(NODAL, name)(thetas), rtol=1e-11)


@pytest.mark.parametrize(
    ("function", "options"),
    [
        (samplers.rwmh, {"proposal_scale": 0.3}),
        (samplers.mala, {"step_size": 0.1}),
        (samplers.sgld, {"step_size": 0.01, "batch_size": 5}),
        (samplers.corrected_sgld, {"step_size": 0.01, "batch_size": 5}),
        (samplers.barker_mh, {"proposal_scale": 0.3, "batch_size": 10}),
    ],
)
def test_chains_are_those_of_numpy(function, options):
    found, wanted = (
        function(target, draws=60, chains=2, seed=3, **options) for target in (LOGISTIC, vectorised(NODAL))
    )
    np.testing.assert_array_equal(found.cost, wanted.cost)
    np.testing.assert_allclose(found.points, wanted.points, rtol=1e-9, atol=1e-12)


RNG = np.random.default_rng(5)
COUNTS, FLAGS = RNG.poisson(3.0, 40), RNG.random(40) < 0.7
MATRICES = RNG.uniform(size=(40, 2, 3)).astype(np.float32)
# theta > 0: whole numbers, each with a matrix of which one entry counts, and a flag; its dimension is not given
POISSON = sk.Posterior.from_numba(
    numba.njit(lambda theta, k, w, used: (k * np.log(theta[0]) - theta[0] * w[1, 2]) * used),
    lambda theta, k, w, used: ((k / theta[0] - w[1, 2]) * used,),
    lambda theta: -theta[0],
    (COUNTS, MATRICES, FLAGS),
    grad_log_prior=lambda theta: (-1.0,),
    bounds=[[0.0, np.inf]],
)


def test_whole_numbers_matrices_and_truth_values():
    total, exposure = COUNTS[FLAGS].sum(), MATRICES[FLAGS, 1, 2].astype(float).sum()
    np.testing.assert_allclose(POISSON.score([[2.0]]), [[total / 2.0 - exposure - 1.0]], rtol=1e-12)


def test_the_dimension_may_come_from_the_start():
    options = {"step_size": 0.01, "start": [3.0], "draws": 20, "chains": 2}
    found, wanted = (samplers.mala(target, **options) for target in (POISSON, vectorised(POISSON)))
    assert POISSON.compiled_terms is not None
    np.testing.assert_allclose(found.points, wanted.points, rtol=1e-10)


def test_bounds_hold_in_compiled_chains():
    options = {"start": [0.5], "chains": 2, "draws": 100}
    found, wanted = (samplers.rwmh(x, proposal_scale=3.0, **options) for x in (POISSON, vectorised(POISSON)))
    np.testing.assert_array_equal(found.cost, wanted.cost)
    np.testing.assert_allclose(found.points, wanted.points, rtol=1e-12)
    assert (np.diff(found.cost[0]) == 0).any()  # outside the support nothing is read
    with pytest.raises(sk.InputError, match=r"chain 1, step \d+: the state \(-.*lies outside the posterior's bounds"):
        samplers.sgld(POISSON, step_size=2.0, batch_size=5, **options)


TERMS = {
    "log_likelihood": lambda theta, y: -0.5 * (y - theta[0]) ** 2,
    "gradient": lambda theta, y: (y - theta[0],),
    "log_prior": lambda theta: -0.5 * theta[0] ** 2,
    "grad_log_prior": lambda theta: (-theta[0],),
}
DATA = (np.arange(1.0, 9.0),)
GAUSSIAN = sk.Posterior.from_numba(**TERMS, data=DATA, dim=1)


def compiled(posterior):
    """The loops of a posterior that are compiled, by name."""
    return posterior.log_prior.__self__._loops


def gaussian(**changes):
    """`GAUSSIAN` with other functions or data; the rest is taken over compiled, for compiling takes most time here."""
    posterior = sk.Posterior.from_numba(**{**TERMS, "data": DATA, "dim": 1} | changes)
    assert GAUSSIAN.compiled_terms is not None
    depend = {name: {name} for name in TERMS} | {"log_ratios": {"log_likelihood"}}
    if [(x.dtype, x.ndim) for x in posterior.data] != [(x.dtype, x.ndim) for x in DATA]:
        depend = {name: {name} for name in ("log_prior", "grad_log_prior")}  # no loops over such data
    same = {name for name, functions in depend.items() if not functions & changes.keys()}
    compiled(posterior).update({name: compiled(GAUSSIAN)[name] for name in same})
    return posterior


def writing(theta):
    theta[0] += 1.0
    return 0.0


def writing_into_data(theta, y):
    y[0] += 1.0
    return 0.0


@pytest.mark.parametrize(
    ("functions", "error", "message"),
    [
        (
            {"log_likelihood": "no function"},
            sk.UsageError,
            "log_likelihood must be a function .*received 'no function'",
        ),
        ({"log_prior": None}, sk.UsageError, "log_prior must be a function"),
        ({"log_prior": math.lgamma}, sk.UsageError, "log_prior must be .* with def or lambda .*: wrap it"),
        ({"gradient": functools.partial(np.add, 1.0)}, sk.UsageError, "gradient must be .*partial.*: wrap it"),
        ({"grad_log_prior": np.vectorize(abs)}, sk.UsageError, "grad_log_prior must be .*: wrap it"),
        ({"log_prior": numba.cfunc("float64(float64)")(lambda x: x)}, sk.UsageError, "log_prior must be .*: wrap it"),
        ({"log_prior": writing}, sk.UsageError, "log_prior.*theta and rows are read-only: change a copy"),
        (
            {"log_likelihood": writing_into_data, "data": (np.ones((3, 2)),)},
            sk.UsageError,
            "log_likelihood.*theta and rows are read-only: change a copy",
        ),
        ({"data": (np.array(["a"]),)}, sk.UsageError, "arrays of numbers; received type <U1"),
        ({"data": (np.zeros((2, 1, 1, 1)),)}, sk.UsageError, "at most 3 axes"),
        (
            {"log_likelihood": lambda theta, y: theta},
            sk.UsageError,
            r"cannot compile log_likelihood.*row \(float64 number",
        ),
        ({"log_prior": lambda theta: nothing(theta)}, sk.UsageError, "cannot compile log_prior"),  # noqa: F821
        ({"gradient": lambda theta, y: (y, y)}, sk.InputError, r"gradient must return the 1 derivatives.* \(2,\)"),
        ({"gradient": None}, sk.UsageError, "was given no gradient: pass gradient="),
        ({"grad_log_prior": None}, sk.UsageError, "was given no grad_log_prior"),
    ],
)
def test_what_is_refused(functions, error, message):
    with pytest.raises(error, match=message):
        samplers.mala(gaussian(**functions), step_size=0.1, draws=5)


def test_without_gradients_samplers_that_need_none_run():
    posterior = gaussian(gradient=None, grad_log_prior=None)
    plain, whole = (samplers.barker_mh(x, proposal_scale=0.5, draws=40) for x in (posterior, GAUSSIAN))
    np.testing.assert_array_equal(plain.points, whole.points)


def test_errors_name_chain_step_and_state():
    sampler = samplers.rwmh
    broken = gaussian(log_likelihood=lambda theta, y: -0.5 * y * np.log(theta[0]))
    for function in (sampler, samplers.barker_mh):
        with pytest.raises(
            sk.InputError, match=r"chain 1, step \d+: the log likelihood gives nan for the proposal \(-"
        ):
            function(broken, proposal_scale=0.5, start=0.5, draws=500)
    with pytest.raises(sk.InputError, match=r"chain 1 cannot start at \(-1\): the log likelihood there is nan"):
        sampler(broken, proposal_scale=1.0, start=-1.0, draws=5)


def lonely_log_prior(theta):
    """Finite at 1 only; infinite far on the right."""
    return 0.0 if theta[0] == 1.0 else (np.inf if theta[0] > 1e6 else -np.inf)


def test_priors_without_a_way_on_are_told():
    lonely = gaussian(log_prior=lonely_log_prior)
    with pytest.raises(
        sk.InputError, match=r"chain 1: the last 100000 proposals all lay outside the support, from \(1"
    ):
        samplers.rwmh(lonely, proposal_scale=0.5, start=1.0, draws=200_000)
    with pytest.raises(sk.InputError, match=r"chain 1 cannot start at \(0\): the log prior there is -inf"):
        samplers.rwmh(lonely, proposal_scale=0.5, draws=5)
    with pytest.raises(sk.InputError, match=r"step \d+: the log prior or the proposal's log ratio gives inf"):
        samplers.rwmh(lonely, proposal_scale=1e9, start=1.0, draws=500)


def test_divergence_is_told():
    with pytest.raises(sk.InputError, match=r"chain 1, step \d+: the state is \(.*\), not finite; .* smaller step"):
        samplers.sgld(GAUSSIAN, step_size=50.0, batch_size=2, draws=5000)
    with pytest.raises(sk.InputError, match=r"chain 1, step \d+: the proposed state is .*not finite"):
        samplers.corrected_sgld(GAUSSIAN, step_size=1e308, batch_size=2, draws=50)


def test_a_copy_compiles_its_own():
    twin = pickle.loads(pickle.dumps(LOGISTIC))
    theta = np.linspace(-1.0, 1.0, 6)[None]
    assert LOGISTIC.log_prior(theta) == twin.log_prior(theta)
    assert compiled(twin)["log_prior"] is not compiled(LOGISTIC)["log_prior"]


@numba.njit
def raising(theta, y):
    if theta[0] > 2.0:
        raise ValueError("too large")
    return -0.5 * (y - theta[0]) ** 2


def test_functions_that_raise_stop_the_chain():
    """Numba cannot pass an exception on to a compiled loop, which would go on with whatever stands in a register."""
    broken = gaussian(
        log_likelihood=raising,
        gradient=lambda theta, y: np.ones(1 if y < 8.0 else 0),
        log_prior=lambda theta: raising(theta, 0.0) if theta[0] > 4.0 else 0.0,
    )
    for function in (samplers.rwmh, samplers.barker_mh):
        with pytest.raises(sk.InputError, match=r"chain 1, step \d+: the log likelihood gives nan for the proposal"):
            function(broken, proposal_scale=0.1, start=1.8, draws=500)
    with pytest.raises(sk.InputError, match=r"chain 1, step \d+: the gradient at the state \(\d.*\) is \(nan\)"):
        samplers.sgld(broken, step_size=0.01, batch_size=2, draws=10)
    with pytest.raises(sk.InputError, match=r"chain 1 cannot start at \(5\): the log prior there is nan"):
        samplers.rwmh(broken, proposal_scale=0.1, start=5.0, draws=5)


@numba.njit("float64(float64[::1], float64)", fastmath=True)
def of_fixed_types(theta, y):
    return -0.5 * (y - theta[0]) ** 2


def test_functions_may_bring_types_and_options_of_their_own():
    found = gaussian(log_likelihood=of_fixed_types)
    np.testing.assert_allclose(found.log_density([[0.7]]), GAUSSIAN.log_density([[0.7]]), rtol=1e-12)


READ = np.zeros(1, dtype=np.int64)
ADDRESS = READ.ctypes.data


@numba.njit
def slowly(value):
    """The value, after some thousandths of a second; it is counted."""
    carray(pointer(ADDRESS, np.int64), 1)[0] += 1
    for k in range(200_000):
        value += math.sin(k) * 1e-300
    return value


@pytest.fixture(scope="module")
def slow():
    return gaussian(
        log_likelihood=lambda theta, y: slowly(-0.5 * (y - theta[0]) ** 2),
        gradient=lambda theta, y: (slowly(y - theta[0]),),
        data=(np.zeros(10_000),),
    )


@pytest.mark.parametrize(
    ("function", "options"),
    [
        (samplers.rwmh, {"proposal_scale": 0.3}),
        (samplers.mala, {"step_size": 0.1}),
        (samplers.sgld, {"step_size": 0.01, "batch_size": 10_000}),
        (samplers.subsampling_mh, {"proposal_scale": 0.3, "batch_size": 100}),
        (lambda target, **_: target.score([[0.0]]), {}),
        (lambda target, **_: target.log_density([[0.0]]), {}),
    ],
)
def test_slow_functions_hear_the_deadline_before_all_data_are_read(slow, function, options):
    with contextlib.suppress(TimeLimitError), time_limit(1e-9):
        function(slow, draws=1, **options)  # compiled
    READ[:] = 0
    with pytest.raises(TimeLimitError), time_limit(0.05):
        function(slow, draws=1, **options)
    assert READ[0] < 5_000
