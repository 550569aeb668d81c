"""Searches on several devices, for ``quintet bench branch_and_bound --scaling``: node counts that nothing changes."""

from collections.abc import Iterator, Mapping
from typing import Any

from ...base.result import Result
from ...reports.scaling import ScalingCase, mapping_case, solving_case
from ...solvers.branch_and_bound.problems.flowshop import Flowshop
from ...solvers.branch_and_bound.problems.queens import Queens
from ...solvers.branch_and_bound.tree import PermutationProblem

_TWO_MACHINES = {"bound": "two_machine", "branching": "max_sum"}
_SECONDS_RECORDED = 1.0  # of a search that is the same all the time


def scaling_cases(size: str, common: Mapping[str, Any]) -> Iterator[ScalingCase]:
    """What shows how several devices share a search."""

    def case(name: str, problem: PermutationProblem, given: Mapping[str, Any], record: float | None) -> ScalingCase:
        return solving_case(
            name,
            lambda: problem,
            {**common, **given},
            _answer,
            warm={"time_limit": 0.3},
            exchanged=lambda result, devices: result.counters["exchanged_intervals"] * (2 * problem.tree().items + 1),
            record=None if record is None else {"time_limit": record},
        )

    if size == "quick":
        yield case("queens 14", Queens(14), {}, None)
        yield case("ta030 one_machine", Flowshop.taillard(30), {"upper_bound": 2178}, None)
        yield mapping_case("batch of 8 boards", lambda: [Queens(n) for n in (9, 10, 11, 12) * 2], common)
        return
    proof = {"upper_bound": 2223, "branching": "forward"}
    yield case("ta024 forward", Flowshop.taillard(24), proof, _SECONDS_RECORDED)
    paper = {**_TWO_MACHINES, "upper_bound": 2326}
    yield case("ta023 two_machine", Flowshop.taillard(23), paper, _SECONDS_RECORDED)
    yield case("queens 20", Queens(20), {}, _SECONDS_RECORDED)
    if size == "whole":
        yield case("queens 21", Queens(21), {}, _SECONDS_RECORDED)
    upper = {30: 2178, 29: 2237, 28: 2200, 22: 2099, 25: 2291}
    problems = [Flowshop.taillard(number) for number in upper for _ in range(8)]
    yield mapping_case("batch of 40 flowshops", lambda: problems, common)


def _answer(result: Result) -> Mapping[str, Any]:
    return {"objective": result.objective, "nodes": result.counters["nodes"]}
