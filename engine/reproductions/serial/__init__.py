"""The papers' serial algorithms in C, compiled by the C compiler that is found: peers of one thread."""

import ctypes
import functools
import math
import shutil
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

FLAGS = ("-O2", "-std=c99", "-shared", "-fPIC")
NO_COMPILER = "there is no C compiler on this machine, or none that works"
_HERE = Path(__file__).parent
_DOUBLE, _INT = ctypes.c_double, ctypes.c_int

Floats = NDArray[np.float64]
Edges = Literal["new permutations", "no cycles", "one permutation"]


@functools.cache
def compiler() -> str | None:
    """The C compiler and its version, as it reports them; None if there is none, or none that can link a program."""
    path = _compiler_path()
    if path is None:
        return None
    try:
        _library("knapsack")
    except (OSError, subprocess.CalledProcessError):
        return None
    found = subprocess.run([path, "--version"], capture_output=True, text=True, check=False)
    return (found.stdout.splitlines() or [path])[0].strip()


def _compiler_path() -> str | None:
    return next((found for name in ("gcc", "cc", "clang") if (found := shutil.which(name))), None)


@functools.cache
def _library(name: str) -> Any:
    """The program ``name``, compiled into a folder that is removed when the process ends."""
    path = _compiler_path()
    if path is None:
        raise RuntimeError("there is no C compiler (gcc, cc or clang)")
    target = Path(_folder().name) / f"{name}.so"
    subprocess.run([path, *FLAGS, "-o", str(target), str(_HERE / f"{name}.c"), "-lm"], check=True, capture_output=True)
    return ctypes.CDLL(str(target))


@functools.cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="quintet-serial-", ignore_cleanup_errors=True)


def _at(array: NDArray[Any] | None) -> ctypes.c_void_p:
    return ctypes.c_void_p(None if array is None else array.ctypes.data)


@dataclass(frozen=True)
class BOARun:
    """The best fitness of a run, and its CPU seconds: those of the networks, and all."""

    best: int
    learning: float
    seconds: float


def run_boa(n: int, population: int, generations: int, edges: Edges, max_parents: int = 3, seed: int = 1) -> BOARun:
    """BOA on n / 5 traps of 5 bits: the better half is kept, the other half sampled."""
    seconds = np.zeros(2)
    rule = get_args(Edges).index(edges)
    arguments = n, population, population // 2, max_parents, generations, rule, ctypes.c_uint64(seed)
    best = _library("boa").run(*arguments, _at(seconds))
    return BOARun(best, float(seconds[0]), float(seconds[1]))


def learn_network(
    chosen: NDArray[np.uint8], max_parents: int, order: NDArray[np.int32] | None
) -> tuple[list[list[int]], float]:
    """The parents of each gene, learned from individuals of shape (S, n), and the K2 metric."""
    count, n = chosen.shape
    genes = np.ascontiguousarray(chosen.T)
    parents, used = np.zeros((n, max_parents), np.int32), np.zeros(n, np.int32)
    learn = _library("boa").learn
    learn.restype = _DOUBLE
    metric = learn(n, count, max_parents, _at(genes), _at(order), _at(parents), _at(used))
    return [row[:size].tolist() for row, size in zip(parents, used, strict=True)], float(metric)


def knapsack_rows(
    weights: NDArray[np.int64], profits: NDArray[np.int64], capacity: int, seconds: float = math.inf
) -> tuple[int | None, float]:
    """The optimal value by the paper's Algorithm 1, and CPU seconds; after ``seconds`` None, and the rest estimated."""
    w, p = weights.astype(np.int32), profits.astype(np.int32)
    later = int(weights.sum()) - np.cumsum(weights)
    cells = np.maximum(0, capacity + 1 - np.maximum(capacity - later, weights))
    table = np.zeros(capacity + 1, np.int32)
    program = _library("knapsack").dynamic_program

    def advance(first: int, last: int) -> tuple[int, float]:
        began = time.process_time()
        value = program(len(w), _at(w), _at(p), capacity, first, last, _at(table))
        return value, time.process_time() - began

    some = min(len(w), 1 + int(2e7 / max(1, capacity)))
    spent: list[float] = []
    for first in range(0, len(w), some):
        if spent and sum(spent) > seconds:
            rates = np.array(spent) / np.add.reduceat(cells[:first], range(0, first, some))
            return None, float(np.median(rates) * cells.sum())
        value, taken = advance(first, min(len(w), first + some))
        spent.append(taken)
    return value, sum(spent)


def queens(n: int) -> tuple[int, int, float]:
    """All solutions of n queens, the nodes decomposed in the left half of the first row, and CPU seconds."""
    found, count = np.zeros(2, np.int64), _library("queens").count
    began = time.process_time()
    count(n, _at(found))
    return int(found[0]), int(found[1]), time.process_time() - began


@dataclass(frozen=True)
class Solved:
    """What a serial solver of linear programs found."""

    gap: float
    iterations: int
    normal: float  # CPU seconds of the normal equations
    seconds: float  # of all iterations
    setup: float  # before the first
    objective: float


def _solved(found: Floats, objective: float, gap: float) -> Solved:
    return Solved(gap, int(found[1]), float(found[2]), float(found[3] - found[4]), float(found[4]), objective)


def affine_scaling(
    program: tuple[Floats, Floats, Floats],
    start: tuple[Floats, Floats, Floats],
    step: float,
    linear_solver: Literal["cholesky", "updates"],
    tolerance: float = 1e-8,
    iterations: int = 200,
) -> Solved:
    """Primal-dual affine scaling as in the paper."""
    (A, b, c), (x, y, s) = map(np.ascontiguousarray, program), (part.copy() for part in start)
    found, updates = np.zeros(5), int(linear_solver == "updates")
    arguments = *map(_at, (A, b, c, x, y, s)), _DOUBLE(step), updates, _DOUBLE(tolerance), iterations
    _library("linear_programs").affine_scaling(*A.shape, *arguments, _at(found))
    return _solved(found, float(c @ x), float(found[0]))


def predictor_corrector(
    program: tuple[Floats, Floats, Floats], start: tuple[Floats, Floats, Floats], tolerance: float = 1e-8
) -> Solved:
    """Mehrotra's predictor-corrector method; parameters as :func:`affine_scaling`."""
    (A, b, c), (x, y, s) = map(np.ascontiguousarray, program), (part.copy() for part in start)
    found = np.zeros(5)
    arguments = *map(_at, (A, b, c, x, y, s)), _DOUBLE(tolerance), 200
    _library("linear_programs").predictor_corrector(*A.shape, *arguments, _at(found))
    return _solved(found, float(c @ x), float(found[0]))


def simplex(program: tuple[Floats, Floats, Floats]) -> Solved:
    """The two-phase simplex method on a dense tableau; the objective is NaN if it finds no optimum."""
    A, b, c = map(np.ascontiguousarray, program)
    found = np.zeros(5)
    _library("linear_programs").simplex(*A.shape, _at(A), _at(b), _at(c), 1_000_000, _at(found))
    return _solved(found, float(found[0]), 0.0)
