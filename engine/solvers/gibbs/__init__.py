"""Horseshoe probit regression by Gibbs sampling and its faster relatives.

After Terenin, Dong, Draper, *GPU-accelerated Gibbs sampling: a case study of the Horseshoe Probit model* (Statistics
and Computing 29, 2019); the conditionals are those of Makalic and Schmidt (2016) and Albert and Chib (1993).
"""

from __future__ import annotations

from engine.solvers import Generator, Later, MetricSpec, Solver
from engine.solvers.gibbs.generators import ProbitOptions, generate, write
from engine.solvers.gibbs.kernels import kernel_variants
from engine.solvers.gibbs.options import Options
from engine.solvers.gibbs.posterior import report, summary, to_arviz
from engine.solvers.gibbs.problem import HorseshoeProbit
from engine.solvers.gibbs.solve import solve

__all__ = ["PUBLIC", "SOLVER", "kernel_variants"]

PUBLIC = {
    "to_arviz": to_arviz,
    "posterior_summary": summary,
    "HorseshoeProbitClassifier": Later("engine.solvers.gibbs.estimator", "HorseshoeProbitClassifier"),
}


SOLVER = Solver(
    name="gibbs",
    title="Horseshoe probit regression by Gibbs sampling",
    problems=(HorseshoeProbit,),
    options=Options,
    solve=solve,
    report=report,
    bench=Later("engine.solvers.gibbs.bench", "bench"),
    generators={"probit": Generator(ProbitOptions, generate, write, ".csv")},
    metrics=(
        MetricSpec("iterations_per_second", "Iterations of every chain", "iterations/s"),
        MetricSpec("ess", "Effective draws of the slowest traced quantity", "draws"),
        MetricSpec("ess_per_second", "Effective draws a second", "1/s"),
        MetricSpec("r_hat", "Largest R-hat of the traced quantities"),
        MetricSpec("eta", "Time left", "s"),
    ),
)
