"""What results and checkpoints of linear programs contain."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, NonNegativeInt

from ...base.schema import ArraySpec, CheckpointSpec, ColumnSpec, CounterSpec, Schema

Form = Literal["presolved", "given", "balanced"]


class CheckpointState(BaseModel):
    """Scalars of a checkpoint; ``form`` says which program it is of, ``counters`` are totals of all starts."""

    model_config = ConfigDict(extra="forbid")

    rows: NonNegativeInt
    variables: NonNegativeInt
    interior: bool
    iteration: NonNegativeInt
    last_step: tuple[float, float, float] | None = None  # primal, dual, and the spread of d that led to the iterate
    pdhg: bool
    pdhg_iteration: NonNegativeInt
    pdhg_weight: float = Field(ge=1e-15, le=1e15)
    counters: dict[str, int | FiniteFloat]
    form: Form = "presolved"


def has_interior(state: CheckpointState) -> bool:
    """Whether the interior-point method has saved an iterate."""
    return state.interior


def has_pdhg(state: CheckpointState) -> bool:
    """Whether PDHG has saved an iterate."""
    return state.pdhg


_FINITE, _POSITIVE = (-1e300, 1e300), (5e-324, 1e300)
_BELOW_INFINITY = (-1e20, 1e20)  # what a program takes for infinity

PHASES = (
    CounterSpec("seconds_kernels", "Compiling or loading kernels", "s"),
    CounterSpec("seconds_products", "Products with A", "s"),
    CounterSpec("seconds_form", "Forming A D A^T", "s"),
    CounterSpec("seconds_factor", "Factorising", "s"),
    CounterSpec("seconds_solve", "Solving with the factor", "s"),
)
"""Of an interior-point method, on devices; shown while it works, too."""

SCHEMA = Schema(
    arrays=(
        ArraySpec("row_duals", "float64", ("rows",), title="Row duals", optional=True),
        ArraySpec("reduced_costs", "float64", ("variables",), title="Reduced costs", optional=True),
        ArraySpec("activities", "float64", ("rows",), title="Row activities", optional=True),
        ArraySpec("farkas", "float64", ("rows",), title="Certificate of infeasibility", optional=True),
        ArraySpec("ray", "float64", ("variables",), title="Certificate of unboundedness", optional=True),
        ArraySpec("column_status", "int8", ("variables",), title="Basis status of the variables", optional=True),
        ArraySpec("row_status", "int8", ("rows",), title="Basis status of the rows", optional=True),
        ArraySpec("cost_from", "float64", ("variables",), title="Least cost with this basis", optional=True),
        ArraySpec("cost_to", "float64", ("variables",), title="Greatest cost with this basis", optional=True),
        ArraySpec("side_from", "float64", ("rows",), title="Least side with this basis", optional=True),
        ArraySpec("side_to", "float64", ("rows",), title="Greatest side with this basis", optional=True),
        ArraySpec("method", "text", (), title="Method, which auto chooses by program and host", optional=True),
        ArraySpec("racers", "text", ("racers",), title="Methods of a race, the winner first", optional=True),
        ArraySpec(
            "racer_outcomes", "text", ("racers",), title="Won, stopped, or ended without an answer", optional=True
        ),
        ArraySpec("racer_errors", "float64", ("racers",), title="Error of each method's best point", optional=True),
        ArraySpec(
            "factor_entries",
            "int32",
            ("blocks", "blocks"),
            title="Entries of a sparse factor in blocks of rows and columns, for runs with a folder",
            optional=True,
        ),
        ArraySpec(
            "factor_fronts", "int64", ("fronts", 3), title="First pivot, pivots and rows of its fronts", optional=True
        ),
    ),
    counters=(
        CounterSpec("iterations", "Interior-point iterations", "iterations"),
        CounterSpec("factorizations", "Factorisations"),
        CounterSpec("refinements", "Refinement steps"),
        CounterSpec("pdhg_iterations", "PDHG iterations"),
        CounterSpec("pdhg_restarts", "PDHG restarts"),
        CounterSpec("highs_iterations", "HiGHS iterations"),
        CounterSpec("nodes", "Branch-and-bound nodes", "nodes"),
        CounterSpec("crossover_iterations", "Crossover iterations"),
        CounterSpec("rows", "Rows after presolve"),
        CounterSpec("variables", "Variables after presolve"),
        CounterSpec("factor_nonzeros", "Entries of the sparse factor"),
        CounterSpec("fronts", "Fronts of a sparse factor on the device"),
        CounterSpec("device_bytes", "Planned memory of a device", "bytes"),
        CounterSpec("update_solves", "Solutions by updates"),
        CounterSpec("update_residual", "Largest residual of the updates"),
        CounterSpec("certificate_reach", "Sum of |x| that the certificate covers"),
        CounterSpec("primal_infeasibility", "Primal infeasibility"),
        CounterSpec("dual_infeasibility", "Dual infeasibility"),
        CounterSpec("relative_gap", "Relative duality gap"),
        CounterSpec("seconds_prepare", "Presolve and scaling", "s"),
        *PHASES,
    ),
    history=(
        ColumnSpec("iteration", "Iteration"),
        ColumnSpec("primal_objective", "Primal objective"),
        ColumnSpec("dual_objective", "Dual objective"),
        ColumnSpec("duality_gap", "Relative duality gap", log=True),
        ColumnSpec("primal_infeasibility", "Primal infeasibility", log=True),
        ColumnSpec("dual_infeasibility", "Dual infeasibility", log=True),
        ColumnSpec("mu", "Complementarity mu", log=True),
        ColumnSpec("primal_step", "Primal step"),
        ColumnSpec("dual_step", "Dual step"),
        ColumnSpec("spread_of_d", "Condition number of D", log=True),
    ),
    checkpoint=CheckpointSpec(
        version=3,
        arrays=(
            ArraySpec("x", "float64", (1, "columns"), within=_FINITE, required_if=has_interior),
            *(
                ArraySpec(name, "float64", (1, "columns"), within=_POSITIVE, required_if=has_interior)
                for name in ("s", "w", "z")
            ),
            ArraySpec("y", "float64", (1, "rows"), within=_FINITE, required_if=has_interior),
            ArraySpec("goal", "float64", (1,), within=_POSITIVE, required_if=has_interior),
            # what is added to 1 / theta, what stands for it where there is no bound, and the dual error before
            ArraySpec("held", "float64", (3,), within=(0, 1e300), required_if=has_interior),
            ArraySpec("pdhg_x", "float64", ("variables",), within=_BELOW_INFINITY, required_if=has_pdhg),
            ArraySpec("pdhg_y", "float64", ("pdhg_rows",), within=_BELOW_INFINITY, required_if=has_pdhg),
            ArraySpec("history", "float64", (None, 10)),
        ),
        state=CheckpointState,
    ),
)
"""Objectives of the history are in the problem's own sense; a PDHG row has no mu, steps or spread (NaN)."""
