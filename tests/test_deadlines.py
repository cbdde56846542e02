"""Deadlines and the bounds known when they pass. No test asserts times."""

import pickle
import signal
import threading
import time

import numpy as np
import pytest

import steinkit as sk
from steinkit.errors import TimeLimitError
from steinkit.runtime.deadlines import (
    Shares,
    StopSignal,
    blocks,
    deadline,
    interruptible,
    require_time,
    seconds_left,
    stop_signal,
    time_limit,
)

LONG = np.random.default_rng(0).standard_normal((30_000, 3))  # the spanner takes half a minute


def test_nested_time_limits():
    assert deadline() == np.inf
    with time_limit(5.0) as outer:
        with time_limit(60.0) as inner:
            assert inner == outer == deadline()
        with time_limit(1.0) as inner:
            assert inner < outer
            assert seconds_left() <= 1.0
        assert deadline() == outer
        with time_limit(None) as inner:
            assert inner == outer
    assert deadline() == np.inf


@pytest.mark.parametrize("seconds", [0.0, -1.0, np.nan, True, "a"])
def test_a_time_limit_must_be_positive(seconds):
    with pytest.raises(sk.UsageError, match="max_seconds"), time_limit(seconds):
        pass


def test_require_time():
    require_time("counting")
    with time_limit(60.0):
        require_time("counting")
    with time_limit(1e-9), pytest.raises(TimeLimitError, match="time ran out while counting") as raised:
        require_time("counting")
    assert (raised.value.lower, raised.value.upper, raised.value.exit_code) == (0.0, np.inf, 4)


def test_blocks():
    assert [list(range(7))[some] for some in blocks(7, 3)] == [[0, 1, 2], [3, 4, 5], [6]]
    assert list(blocks(7, 3))[-1] == slice(6, 7)
    with time_limit(1e-9):
        assert len(list(blocks(7, 3))) == 3
        with pytest.raises(TimeLimitError, match="while counting"):
            next(blocks(7, 3, "counting"))


def test_the_stop_signal_is_set_at_the_deadline():
    with time_limit(0.01), stop_signal() as stop:
        assert stop.wait(30.0)
        assert stop.flag[0]
        with pytest.raises(TimeLimitError):
            stop.require("waiting")
    interrupted = StopSignal()
    interrupted.require("waiting")
    interrupted.set()
    with pytest.raises(KeyboardInterrupt):
        interrupted.require("waiting")


def test_the_error_can_be_pickled():
    error = TimeLimitError("counting", 0.0, 2.0)
    copy = pickle.loads(pickle.dumps(error))
    assert (str(copy), copy.lower, copy.upper) == (str(error), 0.0, 2.0)


@pytest.mark.parametrize("in_thread", [False, True], ids=["main thread", "another thread"])
def test_work_is_abandoned_after_the_deadline(monkeypatch, in_thread):
    monkeypatch.setattr("steinkit.runtime.deadlines._GRACE", 0.01)
    release, interrupted, raised = threading.Event(), threading.Event(), []

    def wait():
        try:
            with time_limit(0.01):
                interruptible(lambda: release.wait(60.0), interrupted, "counting")
        except TimeLimitError as error:
            raised.append(error.doing)

    if in_thread:
        thread = threading.Thread(target=wait)
        thread.start()
        thread.join(30.0)
    else:
        wait()
    assert not release.is_set()
    assert raised == ["counting"]
    assert interrupted.is_set()
    release.set()


def test_a_timeout_error_of_the_work_is_raised():
    with time_limit(60.0), pytest.raises(TimeoutError, match="mine"):
        interruptible(lambda: (_ for _ in ()).throw(TimeoutError("mine")), threading.Event(), "counting")


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="alarms are POSIX's")
def test_a_signal_handler_of_the_user():
    """The handler of an alarm runs in the main thread, which waits for the work."""

    def bark(number, frame):
        raise TimeoutError("mine")

    release, interrupted = threading.Event(), threading.Event()
    before = signal.signal(signal.SIGALRM, bark)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        with time_limit(60.0), pytest.raises(TimeoutError, match="mine"):
            interruptible(lambda: interrupted.wait(30.0) and release.set(), interrupted, "counting")
    finally:
        signal.signal(signal.SIGALRM, before)
    assert release.wait(30.0)  # the work received the stop signal


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_spanner_ends_at_the_deadline(n_jobs):
    with pytest.raises(TimeLimitError, match="spanner"):
        sk.greedy_spanner(LONG, max_seconds=0.1, n_jobs=n_jobs)


@pytest.mark.parametrize("points", [LONG, LONG[:1500]], ids=["spanner", "complete"])
def test_bounds_without_a_graph(points):
    """0 <= S <= c1 sum q |s| + c2 d for any graph."""
    kind = "spanner" if len(points) == len(LONG) else "complete"
    factors = (0.5, 2.0, 1.0)
    with pytest.raises(TimeLimitError) as raised:
        sk.graph_stein_discrepancy(points, scores=-3.0 * points, graph=kind, stein_factors=factors, max_seconds=0.2)
    known = 0.5 * np.abs(3.0 * points).mean(axis=0).sum() + 2.0 * 3
    assert raised.value.lower == 0.0
    assert raised.value.upper == pytest.approx(known, rel=1e-8)
    assert raised.value.upper >= known


def test_an_unreached_limit_does_not_change_the_result():
    points = LONG[:300]
    free = sk.graph_stein_discrepancy(points, scores=-points)
    held = sk.graph_stein_discrepancy(points, scores=-points, max_seconds=600.0)
    assert (free.lower, free.upper) == (held.lower, held.upper)
    np.testing.assert_array_equal(free.graph.edges, held.graph.edges)


def test_the_deadline_holds_in_threads():
    """The limit holds in the thread of the work."""
    with time_limit(1e-9):
        time.sleep(0.001)
        assert interruptible(seconds_left, threading.Event(), "time was told") == 0.0


def test_unused_time_is_shared_by_later_tasks():
    shares = Shares(3)
    with time_limit(90.0):
        for most in (30.0, 45.0, 90.0):
            with shares.one():
                assert most - 5.0 < seconds_left() <= most
    with Shares(2).one():
        assert deadline() == np.inf


NORMAL = sk.targets.Normal(0.0, dim=3)
ON_THE_LINE = sk.targets.Normal(0.0, dim=1)


@pytest.mark.parametrize(
    "call",
    [
        lambda s: sk.kernel_stein_discrepancy(LONG, NORMAL, max_seconds=s),
        lambda s: sk.kernel_stein_discrepancy(LONG, NORMAL, max_seconds=s, n_jobs=2),
        lambda s: sk.kernel_stein_test(LONG[:4000], NORMAL, max_seconds=s),
        lambda s: sk.moment_stein_discrepancy(LONG, NORMAL, max_seconds=s),
        lambda s: sk.sliced_stein_discrepancy(LONG, NORMAL, max_seconds=s),
        lambda s: sk.sliced_stein_test(LONG, NORMAL, max_seconds=s),
        lambda s: sk.classical_stein_discrepancy(LONG[:, 0], ON_THE_LINE, max_seconds=s),
        lambda s: sk.wasserstein_distance(LONG[:, 0], ON_THE_LINE, max_seconds=s),
        lambda s: sk.verdict(LONG, NORMAL, max_seconds=s),
        lambda s: sk.thin(LONG, NORMAL, m=10**6, max_seconds=s),
    ],
)
def test_measures_end_at_the_deadline(call):
    with pytest.raises(sk.SolverError) as raised:
        call(1e-3)
    assert raised.value.exit_code == 4
    assert raised.value.lower <= raised.value.upper


def test_comparisons_and_curves_report_missing_results():
    found = sk.compare({"a": LONG}, NORMAL, measures=["ksd", "ess"], max_seconds=1e-3)
    assert isinstance(found.samples[0].errors["ksd"], TimeLimitError)
    assert "ess" in found.samples[0].measurements
    assert any("there is no verdict" in note for note in found.warnings)
    fallen = sk.curve(LONG, NORMAL, n=[1000, 30_000], measure="ksd", max_seconds=0.2)
    assert np.isnan(fallen.values[-1])
