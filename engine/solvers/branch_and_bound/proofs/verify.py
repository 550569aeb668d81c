"""Checking a proof file: everything that can be computed again, and a sample of what cannot."""

import math
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from ....api.engine import Engine
from ....base.result import Status
from ....errors import ProblemError, ProofError
from ....util.text import counted
from ..intervals import length_of_levels
from ..options import FlowshopOptions
from ..problems.flowshop import Flowshop
from .prove import sampled_subtrees
from .record import Proof, times_digest
from .subtrees import SubtreeSearch

_SMALL_TREE = 2_000_000


def verify(path: Path, engine: Engine, seed: int = 1, samples: int = 8, whole: bool = False) -> Iterator[str]:
    """Check a proof file: a sentence for each check, or :class:`ProofError`; ``samples`` random subtrees, or all."""
    proof = Proof.read(path)
    yield "the content matches its digest"
    problem = problem_of(proof)
    yield f"the instance {proof.instance.name} ({problem.jobs} jobs, {problem.machines} machines) matches its digest"
    check_schedule(proof, problem)
    yield f"the schedule has the makespan {proof.value}" if proof.schedule else _without_schedule(proof)
    check_audit(proof, problem)
    if proof.nodes == 0:
        yield f"no schedule is shorter than the lower bound, which is {proof.value} too: there is nothing to search"
        return
    yield f"the explored intervals add up to {problem.jobs}! schedules"
    try:
        options = FlowshopOptions.model_validate({"bound": proof.bound, "branching": proof.branching})
    except ValueError as error:
        raise ProofError(f"there is no such search: bound {proof.bound!r}, branching {proof.branching!r}") from error
    _search_again(proof, problem, options, engine)
    recorded = counted(len(proof.subtrees), "recorded subtree")
    yield f"the same nodes in {recorded}, searched again, and no shorter schedule"
    tree = problem.tree(proof.bound, proof.branching)
    try:
        others = sampled_subtrees(engine, tree, options, proof.initial, proof.value, seed, proof.nodes, samples)
    except ValueError as error:
        raise ProofError(f"the makespan {proof.value} is not optimal: {error}") from error
    sampled = counted(len(others), "other random subtree")
    yield f"no shorter schedule in {sampled} ({counted(sum(one.nodes for one in others), 'node')})"
    if whole or proof.nodes <= _SMALL_TREE:
        _search_all(proof, problem, options, engine)
        same = f" and the same {proof.nodes:,} nodes" if proof.initial == proof.value else ""
        yield f"the whole tree, searched again, has no shorter schedule{same}"


def problem_of(proof: Proof) -> Flowshop:
    """The instance of a proof, if it matches its digest and its name; else :class:`ProofError`."""
    try:
        problem = Flowshop(proof.instance.times, proof.instance.name)
    except ProblemError as error:
        raise ProofError(f"the instance is not a flowshop: {error}") from error
    if times_digest(problem.times) != proof.instance.digest:
        raise ProofError("the processing times do not match the digest of the instance")
    number = _taillard_number(proof)
    if number and not np.array_equal(Flowshop.taillard(number).times, problem.times):
        raise ProofError(f"the processing times differ from Taillard's instance {proof.instance.name}")
    return problem


def _taillard_number(proof: Proof) -> int | None:
    match = re.fullmatch(r"ta(\d{3})", proof.instance.name)
    return int(match[1]) if match and 1 <= int(match[1]) <= 120 else None


def check_schedule(proof: Proof, problem: Flowshop) -> None:
    """Check that the schedule, if there is one, has the makespan of the proof, and that no bound contradicts it."""
    if proof.schedule:
        try:
            found = problem.evaluate(proof.schedule)
        except ProblemError as error:
            raise ProofError(f"the schedule is none of this instance: {error}") from error
        if found != proof.value:
            raise ProofError(f"the schedule has the makespan {found}, not {proof.value}")
    elif proof.value != proof.initial:
        raise ProofError(f"without a schedule, what is proved is {proof.initial}, not {proof.value}")
    lower = problem.tree().lower_bound()
    if not lower <= proof.value <= proof.initial:
        raise ProofError(f"the values contradict each other: {lower} <= {proof.value} <= {proof.initial} must hold")


def check_audit(proof: Proof, problem: Flowshop) -> None:
    """Check that the explored intervals add up to all schedules, or that there was nothing to search."""
    lower = problem.tree().lower_bound()
    if proof.nodes == 0:
        if lower < proof.value:
            raise ProofError(f"nothing was searched, but the lower bound {lower} is below the makespan {proof.value}")
        return
    if len(proof.explored) != problem.jobs:
        raise ProofError(f"the explored intervals have {len(proof.explored)} levels, not {problem.jobs}")
    if any(abs(level) >= 2**62 for level in proof.explored):
        raise ProofError("a digit sum of the explored intervals is out of range")
    covered = length_of_levels(np.array(proof.explored, np.int64))
    if covered != math.factorial(problem.jobs):
        raise ProofError(f"the explored intervals add up to {covered} of {math.factorial(problem.jobs)} schedules")


def _search_again(proof: Proof, problem: Flowshop, options: FlowshopOptions, engine: Engine) -> None:
    """Search the recorded subtrees."""
    tree = problem.tree(proof.bound, proof.branching)
    if not proof.subtrees:
        raise ProofError("the proof contains no subtrees")
    for subtree in proof.subtrees:
        path = subtree.path
        if len(set(path)) != len(path) or len(path) >= tree.leaf_depth or any(job >= problem.jobs for job in path):
            raise ProofError(f"{subtree.path} is not a path in the tree")

    def compare(search: SubtreeSearch) -> None:
        for subtree in proof.subtrees:
            place = ", ".join(map(str, subtree.path)) or "the root"
            if not search.is_visited(subtree.path):
                raise ProofError(f"the search does not visit the subtree below {place}")
            try:
                nodes = search.nodes(subtree.path, 2 * subtree.nodes + 1000)
            except ValueError as error:
                raise ProofError(f"the makespan {proof.value} is not optimal: {error}") from error
            if nodes != subtree.nodes:
                seen = "more than twice as many" if nodes is None else str(nodes)
                raise ProofError(f"the subtree below {place} has {seen} nodes, not {subtree.nodes}")

    SubtreeSearch.on(engine, compare, tree, options, proof.initial, proof.value)


def _search_all(proof: Proof, problem: Flowshop, options: FlowshopOptions, engine: Engine) -> None:
    result = engine.solve(
        problem, upper_bound=proof.initial, bound=options.bound, branching=options.branching, seed=proof.seed
    )
    found = proof.initial if result.status == Status.BOUND_PROVED else result.objective
    if found != proof.value:
        raise ProofError(f"the search ends with the makespan {found}, not {proof.value}")
    for name, recorded in (("nodes", proof.nodes), ("leaves", proof.leaves)):
        if proof.initial == proof.value and int(result.counters[name]) != recorded:
            raise ProofError(f"the search has {result.counters[name]} {name}, not {recorded}")


def _without_schedule(proof: Proof) -> str:
    """What a proof without a schedule proves, and what it does not."""
    text = f"it proves that no schedule is shorter than {proof.value}; it contains none of this makespan"
    number = _taillard_number(proof)
    if number and Flowshop.taillard_best_known(number) == proof.value:
        text += f", which is the best published for {proof.instance.name}"
    return text
