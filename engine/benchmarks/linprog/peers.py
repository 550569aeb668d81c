"""Other solvers with their own settings, for benchmarks: each in processes of its own, or HiGHS here."""

import importlib
import json
import math
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal, Protocol

from ...devices.host import host_cores
from ...errors import OptionError
from ...solvers.linprog.highs import child
from ...solvers.linprog.highs.model import model_of
from ...solvers.linprog.highs.presolve import has_hipo
from ...solvers.linprog.highs.process import ChildError, ChildProcess
from ...solvers.linprog.highs.threads import start_thread
from ...solvers.linprog.problem import LinearProgram
from ...util import processes
from ...util.quirks.highspy_banner import quiet_highs

HighsSolver = Literal["choose", "simplex", "ipm"]
_GRACE = 10.0  # seconds after its limit at which a process is ended
_OPTIMAL, _DENIED = 1, (2, 3, 11)  # of cuOpt's statuses: infeasible, unbounded, one of them
_CONCURRENT, _PDLP, _BARRIER = 0, 1, 3  # of its methods


@dataclass(frozen=True)
class Answer:
    """What a solver took, and what it claims: an optimum, inf if there is none; None within its limit.

    ``ended``: it gave no answer.
    """

    seconds: float
    claimed: float | None = None
    ended: bool = False

    def __str__(self) -> str:
        return f"{self.seconds:.2f}" if self.claimed is not None else f"> {self.seconds:.0f}"


def highs(problem: LinearProgram, solver: HighsSolver, limit: float, threads: int) -> Answer:
    """Solve with HiGHS here; the model is handed over before the clock starts."""
    highspy: Any = importlib.import_module("highspy")
    lp = child.to_highs(model_of(problem))
    sign = -1.0 if problem.maximize else 1.0
    parallel = "on" if threads > 1 else "off"
    model = quiet_highs(solver=solver, time_limit=limit, threads=threads, parallel=parallel)
    model.resetGlobalScheduler(True)  # it keeps its first number of threads otherwise, and refuses another
    model.passModel(lp)
    began = time.perf_counter()
    status = model.run()
    seconds = time.perf_counter() - began
    if status == highspy.HighsStatus.kError:
        raise RuntimeError(f"HiGHS could not run with {threads} threads")
    solved = model.getModelStatus() == highspy.HighsModelStatus.kOptimal
    return Answer(seconds, sign * float(model.getInfo().objective_function_value) if solved else None)


def highs_apart(problem: LinearProgram, solver: str, limit: float, threads: int) -> Answer:
    """Solve with HiGHS in a process of its own, by its own clock; the process is ended if it overruns its limit."""
    options = {"solver": solver, "time_limit": limit, "threads": threads, "parallel": "on" if threads > 1 else "off"}
    with ChildProcess() as process:
        try:
            found = process.request("solve", model_of(problem), options).result(limit + _GRACE)
        except (TimeoutError, ChildError):
            return Answer(limit, ended=True)
    sign = -1.0 if problem.maximize else 1.0
    claimed = math.inf if found["status"] in child.NO_OPTIMUM else None
    claimed = sign * float(found["objective"]) if found["status"] == "optimal" else claimed
    return Answer(min(limit, float(found["seconds"])), claimed)


class Peer(Protocol):
    """Another solver; those of one ``lane`` work one after another, beside those of other lanes; None: alone."""

    name: str
    lane: str | None

    def solve(self, problem: LinearProgram, path: Path, limit: float) -> Answer:
        """Solve a program that is also in an MPS file."""

    def close(self) -> None:
        """End its processes."""


@dataclass
class _Highs:
    name: str
    solver: str
    threads: int
    lane: str | None

    def solve(self, problem: LinearProgram, path: Path, limit: float) -> Answer:
        return highs_apart(problem, self.solver, limit, self.threads)

    def close(self) -> None: ...


@dataclass
class _CuOpt:
    name: str
    folder: Path
    method: int
    tolerance: float
    lane: str | None
    _process: processes.ChildProcess | None = None

    def solve(self, problem: LinearProgram, path: Path, limit: float) -> Answer:
        first = self._process is None
        found = self._ask(path, limit)
        if first:  # the device is opened and libraries are loaded by a first solve
            found = self._ask(path, limit)
        if found is None or found["status"] < 0:
            return Answer(limit, ended=True)
        claimed = math.inf if found["status"] in _DENIED else None
        return Answer(found["seconds"], found["objective"] if found["status"] == _OPTIMAL else claimed)

    def _ask(self, path: Path, limit: float) -> dict[str, Any] | None:
        if self._process is None:
            words = [sys.executable, str(Path(__file__).with_name("cuopt_child.py")), str(self.folder)]
            self._process = processes.ChildProcess(words, stderr=subprocess.DEVNULL)
        process = self._process
        request = {"path": str(path), "method": self.method, "tolerance": self.tolerance, "limit": limit}
        try:
            process.stdin.write((json.dumps(request) + "\n").encode())
            process.stdin.flush()
            line: Future[bytes] = start_thread(process.stdout.readline)
            answer: dict[str, Any] = json.loads(line.result(limit + _GRACE))
            return answer
        except (OSError, ValueError, TimeoutError):  # it has ended, or does not heed its limit
            self.close()
            return None

    def close(self) -> None:
        if self._process is not None:
            self._process.end()
            self._process = None


@dataclass
class _CuPdlpx:
    name: str
    program: Path
    tolerance: float
    lane: str | None

    def solve(self, problem: LinearProgram, path: Path, limit: float) -> Answer:
        words = [str(self.program.resolve()), "--time_limit", str(limit)]  # a bare name would be sought on the PATH
        words += ["--eps_opt", str(self.tolerance), "--eps_feas", str(self.tolerance), str(path)]
        with TemporaryDirectory() as folder:
            try:
                subprocess.run([*words, folder], capture_output=True, timeout=limit + _GRACE, check=True)
                summary = next(Path(folder).glob("*_summary.txt")).read_text(encoding="utf-8")
            except (OSError, StopIteration, subprocess.SubprocessError):
                return Answer(limit, ended=True)
        found = dict(line.split(": ", 1) for line in summary.splitlines() if ": " in line)
        reason = found["Termination Reason"].strip()
        claimed = math.inf if reason.endswith("INFEASIBLE") else None
        sign = -1.0 if problem.maximize else 1.0  # it minimizes, and prints the value of that
        claimed = sign * float(found["Primal Objective Value"]) if reason == "OPTIMAL" else claimed
        return Answer(float(found["Runtime (sec)"]), claimed)

    def close(self) -> None: ...


def peers(threads: int, cuopt: Path | None, cupdlpx: Path | None) -> Iterator[Peer]:
    """HiGHS's methods, HiPO with so many threads, and what else there is; what takes one core may work side by side."""
    lane = {"simplex": "simplex", "ipx": "ipx", "device": "device"} if host_cores() >= 8 else {}
    if threads:
        yield _Highs("HiGHS simplex", "simplex", 1, lane.get("simplex"))
        yield _Highs("HiGHS IPX", "ipx", 1, lane.get("ipx"))
        if has_hipo():
            yield _Highs("HiGHS HiPO", "hipo", threads, None)
    if cuopt is not None:
        if not any(cuopt.glob("libcuopt*/lib64/libcuopt*.so")):
            raise OptionError(f"{cuopt} has no library of cuOpt, libcuopt*/lib64/libcuopt*.so")
        make = partial(_CuOpt, folder=cuopt)
        yield make("cuOpt", method=_CONCURRENT, tolerance=1e-8, lane=None)
        yield make("cuOpt barrier", method=_BARRIER, tolerance=1e-8, lane=None)
        yield make("cuOpt PDLP 1e-4", method=_PDLP, tolerance=1e-4, lane=lane.get("device"))
        yield make("cuOpt PDLP 1e-8", method=_PDLP, tolerance=1e-8, lane=lane.get("device"))
    if cupdlpx is not None:
        yield _CuPdlpx("cuPDLPx 1e-4", cupdlpx, 1e-4, lane.get("device"))
        yield _CuPdlpx("cuPDLPx 1e-8", cupdlpx, 1e-8, lane.get("device"))
