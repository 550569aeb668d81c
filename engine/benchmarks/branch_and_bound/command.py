"""``quintet bench branch_and_bound``: published node counts checked, and nodes a second measured, in one call."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import click

from ...api.engine import Engine
from ...base.result import Result
from ...cli.options import bench_command, pool_options
from ...devices import Backend
from ...generators.branch_and_bound import ATSPFamily, generate_atsp
from ...reports.record import record_table
from ...reports.scaling import Request, bench_scaling, scaling_options
from ...solvers.branch_and_bound.problems.atsp import ATSP
from ...solvers.branch_and_bound.problems.flowshop import Flowshop
from ...solvers.branch_and_bound.problems.queens import Queens
from ...solvers.branch_and_bound.tree import PermutationProblem
from .scaling import scaling_cases

# Number, optimum and decomposed nodes (the root left out) of the one-machine bound with min_branch, and the optimum for
# upper bound; None where no second program has confirmed a count.
_TAILLARD = (
    (30, 2178, 2_415_746),
    (29, 2237, 12_233_362),
    (28, 2200, 12_869_871),
    (22, 2099, 45_955_934),
    (25, 2291, 84_319_283),
    (24, 2223, 193_112_270),
    (26, 2226, 278_927_521),
    (27, 2273, 362_417_346),
    (21, 2297, 461_633_497),
    (23, 2326, 2_862_841_446),
)
# Solutions, and decomposed nodes with the first queen in the left half, the root counted.
_QUEENS = (
    (13, 73712, 2490838),
    (14, 365596, 13496479),
    (15, 2279184, 90634738),
    (16, 14772512, 563208896),
    (17, 95815104, 4224112371),
    (18, 666090624, 29349876934),
    (19, 4968057848, 242419099083),
    (20, 39029188884, None),
    (21, 314666222712, None),
)
_PAPERS = {"bound": "two_machine", "branching": "max_sum"}
_NEAR = 3  # the two programs behind the counts differ by as much: one leaves its first dive out


@dataclass(frozen=True)
class _Search:
    """One solving: what should come out, where that is known.

    ``from_optimum`` gives the optimum as upper bound, so that the search proves it and the node count is fixed.
    """

    name: str
    problem: PermutationProblem
    options: dict[str, Any] = field(default_factory=dict)
    objective: int | None = None
    nodes: int | None = None
    slack: int = 0
    from_optimum: bool = False


def _searches(size: str) -> Iterator[_Search]:
    """``quick`` suits a CPU, ``usual`` takes seconds on a GPU, ``whole`` is everything."""
    last = {"quick": 14, "usual": 19, "whole": 21}[size]
    for n, solutions, nodes in _QUEENS:
        if n <= last:
            yield _Search(f"queens {n}", Queens(n), {}, solutions, nodes)
    most = {"quick": 13e6, "usual": 500e6, "whole": 1e12}[size]
    for number, optimum, count in _TAILLARD:
        if count <= most:
            options: dict[str, Any] = {"upper_bound": optimum}
            yield _Search(f"ta{number:03d} one_machine", Flowshop.taillard(number), options, None, count + 1, _NEAR)
    yield _Search("ta030 from scratch", Flowshop.taillard(30), {"upper_bound": 2179}, 2178)
    if size != "quick":
        options = {**_PAPERS, "upper_bound": 2178}
        yield _Search("ta030 two_machine", Flowshop.taillard(30), options, None, 1_645_928)
    if size == "whole":
        options = {**_PAPERS, "upper_bound": 2326}
        yield _Search("ta023 two_machine", Flowshop.taillard(23), options)
    yield _Search("ta030 mixed", Flowshop.taillard(30), {"upper_bound": 2178, "bound": "mixed"})
    for kind, n in (("crane", 12), ("tsmat", 12)) if size == "quick" else (("crane", 19), ("tsmat", 18)):
        problem: ATSP = generate_atsp(ATSPFamily.model_validate({"type": kind, "n": n, "seed": 1}))
        for bound in ("assignment", "subtour"):
            yield _Search(f"{problem.name} {bound}", problem, {"bound": bound})
        for bound in ("cheapest_arcs", "partial"):
            yield _Search(f"{problem.name} {bound}", problem, {"bound": bound}, from_optimum=True)


@bench_command("branch_and_bound")
@pool_options("Devices of the pool; the same may be named twice.")
@click.option("--quick", is_flag=True, help="What a CPU does in half a minute.")
@click.option("--whole", is_flag=True, help="Also 20 and 21 queens, and Ta023.")
@click.option("--strategy", default="siblings", show_default=True)
@click.option("--variant", default="pte", show_default=True)
@click.option("--ivms", type=int)
@click.option("--steal-trigger", type=float, default=0.2, show_default=True)
@click.option("--sharing", default="symmetric", show_default=True)
@scaling_options
def bench(
    backend: Any,
    names: list[str] | None,
    quick: bool,
    whole: bool,
    scaling: Request,
    **common: Any,
) -> int:
    """Check node counts and measure branch and bound on this machine."""
    if quick and whole:
        raise click.UsageError("--quick and --whole are two sizes; give one of them")
    size = "quick" if quick else "whole" if whole else "usual"
    if not scaling.wanted:
        return _usual(backend, names, size, scaling.only, common)
    return 0 if bench_scaling("branch_and_bound", scaling_cases(size, common), backend, names, scaling) else 1


def _usual(backend: Backend | None, devices: list[str] | None, size: str, only: str, common: dict[str, Any]) -> int:
    """Every case once on all of the devices."""
    right = True
    print(_line(_COLUMNS), flush=True)
    rows: list[list[str]] = []
    with Engine(backend, devices) as engine:
        optima: dict[str, int | float | None] = {}
        for case in _searches(size):
            if only not in case.name:
                continue
            name = case.problem.name
            if case.from_optimum:
                if name not in optima:
                    optima[name] = engine.solve(case.problem).objective
                case = replace(case, options={**case.options, "upper_bound": optima[name]})
            result, wrong = _measured(engine, case, common)
            if isinstance(case.problem, ATSP) and not case.from_optimum:
                optima[name] = result.objective
            elif case.from_optimum and (result.objective, result.bound) != (None, optima[name]):
                wrong = wrong or f"a tour below {optima[name]}, the optimum by assignments"
            right = right and not wrong
            rows.append(_cells(case, result, wrong))
            print(_line(rows[-1]), flush=True)
    record_table("Whole runs", _COLUMNS, rows)
    return 0 if right else 1


def _measured(engine: Engine, case: _Search, common: dict[str, Any]) -> tuple[Result, str]:
    """A result after a short run that compiles, and what is wrong with it."""
    options = {**common, **case.options}
    engine.solve(case.problem, time_limit=0.3, **options)
    result = engine.solve(case.problem, **options)
    return result, _wrong(case, result)


def _wrong(case: _Search, result: Result) -> str:
    """What is wrong with an answer; empty if nothing is."""
    if result.status.stopped:
        return f"ended as {result.status}"
    if case.objective is not None and result.objective != case.objective:
        return f"objective {result.objective}, should be {case.objective}"
    nodes = result.counters["nodes"]
    if case.nodes is not None and abs(nodes - case.nodes) > case.slack:
        return f"{nodes} nodes, should be {case.nodes}"
    return ""


_COLUMNS = ["case", "nodes", "seconds", "Mnodes/s", "steals", "verdict"]


def _line(cells: Sequence[str]) -> str:
    case, nodes, seconds, rate, steals, verdict = cells
    return f"{case:28} {nodes:>18} {seconds:>9} {rate:>10} {steals:>9}  {verdict}"


def _cells(case: _Search, result: Result, wrong: str) -> list[str]:
    nodes = result.counters["nodes"]
    checked = "right" if case.nodes is not None or case.objective is not None else "ended"
    rate = nodes / max(result.seconds, 1e-9) / 1e6
    steals = int(result.counters["steals"])
    return [case.name, f"{nodes:,}", f"{result.seconds:.3f}", f"{rate:.1f}", f"{steals:,}", wrong or checked]
