"""Initial tours of the asymmetric TSP: nearest neighbours, patched assignments, and iterated local search from them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

Tour = NDArray[np.int64]

_REACH = 50  # cities that the chains of a double bridge lie among
_EFFORT = 60_000  # starts times the square of the number of cities; at least 5 and at most 25 starts
_FORBIDDEN = 2**40


def tour_cost(costs: NDArray[np.int64], tour: Tour) -> int:
    """Cost of the round trip through the cities in order."""
    order = np.asarray(tour, np.int64)
    return int(costs[order, np.roll(order, -1)].sum())


def nearest_neighbour(costs: NDArray[np.int64], start: int) -> Tour:
    """From ``start`` always to the nearest city not yet visited, the first of equals; shape (n,)."""
    away = costs.astype(np.int64)
    tour = [start]
    visited = np.zeros(len(costs), np.bool_)
    visited[start] = True
    while len(tour) < len(costs):
        tour.append(int(np.where(visited, _FORBIDDEN, away[tour[-1]]).argmin()))
        visited[tour[-1]] = True
    return np.array(tour, np.int64)


def patched(costs: NDArray[np.int64]) -> Tour:
    """The subtours of the cheapest assignment, joined by the cheapest exchange of two arcs until one is left."""
    from scipy.optimize import linear_sum_assignment
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    n = len(costs)
    away = costs.copy()
    np.fill_diagonal(away, _FORBIDDEN)

    _, following = linear_sum_assignment(away)
    following = following.astype(np.int64)
    while True:
        subtours, label = connected_components(csr_array((np.ones(n), (np.arange(n), following))))
        if subtours == 1:
            break
        ends = costs[np.arange(n), following]
        # Arcs (i, following[i]) and (j, following[j]) of two subtours become (i, following[j]) and (j, following[i]).
        crossed = costs[:, following]
        change = crossed + crossed.T - ends[:, None] - ends
        change[label[:, None] == label] = _FORBIDDEN
        i, j = divmod(int(change.argmin()), n)
        following[[i, j]] = following[[j, i]]
    tour = [0]
    while len(tour) < n:
        tour.append(int(following[tour[-1]]))
    return np.array(tour, np.int64)


def improve(
    costs: NDArray[np.int64],
    tour: Tour,
    cities: Iterable[int] | None = None,
    expired: Callable[[], bool] = lambda: False,
) -> Tour:
    """Exchange the two neighbouring chains that save most until none does; begins at the arcs out of ``cities``."""
    n = len(tour)
    later = np.triu(np.ones((n - 1, n - 1), np.bool_), 1)
    left = dict.fromkeys(range(n) if cities is None else cities) if n > 2 else {}
    while left and not expired():
        city, _ = left.popitem()
        turned = np.roll(tour, -int(np.flatnonzero(tour == city)[0]))
        following = np.roll(turned, -1)
        # saved[i, j]: by taking, instead of the arc out of city i, the one from city i to the city after j
        saved = costs[turned, following][:, None] - costs[turned[:, None], following]
        total = np.where(later, saved[0, 1:, None] + saved[1:, 1:] + saved[1:, 0], -_FORBIDDEN)
        j, k = (1 + place for place in divmod(int(total.argmax()), n - 1))
        if total[j - 1, k - 1] > 0:
            tour = np.concatenate([turned[:1], turned[j + 1 : k + 1], turned[1 : j + 1], turned[k + 1 :]])
            left.update(dict.fromkeys((int(turned[k]), int(turned[j]), city)))
    return tour


def iterate(
    costs: NDArray[np.int64],
    tour: Tour,
    random: np.random.Generator,
    patience: int,
    expired: Callable[[], bool] = lambda: False,
) -> Tour:
    """Double bridges, improved and kept if not worse, until ``patience`` of them in a row make no better tour."""
    value, since = tour_cost(costs, tour), 0
    while len(tour) > 4 and since < patience and not expired():
        turned = np.roll(tour, -int(random.integers(len(tour))))
        cuts = random.choice(min(len(tour), _REACH) - 1, 3, replace=False) + 1
        a, b, c = np.sort(cuts).tolist()
        parts = [turned[a:b], turned[:a], turned[c:], turned[b:c]]
        trial = improve(costs, np.concatenate(parts), [int(part[-1]) for part in parts], expired)
        trial_value = tour_cost(costs, trial)
        since = 0 if trial_value < value else since + 1
        if trial_value <= value:
            tour, value = trial, trial_value
    return tour


def guided(
    costs: NDArray[np.int64],
    weights: NDArray[np.int64],
    noise: float,
    seed: int,
    enough: int,
    expired: Callable[[], bool] = lambda: False,
) -> Iterator[Tour]:
    """Tours from patched assignments of ``weights`` with noise, improved, until one costs at most ``enough``."""
    random = np.random.Generator(np.random.PCG64(seed))
    n = len(costs)
    for start in range(min(25, max(5, _EFFORT // n**2))):
        added = noise * random.random((n, n)) if start else np.zeros((n, n))
        tour = improve(costs, patched(weights + added.astype(np.int64)), expired=expired)
        tour = iterate(costs, tour, random, n, expired)
        yield tour
        if tour_cost(costs, tour) <= enough or expired():
            return
