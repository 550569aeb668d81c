"""The Bayesian optimization algorithm: learn a network from good bit strings, sample new ones from it, repeat.

After Pelikan, Goldberg, Cantu-Paz, *BOA: the Bayesian optimization algorithm* (GECCO 1999), and Munawar, Wahib,
Munetomo, Akama, *Theoretical and empirical analysis of a GPU based parallel Bayesian optimization algorithm* (PDCAT
2009). Every step of a generation runs on the device. Where each step of the algorithm is:

- the run, its populations and limits: ``solve``; one population on its devices: ``population``
- the first population, and one generation on one device, phase by phase: ``device/worker``
- select the best, and replace the others: ``device/selection``, with ``select.mako`` and ``gather.mako``
- learn the network, Fig. 4 of the paper: ``device/learner``, with ``learn.mako``; the counts of section IV-A:
  ``count_histogram.mako`` (the paper's), ``count_serial.mako``, ``count_tiled.mako``, ``count_tensor.mako``
- the K2 score: ``scores``, added up in ``learn.mako``; sample offspring: ``device/worker``, with ``network.mako`` and
  ``sample.mako``
- evaluate: ``device/evaluation``, with ``evaluate_tables.mako``; the functions, and the host's part: ``fitness/``
- added to the paper: local search (``device/local_search``, with ``ascent.mako``, ``tabu.mako``, ``walk.mako`` and
  ``anneal.mako``), partition crossover (``device/partition``), ``islands``; for black boxes the
  population ``pyramid`` with its ``linkage``
- rules before a run: ``validate``; checkpoints: ``checkpoint``; results and history: ``record``, ``schema``
"""

from ...base.division import Division
from ...base.solver import Generator, LazyImport, MetricSpec, Reproduction, Solver
from ...util.paths import PACKAGE
from .options import PHASES, Options
from .problem import BOA
from .problems import LABS, QUBO, BitFunction, MaxCut, MaxSAT, SpinGlass
from .schema import SCHEMA

__all__ = ["PUBLIC", "SOLVER", "kernel_variants"]

kernel_variants = LazyImport(f"{__name__}.device.programs", "kernel_variants")
PUBLIC = {
    "BitSearch": LazyImport(f"{__name__}.pyramid", "BitSearch"),
    **{name: LazyImport(f"{__name__}.network", name) for name in ("network_dot", "network_graph", "population_image")},
}


SOLVER = Solver(
    name="boa",
    title="Bayesian optimization algorithm",
    problems=(BOA, BitFunction, MaxCut, QUBO, MaxSAT, SpinGlass, LABS),
    options=Options,
    solve=LazyImport(f"{__name__}.solve", "solve"),
    validate=LazyImport(f"{__name__}.validate", "validate"),
    schema=SCHEMA,
    generators={"nk": Generator.of_module(f"{PACKAGE}.generators.boa", "NKOptions", "generate_nk", "write_nk")},
    bench=LazyImport(f"{PACKAGE}.benchmarks.boa.command", "bench"),
    division=Division(
        runner=LazyImport(f"{__name__}.division", "IslandTasks"),
        solve=LazyImport(f"{__name__}.division", "solve_divided"),
        refusal=LazyImport(f"{__name__}.division", "refusal"),
        one=LazyImport(f"{__name__}.division", "one_island"),
    ),
    reproductions={
        "boa": Reproduction(
            "Munawar, Wahib, Munetomo, Akama: a GPU based parallel Bayesian optimization algorithm",
            LazyImport(f"{PACKAGE}.reproductions.boa", "reproduce"),
        )
    },
    tune=LazyImport(f"{PACKAGE}.benchmarks.boa.tune", "tune"),
    usual_programs=16,
    metrics=(
        MetricSpec("best", "Best value", "value"),
        MetricSpec("mean", "Mean value", "value"),
        MetricSpec("worst", "Worst value", "value"),
        MetricSpec("entropy", "Entropy of a gene", "bits"),
        MetricSpec("open_genes", "Genes not yet fixed", "genes"),
        MetricSpec("edges", "Edges of the network", "edges"),
        MetricSpec("population", "Population", "individuals"),
        MetricSpec("generation", "Generation of the present population", ""),
        MetricSpec("generations", "Generations of all populations", "generations"),
        MetricSpec("evaluations", "Evaluations", ""),
        MetricSpec("flips", "Genes flipped by local search", "flips"),
        *(MetricSpec(f"{phase}_seconds", f"{phase.capitalize()} of a generation", "s") for phase in PHASES),
    ),
)
