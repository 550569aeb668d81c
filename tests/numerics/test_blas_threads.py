"""How many threads BLAS has while some want one: in a process of its own, as those of the suite have one each."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy  # noqa: F401 - brings a BLAS
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from engine.numerics.blas_threads import all_threads, one_thread
from tests.support.environment import ROOT
from tests.support.patience import PATIENCE


def counts():
    """The numbers of threads of the BLAS libraries of the process."""
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}


def inside():
    with one_thread():
        return counts()


def every_thread_of_the_process_is_heard():
    with ThreadPoolExecutor(1) as first, ThreadPoolExecutor(1) as second:
        for pool in (first, second, first):
            assert pool.submit(inside).result() == {1}
            assert counts() == {2}
    assert inside() == {1}
    assert counts() == {2}


def one_thread_stays_until_the_last_who_wanted_it_has_left():
    with ThreadPoolExecutor(1) as other:
        with one_thread():
            assert other.submit(inside).result() == {1}
            assert counts() == {1}
            with one_thread():
                pass
            assert counts() == {1}
        assert counts() == {2}


def a_large_operation_has_all_threads_meanwhile():
    def large():
        with all_threads():
            return counts()

    with ThreadPoolExecutor(1) as other, one_thread():
        assert other.submit(large).result() == {2}
        assert counts() == {1}
    assert large() == {2}
    assert counts() == {2}


CLAIMS = (
    every_thread_of_the_process_is_heard,
    one_thread_stays_until_the_last_who_wanted_it_has_left,
    a_large_operation_has_all_threads_meanwhile,
)


@pytest.mark.skipif(not counts(), reason="the number of threads of NumPy's BLAS library cannot be set")
def test_blas_has_one_thread_while_one_is_wanted():
    environment = os.environ | dict.fromkeys(("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "2")
    words = [sys.executable, "-m", __name__]
    done = subprocess.run(words, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr


if __name__ == "__main__":
    for claim in CLAIMS:
        with threadpool_limits(2, "blas"):
            assert counts() == {2}
            claim()
