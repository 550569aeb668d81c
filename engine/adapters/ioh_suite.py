"""Quintet's search of black boxes as an algorithm of IOHprofiler, and its suite of 25 pseudo-Boolean problems.

Needs the package ``ioh``. The problems are those of C. Doerr, F. Ye, N. Horesh, H. Wang, O. M. Shir, T. Baeck,
"Benchmarking discrete optimization heuristics with IOHprofiler", Applied Soft Computing 88 (2020) 106027; the two
algorithms for comparison are its (1+1) EA and RLS.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
from numpy.typing import NDArray

from ..devices import Backend
from ..errors import OptionError, ProblemError
from .minimize_bits import maximize_bits

if TYPE_CHECKING:
    from ..api.option_types import BOAOptions

    class _SuiteOptions(BOAOptions, total=False):
        backend: Backend | None
        devices: Sequence[str] | None


_PROBLEMS = 25
_TARGETS = 100


class IOHAlgorithm:
    """Maximises a problem of ``ioh`` with :func:`engine.maximize_bits`; to be used as ``ioh`` uses algorithms.

    Parameters
    ----------
    budget : int
        Most evaluations, at least 32. A string that has been evaluated is not evaluated again.
    seed : int
    backend, devices
        As for :func:`engine.solve`.
    **options
        Of the solver.

    Examples
    --------
    >>> import ioh, engine
    >>> problem = ioh.get_problem("OneMax", dimension=20, problem_class=ioh.ProblemClass.PBO)
    >>> algorithm = engine.IOHAlgorithm(budget=2000)
    >>> algorithm(problem)
    >>> problem.state.optimum_found
    True
    """

    name = "Quintet-BOA"

    def __init__(
        self,
        budget: int,
        *,
        seed: int = 0,
        backend: Backend | None = None,
        devices: Sequence[str] | None = None,
        **options: Unpack[BOAOptions],
    ) -> None:
        self.budget, self.seed = budget, seed
        self._backend, self._devices, self._options = backend, devices, options

    def __call__(self, problem: Any) -> None:
        """Maximise the problem within the budget; ``problem.state`` then has the best string."""
        _check(problem)
        n = int(problem.meta_data.n_variables)
        optimum = float(problem.optimum.y)
        options: BOAOptions = {"target": optimum} if np.isfinite(optimum) else {}
        maximize_bits(
            *(_values(problem), n),
            budget=self.budget,
            seed=self.seed,
            backend=self._backend,
            devices=self._devices,
            **options | self._options,
        )


def _check(problem: Any) -> None:
    lower, upper = np.asarray(problem.bounds.lb), np.asarray(problem.bounds.ub)
    if lower.any() or (upper != 1).any() or not np.issubdtype(lower.dtype, np.integer):
        raise ProblemError(f"{problem.meta_data.name} is not a problem of bits")
    if problem.meta_data.optimization_type.name != "MAX":
        raise ProblemError(f"{problem.meta_data.name} is minimised; only problems to be maximised are supported")


def _values(problem: Any) -> Callable[[NDArray[np.uint8]], NDArray[np.float64]]:
    return lambda rows: np.array([problem(row.tolist()) for row in rows])


@dataclass(frozen=True)
class Trajectory:
    """One run: after ``evaluations[i]`` evaluations the best value became ``best[i]``."""

    problem: str
    algorithm: str
    run: int
    evaluations: NDArray[np.int64]
    best: NDArray[np.float64]
    optimum_found: bool

    def best_after(self, evaluations: int) -> float:
        """The best value within so many evaluations; -inf before the first."""
        place = int(np.searchsorted(self.evaluations, evaluations, side="right"))
        return float(self.best[place - 1]) if place else -np.inf


class _Watched:
    """A problem as an algorithm sees it, with the improvements noted; ends the algorithm at the optimum or budget."""

    class Over(Exception):
        """Nothing more is to be evaluated."""

    def __init__(self, problem: Any, budget: int) -> None:
        self._problem, self._budget = problem, budget
        self.evaluations: list[int] = []
        self.best: list[float] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._problem, name)

    def __call__(self, string: Sequence[int]) -> float:
        value = float(self._problem(list(string)))
        if not self.best or value > self.best[-1]:
            self.evaluations.append(int(self._problem.state.evaluations))
            self.best.append(value)
        return value

    @property
    def is_over(self) -> bool:
        state = self._problem.state
        return bool(state.optimum_found) or state.evaluations >= self._budget


def evolutionary_algorithm(problem: Any, budget: int, seed: int) -> None:
    """The (1+1) EA: every bit of the parent is flipped with probability 1/n, at least one; equals replace."""
    _mutate(problem, budget, seed, lambda random, n: max(1, int(random.binomial(n, 1 / n))))


def local_search(problem: Any, budget: int, seed: int) -> None:
    """Randomised local search: one random bit is flipped; equals replace."""
    _mutate(problem, budget, seed, lambda random, n: 1)


def _mutate(problem: Any, budget: int, seed: int, flips: Callable[[np.random.Generator, int], int]) -> None:
    random = np.random.default_rng(seed)
    n = int(problem.meta_data.n_variables)
    parent = random.integers(0, 2, n)
    value = problem(parent.tolist())
    while not problem.is_over:
        child = parent.copy()
        child[random.choice(n, flips(random, n), replace=False)] ^= 1
        found = problem(child.tolist())
        if found >= value:
            parent, value = child, found


def _boa(problem: Any, budget: int, seed: int, **options: Any) -> None:
    IOHAlgorithm(budget, seed=seed, **options)(problem)


ALGORITHMS: Mapping[str, Callable[..., None]] = {
    IOHAlgorithm.name: _boa,
    "(1+1) EA": evolutionary_algorithm,
    "RLS": local_search,
}
"""What :func:`run_suite` runs, by name."""


def run_suite(
    n: int,
    budget: int,
    runs: int = 5,
    problems: Sequence[int] | None = None,
    folder: str | Path | None = None,
    **options: Unpack[_SuiteOptions],
) -> list[Trajectory]:
    """Run all :data:`ALGORITHMS` on the pseudo-Boolean suite (``problems`` 1 to 25) with ``n`` bits, instance 1.

    A run has ``budget`` evaluations; of each algorithm and problem there are ``runs``, with seeds from 1 on. ``folder``
    gets the logs of ``ioh``, which IOHanalyzer reads. ``OptionError`` without the package ``ioh``, and for a problem
    that does not exist, or not with ``n`` bits: some need a perfect square.
    """
    try:
        import ioh  # type: ignore[import-untyped, import-not-found, unused-ignore]
    except ImportError:
        raise OptionError(
            "the suite needs the package ioh, which is not installed (Quintet's extra ioh has it)"
        ) from None

    chosen = list(range(1, _PROBLEMS + 1)) if problems is None else list(problems)
    wrong = [number for number in chosen if not 1 <= number <= _PROBLEMS]
    if wrong:
        raise OptionError(f"problems of the suite are numbered from 1 to {_PROBLEMS}; got {wrong[0]}")
    found = []
    for name, algorithm in ALGORITHMS.items():
        logger = None
        if folder is not None:
            logger = ioh.logger.Analyzer(root=str(folder), folder_name=_file_name(name), algorithm_name=name)
        for number in chosen:
            try:
                problem = ioh.get_problem(number, instance=1, dimension=n, problem_class=ioh.ProblemClass.PBO)
            except ValueError as error:
                raise OptionError(f"problem {number} with {n} bits: {error}") from error
            if logger is not None:
                problem.attach_logger(logger)
            for run in range(1, runs + 1):
                found.append(_run(problem, name, algorithm, budget, run, options))
                problem.reset()
        if logger is not None:
            logger.close()
    return found


def _file_name(algorithm: str) -> str:
    return "".join(letter if letter.isalnum() else "_" for letter in algorithm)


def _run(
    problem: Any, name: str, algorithm: Callable[..., None], budget: int, run: int, options: Mapping[str, Any]
) -> Trajectory:
    watched = _Watched(problem, budget)
    algorithm(watched, budget, run, **(options if algorithm is _boa else {}))
    return Trajectory(
        problem=problem.meta_data.name,
        algorithm=name,
        run=run,
        evaluations=np.array(watched.evaluations, np.int64),
        best=np.array(watched.best, np.float64),
        optimum_found=bool(problem.state.optimum_found),
    )


def reached_share(trajectories: Sequence[Trajectory], evaluations: int) -> dict[str, float]:
    """The empirical distribution of reached targets at a number of evaluations, by algorithm.

    Of each problem there are 100 targets, equally spaced from the worst first value to the best value that any run
    reached; a run that has reached q of them counts q / 100, and the mean is over runs and problems.
    """
    by_problem: dict[str, list[Trajectory]] = {}
    for trajectory in trajectories:
        by_problem.setdefault(trajectory.problem, []).append(trajectory)
    shares: dict[str, list[float]] = {}
    for group in by_problem.values():
        low = min(float(one.best[0]) for one in group)
        high = max(float(one.best[-1]) for one in group)
        targets = low + (high - low) * np.arange(1, _TARGETS + 1) / _TARGETS
        for one in group:
            slack = 1e-9 * max(1.0, abs(high))
            share = float((one.best_after(evaluations) >= targets - slack).mean())
            shares.setdefault(one.algorithm, []).append(share)
    return {name: float(np.mean(values)) for name, values in shares.items()}
