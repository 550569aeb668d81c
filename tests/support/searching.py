"""What the tests of branch and bound share: one device's search without a run, and other people's algorithms."""

import contextlib
import dataclasses
import importlib.util
import itertools
import math
import sys

import numpy as np

from engine.references.branch_and_bound import HostSearch
from engine.solvers.branch_and_bound.intervals import Units, cut, digits_of, length_of_levels
from engine.solvers.branch_and_bound.options import Options
from engine.solvers.branch_and_bound.search.messages import Task
from engine.solvers.branch_and_bound.search.worker import SearchWorker
from engine.solvers.branch_and_bound.tree import INFINITY
from tests.support.environment import ROOT


def explore(member, tree, upper=INFINITY, *, units=None, capabilities=None, **options):
    """Search some units, or the whole tree, on one device until nothing is left."""

    def work(device):
        with posing(device, capabilities):
            return searched(SearchWorker(device, tree, Options(**options), upper))

    def searched(searcher):
        left, best, path, sides = cut(tree.items, 0) if units is None else units, upper, None, ()
        while True:
            report = searcher.turn(Task(best, left, seconds=0.01))
            left = report.returned
            if report.found is not None and report.found.value < best:
                best, path, sides = report.found.value, report.found.path, report.found.sides
            if not report.active and not len(left):
                break
        state = searcher.state()
        assert len(state.open) == 0
        searcher.close()
        return HostSearch(
            nodes=report.nodes,
            leaves=report.leaves,
            pushed=report.pushed,
            solutions=report.solutions,
            best=best,
            path=path,
            sides=sides,
            explored=length_of_levels(state.explored),
        )

    return member.submit(work).result()


def number_of(digits):
    return length_of_levels(np.asarray(digits, np.int64))


def aligned(begin, end, n):
    """The aligned units that make up the interval [begin, end) of leaf numbers, none if it is empty."""
    units, whole = [Units.none(n)], digits_of(end, n)
    for depth in range(n):
        stop = np.where(np.arange(n) > depth, 0, whole).astype(whole.dtype)
        if number_of(stop) > begin:
            start = digits_of(begin, n)
            chosen = np.flatnonzero(start)
            fresh = np.array([chosen[-1] + 1 if len(chosen) else 0], whole.dtype)
            units.append(Units(start[None], stop[None], fresh))
            begin = number_of(stop)
    return Units.joined(units)


@contextlib.contextmanager
def posing(device, capabilities):
    """An open device, for a while as one of these capabilities, if any are given."""
    own = device.capabilities
    device.capabilities = capabilities or own
    try:
        yield
    finally:
        device.capabilities = own


def as_gpu(member, block=32):
    """The device's capabilities as if it were a small GPU, so that its kernels are tested where there is none."""
    return dataclasses.replace(
        member.info.capabilities, simt=True, lanes=1, max_block=block, compute_units=2, local_memory_per_unit=16384
    )


def counts(found):
    """What must not depend on the device: nodes, leaves, children, solutions, and leaves accounted for."""
    return (found.nodes, found.leaves, found.pushed, found.solutions, found.explored)


def brute_force(tree):
    """The best objective over all permutations, by the tree's own evaluation of whole solutions."""
    depth = tree.leaf_depth
    paths = itertools.permutations(range(tree.items), depth)
    return min(tree.evaluate(tree.solution(path, (0,) * depth)) for path in paths)


def factorial_of(tree):
    return math.factorial(tree.items)


def load_assignment():
    path = ROOT / "samples" / "branch_and_bound" / "assignment.py"
    spec = importlib.util.spec_from_file_location("assignment", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["assignment"] = module
    spec.loader.exec_module(module)
    return module
