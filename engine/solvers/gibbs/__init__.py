"""Horseshoe probit regression by Gibbs sampling and its faster relatives.

After Terenin, Dong, Draper, *GPU-accelerated Gibbs sampling: a case study of the Horseshoe Probit model* (Statistics
and Computing 29, 2019); the conditionals are those of Makalic and Schmidt (2016) and Albert and Chib (1993).

The paper's iteration is ``moves/latent.py``, from top to bottom:

- latent normals z given beta, one pass over X: ``device/rows.py``, ``sweep.mako``, ``sparse_rows.mako``;
  with many columns and chains X is read twice: ``sweep_twice.mako``
- lambda, nu, tau, xi given beta: ``update_scales`` of ``conditionals.mako``
- X'X + D^-1 and its Cholesky factor: ``device/matrices.py``, ``precision.mako``
- beta given z, lambda, tau: ``prepare_solution``, ``add_noise``, ``finish_coefficients`` of ``conditionals.mako``

Around it:

- rules before anything is opened: ``validate.py``; X as it is stored: ``design/matrix.py``
- mode and first chains, or a checkpoint: ``begin.py``; batches, adaptation, convergence: ``solve.py``
- all devices: ``device/sampler.py``; one: ``device/worker.py``; what has names there: ``device/records.py``
- other kernels: ``moves/hamiltonian.py`` (hmc), ``moves/conjugate.py`` (cg), ``moves/wide.py`` (N x N matrices)
- draws, R-hat and the result: ``draws/store.py``, ``draws/diagnostics.py``, ``posterior.py``
"""

from ...base.division import Division
from ...base.solver import Generator, LazyImport, MetricSpec, Reproduction, Solver
from ...util.paths import PACKAGE
from .options import Options
from .posterior import summary
from .problem import HorseshoeLogit, HorseshoeProbit, HorseshoeRegression
from .schema import SCHEMA

__all__ = ["PUBLIC", "SOLVER", "kernel_variants"]

kernel_variants = LazyImport(f"{__name__}.device.programs", "kernel_variants")
PUBLIC = {
    "posterior_summary": summary,
    "log_likelihood": LazyImport(f"{__name__}.predictive", "log_likelihood"),
    "posterior_predictive": LazyImport(f"{__name__}.predictive", "posterior_predictive"),
    "chain_diagnostics": LazyImport(f"{__name__}.draws.diagnostics", "diagnose"),
}


SOLVER = Solver(
    name="gibbs",
    title="Horseshoe regression by Monte Carlo: linear, logistic, probit, ordinal, counts",
    problems=(HorseshoeProbit, HorseshoeLogit, HorseshoeRegression),
    options=Options,
    solve=LazyImport(f"{__name__}.solve", "solve"),
    validate=LazyImport(f"{__name__}.validate", "validate"),
    schema=SCHEMA,
    bench=LazyImport(f"{PACKAGE}.benchmarks.gibbs.command", "bench"),
    reproductions={
        "horseshoe": Reproduction(
            "Terenin, Dong, Draper: GPU-accelerated Gibbs sampling, the horseshoe probit model",
            LazyImport(f"{PACKAGE}.reproductions.gibbs", "reproduce"),
        )
    },
    division=Division(
        run=LazyImport(f"{__name__}.division", "DividedSampling"),
        runner=LazyImport(f"{__name__}.division", "SamplingTasks"),
    ),
    generators={
        "probit": Generator.of_module(
            f"{PACKAGE}.generators.gibbs", "ProbitOptions", "generate", "write", suffix=".csv"
        )
    },
    usual_programs=12,
    metrics=(
        MetricSpec("iterations_per_second", "Iterations of each chain", "iterations/s"),
        MetricSpec("ess", "Smallest effective sample size", "draws"),
        MetricSpec("ess_per_second", "Effective draws per second", "1/s"),
        MetricSpec("r_hat", "Largest R-hat"),
        MetricSpec("eta", "Time left", "s"),
    ),
)
