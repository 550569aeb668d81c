"""Beam search for flowshop schedules that are built from both ends."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.int64]

_WORK = 40_000_000  # width x jobs^2 x machines
_MOST_NODES, _FEWEST_NODES = 400, 20
_IDLE_WEIGHT = 0.3


@dataclass(frozen=True)
class _Nodes:
    """Partial schedules with as many jobs each."""

    fronts: Array  # shape (nodes, machines): when each machine has done the jobs at the front
    backs: Array  # how long the end of the schedule takes from there on
    rest: Array  # time of the open jobs
    is_open: NDArray[np.bool_]  # shape (nodes, jobs)
    orders: Array
    placed: Array  # shape (nodes, 2): numbers of jobs at the front and at the back


def beam_search(times: Array, upper: int, expired: Callable[[], bool]) -> Array | None:
    """A schedule shorter than ``upper``; None if none was found, or the time was up.

    The guide: the one-machine bound, and a part, falling to 0 as schedules grow, of the mean of the machines' bounds.
    """
    machines, jobs = times.shape
    width = min(_MOST_NODES, max(_FEWEST_NODES, _WORK // (jobs * jobs * machines)))
    before, after = np.cumsum(times, axis=0) - times, np.cumsum(times[::-1], axis=0)[::-1] - times
    nodes = _Nodes(
        before.min(axis=1)[None],
        after.min(axis=1)[None],
        times.sum(axis=1)[None],
        np.ones((1, jobs), bool),
        np.zeros((1, jobs), np.int64),
        np.zeros((1, 2), np.int64),
    )
    for level in range(1, jobs + 1):
        if expired():
            return None
        extended = _extended(nodes, times, upper, width, _IDLE_WEIGHT * (1 - level / jobs))
        if extended is None:
            return None
        nodes = extended
    best: Array = nodes.orders[int((nodes.fronts + nodes.backs).max(axis=1).argmin())]
    return best


def _extended(nodes: _Nodes, times: Array, upper: int, width: int, idle_weight: float) -> _Nodes | None:
    """The best children of some nodes; None if all are dropped."""
    jobs = times.shape[1]
    at_front = _placed_first(nodes.fronts, nodes.rest, nodes.backs, times)
    turned = nodes.backs[:, ::-1], nodes.rest[:, ::-1], nodes.fronts[:, ::-1]
    at_back = _placed_first(*turned, times[::-1])
    side = _sides(np.where(nodes.is_open, at_front[0], 0), np.where(nodes.is_open, at_back[0], 0), upper)
    bounds, means = (
        np.where(side[:, None], front, back) for front, back in zip(at_front[:2], at_back[:2], strict=True)
    )
    guides = np.where(nodes.is_open & (bounds < upper), bounds + idle_weight * means, np.inf).ravel()
    count = min(width, int(np.isfinite(guides).sum()))
    if not count:
        return None
    chosen = np.argsort(guides, kind="stable")[:count]
    parents, added = chosen // jobs, chosen % jobs
    front, number = side[parents], np.arange(count)
    new_fronts, new_backs = at_front[2][:, parents, added].T, at_back[2][::-1, parents, added].T
    is_open, orders, placed = nodes.is_open[parents], nodes.orders[parents], nodes.placed[parents]
    is_open[number, added] = False
    orders[number, np.where(front, placed[:, 0], jobs - 1 - placed[:, 1])] = added
    placed[number, np.where(front, 0, 1)] += 1
    return _Nodes(
        np.where(front[:, None], new_fronts, nodes.fronts[parents]),
        np.where(front[:, None], nodes.backs[parents], new_backs),
        nodes.rest[parents] - times.T[added],
        is_open,
        orders,
        placed,
    )


def _sides(at_front: Array, at_back: Array, upper: int) -> NDArray[np.bool_]:
    """Whether each node is extended at the front: where more children are dropped, or else the sum is larger."""
    dropped = (at_front >= upper).sum(axis=1) - (at_back >= upper).sum(axis=1)
    front: NDArray[np.bool_] = (dropped > 0) | ((dropped == 0) & (at_front.sum(axis=1) >= at_back.sum(axis=1)))
    return front


def _placed_first(fronts: Array, rest: Array, backs: Array, times: Array) -> tuple[Array, NDArray[np.float64], Array]:
    """Children with each job at the front: bounds, their means over machines, and times when it is done."""
    machines, jobs = times.shape
    done = np.empty((machines, len(fronts), jobs), np.int64)
    reached = np.repeat(fronts[:, :1], jobs, axis=1)
    bounds = np.zeros_like(reached)
    sums = np.zeros_like(reached)
    for machine in range(machines):
        begun = np.maximum(reached, fronts[:, machine, None])
        bound = begun + (rest[:, machine] + backs[:, machine])[:, None]
        np.maximum(bounds, bound, out=bounds)
        sums += bound
        reached = begun + times[machine]
        done[machine] = reached
    return bounds, sums / machines, done
