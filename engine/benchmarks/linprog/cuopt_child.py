"""cuOpt's C library in a process of its own: a line on standard input is a request, one on standard output an answer.

``python cuopt_child.py FOLDER``: the folder that the wheels of cuOpt are installed in, as ``site-packages``. A request
is a JSON object: ``path`` of an MPS file, ``method`` (0 concurrent, 1 PDLP, 2 dual simplex, 3 barrier), ``tolerance``
(0 for cuOpt's own) and ``limit`` in seconds. The answer has ``status`` (1: optimal), ``objective`` and ``seconds``.
"""

import ctypes
import json
import math
import os
import sys
import time
from pathlib import Path
from typing import Any

_TOLERANCES = [
    f"{kind}_{of}_tolerance".encode() for kind in ("absolute", "relative") for of in ("primal", "dual", "gap")
]


def _library(folder: Path) -> ctypes.CDLL:
    for pattern in ("rapids_logger/lib64/*.so", "librmm/lib64/*.so"):
        for path in folder.glob(pattern):
            ctypes.CDLL(str(path), mode=ctypes.RTLD_GLOBAL)
    found = [path for name in ("_mathopt", "") for path in sorted(folder.glob(f"libcuopt*/lib64/libcuopt{name}.so"))]
    return ctypes.CDLL(str(found[0]), mode=ctypes.RTLD_GLOBAL)


def _solve(library: ctypes.CDLL, path: str, method: int, tolerance: float, limit: float) -> dict[str, Any]:
    problem, settings, solution = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
    if library.cuOptReadProblem(path.encode(), ctypes.byref(problem)):
        return {"status": -1, "objective": None, "seconds": 0.0}
    library.cuOptCreateSolverSettings(ctypes.byref(settings))
    library.cuOptSetIntegerParameter(settings, b"method", method)
    library.cuOptSetIntegerParameter(settings, b"log_to_console", 0)
    library.cuOptSetFloatParameter(settings, b"time_limit", ctypes.c_double(limit))
    for name in _TOLERANCES if tolerance else ():
        library.cuOptSetFloatParameter(settings, name, ctypes.c_double(tolerance))
    began = time.perf_counter()
    error = library.cuOptSolve(problem, settings, ctypes.byref(solution))
    seconds = time.perf_counter() - began
    status, objective = ctypes.c_int(-1), ctypes.c_double(math.nan)
    if not error:
        library.cuOptGetTerminationStatus(solution, ctypes.byref(status))
        library.cuOptGetObjectiveValue(solution, ctypes.byref(objective))
    library.cuOptDestroySolution(ctypes.byref(solution))
    library.cuOptDestroySolverSettings(ctypes.byref(settings))
    library.cuOptDestroyProblem(ctypes.byref(problem))
    value = objective.value if math.isfinite(objective.value) else None
    return {"status": status.value, "objective": value, "seconds": seconds}


def _serve() -> None:
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what the library prints is no answer
    library = _library(Path(sys.argv[1]))
    for line in sys.stdin:
        print(json.dumps(_solve(library, **json.loads(line))), file=answers, flush=True)


if __name__ == "__main__":
    _serve()
