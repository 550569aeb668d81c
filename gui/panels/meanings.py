"""What each key number and each figure of a dashboard means, in two sentences: the texts of their question marks."""

from __future__ import annotations

__all__ = ["FIGURES", "TILES", "meaning_of"]

TILES = {
    "State": "What the run does now, or how it ended. A recording that is being played says so.",
    "Elapsed": "Seconds of the run, without its pauses. Compiling and reading belong to them.",
    "Remaining": (
        "A range for the time until the present phase ends. "
        "It is extrapolated from recent progress, or the solver's own."
    ),
    "Best": "The objective of the best solution so far. Once the run is optimal, it is proved to be the best of all.",
    "Solutions": "How many solutions there are, as far as they are counted. Nothing is optimised.",
    "Bound": "No solution can be better than this. Where it equals the best value, that is optimal.",
    "Known optimum": "The optimum that the problem states. The search does not use it to find solutions.",
    "Gap": "The distance between best value and bound, relative to the best value. 0 % is a proof of optimality.",
    "Rate": (
        "How fast the run works: over the last seconds (momentary), or over the whole run (average). "
        "All devices together."
    ),
    "Generations": "How often the population has been replaced. The counts of several populations are added.",
    "Evaluations": (
        "How often the objective was computed for an individual. It is what black-box optimizers are compared by."
    ),
    "Population": (
        "Individuals of the last population. It doubles each time a smaller one has converged without success."
    ),
    "Explored": (
        "The share of all leaves of the search tree that were visited or pruned. It does not grow evenly in time."
    ),
    "Nodes": "Nodes whose children were bounded. It is the usual measure of the work of branch and bound.",
    "Jobs tried": "Positions of jobs that were tried to improve a schedule. There is no search tree in such a run.",
    "Phase": "What the sampler does and how many iterations of it are done. Draws of the warm-up are not kept.",
    "R-hat": "How much the chains disagree, the largest of all quantities. Up to 1.01 they can be taken to have mixed.",
    "Effective draws": (
        "Independent draws that would tell as much as the correlated ones. It is that of the slowest quantity."
    ),
    "Away from 0": "Coefficients whose interval does not contain zero. The intercept is counted where there is one.",
    "Items": "Items whose row of the table is done. At the end all of them are.",
    "Cells": "Cells of the table that were computed. Ranges of capacity that cannot matter are left out.",
    "Iteration": "Iterations of the method that is shown. At the end of a race the winner's are shown.",
    "Primal infeasibility": (
        "How much the solution violates rows and bounds, relatively. Below the tolerance it counts as feasible."
    ),
    "Dual infeasibility": (
        "How much the duals violate their signs and equations, relatively. Both must be small for an optimum."
    ),
    "Winner": "The method of the race that proved its answer first. The others were stopped.",
}
"""By the key of the tile."""

FIGURES = {
    "device memory": (
        "Memory in use on each device. If it reaches the device's memory, the run fails or uses smaller parts."
    ),
    "utilisation": "The share of time in which kernels were running. It is what the driver reports.",
    "busy": "The share of time in which commands of this run were in progress. Compiling and copying count.",
    "power": "Electrical power of each device. Only NVIDIA's devices report it.",
    "temperature": "Temperature of each device. Only NVIDIA's devices report it.",
    "devices": "The devices of the pool, and when each was last heard of. A worker that is lost is no longer heard of.",
    "run info": "Everything that is needed to repeat the run. Options that differ from their defaults come first.",
    "objective": "The best value and the bound over time. Where the two meet, the solution is proved optimal.",
    "boa/fitness": (
        "Best, mean and worst fitness of each generation. A new and larger population begins where the mean falls."
    ),
    "boa/entropy": (
        "How undecided the population is about a gene: 1 bit is undecided, 0 is decided. At 0 it has converged."
    ),
    "boa/seconds": "Where the time of a generation goes. The areas are shares, the legend has seconds.",
    "boa/edges": (
        "Edges of the learned network, and genes that still vary. The network says which genes depend on each other."
    ),
    "boa/population": (
        "Individuals of a population and evaluations so far. The population grows until one of them succeeds."
    ),
    "boa/network": "The dependencies between genes that were learned last. Blocks of a trap appear as clusters.",
    "boa/individuals": (
        "Some individuals, a row each, with a column for each gene. Columns of one colour have converged."
    ),
    "boa/gene entropy": "The entropy of every gene in the course of the run. Strongly coloured genes are undecided.",
    "boa/solution": "The two sides of the graph in the best solution. Edges between them count.",
    "boa/local search": "Genes that local search flips for each evaluation. It falls as the population becomes good.",
    "branch_and_bound/active_ivms": (
        "Explorers that have work, as in Figure 5 of the paper. The devices are full where it is level."
    ),
    "branch_and_bound/explored": (
        "Each device's share of the leaves that are done. Grey was done before the run was resumed."
    ),
    "branch_and_bound/nodes_per_second": (
        "Nodes decomposed in each second, for each device. Its mean is the average rate."
    ),
    "branch_and_bound/steals": (
        "Intervals of the tree that idle explorers took from others. Many of them mean small subtrees."
    ),
    "branch_and_bound/stealing_share": (
        "The share of time spent on stealing, or on waiting for work. A high share means too many explorers."
    ),
    "branch_and_bound/explored_share": (
        "The explored share of all leaves over time. It may stand still in a hard subtree."
    ),
    "branch_and_bound/schedule": (
        "The best schedule: a row for each machine, a bar for each operation. The makespan is its end."
    ),
    "branch_and_bound/tour": "The best tour through all cities. Its length is the sum of the costs of its arcs.",
    "branch_and_bound/board": "A placement of queens of which none attacks another. All such placements are counted.",
    "branch_and_bound/solution": "The items in the order of the best solution. The position counts from 0.",
    "branch_and_bound/ordered": (
        "The weights with rows and columns in the best order. What lies below the diagonal is the cost."
    ),
    "branch_and_bound/levels": "Open nodes by their depth in the tree. Deep ones are small subtrees.",
    "branch_and_bound/insertions_per_second": (
        "Positions of jobs tried in each second. The search improves one schedule."
    ),
    "gibbs/trace": (
        "The draws of each chain in their order; the warm-up is shaded. Chains that have mixed cover the same range."
    ),
    "gibbs/r_hat": (
        "How much the chains disagree, recomputed as they grow. Below the line they can be taken to have mixed."
    ),
    "gibbs/ess": (
        "Independent draws that the chains are worth so far. It grows in a straight line once they have mixed."
    ),
    "gibbs/rate": "Iterations of every chain in each second. It is constant but for the load of the devices.",
    "gibbs/autocorrelation": (
        "How much a draw depends on one that many iterations before. The faster it falls, the better."
    ),
    "gibbs/ess rate": "Effective draws in each second. It is the measure by which samplers are compared.",
    "gibbs/forest": (
        "Median, 50 % and outer interval of each coefficient, the largest first. Pale intervals contain zero."
    ),
    "gibbs/summary": (
        "Mean, deviation, interval and diagnostics of every quantity. MCSE is the error of the mean by sampling."
    ),
    "knapsack/active range": (
        "Capacities that can still lead to an optimum, as in the paper's Figure 4. Others are not computed."
    ),
    "knapsack/item picture": (
        "The items by weight and profit. Chosen ones lie above a line through the origin, but for a few."
    ),
    "knapsack/share": "Each device's share of the active range. It follows the speeds of the devices.",
    "knapsack/items_done": "Rows of the table that are done. It slows where the active range is wide.",
    "knapsack/cells_per_second": "Cells computed in each second, for each device. Its mean is the average rate.",
    "knapsack/best_value": (
        "The best value of the items so far, with the whole capacity. It is optimal once all items are done."
    ),
    "knapsack/exchanged": "Bytes that devices sent each other. They exchange the edges of their ranges.",
    "knapsack/progress": "How far each phase is. Backtracking follows the sweep over the items.",
    "knapsack/share over time": "Each device's share of the active range over time. It is adapted while the run works.",
    "knapsack/active_tiles": "Tiles of the sparse table that hold states. Few of them mean little work.",
    "knapsack/items": "The items of the best solution. Profit by weight tells why most were chosen.",
    "linprog/objective": "Primal and dual objective in each iteration. They meet at the optimum.",
    "linprog/gap": "The relative duality gap and the mean complementarity mu. Both fall to the tolerance.",
    "linprog/infeasibilities": (
        "How much the iterates violate primal and dual constraints. An interior point need not be feasible."
    ),
    "linprog/steps": (
        "The shares of the largest feasible step that were taken. Short steps mean a badly centred iterate."
    ),
    "linprog/spread": (
        "Ratio of the extremes of the scaling matrix D. The larger it is, the harder are the linear systems."
    ),
    "linprog/variables": (
        "Value, bounds, cost and reduced cost of each variable. A reduced cost says what forcing it in would cost."
    ),
    "linprog/rows": "Activity, bounds and dual of each row. A dual says what one more unit of the bound is worth.",
    "linprog/race": "The error of each method's best point over time. The first below the tolerance wins.",
    "linprog/racers": "The methods of the race and how far each came. The winner comes first.",
    "linprog/matrix": "Where the matrix has nonzeros. Several rows and columns share a pixel of a large matrix.",
    "linprog/factor": (
        "Where the factor has entries, in the order of elimination. Entries that A does not have are fill-in."
    ),
    "linprog/Time of each part in total": "Where the time of the whole run went. Kernels is the time of compiling.",
    "linprog/seconds": "Seconds of each part of an iteration. Forming and factoring usually take most.",
    "linprog/shares": "Shares of the parts in the time of an iteration. The legend has seconds.",
}
"""By the key of the figure, after the solver's name where that differs from solver to solver."""


def meaning_of(solver: str, key: str) -> str:
    """The text of a figure; empty for one of another solver, which has none."""
    key = "trace" if key.startswith("trace ") else key
    return FIGURES.get(f"{solver}/{key}", FIGURES.get(key, ""))
