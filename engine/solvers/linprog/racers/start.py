"""Which methods take part in a race."""

from __future__ import annotations

from engine.devices import Member
from engine.run import Run
from engine.solvers.linprog.highs.process import ChildError
from engine.solvers.linprog.pdhg import pdhg_bytes
from engine.solvers.linprog.problem import LinearProgram
from engine.solvers.linprog.racers.base import Racer, host_cores
from engine.solvers.linprog.racers.highs import HighsRacer, HighsTrial

__all__ = ["TRIAL_WAIT", "pdhg_takes_part", "start_highs"]

TRIAL_WAIT = 0.25
"""Seconds that our methods wait for HiGHS's trial in this process, where they would compute on the same cores."""
_TRIAL_SECONDS = 0.6  # time limit of the trial
_TRIAL_NONZEROS = 200_000  # of the programs that it tries
_IPM_CORES = 4  # cores from which HiGHS's interior-point method takes part
_PDHG_CORES = 8  # cores from which PDHG takes part on a device that computes on the host's cores


def start_highs(problem: LinearProgram, tolerance: float, trial: bool, run: Run) -> list[Racer]:
    """Start HiGHS in child processes and, for a ``trial``, in this one: a small program is solved before they work."""
    racers: list[Racer] = []
    for solver in ("simplex", "ipm") if host_cores() >= _IPM_CORES else ("simplex",):
        try:
            racers.append(HighsRacer(problem, solver, tolerance))
        except ChildError as error:
            run.notice(str(error), level="warning")
    if trial and problem.nonzeros <= _TRIAL_NONZEROS:
        racers.append(HighsTrial(problem, tolerance, _TRIAL_SECONDS))
    return racers


def pdhg_takes_part(program: LinearProgram, member: Member) -> bool:
    """Whether PDHG takes part in a race on this device."""
    info = member.info
    if info.capabilities.shares_host_cores and host_cores() < _PDHG_CORES:
        return False
    needed, largest = pdhg_bytes(program.m, program.n, program.nonzeros)
    return needed <= member.memory().free and largest <= info.max_allocation
