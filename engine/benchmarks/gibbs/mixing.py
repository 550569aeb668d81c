"""How well the kernels mix: generated data of 23 kinds, or data files.

The first six kinds, and ``counts-of-events`` to ``noise``, were used to choose defaults, the others to check them.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from ...api.engine import Engine
from ...devices import DeviceInfo
from ...errors import InputError
from ...solvers.gibbs.problem import HorseshoeProbit

_Data = tuple[NDArray[np.float64], NDArray[np.bool_]]
_Random = np.random.Generator


def _target(
    random: _Random, X: NDArray[np.float64], beta: Sequence[float], intercept: float = 0.0
) -> NDArray[np.bool_]:
    """A probit target of the first columns."""
    return np.asarray(intercept + X[:, : len(beta)] @ np.asarray(beta) + random.standard_normal(len(X)) > 0)


def _one_hot(random: _Random) -> _Data:
    """Four categorical features with 3 to 12 levels of unequal frequency, all levels kept, and three numbers."""
    parts = [random.standard_normal((3000, 3))]
    for levels in (3, 5, 8, 12):
        shares = random.dirichlet(np.ones(levels))
        parts.append(np.eye(levels)[random.choice(levels, 3000, p=shares)])
    X = np.hstack(parts)
    return X, _target(random, X, [0.8, 0.0, -0.5, 1.0, 0.0, 0.0, 0.0, 0.7])


def _rare(random: _Random) -> _Data:
    """Sixty binary columns with frequencies from 0.05 % to 5 %."""
    X = (random.random((4000, 60)) < np.geomspace(5e-4, 5e-2, 60)).astype(float)
    return X, _target(random, X[:, ::-1], [1.5, -1.0, 0.0, 1.0, 0.0, 2.0], -0.3)


def _wide(random: _Random) -> _Data:
    """More columns than rows, with noise."""
    X = random.standard_normal((120, 400))
    return X, _target(random, X, [2.0, -2.0, 1.0])


def _imbalanced(random: _Random) -> _Data:
    """About 0.5 % of the rows in one class."""
    X = random.standard_normal((6000, 20))
    return X, _target(random, X, [0.5, -0.4, 0.3], -2.9)


def _correlated(random: _Random) -> _Data:
    """Neighbouring columns with a correlation of 0.99."""
    X = random.standard_normal((2000, 30))
    for column in range(1, 30):
        X[:, column] = 0.99 * X[:, column - 1] + np.sqrt(1 - 0.99**2) * X[:, column]
    return X, _target(random, X, [1.0, 0.0, 0.0, 0.0, 0.0, -1.0])


def _tiny(random: _Random) -> _Data:
    """Twenty rows."""
    X = random.standard_normal((20, 4))
    return X, _target(random, X, [1.0, -0.5])


def _separable(random: _Random) -> _Data:
    """Numbers, and columns whose rare value is in one class only."""
    X = random.standard_normal((2000, 14))
    y = _target(random, X, [1.0, -0.7, 0.4])
    for column in range(8, 14):
        X[:, column] = (random.random(2000) < 0.01 * (column - 6)) & (y == (column % 2 == 0))
    return X, y


def _nested(random: _Random) -> _Data:
    """Binary columns, each true in a part of the rows of the one before."""
    X = np.ones((3000, 24))
    for column in range(24):
        before = X[:, column - 1] if column % 6 else np.ones(3000)
        X[:, column] = before * (random.random(3000) < 0.6)
    return X, _target(random, X, [0.8, 0.0, -0.6, 0.0, 0.0, 0.0, 0.5], -0.2)


def _wide_separable(random: _Random) -> _Data:
    """More columns than rows, without noise."""
    X = random.standard_normal((60, 150))
    return X, X[:, 0] - X[:, 1] + 0.5 * X[:, 2] > 0


def _scales(random: _Random) -> _Data:
    """Columns of scales from 1e-3 to 1e4, far from 0."""
    X = random.standard_normal((2000, 16)) * np.geomspace(1e-3, 1e4, 16)
    return X + 50.0, _target(random, X / np.geomspace(1e-3, 1e4, 16), [1.0, 0.0, -0.8, 0.5])


def _heavy(random: _Random) -> _Data:
    """Many weak signals in log-normal columns."""
    X = np.exp(random.standard_normal((7000, 28)))
    return X, _target(random, np.log(X), (0.12 * random.standard_normal(28)).tolist())


def _copies(random: _Random) -> _Data:
    """Columns that are there twice or three times, and sums of others."""
    X = random.standard_normal((1500, 6))
    X = np.column_stack([X, X[:, :3], X[:, 0], X[:, 1] + X[:, 2], X[:, 3] - X[:, 4]])
    return X, _target(random, X, [1.0, -0.8, 0.0, 0.6])


def _counts_of_events(random: _Random) -> _Data:
    """Skewed columns of counts, whose logarithms matter."""
    rates = np.exp(random.standard_normal((2000, 15)) + random.uniform(-2, 1, 15))
    X = random.poisson(rates).astype(float)
    return X, _target(random, np.log1p(X), [0.4, 0.0, 0.0, -0.6, 0.0, 0.5], -0.2)


def _interactions(random: _Random) -> _Data:
    """Eight columns with their squares and products."""
    Z = random.standard_normal((1000, 8))
    X = np.hstack([Z, *(Z[:, [i]] * Z[:, i:] for i in range(8))])
    return X, _target(random, X, [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, -0.5, 0.8])


def _levels(random: _Random) -> _Data:
    """Categorical features with rare levels, one level of each left out, and two numbers."""
    parts = [random.standard_normal((2500, 2))]
    for levels in (4, 9, 20):
        shares = random.dirichlet(np.full(levels, 0.4))
        parts.append(np.eye(levels)[random.choice(levels, 2500, p=shares)][:, 1:])
    X = np.hstack(parts)
    return X, _target(random, X, [1.0, 0.0, 0.8, 0.0, 0.0, -0.6])


def _series(random: _Random) -> _Data:
    """Time series with an autocorrelation of 0.99."""
    X = random.standard_normal((1500, 12))
    for row in range(1, 1500):
        X[row] += 0.99 * X[row - 1]
    return X, _target(random, X, [0.1, -0.05])


def _outliers(random: _Random) -> _Data:
    """Eight columns with three huge values each, which hide an effect of the first column."""
    X = random.standard_normal((1200, 15))
    for column in range(8):
        rows = random.choice(1200, 3, replace=False)
        X[rows, column] = 10.0 ** random.uniform(2, 5, 3) * random.choice([-1, 1], 3)
    return X, _target(random, np.clip(X, -2, 2)[:, [9, 10, 0]], [1.0, -0.5, 0.5])


def _noise(random: _Random) -> _Data:
    """Columns that say nothing."""
    return random.standard_normal((600, 50)), random.random(600) < 0.5


def _splines(random: _Random) -> _Data:
    """B-splines of four numbers, the first of which matters; those of each add up to 1."""
    from scipy.interpolate import BSpline

    numbers = random.random((1500, 4))
    knots = np.concatenate([np.zeros(3), np.linspace(0.0, 1.0, 9), np.ones(3)])
    X = np.hstack([BSpline.design_matrix(column, knots, 3).toarray() for column in numbers.T])
    return X, _target(random, np.sin(6.0 * numbers), [1.5])


def _powers(random: _Random) -> _Data:
    """Powers of three numbers, up to the sixth."""
    numbers = random.uniform(-1.0, 1.0, (1200, 3))
    X = np.hstack([numbers**power for power in range(1, 7)])
    return X, _target(random, X, [2.0, 0.0, 0.0, 0.0, 1.0, 0.0, -2.0])


def _repeated(random: _Random) -> _Data:
    """Many rows of few different ones."""
    X = random.integers(0, 3, (40, 10))[random.integers(0, 40, 3000)].astype(float)
    return X, _target(random, X, [0.5, -0.4])


def _factors(random: _Random) -> _Data:
    """Forty columns of three hidden factors; the first factor matters."""
    hidden = random.standard_normal((1000, 3))
    X = hidden @ random.standard_normal((3, 40)) + 0.3 * random.standard_normal((1000, 40))
    return X, _target(random, hidden, [1.0])


def _shares(random: _Random) -> _Data:
    """Ten shares of a whole, and five numbers."""
    X = np.hstack([random.dirichlet(np.full(10, 0.5), 1200), random.standard_normal((1200, 5))])
    return X, _target(random, X, [2.0, -2.0])


_FUNCTIONS: tuple[Callable[[_Random], _Data], ...] = (
    *(_one_hot, _rare, _wide, _imbalanced, _correlated, _tiny, _separable, _nested, _wide_separable, _scales, _heavy),
    *(_copies, _counts_of_events, _interactions, _levels, _series, _outliers, _noise, _splines, _powers, _repeated),
    *(_factors, _shares),
)
KINDS = {function.__name__[1:].replace("_", "-"): function for function in _FUNCTIONS}
"""Generated data by kind; a function of a random generator."""


def mixing_problems(names: Iterable[str], seed: int = 1) -> list[HorseshoeProbit]:
    """The kinds or files of these names; ``all`` stands for every kind."""
    problems = []
    for name in itertools.chain.from_iterable(KINDS if name == "all" else (name,) for name in names):
        if name in KINDS:
            X, y = KINDS[name](np.random.default_rng([seed, list(KINDS).index(name)]))
            problems.append(HorseshoeProbit(X, y.astype(int), name=name))
        elif Path(name).exists():
            problems.append(HorseshoeProbit.read(name))
        else:
            raise InputError(f"--mixing takes a data file, 'all', or one of {', '.join(KINDS)}; got '{name}'")
    return problems


def measure_mixing(
    infos: Sequence[DeviceInfo],
    problem: HorseshoeProbit,
    console: Console,
    *,
    seconds: float,
    kernels: Sequence[Any] = ("gibbs", "px", "hmc"),
    seeds: Sequence[int] = (1, 2, 3),
    **options: Any,
) -> list[tuple[str, float, float]]:
    """The ESS per second and the worst R-hat of every run of the kernels on some data, printed with their passes."""
    titles = ("kernel", "seed", "seconds", "draws", "worst R-hat", "least ESS", "ESS/s", "passes/ESS", "factors/ESS")
    table, found = Table(*titles, title=problem.describe()), []
    with Engine(devices=[info.id for info in infos]) as owner:
        for kernel in kernels:
            owner.solve(problem, kernel=kernel, draws=4, warmup=0, **options)
            for seed in seeds:
                result = owner.solve(problem, kernel=kernel, seed=seed, time_limit=seconds, **options)
                counters = result.counters
                if (least := float(counters.get("least_ess", 0))) <= 0:
                    found.append((kernel, 0.0, float("inf")))
                    table.add_row(kernel, f"{seed}", f"{result.seconds:.1f}", f"{counters['draws']}", *("-",) * 5)
                    continue
                chains, passes = counters["chains"], counters["passes"]
                found.append((kernel, least / result.seconds, float(counters["worst_r_hat"])))
                table.add_row(
                    *(kernel, f"{seed}", f"{result.seconds:.1f}", f"{counters['draws']}"),
                    *(f"{counters['worst_r_hat']:.3f}", f"{least:.0f}", f"{least / result.seconds:.1f}"),
                    *(f"{chains * passes / least:.1f}", f"{chains * counters['iterations'] / least:.1f}"),
                )
    console.print(table)
    return found
