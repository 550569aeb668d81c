"""``engine.solve_many``: many linear programs, those of equal shape together on each device."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Unpack, overload

import numpy as np
from numpy.typing import ArrayLike

from ..api.engine import Engine
from ..api.map import BatchProgress
from ..base.result import Result
from ..devices import Backend
from ..errors import OptionError, ProblemError
from ..runs.publisher import as_observers
from ..settings import config
from ..solvers import solver_named
from ..solvers.linprog.batches.family import VARYING, Family
from ..solvers.linprog.batches.results import FamilyResult, Solved
from ..solvers.linprog.batches.solve import solve_family, solved_by_highs
from ..solvers.linprog.batches.together import fits
from ..solvers.linprog.problem import LinearProgram

if TYPE_CHECKING:
    from ..api.option_types import LinearProgramOptions
    from ..runs.publisher import Observer

    class _Arguments(LinearProgramOptions, total=False):
        backend: Backend | None
        devices: Sequence[str] | None
        engine: Engine | None
        on_event: Observer | Sequence[Observer] | None

    class _Varying(_Arguments, total=False):
        c: ArrayLike | None
        b_ub: ArrayLike | None
        b_eq: ArrayLike | None
        row_lower: ArrayLike | None
        row_upper: ArrayLike | None
        lower: ArrayLike | None
        upper: ArrayLike | None


_MADE_DENSE = 40_000  # entries, zeros counted, up to which sparse programs are solved together as dense ones
_FAMILY = 8  # programs of one shape from which they are solved together


@overload
def solve_many(problems: Sequence[LinearProgram], **arguments: Unpack[_Arguments]) -> list[Result]: ...


@overload
def solve_many(problems: LinearProgram, **arguments: Unpack[_Varying]) -> FamilyResult: ...


def solve_many(
    problems: Sequence[LinearProgram] | LinearProgram,
    *,
    c: ArrayLike | None = None,
    b_ub: ArrayLike | None = None,
    b_eq: ArrayLike | None = None,
    row_lower: ArrayLike | None = None,
    row_upper: ArrayLike | None = None,
    lower: ArrayLike | None = None,
    upper: ArrayLike | None = None,
    backend: Backend | None = None,
    devices: Sequence[str] | None = None,
    engine: Engine | None = None,
    on_event: Observer | Sequence[Observer] | None = None,
    **options: Unpack[LinearProgramOptions],
) -> list[Result] | FamilyResult:
    """Solve many linear programs: a list, or one with vectors that vary; small ones of equal shape together.

    Eight or more dense programs of one shape of up to 128 rows and 4096 variables (up to 256 rows, where the square of
    the rows times the variables is at most 2^25), and sparse ones of up to 40 000 entries, zeros counted, are solved by
    one work-group each, from Mehrotra's starting point to the end: the method ``mpc`` without centrality correctors.
    Only fixed variables, and rows and columns without entries, are removed first. Those that do not reach an audited
    optimum in this way, because they are infeasible, unbounded or hard, are solved by HiGHS on the host, with audits
    and checked certificates, unless ``method`` is given. All others are solved one after the other, as
    :func:`engine.solve` does. So are all programs if the options ask for another method, linear solver or provider, a
    basis, or an initial point.

    Parameters
    ----------
    problems : sequence of LinearProgram, or LinearProgram
        With one program, at least one of the following arrays says what differs; everything else is the program's.
    c, lower, upper : array-like, shape (k, n), optional
        Costs and bounds of k programs; infinite where there is no bound.
    b_ub, b_eq : array-like, shapes (k, m_ub) and (k, m_eq), optional
        Right-hand sides.
    row_lower, row_upper : array-like, shape (k, m), optional
        Sides of all rows, for programs that were read from files.
    backend, devices : optional
        As for :func:`engine.solve`; the programs of a batch are distributed evenly.
    engine : Engine, optional
        An engine whose devices are used instead: to open a GPU takes longer than many batches.
    on_event : callable or sequence of callables, optional
        Called with an :class:`engine.events.Progress` (programs done, of all) some ten times a second, on this thread.
    **options
        The solver's own, as for :func:`engine.solve`.

    Returns
    -------
    list of Result, or FamilyResult
        In the order of the problems, each with the statuses, audit, arrays and certificates of a single solving. A
        program solved in a batch has no ``history``; ``seconds`` counts the whole batch. For one program with arrays a
        sequence that has all results as arrays, too: ``status``, ``objective`` (k,), ``solution`` (k, n), ``row_duals``
        (k, m), ...

    Raises
    ------
    engine.errors.ProblemError
        If an entry is not a linear program, or an array does not fit.
    engine.errors.OptionError
        If an option is unknown or not allowed.
    engine.errors.OutOfDeviceMemory
        If a device's share does not fit.

    Examples
    --------
    >>> import engine
    >>> problem = engine.LinearProgram([-1, -2], A_ub=[[1, 1], [1, 3]], b_ub=[4, 6])
    >>> found = engine.solve_many(problem, b_ub=[[4, 6], [4, 12]])
    >>> found.objective.round(6)
    array([-5., -8.])
    >>> [round(result.objective, 6) for result in engine.solve_many([problem, problem])]
    [-5.0, -5.0]
    """
    chosen: Any = config.solver_options(solver_named("linprog"), None, options)
    varying = dict(zip(VARYING, (c, b_ub, b_eq, row_lower, row_upper, lower, upper), strict=True))
    varied = [name for name, array in varying.items() if array is not None]
    if isinstance(problems, LinearProgram):
        if problems.integrality is not None:
            raise ProblemError("arrays vary programs of continuous variables; give a sequence of programs, or relax it")
        family = Family.varied(problems, varying, dense=fits(problems.m, problems.n))
        report = BatchProgress(len(family), as_observers(on_event), "programs")
        with _owner(engine, backend, devices) as owner:
            return _solved_family(owner, family, chosen, {**options}, report)
    if varied:
        raise ProblemError(f"{', '.join(varied)} vary one program; got a sequence of programs")
    for index, problem in enumerate(problems):
        if not isinstance(problem, LinearProgram):
            raise ProblemError(f"entry {index} of problems must be a LinearProgram; got {type(problem).__name__}")
    report = BatchProgress(len(problems), as_observers(on_event), "programs")
    with _owner(engine, backend, devices) as owner:
        return _solved_list(owner, problems, chosen, {**options}, report)


def _owner(
    engine: Engine | None, backend: Backend | None, devices: Sequence[str] | None
) -> contextlib.AbstractContextManager[Engine]:
    """The engine given, or one that is closed at the end."""
    if engine is None:
        return Engine(backend, devices)
    if backend is not None or devices is not None:
        raise OptionError("an engine has devices of its own; give either engine, or backend and devices")
    if type(engine) is not Engine:
        raise OptionError("programs are solved together on devices of this process; got the engine of a cluster")
    return contextlib.nullcontext(engine)


def _by_highs(
    programs: Mapping[int, Callable[[], LinearProgram]], options: Any, solved: Solved
) -> Iterator[tuple[int, Result]]:
    """What HiGHS finds for programs that the kernel for many programs has left, if any method may be used."""
    if options.method == "auto" and programs:
        for index, result in solved_by_highs(programs, options):
            yield index, replace(result, backend=solved.backend, devices=solved.devices)


def _together(options: Any) -> bool:
    """Whether the options leave programs to be solved together."""
    alone = options.basis or options.ranging or options.initial is not None or options.provider != "auto"
    return options.method in ("auto", "mpc") and options.linear_solver in ("auto", "cholesky") and not alone


def _families(problems: Sequence[LinearProgram]) -> list[list[int]]:
    """Indices of programs of one shape that the kernel for many programs takes."""
    shapes: dict[tuple[int, int], list[int]] = {}
    for index, problem in enumerate(problems):
        dense = not problem.is_sparse or problem.m * problem.n <= _MADE_DENSE
        if problem.integrality is None and dense and fits(problem.m, problem.n):
            shapes.setdefault((problem.m, problem.n), []).append(index)
    return [indices for indices in shapes.values() if len(indices) >= _FAMILY]


def _solved_list(
    owner: Engine, problems: Sequence[LinearProgram], chosen: Any, options: dict[str, Any], report: BatchProgress
) -> list[Result]:
    """All programs of a list: families first, then what is left one after the other."""
    results: dict[int, Result] = {}
    report.at(0)
    if _together(chosen):
        for indices in _families(problems):
            family = Family.of([problems[index].to_dense() for index in indices])
            with owner.exclusive() as pool:
                solved = solve_family(pool, family, chosen, owner.backend, report.within)
            good = np.flatnonzero(solved.good)
            results |= zip([indices[place] for place in good.tolist()], solved.results(good), strict=True)
            report.at(len(results))
            left = [indices[place] for place in np.flatnonzero(~solved.good).tolist()]
            makers = {index: functools.partial(problems.__getitem__, index) for index in left}
            for index, result in _by_highs(makers, chosen, solved):
                results[index] = result
                report.at(len(results))
    for index, problem in enumerate(problems):
        if index not in results:
            results[index] = owner.solve(problem, **options)
            report.at(len(results))
    return [results[index] for index in range(len(problems))]


def _solved_family(
    owner: Engine, family: Family, chosen: Any, options: dict[str, Any], report: BatchProgress
) -> FamilyResult:
    """All programs of a family: those that the kernel for many programs does not solve, one after the other."""
    report.at(0)
    others: dict[int, Result] = {}
    small = fits(family.row_lower.shape[1], family.c.shape[1])
    if small and _together(chosen):
        with owner.exclusive() as pool:
            solved = solve_family(pool, family, chosen, owner.backend, report.at)
        left = np.flatnonzero(~solved.good).tolist()
        makers = {index: functools.partial(family.program, index) for index in left}
        for index, result in _by_highs(makers, chosen, solved):
            others[index] = result
    else:
        solved = Solved.none(family)
    done = int(solved.good.sum())
    for index in np.flatnonzero(~solved.good).tolist():
        if index not in others:
            others[index] = owner.solve(family.program(index), **options)
        report.at(done + len(others))
    report.at(len(family))
    return FamilyResult(solved, others)
