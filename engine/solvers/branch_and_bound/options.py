"""How to search a permutation tree; one options model for each problem class."""

from typing import Any, Literal

from pydantic import Field

from ...base.solver import SolverOptions

Strategy = Literal["siblings", "doubling", "hypercube", "torus", "adapt", "large", "search", "ring"]


class Options(SolverOptions):
    """Options of every search."""

    variant: Literal["pte", "pte_peb"] = Field(
        "pte",
        description="select, branch, bound and prune in one kernel (pte), or bound the children of all selected nodes "
        "in parallel, in a kernel of its own (pte_peb)",
    )
    strategy: Strategy = Field(
        "siblings",
        description="where an idle IVM steals on its device: from the IVM with an open sibling nearest the root, half "
        "of the siblings (siblings); from IVMs at distances 1, 2, 4, ..., half of an interval (doubling); or as in the "
        "paper (hypercube, torus, adapt, large, search, ring)",
    )
    window: int | None = Field(
        None,
        ge=1,
        description="how many neighbours an idle IVM looks at in search and large (default: up to 1024, half of the "
        "IVMs), and the first width S of adapt's window (default: 1); divides the number of IVMs",
    )
    window_begin: int = Field(0, ge=0, description="first begin B of adapt's window, a distance between IVMs")
    window_launches: Literal["one", "each"] = Field(
        "one",
        description="one launch for all distances of a window or a ring of the hypercube, or a launch for each, as in "
        "the paper's algorithms",
    )
    steal_trigger: float = Field(
        0.2,
        ge=0,
        le=1,
        description="share of the active IVMs without work at which a launch ends and they steal; 0: after every node",
    )
    sharing: Literal["farmer", "symmetric"] = Field(
        "symmetric",
        description="how devices share work: an idle device asks a random other one, which sends intervals directly, "
        "between GPUs without the host (symmetric); or the host collects intervals from the busiest device and "
        "distributes them (farmer)",
    )
    ivms: int | None = Field(None, ge=1, le=1 << 20, description="IVMs per device; default: as many as it runs at once")


def _upper_bound() -> Any:
    return Field(
        None,
        ge=0,
        description="search only for solutions below this value; replaces the initial solution, unless one of this "
        "value is given",
    )


class MinimizationOptions(Options):
    """Options of a search for the least objective."""

    upper_bound: int | None = _upper_bound()
    initial: Literal["heuristic", "infinity"] | tuple[int, ...] = Field(
        "heuristic",
        description="initial solution: by the problem's own heuristic, none (infinity), or a solution as a list",
    )


class FlowshopOptions(Options):
    """Options of flowshops."""

    bound: Literal["one_machine", "two_machine", "mixed"] = Field(
        "one_machine",
        description="lower bound: one machine; all pairs of machines (Johnson's rule); or the pairs only for children "
        "that the first does not prune (mixed)",
    )
    branching: Literal["forward", "backward", "alternating", "max_sum", "max_sum_back", "min_branch"] = Field(
        "min_branch", description="which end of a partial schedule a node extends"
    )
    all_solutions: bool = Field(
        False,
        description="count all optimal schedules (counter solutions): once the optimum is proved, the tree is searched "
        "again, and only nodes whose bound is above it are pruned",
    )
    upper_bound: int | None = _upper_bound()
    initial: Literal["iterated_greedy", "neh", "infinity"] | tuple[int, ...] = Field(
        "iterated_greedy",
        description="initial schedule: NEH; improved by iterated greedy on the devices, with 50 jobs and more beside "
        "the tree too (fewer than 8, or 26 on GPUs: on the host); none "
        "(infinity); or an order of the jobs",
    )


class ATSPOptions(Options):
    """Options of asymmetric TSPs."""

    bound: Literal["auto", "subtour", "assignment", "cheapest_arcs", "partial"] = Field(
        "auto",
        description="lower bound: the assignment problem and a spanning arborescence of its subtours (assignment); the "
        "same with multipliers of subtour constraints, which a linear program gives (subtour); the cost so far and the "
        "cheapest arc out of every open city (cheapest_arcs); the cost so far (partial); or subtour for costs up to "
        "4,194,304 and else cheapest_arcs (auto)",
    )
    upper_bound: int | None = _upper_bound()
    initial: Literal["local_search", "nearest_neighbour", "infinity"] | tuple[int, ...] = Field(
        "local_search",
        description="initial tour: nearest neighbours; these or the patched assignment, improved by iterated local "
        "search; none (infinity); or an order of the cities",
    )
