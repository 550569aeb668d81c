"""Initial tours of the asymmetric TSP: nearest neighbours, patching of the assignment, and iterated local search.

References
----------
R. M. Karp, "A patching algorithm for the nonsymmetric traveling-salesman problem", SIAM Journal on Computing 8 (1979)
561-573.
I. Or, "Traveling salesman-type combinatorial problems and their relation to the logistics of blood banking", PhD
thesis, Northwestern University, 1976.
O. Martin, S. W. Otto, E. W. Felten, "Large-step Markov chains for the traveling salesman problem", Complex Systems 5
(1991) 299-326 (the double bridge, which keeps the direction of all arcs).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

__all__ = ["improve", "iterate", "nearest_neighbour", "patched", "tour_cost"]

Tour = NDArray[np.int64]

_LONGEST_CHAIN = 3
_FORBIDDEN = 2**40


def _never() -> bool:
    return False


def tour_cost(costs: NDArray[np.int64], tour: Tour) -> int:
    """Cost of the round trip.

    Parameters
    ----------
    costs : ndarray of int64, shape (n, n)
    tour : ndarray of int64, shape (n,)
        The cities in order.
    """
    order = np.asarray(tour, np.int64)
    return int(costs[order, np.roll(order, -1)].sum())


def nearest_neighbour(costs: NDArray[np.int64], start: int) -> Tour:
    """From ``start`` always to the nearest city not yet visited, the first of equals; shape (n,).

    Parameters
    ----------
    costs : ndarray of int64, shape (n, n)
    start : int
        A city.
    """
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

    n = len(costs)
    away = costs.copy()
    np.fill_diagonal(away, _FORBIDDEN)

    _, following = linear_sum_assignment(away)
    following = following.astype(np.int64)
    while True:
        label = _subtours(following)
        if label.max() == 0:
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


def _subtours(following: Tour) -> NDArray[np.int64]:
    """The number of each city's subtour, shape (n,)."""
    label = np.full(len(following), -1, np.int64)
    for number, start in enumerate(range(len(following))):
        city = start
        while label[city] < 0:
            label[city] = number
            city = int(following[city])
    return np.unique(label, return_inverse=True)[1].astype(np.int64)


def improve(costs: NDArray[np.int64], tour: Tour, expired: Callable[[], bool] = _never) -> Tour:
    """Move the chain of up to three cities that saves most, until no move saves anything or time is up (Or-opt).

    Parameters
    ----------
    costs : ndarray of int64, shape (n, n)
    tour : ndarray of int64, shape (n,)
    expired : callable
        Whether time is up; then the best tour so far is returned.

    Returns
    -------
    ndarray of int64, shape (n,)
    """
    n = len(tour)
    while n > 3 and not expired():
        saved, moved = 0, tour
        for length in range(1, min(_LONGEST_CHAIN, n - 2) + 1):
            first, last = tour, np.roll(tour, 1 - length)
            before, after = np.roll(tour, 1), np.roll(tour, -length)
            gain = costs[before, first] + costs[last, after] - costs[before, after]
            # Between the cities at positions p and p + 1, which are not the chain's, nor the place where it is.
            extra = costs[tour[:, None], first] + costs[last][:, np.roll(tour, -1)].T
            extra -= costs[tour, np.roll(tour, -1)][:, None]
            places, starts = np.arange(n)[:, None], np.arange(n)
            extra[(places - starts) % n < length] = _FORBIDDEN
            extra[(starts - places) % n == 1] = _FORBIDDEN
            total = gain - extra
            place, start = divmod(int(total.argmax()), n)
            if total[place, start] > saved:
                saved = int(total[place, start])
                turned = np.roll(tour, -start)
                at = (place - start) % n + 1
                moved = np.concatenate([turned[length:at], turned[:length], turned[at:]])
        if saved == 0:
            break
        tour = moved
    return tour


def iterate(
    costs: NDArray[np.int64], tour: Tour, seed: int, iterations: int, expired: Callable[[], bool] = _never
) -> Tour:
    """Exchange two random neighbouring chains (the double bridge), improve, and keep what is not worse; repeat.

    The same seed gives the same tour unless time is up before the last iteration.

    Parameters
    ----------
    costs : ndarray of int64, shape (n, n)
    tour : ndarray of int64, shape (n,)
    seed : int
    iterations : int
    expired : callable
        Whether time is up; then the best tour so far is returned.

    Returns
    -------
    ndarray of int64, shape (n,)
    """
    random = np.random.Generator(np.random.PCG64(seed))
    best, value = tour, tour_cost(costs, tour)
    for _ in range(iterations if len(tour) > 4 else 0):
        if expired():
            break
        a, b, c = np.sort(random.choice(len(tour) - 1, 3, replace=False) + 1)
        trial = improve(costs, np.concatenate([best[:a], best[b:c], best[a:b], best[c:]]), expired)
        trial_value = tour_cost(costs, trial)
        if trial_value <= value:
            best, value = trial, trial_value
    return best
