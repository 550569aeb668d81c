"""Linear programming by interior-point methods on dense normal equations.

After Divakar, *Primal dual affine scaling on GPUs*, corrected; Saigal (1994); Egidi and Maponi, *A Sherman-Morrison
approach to the solution of linear systems*, J. Comput. Appl. Math. 189 (2006); Mehrotra (1992); Gondzio (1996).
"""

from __future__ import annotations

from engine.solvers import Generator, Later, MetricSpec, Solver
from engine.solvers.linprog.device_shard import kernel_variants
from engine.solvers.linprog.generators import GeneratorOptions, generate, write
from engine.solvers.linprog.many import solve_many
from engine.solvers.linprog.options import Options
from engine.solvers.linprog.problem import LinearProgram
from engine.solvers.linprog.scipy_face import linprog, scipy_result
from engine.solvers.linprog.solve import solve

__all__ = ["PUBLIC", "SOLVER", "kernel_variants"]

PUBLIC = {"linprog": linprog, "scipy_result": scipy_result, "solve_many": solve_many}


SOLVER = Solver(
    name="linprog",
    title="Linear programming by interior points",
    problems=(LinearProgram,),
    options=Options,
    solve=solve,
    metrics=(
        MetricSpec("primal_objective", "Primal objective"),
        MetricSpec("dual_objective", "Dual objective"),
        MetricSpec("duality_gap", "Relative duality gap", log=True),
        MetricSpec("primal_infeasibility", "Primal infeasibility", log=True),
        MetricSpec("dual_infeasibility", "Dual infeasibility", log=True),
        MetricSpec("mu", "Complementarity mu", log=True),
        MetricSpec("primal_step", "Primal step"),
        MetricSpec("dual_step", "Dual step"),
        MetricSpec("spread_of_d", "Spread of D", log=True),
        MetricSpec("seconds_products", "Products with A", "s"),
        MetricSpec("seconds_form", "Forming A D A^T", "s"),
        MetricSpec("seconds_factor", "Factorising", "s"),
        MetricSpec("seconds_solve", "Solving with the factor", "s"),
    ),
    generators={"linprog": Generator(GeneratorOptions, generate, write, ".mps")},
    bench=Later("engine.solvers.linprog.bench", "bench"),
)
