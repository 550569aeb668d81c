"""Linear programming: interior points, the primal-dual hybrid gradient method, and interior points raced against HiGHS.

Divakar, *Primal dual affine scaling on GPUs*, corrected, step by step (``method="pdas"``):

- standard form ``A x = b``, ``0 <= x <= u``: ``forms/standard``
- an interior solution to begin with: ``interior/method``, ``InteriorPoint.start``
- ``D = X / S`` and ``A D A^T dy = A D g``: ``interior/worker`` and the kernels ``linprog/point``, ``linprog/matrix``
- that system by updates of ``(A A^T)^-1``: ``systems/updates`` and its kernels; by
  factors: ``systems/base``, ``systems/host``, ``systems/fronts``; which of them: ``interior/driver``, ``systems/costs``
- the ratio test and the step: ``interior/method``, ``InteriorPoint.iterate``
- what an answer is worth: ``verification/audit``, ``verification/verdict``

Mehrotra's method (``"mpc"``) differs in ``InteriorPoint._predict_and_correct``. ``pdhg`` is Lu and Yang's method;
``methods`` runs several together, ``batches`` many small programs, ``solve`` is the entrance.

After Saigal (1994); Egidi and Maponi, *A Sherman-Morrison approach to the solution of linear systems*, J. Comput. Appl.
Math. 189 (2006); Mehrotra (1992); Gondzio (1996); Lu and Yang, *Restarted Halpern PDHG for linear programming* (2024).
"""

from ...base.solver import Generator, LazyImport, MetricSpec, Reproduction, Solver
from ...util.paths import PACKAGE
from .options import Options
from .problem import LinearProgram
from .schema import PHASES, SCHEMA

__all__ = ["SOLVER", "kernel_variants"]


kernel_variants = LazyImport(f"{__name__}.programs", "kernel_variants")


SOLVER = Solver(
    name="linprog",
    title="Linear programming",
    problems=(LinearProgram,),
    options=Options,
    solve=LazyImport(f"{__name__}.solve", "solve"),
    validate=LazyImport(f"{__name__}.validate", "validate"),
    solve_on_host=LazyImport(f"{__name__}.methods.at_once", "solve_on_host"),
    schema=SCHEMA,
    metrics=(
        *(MetricSpec(column.name, column.title, log=column.log) for column in SCHEMA.history[1:]),
        MetricSpec("interior_error", "Error of the interior-point method", log=True),
        MetricSpec("pdhg_error", "Error of PDHG", log=True),
        MetricSpec("pdhg_primal_weight", "Primal weight of PDHG", log=True),
        *(MetricSpec(phase.name, phase.title, phase.unit) for phase in PHASES),
    ),
    generators={
        "linprog": Generator.of_module(
            f"{PACKAGE}.generators.linprog", "GeneratorOptions", "generate", "write", suffix=".mps"
        )
    },
    bench=LazyImport(f"{PACKAGE}.benchmarks.linprog.command", "bench"),
    reproductions={
        "pdas": Reproduction(
            "Divakar: primal dual affine scaling on GPUs", LazyImport(f"{PACKAGE}.reproductions.linprog", "reproduce")
        )
    },
)
