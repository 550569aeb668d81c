"""Objects taken apart into columns, and put together again."""

import pickle
from pathlib import Path

import numpy as np

import engine
from engine.base.batch import Failure
from engine.base.result import Result, Status
from engine.errors import InputError
from engine.execution.dask.columns import dump, load


def knapsacks(count):
    rng = np.random.default_rng(1)
    weights = [rng.integers(1, 100, rng.integers(1, 30)) for _ in range(count)]
    return [engine.Knapsack(w + 5, w, int(w.sum() // 2) + 1, name=f"k{place}") for place, w in enumerate(weights)]


def result(place, solution):
    return Result(Status.OPTIMAL, place, place, solution, counters={"cells": place})


def test_problems_come_back_as_they_were_in_their_order():
    given = [*knapsacks(9), engine.Queens(6), "file.txt", Path("other.txt"), engine.Queens(7)]
    given.insert(4, engine.Flowshop(np.arange(12).reshape(3, 4) + 1))
    found = load(dump(given))
    assert [type(one) for one in found] == [type(one) for one in given]
    for one, other in zip(found, given, strict=True):
        if not isinstance(other, engine.Knapsack):
            assert pickle.dumps(one) == pickle.dumps(other)
            continue
        assert (one.name, one.capacity) == (other.name, other.capacity)
        assert vars(one).keys() == vars(other).keys()
        for name in ("profits", "weights"):
            assert np.array_equal(getattr(one, name), getattr(other, name))
            assert getattr(one, name).dtype == getattr(other, name).dtype
            assert not getattr(one, name).flags.writeable


def test_results_and_failures_come_back_as_they_were():
    solutions = [np.arange(4), np.array([-(1 << 40), 1 << 40]), None, np.eye(3), np.array([True]), np.arange(0)]
    given = [result(place, solution) for place, solution in enumerate(solutions)]
    given += [result(9, np.arange(place)) for place in range(3)]
    failure = Failure("one", InputError("wrong"))
    found = load(dump([given[0], failure, *given[1:]]))
    assert [found[0], *found[2:]] == given
    assert (found[1].name, str(found[1].error)) == ("one", "wrong")
    found[-1].solution[0] = 7  # no other solution changes
    assert found[0].solution.tolist() == [0, 1, 2, 3]
    assert load(dump([])) == []
