"""Knapsack problems by bounds, a core search, and dynamic programming over one or several devices.

After Boyer, El Baz, Elkihel, *Dense dynamic programming on multi GPU*, and *Solving knapsack problems on GPU*
(Computers & Operations Research 39, 2012). Equal weights fused in registers after the observation of Huang and Chou,
J. Supercomputing 78 (2022) 13653, that items of one weight only connect cells of one residue. Where each step is:

- the run, step by step, and the audit of its answer: ``solve``
- items with counts as packs of a 0/1 problem: ``bounded``; bounds, and items fixed by them: ``presolve``, ``bounds``
- search of a growing core on the host: ``core``; HiGHS for a few integers: ``mip/``
- which table solves the rest: ``choose_table`` of ``validate``
- the paper's dense table: items in groups and ranges of capacities (``dense/schedule``), sweeps over devices
  (``dense/sweep``) with ``rows.mako``, ``tiles.mako``, ``classes.mako``, ``windows.mako``, and the items found
  (``dense/backtrack``) with ``trace.mako``
- the sparse table of tiles where a state can still win: ``sparse/passes``, ``sparse/worker``, with ``sparse.mako`` and
  ``sparse_advance.mako``
- a bit for each capacity: ``bits``; many small problems at once: ``batch``, with ``batch.mako``
- multiple choice: ``choice/``; several constraints: ``constraints/``, with ``branch.mako``
- rules before a run: ``validate``; checkpoints: ``checkpoint``; kernels and their constants: ``programs``
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ...base.solver import Generator, LazyImport, MetricSpec, Reproduction, Solver
from ...util.paths import PACKAGE
from .choice.problems import MultipleChoiceKnapsack
from .constraints.problem import MultidimensionalKnapsack
from .options import ChoiceOptions, ConstraintOptions, Options
from .problem import Knapsack
from .schema import SCHEMA

if TYPE_CHECKING:
    from types import ModuleType

    from ...base.batch import BatchControl
    from ...base.context import RunContext
    from ...base.result import Result
    from ...devices import DeviceInfo, DevicePool
    from ...devices.kernels.variants import Variant

__all__ = ["SOLVER", "kernel_variants"]

_CHOICE = f"{PACKAGE}.generators.multiple_choice"
_METHODS = {Knapsack: "solve", MultidimensionalKnapsack: "constraints.solve", MultipleChoiceKnapsack: "choice.solve"}


def _method(problem: Any) -> ModuleType:
    """The algorithm for a problem, imported when the first of its class is solved."""
    name = next(name for kind, name in _METHODS.items() if isinstance(problem, kind))
    return importlib.import_module(f"{__name__}.{name}")


def _solve(problem: Any, options: Any, pool: DevicePool, run: RunContext) -> Result:
    result: Result = _method(problem).solve(problem, options, pool, run)
    return result


def _validate(problem: Any, options: Any, devices: Sequence[DeviceInfo]) -> None:
    _method(problem).validate(problem, options, devices)


def _solve_batch(
    problems: Sequence[Any], options: Any, pool: DevicePool, control: BatchControl
) -> Mapping[int, Result]:
    """Results by place, of the problems that a batch can solve."""
    from .batch import solve_batch

    return solve_batch(problems, options, pool, control) if isinstance(problems[0], Knapsack) else {}


def kernel_variants() -> Iterator[Variant]:
    """Every template with every set of constants that a device may ask for."""
    for name in ("programs", "choice.table", "bits", "constraints.worker"):
        yield from importlib.import_module(f"{__name__}.{name}").kernel_variants()


SOLVER = Solver(
    name="knapsack",
    title="Knapsack by core search and dynamic programming",
    problems=(Knapsack, MultipleChoiceKnapsack, MultidimensionalKnapsack),
    options={Knapsack: Options, MultipleChoiceKnapsack: ChoiceOptions, MultidimensionalKnapsack: ConstraintOptions},
    solve=_solve,
    validate=_validate,
    solve_batch=_solve_batch,
    schema=SCHEMA,
    usual_programs=3,
    metrics=(
        MetricSpec("items_done", "Items done", "items"),
        MetricSpec("cells_per_second", "Cell updates", "cells/s", per_device=True),
        MetricSpec("nodes_per_second", "Nodes of the search", "nodes/s", per_device=True),
        MetricSpec("active_tiles", "Tiles of the sparse table", "tiles", per_device=True),
        MetricSpec("range_low", "First active capacity", "capacity", per_device=True),
        MetricSpec("range_high", "Last active capacity", "capacity", per_device=True),
        MetricSpec("share", "Share of the active range", "share", per_device=True),
        MetricSpec("best_value", "Best value so far", "profit"),
        MetricSpec("exchanged_bytes", "Exchanged between devices", "bytes"),
    ),
    generators={
        "knapsack": Generator.of_module(f"{PACKAGE}.generators.knapsack", "GeneratorOptions", "generate", "write"),
        "multiple-choice-knapsack": Generator.of_module(
            _CHOICE, "MultipleChoiceOptions", "multiple_choice", "write_multiple_choice"
        ),
        "multidimensional-knapsack": Generator.of_module(
            _CHOICE, "MultidimensionalOptions", "multidimensional", "write_multidimensional"
        ),
    },
    bench=LazyImport(f"{PACKAGE}.benchmarks.knapsack.command", "bench"),
    reproductions={
        "knapsack": Reproduction(
            "Boyer, El Baz, Elkihel: dense dynamic programming on multi GPU",
            LazyImport(f"{PACKAGE}.reproductions.knapsack", "reproduce"),
        )
    },
)
