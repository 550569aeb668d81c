"""The objectives of permutation problems from their definitions: of several orders at once, shape (orders, n)."""

import itertools
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

Orders = NDArray[np.int64]
Arrays = Mapping[str, NDArray[Any]]


def _done(data: Arrays, orders: Orders) -> list[Orders]:
    """When the job in each position is done on each machine: a list of (orders, machines)."""
    times, done, all_done = data["times"], np.zeros((len(orders), len(data["times"])), np.int64), []
    for position in range(orders.shape[1]):
        at = np.zeros(len(orders), np.int64)
        for machine in range(len(times)):
            at = np.maximum(at, done[:, machine]) + times[machine, orders[:, position]]
            done[:, machine] = at
        all_done.append(done.copy())
    return all_done


def _blocking(data: Arrays, orders: Orders) -> Orders:
    """Makespan if a job stays on a machine until the next one is free; ``left[k]`` is when it leaves machine k - 1."""
    times, machines = data["times"], len(data["times"])
    left = np.zeros((len(orders), machines + 2), np.int64)
    for position in range(orders.shape[1]):
        before, left = left, np.zeros_like(left)
        left[:, 0] = before[:, 1]
        for machine in range(1, machines + 1):
            finished = left[:, machine - 1] + times[machine - 1, orders[:, position]]
            left[:, machine] = np.maximum(finished, before[:, machine + 1])
    return left[:, machines]


def delays(data: Arrays) -> Orders:
    """How long after a job (row) the next one (column) begins, if none ever waits."""
    ends, starts = np.cumsum(data["times"], axis=0), np.cumsum(data["times"], axis=0) - data["times"]
    return np.asarray((ends[:, :, None] - starts[:, None, :]).max(axis=0))


def _no_wait(data: Arrays, orders: Orders) -> Orders:
    return np.asarray(
        delays(data)[orders[:, :-1], orders[:, 1:]].sum(axis=1) + data["times"].sum(axis=0)[orders[:, -1]]
    )


def _tardiness(data: Arrays, orders: Orders) -> Orders:
    late = np.maximum(0, np.cumsum(data["times"][orders], axis=1) - data["due"][orders])
    return np.asarray((data["weights"][orders] * late).sum(axis=1))


def _ordering(data: Arrays, orders: Orders) -> Orders:
    return np.array([np.tril(data["weights"][np.ix_(order, order)], -1).sum() for order in orders], np.int64)


def _assignment(data: Arrays, orders: Orders) -> Orders:
    pairs = itertools.product(range(orders.shape[1]), repeat=2)
    flows, distances = data["flows"], data["distances"]
    return np.asarray(sum(flows[i, j] * distances[orders[:, i], orders[:, j]] for i, j in pairs))


def _tour(data: Arrays, orders: Orders) -> Orders:
    return np.asarray(data["costs"][orders, np.roll(orders, -1, axis=1)].sum(axis=1))


VALUES: dict[str, Callable[[Arrays, Orders], Orders]] = {
    "Flowshop": lambda data, orders: _done(data, orders)[-1][:, -1],
    "FlowTime": lambda data, orders: np.asarray(sum(done[:, -1] for done in _done(data, orders))),
    "BlockingFlowshop": _blocking,
    "NoWaitFlowshop": _no_wait,
    "Tardiness": _tardiness,
    "LinearOrdering": _ordering,
    "QuadraticAssignment": _assignment,
    "ATSP": _tour,
}
_ARRAYS = {"Tardiness": "times", "LinearOrdering": "weights", "QuadraticAssignment": "flows", "ATSP": "costs"}


def size_of(kind: str, data: Arrays) -> int:
    """How many items are ordered."""
    return int(data[_ARRAYS.get(kind, "times")].shape[-1])
