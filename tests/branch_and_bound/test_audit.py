"""The audit at the end of a search: what it lets pass, and what it does not."""

import math

import numpy as np
import pytest

import engine
from engine.errors import AuditError
from engine.solvers.branch_and_bound import checkpoint
from engine.solvers.branch_and_bound.intervals import Units, cut


def audit(visited, pushed, *, improved, devices):
    problem = engine.Flowshop(np.arange(1, 13).reshape(3, 4))
    tree = problem.tree("auto", "auto")
    whole = cut(tree.items, 0)
    explored = whole.end.sum(axis=0, dtype=np.int64) - whole.begin.sum(axis=0, dtype=np.int64)
    counters = {"nodes": visited - 2, "leaves": 2, "pushed": pushed - 1}
    checkpoint.audit(tree, explored, Units.none(tree.items), counters, improved, devices, stopped=False)


def test_a_device_may_visit_what_another_pruned_by_a_solution_it_had_not_heard_of():
    audit(11, 10, improved=True, devices=2)


@pytest.mark.parametrize(
    ("visited", "pushed", "improved", "devices"),
    [(11, 10, False, 2), (11, 10, True, 1), (11, 10, False, 1), (9, 10, False, 1), (9, 10, False, 2)],
)
def test_nodes_lost_or_visited_twice_are_an_error(visited, pushed, improved, devices):
    with pytest.raises(AuditError, match=f"{visited} nodes and leaves were visited"):
        audit(visited, pushed, improved=improved, devices=devices)


def test_the_whole_tree_has_the_leaves_that_are_audited():
    whole = cut(4, 0)
    assert whole.length() == math.factorial(4)
