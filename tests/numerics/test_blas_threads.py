"""How many threads BLAS has while some of the process want one."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
import scipy.linalg  # noqa: F401 - brings a BLAS of its own
from threadpoolctl import threadpool_info, threadpool_limits

from engine.numerics.blas_threads import all_threads, one_thread


def counts() -> set[int]:
    """The numbers of threads of the BLAS libraries of the process."""
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}


@pytest.fixture(autouse=True)
def _two_threads() -> Iterator[None]:
    with threadpool_limits(2, "blas"):
        if counts() != {2}:
            pytest.skip("the BLAS library of NumPy or SciPy has one thread")
        yield


def inside() -> set[int]:
    with one_thread():
        return counts()


def test_every_thread_of_the_process_is_heard() -> None:
    with ThreadPoolExecutor(1) as first, ThreadPoolExecutor(1) as second:
        for pool in (first, second, first):
            assert pool.submit(inside).result() == {1}
            assert counts() == {2}
    assert inside() == {1}
    assert counts() == {2}


def test_one_thread_stays_until_the_last_who_wanted_it_has_left() -> None:
    with ThreadPoolExecutor(1) as other:
        with one_thread():
            assert other.submit(inside).result() == {1}
            assert counts() == {1}
            with one_thread():
                pass
            assert counts() == {1}
        assert counts() == {2}


def test_a_large_operation_has_all_threads_meanwhile() -> None:
    def large() -> set[int]:
        with all_threads():
            return counts()

    with ThreadPoolExecutor(1) as other, one_thread():
        assert other.submit(large).result() == {2}
        assert counts() == {1}
    assert large() == {2}
    assert counts() == {2}


def test_a_limit_of_the_caller_holds_and_is_restored() -> None:
    with threadpool_limits(1, "blas"):
        with one_thread(), all_threads():
            assert counts() == {1}
        assert counts() == {1}
    assert counts() == {2}
