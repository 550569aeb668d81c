"""Branch and bound over permutations with IVM structures, on one or several devices.

After Gmys, Mezmaz, Melab, Tuyttens, *IVM-based parallel branch-and-bound using hierarchical work stealing on multi-GPU
systems*, Concurrency and Computation: Practice and Experience 29 (2017) e4019. The matrix of the
integer-vector-matrix structure is kept as one bit mask per level.

The paper's steps with its sections, and where each stands (templates are in ``kernels/branch_and_bound``):

- IVM, intervals in the factorial number system (3.1): ``ivm.mako``, :mod:`.intervals`
- select, branch, bound and prune in one kernel (3.2, pte): ``explore.mako``, ``backtrack.mako``; by groups of
  work-items, one an IVM: ``explore_cooperative.mako``
- all children bounded in parallel (3.2, pte_peb): ``bound_in_parallel.mako``,
  :mod:`.search.children`
- bounds: one template a problem (``flowshop.mako``, ``queens.mako``, ...), its tables and reference in ``problems/``
- work stealing between the IVMs of a device (3.3): ``steal.mako``, :mod:`.search.ivms`, :mod:`.search.stealing`
- one device's search, launch by launch: :mod:`.search.worker`
- work sharing between devices (3.4, 3.5), termination, faults: :mod:`.search.coordinator`, :mod:`.search.sharing`
- first solutions: ``heuristics/``; the run from there to the audit: :mod:`.solve`, :mod:`.checkpoint`
"""

from ...base.division import Division
from ...base.solver import Generator, LazyImport, MetricSpec, Reproduction, Solver
from ...util.paths import PACKAGE
from .options import ATSPOptions, FlowshopOptions, MinimizationOptions, Options
from .problems.atsp import ATSP
from .problems.flowshop import Flowshop
from .problems.linear_ordering import LinearOrdering
from .problems.quadratic_assignment import QuadraticAssignment
from .problems.queens import Queens
from .problems.schedules import BlockingFlowshop, FlowTime, NoWaitFlowshop
from .problems.tardiness import Tardiness
from .schema import SCHEMA
from .tree import PermutationProblem

__all__ = ["SOLVER", "kernel_variants"]

kernel_variants = LazyImport(f"{__name__}.search.programs", "kernel_variants")

SOLVER = Solver(
    name="branch_and_bound",
    title="Branch and bound over permutations (flowshop, n-queens, asymmetric TSP, quadratic assignment, tardiness, "
    "linear ordering)",
    problems=(
        Flowshop,
        Queens,
        ATSP,
        QuadraticAssignment,
        Tardiness,
        LinearOrdering,
        FlowTime,
        BlockingFlowshop,
        NoWaitFlowshop,
        PermutationProblem,
    ),
    options={
        Flowshop: FlowshopOptions,
        Queens: Options,
        ATSP: ATSPOptions,
        PermutationProblem: MinimizationOptions,  # type: ignore[type-abstract]
    },
    solve=LazyImport(f"{__name__}.solve", "solve"),
    validate=LazyImport(f"{__name__}.validate", "validate"),
    estimate=LazyImport(f"{__name__}.estimate", "estimate"),
    schema=SCHEMA,
    usual_programs=3,
    metrics=(
        MetricSpec("active_ivms", "Active IVMs", "IVMs", per_device=True),
        MetricSpec("nodes_per_second", "Decomposed nodes", "nodes/s", per_device=True, log=True),
        MetricSpec("insertions_per_second", "Jobs tried at all places of a schedule", "jobs/s", log=True),
        MetricSpec("nodes_left", "Nodes left (estimate)", "nodes", log=True),
        MetricSpec("explored_share", "Explored share of all leaves", "share"),
        MetricSpec("explored_here", "Share of all leaves explored by a device", "share", per_device=True),
        MetricSpec("stealing_share", "Time spent stealing or waiting", "share", per_device=True),
        MetricSpec("steals", "Intervals split on a device", "steals", per_device=True),
        MetricSpec("exchanged_intervals", "Intervals given to other devices", "intervals"),
        MetricSpec("steals_device_device", "From GPU to GPU", "intervals"),
        MetricSpec("steals_device_host", "From GPU to CPU", "intervals"),
        MetricSpec("steals_host_device", "From CPU to GPU", "intervals"),
        MetricSpec("steals_host_host", "From CPU to CPU", "intervals"),
    ),
    generators={
        name: Generator.of_module(f"{PACKAGE}.generators.{module}", model, f"generate_{noun}", f"write_{noun}", suffix)
        for name, module, model, noun, suffix in (
            ("flowshop", "branch_and_bound", "FlowshopFamily", "flowshop", ".txt"),
            ("atsp", "branch_and_bound", "ATSPFamily", "atsp", ".atsp"),
            ("qap", "assignment", "QuadraticAssignmentFamily", "quadratic_assignment", ".dat"),
            ("tardiness", "assignment", "TardinessFamily", "tardiness", ".txt"),
            ("linear_ordering", "ordering", "LinearOrderingFamily", "linear_ordering", ".lop"),
        )
    },
    bench=LazyImport(f"{PACKAGE}.benchmarks.branch_and_bound.command", "bench"),
    reproductions={
        "ivm": Reproduction(
            "Gmys, Mezmaz, Melab, Tuyttens: IVM-based parallel branch-and-bound on multi-GPU systems",
            LazyImport(f"{PACKAGE}.reproductions.branch_and_bound", "reproduce"),
        ),
        "flowshop": Reproduction(
            "Taillard, and Vallada, Ruiz, Framinan: flowshop benchmarks, with a proof of each optimal makespan",
            LazyImport(f"{PACKAGE}.reproductions.flowshop_proofs", "reproduce"),
        ),
    },
    division=Division(
        run=LazyImport(f"{__name__}.division", "DividedSearch"),
        runner=LazyImport(f"{__name__}.division", "SearchTasks"),
    ),
    verify=LazyImport(f"{__name__}.proofs.verify", "verify"),
)
