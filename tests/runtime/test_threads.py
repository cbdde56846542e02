"""Number of threads for a given number of jobs."""

import multiprocessing
import os
import subprocess
import sys
import warnings

import joblib
import pytest

import steinkit as sk
from steinkit.runtime.deadlines import thread_count


def counted(pipe):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            pipe.send((thread_count(1), thread_count(-1)))
        except Warning as warned:
            pipe.send(str(warned))


def test_at_most_the_number_of_processors():
    processors = joblib.cpu_count()
    assert [thread_count(jobs) for jobs in (1, 10_000, -1)] == [1, processors, processors]
    assert thread_count(-10_000) == 1
    with pytest.raises(sk.UsageError, match="got 0"):
        thread_count(0)


def test_threads_in_a_worker_of_a_pool():
    """joblib's own count warns in such a worker, which cannot start processes."""
    ours, theirs = multiprocessing.get_context("spawn").Pipe()
    worker = multiprocessing.get_context("spawn").Process(target=counted, args=(theirs,), daemon=True)
    worker.start()
    assert ours.poll(60.0)
    assert ours.recv() == (1, joblib.cpu_count())
    worker.join()


def test_libraries_have_one_thread_inside_a_block():
    code = """
from threadpoolctl import threadpool_info, threadpool_limits
from steinkit.runtime.deadlines import one_thread_in_libraries
counts = lambda: {library["num_threads"] for library in threadpool_info()}
with one_thread_in_libraries():
    assert counts() == {1}
before = len(threadpool_info())
import scipy.linalg
assert len(threadpool_info()) > before
with threadpool_limits(3):
    with one_thread_in_libraries():
        assert counts() == {1}
    assert counts() == {3}
"""
    subprocess.run([sys.executable, "-c", code], check=True, env={**os.environ, "OPENBLAS_NUM_THREADS": "4"})
