"""``engine.minimize_bits`` and ``engine.maximize_bits``: a function of bit strings, a budget, and perhaps noise.

For functions that are expensive or random, such as simulators: the number of evaluations is the limit, no population
size is needed, no string is evaluated again unless that gives information, and of random values the means count. A
function is searched by :class:`engine.BitSearch`, with options of the Bayesian optimization algorithm, or noise that
hides how strings differ, by that.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..api.engine import Engine
from ..base.result import Result, Status
from ..devices import Backend
from ..errors import OptionError
from ..solvers.boa.black_box import ALGORITHM, is_stagnant
from ..solvers.boa.problem import BOA
from ..solvers.boa.pyramid import BitSearch
from ..util.display import Display, Displayed, entries_text
from ..util.text import number_text
from .bits_archive import GOOD, PROBED, PROBES, Archive
from .bits_evaluator import Evaluator

if TYPE_CHECKING:
    from ..api.option_types import BOAOptions

_SAMPLES = 8
_RESERVE = 0.1  # of the budget, to compare the best strings at the end
_GENERATIONS = 40  # that a budget should suffice for
_GENERATIONS_WITH_NOISE = 12
_LEAST_BUDGET = 32
_MOST_RESTARTS = 12
_PROBE_SHARE = 0.1  # of the budget, to learn of the noise
_PYRAMID_OPTIONS = {"target", "initial"}


@dataclass(frozen=True, repr=False)
class BitsResult(Displayed):
    """What :func:`minimize_bits` found.

    Attributes
    ----------
    solution : ndarray of uint8, shape (n,)
        The string with the best (mean) value.
    value, standard_error : float
        Its mean, and the standard error of that: 0 without noise, ``nan`` if it was evaluated once.
    samples : int
        How often it was evaluated.
    evaluations : int
        How often the function was evaluated, in total.
    strings : int
        How many different strings were evaluated.
    algorithm : str
        ``"population pyramid"`` or ``"Bayesian optimization algorithm"``, and why.
    subsets : list of ndarray of int
        Of the pyramid: bits that belong together, from small subsets to large ones.
    edges : ndarray of int, shape (e, 2)
        Of a network learned from good strings, from gene to gene: what depends on what. Of several runs of the solver
        the network with the most edges, as a population that has become uniform has none. The pyramid has none.
    status : Status
        ``iteration_limit`` if the budget was spent; ``optimal`` if all strings have been evaluated.
    run : Result or None
        Of the last run of the solver.
    """

    solution: NDArray[np.uint8]
    value: float
    standard_error: float
    samples: int
    evaluations: int
    strings: int
    algorithm: str
    subsets: list[NDArray[np.int64]]
    edges: NDArray[Any]
    status: Status
    run: Result | None

    def display(self) -> Display:
        """What is shown of it: the value, the string, and what they took."""
        error = "" if not self.standard_error else f" (standard error {number_text(self.standard_error, 4)})"
        facts = [
            ("value", f"{number_text(float(self.value))}{error}"),
            ("solution", entries_text(self.solution, 40)),
            ("samples", str(self.samples)),
            ("evaluations", str(self.evaluations)),
            ("strings", str(self.strings)),
            ("algorithm", self.algorithm),
        ]
        return Display(f"BitsResult {self.status}", facts)


def minimize_bits(
    function: Callable[[Any], Any],
    n: int,
    *,
    batch: bool = True,
    noise: bool | int = False,
    budget: int | None = None,
    seeds: ArrayLike | None = None,
    seed: int = 0,
    time_limit: float | None = None,
    workers: int | Executor = 1,
    failures: Literal["raise", "skip"] = "raise",
    retries: int = 0,
    checkpoint: str | Path | None = None,
    backend: Backend | None = None,
    devices: Sequence[str] | None = None,
    **options: Unpack[BOAOptions],
) -> BitsResult:
    """Minimise a function of bit strings within a number of evaluations.

    Parameters
    ----------
    function : callable
        With ``batch`` from an (m, n) uint8 array to m numbers; otherwise from one (n,) array to a number.
    n : int
        Bits.
    batch : bool
        Whether the function takes many strings at once.
    noise : bool or int
        Whether the values of one string differ from call to call. Strings are then evaluated 8 times (or so many
        times; only those that seem good where the noise exceeds the differences of random strings), and a tenth of
        the budget compares the best ones at the end.
    budget : int, optional
        Most evaluations; with ``noise``, where it is needed and a repeated evaluation counts too, at least 32. Without
        one the search ends when nine tenths of its evaluations, or 199 of 200 with a target, brought no improvement.
    seeds : array_like of 0 and 1, shape (s, n), optional
        Known strings to begin with.
    seed : int
        Seeds the search, not your function.
    time_limit : float, optional
        Seconds; with ``noise`` the last tenth is for comparing the best strings. A call of the function is not
        interrupted.
    workers : int or concurrent.futures.Executor
        Processes that evaluate at once, or what else runs calls, such as ``client.get_executor()`` of Dask. With
        processes the function must be importable by name, and a script calls this below
        ``if __name__ == "__main__":``.
    failures : {"raise", "skip"}
        Whether the function's exceptions and values that are not finite end the search, or only count as worse than
        all other values.
    retries : int
        How often a string that failed is evaluated again before that.
    checkpoint : path-like, optional
        File that every value is appended to at once. If it has values already, from a run that ended or was killed,
        these are used instead of evaluations: with the same arguments the answer is the same.
    backend, devices
        As for :func:`engine.solve`; the pyramid needs no device.
    **options
        ``target``: the value to stop at. All others are of the Bayesian optimization algorithm, which is then used in
        place of the pyramid: with a budget its population follows from that.

    Returns
    -------
    BitsResult

    Raises
    ------
    OptionError
        If there is noise and no budget, or a number makes no sense.
    ProblemError
        If the function fails, or returns something else than finite numbers, or the checkpoint is of another function.

    Examples
    --------
    >>> import engine
    >>> engine.minimize_bits(lambda bits: bits.sum(axis=1), 30, budget=2000).value
    0.0
    """
    with Evaluator(
        *(function, n), batch=batch, workers=workers, failures=failures, retries=retries, checkpoint=checkpoint
    ) as evaluator:
        return _optimize(1, evaluator, n, batch, noise, budget, seeds, seed, time_limit, backend, devices, {**options})


def maximize_bits(
    function: Callable[[Any], Any],
    n: int,
    *,
    batch: bool = True,
    noise: bool | int = False,
    budget: int | None = None,
    seeds: ArrayLike | None = None,
    seed: int = 0,
    time_limit: float | None = None,
    workers: int | Executor = 1,
    failures: Literal["raise", "skip"] = "raise",
    retries: int = 0,
    checkpoint: str | Path | None = None,
    backend: Backend | None = None,
    devices: Sequence[str] | None = None,
    **options: Unpack[BOAOptions],
) -> BitsResult:
    """Maximise a function of bit strings; everything else is as for :func:`minimize_bits`.

    Parameters
    ----------
    function, n, batch, noise, budget, seeds, seed, time_limit
        As for :func:`minimize_bits`.
    workers, failures, retries, checkpoint, backend, devices, **options
        As for :func:`minimize_bits`.

    Examples
    --------
    >>> import engine
    >>> engine.maximize_bits(lambda bits: bits.sum(axis=1), 30, budget=2000).value
    30.0
    """
    with Evaluator(
        *(function, n), batch=batch, workers=workers, failures=failures, retries=retries, checkpoint=checkpoint
    ) as evaluator:
        return _optimize(-1, evaluator, n, batch, noise, budget, seeds, seed, time_limit, backend, devices, {**options})


def _optimize(
    sign: int,
    evaluator: Evaluator,
    n: int,
    batch: bool,
    noise: bool | int,
    budget: int | None,
    seeds: ArrayLike | None,
    seed: int,
    time_limit: float | None,
    backend: Backend | None,
    devices: Sequence[str] | None,
    options: dict[str, Any],
) -> BitsResult:
    samples = _checked_samples(noise, budget)
    if options.get("target") is not None and not math.isfinite(options["target"]):
        raise OptionError(f"target must be finite; got {options['target']}")
    for_pyramid = options.keys() <= _PYRAMID_OPTIONS
    if samples == 1 and for_pyramid:
        return _climb(evaluator, n, sign, budget, seeds, seed, time_limit, **options)
    if samples == 1 and budget is not None and budget < _LEAST_BUDGET:
        raise OptionError(f"budget must be at least {_LEAST_BUDGET} evaluations with these options; got {budget}")
    limit = math.inf if budget is None else float(budget)
    archive = Archive(evaluator, sign, batch, samples, limit, _RESERVE * limit if samples > 1 and budget else 0.0)
    if for_pyramid and _PROBE_SHARE * limit >= PROBED * PROBES and archive.is_clear(n, seed):
        return _climb(evaluator, n, sign, budget, seeds, seed, time_limit, archive=archive, samples=samples, **options)
    target = -math.inf
    if options.get("target") is not None:
        target = sign * options["target"]
        options = options | {"target": target}
    population = options.pop("population", _population(n, budget, samples))
    end = math.inf if time_limit is None else time.monotonic() + time_limit
    until = archive.until = end if time_limit is None or samples == 1 else end - _RESERVE * time_limit
    known, edges = seeds, np.zeros((0, 2), np.int32)
    with Engine(backend, devices) as engine:
        for restart in range(_MOST_RESTARTS if budget is not None else 1):
            result = _run(engine, archive, n, known, seed + restart, population, until, options)
            edges = max(edges, result.arrays.get("edges", edges), key=len)  # none before the first generation
            status = result.status
            reached = result.objective is not None and result.objective <= target
            if reached or archive.left < 1 or not archive.strings:
                break
            if budget is not None and time.monotonic() >= until:  # also where a run has just come to its own end
                status = Status.TIME_LIMIT
                break
            population = population if isinstance(population, str) else 2 * population
            known = np.stack([min(archive.strings.values(), key=lambda string: string.mean).bits])
    if not archive.strings:
        raise OptionError(f"time_limit = {time_limit} has passed before the function was called")
    best = archive.best(end)
    return BitsResult(
        solution=best.bits,
        value=sign * best.mean,
        standard_error=0.0 if samples == 1 else best.standard_error,
        samples=best.count,
        evaluations=archive.evaluations,
        strings=len(archive.strings),
        algorithm=f"Bayesian optimization algorithm ({'noise' if samples > 1 else 'options of it were given'})",
        subsets=[],
        edges=edges,
        status=Status.ITERATION_LIMIT if archive.left < 1 else status,
        run=result,
    )


def _climb(
    evaluator: Evaluator,
    n: int,
    sign: int,
    budget: int | None,
    seeds: ArrayLike | None,
    seed: int,
    time_limit: float | None,
    target: float | None = None,
    initial: Sequence[int] | None = None,
    archive: Archive | None = None,
    samples: int = 1,
) -> BitsResult:
    """The pyramid, until the target, a limit, or for lack of improvement; with an archive, of means of samples."""
    given = [np.atleast_2d(np.asarray(rows)) for rows in (initial, seeds) if rows is not None]
    first = np.concatenate(given) if given else None
    search = BitSearch(n, minimize=sign > 0, seed=seed, parallel=evaluator.width, seeds=first)
    end = math.inf if time_limit is None else time.monotonic() + time_limit
    evaluate: Callable[[NDArray[np.uint8]], NDArray[np.float64]] = evaluator
    if archive is None:
        until = evaluator.until = end
    else:
        evaluate, budget = archive.means, int(archive.left // samples)
        until = archive.until = end - _RESERVE * (time_limit or 0.0)
    improved, best = 0, search.best_value
    status = Status.FEASIBLE
    while target is None or best is None or sign * best > sign * target:
        if budget is not None and search.evaluations >= budget:
            status = Status.ITERATION_LIMIT
            break
        if time.monotonic() >= until:
            status = Status.TIME_LIMIT
            break
        if budget is None and is_stagnant(search, improved, target is not None):
            break
        strings = search.ask()
        if not len(strings):
            status = Status.OPTIMAL
            break
        if budget is not None and len(strings) > budget - search.evaluations:
            strings = strings[: budget - search.evaluations]
        values = evaluate(strings)
        search.tell(strings if len(values) == len(strings) else strings[: len(values)], values)
        if search.best_value != best:
            improved, best = search.evaluations, search.best_value
    if best is None or search.best is None:
        raise OptionError(f"time_limit = {time_limit} has passed before the function was called")
    found = None if archive is None else archive.best(end)
    return BitsResult(
        solution=search.best if found is None else found.bits,
        value=best if found is None else sign * found.mean,
        standard_error=0.0 if found is None else found.standard_error,
        samples=1 if found is None else found.count,
        evaluations=search.evaluations if archive is None else archive.evaluations,
        strings=search.evaluations if archive is None else len(archive.strings),
        algorithm=ALGORITHM,
        subsets=search.subsets(),
        edges=np.zeros((0, 2), np.int32),
        status=status,
        run=None,
    )


def _run(
    engine: Engine,
    archive: Archive,
    n: int,
    known: ArrayLike | None,
    seed: int,
    population: int | Literal["auto"],
    until: float,
    options: dict[str, Any],
) -> Result:
    """One run of the solver, which the archive stops once the budget is spent."""
    problem = BOA(archive, n, minimize=True, seeds=known, name="function of bits")
    archive.started.clear()
    left = None if until == math.inf else max(1e-3, until - time.monotonic())
    archive.run = engine.start(problem, seed=seed, population=population, time_limit=left, **options)
    archive.started.set()
    return archive.run.wait()


def _checked_samples(noise: bool | int, budget: int | None) -> int:
    """How often a good string is evaluated."""
    if not isinstance(noise, (bool, int, np.integer)) or (noise is not False and noise is not True and noise < 2):
        raise OptionError(f"noise must be True, False, or at least 2 evaluations of a good string; got {noise!r}")
    if noise is not False and budget is None:
        raise OptionError("noise needs a budget: how many evaluations may be made in total")
    if budget is not None and not isinstance(budget, (int, np.integer)):
        raise OptionError(f"budget must be a whole number of evaluations; got {budget!r}")
    least = 1 if noise is False else _LEAST_BUDGET
    if budget is not None and budget < least:
        raise OptionError(f"budget must be at least {least} evaluation{'s' * (least > 1)}; got {budget}")
    return 1 if noise is False else _SAMPLES if noise is True else int(noise)


def _population(n: int, budget: int | None, samples: int) -> int | str:
    """As many individuals as the budget suffices for in some generations, if there is one."""
    if budget is None:
        return "auto"
    strings = budget / (1 + GOOD * (samples - 1))
    generations = _GENERATIONS if samples == 1 else _GENERATIONS_WITH_NOISE
    return int(min(max(16, strings / generations), max(64, 8 * n)))
