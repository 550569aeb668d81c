"""``engine.solve_many``: many linear programs, those of equal shape in one go."""

from __future__ import annotations

import queue
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from engine.devices import Backend, Device, Member
from engine.errors import ProblemError
from engine.events import Progress
from engine.results import Result, Status
from engine.solvers.linprog.answer import Answer
from engine.solvers.linprog.certificates import LEAST_GOAL
from engine.solvers.linprog.forms import shard_data
from engine.solvers.linprog.interior import InteriorPoint
from engine.solvers.linprog.options import Options
from engine.solvers.linprog.prepare import Prepared, prepare
from engine.solvers.linprog.problem import LinearProgram
from engine.solvers.linprog.session import count, iterate, method_of
from engine.solvers.linprog.shard import shard_bytes
from engine.solvers.linprog.system import System
from engine.solvers.linprog.unified_shard import device_shard

if TYPE_CHECKING:
    from engine.api import Engine
    from engine.run import Observer

__all__ = ["solve_many"]

_TELL_SECONDS = 0.1


@dataclass(frozen=True)
class _Entry:
    """A program of a batch, and its place among all."""

    place: int
    prepared: Prepared


def solve_many(
    problems: Sequence[LinearProgram],
    *,
    backend: Backend | None = None,
    devices: Sequence[str] | None = None,
    on_event: Observer | Sequence[Observer] | None = None,
    **options: Any,
) -> list[Result]:
    """Solve many linear programs; dense ones of equal shape in one go on each device.

    Every step is taken by all programs of a batch together, by the method ``mpc`` (without centrality correctors) with
    batched products and factors. Nothing but fixed variables, and rows and columns without entries, is removed first,
    so programs that are alike stay so; those that are not of one shape then go in batches of their own.

    What a batch does not bring to an audited optimum is then solved by itself, one after the other, exactly as
    :func:`engine.solve` does: programs that are infeasible or unbounded (with their checked certificates), or hard.
    So are sparse programs, and all of them if the options ask for ``pdas`` or another linear solver than Cholesky
    factors.

    Parameters
    ----------
    problems : sequence of LinearProgram
    backend, devices : optional
        As for :func:`engine.solve`; the programs of a batch are shared out evenly.
    on_event : callable or sequence of callables, optional
        Called with an :class:`engine.events.Progress` (programs done, of all) some ten times a second, on this thread.
    **options
        The solver's own, as for :func:`engine.solve`.

    Returns
    -------
    list of Result
        In the order of the problems, each with the statuses, audit, arrays and certificates of a single solving. Of a
        program solved in a batch there is no ``history``, ``seconds`` is what the batch took, and ``factorizations``
        and ``refinements`` are the batch's.

    Raises
    ------
    engine.errors.ProblemError
        If an entry is not a linear program.
    engine.errors.OptionError
        If an option is unknown or not allowed.
    engine.errors.OutOfDeviceMemory
        If a device's share does not fit.
    """
    from engine import config
    from engine.api import Engine, _observers
    from engine.solvers import solver_named

    chosen: Any = config.solver_options(solver_named("linprog"), None, options)
    if isinstance(problems, LinearProgram):
        raise ProblemError("problems must be a sequence of linear programs; got a single one, for engine.solve")
    for place, problem in enumerate(problems):
        if not isinstance(problem, LinearProgram):
            raise ProblemError(f"entry {place} of problems must be a LinearProgram; got {type(problem).__name__}")
    teller = _Teller(len(problems), _observers(on_event))
    results: dict[int, Result] = {}
    with Engine(backend, devices) as owner:
        teller.tell(0)
        if chosen.method == "mpc" and chosen.linear_solver == "cholesky":
            for batch in _batches(problems, chosen):
                results |= _in_one_go(owner, batch, chosen, teller)
        for place, problem in enumerate(problems):
            if place not in results:
                results[place] = owner.solve(problem, **options)
                teller.add(1)
    return [results[place] for place in range(len(problems))]


class _Teller:
    """Tells how many programs are done."""

    def __init__(self, total: int, observers: Sequence[Observer]) -> None:
        self._total = total
        self._observers = observers
        self._began = time.monotonic()
        self._told_at = -np.inf
        self.done = 0

    def add(self, count: int) -> None:
        """So many more are done."""
        self.tell(self.done + count)

    def tell(self, done: int) -> None:
        """So many are done."""
        self.done = done
        now = time.monotonic()
        if now - self._told_at >= _TELL_SECONDS or done >= self._total:
            self._told_at = now
            event = Progress(time=now - self._began, phase="programs", done=done, total=self._total, unit="programs")
            for observer in self._observers:
                observer(event)


def _batches(problems: Sequence[LinearProgram], options: Options) -> Iterator[list[_Entry]]:
    """Dense programs that preparation does not settle, by their shape in standard form."""
    batches: dict[Any, list[_Entry]] = {}
    for place, problem in enumerate(problems):
        prepared = None if problem.is_sparse else prepare(problem, presolve=False, scale=options.scale)
        if isinstance(prepared, Prepared) and prepared.standard.m and prepared.standard.n:
            standard = prepared.standard
            key = (standard.m, standard.n, standard.sign.tobytes())
            batches.setdefault(key, []).append(_Entry(place, prepared))
    yield from batches.values()


def _in_one_go(owner: Engine, batch: list[_Entry], options: Options, teller: _Teller) -> dict[int, Result]:
    """The optima of a batch, by place; those without are left out."""
    pool = owner._open()
    began = time.perf_counter()
    shares = [batch[rank :: len(pool)] for rank in range(min(len(pool), len(batch)))]
    members = pool.members[: len(shares)]
    sizes = [_share_bytes(share) for share in shares]
    pool.require_memory(
        {member.label: needed for member, (needed, _) in zip(members, sizes, strict=True)},
        "the batch",
        "give fewer programs at once, or add devices",
        largest=max(largest for _, largest in sizes),
    )
    before = teller.done
    found: queue.SimpleQueue[int] = queue.SimpleQueue()
    tasks: list[Future[dict[int, Result]]] = [
        member.submit(_solve_share, share, options, needed, found.put)
        for member, share, (needed, _) in zip(members, shares, sizes, strict=True)
    ]
    results: dict[int, Result] = {}
    for done in _counted(tasks, found):
        teller.tell(before + done)
    for task in tasks:
        results |= task.result()
    seconds = time.perf_counter() - began
    return {
        place: replace(result, seconds=seconds, backend=owner.backend, devices=_labels(pool.members))
        for place, result in results.items()
    }


def _labels(members: Sequence[Member]) -> tuple[str, ...]:
    return tuple(member.label for member in members)


def _counted(tasks: Sequence[Future[Any]], found: queue.SimpleQueue[int]) -> Iterator[int]:
    """How many were found so far, again and again until all the tasks have ended."""
    for task in tasks:
        task.add_done_callback(lambda _: found.put(0))
    done = 0
    while not all(task.done() for task in tasks) or not found.empty():
        done += found.get()
        yield done


def _share_bytes(share: list[_Entry]) -> tuple[int, int]:
    standard = share[0].prepared.standard
    return shard_bytes(len(share), standard.m, standard.n, int((standard.sign != 0).sum()), None)


def _solve_share(
    device: Device, share: list[_Entry], options: Options, device_bytes: int, tell: Callable[[int], None]
) -> dict[int, Result]:
    """A share on the device's thread; ``tell`` is given how many more optima were found, after each slice."""
    standards = [entry.prepared.standard for entry in share]
    data = shard_data(standards)
    provider = None if options.provider == "auto" else options.provider
    shard = device_shard(device, data, provider)
    try:
        system = System(data, [shard])
        with shard.together():
            method = method_of(system, np.stack([standard.b for standard in standards]), options)
            method.start()
            answers, iterations = _optima(share, method, options, tell)
    finally:
        shard.close()
    results = {}
    for k, answer in answers.items():
        counters: dict[str, int | float] = {"iterations": 0, "factorizations": 0, "refinements": 0}
        count(counters, system, method)
        counters["iterations"] = int(iterations[k])
        counters |= {"rows": data.m, "variables": data.n, "device_bytes": device_bytes}
        problem = share[k].prepared.problem
        result = answer.result(problem, options, Status.ITERATION_LIMIT, counters)
        if result.status is Status.OPTIMAL:
            results[share[k].place] = result
    return results


def _optima(
    share: list[_Entry], method: InteriorPoint, options: Options, tell: Callable[[int], None]
) -> tuple[dict[int, Answer], NDArray[np.int64]]:
    """The audited points of the programs that come to an end, and the iterations each took."""
    answers: dict[int, Answer] = {}
    iterations = np.zeros(len(share), np.int64)
    settled = np.zeros(len(share), bool)

    def note(_: object) -> None:
        iterations[~(method.done | method.stuck)] = method.state.iteration + 1

    while True:
        iterate(method, options.max_iterations, note)
        news = method.done & ~settled
        if news.any():
            x = method.system.get_point()[0]
            for k in np.flatnonzero(news).tolist():
                prepared = share[k].prepared
                answers[k] = Answer.of(prepared, x[k, : prepared.standard.n], method.state.y[k])
                settled[k] = answers[k].audit.error <= options.tolerance or method.goal[k] <= LEAST_GOAL
                if not settled[k]:  # good enough in standard form, not for the program as given
                    method.goal[k] *= 0.1
            tell(int((news & settled).sum()))
        if (settled | method.stuck).all() or method.state.iteration >= options.max_iterations:
            return answers, iterations
