"""How to search a permutation tree."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from engine.solvers import SolverOptions

__all__ = ["Options", "Strategy"]

Strategy = Literal["siblings", "hypercube", "adapt", "large", "search", "ring"]


class Options(SolverOptions):
    """Options of branch and bound."""

    variant: Literal["auto", "pte", "pte_peb"] = Field(
        "auto",
        description="pte (select, branch, bound and prune in one kernel), pte_peb (the children of all selected nodes "
        "bounded in parallel), or auto (pte, and for costly bounds the faster of the two in a short measurement)",
    )
    bound: Literal["auto", "one_machine", "two_machine", "mixed", "partial", "cheapest_arcs"] = Field(
        "auto",
        description="lower bound: one_machine, two_machine or mixed for flowshops (default one_machine), partial or "
        "cheapest_arcs for the asymmetric TSP (default cheapest_arcs)",
    )
    branching: Literal["auto", "forward", "max_sum", "min_branch", "min_min"] = Field(
        "auto", description="which end of a flowshop order a node extends (default min_branch)"
    )
    initial: Literal["iterated_greedy", "neh", "infinity"] = Field(
        "iterated_greedy",
        description="first solution: by a search of moves (iterated greedy for flowshops), by construction alone "
        "(NEH), or none",
    )
    upper_bound: int | None = Field(
        None, ge=0, description="only solutions below this are looked for; takes the place of the first solution"
    )
    strategy: Strategy = Field(
        "siblings",
        description="whom idle IVMs steal from on their device: siblings (whoever has an open sibling nearest the "
        "root; half of these), or half an interval over a hypercube, adapt, large, search or ring topology",
    )
    steal_trigger: float = Field(
        0.2, gt=0, le=1, description="share of the active IVMs that run out of work before a launch ends for stealing"
    )
    sharing: Literal["farmer", "symmetric"] = Field(
        "symmetric",
        description="how devices share work: those without ask a random other one, which hands intervals over, between "
        "GPUs without the host (symmetric); or the host collects them from the busiest device and deals them (farmer)",
    )
    granularity: Literal["half", "speed"] = Field(
        "half", description="how much a device gives another: half of its IVMs' work, or in proportion to both speeds"
    )
    ivms: int | None = Field(None, ge=1, le=1 << 20, description="IVMs per device; default: as many as it runs at once")
