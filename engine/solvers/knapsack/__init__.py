"""Knapsack problems by bounds, a core search, and dynamic programming over one or several devices.

After Boyer, El Baz, Elkihel, *Dense dynamic programming on multi GPU*, and *Solving knapsack problems on GPU*
(Computers & Operations Research 39, 2012). Equal weights fused in registers after the observation of Huang and Chou,
J. Supercomputing 78 (2022) 13653, that items of one weight only connect cells of one residue. Where each step is:

- the run, step by step, and the audit of its answer: ``solve``; the class of a problem chooses its algorithm: ``kinds``
- items with counts as packs of a 0/1 problem: ``bounded``; bounds, and items fixed by them: ``presolve``, ``bounds``
- search of a growing core on the host: ``core``; HiGHS for a few integers: ``mip/``
- which table solves the rest: ``validate``
- the paper's dense table: items in groups and ranges of capacities (``dense/schedule``), sweeps over devices
  (``dense/sweep``) with ``rows.mako``, ``tiles.mako``, ``classes.mako``, and the items found (``dense/backtrack``)
- the sparse table of tiles where a state can still win: ``sparse/passes``, ``sparse/worker``, with ``sparse.mako``
- a bit for each capacity: ``bits/``; many small problems at once: ``batch/``, with ``batch.mako``
- multiple choice: ``choice/``; several constraints: ``constraints/``, with ``branch.mako``
- rules before a run: ``validate``; checkpoints: ``checkpoint``; kernels and their constants: ``programs``
"""

from __future__ import annotations

from ...base.solver import Generator, LazyImport, MetricSpec, Reproduction, Solver
from ...util.paths import PACKAGE
from . import kinds
from .choice.problems import MultipleChoiceKnapsack
from .constraints.problem import MultidimensionalKnapsack
from .kinds import kernel_variants
from .options import ChoiceOptions, ConstraintOptions, Options
from .problem import Knapsack
from .schema import SCHEMA

__all__ = ["SOLVER", "kernel_variants"]

SOLVER = Solver(
    name="knapsack",
    title="Knapsack by core search and dynamic programming",
    problems=(Knapsack, MultipleChoiceKnapsack, MultidimensionalKnapsack),
    options={Knapsack: Options, MultipleChoiceKnapsack: ChoiceOptions, MultidimensionalKnapsack: ConstraintOptions},
    solve=kinds.solve,
    validate=kinds.validate,
    solve_batch=kinds.solve_batch,
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
            f"{PACKAGE}.generators.multiple_choice",
            "MultipleChoiceOptions",
            "multiple_choice",
            "write_multiple_choice",
        ),
        "multidimensional-knapsack": Generator.of_module(
            f"{PACKAGE}.generators.multiple_choice",
            "MultidimensionalOptions",
            "multidimensional",
            "write_multidimensional",
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
